// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
// The engine without Open MPI: two of them in one process, driven by hand.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "harness_exchange.h"

namespace smartint {
namespace {

using namespace test;

const std::uint64_t sizes[] = {0,     1,     7,     8,     44,     45,     100,    4096,   8191,   8192,    8193,
                               16384, 32768, 32769, 65537, 131071, 131072, 131073, 262144, 300001, 1048576, 3000001};

struct engines_of_a_node : testing::TestWithParam<const char *> {};

TEST_P(engines_of_a_node, every_size_arrives_expected_and_unexpected) {
    node_pair n(with(GetParam()));
    for (const auto bytes : sizes) {
        for (const bool first : {true, false}) {
            exchange(n, bytes, bytes, first);
            exchange(n, bytes, bytes + 1000, first);
            ASSERT_FALSE(HasFailure()) << bytes << " " << first;
        }
    }
    EXPECT_EQ(0U, count(n.a, stat::refused_messages));
    EXPECT_EQ(0U, count(n.b, stat::refused_messages));
    EXPECT_EQ(0U, count(n.b, stat::fallbacks));
}

TEST_P(engines_of_a_node, derived_data_on_either_side_arrives) {
    node_pair n(with(GetParam()));
    for (const auto bytes : sizes) {
        for (const bool first : {true, false}) {
            exchange(n, bytes, bytes, first, 3, 1);
            exchange(n, bytes, bytes, first, 1, 3);
            exchange(n, bytes, bytes, first, 3, 5);
            ASSERT_FALSE(HasFailure()) << bytes << " " << first;
        }
    }
}

TEST_P(engines_of_a_node, a_message_longer_than_its_receive_is_cut_and_says_so) {
    node_pair n(with(GetParam()));
    for (const std::uint64_t bytes : {1ULL, 5000ULL, 8193ULL, 200000ULL, 2000003ULL}) {
        for (const std::uint64_t capacity : {std::uint64_t{0}, bytes / 3, bytes - 1}) {
            for (const bool first : {true, false}) {
                exchange(n, bytes, capacity, first);
                exchange(n, bytes, capacity, first, 1, 3);
                exchange(n, bytes, capacity & ~7ULL, first, 3, 1); // ends between two elements
                ASSERT_FALSE(HasFailure()) << bytes << " into " << capacity;
            }
        }
    }
}

TEST_P(engines_of_a_node, a_message_cut_inside_an_element_of_the_sender_does_not_hang) {
    for (const std::uint64_t bytes : {5000ULL, 200000ULL}) {
        node_pair n(with(GetParam()));
        exchange(n, bytes, bytes - 13, true, 3, 1);
    }
}

TEST_P(engines_of_a_node, synchronous_sends_end_after_their_match) {
    node_pair n(with(GetParam()));
    for (const std::uint64_t bytes : {0ULL, 100ULL, 8192ULL, 100000ULL, 1000000ULL}) {
        test_send s;
        s.aim(n.to_b, bytes, 1, ctx, 0, tag);
        s.synchronous = true;
        n.send(n.a, s);
        for (int i = 0; i < 50; ++i) {
            n.a.progress();
            n.b.progress();
        }
        EXPECT_EQ(0U, s.delivered) << bytes;
        test_recv r;
        r.aim(bytes, ctx, 0, tag);
        n.receive(n.b, r);
        n.drive("both", [&] { return 1 == s.delivered && 1 == r.delivered; });
        EXPECT_EQ(-1, r.differs(bytes, 1));
        for (const bool first : {true, false}) {
            exchange(n, bytes, bytes, first, 1, 1, true);
        }
    }
}

TEST_P(engines_of_a_node, messages_of_any_mix_of_sizes_keep_their_order) {
    node_pair n(with(GetParam()));
    generator g(11);
    constexpr int many = 300;
    std::deque<test_send> sends(many);
    std::deque<test_recv> receives(many);
    std::vector<std::uint64_t> lengths;
    for (int i = 0; i < many; ++i) {
        lengths.push_back(0 == g.below(5) ? 8193 + g.below(300000) : g.below(9000));
    }
    int posted = 0;
    const auto post = [&](int upto) {
        for (; posted < upto; ++posted) {
            auto &r = receives[static_cast<std::size_t>(posted)];
            r.aim(400000, ctx, g.below(2) ? any_source : 0, g.below(2) ? any_tag : tag, g.below(4) ? 1 : 2);
            n.receive(n.b, r);
        }
    };
    post(100); // so many wait for their message, the others' messages wait for them
    for (int i = 0; i < many; ++i) {
        auto &s = sends[static_cast<std::size_t>(i)];
        s.aim(n.to_b, lengths[static_cast<std::size_t>(i)], static_cast<std::uint64_t>(i), ctx, 0, tag,
              g.below(4) ? 1 : 2);
        s.synchronous = 0 == g.below(8);
        n.send(n.a, s);
        if (0 == i % 10) {
            n.b.progress();
        }
        if (i > 150) {
            post(std::min(many, posted + 2));
        }
    }
    post(many);
    n.drive("all", [&] {
        return std::all_of(sends.begin(), sends.end(), [](auto &s) { return s.delivered > 0; }) &&
               std::all_of(receives.begin(), receives.end(), [](auto &r) { return r.delivered > 0; });
    });
    for (int i = 0; i < many; ++i) {
        const auto &r = receives[static_cast<std::size_t>(i)];
        ASSERT_EQ(lengths[static_cast<std::size_t>(i)], r.received) << "message " << i;
        ASSERT_EQ(-1, r.differs(r.received, static_cast<std::uint64_t>(i))) << "message " << i;
    }
    EXPECT_EQ(0U, count(n.b, stat::refused_messages));
}

INSTANTIATE_TEST_SUITE_P(by, engines_of_a_node, testing::Values("auto", "read", "write", "copy"),
                         [](const auto &i) { return std::string(i.param); });

TEST(engine, a_process_reaches_itself) {
    node_pair n(with("auto"));
    endpoint *self = n.a.add_self();
    ASSERT_NE(nullptr, self);
    EXPECT_EQ(self, n.a.add_self());
    for (const std::uint64_t bytes : {0ULL, 100ULL, 65536ULL, 65537ULL, 1000001ULL}) {
        for (const std::uint64_t capacity : {std::uint64_t{bytes}, std::uint64_t{bytes / 2 & ~7ULL}}) {
            for (const bool first : {true, false}) {
                for (const unsigned steps : {1U, 2U, 3U, 4U}) {
                    test_send s;
                    test_recv r;
                    s.aim(self, bytes, 4, ctx, 0, tag, steps & 2 ? 3 : 1);
                    s.synchronous = steps > 3;
                    r.aim(capacity, ctx, any_source, any_tag, steps & 1 ? 1 : 2);
                    if (first) {
                        n.receive(n.a, r);
                    }
                    n.send(n.a, s);
                    if (!first) {
                        n.a.progress();
                        EXPECT_EQ(bytes <= 65536 && !s.synchronous, 1 == s.delivered) << bytes;
                        n.receive(n.a, r);
                    }
                    n.a.progress();
                    ASSERT_EQ(1U, s.delivered);
                    ASSERT_EQ(1U, r.delivered);
                    EXPECT_EQ(bytes > capacity, r.truncated());
                    EXPECT_EQ(-1, r.differs(capacity, 4));
                }
            }
        }
    }
}

TEST(engine, a_message_to_itself_cut_inside_an_element_does_not_hang) {
    node_pair n(with("auto"));
    test_send s;
    test_recv r;
    s.aim(n.a.add_self(), 100, 4, ctx, 0, tag, 3);
    r.aim(50, ctx, 0, tag, 2);
    n.receive(n.a, r);
    n.send(n.a, s); // does not come back
    n.a.progress();
    EXPECT_EQ(1U, r.delivered);
    EXPECT_EQ(-1, r.differs(50, 4));
}

TEST(engine, a_posted_receive_can_be_cancelled_until_its_message_comes) {
    node_pair n(with("auto"));
    test_recv r;
    test_recv second;
    r.aim(big, ctx, 0, tag);
    second.aim(big, ctx, 0, tag);
    n.receive(n.b, r);
    n.receive(n.b, second);
    n.b.enter();
    EXPECT_TRUE(n.b.cancel_receive(&r));
    EXPECT_FALSE(n.b.cancel_receive(&r));
    n.b.leave();
    test_send s;
    s.aim(n.to_b, big, 4, ctx, 0, tag);
    n.send(n.a, s);
    n.drive("the second", [&] { return 1 == s.delivered && 1 == second.delivered; });
    EXPECT_EQ(0U, r.delivered);
    EXPECT_EQ(-1, second.differs(big, 4));
    n.b.enter();
    EXPECT_FALSE(n.b.cancel_receive(&second));
    n.b.leave();
}

TEST(engine, a_probed_message_is_taken_out_and_received_apart) {
    node_pair n(with("auto"));
    for (const std::uint64_t bytes : {10ULL, 500000ULL}) {
        test_send s;
        s.aim(n.to_b, bytes, 6, ctx, 0, tag);
        n.send(n.a, s);
        unexpected *u = nullptr;
        n.drive("the message", [&] {
            n.b.enter();
            u = n.b.peek_unexpected(ctx, any_source, any_tag);
            n.b.leave();
            return nullptr != u;
        });
        EXPECT_EQ(bytes, u->length);
        EXPECT_EQ(tag, u->key.tag);
        n.b.enter();
        n.b.take_unexpected(u);
        EXPECT_EQ(nullptr, n.b.peek_unexpected(ctx, any_source, any_tag));
        n.b.leave();
        test_recv r;
        r.aim(bytes, ctx, any_source, any_tag);
        n.b.enter();
        n.b.receive_matched(&r, u);
        n.b.leave();
        n.drive("both", [&] { return 1 == s.delivered && 1 == r.delivered; });
        EXPECT_EQ(-1, r.differs(bytes, 6));
    }
}

TEST(engine, more_messages_than_the_ring_holds_wait_in_order) {
    params p = with("auto");
    p.ring_bytes = 16384;
    p.eager_limit = 100000;
    node_pair n(p);
    EXPECT_LE(n.to_b->eager_limit, 16384U / 4);
    constexpr std::size_t many = 500;
    std::deque<test_send> s(many);
    std::deque<test_recv> r(many);
    for (std::size_t i = 0; i < many; ++i) {
        s[i].aim(n.to_b, 1 + i * 37 % 6000, i, ctx, 0, tag);
        n.send(n.a, s[i]);
    }
    for (std::size_t i = 0; i < many; ++i) {
        r[i].aim(6000, ctx, 0, tag);
        n.receive(n.b, r[i]);
    }
    n.drive("all", [&] { return 0 != r[many - 1].delivered && 0 != s[many - 1].delivered; });
    n.drive("all", [&] {
        return std::all_of(s.begin(), s.end(), [](auto &x) { return 1 == x.delivered; }) &&
               std::all_of(r.begin(), r.end(), [](auto &x) { return 1 == x.delivered; });
    });
    for (std::size_t i = 0; i < many; ++i) {
        ASSERT_EQ(1 + i * 37 % 6000, r[i].received);
        ASSERT_EQ(-1, r[i].differs(r[i].received, i));
    }
}

TEST(engine, a_quick_send_needs_no_operation_and_refuses_what_it_cannot) {
    node_pair n(with("auto"));
    test_recv r;
    r.aim(100, ctx, 0, tag);
    n.receive(n.b, r);
    const char text[] = "hello";
    n.a.enter();
    EXPECT_TRUE(n.a.try_eager(n.to_b, {ctx, 0, tag}, text, sizeof(text)));
    EXPECT_FALSE(n.a.try_eager(n.to_b, {ctx, 0, tag}, text, n.to_b->eager_limit + 1));
    EXPECT_FALSE(n.a.try_eager(n.a.add_self(), {ctx, 0, tag}, text, sizeof(text)));
    n.a.leave();
    n.drive("it", [&] { return 1 == r.delivered; });
    EXPECT_STREQ(text, reinterpret_cast<const char *>(r.data.data()));
    std::vector<std::byte> data(8000);
    n.a.enter();
    unsigned in = 0;
    while (n.a.try_eager(n.to_b, {ctx, 0, tag}, data.data(), 8000)) {
        ++in;
    }
    EXPECT_EQ(262144U / 8064, in) << "then the ring is full";
    n.a.leave();
}

TEST(engine, more_than_the_eager_limit_goes_whole_while_half_of_the_ring_is_free_and_by_rendezvous_then) {
    const params p = with("auto");
    node_pair n(p);
    const std::uint64_t bytes = 4 * p.eager_limit;
    constexpr std::size_t many = 10;
    std::deque<test_send> s(many);
    std::deque<test_recv> r(many);
    for (std::size_t i = 0; i < many; ++i) {
        s[i].aim(n.to_b, bytes, i, ctx, 0, tag);
        n.send(n.a, s[i]);
    }
    const std::uint64_t whole = count(n.a, stat::eager_sent);
    EXPECT_EQ(p.ring_bytes / 2 / bytes, whole); // with their headers more than half of it
    EXPECT_EQ(many - whole, count(n.a, stat::rts_sent));
    n.a.progress();
    for (std::size_t i = 0; i < many; ++i) {
        EXPECT_EQ(i < whole ? 1U : 0U, s[i].delivered) << "to be used again, and nobody has received";
        r[i].aim(bytes, ctx, 0, tag);
        n.receive(n.b, r[i]);
    }
    n.drive("all", [&] {
        return std::all_of(s.begin(), s.end(), [](auto &x) { return 1 == x.delivered; }) &&
               std::all_of(r.begin(), r.end(), [](auto &x) { return 1 == x.delivered; });
    });
    for (std::size_t i = 0; i < many; ++i) {
        EXPECT_EQ(-1, r[i].differs(bytes, i));
    }
    test_send over;
    over.aim(n.to_b, bytes + 1, 1, ctx, 0, tag);
    n.send(n.a, over);
    EXPECT_EQ(many - whole + 1, count(n.a, stat::rts_sent));
    test_recv last;
    last.aim(bytes + 1, ctx, 0, tag);
    n.receive(n.b, last);
    n.drive("the last", [&] { return 1 == over.delivered && 1 == last.delivered; });
}

TEST(engine, active_messages_arrive_in_order_and_queued_ones_say_when_they_are_out) {
    node_pair n(with("auto"));
    active_messages().clear();
    wire::am_header h{name_of(0), 3, 0};
    static unsigned out;
    out = 0;
    std::vector<std::byte> data(10000);
    fill(data.data(), data.size(), 1);
    n.a.enter();
    unsigned sent = 0;
    while (engine::am_result::sent == n.a.active_message(n.to_b, {wire::am, h, data.data(), 10000})) {
        ++sent;
    }
    EXPECT_EQ(262144U / 10048, sent);
    for (int i = 0; i < 10; ++i) {
        n.a.queue_message(
            n.to_b, {wire::am, h, data.data(), 1000}, [](void *, bool ok) { out += ok ? 1 : 100; }, nullptr);
    }
    EXPECT_EQ(engine::am_result::full, n.a.active_message(n.to_b, {wire::am, h})) << "behind those that wait";
    n.a.leave();
    EXPECT_EQ(0U, out);
    n.drive("all of them", [&] { return active_messages().size() == sent + 10 && 10 == out; });
    for (std::size_t i = 0; i < active_messages().size(); ++i) {
        const auto &m = active_messages()[i];
        EXPECT_EQ(n.to_a, m.from);
        EXPECT_EQ(std::uint32_t{wire::am}, m.type);
        EXPECT_EQ(sizeof(h) + (i < sent ? 10000 : 1000), m.data.size());
    }
}

TEST(engine, a_direct_copy_between_two_ranks_goes_both_ways) {
    node_pair n(with("auto"));
    std::vector<std::byte> x(300000), y(300000);
    fill(x.data(), x.size(), 1);
    EXPECT_EQ(0, n.a.direct_copy(n.to_b, y.data(), reinterpret_cast<std::uint64_t>(x.data()), x.size(), false));
    EXPECT_EQ(-1, differs(y.data(), y.size(), 1));
    fill(x.data(), x.size(), 2);
    EXPECT_EQ(0, n.a.direct_copy(n.to_b, x.data(), reinterpret_cast<std::uint64_t>(y.data()), x.size(), true));
    EXPECT_EQ(-1, differs(y.data(), y.size(), 2));
    EXPECT_EQ(EFAULT, n.a.direct_copy(n.to_b, x.data(), 4096, 100, false));
}

TEST(engine, a_dropped_context_forgets_its_messages) {
    node_pair n(with("auto"));
    test_send s;
    s.aim(n.to_b, 100, 1, 99, 0, tag);
    n.send(n.a, s);
    n.drive("unexpected", [&] { return 1 == engine_access::unexpected_messages(n.b); });
    n.b.enter();
    n.b.drop_context(99);
    n.b.leave();
    EXPECT_EQ(0U, engine_access::unexpected_messages(n.b));
}

TEST(engine, a_receive_from_a_lost_peer_fails_and_one_from_anybody_waits_on) {
    node_pair n(with("auto"));
    test_recv named, anybody, later;
    named.aim(100, ctx, 0, tag);
    named.peer = n.to_a;
    anybody.aim(100, ctx, any_source, any_tag);
    later.aim(100, ctx, 0, tag);
    later.peer = n.to_a;
    n.receive(n.b, anybody);
    n.receive(n.b, named);
    n.b.enter();
    engine_access::lose(n.b, n.to_a);
    n.b.leave();
    n.receive(n.b, later);
    n.b.progress();
    EXPECT_EQ(1U, named.delivered);
    EXPECT_TRUE(named.failed);
    EXPECT_EQ(1U, later.delivered);
    EXPECT_TRUE(later.failed);
    EXPECT_EQ(0U, anybody.delivered);
    n.b.enter();
    EXPECT_TRUE(n.b.cancel_receive(&anybody));
    n.b.leave();
    EXPECT_EQ(0U, engine_access::posted(n.b));
}

// What was under way when its request was freed may end so.
TEST(engine, a_peer_that_goes_is_told_of_but_in_the_end) {
    node_pair n(with("auto"));
    test_recv r;
    n.b.finish();
    r.aim(100, ctx, 0, tag);
    r.peer = n.to_a;
    n.receive(n.b, r);
    n.b.enter();
    engine_access::lose(n.b, n.to_a);
    n.b.leave();
    EXPECT_TRUE(r.failed);
    EXPECT_FALSE(n.to_a->told);
    n.a.enter();
    engine_access::lose(n.a, n.to_b);
    n.a.leave();
    EXPECT_TRUE(n.to_b->told);
}

TEST(engine, a_peer_lost_while_the_application_still_has_to_unpack_ends_its_receive_once) {
    network_pair n(with("copy"));
    test_recv r;
    test_send s;
    r.aim(300000, ctx, 0, tag, 2); // derived: the thread leaves the unpacking to the application
    s.aim(n.to_b, 300000, 1, ctx, 0, tag);
    n.receive(n.b, r);
    n.send(n.a, s);
    n.drive("the rendezvous", [&] { return op_state::moving == r.state; });
    struct {
        wire::fragment f;
        std::byte data[100];
    } d{{r.id, 0}, {}};
    n.b.enter();
    engine_access::dispatch_by_thread(n.b, n.to_a, wire::data, &d, sizeof(d));
    EXPECT_TRUE(engine_access::deferred_waiting(n.b));
    engine_access::lose(n.b, n.to_a);
    n.b.leave();
    wait_until("the receive", [&] {
        n.b.progress();
        return 0 != r.delivered;
    });
    for (int i = 0; i < 10; ++i) {
        n.b.progress();
    }
    EXPECT_TRUE(r.failed);
    EXPECT_EQ(1U, r.delivered);
    engine_access::lose(n.a, n.to_b);
    wait_until("the send", [&] {
        n.a.progress();
        return 0 != s.delivered;
    });
    EXPECT_TRUE(s.failed);
}

TEST(engine, the_call_that_begins_an_operation_ends_no_other) {
    node_pair n(with("auto"));
    test_recv r[3];
    test_send s[3];
    for (int i = 0; i < 3; ++i) {
        s[i].aim(n.to_b, 100, static_cast<std::uint64_t>(i), ctx, 0, tag + i);
        n.send(n.a, s[i]);
        r[i].aim(100, ctx, 0, tag + i);
    }
    n.b.progress(); // all are unexpected
    n.b.enter();
    n.b.receive(&r[0]);
    n.b.finish_operation(&r[0]);
    EXPECT_EQ(1U, r[0].delivered) << "over already, and nobody before it";
    n.b.receive(&r[1]); // as if another thread's, on its way to it
    n.b.receive(&r[2]);
    n.b.finish_operation(&r[2]);
    EXPECT_EQ(0U, r[1].delivered);
    EXPECT_EQ(0U, r[2].delivered) << "in turn";
    n.b.leave();
    n.b.progress();
    for (const test_recv &each : r) {
        EXPECT_EQ(1U, each.delivered);
    }
}

TEST(engine, a_callback_runs_with_the_gate_open_and_no_other_beside_it) {
    static engine *e;
    static std::atomic<int> inside, most, others;
    node_pair n(with("none"), true);
    e = &n.b;
    inside = most = others = 0;
    test_recv r[2];
    test_send s[2];
    for (int i = 0; i < 2; ++i) {
        r[i].aim(100, ctx, 0, tag + i);
        n.receive(n.b, r[i]);
        s[i].aim(n.to_b, 100, static_cast<std::uint64_t>(i), ctx, 0, tag + i);
        n.send(n.a, s[i]);
    }
    n.b.hooks().receive_done = [](recv_op *) {
        const gate::opened meanwhile(e->the_gate());
        most = std::max(most.load(), ++inside);
        std::thread([] { // what waits for a lock that the callback holds comes in, and delivers nothing
            e->enter();
            ++others;
            e->leave();
            e->progress();
        })
            .join();
        --inside;
    };
    n.b.progress();
    EXPECT_EQ(2, others.load());
    EXPECT_EQ(1, most.load());
}

TEST(engine, who_waits_in_the_queue_of_a_lost_peer_is_told_so) {
    node_pair n(with("auto"));
    static unsigned sent, lost;
    sent = lost = 0;
    wire::am_header h{name_of(0), 3, 0};
    n.a.enter();
    n.a.queue_message(
        n.to_b, {wire::am, h}, [](void *, bool ok) { ++(ok ? sent : lost); }, nullptr);
    engine_access::lose(n.a, n.to_b);
    n.a.leave();
    n.a.progress();
    EXPECT_EQ(0U, sent);
    EXPECT_EQ(1U, lost);
}

} // namespace
} // namespace smartint
