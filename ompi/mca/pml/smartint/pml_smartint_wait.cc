// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// The application's waits. MPI_Wait and its family go through a table of functions that Open MPI lets a PML replace;
// ours hold the gate while the application waits, or with MPI_THREAD_MULTIPLE count it among those that do. So a rank
// that sits in a wait pays the gate once and not per look, and everybody can see that it makes its own progress:
// nobody wakes its interrupt thread (SI 4.2.2, the first optimisation).
#include "pml_smartint.h"

namespace smartint::pml {
namespace {

ompi_request_fns_t before;
bool hooked = false;

bool all_complete(std::size_t count, ompi_request_t **requests) {
    for (std::size_t i = 0; i < count; ++i) {
        if (!REQUEST_COMPLETE(requests[i])) {
            return false;
        }
    }
    return true;
}

// While this object lives the application is known to wait.
struct waiting {
    waiting() { engine::instance().begin_wait(); }
    ~waiting() { engine::instance().end_wait(); }
};

// Look at the engine alone for a while: opal_progress() asks everybody.
template <class F> void spin(F done) {
    engine &e = engine::instance();
    for (int i = 0; i < 256 && !done(); ++i) {
        e.progress_in_wait();
    }
}

int wait(ompi_request_t **request, ompi_status_public_t *status) noexcept {
    if (REQUEST_COMPLETE(*request)) {
        return before.req_wait(request, status);
    }
    const waiting here;
    spin([&] { return REQUEST_COMPLETE(*request); });
    return before.req_wait(request, status);
}

int wait_all(std::size_t count, ompi_request_t **requests, ompi_status_public_t *statuses) noexcept {
    if (all_complete(count, requests)) {
        return before.req_wait_all(count, requests, statuses);
    }
    const waiting here;
    // What has come already, before opal_progress() asks everybody.
    engine &e = engine::instance();
    for (int i = 0; i < 256 && 0 != e.progress(); ++i) {}
    return before.req_wait_all(count, requests, statuses);
}

int wait_any(std::size_t count, ompi_request_t **requests, int *index, ompi_status_public_t *status) noexcept {
    const waiting here;
    return before.req_wait_any(count, requests, index, status);
}

int wait_some(std::size_t count, ompi_request_t **requests, int *done, int *indices,
              ompi_status_public_t *statuses) noexcept {
    const waiting here;
    return before.req_wait_some(count, requests, done, indices, statuses);
}

} // namespace

void hook_waits() {
    if (hooked) {
        return;
    }
    before = ompi_request_functions;
    ompi_request_functions.req_wait = boundary(wait);
    ompi_request_functions.req_wait_all = boundary(wait_all);
    ompi_request_functions.req_wait_any = boundary(wait_any);
    ompi_request_functions.req_wait_some = boundary(wait_some);
    hooked = true;
}

void unhook_waits() {
    if (hooked) {
        ompi_request_functions = before;
        hooked = false;
    }
}

} // namespace smartint::pml
