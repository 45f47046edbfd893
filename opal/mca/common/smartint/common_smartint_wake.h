// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Wake descriptors. A rank sleeps on an eventfd of its own; others take a copy of it with
// pidfd_getfd, which the kernel allows exactly where it allows direct copies between the
// two processes (same user, ptrace rules), so nobody else can wake a rank.
#pragma once

#include <cstdint>
#include <vector>

#include "common_smartint_layout.h"

namespace smartint {

// Start time of a process in clock ticks since boot, 0 if there is none.
std::uint64_t process_start_time(std::uint32_t pid);

// A descriptor of another process, or -errno. start_time guards against a recycled pid.
int take_descriptor(std::uint32_t pid, std::uint64_t start_time, int their_fd);

// The other ranks' descriptors on this node, taken at first use.
class waker {
public:
    ~waker() { close(); }
    void resize(unsigned slots) { fd_.assign(slots, unknown); }
    // Wake the rank of slot i. False: it cannot be woken from here (it loses overlap only).
    bool wake(unsigned i, const layout::slot &s);
    void close();

private:
    static constexpr int unknown = -1;
    static constexpr int impossible = -2;
    std::vector<int> fd_;
};

bool ring_eventfd(int fd);
// Empties it. How often it was rung; 0: nothing was there.
std::uint64_t drain_eventfd(int fd);

} // namespace smartint
