// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Ranks that are in MPI whenever a message could move: blocking calls of every length, and windows
// of nonblocking ones that are waited for at once. Nothing is to overlap here, so that no rank may
// be interrupted; the script looks at the counters.
//
//   inside [blocking|windows] ROUNDS
#include "check.h"

enum { window = 32, longest = 4 << 20, longest_in_window = 256 << 10 };

static void blocking(unsigned char *out, unsigned char *in, int round) {
    static const int sizes[] = {0, 1, 4096, 8192, 8193, 65536, 524289, longest};
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); ++s) {
        const size_t bytes = (size_t) sizes[s];
        fill(out, bytes, pair_key((uint64_t) round, s, (uint64_t) my_side, 1));
        memset(in, 0, bytes);
        for (int turn = 0; turn < 2; ++turn) {
            if (turn == my_side) {
                if (0 == round % 2) {
                    MPI_Send(out, sizes[s], MPI_BYTE, my_peer, 1, MPI_COMM_WORLD);
                } else {
                    MPI_Ssend(out, sizes[s], MPI_BYTE, my_peer, 1, MPI_COMM_WORLD);
                }
            } else {
                MPI_Recv(in, sizes[s], MPI_BYTE, my_peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            }
        }
        VERIFY(in, bytes, pair_key((uint64_t) round, s, (uint64_t) (1 - my_side), 1), "blocking");
    }
    int sum = my_rank;
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(n_ranks * (n_ranks - 1) / 2 == sum, "a sum of %d", sum);
}

static void windows(unsigned char *out, unsigned char *in, int round) {
    static const int sizes[] = {8, 8192, 16384, 65536, longest_in_window};
    MPI_Request requests[2 * window];
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); ++s) {
        const size_t bytes = (size_t) sizes[s];
        for (int k = 0; k < window; ++k) {
            fill(out + (size_t) k * bytes, bytes, pair_key((uint64_t) round, s, (uint64_t) k, 2));
        }
        memset(in, 0, window * bytes);
        for (int k = 0; k < window; ++k) {
            MPI_Irecv(in + (size_t) k * bytes, sizes[s], MPI_BYTE, my_peer, 2, MPI_COMM_WORLD, &requests[k]);
        }
        for (int k = 0; k < window; ++k) {
            MPI_Isend(out + (size_t) k * bytes, sizes[s], MPI_BYTE, my_peer, 2, MPI_COMM_WORLD, &requests[window + k]);
        }
        MPI_Waitall(2 * window, requests, MPI_STATUSES_IGNORE);
        for (int k = 0; k < window; ++k) {
            VERIFY(in + (size_t) k * bytes, bytes, pair_key((uint64_t) round, s, (uint64_t) k, 2), "window");
        }
    }
}

int main(int argc, char **argv) {
    begin(&argc, &argv, 2);
    CHECK(3 == argc && 0 == n_ranks % 2, "usage: inside [blocking|windows] ROUNDS, with pairs of ranks");
    const int rounds = atoi(argv[2]);
    unsigned char *out = malloc((size_t) window * longest_in_window);
    unsigned char *in = malloc((size_t) window * longest_in_window);
    CHECK(NULL != out && NULL != in, "no memory");
    for (int round = 0; round < rounds; ++round) {
        (0 == strcmp("blocking", argv[1]) ? blocking : windows)(out, in, round);
    }
    free(out);
    free(in);
    return finish();
}
