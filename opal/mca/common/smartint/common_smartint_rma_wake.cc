// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// What only a target's processor can see to: when it is woken for that, and when it comes by itself.
#include <utility>

#include "common_smartint_clock.h"
#include "common_smartint_engine.h"
#include "common_smartint_foresight.h"
#include "common_smartint_rma.h"

namespace smartint {
namespace {

constexpr std::uint64_t late_us = 50;           // an answer of a target that is in MPI
constexpr std::uint64_t late_listener_us = 200; // of one whose thread listens, on a core that computes
constexpr std::uint64_t attentive_us = 1000;    // between wakes of one whose application answers
constexpr std::uint64_t very_much = 262144;     // bytes asked for since the last wake
constexpr std::uint32_t forgotten_ms = 100;     // a notice without its message; the target's patience is longer
constexpr std::uint8_t most_doublings = 5;      // of the time that a notice is held: 6.4 ms

std::uint32_t now_ms() { return static_cast<std::uint32_t>(now_us() / 1000) | 1; } // never 0

} // namespace

// The last message is one that only the target's processor can see to. Once per message. may_hold: nobody waits for it
// who would come much later.
void rma::wake_target(rma_peer *p, bool may_hold) {
    p->owed_wake = p->unsure = false;
    p->asked_since = 0;
    if (0 != p->told_early_ms && now_ms() - p->told_early_ms >= forgotten_ms) {
        p->told = 0;
    }
    p->told_early_ms = 0;
    if (p->told != p->ep->rma_out && finds_it(p)) {
        p->told = p->ep->rma_out;
        return;
    }
    wake_for(p, p->ep->rma_out, may_hold);
}

// Inside a node, who is in MPI, or whose thread is at it, looks into its ring before it leaves; we look at its state
// when the message is there: one sees the other. No notice, then, which takes both of us longer than the message.
bool rma::finds_it(rma_peer *p) {
    if (route::shared != p->ep->way) {
        return false;
    }
    p->ep->ring.ask();
    std::atomic_thread_fence(std::memory_order_seq_cst); // L3, pairs with L4
    return board_slot(&e_.segment_.slot(p->ep->slot)).active();
}

// There is no room for the next message: the target makes some, and then waits for it a while.
void rma::wake_beforehand(rma_peer *p) {
    const std::uint32_t next = wire::next_sequence(p->ep->rma_out);
    if (p->told != next) {
        p->told_early_ms = now_ms();
    }
    wake_for(p, next, !p->requested);
}

// As wake_target(), but where no request depends on the message the wake may come later, or not at all. Between nodes a
// wake takes the helpers' time on both, which is the ranks' own where no core is idle. So of what is small a target
// whose application answers needs none, until it is late; and of many messages in a row, whatever they ask for, the
// first wakes, and then one in late_us: who is awake takes those behind it, too.
void rma::wake_sooner_or_later(rma_peer *p, bool requested, std::uint64_t bytes) {
    if (by_thread_ || requested || route::network != p->ep->way) {
        wake_target(p);
        return;
    }
    p->asked_since += bytes;
    const bool much = p->asked_since >= worthwhile || p->fetching + p->getting >= worthwhile;
    if ((p->notices.held || (much && is_prompt(p))) && e_.held_.may_hold()) {
        wake_target(p, true);
        return;
    }
    if (!p->attentive || much) {
        const std::uint64_t now = now_us();
        const std::uint64_t apart = p->attentive ? attentive_us : late_us;
        if ((p->asked_since >= very_much && !p->attentive) || (now >= p->listens_until && now - p->woken_at >= apart)) {
            p->woken_at = now;
            wake_target(p);
            return;
        } // else one is on its way
    }
    p->owed_wake = true;
    p->owed_since = 0;
    activate(p);
}

void rma::note_listening(rma_peer *p, bool listens) {
    p->listens_until = listens ? now_us() + e_.params_.listen_us / 2 : 0;
}

// In passes of the application, while it waits.
void rma::look_after_wake(rma_peer *p) {
    if (!p->owed_wake || !e_.application_waits()) {
        return;
    }
    if (const std::uint64_t now = now_us(); 0 == p->owed_since) {
        p->owed_since = now;
    } else if (now - p->owed_since >= (now < p->listens_until ? late_listener_us : late_us)) {
        p->attentive = false;
        p->listens_until = 0;
        p->woken_at = now;
        wake_target(p);
    }
}

void rma::wake_for(rma_peer *p, std::uint32_t sequence, bool may_hold) {
    if (route::self == p->ep->way || p->told == sequence) {
        return;
    }
    p->told = sequence;
    rma_notices &n = p->notices;
    if (p->ep->relayed()) {
        const bool afresh = !std::exchange(n.watched, true);
        if (may_hold && is_prompt(p) && e_.held_.hold(serve_notice(p, sequence), afresh)) {
            n.held = true;
            return;
        }
        if (std::exchange(n.held, false)) {
            e_.held_.forget(p);
        }
    }
    const held_notice h = serve_notice(p, sequence);
    e_.post_notice(h.peer, h.what, h.source, h.sequence);
}

held_notice rma::serve_notice(rma_peer *p, std::uint32_t sequence) const {
    return {.id = 0,
            .peer = p->ep,
            .what = make_rma_key(rma_epoch_kind::serve, 0, e_.me_.name),
            .source = static_cast<std::uint32_t>(e_.me_.name) | rma_source,
            .sequence = sequence,
            .answer = false,
            .target = p};
}

// ---- notices that are held back (held.h). A target on another node that sits in MPI, or whose thread is at work,
// finds the messages by itself; it says with its answers whether a thread did that somebody had to wake.

bool rma::is_prompt(const rma_peer *p) { return p->notices.score >= foresight::enough; }

// An answer of this target. Where there is much data in front of them they take longer, and so it is to be known.
void rma::learn(rma_peer *p, bool was_woken) {
    rma_notices &n = p->notices;
    if (std::exchange(n.watched, false)) {
        if (was_woken) {
            foresight::down(&n.score);
            n.doublings = 0;
        } else {
            foresight::up(&n.score);
            n.doublings = static_cast<std::uint8_t>(n.doublings + (n.late && n.doublings < most_doublings ? 1 : 0));
        }
        n.late = false;
    }
    e_.held_.heard(p->ep);
}

// The end of an epoch is not answered. A notice that was late may have been of use.
void rma::give_up_answer(rma_peer *p) {
    if (rma_notices &n = p->notices; n.watched && n.late) {
        foresight::down(&n.score);
        n.watched = n.late = false;
    }
}

bool rma::unanswered(const rma_peer *p) { return !p->ep->lost && (p->notices.watched || !quiet(p)); }

// It is not on the list any more: answered, or late.
void rma::no_more_held(rma_peer *p, std::uint32_t sequence) {
    p->notices.held = false;
    if (unanswered(p)) {
        p->notices.late = std::exchange(p->notices.watched, true);
        const held_notice h = serve_notice(p, sequence);
        e_.post_notice(h.peer, h.what, h.source, h.sequence);
    }
}

} // namespace smartint
