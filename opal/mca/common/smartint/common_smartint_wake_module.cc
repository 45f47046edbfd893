// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "common_smartint_wake_module.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "common_smartint_log.h"
#include "kmod/include/uapi/smartint/smartint.h"

namespace smartint {
namespace {

// As the module asserts them.
static_assert(8 == sizeof(smartint_version) && 8 == sizeof(smartint_wake));
static_assert(32 == sizeof(smartint_registration) && 16 == offsetof(smartint_registration, secret));
static_assert(helper_number(layout::max_helpers) <= SMARTINT_MAX_RANKS);

int enlist(const wake_identity &who, std::uint32_t role, std::uint32_t number, std::string *why) {
    const int fd = ::open(SMARTINT_DEVICE, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        const int error = errno;
        *why = ENOENT == error ? "the module is not loaded" : std::strerror(error);
        return -error;
    }
    smartint_version v{};
    smartint_registration r{};
    r.version = SMARTINT_UAPI_VERSION;
    r.role = role;
    r.job = who.job;
    r.rank = number;
    r.secret[0] = who.secret_hi;
    r.secret[1] = who.secret_lo;
    int error = 0; // as it was before the close
    if (0 != ioctl(fd, SMARTINT_IOC_VERSION, &v)) {
        error = errno;
        *why = "it is no device of smartint's";
    } else if (SMARTINT_UAPI_VERSION != v.version) {
        error = EPROTONOSUPPORT;
        *why = "the module has version " + std::to_string(v.version) + ", this smartint needs " +
               std::to_string(SMARTINT_UAPI_VERSION);
    } else if (0 != ioctl(fd, SMARTINT_IOC_REGISTER, &r)) {
        error = errno;
        *why = std::strerror(error);
    } else {
        return fd;
    }
    ::close(fd);
    return -error;
}

} // namespace

int module_sleeper(const wake_identity &who, std::uint32_t number, std::string *why) {
    return enlist(who, SMARTINT_ROLE_RANK, number, why);
}

int module_waker(const wake_identity &who) {
    std::string why; // told by who sleeps, if anybody asked for the module
    return enlist(who, SMARTINT_ROLE_WAKER, 0, &why);
}

bool is_modules_file(int fd) {
    struct ::stat s {};
    struct ::stat device {};
    if (0 != ::fstat(fd, &s) || !S_ISCHR(s.st_mode)) {
        return false;
    }
    if (0 == ::stat(SMARTINT_DEVICE, &device)) {
        return S_ISCHR(device.st_mode) && device.st_rdev == s.st_rdev;
    }
    smartint_version v{}; // a container without the device, and another with it
    return 0 == ioctl(fd, SMARTINT_IOC_VERSION, &v);
}

unsigned module_wake(int waker, const std::uint32_t *numbers, std::size_t count) {
    smartint_wake w[32];
    unsigned done = 0;
    while (done < count) {
        const std::size_t part = std::min(count - done, std::size(w));
        for (std::size_t i = 0; i < part; ++i) {
            w[i] = {numbers[done + i], 1};
        }
        const ssize_t n = ::write(waker, w, part * sizeof(w[0]));
        done += n > 0 ? static_cast<unsigned>(n / static_cast<ssize_t>(sizeof(w[0]))) : 0;
        if (n != static_cast<ssize_t>(part * sizeof(w[0]))) {
            break;
        }
    }
    return done;
}

int wake_descriptor(wake_kind how, const wake_identity &who, std::uint32_t number) {
    if (wake_kind::eventfd != how) {
        std::string why;
        const int fd = module_sleeper(who, number, &why);
        if (fd >= 0) {
            return fd;
        }
        if (wake_kind::module == how) {
            tell(topic::no_module, SMARTINT_DEVICE, why.c_str());
        }
    }
    return ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

} // namespace smartint
