// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// The origin's queue towards one target: what may go, goes.
#include <algorithm>
#include <cstring>

#include "common_smartint_engine.h"
#include "common_smartint_rma.h"

namespace smartint {
namespace {

constexpr unsigned most_runs = 64;              // of one message that has room for more data than runs
constexpr std::uint64_t large = 32768;          // worth waking a target that computes, at once

// Of one message: at most half of it. Where datagrams are small (ud by Ethernet: 1024 bytes) these are a few.
unsigned runs_towards(const endpoint *ep) {
    static_assert(least_payload / 2 / sizeof(rma_run) >= 3, "one element in two pieces, and take()'s one more");
    return std::min<unsigned>(most_runs, ep->max_payload / 2 / sizeof(rma_run) - 1);
}

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
    serve_now_and_then();
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
    i->peer = p;
    i->after_fence = p->window->fences_begun;
    if (nullptr != i->sync) {
        ++i->sync->pending;
    }
    if (p->ep->lost) {
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
    if (!p->stuck) {
        pump(p);
        while (route::self == p->ep->way && !p->replies.empty() && step::done == reply(p)) {
            pump(p); // this process as target of its own; nobody would wake it
        }
        settle_state(p);
        if (p->stuck || !p->replies.empty()) {
            activate(p);
        }
    }
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
// connection that is there: transfers, and the flush that at_rest() could not begin. Messages need the target's processor,
// whatever was written before them.
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
                wake_for(p, p->ep->rma_out + 1);
            }
            return;
        }
        if (step::again == s) {
            more_ = true;
            return;
        }
        if (step::blocked == s) {
            return;
        }
        // done: run() has given the item away or ended it
        if (by_thread_) {
            e_.stats_.add(stat::rma_by_thread);
        }
    }
}

void rma::go_on(rma_peer *p) {
    pump(p);
    settle_state(p);
    if (p->stuck) {
        activate(p);
    }
}

// Inside a node the thread, woken when the peer lets the queue go on, would copy: the wake takes longer than that where
// there is little, and where no core is idle the copy takes the same time from the computation. So it is left to the
// calls, as large messages are, and the thread comes when they are late. But a request may be waited for much later,
// here and at the target. False: it is not left.
bool rma::leave_to_calls(rma_peer *p) {
    if (route::shared != p->ep->way || p->requested || p->overdue || (p->queued > e_.params_.arm_from && !e_.crowded())) {
        return false;
    }
    if (!p->left) {
        if (!e_.leave_to_calls()) {
            return false;
        }
        p->left = true;
        ++e_.left_queues_;
    }
    return true;
}

void rma::forget_queue(rma_peer *p) {
    e_.left_queues_ -= p->left ? 1 : 0;
    p->queued = 0;
    p->requested = p->overdue = p->left = false;
}

