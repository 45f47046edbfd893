// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// /dev/smartint: what registering, sleeping and waking do, and what is refused.
#include "module_cases.h"

#include <pthread.h>
#include <stddef.h>
#include <sys/epoll.h>

static_assert(8 == sizeof(struct smartint_version), "sizes are part of the interface");
static_assert(32 == sizeof(struct smartint_registration), "sizes are part of the interface");
static_assert(16 == offsetof(struct smartint_registration, secret), "so are offsets");
static_assert(8 == sizeof(struct smartint_wake), "sizes are part of the interface");

enum { job = 77, other_user = 65534 };

static void the_version_is_told(void) {
    struct smartint_version v = {0, 0};
    int fd = device();
    CHECK(0 == ioctl(fd, SMARTINT_IOC_VERSION, &v));
    CHECK(SMARTINT_UAPI_VERSION == v.version && SMARTINT_MAX_RANKS == v.max_ranks);
    FAILS(EFAULT, ioctl(fd, SMARTINT_IOC_VERSION, NULL));
    FAILS(ENOTTY, ioctl(fd, _IO(SMARTINT_IOC_MAGIC, 99), 0));
}

static void registration_is_checked(void) {
    uint64_t n = 1;
    struct smartint_registration r = {SMARTINT_UAPI_VERSION + 1, SMARTINT_ROLE_RANK, job, 0, {0, 0}};
    int fd = device();
    FAILS(ENOTCONN, read(fd, &n, sizeof(n)));
    FAILS(ENOTCONN, write(fd, &n, sizeof(n)));
    FAILS(EPROTONOSUPPORT, ioctl(fd, SMARTINT_IOC_REGISTER, &r));
    FAILS(EFAULT, ioctl(fd, SMARTINT_IOC_REGISTER, NULL));
    FAILS(EINVAL, enlist(fd, 0, job, 0, SECRET));
    FAILS(EINVAL, enlist(fd, 3, job, 0, SECRET));
    FAILS(EINVAL, enlist(fd, SMARTINT_ROLE_RANK, job, SMARTINT_MAX_RANKS, SECRET));
    FAILS(EINVAL, enlist(fd, SMARTINT_ROLE_WAKER, job, 1, SECRET));
    CHECK(0 == enlist(fd, SMARTINT_ROLE_RANK, job, SMARTINT_MAX_RANKS - 1, SECRET));
    FAILS(EBUSY, enlist(fd, SMARTINT_ROLE_RANK, job, 5, SECRET));
    int second = device();
    FAILS(EEXIST, enlist(second, SMARTINT_ROLE_RANK, job, SMARTINT_MAX_RANKS - 1, SECRET));
    CHECK(0 == enlist(second, SMARTINT_ROLE_RANK, job, 5, SECRET)); // the failure left nothing
    close(fd);
    fd = device();
    CHECK(0 == enlist(fd, SMARTINT_ROLE_RANK, job, SMARTINT_MAX_RANKS - 1, SECRET));
}

static void a_rank_is_used_as_an_eventfd(void) {
    int fd = a_rank(job, 0);
    uint64_t two[2] = {3, 3}, n = 3;
    char small[7];
    CHECK(!readable(fd));
    CHECK(8 == write(fd, &n, 8) && 8 == write(fd, &n, 8) && readable(fd));
    FAILS(EINVAL, read(fd, small, sizeof(small)));
    CHECK(6 == take(fd) && !readable(fd));
    FAILS(EINVAL, write(fd, &n, 7));
    FAILS(EINVAL, write(fd, two, sizeof(two)));
    n = ~0ULL;
    FAILS(EINVAL, write(fd, &n, 8));
    n = ~0ULL - 1;
    CHECK(8 == write(fd, &n, 8) && 8 == write(fd, &n, 8)); // full: it stays there, nobody waits
    CHECK(~0ULL - 1 == take(fd));
    CHECK(0 == fcntl(fd, F_SETFL, O_NONBLOCK));
    FAILS(EAGAIN, read(fd, &n, 8));
}

