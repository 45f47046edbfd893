// SPDX-License-Identifier: BSD-3-Clause
// Description: inter-communicators between odd and even ranks: messages of all sizes, wildcards, probes,
// ANY_SOURCE, ordering, duplicates, collectives, and the intra-communicator of Intercomm_merge.
#include "check.h"

enum { TAG = 5, MAX_SIZE = 1 << 20 };

static char note[100];

static void messages(MPI_Comm inter) {
    static const size_t sizes[] = {0, 1, 4000, 4097, 65537, 200000, MAX_SIZE};
    int me, remote;
    MPI(MPI_Comm_rank(inter, &me));
    MPI(MPI_Comm_remote_size(inter, &remote));
    CHECK(remote > 0, "the remote group is empty");
    int color = my_rank % 2;
    unsigned char *out = guarded_alloc(MAX_SIZE), *in = guarded_alloc(MAX_SIZE);

    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); ++s) {
        size_t n = sizes[s];
        snprintf(note, sizeof(note), "%zu bytes between groups", n);
        // Each of mine to each of theirs; receives by rank, by ANY_SOURCE and after a probe in turn.
        MPI_Request *request = calloc(n_ranks, sizeof(*request));
        fill(out, n, key_of(130, color, me, n));
        for (int r = 0; r < remote; ++r) {
            MPI(MPI_Isend(out, (int) n, MPI_BYTE, r, TAG, inter, &request[r]));
        }
        int *seen = calloc(n_ranks, sizeof(int));
        for (int r = 0; r < remote; ++r) {
            MPI_Status status;
            int source = s % 3 == 0 ? r : MPI_ANY_SOURCE;
            memset(in, BLANK_VALUE, n);
            if (s % 3 == 2) {
                MPI(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, inter, &status));
                source = status.MPI_SOURCE;
            }
            MPI(MPI_Recv(in, (int) n, MPI_BYTE, source, s % 2 ? TAG : MPI_ANY_TAG, inter, &status));
            CHECK(status.MPI_SOURCE >= 0 && status.MPI_SOURCE < remote, "source %d of %d remote ranks",
                  status.MPI_SOURCE, remote);
            CHECK_STATUS(&status, status.MPI_SOURCE, TAG, n);
            CHECK(0 == seen[status.MPI_SOURCE]++, "two messages of remote rank %d", status.MPI_SOURCE);
            VERIFY(in, n, key_of(130, !color, status.MPI_SOURCE, n), "message of the other group");
        }
        MPI(MPI_Waitall(remote, request, MPI_STATUSES_IGNORE));
        free(request);
        free(seen);
        MPI(MPI_Barrier(inter));
    }
    guarded_free(out, MAX_SIZE);
    guarded_free(in, MAX_SIZE);
}

static void collectives(MPI_Comm inter) {
    enum { N = 30000 };
    int me, remote, color = my_rank % 2;
    int *mine = malloc(N * sizeof(int)), *theirs = malloc(N * sizeof(int));
    MPI(MPI_Comm_rank(inter, &me));
    MPI(MPI_Comm_remote_size(inter, &remote));

    snprintf(note, sizeof(note), "collectives between groups");
    MPI(MPI_Barrier(inter));
    // broadcast from rank 0 of the even group to the odd group
    for (int i = 0; i < N; ++i) {
        mine[i] = color ? -1 : i * 3;
    }
    MPI(MPI_Bcast(mine, N, MPI_INT, color ? 0 : (0 == me ? MPI_ROOT : MPI_PROC_NULL), inter));
    for (int i = 0; i < N; ++i) {
        CHECK(mine[i] == i * 3, "bcast: element %d is %d", i, mine[i]);
    }
    // allreduce gives the sum of the other group
    for (int i = 0; i < N; ++i) {
        mine[i] = i + my_rank;
    }
    MPI(MPI_Allreduce(mine, theirs, N, MPI_INT, MPI_SUM, inter));
    int ranks = 0;
    for (int r = !color; r < n_ranks; r += 2) {
        ranks += r;
    }
    for (int i = 0; i < N; ++i) {
        CHECK(theirs[i] == i * remote + ranks, "allreduce: element %d is %d, expected %d", i, theirs[i],
              i * remote + ranks);
    }
    int *all = malloc(remote * sizeof(int));
    MPI(MPI_Allgather(&my_rank, 1, MPI_INT, all, 1, MPI_INT, inter));
    for (int r = 0; r < remote; ++r) {
        CHECK(all[r] == 2 * r + !color, "allgather: remote rank %d says %d", r, all[r]);
    }
    free(all);
    free(mine);
    free(theirs);
}

int main(int argc, char **argv) {
    begin(&argc, &argv, 2);
    MPI_Comm half, inter, dup, merged;
    int color = my_rank % 2, flag;
    test_note = note;
    MPI(MPI_Comm_split(MPI_COMM_WORLD, color, my_rank, &half));
    for (int round = 0; round < 5; ++round) {
        snprintf(note, sizeof(note), "creating the inter-communicator, round %d", round);
        MPI(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, !color, 40 + round, &inter));
        MPI(MPI_Comm_test_inter(inter, &flag));
        CHECK(flag, "not an inter-communicator");
        messages(inter);
        collectives(inter);
        MPI(MPI_Comm_dup(inter, &dup));
        messages(dup);
        MPI(MPI_Comm_free(&dup));

        snprintf(note, sizeof(note), "on the merged communicator, round %d", round);
        MPI(MPI_Intercomm_merge(inter, color, &merged));
        int me, size, *world = malloc(n_ranks * sizeof(int));
        MPI(MPI_Comm_rank(merged, &me));
        MPI(MPI_Comm_size(merged, &size));
        CHECK(size == n_ranks, "merged size %d of %d", size, n_ranks);
        MPI(MPI_Allgather(&my_rank, 1, MPI_INT, world, 1, MPI_INT, merged));
        enum { N = 100000 };
        unsigned char *out = guarded_alloc(N), *in = guarded_alloc(N);
        int to = (me + 1) % size, from = (me + size - 1) % size;
        MPI_Status status;
        fill(out, N, key_of(131, my_rank, round, 0));
        MPI(MPI_Sendrecv(out, N, MPI_BYTE, to, 1, in, N, MPI_BYTE, from, 1, merged, &status));
        CHECK_STATUS(&status, from, 1, N);
        VERIFY(in, N, key_of(131, world[from], round, 0), "message along the merged ring");
        guarded_free(out, N);
        guarded_free(in, N);
        free(world);
        MPI(MPI_Comm_free(&merged));
        MPI(MPI_Comm_free(&inter));
    }
    MPI(MPI_Comm_free(&half));
    return finish();
}
