// SPDX-License-Identifier: BSD-3-Clause
// Description: passive means passive: ranks that never call MPI while they look at their memory until what
// others do to it is there. Without progress beside the application each part hangs.
// Argument: the part, or all of them.
#include "check.h"

enum { LARGE = 1 << 20, ROUNDS = 8 };

static int64_t *memory; // of this rank
static MPI_Win win;
static int64_t *told; // of this rank: what another one tells it
static MPI_Win tell_win;

// Computes until another rank has brought a cell of the own memory to a value. No call of MPI.
static void compute_until(int cell, int64_t value) {
    volatile int64_t *p = memory + cell;
    volatile double work = 1;
    while (*p != value) {
        for (int i = 0; i < 1000; ++i) {
            work = work * 1.0000001 + 0.1;
        }
    }
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
}

static void clear(void) {
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    memset(memory, 0, 4096 * sizeof(*memory));
    MPI(MPI_Barrier(MPI_COMM_WORLD));
}

// Every other rank adds under a lock, flushes, and reads back, while rank 0 computes.
static void accumulate(void) {
    test_note = "accumulates to a target that computes";
    for (int round = 0; round < ROUNDS; ++round) {
        clear();
        if (0 == my_rank) {
            compute_until(0, n_ranks - 1);
            compute_until(1, n_ranks - 1);
            continue;
        }
        const int64_t one = 1;
        int64_t before = -1, again = -1;
        MPI(MPI_Win_lock(round % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, 0, 0, win));
        MPI(MPI_Fetch_and_op(&one, &before, MPI_INT64_T, 0, 0, MPI_SUM, win));
        MPI(MPI_Win_flush(0, win));
        CHECK(before >= 0 && before < n_ranks - 1, "fetched %" PRId64, before);
        MPI(MPI_Get(&again, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, win));
        MPI(MPI_Win_flush(0, win));
        CHECK(again > before, "read %" PRId64 " after %" PRId64, again, before);
        MPI(MPI_Accumulate(&one, 1, MPI_INT64_T, 0, 1, 1, MPI_INT64_T, MPI_SUM, win));
        MPI(MPI_Win_unlock(0, win));
    }
}

