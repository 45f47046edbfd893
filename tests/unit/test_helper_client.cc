// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
// Who starts helpers: what one that fails leaves on its line, and what the others are spared.
#include <array>
#include <cerrno>
#include <cstddef>
#include <thread>

#include "common_smartint_helper_client.h"
#include "common_smartint_nodes.h"
#include "harness.h"

namespace smartint {
namespace {

using namespace test;

struct helper_starts : testing::Test {
    void SetUp() override { ASSERT_EQ(0, board.create(directory.path().c_str(), {9, 1, 16384, 2, 0})); }
    void start(unsigned index, const char *program, bool again = false) {
        ASSERT_EQ(0, client.start(board, params(), index, program, false, again));
    }
    std::uint32_t state(unsigned index) { return board.helper(index).state.load(); }
    void wait_for_failure() {
        wait_until("it is seen", [this] { return client.any_failed(board); });
    }

    scratch_directory directory;
    segment board;
    helper_client client;
};

TEST_F(helper_starts, one_that_fails_is_told_once_and_absent) {
    start(0, "/bin/false");
    wait_for_failure();
    EXPECT_EQ(layout::helper_absent, state(0));
    EXPECT_FALSE(client.any_failed(board));
}

TEST_F(helper_starts, one_in_anothers_place_that_fails_is_gone_as_that_was) {
    start(0, "/bin/false", true);
    wait_for_failure();
    EXPECT_EQ(layout::helper_gone, state(0));
    start(1, "/bin/false", true);
    board.helper(1).state = layout::helper_absent; // as one says that ends before it is up
    wait_for_failure();
    EXPECT_EQ(layout::helper_gone, state(1));
}

TEST_F(helper_starts, one_that_is_up_has_not_failed_when_its_starter_ends) {
    start(0, "/bin/true", true);
    board.helper(0).state = layout::helper_sleeping;
    wait_until("its starter ends", [this] {
        EXPECT_FALSE(client.any_failed(board));
        return client.none_starting();
    });
    EXPECT_EQ(layout::helper_sleeping, state(0));
}

TEST_F(helper_starts, the_address_of_the_first_is_waited_for_though_another_fails) {
    layout::helper_line &first = board.helper(0);
    first.state = layout::helper_starting;
    start(1, "/bin/false");
    std::thread comes_up([&] {
        wait_until("the other has failed", [this] { return layout::helper_absent == state(1); });
        const std::array<std::byte, 20> address{std::byte{1}};
        write_address(first.address, address.data(), address.size());
        first.state = layout::helper_sleeping;
    });
    bool late = false;
    EXPECT_EQ(20U, client.address(board, 60000, &late).size());
    comes_up.join();
    EXPECT_FALSE(late);
    EXPECT_TRUE(client.any_failed(board));
    EXPECT_FALSE(client.any_failed(board));
}

TEST_F(helper_starts, the_address_of_the_first_is_not_waited_for_if_it_fails) {
    start(0, "/bin/false");
    bool late = false;
    EXPECT_TRUE(client.address(board, 60000, &late).empty());
    EXPECT_FALSE(late);
    EXPECT_EQ(layout::helper_absent, state(0));
}

} // namespace
} // namespace smartint
