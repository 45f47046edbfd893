// SPDX-License-Identifier: BSD-3-Clause
// Description: messages of a rank to itself, on MPI_COMM_WORLD, MPI_COMM_SELF and a duplicate, in every
// mode and size, posted before and after the send, with wildcards, probes and a strided type.
#include "check.h"

enum { TAG = 3, MAX_SIZE = 4 << 20 };

static unsigned char *out, *in;
static char note[100];

static void judge(const MPI_Status *status, int me, size_t n, uint64_t key) {
    CHECK_STATUS(status, me, TAG, n);
    VERIFY(in, n, key, "message to self");
    VERIFY_VALUE(in + n, 16, BLANK_VALUE, "bytes after it");
}

static void make(size_t n, uint64_t key) {
    fill(out, n, key);
    memset(in, BLANK_VALUE, n + 16);
}

static void on(MPI_Comm comm, const char *name) {
    static const size_t sizes[] = {0, 1, 17, 1000, 4095, 4096, 4097, 65536, 65537, 200000, MAX_SIZE};
    MPI_Request request[2];
    MPI_Status status[2];
    MPI_Message message;
    int me;
    MPI(MPI_Comm_rank(comm, &me));
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); ++s) {
        size_t n = sizes[s];
        int k = (int) n;
        snprintf(note, sizeof(note), "%zu bytes to self on %s", n, name);
        for (int mode = 0; mode < 4; ++mode) {     // isend, issend, ibsend, irsend
            for (int late = 0; late < 2; ++late) { // the receive after the send
                uint64_t key = key_of(80, n, mode, late);
                int source = late ? me : MPI_ANY_SOURCE, tag = mode % 2 ? TAG : MPI_ANY_TAG;
                void *attached = NULL, *back;
                int size = k + MPI_BSEND_OVERHEAD + 64;
                if (mode == 3 && late) {
                    continue;
                }
                make(n, key);
                if (mode == 2) {
                    attached = malloc(size);
                    MPI(MPI_Buffer_attach(attached, size));
                }
                if (!late) {
                    MPI(MPI_Irecv(in, k + 16, MPI_BYTE, source, tag, comm, &request[0]));
                }
                switch (mode) {
                case 0:
                    MPI(MPI_Isend(out, k, MPI_BYTE, me, TAG, comm, &request[1]));
                    break;
                case 1:
                    MPI(MPI_Issend(out, k, MPI_BYTE, me, TAG, comm, &request[1]));
                    break;
                case 2:
                    MPI(MPI_Ibsend(out, k, MPI_BYTE, me, TAG, comm, &request[1]));
                    break;
                default:
                    MPI(MPI_Irsend(out, k, MPI_BYTE, me, TAG, comm, &request[1]));
                    break;
                }
                if (late) {
                    if (mode == 1) {
                        int flag;
                        MPI(MPI_Test(&request[1], &flag, MPI_STATUS_IGNORE));
                        CHECK(!flag, "issend to self completed before its receive was posted");
                    }
                    MPI(MPI_Irecv(in, k + 16, MPI_BYTE, source, tag, comm, &request[0]));
                }
                MPI(MPI_Waitall(2, request, status));
                judge(&status[0], me, n, key);
                if (mode == 2) {
                    MPI(MPI_Buffer_detach(&back, &size));
                    free(attached);
                }
            }
        }
        // blocking sends into a posted receive
        make(n, n + 1);
        MPI(MPI_Irecv(in, k, MPI_BYTE, me, TAG, comm, &request[0]));
        MPI(MPI_Send(out, k, MPI_BYTE, me, TAG, comm));
        MPI(MPI_Wait(&request[0], &status[0]));
        judge(&status[0], me, n, n + 1);
        make(n, n + 2);
        MPI(MPI_Irecv(in, k, MPI_BYTE, me, TAG, comm, &request[0]));
        MPI(MPI_Ssend(out, k, MPI_BYTE, me, TAG, comm));
        MPI(MPI_Wait(&request[0], &status[0]));
        judge(&status[0], me, n, n + 2);
        // sendrecv
        make(n, n + 3);
        MPI(MPI_Sendrecv(out, k, MPI_BYTE, me, TAG, in, k, MPI_BYTE, me, TAG, comm, &status[0]));
        judge(&status[0], me, n, n + 3);
        make(n, n + 4);
        fill(in, n, n + 4);
        MPI(MPI_Sendrecv_replace(in, k, MPI_BYTE, me, TAG, me, TAG, comm, &status[0]));
        judge(&status[0], me, n, n + 4);
        // probes
        make(n, n + 5);
        MPI(MPI_Isend(out, k, MPI_BYTE, me, TAG, comm, &request[1]));
        MPI(MPI_Probe(MPI_ANY_SOURCE, TAG, comm, &status[0]));
        CHECK_STATUS(&status[0], me, TAG, n);
        MPI(MPI_Mprobe(me, MPI_ANY_TAG, comm, &message, &status[0]));
        CHECK_STATUS(&status[0], me, TAG, n);
        MPI(MPI_Mrecv(in, k, MPI_BYTE, &message, &status[0]));
        judge(&status[0], me, n, n + 5);
        MPI(MPI_Wait(&request[1], MPI_STATUS_IGNORE));
    }
    // strided to contiguous, and back
    enum { BLOCKS = 50000 };
    MPI_Datatype strided;
    snprintf(note, sizeof(note), "strided message to self on %s", name);
    MPI(MPI_Type_vector(BLOCKS, 3, 7, MPI_BYTE, &strided));
    MPI(MPI_Type_commit(&strided));
    fill(out, BLOCKS * 7, 9);
    memset(in, BLANK_VALUE, BLOCKS * 7);
    MPI(MPI_Irecv(in, BLOCKS * 3, MPI_BYTE, me, TAG, comm, &request[0]));
    MPI(MPI_Isend(out, 1, strided, me, TAG, comm, &request[1]));
    MPI(MPI_Waitall(2, request, status));
    for (int i = 0; i < BLOCKS * 3; ++i) {
        CHECK(in[i] == out[i / 3 * 7 + i % 3], "byte %d of the strided message", i);
    }
    memset(out, BLANK_VALUE, BLOCKS * 7);
    MPI(MPI_Sendrecv(in, BLOCKS * 3, MPI_BYTE, me, TAG, out, 1, strided, me, TAG, comm, &status[0]));
    for (int i = 0; i < (BLOCKS - 1) * 7; ++i) {
        unsigned char want = i % 7 < 3 ? pattern_byte(9, i) : BLANK_VALUE;
        CHECK(out[i] == want, "byte %d of the strided receive is %02x, expected %02x", i, out[i], want);
    }
    MPI(MPI_Type_free(&strided));
}

