// SPDX-License-Identifier: BSD-3-Clause
// Description: put, get and accumulate between fences, and under a shared lock, in windows that MPI allocates and in
// memory of the program's: another framework goes on working beside the PML in use.
#include "check.h"

enum { N = 200000, SUMS = 1000 };

static void windows(int created) {
    unsigned char *base, *in = guarded_alloc(N), *out = guarded_alloc(N);
    unsigned char *own = malloc(2 * N + SUMS * sizeof(int));
    MPI_Win win, sum_win;
    int to = (my_rank + 1) % n_ranks, from = (my_rank + n_ranks - 1) % n_ranks;
    int *sums, ones[SUMS];

    if (created) {
        base = own;
        sums = (int *) (own + 2 * N);
        MPI(MPI_Win_create(base, 2 * N, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        MPI(MPI_Win_create(sums, SUMS * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &sum_win));
    } else {
        MPI(MPI_Win_allocate(2 * N, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
        MPI(MPI_Win_allocate(SUMS * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &sums, &sum_win));
    }
    for (int round = 0; round < 10; ++round) {
        fill(out, N, key_of(170, my_rank, round, 0));
        fill(base + N, N, key_of(171, my_rank, round, 0));
        memset(base, BLANK_VALUE, N);
        memset(in, BLANK_VALUE, N);
        for (int i = 0; i < SUMS; ++i) {
            sums[i] = my_rank;
            ones[i] = i;
        }
        test_note = "put, get and accumulate between fences";
        MPI(MPI_Win_fence(0, win));
        MPI(MPI_Win_fence(0, sum_win));
        MPI(MPI_Put(out, N, MPI_BYTE, to, 0, N, MPI_BYTE, win));
        MPI(MPI_Get(in, N, MPI_BYTE, to, N, N, MPI_BYTE, win));
        for (int r = 0; r < n_ranks; ++r) {
            MPI(MPI_Accumulate(ones, SUMS, MPI_INT, r, 0, SUMS, MPI_INT, MPI_SUM, sum_win));
        }
        MPI(MPI_Win_fence(0, sum_win));
        MPI(MPI_Win_fence(0, win));
        VERIFY(base, N, key_of(170, from, round, 0), "what was put here");
        VERIFY(in, N, key_of(171, to, round, 0), "what was got");
        for (int i = 0; i < SUMS; ++i) {
            CHECK(sums[i] == my_rank + n_ranks * i, "sum %d is %d, expected %d", i, sums[i], my_rank + n_ranks * i);
        }
        test_note = "get under a shared lock";
        MPI(MPI_Barrier(MPI_COMM_WORLD));
        memset(in, BLANK_VALUE, N);
        MPI(MPI_Win_lock(MPI_LOCK_SHARED, to, 0, win));
        MPI(MPI_Get(in, N, MPI_BYTE, to, N, N, MPI_BYTE, win));
        MPI(MPI_Win_unlock(to, win));
        VERIFY(in, N, key_of(171, to, round, 0), "what was got under the lock");
        MPI(MPI_Barrier(MPI_COMM_WORLD));
    }
    MPI(MPI_Win_free(&win));
    MPI(MPI_Win_free(&sum_win));
    guarded_free(in, N);
    guarded_free(out, N);
    free(own);
}

int main(int argc, char **argv) {
    begin(&argc, &argv, 2);
    windows(0);
    windows(1);
    return finish();
}
