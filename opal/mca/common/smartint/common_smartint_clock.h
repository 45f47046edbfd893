// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// What time it is, by a clock that only goes on.
#pragma once

#include <time.h>

#include <chrono>
#include <cstdint>

namespace smartint {

inline std::uint64_t now_ns() {
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch() /
                                      std::chrono::nanoseconds(1));
}

// Of the same clock, but by the kernel's timer tick: some ns to read, 1 to 10 ms apart.
inline std::uint64_t tick_ns() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return static_cast<std::uint64_t>(t.tv_sec) * 1000000000 + static_cast<std::uint64_t>(t.tv_nsec);
}

inline std::uint64_t now_us() { return now_ns() / 1000; }

} // namespace smartint
