// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// The rendezvous (SI 2.4.1, 4.2.1). Three ways, chosen by the receiver:
//   read   RTS -> the receiver reads from the sender's memory -> FIN to the sender
//   write  RTS -> CTS with an address -> the sender writes -> FIN to the receiver
//          (both by the network: engine_rdma.cc; inside a node: engine_near.cc, engine_copy.cc)
//   copy   RTS -> CTS -> fragments, with credits
#include <algorithm>
#include <cstring>

#include "common_smartint_clock.h"
#include "common_smartint_engine.h"

namespace smartint {
namespace {

constexpr std::uint32_t answer_source = 0x80000000U; // CTS notices count apart from RTS ones

} // namespace

void engine::start_rendezvous(recv_op *op, endpoint *from, const wire::rendezvous &r, const std::byte *key) {
    stats_.add(stat::rts_received);
    meet(op, from, r);
    disarm_request(&op->board_index);
    if (0 == op->received) {
        send_finish(from, r.sender, true, wire::outcome::ok);
        complete(op);
        return;
    }
    track(op);
    op->id = receives_.add(op);
    if (route::shared == from->way) {
        start_inside_node(op);
    } else {
        start_by_network(op, r, key);
    }
}

// What a receive learns of its message by the RTS; the rest of an earlier use is forgotten.
void engine::meet(recv_op *op, endpoint *from, const wire::rendezvous &r) const {
    op->peer = from;
    op->remote_id = r.sender;
    op->remote_address = r.address;
    op->rts_flags = r.flags;
    op->announced = r.length;
    op->received = std::min(r.length, op->capacity);
    op->arrived = 0;
    op->moved = 0;
    op->credited = 0;
    op->watch.watched = false;
    // The sender's value is its own: one that waits at less than is credited at once would wait for ever.
    op->credit_bytes =
        std::min<std::uint32_t>(params_.window_bytes, std::max<std::uint32_t>(1, r.window) * wire::window_unit) / 2;
    op->window = r.window * wire::window_unit;
    op->unpacking = 0;
    op->streamed = false;
    op->burst = 0;
    op->reading = false;
    op->reading_bytes = 0;
    op->asked = wire::mode::none;
    op->state = op_state::moving;
}

// key: r.key_bytes of it
void engine::start_by_network(recv_op *op, const wire::rendezvous &r, const std::byte *key) {
    fly(op);
    arriving_ = op->id;
    if (start_read(op, r, key)) {
        return;
    }
    const bool write = 0 != (r.flags & wire::rts_writes) && nullptr != op->buffer && op->peer->writes &&
                       rendezvous_kind::copy != rendezvous_ && op->received >= network_.caps().min_write;
    answer(op, write ? wire::mode::write : wire::mode::copy);
}

void engine::answer(recv_op *op, wire::mode how, bool wake_sender) {
    endpoint *ep = op->peer;
    wire::answer a{};
    if (wire::mode::write == how && network_.caps().registers) {
        if (network_.pin(op->buffer, op->received, &op->memory)) {
            a.key_bytes = op->memory.key_bytes;
        } else {
            how = wire::mode::copy;
        }
    }
    a.sender = op->remote_id;
    a.receiver = op->id;
    a.address = reinterpret_cast<std::uint64_t>(op->buffer);
    a.length = op->received;
    a.name = me_.name;
    a.how = op->asked = how;
    a.sequence = ep->cts_out = wire::next_sequence(ep->cts_out);
    if (wire::mode::copy_into == how && op->job.entry >= 0) {
        a.shared = static_cast<std::uint32_t>(op->job.entry + 1) << 24 | op->job.generation;
    } else if (wire::mode::copy_into != how) {
        a.shared = (by_thread_ || !application_waits() ? wire::of_computing : 0) | (is_woken() ? wire::of_woken : 0);
    }
    if (wire::mode::copy == how) {
        stats_.add(stat::copies);
    }
    const std::uint64_t id = op->id;
    if (sent::broken == send_or_queue(ep, {wire::cts, a, op->memory.key, a.key_bytes})) {
        // It may be over by that, and a blocking one its caller's. Without an answer nothing is on its way.
        if (op == receives_.find(id) && op->orphaned) {
            op->failed = true;
            complete(op);
        }
        return;
    }
    const held_notice n{.id = id,
                        .peer = ep,
                        .what = make_cts_key(a.sender),
                        .source = static_cast<std::uint32_t>(me_.name) | answer_source,
                        .sequence = a.sequence,
                        .answer = true};
    held_.post(n, op->context, op->got_tag, &op->watch);
    if (wake_sender && !wake_if_gone(ep)) {
        in_calls_.push_back(id);
    }
}

// With `auto` a sender that was seen waiting is not armed, and may have left meanwhile. It looks at its ring when it
// leaves, we at its state when the answer is there: one sees the other. False: it is in some other call, from which it
// may leave without that look.
bool engine::wake_if_gone(endpoint *ep) {
    if (rendezvous_kind::automatic != rendezvous_ || route::shared != ep->way) {
        return true;
    }
    layout::slot &s = segment_.slot(ep->slot);
    std::atomic_thread_fence(std::memory_order_seq_cst); // L1, pairs with L2
    if (board_slot(&s).passing()) {
        return false;
    }
    // Or it has taken the answer already, moved the data and gone on: nobody is to be woken for that.
    if (!board_slot(&s).active() && (nullptr != ep->pending_head || ep->ring.holds_more_than(0)) &&
        waker_.wake(ep->slot, s)) {
        stats_.add(stat::wakes_sent);
    }
    return true;
}

// Those that have left their calls since. Until the first of the data comes somebody of this rank looks: it is in
// flight.
void engine::wake_those_gone() {
    std::erase_if(in_calls_, [&](std::uint64_t id) {
        const recv_op *op = receives_.find(id);
        return nullptr == op || wire::mode::copy != op->asked || 0 != op->arrived || op->peer->lost ||
               wake_if_gone(op->peer);
    });
}

// Is this an answer that this send can have got? Checked before anything is changed: the true
// one may still come.
bool engine::fits(const send_op &op, const endpoint *from, const wire::answer &a) const {
    // A second answer comes where a shared copy failed at the receiver, or was taken back by it.
    const bool again = op_state::moving == op.state && op.job.entry >= 0 && wire::mode::copy == a.how;
    // A receiver that wants nothing sends a finish instead.
    if ((op_state::rts_sent != op.state && !again) || op.peer->name != a.name || 0 == a.length ||
        a.length > op.length) {
        return false;
    }
    switch (a.how) {
    case wire::mode::copy:
        return route::self != op.peer->way;
    case wire::mode::write:
        return route::network == op.peer->way && nullptr != op.buffer && network_.caps().write &&
               (!network_.caps().registers || nullptr != op.memory.handle);
    case wire::mode::copy_into:
        // Only by its ring: who reaches the network's port is given no way to write into a process of this node.
        return route::shared == op.peer->way && from == op.peer && a.length < copy_job::offset_mask &&
               (0 == a.shared || (a.shared >> 24 >= 1 && a.shared >> 24 <= layout::copy_entries));
    default:
        return false;
    }
}

void engine::on_cts(const endpoint *from, const std::byte *data, std::uint32_t bytes) {
    wire::answer a{};
    if (!wire::take_header(data, bytes, &a)) {
        refuse();
        return;
    }
    send_op *op = sends_.find(a.sender);
    if (nullptr == op || !may_answer(from, op->peer) || !fits(*op, from, a) || a.key_bytes > bytes) {
        refuse();
        return;
    }
    if (wire::mode::write == a.how && network_.caps().registers && !network_.unpack(data, a.key_bytes, &op->key)) {
        // Another UCX's key, or no memory for it: the receiver answers once more, and wants messages.
        send_finish(op->peer, a.receiver, false, wire::outcome::refused);
        return;
    }
    unlist(&op->job);
    op->job.entry = -1;
    if (route::network == op->peer->way) {
        held_.heard(op->peer, &op->watch, 0 != (a.shared & wire::of_woken));
    }
    note_arrival(a.name, answer_source, a.sequence);
    disarm_request(&op->board_index);
    op->remote_id = a.receiver;
    op->remote_address = a.address;
    op->wanted = a.length;
    op->moved = 0;
    op->consumed = 0;
    op->lingers_since = 0;
    op->how = a.how;
    op->finely = wire::mode::copy == a.how && 0 != (a.shared & wire::of_computing);
    if (wire::mode::copy_into == a.how) {
        write_by_copy(op, a.shared);
        return;
    }
    if (wire::mode::copy == a.how) {
        note_answer(op, true);
    }
    op->state = op_state::moving;
    activate(op);
}

// The receiver has asked for it. shared: as in its answer.
void engine::write_by_copy(send_op *op, std::uint32_t shared) {
    // A shared copy is joined even where the kernel refuses direct copies: the receiver's thread may be at
    // it. What can't be moved fails piece by piece, and the last one to finish asks for another way.
    if (nullptr == op->buffer || (0 == shared && !may_copy(op->peer))) {
        send_finish(op->peer, op->remote_id, false, wire::outcome::refused);
        return;
    }
    op->state = op_state::moving;
    op->job.send = op;
    begin_copy(op->job, op->peer, const_cast<std::byte *>(op->buffer), op->remote_address, op->wanted, true);
    if (0 != shared) {
        join_copy(op->job, op->peer, shared);
        op->job.asked_ns = now_ns();
    }
    // As at the receiver: met in a call that does not wait, by a rank that goes on to compute.
    const bool postponed = 0 != shared && !by_thread_ && !application_waits() &&
                           rendezvous_kind::automatic == rendezvous_ && op->wanted > arming_floor(op->peer) &&
                           crowded();
    op->job.waiter_only |= postponed;
    list(&op->job);
    if (postponed) {
        postpone_copy(&op->job);
    }
}

void engine::on_finish(const endpoint *from, const std::byte *data, std::uint32_t bytes) {
    wire::finish f{};
    if (!wire::take_header(data, bytes, &f)) {
        refuse();
        return;
    }
    if (0 != f.to_sender) {
        send_op *op = sends_.find(f.operation);
        // Moving: a shared copy that the receiver has finished.
        const bool shared = nullptr != op && op_state::moving == op->state && op->job.entry >= 0;
        if (nullptr == op || (op_state::rts_sent != op->state && !shared) || route::self == op->peer->way ||
            !may_answer(from, op->peer)) {
            refuse();
            return;
        }
        unlist(&op->job);
        if (route::network == op->peer->way) {
            held_.heard(op->peer, &op->watch, 1 != f.to_sender);
        }
        note_answer(op, false);
        complete(op);
        return;
    }
    recv_op *op = receives_.find(f.operation);
    const bool refused = wire::outcome::ok != f.result;
    if (nullptr == op || op_state::moving != op->state || !may_answer(from, op->peer) ||
        !(wire::mode::copy_into == op->asked || wire::mode::write == op->asked)) {
        refuse(); // who reads, or takes fragments, knows best when it is done
        return;
    }
    unlist(&op->job);
    if (refused) {
        bool &works = wire::mode::write == op->asked ? op->peer->writes : op->peer->direct;
        works = works && wire::outcome::bad_memory == f.result;
        fly(op);
        answer(op, wire::mode::copy);
        return;
    }
    complete(op);
}

} // namespace smartint
