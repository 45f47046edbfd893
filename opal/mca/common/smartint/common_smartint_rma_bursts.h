// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Operations of one piece, inside a node, towards a target that waits: by message, in two copies at once, or by the
// kernel's copies between processes. Which of the two is the quicker is found out by the time that the origin's calls
// took. The engine's, under the gate.
#pragma once

#include <cstdint>

#include "common_smartint_params.h"
#include "common_smartint_quicker.h"
#include "common_smartint_rma_wire.h"
#include "common_smartint_stats.h"

namespace smartint {

struct rma_item;
struct rma_peer;

// Operations are timed from the first one to a target to the end of the flush or unlock behind them, without what the
// application does between its calls. They all go the way of the first. Only one target's at a time: those to others
// go the way that was best so far, and nothing is learned from such a mixture.
class rma_bursts {
public:
    static constexpr unsigned sorts = 6; // puts and gets; small puts, gets, accumulates, fetches

    rma_bursts(const params &p, stats &counters) : params_(p), stats_(counters) {} // both outlive it
    rma_bursts(const rma_bursts &) = delete;
    rma_bursts &operator=(const rma_bursts &) = delete;

    // What counts of an operation of a single piece.
    struct operation {
        wire::rma_kind kind = wire::rma_kind::none;
        unsigned sort = sorts; // sorts: of none, it goes by message
        std::uint64_t bytes = 0;
        bool requested = false;
    };
    static operation of(wire::rma_kind kind, std::uint64_t bytes); // that has no item, or none yet

    // One that both ways could serve. follows: messages are on their way to its target, behind which it has to stay. By
    // message?
    bool by_message(const rma_peer *p, const operation &o, bool follows);
    bool by_message(const rma_peer *p, const rma_item *i, bool follows);
    // As the first of its burst, and those go by message and are not timed: so it goes too, and nothing need be kept of
    // it. False: ask by_message(), with operation_begins() before and call_ends() behind it.
    bool again(const rma_peer *p, wire::rma_kind kind, std::uint64_t bytes) const {
        return now_.to == p && now_.bytes == bytes && now_.kind == kind && message == now_.way && !now_.timed &&
               nullptr == now_.last;
    }
    // It has to wait behind messages for which there was no room. True: it is of their burst, and to go as they do.
    bool joins_queue(const rma_peer *p, const rma_item *i);

    // Around each call that gives this item to a target's queue, or begins an operation, with an item or without.
    void call_begins(const rma_peer *p, const rma_item *i);
    void operation_begins(const rma_peer *p);
    void call_ends();
    void ended(const rma_item *i) {
        if (now_.last == i) {
            end();
        }
    }
    void all_done(const rma_peer *p) { // found so by the application, which does not wait
        if (now_.to == p) {
            end();
        }
    }
    void spoil() { now_.spoiled = true; } // some went another way than they were to
    void forget(const rma_peer *p) {
        if (now_.to == p) {
            now_ = burst{};
        }
    }

private:
    // to `quicker`
    static constexpr quicker::way copied = quicker::way::first;
    static constexpr quicker::way message = quicker::way::second;
    struct burst {
        const rma_peer *to = nullptr;   // nullptr: there is none
        const rma_item *last = nullptr; // the flush or unlock at its end
        unsigned sort = 0;
        bool timed = false;
        bool spoiled = false;
        bool counted = false; // what this call asks for is of the burst
        quicker::way way = message;
        unsigned operations = 0;
        wire::rma_kind kind = wire::rma_kind::none; // of the first
        std::uint64_t bytes = 0;
        std::uint64_t size = 0;  // to `quicker`
        std::uint64_t moved = 0; // bytes of all, or small ones
        std::uint64_t since = 0; // ns: this call, or the burst in it
        std::uint64_t spent = 0; // ns: in calls before
    };
    quicker::way usual_way(std::uint64_t bytes) const { // of those that are not timed
        return bytes <= params_.stream_bytes ? message : copied;
    }
    void begin(const rma_peer *p, const operation &o, quicker::way usual);
    bool fits(const rma_peer *p, const operation &o) const;
    void count(const operation &o);
    bool goes_on(const rma_peer *p);
    void read_clock();
    bool ends(const rma_item *i) const;
    void end();

    const params &params_;
    stats &stats_;
    burst now_;
    quicker ways_[sorts];
    bool calling_ = false; // an item is given to a queue: what is run then is that call's
    unsigned begun_ = 0;
};

} // namespace smartint
