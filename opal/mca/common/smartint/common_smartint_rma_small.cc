// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Small operations inside a node, as messages, without a place in the origin's queue: where many of them are made that
// is half of their time.
#include "common_smartint_engine.h"
#include "common_smartint_rma.h"

namespace smartint {
namespace {

constexpr std::uint64_t sure_every = 16; // gets and fetches: half of what a target takes in in a pass

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
    bursts_.operation_begins(p);
    if (!bursts_.by_message(p, rma_bursts::of(o.kind, o.bytes), !settled(p)) && !p->unacked && 0 == p->fetching) {
        return rma_begun::copy;
    }
    if (step::done != send_small(p, o)) {
        return rma_begun::message; // its item waits for room
    }
    bursts_.call_ends();
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
    i->result_layout = rma_layout(o.bytes);
    i->result_at = rma_cursor(&i->result_layout);
    i->id = gets_.add(i);
    return i;
}

// done, or nothing has happened.
rma::step rma::send_small(rma_peer *p, const rma_small &o) {
    const bool get = wire::rma_kind::get == o.kind;
    const bool operand = !get && rma_operator::no_op != o.op;
    wire::rma_head h{};
    h.name = e_.me_.name;
    h.window = p->window->id;
    h.kind = o.kind;
    h.op = static_cast<std::uint8_t>(o.op);
    h.type = static_cast<std::uint8_t>(o.type);
    h.flags = operand || get ? 0 : wire::rma_no_operand;
    h.runs = 1;
    h.more = get ? o.bytes : 0;
    const rma_run run{static_cast<std::int64_t>(o.target), o.bytes, 0, 1};
    const std::uint64_t data = !operand ? 0 : rma_operator::swap_if_equal == o.op ? 2 * o.bytes : o.bytes;
    rma_item *i = nullptr;
    if (nullptr != o.result) {
        i = make_small(p, o);
        h.id = i->id;
    }
    const step s = send_message(p, h, &run, 1, o.operand, static_cast<std::uint32_t>(data));
    if (nullptr == i) {
        p->unacked = p->unacked || step::done == s;
        return s;
    }
    if (step::done != s) {
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
    settle_state(p);
    return s;
}

} // namespace smartint
