// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include <memory>
#include <vector>

#include "common_smartint_board.h"
#include "harness.h"

namespace smartint {
namespace {

TEST(relay_queue, an_empty_queue_gives_nothing) {
    const auto q = std::make_unique<layout::relay_queue>();
    relay_item out{};
    EXPECT_TRUE(relay_empty(*q));
    EXPECT_FALSE(relay_take(*q, out));
}

TEST(relay_queue, items_come_out_in_order_with_all_their_fields_many_times_around) {
    const auto q = std::make_unique<layout::relay_queue>();
    std::uint32_t in = 0;
    std::uint32_t out = 0;
    test::generator g(3);
    while (out < 10 * layout::relay_entries) {
        for (unsigned n = g.below(layout::relay_entries); n > 0; --n) {
            if (!relay_post(*q, in % 1024, in ^ 0xf00, make_rts_key(in, 2, -3), in * 3, in * 5)) {
                EXPECT_EQ(layout::relay_entries, in - out) << "refused only when full";
                break;
            }
            ++in;
        }
        relay_item item{};
        for (unsigned n = g.below(layout::relay_entries); n > 0 && relay_take(*q, item); --n) {
            ASSERT_EQ(out % 1024, item.node);
            ASSERT_EQ(out ^ 0xf00, item.slot);
            const key k = make_rts_key(out, 2, -3);
            ASSERT_EQ(k.hi, item.k.hi);
            ASSERT_EQ(k.lo, item.k.lo);
            ASSERT_EQ(static_cast<std::uint64_t>(out * 3) << 32 | out * 5, item.source_seq);
            ++out;
        }
        EXPECT_EQ(in == out, relay_empty(*q));
    }
}

TEST(relay_queue, a_full_queue_refuses_and_takes_again) {
    const auto q = std::make_unique<layout::relay_queue>();
    for (unsigned i = 0; i < layout::relay_entries; ++i) {
        ASSERT_TRUE(relay_post(*q, 0, i, {}, 0, 0));
    }
    EXPECT_FALSE(relay_post(*q, 0, 0, {}, 0, 0));
    EXPECT_FALSE(relay_post(*q, 0, 0, {}, 0, 0));
    relay_item item{};
    ASSERT_TRUE(relay_take(*q, item));
    EXPECT_EQ(0U, item.slot);
    EXPECT_TRUE(relay_post(*q, 0, 4711, {}, 0, 0));
    EXPECT_FALSE(relay_post(*q, 0, 0, {}, 0, 0));
}

TEST(relay_queue, a_claimed_entry_without_its_stamp_hides_what_is_behind_it) {
    const auto q = std::make_unique<layout::relay_queue>();
    q->posted.fetch_add(1); // a poster is interrupted here
    ASSERT_TRUE(relay_post(*q, 1, 2, {}, 3, 4));
    relay_item item{};
    EXPECT_FALSE(relay_take(*q, item));
    EXPECT_TRUE(relay_empty(*q));
    q->entries[0].stamp = 1;
    EXPECT_TRUE(relay_take(*q, item));
    EXPECT_TRUE(relay_take(*q, item));
    EXPECT_EQ(2U, item.slot);
}

TEST(relay_queue, processes_post_at_once_and_nothing_is_lost_or_mixed_up) {
    constexpr std::uint32_t posters = 4;
    constexpr std::uint32_t items = 20000;
    test::shared_object<layout::relay_queue> q;
    std::vector<std::unique_ptr<test::child>> children;
    for (std::uint32_t p = 0; p < posters; ++p) {
        children.push_back(std::make_unique<test::child>([&q, p] {
            for (std::uint32_t i = 0; i < items; ++i) {
                while (!relay_post(*q, p, i, {i * 7ULL, p * 9ULL}, p, i)) {
                    sched_yield();
                }
            }
        }));
    }
    std::uint32_t next[posters] = {};
    for (std::uint32_t got = 0; got < posters * items;) {
        relay_item item{};
        if (!relay_take(*q, item)) {
            sched_yield();
            continue;
        }
        ASSERT_LT(item.node, posters);
        ASSERT_EQ(next[item.node], item.slot);
        ASSERT_EQ(item.slot * 7ULL, item.k.hi);
        ASSERT_EQ(item.node * 9ULL, item.k.lo);
        ASSERT_EQ(static_cast<std::uint64_t>(item.node) << 32 | item.slot, item.source_seq);
        ++next[item.node];
        ++got;
    }
    for (auto &c : children) {
        EXPECT_EQ(0, c->join());
    }
    EXPECT_TRUE(relay_empty(*q));
}

} // namespace
} // namespace smartint
