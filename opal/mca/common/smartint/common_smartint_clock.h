// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// What time it is, by a clock that only goes on.
#pragma once

#include <chrono>
#include <cstdint>

namespace smartint {

inline std::uint64_t now_ns() {
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch() /
                                      std::chrono::nanoseconds(1));
}

inline std::uint64_t now_us() { return now_ns() / 1000; }

} // namespace smartint
