// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Which way operations inside a node go to a target that waits, and how long that took.
#include "common_smartint_rma_bursts.h"

#include "common_smartint_clock.h"
#include "common_smartint_rma.h"

namespace smartint {
namespace {

constexpr unsigned most_copied = 256; // of a burst: they are done when their calls return
// bursts, once it is known: the clock is read twice in each of their calls. Odd, as bursts of two kinds may take turns
constexpr unsigned timed_every = 7;

// Of messages that the ring does not hold for long a target that comes to compute leaves the rest; no copy needs it.
unsigned favour_copies(std::uint64_t bytes) { return bytes > 65536 ? 25 : 5; }

enum sort : unsigned { puts, gets, small_puts, small_gets, small_accumulates, small_fetches, none };
static_assert(none == rma_bursts::sorts);

// none: an accumulate or a fetch that is not small, which the kernel's copies serve in two calls; or no operation.
sort sort_of(const rma_item *i) {
    using what = rma_item::what;
    const bool large = i->target_layout.bytes() >= quicker::smallest_bytes;
    switch (i->kind) {
    case what::put:
        return large ? puts : small_puts;
    case what::get:
        return large ? gets : small_gets;
    case what::accumulate:
        return large ? none : small_accumulates;
    case what::fetch:
        return large ? none : small_fetches;
    default:
        return none;
    }
}

bool moves(const rma_item *i) { return i->kind <= rma_item::what::fetch; }

// Of small ones each takes its time, whatever its size, or nearly so.
bool small(std::uint64_t bytes) { return bytes < quicker::smallest_bytes; }
std::uint64_t scale(std::uint64_t bytes) { return small(bytes) ? bytes * 8 : bytes; }

} // namespace

// Is it one as the burst's others, to the same target?
bool rma_bursts::fits(const rma_peer *p, const rma_item *i) const {
    return now_.to == p && nullptr == now_.last && sort_of(i) == now_.sort && !i->requested() &&
           quicker::same_size(scale(i->target_layout.bytes()), now_.size);
}

void rma_bursts::count(const rma_item *i) {
    const std::uint64_t bytes = i->target_layout.bytes();
    now_.moved += small(bytes) ? 1 : bytes;
    ++now_.operations;
    now_.counted = true;
}

bool rma_bursts::by_message(const rma_peer *p, const rma_item *i, bool follows) {
    const std::uint64_t bytes = i->target_layout.bytes();
    const unsigned sort = sort_of(i);
    if (none == sort) {
        return true;
    }
    const quicker::way usual = usual_way(bytes);
    if (bytes > params_.timed_bytes) {
        return follows || message == usual;
    }
    const std::uint64_t size = scale(bytes);
    if (nullptr == now_.to && calling_ && !follows && !i->requested()) {
        begin(p, size, sort, usual);
    }
    if (calling_ && fits(p, i) && (!follows || message == now_.way)) {
        count(i);
        return message == now_.way;
    }
    now_.spoiled = true;
    return follows || message == ways_[sort].best(size, usual, favour_copies(size));
}

bool rma_bursts::joins_queue(const rma_peer *p, const rma_item *i) {
    if (message != now_.way || !fits(p, i) || !i->one_piece()) {
        return false;
    }
    count(i);
    return true;
}

void rma_bursts::begin(const rma_peer *p, std::uint64_t size, unsigned sort, quicker::way usual) {
    quicker &ways = ways_[sort];
    const unsigned favour = favour_copies(size);
    now_ = burst{};
    now_.to = p;
    now_.sort = sort;
    now_.size = size;
    now_.way = ways.choose(size, usual, favour);
    now_.timed = !ways.known(size) || now_.way != ways.best(size, now_.way, favour) || 0 == ++begun_ % timed_every;
    now_.since = now_.timed ? now_ns() : 0;
}

void rma_bursts::call_begins(const rma_peer *p, const rma_item *i) {
    calling_ = true;
    if (nullptr == now_.to) {
        return;
    }
    if (now_.to == p && copied == now_.way && now_.operations >= most_copied) {
        end();
        return;
    }
    now_.counted = !moves(i); // it may be
    if (moves(i)) {
        now_.spoiled |= now_.to != p;
    } else if (now_.to == p) {
        if (!ends(i) || nullptr != now_.last) {
            now_ = burst{}; // its end will not be seen
            return;
        }
        now_.last = i;
    }
    // Where the application waits for its end already, another thread's call is none of its.
    if (now_.timed && (nullptr == now_.last || i == now_.last)) {
        now_.since = now_ns();
    }
}

void rma_bursts::call_ends() {
    calling_ = false;
    if (nullptr == now_.to || nullptr != now_.last) {
        return; // the application waits from the last one's begin on
    }
    now_.spoiled |= !now_.counted;
    if (now_.timed) {
        now_.spent += now_ns() - now_.since;
    }
}

// Does the application wait until all before it is at the target, or here?
bool rma_bursts::ends(const rma_item *i) const {
    using what = rma_item::what;
    const bool fetches = gets == now_.sort || small_gets == now_.sort || small_fetches == now_.sort;
    return (what::flush == i->kind || what::unlock == i->kind || (fetches && what::local == i->kind)) &&
           !i->requested();
}

void rma_bursts::end() {
    if (now_.timed && !now_.spoiled && 0 != now_.operations) {
        const std::uint64_t ns = now_.spent + (nullptr == now_.last ? 0 : now_ns() - now_.since);
        ways_[now_.sort].took(now_.size, now_.way, now_.operations > 1, now_.moved, ns);
        stats_.add(stat::rma_timed, now_.operations);
    }
    now_ = burst{};
}

} // namespace smartint
