// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// /dev/smartint with many at work at once: no count is lost or made up, nobody sleeps for ever, and
// nonsense of any kind is refused. What a kernel has to say about it is in its log, which the script
// that runs this reads.
#include "module_cases.h"

#include <pthread.h>
#include <sys/epoll.h>

enum { job = 4711 };

static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

// Two processes hand a turn to each other; each turn is a sleep. A lost wake-up ends it for good.
static void two_processes_wake_each_other(void) {
    enum { rounds = 3000 };
    int fd = a_rank(job, 0);
    pid_t pid = fork();
    if (0 == pid) {
        int mine = a_rank(job, 1);
        int waker = a_waker(job);
        CHECK(8 == wake_one(waker, 0, 1));
        for (int i = 0; i < rounds; ++i) {
            CHECK(1 == take(mine));
            CHECK(8 == wake_one(waker, 0, 1));
        }
        _exit(0);
    }
    int waker = a_waker(job);
    CHECK(1 == take(fd));
    for (int i = 0; i < rounds; ++i) {
        CHECK(8 == wake_one(waker, 1, 1));
        CHECK(1 == take(fd));
    }
    child_ends_well(pid);
}

// 64 processes asleep, each on a rank of its own; batches wake all of them, again and again.
static void many_sleepers_are_woken_by_batches(void) {
    enum { ranks = 64, rounds = 50 };
    struct smartint_wake w[ranks];
    pid_t pid[ranks];
    int done = a_rank(job, ranks);
    for (int i = 0; i < ranks; ++i) {
        int fd = a_rank(job, i);
        w[i] = (struct smartint_wake){i, 1};
        pid[i] = fork();
        if (0 == pid[i]) {
            int waker = a_waker(job);
            for (int r = 0; r < rounds; ++r) {
                CHECK(1 == take(fd));
                CHECK(8 == wake_one(waker, ranks, 1));
            }
            _exit(0);
        }
        close(fd);
    }
    int waker = a_waker(job);
    for (int r = 0; r < rounds; ++r) {
        CHECK(sizeof(w) == (size_t) write(waker, w, sizeof(w)));
        for (uint64_t n = 0; n < ranks;) {
            n += take(done);
        }
    }
    for (int i = 0; i < ranks; ++i) {
        child_ends_well(pid[i]);
    }
}

// Several readers of one file, in read() and in epoll, some of them hit by signals, and several
// wakers: what is read in all is what was written.
static void ignore(int signal) { (void) signal; }

static void readers_of_one_file_share_what_is_written(void) {
    enum { readers = 6, wakers = 3, wakes = 4000 };
    uint64_t *got = shared_page(); // one for each reader, the last: how many have been told to end
    int fd = a_rank(job, 0);
    pid_t pid[readers + wakers];
    for (int i = 0; i < readers; ++i) {
        pid[i] = fork();
        if (0 == pid[i]) {
            struct sigaction a = {.sa_handler = ignore};
            struct epoll_event e = {.events = EPOLLIN};
            int set = epoll_create1(0);
            int other = 1 == i % 2 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : fd;
            sigaction(SIGUSR1, &a, NULL);
            CHECK(0 == epoll_ctl(set, EPOLL_CTL_ADD, other, &e));
            for (;;) {
                uint64_t n = 0;
                if (1 == i % 2 && 1 != epoll_wait(set, &e, 1, -1)) {
                    continue;
                }
                if (8 != read(other, &n, 8)) {
                    CHECK(EINTR == errno);
                    continue;
                }
                __atomic_fetch_add(&got[i], n, __ATOMIC_RELAXED);
            }
        }
    }
    for (int i = readers; i < readers + wakers; ++i) {
        pid[i] = fork();
        if (0 == pid[i]) {
            int waker = a_waker(job);
            for (int k = 0; k < wakes; ++k) {
                CHECK(8 == wake_one(waker, 0, 1));
                if (0 == k % 8) {
                    usleep(50);
                }
            }
            _exit(0);
        }
    }
    uint64_t random = 88172645463325252ULL;
    for (int k = 0; k < 2000; ++k) {
        kill(pid[next_random(&random) % readers], SIGUSR1);
        usleep(100);
    }
    for (int i = readers; i < readers + wakers; ++i) {
        child_ends_well(pid[i]);
    }
    for (;;) {
        uint64_t all = 0;
        for (int i = 0; i < readers; ++i) {
            all += __atomic_load_n(&got[i], __ATOMIC_RELAXED);
        }
        CHECK(all <= wakers * wakes);
        if (wakers * wakes == all) {
            break;
        }
        usleep(1000); // a lost one: until the case is ended as one that hangs
    }
    for (int i = 0; i < readers; ++i) {
        kill(pid[i], SIGKILL);
        waitpid(pid[i], NULL, 0);
    }
}

