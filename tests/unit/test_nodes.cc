// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Addresses of helpers on the board: read whole or not at all, and changed by nobody who may not.
#include "common_smartint_nodes.h"

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "harness.h"

namespace smartint {
namespace {

using namespace test;

struct nodes : testing::Test {
    nodes() { EXPECT_EQ(0, board.create(directory.path().c_str(), {9, 2, 16384, 1, 1000})); }
    ~nodes() override { board.unlink(); }

    static remote_node there(std::uint64_t identity, const std::vector<std::byte> &address) {
        return {identity, address.data(), address.size(), identity + 1, identity + 2};
    }
    // Its address in the table, empty: there is none.
    std::vector<std::byte> address_of(std::int32_t index) {
        helper_address a;
        return index >= 0 && read_address(board.node(index).helper, &a) ? a.bytes : std::vector<std::byte>();
    }
    // As another node's helper would send it.
    layout::relay_message_moved moved(std::uint64_t node, const std::vector<std::byte> &address,
                                      std::uint32_t generation = 4) {
        layout::relay_message_moved m{};
        m.head = relay_header(board, 0, board.header().secret_hi, board.header().secret_lo);
        m.node = node;
        m.address_bytes = static_cast<std::uint32_t>(address.size());
        m.generation = generation;
        std::memcpy(m.address, address.data(), address.size());
        m.secret_hi = node + 1;
        m.secret_lo = node + 2;
        return m;
    }

