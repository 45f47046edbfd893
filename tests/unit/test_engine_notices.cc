// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
// Notices that come before their message, behind it, or without one: engines with their interrupt
// threads, in one process.
#include <cstdint>

#include "harness_exchange.h"

namespace smartint {
namespace {

using namespace test;

TEST_F(computing, a_notice_whose_message_does_not_come_is_given_up_and_the_request_armed_again) {
    node_pair n(parameters());
    n.start_threads();
    settle(n);
    test_recv r;
    r.aim(big, ctx, 0, tag);
    n.receive(n.b, r);
    layout::slot &slot = n.a.board_segment().slot(1);
    waker w;
    w.resize(2);
    const auto o = board_slot(&slot).post(make_rts_key(ctx, 0, tag), 4711, 1); // forged
    ASSERT_TRUE(o.matched && o.wake);
    ASSERT_TRUE(w.wake(1, slot));
    wait_until("it is given up", [&] { return 1 == count(n.b, stat::wakes_futile); });
    settle(n);
    EXPECT_EQ(1U, count(n.b, stat::wakes_match));
    test_send s;
    s.aim(n.to_b, big, 3, ctx, 0, tag);
    n.send(n.a, s);
    wait_until("the true one", [&] { return 1 == count(n.b, stat::reads_thread); });
    n.drive("both", [&] { return 1 == s.delivered && 1 == r.delivered; });
    EXPECT_EQ(-1, r.differs(big, 3));
}

// Notice and message travel apart, so either may come first. The thread that was woken for a
// message that is not here looks for half a second, by a timer, before it gives the match up. A
// test that was not given the processor for so long has seen nothing and is done again.
constexpr int tries = 5;

board_slot::outcome post_and_wake(node_pair &n, std::uint32_t slot, const key &k, std::uint32_t source,
                                  std::uint32_t sequence) {
    layout::slot &s = n.a.board_segment().slot(slot);
    waker w;
    w.resize(2);
    const auto o = board_slot(&s).post(k, source, sequence);
    EXPECT_TRUE(!o.wake || w.wake(slot, s));
    return o;
}

constexpr std::uint32_t answers = 0x80000000U; // in the source of a CTS notice

TEST_F(computing, a_notice_that_overtakes_its_message_wakes_the_thread_once_and_it_reads) {
    bool seen = false;
    for (int i = 0; i < tries && !seen; ++i) {
        node_pair n(parameters());
        n.start_threads();
        settle(n);
        test_recv r;
        test_send s;
        r.aim(big, ctx, 0, tag);
        s.aim(n.to_b, big, 3, ctx, 0, tag);
        n.receive(n.b, r);
        const auto o =
            post_and_wake(n, 1, make_rts_key(ctx, 0, tag), static_cast<std::uint32_t>(name_of(0)), n.to_b->rts_out + 1);
        ASSERT_TRUE(o.matched && o.wake);
        wait_until("the thread is up", [&] { return 1 == count(n.b, stat::wakes_match); });
        n.send(n.a, s);
        wait_until("the thread reads", [&] { return 1 == count(n.b, stat::reads_thread); });
        wait_until("it sleeps again", [&] { return asleep(n.b); });
        seen = 0 == count(n.b, stat::wakes_futile);
        if (seen) {
            EXPECT_EQ(1U, count(n.b, stat::wakes_match));
            EXPECT_EQ(0U, count(n.a, stat::wakes_sent)) << "the second notice finds it awake or served";
            EXPECT_EQ(1U, count(n.b, stat::requests_matched));
        }
        EXPECT_EQ(1U, count(n.b, stat::thread_matches));
        EXPECT_EQ(1U, count(n.a, stat::notices_posted)) << "the message's own, now without effect";
        n.drive("both", [&] { return 1 == s.delivered && 1 == r.delivered; });
        EXPECT_EQ(-1, r.differs(big, 3));
        EXPECT_EQ(0U, armed(n.b));
    }
    EXPECT_TRUE(seen) << "the thread gave up each time before the message came";
}

TEST_F(computing, what_a_process_of_another_job_has_sent_says_nothing_of_notices) {
    for (const bool own : {false, true}) {
        node_pair n(parameters());
        n.start_threads();
        settle(n);
        test_recv r;
        r.aim(big, ctx, 0, tag);
        n.receive(n.b, r);
        n.b.enter();
        engine_access::note_arrival(n.b, own ? name_of(0) : name_of(0) + (1ULL << 32), 5000);
        n.b.leave();
        const auto o = post_and_wake(n, 1, make_rts_key(ctx, 0, tag), static_cast<std::uint32_t>(name_of(0)), 10);
        EXPECT_EQ(!own, o.matched) << "the tenth came before the last that was handled";
        test_send s;
        s.aim(n.to_b, big, 3, ctx, 0, tag);
        n.send(n.a, s);
        n.drive("both", [&] { return 1 == s.delivered && 1 == r.delivered; });
    }
}

TEST_F(computing, a_notice_that_overtakes_its_answer_wakes_the_sender_once_and_it_writes) {
    for (const char *how : {"copy", "write"}) {
        const std::uint64_t bytes = big;
        bool seen = false;
        for (int i = 0; i < tries && !seen; ++i) {
            node_pair n(parameters(how));
            n.start_threads();
            settle(n);
            test_recv r;
            test_send s;
            r.aim(bytes, ctx, 0, tag);
            s.aim(n.to_b, bytes, 3, ctx, 0, tag);
            n.send(n.a, s);
            ASSERT_EQ(1U, armed(n.a)) << how;
            n.b.progress(); // the RTS is there when the receive comes, which then copies nothing
            const auto o = post_and_wake(n, 0, make_cts_key(s.id), static_cast<std::uint32_t>(name_of(1)) | answers,
                                         n.to_a->cts_out + 1);
            ASSERT_TRUE(o.matched && o.wake) << how;
            wait_until("the thread is up", [&] { return 1 == count(n.a, stat::wakes_match); });
            n.receive(n.b, r); // answers
            wait_until("the thread writes", [&] { return 1 == count(n.a, stat::writes_thread); });
            wait_until("it sleeps again", [&] { return asleep(n.a); });
            seen = 0 == count(n.a, stat::wakes_futile);
            if (seen) {
                EXPECT_EQ(1U, count(n.a, stat::wakes_match)) << how;
                EXPECT_EQ(0U, count(n.b, stat::wakes_sent)) << how;
                EXPECT_EQ(1U, count(n.a, stat::requests_matched)) << how;
            }
            EXPECT_EQ(1U, count(n.b, stat::notices_posted)) << how;
            n.drive("both", [&] { return 1 == s.delivered && 1 == r.delivered; });
            EXPECT_EQ(-1, r.differs(bytes, 3));
            EXPECT_EQ(0U, armed(n.a));
        }
        EXPECT_TRUE(seen) << how << ": the thread gave up each time before the answer came";
    }
}

TEST_F(computing, a_notice_behind_a_message_that_is_handled_matches_nothing_and_wakes_nobody) {
    params p = parameters();
    p.fault_drop_notices = 100;
    node_pair n(p);
    n.start_threads();
    settle(n);
    const key k = make_rts_key(ctx, 0, tag);
    const auto source = static_cast<std::uint32_t>(name_of(0));
    for (std::uint32_t round = 1; round <= 3; ++round) {
        test_recv r, next;
        test_send s, last;
        r.aim(big, ctx, 0, tag);
        s.aim(n.to_b, big, round, ctx, 0, tag);
        n.receive(n.b, r);
        n.send(n.a, s);
        n.drive("both", [&] { return 1 == s.delivered && 1 == r.delivered; });
        EXPECT_EQ(-1, r.differs(big, round));
        next.aim(big, ctx, 0, tag); // waits for the next one of the same name
        n.receive(n.b, next);
        ASSERT_EQ(1U, armed(n.b));
        const std::uint32_t sequence = n.to_b->rts_out;
        ASSERT_EQ(2 * round - 1, sequence);
        auto o = post_and_wake(n, 1, k, source, sequence);
        EXPECT_FALSE(o.matched || o.wake) << "late, and that message has been handled";
        n.b.enter();
        EXPECT_TRUE(n.b.cancel_receive(&next));
        n.b.receive(&next); // armed behind the dead notice
        n.b.leave();
        EXPECT_EQ(1U, armed(n.b));
        EXPECT_EQ(0U, count(n.b, stat::requests_matched));
        last.aim(n.to_b, big, round + 50, ctx, 0, tag);
        n.send(n.a, last);
        n.drive("both", [&] { return 1 == last.delivered && 1 == next.delivered; });
        EXPECT_EQ(-1, next.differs(big, round + 50));
        o = post_and_wake(n, 1, k, source, n.to_b->rts_out);
        EXPECT_FALSE(o.matched || o.wake) << "late, and nobody waits";
    }
    EXPECT_EQ(0U, count(n.a, stat::notices_posted) + count(n.a, stat::wakes_sent));
    EXPECT_EQ(0U, count(n.b, stat::wakes_match) + count(n.b, stat::wakes_futile));
    EXPECT_EQ(0U, count(n.b, stat::requests_matched) + count(n.b, stat::thread_matches));
    EXPECT_EQ(6U, count(n.b, stat::reads_app) + count(n.b, stat::reads_thread));
}

TEST_F(computing, a_notice_behind_an_answer_that_is_handled_matches_nothing_and_wakes_nobody) {
    for (const char *how : {"copy", "write"}) {
        params p = parameters(how);
        p.fault_drop_notices = 100;
        node_pair n(p);
        n.start_threads();
        settle(n);
        const auto source = static_cast<std::uint32_t>(name_of(1)) | answers;
        for (std::uint32_t round = 1; round <= 3; ++round) {
            test_recv r;
            test_send s;
            r.aim(big, ctx, 0, tag);
            s.aim(n.to_b, big, round, ctx, 0, tag);
            n.send(n.a, s);
            const std::uint64_t operation = s.id;
            ASSERT_EQ(1U, armed(n.a)) << how;
            n.receive(n.b, r);
            n.drive("both", [&] { return 1 == s.delivered && 1 == r.delivered; });
            EXPECT_EQ(-1, r.differs(big, round));
            ASSERT_EQ(0U, armed(n.a)) << how;
            ASSERT_EQ(round, n.to_a->cts_out) << how;
            bool matched = false;
            board_owner &board = engine_access::board(n.a);
            n.a.enter();
            const int all = board.arm({{0, 0}, {0, 0}}, &matched); // whatever is alive matches it
            n.a.leave();
            EXPECT_FALSE(matched) << how;
            const auto o = post_and_wake(n, 0, make_cts_key(operation), source, round);
            EXPECT_FALSE(o.matched || o.wake) << how << ": late, and that answer has been handled";
            n.a.enter();
            EXPECT_FALSE(board.is_matched(all));
            board.disarm(all);
            const int again = board.arm({{0, 0}, {0, 0}}, &matched);
            EXPECT_FALSE(matched) << how << ": armed behind the dead notice";
            board.disarm(again);
            n.a.leave();
        }
        EXPECT_EQ(0U, count(n.b, stat::notices_posted) + count(n.b, stat::wakes_sent)) << how;
        EXPECT_EQ(0U, count(n.a, stat::requests_matched)) << how;
        EXPECT_EQ(0U, count(n.a, stat::refused_messages)) << how;
    }
}

// 0 says that there was none: no message has it.
TEST_F(computing, sequences_that_wrap_leave_out_zero) {
    EXPECT_EQ(1U, wire::next_sequence(0));
    EXPECT_EQ(UINT32_MAX, wire::next_sequence(UINT32_MAX - 1));
    EXPECT_EQ(1U, wire::next_sequence(UINT32_MAX));
    node_pair n(parameters("write"));
    n.start_threads();
    settle(n);
    n.to_b->rts_out = UINT32_MAX - 1;
    n.to_a->cts_out = UINT32_MAX - 1;
    for (const std::uint32_t expected : {UINT32_MAX, 1U, 2U}) {
        exchange(n, big, big, false);
        EXPECT_EQ(expected, n.to_b->rts_out);
        EXPECT_EQ(expected, n.to_a->cts_out);
    }
}

} // namespace
} // namespace smartint
