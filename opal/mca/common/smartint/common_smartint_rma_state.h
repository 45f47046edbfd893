// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// What one-sided communication keeps: the places in an origin's queues, what a target owes, the processes of a window,
// and windows. All of it is class rma's (common_smartint_rma.h), under the engine's gate.
#pragma once

#include <deque>
#include <list>
#include <memory>
#include <unordered_map>
#include <vector>

#include "common_smartint_layout.h"
#include "common_smartint_network.h"
#include "common_smartint_ops.h"
#include "common_smartint_rma_kernel.h"
#include "common_smartint_rma_runs.h"
#include "common_smartint_rma_wire.h"

namespace smartint {

struct endpoint;
struct rma_window;
struct rma_peer;

enum class rma_error : std::uint8_t {
    none,
    range, // outside the target's window, or memory that is not attached
    lost,  // the target is gone
};

// What a call, or the request of one, waits for: so many parts. Done at 0.
struct rma_sync {
    std::uint32_t pending = 0;
    rma_error error = rma_error::none;
    void *user = nullptr; // told by hooks().rma_done, or nullptr: somebody looks at done()
    rma_sync *link = nullptr;

    bool done() const { return 0 == pending; }
};

// Of a put or get that the network does without the target (rma_network.cc).
struct rma_network_state {
    network_memory memory; // of the origin
    std::byte *local = nullptr;
    std::uint64_t remote = 0;
    std::uint64_t begun = 0; // bytes
};

// One place in an origin's queue.
struct rma_item {
    enum class what : std::uint8_t {
        put,
        get,
        accumulate,
        fetch, // operations
        await_post,
        lock,
        unlock,
        flush,
        complete,
        local, // until all before it is complete at the origin
    };
    rma_item *next = nullptr;
    what kind = what::put;
    bool begun = false;                 // lock: asked for; unlock: let go by this process, at the ack
    bool exclusive = false;             // lock, and such an unlock
    bool passes = false;                // lock: shared ones after a while, see let_pass
    bool for_fence = false;             // flush
    bool waiting = false;               // get or fetch: all asked for, out of the queue
    bool small = false;                 // of send_small(): used again
    bool by_message = false;            // operation: though a direct copy could do it
    bool chosen = false;                // which of the two was found out before it had an item
    bool slack = false;                 // put or get: a large copy inside the node, not before the network is at work
    rma_error failed = rma_error::none; // known of it, and told by its request
    rma_peer *peer = nullptr;
    rma_operator op = rma_operator::replace;
    rma_type type = rma_type::bytes;
    std::uint64_t after_fence = 0; // not before that many fences are through
    // lock: not asked for before those that this thread asked for earlier are held; 0: at once
    std::uint32_t thread = 0;
    rma_sync *sync = nullptr;

    // operations: memory of the origin, result of a get or fetch, memory of the target
    std::byte *origin = nullptr;
    rma_layout origin_layout;
    rma_cursor origin_at;
    std::byte *result = nullptr;
    rma_layout result_layout;
    rma_cursor result_at;
    std::uint64_t target = 0; // address that target_layout is relative to
    rma_layout target_layout;
    rma_cursor target_at;
    std::uint64_t id = 0;   // of a get or fetch under way
    unsigned under_way = 0; // transfers: the network has memory of it
    std::unique_ptr<rma_network_state> network;
    // small: of its result, which is one piece
    std::uint64_t length = 0;
    std::uint64_t arrived = 0;
    std::byte operands[32]; // of a compare-and-swap: new value, value to compare with

