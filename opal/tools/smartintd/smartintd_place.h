// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Where the helper runs: on a processing unit no rank of the job is bound to and nobody else uses, in a NUMA domain of
// its ranks where there is one (SI 4.2, third optimisation).
#pragma once

#include <cstdint>
#include <vector>

#include "common_smartint_segment.h"
#include "smartintd_load.h"
#include "smartintd_options.h"

namespace smartint::daemon {

// The choice itself, without hwloc: the index-th unit of `allowed` that is not in `taken`,
// those of `near` first. -1: there is none.
int choose_unit(const std::vector<unsigned> &allowed, const std::vector<unsigned> &taken,
                const std::vector<unsigned> &near, unsigned index);

// We inherited the leader's binding: take what the launcher of the ranks may use.
void leave_binding(const options &o);

class placement {
public:
    placement() = default;
    explicit placement(unit_load load) : load_(std::move(load)) {}
    // Bind to a unit of our own if there is one. Its number or -1. Once all ranks have attached, and again now and
    // then: a rank whose first thread is bound to one unit may start others beside it (OpenMP), and what was idle may
    // be another job's. pids: of the ranks that can be seen from here. The helpers of a node that look at the same time
    // come to the same list of free ones.
    int choose(const segment &board, const std::vector<std::uint32_t> &pids, const options &o);

private:
    using groups = std::vector<std::vector<unsigned>>; // of units
    void begin(const segment &board);
    std::vector<unsigned> bound_;   // what the ranks say of their first threads
    std::vector<unsigned> allowed_; // before we bound ourselves
    unit_load load_;
    int unit_ = -1;          // the last choice
    groups cores_, domains_; // NUMA's; empty where hwloc can't say
};

} // namespace smartint::daemon
