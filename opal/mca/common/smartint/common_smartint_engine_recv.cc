// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Receives and the messages that meet them.
#include <algorithm>
#include <cstring>

#include "common_smartint_engine.h"

namespace smartint {
namespace {

constexpr std::uint64_t expect_piece = 4096;  // a receive that may be one of many
constexpr std::uint64_t expect_from = 262144; // bytes: about what sockets hold on the way at first

} // namespace

// Receives up to this size are not worth a wake, or cannot meet a rendezvous at all. peer:
// the sender where it is known, or nullptr.
std::uint64_t engine::arming_floor(const endpoint *peer) const {
    if (nullptr == peer) {
        const std::uint64_t near = std::max(params_.eager_limit, params_.arm_from);
        return network_.is_open() ? std::min<std::uint64_t>(near, params_.network_eager_limit) : near;
    }
    if (route::self == peer->way) {
        return UINT64_MAX; // nobody but this rank can send it
    }
    // its limits, which may be below those asked for: a ring or a transport takes no more in one message
    return route::network == peer->way ? peer->eager_limit
                                       : std::max<std::uint64_t>(peer->eager_limit, params_.arm_from);
}

void engine::receive(recv_op *op) {
    ++receives_begun_;
    op->state = op_state::posted;
    unexpected *u = matcher_.find(op->context, op->source, op->tag);
    if (nullptr != u) {
        matcher_.take(u);
        receive_matched(op, u);
        return;
    }
    if (nullptr != op->peer && (op->peer->lost || route::network == op->peer->way) && is_lost(op->peer)) {
        fail_posted(op);
        complete(op);
        return;
    }
    matcher_.post(op);
    if (op->capacity >= expect_piece) {
        expect(op);
    }
    // Large enough for a rendezvous, and the caller goes away to compute: one look, then the
    // interrupt request (IRD, SI 4.2.2).
    if (!op->blocking && op->capacity > arming_floor(op->peer) && op->open_to_thread() && can_arm()) {
        pass(false, false); // what can begin now is for the thread, or the sender, to move
        if (nullptr != op->queue) {
            track(op);
            arm_request(rts_pattern(op->context, op->source, op->tag, any_source == op->source, any_tag == op->tag),
                        &op->board_index);
            armed_now_ = true;
        }
    }
}

// Whole messages announce nothing, so no request can wake the thread for them. That is right for one: the transport's
// buffers take it in while the application computes. Of many they take in the first, and their senders wait. While
// more than that is expected the thread sleeps at the transport.
//
// Those that a sender of this node may have read rather than send whole (goes_whole) are counted, too.
void engine::expect(recv_op *op) {
    if (op->capacity > params_.eager_limit && nullptr != op->buffer &&
        (nullptr == op->peer || route::shared == op->peer->way)) {
        op->shown = true;
        ++shown_receives_;
        if (0 != waits_ && board_.attached() && !board_.shows(layout::rank_waiting) &&
            !board_.shows(layout::rank_idle)) {
            publish_inside();
        }
    }
    if (op->blocking || !network_.is_open() || op->capacity > arming_floor(op->peer) ||
        (nullptr != op->peer && route::network != op->peer->way) || !thread_ ||
        !strategy_->arm()) { // no board is needed for it
        return;
    }
    op->expected = static_cast<std::uint32_t>(op->capacity); // at most network_eager_limit
    expected_ += op->expected;
    if (!expects_ && expected_ >= expect_from) {
        expects_ = true;
        hold();
    }
}

void engine::expect_no_more(recv_op *op) {
    if (op->shown) {
        op->shown = false;
        --shown_receives_;
    }
    if (0 == op->expected) {
        return;
    }
    expected_ -= op->expected;
    op->expected = 0;
    if (expects_ && 0 == expected_) { // not before: the last of many would lie in the sockets
        expects_ = false;
        unhold();
    }
}

// It met no message: nothing of an earlier use may be reported.
void engine::fail_posted(recv_op *op) {
    op->failed = true;
    op->got_source = op->source;
    op->got_tag = any_tag == op->tag ? 0 : op->tag;
    op->announced = op->received = 0;
}

void engine::receive_matched(recv_op *op, unexpected *u) {
    ++receives_begun_;
    op->state = op_state::posted;
    const std::byte *data = u->bytes();
    std::uint32_t bytes = u->stored;
    op->got_source = u->key.source;
    op->got_tag = u->key.tag;
    if (wire::rts == u->type) {
        if (route::self == u->peer->way) {
            send_op *from = sends_.find(u->sender);
            matcher_.release(u);
            receive_self(op, from);
            return;
        }
        wire::rendezvous r{};
        std::memcpy(&r, data, sizeof(r)); // stored whole by on_rts, the key behind it
        // Read from the ring a second time, which its sender may have written again.
        r.key_bytes = std::min<std::uint32_t>(r.key_bytes, bytes - static_cast<std::uint32_t>(sizeof(r)));
        start_rendezvous(op, u->peer, r, data + sizeof(r));
    } else {
        deliver_eager(op, u->peer, data, bytes);
        if (wire::eager_sync == u->type) {
            send_finish(u->peer, u->sender, true, wire::outcome::ok);
        }
    }
    matcher_.release(u);
}

bool engine::cancel_receive(recv_op *op) {
    if (!matcher_.cancel(op)) {
        return false;
    }
    untrack(op);
    expect_no_more(op);
    op->state = op_state::idle;
    return true;
}

unexpected *engine::peek_unexpected(std::uint32_t context, std::int32_t source, std::int32_t tag) {
    return matcher_.find(context, source, tag);
}

void engine::dispatch(endpoint *from, std::uint8_t type, const std::byte *data, std::uint32_t bytes) {
    switch (type) {
    case wire::eager:
        on_eager(from, data, bytes);
        return;
    case wire::eager_sync:
        on_eager_sync(from, data, bytes);
        return;
    case wire::rts:
        on_rts(from, data, bytes);
        return;
    case wire::cts:
        on_cts(from, data, bytes);
        return;
    case wire::data:
        on_data(from, data, bytes);
        return;
    case wire::credit:
        on_credit(from, data, bytes);
        return;
    case wire::fin:
        on_finish(from, data, bytes);
        return;
    case wire::am:
    case wire::atomic:
    case wire::atomic_answer:
        on_active_message(from, type, data, bytes);
        return;
    case wire::rma:
        one_sided().arrive(from, data, bytes);
        return;
    case wire::rma_short:
        one_sided().arrive_short(from, data, bytes);
        return;
    case wire::helper_at:
        on_helper_at(data, bytes);
        return;
    default:
        refuse();
    }
}

// The receive for a message that comes, or nullptr.
recv_op *engine::meet_receive(const match_key &k) {
    recv_op *op = matcher_.arrive(k);
    if (nullptr != op) {
        op->got_source = k.source;
        op->got_tag = k.tag;
    }
    return op;
}

void engine::on_eager(endpoint *from, const std::byte *data, std::uint32_t bytes) {
    wire::match m{};
    if (!wire::take_header(data, bytes, &m)) {
        refuse();
        return;
    }
    traffic_.arrived += nullptr == from ? bytes : 0; // by the network
    const match_key k{m.context, m.source, m.tag};
    recv_op *op = meet_receive(k);
    if (nullptr == op) {
        keep_unexpected(from, wire::eager, k, bytes, 0, data, bytes);
        return;
    }
    deliver_eager(op, from, data, bytes);
}

void engine::on_eager_sync(endpoint *from, const std::byte *data, std::uint32_t bytes) {
    wire::match_sync m{};
    if (!wire::take_header(data, bytes, &m)) {
        refuse();
        return;
    }
    if (nullptr == from && nullptr == (from = find_peer(m.name))) {
        refuse(); // nobody to answer: a synchronous send comes from a known peer only
        return;
    }
    if (route::self == from->way) {
        refuse(); // what goes to ourselves takes no transport
        return;
    }
    const match_key k{m.m.context, m.m.source, m.m.tag};
    recv_op *op = meet_receive(k);
    if (nullptr == op) {
        keep_unexpected(from, wire::eager_sync, k, bytes, m.sender, data, bytes);
        return;
    }
    deliver_eager(op, from, data, bytes);
    send_finish(from, m.sender, true, wire::outcome::ok);
}

void engine::deliver_eager(recv_op *op, endpoint *from, const std::byte *data, std::uint32_t bytes) {
    stats_.add(stat::eager_received);
    op->peer = from;
    op->announced = bytes;
    op->received = std::min<std::uint64_t>(bytes, op->capacity);
    if (0 != op->received) {
        if (nullptr != op->buffer) {
            std::memcpy(op->buffer, data, op->received);
        } else if (by_thread_ && !op->anywhere) {
            stats_.add(stat::deferred);
            defer({.kind = deferred::what::scatter, .op = op, .from = from, .last = true}, data, op->received);
            return;
        } else {
            op->scatter(op, 0, data, op->received);
        }
    }
    complete(op);
}

void engine::keep_unexpected(endpoint *from, std::uint8_t type, const match_key &k, std::uint64_t length,
                             std::uint64_t sender, const std::byte *data, std::uint32_t bytes) {
    unexpected *u = matcher_.allocate(bytes);
    if (nullptr == u) {
        fatal_ = "no memory for an unexpected message";
        return;
    }
    u->key = k;
    u->type = type;
    u->peer = from;
    u->length = length;
    u->sender = sender;
    if (0 != bytes) {
        std::memcpy(u->bytes(), data, bytes);
    }
    if (nullptr == from || route::self != from->way) {
        stats_.add(stat::unexpected);
    }
    matcher_.keep(u);
}

void engine::on_rts(endpoint *from, const std::byte *data, std::uint32_t bytes) {
    const std::byte *whole = data;
    wire::rendezvous r{};
    if (!wire::take_header(data, bytes, &r) || r.address_bytes > wire::max_network_address ||
        r.key_bytes > wire::max_key || r.key_bytes + r.address_bytes > bytes) {
        refuse();
        return;
    }
    const std::byte *key = data;
    data += r.key_bytes;
    if (nullptr == from) {
        // By network: the RTS carries what is needed to answer a process not met before.
        from = find_peer(r.name);
        if (nullptr == from && r.name != me_.name) {
            from = add_network(r.name, data, r.address_bytes, nullptr, 0);
        }
        if (nullptr != from && !from->asked && lacks_helper(from)) {
            introduce(from);
        }
    }
    if (nullptr == from || route::self == from->way) {
        refuse();
        return;
    }
    note_arrival(from->name, 0, r.sequence);
    const match_key k{r.m.context, r.m.source, r.m.tag};
    recv_op *op = meet_receive(k);
    if (nullptr == op) {
        keep_unexpected(from, wire::rts, k, r.length, r.sender, whole, sizeof(r) + r.key_bytes);
        return;
    }
    if (by_thread_) {
        stats_.add(stat::thread_matches);
    }
    start_rendezvous(op, from, r, key);
}

// For the components above (the BTL's users). The interrupt thread may not call them, so it
// keeps the message; order is kept because the application empties the list before it polls.
// Beside other threads they are not called from inside the transport either: ud holds a lock of its own there, which
// another thread may want while the gate is open for the call.
void engine::on_active_message(endpoint *from, std::uint8_t type, const std::byte *data, std::uint32_t bytes) {
    if (by_thread_ || looks_again_ || !deferred_.empty() || (me_.threads && in_network_)) {
        stats_.add(stat::deferred);
        defer({.kind = deferred::what::message, .from = from, .type = type}, data, bytes);
        return;
    }
    if (nullptr != hooks_.active_message) {
        hooks_.active_message(from, type, data, bytes);
    }
}

void engine::defer(deferred d, const std::byte *bytes, std::uint64_t count) {
    d.data.assign(bytes, bytes + count);
    deferred_.push_back(std::move(d));
}

void engine::run_deferred() {
    while (!deferred_.empty()) {
        deferred d = std::move(deferred_.front());
        deferred_.pop_front();
        if (deferred::what::message == d.kind) {
            if (nullptr != hooks_.active_message) {
                hooks_.active_message(d.from, d.type, d.data.data(), static_cast<std::uint32_t>(d.data.size()));
            }
            continue;
        }
        if (deferred::what::stranger == d.kind) {
            introduce(d.from);
            continue;
        }
        d.op->scatter(d.op, d.at, d.data.data(), d.data.size());
        if (d.last) {
            complete(d.op);
        } else {
            --d.op->unpacking;
            consumed(d.op, d.data.size());
        }
    }
}

void engine::complete(recv_op *op) {
    if (0 != op->id) {
        receives_.remove(op->id);
        op->id = 0;
        network_.unpin(&op->memory);
        network_.release(&op->key);
    }
    if (op->orphaned) {
        op->orphaned = false;
        --parting_.receives;
    }
    untrack(op);
    expect_no_more(op);
    if (0 != op->burst) {
        bursts_.received(op);
    }
    const bool blocking = op->blocking;
    op->state.finish(); // a blocking operation is its caller's from here on
    if (blocking) {
        caller_done_ = true;
        return;
    }
    done_receives_.append(op);
}

} // namespace smartint
