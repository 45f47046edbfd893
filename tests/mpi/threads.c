// SPDX-License-Identifier: BSD-3-Clause
// Description: several threads of each rank send and receive at once, on tags of their own and on a tag
// shared by all threads and received with wildcards, of all sizes. argv[1]: the level to ask for
// (multiple, serialized, funneled, single), argv[2]: rounds. Below multiple the calls are made one at
// a time as the level demands. With multiple also: Mprobe and Mrecv of one tag by all threads, cancelled
// and persistent receives, and communicators made and freed by each thread.
#include "check.h"

#include <pthread.h>

enum { THREADS = 4, SHARED_TAG = 100, MAX_SIZE = 1 << 20 };

static int level, rounds;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static MPI_Comm shared;

// Under SERIALIZED nobody may block inside MPI while holding the turn: everything is polled.
static void enter(void) {
    if (MPI_THREAD_SERIALIZED == level) {
        pthread_mutex_lock(&turn);
    }
}

static void leave(void) {
    if (MPI_THREAD_SERIALIZED == level) {
        pthread_mutex_unlock(&turn);
    }
}

static void wait_for(MPI_Request *request, MPI_Status *status) {
    if (MPI_THREAD_SERIALIZED != level) {
        MPI(MPI_Wait(request, status));
        return;
    }
    for (int flag = 0; !flag;) {
        enter();
        MPI(MPI_Test(request, &flag, status));
        leave();
        if (!flag) {
            sched_yield();
        }
    }
}

// Thread t of this rank with thread t of its neighbours, in order, on its own tag.
static void own_tag(int t, unsigned char *out, unsigned char *in, Rng *mine, Rng *theirs, int round) {
    int to = (my_rank + 1) % n_ranks, from = (my_rank + n_ranks - 1) % n_ranks;
    size_t n = rng_size(mine, MAX_SIZE), m = rng_size(theirs, MAX_SIZE);
    MPI_Request request[2];
    MPI_Status status;
    fill(out, n, key_of(150 + t, my_rank, round, n));
    memset(in, BLANK_VALUE, m);
    enter();
    MPI(MPI_Irecv(in, MAX_SIZE, MPI_BYTE, from, t, MPI_COMM_WORLD, &request[0]));
    if (round % 2) {
        MPI(MPI_Isend(out, (int) n, MPI_BYTE, to, t, MPI_COMM_WORLD, &request[1]));
    } else {
        MPI(MPI_Issend(out, (int) n, MPI_BYTE, to, t, MPI_COMM_WORLD, &request[1]));
    }
    leave();
    wait_for(&request[0], &status);
    CHECK_STATUS(&status, from, t, m);
    VERIFY(in, m, key_of(150 + t, from, round, m), "message on the thread's own tag");
    wait_for(&request[1], MPI_STATUS_IGNORE);
}

// Where any thread may get any thread's message nobody goes on before all have one: who runs ahead takes another one's,
// and may then wait for something of a rank whose threads wait, around the ring, for what was taken.
static pthread_barrier_t all_took;

// Any thread may receive any thread's message: it names itself in its first bytes.
typedef struct {
    int rank, thread, round;
    unsigned size;
} Header;

static int got[THREADS][1024]; // [sending thread][round]: counted under count_lock
static pthread_mutex_t count_lock = PTHREAD_MUTEX_INITIALIZER;

