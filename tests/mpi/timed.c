// SPDX-License-Identifier: BSD-3-Clause
// Description: two ranks of one node that wait for each other's messages find out by which of two ways these go
// quicker: one message or several at a time, by every call that waits, to one side or to both. Which way wins is the
// machine's; that receives are timed, and not all of them in vain, is what is asserted. With data that is checked.
#include "counters.h"

enum { MOST = 8, BYTES = 98304, BATCH = 50, SECONDS = 30 };

typedef void (*wait_fn)(int count, MPI_Request *requests);

static void all(int count, MPI_Request *requests) { MPI(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE)); }

static void each(int count, MPI_Request *requests) {
    for (int i = 0; i < count; ++i) {
        MPI(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
    }
}

static void any(int count, MPI_Request *requests) {
    for (int left = count; left > 0; --left) {
        int index;
        MPI(MPI_Waitany(count, requests, &index, MPI_STATUS_IGNORE));
    }
}

static void some(int count, MPI_Request *requests) {
    int done[2 * MOST];
    for (int left = count, now_done; left > 0; left -= now_done) {
        MPI(MPI_Waitsome(count, requests, &now_done, done, MPI_STATUSES_IGNORE));
    }
}

static unsigned char *in, *out;

// One round: `count` messages from side 0 to side 1, or both ways.
static void exchange(int count, int both, wait_fn waits) {
    MPI_Request requests[2 * MOST];
    int n = 0;
    for (int i = 0; i < count && (both || 1 == my_side); ++i) {
        MPI(MPI_Irecv(in + (size_t) i * BYTES, BYTES, MPI_BYTE, my_peer, i, MPI_COMM_WORLD, &requests[n++]));
    }
    for (int i = 0; i < count && (both || 0 == my_side); ++i) {
        MPI(MPI_Isend(out + (size_t) i * BYTES, BYTES, MPI_BYTE, my_peer, i, MPI_COMM_WORLD, &requests[n++]));
    }
    waits(n, requests);
}

// Until of one batch's receives one in `share` was timed, as the receiver says. Somebody else on the machine may be
// busy for a while.
static void rounds(const char *name, int count, int both, wait_fn waits, int share) {
    test_note = name;
    unsigned long long best = 0;
    const double end = MPI_Wtime() + SECONDS;
    for (int enough = 0, round = 0; !enough; ++round) {
        for (int i = 0; i < count; ++i) {
            fill(out + (size_t) i * BYTES, BYTES, key_of(500 + round, my_rank, (uint64_t) i, 0));
        }
        memset(in, 0, (size_t) MOST * BYTES);
        const unsigned long long before = counter_named("receives_timed");
        for (int i = 0; i < BATCH; ++i) {
            exchange(count, both, waits);
        }
        const unsigned long long timed = counter_named("receives_timed") - before;
        for (int i = 0; i < count && (both || 1 == my_side); ++i) {
            VERIFY(in + (size_t) i * BYTES, BYTES, key_of(500 + round, my_peer, (uint64_t) i, 0), "message");
        }
        if (1 == my_side) {
            best = timed > best ? timed : best;
            enough = best * (unsigned long long) share >= (unsigned long long) (BATCH * count);
            CHECK(enough || MPI_Wtime() < end, "of %d receives at most %llu were timed", BATCH * count, best);
        }
        MPI(MPI_Bcast(&enough, 1, MPI_INT, 1, MPI_COMM_WORLD));
    }
}

int main(int argc, char **argv) {
    begin(&argc, &argv, 2);
    begin_counters();
    CHECK(2 == n_ranks, "for two ranks");
    in = malloc((size_t) MOST * BYTES);
    out = malloc((size_t) MOST * BYTES);
    CHECK(NULL != in && NULL != out, "no memory");
    rounds("one, MPI_Wait", 1, 0, each, 8);
    rounds("one, MPI_Waitall", 1, 0, all, 8);
    rounds("several, MPI_Waitall", MOST, 0, all, 8);
    rounds("several, MPI_Wait for each", MOST, 0, each, 8);
    rounds("several, MPI_Waitany", MOST, 0, any, 8);
    rounds("several, MPI_Waitsome", MOST, 0, some, 8);
    rounds("one both ways, MPI_Waitall", 1, 1, all, 8);
    rounds("several both ways, MPI_Waitall", MOST, 1, all, 16);
    rounds("several both ways, MPI_Wait for each", MOST, 1, each, 50);
    free(in);
    free(out);
    end_counters();
    return finish();
}
