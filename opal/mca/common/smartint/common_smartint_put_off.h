// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// What the engine keeps of questions that are asked when the application enters or leaves: what is left to its next
// calls, and whether the thread hears of the network. Under the gate, but for `missed`.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

namespace smartint {

// So many calls that might be brief say that this rank is in, after it was asked for something.
inline constexpr unsigned seen_calls = 1024;

// Postponed until the applications come, or for postpone_us (engine_crowded.cc).
struct put_off {
    enum class occupation { unknown, crowded, roomy } cores = occupation::unknown;
    enum class seats { unknown, enough, too_few } units = seats::unknown; // for each rank of the node
    std::uint32_t missing = 0;                                            // a slot whose rank was not there yet
    std::vector<std::uint64_t> unnoticed;                                 // sends whose notice is kept
    std::uint64_t unnoticed_since = 0;                                    // ns: the first of them
    std::uint64_t unnoticed_seen = 0; // ns: when the application first came back; 0: not yet
    bool notices = false;             // held back, that the thread comes for (held.h)
    unsigned copies = 0;              // to whoever waits first
    unsigned queues = 0;              // of one-sided operations, to the next call
    unsigned bundles = 0;             // of small one-sided messages, to the next pass
    std::uint64_t since = 0;          // ns: the oldest of what is
    bool timer_set = false;           // the thread will come
    std::uint64_t timer_at = 0;       // ns: when that was set
    std::atomic<bool> missed{false};  // it came, and the application was in the engine

    bool anything() const { return !unnoticed.empty() || notices || 0 != copies || 0 != queues || 0 != bundles; }
};

// The thread at the transport's descriptor (engine_listen.cc).
struct listening {
    std::uint64_t until = 0;   // ns: so long it sleeps on the descriptor; 0: it need not
    std::uint64_t left_at = 0; // ns: when the application left meanwhile
    bool always = false;       // the strategy's
    // It would sleep there but does not: the application waits and reads it itself; or has left, and the transport
    // refused to be armed.
    bool hushed = false;
    bool refused = false; // the transport has something that nobody has looked at since it said so
};

} // namespace smartint
