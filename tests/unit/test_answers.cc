// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "common_smartint_answers.h"

#include "harness.h"

namespace smartint {
namespace {

TEST(answers, senders_that_wait_ask_until_the_ring_was_wanted_several_times_in_a_row) {
    answers a;
    for (int i = 0; i < answers::enough; ++i) {
        EXPECT_TRUE(a.ask(true)) << i;
        a.answered(true, true);
    }
    EXPECT_FALSE(a.ask(true));
    a.answered(false, true);
    EXPECT_TRUE(a.ask(true));
    a.answered(true, true);
    a.answered(true, true);
    EXPECT_TRUE(a.ask(true)) << "not in a row with those before";
    a.answered(true, true);
    EXPECT_FALSE(a.ask(true));
}

TEST(answers, others_ask_where_several_in_a_row_were_read) {
    answers a;
    EXPECT_FALSE(a.ask(false)) << "nothing is known";
    for (int i = 0; i < 2 * answers::enough; ++i) {
        EXPECT_EQ(i >= answers::enough, a.ask(false)) << i;
        a.answered(false, true);
    }
    a.answered(true, true);
    EXPECT_FALSE(a.ask(false));
    for (int i = 1; i < answers::enough; ++i) {
        a.answered(false, true);
        EXPECT_FALSE(a.ask(false)) << i;
    }
    a.answered(false, true);
    EXPECT_TRUE(a.ask(false));
}

TEST(answers, those_that_tell_nothing_can_only_raise_doubts) {
    answers a;
    for (int i = 0; i < 2 * answers::enough; ++i) {
        a.answered(false, false);
        EXPECT_FALSE(a.ask(false)) << "nothing was known";
    }
    for (int i = 0; i < answers::enough; ++i) {
        a.answered(false, true);
    }
    for (int i = 0; i < 2 * answers::enough; ++i) {
        EXPECT_TRUE(a.ask(false)) << i;
        a.answered(0 != i % answers::enough, false); // never enough in a row
    }
    EXPECT_TRUE(a.ask(false));
    a.answered(false, false);
    for (int i = 0; i < answers::enough; ++i) {
        EXPECT_TRUE(a.ask(false)) << i;
        a.answered(true, false);
    }
    EXPECT_FALSE(a.ask(false));
    EXPECT_TRUE(a.ask(true)) << "found out anew";
    for (int i = 0; i < 2 * answers::enough; ++i) {
        a.answered(true, true);
        a.answered(true, false);
    }
    EXPECT_FALSE(a.ask(true)) << "and the ring's being quicker is not doubted";
}

TEST(answers, once_in_so_many_whole_ones_is_asked_again_and_that_stands_until_it_is_answered) {
    answers a;
    for (int i = 0; i < answers::enough; ++i) {
        a.answered(true, true);
    }
    for (unsigned i = 1; i < answers::again; ++i) {
        ASSERT_FALSE(a.ask(true)) << i;
    }
    EXPECT_TRUE(a.ask(true));
    EXPECT_TRUE(a.ask(true)) << "who looks twice sees the same";
    a.answered(true, true);
    EXPECT_FALSE(a.ask(true));
    a.answered(false, true);
    EXPECT_TRUE(a.ask(true));
}

} // namespace
} // namespace smartint
