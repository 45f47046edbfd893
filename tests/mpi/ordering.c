// SPDX-License-Identifier: BSD-3-Clause
// Description: messages between two ranks are received in the order sent, whatever mix of eager and
// rendezvous sizes: one tag, several tags, and many senders to a receiver with ANY_SOURCE and ANY_TAG.
// argv[1]: messages per sender.
#include "check.h"

enum { TAGS = 4, MAX_SIZE = 300000 };

// Sizes and tags of all messages are known to both sides from (phase, sender, seq).
static size_t size_of(int phase, int sender, int seq) {
    Rng rng = rng_make(key_of(10, phase, sender, seq));
    static const size_t edge[] = {0, 1, 4000, 4096, 4097, 32768, 65536, 65537, 131072};
    if (0 == rng_below(&rng, 3)) {
        return edge[rng_below(&rng, sizeof(edge) / sizeof(edge[0]))] + sizeof(int);
    }
    return sizeof(int) + rng_size(&rng, MAX_SIZE - 140000);
}

static int tag_of(int phase, int sender, int seq) {
    return phase == 0 ? 0 : (int) (key_of(11, phase, sender, seq) % TAGS);
}

static void make(unsigned char *buf, int phase, int seq) {
    size_t n = size_of(phase, my_rank, seq);
    memcpy(buf, &seq, sizeof(seq));
    fill(buf + sizeof(seq), n - sizeof(seq), key_of(12, phase, my_rank, seq));
}

static void judge(const unsigned char *buf, const MPI_Status *status, int phase, int want) {
    int seq;
    memcpy(&seq, buf, sizeof(seq));
    CHECK(seq == want, "phase %d: message %d of rank %d overtook: expected %d (tag %d)", phase, seq, status->MPI_SOURCE,
          want, status->MPI_TAG);
    size_t n = size_of(phase, status->MPI_SOURCE, seq);
    CHECK_STATUS(status, status->MPI_SOURCE, tag_of(phase, status->MPI_SOURCE, seq), n);
    VERIFY(buf + sizeof(seq), n - sizeof(seq), key_of(12, phase, status->MPI_SOURCE, seq), "body");
}

enum { WINDOW = 16 };

static void send_all(int phase, int to, int messages) {
    static unsigned char buf[WINDOW][MAX_SIZE];
    MPI_Request request[WINDOW];
    for (int i = 0; i < WINDOW; ++i) {
        request[i] = MPI_REQUEST_NULL;
    }
    for (int seq = 0; seq < messages; ++seq) {
        int slot = seq % WINDOW;
        MPI(MPI_Wait(&request[slot], MPI_STATUS_IGNORE));
        make(buf[slot], phase, seq);
        MPI(MPI_Isend(buf[slot], (int) size_of(phase, my_rank, seq), MPI_BYTE, to, tag_of(phase, my_rank, seq),
                      MPI_COMM_WORLD, &request[slot]));
    }
    MPI(MPI_Waitall(WINDOW, request, MPI_STATUSES_IGNORE));
}

// Receive by window of posted receives; a receive posted earlier gets the earlier message.
static void recv_all(int phase, int source, int tag, int messages, int *next) {
    static unsigned char buf[WINDOW][MAX_SIZE];
    MPI_Request request[WINDOW];
    for (int done = 0; done < messages; done += WINDOW) {
        int k = messages - done < WINDOW ? messages - done : WINDOW;
        for (int i = 0; i < k; ++i) {
            MPI(MPI_Irecv(buf[i], MAX_SIZE, MPI_BYTE, source, tag, MPI_COMM_WORLD, &request[i]));
        }
        for (int i = 0; i < k; ++i) {
            MPI_Status status;
            MPI(MPI_Wait(&request[i], &status));
            judge(buf[i], &status, phase, next[status.MPI_SOURCE]++);
        }
    }
}

// Several tags received one tag after the other, the last tag first: order holds within each tag.
// The sender may have only WINDOW messages in flight, so the round is WINDOW messages.
static void recv_by_tag(int phase, int source, int messages) {
    static unsigned char buf[MAX_SIZE];
    for (int base = 0; base < messages; base += WINDOW) {
        int end = base + WINDOW < messages ? base + WINDOW : messages;
        for (int tag = TAGS - 1; tag >= 0; --tag) {
            for (int seq = base; seq < end; ++seq) {
                if (tag_of(phase, source, seq) == tag) {
                    MPI_Status status;
                    MPI(MPI_Recv(buf, MAX_SIZE, MPI_BYTE, source, tag, MPI_COMM_WORLD, &status));
                    judge(buf, &status, phase, seq);
                }
            }
        }
    }
}

int main(int argc, char **argv) {
    begin(&argc, &argv, 2);
    int messages = argc > 1 ? atoi(argv[1]) : 400;
    int *next = calloc(n_ranks, sizeof(int));

    test_note = "same tag";
    if (1 == my_rank) {
        send_all(0, 0, messages);
    } else if (0 == my_rank) {
        recv_all(0, 1, 0, messages, next);
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));

    test_note = "several tags, received tag by tag";
    if (1 == my_rank) {
        send_all(1, 0, messages);
    } else if (0 == my_rank) {
        recv_by_tag(1, 1, messages);
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));

    test_note = "many to one, ANY_SOURCE and ANY_TAG";
    memset(next, 0, n_ranks * sizeof(int));
    if (0 != my_rank) {
        send_all(2, 0, messages);
    } else {
        recv_all(2, MPI_ANY_SOURCE, MPI_ANY_TAG, messages * (n_ranks - 1), next);
        for (int r = 1; r < n_ranks; ++r) {
            CHECK(next[r] == messages, "%d messages of rank %d, expected %d", next[r], r, messages);
        }
    }
    free(next);
    return finish();
}
