// SPDX-License-Identifier: BSD-3-Clause
// Description: epochs that return requests: several of one window in flight, in order, going on while ranks
// compute without a call until what they wait for is in their memory. The library is taken from beside the
// components. Argument "stock": another component serves the window, and the calls must say so.
#include "mpix.h"

enum { EPOCHS = 12, CELLS = 64 };

static MPI_Win win;
static int64_t *memory;
static int right, left;

static void clear(void) {
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    memset(memory, 0, CELLS * sizeof(*memory));
    MPI(MPI_Barrier(MPI_COMM_WORLD));
}

static void compute_until(int cell, int64_t value) {
    while (*(volatile int64_t *) (memory + cell) != value) {}
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
}

// In each epoch a rank replaces the same cell of its right neighbour, and sets one of its own.
static void operations(const int64_t *values, int k, int target) {
    MPI(MPI_Accumulate(&values[k], 1, MPI_INT64_T, target, 0, 1, MPI_INT64_T, MPI_REPLACE, win));
    MPI(MPI_Put(&values[k], 1, MPI_INT64_T, target, k + 1, 1, MPI_INT64_T, win));
}

static void check_cells(void) {
    for (int k = 0; k < EPOCHS; ++k) {
        CHECK(memory[k + 1] == k + 100, "cell of epoch %d is %" PRId64, k, memory[k + 1]);
    }
    CHECK(memory[0] == EPOCHS + 99, "the epochs were not in order: %" PRId64 " is left", memory[0]);
}

// Nobody's locks: each call is done, and leaves the window as it was.
static void to_nobody(void) {
    test_note = "calls towards MPI_PROC_NULL";
    MPI_Request r[3];
    int64_t value = 0;
    MPI(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    MPI(mpix.ilock(MPI_LOCK_SHARED, MPI_PROC_NULL, 0, win, &r[0]));
    MPI(mpix.iflush(MPI_PROC_NULL, win, &r[1]));
    MPI(mpix.iunlock(MPI_PROC_NULL, win, &r[2]));
    MPI(MPI_Waitall(3, r, MPI_STATUSES_IGNORE));
    CHECK(MPI_ERR_RANK == error_class(mpix.iflush(n_ranks, win, &r[0])), "rank %d is taken for a member", n_ranks);
    MPI(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win)); // nobody is locked
    MPI(MPI_Get(&value, 1, MPI_INT64_T, right, 0, 1, MPI_INT64_T, win));
    MPI(MPI_Win_unlock(right, win));
    MPI(MPI_Win_set_errhandler(win, MPI_ERRORS_ARE_FATAL));
}

static void locks(const int64_t *values) {
    test_note = "locks in flight";
    MPI_Request r[3 * EPOCHS];
    clear();
    for (int k = 0, n = 0; k < EPOCHS; ++k) {
        MPI(mpix.ilock(k % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, right, 0, win, &r[n++]));
        operations(values, k, right);
        MPI(mpix.iflush(right, win, &r[n++]));
        MPI(mpix.iunlock(right, win, &r[n++]));
    }
    compute_until(EPOCHS, EPOCHS + 99);
    compute_until(0, EPOCHS + 99);
    MPI(MPI_Waitall(3 * EPOCHS, r, MPI_STATUSES_IGNORE));
    check_cells();
    test_note = "lock_all in flight";
    clear();
    for (int k = 0, n = 0; k < EPOCHS; ++k) {
        MPI(mpix.ilock_all(0, win, &r[n++]));
        operations(values, k, right);
        MPI(mpix.iflush(right, win, &r[n++]));
        MPI(mpix.iunlock_all(win, &r[n++]));
    }
    compute_until(0, EPOCHS + 99);
    MPI(MPI_Waitall(3 * EPOCHS, r, MPI_STATUSES_IGNORE));
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    check_cells();
}

