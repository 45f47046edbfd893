// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Small messages towards another node are kept, and go in one: with what is waited for behind them, or when there are
// enough of them, or in the next pass. Over sockets a message costs two system calls, many times what it takes to copy
// them. Stores are kept: one alone wakes nobody, so that a target that computes looks at it no earlier than at the mark
// behind it. So are gets and fetches behind one that is under way; the first goes at once. A target's small answers go
// together where several are due.
#include <algorithm>
#include <cstring>
#include <utility>

#include "common_smartint_engine.h"
#include "common_smartint_rma.h"

namespace smartint {
namespace {

constexpr std::size_t most_part = 4224;    // bytes of a message that is kept; a larger one gains by leaving at once
constexpr std::size_t most_bundle = 16384; // bytes of all
constexpr std::uint64_t most_asked = 4096; // bytes of an answer that goes with others
constexpr unsigned most_asks = 16;
constexpr std::size_t most_spare = 4; // buffers that nobody uses

constexpr std::size_t filled_up(std::size_t bytes) {
    return (bytes + wire::rma_part_step - 1) / wire::rma_part_step * wire::rma_part_step;
}
constexpr std::size_t part_bytes(std::size_t behind) { return sizeof(wire::rma_part) + filled_up(behind); }

bool asks(wire::rma_kind kind) { return wire::rma_kind::get == kind || wire::rma_kind::fetch == kind; }
bool says_it_all(wire::rma_kind kind) { // with its flags
    return wire::rma_kind::lock == kind || wire::rma_kind::unlock == kind || wire::rma_kind::flush == kind ||
           wire::rma_kind::complete == kind;
}

// A part, filled in: what stands behind it is to be written where this points.
std::byte *begin_part(std::vector<std::byte> *bundle, const wire::rma_part &part, std::size_t behind) {
    const std::size_t before = bundle->size();
    bundle->resize(before + part_bytes(behind));
    std::memcpy(bundle->data() + before, &part, sizeof(part));
    return bundle->data() + before + sizeof(part);
}

// Can a part say all that this head and its runs do?
bool fits_part(const wire::rma_head &head, const std::vector<rma_run> &runs) {
    if (runs.empty()) {
        return says_it_all(head.kind);
    }
    return 1 == runs.size() && 1 == runs[0].count && 0 == head.at && runs[0].length <= most_part &&
           head.more == (wire::rma_kind::get == head.kind ? runs[0].length : 0);
}

// Of data that belongs to a part whose kind is not none.
std::uint64_t data_behind(const wire::rma_part &part) {
    switch (part.kind) {
    case wire::rma_kind::put:
    case wire::rma_kind::accumulate:
    case wire::rma_kind::data:
        return part.bytes;
    case wire::rma_kind::fetch:
        return rma_operand_bytes(static_cast<rma_operator>(part.op), 0 == (part.flags & wire::rma_no_operand),
                                 part.bytes);
    default:
        return 0;
    }
}

bool belongs(wire::rma_kind whole, wire::rma_kind kind) {
    if (wire::rma_kind::answers == whole) {
        return wire::rma_kind::data == kind || wire::rma_kind::ack == kind || wire::rma_kind::grant == kind;
    }
    return wire::rma_kind::none != kind && kind <= wire::rma_kind::complete;
}

// Of a part whose kind is none.
bool holds_message(wire::rma_kind whole, const std::byte *data, std::uint32_t bytes) {
    wire::rma_head h{};
    if (bytes < sizeof(h)) {
        return false;
    }
    std::memcpy(&h, data, sizeof(h));
    return belongs(whole, h.kind) && h.runs <= (bytes - sizeof(h)) / sizeof(rma_run);
}

// How a message towards a target goes: with those of the bundle, as the first of one, or by itself.
enum class place { joins, opens, alone };

place place_of(const rma_peer *p, wire::rma_kind kind, std::size_t whole, bool stays) {
    const std::size_t most = std::min<std::size_t>(most_bundle, p->ep->max_payload);
    const std::size_t part = part_bytes(whole);
    // Ahead of a grant, once it is asked for, all goes at once: its target has it when the lock comes, and its origin
    // may compute from now on.
    if (route::network != p->ep->way || (nullptr != p->asked && !p->lock_bundled) || whole > most_part || part > most ||
        (wire::rma_kind::lock == kind && !stays)) {
        return place::alone;
    }
    if (!p->bundle.empty() && p->bundle.size() + part <= most) {
        return place::joins;
    }
    return stays ? place::opens : place::alone;
}

// A message as a part, of `whole` bytes; brief: without head and runs, see wire::rma_part.
void append(std::vector<std::byte> *bundle, std::size_t whole, bool brief, const wire::rma_head &head,
            const std::vector<rma_run> &runs, const std::byte *data, std::uint32_t bytes) {
    std::byte *to = nullptr;
    if (brief) {
        const bool piece = !runs.empty();
        to = begin_part(bundle,
                        {piece ? static_cast<std::uint32_t>(runs[0].length) : 0, head.kind, head.op, head.type,
                         head.flags, piece ? static_cast<std::uint64_t>(runs[0].offset) : 0},
                        whole);
        const wire::rma_part_id id{head.id, 0};
        const std::size_t id_bytes = asks(head.kind) ? sizeof(id) : 0;
        std::memcpy(to, &id, id_bytes);
        to += id_bytes;
    } else {
        to = begin_part(bundle, {static_cast<std::uint32_t>(whole), wire::rma_kind::none, 0, 0, 0, 0}, whole);
        std::memcpy(to, &head, sizeof(head));
        to += sizeof(head);
        if (!runs.empty()) {
            std::memcpy(to, runs.data(), runs.size() * sizeof(rma_run));
            to += runs.size() * sizeof(rma_run);
        }
    }
    if (0 != bytes) {
        std::memcpy(to, data, bytes);
    }
}

} // namespace

// Stores bundled for other targets or windows go first, as they would go in the next pass anyway: a process that gets
// both is not to see what follows this message before them, where that can be helped.
void rma::send_other_bundles(const rma_peer *p) {
    if (open_bundles_ == (p->bundle.empty() ? 0U : 1U)) {
        return; // of a flush of many targets the first has sent them
    }
    for (rma_peer *other : active_) {
        if (other != p) {
            hurry_bundle(other);
        }
    }
}

// An application that computes and makes no call sends nothing: the thread comes for it after postpone_us.
void rma::open_for_others(rma_peer *p) {
    if (!spare_bundles_.empty()) {
        p->bundle.swap(spare_bundles_.back());
        spare_bundles_.pop_back();
    }
    p->timed = e_.postpone_to_calls();
    e_.put_off_.bundles += p->timed ? 1 : 0;
}

// To a target. What stays waits for others; what else joins them is waited for, and all go.
rma::step rma::send_in_order(rma_peer *p, wire::rma_head &head, const std::vector<rma_run> &runs, const std::byte *data,
                             std::uint32_t bytes, bool stays) {
    const std::size_t run_bytes = runs.size() * sizeof(rma_run);
    const bool brief = fits_part(head, runs);
    const std::size_t id_bytes = asks(head.kind) ? sizeof(wire::rma_part_id) : 0;
    const std::size_t whole = (brief ? id_bytes : sizeof(head) + run_bytes) + bytes;
    place where = place_of(p, head.kind, whole, stays);
    if (!stays) {
        send_other_bundles(p);
    }
    if (place::joins != where) {
        if (const step s = send_bundle(p); step::done != s) {
            return s;
        }
        where = place_of(p, head.kind, whole, stays); // a lock may have gone with it
    }
    if (place::alone == where) {
        const step s = send_message(p, head, runs.data(), runs.size(), data, bytes);
        if (step::done == s) {
            note_ahead(p, sizeof(head) + run_bytes + bytes);
        }
        return s;
    }
    if (place::opens == where) {
        open_for_others(p);
    }
    const std::size_t before = p->bundle.size();
    open_bundles_ += 0 == before ? 1 : 0;
    append(&p->bundle, whole, brief, head, runs, data, bytes);
    if (stays) {
        activate(p); // for the next pass
        p->bundled_asks += asks(head.kind) || wire::rma_kind::lock == head.kind ? 1 : 0;
        p->lock_bundled = p->lock_bundled || wire::rma_kind::lock == head.kind;
        note_ahead(p, part_bytes(whole));
        if (p->bundled_asks >= most_asks) {
            hurry_bundle(p); // the target can begin with them
        }
        return step::done;
    }
    const step s = send_bundle(p);
    if (step::done == s) {
        note_ahead(p, part_bytes(whole));
    } else {
        p->bundle.resize(before);
    }
    return s;
}

// Most of an item's life is left out: where many small stores are made this is their time.
bool rma::try_bundled(rma_peer *p, wire::rma_kind kind, rma_operator op, rma_type type, const std::byte *operand,
                      std::uint64_t target, std::uint64_t bytes) {
    const bool put = wire::rma_kind::put == kind;
    if (route::network != p->ep->way || bytes > most_part) {
        return false;
    }
    use();
    serve_now_and_then();
    const rma_window *w = p->window;
    const std::size_t message = sizeof(wire::rma_head) + sizeof(rma_run) + bytes;
    if (p->ep->lost || nullptr != p->head || p->stuck || w->fences_done < w->fences_begun ||
        p->gets_done < p->gets_before || (put && network_reaches(true) && bytes >= least_by_network(true)) ||
        place::joins != place_of(p, kind, bytes, true) || !may_go_ahead(p, message)) {
        return false;
    }
    const wire::rma_part part{static_cast<std::uint32_t>(bytes), kind, static_cast<std::uint8_t>(op),
                              static_cast<std::uint8_t>(type),   0,    target};
    std::memcpy(begin_part(&p->bundle, part, bytes), operand, bytes);
    note_ahead(p, part_bytes(bytes));
    p->unacked = true;
    e_.stats_.add(stat::rma_operations);
    return true;
}

rma::step rma::send_bundle(rma_peer *p) {
    if (p->bundle.empty()) {
        return step::done;
    }
    wire::rma_head h{};
    h.name = e_.me_.name;
    h.window = p->window->id;
    h.kind = wire::rma_kind::bundle;
    const step s = send_message(p, h, nullptr, 0, p->bundle.data(), static_cast<std::uint32_t>(p->bundle.size()));
    if (step::done == s) {
        const bool asked = 0 != p->bundled_asks;
        forget_bundle(p);
        if (asked) {
            wake_sooner_or_later(p, false, 0);
        }
    }
    return s;
}

// Where there is no room for it the target makes some, as for the head of a queue (pump).
void rma::hurry_bundle(rma_peer *p) {
    if (!p->stuck && step::full == send_bundle(p)) {
        p->stuck = true;
        wake_beforehand(p);
    }
}

void rma::forget_bundle(rma_peer *p) {
    std::vector<std::byte> buffer = std::exchange(p->bundle, {});
    open_bundles_ -= buffer.empty() ? 0 : 1;
    p->bundled_asks = 0;
    p->lock_bundled = false;
    e_.put_off_.bundles -= p->timed ? 1 : 0;
    p->timed = false;
    if (0 != buffer.capacity() && spare_bundles_.size() < most_spare) {
        buffer.clear();
        spare_bundles_.push_back(std::move(buffer));
    }
}

// A small get or fetch that is not the first under way: a call will wait for all of them, later.
bool rma::others_are_asked(const rma_peer *p, const rma_item *i) {
    return p->gets_begun - p->gets_done > 1 && !i->requested() && i->target_layout.bytes() <= most_asked;
}

// As target, of what is owed: the first few if they are small, where they are several. blocked: they are not.
rma::step rma::bundle_answers(rma_peer *p) {
    const std::size_t most = std::min<std::size_t>(most_bundle, p->ep->max_payload);
    answers_.clear();
    unsigned n = 0;
    std::uint64_t fetched = 0;
    bool unlocks = false;
    const std::uint8_t flags = answer_flags(p);
    for (const rma_reply &r : p->replies) {
        const bool data = wire::rma_kind::data == r.kind && 0 == r.sent && 0 == r.at && rma_error::none == r.error;
        const std::uint64_t bytes = !data ? 0 : r.kept.empty() ? r.layout.bytes() : r.kept.size();
        // An ack that nobody waits for comes with a notice, by itself.
        const bool ends = wire::rma_kind::unlock == r.kind;
        const bool mark = wire::rma_kind::grant == r.kind || ((ends || wire::rma_kind::ack == r.kind) && r.waited);
        if ((!data && !mark) || bytes > most_asked || answers_.size() + part_bytes(bytes) > most) {
            break;
        }
        const wire::rma_kind kind = ends ? wire::rma_kind::ack : r.kind;
        std::byte *to = begin_part(&answers_, {static_cast<std::uint32_t>(bytes), kind, 0, 0, flags, r.id}, bytes);
        unlocks = unlocks || ends;
        if (!r.kept.empty()) {
            std::memcpy(to, r.kept.data(), bytes);
            fetched += bytes;
        } else if (0 != bytes) {
            rma_cursor from(&r.layout);
            rma_gather(r.base, from, to, bytes);
        }
        ++n;
    }
    if (n < 2) {
        return step::blocked;
    }
    wire::rma_head all{};
    all.name = e_.me_.name;
    all.window = p->window->id;
    all.kind = wire::rma_kind::answers;
    const step s = send_message(p, all, nullptr, 0, answers_.data(), static_cast<std::uint32_t>(answers_.size()));
    if (step::done == s) {
        p->notices.by_woken = false;
        p->fetched -= std::min(p->fetched, fetched);
        p->replies.erase(p->replies.begin(), std::next(p->replies.begin(), n));
        if (unlocks) { // and not before: what there was no room for is read once more
            release_lock(p);
        }
    }
    return s;
}

// What a part says, as if it had come as a message by itself. What stands behind it; more than there is: it is none.
std::uint64_t rma::open_part(rma_peer *p, const wire::rma_part &part, const std::byte *data, std::uint32_t bytes) {
    wire::rma_part_id id{};
    const std::size_t id_bytes = asks(part.kind) ? sizeof(id) : 0;
    const std::uint64_t behind = id_bytes + data_behind(part);
    if (behind > bytes) {
        return behind;
    }
    std::memcpy(&id, data, id_bytes);
    wire::rma_head h{};
    h.window = p->window->id;
    h.kind = part.kind;
    h.op = part.op;
    h.type = part.type;
    h.flags = part.flags;
    h.id = wire::rma_kind::data == part.kind ? part.at : id.id;
    h.more = wire::rma_kind::get == part.kind ? part.bytes : 0;
    arrived_.clear();
    if (part.kind <= wire::rma_kind::get) {
        arrived_.push_back({static_cast<std::int64_t>(part.at), part.bytes, 0, 1});
    }
    h.runs = static_cast<std::uint32_t>(arrived_.size());
    e_.traffic_.come(route::network == p->ep->way, behind);
    handle(p, h, arrived_, data + id_bytes, static_cast<std::uint32_t>(behind - id_bytes));
    return behind;
}

// Behind a lock that it asks for, until that is granted: before all that came later.
void rma::keep_rest(rma_peer *p, const std::byte *data, std::uint32_t bytes) {
    wire::rma_head h{};
    if (bytes > wire::rma_kept_bytes - sizeof(h) || bytes + sizeof(h) > wire::rma_kept_bytes - p->kept_bytes) {
        e_.refuse();
        return;
    }
    h.name = p->ep->name;
    h.window = p->window->id;
    h.kind = wire::rma_kind::bundle;
    std::vector<std::byte> rest(sizeof(h) + bytes);
    std::memcpy(rest.data(), &h, sizeof(h));
    std::memcpy(rest.data() + sizeof(h), data, bytes);
    p->kept_bytes += static_cast<std::uint32_t>(rest.size());
    p->kept.push_front(std::move(rest));
}

// Each of them as if it had come by itself.
void rma::open_bundle(rma_peer *p, wire::rma_kind whole, const std::byte *data, std::uint32_t bytes) {
    while (0 != bytes) {
        wire::rma_part part{};
        if (!wire::take_header(data, bytes, &part)) {
            e_.refuse();
            return;
        }
        std::uint64_t behind = part.bytes;
        if (wire::rma_kind::none == part.kind) {
            if (behind > bytes || !holds_message(whole, data, part.bytes)) {
                e_.refuse();
                return;
            }
            take_in(p, data, part.bytes);
        } else {
            behind = belongs(whole, part.kind) ? open_part(p, part, data, bytes) : UINT64_MAX;
        }
        if (behind > bytes) {
            e_.refuse();
            return;
        }
        const auto step = static_cast<std::uint32_t>(std::min<std::uint64_t>(filled_up(behind), bytes));
        data += step;
        bytes -= step;
        if (p->lock_pending && 0 != bytes && wire::rma_kind::bundle == whole) {
            keep_rest(p, data, bytes);
            return;
        }
    }
}

} // namespace smartint
