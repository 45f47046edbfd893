// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// How libmpix_smartint, which programs link with, finds the component: by one exported name. The
// library needs no other of ours, so that a program with it runs where smartint is not chosen.
#pragma once

struct ompi_group_t; // MPI_Group, MPI_Request and MPI_Win point to these
struct ompi_request_t;
struct ompi_win_t;

extern "C" {

// Error codes are MPI's. A window that is not this component's: MPI_ERR_UNSUPPORTED_OPERATION.
struct smartint_nonblocking_calls {
    int (*ifence)(int assertion, ompi_win_t *win, ompi_request_t **request) noexcept;
    int (*istart)(ompi_group_t *group, int assertion, ompi_win_t *win, ompi_request_t **request) noexcept;
    int (*icomplete)(ompi_win_t *win, ompi_request_t **request) noexcept;
    int (*ipost)(ompi_group_t *group, int assertion, ompi_win_t *win, ompi_request_t **request) noexcept;
    int (*iwait)(ompi_win_t *win, ompi_request_t **request) noexcept;
    int (*ilock)(int type, int target, int assertion, ompi_win_t *win, ompi_request_t **request) noexcept;
    int (*iunlock)(int target, ompi_win_t *win, ompi_request_t **request) noexcept;
    int (*ilock_all)(int assertion, ompi_win_t *win, ompi_request_t **request) noexcept;
    int (*iunlock_all)(ompi_win_t *win, ompi_request_t **request) noexcept;
    int (*iflush)(int target, ompi_win_t *win, ompi_request_t **request) noexcept;
};

// nullptr until the component is chosen.
extern const smartint_nonblocking_calls *smartint_nonblocking;
}
