// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Is a notice to another node going to be of use? It has two helpers run, on cores of ranks where no other is left, and
// is of none where both sides see to the message in MPI anyway. What messages of the same context and tag were like
// lately tells (CH, trace-based, but for the notice and not for the match).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace smartint {

// Of an operation whose notice is posted, or held back.
struct notice_watch {
    bool watched = false;   // nobody has answered
    std::uint32_t kind = 0; // foresight's
};

// Not for two threads at once: the engine's, under the gate.
class foresight {
public:
    static constexpr unsigned kinds = 64;
    // One for each that was answered in time, and so many off for each that was not: held are those of which more than
    // eight of nine are in time, and after a change no more than four in vain.
    static constexpr std::uint8_t off = 8, enough = 8, most = 32;

    // Messages that are taken for alike. answer: the notice is that of a CTS. Of those that are seen for the first time
    // (as where a tag counts something) nothing is known but what all of their context were like.
    std::uint32_t kind_of(std::uint32_t context, std::int32_t tag, bool answer) {
        const std::uint64_t all = std::uint64_t{context} << 33 | (answer ? 1 : 0);
        const std::uint64_t name = all ^ std::uint64_t{static_cast<std::uint32_t>(tag)} << 1;
        const std::uint32_t context_at = place(all);
        record &c = contexts_[context_at];
        if (all != c.name) {
            c = record{all, 0, context_at};
        }
        const std::uint32_t kind = place(name);
        record &r = table_[kind];
        if (name != r.name || context_at != r.context) {
            r = record{name, static_cast<std::uint8_t>(most == c.score ? enough : 0), context_at};
        }
        return kind;
    }
    bool prompt(std::uint32_t kind) const { return table_[kind].score >= enough; }
    void in_time(std::uint32_t kind) {
        up(&table_[kind].score);
        up(&contexts_[table_[kind].context].score);
    }
    void late(std::uint32_t kind) {
        down(&table_[kind].score);
        down(&contexts_[table_[kind].context].score);
    }

    static void up(std::uint8_t *score) { *score = static_cast<std::uint8_t>(*score + (*score < most ? 1 : 0)); }
    static void down(std::uint8_t *score) { *score = static_cast<std::uint8_t>(*score - std::min(*score, off)); }

private:
    struct record {
        std::uint64_t name = 0;
        std::uint8_t score = 0; // at most `most`
        std::uint32_t context = 0;
    };
    // Contexts and tags are small numbers, in different bits: all of them tell in the upper ones that are taken.
    static std::uint32_t place(std::uint64_t name) {
        static_assert(1U << (64 - 58) == kinds);
        name = (name ^ name >> 32) * 0x9e3779b97f4a7c15ULL;
        return static_cast<std::uint32_t>((name ^ name >> 29) * 0x9e3779b97f4a7c15ULL >> 58);
    }

    std::array<record, kinds> table_{};
    std::array<record, kinds> contexts_{};
};

} // namespace smartint
