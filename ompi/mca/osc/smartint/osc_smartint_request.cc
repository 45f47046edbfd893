// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// MPI requests around what the engine does: of the request forms of operations, and of
// nonblocking epochs.
#include "osc_smartint.h"

#include <atomic>
#include <new>

namespace smartint::osc {
namespace {

void release(request *r) {
    OMPI_REQUEST_FINI(&r->super);
    OBJ_RELEASE(r);
}

int free_request(ompi_request_t **which) noexcept {
    auto *r = reinterpret_cast<request *>(*which);
    const inside here;
    if (r->sync.done() && REQUEST_COMPLETE(&r->super)) {
        release(r);
    } else {
        r->freed = true;
    }
    *which = MPI_REQUEST_NULL;
    return OMPI_SUCCESS;
}

int cancel_request(ompi_request_t *, int) noexcept { return OMPI_SUCCESS; } // too late, which MPI allows

void construct(request *r) noexcept {
    new (&r->sync) rma_sync{};
    r->owner = nullptr;
    r->freed = false;
    r->super.req_type = OMPI_REQUEST_WIN;
    r->super.req_start = nullptr;
    r->super.req_free = boundary(free_request);
    r->super.req_cancel = boundary(cancel_request);
}

} // namespace

static OBJ_CLASS_INSTANCE(request, ompi_request_t, construct, nullptr);

request *new_request(ompi_win_t *win, module *owner) {
    request *r = OBJ_NEW(request);
    if (nullptr == r) {
        return nullptr;
    }
    OMPI_REQUEST_INIT(&r->super, false);
    r->super.req_state = OMPI_REQUEST_ACTIVE;
    r->super.req_mpi_object.win = win; // whose error handler is called
    r->super.req_status.MPI_SOURCE = MPI_ANY_SOURCE;
    r->super.req_status.MPI_TAG = MPI_ANY_TAG;
    r->super.req_status._ucount = 0;
    r->super.req_status._cancelled = 0;
    r->super.req_status.MPI_ERROR = MPI_SUCCESS;
    r->sync.pending = 1;
    r->sync.user = r;
    r->owner = owner;
    return r;
}

void begun(request *r) { engine::instance().one_sided().release(&r->sync); }

void request_done(void *user, rma_error error) {
    auto *r = static_cast<request *>(user);
    if (nullptr != r->owner && rma_error::none == error) {
        error = engine::instance().one_sided().take_error(r->owner->window);
    }
    r->super.req_status.MPI_ERROR = mpi_error(error);
    const bool freed = r->freed;
    // Q1; and E1, as what is asked for in mapped memory is done by loads and stores of the call that begins it
    std::atomic_thread_fence(std::memory_order_acq_rel);
    ompi_request_complete(&r->super, true);
    if (freed) {
        release(r);
    }
}

} // namespace smartint::osc
