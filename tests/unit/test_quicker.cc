// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "common_smartint_quicker.h"

#include "harness.h"

namespace smartint {
namespace {

using way = quicker::way;
constexpr std::uint64_t mib = 1048576;

// So many messages, each way taking as long as is said; how many went the second way.
int second_of(quicker &q, int messages, std::uint64_t bytes, std::uint64_t first_ns, std::uint64_t second_ns) {
    int second = 0;
    for (int i = 0; i < messages; ++i) {
        const way w = q.choose(bytes);
        q.took(bytes, w, bytes, way::second == w ? second_ns : first_ns);
        second += way::second == w ? 1 : 0;
    }
    return second;
}

TEST(quicker, both_are_tried_and_the_quicker_one_stays) {
    quicker q;
    const int tries = static_cast<int>(quicker::tries);
    const int again = static_cast<int>(quicker::again);
    EXPECT_EQ(way::first, q.choose(mib));
    EXPECT_EQ(tries, second_of(q, 2 * tries, mib, 50000, 27000));
    EXPECT_EQ(10 * again - 10, second_of(q, 10 * again, mib, 50000, 27000)) << "but for one in so many";
    quicker other;
    EXPECT_EQ(tries, second_of(other, 2 * tries, mib, 130000, 170000));
    EXPECT_EQ(10, second_of(other, 10 * again, mib, 130000, 170000));
}

TEST(quicker, each_size_by_itself_up_to_the_largest) {
    quicker q;
    second_of(q, 100, mib, 50000, 20000);
    second_of(q, 100, 4 * mib, 20000, 50000);
    second_of(q, 100, 1ULL << 40, 50000000000, 20000000000);
    second_of(q, 100, 1, 50, 20);
    EXPECT_EQ(way::second, q.choose(mib));
    EXPECT_EQ(way::second, q.choose(2 * mib - 1));
    EXPECT_EQ(way::first, q.choose(4 * mib));
    EXPECT_EQ(way::second, q.choose(8 * mib));
    EXPECT_EQ(way::second, q.choose(quicker::smallest_bytes));
    EXPECT_EQ(way::first, q.choose(2 * mib)) << "not tried yet";
}

// Another process had the processor while the quicker one was tried.
TEST(quicker, what_was_disturbed_is_believed_only_where_it_goes_on) {
    quicker q;
    for (unsigned i = 0; i < quicker::tries; ++i) {
        q.took(mib, way::first, mib, 50000);
        q.took(mib, way::second, mib, i + 1 < quicker::tries ? 4000000 : 27000);
    }
    EXPECT_EQ(way::second, q.choose(mib));
    q.took(mib, way::second, mib, 4000000);
    EXPECT_EQ(way::second, q.choose(mib)) << "once is nothing";
    for (int i = 0; i < 3; ++i) {
        q.took(mib, way::second, mib, 4000000); // the machine has changed
    }
    EXPECT_EQ(way::first, q.choose(mib));
    int more = 0;
    for (; way::first == q.best(mib, way::first) && more < 20; ++more) {
        q.took(mib, way::second, mib, 27000);
    }
    EXPECT_LE(more, 4) << "and back";
}

// The least of its times would be the best of all.
TEST(quicker, a_way_that_is_quick_now_and_then_is_not_taken) {
    quicker q;
    for (int i = 0; i < 40; ++i) {
        q.took(mib, way::first, mib, 50000);
        q.took(mib, way::second, mib, 0 == i % 4 ? 30000 : 200000);
    }
    EXPECT_EQ(way::first, q.best(mib, way::second));
}

} // namespace
} // namespace smartint
