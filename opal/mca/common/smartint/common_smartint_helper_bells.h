// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// The node's helpers as a rank reaches them: a doorbell each, rung where its helper sleeps. The leader looks besides
// whether they live. The engine's, under the gate.
#pragma once

#include <cstdint>

#include "common_smartint_layout.h"
#include "common_smartint_segment.h"
#include "common_smartint_wake.h"

namespace smartint {

class helper_bells {
public:
    // Both outlive it; nothing is asked of the board before it is mapped.
    helper_bells(const segment &board, waker &by) : board_(board), waker_(by) {}
    ~helper_bells() { close(); }
    helper_bells(const helper_bells &) = delete;
    helper_bells &operator=(const helper_bells &) = delete;

    // A system call only where it sleeps; the copy of its doorbell is closed where it has ended.
    void ring(unsigned index);
    // The leader's, now and then: whether the first so many live, and says so once if one does not.
    void look_after(unsigned helpers);
    // It was there and has ended, as look_after() saw, and no other has taken its place.
    bool gone(unsigned index) const;
    // Is it one of theirs?
    bool holds(int fd) const;
    void close();

private:
    static constexpr int not_taken = -1; // a pidfd, yet, or descriptors ran out
    static constexpr int ended = -2;     // its process has
    struct one_helper {
        int doorbell = waker::unknown;
        std::uint32_t doorbell_of = 0; // the process,
        std::uint64_t started = 0;     // and when that began
        int process = not_taken;       // the leader's pidfd, or `ended`
        void forget_doorbell();
    };

    const segment &board_;
    waker &waker_;
    one_helper helpers_[layout::max_helpers];
};

} // namespace smartint
