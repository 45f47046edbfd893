// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// none: progress in MPI calls only, as every plain library. The baseline of the others.
#include "common_smartint_strategy.h"

namespace smartint {
namespace {

class none final : public strategy {
public:
    bool needs_thread() const override { return false; }
    bool arm() const override { return false; }
    bool leave(bool, bool, bool) const override { return false; }
    void run(interrupt_thread &) override {}
};

} // namespace

std::unique_ptr<strategy> make_none() { return std::make_unique<none>(); }

} // namespace smartint
