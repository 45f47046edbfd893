// SPDX-License-Identifier: BSD-3-Clause
// Description: synchronous, ready and buffered sends, blocking and not: a synchronous send does not
// complete before its match, a buffered one does, a ready one finds its receive. In all pairs
// (r, r ^ 1) at once.
#include "check.h"

enum { DATA = 1, GO = 2, RETURNED = 3, MAX_SIZE = 2 << 20 };

static const size_t sizes[] = {0, 1, 100, 4096, 5000, 65536, 70000, 262144, MAX_SIZE};
enum { N_SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static unsigned char *buf;
static char note[100];

static void recv_data(size_t n, uint64_t key) {
    MPI_Status status;
    memset(buf, BLANK_VALUE, n);
    MPI(MPI_Recv(buf, (int) n, MPI_BYTE, my_peer, DATA, MPI_COMM_WORLD, &status));
    CHECK_STATUS(&status, my_peer, DATA, n);
    VERIFY(buf, n, key, "received");
}

// Side 1 posts its receive only when told, and it is told after the send was seen to stay incomplete.
static void issend_waits(size_t n, int persistent) {
    uint64_t key = pair_key(40, n, persistent, 0);
    if (0 == my_side) {
        MPI_Request request;
        int flag = 0;
        fill(buf, n, key);
        if (persistent) {
            MPI(MPI_Ssend_init(buf, (int) n, MPI_BYTE, my_peer, DATA, MPI_COMM_WORLD, &request));
            MPI(MPI_Start(&request));
        } else {
            MPI(MPI_Issend(buf, (int) n, MPI_BYTE, my_peer, DATA, MPI_COMM_WORLD, &request));
        }
        for (double end = now() + 0.02; now() < end;) {
            MPI(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
            CHECK(!flag, "issend of %zu bytes completed before its receive was posted", n);
        }
        MPI(MPI_Send(NULL, 0, MPI_BYTE, my_peer, GO, MPI_COMM_WORLD));
        MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        if (persistent) {
            MPI(MPI_Request_free(&request));
        }
    } else if (1 == my_side) {
        MPI(MPI_Recv(NULL, 0, MPI_BYTE, my_peer, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        recv_data(n, key);
    }
}

// The sender says so when its ssend has returned; nothing may be heard before the receive is posted.
static void ssend_waits(size_t n) {
    uint64_t key = pair_key(41, n, 0, 0);
    if (0 == my_side) {
        fill(buf, n, key);
        MPI(MPI_Ssend(buf, (int) n, MPI_BYTE, my_peer, DATA, MPI_COMM_WORLD));
        MPI(MPI_Send(NULL, 0, MPI_BYTE, my_peer, RETURNED, MPI_COMM_WORLD));
    } else if (1 == my_side) {
        int flag = 0;
        MPI(MPI_Probe(my_peer, DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE)); // a probe is not a match
        for (double end = now() + 0.02; now() < end;) {
            MPI(MPI_Iprobe(my_peer, RETURNED, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
            CHECK(!flag, "ssend of %zu bytes returned before its receive was posted", n);
        }
        recv_data(n, key);
        MPI(MPI_Recv(NULL, 0, MPI_BYTE, my_peer, RETURNED, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
}

// Ready sends: the receive is posted, then the sender is told.
static void ready(size_t n, int nonblocking) {
    uint64_t key = pair_key(42, n, nonblocking, 0);
    if (0 == my_side) {
        fill(buf, n, key);
        MPI(MPI_Recv(NULL, 0, MPI_BYTE, my_peer, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        if (nonblocking) {
            MPI_Request request;
            MPI(MPI_Irsend(buf, (int) n, MPI_BYTE, my_peer, DATA, MPI_COMM_WORLD, &request));
            MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        } else {
            MPI(MPI_Rsend(buf, (int) n, MPI_BYTE, my_peer, DATA, MPI_COMM_WORLD));
        }
    } else if (1 == my_side) {
        MPI_Request request;
        MPI_Status status;
        memset(buf, BLANK_VALUE, n);
        MPI(MPI_Irecv(buf, (int) n, MPI_BYTE, my_peer, DATA, MPI_COMM_WORLD, &request));
        MPI(MPI_Send(NULL, 0, MPI_BYTE, my_peer, GO, MPI_COMM_WORLD));
        MPI(MPI_Wait(&request, &status));
        CHECK_STATUS(&status, my_peer, DATA, n);
        VERIFY(buf, n, key, "ready");
    }
}

// Buffered sends return without any receive posted, and the user's buffer is free at once.
static void buffered(size_t n, int nonblocking) {
    enum { COUNT = 4 };
    if (0 == my_side) {
        size_t room = COUNT * (n + MPI_BSEND_OVERHEAD + 64);
        void *attached = malloc(room), *back = NULL;
        int back_size = 0;
        MPI(MPI_Buffer_attach(attached, (int) room));
        for (int i = 0; i < COUNT; ++i) {
            fill(buf, n, pair_key(43, n, nonblocking, i));
            if (nonblocking) {
                MPI_Request request;
                MPI(MPI_Ibsend(buf, (int) n, MPI_BYTE, my_peer, DATA, MPI_COMM_WORLD, &request));
                MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
            } else {
                MPI(MPI_Bsend(buf, (int) n, MPI_BYTE, my_peer, DATA, MPI_COMM_WORLD));
            }
            memset(buf, 0, n);
        }
        MPI(MPI_Send(NULL, 0, MPI_BYTE, my_peer, GO, MPI_COMM_WORLD));
        MPI(MPI_Buffer_detach(&back, &back_size)); // waits until all are sent
        CHECK(back == attached && back_size == (int) room, "detach gave another buffer back");
        free(attached);
    } else if (1 == my_side) {
        MPI(MPI_Recv(NULL, 0, MPI_BYTE, my_peer, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        for (int i = 0; i < COUNT; ++i) {
            recv_data(n, pair_key(43, n, nonblocking, i));
        }
    }
}

int main(int argc, char **argv) {
    begin(&argc, &argv, 2);
    buf = guarded_alloc(MAX_SIZE);
    test_note = note;
    for (int i = 0; i < N_SIZES; ++i) {
        size_t n = sizes[i];
        snprintf(note, sizeof(note), "issend of %zu bytes", n);
        issend_waits(n, 0);
        issend_waits(n, 1);
        snprintf(note, sizeof(note), "ssend of %zu bytes", n);
        ssend_waits(n);
        snprintf(note, sizeof(note), "ready send of %zu bytes", n);
        ready(n, 0);
        ready(n, 1);
        snprintf(note, sizeof(note), "buffered send of %zu bytes", n);
        buffered(n, 0);
        buffered(n, 1);
    }
    guarded_free(buf, MAX_SIZE);
    return finish();
}
