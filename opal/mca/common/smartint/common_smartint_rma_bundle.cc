// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Small stores towards another node are kept, and go in one message: with what is waited for behind them, or when there
// are enough of them, or in the next pass. Over sockets a message costs two system calls, many times what it takes to
// copy them; and a store alone wakes nobody, so that a target that computes looks at it no earlier than at the mark
// behind it.
#include <algorithm>
#include <cstring>
#include <utility>

#include "common_smartint_engine.h"
#include "common_smartint_rma.h"

namespace smartint {
namespace {

constexpr std::size_t most_part = 2048;    // bytes of a message that is kept; more is worth to be under way early
constexpr std::size_t most_bundle = 16384; // bytes of all
constexpr std::size_t most_spare = 4;      // buffers that nobody uses

constexpr std::size_t part_bytes(std::size_t message) {
    return sizeof(wire::rma_part) + (message + wire::rma_part_step - 1) / wire::rma_part_step * wire::rma_part_step;
}

bool stores(wire::rma_kind kind) { return wire::rma_kind::put == kind || wire::rma_kind::accumulate == kind; }

// How a message towards a target goes: with those of the bundle, as the first of one, or by itself.
enum class place { joins, opens, alone };

place place_of(const rma_peer *p, wire::rma_kind kind, std::size_t whole) {
    const std::size_t most = std::min<std::size_t>(most_bundle, p->ep->max_payload);
    const std::size_t part = part_bytes(whole);
    // Ahead of a grant all goes at once: its target has it when the lock comes, and its origin may compute from now on.
    if (route::network != p->ep->way || nullptr != p->asked || whole > most_part || part > most ||
        wire::rma_kind::lock == kind) {
        return place::alone;
    }
    if (!p->bundle.empty() && p->bundle.size() + part <= most) {
        return place::joins;
    }
    return stores(kind) ? place::opens : place::alone;
}

} // namespace

// What stands behind stores of other windows or targets is not to be seen before them by whoever both are for, where
// that can be helped: they would go in the next pass.
void rma::send_other_bundles(const rma_peer *p) {
    for (rma_peer *other : active_) {
        if (other != p) {
            hurry_bundle(other);
        }
    }
}

// To a target. A store waits there for others; what else joins them is waited for, and all go.
rma::step rma::send_in_order(rma_peer *p, wire::rma_head &head, const std::vector<rma_run> &runs, const std::byte *data,
                             std::uint32_t bytes) {
    const std::size_t run_bytes = runs.size() * sizeof(rma_run);
    const std::size_t whole = sizeof(head) + run_bytes + bytes;
    const place where = place_of(p, head.kind, whole);
    if (!stores(head.kind)) {
        send_other_bundles(p);
    }
    if (place::joins != where) {
        if (const step s = send_bundle(p); step::done != s) {
            return s;
        }
    }
    if (place::alone == where) {
        return send_message(p, head, runs.data(), runs.size(), data, bytes);
    }
    if (place::opens == where && !spare_bundles_.empty()) {
        p->bundle.swap(spare_bundles_.back());
        spare_bundles_.pop_back();
    }
    const std::size_t before = p->bundle.size();
    p->bundle.resize(before + part_bytes(whole));
    std::byte *to = p->bundle.data() + before;
    const wire::rma_part part{static_cast<std::uint32_t>(whole), {}};
    std::memcpy(to, &part, sizeof(part));
    to += sizeof(part);
    std::memcpy(to, &head, sizeof(head));
    to += sizeof(head);
    if (0 != run_bytes) {
        std::memcpy(to, runs.data(), run_bytes);
    }
    if (0 != bytes) {
        std::memcpy(to + run_bytes, data, bytes);
    }
    if (stores(head.kind)) {
        activate(p); // for the next pass
        return step::done;
    }
    const step s = send_bundle(p);
    if (step::done != s) {
        p->bundle.resize(before);
    }
    return s;
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
        forget_bundle(p);
    }
    return s;
}

// Where there is no room for it the target makes some, as for the head of a queue (pump).
void rma::hurry_bundle(rma_peer *p) {
    if (!p->stuck && step::full == send_bundle(p)) {
        p->stuck = true;
        wake_for(p, p->ep->rma_out + 1);
    }
}

void rma::forget_bundle(rma_peer *p) {
    std::vector<std::byte> buffer = std::exchange(p->bundle, {});
    if (0 != buffer.capacity() && spare_bundles_.size() < most_spare) {
        buffer.clear();
        spare_bundles_.push_back(std::move(buffer));
    }
}

// As target: each of them as if it had come by itself.
void rma::open_bundle(rma_peer *p, const std::byte *data, std::uint32_t bytes) {
    while (0 != bytes) {
        wire::rma_part part{};
        wire::rma_head h{};
        if (!wire::take_header(data, bytes, &part) || part.bytes > bytes || part.bytes < sizeof(h)) {
            e_.refuse();
            return;
        }
        std::memcpy(&h, data, sizeof(h));
        const bool kept =
            wire::rma_kind::none != h.kind && h.kind <= wire::rma_kind::complete && wire::rma_kind::lock != h.kind;
        if (!kept || h.runs > (part.bytes - sizeof(h)) / sizeof(rma_run)) {
            e_.refuse();
            return;
        }
        take_in(p, data, part.bytes);
        const auto step = static_cast<std::uint32_t>(part_bytes(part.bytes) - sizeof(part));
        data += std::min(step, bytes);
        bytes -= std::min(step, bytes);
    }
}

} // namespace smartint
