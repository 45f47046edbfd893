// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// What the members of a window on one node do to each other's lock, and to be alone when they
// accumulate, without the member it belongs to. Any thread, under the gate or not.
#pragma once

#include <cstdint>

#include "common_smartint_layout.h"
#include "common_smartint_relax.h"

namespace smartint {

// Take the lock if it is free for that. from_queue: though some stand in the member's queue; for
// the member itself, which lets the first of them have it.
inline bool take_lock(layout::window_words &words, bool exclusive, bool from_queue) {
    using namespace layout;
    std::uint64_t old = words.lock.load(std::memory_order_relaxed);
    for (;;) {
        if (0 != (old & window_exclusive) || (!from_queue && 0 != (old & window_queued)) ||
            (exclusive && 0 != (old & ~window_queued))) {
            return false;
        }
        const std::uint64_t next = exclusive ? old | window_exclusive : old + 1;
        // W1, pairs with W2: what the last holder stored is seen
        if (words.lock.compare_exchange_weak(old, next, std::memory_order_acquire, std::memory_order_relaxed)) {
            return true;
        }
    }
}

// By who holds it so. True: nobody does any more, and the member has a queue to look at. All of
// this and note_queue() write one word, so either the member sees the lock free or this the queue.
inline bool drop_lock(layout::window_words &words, bool exclusive) {
    using namespace layout;
    const std::uint64_t old = exclusive // W2, pairs with W1
                                  ? words.lock.fetch_and(~window_exclusive, std::memory_order_release)
                                  : words.lock.fetch_sub(1, std::memory_order_release);
    const std::uint64_t now = exclusive ? old & ~window_exclusive : old - 1;
    return window_queued == now;
}

// By the member: before it looks whether the first may have it, and when the last has gone.
inline void note_queue(layout::window_words &words, bool any) {
    if (any) {
        words.lock.fetch_or(layout::window_queued, std::memory_order_acq_rel);
    } else {
        words.lock.fetch_and(~layout::window_queued, std::memory_order_acq_rel);
    }
}

// Alone among those who accumulate in a member's memory, for as long as it lives. The pieces worked
// on are small. Who is waited for and has died is followed by the first who notices.
class combining_guard {
public:
    combining_guard(layout::window_words &words, std::uint32_t pid) : word_(words.combining) {
        std::uint32_t nobody = 0;
        if (!word_.compare_exchange_strong(nobody, pid, std::memory_order_acquire, // W3, pairs with W4
                                           std::memory_order_relaxed)) {
            wait(pid);
        }
    }
    ~combining_guard() { word_.store(0, std::memory_order_release); } // W4
    combining_guard(const combining_guard &) = delete;
    combining_guard &operator=(const combining_guard &) = delete;

private:
    void wait(std::uint32_t pid);

    layout::shared<std::uint32_t> &word_;
};

} // namespace smartint
