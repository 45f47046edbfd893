// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
// A node whose cores all compute: large messages are left to whoever waits first, for a time.
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <string>
#include <thread>

#include "harness_exchange.h"

namespace smartint {
namespace {

using namespace test;

constexpr std::uint32_t forever_us = 1000000000;

class crowded : public computing {
protected:
    static params left_for(std::uint32_t us) {
        params p = parameters("auto");
        p.idle_cores = "no";
        p.postpone_us = us;
        return p;
    }
    static std::uint64_t by_threads(node_pair &n) {
        return count(n.a, stat::reads_thread) + count(n.b, stat::reads_thread) + count(n.a, stat::writes_thread) +
               count(n.b, stat::writes_thread);
    }
    static std::uint64_t wakes(node_pair &n) {
        std::uint64_t sum = 0;
        for (engine *e : {&n.a, &n.b}) {
            for (const stat s : {stat::wakes_match, stat::wakes_self, stat::wakes_timer, stat::wakes_transport}) {
                sum += count(*e, s);
            }
        }
        return sum;
    }
    // One call of the application into its engine, waiting.
    static void wait_once(engine &e) {
        e.begin_wait();
        e.progress();
        e.end_wait();
    }
};

// A large message of a to b, both of which compute.
struct one_message {
    explicit one_message(const params &p) : n(p) {
        n.start_threads();
        computing::settle(n);
        r.aim(big, ctx, 0, tag);
        s.aim(n.to_b, big, 3, ctx, 0, tag);
    }
    void receive() { n.receive(n.b, r); }
    void send() { n.send(n.a, s); }
    void comes_late() { // the RTS is there when the receive is posted
        send();
        n.b.progress();
        receive();
    }
    void arrives() {
        n.drive("both", [&] { return 1 == s.delivered && 1 == r.delivered; });
        EXPECT_EQ(-1, r.differs(big, 3));
    }

