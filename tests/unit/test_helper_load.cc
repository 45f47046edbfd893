// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
// What the helper makes of the system's word on how busy its processing units are.
#include <sched.h>

#include <fstream>
#include <sstream>

#include "helper_node.h"
#include "smartintd_load.h"
#include "smartintd_place.h"

namespace smartint::daemon {
namespace {

TEST(unit_times, are_read_by_number_and_nothing_else_is) {
    std::istringstream in("cpu  9 9 9 9 9 9 9 9 9 9\n"
                          "cpu0 1 2 4 8 16 32 64 128 256 512\n"
                          "cpu2 5 0 0 7\n"
                          "cpux 1 1 1 1\n"
                          "cpu99999999999999999999 1 1 1 1\n"
                          "cpu70000 1 1 1 1\n"
                          "cpu3 x\n"
                          "intr 5 5 5\n"
                          "cpu4 1 1 1 1\n");
    const auto v = read_unit_times(in);
    ASSERT_EQ(4U, v.size());
    EXPECT_EQ(7U, v[0].busy);
    EXPECT_EQ(255U, v[0].all);
    EXPECT_EQ(0U, v[1].all);
    EXPECT_EQ(5U, v[2].busy);
    EXPECT_EQ(12U, v[2].all);
    EXPECT_EQ(0U, v[3].all);
    std::istringstream nothing;
    EXPECT_TRUE(read_unit_times(nothing).empty());
}

TEST(busy_units, are_those_that_others_use_for_more_than_a_fifth_of_the_time) {
    const std::vector<unit_time> before{{50, 100}, {0, 0}, {10, 1000}, {500, 1000}, {7, 7}};
    const std::vector<unit_time> now{{71, 200}, {20, 100}, {28, 1019}, {400, 900}, {7, 107}, {100, 100}};
    // 0: 21 of 100; 1: 20 of 100; 2: 18 of 19, too short; 3: backwards; 4: idle; 5: not seen before
    EXPECT_EQ((std::vector<unsigned>{0}), busy_units(before, now, -1, 99));
    EXPECT_EQ((std::vector<unsigned>{0}), busy_units(before, now, 1, 20));
    EXPECT_TRUE(busy_units(before, now, 0, 1).empty()) << "its own time is not others'";
    EXPECT_TRUE(busy_units({}, now, -1, 0).empty());
}

// The system's word on `units` units after `ticks` ticks, on `busy` of which one of them worked.
void tell(const std::string &path, unsigned units, int worked, unsigned ticks, unsigned busy) {
    std::ofstream out(path);
    for (unsigned i = 0; i < units; ++i) {
        const unsigned own = static_cast<int>(i) == worked ? busy : 0;
        out << "cpu" << i << " " << own << " 0 0 " << ticks - own << " 0 0 0 0 0 0\n";
    }
}

TEST(placement, a_unit_that_another_job_uses_is_left_to_it_and_may_be_taken_again) {
    cpu_set_t before;
    CPU_ZERO(&before);
    sched_getaffinity(0, sizeof(before), &before);
    node n{1};
    n.attach(0);
    n.board.slot(0).control.cpus[0] = 0; // no unit is a rank's
    const std::string path = n.directory.path() + "/stat";
    tell(path, CPU_SETSIZE, -1, 1000, 0);
    placement place{unit_load(path)};
    const int first = place.choose(n.board, {}, n.standard());
    ASSERT_GE(first, 0);
    tell(path, CPU_SETSIZE, first, 1010, 10);
    EXPECT_EQ(first, place.choose(n.board, {}, n.standard())) << "too short a time to tell";
    tell(path, CPU_SETSIZE, first, 1100, 100);
    EXPECT_NE(first, place.choose(n.board, {}, n.standard()));
    EXPECT_NE(first, place.choose(n.board, {}, n.standard())) << "nothing new, so it is as it was";
    tell(path, CPU_SETSIZE, first, 1200, 100);
    EXPECT_EQ(first, place.choose(n.board, {}, n.standard()));
    // to use it is no reason to leave it
    const std::uint64_t begun = thread_cpu_ns();
    while (thread_cpu_ns() - begun < 300'000'000) {}
    tell(path, CPU_SETSIZE, first, 1230, 125);
    EXPECT_EQ(first, place.choose(n.board, {}, n.standard()));
    sched_setaffinity(0, sizeof(before), &before);
}

TEST(placement, what_another_helper_of_the_node_uses_is_no_other_jobs) {
    cpu_set_t before;
    CPU_ZERO(&before);
    sched_getaffinity(0, sizeof(before), &before);
    node n{1};
    n.attach(0);
    n.board.slot(0).control.cpus[0] = 0;
    const std::string path = n.directory.path() + "/stat";
    tell(path, CPU_SETSIZE, -1, 1000, 0);
    placement place{unit_load(path)};
    const int first = place.choose(n.board, {}, n.standard());
    ASSERT_GE(first, 0);
    layout::helper_line &other = n.board.helper(1);
    other.cpu = first;
    tell(path, CPU_SETSIZE, first, 1100, 100);
    EXPECT_NE(first, place.choose(n.board, {}, n.standard())) << "it is gone, or never was";
    other.state = layout::helper_polling;
    EXPECT_EQ(first, place.choose(n.board, {}, n.standard()));
    sched_setaffinity(0, sizeof(before), &before);
}

} // namespace
} // namespace smartint::daemon