static void shared_tag(int t, unsigned char *out, unsigned char *in, Rng *mine, int round) {
    int to = (my_rank + 1) % n_ranks, from = (my_rank + n_ranks - 1) % n_ranks;
    size_t n = sizeof(Header) + rng_size(mine, 300000);
    Header header = {my_rank, t, round, (unsigned) n}, h;
    MPI_Request request[2];
    MPI_Status status;
    int count;
    memcpy(out, &header, sizeof(header));
    fill(out + sizeof(header), n - sizeof(header), key_of(160, my_rank, t, round));
    enter();
    MPI(MPI_Irecv(in, MAX_SIZE, MPI_BYTE, round % 2 ? MPI_ANY_SOURCE : from, round % 3 ? MPI_ANY_TAG : SHARED_TAG,
                  shared, &request[0]));
    MPI(MPI_Isend(out, (int) n, MPI_BYTE, to, SHARED_TAG, shared, &request[1]));
    leave();
    wait_for(&request[0], &status);
    memcpy(&h, in, sizeof(h));
    MPI(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK(h.rank == from && h.thread >= 0 && h.thread < THREADS && h.round >= 0 && h.round < rounds &&
              h.size == (unsigned) count,
          "header says rank %d thread %d round %d size %u; status says source %d, %d bytes", h.rank, h.thread, h.round,
          h.size, status.MPI_SOURCE, count);
    VERIFY(in + sizeof(h), h.size - sizeof(h), key_of(160, h.rank, h.thread, h.round), "shared tag");
    pthread_mutex_lock(&count_lock);
    int times = ++got[h.thread][h.round];
    pthread_mutex_unlock(&count_lock);
    CHECK(1 == times, "message of thread %d round %d came %d times", h.thread, h.round, times);
    pthread_barrier_wait(&all_took);
    wait_for(&request[1], MPI_STATUS_IGNORE);
}

static void *work(void *arg) {
    int t = (int) (intptr_t) arg, from = (my_rank + n_ranks - 1) % n_ranks;
    unsigned char *out = guarded_alloc(MAX_SIZE), *in = guarded_alloc(MAX_SIZE);
    Rng mine = rng_make(key_of(151, my_rank, t, 0)), theirs = rng_make(key_of(151, from, t, 0));
    Rng other = rng_make(key_of(152, my_rank, t, 0));
    for (int round = 0; round < rounds; ++round) {
        own_tag(t, out, in, &mine, &theirs, round);
        shared_tag(t, out, in, &other, round);
    }
    guarded_free(out, MAX_SIZE);
    guarded_free(in, MAX_SIZE);
    return NULL;
}

// ---- only with MPI_THREAD_MULTIPLE -----------------------------------------------------------------

enum { TAKEN_TAG = 200, NEVER_TAG = 300, AGAIN_TAG = 400 };

static int taken[THREADS][1024];
static MPI_Comm own[THREADS]; // made by the main thread, as threads cannot agree on an order

// Every thread probes for any thread's message: it belongs to who found it.
static void probe_and_take(int t, unsigned char *out, unsigned char *in, Rng *mine, int round) {
    int to = (my_rank + 1) % n_ranks, from = (my_rank + n_ranks - 1) % n_ranks, count;
    size_t n = sizeof(Header) + rng_size(mine, 300000);
    Header header = {my_rank, t, round, (unsigned) n}, h;
    MPI_Request request;
    MPI_Message message;
    MPI_Status probed, status;
    memcpy(out, &header, sizeof(header));
    fill(out + sizeof(header), n - sizeof(header), key_of(161, my_rank, t, round));
    MPI(MPI_Isend(out, (int) n, MPI_BYTE, to, TAKEN_TAG, shared, &request));
    MPI(MPI_Mprobe(round % 2 ? MPI_ANY_SOURCE : from, TAKEN_TAG, shared, &message, &probed));
    MPI(MPI_Get_count(&probed, MPI_BYTE, &count));
    MPI(MPI_Mrecv(in, count, MPI_BYTE, &message, &status));
    CHECK_STATUS(&status, from, TAKEN_TAG, (size_t) count);
    memcpy(&h, in, sizeof(h));
    CHECK(h.rank == from && h.thread >= 0 && h.thread < THREADS && h.round >= 0 && h.round < rounds &&
              h.size == (unsigned) count,
          "taken: header says rank %d thread %d round %d size %u, got %d bytes", h.rank, h.thread, h.round, h.size,
          count);
    VERIFY(in + sizeof(h), h.size - sizeof(h), key_of(161, h.rank, h.thread, h.round), "taken message");
    pthread_mutex_lock(&count_lock);
    int times = ++taken[h.thread][h.round];
    pthread_mutex_unlock(&count_lock);
    CHECK(1 == times, "message of thread %d round %d was taken %d times", h.thread, h.round, times);
    pthread_barrier_wait(&all_took);
    MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

// A receive nothing is sent to is cancelled while the other threads' messages come in.
static void cancel_one(int t, unsigned char *in) {
    int flag, from = (my_rank + n_ranks - 1) % n_ranks;
    MPI_Request request;
    MPI_Status status;
    memset(in, BLANK_VALUE, 1000);
    MPI(MPI_Irecv(in, MAX_SIZE, MPI_BYTE, t % 2 ? MPI_ANY_SOURCE : from, NEVER_TAG + t, shared, &request));
    MPI(MPI_Cancel(&request));
    MPI(MPI_Wait(&request, &status));
    MPI(MPI_Test_cancelled(&status, &flag));
    CHECK(flag, "thread %d: a receive nothing was sent to was not cancelled", t);
    VERIFY_VALUE(in, 1000, BLANK_VALUE, "buffer of a cancelled receive");
}

// Requests of this thread, started again and again: sizes stay, data changes.
typedef struct {
    MPI_Request request[2];
    unsigned char *out, *in;
    size_t n;
} Again;

static void again_make(Again *a, int t) {
    static const size_t sizes[THREADS] = {100, 9000, 100000, 700000};
    a->n = sizes[t];
    a->out = guarded_alloc(a->n);
    a->in = guarded_alloc(a->n);
    MPI(MPI_Recv_init(a->in, (int) a->n, MPI_BYTE, (my_rank + n_ranks - 1) % n_ranks, AGAIN_TAG + t, shared,
                      &a->request[0]));
    MPI(MPI_Send_init(a->out, (int) a->n, MPI_BYTE, (my_rank + 1) % n_ranks, AGAIN_TAG + t, shared, &a->request[1]));
}

static void again_round(Again *a, int t, int round) {
    int from = (my_rank + n_ranks - 1) % n_ranks;
    MPI_Status status[2];
    fill(a->out, a->n, key_of(162 + t, my_rank, round, a->n));
    memset(a->in, BLANK_VALUE, a->n);
    MPI(MPI_Startall(2, a->request));
    MPI(MPI_Waitall(2, a->request, status));
    CHECK_STATUS(&status[0], from, AGAIN_TAG + t, a->n);
    VERIFY(a->in, a->n, key_of(162 + t, from, round, a->n), "persistent request");
}

static void again_free(Again *a) {
    MPI(MPI_Request_free(&a->request[0]));
    MPI(MPI_Request_free(&a->request[1]));
    guarded_free(a->out, a->n);
    guarded_free(a->in, a->n);
}

// A communicator of this thread's own, made of one that no other thread uses, while they communicate.
static void dup_round(int t, int round) {
    MPI_Comm dup;
    int sum = 0, one = round + 1, to = (my_rank + 1) % n_ranks, from = (my_rank + n_ranks - 1) % n_ranks;
    uint64_t out = key_of(170, my_rank, t, round), in = 0;
    MPI(MPI_Comm_dup(own[t], &dup));
    MPI(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, dup));
    CHECK(sum == n_ranks * one, "thread %d: allreduce gave %d, expected %d", t, sum, n_ranks * one);
    MPI(MPI_Sendrecv(&out, 1, MPI_UINT64_T, to, 1, &in, 1, MPI_UINT64_T, from, 1, dup, MPI_STATUS_IGNORE));
    CHECK(in == key_of(170, from, t, round), "thread %d: a message of another communicator came", t);
    MPI(MPI_Comm_free(&dup));
}

static void *work_multiple(void *arg) {
    int t = (int) (intptr_t) arg;
    unsigned char *out = guarded_alloc(MAX_SIZE), *in = guarded_alloc(MAX_SIZE);
    Rng mine = rng_make(key_of(153, my_rank, t, 0));
    Again again;
    again_make(&again, t);
    for (int round = 0; round < rounds; ++round) {
        probe_and_take(t, out, in, &mine, round);
        cancel_one(t, in);
        again_round(&again, t, round);
        if (0 == round % 4) {
            dup_round(t, round);
        }
    }
    again_free(&again);
    guarded_free(out, MAX_SIZE);
    guarded_free(in, MAX_SIZE);
    return NULL;
}

static void in_threads(void *(*what)(void *) ) {
    pthread_t thread[THREADS];
    for (intptr_t t = 0; t < THREADS; ++t) {
        CHECK(0 == pthread_create(&thread[t], NULL, what, (void *) t), "no thread");
    }
    for (int t = 0; t < THREADS; ++t) {
        pthread_join(thread[t], NULL);
    }
}

static void *compute(void *arg) // a thread that calls no MPI
{
    volatile uint64_t *sum = arg;
    for (uint64_t i = 0; i < 30000000; ++i) {
        *sum += i;
    }
    return NULL;
}

int main(int argc, char **argv) {
    static const char *const names[] = {"single", "funneled", "serialized", "multiple"};
    static const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE};
    const char *wish = argc > 1 ? argv[1] : "multiple";
    int ask = -1, is_main;
    for (int i = 0; i < 4; ++i) {
        ask = 0 == strcmp(wish, names[i]) ? levels[i] : ask;
    }
    rounds = argc > 2 ? atoi(argv[2]) : 100;
    CHECK(ask >= 0 && rounds > 0 && rounds <= 1024, "usage: threads LEVEL ROUNDS (at most 1024)");
    MPI_Init_thread(&argc, &argv, ask, &level);
    learn_world(2);
    CHECK(level >= ask, "asked for %s, got level %d", wish, level);
    MPI(MPI_Is_thread_main(&is_main));
    CHECK(is_main, "the thread that called MPI_Init_thread is not the main one");
    level = ask; // keep to what was asked for, even if more was given
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &shared));
    pattern_ramp();
    pthread_barrier_init(&all_took, NULL, level >= MPI_THREAD_SERIALIZED ? THREADS : 1);

    if (level >= MPI_THREAD_SERIALIZED) {
        test_note = "exchanging by threads";
        in_threads(work);
        for (int t = 0; t < THREADS; ++t) {
            for (int i = 0; i < rounds; ++i) {
                CHECK(1 == got[t][i], "message of thread %d round %d never came", t, i);
            }
        }
        if (MPI_THREAD_MULTIPLE == level) {
            test_note = "probing, cancelling, starting and duplicating by threads";
            for (int t = 0; t < THREADS; ++t) {
                MPI(MPI_Comm_dup(MPI_COMM_WORLD, &own[t]));
            }
            in_threads(work_multiple);
            for (int t = 0; t < THREADS; ++t) {
                MPI(MPI_Comm_free(&own[t]));
                for (int i = 0; i < rounds; ++i) {
                    CHECK(1 == taken[t][i], "message of thread %d round %d was never taken", t, i);
                }
            }
        }
    } else {
        // Funneled: other threads compute beside; single: there are none.
        uint64_t sum = 0;
        pthread_t thread;
        test_note = "exchanging by the main thread";
        if (MPI_THREAD_FUNNELED == level) {
            CHECK(0 == pthread_create(&thread, NULL, compute, &sum), "no thread");
        }
        work((void *) 0);
        if (MPI_THREAD_FUNNELED == level) {
            pthread_join(thread, NULL);
        }
    }
    MPI(MPI_Comm_free(&shared));
    return finish();
}
