// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// What the engine has for its interrupt thread, as that sees it under the gate: whether to go on, and what to sleep on.
#pragma once

#include <cstdint>

namespace smartint {

// Bytes so far, by messages or what is done by them.
struct traffic {
    std::uint64_t arrived = 0; // from other nodes
    std::uint64_t other = 0;   // sent, or inside the node
    std::uint64_t both() const { return arrived + other; }
    void come(bool by_network, std::uint64_t bytes) { (by_network ? arrived : other) += bytes; }
};

struct thread_view {
    bool network = false;     // look again soon: transfers by messages or the network, copies whose rest others move
    bool awaited = false;     // a short exchange is under way
    bool matched = false;     // a request is matched and its message is not here yet
    bool copies = false;      // direct copies are open
    bool expects = false;     // many whole messages are to come from the network
    bool listens = false;     // something is under way, and the strategy sleeps on the transport
    int transport = -1;       // its descriptor; -1: none to sleep on
    bool more = false;        // pass once more, when the gate has been open
    traffic moved;            // how fast is the network?
    std::uint64_t due = 0;    // bytes that are known to come, where nothing else is awaited
    std::uint64_t coming = 0; // left of the large message that came last, or of all that windows wait for; 0: not known
};

} // namespace smartint
