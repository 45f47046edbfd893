// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// A strategy says who makes progress while the application computes. One file each. The engine
// asks arm() before it posts a request, and leave() only while something is (engine::outstanding_), so
// that a strategy costs nothing where there is nothing to overlap. run() is the thread's body.
#pragma once

#include <memory>

#include "common_smartint_params.h"

namespace smartint {

class engine;

class strategy {
public:
    virtual ~strategy() = default;
    virtual bool needs_thread() const = 0;
    // The engine's gate must use a fence in enter: the thread claims too often for membarrier.
    virtual bool claims_often() const { return false; }
    // Post an interrupt request for an operation that waits?
    virtual bool arm() const = 0;
    // Does the thread sleep on the transport's descriptor while anything is under way?
    virtual bool listens() const { return false; }
    // The application leaves with something outstanding, or the thread gave way to it. fresh: a request was matched, or
    // an answer came, since the last look; work: something the thread can move on; asleep: it sleeps, on its own
    // descriptor or the transport's, without a timer. True: wake it.
    virtual bool leave(bool fresh, bool work, bool asleep) const = 0;
    // Body of the interrupt thread: returns when stop_requested().
    virtual void run(class interrupt_thread &t) = 0;
};

std::unique_ptr<strategy> make_none();
std::unique_ptr<strategy> make_poll();
std::unique_ptr<strategy> make_helper();
std::unique_ptr<strategy> make_interrupt();
std::unique_ptr<strategy> make_strategy(strategy_kind k);

} // namespace smartint
