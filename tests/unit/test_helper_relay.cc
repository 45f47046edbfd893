// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
// What helpers of several nodes tell each other, and how one sleeps meanwhile.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>

#include "common_smartint_helper_client.h"
#include "common_smartint_nodes.h"
#include "helper_node.h"

namespace smartint::daemon {

namespace {

// Enter b into a's table of nodes, as a rank of a would.
void introduce(node &a, std::uint32_t index, node &b) {
    layout::node_entry &e = a.board.node(index);
    helper_address there;
    ASSERT_TRUE(read_address(b.line().address, &there));
    e.node = b.board.header().node;
    e.secret_hi = b.board.header().secret_hi;
    e.secret_lo = b.board.header().secret_lo;
    write_address(e.helper, there.bytes.data(), there.bytes.size());
}

// Helpers for both, of which a knows b as node 0.
void make_both(node &a, node &b) {
    for (node *n : {&a, &b}) {
        n->attach_all();
        ASSERT_TRUE(n->make(n->standard())) << n->helper->why();
    }
    introduce(a, 0, b);
}

TEST(helper_relay, a_notice_goes_from_one_nodes_helper_to_the_others_board_and_wakes_the_rank) {
    node a(2, 9), b(2, 9);
    a.attach_all();
    b.attach_all();
    bool matched = true;
    const int request = b.owner[1].arm(rts_pattern(5, 0, 7, true, false), &matched);
    ASSERT_FALSE(matched);
    ASSERT_TRUE(a.make(a.standard())) << a.helper->why();
    ASSERT_TRUE(b.make(b.standard())) << b.helper->why();
    introduce(a, 3, b);
    a.run();
    b.run();
    ASSERT_TRUE(relay_post(a.board.relay(), 3, 1, make_rts_key(5, 6, 7), 70, 1));
    wait_until("a bell where it sleeps", [&] {
        ring_eventfd(a.line().doorbell_fd);
        return 1 == b.line().delivered;
    });
    wait_until("the rank is woken", [&] { return b.rung(1); });
    EXPECT_FALSE(b.rung(0));
    EXPECT_TRUE(b.owner[1].is_matched(request));
    wait_until("the wake is counted", [&] { return 1 == b.line().wakes; });
    EXPECT_EQ(0U, b.line().rejected.load());
    wait_until("it is counted", [&] { return 1 == a.line().relayed; });
    // inside: matched, and not woken
    b.owner[0].set_progress(layout::rank_inside);
    const int other = b.owner[0].arm(rts_pattern(5, 0, 8, true, false), &matched);
    ASSERT_TRUE(relay_post(a.board.relay(), 3, 0, make_rts_key(5, 6, 8), 70, 2));
    wait_until("the second", [&] {
        ring_eventfd(a.line().doorbell_fd);
        return 2 == b.line().delivered;
    });
    EXPECT_TRUE(b.owner[0].is_matched(other));
    EXPECT_FALSE(b.rung(0));
    EXPECT_EQ(1U, b.line().wakes.load());
}

TEST(helper_relay, a_rung_doorbell_wakes_it_from_its_sleep) {
    node a(1), b(1);
    ASSERT_NO_FATAL_FAILURE(make_both(a, b));
    a.run();
    b.run();
    wait_until("both sleep",
               [&] { return layout::helper_sleeping == a.line().state && layout::helper_sleeping == b.line().state; });
    for (std::uint32_t i = 1; i <= 300; ++i) {
        wait_until("room", [&] { return relay_post(a.board.relay(), 0, 0, make_rts_key(1, 2, 3), 4, i); });
        std::atomic_thread_fence(std::memory_order_seq_cst); // D1
        if (layout::helper_sleeping == a.line().state) {
            ring_eventfd(a.line().doorbell_fd);
        }
    }
    wait_until("all are there", [&] { return 300 == b.line().delivered; });
    EXPECT_EQ(300U, b.board.slot(0).control.notices_posted.load());
    EXPECT_EQ(0U, b.line().rejected.load());
}

TEST(helper_relay, one_whose_network_no_descriptor_tells_of_looks_by_itself) {
    node a(1), b(1);
    ASSERT_NO_FATAL_FAILURE(make_both(a, b));
    ASSERT_TRUE(core_access::deafen(*b.helper));
    a.run();
    b.run();
    for (std::uint32_t i = 1; i <= 3; ++i) {
        wait_until("it sleeps", [&] { return layout::helper_sleeping == b.line().state; });
        ASSERT_TRUE(relay_post(a.board.relay(), 0, 0, make_rts_key(1, 2, 3), 4, i));
        wait_until("it is there", [&] {
            ring_eventfd(a.line().doorbell_fd);
            return i == b.line().delivered;
        });
    }
}

TEST(helper_relay, a_node_that_is_not_in_the_table_or_has_a_broken_address_costs_nothing) {
    node a(1);
    a.attach_all();
    ASSERT_TRUE(a.make(a.standard()));
    layout::node_entry &broken = a.board.node(4);
    const std::vector<std::byte> nonsense(20, std::byte{0x55});
    write_address(broken.helper, nonsense.data(), nonsense.size());
    a.board.node(5).helper.bytes = 4000;
    a.board.node(5).helper.generation = 2;
    a.board.node(6).helper.generation = 3; // of a writer that was killed
    for (const std::uint32_t index : {0U, 4U, 5U, 6U, 1023U, 1024U, 0xffffffffU}) {
        for (std::uint32_t i = 1; i < 10; ++i) {
            relay_post(a.board.relay(), index, 0, make_rts_key(1, 2, 3), 1, i);
        }
    }
    for (int i = 0; i < 10; ++i) {
        a.helper->pass();
    }
    EXPECT_TRUE(relay_empty(a.board.relay()));
    EXPECT_EQ(0U, a.line().relayed.load());
}

TEST(helper_relay, wrong_notices_from_another_node_are_counted_on_its_line) {
    node a(1, 9), b(1, 9);
    ASSERT_NO_FATAL_FAILURE(make_both(a, b));
    a.board.node(0).secret_lo ^= 1;
    ASSERT_TRUE(relay_post(a.board.relay(), 0, 0, make_rts_key(1, 2, 3), 1, 1));
    wait_until("the rejection", [&] {
        a.helper->pass();
        b.helper->pass();
        return 1 == b.line().rejected;
    });
    EXPECT_EQ(0U, b.line().delivered.load());
    EXPECT_EQ(0U, b.board.slot(0).control.notices_posted.load());
}

TEST(helper_relay, many_notices_at_once_travel_in_batches_and_none_is_lost) {
    node a(1), b(4);
    ASSERT_NO_FATAL_FAILURE(make_both(a, b));
    for (std::uint32_t i = 0; i < layout::relay_entries; ++i) {
        ASSERT_TRUE(relay_post(a.board.relay(), 0, i % 4, make_rts_key(1, 2, 3), 1, i + 1));
    }
    wait_until("all", [&] {
        a.helper->pass();
        b.helper->pass();
        return layout::relay_entries == b.line().delivered;
    });
    for (unsigned i = 0; i < 4; ++i) {
        EXPECT_EQ(layout::relay_entries / 4, b.board.slot(i).control.notices_posted.load());
    }
}

TEST(patience, grows_while_nothing_moves_and_begins_again_when_something_does) {
    patience p;
    EXPECT_EQ(1, p.next_ms(0));
    EXPECT_EQ(1, p.next_ms(0)) << "something else woke it";
    int before = 1;
    for (int i = 0; i < 20; ++i) {
        p.slept_in_vain();
        EXPECT_EQ(std::min(2 * before, 32), p.next_ms(0));
        before = p.next_ms(0);
    }
    EXPECT_EQ(32, before);
    EXPECT_EQ(1, p.next_ms(1));
    p.slept_in_vain();
    EXPECT_EQ(2, p.next_ms(1));
}

TEST(helper_relay, does_not_look_a_thousand_times_a_second_whether_one_that_stands_still_goes_on) {
    node a(1), b(1);
    ASSERT_NO_FATAL_FAILURE(make_both(a, b)); // b's does nothing: it does not even say who it is
    ASSERT_TRUE(relay_post(a.board.relay(), 0, 0, make_rts_key(1, 2, 3), 1, 1));
    a.run();
    wait_until("it has tried", [&] { return 4 <= a.line().sleeps; });
    using clock = std::chrono::steady_clock;
    const std::uint64_t sleeps = a.line().sleeps;
    const auto begin = clock::now();
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    const std::uint64_t more = a.line().sleeps - sleeps;
    // of so many milliseconds, however many that were; 1 to 32 first
    EXPECT_LE(more, 6 + (clock::now() - begin) / std::chrono::milliseconds(16));
    b.run();
    wait_until("it goes on, and has it", [&] { return 1 == b.line().delivered; });
}

// One notice from each to the other, by their helpers.
void notice_each_way(node &a, node &b, std::uint32_t sequence) {
    const auto before = [](node &n) { return n.board.slot(0).control.notices_posted.load(); };
    const std::uint64_t at_a = before(a);
    const std::uint64_t at_b = before(b);
    ASSERT_TRUE(relay_post(a.board.relay(), 0, 0, make_rts_key(1, 2, 3), 1, sequence));
    ASSERT_TRUE(relay_post(b.board.relay(), 0, 0, make_rts_key(1, 2, 3), 1, sequence));
    wait_until("both notices", [&] {
        a.helper->pass();
        b.helper->pass();
        return at_a < before(a) && at_b < before(b);
    });
}

// Two nodes, each with entry 0 of the other's table by its identity, whose helpers have exchanged notices.
void know_each_other(node &a, node &b) {
    ASSERT_NO_FATAL_FAILURE(make_both(a, b));
    introduce(b, 0, a);
    notice_each_way(a, b, 1);
}

// What a rank there is told by one of n.
void tell(node &there, node &n) {
    helper_address address;
    ASSERT_TRUE(read_address(n.line().address, &address));
    std::int32_t index = -1;
    ASSERT_TRUE(take_moved(there.board, compose_moved(n.board, 0, address), &index));
    ASSERT_EQ(0, index);
}

TEST(helper_relay, a_node_that_was_not_reached_is_tried_again_after_longer_and_longer_times) {
    node a(1), b(1);
    ASSERT_NO_FATAL_FAILURE(make_both(a, b));
    introduce(b, 0, a);
    ASSERT_NO_FATAL_FAILURE(notice_each_way(a, b, 1));
    for (std::uint32_t i = 2; i < 4; ++i) {
        std::chrono::nanoseconds expected = relay::shortest_patience;
        for (unsigned tries = 0; tries < 12; ++tries) {
            EXPECT_EQ(expected, core_access::fail(*a.helper, 0));
            expected = std::min<std::chrono::nanoseconds>(2 * expected, relay::longest_patience);
        }
        // nothing is kept for it meanwhile
        const std::uint64_t relayed = a.line().relayed;
        ASSERT_TRUE(relay_post(a.board.relay(), 0, 0, make_rts_key(1, 2, 3), 2, i));
        a.helper->pass();
        EXPECT_TRUE(relay_empty(a.board.relay()));
        EXPECT_EQ(relayed, a.line().relayed);
        core_access::wait_is_over(*a.helper, 0);
        ASSERT_NO_FATAL_FAILURE(notice_each_way(a, b, i)); // and the next time begins anew
    }
    EXPECT_EQ(0U, a.line().rejected + b.line().rejected);
}

TEST(helper_relay, one_in_anothers_place_tells_the_others_helpers_where_it_is) {
    node a(1, 9, layout::max_nodes), b(1, 9, 2 * layout::max_nodes);
    know_each_other(a, b);
    a.helper.reset();
    ASSERT_TRUE(a.make(a.standard()));
    wait_until("it is told", [&] {
        a.helper->pass();
        b.helper->pass();
        return layout::first_address < b.board.node(0).helper.generation;
    });
    notice_each_way(a, b, 2);
    EXPECT_EQ(0U, a.line().rejected + b.line().rejected);
}

TEST(helper_relay, one_in_anothers_place_is_found_by_a_node_that_none_of_its_ranks_had_met) {
    node a(1, 9, layout::max_nodes), b(1, 9, 2 * layout::max_nodes);
    ASSERT_NO_FATAL_FAILURE(make_both(a, b));
    helper_address before; // which the modex has
    ASSERT_TRUE(read_address(a.line().address, &before));
    a.helper.reset();
    ASSERT_TRUE(a.make(a.standard()));
    wait_until("the other is told", [&] {
        a.helper->pass();
        b.helper->pass();
        return is_published(b.board, 0);
    });
    const auto &h = a.board.header();
    ASSERT_EQ(0, publish_node(b.board, {h.node, before.bytes.data(), before.bytes.size(), h.secret_hi, h.secret_lo}));
    notice_each_way(a, b, 1);
    EXPECT_EQ(0U, a.line().rejected + b.line().rejected);
}

TEST(helper_relay, two_in_others_places_at_once_find_each_other_when_ranks_are_told) {
    node a(1, 9, layout::max_nodes), b(1, 9, 2 * layout::max_nodes);
    know_each_other(a, b);
    a.helper.reset();
    b.helper.reset();
    ASSERT_TRUE(a.make(a.standard()));
    for (int i = 0; i < 100; ++i) {
        a.helper->pass(); // nobody is there
    }
    ASSERT_TRUE(b.make(b.standard()));
    tell(a, b);
    tell(b, a);
    notice_each_way(a, b, 2);
    tell(a, b); // once more, as every rank of a node does
    tell(b, a);
    notice_each_way(a, b, 3);
    EXPECT_EQ(0U, a.line().rejected + b.line().rejected);
}

} // namespace
} // namespace smartint::daemon
