// SPDX-License-Identifier: BSD-3-Clause
// Description: Probe, Iprobe, Mprobe, Improbe, Mrecv and Imrecv, with and without wildcards, of eager
// and rendezvous messages: the status tells source, tag and size, a probed message stays for the next
// receive, and a message taken by Mprobe is out of every other receive's reach.
// In all pairs (r, r ^ 1) at once, and from everyone to rank 0.
#include "check.h"

enum { MAX_SIZE = 1 << 20, DONE = 77 };

static const size_t sizes[] = {0, 1, 1000, 4096, 65536, 70001, MAX_SIZE};
enum { N_SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static unsigned char *buf, *other;
static char note[100];

// kind: 0 Probe, 1 Iprobe, 2 Mprobe + Mrecv, 3 Improbe + Imrecv, 4 Mprobe + Imrecv, 5 Improbe + Mrecv
static void probe_one(int kind, int source, int tag, int want_source, int want_tag, size_t n, uint64_t key) {
    MPI_Status status;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Request request;
    int flag = 0;

    memset(buf, BLANK_VALUE, n);
    switch (kind) {
    case 0:
        MPI(MPI_Probe(source, tag, MPI_COMM_WORLD, &status));
        break;
    case 1:
        while (!flag) {
            MPI(MPI_Iprobe(source, tag, MPI_COMM_WORLD, &flag, &status));
        }
        break;
    case 2:
    case 4:
        MPI(MPI_Mprobe(source, tag, MPI_COMM_WORLD, &message, &status));
        break;
    default:
        while (!flag) {
            MPI(MPI_Improbe(source, tag, MPI_COMM_WORLD, &flag, &message, &status));
            CHECK(flag || MPI_MESSAGE_NULL == message, "improbe without a find gave a message");
        }
        break;
    }
    CHECK_STATUS(&status, want_source, want_tag, n);
    if (kind >= 2) {
        CHECK(MPI_MESSAGE_NULL != message && MPI_MESSAGE_NO_PROC != message, "no message handle");
    }
    switch (kind) {
    case 0:
    case 1:
        MPI(MPI_Recv(buf, (int) n, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, &status));
        break;
    case 2:
    case 5:
        MPI(MPI_Mrecv(buf, (int) n, MPI_BYTE, &message, &status));
        break;
    default:
        MPI(MPI_Imrecv(buf, (int) n, MPI_BYTE, &message, &request));
        MPI(MPI_Wait(&request, &status));
        break;
    }
    CHECK(MPI_MESSAGE_NULL == message, "the message handle was not set to null");
    CHECK_STATUS(&status, want_source, want_tag, n);
    VERIFY(buf, n, key, "probed message");
}

static void all_kinds(void) {
    for (int kind = 0; kind < 6; ++kind) {
        for (int i = 0; i < N_SIZES; ++i) {
            for (int wild = 0; wild < 4; ++wild) {
                uint64_t key = pair_key(60, kind, i, wild);
                snprintf(note, sizeof(note), "probe kind %d of %zu bytes, wildcards %d", kind, sizes[i], wild);
                if (0 == my_side) {
                    probe_one(kind, wild & 1 ? MPI_ANY_SOURCE : my_peer, wild & 2 ? MPI_ANY_TAG : 5, my_peer, 5,
                              sizes[i], key);
                } else if (1 == my_side) {
                    fill(buf, sizes[i], key);
                    MPI(MPI_Send(buf, (int) sizes[i], MPI_BYTE, my_peer, 5, MPI_COMM_WORLD));
                }
            }
        }
    }
}

// A message taken by Mprobe can't be received by another receive; the later one is received first.
static void taken_away(size_t n) {
    snprintf(note, sizeof(note), "taking a message of %zu bytes away", n);
    if (0 == my_side) {
        MPI_Message message;
        MPI_Status status;
        int flag = 0;
        MPI(MPI_Mprobe(my_peer, 6, MPI_COMM_WORLD, &message, &status));
        CHECK_STATUS(&status, my_peer, 6, n);
        MPI(MPI_Recv(other, MAX_SIZE, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
        CHECK_STATUS(&status, my_peer, 6, n / 2);
        VERIFY(other, n / 2, pair_key(61, n, 1, 0), "second message");
        MPI(MPI_Iprobe(MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
        CHECK(!flag, "a message taken by Mprobe is still found by Iprobe");
        MPI(MPI_Mrecv(buf, (int) n, MPI_BYTE, &message, &status));
        CHECK_STATUS(&status, my_peer, 6, n);
        VERIFY(buf, n, pair_key(61, n, 0, 0), "first message");
    } else if (1 == my_side) {
        MPI_Request request[2];
        fill(buf, n, pair_key(61, n, 0, 0));
        fill(other, n / 2, pair_key(61, n, 1, 0));
        MPI(MPI_Isend(buf, (int) n, MPI_BYTE, my_peer, 6, MPI_COMM_WORLD, &request[0]));
        MPI(MPI_Isend(other, (int) (n / 2), MPI_BYTE, my_peer, 6, MPI_COMM_WORLD, &request[1]));
        MPI(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
}

static void no_proc(void) {
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    MPI_Request request;
    int flag = 0;
    snprintf(note, sizeof(note), "probing MPI_PROC_NULL");
    MPI(MPI_Probe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status));
    CHECK_STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    MPI(MPI_Iprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &flag, &status));
    CHECK(flag, "iprobe of MPI_PROC_NULL gave false");
    MPI(MPI_Mprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &message, &status));
    CHECK(MPI_MESSAGE_NO_PROC == message, "mprobe of MPI_PROC_NULL gave another handle");
    CHECK_STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    MPI(MPI_Mrecv(buf, 10, MPI_BYTE, &message, &status));
    CHECK(MPI_MESSAGE_NULL == message, "mrecv of MPI_MESSAGE_NO_PROC left the handle");
    CHECK_STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    MPI(MPI_Improbe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &flag, &message, &status));
    CHECK(flag && MPI_MESSAGE_NO_PROC == message, "improbe of MPI_PROC_NULL");
    MPI(MPI_Imrecv(buf, 10, MPI_BYTE, &message, &request));
    MPI(MPI_Wait(&request, &status));
    CHECK_STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
}

// Every other rank sends; rank 0 probes for anything and takes what it found, in sequence per rank.
static void from_everyone(void) {
    enum { EACH = 40 };
    snprintf(note, sizeof(note), "probing for anything of anyone");
    if (0 == my_rank) {
        int *seen = calloc(n_ranks, sizeof(int));
        for (int i = 0; i < EACH * (n_ranks - 1); ++i) {
            MPI_Status status;
            MPI_Message message;
            int n;
            MPI(MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status));
            MPI(MPI_Get_count(&status, MPI_BYTE, &n));
            int r = status.MPI_SOURCE, seq = seen[r]++;
            CHECK(status.MPI_TAG == seq, "message %d of rank %d found, expected %d", status.MPI_TAG, r, seq);
            MPI(MPI_Mrecv(buf, n, MPI_BYTE, &message, &status));
            CHECK_STATUS(&status, r, seq, (size_t) n);
            VERIFY(buf, n, key_of(62, r, seq, n), "message of anyone");
        }
        int flag = 1;
        MPI(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
        CHECK(!flag, "something is still there when all has been received");
        free(seen);
    } else {
        Rng rng = rng_make(my_rank);
        for (int seq = 0; seq < EACH; ++seq) {
            size_t n = rng_size(&rng, 200000);
            fill(buf, n, key_of(62, my_rank, seq, n));
            MPI(MPI_Send(buf, (int) n, MPI_BYTE, 0, seq, MPI_COMM_WORLD));
        }
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv) {
    begin(&argc, &argv, 2);
    buf = guarded_alloc(MAX_SIZE);
    other = guarded_alloc(MAX_SIZE);
    test_note = note;
    all_kinds();
    taken_away(1000);
    taken_away(MAX_SIZE);
    no_proc();
    from_everyone();
    guarded_free(buf, MAX_SIZE);
    guarded_free(other, MAX_SIZE);
    return finish();
}
