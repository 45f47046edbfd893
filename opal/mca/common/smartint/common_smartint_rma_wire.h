// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Messages of one-sided communication: all are of type wire::rma, begin with rma_head and go on with
// `runs` times rma_run (addresses in the target's memory) and then data, but for rma_short. Every message stands by
// itself: the target keeps between two of them only its epochs, the answers it owes, and what waits behind a lock
// (rma_kept_bytes).
#pragma once

#include <cstdint>

#include "common_smartint_rma_runs.h"
#include "common_smartint_wire.h"

namespace smartint::wire {

enum class rma_kind : std::uint8_t {
    none = 0,
    // to the target of an operation
    put = 1,        // runs, data; more: bytes of this operation that follow
    accumulate = 2, // as put; op, type
    fetch = 3,      // as accumulate, answered by data of what was there
    get = 4,        // runs; answered by data
    lock = 5,       // exclusive or not; answered by grant
    unlock = 6,     // behind all operations; answered by ack
    flush = 7,      // the same, the lock stays
    complete = 8,   // ends the exposure towards the sender
    // to the origin
    data = 9, // id, at: part of what a get or fetch asked for
    grant = 10,
    ack = 11,   // all before it is done
    fault = 12, // an operation was refused, as it lay outside the window; no bytes follow
    post = 13,  // the sender's memory is exposed to the receiver
    // among all
    barrier = 14,  // id: fence, at: round
    released = 15, // the receiver's lock, which it has a queue for, by the sender who shares it
    // for what the network does without the target
    want_key = 16, // to the target
    key = 17,      // to the origin: at, more: the memory; data: its key, none where no operand: it can't be reached
    pass = 18,     // to the target: the sender, who waits for its shared lock, comes before exclusive ones
    bundle = 19,   // to the target: several of the kinds up to complete, each behind an rma_part
    answers = 20,  // to the origin: the same of data, ack and grant
    count_ = 21
};

enum rma_flags : std::uint8_t {
    rma_exclusive = 1,   // lock
    rma_no_operand = 2,  // fetch: no data behind the runs; data: refused; key: the memory can't be reached
    rma_nonblocking = 4, // post: the target may compute while it waits, complete should wake it
    rma_by_thread = 8,   // data, grant, ack: by the interrupt thread, so the sender's application computes
    rma_waited = 16,     // flush, unlock: the sender waits in MPI for the ack and needs no notice of it; get: likely
    rma_woken = 64,   // data, grant, ack: a thread that somebody had to wake took in something that is answered by it
    rma_listens = 32, // data, grant, ack: what comes wakes the sender's thread, for half of its listen_us at least
};

// What fetches of one origin may have a target keep until it is sent: in one message, and under way.
inline constexpr std::uint64_t rma_fetch_bytes = 65536;
inline constexpr std::uint64_t rma_fetching_bytes = 262144;

// Behind a lock that is not granted yet an origin sends at most so much, in messages by themselves and in parts of
// bundles, their heads included: its target keeps them until then.
inline constexpr std::uint32_t rma_ahead_bytes = 16384;
// And what a target keeps: with the bundles' heads.
inline constexpr std::uint32_t rma_kept_bytes = 2 * rma_ahead_bytes;

struct rma_head {
    std::uint64_t name; // sender, job << 32 | process
    std::uint32_t window;
    std::uint32_t sequence; // 1-based, per (sender, receiver): ties notices to messages
    rma_kind kind;
    std::uint8_t op;   // rma_operator
    std::uint8_t type; // rma_type
    std::uint8_t flags;
    std::uint32_t runs;
    std::uint64_t id; // the origin's operation, given back with data
    std::uint64_t at; // packed offset in it
    // put, accumulate, fetch: bytes of the operation that follow; get: bytes asked for; data that is refused: bytes
    // that will not come; key: bytes of the memory at `at`
    std::uint64_t more;
};

// Inside a node, of an operation of one piece, or of an answer: what the ring does not tell. Type wire::rma_short. With
// the ring's word, 24 bytes of data share its line. It stands for a rma_head with one run.
struct rma_short_head {
    std::uint32_t window;
    std::uint32_t sequence; // as in rma_head
    rma_kind kind;          // put, accumulate, fetch, get; data
    std::uint8_t op, type, flags;
    std::uint32_t bytes; // of the target's memory
    std::uint64_t at;    // address of that; data: packed offset in what was asked for
    std::uint64_t id;    // the origin's operation, given back with data
};
static_assert(sizeof(rma_short_head) == 32 && std::is_trivially_copyable_v<rma_short_head>);

// In a bundle before each message; both begin and end at a multiple of its size, so that data lies as it does in a
// message by itself. kind none: the message follows, head and all. Else all it has to say is here, and its data
// follows: what needs one run of one piece at most. Of gets and fetches rma_part_id stands between them.
struct rma_part {
    std::uint32_t bytes; // of the message; else of the target's memory, or of the answer
    rma_kind kind;
    std::uint8_t op, type, flags;
    std::uint64_t at; // in the target's memory; of an answer: the operation's id
};
struct rma_part_id {
    std::uint64_t id, pad;
};
inline constexpr std::size_t rma_part_step = sizeof(rma_part);
static_assert(16 == rma_part_step && sizeof(rma_part_id) == rma_part_step && 0 == sizeof(rma_head) % rma_part_step);

static_assert(sizeof(rma_head) == 48 && std::is_trivially_copyable_v<rma_head>);
// A message of one run goes out with head and run as its header, the data from where it is.
static_assert(sizeof(rma_head) + sizeof(rma_run) <= max_header);

} // namespace smartint::wire