static void a_wake_before_the_wait_is_kept(void) {
    int fd = a_rank(job, 4);
    int waker = a_waker(job);
    CHECK(8 == wake_one(waker, 4, 1));
    CHECK(1 == take(fd));
    CHECK(8 == wake_one(waker, 4, 2) && 8 == wake_one(waker, 4, 3));
    CHECK(5 == take(fd) && !readable(fd));
}

static void a_batch_wakes_many_and_stops_at_who_is_missing(void) {
    enum { ranks = 200 };
    struct smartint_wake w[ranks];
    int fd[ranks];
    int waker = a_waker(job);
    for (int i = 0; i < ranks; ++i) {
        fd[i] = a_rank(job, i);
        w[i] = (struct smartint_wake){i, i + 1};
    }
    CHECK(sizeof(w) == (size_t) write(waker, w, sizeof(w)));
    for (int i = 0; i < ranks; ++i) {
        CHECK((uint64_t) i + 1 == take(fd[i]));
    }
    close(fd[100]);
    CHECK(100 * sizeof(w[0]) == (size_t) write(waker, w, sizeof(w)));
    FAILS(ESRCH, write(waker, w + 100, sizeof(w[0])));
    FAILS(ESRCH, wake_one(waker, ~0U, 1));
    for (int i = 0; i < ranks; ++i) {
        CHECK(100 == i || (i < 100) == readable(fd[i]));
    }
    CHECK(8 == wake_one(waker, 5, 0) && 6 == take(fd[5])); // 0 only looks
    FAILS(EINVAL, write(waker, w, 0));
    FAILS(EINVAL, write(waker, w, 12));
    FAILS(EINVAL, read(waker, w, 8));
}

static void another_secret_or_number_is_another_job(void) {
    int fd = a_rank(job, 0);
    int stranger = device();
    CHECK(0 == enlist(stranger, SMARTINT_ROLE_WAKER, job, 0, SECRET + 1));
    FAILS(ESRCH, wake_one(stranger, 0, 1));
    int next = a_waker(job + 1);
    FAILS(ESRCH, wake_one(next, 0, 1));
    int twin = device();
    CHECK(0 == enlist(twin, SMARTINT_ROLE_RANK, job, 0, SECRET + 1)); // a rank 0 of its own
    CHECK(8 == wake_one(stranger, 0, 1) && readable(twin) && !readable(fd));
}

static void another_user_can_do_nothing(void) {
    int fd = a_rank(job, 0);
    int waker = a_waker(job);
    int fresh = device();
    pid_t pid = fork();
    if (0 == pid) {
        uint64_t n = 1;
        struct pollfd p = {fd, POLLIN | POLLOUT, 0};
        CHECK(0 == setgid(other_user) && 0 == setuid(other_user));
        FAILS(EPERM, read(fd, &n, sizeof(n)));
        FAILS(EPERM, write(fd, &n, sizeof(n)));
        FAILS(EPERM, wake_one(waker, 0, 1));
        FAILS(EPERM, enlist(fresh, SMARTINT_ROLE_RANK, job, 1, SECRET));
        CHECK(1 == poll(&p, 1, 0) && POLLERR == p.revents);
        int own = a_waker(job); // same number and secret, and yet another job
        FAILS(ESRCH, wake_one(own, 0, 1));
        int same_rank = a_rank(job, 0);
        CHECK(8 == wake_one(own, 0, 1) && 1 == take(same_rank));
        char text[4096];
        int proc = open("/proc/smartint", O_RDONLY);
        ssize_t bytes = read(proc, text, sizeof(text) - 1);
        CHECK(bytes > 0);
        text[bytes] = 0;
        CHECK(NULL == strstr(text, "\n0 ") && NULL != strstr(text, "\n65534 77 1 1 "));
        _exit(0);
    }
    child_ends_well(pid);
    CHECK(!readable(fd));
}

static void a_process_that_becomes_another_user_keeps_its_own(void) {
    int fd = a_rank(job, 0);
    int waker = a_waker(job);
    CHECK(0 == setgid(other_user) && 0 == setuid(other_user));
    CHECK(8 == wake_one(waker, 0, 2) && readable(fd) && 2 == take(fd));
    FAILS(ESRCH, wake_one(a_waker(job), 0, 1)); // what it opens now is another user's
}

