// SPDX-License-Identifier: BSD-3-Clause
// Description: large puts and gets to every rank in one epoch, those of the own node too, which wait for the network
// to have its work: in the order of the calls where a flush asks for it, all there when the epoch ends, whether the
// origin waits at once or computes first.
#include "check.h"

enum { EPOCHS = 4 };
static const char *const epoch_names[EPOCHS] = {"fence", "start", "lock", "lock_all"};

static MPI_Win win;
static unsigned char *memory; // n_ranks parts: [0, half) is written by that rank, [half, part) read by it
static unsigned char *mine;   // the same
static size_t part, half;
static MPI_Group others;

static uint64_t put_key(int from, int to, int round) { return key_of(310, from * 64 + to, (uint64_t) round, 0); }
static uint64_t get_key(int from, int to, int round) { return key_of(311, from * 64 + to, (uint64_t) round, 0); }

static void compute(int round) {
    if (0 != round % 3) {
        const double until = MPI_Wtime() + 0.002 * (round % 3);
        while (MPI_Wtime() < until) {}
    }
}

static void move(int to) {
    unsigned char *place = mine + (size_t) to * part;
    const MPI_Aint there = (MPI_Aint) ((size_t) my_rank * part);
    MPI(MPI_Put(place, (int) half, MPI_BYTE, to, there, (int) half, MPI_BYTE, win));
    MPI(MPI_Get(place + half, (int) (part - half), MPI_BYTE, to, there + (MPI_Aint) half, (int) (part - half), MPI_BYTE,
                win));
}

// Under a lock: the second put stands behind the first, whoever makes the copies, and a request ends with its own.
static void move_in_order(int to, int round) {
    unsigned char *place = mine + (size_t) to * part;
    unsigned char *zeros = calloc(1, half);
    const MPI_Aint there = (MPI_Aint) ((size_t) my_rank * part);
    MPI_Request request;
    MPI(MPI_Put(zeros, (int) half, MPI_BYTE, to, there, (int) half, MPI_BYTE, win));
    compute(round);
    MPI(MPI_Win_flush(to, win));
    free(zeros);
    MPI(MPI_Rput(place, (int) half, MPI_BYTE, to, there, (int) half, MPI_BYTE, win, &request));
    MPI(MPI_Get(place + half, (int) (part - half), MPI_BYTE, to, there + (MPI_Aint) half, (int) (part - half), MPI_BYTE,
                win));
    for (int flag = 0; !flag;) {
        MPI(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
    }
    MPI(MPI_Win_flush_local(to, win));
    CHECK(-1 == first_wrong(place + half, part - half, get_key(my_rank, to, round), 0),
          "flushed, and not there: from %d", to);
}

static void epoch(int kind, int round) {
    if (0 == kind) {
        MPI(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
    } else if (1 == kind) {
        MPI(MPI_Win_post(others, 0, win));
        MPI(MPI_Win_start(others, 0, win));
    } else if (3 == kind) {
        MPI(MPI_Win_lock_all(0, win));
    }
    for (int i = 0; i < n_ranks; ++i) {
        const int to = (my_rank + i) % n_ranks; // itself, then its neighbours, then the far ones
        if (2 == kind) {
            MPI(MPI_Win_lock(0 == round % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, to, 0, win));
        }
        if (kind >= 2) {
            move_in_order(to, round);
        } else if (0 == kind || to != my_rank) {
            move(to);
        }
        if (2 == kind) {
            compute(round);
            MPI(MPI_Win_unlock(to, win));
        }
    }
    compute(round);
    if (0 == kind) {
        MPI(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    } else if (1 == kind) {
        MPI(MPI_Win_complete(win));
        MPI(MPI_Win_wait(win));
    } else if (3 == kind) {
        MPI(MPI_Win_unlock_all(win));
    }
}

static void one_round(int kind, int round) {
    for (int r = 0; r < n_ranks; ++r) {
        fill(mine + (size_t) r * part, half, put_key(my_rank, r, round));
        fill(memory + (size_t) r * part + half, part - half, get_key(r, my_rank, round));
        memset(memory + (size_t) r * part, 0, half);
        memset(mine + (size_t) r * part + half, 0, part - half);
    }
    MPI(MPI_Win_lock(MPI_LOCK_SHARED, my_rank, 0, win)); // what the processor wrote is the window's
    MPI(MPI_Win_unlock(my_rank, win));
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    epoch(kind, round);
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    MPI(MPI_Win_lock(MPI_LOCK_SHARED, my_rank, 0, win));
    for (int r = 0; r < n_ranks; ++r) {
        if (1 == kind && r == my_rank) {
            continue;
        }
        const int64_t put = first_wrong(memory + (size_t) r * part, half, put_key(r, my_rank, round), 0);
        const int64_t got = first_wrong(mine + (size_t) r * part + half, part - half, get_key(my_rank, r, round), 0);
        CHECK(-1 == put, "%s: what %d put is wrong at %" PRId64 " of %zu", epoch_names[kind], r, put, half);
        CHECK(-1 == got, "%s: what was got of %d is wrong at %" PRId64 " of %zu", epoch_names[kind], r, got,
              part - half);
    }
    MPI(MPI_Win_unlock(my_rank, win));
    MPI(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv) {
    static const size_t sizes[] = {262144, 300001, 1500000};
    MPI_Group world;
    MPI_Init(&argc, &argv);
    learn_world(2);
    MPI(MPI_Comm_group(MPI_COMM_WORLD, &world));
    MPI(MPI_Group_excl(world, 1, &my_rank, &others));
    for (int allocated = 0; allocated < 2; ++allocated) {
        part = 2 * sizes[2];
        const MPI_Aint bytes = (MPI_Aint) ((size_t) n_ranks * part);
        mine = malloc((size_t) bytes);
        if (allocated) {
            MPI(MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
        } else {
            memory = malloc((size_t) bytes);
            MPI(MPI_Win_create(memory, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        }
        for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); ++s) {
            half = sizes[s];
            part = 2 * half;
            for (int kind = 0; kind < EPOCHS; ++kind) {
                one_round(kind, (int) s + kind + allocated);
            }
        }
        MPI(MPI_Win_free(&win));
        if (!allocated) {
            free(memory);
        }
        free(mine);
    }
    MPI(MPI_Group_free(&world));
    MPI(MPI_Group_free(&others));
    return finish();
}
