// SPDX-License-Identifier: BSD-3-Clause
// Description: thousands of small and hundreds of large requests outstanding at once, completed in mixed
// order. argv[1]: small ones per direction (default 10000), argv[2]: large ones (default 256).
#include "check.h"

enum { SMALL = 24, LARGE = 100000 };

int main(int argc, char **argv) {
    begin(&argc, &argv, 2);
    int small = argc > 1 ? atoi(argv[1]) : 10000, large = argc > 2 ? atoi(argv[2]) : 256;
    int n = small + large, to = (my_rank + 1) % n_ranks, from = (my_rank + n_ranks - 1) % n_ranks;
    size_t bytes = (size_t) small * SMALL + (size_t) large * LARGE;
    unsigned char *out = guarded_alloc(bytes), *in = guarded_alloc(bytes);
    MPI_Request *r = calloc(n, sizeof(*r)), *s = calloc(n, sizeof(*s));
    int *order = calloc(n, sizeof(int));
    Rng rng = rng_make(my_rank);

    for (int round = 0; round < 2; ++round) {
        // Request i < small is small; tags are i modulo 1000, so order within a tag matters too.
        memset(in, BLANK_VALUE, bytes);
        for (int i = 0; i < n; ++i) {
            size_t at = i < small ? (size_t) i * SMALL : (size_t) small * SMALL + (size_t) (i - small) * LARGE;
            fill(out + at, i < small ? SMALL : LARGE, key_of(200, my_rank, round, i));
            order[i] = i;
        }
        for (int pass = 0; pass < 2; ++pass) { // receives first in round 0, sends first in round 1
            for (int i = 0; i < n; ++i) {
                size_t at = i < small ? (size_t) i * SMALL : (size_t) small * SMALL + (size_t) (i - small) * LARGE;
                int len = i < small ? SMALL : LARGE, tag = i < small ? i % 1000 : 2000 + i % 7;
                if (pass == round) {
                    MPI(MPI_Irecv(in + at, len, MPI_BYTE, i % 5 ? from : MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &r[i]));
                } else {
                    MPI(MPI_Isend(out + at, len, MPI_BYTE, to, tag, MPI_COMM_WORLD, &s[i]));
                }
            }
        }
        rng_shuffle(&rng, order, n);
        test_note = "completing receives in mixed order";
        for (int k = 0; k < n; ++k) {
            int i = order[k], len = i < small ? SMALL : LARGE;
            size_t at = i < small ? (size_t) i * SMALL : (size_t) small * SMALL + (size_t) (i - small) * LARGE;
            MPI_Status status;
            MPI(MPI_Wait(&r[i], &status));
            CHECK_STATUS(&status, from, i < small ? i % 1000 : 2000 + i % 7, (size_t) len);
            VERIFY(in + at, len, key_of(200, from, round, i), "one of many");
        }
        test_note = "completing sends";
        MPI(MPI_Waitall(n, s, MPI_STATUSES_IGNORE));
        MPI(MPI_Barrier(MPI_COMM_WORLD));
    }
    free(r);
    free(s);
    free(order);
    guarded_free(out, bytes);
    guarded_free(in, bytes);
    return finish();
}