static void fences(const int64_t *values) {
    test_note = "fences in flight";
    MPI_Request r[EPOCHS + 1];
    clear();
    MPI(mpix.ifence(0, win, &r[0]));
    for (int k = 0; k < EPOCHS; ++k) {
        operations(values, k, right);
        MPI(mpix.ifence(0, win, &r[k + 1]));
    }
    compute_until(EPOCHS, EPOCHS + 99);
    MPI(MPI_Waitall(EPOCHS + 1, r, MPI_STATUSES_IGNORE));
    check_cells();
}

static void posts(const int64_t *values) {
    test_note = "exposures and accesses in flight";
    MPI_Group world, to, from;
    MPI_Request r[4 * EPOCHS];
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &right, &to);
    MPI_Group_incl(world, 1, &left, &from);
    clear();
    for (int k = 0, n = 0; k < EPOCHS; ++k) {
        MPI(mpix.ipost(from, 0, win, &r[n++]));
        MPI(mpix.istart(to, 0, win, &r[n++]));
        operations(values, k, right);
        MPI(mpix.icomplete(win, &r[n++]));
        MPI(mpix.iwait(win, &r[n++]));
    }
    compute_until(EPOCHS, EPOCHS + 99);
    MPI(MPI_Waitall(4 * EPOCHS, r, MPI_STATUSES_IGNORE));
    check_cells();
    MPI_Group_free(&world);
    MPI_Group_free(&to);
    MPI_Group_free(&from);
}

// Late unlock: everybody locks rank 0 alone and lets go without waiting, then computes. Nobody needs
// another's next call to get the lock.
static void late_unlock(void) {
    test_note = "an exclusive lock let go while its holders compute";
    MPI_Request r[2];
    const int64_t one = 1;
    int64_t there = -1;
    clear();
    MPI(mpix.ilock(MPI_LOCK_EXCLUSIVE, 0, 0, win, &r[0]));
    MPI(MPI_Fetch_and_op(&one, &there, MPI_INT64_T, 0, 5, MPI_SUM, win));
    MPI(mpix.iunlock(0, win, &r[1]));
    if (0 == my_rank) {
        compute_until(5, n_ranks);
    }
    MPI(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
    CHECK(there >= 0 && there < n_ranks, "fetched %" PRId64, there);
}

static void wrong_use(void) {
    test_note = "wrong use";
    MPI_Request r;
    MPI(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    CHECK(MPI_ERR_RMA_SYNC == error_class(mpix.icomplete(win, &r)) && MPI_REQUEST_NULL == r, "icomplete");
    CHECK(MPI_ERR_RMA_SYNC == error_class(mpix.iwait(win, &r)), "iwait");
    CHECK(MPI_ERR_RMA_SYNC == error_class(mpix.iunlock(0, win, &r)), "iunlock");
    CHECK(MPI_ERR_RMA_SYNC == error_class(mpix.iunlock_all(win, &r)), "iunlock_all");
    CHECK(MPI_ERR_RMA_SYNC == error_class(mpix.iflush(0, win, &r)), "iflush");
    CHECK(MPI_ERR_RANK == error_class(mpix.ilock(MPI_LOCK_SHARED, n_ranks, 0, win, &r)), "ilock");
    MPI(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv) {
    int64_t values[EPOCHS];

    begin(&argc, &argv, 1);
    right = (my_rank + 1) % n_ranks;
    left = (my_rank + n_ranks - 1) % n_ranks;
    for (int k = 0; k < EPOCHS; ++k) {
        values[k] = k + 100;
    }
    load_mpix();
    MPI(MPI_Win_allocate(CELLS * sizeof(*memory), sizeof(*memory), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    if (argc > 1 && 0 == strcmp(argv[1], "stock")) {
        MPI_Request r;
        MPI(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
        CHECK(MPI_ERR_UNSUPPORTED_OPERATION == error_class(mpix.ifence(0, win, &r)), "a stock window was taken");
    } else {
        for (int round = 0; round < 5; ++round) {
            locks(values);
            posts(values);
            fences(values);
            MPI(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
            late_unlock();
        }
        to_nobody();
        wrong_use();
    }
    MPI(MPI_Win_free(&win));
    return finish();
}
