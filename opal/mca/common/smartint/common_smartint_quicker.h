// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Which of two ways to move a message is the quicker one on this machine, by its size. Nobody can tell beforehand:
// where two cores had a fast cache in common 64 KiB took 2 us through the ring and 7 by a direct copy, 1 MiB 27 and 50;
// where they had not, 9 and 3, 85 and 30. So both are used, and timed.
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

    static bool same_size(std::uint64_t a, std::uint64_t b) { return row(a) == row(b); }

    // The way for messages of so many bytes, which will be one or several as the last ones were. First each in its
    // turn, then the quicker one, and once in `again` times the other, as machines change. `otherwise` where it was not
    // found out in most_turns, as what was done could not be timed; after a while it is tried anew. favour: the first
    // one is taken unless the second is quicker by more than so many percent.
    way choose(std::uint64_t bytes, way otherwise, unsigned favour = 0) {
        one_size &s = sizes_[row(bytes)];
        const pair &p = s.ways[s.several];
        const unsigned use = s.uses++;
        if (!known(p)) {
            if (s.turns[s.several]++ % anew >= most_turns) {
                return otherwise;
            }
            // Not by turns: where one and several take turns too, each would see one way only.
            return 0 != std::popcount(use) % 2 ? way::second : way::first;
        }
        return (way::second == better(p, favour)) != (0 == s.uses % again) ? way::second : way::first;
    }
    // Whether messages of so many bytes, one or several as the last ones were, have been timed either way.
    bool known(std::uint64_t bytes) const {
        const one_size &s = sizes_[row(bytes)];
        return known(s.ways[s.several]);
    }
    // The way of what is not timed.
    way best(std::uint64_t bytes, way otherwise, unsigned favour = 0) const {
        const one_size &s = sizes_[row(bytes)];
        return known(s.ways[s.several]) ? better(s.ways[s.several], favour) : otherwise;
    }

    // One message of this size, or several, `moved` bytes in all, went this way and took so long. At first the least
    // counts, as memory is touched for the first time; then a running mean, in which more than twice the mean counts as
    // twice: a processor lost once changes little, one lost often (more threads than processors) much.
    void took(std::uint64_t bytes, way how, bool several, std::uint64_t moved, std::uint64_t ns) {
        one_size &s = sizes_[row(bytes)];
        s.several = several ? 1 : 0;
        one_way &w = s.ways[s.several][static_cast<unsigned>(how)];
        const std::uint64_t cost = ns * 65536 / moved;
        if (w.tries < tries) {
            w.cost = 0 == w.tries ? cost : std::min(cost, w.cost);
            ++w.tries;
        } else {
            w.cost = (3 * w.cost + std::min(cost, 2 * w.cost + 1)) / 4;
        }
    }

    static constexpr unsigned tries = 4;
    static constexpr unsigned most_turns = 16 * tries;
    static constexpr unsigned anew = 16 * most_turns;
    static constexpr unsigned again = 63; // odd, for the same reason

private:
    struct one_way {
        std::uint64_t cost = 0; // ns for 64 KiB
        unsigned tries = 0;
    };
    using pair = one_way[2];
    struct one_size {
        pair ways[2];           // of one message, of several
        unsigned turns[2] = {}; // of choose() without knowing
        unsigned several = 0;
        unsigned uses = 0;
    };
    static constexpr int smallest = 12; // 4 KiB to 8
    static constexpr int sizes = 12;    // 8 MiB and more

    static unsigned row(std::uint64_t bytes) {
        return static_cast<unsigned>(std::clamp(static_cast<int>(std::bit_width(bytes)) - 1 - smallest, 0, sizes - 1));
    }
    static bool known(const pair &p) { return p[0].tries >= tries && p[1].tries >= tries; }
    static way better(const pair &p, unsigned favour) {
        return p[1].cost * (100 + favour) < p[0].cost * 100 ? way::second : way::first;
    }

    one_size sizes_[sizes];
};

} // namespace smartint
