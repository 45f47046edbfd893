// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "common_smartint_strategy.h"
#include "common_smartint_strategy_helper.h"

#include "harness.h"

namespace smartint {
namespace {

TEST(strategies, each_name_is_that_of_another_kind) {
    const struct {
        const char *name;
        bool thread, claims, arms, listens;
    } known[] = {
        {"none", false, false, false, false},
        {"poll", true, true, false, false},
        {"helper", true, false, true, false},
        {"interrupt", true, false, true, true},
    };
    for (const auto &k : known) {
        strategy_kind kind{};
        ASSERT_TRUE(parse_strategy(k.name, &kind));
        const auto s = make_strategy(kind);
        EXPECT_EQ(k.thread, s->needs_thread()) << k.name;
        EXPECT_EQ(k.claims, s->claims_often()) << k.name;
        EXPECT_EQ(k.arms, s->arm()) << k.name;
        EXPECT_EQ(k.listens, s->listens()) << k.name;
    }
}

TEST(strategies, none_has_no_thread_and_arms_nothing) {
    const auto s = make_none();
    EXPECT_FALSE(s->needs_thread());
    EXPECT_FALSE(s->arm());
    EXPECT_FALSE(s->claims_often());
    for (int bits = 0; bits < 8; ++bits) {
        EXPECT_FALSE(s->leave(bits & 1, bits & 2, bits & 4));
    }
}

TEST(strategies, poll_has_a_thread_that_needs_no_call) {
    const auto s = make_poll();
    EXPECT_TRUE(s->needs_thread());
    EXPECT_TRUE(s->claims_often()) << "the gate must use a fence";
    EXPECT_FALSE(s->arm());
    for (int bits = 0; bits < 8; ++bits) {
        EXPECT_FALSE(s->leave(bits & 1, bits & 2, bits & 4));
    }
}

struct looks {
    arrival_rate rate;
    arrival_rate::time now{std::chrono::seconds(1)};
    std::uint64_t moved = 0;

    void look(std::uint64_t bytes, unsigned after_us, bool flows = true) {
        moved += bytes;
        now += std::chrono::microseconds(after_us);
        rate.look(moved, flows, now);
    }
};

TEST(arrival_rates, what_is_to_come_is_expected_at_the_rate_at_which_it_came) {
    looks l;
    EXPECT_EQ(0U, l.rate.nearly_here_us(100000)) << "nothing is known";
    l.look(50000, 10);
    EXPECT_EQ(0U, l.rate.nearly_here_us(100000)) << "it may have come at any time";
    l.look(25000, 1000); // 25 bytes a microsecond
    EXPECT_NEAR(1000, l.rate.nearly_here_us(25000 + 12288), 5);
    EXPECT_EQ(0U, l.rate.nearly_here_us(12288)) << "the last of it is listened for";
    EXPECT_EQ(0U, l.rate.nearly_here_us(12288 + 2500)) << "not worth a sleep by the clock";
    EXPECT_LE(l.rate.nearly_here_us(1ULL << 40), 4000U) << "a peer says how much it is";
}

TEST(arrival_rates, what_came_while_nothing_was_awaited_says_nothing) {
    looks l;
    l.look(1000, 10);
    l.look(25000, 1000);
    const std::uint32_t us = l.rate.nearly_here_us(50000);
    l.look(0, 10, false);
    l.look(40000000, 100); // by calls of the application
    EXPECT_EQ(us, l.rate.nearly_here_us(50000));
    l.look(25000, 1000);
    EXPECT_EQ(us, l.rate.nearly_here_us(50000));
}

TEST(arrival_rates, all_of_it_is_here_rather_later_than_the_best_of_late) {
    looks l;
    EXPECT_EQ(0U, l.rate.here_us(100000)) << "nothing is known";
    l.look(50000, 10);
    l.look(25000, 1000); // 25 bytes a microsecond
    EXPECT_NEAR(1125, l.rate.here_us(25000), 5);
    EXPECT_EQ(1U, l.rate.here_us(1)) << "known, and at once";
    EXPECT_EQ(0U, l.rate.here_us(0));
    EXPECT_LE(l.rate.here_us(1ULL << 40), 4000U) << "a peer says how much it is";
}

TEST(arrival_rates, looks_in_a_row_are_one_and_slower_ones_count_little_by_little) {
    looks l;
    l.look(0, 10);
    for (int i = 0; i < 10; ++i) {
        l.look(2500, i % 2 ? 195 : 5); // what is found at once came before
    }
    EXPECT_NEAR(1000, l.rate.nearly_here_us(25000 + 12288), 60);
    l.look(2500, 1000);
    EXPECT_NEAR(1143, l.rate.nearly_here_us(25000 + 12288), 70);
    for (int i = 0; i < 50; ++i) {
        l.look(2500, 1000);
    }
    EXPECT_NEAR(2000, l.rate.nearly_here_us(5000 + 12288), 20);
}

// A network that brings so many bytes a microsecond, and sockets with room for so many; what look_pace makes of it.
traffic settled_look(look_pace *pace, std::uint64_t rate, std::uint64_t room, bool sends,
                     std::uint32_t fastest_us = 50) {
    traffic found;
    for (int i = 0; i < 100; ++i) {
        const std::uint64_t bytes = std::min(rate * pace->us(), room);
        found = sends ? traffic{0, bytes} : traffic{bytes, 0};
        pace->adapt(found, fastest_us);
    }
    return found;
}

TEST(look_paces, rare_where_sockets_hold_much_and_never_so_rare_that_they_are_full) {
    for (const std::uint64_t held : {65536, 131072, 262144, 6291456}) {
        for (const std::uint64_t rate : {12, 125, 1250}) {
            look_pace pace(held);
            const traffic found = settled_look(&pace, rate, held / 4 * 3, false, 5);
            EXPECT_LT(found.arrived, held / 4 * 3) << held << ", " << rate << ": the network waits for the receiver";
            if (pace.us() < look_pace::slowest_us) {
                EXPECT_GE(found.arrived, std::min(held / 2, look_pace::most_per_look) / 2) << held << ", " << rate;
            }
            EXPECT_LE(pace.us(), look_pace::slowest_us);
        }
    }
}

TEST(look_paces, what_is_sent_is_looked_at_more_often) {
    look_pace pace(6291456);
    EXPECT_LE(look_pace::most_per_look / 2, settled_look(&pace, 125, 6291456, false).arrived);
    const traffic found = settled_look(&pace, 125, 6291456, true);
    EXPECT_LE(found.other, look_pace::little_per_look * 5 / 4);
    EXPECT_GE(found.other, look_pace::little_per_look / 2);
}

TEST(look_paces, as_if_sockets_held_little_where_that_is_not_known) {
    look_pace pace(0);
    EXPECT_LE(settled_look(&pace, 125, 6291456, false).arrived, look_pace::little_per_look * 5 / 4);
}

TEST(look_paces, not_more_often_than_the_parameter_says) {
    look_pace pace(65536);
    settled_look(&pace, 12500, 1 << 30, false, 300);
    EXPECT_EQ(300U, pace.us());
}

class sleeping : public ::testing::TestWithParam<strategy_kind> {};

TEST_P(sleeping, calls_its_thread_for_a_match_and_for_work_it_does_not_know_of) {
    const auto s = make_strategy(GetParam());
    EXPECT_EQ(strategy_kind::interrupt == GetParam(), s->listens());
    EXPECT_TRUE(s->needs_thread());
    EXPECT_TRUE(s->arm());
    EXPECT_FALSE(s->claims_often());
    for (const bool transfers : {false, true}) {
        for (const bool parked : {false, true}) {
            EXPECT_TRUE(s->leave(true, transfers, parked));
            EXPECT_EQ(transfers && parked, s->leave(false, transfers, parked));
        }
    }
}

INSTANTIATE_TEST_SUITE_P(strategies, sleeping, ::testing::Values(strategy_kind::helper, strategy_kind::interrupt));

} // namespace
struct calls {
    call_rate rate;
    call_rate::time now{std::chrono::seconds(1)};
    std::uint32_t made = 0;

