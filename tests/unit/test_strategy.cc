// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "common_smartint_strategy.h"

#include "harness.h"

namespace smartint {
namespace {

TEST(strategies, each_kind_has_its_name) {
    EXPECT_STREQ("none", make_strategy(strategy_kind::none)->name());
    EXPECT_STREQ("poll", make_strategy(strategy_kind::poll)->name());
    EXPECT_STREQ("helper", make_strategy(strategy_kind::helper)->name());
    EXPECT_STREQ("interrupt", make_strategy(strategy_kind::interrupt)->name());
    for (const char *name : {"none", "poll", "interrupt", "helper"}) {
        strategy_kind k{};
        ASSERT_TRUE(parse_strategy(name, &k));
        EXPECT_STREQ(name, make_strategy(k)->name());
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

INSTANTIATE_TEST_SUITE_P(strategies, sleeping,
                         ::testing::Values(strategy_kind::helper, strategy_kind::interrupt));

} // namespace
} // namespace smartint
