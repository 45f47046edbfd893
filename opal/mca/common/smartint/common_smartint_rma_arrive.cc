// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// One-sided messages: checked, and given to whom they concern.
#include <cstring>
#include <utility>

#include "common_smartint_engine.h"
#include "common_smartint_rma.h"

namespace smartint {

namespace {

constexpr std::uint64_t small_get = 4096; // bytes: more of them come in an epoch of bulk data

// An origin sits in MPI until this is answered, as far as a target can know.
bool waited_for(const wire::rma_head &h) {
    using kind = wire::rma_kind;
    return kind::lock == h.kind || kind::fetch == h.kind || (kind::get == h.kind && h.more <= small_get) ||
           ((kind::flush == h.kind || kind::unlock == h.kind) && 0 != (h.flags & wire::rma_waited));
}

} // namespace

// Whose window a message is for, as this process knows its sender there; nullptr: refused.
rma_peer *rma::addressed(const endpoint *from, std::uint32_t window, std::uint32_t sequence) {
    e_.note_arrival(from->name, rma_source, sequence);
    if (nullptr == last_ || from != last_->ep || window != last_->window->id) {
        rma_window *w = find(window);
        rma_peer *p = nullptr == w ? nullptr : peer_of(w, from);
        if (nullptr == p) {
            e_.refuse();
            return nullptr;
        }
        last_ = p;
    }
    use();
    return last_;
}

void rma::arrive(endpoint *from, const std::byte *data, std::uint32_t bytes) {
    const std::byte *const message = data;
    const std::uint32_t whole = bytes;
    wire::rma_head h{};
    if (!wire::take_header(data, bytes, &h)) {
        e_.refuse();
        return;
    }
    if (nullptr == from) {
        from = e_.find_peer(h.name);
    }
    if (nullptr == from || route::self == from->way || h.runs > bytes / sizeof(rma_run)) {
        e_.refuse();
        return;
    }
    if (rma_peer *p = addressed(from, h.window, h.sequence); nullptr != p) {
        keep_or_take_in(p, h.kind, message, whole);
    }
}

void rma::keep_or_take_in(rma_peer *p, wire::rma_kind kind, const std::byte *message, std::uint32_t bytes) {
    if (!p->lock_pending || (kind > wire::rma_kind::complete && wire::rma_kind::bundle != kind)) {
        take_in(p, message, bytes);
        settle_state(p);
    } else if (bytes > wire::rma_kept_bytes - p->kept_bytes) {
        e_.refuse();
    } else {
        p->kept.emplace_back(message, message + bytes);
        p->kept_bytes += bytes;
    }
}

// A message that has a whole head.
void rma::take_in(rma_peer *p, const std::byte *message, std::uint32_t bytes) {
    wire::rma_head h{};
    std::memcpy(&h, message, sizeof(h));
    if (wire::rma_kind::bundle == h.kind || wire::rma_kind::answers == h.kind) {
        open_bundle(p, h.kind, message + sizeof(h), bytes - sizeof(h));
        return;
    }
    if (h.runs > (bytes - sizeof(h)) / sizeof(rma_run)) { // its sender can write to it still
        e_.refuse();
        return;
    }
    arrived_.resize(h.runs);
    if (0 != h.runs) {
        std::memcpy(arrived_.data(), message + sizeof(h), h.runs * sizeof(rma_run));
    }
    const std::size_t before = sizeof(h) + h.runs * sizeof(rma_run);
    const auto left = static_cast<std::uint32_t>(bytes - before);
    e_.traffic_.come(route::network == p->ep->way, left);
    handle(p, h, arrived_, message + before, left);
}

// The lock is the origin's: what it sent behind its question, until it asks once more.
void rma::take_kept(rma_peer *p) {
    while (!p->lock_pending && !p->kept.empty()) {
        const std::vector<std::byte> message = std::move(p->kept.front());
        p->kept.pop_front();
        const auto bytes = static_cast<std::uint32_t>(message.size());
        p->kept_bytes -= bytes;
        take_in(p, message.data(), bytes);
    }
}

void rma::handle(rma_peer *p, const wire::rma_head &h, const std::vector<rma_run> &runs, const std::byte *data,
                 std::uint32_t bytes) {
    using kind = wire::rma_kind;
    if (h.kind <= kind::complete) {
        count_served(p, h.kind);
        p->notices.by_woken = p->notices.by_woken || e_.is_woken();
        if (e_.by_thread_ && route::network == p->ep->way && waited_for(h)) {
            e_.listen_on();
        }
    }
    if (kind::data == h.kind || kind::ack == h.kind || kind::grant == h.kind) {
        note_answer(p, h.flags);
    }
    carry_out(p, h, runs, data, bytes);
    if (looks_on(p, h.kind)) {
        activate(p);
    }
}

void rma::count_served(const rma_peer *p, wire::rma_kind kind) {
    if (wire::rma_kind::put == kind || wire::rma_kind::accumulate == kind) {
        if (route::shared == p->ep->way) {
            e_.ring_.distance().served();
        }
    } else {
        e_.ring_.distance().answered();
        e_.seen_for_ = seen_calls;
    }
    e_.stats_.add(stat::rma_served);
    if (e_.by_thread_) {
        e_.stats_.add(stat::rma_served_thread);
    }
}

void rma::note_answer(rma_peer *p, std::uint8_t flags) {
    p->attentive = 0 == (flags & wire::rma_by_thread);
    note_listening(p, 0 != (flags & wire::rma_listens));
    p->owed_since = 0; // it is at it
    if (route::network == p->ep->way) {
        learn(p, 0 != (flags & wire::rma_woken));
    }
}

// Something may go on behind it, or is owed. Not for what is done inside a node by messages that are answered at once.
bool rma::looks_on(const rma_peer *p, wire::rma_kind kind) {
    using wire::rma_kind;
    const bool done =
        kind <= rma_kind::get || rma_kind::flush == kind || rma_kind::data == kind || rma_kind::ack == kind;
    return !done || route::shared != p->ep->way || nullptr != p->head || !p->replies.empty() ||
           !p->window->fences.empty() || !p->window->exposures.empty();
}

void rma::carry_out(rma_peer *p, const wire::rma_head &h, const std::vector<rma_run> &runs, const std::byte *data,
                    std::uint32_t bytes) {
    using kind = wire::rma_kind;
    switch (h.kind) {
    case kind::put:
    case kind::accumulate:
    case kind::fetch:
    case kind::get:
        store(p, h, runs, data, bytes);
        return;
    case kind::flush:
        if (answers_at_once(p) && step::done == acknowledge(p, kind::ack, 0 != (h.flags & wire::rma_waited))) {
            return;
        }
        p->replies.emplace_back();
        p->replies.back().kind = kind::ack;
        p->replies.back().waited = 0 != (h.flags & wire::rma_waited);
        return;
    case kind::lock:
        p->lock_pending = nullptr == p->words;
        [[fallthrough]];
    case kind::unlock:
    case kind::complete:
        // In order behind what is owed: a get before it has read first, a lock let go before it is
        // asked for again.
        p->replies.emplace_back();
        p->replies.back().kind = h.kind;
        p->replies.back().exclusive = 0 != (h.flags & wire::rma_exclusive);
        p->replies.back().waited = 0 != (h.flags & wire::rma_waited);
        return;
    case kind::data:
        on_data(p, h, data, bytes);
        return;
    case kind::want_key:
        p->replies.emplace_back();
        p->replies.back().kind = kind::key;
        return;
    case kind::key:
        on_key(p, h, data, bytes);
        return;
    case kind::grant:
        on_grant(p);
        return;
    case kind::ack:
        on_ack(p);
        return;
    case kind::fault:
        note_error(p->window, rma_error::range);
        return;
    case kind::post:
        ++p->posts;
        p->wants_wake = 0 != (h.flags & wire::rma_nonblocking);
        disarm(&p->armed);
        arm_flush(p);
        return;
    case kind::barrier:
        on_barrier(p->window, h.id, h.at);
        return;
    case kind::pass:
        let_pass(p);
        return;
    case kind::released:
        grant_waiters(p->window);
        return;
    default:
        e_.refuse();
    }
}

void rma::on_data(rma_peer *p, const wire::rma_head &h, const std::byte *data, std::uint32_t bytes) {
    rma_item *i = asked_for(p, h.id);
    if (nullptr == i) {
        return;
    }
    p->in_wait = e_.application_waits() && !e_.by_thread_;
    if (0 == (h.flags & wire::rma_no_operand)) {
        data_came(i, h.at, data, bytes);
        return;
    }
    // Nothing of it comes; what it asked for after this is refused in the same way.
    note_error(i, rma_error::range);
    const std::uint64_t missing = std::min(h.more, i->awaited());
    if (i->small) {
        i->arrived += missing;
    } else {
        i->result_at.skip(missing);
    }
    less_awaited(i, missing);
}

// The get or fetch that an answer belongs to, or nullptr: refused.
rma_item *rma::asked_for(const rma_peer *p, std::uint64_t id) {
    rma_item *i = gets_.find(id);
    if (nullptr == i || i->peer != p) {
        e_.refuse();
        return nullptr;
    }
    if (e_.by_thread_) {
        bursts_.spoil(); // not all of its time is that of the calls
    }
    return i;
}

void rma::data_came(rma_item *i, std::uint64_t at, const std::byte *data, std::uint32_t bytes) {
    if (at != (i->small ? i->arrived : i->result_at.done()) || bytes > i->awaited()) {
        e_.refuse();
        return;
    }
    if (i->small) {
        std::memcpy(i->result + at, data, bytes);
        i->arrived += bytes;
    } else {
        rma_scatter(i->result, i->result_at, data, bytes);
    }
    less_awaited(i, bytes);
}

void rma::less_awaited(rma_item *i, std::uint64_t bytes) {
    rma_peer *p = i->peer;
    std::uint64_t &expected = rma_item::what::fetch == i->kind ? p->fetching : p->getting;
    expected -= std::min(expected, bytes);
    if (0 == i->awaited() && i->waiting) {
        gets_.remove(i->id);
        ++p->gets_done;
        if (p->gets_done == p->gets_begun) {
            p->unsure = p->gets_requested = false;
            hurry_gets(p);
        }
        end(i, i->failed);
        local_step(p);
    }
}

void rma::on_grant(rma_peer *p) {
    const rma_item *first = p->head;
    const bool waits = nullptr != first && rma_item::what::lock == first->kind && first->begun && !p->granted;
    if (nullptr != p->asked ? p->lock_bundled : !waits) { // nobody has asked
        e_.refuse();
        return;
    }
    disarm(&p->armed);
    p->passing = false;
    p->unposted = false; // all before the question has been taken in
    if (nullptr == p->asked) {
        p->granted = true;
    } else {
        rma_item *lock = std::exchange(p->asked, nullptr);
        p->ahead = 0;
        end(lock);
    }
    arm_flush(p);
}

void rma::on_ack(rma_peer *p) {
    if (p->acks.empty()) {
        e_.refuse();
        return;
    }
    rma_item *i = p->acks.front();
    p->acks.pop_front();
    disarm(&p->armed);
    const bool for_fence = i->for_fence;
    if (rma_item::what::unlock == i->kind && i->begun) {
        let_go(p, i->exclusive);
    }
    end(i);
    arm_flush(p);
    if (for_fence) {
        drive_epochs(p->window);
    }
}

} // namespace smartint
