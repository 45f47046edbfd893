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
// the way of the first, unless something else was agreed, and their time decides for those after them. One by itself
// and several at a time are different things.
class bursts {
public:
    bursts(const params &p, stats &counters) : params_(p), stats_(counters) {} // both outlive it
    bursts(const bursts &) = delete;
    bursts &operator=(const bursts &) = delete;

    // The way that a rank would have both directions of an exchange go. nothing: it does not find that out, as it
    // receives none of this size so, or none that could be timed. The receiver chooses for itself then.
    enum class preference : std::uint8_t { nothing, pieces, ring };
    // This rank's, for the RTS of a message of so many bytes: the quicker way, or one that is being tried. The same
    // until receives were timed, or cannot be.
    preference prefers(std::uint64_t bytes);

    // In what a message was met by its RTS: a call that does not wait, or a wait; one of the sender too, or of both in
    // an exchange.
    enum class met_in : std::uint8_t { call, wait, wait_of_both, exchange };
    // Each that a direct copy could serve. agreed: the way, of one of an exchange. By the ring? Only where both wait.
    bool met(recv_op *op, met_in where, preference agreed = preference::nothing);
    bool in_exchange() const { return 0 != now_.open && now_.exchange; } // receives of one are not complete
    // They did not end within a moment. Asked until others have begun.
    void note_late() { now_.late = true; }
    bool late() const { return now_.late; }
    void spoil() { now_.spoiled = true; } // one went another way
    void received(recv_op *op);           // one that was met is complete

private:
    // to `quicker`
    static constexpr quicker::way in_pieces = quicker::way::first;
    static constexpr quicker::way through_ring = quicker::way::second;
    static constexpr unsigned favour = 15; // percent, of pieces: either side can move those by itself
    struct burst {
        std::uint32_t number = 1;
        unsigned open = 0; // not complete yet
        unsigned receives = 0;
        bool exchange = false;
        bool late = false;    // see note_late
        bool spoiled = false; // one was met without a wait or went another way, sizes differ much, or one failed
        quicker::way way = in_pieces;
        std::uint64_t size = 0;  // of the first
        std::uint64_t bytes = 0; // of those that are complete
        std::uint64_t since = 0; // ns
    };
    bool timed(std::uint64_t bytes) const { return bytes >= quicker::smallest_bytes && bytes <= params_.timed_bytes; }
    quicker::way usual_way(std::uint64_t bytes) const { // of those that are not timed
        return bytes <= params_.stream_bytes ? through_ring : in_pieces;
    }
    static quicker::way way_of(preference p) { return preference::ring == p ? through_ring : in_pieces; }
    static preference preference_for(quicker::way w) {
        return through_ring == w ? preference::ring : preference::pieces;
    }
    quicker::way way_of_one(std::uint64_t bytes, bool exchange, preference agreed, bool alike) const;
    void begin(const recv_op *op, bool exchange, preference agreed);
    void end();

    const params &params_;
    stats &stats_;
    burst now_;
    quicker ways_;
    quicker exchanges_; // whose receiver sends at the same time
    struct said {
        quicker::way way = in_pieces;
        unsigned times = 0; // since receives were timed; 0: to be chosen
        unsigned vain = 0;  // bursts since then that could not be timed
    };
    said said_[quicker::sizes];
    void end_in_vain(said *s);
};

} // namespace smartint
