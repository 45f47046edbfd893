// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Where the helper runs: on a processing unit no rank of the job is bound to, in a NUMA
// domain of its ranks where there is one (SI 4.2, third optimisation).
#pragma once

#include <cstdint>
#include <vector>

#include "common_smartint_segment.h"
#include "smartintd_options.h"

namespace smartint::daemon {

// The choice itself, without hwloc: the index-th unit of `allowed` that is not in `taken`,
// those of `near` first. -1: there is none.
int choose_unit(const std::vector<unsigned> &allowed, const std::vector<unsigned> &taken,
                const std::vector<unsigned> &near, unsigned index);

// We inherited the leader's binding: take what the launcher of the ranks may use.
void leave_binding(const options &o);

// Bind to a unit of our own if there is one. Its number or -1. Once all ranks have attached.
int place(const segment &board, const options &o);

} // namespace smartint::daemon
