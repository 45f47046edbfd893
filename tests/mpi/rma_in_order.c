// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
// Description: what an epoch that returns requests did comes before what the next one does, and what was before a
// flush before what follows, though nobody has waited for either: a large put and then a small get and accumulate,
// which could be copied past it; a get and then a put to the same place, which could be stored first; an accumulate and
// then a get of the sum.
// rma_in_order ROUNDS
#include "mpix.h"

enum { CELLS = 4096, FEW = 256, ADDED = 1000000 };

enum how { LOCK, EXCLUSIVE, LOCK_ALL, FLUSH, LOCK_NOCHECK, EXPOSED_NOCHECK, HOWS };
static const char *names[HOWS] = {"shared locks", "exclusive locks",    "locks of all",
                                  "a flush",      "locks with NOCHECK", "exposures with NOCHECK"};
enum flavor { CREATED, ALLOCATED, DYNAMIC, FLAVORS };
static const char *flavors[FLAVORS] = {"created", "allocated", "dynamic"};

static MPI_Win win;
static int *memory;
static MPI_Aint base; // of the target's memory, as displacements count from it
static MPI_Request requests[16];
static int pending;

static MPI_Request *one_more(void) { return &requests[pending++]; }

static void begin_epoch(enum how how, MPI_Group target) {
    const int assert = LOCK_NOCHECK == how ? MPI_MODE_NOCHECK : 0;
    if (LOCK_ALL == how) {
        MPI(mpix.ilock_all(0, win, one_more()));
    } else if (EXPOSED_NOCHECK == how) {
        MPI(mpix.istart(target, MPI_MODE_NOCHECK, win, one_more()));
    } else {
        MPI(mpix.ilock(EXCLUSIVE == how ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, 0, assert, win, one_more()));
    }
}

static void end_epoch(enum how how) {
    if (LOCK_ALL == how) {
        MPI(mpix.iunlock_all(win, one_more()));
    } else if (EXPOSED_NOCHECK == how) {
        MPI(mpix.icomplete(win, one_more()));
    } else {
        MPI(mpix.iunlock(0, win, one_more()));
    }
}

static void next_epoch(enum how how, MPI_Group target) {
    if (FLUSH == how) {
        MPI(mpix.iflush(0, win, one_more()));
    } else {
        end_epoch(how);
        begin_epoch(how, target);
    }
}

static void origin(enum how how, int round, MPI_Group target) {
    static int out[CELLS], in[CELLS];
    int got = -1, added = ADDED, one = 1;
    for (int i = 0; i < CELLS; ++i) {
        out[i] = round;
        in[i] = -1;
    }
    pending = 0;
    begin_epoch(how, target);
    if (0 == round % 3) {
        MPI(MPI_Put(out, CELLS, MPI_INT, 0, base, CELLS, MPI_INT, win));
        next_epoch(how, target);
        MPI(MPI_Get(&got, 1, MPI_INT, 0, base + (CELLS - 1) * sizeof(int), 1, MPI_INT, win));
        MPI(MPI_Accumulate(&added, 1, MPI_INT, 0, base + (CELLS - 2) * sizeof(int), 1, MPI_INT, MPI_SUM, win));
    } else if (1 == round % 3) {
        MPI(MPI_Get(in, FEW, MPI_INT, 0, base, FEW, MPI_INT, win));
        next_epoch(how, target);
        MPI(MPI_Put(out, FEW, MPI_INT, 0, base, FEW, MPI_INT, win));
    } else {
        MPI(MPI_Accumulate(&one, 1, MPI_INT, 0, base + (CELLS - 1) * sizeof(int), 1, MPI_INT, MPI_SUM, win));
        next_epoch(how, target);
        MPI(MPI_Get(&got, 1, MPI_INT, 0, base + (CELLS - 1) * sizeof(int), 1, MPI_INT, win));
    }
    end_epoch(how);
    MPI(MPI_Waitall(pending, requests, MPI_STATUSES_IGNORE));
    if (0 == round % 3) {
        CHECK(round == got, "a get saw %d, and %d was put before", got, round);
    } else if (2 == round % 3) {
        CHECK(round - 1 == got, "a get saw %d, and one was added to %d before", got, round - 2);
    } else {
        for (int i = 0; i < FEW; ++i) {
            CHECK(round - 1 == in[i], "a get saw %d, and %d was to be put after it", in[i], round);
        }
    }
}

static void some_rounds(enum how how, int rounds) {
    const int last = n_ranks - 1;
    MPI_Group all, target, source;
    const int zero = 0;
    MPI(MPI_Comm_group(MPI_COMM_WORLD, &all));
    MPI(MPI_Group_incl(all, 1, &zero, &target));
    MPI(MPI_Group_incl(all, 1, &last, &source));
    for (int round = 0; round < rounds; ++round) {
        int done = 0;
        if (0 == my_rank && EXPOSED_NOCHECK == how) {
            MPI_Request ends[4];
            for (int i = 0; i < 2; ++i) {
                MPI(mpix.ipost(source, MPI_MODE_NOCHECK, win, &ends[2 * i]));
                MPI(mpix.iwait(win, &ends[2 * i + 1]));
            }
            MPI(MPI_Send(&done, 1, MPI_INT, last, 1, MPI_COMM_WORLD));
            MPI(MPI_Waitall(4, ends, MPI_STATUSES_IGNORE));
        }
        if (last == my_rank) {
            if (EXPOSED_NOCHECK == how) {
                MPI(MPI_Recv(&done, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            }
            origin(how, round, target);
            MPI(MPI_Send(&done, 1, MPI_INT, 0, 2, MPI_COMM_WORLD));
            MPI(MPI_Recv(&done, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        } else if (0 == my_rank) {
            MPI(MPI_Recv(&done, 1, MPI_INT, last, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE)); // it waits in MPI
            MPI(MPI_Win_sync(win));
            CHECK(0 != round % 3 || ADDED + round == memory[CELLS - 2], "%d: what was added is lost: %d", round,
                  memory[CELLS - 2]);
            MPI(MPI_Send(&done, 1, MPI_INT, last, 3, MPI_COMM_WORLD));
        }
    }
    MPI(MPI_Group_free(&all));
    MPI(MPI_Group_free(&target));
    MPI(MPI_Group_free(&source));
    MPI(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv) {
    begin(&argc, &argv, 2);
    load_mpix();
    const int rounds = argc > 1 ? atoi(argv[1]) : 100;
    static int own[CELLS];
    for (int flavor = 0; flavor < FLAVORS; ++flavor) {
        memory = own;
        base = 0;
        if (CREATED == flavor) {
            MPI(MPI_Win_create(own, sizeof(own), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        } else if (ALLOCATED == flavor) {
            MPI(MPI_Win_allocate(sizeof(own), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
        } else {
            MPI(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
            MPI(MPI_Win_attach(win, own, sizeof(own)));
            MPI(MPI_Get_address(own, &base));
            MPI(MPI_Bcast(&base, 1, MPI_AINT, 0, MPI_COMM_WORLD));
        }
        for (int how = 0; how < HOWS; ++how) {
            char note[100];
            snprintf(note, sizeof(note), "%s, %s window", names[how], flavors[flavor]);
            test_note = note;
            some_rounds(how, rounds);
        }
        if (DYNAMIC == flavor) {
            MPI(MPI_Win_detach(win, own));
        }
        MPI(MPI_Win_free(&win));
    }
    return finish();
}
