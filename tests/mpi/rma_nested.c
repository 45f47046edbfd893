// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
// Description: processes that hold several exclusive locks at once, taken always in the same order, do not wait for
// each other for ever: of several targets, the own one among them or not, of one target in several windows, of a target
// whose lock is asked for by a thread while another thread waits, of all targets of a window. What each does under all
// of its locks is counted. rma_nested ROUNDS [multiple]
#include "check.h"

#include <pthread.h>

enum { WINDOWS = 2 };

static long cells[WINDOWS][4];
static MPI_Win window[WINDOWS];
static int rounds;

// Adds one to the first cell of a target, whose lock is held.
static void count_there(int target, MPI_Win w) {
    long value;
    MPI(MPI_Get(&value, 1, MPI_LONG, target, 0, 1, MPI_LONG, w));
    MPI(MPI_Win_flush(target, w));
    ++value;
    MPI(MPI_Put(&value, 1, MPI_LONG, target, 0, 1, MPI_LONG, w));
    MPI(MPI_Win_flush_local(target, w));
}

// What was counted here since the last time.
static void expect(long count, MPI_Win w, long *cell, const char *what) {
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, my_rank, 0, w));
    CHECK(count == *cell, "%s: %ld, expected %ld", what, *cell, count);
    *cell = 0;
    MPI(MPI_Win_unlock(my_rank, w));
    MPI(MPI_Barrier(MPI_COMM_WORLD));
}

// Ranks from `first` on take the locks of the first `targets` ranks, and let go in one order or the other.
static void of_targets(int first, int targets, int operate) {
    for (int i = 0; my_rank >= first && i < rounds; ++i) {
        for (int t = 0; t < targets; ++t) {
            MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, t, 0, window[0]));
        }
        for (int t = 0; operate && t < targets; ++t) {
            count_there(t, window[0]);
        }
        for (int k = 0; k < targets; ++k) {
            MPI(MPI_Win_unlock((my_rank + i) % 2 ? k : targets - 1 - k, window[0]));
        }
    }
    expect(operate && my_rank < targets ? (long) (n_ranks - first) * rounds : 0, window[0], cells[0],
           "several targets");
}

static void of_windows(void) {
    for (int i = 0; i < rounds; ++i) {
        for (int k = 0; k < WINDOWS; ++k) {
            MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window[k]));
        }
        for (int k = 0; k < WINDOWS; ++k) {
            count_there(0, window[k]);
        }
        for (int k = 0; k < WINDOWS; ++k) {
            MPI(MPI_Win_unlock(0, window[(my_rank + k) % WINDOWS]));
        }
    }
    for (int k = 0; k < WINDOWS; ++k) {
        expect(0 == my_rank ? (long) n_ranks * rounds : 0, window[k], cells[k], "several windows");
    }
}

// Rank 1 holds its own lock until rank 0 has said something; rank 0 waits for that lock in one thread, and says it
// in another, which takes the other window's lock before.
static void *other_thread(void *unused) {
    MPI(MPI_Recv(NULL, 0, MPI_BYTE, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window[1]));
    count_there(1, window[1]);
    MPI(MPI_Win_unlock(1, window[1]));
    MPI(MPI_Send(NULL, 0, MPI_BYTE, 1, 6, MPI_COMM_WORLD));
    return unused;
}

static void of_threads(void) {
    if (0 == my_rank) {
        pthread_t thread;
        MPI(MPI_Recv(NULL, 0, MPI_BYTE, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(0 == pthread_create(&thread, NULL, other_thread, NULL), "no thread");
        MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window[0]));
        MPI(MPI_Send(NULL, 0, MPI_BYTE, 1, 7, MPI_COMM_WORLD));
        count_there(1, window[0]);
        MPI(MPI_Win_unlock(1, window[0]));
        pthread_join(thread, NULL);
    } else if (1 == my_rank) {
        MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window[0]));
        MPI(MPI_Send(NULL, 0, MPI_BYTE, 0, 4, MPI_COMM_WORLD));
        MPI(MPI_Recv(NULL, 0, MPI_BYTE, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE)); // it waits, or will before long
        MPI(MPI_Send(NULL, 0, MPI_BYTE, 0, 5, MPI_COMM_WORLD));
        MPI(MPI_Recv(NULL, 0, MPI_BYTE, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        MPI(MPI_Win_unlock(1, window[0]));
    }
    for (int k = 0; k < WINDOWS; ++k) {
        expect(1 == my_rank, window[k], cells[k], "several threads");
    }
}

// All of one window behind one lock of another: rank 0 has asked for the lock, which rank 1 holds, when it comes to
// lock all; rank 1 wants rank 0's lock of that window, in the same order, and lets go of the first when it has had it.
static void of_all(void) {
    for (int i = 0; my_rank < 2 && i < rounds; ++i) {
        if (1 == my_rank) {
            MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window[0]));
            MPI(MPI_Send(NULL, 0, MPI_BYTE, 0, 8, MPI_COMM_WORLD));
            if (0 == i % 8) {
                usleep(2000);
            }
            MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window[1]));
            count_there(0, window[1]);
            MPI(MPI_Win_unlock(0, window[1]));
            MPI(MPI_Win_unlock(1, window[0]));
        } else {
            MPI(MPI_Recv(NULL, 0, MPI_BYTE, 1, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window[0]));
            MPI(MPI_Win_lock_all(0, window[1]));
            count_there(1, window[0]);
            MPI(MPI_Win_unlock_all(window[1]));
            MPI(MPI_Win_unlock(1, window[0]));
        }
    }
    for (int k = 0; k < WINDOWS; ++k) {
        expect(1 - k == my_rank ? rounds : 0, window[k], cells[k], "all of a window");
    }
}

int main(int argc, char **argv) {
    int level;
    MPI_Init_thread(&argc, &argv, argc > 2 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    learn_world(2);
    CHECK(argc > 1, "rma_nested ROUNDS [multiple]");
    rounds = atoi(argv[1]);
    for (int k = 0; k < WINDOWS; ++k) {
        MPI(MPI_Win_create(cells[k], sizeof(cells[k]), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &window[k]));
    }
    of_targets(0, n_ranks, 1);
    of_targets(0, n_ranks, 0);
    if (n_ranks > 3) {
        of_targets(2, 2, 1); // none of them its own
    }
    of_windows();
    of_all();
    if (MPI_THREAD_MULTIPLE == level) {
        of_threads();
    }
    for (int k = 0; k < WINDOWS; ++k) {
        MPI(MPI_Win_free(&window[k]));
    }
    return finish();
}
