// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "common_smartint_wake.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "common_smartint_log.h"

namespace smartint {
namespace {

constexpr int retry_ms = 100; // after descriptors ran out: who waits to be woken loses overlap only

} // namespace

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
    // the name is in parentheses and may hold anything; the state and field 22 count from after it
    const char *p = std::strrchr(text, ')');
    if (nullptr != p && ' ' == p[1] && ('Z' == p[2] || 'X' == p[2])) {
        return ended_start_time; // nobody has waited for it yet
    }
    for (int field = 2; nullptr != p && field < 22; ++field) {
        p = std::strchr(p + 1, ' ');
    }
    const std::uint64_t ticks = nullptr == p ? 0 : std::strtoull(p + 1, nullptr, 10);
    return 0 == ticks ? 0 : ticks ^ pid_namespace() << 32;
}

std::uint64_t pid_namespace() {
    static const std::uint64_t own = [] {
        struct ::stat s {};
        return 0 == ::stat("/proc/self/ns/pid", &s) ? static_cast<std::uint64_t>(s.st_ino) : 0;
    }();
    return own;
}

void permit_access() {
    const int fd = ::open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);
    char scope = '0';
    if (fd >= 0) {
        if (1 != ::read(fd, &scope, 1)) {
            scope = '0';
        }
        ::close(fd);
    }
    if ('1' == scope) {
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    }
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
    int fd = waker::may_pass(-errno) ? -errno : -ESRCH; // out of descriptors, or gone
    if (0 != start_time && started == start_time) {
        fd = static_cast<int>(syscall(SYS_pidfd_getfd, pidfd, their_fd, 0));
        if (fd < 0) {
            fd = -errno;
        }
    }
    ::close(pidfd);
    return fd;
}

int open_their_file(std::uint32_t pid, std::uint64_t start_time, int their_fd, std::uint64_t bytes) {
    if (0 == pid || their_fd < 0) {
        return -EINVAL;
    }
    const std::string path = "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(their_fd);
    struct ::stat s {};
    if (0 != ::stat(path.c_str(), &s)) { // looked at before: to open a pipe or a device may do something
        return -errno;
    }
    if (!S_ISREG(s.st_mode) || static_cast<std::uint64_t>(s.st_size) != bytes) {
        return -EINVAL;
    }
    const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    struct ::stat opened {};
    // it was that process until now, so it was its descriptor
    if (0 != ::fstat(fd, &opened) || opened.st_dev != s.st_dev || opened.st_ino != s.st_ino || 0 == start_time ||
        process_start_time(pid) != start_time) {
        ::close(fd);
        return -ESRCH;
    }
    return fd;
}

int take_file(std::uint32_t pid, std::uint64_t start_time, int their_fd, std::uint64_t bytes) {
    const int fd = take_descriptor(pid, start_time, their_fd);
    if (fd < 0) {
        return open_their_file(pid, start_time, their_fd, bytes);
    }
    struct ::stat s {};
    if (0 != ::fstat(fd, &s) || !S_ISREG(s.st_mode) || static_cast<std::uint64_t>(s.st_size) != bytes) {
        ::close(fd);
        return -EINVAL;
    }
    return fd;
}

bool waker::may_pass(int result) {
    return -EMFILE == result || -ENFILE == result || -ENOMEM == result || -EAGAIN == result;
}

int waker::note_shortage(int result) {
    if (may_pass(result)) {
        next_try_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(retry_ms);
    }
    return result;
}

namespace {

// An eventfd, or the module's file. A program that closes what it did not open may have a file of its own there.
bool rings(int fd) {
    if (is_modules_file(fd)) {
        return true;
    }
    char what[32];
    const ssize_t n = ::readlink(("/proc/thread-self/fd/" + std::to_string(fd)).c_str(), what, sizeof(what));
    return n > 0 && std::string_view(what, static_cast<std::size_t>(n)) == "anon_inode:[eventfd]";
}

} // namespace

int waker::take(std::uint32_t pid, std::uint64_t start_time, int their_fd) {
    if (short_of_descriptors()) {
        return -EAGAIN;
    }
    const int fd = note_shortage(take_descriptor(pid, start_time, their_fd));
    if (fd >= 0 && !rings(fd)) {
        ::close(fd);
        return -EBADF;
    }
    return fd;
}

int waker::kept(int fd) { return fd >= 0 ? fd : may_pass(fd) ? unknown : impossible; }

void waker::tell_no_wake(int error) {
    if (0 != error && ESRCH != error && EAGAIN != error) {
        tell(topic::no_wake, "pidfd_getfd", std::strerror(error));
    }
}

void waker::use_module(wake_kind how, const wake_identity &who, stats *s) {
    how_ = how;
    who_ = who;
    stats_ = s;
}

bool waker::has_module() {
    if (unknown == module_ && (wake_kind::eventfd == how_ || !short_of_descriptors())) {
        const int fd = wake_kind::eventfd == how_ ? -1 : note_shortage(module_waker(who_));
        module_ = kept(fd);
    }
    return module_ >= 0;
}

bool waker::by_module(std::uint32_t number) {
    if (!has_module() || 1 != module_wake(module_, &number, 1)) {
        return false;
    }
    if (nullptr != stats_) {
        stats_->add(stat::wakes_module);
    }
    return true;
}

namespace {

bool may_be_woken(const layout::slot_control &c) {
    return 1 == c.attached.load(std::memory_order_acquire) && // A1
           0 == c.stopped.load(std::memory_order_acquire);    // A2
}

} // namespace

unsigned waker::wake_all(std::vector<std::uint32_t> *which, const segment &board) {
    const auto gone = [&](std::uint32_t i) { return i >= fd_.size() || !may_be_woken(board.slot(i).control); };
    which->erase(std::remove_if(which->begin(), which->end(), gone), which->end());
    const std::size_t before = which->size();
    // the one behind them is not known to the module: one by one
    const unsigned together = before > 1 && has_module() ? module_wake(module_, which->data(), before) : 0;
    which->erase(which->begin(), which->begin() + together);
    const auto woken = [&](std::uint32_t i) { return wake(i, board.slot(i)); };
    which->erase(std::remove_if(which->begin(), which->end(), woken), which->end());
    return static_cast<unsigned>(before - which->size());
}

bool waker::wake(unsigned i, const layout::slot &s) {
    const auto &c = s.control;
    if (i >= fd_.size() || !may_be_woken(c)) {
        return false;
    }
    if (first(i)) {
        return true;
    }
    int error = 0;
    if (unknown == fd_[i]) {
        int fd = take(c.pid.load(std::memory_order_relaxed), c.start_time, c.wake_fd.load(std::memory_order_relaxed));
        // It may have stopped since, closed its descriptor and opened something else under the number. The store of
        // `stopped` is before that close, which the kernel's lock on the table orders before our taking.
        if (fd >= 0 && !may_be_woken(c)) {
            ::close(fd);
            return false;
        }
        fd_[i] = kept(fd);
        error = fd < 0 ? -fd : 0;
    }
    if (fd_[i] >= 0) {
        return ring_eventfd(fd_[i]);
    }
    if (instead(i)) {
        return true;
    }
    tell_no_wake(error);
    return false;
}

bool waker::holds(int fd) const {
    return fd >= 0 && (fd == module_ || fd_.end() != std::find(fd_.begin(), fd_.end(), fd));
}

void waker::close() {
    for (int &fd : fd_) {
        if (fd >= 0) {
            ::close(fd);
        }
        fd = unknown;
    }
    if (module_ >= 0) {
        ::close(module_);
    }
    module_ = unknown;
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
