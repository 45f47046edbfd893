// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
// Description: a library to be loaded before others (LD_PRELOAD): system calls that wakes, hints, copies and the
// network are made of are held up at random, before or after they are done.
// SMARTINT_TEST_DELAY says whose, how often, how long and by which seed: WHO:PERCENT:MICROSECONDS:SEED
//   helper       all threads of smartintd
//   thread       the interrupt threads of the ranks
//   application  all other threads of the ranks
//   all          everybody
// Another string ends whoever loads us. SMARTINT_TEST_DELAYS_MADE names a file that has their number at any time, in
// eight bytes: a process that is killed has counted as well.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { HELPER = 1, THREAD = 2, APPLICATION = 4 };

static int who;
static unsigned percent, longest_us;
static uint64_t seed;
static int is_helper, is_rank;
static _Atomic unsigned threads;
static _Atomic uint64_t *made, nowhere;

static void refuse(const char *why) {
    fprintf(stderr, "preload_delays: %s\n", why);
    _exit(2);
}

static void count_in(const char *file) {
    made = &nowhere;
    if (NULL == file) {
        return;
    }
    const int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || 0 != ftruncate(fd, sizeof(*made)) ||
        MAP_FAILED == (made = mmap(NULL, sizeof(*made), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0))) {
        refuse("the file of SMARTINT_TEST_DELAYS_MADE cannot be mapped");
    }
    close(fd);
}

__attribute__((constructor)) static void begin(void) {
    char name[16] = "";
    const char *asked = getenv("SMARTINT_TEST_DELAY");
    unsigned long long number = 0;
    int end = 0;
    if (NULL == asked || 4 != sscanf(asked, "%15[a-z]:%u:%u:%llu%n", name, &percent, &longest_us, &number, &end) ||
        '\0' != asked[end] || 0 == percent || 0 == longest_us) {
        refuse("SMARTINT_TEST_DELAY is not WHO:PERCENT:MICROSECONDS:SEED");
    }
    who = 0 == strcmp(name, "helper")        ? HELPER
          : 0 == strcmp(name, "thread")      ? THREAD
          : 0 == strcmp(name, "application") ? APPLICATION
          : 0 == strcmp(name, "all")         ? HELPER | THREAD | APPLICATION
                                             : 0;
    if (0 == who) {
        refuse("SMARTINT_TEST_DELAY names nobody that is known");
    }
    count_in(getenv("SMARTINT_TEST_DELAYS_MADE"));
    const char *rank = getenv("OMPI_COMM_WORLD_RANK"); // the helper has its starter's
    is_helper = 0 == strcmp(program_invocation_short_name, "smartintd");
    is_rank = NULL != rank && !is_helper;
    seed = number * 4096 + (NULL == rank ? 0 : (uint64_t) atoi(rank)) * 2 + (uint64_t) is_helper;
}

static uint64_t mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static int delayed(void) {
    static __thread int kind; // of this thread; an interrupt thread has its name before it calls anything else
    if (0 == kind) {
        char name[16] = "";
        prctl(PR_GET_NAME, name);
        kind = is_helper ? HELPER : !is_rank ? 8 : 0 == strcmp(name, "smartint") ? THREAD : APPLICATION;
    }
    return 0 != (kind & who);
}

static void hold_up(void) {
    static __thread uint64_t state;
    if (0 == who || !delayed()) {
        return;
    }
    if (0 == state) {
        state = mix(seed ^ ((uint64_t) atomic_fetch_add(&threads, 1) << 48)) | 1;
    }
    state = mix(state) | 1;
    if ((state >> 8) % 100 < percent) {
        const int error = errno;
        const uint64_t ns = (state >> 16) % longest_us * 1000;
        struct timespec t = {(time_t) (ns / 1000000000), (long) (ns % 1000000000)};
        nanosleep(&t, NULL);
        atomic_fetch_add(made, 1);
        errno = error;
    }
}

// The call by its real name, with some time before and after it.
#define DELAYED(type, name, parameters, arguments)                                                                     \
    type name parameters {                                                                                             \
        static type(*real) parameters;                                                                                 \
        if (NULL == real) {                                                                                            \
            *(void **) &real = dlsym(RTLD_NEXT, #name);                                                                \
        }                                                                                                              \
        hold_up();                                                                                                     \
        const type result = real arguments;                                                                            \
        hold_up();                                                                                                     \
        return result;                                                                                                 \
    }

DELAYED(ssize_t, write, (int fd, const void *from, size_t n), (fd, from, n))
DELAYED(ssize_t, read, (int fd, void *to, size_t n), (fd, to, n))
DELAYED(int, epoll_wait, (int fd, struct epoll_event *events, int n, int limit), (fd, events, n, limit))
DELAYED(ssize_t, send, (int fd, const void *from, size_t n, int flags), (fd, from, n, flags))
DELAYED(ssize_t, recv, (int fd, void *to, size_t n, int flags), (fd, to, n, flags))
DELAYED(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags), (fd, message, flags))
DELAYED(ssize_t, recvmsg, (int fd, struct msghdr *message, int flags), (fd, message, flags))
DELAYED(ssize_t, writev, (int fd, const struct iovec *from, int n), (fd, from, n))
DELAYED(ssize_t, process_vm_readv,
        (pid_t pid, const struct iovec *here, unsigned long n, const struct iovec *there, unsigned long m,
         unsigned long flags),
        (pid, here, n, there, m, flags))
DELAYED(ssize_t, process_vm_writev,
        (pid_t pid, const struct iovec *here, unsigned long n, const struct iovec *there, unsigned long m,
         unsigned long flags),
        (pid, here, n, there, m, flags))

// Fences across processors, futexes of the gate, descriptors of other processes.
long syscall(long number, ...) {
    static long (*real)(long, ...);
    long a[6];
    va_list ap;
    va_start(ap, number);
    for (int i = 0; i < 6; ++i) {
        a[i] = va_arg(ap, long);
    }
    va_end(ap);
    if (NULL == real) {
        *(void **) &real = dlsym(RTLD_NEXT, "syscall");
    }
    const int ours = SYS_membarrier == number || SYS_futex == number || SYS_pidfd_getfd == number;
    if (ours) {
        hold_up();
    }
    const long result = real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (ours) {
        hold_up();
    }
    return result;
}
