// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Messages out: whole ones, queued ones, and the first word of a rendezvous.
#include <algorithm>
#include <cstring>

#include "common_smartint_clock.h"
#include "common_smartint_engine.h"

namespace smartint {
namespace {

constexpr std::size_t most_early_bytes = 4194304; // of all peers together
constexpr std::uint64_t forgotten_us = 100000;    // a notice without its message; the receiver's patience is longer

// Inlined: where the header's size is known, it and what shares its line are copied without a call.
inline __attribute__((always_inline)) network::result into_ring(ring_producer &ring, std::uint32_t own_slot,
                                                                const message &m) {
    std::byte *p = ring.reserve(m.bytes());
    if (nullptr == p) {
        return network::result::again;
    }
    const auto *header = static_cast<const std::byte *>(m.header);
    const auto *data = static_cast<const std::byte *>(m.payload);
    // The record's first line last: its reader looks at it all the time, and would take it from this core between the
    // copy and the commit.
    constexpr std::uint32_t line = layout::line - sizeof(std::uint64_t);
    if (m.header_bytes < line && m.payload_bytes > line - m.header_bytes) {
        const std::uint32_t first = line - m.header_bytes;
        std::memcpy(p + m.header_bytes + first, data + first, m.payload_bytes - first);
        std::memcpy(p, header, m.header_bytes);
        std::memcpy(p + m.header_bytes, data, first);
    } else {
        if (0 != m.payload_bytes) {
            std::memcpy(p + m.header_bytes, data, m.payload_bytes);
        }
        const std::uint32_t first = std::min(m.header_bytes, line);
        std::memcpy(p + first, header + first, m.header_bytes - first);
        std::memcpy(p, header, first);
    }
    ring.commit(p, ring_word::pack(m.bytes(), static_cast<std::uint16_t>(own_slot), m.type));
    return network::result::done;
}

std::uint16_t flag_of(bursts::preference p) {
    return bursts::preference::ring == p     ? wire::rts_by_ring
           : bursts::preference::pieces == p ? wire::rts_in_pieces
                                             : 0;
}

} // namespace

// Fast path: a record in the peer's ring. No lock, no system call, no allocation.
bool engine::try_eager(endpoint *ep, const wire::match &m, const void *data, std::uint32_t bytes) {
    if (nullptr != ep->pending_head || bytes > ep->eager_limit || route::self == ep->way) {
        return false;
    }
    const auto r = __builtin_expect(route::shared == ep->way, 1)
                       ? into_ring(ep->ring, me_.slot, {wire::eager, m, data, bytes})
                       : transmit_by_network(ep, {wire::eager, m, data, bytes}, false);
    if (network::result::done == r) {
        stats_.add(stat::eager_sent);
        return true;
    }
    return false;
}

// Inside a node a rendezvous of little data costs more than a second copy. But what finds no room in the ring waits
// for this rank's next call; after an RTS the receiver needs nothing of it. So larger ones leave half of the ring to
// what can't do without; and they are left to a receiver that waits, if it is quicker in reading them. One that
// computes would have the sender wait. And of several that this rank sends without a receive in between, the next one
// is copied in while the receiver copies this one out.
bool engine::goes_whole(send_op *op) {
    endpoint *ep = op->peer;
    if (op->length <= ep->eager_limit) {
        return true;
    }
    op->asks = false;
    if (op->length > ep->eager_if_room || nullptr != ep->pending_head ||
        ep->ring.holds_more_than(segment_.ring_bytes() / 2)) {
        return false;
    }
    // With MPI_THREAD_MULTIPLE a rank says that it waits in any wait, as in a send like this one.
    const bool may_be_read = !me_.threads && nullptr != op->buffer && ep->asked_at != receives_begun_ &&
                             rendezvous_kind::automatic == rendezvous_ && may_copy(ep);
    // A rank that has a receive open itself is in an exchange, as by MPI_Sendrecv. There both read at the same time, or
    // both fill their rings after an RTS, and either takes longer than two messages that go whole: it tells nothing.
    op->asks = op->blocking && 0 == shown_receives_;
    return !may_be_read || !answers_of(op).ask(op->asks) || !board_slot(&segment_.slot(ep->slot)).waiting();
}

answers &engine::answers_of(const send_op *op) {
    return op->peer->asked_for[op->length > std::uint64_t{2} * op->peer->eager_limit ? 1 : 0];
}

// Of one whose caller did not wait yet the receiver could not choose: it reads those.
void engine::note_answer(const send_op *op, bool by_ring) {
    if (nullptr != op->buffer && 0 != op->begun && route::shared == op->peer->way &&
        op->length <= op->peer->eager_if_room) {
        answers_of(op).answered(by_ring, op->asks);
    }
}

network::result engine::transmit(endpoint *ep, const message &m, bool bulk) {
    return __builtin_expect(route::shared == ep->way, 1) ? into_ring(ep->ring, me_.slot, m)
                                                         : transmit_by_network(ep, m, bulk);
}

network::result engine::transmit_by_network(endpoint *ep, const message &m, bool bulk) {
    if (ep->lost) {
        return network::result::broken;
    }
    // In the transport's callback no connection is made: tcp merges a new one with the peer's, which may be the very
    // one whose message is being handled. And nothing is sent to a process that may end at any time: where the
    // connection is found to be broken there, UCX does not survive its next event. It goes in the same pass.
    if (in_network_ && (nullptr == (bulk ? ep->bulk : ep->control) || of_another_job(ep))) {
        return network::result::again;
    }
    if (!connect(ep, bulk)) {
        return network::result::broken;
    }
    const auto r = network_.send(bulk ? ep->bulk : ep->control, ring_word::pack(m.bytes(), 0, m.type), m.header,
                                 m.header_bytes, m.payload, m.payload_bytes);
    // Gone as far as its sender is concerned. But where the socket had no room for all of it, the rest goes out in a
    // later look at the network, and a rank that computes looks by its thread alone.
    if (!tail_ && network::result::done == r && network_.holds_tail()) {
        tail_ = true;
        ++queued_;
        hold();
    }
    return r;
}

engine::sent engine::send_or_queue(endpoint *ep, const message &m, send_op *op) {
    if (nullptr != ep->pending_head && route::shared == ep->way) {
        flush_queue(ep); // of a program that only sends no other call may do it
    }
    if (nullptr == ep->pending_head) {
        switch (transmit(ep, m)) {
        case network::result::done:
            after_sent(m.type, op);
            return sent::out;
        case network::result::broken:
            lose(ep);
            return sent::broken;
        case network::result::again:
            break;
        }
    }
    auto *later = new pending_message(m);
    later->op = op;
    // The user's buffer is valid until the operation completes; anything else may be gone after the call.
    if (nullptr == op || nullptr == op->buffer || m.payload != op->buffer) {
        later->own_payload();
    }
    enqueue(ep, later);
    return sent::queued;
}

// Short messages to a rank of this node that does not empty its ring are not worth a thread's
// time. All else is: somebody may wait for it while this rank computes.
void engine::enqueue(endpoint *ep, pending_message *m) {
    m->counted = route::network == ep->way || (wire::eager != m->type && wire::am != m->type) ||
                 m->payload_bytes > ep->eager_limit; // others took the room that it was to have
    if (m->counted) {
        ++queued_;
        hold();
    }
    if (nullptr == ep->pending_head) {
        ep->pending_head = m;
    } else {
        ep->pending_tail->next = m;
    }
    ep->pending_tail = m;
    if (!ep->listed) {
        ep->listed = true;
        pending_.push_back(ep);
    }
}

// The first message out of an endpoint's queue, for the caller to delete.
pending_message *engine::dequeue(endpoint *ep) {
    pending_message *m = ep->pending_head;
    ep->pending_head = m->next;
    if (m->counted) {
        --queued_;
        unhold();
    }
    early_bytes_ -= m->early ? m->payload_bytes + sizeof(*m) : 0;
    return m;
}

// Nobody will wait for it, and this process may not come again: what it has queued is for the thread, too.
void engine::leave_behind(send_op *op) {
    if (op_state::queued != op->state || nullptr == op->peer->pending_head) {
        return;
    }
    pending_message *m = op->peer->pending_tail; // mostly
    for (m = m->op == op ? m : op->peer->pending_head; nullptr != m && m->op != op; m = m->next) {}
    if (nullptr != m && !m->counted) {
        m->counted = true;
        ++queued_;
        hold();
    }
}

bool engine::flush_queue(endpoint *ep) {
    bool any = false;
    bool answers = false;
    while (nullptr != ep->pending_head) {
        pending_message *m = ep->pending_head;
        const auto r = transmit(ep, m->whole(), m->bulk);
        if (network::result::again == r) {
            break;
        }
        if (network::result::broken == r) {
            lose(ep);
            break; // lose() emptied the queue
        }
        dequeue(ep);
        any = true;
        if (nullptr != m->sent) {
            sent_calls_.push_back({m->sent, m->arg, true});
        }
        after_sent(m->type, m->op);
        answers = answers || wire::cts == m->type;
        delete m;
    }
    if (answers) {
        wake_if_gone(ep); // it may have been in when there was no room for it
    }
    return any;
}

bool engine::flush_pending() {
    bool any = false;
    for (std::size_t i = 0; i < pending_.size();) {
        endpoint *ep = pending_[i];
        any = flush_queue(ep) || any;
        if (nullptr == ep->pending_head) {
            ep->listed = false;
            pending_[i] = pending_.back();
            pending_.pop_back();
        } else {
            ++i;
        }
    }
    return any;
}

// The message is with the transport. Runs for queued messages too, in the order of sending.
void engine::after_sent(std::uint8_t type, send_op *op) {
    if (nullptr == op) {
        return;
    }
    if (wire::eager == type) {
        stats_.add(stat::eager_sent);
        complete(op);
    } else if (wire::rts == type) {
        op->state = op_state::rts_sent;
        if (may_postpone(*op)) {
            keep_notice(op);
        } else if (0 == op->noticed_us || now_us() - op->noticed_us > forgotten_us) {
            post_rts_notice(op, true);
        }
    }
}

// A whole message to a peer that has not answered yet, and does so in its own next call: its sender need not wait until
// then. The thread sees that it goes out; without one the sender waits, as it might not call again.
void engine::go_on_before_it_is_out(send_op *op) {
    pending_message *m = op->peer->pending_tail;
    const std::size_t bytes = m->payload_bytes + sizeof(*m);
    if (nullptr == thread_ || !network_.unused(op->peer->control) || early_bytes_ + bytes > most_early_bytes) {
        return;
    }
    m->own_payload();
    m->op = nullptr;
    m->early = true;
    early_bytes_ += bytes;
    stats_.add(stat::eager_sent);
    complete(op);
}

// may_hold: the RTS has just gone out.
void engine::post_rts_notice(send_op *op, bool may_hold) {
    const held_notice n{.id = op->id,
                        .peer = op->peer,
                        .what = make_rts_key(op->context, op->source, op->tag),
                        .source = static_cast<std::uint32_t>(me_.name),
                        .sequence = op->sequence,
                        .answer = false};
    if (may_hold) {
        held_.post(n, op->context, op->tag, &op->watch);
    } else {
        post_notice(n.peer, n.what, n.source, n.sequence);
    }
}

void engine::send(send_op *op) {
    endpoint *ep = op->peer;
    op->state = op_state::queued;
    op->job.entry = -1;
    if (ep->lost) {
        lose(ep); // says so, if nothing has
        op->failed = true;
        complete(op);
        return;
    }
    if (route::self == ep->way) {
        send_self(op);
        return;
    }
    // A synchronous one is answered, and over the network only an RTS carries the address the
    // answer goes to: the receiver may not have met us.
    if (goes_whole(op) && !(op->synchronous && route::network == ep->way)) {
        send_whole(op);
    } else {
        send_rts(op);
    }
}

void engine::give_id(send_op *op) {
    op->id = sends_.add(op);
    op->owed = !at_end_;
    op->peer->open_sends += op->owed ? 1 : 0;
}

void engine::send_whole(send_op *op) {
    const wire::match m{op->context, op->source, op->tag};
    const auto bytes = static_cast<std::uint32_t>(op->length);
    const void *data = op->buffer;
    if (nullptr == data && 0 != bytes) {
        scratch_.resize(std::max<std::size_t>(scratch_.size(), bytes));
        op->gather(op, 0, scratch_.data(), bytes);
        data = scratch_.data();
    }
    if (op->synchronous) {
        give_id(op);
        op->state = op_state::rts_sent; // answered by a finish
        send_or_queue(op->peer, {wire::eager_sync, wire::match_sync{m, 0, me_.name, op->id}, data, bytes}, op);
        return;
    }
    const sent how = send_or_queue(op->peer, {wire::eager, m, data, bytes}, op);
    if (sent::broken == how && op_state::done != op->state) {
        op->failed = true; // no list has it yet: lose() could not
        complete(op);
    } else if (sent::queued == how) {
        go_on_before_it_is_out(op);
    }
}

// Rendezvous: what can be offered goes with the RTS (SI 2.4.1, 4.2.1).
void engine::send_rts(send_op *op) {
    endpoint *ep = op->peer;
    give_id(op);
    op->begun = ++sends_begun_;
    ++open_sends_;
    op->sequence = ep->rts_out = wire::next_sequence(ep->rts_out);
    ep->asked_at = receives_begun_;
    op->noticed_us = 0;
    op->watch.watched = false;
    std::byte behind[wire::max_key + wire::max_network_address];
    const wire::rendezvous r = compose_rts(op, behind);
    stats_.add(stat::rts_sent);
    track(op);
    // Who must push waits for the CTS: the sender's interrupt request. A reading receiver
    // needs nothing from this side.
    const bool pushes =
        route::network == ep->way || !ep->direct || nullptr == op->buffer || rendezvous_kind::write == rendezvous_;
    if (pushes && !op->blocking && op->open_to_thread() && can_arm()) {
        arm_request(exact_pattern(make_cts_key(op->id)), &op->board_index);
    }
    const auto how = send_or_queue(ep, {wire::rts, r, behind, r.key_bytes + std::uint32_t{r.address_bytes}}, op);
    if (sent::queued == how && network_.unused(ep->control)) {
        // The peer must take part in the connection first: what wakes it for that is the notice.
        op->noticed_us = now_us();
        post_rts_notice(op);
    }
}

// behind: room for what stands behind it, the memory's key and this process's network address.
wire::rendezvous engine::compose_rts(send_op *op, std::byte *behind) {
    wire::rendezvous r{};
    r.m = {op->context, op->source, op->tag};
    r.name = me_.name;
    r.sender = op->id;
    r.length = op->length;
    r.sequence = op->sequence;
    r.window = static_cast<std::uint16_t>(params_.window_bytes / wire::window_unit);
    op->exchanges = false;
    if (route::shared == op->peer->way) {
        if (nullptr != op->buffer && may_copy(op->peer)) {
            op->exchanges = 0 != shown_receives_ || 0 != undecided();
            r.flags |= wire::rts_readable;
            r.address = reinterpret_cast<std::uint64_t>(op->buffer);
            if (op->exchanges) {
                r.flags |= wire::rts_exchange | flag_of(bursts_.prefers(op->length));
            }
        }
        return r;
    }
    offer_memory(op, &r);
    const auto &address = network_.address();
    r.address_bytes = static_cast<std::uint16_t>(address.size());
    std::memcpy(behind, op->memory.key, r.key_bytes);
    std::memcpy(behind + r.key_bytes, address.data(), address.size());
    return r;
}

bool engine::send_short(endpoint *ep, const wire::rma_short_head &h, const std::byte *data, std::uint32_t bytes) {
    return nullptr == ep->pending_head &&
           network::result::done == into_ring(ep->ring, me_.slot, {wire::rma_short, h, data, bytes});
}

engine::am_result engine::active_message(endpoint *ep, const message &m) {
    if (nullptr != ep->pending_head) {
        return am_result::full;
    }
    switch (transmit(ep, m)) {
    case network::result::done:
        return am_result::sent;
    case network::result::again:
        return am_result::full;
    case network::result::broken:
        break;
    }
    lose(ep);
    return am_result::broken;
}

void engine::queue_message(endpoint *ep, const message &m, void (*sent)(void *, bool), void *arg, bool copies) {
    auto *later = new pending_message(m);
    if (copies) {
        later->own_payload();
    }
    later->sent = sent;
    later->arg = arg;
    enqueue(ep, later);
}

void engine::send_finish(endpoint *ep, std::uint64_t operation, bool to_sender, wire::outcome result) {
    const wire::finish f{operation, !to_sender ? 0U : is_woken() ? 3U : 1U, result};
    send_or_queue(ep, {wire::fin, f});
}

void engine::complete(send_op *op) {
    if (0 != op->id) {
        sends_.remove(op->id);
        op->peer->open_sends -= op->owed ? 1 : 0;
        op->id = 0;
        if (0 != op->begun) {
            --open_sends_;
            asked_sends_ -= op->begun <= asked_until_ ? 1 : 0;
            op->begun = 0;
        }
        network_.unpin(&op->memory);
        network_.release(&op->key);
    }
    untrack(op);
    const bool blocking = op->blocking;
    op->state.finish(); // a blocking operation is its caller's from here on
    if (blocking) {
        return;
    }
    done_sends_.append(op);
}

} // namespace smartint
