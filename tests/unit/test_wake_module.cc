// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Waking by the kernel module. Where it is not loaded there is one case, that nobody minds; the others
// run in a virtual machine that has it (tests/vm).
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "common_smartint_wake.h"
#include "harness.h"

namespace smartint {
namespace {

constexpr wake_identity job{7, 0x1122334455667788ULL, 42};

std::vector<int> where_it_is_loaded() {
    return 0 == access("/dev/smartint", F_OK) ? std::vector<int>{1} : std::vector<int>{};
}

TEST(without_the_module, an_eventfd_is_made_and_nobody_is_woken_by_it) {
    if (0 == access("/dev/smartint", F_OK)) {
        return; // seen on every machine without it
    }
    std::string why;
    EXPECT_GT(0, module_sleeper(job, 0, &why));
    EXPECT_EQ("the module is not loaded", why);
    EXPECT_GT(0, module_waker(job));
    const int fd = wake_descriptor(wake_kind::automatic, job, 0);
    ASSERT_GE(fd, 0);
    EXPECT_TRUE(ring_eventfd(fd));
    EXPECT_EQ(1U, drain_eventfd(fd));
    close(fd);
    waker w;
    w.resize(1);
    w.use_module(wake_kind::automatic, job);
    EXPECT_FALSE(w.first(0));
    EXPECT_FALSE(w.instead(0));
}

class with_the_module : public testing::TestWithParam<int> {
protected:
    // Ranks of this process, as others see them on a board.
    void SetUp() override {
        ASSERT_EQ(0, board.create("/dev/shm", {7, 4, 16384, 1}));
        who = identity_of(board.header());
        for (unsigned i = 0; i < 4; ++i) {
            auto &c = board.slot(i).control;
            fd[i] = wake_descriptor(wake_kind::module, who, i);
            ASSERT_GE(fd[i], 0);
            c.pid = 1; // whose descriptors nobody is given
            c.start_time = process_start_time(1) + 1;
            c.wake_fd = fd[i];
            c.attached = 1;
        }
        w.resize(4);
    }
    void TearDown() override {
        for (const int f : fd) {
            close(f);
        }
        board.unlink();
    }
    segment board;
    wake_identity who;
    waker w;
    int fd[4];
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(with_the_module);
INSTANTIATE_TEST_SUITE_P(loaded, with_the_module, testing::ValuesIn(where_it_is_loaded()));

TEST_P(with_the_module, a_descriptor_is_rung_and_emptied_as_an_eventfd) {
    EXPECT_EQ(0U, drain_eventfd(fd[0]));
    EXPECT_TRUE(ring_eventfd(fd[0]));
    EXPECT_TRUE(ring_eventfd(fd[0]));
    EXPECT_EQ(2U, drain_eventfd(fd[0]));
}

TEST_P(with_the_module, a_rank_is_woken_by_its_number) {
    stats s;
    w.use_module(wake_kind::module, who, &s);
    EXPECT_TRUE(w.wake(2, board.slot(2)));
    EXPECT_EQ(1U, drain_eventfd(fd[2]));
    EXPECT_EQ(0U, drain_eventfd(fd[1]));
    EXPECT_EQ(1U, s.get(stat::wakes_module));
}

TEST_P(with_the_module, the_file_that_it_wakes_by_is_known_as_its_own) {
    const int next = dup(fd[0]);
    close(next);
    w.use_module(wake_kind::module, who);
    EXPECT_FALSE(w.holds(next));
    EXPECT_TRUE(w.first(0));
    EXPECT_TRUE(w.holds(next));
    EXPECT_FALSE(w.holds(fd[0]));
    w.close();
    EXPECT_FALSE(w.holds(next));
}

TEST_P(with_the_module, it_is_used_where_a_copy_fails_and_not_by_eventfd) {
    w.use_module(wake_kind::eventfd, who);
    EXPECT_FALSE(w.wake(1, board.slot(1)));
    w.close();
    w.use_module(wake_kind::automatic, who);
    EXPECT_TRUE(w.wake(1, board.slot(1)));
    EXPECT_EQ(1U, drain_eventfd(fd[1]));
}

TEST_P(with_the_module, several_are_woken_at_once_and_those_not_there_are_left_out) {
    w.use_module(wake_kind::automatic, who);
    board.slot(3).control.stopped = 1;
    close(fd[1]);
    std::vector<std::uint32_t> which{0, 3, 1, 2, 99};
    EXPECT_EQ(2U, w.wake_all(&which, board));
    EXPECT_EQ(std::vector<std::uint32_t>{1}, which); // it is there
    EXPECT_EQ(1U, drain_eventfd(fd[0]));
    EXPECT_EQ(1U, drain_eventfd(fd[2]));
    EXPECT_EQ(0U, drain_eventfd(fd[3]));
    fd[1] = open("/dev/null", O_RDONLY);
}

TEST_P(with_the_module, a_helper_is_woken_by_its_number) {
    const int bell = wake_descriptor(wake_kind::automatic, who, helper_number(3));
    w.use_module(wake_kind::module, who);
    EXPECT_TRUE(w.first(helper_number(3)));
    EXPECT_EQ(1U, drain_eventfd(bell));
    EXPECT_FALSE(w.first(helper_number(4)));
    close(bell);
    EXPECT_FALSE(w.first(helper_number(3))) << "it is gone";
}

TEST_P(with_the_module, a_number_that_is_taken_gets_an_eventfd) {
    std::string why;
    EXPECT_EQ(-EEXIST, module_sleeper(who, 0, &why)) << why;
    const int twin = wake_descriptor(wake_kind::automatic, who, 0);
    ASSERT_GE(twin, 0);
    EXPECT_TRUE(ring_eventfd(twin));
    EXPECT_EQ(1U, drain_eventfd(twin));
    EXPECT_EQ(0U, drain_eventfd(fd[0]));
    close(twin);
}

} // namespace
} // namespace smartint
