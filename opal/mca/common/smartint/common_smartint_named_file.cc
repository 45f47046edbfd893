// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "common_smartint_named_file.h"

#include <fcntl.h>
#include <sys/random.h>
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

} // namespace

int create_named_file(const char *directory, std::uint64_t bytes, std::uint64_t *name) {
    if (sizeof(*name) != getrandom(name, sizeof(*name), 0)) {
        return -EIO;
    }
    const std::string path = path_of(directory, *name);
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return -errno;
    }
    // A signal that comes meanwhile, of a profiler's timer, makes the file system give up and begin anew.
    const signals_blocked during;
    if (const int error = posix_fallocate(fd, 0, static_cast<off_t>(bytes)); 0 != error) {
        ::close(fd);
        ::unlink(path.c_str());
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