// A lock goes from holder to holder while its target computes: a counter under it is never torn.
static void exclusive(void) {
    test_note = "an exclusive lock handed on while its target computes";
    clear();
    const int64_t all = (int64_t) (n_ranks - 1) * ROUNDS;
    if (0 == my_rank) {
        compute_until(0, all);
    } else {
        for (int round = 0; round < ROUNDS; ++round) {
            int64_t value = -1;
            MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
            MPI(MPI_Get(&value, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, win));
            MPI(MPI_Win_flush(0, win));
            ++value;
            MPI(MPI_Put(&value, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, win));
            MPI(MPI_Win_unlock(0, win));
        }
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(0 != my_rank || all == memory[0], "%" PRId64 " increments, expected %" PRId64, memory[0], all);
}

// A word for one rank: it is there when this returns, whatever that rank does.
static void tell(int rank, int64_t value) {
    MPI(MPI_Put(&value, 1, MPI_INT64_T, rank, 0, 1, MPI_INT64_T, tell_win));
    MPI(MPI_Win_flush(rank, tell_win));
}

// Computes until it comes. No call of MPI.
static void compute_until_told(int64_t value) {
    while (*(volatile int64_t *) told != value) {}
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
}

static void make_tell(void) {
    MPI(MPI_Win_allocate(sizeof(*told), sizeof(*told), MPI_INFO_NULL, MPI_COMM_WORLD, &told, &tell_win));
    *told = 0;
    // a lock of its own would wait for those of the other window, asked for before it
    MPI(MPI_Win_lock_all(0, tell_win));
    MPI(MPI_Barrier(MPI_COMM_WORLD));
}

static void free_tell(void) {
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    MPI(MPI_Win_unlock_all(tell_win));
    MPI(MPI_Win_free(&tell_win));
}

// Late post: the origin's put waits for the target's post, which comes when the origin computes. The
// target sees the data without a call, and only then lets the origin go on.
static void late_post(void) {
    test_note = "a put that is put off while its origin computes";
    MPI_Group world, other;
    const int side = my_rank % 2, peer = my_rank ^ 1;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    make_tell();
    for (int round = 1; round <= ROUNDS; ++round) {
        clear();
        if (peer >= n_ranks) {
            continue;
        }
        int64_t value = round;
        MPI_Group_incl(world, 1, &peer, &other);
        if (0 == side) {
            MPI(MPI_Win_start(other, 0, win));
            MPI(MPI_Put(&value, 1, MPI_INT64_T, peer, 5, 1, MPI_INT64_T, win));
            tell(peer, round);
            compute_until_told(round);
            MPI(MPI_Win_complete(win));
        } else {
            compute_until_told(round);
            MPI(MPI_Win_post(other, 0, win));
            compute_until(5, round);
            tell(peer, round);
            MPI(MPI_Win_wait(win));
        }
        MPI_Group_free(&other);
    }
    MPI_Group_free(&world);
    free_tell();
}

// A fence that ends nothing does not wait: rank 0's put behind it goes when rank 1 has come to it, while
// rank 0 computes.
static void late_fence(void) {
    test_note = "a put behind a fence that the target enters later";
    make_tell();
    for (int round = 1; round <= ROUNDS; ++round) {
        clear();
        int64_t value = round;
        if (1 == my_rank) {
            compute_until_told(round);
        }
        MPI(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
        if (0 == my_rank) {
            MPI(MPI_Put(&value, 1, MPI_INT64_T, 1, 7, 1, MPI_INT64_T, win));
            tell(1, round);
            compute_until_told(round);
        } else if (1 == my_rank) {
            compute_until(7, round);
            tell(0, round);
        }
        MPI(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    }
    free_tell();
}

// A lock is waited for by the engine: rank 1's put goes when rank 0 lets go, while rank 1 computes.
static void late_lock(void) {
    test_note = "a put that waits for a lock while its origin computes";
    make_tell();
    for (int round = 1; round <= ROUNDS; ++round) {
        clear();
        int64_t value = round;
        if (0 == my_rank) {
            MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
        }
        MPI(MPI_Barrier(MPI_COMM_WORLD));
        if (0 == my_rank) {
            compute_until_told(round);
            MPI(MPI_Win_unlock(0, win));
            compute_until(9, round);
            tell(1, round);
        } else if (1 == my_rank) {
            MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
            MPI(MPI_Put(&value, 1, MPI_INT64_T, 0, 9, 1, MPI_INT64_T, win));
            tell(0, round);
            compute_until_told(round);
            MPI(MPI_Win_unlock(0, win));
        }
    }
    free_tell();
}

// The same with a lock that a third process holds: it goes from holder to waiter while the target computes, and so does
// the waiter, whose put follows.
static void lock_of_a_third(void) {
    test_note = "a lock handed from one origin to another, which computes, as the target does";
    if (n_ranks < 3) {
        return;
    }
    make_tell();
    for (int round = 1; round <= ROUNDS; ++round) {
        clear();
        int64_t value = 10 * round + my_rank;
        if (1 == my_rank) {
            MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
            MPI(MPI_Put(&value, 1, MPI_INT64_T, 0, 11, 1, MPI_INT64_T, win));
            MPI(MPI_Win_flush(0, win));
        }
        MPI(MPI_Barrier(MPI_COMM_WORLD));
        if (0 == my_rank) {
            compute_until(12, 10 * round + 2);
            CHECK(10 * round + 1 == memory[11], "the waiter's put is here, the holder's before it is not: %" PRId64,
                  memory[11]);
            tell(2, round);
        } else if (1 == my_rank) {
            compute_until_told(round);
            MPI(MPI_Win_unlock(0, win));
        } else if (2 == my_rank) {
            MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
            MPI(MPI_Put(&value, 1, MPI_INT64_T, 0, 12, 1, MPI_INT64_T, win));
            tell(1, round);
            compute_until_told(round);
            MPI(MPI_Win_unlock(0, win));
        }
    }
    free_tell();
}

// What is asked for comes while the origin computes, as the target does: the lock, and then a get of more than
// transports hold for it. (A few bytes lie there until the origin's next call.)
static void answers(void) {
    test_note = "a get that is answered while its origin computes";
    enum { CELLS = LARGE / 8 };
    volatile int64_t *got = calloc(CELLS, sizeof(*got));
    for (int round = 1; round <= ROUNDS; ++round) {
        MPI(MPI_Barrier(MPI_COMM_WORLD));
        for (int i = 0; 0 == my_rank && i < CELLS; ++i) {
            memory[i] = 1000000 * round + i;
        }
        memory[CELLS] = 0;
        memset((void *) got, 0, LARGE);
        MPI(MPI_Barrier(MPI_COMM_WORLD));
        if (0 == my_rank) {
            compute_until(CELLS, n_ranks - 1); // all have seen theirs
        } else {
            const int64_t one = 1;
            MPI(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
            MPI(MPI_Get((void *) got, CELLS, MPI_INT64_T, 0, 0, CELLS, MPI_INT64_T, win));
            for (int i = 0; i < CELLS; ++i) {
                while (1000000 * round + i != got[i]) {}
            }
            MPI(MPI_Accumulate(&one, 1, MPI_INT64_T, 0, CELLS, 1, MPI_INT64_T, MPI_SUM, win));
            MPI(MPI_Win_unlock(0, win));
        }
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    memory[CELLS] = 0;
    free((void *) got);
}

// More than a transport holds: large accumulates, strided gets and many small ones at once.
static void much(void) {
    test_note = "more than the transport holds, to a target that computes";
    MPI_Datatype strided;
    MPI_Type_vector(LARGE / 16, 1, 2, MPI_INT64_T, &strided);
    MPI_Type_commit(&strided);
    int64_t *out = calloc(LARGE / 8, 8), *in = calloc(LARGE / 8, 8), one = 1;
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    memset(memory, 0, LARGE);
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (0 == my_rank) {
        compute_until(LARGE / 8, n_ranks - 1);
        for (int i = 0; i < LARGE / 8; i += 2) {
            CHECK(memory[i] == n_ranks - 1, "cell %d is %" PRId64, i, memory[i]);
        }
        CHECK(memory[1] == 5000 * (n_ranks - 1), "many small ones added up to %" PRId64, memory[1]);
    } else {
        for (int i = 0; i < LARGE / 16; ++i) {
            out[i] = 1;
        }
        MPI(MPI_Win_lock_all(0, win));
        MPI(MPI_Accumulate(out, LARGE / 16, MPI_INT64_T, 0, 0, 1, strided, MPI_SUM, win));
        for (int i = 0; i < 5000; ++i) {
            MPI(MPI_Accumulate(&one, 1, MPI_INT64_T, 0, 1, 1, MPI_INT64_T, MPI_SUM, win));
        }
        MPI(MPI_Win_flush(0, win));
        MPI(MPI_Get_accumulate(NULL, 0, MPI_INT64_T, in, LARGE / 16, MPI_INT64_T, 0, 0, 1, strided, MPI_NO_OP, win));
        MPI(MPI_Win_flush(0, win));
        for (int i = 0; i < LARGE / 16; ++i) {
            CHECK(in[i] >= 1 && in[i] <= n_ranks - 1, "element %d is %" PRId64, i, in[i]);
        }
        MPI(MPI_Accumulate(&one, 1, MPI_INT64_T, 0, LARGE / 8, 1, MPI_INT64_T, MPI_SUM, win));
        MPI(MPI_Win_unlock_all(win));
    }
    MPI_Type_free(&strided);
    free(out);
    free(in);
}

int main(int argc, char **argv) {
    const struct {
        const char *name;
        void (*run)(void);
    } parts[] = {{"accumulate", accumulate}, {"exclusive", exclusive},
                 {"late_post", late_post},   {"late_fence", late_fence},
                 {"late_lock", late_lock},   {"lock_of_a_third", lock_of_a_third},
                 {"answers", answers},       {"much", much}};

    begin(&argc, &argv, 2);
    for (int kind = 0; kind < 2; ++kind) {
        const size_t bytes = LARGE + 4096;
        if (0 == kind) {
            memory = malloc(bytes);
            MPI(MPI_Win_create(memory, (MPI_Aint) bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        } else {
            MPI(MPI_Win_allocate((MPI_Aint) bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
        }
        for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); ++i) {
            if (argc < 2 || 0 == strcmp(argv[1], "all") || 0 == strcmp(argv[1], parts[i].name)) {
                parts[i].run();
                MPI(MPI_Barrier(MPI_COMM_WORLD));
            }
        }
        MPI(MPI_Win_free(&win));
    }
    return finish();
}
