// SPDX-License-Identifier: BSD-3-Clause
// Description: requests that are freed while they are under way. Each rank sends to the next, frees the requests and
// calls MPI_Finalize; the other side may receive much later, and gets every byte. Nothing is said about peers that are
// gone by then.
#include "check.h"

enum { TAG = 1, MAX_SIZE = 4 << 20 };

static const size_t sizes[] = {0, 1, 1000, 5000, 70000, 262144, MAX_SIZE};
enum { N_SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static uint64_t key_from(int rank, size_t n) { return key_of(90, n, (unsigned) rank, 0); }

static void free_at_once(MPI_Request *request) {
    MPI(MPI_Request_free(request));
    CHECK(MPI_REQUEST_NULL == *request, "a freed request is no MPI_REQUEST_NULL");
}

int main(int argc, char **argv) {
    begin(&argc, &argv, 2);
    const int next = (my_rank + 1) % n_ranks;
    const int before = (my_rank + n_ranks - 1) % n_ranks;
    unsigned char *in = guarded_alloc(MAX_SIZE);
    char note[80];
    MPI_Request request;

    test_note = note;
    for (int i = 0; i < N_SIZES; ++i) {
        unsigned char *out = malloc(sizes[i] + 1); // and kept: MPI may read it until MPI_Finalize returns
        fill(out, sizes[i], key_from(my_rank, sizes[i]));
        if (1 == i % 2) {
            MPI(MPI_Isend(out, (int) sizes[i], MPI_BYTE, next, TAG, MPI_COMM_WORLD, &request));
        } else {
            MPI(MPI_Issend(out, (int) sizes[i], MPI_BYTE, next, TAG, MPI_COMM_WORLD, &request));
        }
        free_at_once(&request);
    }
    if (1 == my_rank % 2) {
        usleep(200000); // rank 0 is in MPI_Finalize long before
    }
    for (int i = 0; i < N_SIZES; ++i) {
        MPI_Status status;
        snprintf(note, sizeof(note), "receiving %zu bytes whose send was freed", sizes[i]);
        memset(in, BLANK_VALUE, sizes[i]);
        MPI(MPI_Recv(in, (int) sizes[i], MPI_BYTE, before, TAG, MPI_COMM_WORLD, &status));
        CHECK_STATUS(&status, before, TAG, sizes[i]);
        VERIFY(in, sizes[i], key_from(before, sizes[i]), "received");
    }
    if (0 == my_rank) { // no barrier: its sends end while it is in MPI_Finalize
        printf("ok\n");
        fflush(stdout);
    }
    MPI_Finalize();
    return 0;
}
