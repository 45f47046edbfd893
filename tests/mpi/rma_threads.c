// SPDX-License-Identifier: BSD-3-Clause
// Description: four threads of each rank add, fetch, flush and get in one window at once, under a lock of
// all ranks: nothing is lost, and what a thread has flushed it can read.
#include "check.h"

#include <pthread.h>

enum { THREADS = 4, ROUNDS = 300, FETCHED = 8, CELLS = 16 };

static MPI_Win win;
static int64_t *memory;

static void *work(void *argument) {
    const int id = *(int *) argument;
    const int64_t one = 1;

    for (int i = 0; i < ROUNDS; ++i) {
        const int target = (my_rank + i + id) % n_ranks;
        int64_t before = -1, there = 0;
        MPI_Request request;
        MPI(MPI_Accumulate(&one, 1, MPI_INT64_T, target, id, 1, MPI_INT64_T, MPI_SUM, win));
        MPI(MPI_Fetch_and_op(&one, &before, MPI_INT64_T, target, FETCHED, MPI_SUM, win));
        MPI(MPI_Win_flush(target, win));
        CHECK(before >= 0, "fetched %" PRId64, before);
        MPI(MPI_Rget(&there, 1, MPI_INT64_T, target, id, 1, MPI_INT64_T, win, &request));
        MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK(there > 0, "cell %d of rank %d is %" PRId64 " after a flush", id, target, there);
    }
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t threads[THREADS];
    int ids[THREADS], provided;
    int64_t mine[2] = {0, 0}, all[2];

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    learn_world(1);
    CHECK(MPI_THREAD_MULTIPLE == provided, "the thread level is %d", provided);
    MPI(MPI_Win_allocate(CELLS * sizeof(*memory), sizeof(*memory), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    memset(memory, 0, CELLS * sizeof(*memory));
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    MPI(MPI_Win_lock_all(0, win));
    for (int i = 0; i < THREADS; ++i) {
        ids[i] = i;
        CHECK(0 == pthread_create(&threads[i], NULL, work, &ids[i]), "no thread");
    }
    for (int i = 0; i < THREADS; ++i) {
        pthread_join(threads[i], NULL);
    }
    MPI(MPI_Win_unlock_all(win));
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < THREADS; ++i) {
        mine[0] += memory[i];
    }
    mine[1] = memory[FETCHED];
    MPI(MPI_Allreduce(mine, all, 2, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD));
    const int64_t want = (int64_t) THREADS * ROUNDS * n_ranks;
    CHECK(all[0] == want && all[1] == want, "%" PRId64 " and %" PRId64 " of %" PRId64 " additions are there", all[0],
          all[1], want);
    MPI(MPI_Win_free(&win));
    return finish();
}
