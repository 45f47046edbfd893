// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Values of command line options, checked: numbers, sizes such as 64K, lists.

#ifndef SMARTINT_BENCH_PARSE_H
#define SMARTINT_BENCH_PARSE_H

#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace bench {

[[noreturn]] inline void bad_value(const char *option, std::string_view value) {
    std::fprintf(stderr, "%s: --%s: '%.*s' is not a usable value\n", program_invocation_short_name, option,
                 static_cast<int>(value.size()), value.data());
    std::exit(2);
}

template <typename T> T number(const char *option, std::string_view text, T lowest, T highest) {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (std::errc() != error || text.data() + text.size() != end || value < lowest || value > highest) {
        bad_value(option, text);
    }
    return value;
}

inline std::size_t bytes(const char *option, std::string_view text, std::size_t least = 1) {
    const std::string_view whole = text;
    std::size_t unit = 1;
    if (!text.empty()) {
        switch (text.back()) {
        case 'k':
        case 'K':
            unit = std::size_t{1} << 10;
            break;
        case 'm':
        case 'M':
            unit = std::size_t{1} << 20;
            break;
        default:
            break;
        }
        text.remove_suffix(1 == unit ? 0 : 1);
    }
    constexpr std::size_t most = std::size_t{1} << 30; // counts stay within int
    const auto n = number<std::size_t>(option, text, least, most);
    if (n > most / unit) {
        bad_value(option, whole);
    }
    return n * unit;
}

inline std::vector<std::string_view> split(std::string_view list) {
    std::vector<std::string_view> parts;
    while (true) {
        const auto comma = list.find(',');
        parts.push_back(list.substr(0, comma));
        if (std::string_view::npos == comma) {
            return parts;
        }
        list.remove_prefix(comma + 1);
    }
}

} // namespace bench

#endif
