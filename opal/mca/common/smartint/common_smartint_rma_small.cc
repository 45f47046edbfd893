// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Small operations inside a node, as messages, without a place in the origin's queue: where many of them are made that
// is half of their time.
#include <cstring>

#include "common_smartint_engine.h"
#include "common_smartint_rma.h"

namespace smartint {
namespace {

constexpr std::uint64_t sure_every = 16; // gets and fetches: half of what a target takes in in a pass

// Of an operation, with one run.
wire::rma_head long_head(const rma_peer *p, const wire::rma_short_head &h) {
    wire::rma_head head{};
    head.name = p->ep->name;
    head.window = h.window;
    head.sequence = h.sequence;
    head.kind = h.kind;
    head.op = h.op;
    head.type = h.type;
    head.flags = h.flags;
    head.runs = 1;
    head.id = h.id;
    head.more = wire::rma_kind::get == h.kind ? h.bytes : 0;
    return head;
}

bool may_be_short(wire::rma_kind kind) {
    using wire::rma_kind;
    return (rma_kind::put <= kind && kind <= rma_kind::get) || rma_kind::data == kind;
}

} // namespace

// As submit() would, in the same order of questions: may it go now, does the target have time for it, and is a message
// quicker than the kernel's copy?
rma_begun rma::try_small(rma_peer *p, const rma_small &o) {
    const bool stores = wire::rma_kind::put == o.kind || wire::rma_kind::get == o.kind;
    if (route::shared != p->ep->way || nullptr != p->mapped || o.bytes > p->ep->max_payload ||
        (!stores && (o.bytes >= quicker::smallest_bytes || nullptr == p->words))) {
        return rma_begun::no;
    }
    serve_now_and_then();
    const rma_window *w = p->window;
    if (p->ep->lost || nullptr != p->head || p->stuck || nullptr != p->asked || !p->acks.empty() ||
        w->fences_done < w->fences_begun || (wire::rma_kind::get != o.kind && p->gets_done < p->gets_before) ||
        p->fetching + wire::rma_fetch_bytes > wire::rma_fetching_bytes || unposted(p) || !e_.may_copy(p->ep) ||
        !target_is_ours(p) || !target_has_time(p)) {
        return rma_begun::no;
    }
    use();
    if (!bursts_.again(p, o.kind, o.bytes)) {
        bursts_.operation_begins(p);
        if (!bursts_.by_message(p, rma_bursts::of(o.kind, o.bytes), !settled(p)) && !p->unacked && 0 == p->fetching) {
            return rma_begun::copy;
        }
        if (step::done != send_small(p, o)) {
            return rma_begun::message; // its item waits for room
        }
        bursts_.call_ends();
    } else if (step::done != send_small(p, o)) {
        bursts_.operation_begins(p); // as its item is to find it
        return rma_begun::message;
    }
    e_.stats_.add(stat::rma_operations);
    return rma_begun::done;
}

// For the data of a get or fetch, in the table of those.
rma_item *rma::make_small(rma_peer *p, const rma_small &o) {
    const rma_item::what kind = wire::rma_kind::get == o.kind ? rma_item::what::get : rma_item::what::fetch;
    rma_item *i = nullptr;
    if (spare_.empty()) {
        i = make(kind);
        i->small = i->waiting = true;
    } else {
        i = spare_.back();
        spare_.pop_back();
        i->kind = kind;
        i->failed = rma_error::none;
    }
    i->peer = p;
    i->result = o.result;
    i->length = o.bytes;
    i->arrived = 0;
    i->id = gets_.add(i);
    return i;
}

// done, or nothing has happened.
rma::step rma::send_small(rma_peer *p, const rma_small &o) {
    const bool get = wire::rma_kind::get == o.kind;
    const bool operand = !get && rma_operator::no_op != o.op;
    wire::rma_short_head h{};
    h.kind = o.kind;
    h.op = static_cast<std::uint8_t>(o.op);
    h.type = static_cast<std::uint8_t>(o.type);
    h.flags = operand || get ? 0 : wire::rma_no_operand;
    h.bytes = static_cast<std::uint32_t>(o.bytes);
    h.at = o.target;
    const std::uint64_t data = rma_operand_bytes(o.op, operand, o.bytes);
    if (nullptr == o.result) {
        const step s = send_short(p, h, o.operand, data);
        p->unacked = p->unacked || step::done == s;
        return s;
    }
    rma_item *i = make_small(p, o);
    h.id = i->id;
    if (const step s = send_short(p, h, o.operand, data); step::done != s) {
        gets_.remove(i->id);
        discard(i);
        return s;
    }
    // Behind one that is not answered the target mostly finds this one too, and who waits for it makes sure.
    p->unsure = 0 != (p->gets_begun++ - p->gets_done) % sure_every;
    (get ? p->getting : p->fetching) += o.bytes;
    if (!p->unsure) {
        wake_target(p);
    }
    postpone_gets(p);
    settle_state(p);
    return step::done;
}

// The next call takes in what has come. Each that ends before would ring the thread.
void rma::postpone_gets(rma_peer *p) {
    if (route::shared == p->ep->way && !p->gets_requested && p->fetching + p->getting >= worthwhile_near &&
        !p->gets_postponed && rma_peer::flight::none == p->flying && e_.postpone_to_calls()) {
        p->gets_postponed = true;
        ++e_.put_off_.queues;
    }
}

void rma::hurry_gets(rma_peer *p) {
    e_.put_off_.queues -= p->gets_postponed ? 1 : 0;
    p->gets_postponed = false;
}

rma::step rma::send_short(rma_peer *p, wire::rma_short_head &h, const std::byte *data, std::uint64_t bytes) {
    endpoint *ep = p->ep;
    h.window = p->window->id;
    h.sequence = wire::next_sequence(ep->rma_out);
    if (!e_.send_short(ep, h, data, static_cast<std::uint32_t>(bytes))) {
        return step::full;
    }
    ep->rma_out = h.sequence;
    e_.traffic_.other += bytes;
    return step::done;
}

// The other side. What comes where nothing is open or owed is done at once; else it is as good as a long one.
void rma::arrive_short(endpoint *from, const std::byte *data, std::uint32_t bytes) {
    wire::rma_short_head h{};
    if (nullptr == from || route::shared != from->way || !wire::take_header(data, bytes, &h) || !may_be_short(h.kind)) {
        e_.refuse();
        return;
    }
    rma_peer *p = addressed(from, h.window, h.sequence);
    if (nullptr == p) {
        return;
    }
    if (wire::rma_kind::data == h.kind) {
        e_.traffic_.other += bytes;
        note_answer(p, h.flags);
        if (rma_item *i = asked_for(p, h.id); nullptr != i) {
            data_came(i, h.at, data, bytes);
        }
        if (looks_on(p, h.kind)) {
            activate(p);
        }
        if (rma_peer::flight::none != p->flying) { // less under way: it does not begin to
            settle_state(p);
        }
    } else if (p->lock_pending || 0 != p->incoming || looks_on(p, h.kind) || !serve_short(p, h, data, bytes)) {
        take_as_long(p, h, data, bytes);
    }
}

// False: nothing happened.
bool rma::serve_short(rma_peer *p, const wire::rma_short_head &h, const std::byte *data, std::uint32_t bytes) {
    using kind = wire::rma_kind;
    if (0 == h.bytes || h.bytes > p->ep->max_payload || !inside(p->window, h.at, h.bytes)) {
        return false;
    }
    auto *memory = reinterpret_cast<std::byte *>(h.at);
    if (kind::put == h.kind) {
        if (bytes != h.bytes) {
            return false;
        }
        std::memcpy(memory, data, bytes);
    } else if (kind::get == h.kind) {
        if (step::done != answer(p, h.id, 0, memory, h.bytes)) {
            return false;
        }
    } else {
        combine(p, long_head(p, h), memory, rma_layout(h.bytes), data, bytes);
        if (looks_on(p, h.kind)) { // there was no room for its answer
            activate(p);
            settle_state(p);
        }
    }
    count_served(p, h.kind);
    e_.traffic_.other += bytes;
    return true;
}

void rma::take_as_long(rma_peer *p, const wire::rma_short_head &h, const std::byte *data, std::uint32_t bytes) {
    const wire::rma_head head = long_head(p, h);
    const rma_run run{static_cast<std::int64_t>(h.at), h.bytes, 0, 1};
    std::vector<std::byte> message(sizeof(head) + sizeof(run) + bytes);
    std::memcpy(message.data(), &head, sizeof(head));
    std::memcpy(message.data() + sizeof(head), &run, sizeof(run));
    if (0 != bytes) {
        std::memcpy(message.data() + sizeof(head) + sizeof(run), data, bytes);
    }
    keep_or_take_in(p, h.kind, message.data(), static_cast<std::uint32_t>(message.size()));
}

} // namespace smartint