static void it_is_freed_after_kill_9_while_waiting(void) {
    for (int i = 0; i < 20; ++i) {
        pid_t pid = fork();
        if (0 == pid) {
            take(a_rank(job, 9));
            _exit(1);
        }
        until_asleep(pid);
        CHECK(0 == kill(pid, SIGKILL));
        CHECK(pid == waitpid(pid, NULL, 0));
        int waker = a_waker(job);
        FAILS(ESRCH, wake_one(waker, 9, 1));
        close(waker);
        close(a_rank(job, 9)); // free again
    }
}

// A child that has the number and waits to be killed; *its_fd is its descriptor.
static pid_t child_with_number(uint32_t number, void (*wait_in)(void), int *its_fd) {
    volatile int *there = shared_page();
    pid_t pid = fork();
    if (0 == pid) {
        *there = a_rank(job, number);
        wait_in();
        _exit(1);
    }
    while (0 == *there) {
        usleep(1000);
    }
    *its_fd = *there;
    return pid;
}

static void wait_for_the_end(void) { pause(); }

// Its number would be nobody's for as long as somebody who rang it has a copy.
static void a_number_of_a_dead_process_is_free_though_its_file_is_held(void) {
    for (int waited_for = 0; waited_for < 2; ++waited_for) {
        uint64_t n = 4;
        int its_fd;
        pid_t pid = child_with_number(9, wait_for_the_end, &its_fd);
        int held = copy_of(pid, its_fd);
        int waker = a_waker(job);
        int fresh = device();
        siginfo_t ended;
        FAILS(EEXIST, enlist(fresh, SMARTINT_ROLE_RANK, job, 9, SECRET)); // it lives
        CHECK(0 == kill(pid, SIGKILL));
        CHECK(0 == waitid(P_PID, pid, &ended, WEXITED | (waited_for ? 0 : WNOWAIT)));
        CHECK(8 == wake_one(waker, 9, 1) && 1 == take(held)); // until another one comes
        CHECK(0 == enlist(fresh, SMARTINT_ROLE_RANK, job, 9, SECRET));
        CHECK(8 == wake_one(waker, 9, 2) && 2 == take(fresh) && !readable(held));
        CHECK(8 == write(held, &n, sizeof(n)) && 4 == take(held) && !readable(fresh));
        close(held);
        CHECK(8 == wake_one(waker, 9, 3) && 3 == take(fresh));
        FAILS(EEXIST, enlist(device(), SMARTINT_ROLE_RANK, job, 9, SECRET));
        close(fresh);
        FAILS(ESRCH, wake_one(waker, 9, 1));
        close(waker);
    }
}

static void *sleep_on(void *unused) {
    pause();
    return unused;
}

static void leave_it_to_a_thread(void) {
    pthread_t thread;
    CHECK(0 == pthread_create(&thread, NULL, sleep_on, NULL));
    pthread_exit(NULL);
}

static int is_zombie(pid_t pid) {
    char path[64], text[256], *end;
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    FILE *f = fopen(path, "r");
    CHECK(NULL != f);
    text[fread(text, 1, sizeof(text) - 1, f)] = 0;
    fclose(f);
    end = strrchr(text, ')');
    return NULL != end && ' ' == end[1] && 'Z' == end[2];
}

static void a_process_lives_as_long_as_one_of_its_threads(void) {
    int its_fd;
    pid_t pid = child_with_number(9, leave_it_to_a_thread, &its_fd);
    int held = copy_of(pid, its_fd);
    int fresh = device();
    while (!is_zombie(pid)) {
        usleep(1000);
    }
    FAILS(EEXIST, enlist(fresh, SMARTINT_ROLE_RANK, job, 9, SECRET));
    CHECK(8 == wake_one(a_waker(job), 9, 1) && 1 == take(held));
    CHECK(0 == kill(pid, SIGKILL) && pid == waitpid(pid, NULL, 0));
    CHECK(0 == enlist(fresh, SMARTINT_ROLE_RANK, job, 9, SECRET));
}

