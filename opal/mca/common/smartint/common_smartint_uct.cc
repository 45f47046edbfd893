// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "common_smartint_uct.h"

#include <dlfcn.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "smartint_config.h"

namespace smartint {
namespace {

// That UCX puts up its own while this lives is undone, and what else is done to them is not.
class handlers_kept {
public:
    handlers_kept() {
        for (int s = 1; s < NSIG; ++s) {
            known_[at(s)] = 0 == sigaction(s, nullptr, &before_[at(s)]);
        }
    }
    ~handlers_kept() {
        for (int s = 1; s < NSIG; ++s) {
            struct sigaction now {};
            if (known_[at(s)] && 0 == sigaction(s, nullptr, &now) && now.sa_handler != before_[at(s)].sa_handler &&
                is_of_ucx(reinterpret_cast<void *>(now.sa_handler))) {
                sigaction(s, &before_[at(s)], nullptr);
            }
        }
    }
    handlers_kept(const handlers_kept &) = delete;
    handlers_kept &operator=(const handlers_kept &) = delete;

private:
    static bool is_of_ucx(void *handler) {
        Dl_info info{};
        return 0 != dladdr(handler, &info) && nullptr != info.dli_fname &&
               nullptr != std::strstr(info.dli_fname, "/libuc");
    }
    static std::size_t at(int s) { return static_cast<std::size_t>(s); }

    std::array<struct sigaction, NSIG> before_{};
    std::array<bool, NSIG> known_{};
};

} // namespace

uct_functions uct;

std::string load_uct(const char *name, const char *other, uct_functions *out) {
    const handlers_kept by_us;
    // Another component's, if there is one: two of them in a process would not go together.
    void *library = dlopen("libuct.so.0", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    std::string problem;
    for (const char *each : {name, other}) {
        if (nullptr == library) {
            if (const char *slash = std::strrchr(each, '/'); nullptr != slash) { // with what lies beside it
                dlopen((std::string(each, slash) + "/libucs.so.0").c_str(), RTLD_NOW | RTLD_LOCAL);
            }
            library = dlopen(each, RTLD_NOW | RTLD_LOCAL);
            if (nullptr == library && problem.empty()) {
                problem = dlerror();
            }
        }
    }
    if (nullptr == library) {
        return "UCX can't be loaded (" + problem + "): install it on this host (libuct, libucs)";
    }
#define SMARTINT_EACH(library_name, function)                                                                          \
    out->function = reinterpret_cast<decltype(out->function)>(dlsym(library, #library_name "_" #function));            \
    if (nullptr == out->function) {                                                                                    \
        return "UCX as found on this host has no " #library_name "_" #function                                         \
               ": install the version that smartint was built with, " SMARTINT_UCX_VERSION ", or a newer one";         \
    }
    SMARTINT_UCT_FUNCTIONS(SMARTINT_EACH)
#undef SMARTINT_EACH
    return {};
}

const std::string &load_uct() {
    static const std::string problem = load_uct(SMARTINT_UCT_LIBRARY, SMARTINT_UCT_OTHER_LIBRARY, &uct);
    return problem;
}

bool is_laid_out_alike(const ucs_callbackq_t &empty) {
    // In a narrower element the queue's own address stands where the next one's callback would be.
    return std::ranges::all_of(empty.fast_elems, [](const ucs_callbackq_elem_t &e) { return nullptr == e.cb; });
}

} // namespace smartint
