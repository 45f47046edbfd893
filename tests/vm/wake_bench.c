// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// What a wake-up costs by eventfd, futex and /dev/smartint, on the machine it runs on. The ways take
// turns round by round, so what disturbs the machine disturbs all of them. Prints medians and their
// ratio to the eventfd's:
//
//   write      the waker's call, nobody asleep
//   one way    from before the call to the sleeper awake, each on a processor of its own
//   same core  the same, both on one processor
//   epoll      as one way, the sleeper in epoll_wait, as an interrupt thread is (a futex can't)
//   batch      16 ranks asleep in epoll_wait on the other processor: from before the first call to the
//              last one awake, and what the calls take
//   first      the first wake of another process: what is needed to be able to (copying its eventfd; opening
//              and registering once for all ranks), and the call
//
//   wake_bench [ROUNDS]
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "smartint/smartint.h"

enum way { by_eventfd, by_futex, by_module, ways };
enum place { in_read, in_epoll };
enum { batch = 16, per_turn = 20, max_rounds = 20000 };

static const char *const way_name[ways] = {"eventfd", "futex", "module"};

// What waker and sleepers share.
struct shared {
    uint32_t word[batch][16]; // futexes, a line each
    uint64_t woken_at[batch][8];
    uint32_t awake;  // how many have been woken in this turn
    uint32_t asleep; // how many are about to sleep
    uint32_t end;
};
static struct shared *sh;

static void die(const char *what) {
    perror(what);
    exit(1);
}

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t) t.tv_sec * 1000000000 + t.tv_nsec;
}

static void pin(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (0 != sched_setaffinity(0, sizeof(set), &set)) {
        die("sched_setaffinity");
    }
}

static int enlist(uint32_t role, uint32_t rank) {
    struct smartint_registration r = {SMARTINT_UAPI_VERSION, role, 1, rank, {1, 2}};
    int fd = open(SMARTINT_DEVICE, O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        return -1;
    }
    if (0 != ioctl(fd, SMARTINT_IOC_REGISTER, &r)) {
        die("register");
    }
    return fd;
}

static int fds[ways][batch]; // what the sleepers sleep on
static int waker = -1;

static void wake(enum way w, int i) {
    uint64_t one = 1;
    struct smartint_wake rank = {(uint32_t) i, 1};
    switch (w) {
    case by_eventfd:
        if (8 != write(fds[w][i], &one, 8)) {
            die("eventfd");
        }
        break;
    case by_futex:
        __atomic_fetch_add(&sh->word[i][0], 1, __ATOMIC_SEQ_CST);
        syscall(SYS_futex, &sh->word[i][0], FUTEX_WAKE, 1, NULL, NULL, 0);
        break;
    default:
        if (8 != write(waker, &rank, 8)) {
            die("module");
        }
    }
}

static void wake_all(enum way w) {
    if (by_module == w) {
        struct smartint_wake ranks[batch];
        for (int i = 0; i < batch; ++i) {
            ranks[i] = (struct smartint_wake){(uint32_t) i, 1};
        }
        if (sizeof(ranks) != write(waker, ranks, sizeof(ranks))) {
            die("module");
        }
        return;
    }
    for (int i = 0; i < batch; ++i) {
        wake(w, i);
    }
}

static void sleep_once(enum way w, int i, int set, uint32_t *seen) {
    uint64_t n = 0;
    struct epoll_event e;
    if (by_futex == w) {
        while (*seen == __atomic_load_n(&sh->word[i][0], __ATOMIC_ACQUIRE)) {
            syscall(SYS_futex, &sh->word[i][0], FUTEX_WAIT, *seen, NULL, NULL, 0);
        }
        ++*seen;
        return;
    }
    if (set >= 0 && 1 != epoll_wait(set, &e, 1, -1)) {
        die("epoll_wait");
    }
    if (8 != read(fds[w][i], &n, 8)) {
        die("read");
    }
}

static void sleeper(enum way w, enum place p, int i, int cpu) {
    int set = -1;
    uint32_t seen = __atomic_load_n(&sh->word[i][0], __ATOMIC_ACQUIRE);
    pin(cpu);
    if (in_epoll == p && by_futex != w) {
        struct epoll_event e = {.events = EPOLLIN};
        set = epoll_create1(0);
        if (set < 0 || 0 != epoll_ctl(set, EPOLL_CTL_ADD, fds[w][i], &e)) {
            die("epoll");
        }
    }
    for (;;) {
        __atomic_fetch_add(&sh->asleep, 1, __ATOMIC_SEQ_CST);
        sleep_once(w, i, set, &seen);
        sh->woken_at[i][0] = now();
        if (0 != __atomic_load_n(&sh->end, __ATOMIC_ACQUIRE)) {
            _exit(0);
        }
        __atomic_fetch_add(&sh->awake, 1, __ATOMIC_SEQ_CST);
    }
}

static double sample[ways][max_rounds], calls[ways][max_rounds];

static int compare(const void *a, const void *b) {
    double x = *(const double *) a, y = *(const double *) b;
    return (x > y) - (x < y);
}

static double median(double *v, int n) {
    qsort(v, n, sizeof(*v), compare);
    return v[n / 2];
}

static void nap(long us) {
    struct timespec t = {0, us * 1000};
    nanosleep(&t, NULL);
}

