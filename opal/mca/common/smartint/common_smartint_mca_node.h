// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Of the glue to Open MPI, and for it alone: what the processes of a node have in common. Application thread only.
#pragma once

#include <string>

#include "common_smartint_mca.h"

namespace smartint {

// Where this library lies: helper program and help files are beside it.
std::string own_directory();
const char *host();

struct job_shape {
    std::uint32_t size = 0;   // processes of the job, 0: not known
    std::uint32_t local = 1;  // of them on this node
    std::uint32_t slot = 0;   // this one's place among those
    std::uint32_t leader = 0; // process number of the first of those
};

job_shape learn_job();

// Two processes of a job with the same value share memory: boot, the directory of shared memory (a container may have
// one of its own), and the first of those whom one of Open MPI's daemons started. Where one host has two daemons, their
// ranks count their places on the node apart, and each has a board of its own: two nodes.
std::uint64_t node_identity(std::uint32_t leader, const std::string &directory);

// Board, then helpers, and how both are found into `mine`. What fails costs shared memory or overlap, and is told.
// In MPI_Init the first process of a node does it, and the others join (glue_join_board).
void lead(const params &p, const job_shape &j, modex *mine);
// After MPI_Init whoever comes first does it. The others find how in a file of the job's session directory.
void meet(const params &p, const job_shape &j, modex *mine);

// Of helpers that were started and could not run; of those that are gone, and may be started again.
void tell_of_failed_helpers();
void look_after_helpers();

} // namespace smartint
