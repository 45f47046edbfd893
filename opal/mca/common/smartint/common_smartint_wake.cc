// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "common_smartint_wake.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "common_smartint_log.h"

namespace smartint {

std::uint64_t process_start_time(std::uint32_t pid) {
    char path[40];
    std::snprintf(path, sizeof(path), "/proc/%u/stat", pid);
    const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return 0;
    }
    char text[1024];
    const ssize_t n = ::read(fd, text, sizeof(text) - 1);
    ::close(fd);
    if (n <= 0) {
        return 0;
    }
    text[n] = 0;
    // the name is in parentheses and may hold anything; field 22 counts from after it
    const char *p = std::strrchr(text, ')');
    for (int field = 2; nullptr != p && field < 22; ++field) {
        p = std::strchr(p + 1, ' ');
    }
    return nullptr == p ? 0 : std::strtoull(p + 1, nullptr, 10);
}

int take_descriptor(std::uint32_t pid, std::uint64_t start_time, int their_fd) {
    if (0 == pid || their_fd < 0) {
        return -EINVAL;
    }
    const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
    if (pidfd < 0) {
        return -errno;
    }
    errno = 0;
    const std::uint64_t started = process_start_time(pid);
    int fd = EMFILE == errno || ENFILE == errno ? -errno : -ESRCH; // out of descriptors, or gone
    if (0 != start_time && started == start_time) {
        fd = static_cast<int>(syscall(SYS_pidfd_getfd, pidfd, their_fd, 0));
        if (fd < 0) {
            fd = -errno;
        }
    }
    ::close(pidfd);
    return fd;
}

bool waker::wake(unsigned i, const layout::slot &s) {
    if (i >= fd_.size() || impossible == fd_[i]) {
        return false;
    }
    const auto &c = s.control;
    if (1 != c.attached.load(std::memory_order_acquire) || // A1
        0 != c.stopped.load(std::memory_order_relaxed)) {
        return false;
    }
    if (unknown == fd_[i]) {
        const int fd = take_descriptor(c.pid.load(std::memory_order_relaxed), c.start_time,
                                       c.wake_fd.load(std::memory_order_relaxed));
        if (fd < 0) {
            fd_[i] = impossible;
            if (-ESRCH != fd) {
                tell(topic::no_wake, "pidfd_getfd", std::strerror(-fd));
            }
            return false;
        }
        fd_[i] = fd;
    }
    return ring_eventfd(fd_[i]);
}

void waker::close() {
    for (int &fd : fd_) {
        if (fd >= 0) {
            ::close(fd);
        }
        fd = unknown;
    }
}

bool ring_eventfd(int fd) {
    const std::uint64_t one = 1;
    return sizeof(one) == ::write(fd, &one, sizeof(one)) || EAGAIN == errno;
}

std::uint64_t drain_eventfd(int fd) {
    std::uint64_t n = 0;
    return sizeof(n) == ::read(fd, &n, sizeof(n)) ? n : 0;
}

} // namespace smartint
