// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Parking and ringing: the interrupt thread goes to sleep on its descriptor while the
// application leaves its engine. Whatever the order, a thread that is needed is awake.
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <memory>
#include <thread>

#include "common_smartint_board.h"
#include "common_smartint_wake.h"
#include "harness_engine.h"

namespace smartint {
namespace {

using namespace test;

// The protocol alone, with the words the engine uses: P1 and P2.
TEST(parking, a_thread_that_parks_while_the_application_leaves_is_never_left_asleep) {
    constexpr std::uint32_t rounds = 20000;
    const int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    gate g;
    g.set_mode(gate::mode::asymmetric);
    std::atomic<std::uint32_t> parked{0};
    steps go, done;
    std::atomic<std::uint32_t> awake{0};
    std::thread thread([&] {
        for (std::uint32_t i = 1; i <= rounds; ++i) {
            go.await(i);
            parked.store(1, std::memory_order_relaxed);
            std::atomic_thread_fence(std::memory_order_seq_cst); // P1
            if (!g.application_inside()) {
                awake = i; // goes on without sleeping
            }
            done.reach(i);
        }
    });
    for (std::uint32_t i = 1; i <= rounds; ++i) {
        g.enter();
        parked = 0;
        drain_eventfd(fd);
        go.reach(i);
        for (std::uint32_t k = i % 50; k > 0; --k) {
            std::atomic_signal_fence(std::memory_order_seq_cst);
        }
        g.leave();
        std::atomic_thread_fence(std::memory_order_seq_cst); // P2
        if (0 != parked.load(std::memory_order_relaxed)) {
            ring_eventfd(fd);
        }
        done.await(i);
        ASSERT_TRUE(i == awake || drain_eventfd(fd)) << "round " << i << ": it sleeps for ever";
    }
    thread.join();
    close(fd);
}

TEST(parking, a_ring_before_the_sleep_is_not_lost) {
    const int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    ring_eventfd(fd);
    pollfd p{fd, POLLIN, 0};
    EXPECT_EQ(1, poll(&p, 1, 0)) << "a descriptor remembers";
    EXPECT_TRUE(drain_eventfd(fd));
    EXPECT_EQ(0, poll(&p, 1, 0));
    close(fd);
}

// The helper's way to sleep (core::sleep, D2) against a rank's notice for another node
// (relay_post and helper_bells::ring, R1 and D1): a notice that nobody takes shows as one that never comes.
TEST(parking, a_notice_posted_while_the_helper_falls_asleep_is_taken) {
    constexpr std::uint32_t rounds = 10000;
    const auto q = std::make_unique<layout::relay_queue>();
    const auto line = std::make_unique<layout::helper_line>();
    const int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    std::atomic<std::uint32_t> taken{0};
    std::uint32_t slept = 0;
    std::thread the_helper([&] {
        while (taken < rounds) {
            relay_item item{};
            if (relay_take(*q, item)) {
                EXPECT_EQ(taken + 1, static_cast<std::uint32_t>(item.source_seq));
                ++taken;
                continue;
            }
            line->state.store(layout::helper_sleeping, std::memory_order_release);
            std::atomic_thread_fence(std::memory_order_seq_cst); // D2
            if (relay_empty(*q)) {
                pollfd p{fd, POLLIN, 0};
                poll(&p, 1, -1);
                drain_eventfd(fd);
                ++slept;
            }
            line->state.store(layout::helper_polling, std::memory_order_release);
        }
    });
    generator g(10);
    for (std::uint32_t i = 1; i <= rounds; ++i) {
        ASSERT_TRUE(relay_post(*q, 1, 2, make_rts_key(1, 2, 3), 7, i));
        std::atomic_thread_fence(std::memory_order_seq_cst); // D1
        if (layout::helper_sleeping == line->state.load(std::memory_order_acquire)) {
            ring_eventfd(fd);
        }
        if (!wait_until("it is taken", [&] { return i == taken; })) {
            ring_eventfd(fd); // so that it ends
        }
        for (unsigned k = g.below(600); k > 0; --k) { // it falls asleep
            std::atomic_signal_fence(std::memory_order_seq_cst);
        }
    }
    the_helper.join();
    std::printf("# asleep in %u of %u rounds\n", slept, rounds);
    close(fd);
}

params reading() {
    params p = test_params("helper");
    p.rendezvous = "read";
    p.arm_from = 0;
    return p;
}

// The real thread: the application passes in and out of its engine while messages come. Each
// is read, by whoever; nobody calls in after the last one, so a lost wake shows as a hang.
TEST(engine_wakes, none_is_lost_while_the_application_goes_in_and_out) {
    node_pair n(reading());
    n.start_threads();
    generator g(8);
    for (std::uint64_t round = 0; round < 300; ++round) {
        test_recv r;
        test_send s;
        r.aim(40000, 1, 0, 2);
        s.aim(n.to_b, 40000, round, 1, 0, 2);
        n.receive(n.b, r);
        std::thread sender([&] { n.send(n.a, s); });
        for (unsigned k = g.below(30); k > 0; --k) {
            n.b.enter();
            n.b.leave();
        }
        sender.join();
        ASSERT_TRUE(wait_until("somebody reads it", [&] {
            return round + 1 == n.b.counters().get(stat::reads_thread) + n.b.counters().get(stat::reads_app);
        }));
        n.drive("both", [&] { return s.delivered && r.delivered; });
        ASSERT_EQ(-1, r.differs(40000, round));
    }
}

TEST(engine_wakes, one_that_comes_while_the_thread_goes_to_sleep_is_not_lost) {
    node_pair n(reading());
    n.start_threads();
    generator g(9);
    for (std::uint64_t round = 0; round < 200; ++round) {
        test_recv first, second;
        test_send s1, s2;
        first.aim(40000, 1, 0, 1);
        second.aim(40000, 1, 0, 2);
        s1.aim(n.to_b, 40000, round, 1, 0, 1);
        s2.aim(n.to_b, 40000, round + 1, 1, 0, 2);
        n.receive(n.b, first);
        n.receive(n.b, second);
        n.send(n.a, s1);
        for (unsigned k = g.below(20000); k > 0; --k) { // the thread is reading the first, or done
            std::atomic_signal_fence(std::memory_order_seq_cst);
        }
        n.send(n.a, s2);
        ASSERT_TRUE(
            wait_until("both are read", [&] { return 2 * (round + 1) == n.b.counters().get(stat::reads_thread); }));
        n.drive("all", [&] { return s1.delivered && s2.delivered && first.delivered && second.delivered; });
        ASSERT_EQ(-1, first.differs(40000, round));
        ASSERT_EQ(-1, second.differs(40000, round + 1));
    }
}

TEST(engine_wakes, a_thread_can_be_stopped_at_any_moment) {
    for (int i = 0; i < 100; ++i) {
        node_pair n(reading());
        n.start_threads();
        test_recv r;
        test_send s;
        r.aim(300000, 1, 0, 1);
        s.aim(n.to_b, 300000, 1, 1, 0, 1);
        n.receive(n.b, r);
        n.send(n.a, s);
        for (int k = i * 20; k > 0; --k) {
            std::atomic_signal_fence(std::memory_order_seq_cst);
        }
        n.b.stop_thread();
        n.a.stop_thread();
        n.drive("both, without threads", [&] { return s.delivered && r.delivered; });
        ASSERT_EQ(-1, r.differs(300000, 1));
    }
}

} // namespace
} // namespace smartint
