// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// What the module mpix_smartint_f08 calls: the same with Fortran's handles.
#include "mpix_smartint.h"

#define VISIBLE __attribute__((visibility("default")))

namespace {

template <class F> int with_request(MPI_Fint *request, F call) {
    MPI_Request made = MPI_REQUEST_NULL;
    const int error = call(&made);
    *request = MPI_Request_c2f(made);
    return error;
}

} // namespace

extern "C" {

VISIBLE int smartint_f_ifence(MPI_Fint assert, MPI_Fint win, MPI_Fint *request) {
    return with_request(request, [&](MPI_Request *r) { return MPIX_Win_ifence(assert, MPI_Win_f2c(win), r); });
}

VISIBLE int smartint_f_istart(MPI_Fint group, MPI_Fint assert, MPI_Fint win, MPI_Fint *request) {
    return with_request(
        request, [&](MPI_Request *r) { return MPIX_Win_istart(MPI_Group_f2c(group), assert, MPI_Win_f2c(win), r); });
}

VISIBLE int smartint_f_icomplete(MPI_Fint win, MPI_Fint *request) {
    return with_request(request, [&](MPI_Request *r) { return MPIX_Win_icomplete(MPI_Win_f2c(win), r); });
}

VISIBLE int smartint_f_ipost(MPI_Fint group, MPI_Fint assert, MPI_Fint win, MPI_Fint *request) {
    return with_request(
        request, [&](MPI_Request *r) { return MPIX_Win_ipost(MPI_Group_f2c(group), assert, MPI_Win_f2c(win), r); });
}

VISIBLE int smartint_f_iwait(MPI_Fint win, MPI_Fint *request) {
    return with_request(request, [&](MPI_Request *r) { return MPIX_Win_iwait(MPI_Win_f2c(win), r); });
}

VISIBLE int smartint_f_ilock(MPI_Fint lock_type, MPI_Fint rank, MPI_Fint assert, MPI_Fint win, MPI_Fint *request) {
    return with_request(request,
                        [&](MPI_Request *r) { return MPIX_Win_ilock(lock_type, rank, assert, MPI_Win_f2c(win), r); });
}

VISIBLE int smartint_f_iunlock(MPI_Fint rank, MPI_Fint win, MPI_Fint *request) {
    return with_request(request, [&](MPI_Request *r) { return MPIX_Win_iunlock(rank, MPI_Win_f2c(win), r); });
}

VISIBLE int smartint_f_ilock_all(MPI_Fint assert, MPI_Fint win, MPI_Fint *request) {
    return with_request(request, [&](MPI_Request *r) { return MPIX_Win_ilock_all(assert, MPI_Win_f2c(win), r); });
}

VISIBLE int smartint_f_iunlock_all(MPI_Fint win, MPI_Fint *request) {
    return with_request(request, [&](MPI_Request *r) { return MPIX_Win_iunlock_all(MPI_Win_f2c(win), r); });
}

VISIBLE int smartint_f_iflush(MPI_Fint rank, MPI_Fint win, MPI_Fint *request) {
    return with_request(request, [&](MPI_Request *r) { return MPIX_Win_iflush(rank, MPI_Win_f2c(win), r); });
}

} // extern "C"