    scratch_directory directory;
    segment board;
    const std::vector<std::byte> one{std::size_t{13}, std::byte{1}};
    const std::vector<std::byte> two{std::size_t{layout::node_address_bytes}, std::byte{2}};
};

TEST_F(nodes, an_address_is_read_as_it_was_written_at_every_length) {
    layout::address_cell &cell = board.helper(0).address;
    helper_address a;
    EXPECT_FALSE(read_address(cell, &a));
    for (std::uint32_t bytes = 1; bytes <= layout::node_address_bytes; ++bytes) {
        std::vector<std::byte> data(bytes);
        fill(data.data(), bytes, bytes);
        write_address(cell, data.data(), bytes);
        ASSERT_TRUE(read_address(cell, &a));
        ASSERT_EQ(data, a.bytes);
        ASSERT_EQ(2 * bytes, a.generation);
    }
}

TEST_F(nodes, one_that_is_being_written_or_cannot_be_is_not_read) {
    layout::address_cell &cell = board.helper(0).address;
    helper_address a;
    write_address(cell, one.data(), one.size());
    cell.generation = 3;
    EXPECT_FALSE(read_address(cell, &a));
    write_address(cell, two.data(), two.size()); // after one that was killed in the middle
    ASSERT_TRUE(read_address(cell, &a));
    EXPECT_EQ(two, a.bytes);
    EXPECT_GT(a.generation, 3U);
    for (const std::uint32_t bytes : {0U, layout::node_address_bytes + 1, 0xffffffffU}) {
        cell.bytes = bytes;
        EXPECT_FALSE(read_address(cell, &a)) << bytes;
    }
}

TEST_F(nodes, whoever_reads_while_it_changes_gets_one_or_the_other) {
    layout::address_cell &cell = board.helper(0).address;
    write_address(cell, one.data(), one.size());
    std::atomic<bool> over{false};
    std::thread writer([&] {
        for (int i = 0; i < 20000; ++i) {
            const auto &next = 0 != i % 2 ? one : two;
            write_address(cell, next.data(), next.size());
        }
        over = true;
    });
    unsigned reads = 0;
    std::uint32_t before = 0;
    while (!over || 0 == reads) {
        helper_address a;
        if (read_address(cell, &a)) {
            ++reads;
            ASSERT_TRUE(one == a.bytes || two == a.bytes);
            ASSERT_GE(a.generation, before);
            before = a.generation;
        }
    }
    writer.join();
}

TEST_F(nodes, a_node_is_published_once_and_the_table_takes_as_many_as_it_has_entries) {
    const std::int32_t first = publish_node(board, there(77, one));
    EXPECT_EQ(77, first);
    EXPECT_EQ(one, address_of(first));
    EXPECT_EQ(78U, board.node(first).secret_hi);
    EXPECT_EQ(first, publish_node(board, there(77, two)));
    EXPECT_EQ(one, address_of(first)) << "what it says at its start is no news";
    EXPECT_EQ(78, publish_node(board, there(77 + layout::max_nodes, two))) << "the next free one";
    for (std::uint32_t i = 2; i < layout::max_nodes; ++i) {
        EXPECT_GE(publish_node(board, there(10000 + i, one)), 0) << i;
    }
    EXPECT_EQ(-1, publish_node(board, there(99999, one)));
    EXPECT_EQ(first, publish_node(board, there(77, one)));
}

TEST_F(nodes, a_board_for_few_takes_as_many_as_it_is_for) {
    segment small;
    ASSERT_EQ(0, small.create(directory.path().c_str(), {9, 2, 16384, 1, 3000, 3}));
    EXPECT_EQ(77 % 3, publish_node(small, there(77, one)));
    EXPECT_EQ(78 % 3, publish_node(small, there(78, two)));
    EXPECT_EQ(1, publish_node(small, there(83, two))) << "the place left";
    EXPECT_EQ(-1, publish_node(small, there(79, one)));
    EXPECT_EQ(78 % 3, publish_node(small, there(78, two)));
    small.unlink();
    segment other; // the search goes round the table, not round the numbers
    ASSERT_EQ(0, other.create(directory.path().c_str(), {9, 2, 16384, 1, 3000, 3}));
    for (const std::uint64_t identity : {UINT64_MAX, UINT64_MAX - 3, UINT64_MAX - 6}) {
        EXPECT_GE(publish_node(other, there(identity, one)), 0);
    }
    EXPECT_EQ(-1, publish_node(other, there(UINT64_MAX - 9, one)));
    other.unlink();
}

TEST_F(nodes, one_that_stands_still_in_the_middle_has_no_second_entry_beside_its_own) {
    layout::node_entry &e = board.node(77);
    e.node = 77;
    EXPECT_EQ(77, publish_node(board, there(77, one))) << "it had not begun to write";
    EXPECT_EQ(one, address_of(77));
    EXPECT_EQ(78U, e.secret_hi);
    layout::node_entry &other = board.node(99);
    other.node = 99;
    other.helper.generation = 1;
    EXPECT_EQ(99, publish_node(board, there(99, one))) << "it writes";
    EXPECT_FALSE(is_published(board, 99));
    EXPECT_EQ(1U, other.helper.generation);
    EXPECT_EQ(100, publish_node(board, there(99 + layout::max_nodes, one))) << "who is another";
    EXPECT_TRUE(is_published(board, 100));
}

TEST_F(nodes, whoever_enter_the_same_nodes_at_once_find_one_entry_for_each) {
    constexpr std::uint64_t count = 300;
    std::atomic<unsigned> ready{0};
    std::vector<std::int32_t> found[4];
    std::vector<std::thread> ranks;
    for (auto &mine : found) {
        ranks.emplace_back([&] {
            for (++ready; ready < 4;) {}
            for (std::uint64_t i = 0; i < count; ++i) { // all of them want the same places
                mine.push_back(publish_node(board, there(5 + i * layout::max_nodes, one)));
            }
        });
    }
    for (std::thread &t : ranks) {
        t.join();
    }
    std::uint64_t entries = 0;
    for (std::uint32_t i = 0; i < layout::max_nodes; ++i) {
        entries += 0 != board.node(i).node ? 1 : 0;
    }
    EXPECT_EQ(count, entries);
    for (std::uint64_t i = 0; i < count; ++i) {
        for (const auto &theirs : found) {
            ASSERT_EQ(found[0][i], theirs[i]) << i;
        }
        ASSERT_EQ(one, address_of(found[0][i])) << i;
        ASSERT_EQ(5 + i * layout::max_nodes, board.node(found[0][i]).node) << i;
    }
}

TEST_F(nodes, what_is_no_node_is_not_entered) {
    EXPECT_EQ(-1, publish_node(board, there(0, one)));
    EXPECT_EQ(0U, board.node(0).helper.generation);
}

TEST_F(nodes, what_a_moved_helper_says_changes_its_nodes_address_and_no_others) {
    const std::int32_t a = publish_node(board, there(5, one));
    const std::int32_t b = publish_node(board, there(6, one));
    std::int32_t index = -1;
    EXPECT_TRUE(take_moved(board, moved(6, two), &index));
    EXPECT_EQ(b, index);
    EXPECT_EQ(one, address_of(a));
    EXPECT_EQ(two, address_of(b));
    EXPECT_EQ(6U, board.node(b).node);
    EXPECT_EQ(7U, board.node(b).secret_hi);
    const std::uint32_t generation = board.node(b).helper.generation;
    EXPECT_TRUE(take_moved(board, moved(6, two), &index)) << "once more";
    EXPECT_EQ(generation, board.node(b).helper.generation);
    EXPECT_TRUE(take_moved(board, moved(6, one, 8), &index));
    EXPECT_EQ(one, address_of(b));
    EXPECT_TRUE(take_moved(board, moved(6, two, 6), &index)) << "what was overtaken";
    EXPECT_EQ(one, address_of(b));
    board.node(a).helper.generation = 3; // somebody writes it
    EXPECT_TRUE(take_moved(board, moved(5, two), &index));
    EXPECT_EQ(3U, board.node(a).helper.generation);
}

TEST_F(nodes, a_helper_that_moved_before_its_node_is_met_is_known_when_it_is) {
    std::int32_t index = -1;
    EXPECT_TRUE(take_moved(board, moved(7, two), &index));
    EXPECT_EQ(7, index);
    EXPECT_EQ(7, publish_node(board, there(7, one))) << "with the address of its start";
    EXPECT_EQ(two, address_of(7));
    EXPECT_EQ(4U, board.node(7).helper.generation);
    EXPECT_EQ(8U, board.node(7).secret_hi);
    EXPECT_EQ(9U, board.node(7).secret_lo);
    board.node(8).node = 8; // a rank is about to write it
    EXPECT_TRUE(take_moved(board, moved(8, two), &index));
    EXPECT_EQ(8, index);
    EXPECT_EQ(two, address_of(8));
    EXPECT_EQ(9U, board.node(8).secret_hi);
    for (std::uint32_t i = 2; i < layout::max_nodes; ++i) {
        EXPECT_GE(publish_node(board, there(10000 + i, one)), 0) << i;
    }
    EXPECT_TRUE(take_moved(board, moved(9, two), &index));
    EXPECT_EQ(-1, index) << "no room";
}

TEST_F(nodes, a_rank_and_news_that_enter_a_node_at_once_leave_it_whole) {
    layout::node_entry &e = board.node(7);
    for (int round = 0; round < 200; ++round) {
        e.node = 0;
        e.helper.generation = 0;
        std::atomic<unsigned> ready{0};
        std::thread rank([&] {
            for (++ready; ready < 2;) {}
            EXPECT_EQ(7, publish_node(board, there(7, one)));
        });
        for (++ready; ready < 2;) {}
        std::int32_t index = -1;
        EXPECT_TRUE(take_moved(board, moved(7, two), &index));
        EXPECT_EQ(7, index);
        rank.join();
        ASSERT_EQ(8U, e.secret_hi);
        ASSERT_TRUE(two == address_of(7) || one == address_of(7)); // that, if the rank stood still as it wrote
    }
}

TEST_F(nodes, what_is_wrong_changes_nothing) {
    const std::int32_t a = publish_node(board, there(5, one));
    const auto good = moved(5, two);
    const auto refused = [&](const char *what, auto change) {
        auto m = good;
        change(m);
        std::int32_t index = 0;
        EXPECT_FALSE(take_moved(board, m, &index)) << what;
        EXPECT_EQ(one, address_of(a)) << what;
    };
    refused("magic", [](auto &m) { m.head.magic ^= 1; });
    refused("version", [](auto &m) { ++m.head.version; });
    refused("job", [](auto &m) { ++m.head.job; });
    refused("secret", [](auto &m) { m.head.secret_hi ^= 1; });
    refused("secret", [](auto &m) { m.head.secret_lo ^= 1ULL << 63; });
    refused("count", [](auto &m) { m.head.count = 1; });
    refused("no node", [](auto &m) { m.node = 0; });
    refused("no generation", [](auto &m) { m.generation = 0; });
    refused("a generation in the middle", [](auto &m) { m.generation = 5; });
    refused("no address", [](auto &m) { m.address_bytes = 0; });
    refused("a long address", [](auto &m) { m.address_bytes = layout::node_address_bytes + 1; });
    std::int32_t index = -1;
    EXPECT_TRUE(take_moved(board, good, &index));
    EXPECT_EQ(two, address_of(a));
}

TEST_F(nodes, what_is_composed_for_another_node_is_taken_there_alone) {
    segment other;
    ASSERT_EQ(0, other.create(directory.path().c_str(), {9, 2, 16384, 1, 2000}));
    const auto know = [](segment &here, segment &remote, const std::vector<std::byte> &address) {
        const auto &h = remote.header();
        return publish_node(here, {h.node, address.data(), address.size(), h.secret_hi, h.secret_lo});
    };
    const std::int32_t to = know(board, other, one);
    const std::int32_t from = know(other, board, one);
    helper_address here;
    here.bytes = two;
    here.generation = 4;
    const auto m = compose_moved(board, static_cast<std::uint32_t>(to), here);
    std::int32_t index = -1;
    EXPECT_FALSE(take_moved(board, m, &index));
    EXPECT_TRUE(take_moved(other, m, &index));
    EXPECT_EQ(from, index);
    helper_address a;
    ASSERT_TRUE(read_address(other.node(from).helper, &a));
    EXPECT_EQ(two, a.bytes);
    other.unlink();
}

} // namespace
} // namespace smartint
