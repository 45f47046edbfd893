// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "common_smartint_gate.h"

#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "harness.h"

namespace smartint {
namespace {

using test::steps;

constexpr gate::mode two_sided[] = {gate::mode::asymmetric, gate::mode::fenced};

// The claim word opens the second line: 0 free, 1 claimed, 2 claimed and somebody sleeps.
std::uint32_t claim_word(const gate &g) {
    return reinterpret_cast<const std::atomic<std::uint32_t> *>(reinterpret_cast<const std::byte *>(&g) + 64)->load();
}

TEST(gate, its_two_sides_do_not_share_a_line) {
    EXPECT_EQ(64U, alignof(gate));
    EXPECT_GE(sizeof(gate), 128U);
}

TEST(gate, an_asymmetric_gate_falls_back_only_where_the_kernel_has_no_membarrier) {
    gate g;
    EXPECT_EQ(gate::mode::fenced, g.current_mode());
    g.set_mode(gate::mode::asymmetric);
    const long commands = syscall(SYS_membarrier, 0, 0, 0);
    const bool there = commands > 0 && 0 != (commands & (1 << 3));
    EXPECT_EQ(there ? gate::mode::asymmetric : gate::mode::fenced, g.current_mode());
}

// A library may put up a filter at any time, for all threads. Then nobody is to believe in a fence that there was not.
TEST(gate, a_claim_fails_where_the_kernel_refuses_the_fence_later_and_the_application_goes_on) {
    gate g;
    g.set_mode(gate::mode::asymmetric);
    if (!g.asymmetric()) {
        GTEST_SKIP() << "there is no membarrier";
    }
    test::child filtered([] {
        sock_filter program[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        sock_fprog filter{sizeof(program) / sizeof(program[0]), program};
        gate h;
        h.set_mode(gate::mode::asymmetric);
        bool good = h.claim() && !h.out_of_use();
        h.release();
        if (0 != prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || 0 != prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) {
            _exit(2);
        }
        good = good && !h.claim() && h.out_of_use() && 0 == claim_word(h);
        h.enter();
        good = good && !h.claim() && !h.out_of_use(); // it is in: no fence was asked for
        h.leave();
        good = good && !h.claim() && h.out_of_use();
        _exit(good ? 0 : 1);
    });
    EXPECT_EQ(0, filtered.join());
}

TEST(gate, a_claim_fails_while_the_application_is_inside_and_succeeds_outside) {
    for (const auto mode : two_sided) {
        gate g;
        g.set_mode(mode);
        g.enter();
        EXPECT_TRUE(g.application_inside());
        EXPECT_FALSE(g.claim());
        g.leave();
        EXPECT_FALSE(g.application_inside());
        EXPECT_TRUE(g.claim());
        g.release();
        EXPECT_TRUE(g.claim());
        g.release();
        EXPECT_EQ(0U, claim_word(g));
    }
}

TEST(gate, opened_for_a_call_it_lets_other_threads_in_but_not_the_interrupt_thread) {
    gate g;
    g.set_mode(gate::mode::locked);
    std::atomic<int> step{0};
    bool entered = false, claimed = true;
    std::thread other([&] {
        while (1 != step.load()) {
            std::this_thread::yield();
        }
        entered = g.try_enter();
        if (entered) {
            g.leave();
        }
        claimed = g.claim();
        step = 2;
    });
    g.enter();
    g.enter();
    {
        const gate::opened meanwhile(g);
        step = 1;
        while (2 != step.load()) {
            std::this_thread::yield();
        }
    }
    other.join();
    EXPECT_TRUE(entered);
    EXPECT_FALSE(claimed);
    bool late = true;
    std::thread([&] { late = g.try_enter(); }).join();
    EXPECT_FALSE(late) << "it is ours again";
    EXPECT_TRUE(g.nested()) << "as deep as before";
    g.leave();
    g.leave();
    std::thread([&] {
        claimed = g.claim();
        if (claimed) {
            g.release();
        }
    }).join();
    EXPECT_TRUE(claimed);
}

TEST(gate, opened_where_there_is_one_thread_it_stays_as_it_is) {
    for (const auto mode : two_sided) {
        gate g;
        g.set_mode(mode);
        g.enter();
        {
            const gate::opened meanwhile(g);
            EXPECT_FALSE(g.claim());
            EXPECT_EQ(1U, g.depth());
        }
        g.leave();
    }
}

TEST(gate, entering_again_from_inside_is_free_and_the_last_leave_opens_it) {
    for (const auto mode : two_sided) {
        gate g;
        g.set_mode(mode);
        for (unsigned d = 1; d <= 5; ++d) {
            g.enter();
            EXPECT_EQ(d, g.depth());
            EXPECT_EQ(d > 1, g.nested());
        }
        EXPECT_TRUE(g.try_enter());
        g.leave();
        for (unsigned d = 5; d >= 1; --d) {
            EXPECT_FALSE(g.claim());
            g.leave();
        }
        EXPECT_TRUE(g.claim());
        g.release();
    }
}

TEST(gate, a_failed_claim_leaves_it_free_for_the_application) {
    gate g;
    g.enter();
    EXPECT_FALSE(g.claim());
    EXPECT_EQ(0U, claim_word(g));
    g.leave();
    g.enter();
    g.leave();
}

TEST(gate, try_enter_gives_up_while_the_thread_is_in) {
    for (const auto mode : two_sided) {
        gate g;
        g.set_mode(mode);
        EXPECT_TRUE(g.try_enter());
        g.leave();
        ASSERT_TRUE(g.claim());
        for (int i = 0; i < 20; ++i) {
            EXPECT_FALSE(g.try_enter()) << i;
            EXPECT_FALSE(g.application_inside());
        }
        g.release();
        EXPECT_TRUE(g.try_enter());
        g.leave();
    }
}

TEST(gate, after_twenty_refusals_try_enter_waits_for_the_thread) {
    for (const auto mode : two_sided) {
        gate g;
        g.set_mode(mode);
        ASSERT_TRUE(g.claim());
        steps s;
        std::thread application([&] {
            unsigned refused = 0;
            while (!g.try_enter()) {
                ++refused;
            }
            EXPECT_EQ(20U, refused);
            s.reach(1);
            g.leave();
        });
        test::wait_until("the application sleeps", [&] { return 2 == claim_word(g); });
        EXPECT_TRUE(g.application_inside()) << "it has said so and waits";
        g.release();
        application.join();
        s.await(1);
        EXPECT_EQ(0U, claim_word(g));
    }
}

TEST(gate, patience_starts_anew_after_every_entry) {
    gate g;
    for (int round = 0; round < 3; ++round) {
        ASSERT_TRUE(g.claim());
        for (int i = 0; i < 20; ++i) {
            ASSERT_FALSE(g.try_enter());
        }
        g.release();
        ASSERT_TRUE(g.try_enter());
        g.leave();
    }
}

TEST(gate, an_application_that_finds_the_thread_in_sleeps_and_is_woken_by_release) {
    for (const auto mode : two_sided) {
        gate g;
        g.set_mode(mode);
        ASSERT_TRUE(g.claim());
        int shared = 0;
        std::thread application([&] {
            g.enter();
            EXPECT_EQ(17, shared) << "what the thread did is seen";
            shared = 18;
            g.leave();
        });
        test::wait_until("the application sleeps", [&] { return 2 == claim_word(g); });
        shared = 17;
        g.release();
        application.join();
        ASSERT_TRUE(g.claim());
        EXPECT_EQ(18, shared);
        g.release();
    }
}

TEST(gate, a_wake_from_elsewhere_does_not_let_the_application_in) {
    gate g;
    ASSERT_TRUE(g.claim());
    std::atomic<bool> in{false};
    std::thread application([&] {
        g.enter();
        in = true;
        g.leave();
    });
    test::wait_until("the application sleeps", [&] { return 2 == claim_word(g); });
    for (int i = 0; i < 100; ++i) {
        syscall(SYS_futex, reinterpret_cast<std::byte *>(&g) + 64, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
        sched_yield();
        EXPECT_FALSE(in);
    }
    g.release();
    application.join();
    EXPECT_TRUE(in);
}

TEST(gate, a_claim_that_fails_lets_a_waiting_application_in) {
    // claim() itself releases when it finds the application inside
    for (const auto mode : two_sided) {
        gate g;
        g.set_mode(mode);
        std::atomic<bool> stop{false};
        unsigned long claims = 0;
        std::thread thread([&] {
            while (!stop) {
                if (g.claim()) {
                    ++claims;
                    g.release();
                }
            }
        });
        for (int i = 0; i < 20000; ++i) {
            g.enter();
            g.leave();
        }
        stop = true;
        thread.join();
        EXPECT_EQ(0U, claim_word(g));
    }
}

TEST(gate, locked_several_threads_exclude_each_other) {
    gate g;
    g.set_mode(gate::mode::locked);
    EXPECT_EQ(gate::mode::locked, g.current_mode());
    unsigned long counter = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < 5000; ++i) {
                g.enter();
                EXPECT_FALSE(g.nested());
                g.enter();
                EXPECT_TRUE(g.nested());
                ++counter;
                g.leave();
                g.leave();
            }
        });
    }
    unsigned long claimed = 0;
    std::atomic<bool> stop{false};
    std::thread thread([&] {
        while (!stop) {
            if (g.claim()) {
                ++counter;
                ++claimed;
                g.release();
            }
        }
    });
    for (auto &t : threads) {
        t.join();
    }
    stop = true;
    thread.join();
    EXPECT_EQ(15000 + claimed, counter);
}

TEST(gate, locked_a_thread_inside_refuses_others_and_not_itself) {
    gate g;
    g.set_mode(gate::mode::locked);
    g.enter();
    EXPECT_TRUE(g.try_enter());
    EXPECT_TRUE(g.nested());
    g.leave();
    EXPECT_FALSE(g.nested());
    std::thread other([&] {
        EXPECT_FALSE(g.try_enter());
        EXPECT_FALSE(g.claim());
        EXPECT_FALSE(g.nested());
    });
    other.join();
    g.leave();
    std::thread after([&] {
        EXPECT_TRUE(g.claim());
        g.release();
        EXPECT_TRUE(g.try_enter());
        g.leave();
    });
    after.join();
}

} // namespace
} // namespace smartint
