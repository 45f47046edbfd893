// SPDX-License-Identifier: BSD-3-Clause
// Description: random traffic between random peers: tags, wildcards, sizes from 0 to 4 MB, strided types,
// all send modes, persistent requests, probes, cancelled receives, two communicators; every byte checked.
// argv[1] or SMARTINT_SEED: seed (else from the clock, printed); argv[2]: seconds (default 5).
//
// All ranks draw the same plan of a round from the seed: a list of messages. Each rank then does its
// part in a random order of its own, so long as messages of one (sender, communicator) keep their order.
#include "check.h"

enum { PLAN = 60, MAX_SIZE = 4 << 20, TAGS = 5, BLOCK = 24, STRIDE = 40 };

enum { SEND, SSEND, BSEND, PERSISTENT, RSEND, SEND_MODES };

typedef struct {
    int from, to, tag, comm, mode, strided_out, strided_in;
    size_t size;
    uint64_t key;
} Message;

typedef struct {
    unsigned char *buf;
    size_t span;
    MPI_Request request;
    int persistent, live, strided;
    MPI_Datatype type;
} Side;

static MPI_Comm comms[2];
static Message plan[PLAN];

static void draw_plan(Rng *rng) {
    size_t budget = 24 << 20;
    for (int i = 0; i < PLAN; ++i) {
        Message *m = &plan[i];
        m->from = (int) rng_below(rng, n_ranks);
        m->to = (int) rng_below(rng, n_ranks);
        m->tag = (int) rng_below(rng, TAGS);
        m->comm = (int) rng_below(rng, 2);
        m->mode = (int) rng_below(rng, SEND_MODES);
        m->size = rng_size(rng, MAX_SIZE);
        if (0 == rng_below(rng, 8)) {
            m->size = MAX_SIZE - rng_below(rng, 3);
        }
        if (m->size > budget) {
            m->size = budget % 1000;
        }
        budget -= m->size;
        m->strided_out = 0 == rng_below(rng, 4);
        m->strided_in = 0 == rng_below(rng, 4);
        if (m->strided_out || m->strided_in) {
            m->size -= m->size % BLOCK;
        }
        m->key = rng_next(rng);
    }
}

static void side_make(Side *side, size_t n, int strided) {
    side->strided = strided && n > 0;
    side->type = MPI_BYTE;
    side->span = n;
    side->persistent = 0;
    side->live = 1;
    side->request = MPI_REQUEST_NULL;
    if (side->strided) {
        side->span = n / BLOCK * STRIDE;
        MPI(MPI_Type_vector((int) (n / BLOCK), BLOCK, STRIDE, MPI_BYTE, &side->type));
        MPI(MPI_Type_commit(&side->type));
    }
    side->buf = guarded_alloc(side->span);
}

static int side_count(const Side *side, size_t n) { return side->strided ? 1 : (int) n; }

static void side_fill(Side *side, size_t n, uint64_t key) {
    if (!side->strided) {
        fill(side->buf, n, key);
        return;
    }
    for (size_t b = 0; b < n / BLOCK; ++b) {
        fill_from(side->buf + b * STRIDE, BLOCK, key, b * BLOCK);
    }
}

static void side_judge(const Side *side, size_t n, uint64_t key, const char *what) {
    if (!side->strided) {
        VERIFY(side->buf, n, key, what);
    } else {
        for (size_t b = 0; b < n / BLOCK; ++b) {
            int64_t bad = first_wrong(side->buf + b * STRIDE, BLOCK, key, b * BLOCK);
            CHECK(bad < 0, "%s: byte %zu of %zu is wrong", what, b * BLOCK + (size_t) bad, n);
            VERIFY_VALUE(side->buf + b * STRIDE + BLOCK, STRIDE - BLOCK, BLANK_VALUE, "gap");
        }
    }
    guarded_check(side->buf, side->span);
}

static void side_free(Side *side) {
    if (side->persistent) {
        MPI(MPI_Request_free(&side->request));
    }
    if (side->strided) {
        MPI(MPI_Type_free(&side->type));
    }
    guarded_free(side->buf, side->span);
    side->live = 0;
}