// Both sides of such a message have ended when both calls have returned: the first test says so (programs take it for
// granted).
static void ended(MPI_Comm comm) {
    static const int sizes[] = {0, 1, 1000, 65537, 1 << 20};
    enum { MESSAGES = 3 };
    MPI_Request request[2 * MESSAGES];
    int me;
    MPI(MPI_Comm_rank(comm, &me));
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); ++s) {
        for (int form = 0; form < 8; ++form) { // isend, issend, persistent, send; the receive after the send
            const int late = form / 4, n = sizes[s];
            int flag = 0;
            if (late && 3 == form % 4) {
                continue;
            }
            snprintf(note, sizeof(note), "one test after %d bytes to self, form %d", n, form);
            make((size_t) n, key_of(81, n, form, 0));
            for (int i = 0; !late && i < MESSAGES; ++i) {
                MPI(MPI_Irecv(in, n, MPI_BYTE, me, TAG, comm, &request[i]));
            }
            for (int i = 0; i < MESSAGES; ++i) {
                MPI_Request *const sent = &request[MESSAGES + i];
                *sent = MPI_REQUEST_NULL;
                switch (form % 4) {
                case 0:
                    MPI(MPI_Isend(out, n, MPI_BYTE, me, TAG, comm, sent));
                    break;
                case 1:
                    MPI(MPI_Issend(out, n, MPI_BYTE, me, TAG, comm, sent));
                    break;
                case 2:
                    MPI(MPI_Send_init(out, n, MPI_BYTE, me, TAG, comm, sent));
                    MPI(MPI_Start(sent));
                    break;
                default:
                    MPI(MPI_Send(out, n, MPI_BYTE, me, TAG, comm));
                }
            }
            for (int i = 0; late && i < MESSAGES; ++i) {
                MPI(MPI_Irecv(in, n, MPI_BYTE, me, TAG, comm, &request[i]));
            }
            MPI(MPI_Testall(2 * MESSAGES, request, &flag, MPI_STATUSES_IGNORE));
            CHECK(flag, "a message has not ended");
            for (int i = 0; 2 == form % 4 && i < MESSAGES; ++i) {
                MPI(MPI_Request_free(&request[MESSAGES + i]));
            }
            VERIFY(in, (size_t) n, key_of(81, n, form, 0), "message to self");
        }
    }
}

int main(int argc, char **argv) {
    begin(&argc, &argv, 1);
    out = guarded_alloc(MAX_SIZE + 64);
    in = guarded_alloc(MAX_SIZE + 64);
    test_note = note;
    on(MPI_COMM_SELF, "MPI_COMM_SELF");
    on(MPI_COMM_WORLD, "MPI_COMM_WORLD");
    ended(MPI_COMM_SELF);
    ended(MPI_COMM_WORLD);
    MPI_Comm dup;
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
    on(dup, "a duplicate of MPI_COMM_WORLD");
    MPI(MPI_Comm_free(&dup));
    guarded_free(out, MAX_SIZE + 64);
    guarded_free(in, MAX_SIZE + 64);
    return finish();
}
