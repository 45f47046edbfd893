// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "common_smartint_quicker.h"

#include <vector>

#include "harness.h"

namespace smartint {
namespace {

using way = quicker::way;
constexpr std::uint64_t mib = 1048576;

// So many messages, each way taking as long as is said; how many went the second way.
int second_of(quicker &q, int messages, std::uint64_t bytes, std::uint64_t first_ns, std::uint64_t second_ns) {
    int second = 0;
    for (int i = 0; i < messages; ++i) {
        const way w = q.choose(bytes, way::first);
        q.took(bytes, w, false, bytes, way::second == w ? second_ns : first_ns);
        second += way::second == w ? 1 : 0;
    }
    return second;
}

TEST(quicker, both_are_tried_and_the_quicker_one_stays) {
    EXPECT_EQ(way::first, quicker().choose(mib, way::second));
    constexpr int tries = quicker::tries;
    quicker q;
    EXPECT_EQ(tries, second_of(q, 2 * tries, mib, 50000, 27000));
    quicker other;
    EXPECT_EQ(tries, second_of(other, 2 * tries, mib, 130000, 170000));
    EXPECT_EQ(way::second, q.choose(mib, way::first));
    EXPECT_EQ(way::first, other.choose(mib, way::second));
}

// How many by the quicker way before so many by the other, again and again.
std::vector<int> pauses(quicker &q, std::uint64_t bytes, unsigned in_a_row, std::uint64_t slow = 2000) {
    std::vector<int> seen;
    for (int k = 0; k < 8; ++k) {
        int quick = 0;
        for (; way::second == q.choose(bytes, way::first); ++quick) {
            q.took(bytes, way::second, false, bytes, 1000);
        }
        unsigned others = 1;
        for (; others < in_a_row; ++others) {
            q.took(bytes, way::first, false, bytes, slow);
            EXPECT_EQ(way::first, q.choose(bytes, way::second)) << others;
        }
        q.took(bytes, way::first, false, bytes, slow);
        seen.push_back(quick);
    }
    return seen;
}

TEST(quicker, the_other_way_is_tried_anew_soon_and_then_seldom) {
    quicker large;
    quicker small;
    second_of(large, 2 * quicker::tries, mib, 2000, 1000);
    second_of(small, 2 * quicker::tries, 8192, 2000, 1000);
    ASSERT_EQ(6U, quicker::in_a_row(mib));
    ASSERT_EQ(2U, quicker::in_a_row(8192)) << "of three a sender would conclude something";
    const std::vector<int> expected{15, 31, 63, 127, 255, 511, 511, 511};
    EXPECT_EQ(expected, pauses(large, mib, 6));
    EXPECT_EQ(expected, pauses(small, 8192, 2));
}

TEST(quicker, where_very_much_moves_two_are_enough) {
    quicker q;
    const auto many = [&](way w, std::uint64_t ns) { q.took(mib, w, true, 64 * mib, 64 * ns); };
    for (unsigned i = 0; i < quicker::tries; ++i) {
        many(way::first, 2000);
        many(way::second, 1000);
    }
    for (const int expected : {15, 31, 63}) {
        int quick = 0;
        for (; way::second == q.choose(mib, way::first); ++quick) {
            many(way::second, 1000);
        }
        EXPECT_EQ(expected, quick);
        many(way::first, 2000);
        EXPECT_EQ(way::first, q.choose(mib, way::second));
        many(way::first, 2000);
    }
}

TEST(quicker, what_takes_very_long_is_tried_twice) {
    quicker q;
    const auto second_of_four = [&](std::uint64_t moved) {
        int second = 0;
        for (int i = 0; i < 4; ++i) {
            const way w = q.choose(mib, way::first);
            q.took(mib, w, true, moved, way::second == w ? moved / 64 : moved / 32);
            second += way::second == w ? 1 : 0;
        }
        return second;
    };
    EXPECT_EQ(2, second_of_four(64 * mib));
    EXPECT_TRUE(q.known(mib));
    EXPECT_EQ(4, second_of_four(64 * mib)) << "the quicker one";
    q.took(mib, way::second, true, 8 * mib, 8 * mib / 64);
    EXPECT_FALSE(q.known(mib)) << "of what takes less six are wanted";
}

TEST(quicker, what_takes_much_longer_is_tried_the_more_rarely) {
    quicker thrice;
    quicker much;
    second_of(thrice, 2 * quicker::tries, mib, 3500, 1000);
    second_of(much, 2 * quicker::tries, mib, 20000, 1000);
    EXPECT_EQ((std::vector<int>{15, 31, 63, 127, 255, 511, 1023, 1535}), pauses(thrice, mib, 6, 3500));
    EXPECT_EQ((std::vector<int>{15, 31, 63, 127, 255, 511, 1023, 2047}), pauses(much, mib, 6, 20000));
    EXPECT_EQ(4095, pauses(much, mib, 6, 20000).back());
}

// After those by the other way the caches hold nothing of this one's.
TEST(quicker, the_first_ones_of_a_way_do_not_count) {
    quicker q;
    second_of(q, 2 * quicker::tries, mib, 50000, 30000);
    for (unsigned round = 0; round < 20; ++round) {
        for (unsigned i = 0; i < quicker::in_a_row(mib); ++i) {
            q.took(mib, way::first, false, mib, 50000);
        }
        for (unsigned i = 0; i < quicker::in_a_row(mib); ++i) {
            q.took(mib, way::second, false, mib, i + 1 < quicker::in_a_row(mib) ? 90000 : 30000);
        }
    }
    EXPECT_EQ(way::second, q.best(mib, way::first));
}

TEST(quicker, each_size_by_itself_up_to_the_largest) {
    quicker q;
    second_of(q, 100, mib, 50000, 20000);
    second_of(q, 100, 4 * mib, 20000, 50000);
    second_of(q, 100, 1ULL << 40, 50000000000, 20000000000);
    second_of(q, 100, 1, 50, 20);
    EXPECT_EQ(way::second, q.choose(mib, way::first));
    EXPECT_EQ(way::second, q.choose(2 * mib - 1, way::first));
    EXPECT_EQ(way::first, q.choose(4 * mib, way::first));
    EXPECT_EQ(way::second, q.choose(8 * mib, way::first));
    EXPECT_EQ(way::second, q.choose(quicker::smallest_bytes, way::first));
    EXPECT_EQ(way::first, q.choose(2 * mib, way::first)) << "not tried yet";
}

// As in a loop over one message and a window of them.
TEST(quicker, one_and_several_that_take_turns_are_both_found_out) {
    quicker q;
    for (unsigned i = 0; i < 3 * quicker::most_turns; ++i) {
        const bool several = 0 != i % 2;
        const way w = q.choose(mib, way::first);
        // the one is quicker so, the other so
        q.took(mib, w, several, mib, several == (way::second == w) ? 20000 : 50000);
    }
    q.took(mib, way::first, false, mib, 50000);
    EXPECT_EQ(way::first, q.best(mib, way::second)) << "one";
    q.took(mib, way::second, true, mib, 20000);
    EXPECT_EQ(way::second, q.best(mib, way::first)) << "several";
}

// A loop over one message, long enough for its way to be known, and then windows of them.
TEST(quicker, several_are_found_out_after_one) {
    quicker q;
    second_of(q, 10 * quicker::most_turns, mib, 20000, 50000);
    EXPECT_EQ(way::first, q.choose(mib, way::first));
    for (unsigned i = 0; i < quicker::most_turns; ++i) {
        const way w = q.choose(mib, way::first);
        q.took(mib, w, true, 8 * mib, way::second == w ? 8 * 20000 : 8 * 50000);
    }
    EXPECT_EQ(way::second, q.best(mib, way::first));
}

TEST(quicker, what_could_not_be_timed_is_tried_anew) {
    quicker q;
    for (unsigned i = 0; i < quicker::anew; ++i) {
        q.choose(mib, way::first);
    }
    EXPECT_EQ(quicker::tries, second_of(q, 2 * quicker::tries, mib, 50000, 27000));
    EXPECT_EQ(way::second, q.best(mib, way::first));
}

TEST(quicker, what_cannot_be_timed_goes_as_it_would_otherwise) {
    quicker q;
    int second = 0;
    for (unsigned i = 0; i < quicker::most_turns; ++i) {
        second += way::second == q.choose(mib, way::first) ? 1 : 0;
    }
    EXPECT_EQ(static_cast<int>(quicker::most_turns) / 2, second);
    EXPECT_EQ(way::first, q.choose(mib, way::first));
    EXPECT_EQ(way::second, q.choose(mib, way::second));
    EXPECT_EQ(way::second, q.best(mib, way::second));
}

// Another process had the processor while the quicker one was tried.
TEST(quicker, what_was_disturbed_is_believed_only_where_it_goes_on) {
    quicker q;
    for (unsigned i = 0; i < quicker::tries; ++i) {
        q.took(mib, way::first, false, mib, 50000);
        q.took(mib, way::second, false, mib, i + 1 < quicker::tries ? 4000000 : 27000);
    }
    for (unsigned i = 0; i < quicker::in_a_row(mib); ++i) {
        q.took(mib, way::second, false, mib, 27000);
    }
    EXPECT_EQ(way::second, q.best(mib, way::first));
    q.took(mib, way::second, false, mib, 4000000);
    EXPECT_EQ(way::second, q.best(mib, way::first)) << "once is nothing";
    for (int i = 0; i < 3; ++i) {
        q.took(mib, way::second, false, mib, 4000000); // the machine has changed
    }
    EXPECT_EQ(way::first, q.best(mib, way::second));
    int more = 0;
    for (; way::first == q.best(mib, way::first) && more < 20; ++more) {
        q.took(mib, way::second, false, mib, 27000);
    }
    EXPECT_LE(more, 4) << "and back";
}

// The least of its times would be the best of all.
TEST(quicker, a_way_that_is_quick_now_and_then_is_not_taken) {
    quicker q;
    for (int i = 0; i < 40; ++i) {
        q.took(mib, way::first, false, mib, 50000);
    }
    for (int i = 0; i < 40; ++i) {
        q.took(mib, way::second, false, mib, 0 == i % 4 ? 30000 : 200000);
    }
    EXPECT_EQ(way::first, q.best(mib, way::second));
}

} // namespace
} // namespace smartint
