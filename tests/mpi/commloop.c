// SPDX-License-Identifier: BSD-3-Clause
// Description: communicators duplicated, split and freed in a loop with messages on each, while messages
// on other communicators are outstanding; some are freed while their own messages still are.
// argv[1]: rounds.
#include "check.h"

enum { SMALL = 200, LARGE = 150000 };

static void traffic(MPI_Comm comm, int round, unsigned char *out, unsigned char *in, size_t n) {
    int me, size;
    MPI_Status status;
    MPI(MPI_Comm_rank(comm, &me));
    MPI(MPI_Comm_size(comm, &size));
    int to = (me + 1) % size, from = (me + size - 1) % size;
    // The key holds ranks in `comm`: a message that came by another communicator has another tag.
    fill(out, n, key_of(140, me, round, n));
    memset(in, BLANK_VALUE, n);
    MPI(MPI_Sendrecv(out, (int) n, MPI_BYTE, to, round, in, (int) n, MPI_BYTE, round % 2 ? from : MPI_ANY_SOURCE,
                     round % 3 ? round : MPI_ANY_TAG, comm, &status));
    CHECK_STATUS(&status, from, round, n);
    VERIFY(in, n, key_of(140, from, round, n), "message on a young communicator");
}

int main(int argc, char **argv) {
    begin(&argc, &argv, 2);
    int rounds = argc > 1 ? atoi(argv[1]) : 500;
    unsigned char *out = guarded_alloc(LARGE), *in = guarded_alloc(LARGE);
    int to = (my_rank + 1) % n_ranks, from = (my_rank + n_ranks - 1) % n_ranks;
    MPI_Comm steady, dup, half, kept[4] = {MPI_COMM_NULL, MPI_COMM_NULL, MPI_COMM_NULL, MPI_COMM_NULL};
    char note[64];
    test_note = note;
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &steady));

    // Outstanding on `steady` during 25 rounds: one large and one small message each way.
    unsigned char *s_out = guarded_alloc(2 * LARGE), *s_in = guarded_alloc(2 * LARGE);
    MPI_Request s_request[4];
    for (int round = 0; round < rounds; ++round) {
        snprintf(note, sizeof(note), "round %d", round);
        if (0 == round % 25) {
            fill(s_out, 2 * LARGE, key_of(141, my_rank, round, 0));
            memset(s_in, BLANK_VALUE, 2 * LARGE);
            MPI(MPI_Irecv(s_in, LARGE, MPI_BYTE, from, 1, steady, &s_request[0]));
            MPI(MPI_Irecv(s_in + LARGE, SMALL, MPI_BYTE, from, 2, steady, &s_request[1]));
            MPI(MPI_Issend(s_out, LARGE, MPI_BYTE, to, 1, steady, &s_request[2]));
            MPI(MPI_Isend(s_out + LARGE, SMALL, MPI_BYTE, to, 2, steady, &s_request[3]));
        }
        MPI(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
        traffic(dup, round, out, in, round % 10 ? SMALL : LARGE);
        MPI(MPI_Comm_split(round % 2 ? dup : MPI_COMM_WORLD, my_rank % 2, -my_rank, &half));
        traffic(half, round, out, in, round % 7 ? SMALL : LARGE);
        MPI(MPI_Comm_free(&half));

        // Freed at once by the user with its message under way: it lives until the message is done.
        size_t n = round % 5 ? SMALL : LARGE;
        MPI_Request request[2];
        fill(out, n, key_of(142, my_rank, round, 0));
        memset(in, BLANK_VALUE, n);
        MPI(MPI_Irecv(in, (int) n, MPI_BYTE, from, 3, dup, &request[0]));
        MPI(MPI_Isend(out, (int) n, MPI_BYTE, to, 3, dup, &request[1]));
        if (round % 4) {
            MPI(MPI_Comm_free(&dup));
            MPI(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
        } else {
            MPI(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
            int slot = round / 4 % 4; // some live longer, so that identifiers are not reused in turn
            if (MPI_COMM_NULL != kept[slot]) {
                traffic(kept[slot], round, s_out, s_in, 0);
                MPI(MPI_Comm_free(&kept[slot]));
            }
            kept[slot] = dup;
        }
        VERIFY(in, n, key_of(142, from, round, 0), "message of a communicator freed early");

        if (24 == round % 25 || round == rounds - 1) {
            MPI(MPI_Waitall(4, s_request, MPI_STATUSES_IGNORE));
            unsigned char *want = out; // both parts are one pattern
            memset(want, 0, SMALL);
            VERIFY(s_in, LARGE, key_of(141, from, round - round % 25, 0), "large outstanding message");
            fill_from(want, SMALL, key_of(141, from, round - round % 25, 0), LARGE);
            CHECK(0 == memcmp(want, s_in + LARGE, SMALL), "small outstanding message is wrong");
        }
    }
    for (int i = 0; i < 4; ++i) {
        if (MPI_COMM_NULL != kept[i]) {
            MPI(MPI_Comm_free(&kept[i]));
        }
    }
    MPI(MPI_Comm_free(&steady));
    guarded_free(s_out, 2 * LARGE);
    guarded_free(s_in, 2 * LARGE);
    guarded_free(out, LARGE);
    guarded_free(in, LARGE);
    return finish();
}
