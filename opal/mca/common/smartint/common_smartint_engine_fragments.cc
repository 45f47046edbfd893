// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Sends whose data moves in messages or network writes, and the pipeline of fragments: the way that always goes. The
// sender keeps at most a window of bytes beyond what the receiver has said that it consumed.
#include <algorithm>
#include <cstring>

#include "common_smartint_clock.h"
#include "common_smartint_engine.h"

namespace smartint {
namespace {

constexpr std::uint64_t pack_bytes = 4096; // more than any basic element
// Of one message in one pass of the application. What it hands to a network fills the queues on the
// way: an answer to a message that comes the other way would stand behind all of it, and the two
// directions would take turns.
constexpr std::uint64_t most_in_a_pass = 131072;
constexpr std::uint64_t longest_linger_ns = 20000;

// The next one. woken: the sender's thread sends it, and was woken by somebody.
wire::fragment fragment_of(const send_op &op, bool woken) {
    return {op.remote_id, op.moved | (woken ? wire::woken : 0)};
}

} // namespace

void engine::activate(send_op *op) {
    fly(op);
    op->active_link = nullptr;
    const bool first = nullptr == active_head_;
    pumps_.store(true, std::memory_order_relaxed);
    *active_tail_ = op;
    active_tail_ = &op->active_link;
    if (first && !by_thread_) {
        publish_inside(); // busy: other receivers read by themselves
    }
}

void engine::deactivate(send_op *op) {
    for (send_op **p = &active_head_; nullptr != *p; p = &(*p)->active_link) {
        if (*p == op) {
            *p = op->active_link;
            if (nullptr == *p) {
                active_tail_ = p;
            }
            if (nullptr == active_head_) {
                pumps_.store(false, std::memory_order_relaxed);
                if (!by_thread_) {
                    publish_inside();
                }
            }
            break;
        }
    }
}

// Or nothing more to send.
inline bool engine::has_room(const send_op *op) const {
    return op->peer->full_round != pump_round_ || op->peer->lost || op->failed || op->moved == op->wanted;
}

unsigned engine::pump_sends() {
    unsigned events = 0;
    ++pump_round_;
    for (send_op *op = active_head_; nullptr != op;) {
        send_op *next = op->active_link;
        const std::uint64_t before = op->moved;
        const bool over = op->lingers_since != 0 ||
                          (wire::mode::write == op->how ? pump_writes(op) : has_room(op) && pump_fragments(op));
        const bool ends = over && !lingers(op);
        events += (ends || before != op->moved) ? 1 : 0;
        if (ends) {
            deactivate(op);
            complete(op);
        }
        op = next;
    }
    return events;
}

// All of it is handed over. A blocking send of an exchange ends together with its receives, if that takes no more than
// a moment: as in MPI_Sendrecv, whose caller would leave with transfers under way, and ring its thread for the rest,
// and come back at once to wait for them. To wait longer it would depend on others. Once for each exchange.
bool engine::lingers(send_op *op) {
    if (!op->blocking || !op->exchanges || op->failed || by_thread_ || !bursts_.in_exchange() || bursts_.late()) {
        return false;
    }
    const std::uint64_t now = now_ns();
    op->lingers_since = 0 == op->lingers_since ? now : op->lingers_since;
    if (now < op->lingers_since + longest_linger_ns) {
        return true;
    }
    bursts_.note_late();
    return false;
}

// Packed data in fragments, as far as credits and room allow. True when all is handed over.
bool engine::pump_fragments(send_op *op) {
    endpoint *ep = op->peer;
    const auto fails = [&] {
        lose(ep);
        op->failed = true;
        return !op->writing; // else the transport still has the buffer
    };
    if (ep->lost) {
        return fails();
    }
    if (by_thread_ && !op->open_to_thread()) {
        return false; // packing is the application thread's
    }
    // Over the network the data has a connection of its own, so that control messages do not
    // queue behind it, and leaves from where it is, one fragment at a time.
    const bool in_place = route::network == ep->way && nullptr != op->buffer && 0 != network_.caps().max_in_place;
    if (route::network == ep->way && (op->failed || !connect(ep, true))) {
        return fails();
    }
    const std::uint32_t piece =
        in_place ? std::min(network_.caps().max_in_place, op->finely ? ep->max_payload : ep->max_fragment)
                 : ep->max_payload;
    const std::uint64_t most = by_thread_ ? op->wanted : op->moved + most_in_a_pass;
    while (op->moved < std::min(op->wanted, most) && !op->writing && op->moved - op->consumed < params_.window_bytes &&
           (route::network == ep->way || nullptr == ep->pending_head)) {
        auto bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(piece, op->wanted - op->moved));
        const auto r = in_place ? send_fragment_in_place(op, bytes) : send_fragment(op, &bytes);
        if (network::result::again == r) {
            ep->full_round = pump_round_;
            break;
        }
        if (network::result::broken == r) {
            lose(ep);
            op->failed = true;
            return true;
        }
        op->moved += bytes;
        traffic_.other += bytes;
    }
    if (op->moved != op->wanted || op->writing) {
        return false;
    }
    stats_.add(by_thread_ ? stat::writes_thread : stat::writes_app);
    return true;
}

