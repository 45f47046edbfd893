// SPDX-License-Identifier: BSD-3-Clause
// Description: operations on a target of the same node that waits in MPI go by message or by the kernel's copies, and
// which is quicker is found out: for each kind, one or several to a flush, unlock or fence. Which way wins is the
// machine's; that they are timed, and not all of them in vain, is what is asserted. With data that is checked.
#define _GNU_SOURCE 1
#include <sched.h>

#include "counters.h"

enum { MOST = 8, BYTES = 98304, BATCH = 50, SECONDS = 30 };

enum kind { PUT, GET, ADD, FETCH };
enum end { FLUSH, UNLOCK, FENCE };

static unsigned char *memory, *buffer;
static MPI_Win window;
static int nothing_timed;

static void operation(enum kind kind, int i, int bytes) {
    const MPI_Aint at = (MPI_Aint) i * BYTES;
    unsigned char *mine = buffer + at;
    const int words = bytes / 8;
    switch (kind) {
    case PUT:
        MPI(MPI_Put(mine, bytes, MPI_BYTE, my_peer, at, bytes, MPI_BYTE, window));
        return;
    case GET:
        MPI(MPI_Get(mine, bytes, MPI_BYTE, my_peer, at, bytes, MPI_BYTE, window));
        return;
    case ADD:
        MPI(MPI_Accumulate(mine, words, MPI_UINT64_T, my_peer, at, words, MPI_UINT64_T, MPI_REPLACE, window));
        return;
    case FETCH:
        MPI(MPI_Get_accumulate(NULL, 0, MPI_UINT64_T, mine, words, MPI_UINT64_T, my_peer, at, words, MPI_UINT64_T,
                               MPI_NO_OP, window));
        return;
    }
}

static void epoch(enum kind kind, enum end end, int count, int bytes) {
    if (UNLOCK == end) {
        MPI(MPI_Win_lock(MPI_LOCK_SHARED, my_peer, 0, window));
    }
    for (int i = 0; i < count; ++i) {
        operation(kind, i, bytes);
    }
    if (FLUSH == end) {
        MPI(MPI_Win_flush(my_peer, window));
    } else if (UNLOCK == end) {
        MPI(MPI_Win_unlock(my_peer, window));
    }
}

// One batch of epochs, after which what was written, or read, is looked at.
static void batch(enum kind kind, enum end end, int count, int bytes, uint64_t key) {
    const int stores = PUT == kind || ADD == kind;
    unsigned char *filled = stores ? buffer : memory;
    memset(stores ? memory : buffer, 0, (size_t) MOST * BYTES);
    for (int i = 0; i < count && my_side == (stores ? 0 : 1); ++i) {
        fill(filled + (size_t) i * BYTES, (size_t) bytes, key_of(key, 0, (uint64_t) i, 0));
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (FENCE == end) {
        MPI(MPI_Win_fence(0, window));
        for (int k = 0; k < BATCH; ++k) {
            if (0 == my_side) {
                epoch(kind, end, count, bytes);
            }
            MPI(MPI_Win_fence(0, window));
        }
        MPI(MPI_Win_fence(MPI_MODE_NOSUCCEED, window));
    } else if (0 == my_side) {
        if (FLUSH == end) {
            MPI(MPI_Win_lock_all(0, window));
        }
        for (int k = 0; k < BATCH; ++k) {
            epoch(kind, end, count, bytes);
        }
        if (FLUSH == end) {
            MPI(MPI_Win_unlock_all(window));
        }
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    unsigned char *arrived = stores ? memory : buffer;
    for (int i = 0; i < count && my_side == (stores ? 1 : 0); ++i) {
        VERIFY(arrived + (size_t) i * BYTES, (size_t) bytes, key_of(key, 0, (uint64_t) i, 0), "data");
    }
}

// Until of one batch's operations one in `share` was timed. Somebody else on the machine may be busy for a while.
static void rounds(const char *name, enum kind kind, enum end end, int count, int bytes, int share) {
    test_note = name;
    unsigned long long best = 0;
    const double last = MPI_Wtime() + SECONDS;
    for (int enough = 0, round = 0; !enough; ++round) {
        const unsigned long long before = counter_named("rma_timed");
        batch(kind, end, count, bytes, (uint64_t) (500 + round));
        if (0 == my_side) {
            const unsigned long long timed = counter_named("rma_timed") - before;
            best = timed > best ? timed : best;
            enough = nothing_timed || best * (unsigned long long) share >= (unsigned long long) (BATCH * count);
            CHECK(enough || MPI_Wtime() < last, "of %d operations at most %llu were timed", BATCH * count, best);
        }
        MPI(MPI_Bcast(&enough, 1, MPI_INT, 0, MPI_COMM_WORLD));
    }
}

int main(int argc, char **argv) {
    begin(&argc, &argv, 2);
    begin_counters();
    CHECK(2 == n_ranks, "for two ranks");
    cpu_set_t units;
    if (0 == sched_getaffinity(0, sizeof(units), &units) && CPU_COUNT(&units) < 2 && 0 == my_side) {
        printf("# without a unit for each rank nothing is timed: data alone is looked at\n");
        nothing_timed = 1;
    }
    memory = malloc((size_t) MOST * BYTES);
    buffer = malloc((size_t) MOST * BYTES);
    CHECK(NULL != memory && NULL != buffer, "no memory");
    MPI(MPI_Win_create(memory, (MPI_Aint) MOST * BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window));
    rounds("a put, flush", PUT, FLUSH, 1, BYTES, 16);
    rounds("puts, flush", PUT, FLUSH, MOST, BYTES, 16);
    rounds("a get, flush", GET, FLUSH, 1, BYTES, 16);
    rounds("gets, unlock", GET, UNLOCK, MOST, BYTES, 16);
    rounds("a put, unlock", PUT, UNLOCK, 1, 16384, 16);
    rounds("puts, fence", PUT, FENCE, MOST, 16384, 32);
    rounds("a get, fence", GET, FENCE, 1, 16384, 32);
    rounds("a small put, unlock", PUT, UNLOCK, 1, 8, 16);
    rounds("small gets, flush", GET, FLUSH, MOST, 64, 16);
    rounds("a small accumulate, flush", ADD, FLUSH, 1, 8, 16);
    rounds("a small fetch, flush", FETCH, FLUSH, 1, 8, 16);
    rounds("small fetches, flush", FETCH, FLUSH, MOST, 64, 16);
    MPI(MPI_Win_free(&window));
    free(memory);
    free(buffer);
    end_counters();
    return finish();
}
