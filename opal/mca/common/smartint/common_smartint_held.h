// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Notices to other nodes that are held back for a moment. Each has two helpers run, and where all cores are the ranks'
// that takes the time from the very transfer it is about, in vain where both sides see to it in MPI: so where messages
// alike were answered without a wake lately, the notice is posted only if this one is not.
//
// Whoever holds one is in MPI, or comes back soon; should it not, the thread posts it after postpone_us, as it does
// with what else is put off (engine_crowded.cc). All under the gate.
#pragma once

#include <cstdint>
#include <vector>

#include "common_smartint_endpoint.h"
#include "common_smartint_foresight.h"
#include "common_smartint_key.h"

namespace smartint {

class engine;
struct rma_peer;

struct held_notice {
    std::uint64_t id; // of the send whose RTS, or the receive whose CTS it is about; 0: a target's
    endpoint *peer;
    key what;
    std::uint32_t source, sequence;
    bool answer;                // it is about a CTS
    rma_peer *target = nullptr; // or it is about what this target has to see to: one for each at most
    std::uint64_t since = 0;    // ns: held
    std::uint64_t seen = 0;     // ns: when this process looked first; 0: it has not
};

class held_notices {
public:
    explicit held_notices(engine &e) : e_(e) {}

    bool any() const { return !list_.empty(); }
    // Of a message that has just gone out: posted, or, where its peer's are relayed by helpers, held. w: of its
    // operation.
    void post(const held_notice &n, std::uint32_t context, std::int32_t tag, notice_watch *w);
    // The peer has answered what was watched, or goes on with something else: it is at work. was_woken: else it needed
    // no notice.
    void heard(endpoint *ep, notice_watch *w, bool was_woken);
    bool may_hold(); // somebody would come for it
    // Of a one-sided message that has gone out, or is to: held, or added to what is. False: it may not be.
    bool hold(const held_notice &n, bool afresh);
    void heard(endpoint *ep);
    void forget(rma_peer *p);
    void forget_all() { list_.clear(); }
    void look();  // in a pass
    void take();  // the thread's, which came as it was to
    void leave(); // the application leaves a wait

private:
    friend class engine_access; // tests

    enum class looks { inside, away, at_last };
    void look(looks how);
    bool is_due(held_notice &n, looks how, std::uint64_t now) const;
    notice_watch *unanswered(const held_notice &n);
    bool cover();

    engine &e_;
    // ns: a process that waits has answered by then, or is at work on something else of ours, if the network is not a
    // slow one.
    std::uint64_t moment_ = 200000;
    std::uint64_t next_ = 0; // ns: not looked at before, in passes, as there may be many
    std::vector<held_notice> list_;
    foresight known_;
};

} // namespace smartint
