// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "common_smartint_ucx.h"

#include <dlfcn.h>

extern "C" {
#include <uct/api/version.h>
}

#include "common_smartint_uct.h"

namespace smartint {
namespace {

std::string text(ucx_version v) { return std::to_string(v.major) + "." + std::to_string(v.minor); }

} // namespace

// UCX's lower layer does not tell its version, the upper one does. Both are of one build and lie in one directory; by
// its name alone another installation's might be found.
bool running_ucx(ucx_version *out) {
    Dl_info info{};
    if (!load_uct().empty() || 0 == dladdr(reinterpret_cast<void *>(uct.query_components), &info) ||
        nullptr == info.dli_fname) {
        return false;
    }
    const std::string lower(info.dli_fname);
    const auto slash = lower.rfind('/');
    if (std::string::npos == slash) {
        return false;
    }
    // Never closed: what it registers with libucs as it is loaded would be left there.
    void *upper = dlopen((lower.substr(0, slash) + "/libucp.so.0").c_str(), RTLD_LAZY | RTLD_LOCAL);
    using get_version = void (*)(unsigned *major, unsigned *minor, unsigned *release);
    const auto get = nullptr == upper ? nullptr : reinterpret_cast<get_version>(dlsym(upper, "ucp_get_version"));
    if (nullptr == get) {
        return false;
    }
    unsigned release = 0;
    get(&out->major, &out->minor, &release);
    return true;
}

std::string ucx_problem(ucx_version built, ucx_version running) {
    if (ucx_serves(built, running)) {
        return {};
    }
    const bool older = running.major == built.major;
    return "UCX " + text(running) + " is found here, and smartint was built with " + text(built) + ": " +
           (older ? "install that or a newer one" : "install that or a newer one of the same major version") +
           " on this host, or build smartint with this one";
}

std::string ucx_problem() {
    ucx_version running;
    return running_ucx(&running) ? ucx_problem({UCT_VERNO_MAJOR, UCT_VERNO_MINOR}, running) : std::string();
}

} // namespace smartint
