// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// The board: every order of the halves of arm, post, disarm, match and leave that matters,
// one after the other in one thread, and then many left to chance between threads. A half of
// a post is made here as board.cc makes it: the notice written, not yet compared.
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <memory>
#include <thread>

#include "common_smartint_board.h"
#include "common_smartint_gate.h"
#include "common_smartint_wake.h"
#include "harness.h"

namespace smartint {
namespace {

using test::steps;

const key the_key = make_rts_key(1, 2, 3);
const key_pattern the_pattern = rts_pattern(1, 2, 3, false, false);

struct orders : testing::Test {
    orders() { owner.attach(slot.get()); }
    void write_notice(std::uint32_t seq) { // B4
        const std::uint64_t ticket = slot->control.notices_posted.fetch_add(1);
        auto &n = slot->notices[ticket % layout::notice_entries];
        n.stamp = 2 * ticket + 1;
        n.key_hi = the_key.hi;
        n.key_lo = the_key.lo;
        n.source_seq = 7ULL << 32 | seq;
        n.stamp = 2 * ticket + 2;
    }
    board_slot::outcome scan(std::uint32_t seq) { return board_slot(slot.get()).match_requests(the_key, 7, seq); }
    bool arm() {
        bool matched = false;
        index = owner.arm(the_pattern, &matched);
        return matched;
    }
    std::unique_ptr<layout::slot> slot = std::make_unique<layout::slot>();
    board_owner owner;
    int index = -1;
};

TEST_F(orders, write_scan_arm_the_owner_matches) {
    write_notice(1);
    EXPECT_FALSE(scan(1).matched);
    EXPECT_TRUE(arm());
    EXPECT_TRUE(owner.is_matched(index));
}

TEST_F(orders, write_arm_scan_the_owner_matches_and_the_poster_does_not_do_it_again) {
    write_notice(1);
    EXPECT_TRUE(arm());
    EXPECT_FALSE(scan(1).matched);
    EXPECT_TRUE(owner.is_matched(index));
}

TEST_F(orders, arm_write_scan_the_poster_matches) {
    EXPECT_FALSE(arm());
    write_notice(1);
    EXPECT_TRUE(scan(1).matched);
    EXPECT_TRUE(owner.is_matched(index));
}

TEST_F(orders, arm_write_write_scan_scan_one_matches) {
    EXPECT_FALSE(arm());
    write_notice(1);
    write_notice(2);
    EXPECT_TRUE(scan(2).matched);
    EXPECT_FALSE(scan(1).matched);
}

TEST_F(orders, arm_write_disarm_scan_nobody_matches) {
    EXPECT_FALSE(arm());
    write_notice(1);
    owner.disarm(index);
    EXPECT_FALSE(scan(1).matched);
    EXPECT_FALSE(owner.wanted());
}

TEST_F(orders, arm_match_disarm_arm_the_old_match_does_not_stick) {
    EXPECT_FALSE(arm());
    write_notice(1);
    EXPECT_TRUE(scan(1).matched);
    owner.publish_seen(7, 1);
    owner.disarm(index);
    EXPECT_FALSE(arm());
    EXPECT_FALSE(owner.is_matched(index));
}

TEST_F(orders, write_seen_scan_a_message_that_was_faster_matches_nobody) {
    EXPECT_FALSE(arm());
    write_notice(1);
    owner.publish_seen(7, 1);
    EXPECT_FALSE(scan(1).matched);
    EXPECT_FALSE(owner.wanted());
}

TEST_F(orders, match_then_leave_the_leaver_is_told_and_nobody_rings) {
    owner.set_progress(layout::rank_inside);
    EXPECT_FALSE(arm());
    write_notice(1);
    EXPECT_FALSE(scan(1).wake);
    owner.set_progress(layout::rank_outside);
    EXPECT_TRUE(owner.wanted_after_leave());
}

TEST_F(orders, leave_then_match_the_poster_rings) {
    owner.set_progress(layout::rank_inside);
    EXPECT_FALSE(arm());
    owner.set_progress(layout::rank_outside);
    EXPECT_FALSE(owner.wanted_after_leave());
    write_notice(1);
    EXPECT_TRUE(scan(1).wake);
}

TEST_F(orders, half_left_then_match_both_know) {
    owner.set_progress(layout::rank_inside);
    EXPECT_FALSE(arm());
    owner.set_progress(layout::rank_outside);
    write_notice(1);
    EXPECT_TRUE(scan(1).wake);
    EXPECT_TRUE(owner.wanted_after_leave());
}

// Two threads meet at a gate of steps and then race.
struct chance : orders {};

TEST_F(chance, arm_and_post_never_both_miss) {
    constexpr std::uint32_t rounds = 20000;
    steps go, done;
    std::atomic<bool> poster_matched{false};
    std::thread poster([&] {
        for (std::uint32_t i = 1; i <= rounds; ++i) {
            go.await(i);
            poster_matched = board_slot(slot.get()).post(the_key, 7, i).matched;
            done.reach(i);
        }
    });
    std::uint32_t missed = 0;
    std::uint32_t by_owner = 0;
    for (std::uint32_t i = 1; i <= rounds; ++i) {
        go.reach(i);
        for (std::uint32_t k = i % 40; k > 0; --k) {
            std::atomic_signal_fence(std::memory_order_seq_cst);
        }
        const bool mine = arm();
        done.await(i);
        missed += !mine && !poster_matched;
        by_owner += mine;
        EXPECT_EQ(mine || poster_matched, owner.is_matched(index));
        owner.publish_seen(7, i);
        owner.disarm(index);
    }
    poster.join();
    EXPECT_EQ(0U, missed);
    RecordProperty("matched_by_owner", static_cast<int>(by_owner));
}

TEST_F(chance, leave_and_match_never_both_miss) {
    constexpr std::uint32_t rounds = 20000;
    steps go, done;
    std::atomic<bool> rings{false};
    std::thread poster([&] {
        for (std::uint32_t i = 1; i <= rounds; ++i) {
            go.await(i);
            const auto o = board_slot(slot.get()).post(the_key, 7, i);
            EXPECT_TRUE(o.matched);
            rings = o.wake;
            done.reach(i);
        }
    });
    std::uint32_t missed = 0;
    for (std::uint32_t i = 1; i <= rounds; ++i) {
        owner.set_progress(layout::rank_inside);
        owner.take_wanted();
        EXPECT_FALSE(arm());
        go.reach(i);
        for (std::uint32_t k = i % 60; k > 0; --k) {
            std::atomic_signal_fence(std::memory_order_seq_cst);
        }
        owner.set_progress(layout::rank_outside);
        const bool told = owner.wanted_after_leave();
        done.await(i);
        missed += !told && !rings;
        owner.publish_seen(7, i);
        owner.disarm(index);
    }
    poster.join();
    EXPECT_EQ(0U, missed);
}

TEST_F(chance, two_posters_match_a_request_once) {
    constexpr std::uint32_t rounds = 10000;
    steps go;
    steps done[2];
    std::atomic<unsigned> matches{0};
    std::vector<std::thread> posters;
    for (unsigned p = 0; p < 2; ++p) {
        posters.emplace_back([&, p] {
            for (std::uint32_t i = 1; i <= rounds; ++i) {
                go.await(i);
                matches += board_slot(slot.get()).post(the_key, 10 + p, i).matched;
                done[p].reach(i);
            }
        });
    }
    for (std::uint32_t i = 1; i <= rounds; ++i) {
        matches = 0;
        EXPECT_FALSE(arm());
        go.reach(i);
        done[0].await(i);
        done[1].await(i);
        ASSERT_EQ(1U, matches) << "round " << i;
        owner.publish_seen(10, i);
        owner.publish_seen(11, i);
        owner.disarm(index);
    }
    for (auto &t : posters) {
        t.join();
    }
}

TEST_F(chance, disarm_and_post_a_request_that_is_gone_is_never_matched) {
    constexpr std::uint32_t rounds = 20000;
    const key other = make_rts_key(9, 9, 9);
    steps go, done;
    std::thread poster([&] {
        for (std::uint32_t i = 1; i <= rounds; ++i) {
            go.await(i);
            board_slot(slot.get()).post(the_key, 7, i);
            done.reach(i);
        }
    });
    for (std::uint32_t i = 1; i <= rounds; ++i) {
        arm();
        go.reach(i);
        owner.disarm(index); // while the poster looks
        bool matched = false;
        const int again = owner.arm(exact_pattern(other), &matched); // the same entry
        EXPECT_FALSE(matched);
        done.await(i);
        ASSERT_FALSE(owner.is_matched(again)) << "matched by a notice for another request";
        owner.disarm(again);
        owner.publish_seen(7, i);
    }
    poster.join();
}

TEST_F(chance, a_match_is_not_lost_while_wanted_is_taken) {
    constexpr std::uint32_t rounds = 20000;
    steps go, done;
    std::thread poster([&] {
        for (std::uint32_t i = 1; i <= rounds; ++i) {
            go.await(i);
            board_slot(slot.get()).post(the_key, 7, i);
            done.reach(i);
        }
    });
    owner.set_progress(layout::rank_inside);
    for (std::uint32_t i = 1; i <= rounds; ++i) {
        EXPECT_FALSE(arm());
        slot->control.wanted = 1; // of an earlier match
        go.reach(i);
        owner.take_wanted();
        const bool matched = owner.any_matched();
        done.await(i);
        ASSERT_TRUE(matched || owner.wanted()) << "round " << i;
        owner.publish_seen(7, i);
        owner.disarm(index);
    }
    poster.join();
}

// A rank in small: the board's real words, the real gate and a real descriptor; the application
// passes in and out and takes rings back, the interrupt thread sleeps, another thread posts. In
// the end of each round nobody calls in any more: a wake-up that was lost shows as a message that
// nobody serves. race_model_board.cc has the same with all interleavings.
struct small_rank : orders {
    small_rank() { g.set_mode(gate::mode::asymmetric); }
    ~small_rank() override { close(fd); }

