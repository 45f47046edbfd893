// SPDX-License-Identifier: BSD-3-Clause
// Description: receives with and without wildcards posted together: each message goes to the receive
// posted first among those that fit it, whether it comes before or after the receives.
// In all pairs (r, r ^ 1) at once.
#include "check.h"

enum { POSTS = 48, MAX_SIZE = 100000, ROUNDS = 24, TAGS = 3 };

typedef struct {
    int source, tag;
} Post;

typedef struct {
    int tag;
    size_t size;
} Message;

// Side 0 of each pair works out with a plain model which receive each message of one sender must meet.
static void random_posts(int round, int early) {
    static unsigned char buf[POSTS][MAX_SIZE];
    Rng rng = rng_make(pair_key(20, round, early, 0));
    Post post[POSTS];
    Message message[POSTS];
    int met[POSTS]; // post -> message

    for (int i = 0; i < POSTS; ++i) {
        message[i].tag = (int) rng_below(&rng, TAGS);
        message[i].size = rng_size(&rng, MAX_SIZE);
    }
    // Posts come from the messages' shuffled tags, some widened; then matched by the model. A post
    // which no message meets is made ANY/ANY at the end, in order, so that everything completes.
    int order[POSTS], taken[POSTS] = {0};
    for (int i = 0; i < POSTS; ++i) {
        order[i] = i;
        met[i] = -1;
    }
    rng_shuffle(&rng, order, POSTS);
    for (int i = 0; i < POSTS; ++i) {
        post[i].tag = rng_below(&rng, 3) ? message[order[i]].tag : MPI_ANY_TAG;
        post[i].source = rng_below(&rng, 2) ? my_peer : MPI_ANY_SOURCE;
    }
    if (0 == early) { // all receives are there first: each message takes the first post that fits
        for (int m = 0; m < POSTS; ++m) {
            for (int i = 0; i < POSTS; ++i) {
                if (met[i] < 0 && (MPI_ANY_TAG == post[i].tag || post[i].tag == message[m].tag)) {
                    met[i] = m;
                    taken[m] = 1;
                    break;
                }
            }
        }
    } else { // all messages are there first: each receive takes the first message that fits
        for (int i = 0; i < POSTS; ++i) {
            for (int m = 0; m < POSTS; ++m) {
                if (!taken[m] && (MPI_ANY_TAG == post[i].tag || post[i].tag == message[m].tag)) {
                    met[i] = m;
                    taken[m] = 1;
                    break;
                }
            }
        }
    }
    MPI_Request request[POSTS];
    if (0 == my_side) {
        if (early) {
            MPI(MPI_Recv(NULL, 0, MPI_BYTE, my_peer, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        }
        for (int i = 0; i < POSTS; ++i) {
            memset(buf[i], BLANK_VALUE, MAX_SIZE);
            MPI(MPI_Irecv(buf[i], MAX_SIZE, MPI_BYTE, post[i].source, post[i].tag, MPI_COMM_WORLD, &request[i]));
        }
        if (!early) {
            MPI(MPI_Send(NULL, 0, MPI_BYTE, my_peer, 99, MPI_COMM_WORLD));
        }
        for (int i = 0; i < POSTS; ++i) {
            if (met[i] < 0) {
                MPI(MPI_Cancel(&request[i]));
            }
            MPI_Status status;
            MPI(MPI_Wait(&request[i], &status));
            if (met[i] < 0) {
                int cancelled;
                MPI(MPI_Test_cancelled(&status, &cancelled));
                CHECK(cancelled, "round %d: receive %d got a message meant for another", round, i);
                continue;
            }
            const Message *m = &message[met[i]];
            CHECK_STATUS(&status, my_peer, m->tag, m->size);
            VERIFY(buf[i], m->size, pair_key(21, round, early, met[i]), "message of the model's choice");
            VERIFY_VALUE(buf[i] + m->size, MAX_SIZE - m->size, BLANK_VALUE, "after the message");
        }
        for (int m = 0; m < POSTS; ++m) {
            if (!taken[m]) {
                MPI(MPI_Recv(buf[0], MAX_SIZE, MPI_BYTE, MPI_ANY_SOURCE, message[m].tag, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE));
                VERIFY(buf[0], message[m].size, pair_key(21, round, early, m), "message left over");
            }
        }
    } else if (1 == my_side) {
        if (!early) {
            MPI(MPI_Recv(NULL, 0, MPI_BYTE, my_peer, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        }
        for (int m = 0; m < POSTS; ++m) {
            fill(buf[m], message[m].size, pair_key(21, round, early, m));
            MPI(MPI_Isend(buf[m], (int) message[m].size, MPI_BYTE, my_peer, message[m].tag, MPI_COMM_WORLD,
                          &request[m]));
        }
        if (early) {
            MPI(MPI_Send(NULL, 0, MPI_BYTE, my_peer, 99, MPI_COMM_WORLD));
        }
        MPI(MPI_Waitall(POSTS, request, MPI_STATUSES_IGNORE));
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
}

// ANY_TAG must not take messages of another communicator, nor of the library's own collectives.
static void other_communicators(void) {
    MPI_Comm other;
    unsigned char a[64], b[64];
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &other));
    MPI_Request request = MPI_REQUEST_NULL;
    if (0 == my_side) {
        MPI(MPI_Irecv(a, 64, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request));
    }
    int sum = 0, one = 1, flag = 0;
    MPI(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(sum == n_ranks, "allreduce gave %d", sum);
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (1 == my_side) {
        fill(b, 64, pair_key(22, 1, 0, 0));
        MPI(MPI_Send(b, 64, MPI_BYTE, my_peer, 5, other));
    } else if (0 == my_side) {
        MPI_Status status;
        MPI(MPI_Recv(b, 64, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, other, &status));
        CHECK_STATUS(&status, my_peer, 5, 64);
        VERIFY(b, 64, pair_key(22, 1, 0, 0), "message of the other communicator");
        MPI(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
        CHECK(!flag, "ANY/ANY on one communicator took a message of another");
        MPI(MPI_Send(NULL, 0, MPI_BYTE, my_peer, 6, other));
    }
    if (1 == my_side) {
        MPI(MPI_Recv(NULL, 0, MPI_BYTE, my_peer, 6, other, MPI_STATUS_IGNORE));
        fill(a, 64, pair_key(22, 2, 0, 0));
        MPI(MPI_Send(a, 64, MPI_BYTE, my_peer, 8, MPI_COMM_WORLD));
    }
    MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    if (0 == my_side) {
        VERIFY(a, 64, pair_key(22, 2, 0, 0), "message of the world");
    }
    MPI(MPI_Comm_free(&other));
}

int main(int argc, char **argv) {
    begin(&argc, &argv, 2);
    for (int round = 0; round < ROUNDS; ++round) {
        test_note = "receives posted first";
        random_posts(round, 0);
        test_note = "messages sent first";
        random_posts(round, 1);
    }
    test_note = "several communicators";
    other_communicators();
    return finish();
}
