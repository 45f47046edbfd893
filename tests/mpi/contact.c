// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
// Description: the first messages of all processes, by several threads at once. Who sends to a process for the first
// time may hold a lock of Open MPI's while the components learn of it, and whose message comes from one not met yet
// takes that lock in the callback.
#include "check.h"

#include <pthread.h>

enum { THREADS = 4, LARGE = 200000 };

static pthread_barrier_t together;

static void *work(void *arg) {
    const int self = (int) (intptr_t) arg;
    unsigned char *out = malloc(LARGE), *in = malloc(LARGE);
    pthread_barrier_wait(&together);
    for (int step = 1; step < n_ranks; ++step) {
        // each thread meets the others in an order of its own
        const int shift = 1 + (step - 1 + self * n_ranks / THREADS) % (n_ranks - 1);
        const int to = (my_rank + shift) % n_ranks, from = (my_rank + n_ranks - shift) % n_ranks;
        const size_t bytes = 0 == (step + self) % 2 ? LARGE : 100;
        MPI_Request request;
        fill(out, bytes, key_of(700 + self, my_rank, (uint64_t) step, to));
        MPI(MPI_Irecv(in, (int) bytes, MPI_BYTE, from, self, MPI_COMM_WORLD, &request));
        MPI(MPI_Send(out, (int) bytes, MPI_BYTE, to, self, MPI_COMM_WORLD));
        MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        VERIFY(in, bytes, key_of(700 + self, from, (uint64_t) step, my_rank), "first message");
    }
    free(in);
    free(out);
    return NULL;
}

int main(int argc, char **argv) {
    int provided;
    pthread_t threads[THREADS];
    MPI(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
    CHECK(MPI_THREAD_MULTIPLE == provided, "MPI_THREAD_MULTIPLE is not provided");
    MPI(MPI_Comm_rank(MPI_COMM_WORLD, &my_rank));
    MPI(MPI_Comm_size(MPI_COMM_WORLD, &n_ranks));
    pthread_barrier_init(&together, NULL, THREADS);
    for (int i = 0; i < THREADS; ++i) {
        CHECK(0 == pthread_create(&threads[i], NULL, work, (void *) (intptr_t) i), "no thread");
    }
    for (int i = 0; i < THREADS; ++i) {
        pthread_join(threads[i], NULL);
    }
    return finish();
}
