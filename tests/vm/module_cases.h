// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// What the tests of /dev/smartint share. Each case runs in a process of its own, which is ended
// after CASE_SECONDS: a wake-up that is lost is a case that does not end.
#ifndef MODULE_CASES_H
#define MODULE_CASES_H

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "smartint/smartint.h"

#define CASE_SECONDS 120
#define SECRET 0x5ec0ffee5ec0ffeeULL

#define CHECK(condition, ...)                                                                                          \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            printf("# %s:%d: %s, errno %d", __FILE__, __LINE__, #condition, errno);                                    \
            printf(" " __VA_ARGS__);                                                                                   \
            printf("\n");                                                                                              \
            fflush(stdout);                                                                                            \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)

// A call must fail with this errno.
#define FAILS(error, call) CHECK(-1 == (call) && (error) == errno)

static inline int device(void) {
    int fd = open(SMARTINT_DEVICE, O_RDWR | O_CLOEXEC);
    CHECK(fd >= 0);
    return fd;
}

static inline int enlist(int fd, uint32_t role, uint32_t job, uint32_t rank, uint64_t secret) {
    struct smartint_registration r = {SMARTINT_UAPI_VERSION, role, job, rank, {secret, ~secret}};
    return ioctl(fd, SMARTINT_IOC_REGISTER, &r);
}

static inline int a_rank(uint32_t job, uint32_t rank) {
    int fd = device();
    CHECK(0 == enlist(fd, SMARTINT_ROLE_RANK, job, rank, SECRET));
    return fd;
}

static inline int a_waker(uint32_t job) {
    int fd = device();
    CHECK(0 == enlist(fd, SMARTINT_ROLE_WAKER, job, 0, SECRET));
    return fd;
}

static inline ssize_t wake_one(int fd, uint32_t rank, uint32_t count) {
    struct smartint_wake w = {rank, count};
    return write(fd, &w, sizeof(w));
}

static inline uint64_t take(int fd) // sleeps
{
    uint64_t n = 0;
    CHECK((ssize_t) sizeof(n) == read(fd, &n, sizeof(n)));
    return n;
}

static inline int readable(int fd) {
    struct pollfd p = {fd, POLLIN, 0};
    CHECK(poll(&p, 1, 0) >= 0);
    return 0 != (p.revents & POLLIN);
}

// Until the process sleeps in the kernel: its state is S and its call a read of the device.
static inline void until_asleep(pid_t pid) {
    char path[64];
    char text[256];
    for (;;) {
        siginfo_t ended = {.si_pid = 0};
        waitid(P_PID, pid, &ended, WEXITED | WNOHANG | WNOWAIT);
        CHECK(0 == ended.si_pid, "it ended instead");
        snprintf(path, sizeof(path), "/proc/%d/wchan", pid);
        FILE *f = fopen(path, "r");
        CHECK(NULL != f);
        size_t n = fread(text, 1, sizeof(text) - 1, f);
        fclose(f);
        text[n] = 0;
        if (NULL != strstr(text, "si_read") || NULL != strstr(text, "do_wait_intr")) {
            return;
        }
        usleep(1000);
    }
}

static inline void child_ends_well(pid_t pid) {
    int status = 0;
    CHECK(pid == waitpid(pid, &status, 0));
    CHECK(WIFEXITED(status) && 0 == WEXITSTATUS(status), "child ended with status %x", status);
}

// A copy of another process's descriptor, as who rings it has.
static inline int copy_of(pid_t pid, int their_fd) {
    int pidfd = (int) syscall(SYS_pidfd_open, pid, 0);
    CHECK(pidfd >= 0);
    int fd = (int) syscall(SYS_pidfd_getfd, pidfd, their_fd, 0);
    CHECK(fd >= 0);
    close(pidfd);
    return fd;
}

// A page that parent and children share.
static inline void *shared_page(void) {
    void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(MAP_FAILED != p);
    return p;
}

struct module_case {
    const char *name;
    void (*run)(void);
};

// Runs those cases whose names contain the first argument, prints a line for each.
static inline int run_cases(int argc, char **argv, const struct module_case *cases, int n) {
    int failed = 0;
    for (int i = 0; i < n; ++i) {
        if (argc > 1 && NULL == strstr(cases[i].name, argv[1])) {
            continue;
        }
        fflush(stdout);
        pid_t pid = fork();
        if (0 == pid) {
            setpgid(0, 0);
            alarm(CASE_SECONDS);
            cases[i].run();
            _exit(0);
        }
        int status = 0;
        waitpid(pid, &status, 0);
        kill(-pid, SIGKILL); // what it left: its group is its own
        if (0 == status) {
            printf("PASS %s\n", cases[i].name);
        } else {
            printf("FAIL %s%s\n", cases[i].name,
                   WIFSIGNALED(status) && SIGALRM == WTERMSIG(status) ? " (it hangs)" : "");
            ++failed;
        }
    }
    return 0 != failed;
}

#endif
