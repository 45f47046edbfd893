// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
// Who copies a large message inside a node: the receiver, the sender, or both.
#include <atomic>
#include <thread>
#include <vector>

#include "common_smartint_clock.h"
#include "common_smartint_log.h"
#include "harness_exchange.h"

namespace smartint {
namespace {

using namespace test;

TEST(copies, the_way_a_rendezvous_moves_is_counted) {
    const struct {
        const char *how;
        stat at_a, at_b;
    } ways[] = {{"read", stat::rts_sent, stat::reads_app},
                {"write", stat::rts_sent, stat::pushes_requested}, // b may come first
                {"copy", stat::writes_app, stat::copies}};
    for (const auto &w : ways) {
        node_pair n(with(w.how));
        exchange(n, 100000, 100000, true);
        EXPECT_EQ(1U, count(n.a, stat::rts_sent)) << w.how;
        EXPECT_EQ(1U, count(n.b, stat::rts_received)) << w.how;
        EXPECT_EQ(1U, count(n.a, w.at_a)) << w.how;
        EXPECT_EQ(1U, count(n.b, w.at_b)) << w.how;
        EXPECT_EQ(1U, count(n.b, stat::reads_app) + count(n.a, stat::writes_app)) << w.how;
        EXPECT_EQ(0U, count(n.a, stat::eager_sent));
        exchange(n, 100, 100, true);
        exchange(n, 100, 100, false);
        EXPECT_EQ(2U, count(n.a, stat::eager_sent));
        EXPECT_EQ(2U, count(n.b, stat::eager_received));
        EXPECT_EQ(1U, count(n.b, stat::unexpected));
    }
}

TEST(copies, a_sender_who_only_waits_is_asked_to_write) {
    node_pair n(with("auto"));
    test_send s;
    test_recv r;
    s.aim(n.to_b, 100000, 1, ctx, 0, tag);
    r.aim(100000, ctx, 0, tag);
    n.receive(n.b, r);
    n.a.begin_wait();
    n.a.send(&s);
    n.b.enter();
    n.b.pass(true); // as the interrupt thread, which leaves it to the sender
    EXPECT_FALSE(n.b.look().copies);
    n.b.leave();
    wait_until("the sender", [&] {
        n.a.progress();
        return 1 == s.delivered;
    });
    n.a.end_wait();
    EXPECT_EQ(-1, r.differs(100000, 1)) << "before the receiver came back";
    n.drive("the receiver", [&] { return 1 == r.delivered; });
    EXPECT_EQ(1U, count(n.b, stat::pushes_requested));
    EXPECT_EQ(1U, count(n.a, stat::writes_app));
    EXPECT_EQ(0U, count(n.b, stat::reads_app));
}

// It may be about to wait, and then copies by itself.
TEST(copies, a_receiver_that_asked_is_given_a_moment_and_left_alone_where_it_waits_and_there_is_something_to_read) {
    node_pair n(with("auto"));
    const auto leaves = [&](const copy_job &job) { return engine_access::leaves_to_receiver(n.a, job); };
    constexpr std::uint64_t hour = 3600000000000;
    test_send s;
    test_recv r;
    s.aim(n.to_b, big, 1, ctx, 0, tag);
    r.aim(big, ctx, 0, tag);
    n.receive(n.b, r);
    n.a.begin_wait();
    n.a.send(&s);
    n.b.enter();
    n.b.pass(true);
    n.b.leave();
    copy_job asked;
    asked.send = &s;
    asked.entry = 0;
    asked.asked_ns = now_ns() + hour; // the moment lasts
    EXPECT_TRUE(leaves(asked));
    asked.asked_ns = 0;
    EXPECT_FALSE(leaves(asked)) << "it computes";
    n.b.begin_wait();
    asked.asked_ns = now_ns() + hour;
    EXPECT_FALSE(leaves(asked)) << "there is nothing else to do";
    n.drive("it", [&] { return 1 == s.delivered && 1 == r.delivered; });
    EXPECT_EQ(-1, r.differs(big, 1));
    n.b.end_wait();
    n.a.end_wait();
    EXPECT_FALSE(leaves(asked)) << "nobody comes back to it soon";
    asked.send = nullptr;
    EXPECT_FALSE(leaves(asked));
}

TEST(copies, both_wait_for_what_the_other_sends) {
    node_pair n(with("auto"));
    for (const std::uint64_t bytes : {262144ULL, 1048576ULL, 4194305ULL}) {
        for (unsigned round = 0; round < 20; ++round) {
            test_send s[2];
            test_recv r[2];
            for (unsigned i = 0; i < 2; ++i) {
                engine &e = 0 == i ? n.a : n.b;
                e.begin_wait();
                s[i].aim(0 == i ? n.to_b : n.to_a, bytes, round + i, ctx, i, tag);
                r[i].aim(bytes, ctx, 1 - i, tag);
                e.receive(&r[i]);
                e.send(&s[i]);
            }
            n.drive("all four", [&] {
                return 1 == s[0].delivered && 1 == s[1].delivered && 1 == r[0].delivered && 1 == r[1].delivered;
            });
            n.b.end_wait();
            n.a.end_wait();
            ASSERT_EQ(-1, r[0].differs(bytes, round + 1)) << bytes;
            ASSERT_EQ(-1, r[1].differs(bytes, round)) << bytes;
        }
    }
    EXPECT_EQ(0U, engine_access::outstanding(n.a) + engine_access::outstanding(n.b));
}

void both_wait_for_one(node_pair &n, std::uint64_t bytes) {
    test_send s;
    test_recv r;
    s.aim(n.to_b, bytes, bytes, ctx, 0, tag);
    r.aim(bytes, ctx, 0, tag);
    n.a.begin_wait();
    n.b.begin_wait();
    n.b.receive(&r);
    n.a.send(&s);
    n.drive("both", [&] { return 1 == s.delivered && 1 == r.delivered; });
    n.b.end_wait();
    n.a.end_wait();
    EXPECT_EQ(-1, r.differs(bytes, bytes)) << bytes;
}

TEST(copies, where_both_wait_the_message_goes_through_the_ring) {
    params p = with("auto");
    p.stream_bytes = 9000001;
    p.timed_bytes = 0;
    node_pair n(p);
    for (const std::uint64_t bytes : {131072ULL, 1048577ULL, 9000001ULL}) {
        both_wait_for_one(n, bytes);
    }
    EXPECT_EQ(3U, count(n.b, stat::copies));
    EXPECT_EQ(0U, count(n.b, stat::pushes_requested) + count(n.b, stat::reads_app));
    EXPECT_EQ(0U, engine_access::outstanding(n.a) + engine_access::outstanding(n.b));
    EXPECT_EQ(0U, count(n.a, stat::refused_messages) + count(n.b, stat::refused_messages));
}

// The two need not run at the same time for that.
TEST(copies, where_both_wait_both_copy_pieces_of_what_is_too_large_for_the_ring) {
    params p = with("auto");
    p.stream_bytes = 300000;
    p.timed_bytes = 0;
    node_pair n(p);
    for (const std::uint64_t bytes : {300000ULL, 300001ULL}) {
        both_wait_for_one(n, bytes);
    }
    EXPECT_EQ(1U, count(n.b, stat::copies)) << "the first";
    EXPECT_EQ(1U, count(n.b, stat::pushes_requested)) << "the second, handed over as both wait";
    EXPECT_EQ(0U, n.to_a->streams);
    EXPECT_EQ(0U, engine_access::outstanding(n.a) + engine_access::outstanding(n.b));
}

// Which of the two is better there is found out by using both.
TEST(copies, where_both_wait_for_one_large_message_both_ways_are_tried) {
    params p = with("auto");
    p.timed_bytes = big;
    node_pair n(p);
    for (unsigned i = 0; i < 2 * quicker::tries; ++i) {
        both_wait_for_one(n, big);
    }
    EXPECT_EQ(quicker::tries, count(n.b, stat::copies));
    EXPECT_EQ(quicker::tries, count(n.b, stat::pushes_requested));
    for (unsigned i = 0; i < 2 * quicker::tries; ++i) {
        both_wait_for_one(n, big + 1);
    }
    EXPECT_EQ(quicker::tries, count(n.b, stat::copies)) << "a larger one is not timed";
    EXPECT_EQ(0U, n.to_a->streams);
}

// Several at a time go one way together, and are timed for themselves.
TEST(copies, several_large_messages_go_one_way_together) {
    node_pair n(with("auto"));
    std::deque<test_send> s(5);
    std::deque<test_recv> r(5);
    std::uint64_t by_ring = 0;
    n.a.begin_wait();
    n.b.begin_wait();
    for (unsigned round = 0; round < 2 * quicker::tries; ++round) {
        for (int i = 0; i < 5; ++i) {
            s[i].aim(n.to_b, big, i, ctx, 0, i);
            r[i].aim(big, ctx, 0, i);
            n.b.receive(&r[i]);
            n.a.send(&s[i]);
        }
        n.drive("all", [&] {
            return std::all_of(s.begin(), s.end(), [](auto &x) { return 1 == x.delivered; }) &&
                   std::all_of(r.begin(), r.end(), [](auto &x) { return 1 == x.delivered; });
        });
        const std::uint64_t now = count(n.b, stat::copies) - by_ring;
        EXPECT_TRUE(0 == now || 5 == now) << now;
        by_ring += now;
        for (int i = 0; i < 5; ++i) {
            EXPECT_EQ(-1, r[i].differs(big, i)) << i;
        }
    }
    n.b.end_wait();
    n.a.end_wait();
    EXPECT_EQ(5U * quicker::tries, by_ring);
    EXPECT_EQ(0U, n.to_a->streams);
}

// In a row they all go through the ring, though the sender is busy with the first; and the count of them ends.
TEST(copies, several_for_one_receiver_go_through_the_ring_together) {
    params p = with("auto");
    p.stream_bytes = big;
    p.timed_bytes = 0;
    node_pair n(p);
    std::deque<test_send> s(5);
    std::deque<test_recv> r(5);
    n.a.begin_wait();
    n.b.begin_wait();
    for (int i = 0; i < 5; ++i) {
        s[i].aim(n.to_b, big, i, ctx, 0, i);
        r[i].aim(big, ctx, 4 == i ? any_source : 0, i);
        n.b.receive(&r[i]);
        n.a.send(&s[i]);
    }
    n.b.progress(); // answers all
    n.a.progress();
    EXPECT_FALSE(board_slot(&n.a.board_segment().slot(0)).waiting()) << "it has fragments to send";
    n.drive("all", [&] {
        return std::all_of(s.begin(), s.end(), [](auto &x) { return 1 == x.delivered; }) &&
               std::all_of(r.begin(), r.end(), [](auto &x) { return 1 == x.delivered; });
    });
    EXPECT_TRUE(board_slot(&n.a.board_segment().slot(0)).waiting());
    n.b.end_wait();
    n.a.end_wait();
    EXPECT_EQ(5U, count(n.b, stat::copies));
    EXPECT_EQ(0U, n.to_a->streams);
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(-1, r[i].differs(big, i)) << i;
    }
}

// It was met when one of them computed.
TEST(copies, where_both_come_to_wait_both_sides_copy_one_message) {
    node_pair n(with("auto"));
    for (const std::uint64_t bytes : {131072ULL, 1048577ULL, 9000001ULL}) {
        test_send s;
        test_recv r;
        s.aim(n.to_b, bytes, bytes, ctx, 0, tag);
        r.aim(bytes, ctx, 0, tag);
        n.a.begin_wait(); // it waits for something else, too
        n.a.send(&s);
        n.b.enter();
        n.b.receive(&r);
        n.b.pass(false, false); // seen in a call that goes on
        n.b.leave();
        n.b.begin_wait();
        n.drive("both", [&] { return 1 == s.delivered && 1 == r.delivered; });
        n.b.end_wait();
        n.a.end_wait();
        EXPECT_EQ(-1, r.differs(bytes, bytes)) << bytes;
    }
    EXPECT_EQ(3U, count(n.b, stat::pushes_requested));
    EXPECT_EQ(3U, count(n.b, stat::reads_app) + count(n.a, stat::writes_app));
    EXPECT_EQ(0U, engine_access::outstanding(n.a) + engine_access::outstanding(n.b));
}

TEST(copies, more_shared_copies_than_there_are_entries_arrive_too) {
    node_pair n(with("write"));
    constexpr std::size_t many = layout::copy_entries + 20;
    std::deque<test_send> s(many);
    std::deque<test_recv> r(many);
    for (std::size_t i = 0; i < many; ++i) {
        r[i].aim(140000, ctx, 0, static_cast<std::int32_t>(i));
        n.receive(n.b, r[i]);
    }
    for (std::size_t i = 0; i < many; ++i) {
        s[i].aim(n.to_b, 140000, i, ctx, 0, static_cast<std::int32_t>(i));
        n.send(n.a, s[i]);
    }
    for (int i = 0; i < 10; ++i) {
        n.b.progress(); // answers them all before the sender moves
    }
    n.drive("all", [&] {
        return std::all_of(s.begin(), s.end(), [](auto &x) { return 1 == x.delivered; }) &&
               std::all_of(r.begin(), r.end(), [](auto &x) { return 1 == x.delivered; });
    });
    for (std::size_t i = 0; i < many; ++i) {
        EXPECT_EQ(-1, r[i].differs(140000, i)) << i;
    }
}

TEST(copies, a_direct_copy_the_kernel_refuses_is_replaced_by_the_pipeline) {
    for (const char *how : {"read", "write"}) {
        for (const std::uint64_t bytes : {100000ULL, 1000000ULL}) {
            node_pair n(with(how));
            n.to_a->pid = 0x7ffffff0U; // as seen from here nobody has that memory
            n.to_b->pid = 0x7ffffff0U;
            exchange(n, bytes, bytes, true);
            EXPECT_EQ(1U, count(n.a, stat::fallbacks) + count(n.b, stat::fallbacks)) << how;
            EXPECT_EQ(1U, count(n.b, stat::copies)) << how;
            exchange(n, bytes, bytes, true);
            exchange(n, bytes, bytes, false);
        }
    }
}

// It has no number any more: the kernel refuses nothing, and a remedy for that would lead astray.
TEST(copies, of_a_peer_that_has_ended_no_refusal_is_told) {
    test::child c([] {
        static std::vector<topic> said;
        set_reporter([](const report &r) { said.push_back(r.what); });
        for (const char *how : {"read", "write"}) {
            node_pair n(with(how));
            n.to_a->pid = 0x7ffffff0U;
            n.to_b->pid = 0x7ffffff0U;
            exchange(n, 1000000, 1000000, true);
            EXPECT_EQ(1U, count(n.a, stat::fallbacks) + count(n.b, stat::fallbacks)) << how;
        }
        flush_reports();
        EXPECT_TRUE(said.empty());
    });
    EXPECT_EQ(0, c.join());
}

TEST(copies, where_only_the_senders_copies_are_refused_a_shared_copy_falls_back) {
    for (const bool sender : {true, false}) {
        node_pair n(with("auto"));
        (sender ? n.to_b : n.to_a)->pid = 0x7ffffff0U;
        test_send s;
        test_recv r;
        s.aim(n.to_b, big, 9, ctx, 0, tag);
        r.aim(big, ctx, 0, tag);
        n.a.begin_wait();
        n.b.begin_wait();
        n.b.receive(&r);
        n.a.send(&s);
        n.b.progress(); // the answer, and pieces of this side
        n.a.progress();
        n.drive("both", [&] { return 1 == s.delivered && 1 == r.delivered; });
        n.b.end_wait();
        n.a.end_wait();
        EXPECT_EQ(-1, r.differs(big, 9));
        EXPECT_EQ(0U, engine_access::outstanding(n.a) + engine_access::outstanding(n.b));
    }
}

// MPI_THREAD_MULTIPLE: who gets in meanwhile sees a copy half done, which under one's own gate nobody could.
TEST(copies, one_threads_copy_keeps_no_other_thread_out) {
    node_pair n(with("read"), true);
    constexpr std::uint64_t bytes = 16 << 20;
    test_send s;
    test_recv r;
    std::atomic<bool> seen{false};
    std::atomic<bool> over{false};
    std::thread other([&] {
        while (!over) {
            n.b.enter();
            const std::uint64_t done = r.job.own_done.load(std::memory_order_relaxed);
            seen = seen || (done > 0 && done < bytes && op_state::moving == r.state);
            n.b.leave();
            std::this_thread::yield();
        }
    });
    std::uint64_t seed = 0;
    wait_until("the other thread inside while the first one copies", [&] {
        s.aim(n.to_b, bytes, ++seed, ctx, 0, tag);
        n.b.enter();
        r.aim(bytes, ctx, 0, tag);
        r.delivered = 0;
        n.b.receive(&r);
        n.b.leave();
        s.delivered = 0;
        n.send(n.a, s);
        n.drive("a copy", [&] { return 1 == s.delivered && 1 == r.delivered; });
        return seen.load();
    });
    over = true;
    other.join();
    EXPECT_TRUE(seen);
    EXPECT_EQ(-1, r.differs(bytes, seed));
    EXPECT_EQ(seed, count(n.b, stat::reads_app));
}

TEST(copies, threads_that_wait_move_pieces_of_one_anothers_copies) {
    node_pair n(with("read"), true);
    constexpr std::uint64_t bytes = 4 << 20;
    constexpr int messages = 12;
    std::vector<test_send> s(messages);
    std::vector<test_recv> r(messages);
    for (int i = 0; i < messages; ++i) {
        const auto k = static_cast<std::size_t>(i);
        s[k].aim(n.to_b, bytes, k, ctx, 0, i);
        r[k].aim(bytes, ctx, 0, i);
        n.receive(n.b, r[k]);
        n.send(n.a, s[k]);
    }
    std::atomic<int> left{2};
    const auto wait = [&] {
        wait_until("all", [&] {
            n.b.progress();
            n.b.enter();
            bool all = true;
            for (const test_recv &one : r) {
                all = all && 1 == one.delivered;
            }
            n.b.leave();
            return all;
        });
        --left;
    };
    std::thread first(wait);
    std::thread second(wait);
    wait_until("the sender", [&] {
        n.a.progress();
        return 0 == left;
    });
    first.join();
    second.join();
    n.drive("the sender's ends", [&] { return 1 == s.back().delivered; });
    for (int i = 0; i < messages; ++i) {
        const auto k = static_cast<std::size_t>(i);
        EXPECT_EQ(1U, r[k].delivered);
        EXPECT_EQ(1U, s[k].delivered);
        EXPECT_EQ(-1, r[k].differs(bytes, k));
    }
    EXPECT_EQ(static_cast<unsigned>(messages), count(n.b, stat::reads_app));
    EXPECT_FALSE(engine_access::copies_open(n.b));
}

TEST(copies, a_view_of_a_copy_that_is_over_takes_no_piece_of_the_next_one) {
    // The interrupt thread looked, was preempted, and goes on when the request lives a second
    // time, as the pml makes it: constructed anew at the same place.
    node_pair n(with("read"));
    alignas(test_recv) std::byte place[sizeof(test_recv)];
    auto *r = new (place) test_recv;
    std::vector<std::byte> first(big), second(big);
    const auto begin = [&](std::vector<std::byte> &into, test_send &s, std::uint64_t seed) {
        r->aim(big, ctx, 0, tag);
        r->buffer = into.data();
        n.receive(n.b, *r);
        s.aim(n.to_b, big, seed, ctx, 0, tag);
        n.send(n.a, s);
        n.b.enter();
        n.b.pass(true); // begins the copy and moves nothing
        n.b.leave();
        ASSERT_EQ(op_state::moving, r->state);
    };
    test_send s1, s2;
    begin(first, s1, 1);
    const auto stale = engine_access::view_of(n.b, &r->job);
    n.drive("the first", [&] { return 1 == r->delivered && 1 == s1.delivered; });
    EXPECT_EQ(-1, differs(first.data(), big, 1));
    EXPECT_FALSE(engine_access::copy_step(n.b, stale)) << "it is over";
    r->~test_recv();
    r = new (place) test_recv;
    begin(second, s2, 2);
    EXPECT_FALSE(engine_access::copy_step(n.b, stale)) << "a piece of the second with the first's addresses";
    n.drive("the second", [&] { return 1 == r->delivered && 1 == s2.delivered; });
    EXPECT_EQ(-1, differs(second.data(), big, 2));
    r->~test_recv();
}

// The thread of b has begun to read and moved nothing yet.
void begin_to_read(node_pair &n, test_recv &r, test_send &s, std::uint64_t bytes) {
    r.aim(bytes, ctx, 0, tag);
    s.aim(n.to_b, bytes, 3, ctx, 0, tag);
    n.receive(n.b, r);
    n.send(n.a, s);
    n.b.enter();
    n.b.pass(true);
    ASSERT_TRUE(n.b.look().copies);
    n.b.leave();
}

// The interrupt thread's steps, one by one: the sender comes to wait after the first piece.
TEST(copies, a_sender_who_comes_to_wait_is_handed_the_rest_of_a_copy) {
    node_pair n(with("auto"));
    for (const bool both : {false, true}) {
        const std::uint64_t pushed = count(n.b, stat::pushes_requested);
        const std::uint64_t written = count(n.a, stat::writes_app);
        test_recv r;
        test_send s;
        ASSERT_NO_FATAL_FAILURE(begin_to_read(n, r, s, 4 * big));
        const auto stale = engine_access::view_of(n.b, &r.job);
        n.a.begin_wait();
        ASSERT_TRUE(n.b.work_on_copies());
        ASSERT_EQ(op_state::moving, r.state) << "one piece";
        if (both) {
            n.b.begin_wait(); // the receiver comes to wait too: the application hands over
            n.b.progress();
            n.b.end_wait();
        } else {
            n.b.enter();
            EXPECT_FALSE(n.b.look().copies) << "the sender's now";
            n.b.leave();
        }
        EXPECT_FALSE(engine_access::copy_step(n.b, stale)) << "no piece left in the old words";
        EXPECT_EQ(pushed + 1, count(n.b, stat::pushes_requested));
        wait_until("the sender", [&] {
            n.a.progress();
            return 1 == s.delivered;
        });
        n.a.end_wait();
        n.drive("the receiver", [&] { return 1 == r.delivered; });
        EXPECT_EQ(both ? written : written + 1, count(n.a, stat::writes_app));
        EXPECT_EQ(-1, r.differs(4 * big, 3));
        EXPECT_FALSE(engine_access::copies_open(n.b));
    }
}

std::uint64_t moved(const test_recv &r) { return r.job.done->load() & copy_job::done_mask; }

// Somebody has had a request of this rank matched: its thread does not copy to the end first.
TEST(copies, are_left_by_the_thread_where_somebody_asks) {
    node_pair n(with("read"));
    test_recv r;
    test_send s;
    ASSERT_NO_FATAL_FAILURE(begin_to_read(n, r, s, 8 * big));
    bool matched = false;
    n.b.enter();
    board_owner &board = engine_access::board(n.b);
    const int i = board.arm(rts_pattern(7, 0, 0, true, true), &matched);
    n.b.leave();
    board_slot(&n.a.board_segment().slot(1)).post(make_rts_key(7, 0, 1), 9, 1);
    ASSERT_TRUE(n.b.called_for());
    const std::uint64_t piece = engine_access::view_of(n.b, &r.job).step;
    for (std::uint64_t pieces = 1; pieces < 4; ++pieces) {
        ASSERT_TRUE(n.b.work_on_copies());
        EXPECT_EQ(pieces * piece, moved(r)) << "one at a time";
    }
    n.drive("both", [&] { return 1 == s.delivered && 1 == r.delivered; });
    EXPECT_EQ(-1, r.differs(8 * big, 3));
    n.b.enter();
    board.publish_seen(9, 1);
    board.take_wanted();
    board.disarm(i);
    n.b.leave();
}

// Who waits shows that it is in, and others count on it to look into its ring (L3).
TEST(copies, are_left_by_an_application_that_somebody_counts_on) {
    node_pair n(with("read"));
    test_recv r;
    test_send s;
    ASSERT_NO_FATAL_FAILURE(begin_to_read(n, r, s, 8 * big));
    std::byte *record = n.to_b->ring.reserve(8); // being written
    ASSERT_NE(nullptr, record);
    n.to_b->ring.ask();
    n.b.begin_wait();
    n.b.pass(false);
    EXPECT_GT(moved(r), 0U);
    EXPECT_LT(moved(r), r.job.length);
    n.to_b->ring.commit(record, ring_word::pack(8, 0, ring_word::pad_type));
    n.b.pass(false);
    EXPECT_EQ(op_state::done, r.state) << "nobody asks any more";
    n.b.end_wait();
    n.drive("both", [&] { return 1 == s.delivered && 1 == r.delivered; });
    EXPECT_EQ(-1, r.differs(8 * big, 3));
}

} // namespace
} // namespace smartint
