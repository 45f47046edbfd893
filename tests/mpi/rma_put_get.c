// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
// Description: puts and gets of one process to another of its node stay in order without a flush between them: a get
// sees what the put before it stored, and a later put is not overwritten by an earlier one, though the first is of many
// small pieces and goes by message where its target waits, and what follows could be copied past it. MPI does not
// promise it, programs count on it. Requests are waited for, which completes them at the origin alone. rma_put_get
// ROUNDS
#include "check.h"

enum { PIECES = 64, CELLS = 2 * PIECES, LAST = 2 };

static MPI_Win win;

static void rput(const void *from, int count, MPI_Datatype type) {
    MPI_Request request;
    MPI(MPI_Rput(from, count, type, 1, 0, count, type, win, &request));
    MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void rget(int64_t *to) {
    MPI_Request request;
    for (int from = CELLS - LAST; from >= 0; from -= CELLS - LAST) { // the last cells, then all
        MPI(MPI_Rget(to + from, CELLS - from, MPI_INT64_T, 1, from, CELLS - from, MPI_INT64_T, win, &request));
        MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
}

static void check_cells(const char *what, int round, const int64_t *got, const int64_t *expected) {
    for (int i = 0; i < CELLS; ++i) {
        CHECK(got[i] == expected[i], "round %d, %s: cell %d is %" PRId64 ", expected %" PRId64, round, what, i, got[i],
              expected[i]);
    }
}

static void origin(int rounds) {
    static int64_t out[CELLS], in[CELLS], expected[CELLS];
    MPI_Datatype pieces;
    MPI(MPI_Type_vector(PIECES, 1, 2, MPI_INT64_T, &pieces));
    MPI(MPI_Type_commit(&pieces));
    memset(expected, 0, sizeof(expected));
    for (int round = 1; round <= rounds; ++round) {
        for (int i = 0; i < CELLS; ++i) {
            out[i] = 1000 * round + i;
            expected[i] = 0 == i % 2 ? out[i] : expected[i];
            in[i] = -1;
        }
        rput(out, 1, pieces);
        rget(in);
        check_cells("a get behind a put", round, in, expected);
        for (int i = 0; i < CELLS; ++i) {
            out[i] = -out[i];
        }
        rput(out, 1, pieces);
        for (int i = 0; i < CELLS; ++i) {
            expected[i] = out[i] = 7000 * round + i;
        }
        rput(out, CELLS, MPI_INT64_T);
        rget(in);
        check_cells("a put behind a put", round, in, expected);
    }
    MPI(MPI_Type_free(&pieces));
}

int main(int argc, char **argv) {
    static int64_t own[CELLS];
    int64_t *memory = own;
    begin(&argc, &argv, 2);
    const int rounds = argc > 1 ? atoi(argv[1]) : 2000;
    for (int allocated = 0; allocated < 2; ++allocated) {
        if (allocated) {
            MPI(MPI_Win_allocate(sizeof(own), sizeof(*own), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
        } else {
            MPI(MPI_Win_create(own, sizeof(own), sizeof(*own), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        }
        MPI(MPI_Win_lock_all(0, win));
        memset(memory, 0, sizeof(own));
        MPI(MPI_Win_sync(win));
        MPI(MPI_Barrier(MPI_COMM_WORLD));
        if (0 == my_rank) {
            origin(rounds);
        }
        MPI(MPI_Barrier(MPI_COMM_WORLD)); // where the others wait meanwhile
        MPI(MPI_Win_unlock_all(win));
        MPI(MPI_Win_free(&win));
    }
    return finish();
}
