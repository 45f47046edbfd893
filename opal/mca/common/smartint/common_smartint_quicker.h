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

    static constexpr unsigned sizes = 12; // told apart: 4 KiB to 8, and so on, 8 MiB and more
    static unsigned row(std::uint64_t bytes) {
        return static_cast<unsigned>(
            std::clamp(static_cast<int>(std::bit_width(bytes)) - 1 - smallest, 0, int{sizes} - 1));
    }

    // The way for messages of so many bytes, which will be one or several as the last ones were. First each in its
    // turn, then the quicker one, and now and then the other for some in a row, as machines change, and what was found
    // out at first may be wrong: after `soonest` of them, then after twice as many, up to `latest` or so. `otherwise`
    // where it was not found out in most_turns, as what was done could not be timed; after a while it is tried anew.
    // favour: the first one is taken unless the second is quicker by more than so many percent.
    way choose(std::uint64_t bytes, way otherwise, unsigned favour = 0) {
        one_size &s = sizes_[row(bytes)];
        pair &p = s.pairs[s.several];
        const unsigned use = s.uses++;
        if (!known(p)) {
            if (p.turns++ % anew >= most_turns) {
                return otherwise;
            }
            // Not by turns: where one and several take turns too, each would see one way only.
            const unsigned turn = row(bytes) >= large ? use / in_a_row(bytes, p.moved) : std::popcount(use);
            return 0 != turn % 2 ? way::second : way::first;
        }
        if (const way now = better(p, favour); now != p.taken || 0 == p.pause) {
            p.taken = now;
            p.pause = std::max(soonest, p.pause / 2);
            p.since = 0;
        }
        if (++p.since < p.pause) {
            return p.taken;
        }
        p.in_a_row = p.since == p.pause ? in_a_row(bytes, p.moved) : p.in_a_row;
        if (p.since - p.pause + 1 >= p.in_a_row) {
            p.pause = std::min(2 * p.pause, longest(p));
            p.since = 0;
        }
        return other(p.taken);
    }
    // Those that are tried anew cannot be timed: the next ones go the quicker way again.
    void give_up(std::uint64_t bytes) {
        one_size &s = sizes_[row(bytes)];
        pair &p = s.pairs[s.several];
        if (p.since >= p.pause) {
            p.pause = std::min(2 * p.pause, longest(p));
            p.since = 0;
        }
    }
    // Whether messages of so many bytes, one or several as the last ones were, have been timed either way.
    bool known(std::uint64_t bytes) const {
        const one_size &s = sizes_[row(bytes)];
        return known(s.pairs[s.several]);
    }
    // The way of what is not timed.
    way best(std::uint64_t bytes, way otherwise, unsigned favour = 0) const {
        const one_size &s = sizes_[row(bytes)];
        return known(s.pairs[s.several]) ? better(s.pairs[s.several], favour) : otherwise;
    }

    // One message of this size, or several, `moved` bytes in all, went this way and took so long. At first the least
    // counts, as memory is touched for the first time; then a running mean, in which more than twice the mean counts as
    // twice: a processor lost once changes little, one lost often (more threads than processors) much. Then the first
    // ones after those that went the other way do not count: they find no caches filled.
    void took(std::uint64_t bytes, way how, bool several, std::uint64_t moved, std::uint64_t ns) {
        one_size &s = sizes_[row(bytes)];
        s.several = several ? 1 : 0;
        pair &p = s.pairs[s.several];
        one_way &w = p.ways[static_cast<unsigned>(how)];
        const std::uint64_t cost = ns * 65536 / moved;
        p.moved = moved;
        if (w.tries < tries) {
            w.cost = 0 == w.tries ? cost : std::min(cost, w.cost);
            ++w.tries;
            return;
        }
        if (how != p.last) {
            p.last = how;
            p.streak = 0;
        }
        if (p.streak + 1 < (0 == p.in_a_row ? in_a_row(bytes, moved) : p.in_a_row)) {
            ++p.streak;
            return;
        }
        w.cost = (3 * w.cost + std::min(cost, 2 * w.cost + 1)) / 4;
    }

    static constexpr unsigned tries = 6; // of each way
    // Where so much moves at once each one takes milliseconds: long enough that two of each way tell, and what the
    // slower one costs is soon more than is won.
    static constexpr std::uint64_t long_ones = 33554432;
    static constexpr unsigned most_turns = 16 * tries;
    static constexpr unsigned anew = 16 * most_turns;
    static constexpr unsigned soonest = 16;
    static constexpr unsigned latest = 512;
    // A ring by which nothing large went for a while is cold, all of it: 64 KiB both ways took 8.7 us, the fifth 3.5.
    // Of small ones not three, from which their sender would conclude something (common_smartint_answers.h). Where one
    // message, or several of them that are timed together, move so much that the ring is warm after the first part of
    // it, no more than two either: each of those that go the slower way costs milliseconds.
    static constexpr std::uint64_t warms = 4194304;
    static unsigned in_a_row(std::uint64_t bytes, std::uint64_t moved = 0) {
        return row(bytes) >= large && moved < warms ? tries : 2;
    }

private:
    struct one_way {
        std::uint64_t cost = 0; // ns for 64 KiB
        unsigned tries = 0;
    };
    struct pair {
        one_way ways[2];
        unsigned turns = 0; // of choose() without knowing
        unsigned pause = 0; // of choose(), before the other way is tried anew; 0: not chosen yet
        unsigned since = 0; // of choose(), since then
        way taken = way::first;
        way last = way::first;   // that one took
        unsigned streak = 0;     // how many before it in a row, up to what matters
        std::uint64_t moved = 0; // by the last one
        unsigned in_a_row = 0;   // of those that were tried last
    };
    struct one_size {
        pair pairs[2]; // of one message, of several
        unsigned several = 0;
        unsigned uses = 0;
    };
    static constexpr int smallest = 12;  // 4 KiB
    static constexpr unsigned large = 4; // 64 KiB to 128

    // One that takes much longer is tried the more rarely: it would cost most of what is won.
    static unsigned longest(const pair &p) {
        const std::uint64_t a = p.ways[0].cost;
        const std::uint64_t b = p.ways[1].cost;
        return latest * static_cast<unsigned>(std::clamp<std::uint64_t>(std::max(a, b) / (std::min(a, b) + 1), 1, 8));
    }
    static way other(way w) { return way::first == w ? way::second : way::first; }
    static unsigned enough(const pair &p) { return p.moved < long_ones ? tries : 2; }
    static bool known(const pair &p) { return std::min(p.ways[0].tries, p.ways[1].tries) >= enough(p); }
    static way better(const pair &p, unsigned favour) {
        return p.ways[1].cost * (100 + favour) < p.ways[0].cost * 100 ? way::second : way::first;
    }

    one_size sizes_[sizes];
};

} // namespace smartint
