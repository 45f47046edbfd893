// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
// Who rings an interrupt thread and what it finds: for nothing, while the application is in its engine, as it leaves.
#include <memory>
#include <thread>
#include <vector>

#include "harness_exchange.h"

namespace smartint {
namespace {

using namespace test;

TEST_F(computing, a_wake_without_any_reason_is_counted_as_futile) {
    node_pair n(parameters());
    n.start_threads();
    settle(n);
    ring_eventfd(n.b.wake_descriptor());
    wait_until("the count", [&] { return 1 == count(n.b, stat::wakes_futile); });
    settle(n);
    EXPECT_EQ(1U, count(n.b, stat::wakes_match));
}

TEST_F(computing, a_wake_while_the_application_is_inside_is_not_in_its_way) {
    node_pair n(parameters());
    n.start_threads();
    settle(n);
    n.b.enter();
    ring_eventfd(n.b.wake_descriptor());
    wait_until("the count", [&] { return 1 == count(n.b, stat::wakes_busy); });
    n.b.leave();
    EXPECT_EQ(0U, count(n.b, stat::wakes_futile));
}

TEST_F(computing, a_ring_for_what_the_application_finds_first_is_taken_back) {
    node_pair n(parameters());
    bool matched = false;
    test_recv r;
    test_send s;
    r.aim(big, ctx, 0, tag);
    s.aim(n.to_b, big, 3, ctx, 0, tag);
    n.receive(n.b, r);
    // as with a thread, but nobody sleeps on the descriptor
    n.b.enter();
    board_owner &board = engine_access::board(n.b);
    const int i = board.arm(rts_pattern(ctx, 0, tag, false, false), &matched);
    board.set_progress(layout::rank_outside);
    n.b.leave();
    n.send(n.a, s);
    EXPECT_EQ(1U, count(n.a, stat::wakes_sent));
    n.b.enter();
    n.b.pass(true);
    EXPECT_EQ(0U, count(n.b, stat::wakes_withdrawn)) << "the thread is the one woken";
    n.b.leave();
    EXPECT_TRUE(drain_eventfd(n.b.wake_descriptor()));
    n.drive("both", [&] { return 1 == s.delivered && 1 == r.delivered; });
    board.settle();
    board.set_progress(layout::rank_outside);
    test_recv again, end;
    test_send next, open; // one is under way: the engine looks at the board
    open.aim(n.to_a, big, 5, ctx, 1, tag);
    end.aim(big, ctx, 1, tag);
    n.send(n.b, open);
    again.aim(big, ctx, 0, tag);
    next.aim(n.to_b, big, 4, ctx, 0, tag);
    n.receive(n.b, again);
    n.send(n.a, next);
    n.drive("both", [&] { return 1 == next.delivered && 1 == again.delivered; });
    EXPECT_EQ(2U, count(n.a, stat::wakes_sent));
    EXPECT_EQ(1U, count(n.b, stat::wakes_withdrawn));
    EXPECT_FALSE(drain_eventfd(n.b.wake_descriptor())) << "nothing is left to wake for";
    n.receive(n.a, end);
    n.drive("all", [&] { return 1 == open.delivered && 1 == end.delivered; });
    n.b.enter();
    board.disarm(i);
    n.b.leave();
}

TEST_F(computing, what_was_matched_while_the_application_was_inside_is_served_when_it_leaves) {
    node_pair n(parameters());
    n.start_threads();
    settle(n);
    test_recv r;
    test_send s;
    r.aim(big, ctx, 0, tag);
    s.aim(n.to_b, big, 3, ctx, 0, tag);
    n.b.enter();
    n.b.receive(&r);
    n.send(n.a, s); // b is inside: nobody is woken
    EXPECT_EQ(0U, count(n.a, stat::wakes_sent));
    n.b.leave();
    wait_until("the thread reads", [&] { return 1 == count(n.b, stat::reads_thread); });
    EXPECT_EQ(1U, count(n.b, stat::wakes_self));
    EXPECT_EQ(0U, count(n.b, stat::wakes_match));
    n.drive("both", [&] { return 1 == s.delivered && 1 == r.delivered; });
    EXPECT_EQ(-1, r.differs(big, 3));
}

// A receiver may have seen this rank wait, and ask it to write: but for the sends of then, not for those that follow.
TEST_F(computing, a_rank_rings_its_own_thread_for_the_sends_of_its_last_wait_only) {
    node_pair n(parameters());
    n.a.start_thread();
    wait_until("its thread sleeps", [&] { return engine_access::parked(n.a); });
    test_send waited_for, later, small;
    test_recv first, second, other;
    waited_for.aim(n.to_b, big, 3, ctx, 0, tag);
    n.a.begin_wait();
    n.send(n.a, waited_for);
    n.a.end_wait();
    later.aim(n.to_b, big, 4, ctx, 0, tag + 1);
    n.send(n.a, later);
    first.aim(big, ctx, 0, tag);
    n.receive(n.b, first);
    n.drive("the first", [&] { return 1 == waited_for.delivered && 1 == first.delivered; });
    const std::uint64_t before = count(n.a, stat::wakes_self);
    small.aim(n.to_a, 8, 5, ctx, 1, tag);
    n.send(n.b, small);
    n.a.enter();
    n.a.leave();
    EXPECT_EQ(before, count(n.a, stat::wakes_self));
    other.aim(8, ctx, 1, tag);
    n.receive(n.a, other);
    second.aim(big, ctx, 0, tag + 1);
    n.receive(n.b, second);
    n.drive("all", [&] { return 1 == later.delivered && 1 == second.delivered && 1 == other.delivered; });
    EXPECT_EQ(-1, second.differs(big, 4));
}

TEST_F(computing, a_sender_who_stops_waiting_before_an_answer_that_found_no_room_is_woken_for_it) {
    node_pair n(parameters("auto"));
    n.a.start_thread(); // the other one sends what it has queued in its calls alone
    wait_until("it sleeps", [&] { return engine_access::parked(n.a); });
    test_recv r;
    test_send s;
    r.aim(big, ctx, 0, tag);
    s.aim(n.to_b, big, 3, ctx, 0, tag);
    n.send(n.a, s);
    n.b.progress();
    wait_until("it sleeps", [&] { return engine_access::parked(n.a); });
    n.a.begin_wait();
    std::vector<std::unique_ptr<test_send>> many; // until its ring is full
    while (nullptr == n.to_a->pending_head) {
        many.push_back(std::make_unique<test_send>());
        many.back()->aim(n.to_a, 4000, 5, ctx, 1, tag + 7);
        n.b.enter();
        n.b.send(many.back().get());
        n.b.leave();
    }
    n.b.enter();
    n.b.receive(&r); // its answer stands behind them
    n.b.leave();
    EXPECT_EQ(1U, count(n.b, stat::pushes_requested));
    for (std::size_t i = 0; i < many.size(); ++i) {
        n.a.pass(false); // all that is there, but for what stands in the other's queue
    }
    n.a.end_wait();
    wait_until("it sleeps", [&] { return engine_access::parked(n.a); });
    EXPECT_EQ(0U, count(n.a, stat::writes_thread));
    n.b.enter();
    n.b.pass(false, false); // sends it, and copies nothing
    n.b.leave();
    wait_until("its thread", [&] { return 1 == count(n.a, stat::writes_thread); });
    EXPECT_EQ(-1, r.differs(big, 3));
    std::vector<std::unique_ptr<test_recv>> others;
    for (std::size_t i = 0; i < many.size(); ++i) {
        others.push_back(std::make_unique<test_recv>());
        others.back()->aim(4000, ctx, 1, tag + 7);
        n.receive(n.a, *others.back());
    }
    n.drive("all", [&] {
        return 1 == s.delivered && 1 == r.delivered && 1 == many.back()->delivered && 1 == others.back()->delivered;
    });
}

// It sleeps until the network has something, and has no timer: what begins inside the node is told by a ring.
TEST_F(computing, a_thread_that_listens_to_the_network_is_rung_for_a_copy_inside_the_node) {
    params p = parameters();
    p.progress = "interrupt";
    test_recv other, r;
    test_send s;
    node_pair n(p);
    ASSERT_EQ(0, n.b.open_network());
    n.start_threads();
    other.aim(big, ctx, 0, tag + 1);
    n.receive(n.b, other);
    wait_until("the receiver's thread listens", [&] { return engine_access::listens(n.b); });
    s.aim(n.to_b, big, 3, ctx, 0, tag);
    n.send(n.a, s);
    r.aim(big, ctx, 0, tag);
    n.receive(n.b, r); // finds it, and goes away
    wait_until("the thread reads", [&] { return 1 == count(n.b, stat::reads_thread); });
    test_send last;
    last.aim(n.to_b, big, 4, ctx, 0, tag + 1);
    n.send(n.a, last);
    n.drive("all", [&] { return 1 == s.delivered && 1 == r.delivered && 1 == last.delivered && 1 == other.delivered; });
    EXPECT_EQ(-1, r.differs(big, 3));
    EXPECT_EQ(-1, other.differs(big, 4));
}

} // namespace
} // namespace smartint
