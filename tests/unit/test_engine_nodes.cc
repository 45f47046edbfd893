// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
// Engines on two nodes, which is to say over tcp on the loopback.
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "common_smartint_log.h"
#include "harness_exchange.h"

namespace smartint {
namespace {

using namespace test;

struct engines_of_two_nodes : testing::Test {
    void exchange(network_pair &n, std::uint64_t bytes, std::uint64_t capacity, bool first, unsigned ss, unsigned rs,
                  bool sync) {
        test_send s;
        test_recv r;
        s.aim(n.to_b, bytes, bytes + 3, ctx, 0, tag, ss);
        s.synchronous = sync;
        r.aim(capacity, ctx, 0, tag, rs);
        if (first) {
            n.receive(n.b, r);
        }
        n.send(n.a, s);
        if (!first) {
            n.drive("unexpected", [&] { return 1 == engine_access::unexpected_messages(n.b); });
            n.receive(n.b, r);
        }
        n.drive("both", [&] { return 1 == s.delivered && 1 == r.delivered; });
        const std::uint64_t expected = std::min(bytes, capacity);
        EXPECT_EQ(bytes, r.announced);
        EXPECT_EQ(-1, r.differs(expected, bytes + 3)) << bytes;
        EXPECT_FALSE(s.failed || r.failed || r.overrun);
        EXPECT_EQ(0U, engine_access::in_flight(n.a) + engine_access::in_flight(n.b));
    }
};

TEST_F(engines_of_two_nodes, every_size_arrives) {
    network_pair n(with("auto"));
    for (const std::uint64_t bytes : {0ULL, 1ULL, 8ULL, 1000ULL, 65535ULL, 65536ULL, 65537ULL, 200000ULL, 3000001ULL}) {
        for (const bool first : {true, false}) {
            exchange(n, bytes, bytes, first, 1, 1, false);
            exchange(n, bytes, bytes, first, 3, 1, false);
            exchange(n, bytes, bytes, first, 1, 3, false);
            exchange(n, bytes, bytes / 2, first, 1, 1, true);
            exchange(n, bytes, bytes, first, 3, 3, true);
            ASSERT_FALSE(HasFailure()) << bytes << " " << first;
        }
    }
    EXPECT_EQ(0U, count(n.a, stat::refused_messages) + count(n.b, stat::refused_messages));
}

// Of each sender a receiver keeps a fragment until it is whole.
TEST_F(engines_of_two_nodes, fragments_are_larger_than_what_goes_whole_but_not_in_a_large_job) {
    const std::uint32_t whole = params{}.network_eager_limit;
    for (const auto &[job, most] : {std::pair(0U, 196608U), {64U, 196608U}, {128U, 98304U}, {100'000U, whole}}) {
        engine a, b;
        for (engine *e : {&a, &b}) {
            set_hooks(*e);
            ASSERT_EQ(0, e->start(with("auto"), {name_of(e == &a ? 0 : 1), 0, false, 0, job}, true));
        }
        const auto &address = b.net().address();
        const endpoint *to_b = a.add_network(name_of(1), address.data(), address.size(), nullptr, 0);
        ASSERT_NE(nullptr, to_b);
        EXPECT_LE(most, to_b->max_fragment) << job;
        EXPECT_GE(most + 256, to_b->max_fragment) << job;
        EXPECT_EQ(whole, to_b->eager_limit);
        EXPECT_EQ(whole, to_b->max_payload);
    }
}

// Its thread tells by them how fast data comes.
TEST_F(engines_of_two_nodes, fragments_to_a_receiver_in_no_wait_are_smaller) {
    network_pair n(with("auto"));
    const std::uint64_t large = n.to_b->max_fragment, small = n.to_b->max_payload;
    ASSERT_NE(0U, large % small);
    for (const bool waits : {true, false}) {
        const std::uint64_t bytes = 5 * large;
        test_send s;
        test_recv r;
        s.aim(n.to_b, bytes, 1, ctx, 0, tag);
        r.aim(bytes, ctx, 0, tag);
        if (waits) {
            n.b.begin_wait();
        }
        n.receive(n.b, r);
        n.send(n.a, s);
        unsigned parts = 0;
        n.drive("all of it", [&] {
            if (0 != r.moved && r.moved < bytes) {
                ++parts;
                EXPECT_EQ(0U, r.moved % (waits ? large : small)) << waits;
            }
            return 1 == s.delivered && 1 == r.delivered;
        });
        EXPECT_NE(0U, parts) << "it came in one look: the test is none";
        if (waits) {
            n.b.end_wait();
        }
    }
}

// A program that tests once for each of its steps is not to wait for as many of them as a spinning one makes looks.
TEST_F(engines_of_two_nodes, one_pass_after_a_while_sees_what_has_come) {
    network_pair n(with("none"));
    exchange(n, 100, 100, true, 1, 1, false); // so they are connected
    for (unsigned round = 0; round < 5; ++round) {
        test_send s;
        test_recv r;
        s.aim(n.to_b, 100, round, ctx, 0, tag);
        r.aim(100, ctx, 0, tag);
        n.receive(n.b, r);
        n.send(n.a, s);
        for (int i = 0; i < 100; ++i) {
            n.a.progress();
        }
        unsigned passes = 0;
        for (; 0 == r.delivered && passes < 16; ++passes) {
            std::this_thread::sleep_for(std::chrono::milliseconds(25)); // more than a tick of any kernel
            n.b.progress();
        }
        EXPECT_LE(passes, 2U) << "one may see the first part of it";
        n.drive("all of it", [&] { return 1 == s.delivered && 1 == r.delivered; });
    }
}

// Beside other threads: what is called may wait for a lock whose holder is about to enter the transport, which may hold
// one of its own while it calls.
TEST_F(engines_of_two_nodes, active_messages_are_taken_in_order_and_with_threads_outside_the_transport) {
    for (const bool threads : {false, true}) {
        network_pair n(with("auto"), threads);
        static struct {
            engine *e;
            unsigned inside;
            std::vector<std::byte> first;
        } seen;
        seen = {&n.b, 0, {}};
        n.b.hooks().active_message = [](endpoint *, std::uint32_t, const std::byte *data, std::uint32_t) {
            seen.inside += engine_access::in_network(*seen.e) ? 1 : 0;
            seen.first.push_back(data[sizeof(wire::am_header)]);
        };
        constexpr unsigned messages = 100;
        const wire::am_header h{name_of(0), 3, 0};
        std::vector<std::vector<std::byte>> data; // the sender's until they are out
        n.a.enter();
        for (unsigned i = 0; i < messages; ++i) {
            data.emplace_back(1000, std::byte(i));
            n.a.queue_message(n.to_b, {wire::am, h, data[i].data(), 1000}, nullptr, nullptr);
        }
        n.a.leave();
        n.drive("all of them", [&] { return messages == seen.first.size(); });
        for (unsigned i = 0; i < messages; ++i) {
            EXPECT_EQ(std::byte(i), seen.first[i]);
        }
        EXPECT_EQ(threads ? 0 : messages, seen.inside);
    }
}

// Two processes of which a knows where b is, and b nothing of a.
struct strangers : testing::Test {
    void start(const params &p) {
        for (engine *e : {&a, &b}) {
            set_hooks(*e);
            ASSERT_EQ(0, e->start(p, {name_of(e == &a ? 0 : 1), 0, false}, true));
        }
    }
    void reach_b(const remote_node *node = nullptr) {
        to_b = a.add_network(name_of(1), b.net().address().data(), b.net().address().size(), node, 0);
    }
    void send(std::uint64_t bytes) {
        s.aim(to_b, bytes, 1, ctx, 0, tag);
        a.enter();
        a.send(&s);
        a.leave();
    }
    void receive(std::uint64_t bytes) {
        r.aim(bytes, ctx, 0, tag);
        b.enter();
        b.receive(&r);
        b.leave();
    }
    void both_end() {
        wait_until("both", [&] {
            a.progress();
            b.progress();
            return s.delivered && r.delivered;
        });
    }

    scratch_directory directory;
    engine a, b;
    endpoint *to_b = nullptr;
    test_send s;
    test_recv r;
};

TEST_F(strangers, who_is_met_by_an_rts_alone_is_answered_and_introduced_once) {
    static unsigned introduced;
    introduced = 0;
    params p = with("auto");
    p.directory = directory.path();
    ASSERT_NO_FATAL_FAILURE(start(p));
    b.hooks().introduce = [](endpoint *ep) { introduced += name_of(0) == ep->name ? 1 : 100; };
    reach_b();
    for (int i = 0; i < 2; ++i) {
        receive(big);
        send(big);
        both_end();
        EXPECT_EQ(-1, r.differs(big, 1));
    }
    EXPECT_NE(nullptr, b.find_peer(name_of(0)));
    EXPECT_EQ(1U, introduced);
}

TEST_F(strangers, who_is_met_by_the_thread_is_introduced_by_the_application) {
    static std::thread::id by;
    by = {};
    ASSERT_NO_FATAL_FAILURE(start(with("auto", "poll"))); // its thread looks all the time
    b.hooks().introduce = [](endpoint *) { by = std::this_thread::get_id(); };
    b.start_thread();
    reach_b();
    send(big);
    wait_until("the thread meets it", [&] {
        a.progress();
        b.enter();
        const bool met = nullptr != b.find_peer(name_of(0));
        const bool too_early = std::thread::id() != by;
        b.leave();
        return met || too_early;
    });
    EXPECT_EQ(std::thread::id(), by);
    receive(big);
    both_end();
    EXPECT_EQ(std::this_thread::get_id(), by);
}

// Whoever filled the queue may have had no descriptor to ring with.
TEST_F(strangers, a_notice_that_finds_the_queue_full_rings_the_helper_that_sleeps) {
    params p = with("auto");
    p.directory = directory.path();
    ASSERT_NO_FATAL_FAILURE(start(p));
    ASSERT_EQ(0, a.create_board(1));
    const int bell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    layout::helper_line &line = a.board_segment().helper(0);
    line.pid = static_cast<std::uint32_t>(getpid());
    line.start_time = process_start_time(line.pid);
    line.doorbell_fd = bell;
    line.state = layout::helper_sleeping;
    const std::vector<std::byte> helper(20, std::byte{1});
    const remote_node there{77, helper.data(), helper.size(), 1, 2};
    reach_b(&there);
    ASSERT_LE(0, to_b->node);
    while (relay_post(a.board_segment().relay(), 0, 0, make_rts_key(1, 2, 3), 1, 1)) {}
    EXPECT_FALSE(drain_eventfd(bell));
    receive(big);
    send(big);
    both_end();
    EXPECT_LE(1U, count(a, stat::notices_dropped));
    EXPECT_EQ(0U, count(a, stat::notices_relayed));
    EXPECT_TRUE(drain_eventfd(bell));
    a.stop();
    close(bell);
}

// While tcp connects its descriptor is ready all the time: until the peer, which computes, has looked.
TEST_F(strangers, a_peer_that_does_not_answer_keeps_no_thread_awake) {
    ASSERT_NO_FATAL_FAILURE(start(with("auto", "helper")));
    a.start_thread();
    reach_b();
    send(1000);
    wait_until("it is kept", [&] { // not in a pass while the thread has the gate
        a.progress();
        return 1 == s.delivered;
    }); // its sender goes to compute
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    EXPECT_GE(1000U, count(a, stat::wakes_transport)); // else some 100,000
    receive(1000);
    wait_until("the thread sends it", [&] {
        b.progress();
        return r.delivered;
    });
    EXPECT_EQ(-1, r.differs(1000, 1));
}

// Its data comes by a connection of its own, and may be on its way when the end of another is told.
TEST_F(engines_of_two_nodes, what_a_peer_sent_before_it_was_lost_is_received) {
    constexpr std::uint64_t bytes = 900000; // less than a window
    network_pair n(with("copy"));
    test_send s;
    test_recv r;
    s.aim(n.to_b, bytes, 1, ctx, 0, tag);
    r.aim(bytes, ctx, 0, tag);
    n.receive(n.b, r);
    n.send(n.a, s);
    n.drive("some of it", [&] { return 0 != r.moved; });
    for (int i = 0; i < 20000 && 0 == s.delivered; ++i) {
        n.a.progress();
    }
    ASSERT_EQ(1U, s.delivered);
    ASSERT_EQ(0U, r.delivered) << "all is there already: the test is none";
    n.b.enter();
    engine_access::lose(n.b, n.to_a);
    n.b.leave();
    n.b.progress();
    wait_until("the rest", [&] {
        n.b.progress();
        return r.delivered;
    });
    EXPECT_FALSE(r.failed);
    EXPECT_EQ(-1, r.differs(bytes, 1));
    EXPECT_EQ(0U, engine_access::outstanding(n.b));
}

// So that the thread, which sleeps by the clock meanwhile, is there when it ends.
TEST_F(engines_of_two_nodes, how_much_of_a_message_is_to_come_is_known_from_its_answer_on) {
    constexpr std::uint64_t bytes = 900000;
    network_pair n(with("copy"));
    test_send s;
    test_recv r;
    s.aim(n.to_b, bytes, 1, ctx, 0, tag);
    r.aim(bytes, ctx, 0, tag);
    const auto coming = [&n] {
        n.b.enter();
        const std::uint64_t left = n.b.look().coming;
        n.b.leave();
        return left;
    };
    n.receive(n.b, r);
    EXPECT_EQ(0U, coming()) << "nobody has announced it";
    n.send(n.a, s);
    n.drive("it is answered", [&] { return 0 != engine_access::in_flight(n.b); });
    EXPECT_EQ(bytes - r.moved, coming());
    n.drive("some of it", [&] { return 0 != r.moved; });
    ASSERT_EQ(0U, r.delivered) << "all is there already: the test is none";
    EXPECT_EQ(bytes - r.moved, coming());
    n.drive("both", [&] { return 1 == s.delivered && 1 == r.delivered; });
    EXPECT_EQ(0U, coming());
    EXPECT_EQ(-1, r.differs(bytes, 1));
}

TEST_F(engines_of_two_nodes, a_receive_of_whose_data_nothing_comes_any_more_fails) {
    network_pair n(with("copy"));
    test_send s;
    test_recv r;
    s.aim(n.to_b, big, 1, ctx, 0, tag);
    r.aim(big, ctx, 0, tag);
    n.receive(n.b, r);
    n.send(n.a, s);
    n.drive("it is answered", [&] { return 0 != engine_access::in_flight(n.b); });
    ASSERT_EQ(0U, r.moved);
    const auto lost = std::chrono::steady_clock::now();
    n.b.enter();
    engine_access::lose(n.b, n.to_a);
    n.b.leave();
    n.b.progress();
    const bool given_up = 0 != r.delivered;
    if (std::chrono::steady_clock::now() - lost < std::chrono::seconds(2)) {
        EXPECT_FALSE(given_up) << "some may be on its way";
    }
    wait_until("it is given up", [&] {
        n.b.progress();
        return r.delivered;
    });
    EXPECT_TRUE(r.failed);
    EXPECT_EQ(0U, engine_access::outstanding(n.b));
    n.a.enter();
    engine_access::lose(n.a, n.to_b); // so that the send ends too
    n.a.leave();
    n.a.progress();
}

TEST_F(engines_of_two_nodes, an_address_that_leads_nowhere_fails_the_send_and_hangs_nothing) {
    engine a;
    params p = with("auto");
    set_hooks(a);
    ASSERT_EQ(0, a.start(p, {name_of(0), 0, false}, true));
    std::vector<std::byte> bad(20, std::byte{0x5a});
    endpoint *nowhere = a.add_network(name_of(1), bad.data(), bad.size(), nullptr, 0);
    ASSERT_NE(nullptr, nowhere);
    for (const std::uint64_t bytes : {10ULL, 100000ULL}) { // the first to meet it, and one after
        test_send s;
        s.aim(nowhere, bytes, 1, ctx, 0, tag);
        a.enter();
        a.send(&s);
        a.leave();
        for (int i = 0; i < 1000 && 0 == s.delivered; ++i) {
            a.progress();
        }
        EXPECT_EQ(1U, s.delivered) << bytes;
        EXPECT_TRUE(s.failed) << bytes;
    }
}

TEST_F(engines_of_two_nodes, a_receive_that_meets_the_rts_of_a_lost_peer_fails) {
    network_pair n(with("copy"));
    test_send s;
    test_recv r;
    s.aim(n.to_b, 300000, 1, ctx, 0, tag);
    r.aim(300000, ctx, any_source, tag);
    n.send(n.a, s);
    n.drive("unexpected", [&] { return 1 == engine_access::unexpected_messages(n.b); });
    n.b.enter();
    engine_access::lose(n.b, n.to_a);
    n.b.leave();
    n.receive(n.b, r);
    n.b.progress();
    EXPECT_EQ(1U, r.delivered);
    EXPECT_TRUE(r.failed);
    EXPECT_EQ(0U, engine_access::outstanding(n.b));
    n.a.enter();
    engine_access::lose(n.a, n.to_b); // so that the send ends too
    n.a.leave();
    n.a.progress();
    EXPECT_TRUE(s.failed);
}

TEST_F(engines_of_two_nodes, an_address_too_long_or_empty_is_refused) {
    engine a;
    ASSERT_EQ(0, a.start(with("auto"), {name_of(0), 0, false}, true));
    const std::vector<std::byte> bad(200);
    EXPECT_EQ(nullptr, a.add_network(name_of(1), bad.data(), 97, nullptr, 0));
    EXPECT_EQ(nullptr, a.add_network(name_of(1), bad.data(), 0, nullptr, 0));
}

TEST_F(engines_of_two_nodes, a_transport_nobody_has_keeps_the_engine_from_starting) {
    engine a;
    params p = with("auto");
    p.transport = "carrier_pigeon";
    testing::internal::CaptureStderr();
    EXPECT_EQ(ENODEV, a.start(p, {name_of(0), 0, false}, true));
    flush_reports(); // by whoever knows whether the job ends of it
    EXPECT_NE(std::string::npos, testing::internal::GetCapturedStderr().find("carrier_pigeon"));
    EXPECT_FALSE(a.started());
}

} // namespace
} // namespace smartint