    bool after(std::uint32_t more, unsigned us) {
        made += more;
        now += std::chrono::microseconds(us);
        return rate.often(made, now);
    }
};

TEST(call_rates, several_calls_in_close_order_are_often_and_one_is_not) {
    calls c;
    EXPECT_FALSE(c.after(100, 1000000)) << "spread over a second";
    EXPECT_FALSE(c.after(1, 10)) << "who computes behind it is not coming back soon";
    EXPECT_TRUE(c.after(2, 100));
    EXPECT_FALSE(c.after(2, 101));
    EXPECT_TRUE(c.after(20, 1000));
    EXPECT_FALSE(c.after(0, 10)) << "computes by now";
}

TEST(call_rates, naps_get_longer_while_it_goes_on) {
    calls c;
    c.after(0, 100);
    std::uint32_t last = 0;
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(c.after(10, 100));
        EXPECT_GT(c.rate.nap_us(), last);
        last = c.rate.nap_us();
    }
    for (int i = 0; i < 100; ++i) {
        ASSERT_TRUE(c.after(10, 100));
    }
    EXPECT_LE(c.rate.nap_us(), 400U) << "an application that computes by then has waited for so long";
    EXPECT_FALSE(c.after(0, 100));
    ASSERT_TRUE(c.after(10, 100));
    EXPECT_LE(c.rate.nap_us(), 50U) << "begins anew";
}

TEST(call_rates, the_count_may_wrap) {
    calls c;
    c.made = UINT32_MAX - 1;
    c.after(0, 100);
    EXPECT_TRUE(c.after(4, 100));
}

TEST(notice_patience, ends_by_the_clock_however_often_it_is_looked) {
    notice_patience patience;
    const notice_patience::time begin{std::chrono::seconds(1)};
    notice_patience::time now = begin;
    for (int looks = 0; now - begin < notice_patience::most; now += std::chrono::microseconds(100), ++looks) {
        ASSERT_FALSE(patience.over(true, false, now)) << looks;
    }
    EXPECT_TRUE(patience.over(true, false, now));
    EXPECT_FALSE(patience.over(true, false, now)) << "once, then it begins anew";
    EXPECT_FALSE(patience.over(true, false, now + notice_patience::most / 2));
    EXPECT_TRUE(patience.over(true, false, now + notice_patience::most));
}

TEST(notice_patience, begins_anew_with_whatever_comes_and_with_another_notice) {
    notice_patience patience;
    notice_patience::time now{std::chrono::seconds(1)};
    EXPECT_FALSE(patience.over(true, false, now));
    EXPECT_FALSE(patience.over(true, true, now += notice_patience::most));
    EXPECT_FALSE(patience.over(true, false, now += notice_patience::most / 2));
    EXPECT_FALSE(patience.over(false, false, now += notice_patience::most));
    EXPECT_FALSE(patience.over(true, false, now += notice_patience::most));
    EXPECT_TRUE(patience.over(true, false, now += notice_patience::most));
}

} // namespace smartint
