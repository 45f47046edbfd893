// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Whom a rank rings, and whether they live.
#include "common_smartint_helper_bells.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <string>

#include "common_smartint_log.h"

namespace smartint {
namespace {

// The number is somebody else's by now. No where it cannot be seen.
bool is_another(std::uint32_t pid, std::uint64_t started) {
    const std::uint64_t now = process_start_time(pid);
    return 0 != now && started != now;
}

} // namespace

// What a helper slept on is there for as long as somebody has it.
void helper_bells::one_helper::forget_doorbell() {
    if (doorbell >= 0) {
        ::close(doorbell);
    }
    doorbell = waker::unknown;
}

void helper_bells::ring(unsigned index) {
    layout::helper_line &h = board_.helper(index);
    std::atomic_thread_fence(std::memory_order_seq_cst);                 // D1, pairs with D2 in the helper
    const std::uint32_t state = h.state.load(std::memory_order_acquire); // H3, pairs with H4
    one_helper &it = helpers_[index];
    if (layout::helper_sleeping != state) {
        if (layout::helper_gone == state) {
            it.forget_doorbell();
        }
        return;
    }
    const std::uint32_t pid = h.pid.load(std::memory_order_relaxed);
    const std::uint64_t started = h.start_time.load(std::memory_order_acquire); // H6, pairs with H5
    if (pid != it.doorbell_of || started != it.started) {                       // the first, or one in its place
        it.doorbell_of = pid;
        it.started = started;
        it.forget_doorbell();
    }
    if (waker_.first(helper_number(index))) {
        return;
    }
    int error = 0;
    if (waker::unknown == it.doorbell) {
        const int fd = waker_.take(pid, started, h.doorbell_fd.load(std::memory_order_relaxed));
        it.doorbell = waker::kept(fd);
        error = fd < 0 ? -fd : 0;
    }
    if (it.doorbell >= 0) {
        ring_eventfd(it.doorbell);
    } else if (!waker_.instead(helper_number(index))) {
        waker::tell_no_wake(error);
    }
}

void helper_bells::look_after(unsigned helpers) {
    if (!board_.mapped()) {
        return;
    }
    for (unsigned i = 0; i < helpers; ++i) {
        layout::helper_line &h = board_.helper(i);
        int &fd = helpers_[i].process;
        const std::uint32_t state = h.state.load(std::memory_order_acquire); // H3, pairs with H4
        if (layout::helper_absent == state || layout::helper_starting == state ||
            (ended == fd && layout::helper_gone == state)) {
            continue;
        }
        const std::uint32_t pid = h.pid.load(std::memory_order_relaxed);
        if (fd < 0) { // ended: another one has taken its place
            fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
            if (fd < 0 && ESRCH != errno) {
                fd = not_taken; // out of descriptors, or not permitted: it may well live
                continue;
            }
            if (fd >= 0 &&
                is_another(pid, h.start_time.load(std::memory_order_relaxed))) { // looked at with the pidfd open
                ::close(fd);
                fd = ended;
            }
        }
        pollfd p{fd, POLLIN, 0};
        if (fd < 0 || 1 == poll(&p, 1, 0)) {
            if (fd >= 0) {
                ::close(fd);
            }
            fd = ended;
            helpers_[i].forget_doorbell();
            h.state.store(layout::helper_gone, std::memory_order_release); // nobody rings it any more
            tell(topic::helper_lost, std::to_string(pid).c_str(), "its process is gone");
        }
    }
}

bool helper_bells::gone(unsigned index) const {
    return board_.mapped() && ended == helpers_[index].process &&
           layout::helper_gone == board_.helper(index).state.load(std::memory_order_acquire);
}

bool helper_bells::holds(int fd) const {
    const auto has = [fd](const one_helper &it) { return fd == it.doorbell || fd == it.process; };
    return fd >= 0 && std::any_of(std::begin(helpers_), std::end(helpers_), has);
}

void helper_bells::close() {
    for (one_helper &it : helpers_) {
        it.forget_doorbell();
        if (it.process >= 0) {
            ::close(it.process);
        }
        it = {};
    }
}

} // namespace smartint
