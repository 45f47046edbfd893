// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// poll: a thread per rank that never sleeps, the usual asynchronous mode of MPI libraries.
// Kept as a baseline to measure against: it needs a core of its own and slows every call.
#include <sched.h>

#include "common_smartint_thread.h"

namespace smartint {
namespace {

class poll final : public strategy {
public:
    bool needs_thread() const override { return true; }
    bool claims_often() const override { return true; }
    bool arm() const override { return false; }
    bool leave(bool, bool, bool) const override { return false; }

    void run(interrupt_thread &t) override {
        engine &e = t.the_engine();
        while (!t.stop_requested()) {
            bool copies = false;
            unsigned events = 0;
            if (!e.the_gate().application_inside() && e.the_gate().claim()) {
                events = e.pass(true);
                copies = e.look().copies;
                e.the_gate().release();
            }
            if (copies && e.work_on_copies()) {
                continue;
            }
            if (0 == events) {
                sched_yield();
            }
        }
    }
};

} // namespace

std::unique_ptr<strategy> make_poll() { return std::make_unique<poll>(); }

} // namespace smartint
