/* SPDX-License-Identifier: BSD-3-Clause
 * SPDX-FileCopyrightText: 2026 The smartint authors
 *
 * Epochs of one-sided communication without waiting: each call returns at once with a request, for
 * MPI_Wait and its family. Operations may follow their epoch's beginning at once, and the next
 * epoch of the same window the end of the last: they are carried out in that order, also while the
 * program computes.
 *
 * The request of ilock is complete when the lock is granted, also of another process. That of istart
 * and ilock_all says the like in windows of MPI_Win_allocate_shared only: posted, granted by all. In
 * others it says nothing of the targets, nor does that of ipost: operations wait by themselves. The
 * request of ifence is complete when all have come to the fence and what was begun before it is done,
 * that of an end or of iflush when the blocking call would return. All of them must be complete
 * when the window is freed. Locks are taken in whatever order they can be had:
 * where processes hold several exclusive ones at once, each must wait for one before it asks for the
 * next, or they may wait for each other for ever.
 *
 * Link with -lmpix_smartint. Where osc/smartint does not serve the window, or was not chosen, the
 * calls fail with MPI_ERR_UNSUPPORTED_OPERATION, raised on the window as any error. */
#ifndef MPIX_SMARTINT_H
#define MPIX_SMARTINT_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

int MPIX_Win_ifence(int assert, MPI_Win win, MPI_Request *request);
int MPIX_Win_istart(MPI_Group group, int assert, MPI_Win win, MPI_Request *request);
int MPIX_Win_icomplete(MPI_Win win, MPI_Request *request);
int MPIX_Win_ipost(MPI_Group group, int assert, MPI_Win win, MPI_Request *request);
int MPIX_Win_iwait(MPI_Win win, MPI_Request *request);
int MPIX_Win_ilock(int lock_type, int rank, int assert, MPI_Win win, MPI_Request *request);
int MPIX_Win_iunlock(int rank, MPI_Win win, MPI_Request *request);
int MPIX_Win_ilock_all(int assert, MPI_Win win, MPI_Request *request);
int MPIX_Win_iunlock_all(MPI_Win win, MPI_Request *request);
int MPIX_Win_iflush(int rank, MPI_Win win, MPI_Request *request);

#ifdef __cplusplus
}
#endif

#endif
