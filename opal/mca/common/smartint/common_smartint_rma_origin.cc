// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// The origin's queue towards one target: what may go, goes.
#include "common_smartint_engine.h"
#include "common_smartint_rma.h"

namespace smartint {
namespace {

// Behind a lock that is asked for: operations and what ends them, not the next epoch.
bool goes_ahead(rma_item::what kind) {
    using what = rma_item::what;
    return what::await_post != kind && what::lock != kind && what::complete != kind;
}

// What is before it must be at the target.
bool ends_something(rma_item::what kind) {
    using what = rma_item::what;
    return what::unlock == kind || what::flush == kind || what::complete == kind;
}

} // namespace

void rma::submit(rma_peer *p, rma_item *op) {
    using what = rma_item::what;
    if (!op->chosen) {
        serve_now_and_then();
    }
    op->aim();
    op->slack = (what::put == op->kind || what::get == op->kind) && for_slack(p, op->target_layout.bytes()) &&
                direct_possible(p, op);
    e_.stats_.add(stat::rma_operations);
    const bool slack = op->slack;
    const bool waits = push(p, op);
    if (waits && slack) {
        e_.stats_.add(stat::rma_slack);
    } else if (waits && !p->stuck) {
        e_.stats_.add(stat::rma_deferred);
    }
}

// True: it did not go at once.
bool rma::push(rma_peer *p, rma_item *i) {
    use();
    i->peer = p;
    i->after_fence = p->window->fences_begun;
    if (nullptr != i->sync) {
        ++i->sync->pending;
    }
    if (p->ep->lost) {
        if (i->chosen) {
            bursts_.call_ends();
        }
        note_error(p->window, rma_error::lost);
        if (0 != p->transfers) { // the network has memory of operations before this one still
            p->ending.push_back(i);
            return true;
        }
        end(i, rma_error::lost);
        return false;
    }
    if (nullptr == p->head) {
        p->head = i;
    } else {
        p->tail->next = i;
    }
    p->tail = i;
    p->queued += i->target_layout.bytes();
    p->requested = p->requested || i->requested();
    if (!i->chosen) { // else its call has begun
        bursts_.call_begins(p, i);
    }
    if (!p->stuck) {
        pump(p);
        while (route::self == p->ep->way && !p->replies.empty() && step::done == reply(p)) {
            pump(p); // this process as target of its own; nobody would wake it
        }
        settle_state(p);
        if (p->stuck || !p->replies.empty()) {
            activate(p);
        }
    } else {
        i->by_message = !i->slack && bursts_.joins_queue(p, i);
        if (i->requested()) { // what it stands behind may have been postponed, and the target's notice held back
            settle_state(p);
            if (p->notices.held) {
                p->told = 0;
                wake_beforehand(p);
            }
        }
    }
    bursts_.call_ends();
    return nullptr != p->head;
}

// Out of the queue, the head stays with the caller.
void rma::take_head(rma_peer *p) {
    rma_item *i = p->head;
    p->head = i->next;
    if (nullptr == p->head) {
        p->tail = nullptr;
        forget_queue(p);
    }
    i->next = nullptr;
}

// There was no room for the head of the queue: the target makes some, unless it is for the network's own work over a
// connection that is there: transfers, and the flush that at_rest() could not begin. Messages need the target's
// processor, whatever was written before them.
bool rma::target_makes_room(const rma_peer *p, const rma_item *i) const {
    if (nullptr == i->network && !(p->unflushed && ends_something(i->kind))) {
        return true;
    }
    return e_.network_.connecting(rma_item::what::get == i->kind ? p->ep->control : p->ep->bulk);
}

void rma::pump(rma_peer *p) {
    p->stuck = false;
    while (nullptr != p->head) {
        rma_item *i = p->head;
        if (i->slack && !in_progress_) { // for a pass, behind what the caller may still have for the network
            more_ = true;
            activate(p);
            return;
        }
        const step s = p->ep->lost ? step::blocked : run(p, i);
        if (step::full == s) {
            // The target takes in what is under way, or the connection, and then this message.
            p->stuck = true;
            if (target_makes_room(p, i)) {
                wake_beforehand(p);
            }
            return;
        }
        if (step::again == s) {
            more_ = true;
            return;
        }
        if (step::blocked == s) {
            if (p->unsure && !p->ep->lost) { // and what would make sure stands behind this
                wake_target(p);
            }
            return;
        }
        // done: run() has given the item away or ended it
        if (by_thread_) {
            bursts_.spoil(); // not all of its time is that of the calls
            e_.stats_.add(stat::rma_by_thread);
        }
    }
}

void rma::go_on(rma_peer *p) {
    pump(p);
    hurry_bundle(p); // what had to wait is late already
    settle_state(p);
    if (p->stuck) {
        activate(p);
    }
}

// Inside a node the thread, woken when the peer lets the queue go on, would copy: the wake takes longer than that where
// there is little, and where no core is idle the copy takes the same time from the computation. So it is postponed to
// the calls, as large messages are, and the thread comes when they are late. But a request may be waited for much
// later, here and at the target. False: it is not postponed.
bool rma::postpone_to_calls(rma_peer *p) {
    if (route::shared != p->ep->way || p->requested || p->overdue ||
        (p->queued > e_.params_.arm_from && !e_.crowded())) {
        return false;
    }
    if (!p->postponed) {
        if (!e_.postpone_to_calls()) {
            return false;
        }
        p->postponed = true;
        ++e_.put_off_.queues;
    }
    return true;
}

void rma::forget_queue(rma_peer *p) {
    e_.put_off_.queues -= p->postponed ? 1 : 0;
    p->queued = 0;
    p->requested = p->overdue = p->postponed = false;
}

// The calls are late. The thread has just made a pass: what may go has gone. As much as in one of its passes; the rest
// is for the next ones.
void rma::take_what_is_postponed() {
    by_thread_ = true;
    budget_ = e_.params_.copy_bytes;
    for (const auto &[id, w] : windows_) {
        if (w->postponed) {
            forget_fence(w.get());
            arm_fence(w.get());
        }
        for (const auto &p : w->peers) {
            if (p && p->gets_postponed) {
                hurry_gets(p.get());
                settle_state(p.get());
            }
            if (p && p->postponed) {
                p->postponed = false;
                --e_.put_off_.queues;
                p->overdue = true;
                go_on(p.get());
                arm_flush(p.get()); // what was postponed may have been that alone
                p->overdue = nullptr != p->head;
                if (nullptr != p->head && more_) {
                    activate(p.get());
                }
            }
        }
    }
    budget_ = UINT64_MAX;
    by_thread_ = false;
}

// The fences before it are through.
bool rma::allowed(rma_peer *p, const rma_item *i) {
    rma_window *w = p->window;
    if (w->fences_done >= i->after_fence) {
        return true;
    }
    if (may_arm(p) && !postpone_to_calls(p)) {
        arm_fence(w);
    }
    return false;
}

rma::step rma::run(rma_peer *p, rma_item *i) {
    using what = rma_item::what;
    if (!allowed(p, i)) {
        return step::blocked;
    }
    if (nullptr != p->asked && !goes_ahead(i->kind)) {
        arm(p, rma_epoch_kind::grant);
        return step::blocked;
    }
    if (ends_something(i->kind)) {
        if (const step s = at_rest(p); step::done != s) {
            return s;
        }
    }
    switch (i->kind) {
    case what::put:
    case what::get:
    case what::accumulate:
    case what::fetch:
        return run_operation(p, i);
    case what::await_post:
        return run_await_post(p, i);
    case what::lock:
        return run_lock(p, i);
    case what::unlock:
    case what::flush:
        return run_flush(p, i);
    case what::complete:
        return run_complete(p, i);
    case what::local:
        return run_local(p, i);
    }
    return step::blocked; // there is no other kind
}

// The head has been waited for, and what it holds up may go.
rma::step rma::over(rma_peer *p, rma_item *i) {
    take_head(p);
    disarm(&p->armed);
    arm_flush(p); // the request may have been for that
    end(i);
    return step::done;
}

rma::step rma::run_await_post(rma_peer *p, rma_item *i) {
    if (0 == p->posts) {
        if (nullptr != i->next || nullptr != i->sync) {
            arm(p, rma_epoch_kind::post);
        }
        return step::blocked;
    }
    --p->posts;
    p->unposted = false; // it has seen the epoch before to its end
    return over(p, i);
}

rma::step rma::run_lock(rma_peer *p, rma_item *i) {
    if (const step s = take_lock_item(p, i); step::done != s) {
        return s;
    }
    if (i == p->asked) { // by message: it ends when it is granted
        take_head(p);
        return step::done;
    }
    return over(p, i);
}

// All that was sent is answered by itself, and the answer is waited for in MPI: whoever computes wants a notice, which
// goes with an ack.
bool rma::answers_do(const rma_peer *p, const rma_item *i) {
    return !p->unacked && p->acks.empty() && !i->for_fence && !i->requested();
}

// Flush and unlock: until the target says that it has taken in what was sent, unless nothing is on its way. A lock that
// this process holds in the target's words it lets go of by itself, behind a flush; the target does the others at an
// unlock.
rma::step rma::run_flush(rma_peer *p, rma_item *i) {
    const bool unlocks = rma_item::what::unlock == i->kind;
    const bool mine = rma_hold::none != p->held;
    p->gets_before = p->gets_begun;
    if (unlocks && !mine) {
        if (const step s = send_mark(p, i, wire::rma_kind::unlock); step::done != s) {
            return s;
        }
    } else {
        if (unlocks) {
            i->exclusive = rma_hold::exclusive == p->held;
        }
        if (settled(p)) {
            if (unlocks) {
                p->held = rma_hold::none;
                let_go(p, i->exclusive);
            }
            return over(p, i);
        }
        if (!unlocks && answers_do(p, i)) {
            return run_local(p, i);
        }
        if (const step s = send_mark(p, i, wire::rma_kind::flush); step::done != s) {
            return s;
        }
        if (unlocks) {
            i->begun = true;
            p->held = rma_hold::none;
        }
    }
    p->unacked = false;
    if (somebody_waits(i)) {
        arm(p, rma_epoch_kind::ack); // while it is known what kind of queue this is
    }
    take_head(p);
    p->acks.push_back(i);
    return step::done;
}

rma::step rma::run_complete(rma_peer *p, rma_item *i) {
    if (const step s = send_mark(p, i, wire::rma_kind::complete); step::done != s) {
        return s;
    }
    p->gets_before = p->gets_begun;
    p->unposted = unposted(p) || p->unacked || 0 != p->fetching;
    p->unposted_at = p->window->fences_done;
    p->unacked = false; // nobody flushes across an epoch's end
    give_up_answer(p);
    return run_local(p, i);
}

rma::step rma::run_local(rma_peer *p, rma_item *i) {
    if (!p->under_way.empty()) {
        return step::blocked; // the last of them has the queue go on
    }
    if (0 != p->bundled_asks) {
        if (const step s = send_bundle(p); step::done != s) {
            return s;
        }
    }
    if (p->unsure) {
        wake_target(p);
    }
    take_head(p);
    p->locals.emplace_back(p->gets_begun, i);
    local_step(p);
    return step::done;
}

// The lock is granted, or what the target keeps until then leaves room for so much more.
bool rma::may_go_ahead(rma_peer *p, std::size_t bytes) {
    if (nullptr == p->asked || p->ahead + bytes <= wire::rma_ahead_bytes) {
        return true;
    }
    arm(p, rma_epoch_kind::grant);
    return false;
}

// So much of it was sent, or lies in a bundle: as its target keeps it.
void rma::note_ahead(rma_peer *p, std::size_t bytes) {
    if (nullptr != p->asked) {
        p->ahead += static_cast<std::uint32_t>(bytes);
        e_.stats_.add(stat::rma_ahead);
    }
}

// Items that wait for gets and fetches alone.
void rma::local_step(rma_peer *p) {
    while (!p->locals.empty() && p->locals.front().first <= p->gets_done) {
        rma_item *i = p->locals.front().second;
        p->locals.pop_front();
        end(i);
    }
}

// What the target has no part in must not overtake messages: those that go ahead of a grant, which the target keeps
// until then, and those of an epoch before, or before a flush, until it says that it has taken them in.
rma::step rma::after_messages(rma_peer *p) {
    if (nullptr != p->asked) {
        arm(p, rma_epoch_kind::grant);
        return step::blocked;
    }
    if (!p->acks.empty()) {
        arm(p, rma_epoch_kind::ack);
        return step::blocked;
    }
    return step::done;
}

// True: no post, grant or fence of the target has come since the last epoch was completed, as only MPI_MODE_NOCHECK
// allows; stores of that epoch may be on their way still.
bool rma::unposted(rma_peer *p) {
    p->unposted = p->unposted && p->window->fences_done <= p->unposted_at;
    return p->unposted;
}

// Accumulates come in the order of the calls. Without a flush between them nothing orders a get behind a put of the
// same process; but programs count on it (the requests of Global Arrays' port to MPI-3), as copies that are made in the
// call keep the order: so does this.
bool rma::follows_messages(const rma_peer *p, const rma_item *i) {
    return (p->unacked || 0 != p->fetching) && route::shared == p->ep->way && 0 == i->target_at.done();
}

rma::step rma::run_operation(rma_peer *p, rma_item *i) {
    // A target answers a get when it has room, but stores at once: so what is no get waits for the data of the gets
    // before it. That data has the queue go on; nothing is armed for it.
    if (rma_item::what::get != i->kind && p->gets_done < p->gets_before) {
        if (p->owed_wake && !e_.application_waits()) {
            wake_target(p);
        }
        const step s = after_messages(p);
        return step::done == s ? step::blocked : s;
    }
    i->by_message = i->by_message || unposted(p) || better_by_message(p, i) || follows_messages(p, i);
    if (!i->by_message && direct_possible(p, i)) {
        step s = after_messages(p);
        if (step::done == s) {
            s = run_direct(p, i);
        }
        if (step::full != s) { // full: the kernel will not have it, by message then
            return s;
        }
    }
    if (by_network(p, i)) {
        return run_by_network(p, i);
    }
    return rma_item::what::get == i->kind ? send_get(p, i) : send_stores(p, i);
}

} // namespace smartint
