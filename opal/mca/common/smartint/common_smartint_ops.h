// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Send and receive operations: the engine's side of a request. The pml embeds one in each
// of its requests; the engine never sees the request around it. All fields are touched
// under the gate, except the copy_job, whose own words say who may.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "common_smartint_copy.h"
#include "common_smartint_foresight.h"
#include "common_smartint_network.h"
#include "common_smartint_wire.h"

namespace smartint {

struct endpoint;
struct recv_op;
struct send_op;
struct match_queue;

// board_index of an operation, where it is not an entry of the board's
inline constexpr int not_armed = -1;
inline constexpr int armed_by_catch_all = -2; // the table was full

inline constexpr std::int32_t any_source = -1;
inline constexpr std::int32_t any_tag = INT32_MIN;

enum class op_state : std::uint8_t {
    idle,
    posted,   // receive waits for its message
    queued,   // send waits for room in the transport
    rts_sent, // send waits for the receiver
    moving,   // data is on its way
    done,
};

// Under the gate a plain value, relaxed. For a caller that spins outside the gate
// (MPI_THREAD_MULTIPLE) until somebody else completes its operation: F1 in finish() pairs with
// F2 in seen(), the results come with the state.
class state_word {
public:
    op_state operator=(op_state s) {
        word_.store(s, std::memory_order_relaxed);
        return s;
    }
    operator op_state() const { return word_.load(std::memory_order_relaxed); }
    void finish() { word_.store(op_state::done, std::memory_order_release); } // F1
    op_state seen() const { return word_.load(std::memory_order_acquire); }   // F2

private:
    std::atomic<op_state> word_{op_state::idle};
};

// A place in a circular list, or its head.
struct list_hook {
    list_hook *prev = nullptr;
    list_hook *next = nullptr;

    void make_head() { prev = next = this; }
    bool empty() const { return next == this; }
    void append(list_hook &n) {
        n.prev = prev;
        n.next = this;
        prev->next = &n;
        prev = &n;
    }
    void unlink() {
        prev->next = next;
        next->prev = prev;
        prev = next = nullptr;
    }
};

// Operations that are done, in that order, linked through themselves: until the components are told. O: recv_op or
// send_op.
template <class O> class done_list {
public:
    done_list() = default;
    done_list(const done_list &) = delete;
    done_list &operator=(const done_list &) = delete;

    bool empty() const { return nullptr == head_; }
    bool is_all(const O *op) const { return op == head_ && nullptr == op->done_link; }
    void append(O *op) {
        op->done_link = nullptr;
        *tail_ = op;
        tail_ = &op->done_link;
    }
    O *take() { // not of an empty one
        O *op = head_;
        head_ = op->done_link;
        if (nullptr == head_) {
            tail_ = &head_;
        }
        return op;
    }

private:
    O *head_ = nullptr;
    O **tail_ = &head_;
};

// Who is told that a message is out, or that it never will be.
struct sent_call {
    void (*call)(void *arg, bool ok);
    void *arg;
    bool ok;
};

struct recv_op {
    // matching
    list_hook hook;
    match_queue *queue = nullptr; // where it is posted
    std::uint32_t context = 0;
    std::int32_t source = any_source;
    std::int32_t tag = any_tag;
    std::uint64_t order = 0; // of posting, across all queues
    // destination
    std::byte *buffer = nullptr; // nullptr: not contiguous, see scatter
    std::uint64_t capacity = 0;  // bytes
    // Put `bytes` of packed data at packed offset `at`. By any thread under the gate if `anywhere`, else by the
    // application's only.
    void *user = nullptr; // for scatter
    void (*scatter)(recv_op *, std::uint64_t at, const void *data, std::uint64_t bytes) = nullptr;
    // result
    std::int32_t got_source = 0;
    std::int32_t got_tag = 0;
    std::uint64_t announced = 0; // length of the message
    std::uint64_t received = 0;  // min(announced, capacity) once done
    // progress
    state_word state;
    bool blocking = false;      // its caller waits inside the engine: never armed
    bool anywhere = false;      // any thread may call scatter
    bool failed = false;        // the peer is lost
    bool tracked = false;       // counted as outstanding by the engine
    bool in_flight = false;     // counted as needing the transport drained
    bool streamed = false;      // through the ring, as both waited: in the count of its sender
    bool shown = false;         // while its caller waits, senders of this node can see it
    std::uint32_t expected = 0; // bytes that the engine counts as expected
    std::uint32_t burst = 0;    // the number of those that are timed together with it; 0: none
    int board_index = not_armed;
    endpoint *peer = nullptr; // the sender, once known; before that a guess or nullptr
    recv_op *done_link = nullptr;
    std::uint64_t id = 0;
    // of a rendezvous; a whole message touches nothing from here on
    std::uint64_t remote_id = 0;
    std::uint64_t remote_address = 0;
    std::uint16_t rts_flags = 0;         // the sender's
    std::uint64_t arrived = 0;           // bytes that came in, copy pipeline
    std::uint64_t moved = 0;             // of them, bytes in place
    std::uint64_t credited = 0;          // bytes the sender was told of
    std::uint32_t credit_bytes = 0;      // so many between two of those
    std::uint32_t window = 0;            // bytes that the sender may have under way, at least
    std::uint32_t unpacking = 0;         // fragments kept for the application thread
    wire::mode asked = wire::mode::none; // what the sender was asked for, none: we read
    bool reading = false;                // a network read is not completed; `completion` is in use
    bool orphaned = false;               // its peer is lost, and the rest may be on its way still
    std::uint64_t heard_us = 0;          // then: when the last of it came
    std::uint64_t reading_bytes = 0;
    notice_watch watch;    // of its CTS
    network_memory memory; // registered, for a read or write by the network
    network_key key;       // of the sender's memory
    network_completion completion;
    copy_job job;

