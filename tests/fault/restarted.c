// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
// Description: does a large message reach a rank that computes, after the test did something to the helpers?
//   restarted DIRECTORY REPEATS SECONDS [BEFORE]
// Large messages both ways -> `ready`, and all ranks sit in MPI until the test writes `again` -> BEFORE (0) messages
// each way while both wait -> REPEATS each way between ranks 0 and 1, whose receiver computes until the data is there,
// at most SECONDS. Prints how many came while it computed: `# arrived N of M`. Every byte is checked.
#include "check.h"

#include <sys/stat.h>

enum { SIZE = 1 << 20 };

static unsigned char *out, *in;

static int exists(const char *directory, const char *name) {
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    return 0 == access(path, F_OK);
}

static void say(const char *directory, const char *name) {
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    CHECK(0 == mkdir(path, 0700), "cannot make %s", path);
}

static void exchange(int round) {
    MPI_Request request;
    memset(in, BLANK_VALUE, SIZE);
    fill(out, SIZE, key_of(240, my_rank, round, 0));
    MPI(MPI_Irecv(in, SIZE, MPI_BYTE, 1 - my_rank, 0, MPI_COMM_WORLD, &request));
    MPI(MPI_Send(out, SIZE, MPI_BYTE, 1 - my_rank, 0, MPI_COMM_WORLD));
    MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    VERIFY(in, SIZE, key_of(240, 1 - my_rank, round, 0), "message");
}

// Sender and receiver meet before: the receive is posted. 1: it was there before the receiver came back to MPI.
static int one_way(int sender, int round, double seconds) {
    int posted = 1, arrived = 0;
    if (my_rank == sender) {
        fill(out, SIZE, key_of(241, sender, round, 0));
        MPI(MPI_Recv(&posted, 1, MPI_INT, 1 - sender, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        MPI(MPI_Send(out, SIZE, MPI_BYTE, 1 - sender, 2, MPI_COMM_WORLD));
    } else {
        MPI_Request request;
        unsigned char last;
        memset(in, BLANK_VALUE, SIZE);
        fill(out, SIZE, key_of(241, sender, round, 0)); // to know the last byte
        last = out[SIZE - 1];
        in[SIZE - 1] = (unsigned char) ~last;
        MPI(MPI_Irecv(in, SIZE, MPI_BYTE, sender, 2, MPI_COMM_WORLD, &request));
        MPI(MPI_Send(&posted, 1, MPI_INT, sender, 1, MPI_COMM_WORLD));
        for (double end = now() + seconds; !arrived && now() < end;) {
            arrived = last == ((volatile unsigned char *) in)[SIZE - 1];
        }
        MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        VERIFY(in, SIZE, key_of(241, sender, round, 0), "message");
    }
    return arrived;
}

int main(int argc, char **argv) {
    begin(&argc, &argv, 2);
    CHECK(argc > 3, "restarted DIRECTORY REPEATS SECONDS [BEFORE]");
    const char *directory = argv[1];
    int repeats = atoi(argv[2]), before = argc > 4 ? atoi(argv[4]) : 0, arrived = 0, all = 0, again = 0, seen = 0;
    double seconds = atof(argv[3]);
    out = guarded_alloc(SIZE);
    in = guarded_alloc(SIZE);
    exchange(0);
    if (0 == my_rank) {
        say(directory, "ready");
    }
    while (!again) { // in MPI all the time
        if (0 == my_rank) {
            again = exists(directory, "again");
            MPI(MPI_Iprobe(1, 99, MPI_COMM_WORLD, &seen, MPI_STATUS_IGNORE));
        }
        MPI(MPI_Bcast(&again, 1, MPI_INT, 0, MPI_COMM_WORLD));
    }
    for (int i = 0; i < before; ++i) {
        exchange(-1 - i);
    }
    for (int i = 0; i < repeats; ++i) {
        arrived += one_way(0, i, seconds);
        arrived += one_way(1, i, seconds);
        exchange(i + 1);
    }
    MPI(MPI_Reduce(&arrived, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD));
    if (0 == my_rank) {
        printf("# arrived %d of %d\n", all, 2 * repeats);
    }
    guarded_free(out, SIZE);
    guarded_free(in, SIZE);
    return finish();
}