static void a_killed_waker_leaves_the_ranks_as_they_are(void) {
    int fd = a_rank(job, 0);
    volatile uint64_t *sent = shared_page();
    pid_t pid = fork();
    if (0 == pid) {
        int waker = a_waker(job);
        for (;;) {
            CHECK(8 == wake_one(waker, 0, 1));
            ++*sent;
        }
    }
    uint64_t got = 0;
    while (got < 1000) {
        got += take(fd);
    }
    CHECK(0 == kill(pid, SIGKILL) && pid == waitpid(pid, NULL, 0));
    while (readable(fd)) {
        got += take(fd);
    }
    CHECK(got == *sent || got == *sent + 1, "got %llu", (unsigned long long) got);
    int waker = a_waker(job);
    CHECK(8 == wake_one(waker, 0, 1) && 1 == take(fd));
}

static void a_forked_child_has_the_same_file(void) {
    int fd = a_rank(job, 0);
    int back = a_rank(job, 1);
    int waker = a_waker(job);
    pid_t pid = fork();
    if (0 == pid) {
        CHECK(7 == take(fd));
        CHECK(8 == wake_one(waker, 1, 1));
        CHECK(8 == take(fd));
        _exit(0);
    }
    CHECK(8 == wake_one(waker, 0, 7) && 1 == take(back));
    close(fd); // the child's is enough
    CHECK(8 == wake_one(waker, 0, 8));
    child_ends_well(pid);
    FAILS(ESRCH, wake_one(waker, 0, 1)); // and now nobody has it
}

static void nothing_to_do(int signal) { (void) signal; }

static void a_signal_interrupts_the_wait(void) {
    for (int restart = 0; restart < 2; ++restart) {
        pid_t pid = fork();
        if (0 == pid) {
            uint64_t n = 0;
            struct sigaction a = {.sa_handler = nothing_to_do, .sa_flags = restart ? SA_RESTART : 0};
            sigaction(SIGUSR1, &a, NULL);
            int fd = a_rank(job, 0);
            if (restart) {
                CHECK(5 == take(fd));
            } else {
                FAILS(EINTR, read(fd, &n, sizeof(n)));
            }
            _exit(0);
        }
        until_asleep(pid);
        CHECK(0 == kill(pid, SIGUSR1));
        if (restart) {
            until_asleep(pid);
            CHECK(8 == wake_one(a_waker(job), 0, 5));
        }
        child_ends_well(pid);
    }
}

static void a_bad_address_loses_nothing(void) {
    struct smartint_wake w[64];
    int fd = a_rank(job, 0);
    int waker = a_waker(job);
    char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(MAP_FAILED != pages && 0 == mprotect(pages + 4096, 4096, PROT_NONE));
    CHECK(8 == wake_one(waker, 0, 9));
    FAILS(EFAULT, read(fd, pages + 4096, 8));
    FAILS(EFAULT, read(fd, (void *) -4096L, 8));
    CHECK(readable(fd) && 9 == take(fd));
    FAILS(EFAULT, write(fd, pages + 4096, 8));
    FAILS(EFAULT, write(waker, pages + 4096, 8));
    for (int i = 0; i < 64; ++i) {
        w[i] = (struct smartint_wake){0, 1};
    }
    memcpy(pages + 4096 - 40 * 8, w, 40 * 8); // 32 are copied at once, and then the page ends
    CHECK(32 * 8 == write(waker, pages + 4096 - 40 * 8, 64 * 8));
    CHECK(32 == take(fd));
}

static void epoll_sees_each_wake_once(void) {
    int set = epoll_create1(0);
    int fd = a_rank(job, 3);
    int late = device();
    int waker = a_waker(job);
    struct epoll_event e = {.events = EPOLLIN | EPOLLET, .data.fd = fd};
    CHECK(0 == epoll_ctl(set, EPOLL_CTL_ADD, fd, &e));
    e.data.fd = late;
    CHECK(0 == epoll_ctl(set, EPOLL_CTL_ADD, late, &e)); // registered while it is watched
    CHECK(1 == epoll_wait(set, &e, 1, 0) && EPOLLERR == e.events);
    CHECK(0 == epoll_wait(set, &e, 1, 0));
    CHECK(0 == enlist(late, SMARTINT_ROLE_RANK, job, 4, SECRET));
    for (int i = 0; i < 100; ++i) {
        int which = i % 2;
        CHECK(8 == wake_one(waker, 3 + which, 1));
        CHECK(1 == epoll_wait(set, &e, 1, -1) && e.data.fd == (which ? late : fd));
        CHECK(0 == epoll_wait(set, &e, 1, 0) && 1 == take(which ? late : fd));
    }
    CHECK(8 == wake_one(waker, 3, 1));
    close(fd); // out of the set with it
    CHECK(0 == epoll_wait(set, &e, 1, 0));
}

