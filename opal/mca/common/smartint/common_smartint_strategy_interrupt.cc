// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// interrupt: a thread that blocks on the network's own events (CS III, both phases). As helper,
// but nobody carries notices between nodes: while an operation is under way and the application
// computes, the thread sleeps on the transport's descriptor and is woken by whatever arrives for
// this rank or completes: every packet, once. It goes back to sleep when the application is in the
// engine. Inside a node, where there is no descriptor, the board wakes it.
#include "common_smartint_strategy_helper.h"

namespace smartint {
namespace {

class interrupt final : public helper_strategy {
public:
    bool listens() const override { return true; }
};

} // namespace

std::unique_ptr<strategy> make_interrupt() { return std::make_unique<interrupt>(); }

} // namespace smartint
