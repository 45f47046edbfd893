// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Messages inside a node that both sides wait for: which way they go, and how long that took.
#include "common_smartint_bursts.h"

#include "common_smartint_clock.h"

namespace smartint {
namespace {

constexpr unsigned most_of_a_burst = 256;
constexpr unsigned favour_pieces = 15; // percent: through the ring messages both ways are in each other's way

} // namespace

bool bursts::by_ring(const recv_op *op) const {
    const auto usual = usual_way(op->received);
    if (!timed(op->received)) {
        return through_ring == usual;
    }
    const bool of_this = 0 != op->burst && quicker::same_size(op->received, now_.size);
    return through_ring == (of_this ? now_.way : ways_.best(op->received, usual, favour_pieces));
}

void bursts::met(recv_op *op, bool waits, bool both_wait) {
    if (0 == now_.open || now_.receives >= most_of_a_burst) {
        end(); // where they never end
        if (!both_wait || !timed(op->received)) {
            return;
        }
        now_.size = op->received;
        now_.way = ways_.choose(op->received, usual_way(op->received), favour_pieces);
        now_.since = now_ns();
    }
    now_.spoiled |= !waits || !quicker::same_size(op->received, now_.size);
    ++now_.open;
    ++now_.receives;
    op->burst = now_.number;
}

void bursts::received(recv_op *op) {
    if (op->burst == now_.number) {
        now_.spoiled |= op->failed;
        now_.bytes += op->received;
        if (0 == --now_.open) {
            end();
        }
    }
    op->burst = 0;
}

void bursts::end() {
    if (0 != now_.bytes && !now_.spoiled) {
        ways_.took(now_.size, now_.way, now_.receives > 1, now_.bytes, now_ns() - now_.since);
        stats_.add(stat::receives_timed, now_.receives);
    }
    const std::uint32_t next = now_.number + 1;
    now_ = burst{};
    now_.number = 0 == next ? 1 : next;
}

} // namespace smartint