// The calls are late. The thread has just made a pass: what may go has gone. As much as in one of its passes; the rest
// is for the next ones.
void rma::take_what_is_left() {
    by_thread_ = true;
    budget_ = e_.params_.copy_bytes;
    for (const auto &[id, w] : windows_) {
        if (w->left) {
            forget_fence(w.get());
            arm_fence(w.get());
        }
        for (const auto &p : w->peers) {
            if (p && p->left) {
                p->left = false;
                --e_.left_queues_;
                p->overdue = true;
                go_on(p.get());
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
    if (may_arm(p) && !leave_to_calls(p)) {
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
        if (0 == p->posts) {
            if (nullptr != i->next || nullptr != i->sync) {
                arm(p, rma_epoch_kind::post);
            }
            return step::blocked;
        }
        --p->posts;
        p->unposted = false; // it has seen the epoch before to its end
        break;
    case what::lock:
        if (const step s = take_lock_item(p, i); step::done != s) {
            return s;
        }
        if (i == p->asked) {
            take_head(p);
            return step::done;
        }
        break;
    case what::unlock:
    case what::flush:
        p->gets_before = p->gets_begun;
        if (const bool mine = rma_hold::none != p->held; what::flush == i->kind || mine) {
            if (what::unlock == i->kind) {
                i->exclusive = rma_hold::exclusive == p->held;
            }
            if (settled(p)) {
                if (what::unlock == i->kind) {
                    p->held = rma_hold::none;
                    let_go(p, i->exclusive);
                }
                break;
            }
            if (const step s = send_mark(p, i, wire::rma_kind::flush); step::done != s) {
                return s;
            }
            if (what::unlock == i->kind) {
                i->begun = true;
                p->held = rma_hold::none;
            }
        } else if (const step s = send_mark(p, i, wire::rma_kind::unlock); step::done != s) {
            return s;
        }
        p->unacked = false;
        if (i->for_fence) { // a fence waits: its next step must not wait for MPI
            arm(p, rma_epoch_kind::ack); // while it is known what kind of queue this is
        }
        take_head(p);
        p->acks.push_back(i);
        return step::done;
    case what::complete:
        if (const step s = send_mark(p, i, wire::rma_kind::complete); step::done != s) {
            return s;
        }
        p->gets_before = p->gets_begun;
        p->unposted = unposted(p) || p->unacked;
        p->unposted_at = p->window->fences_done;
        p->unacked = false; // nobody flushes across an epoch's end
        [[fallthrough]];
    case what::local:
        if (!p->under_way.empty()) {
            return step::blocked; // the last of them has the queue go on
        }
        take_head(p);
        p->locals.emplace_back(p->gets_begun, i);
        local_step(p);
        return step::done;
    }
    take_head(p);
    disarm(&p->armed);
    end(i);
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

// Only MPI_MODE_NOCHECK begins an epoch without a word of the target after the last one was completed. A fence is one.
bool rma::unposted(rma_peer *p) {
    p->unposted = p->unposted && p->window->fences_done <= p->unposted_at;
    return p->unposted;
}

// Without a flush between them nothing orders a get behind a put of the same process. But programs count on it (the
// requests of Global Arrays' port to MPI-3), as copies that are made in the call keep the order: so does this.
bool rma::follows_messages(const rma_peer *p, const rma_item *i) {
    return p->unacked && route::shared == p->ep->way && 0 == i->target_at.done() &&
           (rma_item::what::put == i->kind || rma_item::what::get == i->kind);
}

rma::step rma::run_operation(rma_peer *p, rma_item *i) {
    // The target reads for a get when it can, and stores at once. Here the data has the queue go on; the thread hears of
    // what comes behind it.
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

// put, accumulate, fetch: messages of runs and data, until all is out or the transport is full.
rma::step rma::send_stores(rma_peer *p, rma_item *i) {
    using what = rma_item::what;
    const bool fetches = what::fetch == i->kind;
    const bool operand = !(fetches && rma_operator::no_op == i->op);
    const bool swaps = rma_operator::swap_if_equal == i->op;
    const std::uint32_t unit = what::put == i->kind ? 1 : rma_type_bytes(i->type);
    const std::uint64_t total = i->target_layout.bytes();
    if (fetches && 0 == i->id && 0 != total) {
        i->id = gets_.add(i);
        ++p->gets_begun;
    }
    const unsigned entries = runs_towards(p->ep);
    while (0 != i->target_at.left()) {
        if (fetches && p->fetching + wire::rma_fetch_bytes > wire::rma_fetching_bytes) {
            return step::blocked; // data that arrives goes on
        }
        std::uint64_t room = std::min<std::uint64_t>(
            p->ep->max_payload - (entries + 1) * sizeof(rma_run), fetches ? wire::rma_fetch_bytes : ~0ULL);
        if (nullptr != p->asked) { // no larger than what may go ahead
            room = std::min<std::uint64_t>(room, wire::rma_ahead_bytes / 4);
        }
        const rma_cursor target_before = i->target_at;
        const rma_cursor origin_before = i->origin_at;
        runs_.clear();
        const std::uint64_t at = i->target_at.done();
        const auto bytes = static_cast<std::uint32_t>(
            i->target_at.take(room - room % unit, entries, unit, &runs_));
        for (rma_run &run : runs_) {
            run.offset += static_cast<std::int64_t>(i->target);
        }
        const std::byte *data = operand_of(i, bytes);
        const std::uint32_t data_bytes = !operand ? 0 : swaps ? 2 * unit : bytes;
        wire::rma_head h{};
        h.kind = fetches                     ? wire::rma_kind::fetch
                 : what::put == i->kind ? wire::rma_kind::put
                                        : wire::rma_kind::accumulate;
        h.op = static_cast<std::uint8_t>(i->op);
        h.type = static_cast<std::uint8_t>(i->type);
        h.flags = operand ? 0 : wire::rma_no_operand;
        h.id = i->id;
        h.at = at;
        h.more = i->target_at.left();
        const step s = transmit(p, h, runs_, data, data_bytes);
        if (step::done != s) {
            i->target_at = target_before;
            i->origin_at = origin_before;
            return s;
        }
        p->unacked = true;
        p->fetching += fetches ? bytes : 0;
        if (fetches) {
            wake_sooner_or_later(p, i);
        } else if (0 == at && total >= large) {
            wake_target(p);
        }
    }
    take_head(p);
    if (fetches && 0 != total) {
        i->waiting = true;
    } else {
        end(i);
    }
    return step::done;
}

rma::step rma::send_get(rma_peer *p, rma_item *i) {
    if (0 == i->target_at.left()) {
        take_head(p);
        end(i);
        return step::done;
    }
    if (0 == i->id) {
        i->id = gets_.add(i);
        ++p->gets_begun;
    }
    while (0 != i->target_at.left()) {
        const rma_cursor before = i->target_at;
        runs_.clear();
        wire::rma_head h{};
        h.kind = wire::rma_kind::get;
        h.id = i->id;
        h.at = i->target_at.done();
        i->target_at.take(~0ULL, runs_towards(p->ep), 1, &runs_);
        for (rma_run &run : runs_) {
            run.offset += static_cast<std::int64_t>(i->target);
        }
        h.more = i->target_at.done() - h.at;
        const step s = transmit(p, h, runs_, nullptr, 0);
        if (step::done != s) {
            i->target_at = before;
            return s;
        }
        p->getting += h.more;
    }
    wake_sooner_or_later(p, i);
    take_head(p);
    i->waiting = true;
    return step::done;
}

rma::step rma::send_mark(rma_peer *p, const rma_item *i, wire::rma_kind kind, std::uint8_t flags) {
    wire::rma_head h{};
    h.kind = kind;
    h.flags = flags;
    if ((wire::rma_kind::flush == kind || wire::rma_kind::unlock == kind) && !i->for_fence && !i->requested()) {
        h.flags |= wire::rma_waited;
    }
    runs_.clear();
    const step s = transmit(p, h, runs_, nullptr, 0);
    if (step::done == s && wire::rma_kind::complete == kind) {
        if (p->wants_wake) {
            e_.post_notice(p->ep, make_rma_key(rma_epoch_kind::complete, p->window->id, 0),
                           static_cast<std::uint32_t>(e_.me_.name) | rma_source, p->ep->rma_out);
        }
    } else if (step::done == s) {
        wake_sooner_or_later(p, i);
    }
    return s;
}

rma::step rma::transmit(rma_peer *p, wire::rma_head &head, const std::vector<rma_run> &runs,
                        const std::byte *data, std::uint32_t bytes) {
    head.name = e_.me_.name;
    head.window = p->window->id;
    head.runs = static_cast<std::uint32_t>(runs.size());
    endpoint *ep = p->ep;
    if (route::self == ep->way) {
        // The message is carried out at once, data and runs from where they are.
        const std::vector<rma_run> own(runs);
        handle(p, head, own, data, bytes);
        return step::done;
    }
    const std::size_t whole = sizeof(head) + runs.size() * sizeof(rma_run) + bytes;
    const bool kept = head.kind <= wire::rma_kind::complete; // by a target that has not granted the lock
    if (kept && !may_go_ahead(p, whole)) {
        return step::blocked;
    }
    head.sequence = ep->rma_out + 1;
    std::byte header[sizeof(head) + sizeof(rma_run)];
    std::memcpy(header, &head, sizeof(head));
    std::uint32_t header_bytes = sizeof(head);
    if (1 == runs.size()) {
        std::memcpy(header + sizeof(head), runs.data(), sizeof(rma_run));
        header_bytes += sizeof(rma_run);
    } else if (!runs.empty()) {
        const std::size_t all = runs.size() * sizeof(rma_run);
        joined_.resize(std::max<std::size_t>(joined_.size(), all + bytes));
        std::memcpy(joined_.data(), runs.data(), all);
        if (0 != bytes) {
            std::memcpy(joined_.data() + all, data, bytes);
        }
        data = joined_.data();
        bytes += static_cast<std::uint32_t>(all);
    }
    sending_ = true;
    const engine::am_result result = e_.active_message(ep, {wire::rma, header, header_bytes, data, bytes});
    sending_ = false;
    switch (result) {
    case engine::am_result::sent:
        if (kept && nullptr != p->asked) {
            p->ahead += static_cast<std::uint32_t>(whole);
            e_.stats_.add(stat::rma_ahead);
        }
        ++ep->rma_out;
        e_.bytes_moved_ += bytes;
        return step::done;
    case engine::am_result::full:
        return step::full;
    case engine::am_result::broken:
        break;
    }
    return step::blocked;
}

void rma::send_now(rma_peer *p, wire::rma_kind kind, std::uint8_t flags, std::uint64_t id,
                   std::uint64_t at, rma_epoch_kind notice) {
    wire::rma_head h{};
    h.name = e_.me_.name;
    h.window = p->window->id;
    h.kind = kind;
    h.flags = flags;
    h.id = id;
    h.at = at;
    if (route::self == p->ep->way) {
        handle(p, h, {}, nullptr, 0);
        return;
    }
    if (p->ep->lost) {
        return;
    }
    h.sequence = ++p->ep->rma_out;
    sending_ = true;
    if (e_.in_network_ && route::network == p->ep->way) {
        // Not from inside the transport: where many processes die at once a message may find a connection
        // broken whose event stands behind the one at hand, and UCX's tcp does not survive that.
        e_.queue_message(p->ep, {wire::rma, h}, nullptr, nullptr);
    } else {
        e_.send_or_queue(p->ep, {wire::rma, h});
    }
    sending_ = false;
    if (rma_epoch_kind::none == notice) {
        return;
    }
    const bool any = rma_epoch_kind::fence == notice;
    e_.post_notice(p->ep, make_rma_key(notice, p->window->id, any ? 0 : e_.me_.name),
                   static_cast<std::uint32_t>(e_.me_.name) | rma_source, h.sequence);
}

} // namespace smartint
