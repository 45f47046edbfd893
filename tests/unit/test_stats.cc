// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "common_smartint_stats.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>

#include "harness.h"

namespace smartint {
namespace {

constexpr unsigned all = static_cast<unsigned>(stat::count_);

TEST(statistics, every_counter_has_a_name_of_its_own_and_a_help_text) {
    std::set<std::string> names;
    for (unsigned i = 0; i < all; ++i) {
        EXPECT_TRUE(names.insert(stat_name(static_cast<stat>(i))).second);
        EXPECT_GT(std::strlen(stat_help(static_cast<stat>(i))), 10U) << stat_name(static_cast<stat>(i));
    }
    EXPECT_STREQ("reads_thread", stat_name(stat::reads_thread));
}

TEST(statistics, counters_start_at_zero_and_count_apart) {
    stats s;
    for (unsigned i = 0; i < all; ++i) {
        EXPECT_EQ(0U, s.get(static_cast<stat>(i)));
    }
    s.add(stat::copies);
    s.add(stat::copies, 41);
    EXPECT_EQ(42U, s.get(stat::copies));
    EXPECT_EQ(0U, s.get(stat::reads_app));
}

TEST(statistics, the_file_has_a_line_for_every_counter_and_the_rank_in_its_name) {
    test::scratch_directory d;
    stats s;
    for (unsigned i = 0; i < all; ++i) {
        s.add(static_cast<stat>(i), (i + 1ULL) << 33);
    }
    ASSERT_TRUE(write_stats(s, (d.path() + "/a.%r.txt").c_str(), 17));
    ASSERT_EQ((std::vector<std::string>{"a.17.txt"}), d.left());
    std::ifstream f(d.path() + "/a.17.txt");
    std::string name;
    unsigned long long value = 0;
    unsigned i = 0;
    for (; f >> name >> value; ++i) {
        EXPECT_EQ(stat_name(static_cast<stat>(i)), name);
        EXPECT_EQ((i + 1ULL) << 33, value);
    }
    EXPECT_EQ(all, i);
}

TEST(statistics, a_path_without_a_rank_is_used_as_it_is) {
    test::scratch_directory d;
    EXPECT_TRUE(write_stats(stats{}, (d.path() + "/100%").c_str(), 3));
    EXPECT_EQ((std::vector<std::string>{"100%"}), d.left());
}

TEST(statistics, a_path_that_cannot_be_written_says_so) {
    errno = 0;
    EXPECT_FALSE(write_stats(stats{}, "/nonexistent/x", 0));
    EXPECT_EQ(ENOENT, errno);
    EXPECT_FALSE(write_stats(stats{}, "", 0));
}

TEST(statistics, a_full_device_is_a_failure) { EXPECT_FALSE(write_stats(stats{}, "/dev/full", 0)); }

} // namespace
} // namespace smartint
