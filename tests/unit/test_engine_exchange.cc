// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
// Two ranks of a node that send to each other, as by MPI_Sendrecv, and what of a message is decided in the wait only.
#include "common_smartint_clock.h"
#include "harness_exchange.h"

namespace smartint {
namespace {

using namespace test;

constexpr std::uint64_t small = 100000; // above what goes whole, and below what a waiting sender is asked to write

params by_ring_up_to(std::uint64_t bytes) {
    params p = with("auto");
    p.stream_bytes = bytes;
    p.timed_bytes = 0;
    p.arm_from = 524288;
    return p;
}

// One message each way.
struct both_ways {
    both_ways(node_pair &n, std::uint64_t bytes) : pair(n), size(bytes) {
        to_b.aim(n.to_b, bytes, 1, ctx, 0, tag);
        to_a.aim(n.to_a, bytes, 2, ctx, 1, tag);
        at_a.aim(bytes, ctx, 1, tag);
        at_b.aim(bytes, ctx, 0, tag);
    }
    // Both wait, and neither has looked yet.
    void begin() {
        pair.a.begin_wait();
        pair.b.begin_wait();
        pair.a.receive(&at_a);
        pair.b.receive(&at_b);
        pair.a.send(&to_b);
        pair.b.send(&to_a);
    }
    void end() {
        pair.drive("both", [&] { return 4 == to_b.delivered + to_a.delivered + at_a.delivered + at_b.delivered; });
        EXPECT_EQ(-1, at_a.differs(size, 2));
        EXPECT_EQ(-1, at_b.differs(size, 1));
        for (engine *e : {&pair.a, &pair.b}) {
            EXPECT_EQ(0U, engine_access::outstanding(*e) + engine_access::shown_receives(*e));
            EXPECT_EQ(0U, count(*e, stat::refused_messages));
            EXPECT_FALSE(engine_access::copies_open(*e));
        }
        EXPECT_EQ(0U, pair.to_a->streams + pair.to_b->streams);
        pair.b.end_wait();
        pair.a.end_wait();
    }
    node_pair &pair;
    std::uint64_t size;
    test_send to_b, to_a;
    test_recv at_a, at_b;
};

// a is in its wait before b has its receive, and b finds a's RTS as it posts it.
struct late_one : both_ways {
    late_one(node_pair &n, std::uint64_t bytes) : both_ways(n, bytes) {
        n.a.begin_wait();
        n.a.receive(&at_a);
        n.a.send(&to_b);
        n.b.progress();
        n.receive(n.b, at_b);
    }
    void wait_too() {
        pair.send(pair.b, to_a);
        pair.b.begin_wait();
    }
};

layout::rank_state shown(engine &e) {
    for (const auto s : {layout::rank_outside, layout::rank_inside, layout::rank_waiting, layout::rank_busy}) {
        if (engine_access::board(e).shows(s)) {
            return s;
        }
    }
    return layout::rank_thread;
}

// Takes what is in the ring, and moves no copy.
void look_only(engine &e) {
    e.enter();
    e.pass(false, false);
    e.leave();
}

// As if e had found out one half of what it has to, with others.
void go_on(engine &e, bursts::preference way) {
    bursts &b = engine_access::receives(e);
    for (unsigned i = 0; i < quicker::tries; ++i) {
        recv_op op;
        op.received = small;
        b.prefers(small);
        b.met(&op, bursts::met_in::exchange, way);
        b.received(&op);
    }
}

// Else one would fill and empty rings while the other reads.
TEST(exchange, both_directions_go_the_same_way_and_both_ways_are_tried) {
    params p = with("auto");
    p.timed_bytes = big;
    node_pair n(p);
    go_on(n.b, bursts::preference::pieces); // of the higher slot, and ahead
    EXPECT_NE(engine_access::receives(n.a).prefers(small), engine_access::receives(n.b).prefers(small));
    unsigned by_ring = 0;
    for (unsigned round = 0; round < 2 * quicker::tries; ++round) {
        both_ways x(n, small);
        x.begin();
        x.end();
        EXPECT_EQ(count(n.a, stat::copies), count(n.b, stat::copies)) << round;
        by_ring = count(n.a, stat::copies);
    }
    EXPECT_EQ(quicker::tries, by_ring);
    EXPECT_EQ(2 * quicker::tries, count(n.a, stat::receives_timed));
    EXPECT_EQ(3 * quicker::tries, count(n.b, stat::receives_timed));
}

// As in MPI_Sendrecv: left in between, the rank would ring its thread for the rest.
TEST(exchange, a_blocking_send_ends_with_the_receives_or_a_moment_later) {
    params p = with("auto");
    p.timed_bytes = big;
    for (const bool comes : {true, false}) {
        node_pair n(p);
        go_on(n.a, bursts::preference::pieces); // the ring's turn, and a decides
        both_ways x(n, small);
        x.to_b.blocking = true;
        x.begin();
        n.b.progress(); // answers a
        look_only(n.a); // answers b, and hands over all
        ASSERT_EQ(small, x.to_b.moved);
        ASSERT_NE(op_state::done, x.to_b.state.seen());
        ASSERT_NE(0U, x.to_b.lingers_since);
        if (comes) {
            x.to_b.lingers_since = now_ns(); // so that this machine's speed is no matter
            const std::uint64_t long_time = 60'000'000'000;
            x.to_b.lingers_since += long_time;
            wait_until("the receive", [&] {
                EXPECT_NE(op_state::done, x.to_b.state.seen());
                n.b.progress();
                n.a.progress();
                return 1 == x.at_a.delivered;
            });
        } else {
            wait_until("a moment", [&] {
                n.a.progress();
                return op_state::done == x.to_b.state.seen();
            });
            EXPECT_EQ(0U, x.at_a.delivered);
            EXPECT_TRUE(engine_access::receives(n.a).late()) << "no other send waits for these";
        }
        n.a.progress();
        EXPECT_EQ(op_state::done, x.to_b.state.seen());
        x.to_b.delivered = 1; // nobody is called for it
        x.end();
        EXPECT_EQ(1U, count(n.a, stat::writes_app));
    }
}

TEST(exchange, a_copy_is_taken_back_before_its_first_piece_only) {
    copy_job job;
    job.generation = 7;
    job.length = big;
    for (const bool begun : {false, true}) {
        job.own_next = std::uint64_t{7} << copy_job::generation_shift | (begun ? 4096 : 0);
        EXPECT_EQ(begun, job.is_begun());
        EXPECT_EQ(!begun, job.take_back());
        EXPECT_EQ(begun ? 4096 : big, job.own_next & copy_job::offset_mask);
        EXPECT_EQ(7U, job.own_next >> copy_job::generation_shift);
    }
}

TEST(exchange, one_that_is_met_in_a_call_goes_by_the_ring_once_both_wait) {
    node_pair n(by_ring_up_to(big));
    late_one x(n, small);
    for (int i = 0; i < 5; ++i) {
        n.a.progress();
        look_only(n.b);
    }
    EXPECT_EQ(0U, x.to_b.delivered) << "nobody moves it while b does not wait";
    EXPECT_TRUE(engine_access::copies_open(n.b));
    x.wait_too();
    EXPECT_EQ(layout::rank_busy, shown(n.b)) << "it waits, and may have to move it";
    x.end();
    EXPECT_EQ(1U, count(n.a, stat::copies)) << "an exchange, though b has a message to move";
    EXPECT_EQ(1U, count(n.b, stat::copies));
    EXPECT_EQ(layout::rank_outside, shown(n.b));
}

TEST(exchange, one_that_is_met_in_a_call_is_read_by_a_rank_that_only_looks) {
    node_pair n(by_ring_up_to(big));
    late_one x(n, small);
    n.send(n.b, x.to_a);
    n.b.progress(); // as MPI_Test
    EXPECT_EQ(1U, x.at_b.delivered);
    EXPECT_EQ(1U, count(n.b, stat::reads_app));
    n.b.begin_wait();
    x.end();
}

// Met in MPI_Irecv: the sender is asked to write it, in the call of one that may go to compute.
TEST(exchange, what_the_sender_was_asked_for_is_taken_back_before_it_begins) {
    node_pair n(by_ring_up_to(big));
    constexpr unsigned times = 70; // more than there are entries for shared copies
    for (unsigned i = 0; i < times; ++i) {
        late_one x(n, big);
        EXPECT_EQ(i + 1, count(n.b, stat::pushes_requested));
        if (0 == i % 2) {
            look_only(n.a); // it knows, and has not begun
        }
        x.wait_too();
        EXPECT_EQ(layout::rank_busy, shown(n.b)) << "so a does not begin at once";
        n.b.progress();
        x.end();
    }
    EXPECT_EQ(times, count(n.b, stat::copies));
    EXPECT_EQ(times, count(n.a, stat::copies));
    EXPECT_EQ(times, count(n.a, stat::writes_app)) << "by the ring";
}

TEST(exchange, what_the_sender_has_begun_stays_a_copy_and_is_not_timed) {
    params p = with("auto");
    p.timed_bytes = big;
    p.arm_from = 524288;
    node_pair n(p);
    for (unsigned i = 0; i < 2 * quicker::tries; ++i) { // some would go by the ring
        late_one x(n, big);
        look_only(n.a);
        EXPECT_TRUE(engine_access::copy_step(n.a, engine_access::view_of(n.a, &x.to_b.job)));
        x.wait_too();
        n.b.progress();
        EXPECT_EQ(0U, count(n.b, stat::copies)) << i;
        x.end();
    }
    EXPECT_EQ(2 * quicker::tries, count(n.b, stat::pushes_requested));
    EXPECT_EQ(0U, count(n.b, stat::receives_timed));
}

// While b computed. It shows itself busy with nothing then.
TEST(exchange, what_the_sender_has_written_meanwhile_is_nothing_to_be_busy_with) {
    node_pair n(by_ring_up_to(big));
    late_one x(n, big);
    wait_until("a writes", [&] { // a moment later, as b does not come
        n.a.progress();
        return 1 == x.to_b.delivered;
    });
    test_recv other;
    other.aim(big, ctx, 0, tag + 1);
    n.receive(n.b, other);
    n.b.begin_wait();
    n.b.progress();
    EXPECT_EQ(1U, x.at_b.delivered);
    EXPECT_EQ(layout::rank_waiting, shown(n.b));
    EXPECT_TRUE(n.b.cancel_receive(&other));
    n.b.end_wait();
    x.wait_too();
    x.end();
}

// It may have other uses for it than an exchange has.
TEST(exchange, a_push_for_a_sender_that_receives_nothing_is_left_to_it) {
    node_pair n(by_ring_up_to(big));
    test_send s;
    test_recv r;
    s.aim(n.to_b, big, 1, ctx, 0, tag);
    r.aim(big, ctx, 0, tag);
    n.a.begin_wait();
    n.a.send(&s);
    n.b.progress();
    n.receive(n.b, r);
    n.b.begin_wait();
    n.drive("both", [&] { return 1 == s.delivered && 1 == r.delivered; });
    n.b.end_wait();
    n.a.end_wait();
    EXPECT_EQ(-1, r.differs(big, 1));
    EXPECT_EQ(0U, count(n.b, stat::copies));
    EXPECT_EQ(1U, count(n.b, stat::pushes_requested));
}

TEST(exchange, beside_other_threads_it_is_decided_in_the_wait_too) {
    node_pair n(by_ring_up_to(big), true);
    late_one x(n, small);
    x.wait_too();
    x.end();
    EXPECT_EQ(1U, count(n.a, stat::copies));
    EXPECT_EQ(1U, count(n.b, stat::copies));
}

} // namespace
} // namespace smartint
