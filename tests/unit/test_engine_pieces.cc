// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
// Large messages in pieces inside a node, which go through its ring.
#include "harness_exchange.h"

namespace smartint {
namespace {

using namespace test;

// Data in pieces: the threads of both move it if any thread may walk through them, and none of it otherwise.
TEST(pieces, those_that_any_thread_may_walk_through_move_while_both_compute) {
    for (const bool anywhere : {true, false}) {
        for (const unsigned at_sender : {1U, 3U}) {
            node_pair n(with("auto"));
            test_send s;
            test_recv r;
            s.aim(n.to_b, big, 1, ctx, 0, tag, at_sender);
            r.aim(big, ctx, 0, tag, 2);
            s.anywhere = r.anywhere = anywhere;
            n.receive(n.b, r);
            n.send(n.a, s);
            const auto by_threads = [&] {
                for (engine *e : {&n.a, &n.b}) {
                    e->enter();
                    e->pass(true);
                    e->leave();
                }
                return op_state::done == r.state && op_state::done == s.state;
            };
            if (anywhere) {
                wait_until("the threads", by_threads);
                EXPECT_EQ(1U, count(n.a, stat::writes_thread));
                EXPECT_EQ(0U, count(n.b, stat::deferred));
                EXPECT_EQ(-1, r.differs(big, 1)) << "before either application came back";
            } else {
                for (int i = 0; i < 2000; ++i) {
                    ASSERT_FALSE(by_threads());
                }
            }
            n.drive("both", [&] { return 1 == r.delivered && 1 == s.delivered; });
            EXPECT_EQ(-1, r.differs(big, 1));
            EXPECT_FALSE(r.overrun);
        }
    }
}

// The sender of contiguous data counts on being read, and is not armed. What asks it to push while it passes through a
// call sees it off.
TEST(pieces, a_sender_that_must_push_is_woken_when_it_has_left_its_call) {
    node_pair n(with("auto"));
    test_send s;
    test_recv r;
    s.aim(n.to_b, big, 1, ctx, 0, tag);
    r.aim(big, ctx, 0, tag, 2);
    r.anywhere = true;
    n.receive(n.b, r);
    n.send(n.a, s);
    n.a.enter(); // in some call
    n.b.enter();
    n.b.pass(true);
    n.b.pass(true);
    n.b.leave();
    EXPECT_EQ(op_state::moving, r.state);
    EXPECT_EQ(0U, count(n.b, stat::wakes_sent)) << "it is there";
    n.a.leave();
    n.b.enter();
    n.b.pass(true);
    n.b.leave();
    EXPECT_EQ(1U, count(n.b, stat::wakes_sent)) << "it has left without a look at its ring";
    n.drive("both", [&] { return 1 == r.delivered && 1 == s.delivered; });
    EXPECT_EQ(-1, r.differs(big, 1));
    EXPECT_EQ(1U, count(n.b, stat::wakes_sent));
}

} // namespace
} // namespace smartint
