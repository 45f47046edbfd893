// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
// Description: memory that ranks share and load and store in without a call: what post, start, complete, wait, fence
// and locks order.
// rma_shared ROUNDS
#include "check.h"

#include <unistd.h>

enum { LATE_US = 3000 };

static MPI_Win win;
static volatile int *mine, *theirs; // theirs: of the rank to the left

static int neighbour(int by) { return (my_rank + by + n_ranks) % n_ranks; }

static MPI_Group only(int rank) {
    MPI_Group world, one;
    MPI(MPI_Comm_group(MPI_COMM_WORLD, &world));
    MPI(MPI_Group_incl(world, 1, &rank, &one));
    MPI(MPI_Group_free(&world));
    return one;
}

// Even ranks expose what the odd ones to their right load and store in; each is late in turn.
static void exposed(int round) {
    const int last = 1000 * round, next = 1000 * round + 1;
    if (0 == my_rank % 2 && my_rank + 1 < n_ranks) {
        MPI_Group origin = only(neighbour(1));
        *mine = -1;
        MPI(MPI_Barrier(MPI_COMM_WORLD));
        usleep(round % 2 ? LATE_US : 0);
        CHECK(-1 == *mine, "round %d: stored before the post: %d", round, *mine);
        *mine = last;
        MPI(MPI_Win_post(origin, 0, win));
        MPI(MPI_Win_wait(win));
        CHECK(next == *mine, "round %d: after the wait %d, expected %d", round, *mine, next);
        MPI(MPI_Group_free(&origin));
    } else if (1 == my_rank % 2) {
        MPI_Group target = only(neighbour(-1));
        MPI(MPI_Barrier(MPI_COMM_WORLD));
        MPI(MPI_Win_start(target, 0, win));
        CHECK(last == *theirs, "round %d: after the start %d, expected %d", round, *theirs, last);
        *theirs = next;
        usleep(round % 3 ? 0 : LATE_US);
        MPI(MPI_Win_complete(win));
        MPI(MPI_Group_free(&target));
    } else {
        MPI(MPI_Barrier(MPI_COMM_WORLD));
    }
}

static void fenced(int round) {
    MPI(MPI_Win_fence(0, win));
    usleep(round % n_ranks == my_rank ? LATE_US : 0);
    *mine = 7 * round + my_rank;
    MPI(MPI_Win_fence(0, win));
    CHECK(7 * round + neighbour(-1) == *theirs, "round %d: after a fence %d", round, *theirs);
    MPI(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
}

// Each adds one, and holds the number it read for a while.
static void locked(int round) {
    *mine = 0;
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < 2; ++i) {
        volatile int *first;
        MPI_Aint bytes;
        int unit;
        MPI(MPI_Win_shared_query(win, 0, &bytes, &unit, &first));
        MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
        const int before = *first;
        usleep(round % 2 ? 100 : 0);
        *first = before + 1;
        MPI(MPI_Win_unlock(0, win));
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(0 != my_rank || 2 * n_ranks == *mine, "round %d: %d of %d", round, *mine, 2 * n_ranks);
}

// Some say that the parts need not be next to each other, others do not: all mean the same memory.
static void hints_differ(void) {
    enum { INTS = 10 };
    MPI_Win window;
    MPI_Info info;
    MPI_Aint bytes;
    int unit, *own, *next;
    MPI(MPI_Info_create(&info));
    MPI(MPI_Info_set(info, "alloc_shared_noncontig", "true"));
    MPI(MPI_Win_allocate_shared(INTS * sizeof(int), sizeof(int), 0 == my_rank ? info : MPI_INFO_NULL, MPI_COMM_WORLD,
                                &own, &window));
    MPI(MPI_Info_free(&info));
    MPI(MPI_Win_shared_query(window, neighbour(1), &bytes, &unit, &next));
    MPI(MPI_Win_lock_all(0, window));
    for (int i = 0; i < INTS; ++i) {
        next[i] = 100 * my_rank + i;
    }
    MPI(MPI_Win_sync(window));
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    MPI(MPI_Win_sync(window));
    for (int i = 0; i < INTS; ++i) {
        const int expected = 100 * neighbour(-1) + i;
        CHECK(expected == own[i], "element %d is %d, not %d", i, own[i], expected);
    }
    MPI(MPI_Win_unlock_all(window));
    MPI(MPI_Win_free(&window));
}

int main(int argc, char **argv) {
    MPI_Aint bytes;
    int unit;
    begin(&argc, &argv, 2);
    const int rounds = argc > 1 ? atoi(argv[1]) : 20;
    MPI(MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win));
    MPI(MPI_Win_shared_query(win, neighbour(-1), &bytes, &unit, &theirs));
    for (int round = 1; round <= rounds; ++round) {
        exposed(round);
        fenced(round);
        locked(round);
    }
    MPI(MPI_Win_free(&win));
    hints_differ();
    return finish();
}
