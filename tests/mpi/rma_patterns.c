// SPDX-License-Identifier: BSD-3-Clause
// Description: the seven ways in which one-sided programs lose time, each arranged so that a call that
// waited would never end: who comes late is told to come by what the other does after that call. Pairs of
// ranks, an even one and the one behind it.
#include "mpix.h"

enum { BIG = 1 << 17, NEWS = 77 };

static MPI_Win win;
static int64_t *memory;
static int64_t *data;
static int other;
static int64_t stamp;

// What came by message, not by window: the order of events.
static void tell(void) { MPI(MPI_Send(NULL, 0, MPI_BYTE, other, NEWS, MPI_COMM_WORLD)); }
static void hear(void) { MPI(MPI_Recv(NULL, 0, MPI_BYTE, other, NEWS, MPI_COMM_WORLD, MPI_STATUS_IGNORE)); }
static void end(MPI_Request *request) { MPI(MPI_Wait(request, MPI_STATUS_IGNORE)); }

// Without a call: somebody else must have gone on.
static void compute_until_there(int64_t value) {
    while (*(volatile int64_t *) (memory + BIG - 1) != value) {}
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
}

static int origin(void) { return 0 == my_rank % 2; }

static MPI_Group pair(void) {
    MPI_Group world, one;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &other, &one);
    MPI_Group_free(&world);
    return one;
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

static void put(void) { MPI(MPI_Put(data, BIG, MPI_INT64_T, other, 0, BIG, MPI_INT64_T, win)); }

static void check_data(void) {
    for (int i = 0; i < BIG; ++i) {
        CHECK(memory[i] == stamp, "cell %d is %" PRId64 ", expected %" PRId64, i, memory[i], stamp);
    }
}

// The target opens its window after the origin's epoch has been closed.
static void late_post(MPI_Group group) {
    MPI_Request r;
    begin_pattern("late post");
    if (origin()) {
        MPI(MPI_Win_start(group, 0, win));
        put();
        MPI(mpix.icomplete(win, &r));
        tell();
        end(&r);
    } else {
        hear();
        MPI(MPI_Win_post(group, 0, win));
        MPI(MPI_Win_wait(win));
        check_data();
    }
}

// The origin's put comes before the window is open, and returns.
static void early_transfer(MPI_Group group) {
    begin_pattern("early transfer");
    if (origin()) {
        MPI(MPI_Win_start(group, 0, win));
        put();
        tell();
        MPI(MPI_Win_complete(win));
    } else {
        hear();
        MPI(MPI_Win_post(group, 0, win));
        MPI(MPI_Win_wait(win));
        check_data();
    }
}

// The target waits for an epoch that its origin has not begun.
static void early_wait(MPI_Group group) {
    MPI_Request r[2];
    begin_pattern("early wait");
    if (origin()) {
        hear();
        MPI(MPI_Win_start(group, 0, win));
        put();
        MPI(MPI_Win_complete(win));
    } else {
        MPI(mpix.ipost(group, 0, win, &r[0]));
        MPI(mpix.iwait(win, &r[1]));
        tell();
        MPI(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
        check_data();
    }
}

// The origin computes after its last operation, until the target, whose epoch is through, has answered.
static void late_complete(MPI_Group group) {
    MPI_Request r;
    begin_pattern("late complete");
    if (origin()) {
        MPI(MPI_Win_start(group, 0, win));
        put();
        MPI(mpix.icomplete(win, &r));
        compute_until_there(-stamp);
        end(&r);
    } else {
        const int64_t answer = -stamp;
        MPI(MPI_Win_post(group, 0, win));
        MPI(MPI_Win_wait(win));
        check_data();
        MPI(MPI_Win_lock(MPI_LOCK_SHARED, other, MPI_MODE_NOCHECK, win));
        MPI(MPI_Put(&answer, 1, MPI_INT64_T, other, BIG - 1, 1, MPI_INT64_T, win));
        MPI(MPI_Win_unlock(other, win));
    }
}

// The even ranks come to the opening fence before the odd ones, who wait to be told.
static void early_fence(void) {
    MPI_Request r[2];
    begin_pattern("early fence");
    if (origin()) {
        MPI(mpix.ifence(0, win, &r[0]));
        put();
        MPI(mpix.ifence(MPI_MODE_NOSUCCEED, win, &r[1]));
        tell();
    } else {
        hear();
        MPI(mpix.ifence(0, win, &r[0]));
        MPI(mpix.ifence(MPI_MODE_NOSUCCEED, win, &r[1]));
    }
    MPI(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
    if (!origin()) {
        check_data();
    }
}

// The odd ranks compute until the data of the epoch are there, and come to its closing fence after that.
static void wait_at_fence(void) {
    MPI_Request r;
    begin_pattern("wait at fence");
    MPI(MPI_Win_fence(0, win));
    if (origin()) {
        put();
    } else {
        compute_until_there(stamp);
    }
    MPI(mpix.ifence(MPI_MODE_NOSUCCEED, win, &r));
    end(&r);
    if (!origin()) {
        check_data();
    }
}

// Targets of several nodes compute from the opening fence on, whose barrier takes several steps: what they have to send
// on for others is sent, or no put would go.
static void fence_of_many(void) {
    const int half = n_ranks / 2, target = (my_rank + half) % n_ranks;
    MPI_Comm node;
    int here;
    MPI(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    MPI_Comm_size(node, &here);
    MPI_Comm_free(&node);
    MPI(MPI_Allreduce(MPI_IN_PLACE, &here, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    if (n_ranks < 4 || here == n_ranks) {
        return; // inside a node a fence is sent on by calls
    }
    begin_pattern("a fence of many");
    MPI(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
    if (my_rank < half) {
        MPI(MPI_Put(data, BIG, MPI_INT64_T, target, 0, BIG, MPI_INT64_T, win));
    } else {
        compute_until_there(stamp);
    }
    MPI(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    if (my_rank >= half) {
        check_data();
    }
}

// The holder of a lock lets go of it and computes until the next holder has been there.
static void late_unlock(void) {
    MPI_Request r;
    const int64_t next = stamp + 2;
    begin_pattern("late unlock");
    if (origin()) {
        MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, other, 0, win));
        put();
        MPI(MPI_Win_flush(other, win));
        tell();
        MPI(mpix.iunlock(other, win, &r));
        compute_until_there(next);
        end(&r);
    } else {
        MPI_Request own;
        hear();
        MPI(mpix.ilock(MPI_LOCK_EXCLUSIVE, my_rank, 0, win, &own)); // the lock the other holds
        end(&own);
        check_data();
        MPI(MPI_Win_unlock(my_rank, win));
        MPI(MPI_Win_lock(MPI_LOCK_SHARED, other, 0, win));
        MPI(MPI_Put(&next, 1, MPI_INT64_T, other, BIG - 1, 1, MPI_INT64_T, win));
        MPI(MPI_Win_unlock(other, win));
    }
}

int main(int argc, char **argv) {
    begin(&argc, &argv, 2);
    load_mpix();
    CHECK(0 == n_ranks % 2, "an even number of ranks is needed");
    other = my_rank ^ 1;
    data = malloc(BIG * sizeof(*data));
    MPI(MPI_Win_allocate(BIG * sizeof(*memory), sizeof(*memory), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    MPI_Group group = pair();
    for (int round = 0; round < 3; ++round) {
        late_post(group);
        early_transfer(group);
        early_wait(group);
        late_complete(group);
        early_fence();
        wait_at_fence();
        fence_of_many();
        late_unlock();
    }
    MPI_Group_free(&group);
    MPI(MPI_Win_free(&win));
    free(data);
    return finish();
}
