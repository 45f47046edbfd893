// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Reads and writes by the network, from and to the user's memory (SI 4.2.1: RDMA-Read, and FIN on
// completion). Memory is registered when a rendezvous begins and held until its operation is
// complete; the key goes with the RTS or the CTS. What cannot be registered moves in fragments.
#include <algorithm>

#include "common_smartint_engine.h"

namespace smartint {
namespace {

constexpr std::uint64_t most_bytes = 1U << 30; // of one read or write

} // namespace

// What a receiver may do with the memory of a send over the network: flags, address and key.
void engine::offer_memory(send_op *op, wire::rendezvous *r) {
    const network::capabilities &caps = network_.caps();
    if (nullptr == op->buffer || !(caps.read || caps.write) ||
        (caps.registers && !network_.pin(op->buffer, op->length, &op->memory))) {
        return;
    }
    if (caps.read) {
        r->flags |= wire::rts_readable;
        r->address = reinterpret_cast<std::uint64_t>(op->buffer);
        r->key_bytes = static_cast<std::uint16_t>(op->memory.key_bytes);
    }
    if (caps.write) {
        r->flags |= wire::rts_writes;
    }
}

// False: it can't be read, and nothing was begun.
bool engine::start_read(recv_op *op, const wire::rendezvous &r, const std::byte *key) {
    if (!network_.caps().read || 0 == (r.flags & wire::rts_readable) || nullptr == op->buffer ||
        op->received < network_.caps().min_read) {
        return false;
    }
    if (network_.caps().registers &&
        (!network_.pin(op->buffer, op->received, &op->memory) || !network_.unpack(key, r.key_bytes, &op->key))) {
        network_.unpin(&op->memory);
        return false;
    }
    network_reads_.push_back(op); // begun at the end of the pass: no connection is made before it
    return true;
}

unsigned engine::pump_reads() {
    unsigned events = 0;
    for (std::size_t i = 0; i < network_reads_.size();) {
        recv_op *op = network_reads_[i];
        const std::uint64_t id = op->id;
        if (!pump_read(op)) {
            ++i;
            continue;
        }
        ++events;
        if (receives_.find(id) != op) {
            continue; // no connection: it has failed with all others of the peer, and the next one is in its place
        }
        network_reads_.erase(network_reads_.begin() + static_cast<std::ptrdiff_t>(i));
        endpoint *ep = op->peer;
        const std::uint64_t sender = op->remote_id;
        const bool failed = op->failed;
        complete(op); // first: if the FIN finds the peer lost, all that is left of it fails
        if (failed) {
            lose(ep);
        } else {
            stats_.add(by_thread_ ? stat::reads_thread : stat::reads_app);
            send_finish(ep, sender, true, wire::outcome::ok);
        }
    }
    return events;
}

// One read at a time. True: it is over, well or not, and the transport is done with the buffer.
bool engine::pump_read(recv_op *op) {
    endpoint *ep = op->peer;
    while (!op->reading) {
        op->moved += op->reading_bytes; // of the one before
        traffic_.arrived += op->reading_bytes;
        op->reading_bytes = 0;
        if (op->failed || op->moved >= op->received) {
            return true;
        }
        if (ep->lost) {
            op->failed = true;
            return true;
        }
        if (!connect(ep, false)) {
            return true; // the operation is gone
        }
        const std::uint64_t bytes = next_piece(op->received - op->moved, network_.caps().min_read,
                                               std::min(network_.caps().max_read, most_bytes));
        op->completion.done = read_completed;
        op->completion.arg = op;
        bool queued = false;
        const auto r = network_.read(ep->control, op->buffer + op->moved, &op->memory, bytes,
                                     op->remote_address + op->moved, &op->key, &op->completion, &queued);
        if (network::result::again == r) {
            return false;
        }
        if (network::result::broken == r) {
            op->failed = true;
            return true;
        }
        op->reading_bytes = bytes;
        op->reading = queued;
    }
    return false;
}

void engine::read_completed(void *arg, bool ok) {
    auto *op = static_cast<recv_op *>(arg);
    op->reading = false;
    op->failed = op->failed || !ok;
}

void engine::write_completed(void *arg, bool ok) {
    auto *op = static_cast<send_op *>(arg);
    op->writing = false;
    op->failed = op->failed || !ok;
}

// Writes over the bulk connection, one at a time; the FIN follows on the same connection, so
// it cannot overtake the data. Control messages have a connection of their own because a
// transport such as tcp refuses everything behind a write that drains.
bool engine::pump_writes(send_op *op) {
    endpoint *ep = op->peer;
    if (op->writing) {
        return false;
    }
    if (op->failed || ep->lost || !connect(ep, true)) {
        lose(ep);
        op->failed = true;
        return true;
    }
    const std::uint64_t piece = std::min<std::uint64_t>(params_.write_bytes, network_.caps().max_write);
    while (op->moved < op->wanted && !op->writing) {
        const std::uint64_t bytes = next_piece(op->wanted - op->moved, network_.caps().min_write, piece);
        op->completion.done = write_completed;
        op->completion.arg = op;
        bool queued = false;
        const auto r = network_.write(ep->bulk, op->buffer + op->moved, &op->memory, bytes,
                                      op->remote_address + op->moved, &op->key, &op->completion, &queued);
        if (network::result::again == r) {
            return false;
        }
        if (network::result::broken == r) {
            lose(ep);
            op->failed = true;
            return true;
        }
        op->writing = queued;
        op->moved += bytes;
    }
    if (op->writing || op->moved < op->wanted) {
        return false;
    }
    const wire::finish f{op->remote_id, 0, wire::outcome::ok};
    const auto r = transmit(ep, {wire::fin, f}, true);
    if (network::result::again == r) {
        return false;
    }
    if (network::result::broken == r) {
        lose(ep);
        op->failed = true;
    } else {
        stats_.add(by_thread_ ? stat::writes_thread : stat::writes_app);
    }
    return true;
}

} // namespace smartint
