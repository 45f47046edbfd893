// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Messages inside a node that both sides wait for: which way they go, and how long that took.
#include "common_smartint_bursts.h"

#include "common_smartint_clock.h"

namespace smartint {
namespace {

constexpr unsigned most_of_a_burst = 256;
constexpr unsigned most_said = 512;
constexpr unsigned most_vain = 4;

} // namespace

bursts::preference bursts::prefers(std::uint64_t bytes) {
    if (!timed(bytes)) {
        return preference_for(usual_way(bytes));
    }
    said &s = said_[quicker::row(bytes)];
    if (0 == s.times) {
        s.way = exchanges_.choose(bytes, usual_way(bytes), favour);
    }
    if (s.times >= most_said) {
        return preference::nothing;
    }
    ++s.times;
    return preference_for(s.way);
}

bool bursts::met(recv_op *op, met_in where, preference agreed) {
    const bool exchange = met_in::exchange == where;
    const bool both_wait = exchange || met_in::wait_of_both == where;
    if (0 == now_.open || now_.receives >= most_of_a_burst) {
        end(); // where they never end
        if (!both_wait || !timed(op->received)) {
            return both_wait && through_ring == usual_way(op->received);
        }
        begin(op, exchange, agreed);
    }
    const bool alike = exchange == now_.exchange && quicker::same_size(op->received, now_.size) &&
                       (preference::nothing == agreed || way_of(agreed) == now_.way);
    const bool other_way = both_wait ? !alike : met_in::call == where || through_ring == now_.way;
    now_.spoiled |= other_way || !quicker::same_size(op->received, now_.size);
    ++now_.open;
    ++now_.receives;
    op->burst = now_.number;
    return both_wait && through_ring == way_of_one(op->received, exchange, agreed, alike);
}

// alike: it is as the burst that goes on.
quicker::way bursts::way_of_one(std::uint64_t bytes, bool exchange, preference agreed, bool alike) const {
    const quicker::way usual = usual_way(bytes);
    if (!timed(bytes)) {
        return usual;
    }
    if (alike) {
        return now_.way;
    }
    return preference::nothing != agreed ? way_of(agreed) : (exchange ? exchanges_ : ways_).best(bytes, usual, favour);
}

void bursts::begin(const recv_op *op, bool exchange, preference agreed) {
    now_.size = op->received;
    now_.exchange = exchange;
    now_.way = preference::nothing != agreed
                   ? way_of(agreed)
                   : (exchange ? exchanges_ : ways_).choose(op->received, usual_way(op->received), favour);
    now_.since = now_ns();
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

// What is being tried may be the slower way by far, and the other ranks would go it for as long as it is not timed.
void bursts::end_in_vain(said *s) {
    if (0 != s->times && most_vain == ++s->vain) {
        exchanges_.give_up(now_.size);
        s->way = exchanges_.best(now_.size, usual_way(now_.size), favour);
    }
}

void bursts::end() {
    if (0 != now_.bytes && !now_.spoiled) {
        (now_.exchange ? exchanges_ : ways_)
            .took(now_.size, now_.way, now_.receives > 1, now_.bytes, now_ns() - now_.since);
        stats_.add(stat::receives_timed, now_.receives);
        if (now_.exchange) {
            said_[quicker::row(now_.size)] = said{};
        }
    } else if (now_.exchange) {
        end_in_vain(&said_[quicker::row(now_.size)]);
    }
    const std::uint32_t next = now_.number + 1;
    now_ = burst{};
    now_.number = 0 == next ? 1 : next;
}

} // namespace smartint