    test_recv r;
    test_send s;
    node_pair n; // ends first: its threads may look at the others
};

TEST_F(crowded, a_receiver_that_waits_first_reads_and_nobody_is_woken) {
    one_message m(left_for(forever_us));
    m.receive();
    m.send();
    settle(m.n);
    EXPECT_EQ(1U, count(m.n.a, stat::notices_kept));
    EXPECT_EQ(0U, count(m.n.a, stat::notices_posted));
    wait_once(m.n.b);
    EXPECT_EQ(1U, count(m.n.b, stat::reads_app));
    EXPECT_EQ(1U, m.r.delivered);
    m.n.drive("the sender", [&] { return 1 == m.s.delivered; });
    EXPECT_EQ(-1, m.r.differs(big, 3));
    EXPECT_EQ(0U, by_threads(m.n));
    EXPECT_EQ(0U, wakes(m.n));
}

TEST_F(crowded, a_sender_that_waits_first_has_the_receiver_woken_and_writes) {
    one_message m(left_for(forever_us));
    m.receive();
    m.send();
    settle(m.n);
    EXPECT_EQ(0U, wakes(m.n));
    m.n.a.begin_wait();
    wait_until("the sender writes", [&] {
        m.n.a.progress();
        return 1 == m.s.delivered;
    });
    m.n.a.end_wait();
    EXPECT_EQ(1U, count(m.n.b, stat::thread_matches));
    EXPECT_EQ(1U, count(m.n.a, stat::writes_app));
    EXPECT_EQ(0U, by_threads(m.n));
    m.n.drive("the receiver", [&] { return 1 == m.r.delivered; });
    EXPECT_EQ(-1, m.r.differs(big, 3));
}

TEST_F(crowded, what_is_left_too_long_the_receivers_thread_reads) {
    one_message m(left_for(20000));
    m.receive();
    m.send();
    wait_until("the thread reads", [&] { return 1 == count(m.n.b, stat::reads_thread); });
    EXPECT_EQ(1U, count(m.n.a, stat::wakes_timer));
    m.arrives();
}

// The RTS is there when the receive is posted.
TEST_F(crowded, a_late_receive_shares_its_copy_and_either_moves_it) {
    for (const bool sender : {false, true}) {
        one_message m(left_for(forever_us));
        m.comes_late();
        settle(m.n);
        EXPECT_EQ(0U, wakes(m.n));
        EXPECT_EQ(1U, count(m.n.b, stat::pushes_requested));
        if (sender) { // which first gives the receiver a moment to come
            m.n.a.begin_wait();
            wait_until("the sender writes", [&] {
                m.n.a.progress();
                return 1 == m.s.delivered;
            });
            m.n.a.end_wait();
        } else {
            wait_once(m.n.b);
        }
        m.arrives();
        EXPECT_EQ(sender ? 1U : 0U, count(m.n.a, stat::writes_app));
        EXPECT_EQ(sender ? 0U : 1U, count(m.n.b, stat::reads_app));
        EXPECT_EQ(0U, by_threads(m.n));
    }
}

// The kernel refuses one side's copies. The other one's thread may be in the middle of the same copy: no byte
// of a second way may come before it is out.
TEST_F(crowded, a_left_copy_that_one_side_may_not_make_comes_by_another_way) {
    enum { sender_fails, receiver_fails, sender_knows };
    for (const int who : {sender_fails, receiver_fails, sender_knows}) {
        for (const std::uint32_t us : {100U, 3000U, forever_us}) {
            node_pair n(left_for(us));
            n.start_threads();
            for (unsigned round = 0; round < 5; ++round) {
                test_recv r;
                test_send s;
                n.to_a->direct = n.to_b->direct = true;
                r.aim(big, ctx, 0, tag);
                s.aim(n.to_b, big, round, ctx, 0, tag);
                if (sender_knows != who) {
                    (sender_fails == who ? n.to_b : n.to_a)->pid = 0x7ffffff0U; // nobody has that memory
                }
                n.send(n.a, s);
                n.a.enter();
                n.to_b->direct = sender_knows != who; // by another message, meanwhile
                n.a.leave();
                n.b.progress();
                n.receive(n.b, r);
                std::this_thread::sleep_for(std::chrono::microseconds(150 * round));
                n.drive("both", [&] { return 1 == s.delivered && 1 == r.delivered; });
                n.a.stop_thread(); // which may look at finished operations until then
                n.b.stop_thread();
                EXPECT_EQ(-1, r.differs(big, round)) << who << " " << us;
                EXPECT_EQ(0U, engine_access::outstanding(n.a) + engine_access::outstanding(n.b));
                n.start_threads();
            }
            EXPECT_EQ(0U, count(n.a, stat::refused_messages) + count(n.b, stat::refused_messages));
        }
    }
}

TEST_F(crowded, a_late_receive_left_too_long_is_moved_by_a_thread) {
    one_message m(left_for(20000));
    m.comes_late();
    wait_until("either's thread",
               [&] { return 1 == count(m.n.b, stat::reads_thread) + count(m.n.a, stat::writes_thread); });
    m.arrives();
}

// The time is over while the application is in its engine and does not look.
TEST_F(crowded, a_thread_that_comes_while_the_application_is_in_comes_again_when_it_leaves) {
    one_message m(left_for(5000));
    m.receive();
    m.n.a.enter();
    m.n.a.send(&m.s);
    wait_until("its time is over", [&] { return 1 == count(m.n.a, stat::wakes_timer); });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(0U, count(m.n.a, stat::notices_posted));
    m.n.a.leave();
    wait_until("the thread reads", [&] { return 1 == count(m.n.b, stat::reads_thread); });
    m.arrives();
}

// Many at once, every other one found waiting, by whoever comes: each arrives once and whole.
TEST_F(crowded, many_are_moved_by_applications_and_threads_together) {
    node_pair n(left_for(300));
    n.start_threads();
    constexpr std::size_t many = 24;
    for (unsigned round = 0; round < 10; ++round) {
        std::deque<test_recv> r(many);
        std::deque<test_send> s(many);
        for (std::size_t i = 0; i < many; ++i) {
            r[i].aim(big, ctx, 0, static_cast<std::int32_t>(i));
            s[i].aim(n.to_b, big, round * many + i, ctx, 0, static_cast<std::int32_t>(i));
            if (0 == i % 2) {
                n.receive(n.b, r[i]);
            }
            n.send(n.a, s[i]);
        }
        for (std::size_t i = 1; i < many; i += 2) {
            n.receive(n.b, r[i]);
        }
        std::this_thread::sleep_for(std::chrono::microseconds(100 * round));
        n.drive("all", [&] {
            return std::all_of(s.begin(), s.end(), [](auto &x) { return 1 == x.delivered; }) &&
                   std::all_of(r.begin(), r.end(), [](auto &x) { return 1 == x.delivered; });
        });
        n.a.stop_thread(); // which may look at finished operations until then
        n.b.stop_thread();
        for (std::size_t i = 0; i < many; ++i) {
            EXPECT_EQ(-1, r[i].differs(big, round * many + i));
        }
        n.start_threads();
    }
    EXPECT_EQ(0U, count(n.a, stat::refused_messages) + count(n.b, stat::refused_messages));
}

// Both engines are threads of this process: two ranks, on as many units as it may use.
TEST_F(crowded, two_ranks_on_two_units_have_no_idle_core) {
    cpu_set_t before, set;
    CPU_ZERO(&before);
    ASSERT_EQ(0, sched_getaffinity(0, sizeof(before), &before));
    for (const int units : {1, 2, 3}) {
        CPU_ZERO(&set);
        for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&set) < units; ++i) {
            if (CPU_ISSET(i, &before)) {
                CPU_SET(i, &set);
            }
        }
        if (units != CPU_COUNT(&set)) {
            continue; // this machine has not so many
        }
        ASSERT_EQ(0, sched_setaffinity(0, sizeof(set), &set));
        params p = left_for(forever_us);
        p.idle_cores = "auto";
        one_message m(p);
        m.send();
        EXPECT_EQ(units <= 2 ? 1U : 0U, count(m.n.a, stat::notices_kept)) << units;
        m.receive();
        m.arrives();
    }
    sched_setaffinity(0, sizeof(before), &before);
}

// With cores for the threads named, or with something else than `auto` asked for, nothing is left.
TEST_F(crowded, nothing_is_left_where_it_was_not_asked_for) {
    for (const int way : {0, 1, 2, 3}) {
        params p = left_for(forever_us);
        cpu_set_t set;
        CPU_ZERO(&set);
        sched_getaffinity(0, sizeof(set), &set);
        int first = 0;
        while (!CPU_ISSET(first, &set)) {
            ++first;
        }
        if (0 == way) {
            p.postpone_us = 0;
        } else if (1 == way) {
            p.idle_cores = "auto";
            p.cores = std::to_string(first);
        } else if (2 == way) {
            p.rendezvous = "read";
        } else {
            p.rendezvous = "copy";
        }
        one_message m(p);
        m.receive();
        m.send();
        EXPECT_EQ(0U, count(m.n.a, stat::notices_kept)) << way;
        m.arrives();
    }
}

} // namespace
} // namespace smartint
