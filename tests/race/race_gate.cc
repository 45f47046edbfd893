// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// The gate between real threads: each order of enter and claim that matters, set up step by
// step, and then many of them left to chance. What the gate protects is plain data.
#include "common_smartint_gate.h"

#include <cstddef>
#include <thread>

#include "harness.h"

namespace smartint {
namespace {

using test::steps;

constexpr gate::mode modes[] = {gate::mode::asymmetric, gate::mode::fenced};

// First word of the second line: 0 free, 1 claimed, 2 claimed and the application sleeps.
std::uint32_t claim_word(const gate &g) {
    return reinterpret_cast<const std::atomic<std::uint32_t> *>(reinterpret_cast<const std::byte *>(&g) + 64)->load();
}

TEST(gate_orders, enter_before_claim_the_thread_gives_up_and_touches_nothing) {
    for (const auto mode : modes) {
        gate g;
        g.set_mode(mode);
        int data = 0;
        steps s;
        std::thread thread([&] {
            s.await(1); // the application is inside
            EXPECT_FALSE(g.claim());
            s.reach(2);
            s.await(3); // it has left
            EXPECT_TRUE(g.claim());
            EXPECT_EQ(1, data);
            data = 2;
            g.release();
            s.reach(4);
        });
        g.enter();
        s.reach(1);
        s.await(2);
        data = 1;
        g.leave();
        s.reach(3);
        s.await(4);
        g.enter();
        EXPECT_EQ(2, data);
        g.leave();
        thread.join();
    }
}

TEST(gate_orders, claim_before_enter_the_application_waits_and_sees_what_was_done) {
    for (const auto mode : modes) {
        gate g;
        g.set_mode(mode);
        int data = 0;
        steps s;
        std::thread thread([&] {
            EXPECT_TRUE(g.claim());
            s.reach(1);
            test::wait_until("the application sleeps", [&] { return 2 == claim_word(g); });
            data = 1;
            g.release();
        });
        s.await(1);
        g.enter();
        EXPECT_EQ(1, data);
        g.leave();
        thread.join();
    }
}

TEST(gate_orders, claim_enter_release_claim_the_second_claim_fails) {
    for (const auto mode : modes) {
        gate g;
        g.set_mode(mode);
        steps s;
        std::thread application([&] {
            s.await(1);
            g.enter(); // sleeps
            s.reach(2);
            s.await(3);
            g.leave();
        });
        EXPECT_TRUE(g.claim());
        s.reach(1);
        test::wait_until("it sleeps", [&] { return 2 == claim_word(g); });
        g.release();
        EXPECT_FALSE(g.claim()) << "it has said inside long ago, awake or not";
        s.await(2);
        EXPECT_FALSE(g.claim());
        s.reach(3);
        application.join();
        EXPECT_TRUE(g.claim());
        g.release();
    }
}

TEST(gate_orders, leave_and_claim_at_once_either_fails_or_sees_everything) {
    for (const auto mode : modes) {
        gate g;
        g.set_mode(mode);
        int data = 0;
        std::atomic<bool> stop{false};
        int last = 0;
        std::thread thread([&] {
            while (!stop) {
                if (g.claim()) {
                    EXPECT_GE(data, last);
                    EXPECT_EQ(0, data % 2) << "in the middle of the application's change";
                    last = data;
                    g.release();
                }
            }
        });
        for (int i = 0; i < 50000; ++i) {
            g.enter();
            ++data;
            std::atomic_signal_fence(std::memory_order_seq_cst);
            ++data;
            g.leave();
        }
        stop = true;
        thread.join();
        EXPECT_EQ(100000, data);
    }
}

void hammer(gate::mode mode, bool trying, int rounds) {
    gate g;
    g.set_mode(mode);
    unsigned long counter = 0; // plain: the gate is all that protects it
    unsigned long by_thread = 0;
    std::atomic<bool> stop{false};
    std::thread thread([&] {
        test::generator random(4);
        while (!stop) {
            if (g.claim()) {
                const unsigned long seen = counter;
                for (unsigned k = random.below(50); k > 0; --k) {
                    std::atomic_signal_fence(std::memory_order_seq_cst);
                }
                counter = seen + 1;
                ++by_thread;
                g.release();
            }
            if (0 == random.below(4)) {
                sched_yield();
            }
        }
    });
    test::generator random(5);
    unsigned long by_application = 0;
    for (int i = 0; i < rounds; ++i) {
        if (trying) {
            if (!g.try_enter()) {
                continue;
            }
        } else {
            g.enter();
        }
        const unsigned long seen = counter;
        for (unsigned k = random.below(50); k > 0; --k) {
            std::atomic_signal_fence(std::memory_order_seq_cst);
        }
        counter = seen + 1;
        ++by_application;
        g.leave();
        for (unsigned k = random.below(100); k > 0; --k) {
            std::atomic_signal_fence(std::memory_order_seq_cst);
        }
    }
    stop = true;
    thread.join();
    EXPECT_EQ(by_application + by_thread, counter);
}

TEST(gate_by_chance, asymmetric_loses_no_update) { hammer(gate::mode::asymmetric, false, 200000); }
TEST(gate_by_chance, fenced_loses_no_update) { hammer(gate::mode::fenced, false, 200000); }
TEST(gate_by_chance, asymmetric_tried_loses_no_update) { hammer(gate::mode::asymmetric, true, 200000); }
TEST(gate_by_chance, fenced_tried_loses_no_update) { hammer(gate::mode::fenced, true, 200000); }

} // namespace
} // namespace smartint