// A few wakes of count sleepers by one way; those of the other ways are not there meanwhile.
static void turn(enum way w, enum place p, int count, int cpu, int at) {
    pid_t pid[batch];
    sh->awake = sh->asleep = sh->end = 0;
    for (int i = 0; i < count; ++i) {
        pid[i] = fork();
        if (0 == pid[i]) {
            sleeper(w, p, i, cpu);
        }
    }
    for (int k = 0; k < per_turn; ++k) {
        while ((uint32_t) (count * (k + 1)) != __atomic_load_n(&sh->asleep, __ATOMIC_ACQUIRE)) {
            nap(50);
        }
        nap(300); // they are asleep by now, or as good as
        uint64_t begin = now();
        if (1 == count) {
            wake(w, 0);
        } else {
            wake_all(w);
        }
        uint64_t called = now(), last = 0;
        while ((uint32_t) (count * (k + 1)) != __atomic_load_n(&sh->awake, __ATOMIC_ACQUIRE)) {
            nap(50);
        }
        for (int i = 0; i < count; ++i) {
            last = sh->woken_at[i][0] > last ? sh->woken_at[i][0] : last;
        }
        sample[w][at + k] = (double) (last - begin) / 1000;
        calls[w][at + k] = (double) (called - begin) / 1000;
    }
    while ((uint32_t) (count * (per_turn + 1)) != __atomic_load_n(&sh->asleep, __ATOMIC_ACQUIRE)) {
        nap(50);
    }
    __atomic_store_n(&sh->end, 1, __ATOMIC_SEQ_CST);
    for (int i = 0; i < count; ++i) {
        wake(w, i);
    }
    for (int i = 0; i < count; ++i) {
        waitpid(pid[i], NULL, 0);
    }
}

static void print(const char *what, double v[ways][max_rounds], int n) {
    double m[ways];
    printf("%-22s", what);
    for (int w = 0; w < ways; ++w) {
        m[w] = median(v[w], n);
        printf("  %s %8.2f us", way_name[w], m[w]);
    }
    printf("  module/eventfd %.2f\n", m[by_module] / m[by_eventfd]);
    fflush(stdout);
}

static void asleep(const char *what, enum place p, int count, int cpu, int rounds) {
    int n = 0;
    for (; n + per_turn <= rounds; n += per_turn) {
        for (int w = 0; w < ways; ++w) {
            turn(w, p, count, cpu, n);
        }
    }
    char name[64];
    print(what, sample, n);
    snprintf(name, sizeof(name), "  of it the calls");
    print(name, calls, n);
}

static void nobody_asleep(int rounds) {
    uint64_t n;
    for (int i = 0; i < rounds; ++i) {
        for (int w = 0; w < ways; ++w) {
            uint64_t begin = now();
            for (int k = 0; k < 10; ++k) {
                wake(w, 0);
            }
            sample[w][i] = (double) (now() - begin) / 10000;
            if (by_futex != w && 8 != read(fds[w][0], &n, 8)) {
                die("read");
            }
        }
    }
    print("write", sample, rounds);
}

// From knowing a rank's process and descriptor number to having woken it.
static void first_wake(int rounds) {
    int to_child[2], from_child[2], number = -1;
    char c;
    if (0 != pipe(to_child) || 0 != pipe(from_child)) {
        die("pipe");
    }
    pid_t pid = fork();
    if (0 == pid) {
        int fd = eventfd(0, 0);
        close(to_child[1]); // else its end is never seen
        if (sizeof(fd) != write(from_child[1], &fd, sizeof(fd))) {
            _exit(1);
        }
        _exit((int) read(to_child[0], &c, 1));
    }
    if (sizeof(number) != read(from_child[0], &number, sizeof(number))) {
        die("read");
    }
    for (int i = 0; i < rounds; ++i) {
        uint64_t begin = now();
        int pidfd = (int) syscall(SYS_pidfd_open, pid, 0);
        char path[64], text[1024];
        snprintf(path, sizeof(path), "/proc/%d/stat", pid);
        int stat = open(path, O_RDONLY | O_CLOEXEC); // is it still that process?
        if (stat < 0 || read(stat, text, sizeof(text)) < 0) {
            die(path);
        }
        close(stat);
        int fd = (int) syscall(SYS_pidfd_getfd, pidfd, number, 0);
        close(pidfd);
        uint64_t one = 1;
        if (8 != write(fd, &one, 8)) {
            die("copied eventfd");
        }
        sample[by_eventfd][i] = (double) (now() - begin) / 1000;
        close(fd);
        sample[by_futex][i] = 0;

        begin = now();
        struct smartint_wake w = {0, 1};
        int own = enlist(SMARTINT_ROLE_WAKER, 0);
        if (8 != write(own, &w, 8)) {
            die("module");
        }
        sample[by_module][i] = (double) (now() - begin) / 1000;
        close(own);
    }
    close(to_child[1]);
    waitpid(pid, NULL, 0);
    print("first", sample, rounds);
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 400;
    if (rounds < per_turn || rounds > max_rounds) {
        fprintf(stderr, "wake_bench: %d to %d rounds\n", per_turn, max_rounds);
        return 2;
    }
    sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (MAP_FAILED == sh) {
        die("mmap");
    }
    waker = enlist(SMARTINT_ROLE_WAKER, 0);
    if (waker < 0) {
        die(SMARTINT_DEVICE);
    }
    for (int i = 0; i < batch; ++i) {
        fds[by_eventfd][i] = eventfd(0, 0);
        fds[by_module][i] = enlist(SMARTINT_ROLE_RANK, (uint32_t) i);
        fds[by_futex][i] = -1;
    }
    int other = sysconf(_SC_NPROCESSORS_ONLN) > 1 ? 1 : 0;
    pin(0);
    nobody_asleep(rounds);
    asleep("one way", in_read, 1, other, rounds);
    asleep("same core", in_read, 1, 0, rounds);
    asleep("epoll", in_epoll, 1, other, rounds);
    asleep("epoll, same core", in_epoll, 1, 0, rounds);
    asleep("batch of 16", in_epoll, batch, other, rounds);
    asleep("batch, same core", in_epoll, batch, 0, rounds);
    first_wake(rounds);
    return 0;
}
