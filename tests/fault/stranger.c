// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
// Description: what somebody else on the machine can try. No MPI. A line for each thing that worked and should not
// have; exit code 0 if there is none.
//   stranger look PID...         descriptors, memory and files of these processes
//   stranger file PATH...        open, replace, remove these
//   stranger flood PORT...       connections that say nothing, and some that talk nonsense, at these ports; prints
//                                `holding` and keeps them until its standard input ends
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static int worked;

static void tell(const char *what, const char *of) {
    printf("worked: %s %s\n", what, of);
    worked = 1;
}

static void try_open(const char *path) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0) {
        tell("open for reading", path);
        close(fd);
    }
    fd = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0) {
        tell("open for writing", path);
        close(fd);
    }
}

static void try_directory(const char *directory) {
    char path[4096];
    DIR *d = opendir(directory);
    if (NULL == d) {
        return;
    }
    for (struct dirent *e; NULL != (e = readdir(d));) {
        if ('.' != e->d_name[0]) {
            snprintf(path, sizeof(path), "%s/%s", directory, e->d_name);
            try_open(path);
        }
    }
    closedir(d);
}

static void look(const char *who) {
    static const char *const files[] = {"mem", "environ", "maps", "auxv"};
    char path[512], bytes[8] = "";
    const pid_t pid = atoi(who);
    int pidfd = (int) syscall(SYS_pidfd_open, pid, 0);
    for (int fd = 0; pidfd >= 0 && fd < 256; ++fd) {
        int mine = (int) syscall(SYS_pidfd_getfd, pidfd, fd, 0);
        if (mine >= 0) {
            tell("pidfd_getfd of", who);
            close(mine);
            break;
        }
    }
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); ++i) {
        snprintf(path, sizeof(path), "/proc/%s/%s", who, files[i]);
        int fd = open(path, O_RDONLY);
        if (fd >= 0 && read(fd, bytes, 1) > 0) {
            tell("reading", path);
        }
        if (fd >= 0) {
            close(fd);
        }
    }
    snprintf(path, sizeof(path), "/proc/%s/fd", who);
    try_directory(path);
    snprintf(path, sizeof(path), "/proc/%s/map_files", who);
    try_directory(path);
    struct iovec mine = {bytes, sizeof(bytes)}, theirs = {(void *) 0x400000, sizeof(bytes)};
    if (process_vm_readv(pid, &mine, 1, &theirs, 1, 0) >= 0 || EPERM != errno) {
        tell("process_vm_readv at", who);
    }
    if (process_vm_writev(pid, &mine, 1, &theirs, 1, 0) >= 0 || EPERM != errno) {
        tell("process_vm_writev at", who);
    }
    if (0 == ptrace(PTRACE_SEIZE, pid, NULL, NULL)) {
        tell("ptrace of", who);
    }
    if (0 == kill(pid, 0)) {
        tell("a signal to", who);
    }
}

static void file(const char *path) {
    char other[4200];
    try_open(path);
    if (0 == truncate(path, 0)) {
        tell("truncate", path);
    }
    snprintf(other, sizeof(other), "%s.other", path);
    if (0 == rename(path, other)) {
        tell("rename", path);
    }
    if (0 == link(path, other)) {
        tell("link", path);
        unlink(other);
    }
    if (0 == unlink(path)) {
        tell("unlink", path);
    }
}

enum { SILENT = 100, LOUD = 100 };

// What the transport's protocol begins with, or not; lengths that cannot be.
static size_t nonsense(unsigned kind, unsigned char *to, size_t room) {
    static unsigned seed = 1;
    memset(to, 0, room);
    switch (kind % 5) {
    case 0:
        return room; // zeroes
    case 1:
        memset(to, 0xff, room);
        return room;
    case 2:
        return 3; // part of a first word
    case 3:
        memcpy(to, "GET / HTTP/1.0\r\n\r\n", 18);
        return 18;
    default:
        for (size_t i = 0; i < room; ++i) {
            to[i] = (unsigned char) rand_r(&seed);
        }
        return room;
    }
}

static int flood(int ports, char **port) {
    static unsigned char bytes[65536];
    unsigned connected = 0, sent = 0;
    signal(SIGPIPE, SIG_IGN);
    for (int p = 0; p < ports; ++p) {
        char *colon = strrchr(port[p], ':');
        struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t) atoi(colon + 1))};
        *colon = 0;
        inet_pton(AF_INET, port[p], &a.sin_addr);
        for (unsigned i = 0; i < SILENT + LOUD; ++i) {
            int s = socket(AF_INET, SOCK_STREAM, 0);
            if (s < 0 || 0 != connect(s, (struct sockaddr *) &a, sizeof(a))) {
                if (s >= 0) {
                    close(s);
                }
                continue;
            }
            ++connected;
            if (i >= SILENT) {
                size_t n = nonsense(i, bytes, sizeof(bytes));
                sent += send(s, bytes, n, MSG_DONTWAIT) > 0;
            }
        }
    }
    printf("holding %u connections, %u talked\n", connected, sent);
    fflush(stdout);
    while (read(0, bytes, sizeof(bytes)) > 0) {}
    return 0;
}

int main(int argc, char **argv) {
    if (argc < 3) {
        return 2;
    }
    if (0 == strcmp(argv[1], "flood")) {
        return flood(argc - 2, argv + 2);
    }
    for (int i = 2; i < argc; ++i) {
        (0 == strcmp(argv[1], "look") ? look : file)(argv[i]);
    }
    return worked;
}
