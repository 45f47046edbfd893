// SPDX-License-Identifier: BSD-3-Clause
// Description: exchanges of medium and large messages, every byte checked, until a time is over: for
// faults to be injected into meanwhile. Prints how many rounds there were.
// argv[1]: seconds (default 3), argv[2]: milliseconds of computation between posting and waiting.
#include "check.h"

enum { MAX_SIZE = 4 << 20, K = 3 };

int main(int argc, char **argv) {
    begin(&argc, &argv, 2);
    double seconds = argc > 1 ? atof(argv[1]) : 3.0, pause = argc > 2 ? atof(argv[2]) * 1e-3 : 0.0;
    int to = (my_rank + 1) % n_ranks, from = (my_rank + n_ranks - 1) % n_ranks, go = 1;
    static const size_t sizes[] = {8192, 65536, 70000, 262144, 1 << 20, MAX_SIZE};
    unsigned char *out[K], *in[K];
    MPI_Request request[2 * K];
    MPI_Status status[2 * K];
    uint64_t round = 0;
    char note[64];
    test_note = note;
    for (int i = 0; i < K; ++i) {
        out[i] = guarded_alloc(MAX_SIZE);
        in[i] = guarded_alloc(MAX_SIZE);
    }
    for (double end = now() + seconds; go; ++round) {
        snprintf(note, sizeof(note), "round %" PRIu64, round);
        size_t n[K];
        for (int i = 0; i < K; ++i) {
            n[i] = sizes[(round + i * 2) % 6];
            fill(out[i], n[i], key_of(220, my_rank, round, i));
            memset(in[i], BLANK_VALUE, n[i]);
            MPI(MPI_Irecv(in[i], MAX_SIZE, MPI_BYTE, from, i, MPI_COMM_WORLD, &request[i]));
        }
        for (int i = 0; i < K; ++i) {
            MPI(MPI_Isend(out[i], (int) n[i], MPI_BYTE, to, i, MPI_COMM_WORLD, &request[K + i]));
        }
        for (double until = now() + pause; now() < until;) {}
        MPI(MPI_Waitall(2 * K, request, status));
        for (int i = 0; i < K; ++i) {
            CHECK_STATUS(&status[i], from, i, n[i]);
            VERIFY(in[i], n[i], key_of(220, from, round, i), "message");
        }
        go = now() < end; // rank 0's clock decides for all
        MPI(MPI_Bcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD));
    }
    for (int i = 0; i < K; ++i) {
        guarded_free(out[i], MAX_SIZE);
        guarded_free(in[i], MAX_SIZE);
    }
    if (0 == my_rank) {
        printf("# %" PRIu64 " rounds\n", round);
    }
    return finish();
}
