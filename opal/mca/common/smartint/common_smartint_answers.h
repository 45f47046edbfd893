// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// A message of middle size inside a node, above eager_limit, may go whole into the ring, or by an RTS to a receiver
// that waits and has it copied by the kernel. Receivers find out which is quicker (common_smartint_bursts.h); senders
// see it by their answers, and ask no more where the ring is. For 16 KiB: 2.8 us whole and 2.0 by an RTS where two
// cores were far from each other, .9 and 3.4 where they had a cache in common.
#pragma once

#include <cstdint>

namespace smartint {

// Of one peer and about one size. Not for two threads at once: the engine's, under the gate.
class answers {
public:
    // Whether the peer is to be asked, by an RTS. told: its answer will tell something, as the sender waits for it and
    // is in no exchange. Others are sent so only where it is known to be quicker.
    bool ask(bool told) {
        if (!told) {
            return -enough == in_a_row_;
        }
        if (enough == in_a_row_ && 0 == ++whole_ % again) {
            --in_a_row_; // machines change
        }
        return in_a_row_ < enough;
    }
    // An RTS was answered: the ring was wanted, or it was read. told: the answer tells something. Others can only say
    // that reading isn't quicker any more.
    void answered(bool by_ring, bool told) {
        if (!told) {
            doubts_ = static_cast<std::int8_t>(by_ring && -enough == in_a_row_ ? doubts_ + 1 : 0);
            if (enough == doubts_) {
                in_a_row_ = doubts_ = 0;
            }
            return;
        }
        const int before = by_ring == (in_a_row_ > 0) ? in_a_row_ : 0;
        in_a_row_ = static_cast<std::int8_t>(by_ring ? (before < enough ? before + 1 : enough)
                                                     : (before > -enough ? before - 1 : -enough));
    }

    // Of those that are tried by turns no three in a row are the same, below 64 KiB (quicker::in_a_row). Above, where
    // parameters make such a message one of middle size, a trial may pass for an answer, for `again` messages.
    static constexpr int enough = 3;
    static constexpr unsigned again = 64;

private:
    std::int8_t in_a_row_ = 0; // the last ones of one kind: by the ring above 0, read below
    std::int8_t doubts_ = 0;   // by the ring in a row, of those that were known to be quicker read
    std::uint32_t whole_ = 0;  // of those that would tell something
};

} // namespace smartint
