// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// What only a target's processor can see to: when it is woken for that, and when it comes by itself.
#include "common_smartint_clock.h"
#include "common_smartint_engine.h"
#include "common_smartint_rma.h"

namespace smartint {
namespace {

constexpr std::uint64_t late_us = 50;           // an answer of a target that is in MPI
constexpr std::uint64_t late_listener_us = 200; // of one whose thread listens, on a core that computes

} // namespace

// The last message is one that only the target's processor can see to. Once per message.
void rma::wake_target(rma_peer *p) {
    p->owed_wake = false;
    wake_for(p, p->ep->rma_out);
}

// The same for what is small and belongs to no request that may be waited for much later. Between nodes a wake
// takes the helpers' time on both; a target whose application answers needs none, until it is late.
void rma::wake_sooner_or_later(rma_peer *p, const rma_item *i) {
    if (by_thread_ || i->requested() || p->fetching + p->getting >= worthwhile || route::network != p->ep->way) {
        wake_target(p);
        return;
    }
    if (!p->attentive) {
        const std::uint64_t now = now_us();
        if (now >= p->listens_until && now - p->woken_at >= late_us) { // else it is on its way
            p->woken_at = now;
            wake_target(p);
            return;
        }
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

void rma::wake_for(rma_peer *p, std::uint32_t sequence) {
    if (route::self == p->ep->way || p->told == sequence) {
        return;
    }
    p->told = sequence;
    e_.post_notice(p->ep, make_rma_key(rma_epoch_kind::serve, 0, e_.me_.name),
                   static_cast<std::uint32_t>(e_.me_.name) | rma_source, sequence);
}

} // namespace smartint