// Ranks come and go while others wake them by number.
static void ranks_come_and_go_under_their_wakers(void) {
    enum { changes = 3000 };
    pid_t pid[2];
    for (int i = 0; i < 2; ++i) {
        pid[i] = fork();
        if (0 == pid[i]) {
            struct smartint_wake w[8];
            int waker = a_waker(job);
            for (;;) {
                for (unsigned k = 0; k < 8; ++k) {
                    w[k] = (struct smartint_wake){(k + i) % 4, 1};
                }
                ssize_t n = write(waker, w, sizeof(w));
                CHECK((n > 0 && 0 == n % 8) || ESRCH == errno);
            }
        }
    }
    int fd[4] = {-1, -1, -1, -1};
    uint64_t random = 362436069;
    for (int i = 0; i < changes; ++i) {
        unsigned k = next_random(&random) % 4;
        if (fd[k] >= 0) {
            if (readable(fd[k])) {
                CHECK(take(fd[k]) > 0);
            }
            close(fd[k]);
            fd[k] = -1;
        } else {
            fd[k] = a_rank(job, k);
        }
    }
    for (int i = 0; i < 2; ++i) {
        kill(pid[i], SIGKILL);
        waitpid(pid[i], NULL, 0);
    }
}

// One process after the other has the number and is killed; somebody holds the files of some, and lets go of them at
// any time.
static void dead_ones_are_replaced_under_their_wakers(void) {
    enum { changes = 300, holds = 4 };
    pid_t waking[2];
    volatile int *there = shared_page();
    for (int i = 0; i < 2; ++i) {
        waking[i] = fork();
        if (0 == waking[i]) {
            int waker = a_waker(job);
            for (;;) {
                CHECK(8 == wake_one(waker, 0, 1) || ESRCH == errno);
            }
        }
    }
    int held[holds] = {-1, -1, -1, -1};
    uint64_t random = 521288629;
    for (int i = 0; i < changes; ++i) {
        *there = 0;
        pid_t pid = fork();
        if (0 == pid) {
            int fd = a_rank(job, 0);
            CHECK(take(fd) > 0);
            *there = fd;
            for (;;) {
                take(fd);
            }
        }
        while (0 == *there) {
            siginfo_t ended = {.si_pid = 0};
            waitid(P_PID, pid, &ended, WEXITED | WNOHANG | WNOWAIT);
            CHECK(0 == ended.si_pid, "it ended instead");
            usleep(100);
        }
        unsigned k = next_random(&random) % holds;
        int fd = copy_of(pid, *there);
        CHECK(0 == kill(pid, SIGKILL) && pid == waitpid(pid, NULL, 0));
        close(held[k]);
        held[k] = fd;
    }
    for (int i = 0; i < 2; ++i) {
        kill(waking[i], SIGKILL);
        waitpid(waking[i], NULL, 0);
    }
}

// Many wait for each other to open and register, and signals come whose handlers do not ask for a restart.
static void signals_fail_neither_opening_nor_registration(void) {
    enum { openers = 8, rounds = 2000 };
    pid_t pid[openers];
    volatile uint32_t *ended = shared_page();
    uint64_t random = 88675123;
    struct sigaction a = {.sa_handler = ignore};
    sigaction(SIGUSR1, &a, NULL); // the children's too
    for (int i = 0; i < openers; ++i) {
        pid[i] = fork();
        if (0 == pid[i]) {
            for (int k = 0; k < rounds; ++k) {
                close(a_rank(job + i, 0));
            }
            __atomic_fetch_add(ended, 1, __ATOMIC_RELAXED);
            for (;;) {
                pause(); // until it is killed: its number stays its own
            }
        }
    }
    while (openers != *ended) {
        unsigned k = next_random(&random) % openers;
        siginfo_t failed = {.si_pid = 0};
        kill(pid[k], SIGUSR1);
        waitid(P_PID, pid[k], &failed, WEXITED | WNOHANG | WNOWAIT);
        CHECK(0 == failed.si_pid, "it ended instead");
    }
    for (int i = 0; i < openers; ++i) {
        kill(pid[i], SIGKILL);
        waitpid(pid[i], NULL, 0);
    }
}

// ---- nonsense --------------------------------------------------------------------------------------

enum { files = 12, fuzz_threads = 4, fuzz_steps = 8000 };
static int fuzzed[files];
static char *arena; // two pages, the second one can't be touched

