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
// bytes, likewise: the rest of a row of large ones may go the other way. Two of the largest that are timed, as several
// are not one.
constexpr std::uint64_t most_copied_bytes = 134217728;
// bursts, once it is known: the clock is read twice in each of their calls. Odd, as bursts of two kinds may take turns
constexpr unsigned timed_every = 7;

// Of messages that the ring does not hold for long a target that comes to compute leaves the rest; no copy needs it.
unsigned favour_copies(std::uint64_t bytes) { return bytes > 65536 ? 25 : 5; }

enum sort : unsigned { puts, gets, small_puts, small_gets, small_accumulates, small_fetches, none };
static_assert(none == rma_bursts::sorts);

// none: an accumulate or a fetch that is not small, which the kernel's copies serve in two calls; or no operation.
sort sort_of(wire::rma_kind kind, std::uint64_t bytes) {
    using wire::rma_kind;
    const bool large = bytes >= quicker::smallest_bytes;
    switch (kind) {
    case rma_kind::put:
        return large ? puts : small_puts;
    case rma_kind::get:
        return large ? gets : small_gets;
    case rma_kind::accumulate:
        return large ? none : small_accumulates;
    case rma_kind::fetch:
        return large ? none : small_fetches;
    default:
        return none;
    }
}

wire::rma_kind kind_of(const rma_item *i) {
    using what = rma_item::what;
    return what::put == i->kind          ? wire::rma_kind::put
           : what::get == i->kind        ? wire::rma_kind::get
           : what::accumulate == i->kind ? wire::rma_kind::accumulate
           : what::fetch == i->kind      ? wire::rma_kind::fetch
                                         : wire::rma_kind::none;
}

rma_bursts::operation of_item(const rma_item *i) {
    const std::uint64_t bytes = i->target_layout.bytes();
    return {kind_of(i), sort_of(kind_of(i), bytes), bytes, i->requested()};
}

bool moves(const rma_item *i) { return i->kind <= rma_item::what::fetch; }

// Of small ones each takes its time, whatever its size, or nearly so.
bool small(std::uint64_t bytes) { return bytes < quicker::smallest_bytes; }
std::uint64_t scale(std::uint64_t bytes) { return small(bytes) ? bytes * 8 : bytes; }

} // namespace

rma_bursts::operation rma_bursts::of(wire::rma_kind kind, std::uint64_t bytes) {
    return {kind, sort_of(kind, bytes), bytes, false};
}

// Is it one as the burst's others, to the same target?
bool rma_bursts::fits(const rma_peer *p, const operation &o) const {
    return now_.to == p && nullptr == now_.last && o.sort == now_.sort && !o.requested &&
           quicker::same_size(scale(o.bytes), now_.size);
}

void rma_bursts::count(const operation &o) {
    now_.moved += small(o.bytes) ? 1 : o.bytes;
    ++now_.operations;
    now_.counted = true;
}

bool rma_bursts::by_message(const rma_peer *p, const rma_item *i, bool follows) {
    return by_message(p, of_item(i), follows);
}

bool rma_bursts::by_message(const rma_peer *p, const operation &o, bool follows) {
    if (none == o.sort) {
        return true;
    }
    const quicker::way usual = usual_way(o.bytes);
    if (o.bytes > params_.timed_bytes) {
        return follows || message == usual;
    }
    if (nullptr == now_.to && calling_ && !follows && !o.requested) {
        begin(p, o, usual);
    }
    if (calling_ && fits(p, o) && (!follows || message == now_.way)) {
        count(o);
        return message == now_.way;
    }
    now_.spoiled = true;
    const std::uint64_t size = scale(o.bytes);
    return follows || message == ways_[o.sort].best(size, usual, favour_copies(size));
}

bool rma_bursts::joins_queue(const rma_peer *p, const rma_item *i) {
    const operation o = of_item(i);
    if (message != now_.way || !fits(p, o) || !i->one_piece()) {
        return false;
    }
    count(o);
    return true;
}

void rma_bursts::begin(const rma_peer *p, const operation &o, quicker::way usual) {
    quicker &ways = ways_[o.sort];
    const std::uint64_t size = scale(o.bytes);
    const unsigned favour = favour_copies(size);
    now_ = burst{};
    now_.to = p;
    now_.sort = o.sort;
    now_.kind = o.kind;
    now_.bytes = o.bytes;
    now_.size = size;
    now_.way = ways.choose(size, usual, favour);
    now_.timed = !ways.known(size) || now_.way != ways.best(size, now_.way, favour) || 0 == ++begun_ % timed_every;
    now_.since = now_.timed ? now_ns() : 0;
}

// False: there is no burst to go on with.
bool rma_bursts::goes_on(const rma_peer *p) {
    calling_ = true;
    const bool long_enough = now_.operations >= most_copied || now_.moved >= most_copied_bytes;
    if (nullptr != now_.to && now_.to == p && copied == now_.way && long_enough) {
        end();
    }
    return nullptr != now_.to;
}

void rma_bursts::read_clock() {
    if (now_.timed) {
        now_.since = now_ns();
    }
}

void rma_bursts::operation_begins(const rma_peer *p) {
    if (goes_on(p)) {
        now_.counted = false; // it may be
        now_.spoiled |= now_.to != p;
        if (nullptr == now_.last) { // else the application waits for its end already: this call is another thread's
            read_clock();
        }
    }
}

void rma_bursts::call_begins(const rma_peer *p, const rma_item *i) {
    if (moves(i)) {
        operation_begins(p);
        return;
    }
    if (!goes_on(p)) {
        return;
    }
    now_.counted = true;
    if (now_.to == p) {
        if (!ends(i) || nullptr != now_.last) {
            now_ = burst{}; // its end will not be seen
            return;
        }
        now_.last = i;
    }
    if (nullptr == now_.last || i == now_.last) {
        read_clock();
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
