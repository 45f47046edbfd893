// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Messages to this process itself: no transport, and no interrupt thread (application thread only).
#include <algorithm>
#include <cstring>

#include "common_smartint_engine.h"

namespace smartint {

void engine::send_self(send_op *op) {
    const match_key k{op->context, op->source, op->tag};
    recv_op *r = matcher_.arrive(k);
    if (nullptr != r) {
        receive_self(r, op);
        return;
    }
    stats_.add(stat::unexpected);
    if (!op->synchronous && op->length <= op->peer->eager_limit) {
        const auto bytes = static_cast<std::uint32_t>(op->length);
        unexpected *u = matcher_.allocate(bytes);
        if (nullptr != u) {
            if (nullptr != op->buffer && 0 != bytes) {
                std::memcpy(u->bytes(), op->buffer, bytes);
            } else if (0 != bytes) {
                op->gather(op, 0, u->bytes(), bytes);
            }
            u->key = k;
            u->type = wire::eager;
            u->peer = op->peer;
            u->length = bytes;
            matcher_.keep(u);
            complete(op);
            return;
        }
    }
    give_id(op);
    op->state = op_state::rts_sent;
    keep_unexpected(op->peer, wire::rts, k, op->length, op->id, nullptr, 0);
}

// from: nullptr, if the send that was kept is none of ours.
void engine::receive_self(recv_op *op, send_op *from) {
    if (nullptr == from) {
        refuse();
        return;
    }
    op->peer = from->peer;
    op->got_source = from->source;
    op->got_tag = from->tag;
    op->announced = from->length;
    op->received = std::min(from->length, op->capacity);
    constexpr std::uint64_t piece = 65536;
    for (std::uint64_t at = 0; at < op->received;) {
        std::uint64_t bytes = std::min(piece, op->received - at);
        const std::byte *data = scratch_.data();
        if (nullptr != from->buffer) {
            data = from->buffer + at;
        } else {
            bytes = pack(from, at, bytes, op->received);
            data = scratch_.data();
            if (0 == bytes) {
                break; // fatal
            }
        }
        if (nullptr != op->buffer) {
            std::memmove(op->buffer + at, data, bytes);
        } else {
            op->scatter(op, at, data, bytes);
        }
        at += bytes;
    }
    complete(from);
    complete(op);
}

} // namespace smartint
