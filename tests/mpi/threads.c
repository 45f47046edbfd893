// SPDX-License-Identifier: BSD-3-Clause
// Description: several threads of each rank send and receive at once, on tags of their own and on a tag
// shared by all threads and received with wildcards, of all sizes. argv[1]: the level to ask for
// (multiple, serialized, funneled, single), argv[2]: rounds. Below multiple the calls are made one at
// a time as the level demands.
#include "check.h"

#include <pthread.h>

enum { THREADS = 4, SHARED_TAG = 100, MAX_SIZE = 1 << 20 };

static int level, rounds;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static MPI_Comm shared;

// Under SERIALIZED nobody may block inside MPI while holding the turn: everything is polled.
static void enter(void)
{
    if (MPI_THREAD_SERIALIZED == level) {
        pthread_mutex_lock(&turn);
    }
}

static void leave(void)
{
    if (MPI_THREAD_SERIALIZED == level) {
        pthread_mutex_unlock(&turn);
    }
}

static void wait_for(MPI_Request *request, MPI_Status *status)
{
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
static void own_tag(int t, unsigned char *out, unsigned char *in, Rng *mine, Rng *theirs, int round)
{
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

// Any thread may receive any thread's message: it names itself in its first bytes.
typedef struct {
    int rank, thread, round;
    unsigned size;
} Header;

static int got[THREADS][1024];   // [sending thread][round]: counted under count_lock
static pthread_mutex_t count_lock = PTHREAD_MUTEX_INITIALIZER;

static void shared_tag(int t, unsigned char *out, unsigned char *in, Rng *mine, int round)
{
    int to = (my_rank + 1) % n_ranks, from = (my_rank + n_ranks - 1) % n_ranks;
    size_t n = sizeof(Header) + rng_size(mine, 300000);
    Header header = {my_rank, t, round, (unsigned) n}, h;
    MPI_Request request[2];
    MPI_Status status;
    int count;
    memcpy(out, &header, sizeof(header));
    fill(out + sizeof(header), n - sizeof(header), key_of(160, my_rank, t, round));
    enter();
    MPI(MPI_Irecv(in, MAX_SIZE, MPI_BYTE, round % 2 ? MPI_ANY_SOURCE : from,
                  round % 3 ? MPI_ANY_TAG : SHARED_TAG, shared, &request[0]));
    MPI(MPI_Isend(out, (int) n, MPI_BYTE, to, SHARED_TAG, shared, &request[1]));
    leave();
    wait_for(&request[0], &status);
    memcpy(&h, in, sizeof(h));
    MPI(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK(h.rank == from && h.thread >= 0 && h.thread < THREADS && h.round >= 0 && h.round < rounds &&
              h.size == (unsigned) count,
          "header says rank %d thread %d round %d size %u; status says source %d, %d bytes", h.rank,
          h.thread, h.round, h.size, status.MPI_SOURCE, count);
    VERIFY(in + sizeof(h), h.size - sizeof(h), key_of(160, h.rank, h.thread, h.round), "shared tag");
    pthread_mutex_lock(&count_lock);
    int times = ++got[h.thread][h.round];
    pthread_mutex_unlock(&count_lock);
    CHECK(1 == times, "message of thread %d round %d came %d times", h.thread, h.round, times);
    wait_for(&request[1], MPI_STATUS_IGNORE);
}

static void *work(void *arg)
{
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

static void *compute(void *arg)   // a thread that calls no MPI
{
    volatile uint64_t *sum = arg;
    for (uint64_t i = 0; i < 30000000; ++i) {
        *sum += i;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"single", "funneled", "serialized", "multiple"};
    static const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED,
                                 MPI_THREAD_MULTIPLE};
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
    level = ask;    // keep to what was asked for, even if more was given
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &shared));
    pattern_ramp();

    pthread_t thread[THREADS];
    if (level >= MPI_THREAD_SERIALIZED) {
        test_note = "exchanging by threads";
        for (intptr_t t = 0; t < THREADS; ++t) {
            CHECK(0 == pthread_create(&thread[t], NULL, work, (void *) t), "no thread");
        }
        for (int t = 0; t < THREADS; ++t) {
            pthread_join(thread[t], NULL);
        }
        for (int t = 0; t < THREADS; ++t) {
            for (int i = 0; i < rounds; ++i) {
                CHECK(1 == got[t][i], "message of thread %d round %d never came", t, i);
            }
        }
    } else {
        // Funneled: other threads compute beside; single: there are none.
        uint64_t sum = 0;
        test_note = "exchanging by the main thread";
        if (MPI_THREAD_FUNNELED == level) {
            CHECK(0 == pthread_create(&thread[0], NULL, compute, &sum), "no thread");
        }
        work((void *) 0);
        if (MPI_THREAD_FUNNELED == level) {
            pthread_join(thread[0], NULL);
        }
    }
    MPI(MPI_Comm_free(&shared));
    return finish();
}
