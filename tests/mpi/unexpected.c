// SPDX-License-Identifier: BSD-3-Clause
// Description: many messages of all sizes from every rank arrive before any receive is posted and are
// then received in another order, by tag. argv[1]: messages per rank.
#include "check.h"

enum { MAX_SIZE = 400000 };

static size_t size_of(int sender, int i) {
    Rng rng = rng_make(key_of(30, sender, i, 0));
    return rng_size(&rng, MAX_SIZE);
}

int main(int argc, char **argv) {
    begin(&argc, &argv, 2);
    int messages = argc > 1 ? atoi(argv[1]) : 300;
    int to = (my_rank + 1) % n_ranks, from = (my_rank + n_ranks - 1) % n_ranks;
    unsigned char **out = calloc(messages, sizeof(*out));
    MPI_Request *request = calloc(messages, sizeof(*request));
    int *order = calloc(messages, sizeof(*order));
    unsigned char *in = guarded_alloc(MAX_SIZE);

    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < messages; ++i) {
            size_t n = size_of(my_rank, i);
            out[i] = malloc(n + 1);
            fill(out[i], n, key_of(31, my_rank, i, round));
            MPI(MPI_Isend(out[i], (int) n, MPI_BYTE, to, i, MPI_COMM_WORLD, &request[i]));
            order[i] = i;
        }
        MPI(MPI_Barrier(MPI_COMM_WORLD)); // also makes progress, so that they do arrive
        Rng rng = rng_make(key_of(32, my_rank, round, 0));
        if (0 == round) {
            for (int i = 0; i < messages; ++i) {
                order[i] = messages - 1 - i;
            }
        } else {
            rng_shuffle(&rng, order, messages);
        }
        for (int k = 0; k < messages; ++k) {
            int i = order[k];
            size_t n = size_of(from, i);
            MPI_Status status;
            memset(in, BLANK_VALUE, MAX_SIZE);
            MPI(MPI_Recv(in, MAX_SIZE, MPI_BYTE, round == 2 ? MPI_ANY_SOURCE : from, i, MPI_COMM_WORLD, &status));
            CHECK_STATUS(&status, from, i, n);
            VERIFY(in, n, key_of(31, from, i, round), "unexpected message");
            VERIFY_VALUE(in + n, n + 64 <= MAX_SIZE ? 64 : MAX_SIZE - n, BLANK_VALUE, "after it");
        }
        MPI(MPI_Waitall(messages, request, MPI_STATUSES_IGNORE));
        for (int i = 0; i < messages; ++i) {
            free(out[i]);
        }
        MPI(MPI_Barrier(MPI_COMM_WORLD));
    }
    guarded_free(in, MAX_SIZE);
    free(out);
    free(request);
    free(order);
    return finish();
}
