// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Listening: a rank that was asked for something over the network while it computed, a fetch, a lock, may be asked
// again soon. The way by two helpers costs the one who asks 100 microseconds, three times the answer. So for
// listen_us after the interrupt thread has given such an answer it sleeps on the transport's descriptor, and what
// comes wakes it. While the application waits in MPI it reads the transport itself, and the thread does not listen.
#include <utility>

#include "common_smartint_clock.h"
#include "common_smartint_engine.h"
#include "common_smartint_thread.h"

namespace smartint {
namespace {

constexpr std::uint64_t computes_ns = 50000; // for longer than an answer takes

} // namespace

// The thread's, in a pass. An application that has just left may have been in time for it too: that is no reason to
// listen longer.
void engine::listen_on() {
    if (0 == params_.listen_us || network_.event_fd() < 0) {
        return;
    }
    const std::uint64_t now = now_ns();
    if (0 == listening_.until || now - listening_.left_at >= computes_ns) {
        listening_.until = now + 1000 * static_cast<std::uint64_t>(params_.listen_us);
    }
}

bool engine::listens() {
    if (listening_.always) {
        return true;
    }
    if (0 != listening_.until && now_ns() >= listening_.until) {
        listening_.until = 0;
    }
    return 0 != listening_.until;
}

// For at least as long again as others may count on: they know only when they were told.
bool engine::listens_for_long() const {
    return 0 != listening_.until && now_ns() + 500 * static_cast<std::uint64_t>(params_.listen_us) < listening_.until;
}

// The application begins to wait.
void engine::hush() {
    if (may_listen() && thread_) {
        listening_.hushed = thread_->hush() || listening_.hushed;
    }
}

// The application leaves, and the gate is still its own. A thread that this call has hushed hears again, whatever it
// listened for; one that has parked, if there is a reason. A transport that refuses has something already, and may
// tell of it only once: until somebody has looked the thread must be rung for it.
engine::ring_it engine::listen_again() {
    const bool parked = sleep::parked == sleep_.load(std::memory_order_acquire);
    const bool listening = listens();
    listening_.left_at = listening ? now_ns() : listening_.left_at;
    const bool again = parked ? listening : listening_.hushed;
    if (again && !thread_->watches() && !listening_.refused && arm_network()) {
        thread_->watch_again();
    }
    const bool was_hushed = std::exchange(listening_.hushed, again && listening_.refused);
    if (listening_.hushed) {
        return ring_it::always;
    }
    if (again && was_hushed) {
        return ring_it::if_deaf;
    }
    return listening ? ring_it::if_parked : ring_it::never;
}

bool engine::arm_network() {
    listening_.refused = !network_.arm();
    return !listening_.refused;
}

bool engine::hears() const { return thread_->watches(); }

} // namespace smartint
