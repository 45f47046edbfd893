// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// What messages contain: words that depend on a seed and on their place, so that nothing that an
// earlier message left behind passes for the data of this one.

#ifndef SMARTINT_BENCH_DATA_H
#define SMARTINT_BENCH_DATA_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace bench {

inline std::uint64_t pattern(std::uint64_t seed, std::size_t i) { return (seed + i) * 0x9E3779B97F4A7C15ULL ^ seed; }

// One seed for each message of a run: the repetition, who sends it, who receives it.
inline std::uint64_t seed_of(std::uint64_t repetition, int from, int to) {
    return (repetition << 20) + (static_cast<std::uint64_t>(from) << 10) + static_cast<std::uint64_t>(to);
}

inline void fill(char *data, std::size_t bytes, std::uint64_t seed) {
    for (std::size_t i = 0; i < bytes; i += 8) {
        const std::uint64_t word = pattern(seed, i / 8);
        std::memcpy(data + i, &word, std::min<std::size_t>(8, bytes - i));
    }
}

inline bool filled(const char *data, std::size_t bytes, std::uint64_t seed) {
    bool good = true;
    for (std::size_t i = 0; i < bytes; i += 8) {
        const std::uint64_t word = pattern(seed, i / 8);
        good &= 0 == std::memcmp(data + i, &word, std::min<std::size_t>(8, bytes - i));
    }
    return good;
}

// Whether the message seems to be there, by the last word of each of sixteen parts: a look into
// the buffer of a receive that is not complete. MPI forbids that to programs; how long a transfer
// really takes while the program computes cannot be seen in any other way.
inline bool arrived(const char *data, std::size_t bytes, std::uint64_t seed) {
    const std::size_t words = bytes / 8;
    for (std::size_t part = std::min<std::size_t>(16, words); 0 < part; --part) {
        const std::size_t i = words * part / std::min<std::size_t>(16, words) - 1;
        const volatile char *at = data + 8 * i;
        std::uint64_t word = 0;
        for (int b = 7; b >= 0; --b) {
            word = word << 8 | static_cast<unsigned char>(at[b]);
        }
        if (word != pattern(seed, i)) {
            return false;
        }
    }
    return true;
}

} // namespace bench

#endif
