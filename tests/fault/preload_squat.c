// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
// Description: a library to be loaded before others (LD_PRELOAD): somebody has guessed the name of the board, all 64
// random bits of it, and was there first. SMARTINT_TEST_SQUAT: `file`, a file of that name that all may write; or a
// path, to which a symbolic link of that name leads.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STRANGER = 61234 };

static void squat(const char *path) {
    const char *how = getenv("SMARTINT_TEST_SQUAT");
    const char *in = getenv("SMARTINT_TEST_SQUAT_IN");
    if (NULL == how || NULL == in || 0 != strncmp(path, in, strlen(in))) {
        return;
    }
    if (0 == strcmp(how, "file")) {
        int fd = openat(AT_FDCWD, path, O_CREAT | O_RDWR, 0666);
        if (fd < 0 || 0 != fchmod(fd, 0666)) {
            abort();
        }
        close(fd);
    } else if (0 != symlink(how, path)) {
        abort();
    }
    if (0 != lchown(path, STRANGER, STRANGER)) {
        abort();
    }
}

static int opened(const char *path, int flags, mode_t mode) {
    if (0 != (flags & O_CREAT) && NULL != strstr(path, "/smartint-")) {
        squat(path);
    }
    return openat(AT_FDCWD, path, flags, mode);
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
