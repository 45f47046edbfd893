// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "common_smartint_named_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>

#include "common_smartint_signals.h"

namespace smartint {
namespace {

std::string path_of(const char *directory, std::uint64_t name) {
    char file[64];
    std::snprintf(file, sizeof(file), "/smartint-window-%u-%016llx", static_cast<unsigned>(geteuid()),
                  static_cast<unsigned long long>(name));
    return std::string(directory) + file;
}

// One of the names that boards and windows of this user have.
bool is_ours(const std::string &name) {
    const std::string user = std::to_string(geteuid()) + "-";
    const auto behind = [&](const std::string &prefix) {
        return 0 == name.compare(0, prefix.size(), prefix) ? name.substr(prefix.size()) : std::string();
    };
    const auto number = [](const std::string &text, std::size_t digits) {
        return digits == text.size() && std::string::npos == text.find_first_not_of("0123456789abcdef");
    };
    const std::string board = behind("smartint-" + user); // job and random bits
    return number(behind("smartint-window-" + user), 16) ||
           (25 == board.size() && number(board.substr(0, 8), 8) && '-' == board[8] && number(board.substr(9), 16));
}

// Beyond this limit the kernel sends a signal that ends the process, where it is not caught, beside its error.
bool within_limit(std::uint64_t bytes) {
    rlimit limit{};
    return 0 != getrlimit(RLIMIT_FSIZE, &limit) || RLIM_INFINITY == limit.rlim_cur || bytes <= limit.rlim_cur;
}

// A page of a file that can't be accounted for ends, by SIGBUS, who touches it; memory of a process would not be had.
bool strictly_accounted() {
    char mode = '0';
    if (const int fd = ::open("/proc/sys/vm/overcommit_memory", O_RDONLY | O_CLOEXEC); fd >= 0) {
        mode = 1 == ::read(fd, &mode, 1) ? mode : '0';
        ::close(fd);
    }
    return '2' == mode;
}

} // namespace

int reserve_memory(int fd, std::uint64_t bytes) {
    if (!within_limit(bytes)) {
        return EFBIG;
    }
    // A signal that comes meanwhile, of a profiler's timer, makes the file system give up and begin anew.
    const signals_blocked during;
    int error = EINTR;
    while (EINTR == error) { // what stops the process can't be blocked
        error = posix_fallocate(fd, 0, static_cast<off_t>(bytes));
    }
    return error;
}

bool hold_name(int fd) {
    struct ::stat s {};
    // Whoever removes it has it locked, and then it has no name.
    return (0 == flock(fd, LOCK_SH | LOCK_NB) || EWOULDBLOCK != errno) && 0 == ::fstat(fd, &s) && 0 != s.st_nlink;
}

void remove_left_behind(const char *directory) {
    DIR *const d = opendir(directory);
    if (nullptr == d) {
        return;
    }
    while (const dirent *e = readdir(d)) {
        if (!is_ours(e->d_name)) {
            continue;
        }
        // Nonblocking: a pipe by that name has nobody wait for its other end.
        const int fd = openat(dirfd(d), e->d_name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        struct ::stat s {};
        if (fd >= 0 && 0 == ::fstat(fd, &s) && S_ISREG(s.st_mode) && geteuid() == s.st_uid &&
            0 == flock(fd, LOCK_EX | LOCK_NB)) {
            unlinkat(dirfd(d), e->d_name, 0);
        }
        if (fd >= 0) {
            ::close(fd);
        }
    }
    closedir(d);
}

int set_length(int fd, std::uint64_t bytes) {
    if (!within_limit(bytes)) {
        return EFBIG;
    }
    if (strictly_accounted()) {
        return reserve_memory(fd, bytes);
    }
    return 0 == ::ftruncate(fd, static_cast<off_t>(bytes)) ? 0 : errno;
}

// The file has no name while its memory is made, which takes long where it is much: a process killed meanwhile leaves
// nothing.
int create_named_file(const char *directory, std::uint64_t bytes, std::uint64_t *name) {
    if (sizeof(*name) != getrandom(name, sizeof(*name), 0)) {
        return -EIO;
    }
    const int fd = ::open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0) {
        return -errno;
    }
    const std::string own = "/proc/thread-self/fd/" + std::to_string(fd);
    int error = 0 == ::fchmod(fd, 0600) ? reserve_memory(fd, bytes) : errno; // whatever the program's umask takes
    (void) flock(fd, LOCK_SH | LOCK_NB);                                     // before it has a name: nobody else has it
    if (0 == error &&
        0 != ::linkat(AT_FDCWD, own.c_str(), AT_FDCWD, path_of(directory, *name).c_str(), AT_SYMLINK_FOLLOW)) {
        error = errno; // also if there is one of that name
    }
    if (0 != error) {
        ::close(fd);
        return -error;
    }
    return fd;
}

int open_named_file(const char *directory, std::uint64_t name, std::uint64_t bytes) {
    // Nonblocking: a pipe by that name has nobody wait for its other end.
    const int fd = ::open(path_of(directory, name).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        return -errno;
    }
    struct ::stat s {};
    int error = 0 == ::fstat(fd, &s) ? 0 : errno;
    if (0 == error &&
        (!S_ISREG(s.st_mode) || s.st_uid != geteuid() || static_cast<std::uint64_t>(s.st_size) != bytes)) {
        error = EINVAL;
    }
    if (0 != error) {
        ::close(fd);
        return -error;
    }
    return fd;
}

void remove_named_file(const char *directory, std::uint64_t name) { ::unlink(path_of(directory, name).c_str()); }

} // namespace smartint