    // Whoever waits for it may do so much later; else a call does, from now on.
    bool requested() const { return nullptr != sync && nullptr != sync->user; }
    std::uint64_t awaited() const { return small ? length - arrived : result_at.left(); } // bytes of the result
    bool one_piece() const {
        return target_layout.pieces() <= 1 && origin_layout.pieces() <= 1 && result_layout.pieces() <= 1;
    }
    void aim() { // once the layouts are set
        origin_at = rma_cursor(&origin_layout);
        result_at = rma_cursor(&result_layout);
        target_at = rma_cursor(&target_layout);
    }
};

// A small operation of one piece, before it has an item.
struct rma_small {
    wire::rma_kind kind = wire::rma_kind::put;
    rma_operator op = rma_operator::replace;
    rma_type type = rma_type::bytes;
    const std::byte *operand = nullptr; // copied; of a compare-and-swap the new value and what to compare with
    std::byte *result = nullptr;        // of a get or fetch
    std::uint64_t target = 0;           // address
    std::uint64_t bytes = 0;            // of the target's memory
};
// What became of it: submit it as if nothing had been; it is done or under way; or submit it with an item that says it
// was chosen, and how it goes.
enum class rma_begun : std::uint8_t { no, done, copy, message };

// A write, read or flush of the network, or a message from where its data is, until its completion is called back.
struct rma_transfer {
    class rma *owner = nullptr;
    rma_peer *peer = nullptr;
    rma_item *item = nullptr; // nullptr: a flush, or an answer
    bool answer = false;
    network_completion completion;
    rma_transfer *link = nullptr; // of those nobody uses
};

// Something a target still owes an origin, in order.
struct rma_reply {
    // data, ack, grant, fault, key: to be sent. lock: to be queued. unlock: to be let go, then acked. complete: noted
    wire::rma_kind kind = wire::rma_kind::none;
    bool exclusive = false; // lock
    bool waited = false;    // ack: no notice of it; data: in large messages
    rma_error error = rma_error::none;
    std::uint64_t id = 0;
    std::uint64_t at = 0;
    std::byte *base = nullptr; // data of a get: where it is
    rma_layout layout;
    rma_cursor cursor;
    std::vector<std::byte> kept; // data of a fetch: what was there
    std::uint64_t sent = 0;
};

// Is a notice to a target, on another node, of use? See held.h.
struct rma_notices {
    bool watched = false;       // one was posted, or held, and there is no answer yet
    bool held = false;          // it is held back
    bool late = false;          // it was, and posted in the end
    std::uint8_t score = 0;     // foresight's
    std::uint8_t doublings = 0; // of the time that it is held at most
    bool by_woken = false;      // as target: a thread that was woken took something in since the last answer
};

enum class rma_hold : std::uint8_t { none, shared, exclusive };

// One process of a window, as this one deals with it; made when there is something to deal with, and kept as long as
// the window. An empty list takes no memory of its own, as an empty deque does.
struct rma_peer {
    rma_window *window = nullptr;
    int rank = 0;
    endpoint *ep = nullptr;
    // its memory, unless the window is dynamic
    std::uint64_t base = 0;
    std::uint64_t bytes = 0;
    std::byte *mapped = nullptr;           // the same memory in this process, or nullptr
    layout::window_words *words = nullptr; // its lock, if this process shares it

    // as origin
    rma_item *head = nullptr;
    rma_item *tail = nullptr;
    std::uint64_t queued = 0;        // bytes of operations that the queue has held since it was empty
    bool requested = false;          // a request depends on it
    bool postponed = false;          // to the next call; counted by the engine
    bool overdue = false;            // no call came for long
    std::uint32_t posts = 0;         // of the target, not used by an epoch yet
    bool granted = false;            // the lock asked for by the item at the head
    rma_hold held = rma_hold::none;  // of the lock in `words`, by this process
    rma_item *asked = nullptr;       // lock that is asked for by message; what follows may go ahead of the grant
    std::uint32_t ahead = 0;         // bytes sent ahead of the grant
    bool passing = false;            // a lock of all is asked for
    std::uint64_t asked_at = 0;      // us: when the lock was asked for, or to pass
    bool unacked = false;            // stores sent, or in the bundle, since the last flush or unlock
    std::vector<std::byte> bundle;   // small messages that are not sent yet
    unsigned bundled_asks = 0;       // of them, those that are answered
    bool lock_bundled = false;       // one asks for the lock, and what goes ahead of it may follow it there
    bool timed = false;              // the thread will come for the bundle; counted by the engine
    bool stuck = false;              // the transport is full
    std::uint32_t told = 0;          // sequence the target was last woken for, or counted on to find
    std::uint32_t told_early_ms = 0; // ms: when it was woken before there was room for the message; 0: not so
    bool attentive = false;          // its application gave the last answer: it may still be in MPI
    rma_notices notices;             // of what it has to see to
    std::uint64_t listens_until = 0; // us: what comes wakes its thread
    bool owed_wake = false;          // so it has not been woken for the last message, yet
    bool unsure = false;             // whether it finds that before it leaves MPI
    bool gets_postponed = false;     // their data, to the next call; counted by the engine
    bool gets_requested = false;     // one of them or more, so they are not: it may be waited for late
    bool in_wait = false;            // this process, when what it asked for last came
    std::uint64_t woken_at = 0;      // us, by one that may go without
    std::uint64_t asked_since = 0;   // bytes, since any
    std::uint64_t owed_since = 0;    // that this process waits for it, us; 0: it has not begun to
    std::uint64_t gets_begun = 0;
    std::uint64_t gets_done = 0;
    std::uint64_t gets_before = 0; // of gets_begun, those before the last end of an epoch, or flush
    std::uint64_t fetching = 0;    // bytes of fetches asked for and not here
    std::uint64_t getting = 0;     // and of gets
    std::list<rma_item *> acks;    // flush and unlock items whose ack is to come
    std::list<std::pair<std::uint64_t, rma_item *>> locals; // until gets_done
    int armed = not_armed;                                  // request on the board for what the head waits for

