// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// What a target does for an origin: stores, accumulates, packs, and answers in order. All of it is
// under the gate, and accumulates with the word that members of the node take too, so that they are
// atomic towards each other whoever runs them.
#include <algorithm>
#include <cstring>

#include "common_smartint_engine.h"
#include "common_smartint_rma.h"
#include "common_smartint_rma_lock.h"

namespace smartint {
namespace {

constexpr std::uint64_t pass_bytes = 4194304; // of one get's data that are sent in a pass

// The runs of a message as a layout, relative to the first.
rma_layout layout_of(const std::vector<rma_run> &runs, std::byte **base) {
    rma_layout l;
    const std::int64_t first = runs.empty() ? 0 : runs[0].offset;
    for (rma_run run : runs) {
        run.offset -= first;
        l.append(run);
    }
    *base = reinterpret_cast<std::byte *>(first);
    return l;
}

} // namespace

const rma_region *rma::region_of(const rma_window *w, std::uint64_t at) {
    const auto r = std::find_if(w->regions.begin(), w->regions.end(),
                                [&](const rma_region &x) { return at >= x.base && at - x.base < x.bytes; });
    return r == w->regions.end() ? nullptr : &*r;
}

// Regions that touch are as good as one. bytes is not 0.
bool rma::inside(const rma_window *w, std::uint64_t base, std::uint64_t bytes) {
    for (;;) {
        const rma_region *r = region_of(w, base);
        if (nullptr == r) {
            return false;
        }
        const std::uint64_t room = r->bytes - (base - r->base);
        if (bytes <= room) {
            return true;
        }
        base += room;
        bytes -= room;
    }
}

// Each of its pieces, where there may be memory between them that nobody attached.
bool rma::pieces_inside(const rma_window *w, const rma_run &run) {
    for (std::uint64_t k = 0; k < run.count;) {
        const auto at = static_cast<std::uint64_t>(run.offset + static_cast<std::int64_t>(k) * run.stride);
        if (!inside(w, at, run.length)) {
            return false;
        }
        // Those behind it as far as regions follow one another.
        const rma_region *r = region_of(w, at);
        std::uint64_t low = r->base;
        std::uint64_t high = r->base + r->bytes;
        while (run.stride < 0 && low > 0 && nullptr != (r = region_of(w, low - 1))) {
            low = r->base;
        }
        while (run.stride >= 0 && nullptr != (r = region_of(w, high))) {
            high = r->base + r->bytes;
        }
        const std::uint64_t step = static_cast<std::uint64_t>(run.stride < 0 ? -run.stride : run.stride);
        const std::uint64_t more =
            (run.stride < 0 ? at - low : high - at - run.length) / std::max<std::uint64_t>(step, 1);
        if (more >= run.count - k) {
            break;
        }
        k += 1 + more;
    }
    return true;
}

// *bytes: of all runs, those behind one that is not inside too, as an origin is told how much will not come.
bool rma::runs_inside(const rma_window *w, const std::vector<rma_run> &runs, std::uint64_t *bytes) const {
    bool good = true;
    *bytes = 0;
    for (const rma_run &run : runs) {
        std::int64_t low = 0;
        std::int64_t high = 0;
        std::uint64_t n = 0;
        if (__builtin_mul_overflow(run.length, run.count, &n) || __builtin_add_overflow(*bytes, n, bytes)) {
            *bytes = UINT64_MAX;
            return false;
        }
        good = good && 0 != n && rma_bounds(run, &low, &high) && low >= 0 &&
               (inside(w, static_cast<std::uint64_t>(low), static_cast<std::uint64_t>(high - low)) ||
                (run.count > 1 && pieces_inside(w, run)));
    }
    return good;
}

void rma::refuse(rma_peer *p, const wire::rma_head &h) {
    e_.stats_.add(stat::rma_refused);
    const bool answered = wire::rma_kind::get == h.kind || wire::rma_kind::fetch == h.kind;
    rma_reply &r = p->replies.emplace_back();
    r.kind = answered ? wire::rma_kind::data : wire::rma_kind::fault;
    r.error = rma_error::range;
    r.id = h.id;
    r.at = h.at;
}

// Checked, and done or owed.
void rma::store(rma_peer *p, const wire::rma_head &h, const std::vector<rma_run> &runs, const std::byte *data,
                std::uint32_t bytes) {
    using kind = wire::rma_kind;
    p->incoming = kind::get == h.kind || kind::fetch == h.kind ? 0 : h.more;
    std::uint64_t total = 0;
    if (!runs_inside(p->window, runs, &total)) {
        refuse(p, h);
        p->replies.back().sent = kind::get == h.kind ? h.more : total;
        return;
    }
    if (kind::put == h.kind && 1 == runs.size() && 1 == runs[0].count && bytes == total) { // most of them
        std::memmove(reinterpret_cast<std::byte *>(runs[0].offset), data, total); // to oneself they may overlap
        return;
    }
    if (kind::get == h.kind && answers_at_once(p) && 1 == runs.size() && 1 == runs[0].count &&
        total <= p->ep->max_payload &&
        step::done == answer(p, h.id, h.at, reinterpret_cast<const std::byte *>(runs[0].offset), total)) {
        return;
    }
    std::byte *base = nullptr;
    rma_layout layout = layout_of(runs, &base);
    if (kind::get == h.kind) {
        rma_reply &r = p->replies.emplace_back();
        r.kind = kind::data;
        r.id = h.id;
        r.at = h.at;
        r.waited = 0 != (h.flags & wire::rma_waited);
        r.base = base;
        r.layout = std::move(layout);
        r.cursor = rma_cursor(&r.layout);
    } else if (kind::put != h.kind) {
        combine(p, h, base, layout, data, bytes);
    } else if (bytes == total) {
        rma_cursor to(&layout);
        rma_scatter(base, to, data, total);
    } else {
        e_.refuse();
    }
}

// An accumulate, or a fetch, whose answer is kept.
void rma::combine(rma_peer *p, const wire::rma_head &h, std::byte *base, const rma_layout &layout,
                  const std::byte *data, std::uint32_t bytes) {
    const bool fetches = wire::rma_kind::fetch == h.kind;
    const std::uint64_t total = layout.bytes();
    const auto op = static_cast<rma_operator>(h.op);
    const auto type = static_cast<rma_type>(h.type);
    const bool swaps = rma_operator::swap_if_equal == op;
    const bool operand = 0 == (h.flags & wire::rma_no_operand);
    const std::uint64_t expected = rma_operand_bytes(op, operand, total);
    if (!rma_defined(op, type) || 0 != total % rma_type_bytes(type) || bytes != expected ||
        (!operand && rma_operator::no_op != op) || (swaps && rma_type_bytes(type) != total)) {
        e_.refuse();
        return;
    }
    if (fetches && // an origin keeps to that
        (total > wire::rma_fetch_bytes || p->fetched + total > wire::rma_fetching_bytes)) {
        e_.refuse();
        return;
    }
    {
        const combining_guard here(*p->window->words, pid_);
        if (fetches) {
            fetched_.resize(std::max<std::size_t>(fetched_.size(), total));
            rma_cursor from(&layout);
            rma_gather(base, from, fetched_.data(), total);
        }
        if (operand && 0 != total && layout.contiguous()) {
            rma_apply(op, type, base, data, total / rma_type_bytes(type));
        } else if (operand) {
            rma_cursor at(&layout);
            rma_apply_at(op, type, base, at, total, data, rma_type_bytes(type));
        }
    }
    if (!fetches || (answers_at_once(p) && total <= p->ep->max_payload &&
                     step::done == answer(p, h.id, h.at, fetched_.data(), total))) {
        return;
    }
    p->fetched += total;
    rma_reply &r = p->replies.emplace_back();
    r.kind = wire::rma_kind::data;
    r.id = h.id;
    r.at = h.at;
    r.kept.assign(fetched_.data(), fetched_.data() + total);
}

// Inside a node, where nothing is owed before it: no entry in the list of what is.
bool rma::answers_at_once(const rma_peer *p) { return route::shared == p->ep->way && p->replies.empty(); }

// All that a get or fetch asked for, in one message. full: there is no room now.
rma::step rma::answer(rma_peer *p, std::uint64_t id, std::uint64_t at, const std::byte *data, std::uint64_t bytes) {
    wire::rma_short_head h{};
    h.kind = wire::rma_kind::data;
    h.flags = answer_flags(p);
    h.at = at;
    h.id = id;
    return send_short(p, h, data, bytes);
}

// waited: by a call, and needs no notice.
rma::step rma::acknowledge(rma_peer *p, wire::rma_kind kind, bool waited) {
    wire::rma_head h{};
    h.kind = kind;
    h.flags = answer_flags(p);
    const step s = transmit(p, h, {}, nullptr, 0);
    p->notices.by_woken = p->notices.by_woken && step::done != s;
    if (step::done == s && wire::rma_kind::ack == kind && route::self != p->ep->way && !waited) {
        e_.post_notice(p->ep, make_rma_key(rma_epoch_kind::ack, p->window->id, e_.me_.name),
                       static_cast<std::uint32_t>(e_.me_.name) | rma_source, p->ep->rma_out);
    }
    return s;
}

std::uint8_t rma::answer_flags(const rma_peer *p) const {
    return static_cast<std::uint8_t>((e_.by_thread_ ? wire::rma_by_thread : 0) |
                                     (p->notices.by_woken ? wire::rma_woken : 0) |
                                     (e_.listens_for_long() ? wire::rma_listens : 0));
}

// The first thing owed. done: it is through.
rma::step rma::reply(rma_peer *p) {
    using kind = wire::rma_kind;
    const kind first = p->replies.front().kind;
    if (0 != p->answering && (kind::unlock == first || kind::complete == first)) {
        return step::blocked; // the transport reads the window still, which is others' to write to behind it
    }
    if (p->replies.size() > 1 && route::network == p->ep->way && 0 == p->answering) {
        if (const step together = bundle_answers(p); step::blocked != together) {
            return together;
        }
    }
    rma_reply &r = p->replies.front();
    step s = step::done;
    switch (r.kind) {
    case kind::data:
        s = send_data(p, r);
        break;
    case kind::lock: {
        const bool exclusive = r.exclusive;
        p->replies.pop_front();
        ask_lock(p, exclusive);
        return step::done;
    }
    case kind::complete:
        p->replies.pop_front();
        on_complete(p);
        return step::done;
    case kind::key:
        s = send_key(p);
        break;
    case kind::unlock:
        release_lock(p);
        r.kind = kind::ack; // and not once more if there is no room for the answer
        [[fallthrough]];
    default:
        s = acknowledge(p, r.kind, r.waited);
    }
    if (step::done == s) {
        p->replies.pop_front();
    }
    return s;
}

rma::step rma::send_data(rma_peer *p, rma_reply &r) {
    wire::rma_head h{};
    h.kind = wire::rma_kind::data;
    h.id = r.id;
    h.flags = answer_flags(p);
    if (rma_error::none != r.error) {
        h.flags |= wire::rma_no_operand;
        h.more = r.sent;
        return transmit(p, h, {}, nullptr, 0);
    }
    const std::uint64_t total = r.kept.empty() ? r.layout.bytes() : r.kept.size();
    std::uint64_t room = pass_bytes;
    while (r.sent < total) {
        if (0 == room) { // others wait, too
            more_ = true;
            return step::again;
        }
        const std::uint64_t left = std::min(total - r.sent, room);
        const std::uint64_t one = r.kept.empty() ? in_place(p, r.cursor.look(left).bytes, !r.waited) : 0;
        const std::uint64_t bytes = 0 != one ? one : std::min<std::uint64_t>(p->ep->max_payload, left);
        const std::byte *data = nullptr;
        const rma_cursor before = r.cursor;
        if (!r.kept.empty()) {
            data = r.kept.data() + r.sent;
        } else {
            const auto piece = r.cursor.look(bytes);
            if (piece.bytes == bytes) {
                data = r.base + piece.offset;
                r.cursor.advance(bytes);
            } else {
                packed_.resize(std::max<std::size_t>(packed_.size(), bytes));
                rma_gather(r.base, r.cursor, packed_.data(), bytes);
                data = packed_.data();
            }
        }
        h.at = r.at + r.sent;
        const step s = 0 != one ? transmit_in_place(p, nullptr, h, {}, data, static_cast<std::uint32_t>(bytes))
                                : transmit(p, h, {}, data, static_cast<std::uint32_t>(bytes));
        if (step::done != s) {
            r.cursor = before;
            return s;
        }
        p->notices.by_woken = false;
        r.sent += bytes;
        room -= bytes;
        if (!r.kept.empty()) { // with each part, as the origin does: it may ask for as much at once
            p->fetched -= std::min<std::uint64_t>(p->fetched, bytes);
        }
    }
    return step::done;
}

} // namespace smartint
