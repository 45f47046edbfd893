// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
// Description: processes in a lock of all, which get the lock of each target when they come to it, beside processes
// that take one exclusive lock each and hold no other: nobody waits for ever. The first two ranks have a target each
// already and come to the other's when somebody waits there for both to go. The same with shared locks, one by one. And
// one that waits for an exclusive lock is not kept out by processes whose locks of all follow each other without a gap.
// rma_lock_all ROUNDS
#include "check.h"

#include <unistd.h>

enum { HELD = 1, GO = 2, ASKS = 3, CELLS = 8, HOLDS_MS = 20, MOST_TIMES = 1000 };

static long cells[CELLS];
static MPI_Win win;

static void put_and_flush(int target) {
    const long value = 100 + my_rank;
    MPI(MPI_Put(&value, 1, MPI_LONG, target, my_rank, 1, MPI_LONG, win));
    MPI(MPI_Win_flush(target, win));
}

static void in_a_lock_of_all(void) {
    const int first = 2 + my_rank, second = 3 - my_rank;
    int token = 0;
    MPI(MPI_Win_lock_all(0, win));
    put_and_flush(first);
    MPI(MPI_Sendrecv(&token, 1, MPI_INT, 1 - my_rank, HELD, &token, 1, MPI_INT, 1 - my_rank, HELD, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE));
    MPI(MPI_Send(&token, 1, MPI_INT, first, GO, MPI_COMM_WORLD));
    usleep(2000); // most likely they stand in the queues then
    put_and_flush(second);
    MPI(MPI_Win_unlock_all(win));
}

static void one_exclusive_lock(void) {
    const int target = 5 - my_rank;
    const long value = 100 + my_rank;
    int token;
    MPI(MPI_Recv(&token, 1, MPI_INT, my_rank - 2, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
    MPI(MPI_Put(&value, 1, MPI_LONG, target, my_rank, 1, MPI_LONG, win));
    MPI(MPI_Win_unlock(target, win));
}

// Ranks 0 and 1 want the exclusive lock of themselves when ranks 2 and 3 have a shared one there each, and these come
// to each other's before they let theirs go.
static void shared_locks_of_two_targets(void) {
    const int first = my_rank - 2, second = 3 - my_rank;
    long seen = 0;
    int token = 0;
    if (2 == my_rank || 3 == my_rank) {
        MPI(MPI_Win_lock(MPI_LOCK_SHARED, first, 0, win));
        MPI(MPI_Get(&seen, 1, MPI_LONG, first, 0, 1, MPI_LONG, win));
        MPI(MPI_Win_flush(first, win));
        MPI(MPI_Send(&token, 1, MPI_INT, first, GO, MPI_COMM_WORLD));
        MPI(MPI_Sendrecv(&token, 1, MPI_INT, 5 - my_rank, HELD, &token, 1, MPI_INT, 5 - my_rank, HELD, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE));
        usleep(3000); // most likely they stand in their queues then
        MPI(MPI_Win_lock(MPI_LOCK_SHARED, second, 0, win));
        MPI(MPI_Get(&seen, 1, MPI_LONG, second, 0, 1, MPI_LONG, win));
        MPI(MPI_Win_flush(second, win));
        MPI(MPI_Win_unlock(second, win));
        MPI(MPI_Win_unlock(first, win));
    } else if (my_rank < 2) {
        MPI(MPI_Recv(&token, 1, MPI_INT, my_rank + 2, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, my_rank, 0, win));
        MPI(MPI_Win_unlock(my_rank, win));
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
}

// Rank 0's memory. Ranks 2 and 3 hold it in turns and look, until rank 1, which wants it for itself, has stored there.
// Each of them holds it a few times more, as the one that waits is passed by those whose wait might be for each other.
static void shared_ones_without_a_gap(long *memory) {
    long seen = 0;
    int asked = 0;
    memset(memory, 0, sizeof(cells));
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (1 == my_rank) {
        const long value = 1;
        MPI_Request told[2]; // received when the lock has been had
        usleep(HOLDS_MS * 1000);
        for (int to = 2; to < 4; ++to) {
            MPI(MPI_Isend(&asked, 1, MPI_INT, to, ASKS, MPI_COMM_WORLD, &told[to - 2]));
        }
        MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
        MPI(MPI_Put(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win));
        MPI(MPI_Win_unlock(0, win));
        MPI(MPI_Waitall(2, told, MPI_STATUSES_IGNORE));
    } else if (2 == my_rank || 3 == my_rank) {
        usleep(3 == my_rank ? HOLDS_MS * 500 : 0);
        for (int times = 0; 0 == seen && times < MOST_TIMES; times += asked) {
            MPI(MPI_Win_lock_all(0, win));
            MPI(MPI_Get(&seen, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win));
            MPI(MPI_Win_flush(0, win));
            usleep(HOLDS_MS * 1000);
            MPI(MPI_Win_unlock_all(win));
            MPI(MPI_Iprobe(1, ASKS, MPI_COMM_WORLD, &asked, MPI_STATUS_IGNORE));
        }
        CHECK(1 == seen, "an exclusive lock is not had while others have theirs %d times", MOST_TIMES);
        MPI(MPI_Recv(&asked, 1, MPI_INT, 1, ASKS, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv) {
    begin(&argc, &argv, 4);
    const int rounds = argc > 1 ? atoi(argv[1]) : 20;
    for (int allocated = 0; allocated < 2; ++allocated) {
        long *memory = cells;
        if (allocated) {
            MPI(MPI_Win_allocate(sizeof(cells), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
        } else {
            MPI(MPI_Win_create(cells, sizeof(cells), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        }
        for (int round = 0; round < rounds; ++round) {
            memset(memory, 0, sizeof(cells));
            MPI(MPI_Barrier(MPI_COMM_WORLD));
            if (my_rank < 2) {
                in_a_lock_of_all();
            } else if (my_rank < 4) {
                one_exclusive_lock();
            }
            MPI(MPI_Barrier(MPI_COMM_WORLD));
            for (int i = 0; (2 == my_rank || 3 == my_rank) && i < 4; ++i) {
                const long expected = i == my_rank ? 0 : 100 + i;
                CHECK(expected == memory[i], "round %d: cell %d is %ld, expected %ld", round, i, memory[i], expected);
            }
            MPI(MPI_Barrier(MPI_COMM_WORLD));
            shared_locks_of_two_targets();
        }
        shared_ones_without_a_gap(memory);
        MPI(MPI_Win_free(&win));
    }
    return finish();
}
