// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Wake descriptors. A rank sleeps on an eventfd of its own; others take a copy of it with
// pidfd_getfd, which the kernel allows exactly where it allows direct copies between the
// two processes (same user, ptrace rules), so nobody else can wake a rank. Where it does not,
// or where the user prefers it, the kernel module wakes (common_smartint_wake_module.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "common_smartint_layout.h"
#include "common_smartint_segment.h"
#include "common_smartint_stats.h"
#include "common_smartint_wake_module.h"

namespace smartint {

// When a process started, in clock ticks since boot, with the PID namespace that this one is in: another process finds
// the same value under that number only if it is the same process. 0 if there is none; ended_start_time of one that has
// ended and whose parent has not waited for it, which is nobody's start.
inline constexpr std::uint64_t ended_start_time = 1;
std::uint64_t process_start_time(std::uint32_t pid);
// Of this process, as the number of its file; 0 if /proc is not there.
std::uint64_t pid_namespace();

// Where yama restricts access to one's descendants (kernel.yama.ptrace_scope 1, which many distributions set), this
// process says that it may be accessed by others of its user, as the ranks and helpers of a job must be. Elsewhere
// nothing happens. Open MPI's vader does the same for a rank.
void permit_access();

// A descriptor of another process, or -errno. start_time guards against a recycled pid.
int take_descriptor(std::uint32_t pid, std::uint64_t start_time, int their_fd);

// The file behind a descriptor of another process, opened anew for reading and writing, or -errno. It must be a plain
// file (or memory) of so many bytes. For that the kernel wants less than for taking the descriptor itself.
int open_their_file(std::uint32_t pid, std::uint64_t start_time, int their_fd, std::uint64_t bytes);
// A file of that length by either way: yama lets nobody take a descriptor, and a file may be opened all the same. What
// the process has under the number by now may be something else, which is an error.
int take_file(std::uint32_t pid, std::uint64_t start_time, int their_fd, std::uint64_t bytes);

// The other ranks' descriptors on this node, taken at first use. One that is refused is not tried again, but for want
// of descriptors: those run out for a while.
class waker {
public:
    ~waker() { close(); }
    void resize(unsigned slots) { fd_.assign(slots, unknown); }
    // What is woken by the module one by one is counted in *s, if there is one; not what wake_all() wakes in one call.
    void use_module(wake_kind how, const wake_identity &who, stats *s = nullptr);
    // Wake the rank of slot i. False: it cannot be woken from here (it loses overlap only).
    bool wake(unsigned i, const layout::slot &s);
    // Those of several ranks, in one call where there is a module: on a core that waker and ranks share,
    // 16 took half as long as one by one, as the first to wake did not push the waker aside. How
    // many were woken; *which has those that are there and could not be.
    unsigned wake_all(std::vector<std::uint32_t> *which, const segment &board);
    // By the module, if that comes first; and if it comes after a copy that was refused.
    bool first(std::uint32_t number) { return wake_kind::module == how_ && by_module(number); }
    bool instead(std::uint32_t number) { return wake_kind::automatic == how_ && by_module(number); }
    // take_descriptor(); for a while after a failure that may pass -EAGAIN, at once: a try is several system calls.
    int take(std::uint32_t pid, std::uint64_t start_time, int their_fd);
    // Of what take() returned: later it may be another.
    static bool may_pass(int result);
    // What to keep of it: the descriptor, or whether to try again.
    static constexpr int unknown = -1;
    static constexpr int impossible = -2;
    static int kept(int result);
    // Of an errno, 0: none. Said where it keeps a process from being woken; one that has ended need not be, and one
    // that may yet be reached is tried again.
    static void tell_no_wake(int error);
    // Is it one that others are woken by?
    bool holds(int fd) const;
    void close();

private:
    bool by_module(std::uint32_t number);
    bool has_module();
    bool short_of_descriptors() const { return std::chrono::steady_clock::now() < next_try_; }
    int note_shortage(int result);
    std::vector<int> fd_;
    // One for all, as they are one process's. Before the first failure long past.
    std::chrono::steady_clock::time_point next_try_;
    int module_ = unknown;
    wake_kind how_ = wake_kind::eventfd;
    wake_identity who_;
    stats *stats_ = nullptr;
};

bool ring_eventfd(int fd);
// Empties it. How often it was rung; 0: nothing was there.
std::uint64_t drain_eventfd(int fd);

} // namespace smartint
