// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
// Description: a library to be loaded before others (LD_PRELOAD): what the system refuses to smartint, and to
// nobody else in the process. SMARTINT_TEST_FAULT says which:
//   no-thread       its pthread_create fails
//   no-descriptors  its timerfd_create fails, as when there are no descriptors left
//   no-eventfd      a rank's eventfd fails
//   eventfd-later   the first of each rank fails
//   no-epoll        a rank's epoll_create1 fails
//   helper-no-epoll the helper's fails
//   no-clone        it may not start the helper
//   other-board     this process sees a copy of the node's board whose layout has another version, 99
//   no-board        this process may not open the node's board
//   no-ucx          UCX's libraries are not there
//   no-memory       there is none for more than 512 bytes of a message that nobody awaits
//   bad-memory      every third copy to or from another process meets memory that the kernel cannot copy
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

enum { VERSION_AT = 8, OTHER_VERSION = 99 }; // segment_header in common_smartint_layout.h

static int asked(const char *what) {
    const char *fault = getenv("SMARTINT_TEST_FAULT");
    return NULL != fault && 0 == strcmp(fault, what);
}

// Is the caller smartint, or the C++ library for it? Nobody else here makes threads in C++.
static int by_smartint(const void *caller) {
    Dl_info info;
    return 0 != dladdr(caller, &info) && NULL != info.dli_fname &&
           (NULL != strstr(info.dli_fname, "smartint") || NULL != strstr(info.dli_fname, "libstdc++"));
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg) {
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*) (void *), void *);
    if (asked("no-thread") && by_smartint(__builtin_return_address(0))) {
        return EAGAIN;
    }
    if (NULL == real) {
        *(void **) &real = dlsym(RTLD_NEXT, "pthread_create");
    }
    return real(thread, attr, start, arg);
}

void *dlopen(const char *file, int flags) {
    static void *(*real)(const char *, int);
    if (NULL == real) {
        *(void **) &real = dlsym(RTLD_NEXT, "dlopen");
    }
    if (NULL != file && NULL != strstr(file, "libuc") && asked("no-ucx")) {
        return real("/nowhere/libuct.so.0", flags);
    }
    return real(file, flags);
}

void *__libc_malloc(size_t bytes);

// Of its own calls: the C++ library throws, and what Open MPI has inline does not look.
void *malloc(size_t bytes) {
    Dl_info info;
    if (bytes > 512 && asked("no-memory") && 0 != dladdr(__builtin_return_address(0), &info) &&
        NULL != info.dli_fname && NULL != strstr(info.dli_fname, "libmca_common_smartint")) {
        errno = ENOMEM;
        return NULL;
    }
    return __libc_malloc(bytes);
}

static int meets_bad_memory(void) {
    static atomic_uint copies;
    return asked("bad-memory") && 2 == atomic_fetch_add(&copies, 1) % 3;
}

typedef ssize_t copy_call(pid_t, const struct iovec *, unsigned long, const struct iovec *, unsigned long,
                          unsigned long);

static ssize_t copy(const char *name, pid_t pid, const struct iovec *here, unsigned long count,
                    const struct iovec *there, unsigned long pieces, unsigned long flags) {
    copy_call *real;
    *(void **) &real = dlsym(RTLD_NEXT, name);
    if (meets_bad_memory()) {
        errno = EFAULT;
        return -1;
    }
    return real(pid, here, count, there, pieces, flags);
}

ssize_t process_vm_readv(pid_t pid, const struct iovec *here, unsigned long count, const struct iovec *there,
                         unsigned long pieces, unsigned long flags) {
    return copy("process_vm_readv", pid, here, count, there, pieces, flags);
}

ssize_t process_vm_writev(pid_t pid, const struct iovec *here, unsigned long count, const struct iovec *there,
                          unsigned long pieces, unsigned long flags) {
    return copy("process_vm_writev", pid, here, count, there, pieces, flags);
}

int timerfd_create(clockid_t clock, int flags) {
    static int (*real)(clockid_t, int);
    if (asked("no-descriptors") && by_smartint(__builtin_return_address(0))) {
        errno = EMFILE;
        return -1;
    }
    if (NULL == real) {
        *(void **) &real = dlsym(RTLD_NEXT, "timerfd_create");
    }
    return real(clock, flags);
}

static int by_helper(const void *caller) {
    Dl_info info;
    return 0 != dladdr(caller, &info) && NULL != info.dli_fname && NULL != strstr(info.dli_fname, "/smartintd");
}

int eventfd(unsigned count, int flags) {
    static int (*real)(unsigned, int);
    const void *caller = __builtin_return_address(0);
    static int failed; // by the application's thread
    if (by_smartint(caller) && !by_helper(caller) &&
        (asked("no-eventfd") || (asked("eventfd-later") && 0 == failed++))) {
        errno = EMFILE;
        return -1;
    }
    if (NULL == real) {
        *(void **) &real = dlsym(RTLD_NEXT, "eventfd");
    }
    return real(count, flags);
}

int epoll_create1(int flags) {
    static int (*real)(int);
    const void *caller = __builtin_return_address(0);
    if (by_smartint(caller) && asked(by_helper(caller) ? "helper-no-epoll" : "no-epoll")) {
        errno = EMFILE;
        return -1;
    }
    if (NULL == real) {
        *(void **) &real = dlsym(RTLD_NEXT, "epoll_create1");
    }
    return real(flags);
}

int clone(int (*start)(void *), void *stack, int flags, void *arg, ...) {
    static int (*real)(int (*)(void *), void *, int, void *, ...);
    if (asked("no-clone") && by_smartint(__builtin_return_address(0))) {
        errno = EAGAIN;
        return -1;
    }
    if (NULL == real) {
        *(void **) &real = dlsym(RTLD_NEXT, "clone");
    }
    return real(start, stack, flags, arg); // nobody here passes more
}

static int another_version(int board) {
    struct stat st;
    uint32_t version = OTHER_VERSION;
    int copy = memfd_create("another-board", MFD_CLOEXEC);
    if (copy < 0 || 0 != fstat(board, &st) || 0 != ftruncate(copy, st.st_size)) {
        abort();
    }
    void *from = mmap(NULL, st.st_size, PROT_READ, MAP_SHARED, board, 0);
    if (MAP_FAILED == from || st.st_size != write(copy, from, st.st_size) ||
        sizeof(version) != pwrite(copy, &version, sizeof(version), VERSION_AT)) {
        abort();
    }
    munmap(from, st.st_size);
    close(board);
    return copy;
}

static int opened(const char *path, int flags, mode_t mode) {
    const int board = 0 == (flags & O_CREAT) && NULL != strstr(path, "/smartint-");
    if (board && asked("no-board")) {
        errno = EACCES;
        return -1;
    }
    const int fd = openat(AT_FDCWD, path, flags, mode);
    return board && fd >= 0 && asked("other-board") ? another_version(fd) : fd;
}

int open(const char *path, int flags, ...) {
    va_list ap;
    va_start(ap, flags);
    mode_t mode = 0 != (flags & (O_CREAT | O_TMPFILE)) ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    return opened(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    va_list ap;
    va_start(ap, flags);
    mode_t mode = 0 != (flags & (O_CREAT | O_TMPFILE)) ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    return opened(path, flags, mode);
}
