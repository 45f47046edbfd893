// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// What stands below the engine in a fuzz target: a network without wires and a kernel that does
// nothing to other processes. Both answer as the input says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace smartint {
struct network_completion;
}

namespace smartint::fuzz {

constexpr std::uint32_t key_bytes = 9; // of registered memory

struct system_state {
    // Answers of the transport and of the kernel, one after the other and again from the front.
    // Of each: 0 and 1 as it should be, 2 not now, 3 refused, broken.
    std::vector<std::uint8_t> answers;
    std::size_t next_answer = 0;
    bool can_write = false;                                   // the transport writes into remote memory
    bool can_read = false;                                    // and reads from there
    bool registers = false;                                   // both with keys only
    std::deque<std::vector<std::byte>> inbox;                 // messages that progress() hands over
    std::deque<std::pair<network_completion *, bool>> writes; // to be completed, and how
    std::vector<void *> lost;
    std::uint64_t wakes_taken = 0; // descriptors of others asked for
    std::uint64_t copied = 0;      // bytes

    unsigned answer() {
        if (answers.empty()) {
            return 0;
        }
        return answers[next_answer++ % answers.size()] & 3U;
    }
};

system_state &the_system();
void reset_system();

} // namespace smartint::fuzz