static void epoll_sees_that_a_file_is_registered(void) {
    int set = epoll_create1(0);
    for (uint32_t role = SMARTINT_ROLE_RANK; role <= SMARTINT_ROLE_WAKER; ++role) {
        int fd = device();
        struct epoll_event e = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.fd = fd};
        CHECK(0 == epoll_ctl(set, EPOLL_CTL_ADD, fd, &e));
        CHECK(1 == epoll_wait(set, &e, 1, 0) && EPOLLERR == e.events);
        CHECK(0 == epoll_wait(set, &e, 1, 0));
        FAILS(EINVAL, enlist(fd, role, job, SMARTINT_MAX_RANKS, SECRET));
        CHECK(0 == epoll_wait(set, &e, 1, 0));
        CHECK(0 == enlist(fd, role, job, 0, SECRET));
        CHECK(1 == epoll_wait(set, &e, 1, 0) && EPOLLOUT == e.events);
        close(fd);
    }
}

static void the_number_of_files_of_a_user_is_bounded(void) {
    int parameter = open("/sys/module/smartint/parameters/max_files", O_RDWR);
    CHECK(parameter >= 0 && 2 == write(parameter, "50", 2));
    for (int again = 0; again < 2; ++again) {
        int fd[50];
        for (int i = 0; i < 50; ++i) {
            fd[i] = device();
        }
        FAILS(EDQUOT, open(SMARTINT_DEVICE, O_RDWR));
        pid_t pid = fork();
        if (0 == pid) { // others have files of their own
            CHECK(0 == setgid(other_user) && 0 == setuid(other_user));
            device();
            _exit(0);
        }
        child_ends_well(pid);
        for (int i = 0; i < 50; ++i) {
            close(fd[i]);
        }
    }
    CHECK(5 == pwrite(parameter, "16384", 5, 0));
}

// More than fits into the first page that the kernel takes for it.
static void proc_has_a_line_for_every_job(void) {
    enum { jobs = 500 };
    char line[256];
    int seen = 0;
    for (int i = 0; i < jobs; ++i) {
        a_waker(job + i);
    }
    FILE *f = fopen("/proc/smartint", "r");
    CHECK(NULL != f && NULL != fgets(line, sizeof(line), f));
    for (; NULL != fgets(line, sizeof(line), f); ++seen) {
        unsigned number = 0;
        CHECK(1 == sscanf(line, "0 %u 0 1 0 0 0 0 0", &number) && (unsigned) (job + seen) == number, "%s", line);
    }
    CHECK(jobs == seen, "%d", seen);
    fclose(f);
}

int main(int argc, char **argv) {
#define CASE(f)                                                                                                        \
    { #f, f }
    static const struct module_case cases[] = {
        CASE(the_version_is_told),
        CASE(registration_is_checked),
        CASE(a_rank_is_used_as_an_eventfd),
        CASE(a_wake_before_the_wait_is_kept),
        CASE(a_batch_wakes_many_and_stops_at_who_is_missing),
        CASE(another_secret_or_number_is_another_job),
        CASE(another_user_can_do_nothing),
        CASE(a_process_that_becomes_another_user_keeps_its_own),
        CASE(it_is_freed_after_kill_9_while_waiting),
        CASE(a_number_of_a_dead_process_is_free_though_its_file_is_held),
        CASE(a_process_lives_as_long_as_one_of_its_threads),
        CASE(a_killed_waker_leaves_the_ranks_as_they_are),
        CASE(a_forked_child_has_the_same_file),
        CASE(a_signal_interrupts_the_wait),
        CASE(a_bad_address_loses_nothing),
        CASE(epoll_sees_each_wake_once),
        CASE(epoll_sees_that_a_file_is_registered),
        CASE(the_number_of_files_of_a_user_is_bounded),
        CASE(proc_has_a_line_for_every_job),
    };
    return run_cases(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
