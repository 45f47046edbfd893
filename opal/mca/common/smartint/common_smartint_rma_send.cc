// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// One-sided operations, and what ends them, as messages.
#include <algorithm>
#include <cstring>

#include "common_smartint_engine.h"
#include "common_smartint_rma.h"

namespace smartint {
namespace {

constexpr unsigned most_runs = 64;     // of one message that has room for more data than runs
constexpr std::uint64_t large = 32768; // worth waking a target that computes, at once

// Of one message: at most half of it. Where datagrams are small (ud by Ethernet: 1024 bytes) these are a few.
unsigned runs_towards(const endpoint *ep) {
    static_assert(least_payload / 2 / sizeof(rma_run) >= 3, "one element in two pieces, and take()'s one more");
    return std::min<unsigned>(most_runs, ep->max_payload / 2 / sizeof(rma_run) - 1);
}

// What stands before a message's data: its head, with the next sequence, and its run, if it is the only one.
struct rma_front {
    std::byte bytes[sizeof(wire::rma_head) + sizeof(rma_run)];
    std::uint32_t length = sizeof(wire::rma_head);

    rma_front(const endpoint *ep, wire::rma_head &head, const rma_run *runs, std::size_t count) {
        static_assert(sizeof(bytes) <= network::most_header);
        head.sequence = wire::next_sequence(ep->rma_out);
        std::memcpy(bytes, &head, sizeof(head));
        if (1 == count) {
            std::memcpy(bytes + sizeof(head), runs, sizeof(rma_run));
            length += sizeof(rma_run);
        }
    }
};

} // namespace

// put, accumulate, fetch: messages of runs and data, until all is out or the transport is full.
rma::step rma::send_stores(rma_peer *p, rma_item *i) {
    using what = rma_item::what;
    const bool fetches = what::fetch == i->kind;
    const bool operand = !(fetches && rma_operator::no_op == i->op);
    const std::uint32_t unit = what::put == i->kind ? 1 : rma_type_bytes(i->type);
    const std::uint64_t total = i->target_layout.bytes();
    if (fetches && 0 == i->id && 0 != total) {
        i->id = gets_.add(i);
        ++p->gets_begun;
    }
    const bool stays = !fetches || others_are_asked(p, i);
    const unsigned entries = runs_towards(p->ep);
    while (0 != i->target_at.left()) {
        if (fetches && p->fetching + wire::rma_fetch_bytes > wire::rma_fetching_bytes) {
            hurry_bundle(p);
            return step::blocked; // data that arrives goes on
        }
        const std::uint64_t as_it_lies = fetches ? 0 : store_in_place(p, i, unit);
        std::uint64_t room = std::min<std::uint64_t>(p->ep->max_payload - (entries + 1) * sizeof(rma_run),
                                                     fetches ? wire::rma_fetch_bytes : ~0ULL);
        if (0 != as_it_lies) {
            room = as_it_lies;
        } else if (nullptr != p->asked) { // no larger than what may go ahead
            room = std::min<std::uint64_t>(room, wire::rma_ahead_bytes / 4);
        }
        const rma_cursor target_before = i->target_at;
        const rma_cursor origin_before = i->origin_at;
        runs_.clear();
        const std::uint64_t at = i->target_at.done();
        const auto bytes = static_cast<std::uint32_t>(i->target_at.take(room - room % unit, entries, unit, &runs_));
        for (rma_run &run : runs_) {
            run.offset += static_cast<std::int64_t>(i->target);
        }
        const std::byte *data = operand_of(i, bytes);
        const auto data_bytes = static_cast<std::uint32_t>(rma_operand_bytes(i->op, operand, bytes));
        wire::rma_head h{};
        h.kind = fetches                ? wire::rma_kind::fetch
                 : what::put == i->kind ? wire::rma_kind::put
                                        : wire::rma_kind::accumulate;
        h.op = static_cast<std::uint8_t>(i->op);
        h.type = static_cast<std::uint8_t>(i->type);
        h.flags = operand ? 0 : wire::rma_no_operand;
        h.id = i->id;
        h.at = at;
        h.more = i->target_at.left();
        const step s = 0 != as_it_lies ? transmit_in_place(p, i, h, runs_, data, data_bytes)
                                       : transmit(p, h, runs_, data, data_bytes, stays);
        if (step::done != s) {
            i->target_at = target_before;
            i->origin_at = origin_before;
            return s;
        }
        p->unacked = p->unacked || !fetches; // what is fetched is done when it is here
        p->fetching += fetches ? bytes : 0;
        if (fetches) {
            p->gets_requested = p->gets_requested || i->requested();
            hurry_gets(p);
        }
        if (fetches && p->bundle.empty()) { // else whoever sends that
            wake_sooner_or_later(p, i->requested(), bytes);
        } else if (0 == at && total >= large) {
            wake_sooner_or_later(p, i->requested(), total);
        }
    }
    take_head(p);
    if (fetches && 0 != total) {
        i->waiting = true;
    } else if (0 != i->under_way) {
        p->under_way.push_back(i);
    } else {
        end(i);
    }
    return step::done;
}

rma::step rma::send_get(rma_peer *p, rma_item *i) {
    if (0 == i->target_at.left()) {
        take_head(p);
        end(i);
        return step::done;
    }
    if (0 == i->id) {
        i->id = gets_.add(i);
        ++p->gets_begun;
    }
    const std::uint64_t total = i->target_at.left();
    const bool stays = others_are_asked(p, i);
    while (0 != i->target_at.left()) {
        const rma_cursor before = i->target_at;
        runs_.clear();
        wire::rma_head h{};
        h.kind = wire::rma_kind::get;
        h.flags = p->in_wait && !i->requested() ? wire::rma_waited : 0;
        h.id = i->id;
        h.at = i->target_at.done();
        i->target_at.take(~0ULL, runs_towards(p->ep), 1, &runs_);
        for (rma_run &run : runs_) {
            run.offset += static_cast<std::int64_t>(i->target);
        }
        h.more = i->target_at.done() - h.at;
        const step s = transmit(p, h, runs_, nullptr, 0, stays);
        if (step::done != s) {
            i->target_at = before;
            return s;
        }
        p->getting += h.more;
    }
    p->gets_requested = p->gets_requested || i->requested();
    if (p->gets_requested || p->requested || by_thread_ || !e_.crowded()) { // or a core has time for its data
        hurry_gets(p);
    } else {
        postpone_gets(p);
    }
    if (p->bundle.empty()) { // else whoever sends that
        wake_sooner_or_later(p, i->requested(), total);
    }
    take_head(p);
    i->waiting = true;
    return step::done;
}

rma::step rma::send_mark(rma_peer *p, const rma_item *i, wire::rma_kind kind, std::uint8_t flags, bool stays) {
    wire::rma_head h{};
    h.kind = kind;
    h.flags = flags;
    if ((wire::rma_kind::flush == kind || wire::rma_kind::unlock == kind) && !i->for_fence && !i->requested()) {
        h.flags |= wire::rma_waited;
    }
    runs_.clear();
    const step s = transmit(p, h, runs_, nullptr, 0, stays);
    if (step::done == s && wire::rma_kind::complete == kind) {
        if (p->wants_wake) {
            e_.post_notice(p->ep, make_rma_key(rma_epoch_kind::complete, p->window->id, 0),
                           static_cast<std::uint32_t>(e_.me_.name) | rma_source, p->ep->rma_out);
        }
    } else if (step::done == s && p->bundle.empty()) {
        wake_sooner_or_later(p, i->requested(), 0);
    }
    return s;
}

// stays: others may come to it before it goes.
rma::step rma::transmit(rma_peer *p, wire::rma_head &head, const std::vector<rma_run> &runs, const std::byte *data,
                        std::uint32_t bytes, bool stays) {
    head.name = e_.me_.name;
    head.window = p->window->id;
    head.runs = static_cast<std::uint32_t>(runs.size());
    endpoint *ep = p->ep;
    if (route::self == ep->way) {
        // The message is carried out at once, data and runs from where they are.
        const std::vector<rma_run> own(runs);
        handle(p, head, own, data, bytes);
        return step::done;
    }
    const std::size_t whole = sizeof(head) + runs.size() * sizeof(rma_run) + bytes;
    const bool kept = head.kind <= wire::rma_kind::complete; // by a target that has not granted the lock
    if (kept && !may_go_ahead(p, whole)) {
        return step::blocked;
    }
    return kept ? send_in_order(p, head, runs, data, bytes, stays)
                : send_message(p, head, runs.data(), runs.size(), data, bytes);
}

rma::step rma::send_message(rma_peer *p, wire::rma_head &head, const rma_run *runs, std::size_t count,
                            const std::byte *data, std::uint32_t bytes) {
    endpoint *ep = p->ep;
    const rma_front front(ep, head, runs, count);
    if (count > 1) {
        const std::size_t all = count * sizeof(rma_run);
        joined_.resize(std::max<std::size_t>(joined_.size(), all + bytes));
        std::memcpy(joined_.data(), runs, all);
        if (0 != bytes) {
            std::memcpy(joined_.data() + all, data, bytes);
        }
        data = joined_.data();
        bytes += static_cast<std::uint32_t>(all);
    }
    sending_ = true;
    const engine::am_result result = e_.active_message(ep, {wire::rma, front.bytes, front.length, data, bytes});
    sending_ = false;
    switch (result) {
    case engine::am_result::sent:
        ep->rma_out = head.sequence;
        e_.traffic_.other += bytes;
        return step::done;
    case engine::am_result::full:
        return step::full;
    case engine::am_result::broken:
        break;
    }
    return step::blocked;
}

// How many of these bytes, of one piece here, go in one message from where they are, as those of large messages between
// two processes do: to copy them into the transport's buffer first takes a part of the time that they need on a fast
// network. 0: none.
std::uint64_t rma::in_place(const rma_peer *p, std::uint64_t bytes, bool finely) const {
    const endpoint *ep = p->ep;
    if (route::network != ep->way || bytes < large || e_.in_network_) {
        return 0;
    }
    const std::uint32_t most = std::min(e_.network_.caps().max_in_place, finely ? ep->max_payload : ep->max_fragment);
    return std::min<std::uint64_t>(bytes, most);
}

// Of a put or accumulate, where what is left of it begins with one piece on both sides. A target that computes is to
// see how fast it comes, and does by smaller messages.
std::uint64_t rma::store_in_place(const rma_peer *p, const rma_item *i, std::uint64_t unit) const {
    if (route::network != p->ep->way || nullptr != p->asked || rma_operator::no_op == i->op) {
        return 0;
    }
    const std::uint64_t here = i->origin_at.look(i->target_at.left()).bytes;
    const std::uint64_t there = i->target_at.look(here).bytes;
    return in_place(p, there - there % unit, !p->attentive);
}

// i: whose data it is, nullptr: of an answer. done: it may be under way still, as one of the peer's transfers.
rma::step rma::transmit_in_place(rma_peer *p, rma_item *i, wire::rma_head &head, const std::vector<rma_run> &runs,
                                 const std::byte *data, std::uint32_t bytes) {
    endpoint *ep = p->ep;
    if (head.kind <= wire::rma_kind::complete) {
        send_other_bundles(p);
        if (const step s = send_bundle(p); step::done != s) {
            return s;
        }
    }
    if (nullptr != ep->pending_head) {
        return step::full;
    }
    sending_ = true; // what a loss would end is in use
    const bool connected = !ep->lost && e_.connect(ep, false);
    if (!connected) {
        e_.lose(ep);
    }
    sending_ = false;
    if (!connected) {
        return step::blocked;
    }
    head.name = e_.me_.name;
    head.window = p->window->id;
    head.runs = static_cast<std::uint32_t>(runs.size());
    const rma_front front(ep, head, runs.data(), runs.size());
    rma_transfer *t = take_transfer(p, i);
    t->answer = nullptr == i;
    bool queued = false;
    const network::result r =
        e_.network_.send_in_place(ep->control, ring_word::pack(front.length + bytes, 0, wire::rma), front.bytes,
                                  front.length, data, bytes, &t->completion, &queued);
    const step s = posted(t, r, queued);
    if (step::done == s) {
        ep->rma_out = head.sequence;
        e_.traffic_.other += bytes;
    }
    return s;
}

void rma::send_now(rma_peer *p, wire::rma_kind kind, std::uint8_t flags, std::uint64_t id, std::uint64_t at,
                   rma_epoch_kind notice) {
    wire::rma_head h{};
    h.name = e_.me_.name;
    h.window = p->window->id;
    h.kind = kind;
    h.flags = flags;
    h.id = id;
    h.at = at;
    if (route::self == p->ep->way) {
        handle(p, h, {}, nullptr, 0);
        return;
    }
    if (p->ep->lost) {
        return;
    }
    h.sequence = p->ep->rma_out = wire::next_sequence(p->ep->rma_out);
    sending_ = true;
    if (e_.in_network_ && route::network == p->ep->way) {
        // Not from inside the transport: where many processes die at once a message may find a connection
        // broken whose event stands behind the one at hand, and UCX's tcp does not survive that.
        e_.queue_message(p->ep, {wire::rma, h}, nullptr, nullptr);
    } else {
        e_.send_or_queue(p->ep, {wire::rma, h});
    }
    sending_ = false;
    if (rma_epoch_kind::none == notice) {
        return;
    }
    const bool any = rma_epoch_kind::fence == notice;
    e_.post_notice(p->ep, make_rma_key(notice, p->window->id, any ? 0 : e_.me_.name),
                   static_cast<std::uint32_t>(e_.me_.name) | rma_source, h.sequence);
}

} // namespace smartint
