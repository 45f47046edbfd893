// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
// Description: transfers in phases, so that a test can do something to the job before, during and after
// them. Rank 0 says by names in a directory where it is, and waits for the test's.
//   phases DIRECTORY SECONDS PAUSE_MS
// ready -> [begin] -> transfers for SECONDS, `moving` soon after their start -> moved -> [go] -> transfers -> ok
// Every byte is checked. PAUSE_MS: computation between posting and waiting.
#include "check.h"

#include <sys/stat.h>

enum { MAX_SIZE = 1 << 20, K = 3 };

static char path[4096];
static const char *directory;
static unsigned char *out[K], *in[K];
static uint64_t rounds;

static const char *step(const char *name) {
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    return path;
}

static void say(const char *name) {
    if (0 == my_rank) {
        CHECK(0 == mkdir(step(name), 0700), "cannot make %s", path); // takes no descriptor
    }
}

static void wait_for(const char *name) {
    if (0 == my_rank) {
        while (0 != access(step(name), F_OK)) {
            sleep_ms(5);
        }
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
}

static void exchange(double pause) {
    static const size_t sizes[] = {1000, 65536, 70000, 262144, MAX_SIZE};
    int to = (my_rank + 1) % n_ranks, from = (my_rank + n_ranks - 1) % n_ranks;
    MPI_Request request[2 * K];
    MPI_Status status[2 * K];
    size_t n[K];
    for (int i = 0; i < K; ++i) {
        n[i] = sizes[(rounds + i * 2) % 5];
        fill(out[i], n[i], key_of(230, my_rank, rounds, i));
        memset(in[i], BLANK_VALUE, n[i]);
        MPI(MPI_Irecv(in[i], MAX_SIZE, MPI_BYTE, from, i, MPI_COMM_WORLD, &request[i]));
    }
    for (int i = 0; i < K; ++i) {
        MPI(MPI_Isend(out[i], (int) n[i], MPI_BYTE, to, i, MPI_COMM_WORLD, &request[K + i]));
    }
    for (double until = now() + pause; now() < until;) {}
    MPI(MPI_Waitall(2 * K, request, status));
    for (int i = 0; i < K; ++i) {
        CHECK_STATUS(&status[i], from, i, n[i]);
        VERIFY(in[i], n[i], key_of(230, from, rounds, i), "message");
    }
    ++rounds;
}

int main(int argc, char **argv) {
    begin(&argc, &argv, 2);
    CHECK(argc > 3, "phases DIRECTORY SECONDS PAUSE_MS");
    directory = argv[1];
    double seconds = atof(argv[2]), pause = atof(argv[3]) * 1e-3;
    char note[64];
    test_note = note;
    for (int i = 0; i < K; ++i) {
        out[i] = guarded_alloc(MAX_SIZE);
        in[i] = guarded_alloc(MAX_SIZE);
    }
    snprintf(note, sizeof(note), "waiting to begin");
    say("ready");
    wait_for("begin");
    int go = 1;
    for (double end = now() + seconds; go;) {
        snprintf(note, sizeof(note), "round %" PRIu64, rounds);
        exchange(pause);
        if (4 == rounds) {
            say("moving");
        }
        go = now() < end || rounds < 6; // rank 0's clock decides for all
        MPI(MPI_Bcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD));
    }
    say("moved");
    snprintf(note, sizeof(note), "waiting after %" PRIu64 " rounds", rounds);
    wait_for("go");
    for (int i = 0; i < 10; ++i) {
        snprintf(note, sizeof(note), "round %" PRIu64 ", after", rounds);
        exchange(pause);
    }
    for (int i = 0; i < K; ++i) {
        guarded_free(out[i], MAX_SIZE);
        guarded_free(in[i], MAX_SIZE);
    }
    if (0 == my_rank) {
        printf("# %" PRIu64 " rounds\n", rounds);
    }
    return finish();
}
