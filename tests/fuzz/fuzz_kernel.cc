// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// System calls by which the engine acts on other processes (linked with --wrap): a process number
// and an address from the input must not act on whoever has that number. Memory of this side is
// read and written in full, so that a byte too far is seen.
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <numeric>

#include "fuzz_input.h"
#include "fuzz_system.h"

namespace smartint::fuzz {

system_state &the_system() {
    static system_state s;
    return s;
}

void reset_system() { the_system() = system_state{}; }

namespace {

ssize_t copy(const iovec *mine, bool into_mine) {
    switch (the_system().answer()) {
    case 3:
        errno = EPERM;
        return -1;
    case 2:
        errno = EFAULT;
        return -1;
    default:
        break;
    }
    // A part of it, as the kernel may: half, but at least a byte.
    const std::size_t bytes = 1 == the_system().answer() ? (mine->iov_len + 1) / 2 : mine->iov_len;
    if (into_mine) {
        std::memset(mine->iov_base, 0x5a, bytes);
    } else {
        std::string seen(static_cast<const char *>(mine->iov_base), bytes);
        static volatile char keep;
        keep = std::accumulate(seen.begin(), seen.end(), char{0});
    }
    the_system().copied += bytes;
    return static_cast<ssize_t>(bytes);
}

} // namespace
} // namespace smartint::fuzz

extern "C" {

long __real_syscall(long number, ...);

ssize_t __wrap_process_vm_readv(pid_t, const iovec *mine, unsigned long, const iovec *, unsigned long, unsigned long) {
    return smartint::fuzz::copy(mine, true);
}

ssize_t __wrap_process_vm_writev(pid_t, const iovec *mine, unsigned long, const iovec *, unsigned long, unsigned long) {
    return smartint::fuzz::copy(mine, false);
}

long __wrap_syscall(long number, ...) {
    va_list ap;
    va_start(ap, number);
    const long a = va_arg(ap, long);
    const long b = va_arg(ap, long);
    const long c = va_arg(ap, long);
    va_end(ap);
    if (SYS_pidfd_getfd == number || SYS_pidfd_open == number) {
        ++smartint::fuzz::the_system().wakes_taken;
        if (smartint::fuzz::the_system().answer() >= 2) {
            errno = EPERM;
            return -1;
        }
        return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    }
    if (SYS_membarrier == number) {
        return 0; // there is one thread, and registering for it takes milliseconds
    }
    return __real_syscall(number, a, b, c);
}

} // extern "C"
