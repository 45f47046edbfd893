// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "common_smartint_gate.h"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common_smartint_relax.h"

namespace smartint {
namespace {

// Depth of the calling thread in locked mode (one engine per process, so one counter).
thread_local std::uint32_t locked_depth = 0;

constexpr unsigned looks_before_sleep = 64; // at a claim that is to end in microseconds

int membarrier(int command) { return static_cast<int>(syscall(SYS_membarrier, command, 0, 0)); }

void futex_wait(std::atomic<std::uint32_t> &word, std::uint32_t expected) {
    syscall(SYS_futex, reinterpret_cast<std::uint32_t *>(&word), FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}

void futex_wake(std::atomic<std::uint32_t> &word) {
    syscall(SYS_futex, reinterpret_cast<std::uint32_t *>(&word), FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

} // namespace

void gate::set_mode(mode m) {
    mode_ = m;
    if (mode::asymmetric == m && 0 != membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)) {
        mode_ = mode::fenced;
    }
}

// Registered in set_mode(), and so not refused; but for a filter of system calls that was put up since.
bool gate::heavy_fence() const {
    if (mode::asymmetric == mode_) {
        return 0 == membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    }
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return true;
}

// The application has said `inside`, so the thread either saw it and is giving up, or is in
// and will be out in microseconds. A few looks first; on one core only sleeping helps.
__attribute__((noinline)) void gate::wait_for_thread() {
    for (unsigned i = 0; i < looks_before_sleep; ++i) {
        if (open == claim_.load(std::memory_order_acquire)) { // G2
            return;
        }
        relax();
    }
    for (;;) {
        std::uint32_t seen = claim_.load(std::memory_order_acquire); // G2
        if (open == seen) {
            return;
        }
        // relaxed: the word only tells the thread to wake us; data comes with G2
        if (awaited == seen || claim_.compare_exchange_strong(seen, awaited, std::memory_order_relaxed)) {
            futex_wait(claim_, awaited);
        }
    }
}

bool gate::claim() {
    if (mode::locked == mode_) {
        if (!mutex_.try_lock()) {
            return false;
        }
        if (0 != lent_) { // somebody is inside, and will go on there
            mutex_.unlock();
            return false;
        }
        return true;
    }
    no_fence_ = false;
    if (0 != inside_.load(std::memory_order_relaxed)) {
        return false; // spare the fence: it is in
    }
    claim_.store(claimed, std::memory_order_relaxed); // G3
    const bool fence = heavy_fence();
    no_fence_ = !fence;
    if (!fence || 0 != inside_.load(std::memory_order_acquire)) { // G4
        release();
        return false;
    }
    return true;
}

void gate::release() {
    if (mode::locked == mode_) {
        mutex_.unlock();
        return;
    }
    if (awaited == claim_.exchange(open, std::memory_order_release)) { // G6
        futex_wake(claim_);
    }
}

void gate::enter_locked() {
    mutex_.lock();
    ++locked_depth;
}

bool gate::try_enter_locked() {
    if (!mutex_.try_lock()) {
        return false;
    }
    ++locked_depth;
    return true;
}

void gate::leave_locked() {
    --locked_depth;
    mutex_.unlock();
}

std::uint32_t gate::lend() {
    const std::uint32_t depth = locked_depth;
    if (mode::locked != mode_ || 0 == depth) {
        return 0;
    }
    ++lent_;
    while (0 != locked_depth) {
        leave_locked();
    }
    return depth;
}

void gate::take_back(std::uint32_t depth) {
    for (std::uint32_t i = 0; i < depth; ++i) {
        enter_locked();
    }
    if (0 != depth) { // else it was not lent, and the mutex need not be held
        --lent_;
    }
}

bool gate::nested_locked() const { return locked_depth > 1; }

} // namespace smartint
