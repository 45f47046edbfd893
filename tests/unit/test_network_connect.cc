// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
// How connections are made where endpoints are joined, and what is refused.
#include "network_stations.h"

#include <utility>

#include "common_smartint_uct.h"

namespace smartint {
namespace {

struct joined : networks {
    // a takes the connection that b asked for, as soon as b has told that it knows a's end of it.
    void *take_over() {
        void *c = nullptr;
        test::wait_until("b to say that it has joined it", [&] {
            turn();
            a.net.disconnect(c);
            c = a.net.connect(b.net.address().data(), b.net.address().size());
            return !a.net.connecting(c);
        });
        return c;
    }
};

TEST_P(joined, who_was_connected_to_takes_that_connection_and_asks_nobody) {
    EXPECT_TRUE(a.net.connecting(to_b)) << "the peer has not been asked yet";
    EXPECT_EQ(network::result::again, a.net.send(to_b, 1, "", 0, nullptr, 0));
    // both asked: two connections; each side's third is new, and the other's third is that one
    test::wait_until("both are joined", [&] {
        turn();
        return !a.net.connecting(to_b) && !b.net.connecting(to_a);
    });
    void *asked = take_over();
    void *fresh = a.net.connect(b.net.address().data(), b.net.address().size());
    ASSERT_NE(nullptr, fresh);
    EXPECT_TRUE(a.net.connecting(fresh));
    send(a, asked, 5, pattern(12, 1), pattern(100, 2));
    expect(b, expected(5, pattern(12, 1), pattern(100, 2)));
    send(a, fresh, 6, pattern(12, 3), pattern(100, 4));
    expect(b, expected(6, pattern(12, 3), pattern(100, 4)));
    a.net.disconnect(asked);
    a.net.disconnect(fresh);
}

TEST_P(joined, a_connection_can_be_given_up_before_the_peer_answers) {
    void *c = a.net.connect(b.net.address().data(), b.net.address().size());
    ASSERT_NE(nullptr, c);
    a.net.disconnect(c);
    send(a, to_b, 5, pattern(12, 1), pattern(100, 2));
    expect(b, expected(5, pattern(12, 1), pattern(100, 2)));
}

INSTANTIATE_TEST_SUITE_P(tcp, joined, testing::Values(true));

template <class F> void turn_until(const char *what, station &first, station &second, F done) {
    test::wait_until(what, [&] {
        first.net.progress();
        second.net.progress();
        return done();
    });
}

// An adapter drops what arrives for an endpoint that knows of no other yet.
TEST(network_joins, what_the_peer_asked_for_is_taken_over_only_once_it_has_joined_it) {
    static int joins;
    static decltype(uct.ep_connect_to_ep) join;
    station a, b;
    ASSERT_EQ(0, a.open(0, "tcp", "lo", true));
    ASSERT_EQ(0, b.open(0, "tcp", "lo", true));
    joins = 0;
    join = std::exchange(uct.ep_connect_to_ep,
                         [](uct_ep_h ep, const uct_device_addr_t *device, const uct_ep_addr_t *address) {
                             ++joins;
                             return join(ep, device, address);
                         });
    void *asked = b.net.connect(a.net.address().data(), a.net.address().size());
    ASSERT_NE(nullptr, asked);
    turn_until("the answer", b, a, [&] { return 1 == joins; });
    const auto connect = [&] { return a.net.connect(b.net.address().data(), b.net.address().size()); };
    void *own = connect();
    ASSERT_NE(nullptr, own);
    EXPECT_TRUE(a.net.connecting(own)) << "b has not read the answer";
    void *taken = connect();
    turn_until("b to say that it has joined it", a, b, [&] {
        if (a.net.connecting(taken)) {
            a.net.disconnect(taken);
            taken = connect();
        }
        return !a.net.connecting(taken);
    });
    uct.ep_connect_to_ep = join;
    turn_until("room for a message over it", a, b,
               [&] { return network::result::done == a.net.send(taken, 5, "", 0, nullptr, 0); });
    turn_until("it", a, b, [&] { return !b.got.empty(); });
    EXPECT_TRUE(expected(5, {}, {}) == b.got.front());
    a.net.disconnect(own);
    a.net.disconnect(taken);
    b.net.disconnect(asked);
}

// The connections that one loses next.
std::vector<void *> lost_next(station &asks, station &refuses) {
    std::vector<void *> lost;
    turn_until("it is refused", asks, refuses, [&] {
        lost = asks.net.take_lost();
        return !lost.empty();
    });
    return lost;
}

TEST(network_refusals, who_can_make_no_endpoint_says_so_and_the_connection_is_lost) {
    station asks, refuses;
    ASSERT_EQ(0, asks.open(0, "tcp", "lo", true));
    ASSERT_EQ(0, refuses.open(0, "tcp", "lo", true, 1));
    void *first = asks.net.connect(refuses.net.address().data(), refuses.net.address().size());
    ASSERT_NE(nullptr, first);
    turn_until("the first is joined", asks, refuses, [&] { return !asks.net.connecting(first); });
    void *second = asks.net.connect(refuses.net.address().data(), refuses.net.address().size());
    ASSERT_NE(nullptr, second);
    EXPECT_EQ(std::vector<void *>{second}, lost_next(asks, refuses));
    asks.net.disconnect(second);
    turn_until("the first is as it was", asks, refuses,
               [&] { return network::result::done == asks.net.send(first, 7, "", 0, nullptr, 0); });
    turn_until("the message", asks, refuses, [&] { return !refuses.got.empty(); });
    EXPECT_TRUE(asks.net.take_lost().empty());
    asks.net.disconnect(first);
}

TEST(network_refusals, who_has_asked_before_is_served_where_no_more_endpoints_are_made_to_answer_by) {
    station asks, serves;
    serves.limits.most_boot_endpoints = 1;
    ASSERT_EQ(0, asks.open(0, "tcp", "lo", true));
    ASSERT_EQ(0, serves.open(0, "tcp", "lo", true));
    for (int i = 0; i < 3; ++i) {
        void *c = asks.net.connect(serves.net.address().data(), serves.net.address().size());
        ASSERT_NE(nullptr, c);
        turn_until("it is joined", asks, serves, [&] { return !asks.net.connecting(c); });
        EXPECT_TRUE(asks.net.take_lost().empty());
        asks.net.disconnect(c);
    }
}

TEST(network_refusals, where_too_many_answers_wait_already_it_is_said_so) {
    station asks, refuses;
    refuses.limits.most_outgoing = 0;
    ASSERT_EQ(0, asks.open(0, "tcp", "lo", true));
    ASSERT_EQ(0, refuses.open(0, "tcp", "lo", true));
    void *c = asks.net.connect(refuses.net.address().data(), refuses.net.address().size());
    ASSERT_NE(nullptr, c);
    EXPECT_EQ(std::vector<void *>{c}, lost_next(asks, refuses));
    asks.net.disconnect(c);
}

TEST(network_refusals, there_is_room_for_what_a_large_job_asks_for) {
    network_config cfg;
    const network_config usual;
    cfg.make_room_for(1000);
    EXPECT_EQ(usual.most_passive, cfg.most_passive);
    EXPECT_EQ(usual.most_boot_endpoints, cfg.most_boot_endpoints);
    EXPECT_EQ(usual.most_outgoing, cfg.most_outgoing);
    cfg.make_room_for(1'000'000);
    EXPECT_LE(2'000'000U, cfg.most_passive);
    EXPECT_LE(1'000'000U, cfg.most_boot_endpoints);
    EXPECT_LE(2'000'000U, cfg.most_outgoing);
}

} // namespace
} // namespace smartint
