// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "common_smartint_stats.h"

#include <cstdio>
#include <string>

namespace smartint {
namespace {

struct entry {
    const char *name;
    const char *help;
};

constexpr entry table[] = {
#define SMARTINT_STAT(name, help) {#name, help},
#include "common_smartint_stats.def"
#undef SMARTINT_STAT
};
static_assert(sizeof(table) / sizeof(table[0]) == static_cast<unsigned>(stat::count_));

} // namespace

const char *stat_name(stat s) { return table[static_cast<unsigned>(s)].name; }
const char *stat_help(stat s) { return table[static_cast<unsigned>(s)].help; }

bool write_stats(const stats &s, const char *path, int rank) {
    std::string name(path);
    const auto at = name.find("%r");
    if (std::string::npos != at) {
        name.replace(at, 2, std::to_string(rank));
    }
    std::FILE *f = std::fopen(name.c_str(), "w");
    if (nullptr == f) {
        return false;
    }
    for (unsigned i = 0; i < static_cast<unsigned>(stat::count_); ++i) {
        std::fprintf(f, "%s %llu\n", table[i].name, static_cast<unsigned long long>(s.get(static_cast<stat>(i))));
    }
    return 0 == std::fclose(f);
}

} // namespace smartint
