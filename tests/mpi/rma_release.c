// SPDX-License-Identifier: BSD-3-Clause
// Description: epochs with requests whose ends others wait for, while this process computes and makes no call: a lock
// that it lets go of when its target has taken in what was sent, and a fence that begins to wait behind a wait of the
// application. By message, inside a node: a dynamic window. Two processes for the lock, three for both.
#include "mpix.h"

#include <signal.h>
#include <unistd.h>

enum { SECONDS = 30, FIRST = 11, SECOND = 22, THIRD = 33 };

static volatile int *words; // of process 0, all see them: [0] the others are through, [1] process 1 may go on

// Computes until so many others are through.
static void compute(int others, const char *what) {
    for (const double end = now() + SECONDS; words[0] < others && now() < end;) {}
    CHECK(words[0] >= others, "%s: they wait for a call of this process", what);
}

static MPI_Aint cells(MPI_Win win, int *memory) {
    MPI_Aint at, there;
    MPI(MPI_Win_attach(win, memory, 2 * sizeof(int)));
    MPI(MPI_Get_address(memory, &at));
    there = at;
    MPI(MPI_Bcast(&there, 1, MPI_AINT, 1, MPI_COMM_WORLD));
    return there;
}

// Two epochs of one process behind each other: the second lock is granted when the first is let go of.
static void locks(MPI_Win win, MPI_Aint there, volatile int *cell) {
    const int values[] = {FIRST, SECOND}, third = THIRD;
    test_note = "a lock let go of";
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (0 == my_rank) {
        MPI_Request r[4];
        for (int k = 0; k < 2; ++k) {
            MPI(mpix.ilock(MPI_LOCK_EXCLUSIVE, 1, 0, win, &r[2 * k]));
            MPI(MPI_Put(&values[k], 1, MPI_INT, 1, there, 1, MPI_INT, win));
            MPI(mpix.iunlock(1, win, &r[2 * k + 1]));
        }
        words[1] = 1;
        compute(n_ranks > 2 ? 2 : 1, test_note);
        MPI(MPI_Waitall(4, r, MPI_STATUSES_IGNORE));
    } else if (1 == my_rank) {
        for (const double end = now() + SECONDS; SECOND != cell[0] && now() < end;) {}
        CHECK(SECOND == cell[0], "the cell is %d", cell[0]);
        __atomic_add_fetch(&words[0], 1, __ATOMIC_SEQ_CST);
    } else {
        while (0 == words[1]) {}
        MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win));
        MPI(MPI_Put(&third, 1, MPI_INT, 1, there + (MPI_Aint) sizeof(int), 1, MPI_INT, win));
        MPI(MPI_Win_unlock(1, win));
        __atomic_add_fetch(&words[0], 1, __ATOMIC_SEQ_CST);
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
}

static void await_stopped(int pid) {
    char path[64], line[512] = "", *state = NULL;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    while (NULL == state || 'T' != state[2]) {
        FILE *f = fopen(path, "r");
        CHECK(NULL != f && NULL != fgets(line, sizeof line, f), "nothing in %s", path);
        fclose(f);
        state = strrchr(line, ')');
        sleep_ms(1);
    }
}

// Process 0 puts in the wait behind two fences. 1 stands still before it can take that in, until 0 has been out of its
// wait for long: what 0 hears of then must wake it, as the second fence of the others waits for its next step.
static void fences(MPI_Win win, MPI_Aint there) {
    const int value = FIRST;
    int token = 0;
    MPI_Request r[2];
    test_note = "a fence behind a wait";
    if (0 == my_rank) {
        words[0] = 0;
    } else if (1 == my_rank) {
        words[1] = (int) getpid();
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (1 == my_rank) {
        sleep_ms(20); // 0 is in its receive
    }
    MPI(mpix.ifence(0, win, &r[0]));
    if (0 == my_rank) {
        MPI(MPI_Put(&value, 1, MPI_INT, 1, there, 1, MPI_INT, win));
    } else if (1 == my_rank) {
        raise(SIGSTOP);
    }
    MPI(mpix.ifence(MPI_MODE_NOSUCCEED, win, &r[1]));
    if (0 == my_rank) {
        MPI(MPI_Recv(&token, 1, MPI_INT, 2, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        compute(2, test_note);
        MPI(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
    } else {
        if (2 == my_rank) {
            await_stopped(words[1]);
            sleep_ms(60);
            MPI(MPI_Send(&token, 1, MPI_INT, 0, 7, MPI_COMM_WORLD));
            sleep_ms(40);
            kill(words[1], SIGCONT);
        }
        MPI(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
        __atomic_add_fetch(&words[0], 1, __ATOMIC_SEQ_CST);
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv) {
    int *memory = calloc(2, sizeof(int)), *mine, unit;
    MPI_Aint size;
    MPI_Win win, shared;
    begin(&argc, &argv, 2);
    load_mpix();
    MPI(MPI_Win_allocate_shared(0 == my_rank ? 2 * sizeof(int) : 0, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &mine,
                                &shared));
    MPI(MPI_Win_shared_query(shared, 0, &size, &unit, &mine));
    words = mine;
    if (0 == my_rank) {
        words[0] = words[1] = 0;
    }
    MPI(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    const MPI_Aint there = cells(win, memory);
    locks(win, there, memory);
    for (int i = 0; n_ranks > 2 && i < 10; ++i) {
        fences(win, there);
    }
    MPI(MPI_Win_detach(win, memory));
    MPI(MPI_Win_free(&win));
    MPI(MPI_Win_free(&shared));
    free(memory);
    return finish();
}
