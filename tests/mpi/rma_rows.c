// SPDX-License-Identifier: BSD-3-Clause
// Description: rows of small puts and gets to one process, in every kind of window and epoch. What was found out for
// the first ones of a row holds no longer than the epoch does: another process, memory outside the window and what
// comes behind the end are refused, and what is larger, strided or has a request stands in between. Each one is
// counted.
#include "counters.h"
#include "mpix.h"

enum { N = 4096, ROW = 150, STEP = 8, BIG = 600 };

enum window_kind { CREATED, ALLOCATED, SHARED, KINDS };
enum epoch_kind { LOCK, LOCK_ALL, FENCE, GROUPS, ILOCK, IFENCE, EPOCHS };

static const char *const kind_name[] = {"created", "allocated", "shared"};
static const char *const epoch_name[] = {"lock", "lock_all", "fence", "start", "ilock", "ifence"};

static int rank, size, right, other; // in the window's communicator
static MPI_Group to_right, to_left;
static MPI_Request ending = MPI_REQUEST_NULL; // of an epoch that returns one

static int value(int who, int round, int i) { return 10000 * (50 * round + who % 50) + i + 1; }

static void open_epoch(int epoch, MPI_Win win) {
    switch (epoch) {
    case LOCK:
        MPI(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
        return;
    case LOCK_ALL:
        MPI(MPI_Win_lock_all(0, win));
        return;
    case FENCE:
    case IFENCE:
        MPI(MPI_Win_fence(0, win));
        return;
    case ILOCK:
        MPI(mpix.ilock(MPI_LOCK_SHARED, right, 0, win, &ending));
        MPI(MPI_Wait(&ending, MPI_STATUS_IGNORE));
        return;
    default:
        MPI(MPI_Win_post(to_left, 0, win));
        MPI(MPI_Win_start(to_right, 0, win));
    }
}

static void close_epoch(int epoch, MPI_Win win) {
    switch (epoch) {
    case LOCK:
        MPI(MPI_Win_unlock(right, win));
        return;
    case LOCK_ALL:
        MPI(MPI_Win_unlock_all(win));
        return;
    case FENCE:
        MPI(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
        return;
    case ILOCK:
        MPI(mpix.iunlock(right, win, &ending));
        return;
    case IFENCE:
        MPI(mpix.ifence(MPI_MODE_NOSUCCEED, win, &ending));
        return;
    default:
        MPI(MPI_Win_complete(win));
    }
}

// Behind complete the exposure still waits.
static void exposed(int epoch, MPI_Win win) {
    MPI(MPI_Wait(&ending, MPI_STATUS_IGNORE));
    if (GROUPS == epoch) {
        MPI(MPI_Win_wait(win));
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
}

static void refused(MPI_Win win, int target, MPI_Aint at, int class) {
    int x = -1;
    EXPECT(MPI_Put(&x, 1, MPI_INT, target, at, 1, MPI_INT, win), class);
    EXPECT(MPI_Get(&x, 1, MPI_INT, target, at, 1, MPI_INT, win), class);
    CHECK(-1 == x, "what was refused has brought %d", x);
}

// Cell i of the target gets value(round, i); the last ROW of them several at a time.
static void put_row(MPI_Win win, int round, int epoch, int *from) {
    static int big[BIG];
    MPI_Datatype two;
    MPI_Request request;
    for (int i = 0; i < N; ++i) {
        from[i] = value(rank, round, i);
    }
    for (int i = 0; i < ROW; ++i) {
        MPI(MPI_Put(&from[i], 1, MPI_INT, right, i, 1, MPI_INT, win));
        if (ROW / 2 == i) {
            refused(win, right, N, MPI_ERR_RMA_RANGE);
            refused(win, right, PTRDIFF_MAX / 2, MPI_ERR_RMA_RANGE);
            if (other != right && (LOCK == epoch || GROUPS == epoch || ILOCK == epoch)) {
                refused(win, other, 0, MPI_ERR_RMA_SYNC);
            }
        }
    }
    MPI(MPI_Type_vector(2, 1, 2, MPI_INT, &two));
    MPI(MPI_Type_commit(&two));
    MPI(MPI_Put(&from[ROW], 1, two, right, ROW, 1, two, win)); // ROW, ROW + 2
    MPI(MPI_Put(&from[ROW + 1], 1, MPI_INT, right, ROW + 1, 1, MPI_INT, win));
    MPI(MPI_Put(&from[ROW + 3], 4, MPI_BYTE, right, ROW + 3, 1, MPI_INT, win));
    MPI(MPI_Type_free(&two));
    if (LOCK == epoch || LOCK_ALL == epoch || ILOCK == epoch) {
        MPI(MPI_Rput(&from[ROW + 4], 1, MPI_INT, right, ROW + 4, 1, MPI_INT, win, &request));
        MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else {
        MPI(MPI_Put(&from[ROW + 4], 1, MPI_INT, right, ROW + 4, 1, MPI_INT, win));
    }
    for (int i = ROW + 5; i + STEP <= N - BIG; i += STEP) {
        MPI(MPI_Put(&from[i], STEP, MPI_INT, right, i, STEP, MPI_INT, win));
    }
    memcpy(big, &from[N - BIG], sizeof(big));
    MPI(MPI_Put(big, BIG, MPI_INT, right, N - BIG, BIG, MPI_INT, win));
    MPI(MPI_Put(&from[N - 1], 1, MPI_INT, right, N - 1, 1, MPI_INT, win));
}

static int in_a_row(int i) { return i < ROW + 5 || i >= N - BIG || i < N - BIG - (N - BIG - ROW - 5) % STEP; }

static void one(int kind, int epoch, int round, MPI_Win win, int *memory) {
    static int from[N], to[N];
    const int left = (rank + size - 1) % size;
    memset(memory, 0, N * sizeof(int));
    memset(to, -1, sizeof(to));
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    refused(win, right, 0, MPI_ERR_RMA_SYNC);
    open_epoch(epoch, win);
    put_row(win, round, epoch, from);
    close_epoch(epoch, win);
    refused(win, right, 0, MPI_ERR_RMA_SYNC);
    exposed(epoch, win);
    for (int i = 0; i < N; ++i) {
        const int want = in_a_row(i) ? value(left, round, i) : 0;
        CHECK(memory[i] == want, "%s, %s: cell %d is %d instead of %d", kind_name[kind], epoch_name[epoch], i,
              memory[i], want);
    }
    open_epoch(epoch, win);
    for (int i = 0; i < ROW; ++i) {
        MPI(MPI_Get(&to[i], 1, MPI_INT, right, i, 1, MPI_INT, win));
    }
    for (int i = ROW; i < ROW + 60 * STEP; i += STEP) {
        MPI(MPI_Get(&to[i], STEP, MPI_INT, right, i, STEP, MPI_INT, win));
    }
    close_epoch(epoch, win);
    refused(win, right, 0, MPI_ERR_RMA_SYNC);
    exposed(epoch, win);
    for (int i = 0; i < ROW + 60 * STEP; ++i) {
        CHECK(to[i] == from[i], "%s, %s: got %d from cell %d instead of %d", kind_name[kind], epoch_name[epoch], to[i],
              i, from[i]);
    }
}

// Two windows in turn, fences one behind the other, and an exposure that opens between puts.
static void in_turn(void) {
    test_note = "in turn";
    MPI_Win win[2];
    int *memory[2], from[2][ROW];
    for (int w = 0; w < 2; ++w) {
        MPI(MPI_Win_allocate(ROW * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory[w], &win[w]));
        memset(memory[w], 0, ROW * sizeof(int));
        for (int i = 0; i < ROW; ++i) {
            from[w][i] = value(my_rank, w, i);
        }
    }
    const int right_one = (my_rank + 1) % n_ranks, left_one = (my_rank + n_ranks - 1) % n_ranks;
    for (int round = 0; round < 3; ++round) {
        for (int w = 0; w < 2; ++w) {
            MPI(MPI_Win_fence(0, win[w]));
        }
        for (int i = round * ROW / 3; i < (round + 1) * ROW / 3; ++i) {
            for (int w = 0; w < 2; ++w) {
                MPI(MPI_Put(&from[w][i], 1, MPI_INT, right_one, i, 1, MPI_INT, win[w]));
            }
        }
    }
    for (int w = 0; w < 2; ++w) {
        MPI(MPI_Win_fence(MPI_MODE_NOSUCCEED, win[w]));
        for (int i = 0; i < ROW; ++i) {
            CHECK(memory[w][i] == value(left_one, w, i), "window %d: cell %d is %d", w, i, memory[w][i]);
        }
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    MPI_Group world, to, of;
    MPI(MPI_Comm_group(MPI_COMM_WORLD, &world));
    MPI(MPI_Group_incl(world, 1, &right_one, &to));
    MPI(MPI_Group_incl(world, 1, &left_one, &of));
    MPI(MPI_Win_post(of, 0, win[0]));
    MPI(MPI_Win_start(to, 0, win[0]));
    for (int i = 0; i < ROW; ++i) {
        MPI(MPI_Put(&from[1][i], 1, MPI_INT, right_one, i, 1, MPI_INT, win[0]));
    }
    MPI(MPI_Win_complete(win[0]));
    MPI(MPI_Win_wait(win[0]));
    MPI(MPI_Win_post(of, 0, win[0])); // the next one, behind which nothing is put
    for (int i = 0; i < ROW; ++i) {
        CHECK(memory[0][i] == value(left_one, 1, i), "cell %d is %d", i, memory[0][i]);
    }
    MPI(MPI_Win_start(to, 0, win[0]));
    MPI(MPI_Win_complete(win[0]));
    MPI(MPI_Win_wait(win[0]));
    for (int w = 0; w < 2; ++w) {
        MPI(MPI_Win_free(&win[w]));
    }
    MPI(MPI_Group_free(&to));
    MPI(MPI_Group_free(&of));
    MPI(MPI_Group_free(&world));
}

static void counted(MPI_Win win) {
    const unsigned long long before = counter_named("rma_operations");
    int x = 3;
    MPI(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
    for (int i = 0; i < ROW; ++i) {
        MPI(MPI_Put(&x, 1, MPI_INT, right, i, 1, MPI_INT, win));
    }
    MPI(MPI_Win_flush(right, win));
    CHECK(before + ROW == counter_named("rma_operations"), "%d puts and a flush, and %llu operations counted", ROW,
          counter_named("rma_operations") - before);
    for (int i = 0; i < ROW; ++i) {
        MPI(MPI_Get(&x, 1, MPI_INT, right, i, 1, MPI_INT, win));
    }
    MPI(MPI_Win_unlock(right, win));
    CHECK(before + 2 * ROW == counter_named("rma_operations"), "%d gets more, and %llu operations counted", ROW,
          counter_named("rma_operations") - before);
}

int main(int argc, char **argv) {
    begin(&argc, &argv, 1);
    begin_counters();
    load_mpix();
    in_turn();
    test_note = "";
    MPI_Comm node;
    MPI(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    for (int kind = 0; kind < KINDS; ++kind) {
        MPI_Comm comm = SHARED == kind ? node : MPI_COMM_WORLD;
        MPI_Group group;
        MPI_Win win;
        int *memory = NULL;
        MPI(MPI_Comm_rank(comm, &rank));
        MPI(MPI_Comm_size(comm, &size));
        right = (rank + 1) % size;
        other = (rank + 2) % size;
        const int left = (rank + size - 1) % size;
        MPI(MPI_Comm_group(comm, &group));
        MPI(MPI_Group_incl(group, 1, &right, &to_right));
        MPI(MPI_Group_incl(group, 1, &left, &to_left));
        if (CREATED == kind) {
            memory = malloc(N * sizeof(int));
            MPI(MPI_Win_create(memory, N * sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &win));
        } else if (ALLOCATED == kind) {
            MPI(MPI_Win_allocate(N * sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &memory, &win));
        } else {
            MPI(MPI_Win_allocate_shared(N * sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &memory, &win));
        }
        MPI(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
        for (int round = 0; round < 3; ++round) {
            for (int epoch = 0; epoch < EPOCHS; ++epoch) {
                one(kind, epoch, round, win, memory);
            }
        }
        counted(win);
        MPI(MPI_Barrier(MPI_COMM_WORLD));
        MPI(MPI_Win_free(&win));
        if (CREATED == kind) {
            free(memory);
        }
        MPI(MPI_Group_free(&to_right));
        MPI(MPI_Group_free(&to_left));
        MPI(MPI_Group_free(&group));
    }
    MPI(MPI_Comm_free(&node));
    end_counters();
    return finish();
}
