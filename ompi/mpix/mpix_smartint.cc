// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// libmpix_smartint: what programs call. The component, if it is there, has left its calls under a
// name that Open MPI's way of opening components makes visible.
#include "mpix_smartint.h"

#include <dlfcn.h>

#include "common_smartint_mca_mpix.h"

namespace {

const smartint_nonblocking_calls *calls() {
    // Looked up each time: the component comes with MPI_Init and goes with MPI_Finalize.
    auto **there = static_cast<const smartint_nonblocking_calls **>(dlsym(RTLD_DEFAULT, "smartint_nonblocking"));
    return nullptr == there ? nullptr : *there;
}

template <class F> int forward(MPI_Win win, MPI_Request *request, F call) {
    *request = MPI_REQUEST_NULL;
    const smartint_nonblocking_calls *c = calls();
    const int error = nullptr == c ? MPI_ERR_UNSUPPORTED_OPERATION : call(*c);
    if (MPI_SUCCESS != error) {
        MPI_Win_call_errhandler(win, error);
    }
    return error;
}

} // namespace

#define VISIBLE __attribute__((visibility("default")))

extern "C" {

VISIBLE int MPIX_Win_ifence(int assert, MPI_Win win, MPI_Request *request) {
    return forward(win, request, [&](auto &c) { return c.ifence(assert, win, request); });
}

VISIBLE int MPIX_Win_istart(MPI_Group group, int assert, MPI_Win win, MPI_Request *request) {
    return forward(win, request, [&](auto &c) { return c.istart(group, assert, win, request); });
}

VISIBLE int MPIX_Win_icomplete(MPI_Win win, MPI_Request *request) {
    return forward(win, request, [&](auto &c) { return c.icomplete(win, request); });
}

VISIBLE int MPIX_Win_ipost(MPI_Group group, int assert, MPI_Win win, MPI_Request *request) {
    return forward(win, request, [&](auto &c) { return c.ipost(group, assert, win, request); });
}

VISIBLE int MPIX_Win_iwait(MPI_Win win, MPI_Request *request) {
    return forward(win, request, [&](auto &c) { return c.iwait(win, request); });
}

VISIBLE int MPIX_Win_ilock(int lock_type, int rank, int assert, MPI_Win win, MPI_Request *request) {
    return forward(win, request, [&](auto &c) { return c.ilock(lock_type, rank, assert, win, request); });
}

VISIBLE int MPIX_Win_iunlock(int rank, MPI_Win win, MPI_Request *request) {
    return forward(win, request, [&](auto &c) { return c.iunlock(rank, win, request); });
}

VISIBLE int MPIX_Win_ilock_all(int assert, MPI_Win win, MPI_Request *request) {
    return forward(win, request, [&](auto &c) { return c.ilock_all(assert, win, request); });
}

VISIBLE int MPIX_Win_iunlock_all(MPI_Win win, MPI_Request *request) {
    return forward(win, request, [&](auto &c) { return c.iunlock_all(win, request); });
}

VISIBLE int MPIX_Win_iflush(int rank, MPI_Win win, MPI_Request *request) {
    return forward(win, request, [&](auto &c) { return c.iflush(rank, win, request); });
}

} // extern "C"
