// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "common_smartint_held.h"

#include <algorithm>
#include <utility>

#include "common_smartint_clock.h"
#include "common_smartint_engine.h"
#include "common_smartint_rma.h"

namespace smartint {

void held_notices::post(const held_notice &n, std::uint32_t context, std::int32_t tag, notice_watch *w) {
    if (n.peer->relayed()) {
        w->watched = true;
        w->kind = known_.kind_of(context, tag, n.answer);
        if (known_.prompt(w->kind) && may_hold()) {
            e_.stats_.add(stat::notices_held);
            list_.push_back(n);
            list_.back().since = now_ns();
            return;
        }
    }
    e_.post_notice(n.peer, n.what, n.source, n.sequence);
}

// The thread posts them, should the application not come back in time. False: it would not come.
bool held_notices::cover() {
    bool &covered = e_.put_off_.notices;
    covered = covered || e_.postpone_to_calls();
    return covered;
}

void held_notices::heard(endpoint *ep, notice_watch *w, bool was_woken) {
    if (w->watched) {
        w->watched = false;
        if (was_woken) {
            known_.late(w->kind);
        } else {
            known_.in_time(w->kind);
        }
    }
    heard(ep);
}

void held_notices::heard(endpoint *ep) {
    if (any()) {
        ep->heard_ns = now_ns();
    }
}

bool held_notices::may_hold() { return (e_.application_waits() && !e_.by_thread_) || cover(); }

// afresh: what was held of this target before is answered.
bool held_notices::hold(const held_notice &n, bool afresh) {
    if (!may_hold()) {
        return false;
    }
    const auto at =
        std::find_if(list_.begin(), list_.end(), [&](const held_notice &h) { return n.target == h.target; });
    if (list_.end() != at) {
        at->sequence = n.sequence;
        if (!afresh) {
            return true;
        }
        at->seen = 0;
        at->since = now_ns();
    } else {
        list_.push_back(n);
        list_.back().since = now_ns();
    }
    e_.stats_.add(stat::notices_held);
    return true;
}

void held_notices::forget(rma_peer *p) {
    std::erase_if(list_, [p](const held_notice &n) { return p == n.target; });
}

// nullptr: it is answered, or will never be.
notice_watch *held_notices::unanswered(const held_notice &n) {
    if (n.answer) {
        recv_op *op = e_.receives_.find(n.id);
        return nullptr != op && 0 == op->arrived && !op->peer->lost ? &op->watch : nullptr;
    }
    send_op *op = e_.sends_.find(n.id);
    return nullptr != op && op_state::rts_sent == op->state && !op->peer->lost ? &op->watch : nullptr;
}

bool held_notices::is_due(held_notice &n, looks how, std::uint64_t now) const {
    n.seen = 0 == n.seen ? now : n.seen;
    const std::uint64_t since = looks::away == how ? n.since : n.seen;
    const unsigned doublings = nullptr == n.target ? 0 : n.target->notices.doublings;
    return looks::at_last == how || now >= std::max(since, n.peer->heard_ns) + (moment_ << doublings);
}

// Those of no use any more go, and those are posted whose peer has said nothing for a moment: since this process has
// looked; or since they were held, where the application is away; or all.
void held_notices::look(looks how) {
    const std::uint64_t now = now_ns();
    std::erase_if(list_, [&](held_notice &n) {
        if (nullptr != n.target) {
            if (rma::unanswered(n.target) && !is_due(n, how, now)) {
                return false;
            }
            e_.rma_->no_more_held(n.target, n.sequence);
            return true;
        }
        notice_watch *w = unanswered(n);
        if (nullptr == w) {
            return true;
        }
        if (!is_due(n, how, now)) {
            return false;
        }
        known_.late(w->kind);
        w->watched = false;
        e_.post_notice(n.peer, n.what, n.source, n.sequence);
        return true;
    });
    e_.put_off_.notices = e_.put_off_.notices && any();
}

void held_notices::look() {
    const std::uint64_t now = now_ns();
    if (now >= next_) {
        next_ = now + moment_ / 8;
        look(looks::inside);
    }
}

void held_notices::take() {
    if (std::exchange(e_.put_off_.notices, false) && !e_.application_waits()) { // else it sees to them, or leaves
        look(looks::away);
        if (any() && !cover()) {
            look(looks::at_last);
        }
    }
}

void held_notices::leave() {
    if (any() && !e_.application_waits()) {
        look(looks::inside);
        if (any() && !cover()) {
            look(looks::at_last);
        }
    }
}

} // namespace smartint
