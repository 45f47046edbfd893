// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Engines for tests: operations that own their buffers, two engines in one process on one
// board, and the door to the engine's private parts.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "common_smartint_engine.h"
#include "harness.h"

namespace smartint {

namespace test {
bool interrupt_threads_sleep(); // in the kernel, as that tells
}

// The friend the engine names.
class engine_access {
public:
    static void dispatch(engine &e, endpoint *from, std::uint8_t type, const void *data, std::uint32_t bytes) {
        e.dispatch(from, type, static_cast<const std::byte *>(data), bytes);
    }
    // As the interrupt thread would get it.
    static void dispatch_by_thread(engine &e, endpoint *from, std::uint8_t type, const void *data,
                                   std::uint32_t bytes) {
        e.by_thread_ = true;
        dispatch(e, from, type, data, bytes);
        e.by_thread_ = false;
    }
    static void take_message(engine &e, const void *message, std::uint32_t bytes) {
        e.take_message(static_cast<const std::byte *>(message), bytes);
    }
    static void note_arrival(engine &e, std::uint64_t name, std::uint32_t sequence) {
        e.note_arrival(name, 0, sequence);
    }
    static void lose(engine &e, endpoint *ep) { e.lose(ep); }
    // So much of it in which nobody looked.
    static void let_time_pass(engine &e, endpoint *lost, recv_op *op, std::uint64_t us) {
        for (std::uint64_t *t : {&e.parting_.heard_us, &e.parting_.looked_us, &lost->lost_us, &op->heard_us}) {
            *t -= us;
        }
    }
    static unsigned postponed_queues(const engine &e) { return e.put_off_.queues; }
    static waker &bell(engine &e) { return e.waker_; }
    static board_owner &board(engine &e) { return e.board_; }
    static ring_consumer &ring(engine &e) { return e.ring_; }
    static std::uint32_t outstanding(const engine &e) { return e.outstanding_; }
    static std::uint32_t shown_receives(const engine &e) { return e.shown_receives_; }
    static bursts &receives(engine &e) { return e.bursts_; }
    static unsigned in_flight(const engine &e) { return e.in_flight_; }
    static bool leaves_to_receiver(const engine &e, const copy_job &job) { return e.leaves_to_receiver(&job); }
    static bool copies_open(const engine &e) { return nullptr != e.copies_; }
    static bool in_network(const engine &e) { return e.in_network_; }
    static void hold_for(engine &e, std::chrono::nanoseconds moment) {
        e.held_.moment_ = static_cast<std::uint64_t>(moment.count());
        e.held_.next_ = 0;
    }
    static bool deferred_waiting(const engine &e) { return !e.deferred_.empty(); }
    // Whatever this machine has: a processing unit for each rank of the node.
    static void give_units(engine &e) { e.put_off_.units = put_off::seats::enough; }
    static bool parked(const engine &e) { return sleeps_so(e, engine::sleep::parked); }
    static bool listens(const engine &e) { return sleeps_so(e, engine::sleep::listens); }
    static bool hears(const engine &e) { return e.hears(); }
    static bool has_thread(const engine &e) { return static_cast<bool>(e.thread_); }
    static std::uint64_t posted(const engine &e) { return e.matcher_.posted_count(); }
    static std::uint64_t unexpected_messages(const engine &e) { return e.matcher_.unexpected_count(); }
    // The pieces of a copy the way the interrupt thread takes them.
    using view = copy_view;
    static view view_of(engine &e, copy_job *job) { return e.view_of(job); }
    static bool copy_step(engine &e, const view &v) { return e.copy_step(v, true); }

private:
    // What a thread says it will do; and all of this process are in their epoll_wait, for it says so before, and says
    // still so when it was woken.
    static bool sleeps_so(const engine &e, engine::sleep how) {
        return how == e.sleep_.load(std::memory_order_seq_cst) && test::interrupt_threads_sleep() &&
               how == e.sleep_.load(std::memory_order_seq_cst);
    }
};

} // namespace smartint

namespace smartint::test {

struct test_recv : recv_op {
    std::vector<std::byte> data; // destination, contiguous or not
    unsigned delivered = 0;
    bool overrun = false; // scatter was asked to write beyond the capacity

    // stride 1: contiguous. Else packed byte i lives at data[i * stride].
    void aim(std::uint64_t bytes, std::uint32_t ctx, std::int32_t src, std::int32_t t, unsigned stride = 1);
    std::ptrdiff_t differs(std::size_t bytes, std::uint64_t seed) const;
    unsigned step = 1;
};

struct test_send : send_op {
    std::vector<std::byte> data;
    unsigned delivered = 0;
    unsigned step = 1;
    void aim(endpoint *to, std::uint64_t bytes, std::uint64_t seed, std::uint32_t ctx, std::int32_t src, std::int32_t t,
             unsigned stride = 1);
};

void set_hooks(engine &e);

// Active messages that arrived at any engine with our hooks.
struct active_message_seen {
    endpoint *from;
    std::uint32_t type;
    std::vector<std::byte> data;
};
std::vector<active_message_seen> &active_messages();
unsigned &fatal_calls();

constexpr std::uint32_t test_job = 7;
constexpr std::uint64_t name_of(std::uint32_t process) { return static_cast<std::uint64_t>(test_job) << 32 | process; }

params test_params(const char *progress);

// Whether what e's calls began has ended, where e's thread may be at it.
inline bool ended(engine &e, const rma_sync &sync) {
    e.enter(); // does not look at anything
    const bool done = sync.done();
    e.leave();
    return done;
}

// Two ranks of one node, driven from one thread unless the strategy has threads.
class node_pair {
public:
    explicit node_pair(const params &p, bool threads = false);
    ~node_pair();
    void start_threads();
    void drive(const char *what, const std::function<bool()> &until);
    void send(engine &e, send_op &s) {
        e.enter();
        e.send(&s);
        e.leave();
    }
    void receive(engine &e, recv_op &r) {
        e.enter();
        e.receive(&r);
        e.leave();
    }

    scratch_directory directory;
    engine a, b;
    endpoint *to_b = nullptr; // of a
    endpoint *to_a = nullptr; // of b
};

// Two ranks of two nodes over tcp on the loopback.
class network_pair {
public:
    explicit network_pair(const params &p, bool threads = false, std::uint64_t name_of_b = name_of(1));
    void drive(const char *what, const std::function<bool()> &until);
    void send(engine &e, send_op &s) {
        e.enter();
        e.send(&s);
        e.leave();
    }
    void receive(engine &e, recv_op &r) {
        e.enter();
        e.receive(&r);
        e.leave();
    }

    engine a, b;
    endpoint *to_b = nullptr;
    endpoint *to_a = nullptr;
};

} // namespace smartint::test
