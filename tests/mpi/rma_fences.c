// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
// Description: a fence that begins an epoch returns before all are in it, and what others wait for must not depend on
// the next call of a process that computes: the barrier's next round, and a post that stands behind it. Rank 1 begins,
// and computes until it sees in its memory what another one puts there last: under a lock, of another window where it
// has an exposure open, as what is put into that is there when it ends.
#include "check.h"

enum { CELLS = 4, TRIES = 3, PUT = 7 };

static const double patience = 10; // seconds: what comes needs a few milliseconds
static const int begins = MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED;

static MPI_Win win, news, unlocked;
static int64_t *memory, *told, *mine;

// No call of MPI.
static void compute_until_put(const int64_t *there, const char *what) {
    const double end = now() + patience;
    while (PUT != *(const volatile int64_t *) there && now() < end) {}
    CHECK(PUT == *(const volatile int64_t *) there, "%s: nothing came while this process computed", what);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
}

static void begin_try(void) {
    *memory = *told = 0;
    MPI(MPI_Barrier(MPI_COMM_WORLD));
}

static void put(int target, MPI_Win into) {
    static const int64_t value = PUT;
    MPI(MPI_Put(&value, 1, MPI_INT64_T, target, 0, 1, MPI_INT64_T, into));
}

static void put_locked(int target, MPI_Win into) {
    MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, into));
    put(target, into);
    MPI(MPI_Win_unlock(target, into));
}

// Rank 0 and 2 come late, and rank 0 needs the second round from rank 1 before it may lock anything.
static void barrier_goes_on(void) {
    begin_try();
    if (1 != my_rank) {
        usleep(50000);
    }
    MPI(MPI_Win_fence(begins, win));
    if (1 == my_rank) {
        compute_until_put(memory, "a lock behind a fence");
    } else if (0 == my_rank) {
        put_locked(2, win);
        put_locked(1, win);
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
}

// The post of rank 1 cannot go before rank 0 is in the fence.
static void post_goes_out(MPI_Group origin, MPI_Group target) {
    begin_try();
    if (1 != my_rank) {
        usleep(50000);
    }
    MPI(MPI_Win_fence(begins, win));
    if (1 == my_rank) {
        MPI(MPI_Win_post(origin, 0, win));
        compute_until_put(told, "a post behind a fence");
        MPI(MPI_Win_wait(win));
        CHECK(PUT == *memory, "what was put before the end of the exposure is not there");
    } else if (0 == my_rank) {
        MPI(MPI_Win_start(target, 0, win));
        put(1, win);
        MPI(MPI_Win_complete(win));
        put_locked(1, news);
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
}

// In a window that may be locked a fence is waited for though it ends no epoch of fences: behind it all is seen that
// others did under locks before they came to it, and nothing that its process stores then is seen by them before.
static void locks_before_are_seen(void) {
    int64_t before = -1;
    begin_try();
    if (1 == my_rank) {
        usleep(20000);
        put_locked(0, win);
        MPI(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
        MPI(MPI_Get(&before, 1, MPI_INT64_T, 0, 1, 1, MPI_INT64_T, win));
        MPI(MPI_Win_unlock(0, win));
    }
    MPI(MPI_Win_fence(0, win));
    if (0 == my_rank) {
        CHECK(PUT == *memory, "what was put before the fence under a lock is not there");
        memory[1] = PUT;
    } else if (1 == my_rank) {
        CHECK(0 == before, "got %" PRId64 ", which was stored behind the fence", before);
    }
    MPI(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    memory[1] = 0;
}

// Programs take a fetch of their own memory for done when the call returns, where the fence before it might have been a
// barrier: in a window that nobody locks it is none. One that may not be, MPI_MODE_NOPRECEDE says, nobody waits for.
static void own_is_fetched(void) {
    const int64_t one = 1, seven = 7, zero = 0;
    int64_t was = -1;
    *mine = 0;
    begin_try();
    if (1 == my_rank) {
        usleep(20000);
    }
    MPI(MPI_Win_fence(0, unlocked));
    MPI(MPI_Compare_and_swap(&seven, &zero, &was, MPI_INT64_T, my_rank, 0, unlocked));
    CHECK(0 == was && 7 == *mine, "swapped %" PRId64 ", there is %" PRId64, was, *mine);
    MPI(MPI_Win_fence(MPI_MODE_NOSUCCEED, unlocked));
    *mine = 0;
    begin_try();
    if (1 == my_rank) {
        usleep(20000);
    }
    MPI(MPI_Win_fence(0, unlocked));
    MPI(MPI_Fetch_and_op(&one, &was, MPI_INT64_T, my_rank, 0, MPI_SUM, unlocked));
    CHECK(0 == was && 1 == *mine, "fetched %" PRId64 ", there is %" PRId64, was, *mine);
    MPI(MPI_Win_fence(MPI_MODE_NOSUCCEED, unlocked));
    *mine = 0;
    begin_try();
    if (1 == my_rank) {
        MPI(MPI_Recv(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    MPI(MPI_Win_fence(MPI_MODE_NOPRECEDE, unlocked));
    MPI(MPI_Fetch_and_op(&one, &was, MPI_INT64_T, my_rank, 0, MPI_SUM, unlocked));
    if (0 == my_rank) {
        MPI(MPI_Send(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
    }
    MPI(MPI_Win_fence(MPI_MODE_NOSUCCEED, unlocked));
    CHECK(0 == was && 1 == *mine, "fetched %" PRId64 ", there is %" PRId64, was, *mine);
}

int main(int argc, char **argv) {
    MPI_Group all, origin, target;
    MPI_Info info;
    const int zero = 0, one = 1;
    begin(&argc, &argv, 2);
    MPI(MPI_Comm_group(MPI_COMM_WORLD, &all));
    MPI(MPI_Group_incl(all, 1, &zero, &origin));
    MPI(MPI_Group_incl(all, 1, &one, &target));
    MPI(MPI_Win_allocate(CELLS * sizeof(*memory), sizeof(*memory), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    MPI(MPI_Win_allocate(sizeof(*told), sizeof(*told), MPI_INFO_NULL, MPI_COMM_WORLD, &told, &news));
    MPI(MPI_Info_create(&info));
    MPI(MPI_Info_set(info, "no_locks", "true"));
    MPI(MPI_Win_allocate(sizeof(*mine), sizeof(*mine), info, MPI_COMM_WORLD, &mine, &unlocked));
    MPI(MPI_Info_free(&info));
    memory[1] = 0;
    for (int try = 0; try < TRIES; ++try) {
        locks_before_are_seen();
        if (n_ranks > 2) {
            barrier_goes_on();
        }
        post_goes_out(origin, target);
        own_is_fetched();
    }
    MPI(MPI_Win_free(&unlocked));
    MPI(MPI_Win_free(&news));
    MPI(MPI_Win_free(&win));
    MPI(MPI_Group_free(&all));
    MPI(MPI_Group_free(&origin));
    MPI(MPI_Group_free(&target));
    return finish();
}
