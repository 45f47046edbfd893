// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "common_smartint_answers.h"

#include "harness.h"

namespace smartint {
namespace {

constexpr std::uint64_t middle = 16384;

TEST(answers, receivers_are_asked_until_they_have_wanted_the_ring_several_times_in_a_row) {
    answers a;
    for (unsigned i = 0; i < answers::enough; ++i) {
        EXPECT_TRUE(a.ask(middle)) << i;
        a.answered(middle, true);
    }
    EXPECT_FALSE(a.ask(middle));
    EXPECT_TRUE(a.ask(2 * middle)) << "another size";
    a.answered(middle, false);
    EXPECT_TRUE(a.ask(middle));
    a.answered(middle, true);
    a.answered(middle, true);
    EXPECT_TRUE(a.ask(middle)) << "not in a row with those before";
}

TEST(answers, once_in_so_many_whole_ones_is_asked_again_and_that_stands_until_it_is_answered) {
    answers a;
    for (unsigned i = 0; i < answers::enough; ++i) {
        a.answered(middle, true);
    }
    for (unsigned i = 1; i < answers::again; ++i) {
        ASSERT_FALSE(a.ask(middle)) << i;
    }
    EXPECT_TRUE(a.ask(middle));
    EXPECT_TRUE(a.ask(middle)) << "who looks twice sees the same";
    a.answered(middle, true);
    EXPECT_FALSE(a.ask(middle));
    a.answered(middle, false);
    EXPECT_TRUE(a.ask(middle));
}

TEST(answers, any_size_has_a_place) {
    answers a;
    for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{1}, middle, UINT64_MAX}) {
        a.answered(bytes, false);
        EXPECT_TRUE(a.ask(bytes)) << bytes;
    }
}

} // namespace
} // namespace smartint
