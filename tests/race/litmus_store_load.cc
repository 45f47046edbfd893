// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Store-load between two processes on the real machine: a million rounds of arm against post
// and of match against leave. In no round may both sides have missed. TSAN cannot show this
// reordering; the hardware does, when a fence is missing. How often it does is said by a control,
// the same meeting of two sides without any fence: where that sees none, this machine (one core,
// or an emulated one) shows nothing, and the litmus proves little. The control decides nothing.
#include <memory>
#include <thread>

#include "common_smartint_board.h"
#include "harness.h"

namespace smartint {
namespace {

constexpr std::uint32_t width = 512;      // rounds between two meetings
constexpr std::uint32_t rounds = 1000000; // fewer where the machine is slow, see `limit`
constexpr auto limit = std::chrono::seconds(4);

struct arena {
    layout::slot slot[width];
    // what the poster found
    std::uint8_t matched[width];
    std::uint8_t rings[width];
    alignas(64) std::atomic<std::uint32_t> at_owner{0};
    alignas(64) std::atomic<std::uint32_t> at_poster{0};
    alignas(64) std::atomic<bool> over{false};
    // how many slots each has finished, all batches together: keeps the two close
    alignas(64) std::atomic<std::uint32_t> owner_done{0};
    alignas(64) std::atomic<std::uint32_t> poster_done{0};
};

const key the_key = make_rts_key(1, 2, 3);
const key_pattern the_pattern = rts_pattern(1, 2, 3, false, false);

void await(const std::atomic<std::uint32_t> &word, std::uint32_t value) {
    for (unsigned spins = 0; word.load(std::memory_order_acquire) < value; ++spins) {
        if (spins > 200) {
            sched_yield();
        }
    }
}

// Both sides hold the words' lines before they race. Then a load takes what it has at once, while
// the store has to wait for the line: that is where a reordering shows.
void warm(const layout::slot &s) {
    (void) s.control.progress.load(std::memory_order_relaxed);
    (void) s.control.wanted.load(std::memory_order_relaxed);
    (void) s.control.armed.load(std::memory_order_relaxed);
    (void) s.control.notices_posted.load(std::memory_order_relaxed);
    (void) s.requests[0].state.load(std::memory_order_relaxed);
    for (const auto &n : s.notices) {
        (void) n.stamp.load(std::memory_order_relaxed);
    }
}

// Poster: one post in each slot of a batch, in the order of the owner.
void post_all(arena &a) {
    for (std::uint32_t batch = 1;; ++batch) {
        await(a.at_owner, 2 * batch - 1);
        if (a.over) {
            return;
        }
        for (std::uint32_t i = 0; i < width; ++i) {
            const std::uint32_t n = (batch - 1) * width + i;
            warm(a.slot[i]);
            await(a.owner_done, n < 2 ? 0 : n - 2);
            const auto o = board_slot(&a.slot[i]).post(the_key, 7, batch);
            a.matched[i] = o.matched;
            a.rings[i] = o.wake;
            a.poster_done.store(n + 1, std::memory_order_release);
        }
        a.at_poster.store(batch, std::memory_order_release);
        await(a.at_owner, 2 * batch);
    }
}

struct result {
    std::uint64_t rounds = 0, missed = 0, by_owner = 0, told = 0;
};

// arms: both halves race (arm, then leave); else the requests are armed already and only
// leaving races with the match.
result race(bool arms) {
    test::shared_object<arena> a;
    test::child poster([&] { post_all(*a); });
    std::vector<board_owner> owner(width);
    std::vector<int> index(width, -1);
    std::vector<std::uint8_t> mine(width), told(width);
    for (std::uint32_t i = 0; i < width; ++i) {
        owner[i].attach(&a->slot[i]);
    }
    result r;
    const auto end = std::chrono::steady_clock::now() + limit;
    for (std::uint32_t batch = 1; r.rounds < rounds; ++batch) {
        for (std::uint32_t i = 0; i < width; ++i) {
            owner[i].set_progress(layout::rank_inside);
            owner[i].take_wanted();
            if (!arms) {
                bool m = false;
                index[i] = owner[i].arm(the_pattern, &m);
                EXPECT_FALSE(m);
            }
        }
        a->at_owner.store(2 * batch - 1, std::memory_order_release);
        for (std::uint32_t i = 0; i < width; ++i) {
            // even batches: at the very moment in which the poster comes to this slot
            const std::uint32_t n = (batch - 1) * width + i;
            warm(a->slot[i]);
            await(a->poster_done, 0 == batch % 2 || 0 == n ? n : n - 1);
            for (std::uint32_t k = batch % 37; k > 0; --k) {
                std::atomic_signal_fence(std::memory_order_seq_cst);
            }
            bool m = false;
            if (arms) {
                index[i] = owner[i].arm(the_pattern, &m);
            }
            mine[i] = m;
            owner[i].set_progress(layout::rank_outside);
            told[i] = owner[i].wanted_after_leave();
            a->owner_done.store(n + 1, std::memory_order_release);
        }
        await(a->at_poster, batch);
        for (std::uint32_t i = 0; i < width; ++i) {
            // matched at all, and then somebody acts
            const bool served = mine[i] || (a->matched[i] && (a->rings[i] || told[i]));
            r.missed += !served || !owner[i].is_matched(index[i]);
            r.by_owner += mine[i];
            r.told += told[i];
            owner[i].publish_seen(7, batch);
            owner[i].disarm(index[i]);
        }
        r.rounds += width;
        a->at_owner.store(2 * batch, std::memory_order_release);
        if (std::chrono::steady_clock::now() > end) {
            break;
        }
    }
    a->over = true;
    a->at_owner.store(~0U, std::memory_order_release);
    EXPECT_EQ(0, poster.join());
    std::printf("# %llu rounds; %llu matched by the owner, %llu told at leaving\n",
                static_cast<unsigned long long>(r.rounds), static_cast<unsigned long long>(r.by_owner),
                static_cast<unsigned long long>(r.told));
    return r;
}

// Fewer rounds say nothing, for or against.
constexpr std::uint64_t enough = 100000;

// Bare store and load, two words, without a fence: both may read 0.
struct bare_arena {
    struct alignas(64) word {
        std::atomic<std::uint32_t> value{0};
    };
    word x[width], y[width];
    std::uint8_t poster_saw[width];
    alignas(64) std::atomic<std::uint32_t> at_owner{0};
    alignas(64) std::atomic<std::uint32_t> at_poster{0};
    alignas(64) std::atomic<bool> over{false};
    alignas(64) std::atomic<std::uint32_t> owner_here{0};
    alignas(64) std::atomic<std::uint32_t> poster_here{0};
};

std::uint32_t store_then_load(std::atomic<std::uint32_t> &mine, const std::atomic<std::uint32_t> &theirs) {
    mine.store(1, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst); // in this order in the code
    return theirs.load(std::memory_order_relaxed);
}

// Both at one moment, but for some turns of a loop: so short a thing meets by no other means.
void meet(std::atomic<std::uint32_t> &mine, const std::atomic<std::uint32_t> &theirs, std::uint32_t n,
          std::uint32_t later) {
    mine.store(n, std::memory_order_release);
    await(theirs, n);
    for (; later > 0; --later) {
        std::atomic_signal_fence(std::memory_order_seq_cst);
    }
}

void warm(const bare_arena &a, std::uint32_t i) {
    (void) a.x[i].value.load(std::memory_order_relaxed);
    (void) a.y[i].value.load(std::memory_order_relaxed);
}

void bare_poster(bare_arena &a) {
    for (std::uint32_t batch = 1;; ++batch) {
        await(a.at_owner, 2 * batch - 1);
        if (a.over) {
            return;
        }
        for (std::uint32_t i = 0; i < width; ++i) {
            const std::uint32_t n = (batch - 1) * width + i;
            warm(a, i);
            meet(a.poster_here, a.owner_here, n + 1, batch / 31 % 31);
            a.poster_saw[i] = 0 != store_then_load(a.y[i].value, a.x[i].value);
        }
        a.at_poster.store(batch, std::memory_order_release);
        await(a.at_owner, 2 * batch);
    }
}

TEST(store_load, control_without_fences_is_counted_and_decides_nothing) {
    test::shared_object<bare_arena> a;
    test::child poster([&] { bare_poster(*a); });
    std::vector<std::uint8_t> owner_saw(width);
    std::uint64_t done = 0;
    std::uint64_t reordered = 0;
    const auto end = std::chrono::steady_clock::now() + limit;
    for (std::uint32_t batch = 1; done < rounds; ++batch) {
        for (std::uint32_t i = 0; i < width; ++i) {
            a->x[i].value.store(0, std::memory_order_relaxed);
            a->y[i].value.store(0, std::memory_order_relaxed);
        }
        a->at_owner.store(2 * batch - 1, std::memory_order_release);
        for (std::uint32_t i = 0; i < width; ++i) {
            const std::uint32_t n = (batch - 1) * width + i;
            warm(*a, i);
            meet(a->owner_here, a->poster_here, n + 1, batch % 31);
            owner_saw[i] = 0 != store_then_load(a->x[i].value, a->y[i].value);
        }
        await(a->at_poster, batch);
        for (std::uint32_t i = 0; i < width; ++i) {
            reordered += !owner_saw[i] && !a->poster_saw[i];
        }
        done += width;
        a->at_owner.store(2 * batch, std::memory_order_release);
        if (std::chrono::steady_clock::now() > end) {
            break;
        }
    }
    a->over = true;
    a->at_owner.store(~0U, std::memory_order_release);
    EXPECT_EQ(0, poster.join());
    std::printf("# control: %llu rounds; %llu reorderings seen\n", static_cast<unsigned long long>(done),
                static_cast<unsigned long long>(reordered));
    RecordProperty("reorderings", static_cast<int>(reordered));
}

void check(const result &r) {
    EXPECT_EQ(0U, r.missed);
    if (r.rounds < enough) {
        GTEST_SKIP() << "only " << r.rounds << " rounds in the time there is: " << enough << " are wanted";
    }
}

TEST(store_load, arm_against_post_and_leave_against_match_never_lose_both) { check(race(true)); }

TEST(store_load, leave_against_match_never_lose_both) { check(race(false)); }

} // namespace
} // namespace smartint