static void start_send(int i, Side *side) {
    const Message *m = &plan[i];
    side_make(side, m->size, m->strided_out);
    side_fill(side, m->size, m->key);
    int count = side_count(side, m->size);
    switch (m->mode) {
    case SSEND:
        MPI(MPI_Issend(side->buf, count, side->type, m->to, m->tag, comms[m->comm], &side->request));
        break;
    case BSEND:
        if (m->size < 100000) {
            MPI(MPI_Ibsend(side->buf, count, side->type, m->to, m->tag, comms[m->comm], &side->request));
            break;
        }
        MPI(MPI_Isend(side->buf, count, side->type, m->to, m->tag, comms[m->comm], &side->request));
        break;
    case PERSISTENT:
        MPI(MPI_Send_init(side->buf, count, side->type, m->to, m->tag, comms[m->comm], &side->request));
        MPI(MPI_Start(&side->request));
        side->persistent = 1;
        break;
    default: // a ready send would need a handshake: those are in modes.c
        MPI(MPI_Isend(side->buf, count, side->type, m->to, m->tag, comms[m->comm], &side->request));
        break;
    }
}

// A receive for plan[i] may use wildcards only where no other message to this rank that is still to be
// received in this round could be taken in its place, or where it is the first of all in order.
static int alone(int i, const int *received, int any_source, int any_tag) {
    for (int j = 0; j < PLAN; ++j) {
        if (j != i && !received[j] && plan[j].to == my_rank && plan[j].comm == plan[i].comm &&
            (any_source || plan[j].from == plan[i].from) && (any_tag || plan[j].tag == plan[i].tag)) {
            // The same sender's later message cannot overtake.
            if (plan[j].from == plan[i].from && j > i) {
                continue;
            }
            return 0;
        }
    }
    return 1;
}

static void judge_recv(int i, const Side *side, const MPI_Status *status) {
    const Message *m = &plan[i];
    CHECK_STATUS(status, m->from, m->tag, m->size);
    side_judge(side, m->size, m->key, "stress message");
}

