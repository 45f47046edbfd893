// SPDX-License-Identifier: BSD-3-Clause
// Description: every blocking and nonblocking collective with several sizes and roots, user operations
// (a commutative one and one that is not), in-place forms, and many nonblocking ones under way at once,
// completed in mixed order, with messages between ranks beside them.
#include "check.h"

static char note[120];
static MPI_Comm comm;
static int me, size;

// Element i of the int vector that rank r contributes to call `call`.
static int element(int r, int call, int i) { return (int) (key_of(230, r, call, i) & 0xffff); }

static int *vector(int r, int call, int n) {
    int *v = malloc((n + 1) * sizeof(int));
    CHECK(NULL != v, "no memory");
    for (int i = 0; i < n; ++i) {
        v[i] = element(r, call, i);
    }
    return v;
}

static int *blank(int n) {
    int *v = malloc((n + 1) * sizeof(int));
    CHECK(NULL != v, "no memory");
    memset(v, BLANK_VALUE, (n + 1) * sizeof(int));
    return v;
}

static void same(const int *v, int want, int i, const char *what) {
    CHECK(v[i] == want, "%s: element %d is %d, expected %d", what, i, v[i], want);
}

static void done(MPI_Request *request, int nonblocking) {
    if (nonblocking) {
        MPI(MPI_Wait(request, MPI_STATUS_IGNORE));
    }
}

// Sum of element(r, call, i) over ranks [from, to).
static int sum(int from, int to, int call, int i) {
    int s = 0;
    for (int r = from; r < to; ++r) {
        s += element(r, call, i);
    }
    return s;
}

// Composition of x -> a x + b (mod 2^32): associative, not commutative. Pairs of unsigned.
static void compose(void *in, void *inout, int *len, MPI_Datatype *type) {
    unsigned *f = in, *g = inout;
    (void) type;
    for (int i = 0; i < *len; ++i, f += 2, g += 2) {
        unsigned a = f[0] * g[0], b = g[0] * f[1] + g[1];
        g[0] = a;
        g[1] = b;
    }
}

static void largest(void *in, void *inout, int *len, MPI_Datatype *type) {
    int *a = in, *b = inout;
    (void) type;
    for (int i = 0; i < *len; ++i) {
        b[i] = a[i] > b[i] ? a[i] : b[i];
    }
}

