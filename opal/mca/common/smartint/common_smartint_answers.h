// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// A message of middle size inside a node, above eager_limit, may go whole into the ring, or by an RTS to a receiver
// that waits and has it copied by the kernel. Receivers find out which is quicker (common_smartint_bursts.h); senders
// see it by their answers, and ask no more where the ring is. For 16 KiB: 2.8 us whole and 1.7 by an RTS where two
// cores were far from each other, .9 and 3.4 where they had a cache in common.
#pragma once

#include <bit>
#include <cstdint>

namespace smartint {

// Not for two threads at once: the engine's, under the gate.
class answers {
public:
    // Whether the receiver of so many bytes is to be asked, by an RTS. Once it has been said it stays so until there is
    // an answer.
    bool ask(std::uint64_t bytes) {
        one_size &s = sizes_[row(bytes)];
        if (s.by_ring == enough && 0 == ++s.whole % again) {
            --s.by_ring; // machines change
        }
        return s.by_ring < enough;
    }
    // One had its RTS answered: the ring was wanted, or it was read.
    void answered(std::uint64_t bytes, bool by_ring) {
        one_size &s = sizes_[row(bytes)];
        s.by_ring = !by_ring ? 0 : s.by_ring < enough ? s.by_ring + 1 : enough;
    }

    // Of those that are tried by turns no three in a row are the same (quicker::choose).
    static constexpr unsigned enough = 3;
    static constexpr unsigned again = 64;

private:
    struct one_size {
        unsigned by_ring = 0; // answers in a row
        unsigned whole = 0;   // sent since
    };
    static constexpr int sizes = 16;

    static unsigned row(std::uint64_t bytes) { return static_cast<unsigned>(std::bit_width(bytes)) % sizes; }

    one_size sizes_[sizes];
};

} // namespace smartint
