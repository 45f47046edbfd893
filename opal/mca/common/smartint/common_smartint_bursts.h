// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Messages inside a node that both sides wait for go through the ring or as copies in pieces: which of the two is
// the quicker, by the time that receives took. The engine's, under the gate.
#pragma once

#include <cstdint>

#include "common_smartint_ops.h"
#include "common_smartint_params.h"
#include "common_smartint_quicker.h"
#include "common_smartint_stats.h"

namespace smartint {

// Receives are timed from the first that both sides wait for until none is left, or until they are many: they all go
// the way of the first, and their time decides for those after them. One by itself and several at a time are different
// things.
class bursts {
public:
    bursts(const params &p, stats &counters) : params_(p), stats_(counters) {} // both outlive it
    bursts(const bursts &) = delete;
    bursts &operator=(const bursts &) = delete;

    // Each whose RTS is met and which a direct copy could serve. waits: this side does; both_wait: the sender too.
    void met(recv_op *op, bool waits, bool both_wait);
    // One that was met, and that both wait for: by the ring?
    bool by_ring(const recv_op *op) const;
    void received(recv_op *op); // one that counts as of a burst is complete

private:
    // to `quicker`
    static constexpr quicker::way in_pieces = quicker::way::first;
    static constexpr quicker::way through_ring = quicker::way::second;
    struct burst {
        std::uint32_t number = 1;
        unsigned open = 0; // not complete yet
        unsigned receives = 0;
        bool spoiled = false; // one was met without a wait, sizes differ much, or one failed
        quicker::way way = in_pieces;
        std::uint64_t size = 0;  // of the first
        std::uint64_t bytes = 0; // of those that are complete
        std::uint64_t since = 0; // ns
    };
    bool timed(std::uint64_t bytes) const { return bytes >= quicker::smallest_bytes && bytes <= params_.timed_bytes; }
    quicker::way usual_way(std::uint64_t bytes) const { // of those that are not timed
        return bytes <= params_.stream_bytes ? through_ring : in_pieces;
    }
    void end();

    const params &params_;
    stats &stats_;
    burst now_;
    quicker ways_;
};

} // namespace smartint
