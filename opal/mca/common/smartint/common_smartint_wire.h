// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// What travels between two engines, over rings and over the network alike. Every message is
// the fixed header named beside its type and, for some, data behind it.
// Receivers check lengths and ids before use (the engine's on_* functions).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace smartint::wire {

enum type : std::uint8_t {
    none = 0,
    eager = 1,      // match + data
    eager_sync = 2, // match_sync + data; answered by fin at the match
    rts = 3,        // rendezvous + key + sender's network address
    cts = 4,        // answer + key
    data = 5,       // fragment + data
    credit = 6,     // credit_msg
    fin = 7,        // finish
    am = 8,         // am_header + data: the BTL's own active messages
    atomic = 9,     // atomic_request
    atomic_answer = 10,
    rma = 11,       // rma_head + runs + data, see common_smartint_rma_wire.h
    helper_at = 12, // layout::relay_message_moved
    rma_short = 13, // rma_short_head + data, by a ring
    count_ = 14
};

struct match { // 12 bytes: with the ring's word, 44 bytes of payload share the first line
    std::uint32_t context;
    std::int32_t source; // rank in the communicator
    std::int32_t tag;
};

struct match_sync {
    match m;
    std::uint32_t pad;
    std::uint64_t name;   // sender, job << 32 | process
    std::uint64_t sender; // operation id
};

enum rts_flags : std::uint16_t {
    rts_readable = 1, // address is valid: the receiver may read from it
    rts_writes = 2,   // the sender can write into the receiver's memory over the network
    // Inside a node: the sender has a receive open itself, as in MPI_Sendrecv, and would have both directions go
    // through the rings or in pieces, or does not know.
    rts_exchange = 4,
    rts_by_ring = 8,
    rts_in_pieces = 16,
};

struct rendezvous {
    match m;
    std::uint16_t flags;
    // bytes of a pipeline of copies that the sender has under way at most, in window_unit, rounded down
    std::uint16_t window;
    std::uint64_t name;
    std::uint64_t sender;
    std::uint64_t length;
    std::uint64_t address;
    std::uint32_t sequence;      // 1-based, per (sender, receiver): ties notice to RTS
    std::uint16_t key_bytes;     // of the memory's key that follows, 0 where none is needed
    std::uint16_t address_bytes; // of the network address behind it, 0 inside a node
};

enum class mode : std::uint32_t {
    none = 0,
    copy = 1,      // send data fragments, with credits
    write = 2,     // write over the network, then fin
    copy_into = 3, // write with a direct copy between processes, then fin
};

struct answer {
    std::uint64_t sender;
    std::uint64_t receiver;
    std::uint64_t address; // where to write, for write and copy_into
    std::uint64_t length;  // bytes wanted, may be less than announced
    std::uint64_t name;    // of the receiver
    mode how;
    std::uint32_t key_bytes; // of the memory's key that follows, 0 where none is needed
    std::uint32_t sequence;  // 1-based, per (receiver, sender): ties notice to answer
    std::uint32_t shared;    // copy_into: (entry + 1) << 24 | generation of a copy that both
                             // sides work on, 0: the sender's alone
                             // others: of_computing, of_woken
};
inline constexpr std::uint32_t of_computing = 1; // the receiver is in no wait: it computes, or may the next moment
inline constexpr std::uint32_t of_woken = 2;     // its interrupt thread says this, which somebody has woken

struct fragment {
    std::uint64_t receiver;
    std::uint64_t offset; // and woken
};
// In a fragment's offset: the sender's interrupt thread sends it, and was woken for it by somebody.
inline constexpr std::uint64_t woken = 1ULL << 63;

struct credit_msg {
    std::uint64_t sender;
    std::uint64_t bytes; // consumed so far
};

// refused: the kernel lets the sender copy nothing. bad_memory: not this message.
enum class outcome : std::uint32_t { ok = 0, refused = 1, bad_memory = 2 };

struct finish {
    std::uint64_t operation; // of the side that gets it
    std::uint32_t to_sender; // 1: operation is a send; 3: and a thread says this that was woken
    outcome result;
};

struct am_header {
    std::uint64_t name; // sender
    std::uint32_t tag;
    std::uint32_t pad;
};

enum class atomic_op : std::uint32_t { add, band, bor, bxor, swap, cas };

struct atomic_request {
    std::uint64_t name;
    std::uint64_t id; // of the origin's pending operation, given back
    std::uint64_t address;
    std::uint64_t operand;
    std::uint64_t compare;
    atomic_op op;
    std::uint32_t bytes; // 4 or 8
};

struct atomic_result {
    std::uint64_t id;
    std::uint64_t value;
    outcome result; // bad_memory: nothing was changed
    std::uint32_t pad;
};

static_assert(sizeof(match) == 12 && sizeof(match_sync) == 32 && sizeof(rendezvous) == 56);
static_assert(sizeof(answer) == 56 && sizeof(fragment) == 16 && sizeof(credit_msg) == 16);
static_assert(sizeof(finish) == 16 && sizeof(am_header) == 16 && sizeof(atomic_request) == 48);
static_assert(std::is_trivially_copyable_v<rendezvous> && std::is_trivially_copyable_v<answer>);

// Of sequences, which tie notices to messages. They wrap, and 0 is none of them: it means that there was none yet.
// Receivers take the latest; nobody counts on all of them.
constexpr std::uint32_t next_sequence(std::uint32_t last) { return last + 1 + (UINT32_MAX == last ? 1 : 0); }

inline constexpr std::uint32_t window_unit = 65536;
inline constexpr std::uint32_t max_network_address = 96;
inline constexpr std::uint32_t max_key = 40;
inline constexpr std::uint32_t max_header = sizeof(rendezvous) + max_network_address;

// The header of a message; data and bytes are then what stands behind it. False: the message is too short for one.
template <class T> bool take_header(const std::byte *&data, std::uint32_t &bytes, T *out) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (bytes < sizeof(T)) {
        return false;
    }
    std::memcpy(out, data, sizeof(T));
    data += sizeof(T);
    bytes -= static_cast<std::uint32_t>(sizeof(T));
    return true;
}

} // namespace smartint::wire