#define CALL(nb, name, ...)                                                                                            \
    do {                                                                                                               \
        snprintf(note, sizeof(note), "%s" #name " of %d elements, root %d", (nb) ? "nonblocking " : "", n, root);      \
        if (nb) {                                                                                                      \
            MPI(MPI_I##name(__VA_ARGS__, comm, &request));                                                             \
            done(&request, 1);                                                                                         \
        } else {                                                                                                       \
            MPI(MPI_UPPER_##name(__VA_ARGS__, comm));                                                                  \
        }                                                                                                              \
    } while (0)

#define MPI_UPPER_bcast MPI_Bcast
#define MPI_UPPER_reduce MPI_Reduce
#define MPI_UPPER_allreduce MPI_Allreduce
#define MPI_UPPER_gather MPI_Gather
#define MPI_UPPER_gatherv MPI_Gatherv
#define MPI_UPPER_scatter MPI_Scatter
#define MPI_UPPER_scatterv MPI_Scatterv
#define MPI_UPPER_allgather MPI_Allgather
#define MPI_UPPER_allgatherv MPI_Allgatherv
#define MPI_UPPER_alltoall MPI_Alltoall
#define MPI_UPPER_alltoallv MPI_Alltoallv
#define MPI_UPPER_alltoallw MPI_Alltoallw
#define MPI_UPPER_reduce_scatter MPI_Reduce_scatter
#define MPI_UPPER_reduce_scatter_block MPI_Reduce_scatter_block
#define MPI_UPPER_scan MPI_Scan
#define MPI_UPPER_exscan MPI_Exscan

static void one_size(int nb, int n, int root, int call) {
    MPI_Request request;
    int *counts = malloc(size * sizeof(int)), *at = malloc(size * sizeof(int)), total = 0;
    int *bytes_at = malloc(size * sizeof(int)), *s_counts = malloc(size * sizeof(int)),
        *s_at = malloc(size * sizeof(int));
    MPI_Datatype *types = malloc(size * sizeof(*types));
    for (int r = 0; r < size; ++r) { // uneven: rank r has n, or fewer, or nothing
        counts[r] = r % 3 == 2 ? 0 : n / (1 + r % 2);
        at[r] = total;
        total += counts[r];
        types[r] = MPI_INT;
    }
    snprintf(note, sizeof(note), "barrier");
    if (nb) {
        MPI(MPI_Ibarrier(comm, &request));
        done(&request, 1);
    } else {
        MPI(MPI_Barrier(comm));
    }

    int *mine = vector(me, call, n), *v = me == root ? vector(root, call, n) : blank(n);
    CALL(nb, bcast, v, n, MPI_INT, root);
    for (int i = 0; i < n; ++i) {
        same(v, element(root, call, i), i, "bcast");
    }
    free(v);

    v = blank(n);
    CALL(nb, reduce, mine, v, n, MPI_INT, MPI_SUM, root);
    for (int i = 0; i < n; ++i) {
        same(v, me == root ? sum(0, size, call, i) : (int) 0x5c5c5c5c, i, "reduce");
    }
    CALL(nb, allreduce, mine, v, n, MPI_INT, MPI_SUM);
    for (int i = 0; i < n; ++i) {
        same(v, sum(0, size, call, i), i, "allreduce");
    }
    memcpy(v, mine, n * sizeof(int));
    CALL(nb, allreduce, MPI_IN_PLACE, v, n, MPI_INT, MPI_SUM);
    for (int i = 0; i < n; ++i) {
        same(v, sum(0, size, call, i), i, "allreduce in place");
    }
    CALL(nb, scan, mine, v, n, MPI_INT, MPI_SUM);
    for (int i = 0; i < n; ++i) {
        same(v, sum(0, me + 1, call, i), i, "scan");
    }
    CALL(nb, exscan, mine, v, n, MPI_INT, MPI_SUM);
    for (int i = 0; me > 0 && i < n; ++i) {
        same(v, sum(0, me, call, i), i, "exscan");
    }
    free(v);

    // gather and its kin: rank r's part of the whole is its vector
    v = blank(n * size);
    CALL(nb, gather, mine, n, MPI_INT, v, n, MPI_INT, root);
    for (int i = 0; me == root && i < n * size; ++i) {
        same(v, element(i / n, call, i % n), i, "gather");
    }
    CALL(nb, allgather, mine, n, MPI_INT, v, n, MPI_INT);
    for (int i = 0; i < n * size; ++i) {
        same(v, element(i / n, call, i % n), i, "allgather");
    }
    memset(v, BLANK_VALUE, n * size * sizeof(int));
    CALL(nb, gatherv, mine, counts[me], MPI_INT, v, counts, at, MPI_INT, root);
    for (int r = 0; me == root && r < size; ++r) {
        for (int i = 0; i < counts[r]; ++i) {
            same(v, element(r, call, i), at[r] + i, "gatherv");
        }
    }
    memset(v, BLANK_VALUE, n * size * sizeof(int));
    CALL(nb, allgatherv, mine, counts[me], MPI_INT, v, counts, at, MPI_INT);
    for (int r = 0; r < size; ++r) {
        for (int i = 0; i < counts[r]; ++i) {
            same(v, element(r, call, i), at[r] + i, "allgatherv");
        }
    }
    free(v);

    // scatter: the root's long vector is cut
    int *long_one = vector(root, call + 1, n * size);
    v = blank(n);
    CALL(nb, scatter, long_one, n, MPI_INT, v, n, MPI_INT, root);
    for (int i = 0; i < n; ++i) {
        same(v, element(root, call + 1, me * n + i), i, "scatter");
    }
    memset(v, BLANK_VALUE, n * sizeof(int));
    CALL(nb, scatterv, long_one, counts, at, MPI_INT, v, counts[me], MPI_INT, root);
    for (int i = 0; i < counts[me]; ++i) {
        same(v, element(root, call + 1, at[me] + i), i, "scatterv");
    }
    free(v);
    free(long_one);

    // alltoall: part r of rank q's long vector goes to r
    long_one = vector(me, call + 2, n * size);
    v = blank(n * size);
    CALL(nb, alltoall, long_one, n, MPI_INT, v, n, MPI_INT);
    for (int i = 0; i < n * size; ++i) {
        same(v, element(i / n, call + 2, me * n + i % n), i, "alltoall");
    }
    // alltoallv: to rank r go counts[me] elements from the place r * n of mine
    for (int r = 0; r < size; ++r) {
        s_counts[r] = counts[me];
        s_at[r] = r * n;
    }
    memset(v, BLANK_VALUE, n * size * sizeof(int));
    CALL(nb, alltoallv, long_one, s_counts, s_at, MPI_INT, v, counts, at, MPI_INT);
    for (int r = 0; r < size; ++r) {
        for (int i = 0; i < counts[r]; ++i) {
            same(v, element(r, call + 2, me * n + i), at[r] + i, "alltoallv");
        }
    }
    for (int r = 0; r < size; ++r) {
        s_at[r] *= (int) sizeof(int);
        bytes_at[r] = at[r] * (int) sizeof(int);
    }
    memset(v, BLANK_VALUE, n * size * sizeof(int));
    CALL(nb, alltoallw, long_one, s_counts, s_at, types, v, counts, bytes_at, types);
    for (int r = 0; r < size; ++r) {
        for (int i = 0; i < counts[r]; ++i) {
            same(v, element(r, call + 2, me * n + i), at[r] + i, "alltoallw");
        }
    }
    memset(v, BLANK_VALUE, n * size * sizeof(int));
    CALL(nb, reduce_scatter, long_one, v, counts, MPI_INT, MPI_SUM);
    for (int i = 0; i < counts[me]; ++i) {
        same(v, sum(0, size, call + 2, at[me] + i), i, "reduce_scatter");
    }
    CALL(nb, reduce_scatter_block, long_one, v, n, MPI_INT, MPI_SUM);
    for (int i = 0; i < n; ++i) {
        same(v, sum(0, size, call + 2, me * n + i), i, "reduce_scatter_block");
    }
    free(v);
    free(long_one);
    free(mine);
    free(counts);
    free(at);
    free(s_at);
    free(s_counts);
    free(bytes_at);
    free(types);
}

static void user_operations(int nb, int n, int root) {
    MPI_Op commutes, not_so;
    MPI_Datatype pair;
    MPI_Request request;
    MPI(MPI_Op_create(largest, 1, &commutes));
    MPI(MPI_Op_create(compose, 0, &not_so));
    MPI(MPI_Type_contiguous(2, MPI_UNSIGNED, &pair));
    MPI(MPI_Type_commit(&pair));

    int *mine = vector(me, n, n), *v = blank(n);
    CALL(nb, allreduce, mine, v, n, MPI_INT, commutes);
    for (int i = 0; i < n; ++i) {
        int want = 0;
        for (int r = 0; r < size; ++r) {
            want = element(r, n, i) > want ? element(r, n, i) : want;
        }
        same(v, want, i, "user operation, commutative");
    }
    free(mine);
    free(v);

    unsigned *f = (unsigned *) vector(me, n + 1, 2 * n), *all = (unsigned *) blank(2 * n);
    unsigned *part = (unsigned *) blank(2 * n);
    CALL(nb, reduce, f, all, n, pair, not_so, root);
    CALL(nb, scan, f, part, n, pair, not_so);
    for (int i = 0; i < n; ++i) {
        unsigned a = 1, b = 0;
        for (int r = 0; r < size; ++r) {
            unsigned ra = (unsigned) element(r, n + 1, 2 * i), rb = (unsigned) element(r, n + 1, 2 * i + 1);
            b = ra * b + rb;
            a = a * ra;
            if (r == me) {
                CHECK(part[2 * i] == a && part[2 * i + 1] == b, "scan, user operation: pair %d", i);
            }
        }
        CHECK(me != root || (all[2 * i] == a && all[2 * i + 1] == b), "reduce, user operation: pair %d", i);
    }
    free(f);
    free(all);
    free(part);
    MPI(MPI_Type_free(&pair));
    MPI(MPI_Op_free(&commutes));
    MPI(MPI_Op_free(&not_so));
}

// Several of each kind at once, and a ring of messages beside; completed in one random order per rank.
static void overlapping(int n, int round) {
    enum { K = 4, KINDS = 4 };
    int to = (me + 1) % size, from = (me + size - 1) % size;
    int *bcast[K], *mine[K], *reduced[K], *sent[K], *got[K], *gathered[K];
    MPI_Request request[K * KINDS + 2];
    unsigned char *out = guarded_alloc(n * 4), *in = guarded_alloc(n * 4);

    snprintf(note, sizeof(note), "overlapping collectives of %d elements, round %d", n, round);
    fill(out, n * 4, key_of(231, me, round, n));
    MPI(MPI_Irecv(in, n * 4, MPI_BYTE, from, 1, comm, &request[K * KINDS]));
    for (int k = 0; k < K; ++k) {
        int root = (k + round) % size;
        bcast[k] = me == root ? vector(root, 100 + k, n) : blank(n);
        mine[k] = vector(me, 200 + k, n);
        reduced[k] = blank(n);
        sent[k] = vector(me, 300 + k, n * size);
        got[k] = blank(n * size);
        gathered[k] = blank(n * size);
        MPI(MPI_Ibcast(bcast[k], n, MPI_INT, root, comm, &request[KINDS * k]));
        MPI(MPI_Iallreduce(mine[k], reduced[k], n, MPI_INT, MPI_SUM, comm, &request[KINDS * k + 1]));
        MPI(MPI_Ialltoall(sent[k], n, MPI_INT, got[k], n, MPI_INT, comm, &request[KINDS * k + 2]));
        MPI(MPI_Iallgather(mine[k], n, MPI_INT, gathered[k], n, MPI_INT, comm, &request[KINDS * k + 3]));
    }
    MPI(MPI_Isend(out, n * 4, MPI_BYTE, to, 1, comm, &request[K * KINDS + 1]));
    int order[K * KINDS + 2];
    for (int i = 0; i < K * KINDS + 2; ++i) {
        order[i] = i;
    }
    Rng rng = rng_make(key_of(232, me, round, n));
    rng_shuffle(&rng, order, K * KINDS + 2);
    for (int i = 0; i < K * KINDS + 2; ++i) {
        MPI(MPI_Wait(&request[order[i]], MPI_STATUS_IGNORE));
    }
    for (int k = 0; k < K; ++k) {
        for (int i = 0; i < n; ++i) {
            same(bcast[k], element((k + round) % size, 100 + k, i), i, "Ibcast");
            same(reduced[k], sum(0, size, 200 + k, i), i, "Iallreduce");
        }
        for (int i = 0; i < n * size; ++i) {
            same(got[k], element(i / n, 300 + k, me * n + i % n), i, "Ialltoall");
            same(gathered[k], element(i / n, 200 + k, i % n), i, "Iallgather");
        }
        free(bcast[k]);
        free(mine[k]);
        free(reduced[k]);
        free(sent[k]);
        free(got[k]);
        free(gathered[k]);
    }
    VERIFY(in, n * 4, key_of(231, from, round, n), "message beside the collectives");
    guarded_free(out, n * 4);
    guarded_free(in, n * 4);
}

int main(int argc, char **argv) {
    static const int sizes[] = {1, 5, 600, 9000, 70000};
    begin(&argc, &argv, 1);
    test_note = note;
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MPI(MPI_Comm_rank(comm, &me));
    MPI(MPI_Comm_size(comm, &size));
    for (int nb = 0; nb < 2; ++nb) {
        for (int s = 0; s < 5; ++s) {
            one_size(nb, sizes[s], (s + 1) % size, 10 * s);
        }
        user_operations(nb, 3, 0);
        user_operations(nb, 20000, size - 1);
    }
    for (int round = 0; round < 3; ++round) {
        overlapping(10, round);
        overlapping(2000, round);
        overlapping(30000, round);
    }
    MPI(MPI_Comm_free(&comm));
    return finish();
}