    // under the gate
    void pass(bool by_thread) {
        if (owner.wanted()) {
            const layout::wanted_state w = owner.take_wanted();
            hint = hint || layout::wanted_nothing != w;
            if (layout::wanted_rung == w && !by_thread && drain_eventfd(fd)) {
                ++withdrawn;
            }
        }
        if (index >= 0 && message.load(std::memory_order_acquire) == round) {
            owner.publish_seen(7, round);
            owner.disarm(index);
            index = -1;
            by_the_thread += by_thread;
            served.store(round, std::memory_order_release);
        }
    }
    void visit() {
        g.enter();
        owner.set_progress(layout::rank_inside);
        pass(false);
        leave();
    }
    void leave() {
        hint = hint && owner.any_matched();
        const bool matched = hint;
        owner.set_progress(layout::rank_outside);
        g.leave();
        if (owner.wanted_after_leave() || matched) {
            ring_eventfd(fd);
        }
    }
    void serve() {
        for (;;) {
            if (!g.claim()) {
                if (g.application_inside()) {
                    return; // it rings when it leaves, if there is anything
                }
                continue;
            }
            owner.set_progress(layout::rank_thread);
            pass(true);
            const bool matched = owner.any_matched();
            owner.set_progress(layout::rank_outside);
            g.release();
            if (!owner.wanted_after_leave() && !matched) {
                return;
            }
            sched_yield(); // a matched one whose message is not here: the timer's turn
        }
    }
    void run() {
        while (!stop) {
            pollfd p{fd, POLLIN, 0};
            poll(&p, 1, -1);
            if (drain_eventfd(fd)) {
                serve();
            }
        }
    }