    // as origin, where the network reaches the target's memory
    enum class reach : std::uint8_t { unknown, asked, none, known } reached = reach::unknown;
    network_key key;
    std::vector<rma_item *> under_way; // all of them begun
    unsigned transfers = 0;            // of them, of the head, or a flush
    bool unflushed = false;            // written, and perhaps not there yet
    std::uint64_t unposted_at = 0;     // of fences_done, when that was
    bool unposted = false;             // an exposure was completed, and stores of then may be on their way
    bool broken_off = false;           // the transport failed in one
    std::vector<rma_item *> ending;    // of a lost peer, once the transport is done with the memory of all

    // as target
    std::list<rma_reply> replies;
    std::uint64_t fetched = 0;  // bytes of fetches that are kept in replies
    std::uint64_t incoming = 0; // bytes announced of an operation that is arriving
    rma_hold holds = rma_hold::none;
    std::uint16_t answering = 0; // transfers of its gets' data, that read this process's memory
    std::uint32_t completes = 0; // that ended no exposure yet
    bool exposed = false;        // the exposure at the front waits for its complete
    bool wants_wake = false;     // its post said so
    bool lock_pending = false;   // it has asked and not got it: its next messages are kept
    std::list<std::vector<std::byte>> kept;
    std::uint32_t kept_bytes = 0;

    bool listed = false;  // in the list of peers with something to do
    bool unasked = false; // in that of those that may have to arm when the application's wait is over
    enum class flight : std::uint8_t { none, brisk, bulk };
    flight flying = flight::none; // counted by the engine as under way
    std::uint64_t due = 0; // bytes that are known to come; of a brisk one in the engine's sum, of a bulk one in rma's
};

static_assert(sizeof(rma_peer) <= 512); // onesided.md: half a KiB for each

struct rma_region {
    std::uint64_t base = 0;
    std::uint64_t bytes = 0;
};

// What one learns of every process when a window is made.
struct rma_member {
    endpoint *ep = nullptr;
    std::uint64_t base = 0;
    std::uint64_t bytes = 0;
    std::byte *mapped = nullptr;
    layout::window_words *words = nullptr; // of those on this node, if the window's members share any
};

struct rma_fence {
    std::uint64_t number = 0;          // 1-based
    std::unique_ptr<rma_sync> flushed; // this process's operations of the epoch that ends
    unsigned round = 0;                // of the barrier: those that are through
    bool sent = false;                 // this round's message
    rma_sync *sync = nullptr;
};

struct rma_exposure {
    std::vector<int> origins;
    std::uint64_t after_fence = 0;
    bool posted = false;
    bool silent = false; // no post is sent: its origins know
    bool nonblocking = false;
    std::uint32_t open = 0;   // origins that are not complete
    rma_sync *sync = nullptr; // of the wait
};

struct rma_waiter {
    rma_peer *peer;
    bool exclusive;
    unsigned passed = 0;          // an exclusive one: so often others went first
    std::uint64_t not_before = 0; // us: and not again until then
};

struct rma_window {
    std::uint32_t id = 0;
    int rank = 0;
    bool dynamic = false;
    bool far = false;                // some member is reached by the network
    std::vector<rma_region> regions; // of this process
    std::vector<rma_member> members;
    std::vector<std::unique_ptr<rma_peer>> peers;
    rma_error error = rma_error::none; // the first since a synchronization reported one
    bool broken = false;               // a member is lost: nothing that needs all can end well

    std::deque<rma_fence> fences;
    std::vector<std::unique_ptr<rma_sync>> left_over; // of fences that a loss ended: flushes point there
    std::uint64_t fences_begun = 0;
    std::uint64_t fences_done = 0;
    std::unordered_map<std::uint64_t, std::uint32_t> rounds_in; // by fence, bits
    int armed = not_armed;                                      // for a fence's barrier
    bool unasked = false;                                       // as a peer's
    bool postponed = false; // the barrier's next round, to the calls of this process, for a time

    std::deque<rma_exposure> exposures;
    int armed_complete = not_armed; // for the end of a nonblocking one

    network_memory memory;  // of this process, registered for others
    bool offered = false;   // somebody asked for its key
    bool reachable = false; // and got it

    layout::window_words *words = nullptr; // of this process: shared, or
    layout::window_words own_words{};
    std::deque<rma_waiter> waiters; // for the lock of this process
    std::unordered_map<const endpoint *, int> rank_of;

    int size() const { return static_cast<int>(members.size()); }
};

} // namespace smartint
