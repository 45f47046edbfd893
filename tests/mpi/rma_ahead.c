// SPDX-License-Identifier: BSD-3-Clause
// Description: a rank goes on behind a lock that another one holds: what it puts, accumulates and reads must come
// after all the holder does, however early it was sent. Rank 0 owns the memory, and computes every second round;
// rank 1 holds the lock; rank 2 queues behind it.
#include "check.h"

enum { CELLS = 1 << 15, TOLD = 5, ROUNDS = 12, HOLDERS = 1000, NEXT = 2000, DONE = CELLS - 1 };

static MPI_Win win;
static int64_t *memory;

static void tell(int rank) { MPI(MPI_Send(NULL, 0, MPI_BYTE, rank, TOLD, MPI_COMM_WORLD)); }
static void hear(int rank) { MPI(MPI_Recv(NULL, 0, MPI_BYTE, rank, TOLD, MPI_COMM_WORLD, MPI_STATUS_IGNORE)); }

static void number(int64_t *cells, int n, int64_t first) {
    for (int i = 0; i < n; ++i) {
        cells[i] = first + i;
    }
}

static void check_numbers(const char *what, const int64_t *cells, int n, int64_t first) {
    for (int i = 0; i < n; ++i) {
        CHECK(cells[i] == first + i, "%s: cell %d is %" PRId64 ", expected %" PRId64, what, i, cells[i], first + i);
    }
}

// Until all cells that rank 2 puts are what rank 1 put, and again before it lets go.
static void hold(int n) {
    int64_t *cells = malloc((size_t) n * sizeof(*cells));
    int64_t sum = -1;
    const int64_t hundred = 100;
    MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
    number(cells, n, HOLDERS);
    MPI(MPI_Put(cells, n, MPI_INT64_T, 0, 0, n, MPI_INT64_T, win));
    MPI(MPI_Accumulate(&hundred, 1, MPI_INT64_T, 0, CELLS - 2, 1, MPI_INT64_T, MPI_SUM, win));
    MPI(MPI_Win_flush(0, win));
    tell(2);
    hear(2); // it has gone as far as it may
    usleep(20000);
    memset(cells, 0, (size_t) n * sizeof(*cells));
    MPI(MPI_Get(cells, n, MPI_INT64_T, 0, 0, n, MPI_INT64_T, win));
    MPI(MPI_Get(&sum, 1, MPI_INT64_T, 0, CELLS - 2, 1, MPI_INT64_T, win));
    MPI(MPI_Win_flush(0, win));
    check_numbers("under the lock", cells, n, HOLDERS);
    CHECK(100 == sum, "under the lock: the sum is %" PRId64, sum);
    MPI(MPI_Win_unlock(0, win));
    free(cells);
}

static void queue(int n, int exclusive) {
    int64_t *cells = malloc((size_t) n * sizeof(*cells)), *before = malloc((size_t) n * sizeof(*cells));
    int64_t *after = malloc((size_t) n * sizeof(*cells));
    const int64_t one = 1;
    int64_t fetched = -1;
    MPI_Datatype halves; // every other cell: many pieces
    number(cells, n, NEXT);
    MPI(MPI_Type_vector((n + 1) / 2, 1, 2, MPI_INT64_T, &halves));
    MPI(MPI_Type_commit(&halves));
    hear(1);
    MPI(MPI_Win_lock(exclusive ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, 0, 0, win));
    MPI(MPI_Get(before, n, MPI_INT64_T, 0, 0, n, MPI_INT64_T, win));
    MPI(MPI_Fetch_and_op(&one, &fetched, MPI_INT64_T, 0, CELLS - 2, MPI_SUM, win));
    tell(1);
    MPI(MPI_Win_flush(0, win));
    check_numbers("before", before, n, HOLDERS);
    CHECK(100 == fetched, "fetched %" PRId64, fetched);
    MPI(MPI_Put(cells, 1, halves, 0, 0, 1, halves, win));
    MPI(MPI_Win_flush(0, win));
    if (n > 1) {
        MPI(MPI_Put(cells + 1, n - 1, MPI_INT64_T, 0, 1, n - 1, MPI_INT64_T, win));
        MPI(MPI_Win_flush(0, win));
    }
    MPI(MPI_Get(after, n, MPI_INT64_T, 0, 0, n, MPI_INT64_T, win));
    MPI(MPI_Win_unlock(0, win));
    check_numbers("after", after, n, NEXT);
    MPI(MPI_Type_free(&halves));
    free(cells);
    free(before);
    free(after);
}

// As the round above, but all of the second epoch is begun, its end too, before the lock is let go. In pieces: one
// to three cells each.
static void queue_stores(int n, int pieces) {
    int64_t *cells = malloc((size_t) n * sizeof(*cells));
    const int64_t one = 1;
    number(cells, n, NEXT);
    hear(1);
    MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
    for (int at = 0, i = 0, now; at < n; at += now, ++i) {
        now = pieces && 1 + i % 3 < n - at ? 1 + i % 3 : pieces ? 1 : n;
        MPI(MPI_Put(cells + at, now, MPI_INT64_T, 0, at, now, MPI_INT64_T, win));
    }
    MPI(MPI_Accumulate(&one, 1, MPI_INT64_T, 0, CELLS - 2, 1, MPI_INT64_T, MPI_SUM, win));
    tell(1);
    MPI(MPI_Win_unlock(0, win));
    free(cells);
}

static void one_round(int n, int round) {
    const int64_t one = 1;
    memset(memory, 0, CELLS * sizeof(*memory));
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (0 == my_rank && 0 == round % 2) {
        while (1 != *(volatile int64_t *) (memory + DONE)) { // it computes
        }
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
    } else if (1 == my_rank) {
        hold(n);
    } else if (2 == my_rank) {
        if (round < ROUNDS / 3) {
            queue_stores(n, round / 2 % 2);
        } else {
            queue(n, round % 3);
        }
        MPI(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
        MPI(MPI_Accumulate(&one, 1, MPI_INT64_T, 0, DONE, 1, MPI_INT64_T, MPI_SUM, win));
        MPI(MPI_Win_unlock(0, win));
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (0 == my_rank) {
        MPI(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
        check_numbers("in the end", memory, n, NEXT);
        CHECK(101 == memory[CELLS - 2], "the sum is %" PRId64, memory[CELLS - 2]);
        MPI(MPI_Win_unlock(0, win));
    }
}

int main(int argc, char **argv) {
    static const int sizes[] = {1, 100, 600, 2500, 20000}; // 16 KiB may go ahead
    MPI_Init(&argc, &argv);
    learn_world(3);
    memory = malloc(CELLS * sizeof(*memory));
    MPI(MPI_Win_create(memory, CELLS * sizeof(*memory), sizeof(*memory), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); ++i) {
        for (int round = 0; round < ROUNDS; ++round) {
            one_round(sizes[i], round);
        }
    }
    MPI(MPI_Win_free(&win));
    free(memory);
    return finish();
}
