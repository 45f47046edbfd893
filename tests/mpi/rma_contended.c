// SPDX-License-Identifier: BSD-3-Clause
// Description: everybody wants the same locks and the same cells at once. Counters that are read, raised and
// stored under an exclusive lock, accumulates beside fetches and swaps of the same cell, readers under shared
// locks who must never see half of what a writer stored, while rank 0, whom most concerns, computes.
#include "check.h"

enum { ROUNDS = 200, CELLS = 64, COUNTER = 0, SUM = 8, SWAPPED = 16, PAIR = 24, BIG = 32, STOP = 60 };

static MPI_Win win;
static int64_t *memory;

static void raise_counter(int target) {
    int64_t value = -1;
    MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
    MPI(MPI_Get(&value, 1, MPI_INT64_T, target, COUNTER, 1, MPI_INT64_T, win));
    MPI(MPI_Win_flush(target, win));
    ++value;
    MPI(MPI_Put(&value, 1, MPI_INT64_T, target, COUNTER, 1, MPI_INT64_T, win));
    MPI(MPI_Win_unlock(target, win));
}

// Two cells that are always equal to whoever holds the lock.
static void pair(int target, int round) {
    int64_t two[2] = {round * (int64_t) n_ranks + my_rank, 0};
    two[1] = two[0];
    if (0 == (round + my_rank) % 3) {
        MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
        MPI(MPI_Put(&two[0], 1, MPI_INT64_T, target, PAIR, 1, MPI_INT64_T, win));
        MPI(MPI_Put(&two[1], 1, MPI_INT64_T, target, PAIR + 1, 1, MPI_INT64_T, win));
    } else {
        MPI(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win));
        MPI(MPI_Get(&two[0], 1, MPI_INT64_T, target, PAIR, 1, MPI_INT64_T, win));
        MPI(MPI_Get(&two[1], 1, MPI_INT64_T, target, PAIR + 1, 1, MPI_INT64_T, win));
    }
    MPI(MPI_Win_unlock(target, win));
    CHECK(two[0] == two[1], "a reader saw %" PRId64 " and %" PRId64, two[0], two[1]);
}

// Additions of three kinds to one cell; the tickets of the second are all different, and so they add up.
static void combine(int target, int64_t *tickets) {
    const int64_t one = 1;
    int64_t before = -1, old, now;
    int64_t many[BIG] = {0};
    MPI(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win));
    MPI(MPI_Accumulate(&one, 1, MPI_INT64_T, target, SUM, 1, MPI_INT64_T, MPI_SUM, win));
    MPI(MPI_Fetch_and_op(&one, &before, MPI_INT64_T, target, SUM + 1, MPI_SUM, win));
    MPI(MPI_Fetch_and_op(&one, &now, MPI_INT64_T, target, SWAPPED, MPI_NO_OP, win));
    MPI(MPI_Win_flush(target, win));
    do {
        const int64_t next = now + 1;
        old = now;
        MPI(MPI_Compare_and_swap(&next, &old, &now, MPI_INT64_T, target, SWAPPED, win));
        MPI(MPI_Win_flush(target, win));
    } while (old != now);
    MPI(MPI_Get_accumulate(&one, 1, MPI_INT64_T, many, 1, MPI_INT64_T, target, SWAPPED + 1, 1, MPI_INT64_T, MPI_SUM,
                           win));
    MPI(MPI_Win_unlock(target, win));
    CHECK(before >= 0 && before < (int64_t) ROUNDS * n_ranks, "fetched %" PRId64, before);
    *tickets += before;
}

static int64_t cell(int target, int at) {
    int64_t value = -1;
    MPI(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win));
    MPI(MPI_Get(&value, 1, MPI_INT64_T, target, at, 1, MPI_INT64_T, win));
    MPI(MPI_Win_unlock(target, win));
    return value;
}

static void round_of_all(int allocates) {
    const int workers = 1 == n_ranks ? 1 : n_ranks - 1;
    int64_t tickets = 0, sum = 0;
    const int64_t one = 1;

    if (allocates) {
        MPI(MPI_Win_allocate(CELLS * sizeof(*memory), sizeof(*memory), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    } else {
        memory = malloc(CELLS * sizeof(*memory));
        MPI(MPI_Win_create(memory, CELLS * sizeof(*memory), sizeof(*memory), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    }
    memset(memory, 0, CELLS * sizeof(*memory));
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (0 == my_rank && n_ranks > 1) {
        while (*(volatile int64_t *) (memory + STOP) < workers) { // it computes
        }
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
    } else {
        for (int i = 0; i < ROUNDS; ++i) {
            raise_counter(0);
            pair(0, i);
            combine(0, &tickets);
            if (0 == i % 8) {
                raise_counter(i % n_ranks);
            }
        }
        MPI(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
        MPI(MPI_Accumulate(&one, 1, MPI_INT64_T, 0, STOP, 1, MPI_INT64_T, MPI_SUM, win));
        MPI(MPI_Win_unlock(0, win));
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    MPI(MPI_Allreduce(&tickets, &sum, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD));
    const int64_t all = (int64_t) ROUNDS * workers;
    int64_t raised = 0;
    for (int i = 0; i < n_ranks; ++i) {
        raised += cell(i, COUNTER);
    }
    CHECK(raised == all + all / 8, "counters were raised %" PRId64 " of %" PRId64 " times", raised, all + all / 8);
    CHECK(cell(0, SUM) == all, "%" PRId64 " accumulates of %" PRId64, cell(0, SUM), all);
    CHECK(cell(0, SUM + 1) == all, "%" PRId64 " fetches of %" PRId64, cell(0, SUM + 1), all);
    CHECK(cell(0, SWAPPED) == all, "%" PRId64 " swaps of %" PRId64, cell(0, SWAPPED), all);
    CHECK(cell(0, SWAPPED + 1) == all, "%" PRId64 " of %" PRId64, cell(0, SWAPPED + 1), all);
    CHECK(sum == all * (all - 1) / 2, "two had the same ticket: their sum is %" PRId64, sum);
    MPI(MPI_Win_free(&win));
    if (!allocates) {
        free(memory);
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    learn_world(1);
    test_note = "memory of the window's";
    round_of_all(1);
    test_note = "memory of the program's";
    round_of_all(0);
    return finish();
}