static void *somewhere(uint64_t *random) {
    switch (next_random(random) % 5) {
    case 0:
        return NULL;
    case 1:
        return (void *) (uintptr_t) next_random(random);
    case 2:
        return (void *) (uintptr_t) (0xffff800000000000ULL | next_random(random));
    case 3:
        return arena + 4096 - next_random(random) % 64; // over the edge
    default:
        return arena + next_random(random) % 2048;
    }
}

static size_t some_bytes(uint64_t *random) {
    static const size_t sizes[] = {0, 1, 7, 8, 9, 16, 32, 256, 264, 4096, 1 << 20, (size_t) -1, (size_t) -8};
    return sizes[next_random(random) % (sizeof(sizes) / sizeof(sizes[0]))];
}

// Right but for one field, now and then; else the ranks would never meet.
static void some_registration(int fd, uint64_t *random) {
    static const uint32_t odd[] = {0, 1, 2, 3, 64, SMARTINT_MAX_RANKS, 0x7fffffff, 0xffffffff};
    struct smartint_registration r = {
        SMARTINT_UAPI_VERSION, 1 + next_random(random) % 2, job, next_random(random) % 8, {SECRET, ~SECRET}};
    uint32_t *word = (uint32_t *) &r;
    if (0 == next_random(random) % 3) {
        word[next_random(random) % 8] = odd[next_random(random) % 8];
    }
    ioctl(fd, SMARTINT_IOC_REGISTER, &r);
}

static void *fuzz(void *argument) {
    uint64_t random = 0x9e3779b97f4a7c15ULL * (1 + (uintptr_t) argument);
    for (int i = 0; i < fuzz_steps; ++i) {
        unsigned which = next_random(&random) % files;
        int fd = __atomic_load_n(&fuzzed[which], __ATOMIC_RELAXED);
        struct pollfd p = {fd, (short) next_random(&random), 0};
        struct smartint_wake w = {(uint32_t) next_random(&random) % 10, (uint32_t) next_random(&random)};
        switch (next_random(&random) % 12) {
        case 0:
            (void) !read(fd, somewhere(&random), some_bytes(&random));
            break;
        case 1:
            (void) !write(fd, somewhere(&random), some_bytes(&random));
            break;
        case 2:
            ioctl(fd, SMARTINT_IOC_REGISTER, somewhere(&random));
            break;
        case 3:
            ioctl(fd, (unsigned) next_random(&random), somewhere(&random));
            break;
        case 4:
            ioctl(fd, SMARTINT_IOC_VERSION, somewhere(&random));
            break;
        case 5:
            poll(&p, 1, 0);
            break;
        case 6:
            (void) !write(fd, &w, sizeof(w));
            break;
        case 7:
            some_registration(fd, &random);
            break;
        case 8:
            some_registration(fd, &random);
            break;
        case 9:
            lseek(fd, (off_t) next_random(&random), SEEK_SET);
            break;
        case 10:
            arena[next_random(&random) % 4096] = (char) next_random(&random);
            break;
        default: { // its number may be a file of another thread's by then: all are the device's
            int fresh = open(SMARTINT_DEVICE, O_RDWR | O_NONBLOCK | O_CLOEXEC);
            if (fresh >= 0) {
                close(__atomic_exchange_n(&fuzzed[which], fresh, __ATOMIC_RELAXED));
            }
        }
        }
    }
    return NULL;
}

static void nonsense_is_refused(void) {
    pthread_t thread[fuzz_threads];
    arena = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(MAP_FAILED != arena && 0 == mprotect(arena + 4096, 4096, PROT_NONE));
    for (int i = 0; i < files; ++i) {
        fuzzed[i] = open(SMARTINT_DEVICE, O_RDWR | O_NONBLOCK | O_CLOEXEC);
        CHECK(fuzzed[i] >= 0);
    }
    for (uintptr_t i = 0; i < fuzz_threads; ++i) {
        CHECK(0 == pthread_create(&thread[i], NULL, fuzz, (void *) i));
    }
    for (int i = 0; i < fuzz_threads; ++i) {
        CHECK(0 == pthread_join(thread[i], NULL));
    }
    int fd = a_rank(job + 1, 0);
    CHECK(8 == wake_one(a_waker(job + 1), 0, 3) && 3 == take(fd));
}

int main(int argc, char **argv) {
#define CASE(f)                                                                                                        \
    { #f, f }
    static const struct module_case cases[] = {
        CASE(two_processes_wake_each_other),
        CASE(many_sleepers_are_woken_by_batches),
        CASE(readers_of_one_file_share_what_is_written),
        CASE(ranks_come_and_go_under_their_wakers),
        CASE(dead_ones_are_replaced_under_their_wakers),
        CASE(signals_fail_neither_opening_nor_registration),
        CASE(nonsense_is_refused),
    };
    return run_cases(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
