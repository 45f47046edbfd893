// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
// Engines with their interrupt threads, in one process.
#include <algorithm>
#include <atomic>
#include <deque>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "harness_exchange.h"

namespace smartint {
namespace {

using namespace test;

TEST_F(computing, a_receive_is_read_by_the_interrupt_thread_woken_once) {
    node_pair n(parameters());
    n.start_threads();
    settle(n);
    for (unsigned round = 1; round <= 5; ++round) {
        test_recv r;
        test_send s;
        r.aim(big, ctx, 0, tag);
        s.aim(n.to_b, big, round, ctx, 0, tag);
        n.receive(n.b, r);
        n.send(n.a, s);
        // b computes: it does not call in
        wait_until("the thread reads", [&] { return round == count(n.b, stat::reads_thread); });
        settle(n);
        EXPECT_EQ(round, count(n.b, stat::thread_matches));
        EXPECT_EQ(round, count(n.b, stat::wakes_match));
        EXPECT_EQ(round, count(n.a, stat::wakes_sent));
        EXPECT_EQ(round, count(n.a, stat::notices_posted));
        EXPECT_EQ(0U, count(n.b, stat::wakes_futile));
        EXPECT_EQ(0U, r.delivered) << "the application is told when it comes";
        n.drive("both", [&] { return 1 == s.delivered && 1 == r.delivered; });
        EXPECT_EQ(-1, r.differs(big, round));
    }
    EXPECT_EQ(0U, count(n.b, stat::wakes_self) + count(n.b, stat::wakes_futile) + count(n.a, stat::wakes_futile));
    EXPECT_EQ(0U, count(n.b, stat::reads_app));
    EXPECT_EQ(0U, armed(n.b));
}

TEST_F(computing, with_wildcards_the_notice_finds_the_receive_too) {
    node_pair n(parameters());
    n.start_threads();
    settle(n);
    test_recv r;
    test_send s;
    r.aim(big, ctx, any_source, any_tag);
    s.aim(n.to_b, big, 3, ctx, 0, tag);
    n.receive(n.b, r);
    n.send(n.a, s);
    wait_until("the thread reads", [&] { return 1 == count(n.b, stat::reads_thread); });
    n.drive("both", [&] { return 1 == s.delivered && 1 == r.delivered; });
    EXPECT_EQ(-1, r.differs(big, 3));
    EXPECT_EQ(1U, count(n.b, stat::wakes_match));
}

TEST_F(computing, a_message_nobody_waits_for_wakes_nobody) {
    node_pair n(parameters());
    n.start_threads();
    settle(n);
    test_send s;
    s.aim(n.to_b, big, 3, ctx, 0, tag);
    n.send(n.a, s);
    EXPECT_EQ(0U, count(n.a, stat::wakes_sent));
    EXPECT_EQ(1U, count(n.a, stat::notices_posted));
    test_recv r;
    r.aim(big, ctx, 0, tag);
    n.receive(n.b, r); // finds the RTS itself, with its first look
    n.drive("both", [&] { return 1 == s.delivered && 1 == r.delivered; });
    EXPECT_EQ(0U, count(n.b, stat::wakes_match));
    EXPECT_EQ(-1, r.differs(big, 3));
}

TEST_F(computing, what_comes_while_a_call_arms_its_receive_is_taken_by_this_call) {
    node_pair n(parameters("auto"));
    n.start_threads();
    settle(n);
    test_recv r;
    test_send s;
    r.aim(big, ctx, 0, tag);
    s.aim(n.to_b, big, 3, ctx, 0, tag);
    n.a.begin_wait(); // so it is asked to write
    n.b.enter();
    n.b.receive(&r);
    n.a.send(&s);
    EXPECT_EQ(0U, count(n.b, stat::rts_received));
    n.b.leave();
    EXPECT_EQ(1U, count(n.b, stat::pushes_requested));
    wait_until("the sender", [&] {
        n.a.progress();
        return 1 == s.delivered;
    });
    n.a.end_wait();
    EXPECT_EQ(0U, count(n.b, stat::wakes_self) + count(n.b, stat::wakes_match) + count(n.b, stat::thread_matches));
    n.drive("the receiver", [&] { return 1 == r.delivered; });
    EXPECT_EQ(-1, r.differs(big, 3));
}

TEST_F(computing, a_sender_who_only_passes_through_its_engine_is_not_asked_to_write) {
    // The receiver's thread wakes while the sender is still in its nonblocking send: nothing
    // says that it will stay, and when it leaves to compute nobody moves the message.
    node_pair n(parameters("auto"));
    n.start_threads();
    settle(n);
    test_recv r;
    test_send s;
    r.aim(big, ctx, 0, tag);
    s.aim(n.to_b, big, 3, ctx, 0, tag);
    n.receive(n.b, r);
    n.a.enter();
    n.a.send(&s);
    wait_until("the match", [&] { return 1 == count(n.b, stat::thread_matches); });
    settle(n);
    n.a.leave();
    wait_until("somebody's thread",
               [&] { return 1 == count(n.b, stat::reads_thread) + count(n.a, stat::writes_thread); });
    n.drive("both", [&] { return 1 == s.delivered && 1 == r.delivered; });
    EXPECT_EQ(-1, r.differs(big, 3));
}

TEST_F(computing, a_sender_who_stops_waiting_before_the_answer_comes_writes_by_its_thread) {
    // It is seen waiting, so it is not woken: it finds the answer in its ring as it leaves.
    node_pair n(parameters("auto"));
    n.start_threads();
    settle(n);
    test_recv r;
    test_send s;
    r.aim(big, ctx, 0, tag);
    s.aim(n.to_b, big, 3, ctx, 0, tag);
    n.send(n.a, s);
    n.b.progress(); // the RTS is there when the receive comes, which then copies nothing
    settle(n);
    n.a.begin_wait();
    n.b.enter();
    n.b.receive(&r);
    n.b.leave();
    EXPECT_EQ(0U, count(n.b, stat::wakes_sent)) << "it waits";
    EXPECT_EQ(1U, count(n.b, stat::pushes_requested));
    n.a.end_wait(); // without a pass
    wait_until("its thread", [&] { return 1 == count(n.a, stat::writes_thread); });
    EXPECT_EQ(-1, r.differs(big, 3));
    n.drive("both", [&] { return 1 == s.delivered && 1 == r.delivered; });
}

TEST_F(computing, a_send_begun_after_the_wait_rings_nobody_for_what_is_in_the_ring) {
    // Nobody can have seen this rank wait with that send, so nobody asks it for anything.
    node_pair n(parameters("auto"));
    n.start_threads();
    settle(n);
    test_recv r;
    test_send s, other;
    r.aim(big, ctx, 0, tag);
    other.aim(n.to_a, big, 4, ctx, 1, tag + 1);
    n.send(n.b, other); // its RTS stays in a's ring
    n.a.begin_wait();
    n.a.end_wait();
    s.aim(n.to_b, big, 3, ctx, 0, tag);
    n.send(n.a, s);
    settle(n);
    EXPECT_EQ(0U, count(n.a, stat::wakes_self));
    test_recv second;
    second.aim(big, ctx, 1, tag + 1);
    n.receive(n.b, r);
    n.receive(n.a, second);
    n.drive("both", [&] { return 1 == s.delivered && 1 == r.delivered && 1 == second.delivered; });
    EXPECT_EQ(-1, r.differs(big, 3));
    EXPECT_EQ(-1, second.differs(big, 4));
}

TEST_F(computing, a_sender_who_waits_writes_for_a_receiver_who_computes) {
    node_pair n(parameters("auto"));
    n.start_threads();
    settle(n);
    test_recv r;
    test_send s;
    r.aim(big, ctx, 0, tag);
    s.aim(n.to_b, big, 3, ctx, 0, tag);
    n.receive(n.b, r);
    n.a.begin_wait();
    n.a.send(&s);
    wait_until("the sender", [&] {
        n.a.progress();
        return 1 == s.delivered;
    });
    n.a.end_wait();
    EXPECT_EQ(1U, count(n.b, stat::pushes_requested));
    EXPECT_EQ(1U, count(n.b, stat::wakes_match));
    EXPECT_EQ(1U, count(n.a, stat::writes_app));
    EXPECT_EQ(0U, count(n.b, stat::reads_thread) + count(n.b, stat::reads_app));
    EXPECT_EQ(-1, r.differs(big, 3)) << "before the receiver came back";
    wait_until("the receiver", [&] {
        n.b.progress();
        return 1 == r.delivered;
    });
}

TEST_F(computing, where_both_compute_their_threads_run_the_pipeline) {
    node_pair n(parameters("copy"));
    n.start_threads();
    settle(n);
    test_recv r;
    test_send s;
    r.aim(4 * big, ctx, 0, tag);
    s.aim(n.to_b, 4 * big, 3, ctx, 0, tag);
    n.receive(n.b, r);
    n.send(n.a, s);
    wait_until("the sender's thread", [&] { return 1 == count(n.a, stat::writes_thread); });
    EXPECT_EQ(1U, count(n.b, stat::thread_matches));
    n.drive("both", [&] { return 1 == s.delivered && 1 == r.delivered; });
    EXPECT_EQ(-1, r.differs(4 * big, 3));
}

TEST_F(computing, derived_data_is_left_to_the_application) {
    std::deque<test_recv> receives(6); // longer there than the threads, which may look at one that is done
    std::deque<test_send> sends(6);
    node_pair n(parameters());
    n.start_threads();
    settle(n);
    for (const unsigned steps : {1U, 2U, 3U}) {
        test_recv &r = receives[2 * steps - 2], &other = receives[2 * steps - 1];
        test_send &s = sends[2 * steps - 2], &o = sends[2 * steps - 1];
        r.aim(big, ctx, 0, tag, steps & 1 ? 3 : 1);
        s.aim(n.to_b, big, 3, ctx, 0, tag, steps & 2 ? 3 : 1);
        other.aim(big, ctx, 0, 99); // keeps the thread awake
        o.aim(n.to_b, big, 4, ctx, 0, 99);
        n.receive(n.b, other);
        n.receive(n.b, r);
        n.send(n.a, s);
        n.send(n.a, o);
        n.drive("all", [&] { return s.delivered && r.delivered && o.delivered && other.delivered; });
        EXPECT_EQ(-1, r.differs(big, 3));
        EXPECT_EQ(-1, other.differs(big, 4));
        EXPECT_FALSE(r.overrun);
    }
}

TEST_F(computing, a_small_message_to_a_large_receive_wakes_nobody_and_disarms_it) {
    node_pair n(parameters());
    n.start_threads();
    settle(n);
    test_recv r;
    test_send s;
    r.aim(big, ctx, 0, tag);
    s.aim(n.to_b, 100, 3, ctx, 0, tag);
    n.receive(n.b, r);
    EXPECT_EQ(1U, armed(n.b));
    n.send(n.a, s);
    n.drive("both", [&] { return 1 == s.delivered && 1 == r.delivered; });
    EXPECT_EQ(0U, armed(n.b));
    EXPECT_EQ(0U, count(n.b, stat::wakes_match) + count(n.a, stat::wakes_sent));
}

TEST_F(computing, receives_smaller_than_the_limit_are_not_armed) {
    params p = parameters();
    p.arm_from = 500000;
    node_pair n(p);
    n.start_threads();
    test_recv small, large;
    small.aim(500000, ctx, 0, 1);
    large.aim(500001, ctx, 0, 2);
    n.receive(n.b, small);
    EXPECT_EQ(0U, armed(n.b));
    n.receive(n.b, large);
    EXPECT_EQ(1U, armed(n.b));
    n.b.enter();
    EXPECT_TRUE(n.b.cancel_receive(&small));
    EXPECT_TRUE(n.b.cancel_receive(&large));
    n.b.leave();
    EXPECT_EQ(0U, armed(n.b));
    EXPECT_EQ(0U, engine_access::outstanding(n.b));
}

TEST_F(computing, more_receives_than_the_table_holds_are_all_served) {
    node_pair n(parameters());
    n.start_threads();
    settle(n);
    constexpr std::size_t many = 100;
    constexpr std::uint64_t bytes = 40000;
    std::deque<test_recv> r(many);
    std::deque<test_send> s(many);
    for (std::size_t i = 0; i < many; ++i) {
        r[i].aim(bytes, ctx, 0, static_cast<std::int32_t>(i));
        n.receive(n.b, r[i]);
    }
    EXPECT_EQ(many - 63, count(n.b, stat::requests_overflow));
    EXPECT_EQ(layout::request_entries, armed(n.b));
    for (std::size_t i = many; i-- > 0;) { // first those that stand behind the catch-all
        s[i].aim(n.to_b, bytes, i, ctx, 0, static_cast<std::int32_t>(i));
        n.send(n.a, s[i]);
    }
    wait_until("all are read while b computes", [&] { return many == count(n.b, stat::reads_thread); });
    n.drive("all", [&] {
        return std::all_of(s.begin(), s.end(), [](auto &x) { return 1 == x.delivered; }) &&
               std::all_of(r.begin(), r.end(), [](auto &x) { return 1 == x.delivered; });
    });
    for (std::size_t i = 0; i < many; ++i) {
        EXPECT_EQ(-1, r[i].differs(bytes, i));
    }
    EXPECT_EQ(0U, armed(n.b));
}

TEST_F(computing, a_full_table_wakes_for_what_is_in_it_only) {
    node_pair n(parameters());
    n.start_threads();
    settle(n);
    constexpr std::size_t many = 100;
    constexpr std::uint64_t bytes = 40000;
    std::deque<test_recv> r(many);
    for (std::size_t i = 0; i < many; ++i) {
        r[i].aim(bytes, ctx, 0, static_cast<std::int32_t>(i));
        n.receive(n.b, r[i]);
    }
    settle(n);
    const std::uint64_t before = count(n.a, stat::wakes_sent);
    test_send other, wanted;
    other.aim(n.to_b, bytes, 1, ctx + 1, 0, 5); // of another communicator
    n.send(n.a, other);
    EXPECT_EQ(before, count(n.a, stat::wakes_sent));
    wanted.aim(n.to_b, bytes, 2, ctx, 0, many - 1);
    n.send(n.a, wanted);
    EXPECT_EQ(before + 1, count(n.a, stat::wakes_sent));
    wait_until("it is read while b computes", [&] { return 1 == count(n.b, stat::reads_thread); });
    test_recv late;
    late.aim(bytes, ctx + 1, 0, 5);
    n.receive(n.b, late);
    n.drive("both", [&] {
        return 1 == late.delivered && 1 == r[many - 1].delivered && 1 == other.delivered && 1 == wanted.delivered;
    });
    n.b.enter();
    for (test_recv &left : r) {
        n.b.cancel_receive(&left);
    }
    n.b.leave();
    EXPECT_EQ(0U, armed(n.b));
}

// RTS and CTS notices of one process, apart by bit 31 of the source: those handled must stay dead.
//
// Each wake here has one cause, so that nothing is left to chance: the receiver is in its engine
// while the sender posts (it rings its own thread when it leaves), the sender computes when the
// answer comes (the receiver's thread wakes it), and nobody calls in before both are done. Where
// the application and a thread, or a poster and a leaver, see to the same thing at the same
// moment, one of them may come in vain; that is allowed, and no subject of this test.
TEST_F(computing, messages_both_ways_one_after_the_other_have_no_futile_wake) {
    node_pair n(parameters("copy")); // senders are armed for the answer
    n.start_threads();
    settle(n);
    constexpr std::uint64_t rounds = 20;
    const auto one_way = [&](engine &from, endpoint *to, engine &into, std::uint64_t seed) {
        test_recv r;
        test_send s;
        const auto source = static_cast<std::int32_t>(from.identity().slot);
        r.aim(big, ctx, source, tag);
        s.aim(to, big, seed, ctx, source, tag);
        into.enter();
        into.receive(&r);
        n.send(from, s);
        const std::uint64_t before = count(from, stat::writes_thread);
        into.leave();
        wait_until("the sender's thread", [&] { return before + 1 == count(from, stat::writes_thread); });
        settle(n); // the receiver's is awake by now, and sleeps when the last byte is in place
        EXPECT_EQ(0U, s.delivered + r.delivered);
        n.drive("both", [&] { return 1 == s.delivered && 1 == r.delivered; });
        EXPECT_EQ(-1, r.differs(big, seed));
    };
    for (std::uint64_t round = 0; round < rounds; ++round) {
        one_way(n.a, n.to_b, n.b, round);
        one_way(n.b, n.to_a, n.a, round + 100);
        ASSERT_FALSE(HasFailure()) << "round " << round;
    }
    for (engine *e : {&n.a, &n.b}) {
        EXPECT_EQ(0U, count(*e, stat::wakes_futile));
        EXPECT_EQ(rounds, count(*e, stat::wakes_match)) << "for the answer to its send";
        EXPECT_EQ(rounds, count(*e, stat::wakes_self)) << "for what of its receive is still to come";
        EXPECT_EQ(rounds, count(*e, stat::wakes_sent));
        EXPECT_EQ(2 * rounds, count(*e, stat::requests_armed));
        EXPECT_EQ(2 * rounds, count(*e, stat::requests_matched)) << "each by its own notice, once";
        EXPECT_EQ(rounds, count(*e, stat::writes_thread));
        EXPECT_EQ(0U, count(*e, stat::thread_matches)) << "the call that armed the receive takes what came in it";
        EXPECT_EQ(0U, count(*e, stat::wakes_busy) + count(*e, stat::wakes_withdrawn));
    }
}

TEST_F(computing, messages_both_ways_at_once_match_no_more_than_was_armed) {
    node_pair n(parameters("copy"));
    n.start_threads();
    settle(n);
    for (std::uint64_t round = 0; round < 20; ++round) {
        test_recv ra, rb;
        test_send sa, sb;
        ra.aim(big, ctx, 1, tag);
        rb.aim(big, ctx, 0, tag);
        n.receive(n.a, ra);
        n.receive(n.b, rb);
        sa.aim(n.to_b, big, round, ctx, 0, tag);
        sb.aim(n.to_a, big, round + 100, ctx, 1, tag);
        n.send(n.a, sa);
        n.send(n.b, sb);
        n.drive("all", [&] { return ra.delivered && rb.delivered && sa.delivered && sb.delivered; });
        ASSERT_EQ(-1, ra.differs(big, round + 100));
        ASSERT_EQ(-1, rb.differs(big, round));
    }
    settle(n);
    for (engine *e : {&n.a, &n.b}) {
        // counted when it is armed behind its notice, and when the word that says so is taken
        EXPECT_LE(count(*e, stat::requests_matched), 2 * count(*e, stat::requests_armed));
        EXPECT_EQ(0U, armed(*e));
    }
}

TEST_F(computing, the_polling_thread_reads_as_well) {
    node_pair n(with("read", "poll"));
    n.start_threads();
    test_recv r;
    test_send s;
    r.aim(big, ctx, 0, tag);
    s.aim(n.to_b, big, 3, ctx, 0, tag);
    n.receive(n.b, r);
    n.send(n.a, s);
    wait_until("the thread reads", [&] { return 1 == count(n.b, stat::reads_thread); });
    n.drive("both", [&] { return 1 == s.delivered && 1 == r.delivered; });
    EXPECT_EQ(-1, r.differs(big, 3));
    EXPECT_EQ(gate::mode::fenced, n.b.the_gate().current_mode());
}

TEST_F(computing, without_a_strategy_nothing_moves_and_nothing_is_armed) {
    node_pair n(with("read", "none"));
    n.start_threads();
    EXPECT_FALSE(engine_access::has_thread(n.b));
    test_recv r;
    test_send s;
    r.aim(big, ctx, 0, tag);
    s.aim(n.to_b, big, 3, ctx, 0, tag);
    n.receive(n.b, r);
    n.send(n.a, s);
    EXPECT_EQ(0U, count(n.b, stat::requests_armed));
    EXPECT_EQ(0U, armed(n.b));
    n.drive("both", [&] { return 1 == s.delivered && 1 == r.delivered; });
    EXPECT_EQ(1U, count(n.b, stat::reads_app));
}

TEST_F(computing, dropped_notices_cost_no_data) {
    for (const bool garbage_too : {false, true}) {
        params p = parameters();
        p.fault_drop_notices = 50;
        p.fault_garbage_notices = garbage_too ? 50 : 0;
        std::deque<test_recv> receives(50); // as above
        std::deque<test_send> sends(50);
        node_pair n(p);
        n.start_threads();
        for (std::uint64_t i = 0; i < 50; ++i) {
            test_recv &r = receives[i];
            test_send &s = sends[i];
            r.aim(100000, ctx, 0, tag);
            s.aim(n.to_b, 100000, i, ctx, 0, tag);
            n.receive(n.b, r);
            n.send(n.a, s);
            n.drive("both", [&] { return s.delivered && r.delivered; });
            ASSERT_EQ(-1, r.differs(100000, i));
        }
        EXPECT_LT(count(n.a, stat::notices_posted), garbage_too ? 100U : 50U);
    }
}

unsigned interrupt_threads() {
    unsigned n = 0;
    for (const auto &task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::string name;
        std::getline(std::ifstream(task.path() / "comm"), name);
        n += layout::thread_name == name ? 1 : 0;
    }
    return n;
}

// As where two of an application's meet the first process of another job at the same time.
TEST_F(computing, its_thread_is_started_once_by_several_application_threads) {
    for (int round = 0; round < 30; ++round) {
        node_pair n(parameters(), true);
        std::atomic<int> here{0};
        std::vector<std::thread> all;
        for (int t = 0; t < 3; ++t) {
            all.emplace_back([&] {
                for (++here; here < 3;) {}
                n.a.start_thread();
                n.a.enter();
                EXPECT_TRUE(engine_access::has_thread(n.a));
                n.a.leave();
            });
        }
        for (auto &t : all) {
            t.join();
        }
        wait_until("it has its name", [] { return 0 != interrupt_threads(); });
        EXPECT_EQ(1U, interrupt_threads());
        n.a.stop_thread();
        EXPECT_EQ(0U, interrupt_threads());
    }
}

TEST_F(computing, several_application_threads_share_the_engine) {
    // MPI_THREAD_MULTIPLE: one engine in this process, the other one in a child
    scratch_directory d;
    struct meeting {
        segment_ticket ticket;
        std::atomic<std::uint32_t> step{0};
    };
    shared_object<meeting> m;
    constexpr int threads = 3;
    constexpr int rounds = 60;
    const auto side = [&](std::uint32_t me) {
        params p = parameters();
        p.directory = d.path();
        // Operations outlive the engine, as those of a free list do: its thread may look at one that is done.
        std::vector<std::deque<test_recv>> all_receives;
        std::vector<std::deque<test_send>> all_sends;
        for (int t = 0; t < threads; ++t) {
            all_receives.emplace_back(rounds);
            all_sends.emplace_back(rounds);
        }
        engine e;
        set_hooks(e);
        ASSERT_EQ(0, e.start(p, {name_of(me), me, true}, false));
        EXPECT_EQ(gate::mode::locked, e.the_gate().current_mode());
        if (0 == me) {
            ASSERT_EQ(0, e.create_board(2, nullptr));
            m->ticket = e.board_segment().ticket();
            m->step = 1;
        } else {
            wait_until("the board", [&] { return m->step > 0; });
            ASSERT_EQ(0, e.open_board(m->ticket));
        }
        m->step.fetch_add(1);
        wait_until("the other rank", [&] { return m->step >= 3; });
        endpoint *peer = e.add_shared(name_of(1 - me), 1 - me);
        ASSERT_NE(nullptr, peer);
        e.start_thread();
        std::vector<std::thread> all;
        std::atomic<int> left{threads};
        for (int t = 0; t < threads; ++t) {
            all.emplace_back([&, t] {
                generator g(static_cast<std::uint64_t>(t));
                auto &receives = all_receives[static_cast<std::size_t>(t)];
                auto &sends = all_sends[static_cast<std::size_t>(t)];
                for (int i = 0; i < rounds; ++i) {
                    const std::uint64_t bytes = g.below(3) ? g.below(9000) : g.below(300000);
                    const auto seed = static_cast<std::uint64_t>(i * 10 + t);
                    test_recv &r = receives[static_cast<std::size_t>(i)];
                    test_send &s = sends[static_cast<std::size_t>(i)];
                    r.aim(300000, ctx, static_cast<std::int32_t>(1 - me), t);
                    s.aim(peer, bytes, seed, ctx, static_cast<std::int32_t>(me), t);
                    e.enter();
                    e.receive(&r);
                    e.send(&s);
                    e.leave();
                    bool over = false;
                    wait_until("both", [&] {
                        e.progress();
                        e.enter();
                        over = 0 != r.delivered && 0 != s.delivered;
                        e.leave();
                        return over;
                    });
                    ASSERT_TRUE(over);
                    ASSERT_EQ(bytes, r.received);
                    ASSERT_EQ(-1, r.differs(bytes, seed));
                }
                --left;
                wait_until("the other threads", [&] {
                    e.progress();
                    return 0 == left;
                });
            });
        }
        for (auto &t : all) {
            t.join();
        }
        m->step.fetch_add(1);
        wait_until("the other rank's end", [&] {
            e.progress();
            return m->step >= 5;
        });
        e.stop();
    };
    child other([&] { side(1); });
    side(0);
    EXPECT_EQ(0, other.join());
    EXPECT_TRUE(d.left().empty() || HasFailure());
}

} // namespace
} // namespace smartint