    gate g;
    const int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    bool hint = false;
    std::uint32_t round = 0; // under the gate
    std::atomic<std::uint32_t> message{0};
    std::atomic<std::uint32_t> served{0};
    std::atomic<bool> stop{false};
    unsigned withdrawn = 0;
    unsigned by_the_thread = 0;
};

TEST_F(small_rank, a_ring_that_is_taken_back_leaves_no_message_to_a_thread_that_sleeps) {
    constexpr std::uint32_t rounds = 5000;
    steps go, here, done;
    std::thread interrupt([&] { run(); });
    std::thread poster([&] {
        test::generator random(6);
        for (std::uint32_t i = 1; i <= rounds; ++i) {
            go.await(i);
            here.reach(i);
            for (unsigned k = random.below(3000); k > 0; --k) {
                std::atomic_signal_fence(std::memory_order_seq_cst);
            }
            const bool notice_first = 0 == random.below(2);
            if (!notice_first) {
                message.store(i, std::memory_order_release);
            }
            if (board_slot(slot.get()).post(the_key, 7, i).wake) {
                for (unsigned k = random.below(400); k > 0; --k) {
                    std::atomic_signal_fence(std::memory_order_seq_cst);
                }
                ring_eventfd(fd);
            }
            for (unsigned k = notice_first ? random.below(4000) : 0; k > 0; --k) {
                std::atomic_signal_fence(std::memory_order_seq_cst);
            }
            message.store(i, std::memory_order_release);
            done.reach(i);
        }
    });
    test::generator random(7);
    bool good = true;
    for (std::uint32_t i = 1; i <= rounds; ++i) {
        g.enter();
        owner.set_progress(layout::rank_inside);
        round = i;
        EXPECT_FALSE(arm());
        leave();
        go.reach(i);
        here.await(i);
        for (unsigned visits = random.below(4); good && visits > 0; --visits) {
            for (unsigned k = random.below(1500); k > 0; --k) {
                std::atomic_signal_fence(std::memory_order_seq_cst);
            }
            visit();
        }
        done.await(i);
        good = good && test::wait_until("somebody serves it", [&] { return i == served; });
        if (!good) {
            visit(); // whatever was lost: the other threads must come to their end
        }
    }
    poster.join();
    stop = true;
    ring_eventfd(fd);
    interrupt.join();
    std::printf("# %u of %u served by the thread, %u rings taken back\n", by_the_thread, rounds, withdrawn);
}

} // namespace
} // namespace smartint
