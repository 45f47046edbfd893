// SPDX-License-Identifier: BSD-3-Clause
// Description: the counterpart of rma_patterns for libraries whose calls all wait: the same seven ways in which
// one-sided programs lose time, by plain MPI. Each is arranged so that whoever is late is told to come by what the
// other does after its call, or comes after half a second; the others then have waited. Prints each with what it cost,
// and fails where fewer than argv[1] wait.
#include "check.h"

enum { BIG = 1 << 17, NEWS = 77 };

static const double patience = 0.5; // seconds

static MPI_Win win;
static int64_t *memory, *data;
static int64_t stamp;
static int patterns, waits;

static int origin(void) { return 0 == my_rank; }

static void tell(void) { MPI(MPI_Send(NULL, 0, MPI_BYTE, 1 - my_rank, NEWS, MPI_COMM_WORLD)); }

// No call of MPI but the one that ends it: who comes late computes. 0: it was not told in time.
static int told_in_time(void) {
    const double end = now() + patience;
    int there = 0;
    while (now() < end) {}
    MPI(MPI_Iprobe(1 - my_rank, NEWS, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE));
    for (int i = 0; i < 100 && !there; ++i) { // it may lie in a transport
        MPI(MPI_Iprobe(1 - my_rank, NEWS, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE));
    }
    return there;
}

static void hear(void) { MPI(MPI_Recv(NULL, 0, MPI_BYTE, 1 - my_rank, NEWS, MPI_COMM_WORLD, MPI_STATUS_IGNORE)); }

// Computes until the last cell has the value, or patience is at its end.
static int there_in_time(int64_t value) {
    const double end = now() + patience;
    while (*(volatile int64_t *) (memory + BIG - 1) != value) {
        if (now() > end) {
            return 0;
        }
    }
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return 1;
}

static void begin_pattern(const char *name) {
    test_note = name;
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    memset(memory, 0, BIG * sizeof(*memory));
    ++stamp;
    for (int i = 0; i < BIG; ++i) {
        data[i] = stamp;
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
}

static void put(void) { MPI(MPI_Put(data, BIG, MPI_INT64_T, 1 - my_rank, 0, BIG, MPI_INT64_T, win)); }

// in_time: of whoever is late, else 1
static void end_pattern(int in_time) {
    int all = 0;
    MPI(MPI_Allreduce(&in_time, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    ++patterns;
    waits += !all;
    if (0 == my_rank) {
        printf("# %s: %s\n", test_note, all ? "nobody waits" : "waits until the other comes by itself");
    }
}

static void late_post(MPI_Group group) {
    int in_time = 1;
    begin_pattern("late post");
    if (origin()) {
        MPI(MPI_Win_start(group, 0, win));
        put();
        MPI(MPI_Win_complete(win));
        tell();
    } else {
        in_time = told_in_time();
        MPI(MPI_Win_post(group, 0, win));
        MPI(MPI_Win_wait(win));
        hear();
    }
    end_pattern(in_time);
}

static void early_transfer(MPI_Group group) {
    int in_time = 1;
    begin_pattern("early transfer");
    if (origin()) {
        MPI(MPI_Win_start(group, 0, win));
        put();
        tell();
        MPI(MPI_Win_complete(win));
    } else {
        in_time = told_in_time();
        MPI(MPI_Win_post(group, 0, win));
        MPI(MPI_Win_wait(win));
        hear();
    }
    end_pattern(in_time);
}

static void early_wait(MPI_Group group) {
    int in_time = 1;
    begin_pattern("early wait");
    if (origin()) {
        in_time = told_in_time();
        MPI(MPI_Win_start(group, 0, win));
        put();
        MPI(MPI_Win_complete(win));
        hear();
    } else {
        MPI(MPI_Win_post(group, 0, win));
        MPI(MPI_Win_wait(win));
        tell();
    }
    end_pattern(in_time);
}

static void late_complete(MPI_Group group) {
    int in_time = 1;
    begin_pattern("late complete");
    if (origin()) {
        MPI(MPI_Win_start(group, 0, win));
        put();
        in_time = told_in_time(); // it computes before it completes
        MPI(MPI_Win_complete(win));
        hear();
    } else {
        MPI(MPI_Win_post(group, 0, win));
        MPI(MPI_Win_wait(win));
        tell();
    }
    end_pattern(in_time);
}

static void early_fence(void) {
    int in_time = 1;
    begin_pattern("early fence");
    if (origin()) {
        MPI(MPI_Win_fence(0, win));
        put();
        MPI(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
        tell();
    } else {
        in_time = told_in_time();
        MPI(MPI_Win_fence(0, win));
        MPI(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
        hear();
    }
    end_pattern(in_time);
}

static void wait_at_fence(void) {
    int in_time = 1;
    begin_pattern("wait at fence");
    MPI(MPI_Win_fence(0, win));
    if (origin()) {
        put();
    } else {
        in_time = there_in_time(stamp);
    }
    MPI(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    CHECK(origin() || stamp == memory[BIG - 1], "the data are not there");
    end_pattern(in_time);
}

static void late_unlock(void) {
    int in_time = 1;
    begin_pattern("late unlock");
    if (origin()) {
        MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win));
        put();
        tell();
        in_time = told_in_time(); // it computes before it lets go
        MPI(MPI_Win_unlock(1, win));
        hear();
    } else {
        hear();
        MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win));
        MPI(MPI_Win_unlock(1, win));
        tell();
    }
    end_pattern(in_time);
}

int main(int argc, char **argv) {
    MPI_Group world, group;
    int other;
    begin(&argc, &argv, 2);
    CHECK(2 == n_ranks, "two ranks are needed");
    other = 1 - my_rank;
    data = malloc(BIG * sizeof(*data));
    MPI(MPI_Win_allocate(BIG * sizeof(*memory), sizeof(*memory), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &other, &group);
    late_post(group);
    early_transfer(group);
    early_wait(group);
    late_complete(group);
    early_fence();
    wait_at_fence();
    late_unlock();
    CHECK(argc < 2 || waits >= atoi(argv[1]), "%d of %d wait, expected %s", waits, patterns, argv[1]);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    MPI(MPI_Win_free(&win));
    free(data);
    return finish();
}
