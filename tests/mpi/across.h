// SPDX-License-Identifier: BSD-3-Clause
//
// Messages between the two groups of an intercommunicator.
#pragma once
#include "check.h"

enum { ACROSS_TAG = 3 };

// Everyone with everyone of the other group, both ways at once. side: 0 or 1, the other group says the
// other. Keys name the sender by base, side and rank.
static void exchange_across(MPI_Comm comm, int base, int side, size_t n) {
    int rank, remote;
    MPI(MPI_Comm_rank(comm, &rank));
    MPI(MPI_Comm_remote_size(comm, &remote));
    for (int r = 0; r < remote; ++r) {
        unsigned char *in = guarded_alloc(n), *out = guarded_alloc(n);
        MPI_Request request[2];
        MPI_Status status;
        fill(out, n, key_of(base + side, rank, r, n));
        MPI(MPI_Irecv(in, (int) n, MPI_BYTE, r, ACROSS_TAG, comm, &request[0]));
        MPI(MPI_Isend(out, (int) n, MPI_BYTE, r, ACROSS_TAG, comm, &request[1]));
        MPI(MPI_Wait(&request[0], &status));
        CHECK_STATUS(&status, r, ACROSS_TAG, n);
        VERIFY(in, n, key_of(base + !side, r, rank, n), "message of the other group");
        MPI(MPI_Wait(&request[1], MPI_STATUS_IGNORE));
        guarded_free(in, n);
        guarded_free(out, n);
    }
}
