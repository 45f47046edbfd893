// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// The words of a window that the members of a node share: the lock, with and without the owner's queue,
// and being alone to accumulate.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "common_smartint_rma_lock.h"
#include "harness.h"

namespace smartint {
namespace {

using layout::window_words;

constexpr unsigned workers = 4;

std::uint64_t holders(const window_words &w) { return w.lock.load() & ~layout::window_queued; }

TEST(window_lock, shared_ones_share_it_and_an_exclusive_one_has_it_alone) {
    window_words w{};
    EXPECT_TRUE(take_lock(w, false, false));
    EXPECT_TRUE(take_lock(w, false, false));
    EXPECT_FALSE(take_lock(w, true, false));
    EXPECT_FALSE(drop_lock(w, false));
    EXPECT_FALSE(drop_lock(w, false));
    EXPECT_TRUE(take_lock(w, true, false));
    EXPECT_FALSE(take_lock(w, false, false));
    EXPECT_FALSE(take_lock(w, true, false));
    EXPECT_FALSE(drop_lock(w, true));
    EXPECT_EQ(0U, w.lock.load());
}

TEST(window_lock, nobody_overtakes_the_queue_but_its_first) {
    window_words w{};
    ASSERT_TRUE(take_lock(w, false, false));
    note_queue(w, true);
    EXPECT_FALSE(take_lock(w, false, false)) << "an exclusive one may stand in front";
    EXPECT_FALSE(take_lock(w, true, true));
    EXPECT_TRUE(take_lock(w, false, true));
    EXPECT_FALSE(drop_lock(w, false)) << "one holder is left";
    EXPECT_TRUE(drop_lock(w, false)) << "the last tells the owner";
    EXPECT_TRUE(take_lock(w, true, true));
    note_queue(w, false);
    EXPECT_FALSE(drop_lock(w, true)) << "nobody waits any more";
    EXPECT_EQ(0U, w.lock.load());
}

// What the owner of a window does, by a mutex in place of its gate.
struct owner {
    window_words words{};
    std::mutex gate;
    struct waiter {
        bool exclusive;
        std::atomic<bool> granted{false};
    };
    std::deque<waiter *> queue;
    std::uint64_t granted = 0;

    void grant() { // under the gate
        while (!queue.empty() && take_lock(words, queue.front()->exclusive, true)) {
            waiter *first = queue.front();
            queue.pop_front();
            if (queue.empty()) {
                note_queue(words, false);
            }
            ++granted;
            first->granted.store(true, std::memory_order_release);
        }
    }
    void ask(waiter &mine) {
        const std::lock_guard here(gate);
        queue.push_back(&mine);
        note_queue(words, true);
        grant();
    }
    void released() {
        const std::lock_guard here(gate);
        grant();
    }
};

// Everybody tries once and then stands in the queue. A wake-up that is lost shows as a test that never ends.
TEST(window_lock, whoever_waits_in_the_queue_gets_it_and_nobody_is_there_beside_an_exclusive_one) {
    constexpr unsigned rounds = 50000;
    owner o;
    test::steps steps; // all begin together
    std::atomic<unsigned> ready{0};
    std::uint64_t plain = 0; // written by exclusive holders alone
    std::atomic<unsigned> readers{0};
    std::atomic<unsigned> wrong{0};
    std::atomic<std::uint64_t> written{0};
    const auto work = [&](unsigned me) {
        if (workers == ++ready) {
            steps.reach(1);
        }
        steps.await(1);
        for (unsigned i = 0; i < rounds; ++i) {
            const bool exclusive = 0 == (i + me) % 3;
            if (!take_lock(o.words, exclusive, false)) {
                owner::waiter mine{exclusive};
                o.ask(mine);
                while (!mine.granted.load(std::memory_order_acquire)) {
                    std::this_thread::yield();
                }
            }
            if (exclusive) {
                wrong += 0 != readers.load(std::memory_order_relaxed);
                ++plain;
                ++written;
            } else {
                ++readers;
                --readers;
            }
            if (0 == i % 16) { // others come meanwhile, on one processor too
                std::this_thread::yield();
            }
            if (drop_lock(o.words, exclusive)) {
                o.released();
            }
        }
    };
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < workers; ++i) {
        threads.emplace_back(work, i);
    }
    for (auto &t : threads) {
        t.join();
    }
    EXPECT_GT(o.granted, 0U) << "nobody ever had to wait";
    EXPECT_EQ(0U, wrong.load());
    EXPECT_EQ(written.load(), plain);
    EXPECT_EQ(0U, holders(o.words));
    EXPECT_TRUE(o.queue.empty());
}

TEST(combining_guard, one_at_a_time_is_in_there) {
    constexpr unsigned rounds = 20000;
    window_words w{};
    std::uint64_t plain = 0;
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < workers; ++i) {
        threads.emplace_back([&] {
            for (unsigned k = 0; k < rounds; ++k) {
                const combining_guard here(w, static_cast<std::uint32_t>(getpid()));
                ++plain;
                if (0 == k % 64) {
                    std::this_thread::yield();
                }
            }
        });
    }
    for (auto &t : threads) {
        t.join();
    }
    EXPECT_EQ(std::uint64_t{workers} * rounds, plain);
    EXPECT_EQ(0U, w.combining.load());
}

TEST(combining_guard, who_died_in_there_is_followed) {
    window_words w{};
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (0 == child) {
        _exit(0);
    }
    ASSERT_EQ(child, waitpid(child, nullptr, 0)); // its number is free now
    w.combining = static_cast<std::uint32_t>(child);
    {
        const combining_guard here(w, static_cast<std::uint32_t>(getpid()));
        EXPECT_EQ(static_cast<std::uint32_t>(getpid()), w.combining.load());
    }
    w.combining = 0xffffffff; // no process has this one
    const combining_guard here(w, static_cast<std::uint32_t>(getpid()));
    EXPECT_EQ(static_cast<std::uint32_t>(getpid()), w.combining.load());
}

} // namespace
} // namespace smartint
