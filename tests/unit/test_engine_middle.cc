// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
// Messages above the eager limit that may go whole inside a node, or are read by a receiver that waits.
#include "harness_exchange.h"

namespace smartint {
namespace {

using namespace test;

constexpr std::uint64_t middle = 16384;

// Receivers that have the choice want the ring up to so much.
params by_ring_up_to(std::uint64_t bytes) {
    params p = with("auto");
    p.stream_bytes = bytes;
    p.timed_bytes = 0;
    return p;
}

// Several that are sent without a receive in between are another matter.
void begins_a_receive(engine &e) {
    test_recv r;
    r.aim(20000, ctx, 0, tag + 1);
    e.enter();
    e.receive(&r);
    EXPECT_TRUE(e.cancel_receive(&r));
    e.leave();
}

// blocking: as MPI_Send, whose caller is in the engine until it is done; else as MPI_Isend and MPI_Wait.
void send_one(node_pair &n, std::uint64_t bytes, bool receiver_waits, bool blocking = true) {
    test_send s;
    test_recv r;
    s.aim(n.to_b, bytes, bytes, ctx, 0, tag);
    s.blocking = blocking;
    r.aim(bytes, ctx, 0, tag);
    n.receive(n.b, r);
    if (receiver_waits) {
        n.b.begin_wait();
    }
    n.a.begin_wait();
    n.a.send(&s);
    n.drive("both", [&] { return op_state::done == s.state.seen() && 1 == r.delivered; });
    n.a.end_wait();
    if (receiver_waits) {
        n.b.end_wait();
    }
    EXPECT_EQ(-1, r.differs(bytes, bytes)) << bytes;
}

void nothing_is_open(node_pair &n) {
    for (engine *e : {&n.a, &n.b}) {
        EXPECT_EQ(0U, engine_access::outstanding(*e) + engine_access::shown_receives(*e));
        EXPECT_FALSE(engine_access::board(*e).shows(layout::rank_waiting));
        EXPECT_FALSE(engine_access::board(*e).shows(layout::rank_busy));
    }
}

TEST(middle_sized, goes_whole_or_is_read_by_a_receiver_that_waits_for_it) {
    node_pair n(by_ring_up_to(0));
    for (std::uint64_t round = 1; round <= 3; ++round) {
        begins_a_receive(n.a);
        send_one(n, middle, false);
        EXPECT_EQ(round, count(n.a, stat::eager_sent)) << "it is posted, and nobody waits";
        begins_a_receive(n.a);
        send_one(n, middle, true);
        EXPECT_EQ(round, count(n.a, stat::rts_sent));
        EXPECT_EQ(round, count(n.b, stat::reads_app));
        nothing_is_open(n);
    }
    // It waits for something small.
    begins_a_receive(n.a);
    n.b.begin_wait();
    test_send other;
    other.aim(n.to_b, middle, 6, ctx, 0, tag);
    n.send(n.a, other);
    n.b.end_wait();
    EXPECT_EQ(4U, count(n.a, stat::eager_sent));
    test_recv last;
    last.aim(middle, ctx, 0, tag);
    n.receive(n.b, last);
    n.drive("the last", [&] { return 1 == last.delivered && 1 == other.delivered; });
    EXPECT_EQ(-1, last.differs(middle, 6));
    nothing_is_open(n);
}

TEST(middle_sized, a_sender_that_goes_on_has_it_read_only_where_that_is_known_to_be_quicker) {
    node_pair n(by_ring_up_to(0));
    send_one(n, middle, true, false);
    EXPECT_EQ(1U, count(n.a, stat::eager_sent));
    for (int i = 0; i < answers::enough; ++i) {
        begins_a_receive(n.a);
        send_one(n, middle, true);
    }
    begins_a_receive(n.a);
    send_one(n, middle, true, false);
    EXPECT_EQ(1U, count(n.a, stat::eager_sent));
    begins_a_receive(n.a);
    send_one(n, middle + middle / 2, true, false);
    EXPECT_EQ(2U, count(n.a, stat::eager_sent)) << "of another size";
}

// As by MPI_Sendrecv: this side's own receive is open.
TEST(middle_sized, in_an_exchange_goes_whole_unless_known_to_be_quicker_read) {
    node_pair n(by_ring_up_to(0));
    test_recv own;
    own.aim(middle, ctx, 0, tag + 1);
    for (unsigned i = 1; i <= answers::enough + 1U; ++i) {
        n.receive(n.a, own);
        send_one(n, middle, true);
        EXPECT_TRUE(n.a.cancel_receive(&own));
        EXPECT_EQ(i, count(n.a, stat::eager_sent));
    }
    for (int i = 0; i < answers::enough; ++i) {
        begins_a_receive(n.a);
        send_one(n, middle, true);
    }
    EXPECT_EQ(3U, count(n.a, stat::rts_sent));
    n.receive(n.a, own);
    send_one(n, middle, true);
    EXPECT_TRUE(n.a.cancel_receive(&own));
    EXPECT_EQ(4U, count(n.a, stat::rts_sent));
    EXPECT_EQ(answers::enough + 1U, count(n.a, stat::eager_sent));
    nothing_is_open(n);
}

TEST(middle_sized, one_that_comes_before_its_receive_is_copied_by_the_call_that_posts_it) {
    node_pair n(by_ring_up_to(0));
    test_recv other;
    other.aim(middle, ctx, 0, tag + 1);
    n.receive(n.b, other);
    n.b.begin_wait(); // for another one
    test_send s;
    s.aim(n.to_b, middle, 7, ctx, 0, tag);
    s.blocking = true;
    begins_a_receive(n.a);
    n.send(n.a, s);
    EXPECT_EQ(1U, count(n.a, stat::rts_sent));
    n.b.progress();
    EXPECT_TRUE(n.b.cancel_receive(&other));
    n.b.end_wait();
    test_recv r;
    r.aim(middle, ctx, 0, tag);
    n.receive(n.b, r);
    wait_until("the sender", [&] { // the receiver computes
        n.a.progress();
        return op_state::done == s.state.seen();
    });
    n.drive("it", [&] { return 1 == r.delivered; });
    EXPECT_EQ(-1, r.differs(middle, 7));
    nothing_is_open(n);
}

TEST(middle_sized, goes_whole_where_receivers_that_wait_want_the_ring) {
    node_pair n(by_ring_up_to(big));
    for (unsigned i = 0; i < answers::enough + 2 * answers::again; ++i) {
        send_one(n, middle, true);
        begins_a_receive(n.a);
    }
    EXPECT_EQ(answers::enough + 2U, count(n.a, stat::rts_sent)) << "and now and then one is asked for";
    EXPECT_EQ(2 * answers::again - 2, count(n.a, stat::eager_sent));
    nothing_is_open(n);
}

TEST(middle_sized, in_a_row_goes_whole_but_for_the_first) {
    node_pair n(by_ring_up_to(0));
    for (unsigned i = 0; i < 5; ++i) {
        send_one(n, middle, true);
    }
    EXPECT_EQ(1U, count(n.a, stat::rts_sent));
    EXPECT_EQ(4U, count(n.a, stat::eager_sent));
}

} // namespace
} // namespace smartint
