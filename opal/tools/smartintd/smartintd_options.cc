// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "smartintd_options.h"

#include <cstdlib>
#include <cstring>

#include "common_smartint_layout.h"

namespace smartint::daemon {
namespace {

bool value_of(const char *arg, const char *name, std::string *out) {
    const std::size_t n = std::strlen(name);
    if (0 != std::strncmp(arg, name, n) || '=' != arg[n]) {
        return false;
    }
    *out = arg + n + 1;
    return true;
}

bool number(const std::string &text, std::uint32_t highest, std::uint32_t *out) {
    char *end = nullptr;
    if (text.empty() || text[0] < '0' || text[0] > '9') {
        return false;
    }
    const unsigned long v = std::strtoul(text.c_str(), &end, 10);
    *out = static_cast<std::uint32_t>(v);
    return 0 == *end && v <= highest;
}

} // namespace

bool parse_options(int argc, char **argv, options *out, std::string *problem) {
    for (int i = 1; i < argc; ++i) {
        std::string text;
        bool ok = true;
        if (value_of(argv[i], "--index", &text)) {
            std::uint32_t v = 0;
            ok = number(text, layout::max_helpers - 1, &v);
            out->index = v;
        } else if (value_of(argv[i], "--poll-us", &text)) {
            ok = number(text, 1000000, &out->poll_us);
        } else if (value_of(argv[i], "--turn-us", &text)) {
            ok = number(text, 100000, &out->turn_us);
        } else if (value_of(argv[i], "--wake", &text)) {
            ok = parse_wake(text, &out->wake);
        } else if (value_of(argv[i], "--launcher", &text)) {
            ok = number(text, 0x7fffffff, &out->launcher);
        } else if (!value_of(argv[i], "--cores", &out->cores) && !value_of(argv[i], "--transport", &out->transport) &&
                   !value_of(argv[i], "--device", &out->device) && !value_of(argv[i], "--board", &out->board)) {
            ok = false;
        }
        if (!ok) {
            *problem = argv[i];
            return false;
        }
    }
    return true;
}

} // namespace smartint::daemon