static void run_round(Rng *own) {
    static Side sends[PLAN], recvs[PLAN];
    int received[PLAN] = {0}; // posted or done: out of the way of later receives
    int next_send = 0, next_recv = 0;
    memset(sends, 0, sizeof(sends));
    memset(recvs, 0, sizeof(recvs));
    for (;;) {
        while (next_send < PLAN && plan[next_send].from != my_rank) {
            ++next_send;
        }
        while (next_recv < PLAN && plan[next_recv].to != my_rank) {
            ++next_recv;
        }
        if (next_send == PLAN && next_recv == PLAN) {
            break;
        }
        // All calls here return without waiting for a peer that waits for us: probing receives do it
        // only when every send of this rank has been started.
        if (next_recv == PLAN || (next_send < PLAN && rng_below(own, 2))) {
            start_send(next_send, &sends[next_send]);
            ++next_send;
            continue;
        }
        int i = next_recv++;
        const Message *m = &plan[i];
        Side *side = &recvs[i];
        MPI_Comm comm = comms[m->comm];
        MPI_Status status;
        side_make(side, m->size, m->strided_in);
        int count = side_count(side, m->size);
        int any_source = 0 == rng_below(own, 3), any_tag = 0 == rng_below(own, 3);
        if (!alone(i, received, any_source, any_tag)) {
            any_source = any_tag = 0;
        }
        int source = any_source ? MPI_ANY_SOURCE : m->from, tag = any_tag ? MPI_ANY_TAG : m->tag;
        if (0 == rng_below(own, 10)) { // a receive for a tag nobody uses, cancelled
            MPI_Request request;
            unsigned char nothing[64];
            int flag;
            MPI(MPI_Irecv(nothing, 64, MPI_BYTE, MPI_ANY_SOURCE, TAGS + 1, comm, &request));
            MPI(MPI_Cancel(&request));
            MPI(MPI_Wait(&request, &status));
            MPI(MPI_Test_cancelled(&status, &flag));
            CHECK(flag, "a receive for a tag nobody uses was not cancelled");
        }
        received[i] = 1;
        switch (rng_below(own, 6)) {
        case 0:
            MPI(MPI_Recv_init(side->buf, count, side->type, source, tag, comm, &side->request));
            MPI(MPI_Start(&side->request));
            side->persistent = 1;
            break;
        case 1: { // matched probe, if it is there
            MPI_Message message;
            int flag;
            MPI(MPI_Improbe(source, tag, comm, &flag, &message, &status));
            if (flag) {
                CHECK_STATUS(&status, m->from, m->tag, m->size);
                MPI(MPI_Imrecv(side->buf, count, side->type, &message, &side->request));
                break;
            }
        }
        // fall through
        case 2: { // a look, then a plain receive
            int flag;
            MPI(MPI_Iprobe(source, tag, comm, &flag, &status));
            if (flag) {
                CHECK_STATUS(&status, m->from, m->tag, m->size);
            }
        }
        // fall through
        default:
            MPI(MPI_Irecv(side->buf, count, side->type, source, tag, comm, &side->request));
            break;
        }
    }
    // Everything is under way: complete in this rank's own order, sometimes after a while.
    if (0 == rng_below(own, 4)) {
        sleep_ms((int) rng_below(own, 10));
    }
    int order[2 * PLAN];
    for (int i = 0; i < 2 * PLAN; ++i) {
        order[i] = i;
    }
    rng_shuffle(own, order, 2 * PLAN);
    for (int left = 2 * PLAN; left > 0;) {
        for (int k = 0; k < left;) {
            int i = order[k] % PLAN, is_recv = order[k] >= PLAN, flag = 1;
            Side *side = is_recv ? &recvs[i] : &sends[i];
            if (side->live) {
                MPI_Status status;
                if (left < PLAN && rng_below(own, 2)) {
                    MPI(MPI_Wait(&side->request, &status));
                } else {
                    MPI(MPI_Test(&side->request, &flag, &status));
                }
                if (flag) {
                    if (is_recv) {
                        judge_recv(i, side, &status);
                    } else {
                        side_judge(side, plan[i].size, plan[i].key, "send buffer");
                    }
                    side_free(side);
                }
            }
            if (flag) {
                order[k] = order[--left];
            } else {
                ++k;
            }
        }
    }
}

int main(int argc, char **argv) {
    begin(&argc, &argv, 2);
    const char *text = argc > 1 && 0 != strcmp(argv[1], "-") ? argv[1] : getenv("SMARTINT_SEED");
    uint64_t seed = NULL != text ? strtoull(text, NULL, 0) : (uint64_t) time(NULL);
    double seconds = argc > 2 ? atof(argv[2]) : 5.0;
    MPI(MPI_Bcast(&seed, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD));
    if (0 == my_rank) {
        printf("# seed %" PRIu64 "\n", seed);
        fflush(stdout);
    }
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]));
    MPI(MPI_Comm_split(MPI_COMM_WORLD, 0, my_rank, &comms[1]));
    size_t room = (size_t) 16 << 20;
    char *attached = malloc(room), note[80];
    MPI(MPI_Buffer_attach(attached, (int) room));
    test_note = note;

    Rng all = rng_make(seed), own = rng_make(key_of(240, seed, my_rank, 0));
    int go = 1;
    uint64_t rounds = 0;
    for (double end = now() + seconds; go; ++rounds) {
        snprintf(note, sizeof(note), "seed %" PRIu64 " round %" PRIu64, seed, rounds);
        draw_plan(&all);
        run_round(&own);
        // Nobody may send for the next round while a wildcard of this one is open.
        MPI(MPI_Barrier(MPI_COMM_WORLD));
        go = now() < end;
        MPI(MPI_Bcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD));
    }
    void *back;
    int size;
    MPI(MPI_Buffer_detach(&back, &size));
    free(attached);
    MPI(MPI_Comm_free(&comms[0]));
    MPI(MPI_Comm_free(&comms[1]));
    if (0 == my_rank) {
        printf("# %" PRIu64 " rounds\n", rounds);
    }
    return finish();
}
