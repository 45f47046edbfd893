// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// What the components tell the engine: whom to call, and who this process is.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common_smartint_rma.h"

namespace smartint {

struct endpoint;
struct recv_op;
struct send_op;

// Calls out of the engine, made by the application thread only. active_message is called in the
// middle of a pass: what it calls may come back into progress(), which then does nothing. Where a hook calls code that
// may wait for a lock, it opens the gate meanwhile (gate::opened); the engine is as whole there as for one that comes
// back.
struct engine_hooks {
    void (*receive_done)(recv_op *) = nullptr;
    void (*send_done)(send_op *) = nullptr;
    void (*rma_done)(void *user, rma_error error) = nullptr;
    void (*active_message)(endpoint *from, std::uint32_t type, const std::byte *data, std::uint32_t bytes) = nullptr;
    // A peer met by its RTS alone: find its node's helper, see engine::set_relay_route.
    void (*introduce)(endpoint *) = nullptr;
    void (*fatal)(const char *what) = nullptr; // the job can't go on; may not return
    void (*chores)() = nullptr;                // now and then, outside any pass
    bool pml_progresses = false;               // the pml is chosen and calls progress() itself
};

struct engine_identity {
    std::uint64_t name = 0;
    std::uint32_t slot = 0;     // local rank
    bool threads = false;       // MPI_THREAD_MULTIPLE
    std::uint64_t node = 0;     // hash of this node's identity
    std::uint32_t job_size = 0; // processes of the job, 0: not known
};

} // namespace smartint
