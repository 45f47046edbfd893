// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
// Description: first windows of a job, which begin what serves windows where nothing else has: of some processes and
// not of others, not of the first process of a node, of several groups at once, and only then of all. Whoever has a
// window in common reaches each other in it, in every order of meeting.
// rma_first threads: two threads of each process make their first windows at the same time
// rma_first spawn: with processes that were started from here, twice
// rma_first refused: no window can be made, which is its error, and everything else goes on
// rma_first empty, rma_first anything: the file by which a node's processes find what they share is there already
#include "check.h"

#include <pthread.h>

enum { N = 30000, SUMS = 16 };

// Puts to the next, gets from the one before, sums at all of them; in a window of either kind.
static void use(MPI_Comm comm, const char *what) {
    unsigned char *in = malloc(N), *out = malloc(N), *own = malloc(N);
    int me, size;
    MPI(MPI_Comm_rank(comm, &me));
    MPI(MPI_Comm_size(comm, &size));
    for (int kind = 0; kind < 2; ++kind) {
        MPI_Win win, sum_win;
        unsigned char *base = own;
        int *sums, one = me + 1;
        if (0 == kind) {
            MPI(MPI_Win_create(base, N, 1, MPI_INFO_NULL, comm, &win));
        } else {
            MPI(MPI_Win_allocate(N, 1, MPI_INFO_NULL, comm, &base, &win));
        }
        MPI(MPI_Win_allocate(SUMS * sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &sums, &sum_win));
        const int next = (me + 1) % size, before = (me + size - 1) % size;
        memset(sums, 0, SUMS * sizeof(int));
        fill(out, N, key_of(300, size, kind, me));
        MPI(MPI_Win_fence(0, win));
        MPI(MPI_Put(out, N, MPI_BYTE, next, 0, N, MPI_BYTE, win));
        MPI(MPI_Win_fence(0, win));
        memset(in, BLANK_VALUE, N);
        MPI(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win));
        MPI(MPI_Get(in, N, MPI_BYTE, next, 0, N, MPI_BYTE, win));
        MPI(MPI_Win_unlock(next, win));
        CHECK(0 == memcmp(in, out, N), "%s: what was put to %d is not there", what, next);
        MPI(MPI_Barrier(comm));
        MPI(MPI_Win_lock(MPI_LOCK_SHARED, me, 0, win));
        VERIFY(base, N, key_of(300, size, kind, before), what);
        MPI(MPI_Win_unlock(me, win));
        MPI(MPI_Barrier(comm));
        MPI(MPI_Win_lock_all(0, sum_win));
        for (int r = 0; r < size; ++r) {
            for (int i = 0; i < SUMS; ++i) {
                MPI(MPI_Accumulate(&one, 1, MPI_INT, r, i, 1, MPI_INT, MPI_SUM, sum_win));
            }
        }
        MPI(MPI_Win_unlock_all(sum_win));
        MPI(MPI_Barrier(comm));
        MPI(MPI_Win_lock(MPI_LOCK_SHARED, me, 0, sum_win));
        for (int i = 0; i < SUMS; ++i) {
            CHECK(sums[i] == size * (size + 1) / 2, "%s: sum %d is %d", what, i, sums[i]);
        }
        MPI(MPI_Win_unlock(me, sum_win));
        MPI(MPI_Win_free(&sum_win));
        MPI(MPI_Win_free(&win));
    }
    free(in);
    free(out);
    free(own);
}

static void use_and_free(MPI_Comm comm, const char *what) {
    if (MPI_COMM_NULL != comm) {
        use(comm, what);
        MPI(MPI_Comm_free(&comm));
    }
}

static MPI_Comm part(int colour, int key) {
    MPI_Comm comm;
    MPI(MPI_Comm_split(MPI_COMM_WORLD, colour, key, &comm));
    return comm;
}

struct job {
    MPI_Comm comm;
    const char *what;
};

static void *in_thread(void *arg) {
    const struct job *job = arg;
    use(job->comm, job->what);
    return NULL;
}

