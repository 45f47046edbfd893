// SPDX-License-Identifier: BSD-3-Clause
// Description: a posted receive can be cancelled and takes no message afterwards; cancelling a receive
// that is matched or a request that is complete does not take; cancelling a send may go either way, and
// the data agrees with the answer. In all pairs (r, r ^ 1) at once.
#include "check.h"

enum { TAG = 4, GO = 5, MAX_SIZE = 1 << 20 };

static unsigned char *buf, *other;
static char note[100];

static int cancelled(MPI_Request *request, MPI_Status *status) {
    int flag;
    MPI(MPI_Wait(request, status));
    CHECK(MPI_REQUEST_NULL == *request, "the request stayed");
    MPI(MPI_Test_cancelled(status, &flag));
    return flag;
}

static void receive_unmatched(size_t n, int source, int tag) {
    uint64_t key = pair_key(70, n, MPI_ANY_SOURCE == source, tag);
    snprintf(note, sizeof(note), "cancelling an unmatched receive of %zu bytes", n);
    if (0 == my_side) {
        MPI_Request request;
        MPI_Status status;
        memset(buf, BLANK_VALUE, n);
        MPI(MPI_Irecv(buf, (int) n, MPI_BYTE, source, tag, MPI_COMM_WORLD, &request));
        MPI(MPI_Cancel(&request));
        CHECK(cancelled(&request, &status), "a receive nothing was sent to was not cancelled");
        MPI(MPI_Send(NULL, 0, MPI_BYTE, my_peer, GO, MPI_COMM_WORLD));
        MPI(MPI_Recv(other, (int) n, MPI_BYTE, my_peer, TAG, MPI_COMM_WORLD, &status));
        CHECK_STATUS(&status, my_peer, TAG, n);
        VERIFY(other, n, key, "message after the cancelled receive");
        VERIFY_VALUE(buf, n, BLANK_VALUE, "buffer of the cancelled receive");
    } else if (1 == my_side) {
        fill(buf, n, key);
        MPI(MPI_Recv(NULL, 0, MPI_BYTE, my_peer, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        MPI(MPI_Send(buf, (int) n, MPI_BYTE, my_peer, TAG, MPI_COMM_WORLD));
    }
}

// One receive in the middle of many is cancelled: the messages skip it.
static void middle_of_many(void) {
    enum { N = 64, SIZE = 300 };
    snprintf(note, sizeof(note), "cancelling every third of %d receives", N);
    if (0 == my_side) {
        MPI_Request request[N];
        MPI_Status status;
        for (int i = 0; i < N; ++i) {
            MPI(MPI_Irecv(buf + i * SIZE, SIZE, MPI_BYTE, my_peer, i % 2 ? TAG : MPI_ANY_TAG, MPI_COMM_WORLD,
                          &request[i]));
        }
        for (int i = 0; i < N; i += 3) {
            MPI(MPI_Cancel(&request[i]));
            CHECK(cancelled(&request[i], &status), "receive %d was not cancelled", i);
        }
        MPI(MPI_Send(NULL, 0, MPI_BYTE, my_peer, GO, MPI_COMM_WORLD));
        for (int i = 0, seq = 0; i < N; ++i) {
            if (i % 3) {
                CHECK(!cancelled(&request[i], &status), "receive %d was cancelled by itself", i);
                CHECK_STATUS(&status, my_peer, TAG, SIZE);
                VERIFY(buf + i * SIZE, SIZE, pair_key(71, seq, 0, 0), "message in order");
                ++seq;
            }
        }
    } else if (1 == my_side) {
        MPI(MPI_Recv(NULL, 0, MPI_BYTE, my_peer, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        for (int i = 0, seq = 0; i < N; ++i) {
            if (i % 3) {
                fill(buf, SIZE, pair_key(71, seq++, 0, 0));
                MPI(MPI_Send(buf, SIZE, MPI_BYTE, my_peer, TAG, MPI_COMM_WORLD));
            }
        }
    }
}

// The receive is matched for certain when a later message of the same sender has been received.
static void receive_matched(size_t n) {
    uint64_t key = pair_key(72, n, 0, 0);
    snprintf(note, sizeof(note), "cancelling a matched receive of %zu bytes", n);
    if (0 == my_side) {
        MPI_Request request;
        MPI_Status status;
        memset(buf, BLANK_VALUE, n);
        MPI(MPI_Irecv(buf, (int) n, MPI_BYTE, my_peer, TAG, MPI_COMM_WORLD, &request));
        MPI(MPI_Recv(NULL, 0, MPI_BYTE, my_peer, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        MPI(MPI_Cancel(&request));
        CHECK(!cancelled(&request, &status), "a matched receive was cancelled");
        CHECK_STATUS(&status, my_peer, TAG, n);
        VERIFY(buf, n, key, "message of the matched receive");
    } else if (1 == my_side) {
        MPI_Request request;
        fill(buf, n, key);
        MPI(MPI_Isend(buf, (int) n, MPI_BYTE, my_peer, TAG, MPI_COMM_WORLD, &request));
        MPI(MPI_Send(NULL, 0, MPI_BYTE, my_peer, GO, MPI_COMM_WORLD));
        MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
}

// The sender tells what became of its cancel; the receiver then finds the message, or does not.
static void send_either_way(size_t n, int synchronous) {
    uint64_t key = pair_key(73, n, synchronous, 0);
    snprintf(note, sizeof(note), "cancelling a send of %zu bytes", n);
    if (0 == my_side) {
        MPI_Request request;
        MPI_Status status;
        fill(buf, n, key);
        if (synchronous) {
            MPI(MPI_Issend(buf, (int) n, MPI_BYTE, my_peer, TAG, MPI_COMM_WORLD, &request));
        } else {
            MPI(MPI_Isend(buf, (int) n, MPI_BYTE, my_peer, TAG, MPI_COMM_WORLD, &request));
        }
        MPI(MPI_Cancel(&request));
        // A cancel must not need the receiver: but where it does not take, only the receive ends it.
        int flag = 0;
        for (double end = now() + 0.02; !flag && now() < end;) {
            MPI(MPI_Test(&request, &flag, &status));
        }
        int gone = 0;
        if (flag) {
            MPI(MPI_Test_cancelled(&status, &gone));
        }
        int word[2] = {flag, gone};
        MPI(MPI_Send(word, 2, MPI_INT, my_peer, GO, MPI_COMM_WORLD));
        if (!flag) {
            gone = cancelled(&request, &status);
            CHECK(!gone, "a send reported cancelled after it had been received");
        }
    } else if (1 == my_side) {
        int word[2], flag = 0;
        MPI_Status status;
        MPI(MPI_Recv(word, 2, MPI_INT, my_peer, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        if (word[1]) {
            MPI(MPI_Iprobe(my_peer, TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
            CHECK(!flag, "a cancelled send has arrived");
        } else {
            memset(buf, BLANK_VALUE, n);
            MPI(MPI_Recv(buf, (int) n, MPI_BYTE, my_peer, TAG, MPI_COMM_WORLD, &status));
            CHECK_STATUS(&status, my_peer, TAG, n);
            VERIFY(buf, n, key, "message whose cancel did not take");
        }
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
}

// Cancel and free at once, cancel of a persistent receive, cancel of a completed request.
static void others(void) {
    MPI_Request request;
    MPI_Status status;
    int flag;
    snprintf(note, sizeof(note), "cancelling persistent, freed and complete requests");
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    MPI(MPI_Irecv(buf, 100, MPI_BYTE, MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &request));
    MPI(MPI_Cancel(&request));
    MPI(MPI_Request_free(&request));

    MPI(MPI_Recv_init(buf, 100, MPI_BYTE, MPI_ANY_SOURCE, 98, MPI_COMM_WORLD, &request));
    for (int i = 0; i < 10; ++i) {
        MPI(MPI_Start(&request));
        MPI(MPI_Cancel(&request));
        MPI(MPI_Wait(&request, &status));
        MPI(MPI_Test_cancelled(&status, &flag));
        CHECK(flag, "start %d of a persistent receive was not cancelled", i);
        CHECK(MPI_REQUEST_NULL != request, "a persistent request was lost by its cancel");
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    // Started again, it must receive.
    fill(other, 100, key_of(74, my_rank, 0, 0));
    MPI(MPI_Start(&request));
    MPI(MPI_Send(other, 100, MPI_BYTE, my_peer, 98, MPI_COMM_WORLD));
    MPI(MPI_Wait(&request, &status));
    MPI(MPI_Test_cancelled(&status, &flag));
    CHECK(!flag, "a restarted receive reports the cancel of an earlier start");
    CHECK_STATUS(&status, my_peer, 98, 100);
    VERIFY(buf, 100, key_of(74, my_peer, 0, 0), "restarted receive");
    MPI(MPI_Request_free(&request));
}

int main(int argc, char **argv) {
    static const size_t sizes[] = {1, 4096, 70000, MAX_SIZE};
    begin(&argc, &argv, 2);
    buf = guarded_alloc(MAX_SIZE);
    other = guarded_alloc(MAX_SIZE);
    test_note = note;
    for (int i = 0; i < 4; ++i) {
        receive_unmatched(sizes[i], my_peer, TAG);
        receive_unmatched(sizes[i], MPI_ANY_SOURCE, TAG);
        receive_unmatched(sizes[i], MPI_ANY_SOURCE, MPI_ANY_TAG);
        receive_matched(sizes[i]);
        MPI(MPI_Barrier(MPI_COMM_WORLD));
        send_either_way(sizes[i], 0);
        send_either_way(sizes[i], 1);
    }
    middle_of_many();
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (0 == n_ranks % 2) {
        others();
    }
    guarded_free(buf, MAX_SIZE);
    guarded_free(other, MAX_SIZE);
    return finish();
}