    bool truncated() const { return announced > capacity; }
    // The interrupt thread can put its data where it belongs.
    bool open_to_thread() const { return nullptr != buffer || anywhere; }
};

struct send_op {
    endpoint *peer = nullptr;
    std::uint32_t context = 0;
    std::int32_t source = 0;
    std::int32_t tag = 0;
    const std::byte *buffer = nullptr; // nullptr: not contiguous, see gather
    std::uint64_t length = 0;
    // At most `bytes` of packed data from packed offset `at` into `data`; how many. Fewer where a basic element would
    // be split, all at the message's end. By any thread under the gate if `anywhere`, else by the application's only.
    void *user = nullptr; // for gather
    std::uint64_t (*gather)(send_op *, std::uint64_t at, void *data, std::uint64_t bytes) = nullptr;
    bool synchronous = false;
    bool blocking = false; // its caller waits inside the engine: never armed
    bool anywhere = false; // any thread may call gather
    state_word state;
    bool failed = false;
    bool asks = false;      // its answer tells what is quicker; see engine::goes_whole
    bool exchanges = false; // its RTS said that this rank receives, too
    bool tracked = false;
    bool in_flight = false;
    int board_index = not_armed;
    send_op *done_link = nullptr;
    std::uint64_t id = 0;
    std::uint64_t remote_id = 0;
    std::uint64_t remote_address = 0;
    std::uint64_t wanted = 0;        // bytes the receiver takes
    std::uint64_t moved = 0;         // bytes handed to the transport
    std::uint64_t consumed = 0;      // bytes the receiver acknowledged, copy pipeline
    std::uint64_t lingers_since = 0; // ns: all is handed over, and its caller is kept; see engine::lingers
    bool writing = false;            // a network write is not completed; `completion` is in use
    network_completion completion;
    network_memory memory;        // registered, for a read or write by the network
    network_key key;              // of the receiver's memory
    std::uint64_t begun = 0;      // the number of its rendezvous among this process's, 0: none
    std::uint32_t sequence = 0;   // of its RTS
    bool finely = false;          // the receiver computes: it is to see how fast it comes
    bool owed = false;            // begun before the end of this process, which waits for it
    std::uint64_t noticed_us = 0; // when its notice went out before the RTS did, or 0
    notice_watch watch;           // of its RTS
    wire::mode how = wire::mode::copy;
    send_op *active_link = nullptr; // of the engine's list of moving sends
    copy_job job;

    // The interrupt thread can take its data from where it is.
    bool open_to_thread() const { return nullptr != buffer || anywhere; }
};

} // namespace smartint