static void threads(void) {
    struct job jobs[2] = {{.what = "all, in a thread"}, {.what = "two, in a thread"}};
    pthread_t thread[2];
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &jobs[0].comm));
    jobs[1].comm = part(my_rank / 2, my_rank);
    for (int i = 0; i < 2; ++i) {
        CHECK(0 == pthread_create(&thread[i], NULL, in_thread, &jobs[i]), "no thread");
    }
    for (int i = 0; i < 2; ++i) {
        pthread_join(thread[i], NULL);
        MPI(MPI_Comm_free(&jobs[i].comm));
    }
}

static void with_others(MPI_Comm others, int high) {
    MPI_Comm all;
    MPI(MPI_Intercomm_merge(others, high, &all));
    use_and_free(all, high ? "started, with those who did" : "with those started");
    MPI(MPI_Comm_disconnect(&others));
}

static void refused(void) {
    int *memory, sum = 0, one = 1;
    MPI_Win win;
    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    for (int i = 0; i < 2; ++i) {
        CHECK(MPI_SUCCESS != MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win),
              "a window was made");
    }
    MPI(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(n_ranks == sum, "%d ranks of %d", sum, n_ranks);
}

// By Open MPI's own names, which libraries it starts are told: the first job of this mpirun, and a node whose first
// process is rank 0.
static const char *meeting_file(void) {
    static char path[4096];
    const char *directory = getenv("PMIX_SERVER_TMPDIR"), *job = getenv("PMIX_NAMESPACE");
    CHECK(NULL != directory && NULL != job, "no session directory");
    snprintf(path, sizeof(path), "%s/1/smartint-%u-%s-0-met", directory, (unsigned) geteuid(), job);
    return path;
}

static void leave_there(size_t bytes) {
    unsigned char any[300];
    if (0 == my_rank) {
        FILE *f = fopen(meeting_file(), "wx");
        CHECK(NULL != f, "%s: not to be made", meeting_file());
        fill(any, sizeof(any), key_of(301, 0, 0, 0));
        CHECK(bytes == fwrite(any, 1, bytes, f) && 0 == fclose(f), "not written");
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
}

// It holds what the first process made.
static void is_another(size_t bytes) {
    unsigned char now_there[300], left[300];
    FILE *f = fopen(meeting_file(), "r");
    CHECK(NULL != f, "%s is gone", meeting_file());
    const size_t n = fread(now_there, 1, sizeof(now_there), f);
    fclose(f);
    fill(left, sizeof(left), key_of(301, 0, 0, 0));
    CHECK(n > 100 && (0 == bytes || 0 != memcmp(now_there, left, 16)), "what was there is there still");
}

static void spawn(char *program) {
    for (int time = 0; time < 2; ++time) {
        MPI_Comm children;
        MPI(MPI_Comm_spawn(program, MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                           MPI_ERRCODES_IGNORE));
        with_others(children, 0);
    }
}

int main(int argc, char **argv) {
    const int several = argc > 1 && 0 == strcmp(argv[1], "threads");
    MPI_Comm parent;
    int provided;
    MPI_Init_thread(&argc, &argv, several ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    learn_world(1);
    MPI(MPI_Comm_get_parent(&parent));
    if (MPI_COMM_NULL != parent) {
        with_others(parent, 1);
        MPI_Finalize();
        return 0;
    }
    const char *what = argc > 1 ? argv[1] : "";
    const size_t left = 0 == strcmp(what, "anything") ? 300 : 0;
    if (0 == strcmp(what, "refused")) {
        refused();
        return finish();
    }
    if (0 == strcmp(what, "empty") || 0 != left) {
        leave_there(left);
        use(MPI_COMM_WORLD, "all");
        is_another(left);
    } else if (0 == strcmp(what, "spawn")) {
        spawn(argv[0]);
    } else if (several) {
        CHECK(MPI_THREAD_MULTIPLE == provided, "no threads");
        threads();
    } else {
        if (n_ranks - 1 == my_rank) {
            use(MPI_COMM_SELF, "the last one alone");
        }
        use_and_free(part(0 == my_rank ? MPI_UNDEFINED : 0, my_rank), "all but the first");
        MPI(MPI_Barrier(MPI_COMM_WORLD));
        use_and_free(part(my_rank % 2, my_rank), "every other one");
        use_and_free(part(my_rank / 2, -my_rank), "neighbours");
        use_and_free(part(0, -my_rank), "all, the last one first");
    }
    use(MPI_COMM_WORLD, "all");
    return finish();
}
