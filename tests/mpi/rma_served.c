// SPDX-License-Identifier: BSD-3-Clause
// Description: a rank that computes, or does nothing but operations which need nobody else, serves the others all the
// same.
//   loop     rank 0 puts into its neighbour's memory and calls nothing else, until rank 2, whose operations on a
//   dynamic
//            window need rank 0's engine, has ended its epoch
//   poll     the same, but rank 0 gets with requests, which are over when they are waited for
//   many     rank 0 computes until rank 1's many small operations are there: its thread takes them in together, not a
//   few
//            whenever its timer wakes it. Not with argv[1]: unthreaded
#include "counters.h"

enum { SERVED = 1, OPERATIONS = 500, ROUNDS = 8, PATIENCE_S = 20 };

static volatile int64_t *flag; // in memory of rank 0 that all have: 1 when the round's operations are done
static MPI_Win flags, window;
static MPI_Aint there; // of rank 0's memory in the dynamic window

static void tell(int64_t value) {
    MPI(MPI_Put(&value, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, flags));
    MPI(MPI_Win_flush(0, flags));
}

// One epoch of `count` gets and puts of 8 bytes each, checked.
static void operate(int count, int64_t value) {
    int64_t got = -1;
    MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window));
    for (int i = 0; i < count; ++i) {
        int64_t *mine = malloc(sizeof(*mine));
        *mine = value + i;
        MPI(MPI_Put(mine, 1, MPI_INT64_T, 0, there + (MPI_Aint) (8 * i), 1, MPI_INT64_T, window));
        MPI(MPI_Win_flush_local(0, window));
        free(mine);
    }
    MPI(MPI_Get(&got, 1, MPI_INT64_T, 0, there + (MPI_Aint) (8 * (count - 1)), 1, MPI_INT64_T, window));
    MPI(MPI_Win_unlock(0, window));
    CHECK(value + count - 1 == got, "%" PRId64 " instead of %" PRId64 " after %d operations", got, value + count - 1,
          count);
}

static void loop(int round, int by_requests) {
    int64_t value = round, got;
    if (0 == my_rank) {
        *flag = 0;
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (0 == my_rank) {
        unsigned long puts = 0;
        for (const double end = now() + PATIENCE_S; 0 == *flag; ++puts) {
            if (by_requests) {
                MPI_Request request;
                MPI(MPI_Rget(&got, 1, MPI_INT64_T, 1, 1, 1, MPI_INT64_T, flags, &request));
                MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
            } else {
                MPI(MPI_Put(&value, 1, MPI_INT64_T, 1, 1, 1, MPI_INT64_T, flags));
            }
            CHECK(0 != puts % 4096 || now() < end, "nobody was served beside %lu operations", puts);
        }
    } else if (2 == my_rank) {
        operate(3, 10 * round);
        tell(SERVED);
    }
    MPI(MPI_Win_flush_all(flags));
    MPI(MPI_Barrier(MPI_COMM_WORLD));
}

static unsigned long long many(int round) {
    unsigned long long before = 0, woken = 0;
    if (0 == my_rank) {
        *flag = 0;
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (0 == my_rank) {
        before = counter_named("wakes_timer");
        for (const double end = now() + PATIENCE_S; 0 == *flag;) {
            CHECK(now() < end, "no operations came while rank 0 computed");
        }
        woken = counter_named("wakes_timer") - before;
    } else if (1 == my_rank) {
        operate(OPERATIONS, 1000 * round);
        tell(SERVED);
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    return woken;
}

int main(int argc, char **argv) {
    begin(&argc, &argv, 3);
    const int threaded = argc < 2 || 0 != strcmp(argv[1], "unthreaded");
    begin_counters();
    void *base;
    MPI(MPI_Win_allocate(2 * sizeof(int64_t), sizeof(int64_t), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &flags));
    flag = base;
    memset(base, 0, 2 * sizeof(int64_t));
    MPI(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window));
    int64_t *memory = calloc(OPERATIONS, sizeof(*memory));
    MPI(MPI_Win_attach(window, memory, OPERATIONS * sizeof(*memory)));
    MPI(MPI_Get_address(memory, &there));
    MPI(MPI_Bcast(&there, 1, MPI_AINT, 0, MPI_COMM_WORLD));
    MPI(MPI_Win_lock_all(0, flags));
    test_note = "rank 0 puts";
    for (int round = 1; round <= ROUNDS; ++round) {
        loop(round, 0);
    }
    test_note = "rank 0 gets and waits";
    for (int round = 1; round <= ROUNDS; ++round) {
        loop(round, 1);
    }
    test_note = "rank 0 computes";
    unsigned long long least = threaded ? ~0ULL : 0;
    for (int round = 1; threaded && round <= ROUNDS; ++round) {
        const unsigned long long woken = many(round);
        least = woken < least ? woken : least;
    }
    if (0 == my_rank) {
        printf("# %d operations: woken %llu times by the clock in the best of %d rounds\n", OPERATIONS, least, ROUNDS);
        CHECK(least < OPERATIONS / 32 / 2, "woken %llu times by the clock for %d operations", least, OPERATIONS);
    }
    MPI(MPI_Win_unlock_all(flags));
    MPI(MPI_Win_detach(window, memory));
    MPI(MPI_Win_free(&window));
    MPI(MPI_Win_free(&flags));
    free(memory);
    end_counters();
    return finish();
}
