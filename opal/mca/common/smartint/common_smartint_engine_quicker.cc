// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Messages inside a node that both sides wait for: which way they go, and how long that took. Under the gate.
#include "common_smartint_engine.h"

namespace smartint {
namespace {

constexpr unsigned most_of_a_burst = 256;

} // namespace

// This side waits for it, the sender too: by the ring?
bool engine::goes_by_ring(const recv_op *op) const {
    const auto usual = usual_way(op->received);
    if (op->received < quicker::smallest_bytes || op->received > params_.timed_bytes) {
        return quicker::way::second == usual;
    }
    const bool timed = 0 != op->burst && quicker::same_size(op->received, burst_.size);
    return quicker::way::second == (timed ? burst_.way : ways_.best(op->received, usual));
}

quicker::way engine::usual_way(std::uint64_t bytes) const {
    return bytes <= params_.stream_bytes ? quicker::way::second : quicker::way::first;
}

// Receives are timed from the first that both sides wait for until none is left, or until they are many: they all go the way of
// the first, and their time decides for those after them. One by itself and several at a time are different things.
void engine::time_receive(recv_op *op, bool waits, bool both_wait) {
    if (0 == burst_.open || burst_.receives >= most_of_a_burst) {
        end_burst(); // where they never end
        if (!both_wait || op->received < quicker::smallest_bytes || op->received > params_.timed_bytes) {
            return;
        }
        burst_.size = op->received;
        burst_.way = ways_.choose(op->received, usual_way(op->received));
        burst_.since = now_ns();
    }
    burst_.spoiled |= !waits || !quicker::same_size(op->received, burst_.size);
    ++burst_.open;
    ++burst_.receives;
    op->burst = burst_.number;
}

void engine::was_received(recv_op *op) {
    if (op->burst == burst_.number) {
        burst_.spoiled |= op->failed;
        burst_.bytes += op->received;
        if (0 == --burst_.open) {
            end_burst();
        }
    }
    op->burst = 0;
}

void engine::end_burst() {
    if (0 != burst_.bytes && !burst_.spoiled) {
        ways_.took(burst_.size, burst_.way, burst_.receives > 1, burst_.bytes, now_ns() - burst_.since);
        stats_.add(stat::receives_timed, burst_.receives);
    }
    const std::uint32_t next = burst_.number + 1;
    burst_ = burst{};
    burst_.number = 0 == next ? 1 : next;
}

} // namespace smartint
