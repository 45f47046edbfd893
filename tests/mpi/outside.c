// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
// Description: rank 0 has done what it has to for its messages to rank 1, and one of the two waits outside MPI, for
// what the other writes into a file that both have mapped. Nothing may need a call of its meanwhile.
//
//   outside first SIZE     the first message of the job: rank 1 has posted its receive and computes
//   outside tail SIZE N    K messages that go whole, K up to N: rank 0 computes until all were received. More of them
//                          than the network's buffers take
//   outside behind N       N small messages whose requests are freed, and N buffered ones: more than a ring holds
//
// With SIZE up to the largest message that goes whole for `tail`. Of `first` the sender of a whole message goes on too.
#include "check.h"

#include <fcntl.h>
#include <sys/mman.h>

enum { PATIENCE = 20, SLOW_MS = 20 };

static struct {
    volatile int posted; // rank 1: its receive is
    volatile int sent;   // rank 0: its send is complete
    volatile int got;    // rank 1: so many messages, together
    volatile int open;   // ranks that have mapped it
} * words;

// Without a message: the job's name is known to all its ranks.
static void share_words(const char *program) {
    char path[4096];
    const char *job = getenv("PMIX_NAMESPACE");
    snprintf(path, sizeof(path), "%s.%s", program, NULL == job ? "" : job);
    const int fd = open(path, O_RDWR | O_CREAT, 0600);
    CHECK(fd >= 0 && 0 == ftruncate(fd, sizeof(*words)), "%s cannot be made", path);
    words = mmap(NULL, sizeof(*words), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(MAP_FAILED != words, "%s cannot be mapped", path);
    close(fd);
    __atomic_add_fetch(&words->open, 1, __ATOMIC_SEQ_CST);
    for (const double end = now() + PATIENCE; words->open < n_ranks;) {
        CHECK(now() < end, "%s is not seen by all ranks", path);
    }
    unlink(path);
}

// No call into MPI.
static void compute_until(const volatile int *word, int value, const char *what) {
    for (const double end = now() + PATIENCE; *word < value;) {
        CHECK(now() < end, "%s: %d, expected %d, and nobody calls MPI", what, *word, value);
    }
}

static void first(char *buffer, int bytes) {
    if (0 == my_rank) {
        compute_until(&words->posted, 1, "posted");
        fill(buffer, (size_t) bytes, 1);
        MPI(MPI_Send(buffer, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
        words->sent = 1;
    } else {
        MPI_Request request;
        MPI(MPI_Irecv(buffer, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request));
        words->posted = 1;
        compute_until(&words->sent, 1, "sent");
        MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        VERIFY(buffer, (size_t) bytes, 1, "the first message");
    }
}

static void tail(char *buffer, int bytes, int most) {
    int total = 0;
    for (int k = 1; k <= most; ++k) {
        MPI(MPI_Barrier(MPI_COMM_WORLD));
        total += k;
        if (0 == my_rank) {
            for (int i = 0; i < k; ++i) {
                fill(buffer, (size_t) bytes, (uint64_t) i);
                MPI(MPI_Send(buffer, bytes, MPI_BYTE, 1, k, MPI_COMM_WORLD));
            }
            compute_until(&words->got, total, "received");
        } else {
            sleep_ms(SLOW_MS);
            for (int i = 0; i < k; ++i) {
                MPI(MPI_Recv(buffer, bytes, MPI_BYTE, 0, k, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
                VERIFY(buffer, (size_t) bytes, (uint64_t) i, "a whole message");
            }
            words->got = total;
        }
    }
}

static void behind(int n) {
    MPI_Request request;
    int *values = malloc(2 * (size_t) n * sizeof(int));
    const int room = n * (int) (sizeof(int) + MPI_BSEND_OVERHEAD);
    void *buffer = malloc((size_t) room);
    CHECK(NULL != values && NULL != buffer, "no memory");
    MPI(MPI_Buffer_attach(buffer, room));
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (0 == my_rank) {
        for (int i = 0; i < 2 * n; ++i) {
            values[i] = 3 * i;
            if (i < n) {
                MPI(MPI_Isend(&values[i], 1, MPI_INT, 1, 7, MPI_COMM_WORLD, &request));
                MPI(MPI_Request_free(&request));
            } else {
                MPI(MPI_Bsend(&values[i], 1, MPI_INT, 1, 7, MPI_COMM_WORLD));
            }
        }
        words->sent = 1;
        compute_until(&words->got, 2 * n, "received");
    } else {
        compute_until(&words->sent, 1, "sent");
        for (int i = 0, value = -1; i < 2 * n; ++i) {
            MPI(MPI_Recv(&value, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK(3 * i == value, "message %d is %d", i, value);
        }
        words->got = 2 * n;
    }
    MPI(MPI_Buffer_detach(&buffer, &(int){0}));
    free(buffer);
    free(values);
}

int main(int argc, char **argv) {
    begin(&argc, &argv, 2);
    const int bytes = argc > 2 ? atoi(argv[2]) : 1048576;
    char *buffer = malloc((size_t) bytes);
    CHECK(NULL != buffer, "no memory");
    share_words(argv[0]);
    if (my_rank < 2 && argc > 1 && 0 == strcmp(argv[1], "first")) {
        first(buffer, bytes);
    } else if (my_rank < 2 && argc > 2 && 0 == strcmp(argv[1], "behind")) {
        behind(atoi(argv[2]));
    } else if (my_rank < 2) {
        tail(buffer, bytes, argc > 3 ? atoi(argv[3]) : 24);
    }
    free(buffer);
    return finish();
}
