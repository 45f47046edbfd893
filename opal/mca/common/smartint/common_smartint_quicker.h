// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Which of two ways to move a message is the quicker one on this machine, by its size. Nobody can tell beforehand: where
// two cores had a fast cache in common 64 KiB took 2 us through the ring and 7 by a direct copy, 1 MiB 27 and 50; where
// they had not, 9 and 3, 85 and 35. So both are used, and timed.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace smartint {

// Not for two threads at once: the engine's, under the gate.
class quicker {
public:
    enum class way : std::uint8_t { first, second };

    // Smaller ones are not told apart.
    static constexpr std::uint64_t smallest_bytes = 4096;

    // The way for a message of so many bytes. Until each was taken `tries` times they take turns, the first
    // begins; then it is the quicker one, and once in `again` times the other, as machines change.
    way choose(std::uint64_t bytes) {
        one_size &s = of(bytes);
        ++s.uses;
        if (!known(bytes)) {
            return s.ways[1].tries < s.ways[0].tries ? way::second : way::first;
        }
        const bool second = way::second == best(bytes, way::first);
        return second != (0 == s.uses % again) ? way::second : way::first;
    }

    bool known(std::uint64_t bytes) { // both were tried
        const one_size &s = of(bytes);
        return s.ways[0].tries >= tries && s.ways[1].tries >= tries;
    }
    // The quicker one, or `otherwise` where that is not known yet. For a message whose time tells nothing.
    way best(std::uint64_t bytes, way otherwise) {
        const one_size &s = of(bytes);
        return !known(bytes) ? otherwise : s.ways[1].cost < s.ways[0].cost ? way::second : way::first;
    }

    // Messages of this size, `moved` bytes in all, went this way and took so long. At first the least counts, as memory is
    // touched for the first time; then the mean, where more than twice of it is twice: a process that lost its processor for
    // once says little, one that often does, as there are more than processors, much.
    void took(std::uint64_t bytes, way how, std::uint64_t moved, std::uint64_t ns) {
        one_way &w = of(bytes).ways[static_cast<unsigned>(how)];
        const std::uint64_t cost = ns * 65536 / moved;
        if (w.tries < tries) {
            w.cost = 0 == w.tries ? cost : std::min(cost, w.cost);
            ++w.tries;
        } else {
            w.cost = (3 * w.cost + std::min(cost, 2 * w.cost + 1)) / 4;
        }
    }

    static constexpr unsigned tries = 4;
    static constexpr unsigned again = 64;

private:
    struct one_way {
        std::uint64_t cost = 0; // ns for 64 KiB
        unsigned tries = 0;
    };
    struct one_size {
        one_way ways[2];
        unsigned uses = 0;
    };
    static constexpr int smallest = 12; // 4 KiB to 8
    static constexpr int sizes = 12;    // 8 MiB and more

    one_size &of(std::uint64_t bytes) {
        return sizes_[std::clamp(static_cast<int>(std::bit_width(bytes)) - 1 - smallest, 0, sizes - 1)];
    }

    one_size sizes_[sizes];
};

} // namespace smartint
