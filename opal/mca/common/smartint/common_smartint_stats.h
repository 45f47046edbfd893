// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Counters of one process. Written under the gate or by the interrupt thread alone (each
// has one writer at a time), read by anybody; relaxed everywhere: they order nothing.
#pragma once

#include <atomic>
#include <cstdint>

namespace smartint {

enum class stat : unsigned {
#define SMARTINT_STAT(name, help) name,
#include "common_smartint_stats.def"
#undef SMARTINT_STAT
    count_
};

struct stats {
    std::atomic<std::uint64_t> value[static_cast<unsigned>(stat::count_)]{};

    // Not a read-modify-write on purpose: one writer at a time, no locked instruction.
    void add(stat s, std::uint64_t n = 1) {
        auto &v = value[static_cast<unsigned>(s)];
        v.store(v.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
    }
    std::uint64_t get(stat s) const { return value[static_cast<unsigned>(s)].load(std::memory_order_relaxed); }
};

const char *stat_name(stat s);
const char *stat_help(stat s);

// Write `name value` lines to path. "%r" in path becomes the rank. False with errno on failure.
bool write_stats(const stats &s, const char *path, int rank);

} // namespace smartint