// The next bytes of the message, copied by the transport; packed before, where they do not lie together: how many is
// then known. again: no room now, or the datatype can't be packed, which is fatal.
network::result engine::send_fragment(send_op *op, std::uint32_t *bytes) {
    const void *data = nullptr;
    if (nullptr != op->buffer) {
        data = op->buffer + op->moved;
    } else {
        *bytes = static_cast<std::uint32_t>(pack(op, op->moved, *bytes, op->wanted));
        if (0 == *bytes) {
            return network::result::again;
        }
        data = scratch_.data();
    }
    return transmit(op->peer, {wire::data, fragment_of(*op, is_woken()), data, *bytes},
                    route::network == op->peer->way);
}

// The same from where they are: the network has the buffer until it calls back.
network::result engine::send_fragment_in_place(send_op *op, std::uint32_t bytes) {
    const wire::fragment f = fragment_of(*op, is_woken());
    bool queued = false;
    op->completion.done = write_completed;
    op->completion.arg = op;
    const auto r = network_.send_in_place(op->peer->bulk, ring_word::pack(sizeof(f) + bytes, 0, wire::data), &f,
                                          sizeof(f), op->buffer + op->moved, bytes, &op->completion, &queued);
    op->writing = network::result::done == r && queued;
    return r;
}

// Into scratch_: at most `bytes` from packed offset `at`, of the first `wanted`. How many; 0 is
// fatal. The receiver may want less than the message, to the middle of a basic element, which
// gather does not split: so the last piece is asked for with more behind it.
std::uint64_t engine::pack(send_op *op, std::uint64_t at, std::uint64_t bytes, std::uint64_t wanted) {
    const std::uint64_t ask = at + bytes < wanted ? bytes : std::min(std::max(bytes, pack_bytes), op->length - at);
    scratch_.resize(std::max<std::size_t>(scratch_.size(), ask));
    const std::uint64_t got = op->gather(op, at, scratch_.data(), ask);
    if (0 == got) {
        fatal_ = "a datatype could not be packed";
    }
    return std::min(got, bytes);
}

void engine::on_data(const endpoint *from, const std::byte *data, std::uint32_t bytes) {
    wire::fragment f{};
    if (!wire::take_header(data, bytes, &f)) {
        refuse();
        return;
    }
    const bool woken = 0 != (f.offset & wire::woken);
    f.offset &= ~wire::woken;
    recv_op *op = receives_.find(f.receiver);
    // In order, none twice: so an operation is not done before its last one was taken.
    if (nullptr == op || op_state::moving != op->state || !may_answer(from, op->peer) ||
        wire::mode::copy != op->asked || f.offset != op->arrived || bytes > op->received - f.offset || 0 == bytes) {
        refuse();
        return;
    }
    op->arrived += bytes;
    if (route::network == op->peer->way) {
        held_.heard(op->peer, &op->watch, woken);
    }
    if (nullptr != op->buffer) {
        std::memcpy(op->buffer + f.offset, data, bytes);
    } else if ((by_thread_ && !op->anywhere) || 0 != op->unpacking) {
        stats_.add(stat::deferred);
        ++op->unpacking;
        defer({.kind = deferred::what::scatter, .op = op, .from = op->peer, .at = f.offset}, data, bytes);
        return;
    } else {
        op->scatter(op, f.offset, data, bytes);
    }
    consumed(op, bytes);
}

void engine::consumed(recv_op *op, std::uint64_t bytes) {
    op->moved += bytes;
    const bool by_network = route::network == op->peer->way;
    traffic_.come(by_network, bytes);
    arriving_ = by_network ? op->id : arriving_;
    if (op->moved >= op->received) {
        complete(op);
        return;
    }
    if (op->orphaned) {
        op->heard_us = now_us();
    }
    // None for what the sender may send already: it may have sent all and be gone.
    if (op->moved - op->credited >= op->credit_bytes && op->credited + op->window < op->received) {
        op->credited = op->moved;
        const wire::credit_msg c{op->remote_id, op->moved};
        send_or_queue(op->peer, {wire::credit, c});
    }
}

void engine::on_credit(const endpoint *from, const std::byte *data, std::uint32_t bytes) {
    wire::credit_msg c{};
    if (!wire::take_header(data, bytes, &c)) {
        refuse();
        return;
    }
    send_op *op = sends_.find(c.sender);
    if (nullptr == op) {
        return; // the last credit may come after all was handed over
    }
    if (!may_answer(from, op->peer) || c.bytes > op->moved || c.bytes < op->consumed) {
        refuse();
        return;
    }
    op->consumed = c.bytes;
}

} // namespace smartint
