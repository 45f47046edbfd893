// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// What members of a window tell each other while it is made, and the memory that those of a node share.
#pragma once

#include <cstdint>
#include <vector>

#include "osc_smartint.h"

namespace smartint::osc {

// What every member tells all others.
struct announcement {
    std::uint64_t node = 0;
    std::uint64_t start_time = 0; // of the process, with the descriptor below
    std::uint64_t base = 0;
    std::uint64_t bytes = 0;
    std::uint64_t file = 0; // of the first of a node: its name, where nobody may take the descriptor
    std::int64_t unit = 0;
    std::uint32_t pid = 0;
    std::int32_t fd = -1; // of the first of a node: the memory its members share
    std::int32_t error = MPI_SUCCESS;
    std::int16_t shares = 0;    // smartint_window_shared
    std::int16_t apart = 0;     // alloc_shared_noncontig
    std::int32_t strangers = 0; // there are members that it cannot reach yet
    std::int32_t pad = 0;
};

// Collective, as all that follows. An OMPI error.
int exchange(ompi_communicator_t *comm, const announcement &mine, std::vector<announcement> *all);

// Has a member an error? The first one, the same everywhere.
bool any_error(const std::vector<announcement> &all, int *error);

// Where the members of this node have their parts in the memory they share.
struct plan {
    int first = -1;                    // of them: makes it
    std::uint64_t total = 0;           // bytes
    std::vector<std::uint64_t> memory; // of each, if the window's own memory is in it
    std::vector<std::uint64_t> words;
};

// packed: next to each other, else each part begins at a page.
plan plan_of(const module &m, bool packed, const announcement &mine, const std::vector<announcement> &all);

// How members come to the memory of their node: by the descriptor of the first, or where the kernel lets nobody take it
// (containers, each with namespaces of its own) by a name that its file has meanwhile.
enum class found { by_descriptor, by_name };

// The memory of this node's members into m.memory, where `where` says it: one file per node, made by the first member
// there; the others open it and map all of it. Errors are in all[].
int share_memory(module &m, found by, const plan &where, const announcement &mine, std::vector<announcement> &all);

// Where a node can't share, each has its own, in m.own.
int own_memory(module &m, announcement &mine, std::vector<announcement> &all);

} // namespace smartint::osc
