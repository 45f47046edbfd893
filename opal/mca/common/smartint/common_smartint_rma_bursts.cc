// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Which way puts and gets inside a node go to a target that waits, and how long that took.
#include "common_smartint_rma_bursts.h"

#include "common_smartint_clock.h"
#include "common_smartint_rma.h"

namespace smartint {
namespace {

constexpr unsigned most_of_a_burst = 256;
constexpr unsigned timed_every = 8; // bursts, once it is known: the clock is read twice in each of their calls

// Of messages that the ring does not hold for long a target that comes to compute leaves the rest; no copy needs it.
unsigned favour_copies(std::uint64_t bytes) { return bytes > 65536 ? 25 : 5; }

// 0 put, 1 get; 2 to 5 small put, get, accumulate, fetch; none for what is no operation.
constexpr unsigned none = 6;
unsigned sort_of(const rma_item *i) {
    using what = rma_item::what;
    const bool large = i->target_layout.bytes() >= quicker::smallest_bytes;
    switch (i->kind) {
    case what::put:
        return large ? 0 : 2;
    case what::get:
        return large ? 1 : 3;
    case what::accumulate:
        return large ? none : 4;
    case what::fetch:
        return large ? none : 5;
    default:
        return none;
    }
}

bool moves(const rma_item *i) { return i->kind <= rma_item::what::fetch; }

// By whom the application waits until all before it is at the target, or here.
bool ends(const rma_item *i) {
    return (rma_item::what::flush == i->kind || rma_item::what::unlock == i->kind) && !i->requested();
}

} // namespace

bool rma_bursts::by_message(const rma_peer *p, const rma_item *i, bool in_call, bool follows) {
    const std::uint64_t bytes = i->target_layout.bytes();
    const quicker::way usual = usual_way(bytes);
    const unsigned sort = sort_of(i);
    if (none == sort || bytes > params_.timed_bytes) {
        return follows || message == usual;
    }
    // Of small ones each takes its time, whatever its size, or nearly so.
    const bool small = bytes < quicker::smallest_bytes;
    const std::uint64_t size = small ? bytes * 8 : bytes;
    if (nullptr == now_.to && in_call && !follows && !i->requested()) {
        begin(p, size, sort, usual);
    }
    const bool fits = now_.to == p && now_.sort == sort && in_call && quicker::same_size(size, now_.size);
    now_.counted = fits && !i->requested() && (!follows || message == now_.way);
    if (!now_.counted) {
        now_.spoiled = true;
        return follows || message == ways_[sort].best(size, usual, favour_copies(size));
    }
    now_.moved += small ? 1 : bytes;
    ++now_.operations;
    return message == now_.way;
}

void rma_bursts::begin(const rma_peer *p, std::uint64_t size, unsigned sort, quicker::way usual) {
    quicker &ways = ways_[sort];
    const unsigned favour = favour_copies(size);
    now_ = burst{};
    now_.to = p;
    now_.sort = sort;
    now_.size = size;
    now_.way = ways.choose(size, usual, favour);
    now_.in_call = true;
    now_.timed = !ways.known(size) || now_.way != ways.best(size, now_.way, favour) || 0 == ++begun_ % timed_every;
    now_.since = now_.timed ? now_ns() : 0;
}

void rma_bursts::call_begins(const rma_peer *p, const rma_item *i) {
    if (nullptr == now_.to) {
        return;
    }
    now_.in_call = true;
    now_.counted = !moves(i); // it may be
    now_.spoiled |= moves(i) && (now_.to != p || nullptr != now_.last || now_.operations >= most_of_a_burst);
    if (now_.to == p && !moves(i)) {
        if (!ends(i) || nullptr != now_.last) {
            now_ = burst{}; // its end will not be seen
            return;
        }
        now_.last = i;
    }
    now_.since = now_.timed ? now_ns() : 0;
}

void rma_bursts::call_ends() {
    if (nullptr == now_.to || !now_.in_call) {
        return;
    }
    now_.in_call = false;
    now_.spoiled |= !now_.counted;
    if (now_.timed && nullptr == now_.last) { // else the application waits from here on
        now_.spent += now_ns() - now_.since;
    }
}

void rma_bursts::end() {
    if (now_.timed && !now_.spoiled) {
        const std::uint64_t ns = now_.spent + (nullptr == now_.last ? 0 : now_ns() - now_.since);
        ways_[now_.sort].took(now_.size, now_.way, now_.operations > 1, now_.moved, ns);
        stats_.add(stat::rma_timed, now_.operations);
    }
    now_ = burst{};
}

} // namespace smartint
