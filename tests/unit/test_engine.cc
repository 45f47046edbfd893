// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
// The engine without Open MPI: two of them in one process, driven by hand or by their
// interrupt threads; a process of its own for each rank at the end.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <memory>
#include <thread>

#include "harness_engine.h"

namespace smartint {
namespace {

using namespace test;

constexpr std::uint32_t ctx = 5;
constexpr std::int32_t tag = 17;
constexpr std::uint64_t big = 1 << 20;

std::uint64_t count(engine &e, stat s) { return e.counters().get(s); }

unsigned armed(engine &e) {
    e.enter();
    const unsigned n = engine_access::board(e).armed_count();
    e.leave();
    return n;
}

params with(const char *rendezvous, const char *progress = "none") {
    params p = test_params(progress);
    p.rendezvous = rendezvous;
    p.arm_from = 0;
    return p;
}

// a sends, b receives: data, status and what is left over.
void exchange(node_pair &n, std::uint64_t bytes, std::uint64_t capacity, bool receive_first,
              unsigned send_step = 1, unsigned receive_step = 1, bool synchronous = false) {
    test_send s;
    test_recv r;
    s.aim(n.to_b, bytes, bytes + 3, ctx, 0, tag, send_step);
    s.synchronous = synchronous;
    r.aim(capacity, ctx, 0, tag, receive_step);
    if (receive_first) {
        n.receive(n.b, r);
        n.send(n.a, s);
    } else {
        n.send(n.a, s);
        for (int i = 0; i < 20; ++i) {
            n.b.progress();
            n.a.progress();
        }
        n.receive(n.b, r);
    }
    n.drive("send and receive", [&] { return 1 == s.delivered && 1 == r.delivered; });
    const std::uint64_t expected = std::min(bytes, capacity);
    EXPECT_EQ(op_state::done, s.state);
    EXPECT_EQ(op_state::done, r.state);
    EXPECT_EQ(bytes, r.announced);
    EXPECT_EQ(expected, r.received);
    EXPECT_EQ(bytes > capacity, r.truncated());
    EXPECT_EQ(0, r.got_source);
    EXPECT_EQ(tag, r.got_tag);
    EXPECT_FALSE(s.failed || r.failed || r.overrun);
    EXPECT_EQ(-1, r.differs(expected, bytes + 3)) << bytes << " bytes";
    EXPECT_EQ(0U, engine_access::outstanding(n.a));
    EXPECT_EQ(0U, engine_access::outstanding(n.b));
    EXPECT_EQ(0U, engine_access::in_flight(n.a));
    EXPECT_EQ(0U, engine_access::in_flight(n.b));
    EXPECT_FALSE(engine_access::copies_open(n.a) || engine_access::copies_open(n.b));
    for (int i = 0; i < 5; ++i) {
        n.a.progress();
        n.b.progress();
    }
    EXPECT_EQ(1U, s.delivered);
    EXPECT_EQ(1U, r.delivered);
}

const std::uint64_t sizes[] = {0,    1,     7,      8,      44,      45,      100,
                               4096, 8191,  8192,   8193,   16384,   65537,   131071,
                               131072, 131073, 262144, 300001, 1048576, 3000001};

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

TEST(engine, the_way_a_rendezvous_moves_is_counted) {
    const struct {
        const char *how;
        stat at_a, at_b;
    } ways[] = {{"read", stat::rts_sent, stat::reads_app},
                {"write", stat::writes_app, stat::pushes_requested},
                {"copy", stat::writes_app, stat::copies}};
    for (const auto &w : ways) {
        node_pair n(with(w.how));
        exchange(n, 100000, 100000, true); // below what both sides share
        EXPECT_EQ(1U, count(n.a, stat::rts_sent)) << w.how;
        EXPECT_EQ(1U, count(n.b, stat::rts_received)) << w.how;
        EXPECT_EQ(1U, count(n.a, w.at_a)) << w.how;
        EXPECT_EQ(1U, count(n.b, w.at_b)) << w.how;
        EXPECT_EQ(1U, count(n.b, stat::reads_app) + count(n.a, stat::writes_app)) << w.how;
        EXPECT_EQ(0U, count(n.a, stat::eager_sent));
        exchange(n, 100, 100, true);
        exchange(n, 100, 100, false);
        EXPECT_EQ(2U, count(n.a, stat::eager_sent));
        EXPECT_EQ(2U, count(n.b, stat::eager_received));
        EXPECT_EQ(1U, count(n.b, stat::unexpected));
    }
}

TEST(engine, a_sender_who_only_waits_is_asked_to_write) {
    node_pair n(with("auto"));
    test_send s;
    test_recv r;
    s.aim(n.to_b, 100000, 1, ctx, 0, tag);
    r.aim(100000, ctx, 0, tag);
    n.receive(n.b, r);
    n.a.begin_wait();
    n.a.send(&s);
    n.drive("both", [&] { return 1 == s.delivered && 1 == r.delivered; });
    n.a.end_wait();
    EXPECT_EQ(1U, count(n.b, stat::pushes_requested));
    EXPECT_EQ(1U, count(n.a, stat::writes_app));
    EXPECT_EQ(0U, count(n.b, stat::reads_app));
    EXPECT_EQ(-1, r.differs(100000, 1));
}

TEST(engine, where_both_wait_both_sides_copy_one_message) {
    node_pair n(with("auto"));
    for (const std::uint64_t bytes : {131072ULL, 1048577ULL, 9000001ULL}) {
        test_send s;
        test_recv r;
        s.aim(n.to_b, bytes, bytes, ctx, 0, tag);
        r.aim(bytes, ctx, 0, tag);
        n.a.begin_wait();
        n.b.begin_wait();
        n.b.receive(&r);
        n.a.send(&s);
        n.drive("both", [&] { return 1 == s.delivered && 1 == r.delivered; });
        n.b.end_wait();
        n.a.end_wait();
        EXPECT_EQ(-1, r.differs(bytes, bytes)) << bytes;
    }
    EXPECT_EQ(3U, count(n.b, stat::pushes_requested));
    EXPECT_EQ(3U, count(n.b, stat::reads_app) + count(n.a, stat::writes_app));
    EXPECT_EQ(0U, engine_access::outstanding(n.a) + engine_access::outstanding(n.b));
    EXPECT_EQ(0U, count(n.a, stat::refused_messages) + count(n.b, stat::refused_messages));
}

TEST(engine, more_shared_copies_than_there_are_entries_arrive_too) {
    node_pair n(with("write"));
    constexpr std::size_t many = layout::copy_entries + 20;
    std::deque<test_send> s(many);
    std::deque<test_recv> r(many);
    for (std::size_t i = 0; i < many; ++i) {
        r[i].aim(140000, ctx, 0, static_cast<std::int32_t>(i));
        n.receive(n.b, r[i]);
    }
    for (std::size_t i = 0; i < many; ++i) {
        s[i].aim(n.to_b, 140000, i, ctx, 0, static_cast<std::int32_t>(i));
        n.send(n.a, s[i]);
    }
    for (int i = 0; i < 10; ++i) {
        n.b.progress(); // answers them all before the sender moves
    }
    n.drive("all", [&] {
        return std::all_of(s.begin(), s.end(), [](auto &x) { return 1 == x.delivered; }) &&
               std::all_of(r.begin(), r.end(), [](auto &x) { return 1 == x.delivered; });
    });
    for (std::size_t i = 0; i < many; ++i) {
        EXPECT_EQ(-1, r[i].differs(140000, i)) << i;
    }
}

TEST(engine, a_direct_copy_the_kernel_refuses_is_replaced_by_the_pipeline) {
    for (const char *how : {"read", "write"}) {
        for (const std::uint64_t bytes : {100000ULL, 1000000ULL}) {
            node_pair n(with(how));
            n.to_a->pid = 0x7ffffff0U; // as seen from here nobody has that memory
            n.to_b->pid = 0x7ffffff0U;
            exchange(n, bytes, bytes, true);
            EXPECT_EQ(1U, count(n.a, stat::fallbacks) + count(n.b, stat::fallbacks)) << how;
            EXPECT_EQ(1U, count(n.b, stat::copies)) << how;
            exchange(n, bytes, bytes, true);
            exchange(n, bytes, bytes, false);
        }
    }
}

TEST(engine, where_only_the_senders_copies_are_refused_a_shared_copy_falls_back) {
    for (const bool sender : {true, false}) {
        node_pair n(with("auto"));
        (sender ? n.to_b : n.to_a)->pid = 0x7ffffff0U;
        test_send s;
        test_recv r;
        s.aim(n.to_b, big, 9, ctx, 0, tag);
        r.aim(big, ctx, 0, tag);
        n.a.begin_wait();
        n.b.begin_wait();
        n.b.receive(&r);
        n.a.send(&s);
        n.b.progress(); // the answer, and pieces of this side
        n.a.progress();
        n.drive("both", [&] { return 1 == s.delivered && 1 == r.delivered; });
        n.b.end_wait();
        n.a.end_wait();
        EXPECT_EQ(-1, r.differs(big, 9));
        EXPECT_EQ(0U, engine_access::outstanding(n.a) + engine_access::outstanding(n.b));
    }
}

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
    while (engine::am_result::sent ==
           n.a.active_message(n.to_b, wire::am, &h, sizeof(h), data.data(), 10000)) {
        ++sent;
    }
    EXPECT_EQ(262144U / 10048, sent);
    for (int i = 0; i < 10; ++i) {
        n.a.queue_message(n.to_b, wire::am, &h, sizeof(h), data.data(), 1000, [](void *) { ++out; }, nullptr);
    }
    EXPECT_EQ(engine::am_result::full, n.a.active_message(n.to_b, wire::am, &h, sizeof(h), nullptr, 0))
        << "behind those that wait";
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

TEST(engine, it_can_be_stopped_twice_and_started_again) {
    scratch_directory d;
    params p = with("auto", "helper");
    p.directory = d.path();
    const unsigned before = open_descriptors();
    engine e;
    for (int i = 0; i < 3; ++i) {
        set_hooks(e);
        ASSERT_EQ(0, e.start(p, {name_of(0), 0, false}, false));
        EXPECT_EQ(0, e.start(p, {name_of(0), 0, false}, false)) << "a second component";
        ASSERT_EQ(0, e.create_board(1, nullptr));
        e.start_thread();
        EXPECT_TRUE(engine_access::has_thread(e));
        e.start_thread();
        e.stop_thread();
        e.stop_thread();
        EXPECT_FALSE(engine_access::has_thread(e));
        e.stop();
        e.stop();
        EXPECT_FALSE(e.started());
        EXPECT_TRUE(d.left().empty());
    }
    EXPECT_EQ(before, open_descriptors());
}

TEST(engine, its_counters_are_written_at_the_end) {
    scratch_directory d;
    params p = with("auto");
    p.directory = d.path();
    p.stats_file = d.path() + "/stats.%r";
    engine e;
    ASSERT_EQ(0, e.start(p, {name_of(12), 0, false}, false));
    e.stop();
    EXPECT_EQ((std::vector<std::string>{"stats.12"}), d.left());
}

TEST(engine, a_board_is_made_in_the_second_directory_where_the_first_will_not_do) {
    scratch_directory d;
    params p = with("auto");
    p.directory = "/nonexistent/here";
    engine a, b;
    ASSERT_EQ(0, a.start(p, {name_of(0), 0, false}, false));
    ASSERT_EQ(0, b.start(p, {name_of(1), 1, false}, false));
    ASSERT_EQ(0, a.create_board(2, d.path().c_str()));
    EXPECT_EQ(0, b.open_board(a.board_segment().ticket()));
    EXPECT_EQ(1U, d.left().size());
    a.stop();
    EXPECT_TRUE(d.left().empty());
}

TEST(engine, a_ticket_with_too_few_ranks_is_refused) {
    scratch_directory d;
    params p = with("auto");
    p.directory = d.path();
    engine a, b;
    ASSERT_EQ(0, a.start(p, {name_of(0), 0, false}, false));
    ASSERT_EQ(0, a.create_board(1, nullptr));
    ASSERT_EQ(0, b.start(p, {name_of(1), 1, false}, false));
    EXPECT_EQ(EPROTO, b.open_board(a.board_segment().ticket()));
    EXPECT_FALSE(b.board_segment().mapped());
    EXPECT_EQ(nullptr, b.add_shared(name_of(0), 0));
    EXPECT_EQ(nullptr, a.add_shared(name_of(1), 1));
}

// ---- what comes from elsewhere

struct garbage : testing::Test {
    garbage() : n(with("auto")) {}
    std::uint64_t refused() { return count(n.b, stat::refused_messages); }
    template <class T> void give(std::uint8_t type, const T &t, std::size_t bytes = sizeof(T)) {
        n.b.enter();
        engine_access::dispatch(n.b, n.to_a, type, &t, static_cast<std::uint32_t>(bytes));
        n.b.leave();
    }
    // It must work as before, whatever it was told.
    void works() {
        for (const std::uint64_t bytes : {100ULL, 100000ULL, 300000ULL}) {
            exchange(n, bytes, bytes, true);
        }
    }
    node_pair n;
};

TEST_F(garbage, a_message_shorter_than_its_header_is_refused) {
    const struct {
        std::uint8_t type;
        std::size_t header;
    } types[] = {{wire::eager, sizeof(wire::match)},     {wire::eager_sync, sizeof(wire::match_sync)},
                 {wire::rts, sizeof(wire::rendezvous)},  {wire::cts, sizeof(wire::answer)},
                 {wire::data, sizeof(wire::fragment)},   {wire::credit, sizeof(wire::credit_msg)},
                 {wire::fin, sizeof(wire::finish)}};
    std::uint64_t expected = 0;
    for (const auto &t : types) {
        for (std::size_t bytes = 0; bytes < t.header; ++bytes) {
            // on the heap and as long as it says, so that a byte too far is seen
            const std::vector<std::byte> m(bytes);
            n.b.enter();
            engine_access::dispatch(n.b, n.to_a, t.type, m.data(), static_cast<std::uint32_t>(bytes));
            n.b.leave();
            EXPECT_EQ(++expected, refused()) << int{t.type} << " " << bytes;
        }
    }
    works();
}

TEST_F(garbage, a_type_nobody_knows_is_refused) {
    std::uint64_t expected = 0;
    for (int type = 0; type < 256; ++type) {
        if (wire::none == type || type >= wire::count_) {
            const std::byte m[64]{};
            give(static_cast<std::uint8_t>(type), m);
            EXPECT_EQ(++expected, refused()) << type;
        }
    }
    works();
}

TEST_F(garbage, an_operation_that_is_not_there_is_refused) {
    for (const std::uint64_t id : {0ULL, 1ULL, 1ULL << 32, ~0ULL}) {
        const std::uint64_t before = refused();
        give(wire::cts, wire::answer{id, id, 4096, 10, name_of(0), wire::mode::copy_into, 0, 1, 0});
        give(wire::fin, wire::finish{id, 0, wire::outcome::ok});
        give(wire::fin, wire::finish{id, 1, wire::outcome::ok});
        give(wire::fin, wire::finish{id, 0, wire::outcome::refused});
        const struct {
            wire::fragment f;
            char data[10];
        } d{{id, 0}, {}};
        give(wire::data, d);
        EXPECT_EQ(before + 5, refused());
        give(wire::credit, wire::credit_msg{id, 100}); // may be late: not counted
        EXPECT_EQ(before + 5, refused());
    }
    works();
}

TEST_F(garbage, an_rts_with_a_longer_address_than_message_is_refused) {
    wire::rendezvous r{};
    r.name = name_of(0);
    r.length = 100000;
    for (const std::uint32_t bytes : {1U, 96U, 97U, 0xffffffffU}) {
        r.address_bytes = bytes;
        const std::uint64_t before = refused();
        give(wire::rts, r);
        EXPECT_EQ(before + 1, refused());
    }
    EXPECT_EQ(0U, engine_access::unexpected_messages(n.b));
    works();
}

TEST_F(garbage, fragments_outside_the_agreed_bytes_are_refused) {
    params p = with("copy");
    node_pair m(p);
    test_recv r;
    test_send s;
    r.aim(50000, ctx, 0, tag);
    s.aim(m.to_b, 70000, 1, ctx, 0, tag);
    m.receive(m.b, r);
    m.send(m.a, s);
    m.b.progress(); // has the RTS, has answered
    ASSERT_EQ(op_state::moving, r.state);
    struct {
        wire::fragment f;
        std::byte data[1000];
    } d{};
    d.f.receiver = r.id;
    std::uint64_t expected = 0;
    const auto give_b = [&](std::uint64_t offset, std::uint32_t bytes) {
        d.f.offset = offset;
        m.b.enter();
        engine_access::dispatch(m.b, m.to_a, wire::data, &d, 16 + bytes);
        m.b.leave();
    };
    for (const std::uint64_t offset : {50000ULL, 49001ULL, 60000ULL, 1ULL << 63, ~0ULL}) {
        give_b(offset, 1000);
        EXPECT_EQ(++expected, count(m.b, stat::refused_messages)) << offset;
    }
    give_b(100, 0);
    EXPECT_EQ(++expected, count(m.b, stat::refused_messages)) << "nothing in it";
    m.drive("both", [&] { return 1 == s.delivered && 1 == r.delivered; });
    EXPECT_EQ(-1, r.differs(50000, 1));
}

TEST_F(garbage, answers_and_credits_that_do_not_fit_a_send_are_refused) {
    test_send s;
    s.aim(n.to_a, 100000, 1, ctx, 0, tag);
    n.send(n.b, s); // b is the sender here
    ASSERT_EQ(op_state::rts_sent, s.state);
    std::uint64_t before = refused();
    give(wire::cts, wire::answer{s.id, 1, 4096, 100001, name_of(0), wire::mode::copy, 0, 1, 0});
    EXPECT_EQ(++before, refused()) << "more than there is";
    give(wire::cts, wire::answer{s.id, 1, 4096, 100000, name_of(77), wire::mode::copy, 0, 1, 0});
    EXPECT_EQ(++before, refused()) << "from somebody else";
    give(wire::cts, wire::answer{s.id, 1, 4096, 100000, name_of(0), wire::mode::write, 0, 1, 0});
    EXPECT_EQ(++before, refused()) << "over a network that is not there";
    give(wire::credit, wire::credit_msg{s.id, 5});
    EXPECT_EQ(++before, refused()) << "for bytes that were not sent";
    EXPECT_EQ(op_state::rts_sent, s.state);
    test_recv r;
    r.aim(100000, ctx, 0, tag);
    n.receive(n.a, r);
    n.drive("both", [&] { return 1 == s.delivered && 1 == r.delivered; });
    EXPECT_EQ(-1, r.differs(100000, 1));
}

TEST_F(garbage, an_answer_with_a_mode_nobody_knows_is_refused) {
    test_send s;
    s.aim(n.to_a, 100000, 1, ctx, 0, tag);
    n.send(n.b, s);
    const std::uint64_t before = refused();
    give(wire::cts, wire::answer{s.id, 1, 4096, 100000, name_of(0), static_cast<wire::mode>(77), 0, 1, 0});
    give(wire::cts, wire::answer{s.id, 1, 4096, 100000, name_of(0), static_cast<wire::mode>(0), 0, 1, 0});
    EXPECT_EQ(before + 2, refused());
    EXPECT_EQ(op_state::rts_sent, s.state);
    n.b.enter();
    engine_access::dispatch(n.b, n.to_a, wire::fin, std::make_unique<wire::finish>(wire::finish{s.id, 1, wire::outcome::ok}).get(), 16);
    n.b.leave();
}

TEST_F(garbage, an_answer_for_no_bytes_at_all_does_not_hang_the_send) {
    test_send s;
    s.aim(n.to_a, 100000, 1, ctx, 0, tag);
    n.send(n.b, s);
    give(wire::cts, wire::answer{s.id, 1, 4096, 0, name_of(0), wire::mode::copy_into, 0, 1, 0});
    for (int i = 0; i < 100; ++i) {
        n.b.progress();
    }
    EXPECT_FALSE(op_state::moving == s.state && engine_access::copies_open(n.b))
        << "a copy of nothing never ends";
}

TEST_F(garbage, an_answer_with_a_shared_entry_that_is_not_there_is_refused_and_the_send_goes_on) {
    test_send s;
    s.aim(n.to_a, 200000, 1, ctx, 0, tag);
    n.send(n.b, s);
    const std::uint64_t before = refused();
    give(wire::cts, wire::answer{s.id, 1, 4096, 200000, name_of(0), wire::mode::copy_into, 0, 1, 0xff000001U});
    EXPECT_EQ(before + 1, refused());
    EXPECT_EQ(op_state::rts_sent, s.state) << "the true answer is still to come";
}

TEST_F(garbage, a_finish_from_nowhere_does_not_end_a_receive_that_is_being_read) {
    test_recv r;
    test_send s;
    r.aim(big, ctx, 0, tag);
    s.aim(n.to_b, big, 3, ctx, 0, tag);
    n.receive(n.b, r);
    n.send(n.a, s);
    wire::finish f{1ULL << 32, 0, wire::outcome::ok}; // the first id there is
    n.b.enter();
    n.b.pass(true); // as the interrupt thread: the RTS, no copy yet
    ASSERT_EQ(op_state::moving, r.state);
    f.operation = r.id;
    engine_access::dispatch(n.b, n.to_a, wire::fin, &f, sizeof(f));
    n.b.leave();
    n.drive("both", [&] { return 1 == r.delivered; });
    EXPECT_EQ(-1, r.differs(big, 3)) << "done before its bytes were there";
}

TEST_F(garbage, records_of_a_slot_that_is_not_there_are_refused) {
    ring_producer p;
    auto &board = n.a.board_segment();
    p.attach(&board.slot(1).ring, board.ring(1), board.ring_bytes());
    std::byte *at = p.reserve(100);
    std::memset(at, 0, 100);
    p.commit(at, ring_word::pack(100, 4000, wire::eager));
    n.b.progress();
    EXPECT_EQ(1U, refused());
    works();
}

TEST_F(garbage, a_damaged_ring_is_fatal_and_read_no_more) {
    fatal_calls() = 0;
    ring_producer p;
    auto &board = n.a.board_segment();
    p.attach(&board.slot(1).ring, board.ring(1), board.ring_bytes());
    std::byte *at = p.reserve(100);
    p.commit(at, ring_word::pack(0x7fffffff, 0, wire::eager));
    for (int i = 0; i < 10; ++i) {
        n.b.progress();
    }
    EXPECT_GE(fatal_calls(), 1U);
}

TEST_F(garbage, a_message_that_claims_to_come_from_this_process_itself_is_refused) {
    endpoint *self = n.b.add_self();
    wire::match_sync ms{{ctx, 0, tag}, 0, name_of(1), 77};
    wire::rendezvous rts{};
    rts.m = {ctx, 0, tag};
    rts.name = name_of(1);
    rts.length = 100;
    test_recv r[2];
    for (auto &one : r) {
        one.aim(1000, ctx, 0, tag);
        n.receive(n.b, one);
    }
    n.b.enter();
    engine_access::dispatch(n.b, self, wire::eager_sync, &ms, sizeof(ms));
    engine_access::dispatch(n.b, self, wire::rts, &rts, sizeof(rts));
    n.b.leave();
    EXPECT_EQ(2U, refused());
    EXPECT_FALSE(self->lost) << "a forged record must not cut a process off from itself";
    for (auto &one : r) {
        n.b.enter();
        n.b.cancel_receive(&one);
        n.b.leave();
    }
}

TEST_F(garbage, network_messages_without_sense_are_refused) {
    std::vector<std::byte> m(200);
    std::uint64_t expected = 0;
    n.b.enter();
    for (std::uint32_t bytes = 0; bytes < 8; ++bytes) {
        engine_access::take_message(n.b, m.data(), bytes);
        EXPECT_EQ(++expected, refused());
    }
    for (const std::uint64_t word :
         {std::uint64_t{0}, ring_word::pack(192, 0, wire::eager) ^ 1, ring_word::pack(191, 0, wire::eager),
          ring_word::pack(193, 0, wire::eager), ring_word::pack(0xffffffffU, 0, wire::eager)}) {
        std::memcpy(m.data(), &word, 8);
        engine_access::take_message(n.b, m.data(), 200);
        EXPECT_EQ(++expected, refused());
    }
    // an RTS and a synchronous message of a process never met, without an address
    wire::rendezvous r{};
    r.name = name_of(4711);
    std::uint64_t word = ring_word::pack(sizeof(r), 0, wire::rts);
    std::memcpy(m.data(), &word, 8);
    std::memcpy(m.data() + 8, &r, sizeof(r));
    engine_access::take_message(n.b, m.data(), 8 + sizeof(r));
    EXPECT_EQ(++expected, refused());
    wire::match_sync ms{};
    ms.name = name_of(4711);
    word = ring_word::pack(sizeof(ms), 0, wire::eager_sync);
    std::memcpy(m.data(), &word, 8);
    std::memcpy(m.data() + 8, &ms, sizeof(ms));
    engine_access::take_message(n.b, m.data(), 8 + sizeof(ms));
    EXPECT_EQ(++expected, refused());
    n.b.leave();
    works();
}

TEST_F(garbage, random_messages_never_crash_it) {
    generator g(7);
    fatal_calls() = 0;
    for (int i = 0; i < 50000; ++i) {
        const std::uint32_t bytes = g.below(160);
        std::vector<std::byte> m(bytes);
        for (auto &b : m) {
            b = std::byte(g.below(256));
        }
        // small numbers find more than random ones
        for (std::uint32_t k = 0; k + 8 <= bytes; k += 8) {
            if (g.below(2)) {
                const std::uint64_t v = g.below(4) | (g.below(2) ? 1ULL << 32 : 0);
                std::memcpy(m.data() + k, &v, 8);
            }
        }
        const auto type = static_cast<std::uint8_t>(g.below(wire::count_ + 1));
        n.b.enter();
        engine_access::dispatch(n.b, n.to_a, type, m.data(), bytes);
        n.b.leave();
        if (0 == i % 1000) {
            n.b.progress();
            active_messages().clear();
        }
    }
    EXPECT_GT(refused(), 1000U);
    EXPECT_EQ(0U, fatal_calls());
    active_messages().clear();
    for (std::uint32_t c = 0; c < 4; ++c) {
        n.b.enter();
        n.b.drop_context(c);
        n.b.leave();
    }
    works();
}

TEST(engine, a_view_of_a_copy_that_is_over_takes_no_piece_of_the_next_one) {
    // The interrupt thread looked, was preempted, and goes on when the request lives a second
    // time, as the pml makes it: constructed anew at the same place.
    node_pair n(with("read"));
    alignas(test_recv) std::byte place[sizeof(test_recv)];
    auto *r = new (place) test_recv;
    std::vector<std::byte> first(big), second(big);
    const auto begin = [&](std::vector<std::byte> &into, test_send &s, std::uint64_t seed) {
        r->aim(big, ctx, 0, tag);
        r->buffer = into.data();
        n.receive(n.b, *r);
        s.aim(n.to_b, big, seed, ctx, 0, tag);
        n.send(n.a, s);
        n.b.enter();
        n.b.pass(true); // begins the copy and moves nothing
        n.b.leave();
        ASSERT_EQ(op_state::moving, r->state);
    };
    test_send s1, s2;
    begin(first, s1, 1);
    const auto stale = engine_access::view_of(n.b, &r->job);
    n.drive("the first", [&] { return 1 == r->delivered && 1 == s1.delivered; });
    EXPECT_EQ(-1, differs(first.data(), big, 1));
    EXPECT_FALSE(engine_access::copy_step(n.b, stale)) << "it is over";
    r->~test_recv();
    r = new (place) test_recv;
    begin(second, s2, 2);
    EXPECT_FALSE(engine_access::copy_step(n.b, stale)) << "a piece of the second with the first's addresses";
    n.drive("the second", [&] { return 1 == r->delivered && 1 == s2.delivered; });
    EXPECT_EQ(-1, differs(second.data(), big, 2));
    r->~test_recv();
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

// The interrupt thread's steps, one by one: the sender comes to wait after the first piece.
TEST(engine, a_sender_who_comes_to_wait_is_handed_the_rest_of_a_copy) {
    node_pair n(with("auto"));
    for (const bool both : {false, true}) {
        const std::uint64_t pushed = count(n.b, stat::pushes_requested);
        const std::uint64_t written = count(n.a, stat::writes_app);
        test_recv r;
        test_send s;
        r.aim(4 * big, ctx, 0, tag);
        s.aim(n.to_b, 4 * big, 3, ctx, 0, tag);
        n.receive(n.b, r);
        n.send(n.a, s);
        n.b.enter();
        n.b.pass(true);
        ASSERT_TRUE(n.b.look().copies);
        n.b.leave();
        const auto stale = engine_access::view_of(n.b, &r.job);
        n.a.begin_wait();
        ASSERT_TRUE(n.b.work_on_copies());
        ASSERT_EQ(op_state::moving, r.state) << "one piece";
        if (both) {
            n.b.begin_wait(); // the receiver comes to wait too: the application hands over
            n.b.progress();
            n.b.end_wait();
        } else {
            n.b.enter();
            EXPECT_FALSE(n.b.look().copies) << "the sender's now";
            n.b.leave();
        }
        EXPECT_FALSE(engine_access::copy_step(n.b, stale)) << "no piece left in the old words";
        EXPECT_EQ(pushed + 1, count(n.b, stat::pushes_requested));
        n.drive("both", [&] { return 1 == s.delivered && 1 == r.delivered; });
        n.a.end_wait();
        EXPECT_EQ(both ? written : written + 1, count(n.a, stat::writes_app));
        EXPECT_EQ(-1, r.differs(4 * big, 3));
        EXPECT_FALSE(engine_access::copies_open(n.b));
    }
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

// ---- the interrupt thread

struct computing : testing::Test {
    static params parameters(const char *rendezvous = "read") { return with(rendezvous, "helper"); }
    static bool asleep(engine &e) { return engine_access::parked(e); }
    static void settle(node_pair &n) {
        wait_until("both threads sleep", [&] { return asleep(n.a) && asleep(n.b); });
    }
};

TEST_F(computing, a_receive_is_read_by_the_interrupt_thread_woken_once) {
    node_pair n(parameters());
    n.start_threads();
    settle(n);
    for (unsigned round = 1; round <= 5; ++round) {
        test_recv r;
        test_send s;
        r.aim(big, ctx, 0, tag);
        s.aim(n.to_b, big, round, ctx, 0, tag);
        n.receive(n.b, r);
        n.send(n.a, s);
        // b computes: it does not call in
        wait_until("the thread reads", [&] { return round == count(n.b, stat::reads_thread); });
        settle(n);
        EXPECT_EQ(round, count(n.b, stat::thread_matches));
        EXPECT_EQ(round, count(n.b, stat::wakes_match));
        EXPECT_EQ(round, count(n.a, stat::wakes_sent));
        EXPECT_EQ(round, count(n.a, stat::notices_posted));
        EXPECT_EQ(0U, count(n.b, stat::wakes_futile));
        EXPECT_EQ(0U, r.delivered) << "the application is told when it comes";
        n.drive("both", [&] { return 1 == s.delivered && 1 == r.delivered; });
        EXPECT_EQ(-1, r.differs(big, round));
    }
    EXPECT_EQ(0U, count(n.b, stat::wakes_self) + count(n.b, stat::wakes_futile) + count(n.a, stat::wakes_futile));
    EXPECT_EQ(0U, count(n.b, stat::reads_app));
    EXPECT_EQ(0U, armed(n.b));
}

TEST_F(computing, with_wildcards_the_notice_finds_the_receive_too) {
    node_pair n(parameters());
    n.start_threads();
    settle(n);
    test_recv r;
    test_send s;
    r.aim(big, ctx, any_source, any_tag);
    s.aim(n.to_b, big, 3, ctx, 0, tag);
    n.receive(n.b, r);
    n.send(n.a, s);
    wait_until("the thread reads", [&] { return 1 == count(n.b, stat::reads_thread); });
    n.drive("both", [&] { return 1 == s.delivered && 1 == r.delivered; });
    EXPECT_EQ(-1, r.differs(big, 3));
    EXPECT_EQ(1U, count(n.b, stat::wakes_match));
}

TEST_F(computing, a_message_nobody_waits_for_wakes_nobody) {
    node_pair n(parameters());
    n.start_threads();
    settle(n);
    test_send s;
    s.aim(n.to_b, big, 3, ctx, 0, tag);
    n.send(n.a, s);
    EXPECT_EQ(0U, count(n.a, stat::wakes_sent));
    EXPECT_EQ(1U, count(n.a, stat::notices_posted));
    test_recv r;
    r.aim(big, ctx, 0, tag);
    n.receive(n.b, r); // finds the RTS itself, with its first look
    n.drive("both", [&] { return 1 == s.delivered && 1 == r.delivered; });
    EXPECT_EQ(0U, count(n.b, stat::wakes_match));
    EXPECT_EQ(-1, r.differs(big, 3));
}

TEST_F(computing, a_sender_who_only_passes_through_its_engine_is_not_asked_to_write) {
    // The receiver's thread wakes while the sender is still in its nonblocking send: nothing
    // says that it will stay, and when it leaves to compute nobody moves the message.
    node_pair n(parameters("auto"));
    n.start_threads();
    settle(n);
    test_recv r;
    test_send s;
    r.aim(big, ctx, 0, tag);
    s.aim(n.to_b, big, 3, ctx, 0, tag);
    n.receive(n.b, r);
    n.a.enter();
    n.a.send(&s);
    wait_until("the match", [&] { return 1 == count(n.b, stat::thread_matches); });
    settle(n);
    n.a.leave();
    wait_until("somebody's thread", [&] {
        return 1 == count(n.b, stat::reads_thread) + count(n.a, stat::writes_thread);
    });
    n.drive("both", [&] { return 1 == s.delivered && 1 == r.delivered; });
    EXPECT_EQ(-1, r.differs(big, 3));
}

TEST_F(computing, a_sender_who_waits_writes_for_a_receiver_who_computes) {
    node_pair n(parameters("auto"));
    n.start_threads();
    settle(n);
    test_recv r;
    test_send s;
    r.aim(big, ctx, 0, tag);
    s.aim(n.to_b, big, 3, ctx, 0, tag);
    n.receive(n.b, r);
    n.a.begin_wait();
    n.a.send(&s);
    wait_until("the sender", [&] {
        n.a.progress();
        return 1 == s.delivered;
    });
    n.a.end_wait();
    EXPECT_EQ(1U, count(n.b, stat::pushes_requested));
    EXPECT_EQ(1U, count(n.b, stat::wakes_match));
    EXPECT_EQ(1U, count(n.a, stat::writes_app));
    EXPECT_EQ(0U, count(n.b, stat::reads_thread) + count(n.b, stat::reads_app));
    EXPECT_EQ(-1, r.differs(big, 3)) << "before the receiver came back";
    wait_until("the receiver", [&] {
        n.b.progress();
        return 1 == r.delivered;
    });
}

TEST_F(computing, where_both_compute_their_threads_run_the_pipeline) {
    node_pair n(parameters("copy"));
    n.start_threads();
    settle(n);
    test_recv r;
    test_send s;
    r.aim(4 * big, ctx, 0, tag);
    s.aim(n.to_b, 4 * big, 3, ctx, 0, tag);
    n.receive(n.b, r);
    n.send(n.a, s);
    wait_until("the sender's thread", [&] { return 1 == count(n.a, stat::writes_thread); });
    EXPECT_EQ(1U, count(n.b, stat::thread_matches));
    n.drive("both", [&] { return 1 == s.delivered && 1 == r.delivered; });
    EXPECT_EQ(-1, r.differs(4 * big, 3));
}

TEST_F(computing, derived_data_is_left_to_the_application) {
    node_pair n(parameters());
    n.start_threads();
    settle(n);
    for (const unsigned steps : {1U, 2U, 3U}) {
        test_recv r, other;
        test_send s, o;
        r.aim(big, ctx, 0, tag, steps & 1 ? 3 : 1);
        s.aim(n.to_b, big, 3, ctx, 0, tag, steps & 2 ? 3 : 1);
        other.aim(big, ctx, 0, 99); // keeps the thread awake
        o.aim(n.to_b, big, 4, ctx, 0, 99);
        n.receive(n.b, other);
        n.receive(n.b, r);
        n.send(n.a, s);
        n.send(n.a, o);
        n.drive("all", [&] { return s.delivered && r.delivered && o.delivered && other.delivered; });
        EXPECT_EQ(-1, r.differs(big, 3));
        EXPECT_EQ(-1, other.differs(big, 4));
        EXPECT_FALSE(r.overrun);
    }
}

TEST_F(computing, a_notice_whose_message_does_not_come_is_given_up_and_the_request_armed_again) {
    node_pair n(parameters());
    n.start_threads();
    settle(n);
    test_recv r;
    r.aim(big, ctx, 0, tag);
    n.receive(n.b, r);
    layout::slot &slot = n.a.board_segment().slot(1);
    waker w;
    w.resize(2);
    const auto o = board_slot(&slot).post(make_rts_key(ctx, 0, tag), 4711, 1); // forged
    ASSERT_TRUE(o.matched && o.wake);
    ASSERT_TRUE(w.wake(1, slot));
    wait_until("it is given up", [&] { return 1 == count(n.b, stat::wakes_futile); });
    settle(n);
    EXPECT_EQ(1U, count(n.b, stat::wakes_match));
    test_send s;
    s.aim(n.to_b, big, 3, ctx, 0, tag);
    n.send(n.a, s);
    wait_until("the true one", [&] { return 1 == count(n.b, stat::reads_thread); });
    n.drive("both", [&] { return 1 == s.delivered && 1 == r.delivered; });
    EXPECT_EQ(-1, r.differs(big, 3));
}

TEST_F(computing, a_wake_without_any_reason_is_counted_as_futile) {
    node_pair n(parameters());
    n.start_threads();
    settle(n);
    ring_eventfd(n.b.wake_descriptor());
    wait_until("the count", [&] { return 1 == count(n.b, stat::wakes_futile); });
    settle(n);
    EXPECT_EQ(1U, count(n.b, stat::wakes_match));
}

TEST_F(computing, a_wake_while_the_application_is_inside_is_not_in_its_way) {
    node_pair n(parameters());
    n.start_threads();
    settle(n);
    n.b.enter();
    ring_eventfd(n.b.wake_descriptor());
    wait_until("the count", [&] { return 1 == count(n.b, stat::wakes_busy); });
    n.b.leave();
    EXPECT_EQ(0U, count(n.b, stat::wakes_futile));
}

TEST_F(computing, a_ring_for_what_the_application_finds_first_is_taken_back) {
    node_pair n(parameters());
    bool matched = false;
    test_recv r;
    test_send s;
    r.aim(big, ctx, 0, tag);
    s.aim(n.to_b, big, 3, ctx, 0, tag);
    n.receive(n.b, r);
    // as with a thread, but nobody sleeps on the descriptor
    n.b.enter();
    board_owner &board = engine_access::board(n.b);
    const int i = board.arm(rts_pattern(ctx, 0, tag, false, false), &matched);
    board.set_progress(layout::rank_outside);
    n.b.leave();
    n.send(n.a, s);
    EXPECT_EQ(1U, count(n.a, stat::wakes_sent));
    n.b.enter();
    n.b.pass(true);
    EXPECT_EQ(0U, count(n.b, stat::wakes_withdrawn)) << "the thread is the one woken";
    n.b.leave();
    EXPECT_TRUE(drain_eventfd(n.b.wake_descriptor()));
    n.drive("both", [&] { return 1 == s.delivered && 1 == r.delivered; });
    board.settle(static_cast<std::uint32_t>(name_of(0)), 1);
    board.set_progress(layout::rank_outside);
    test_recv again, end;
    test_send next, open; // one is under way: the engine looks at the board
    open.aim(n.to_a, big, 5, ctx, 1, tag);
    end.aim(big, ctx, 1, tag);
    n.send(n.b, open);
    again.aim(big, ctx, 0, tag);
    next.aim(n.to_b, big, 4, ctx, 0, tag);
    n.receive(n.b, again);
    n.send(n.a, next);
    n.drive("both", [&] { return 1 == next.delivered && 1 == again.delivered; });
    EXPECT_EQ(2U, count(n.a, stat::wakes_sent));
    EXPECT_EQ(1U, count(n.b, stat::wakes_withdrawn));
    EXPECT_FALSE(drain_eventfd(n.b.wake_descriptor())) << "nothing is left to wake for";
    n.receive(n.a, end);
    n.drive("all", [&] { return 1 == open.delivered && 1 == end.delivered; });
    n.b.enter();
    board.disarm(i);
    n.b.leave();
}

TEST_F(computing, what_was_matched_while_the_application_was_inside_is_served_when_it_leaves) {
    node_pair n(parameters());
    n.start_threads();
    settle(n);
    test_recv r;
    test_send s;
    r.aim(big, ctx, 0, tag);
    s.aim(n.to_b, big, 3, ctx, 0, tag);
    n.b.enter();
    n.b.receive(&r);
    n.send(n.a, s); // b is inside: nobody is woken
    EXPECT_EQ(0U, count(n.a, stat::wakes_sent));
    n.b.leave();
    wait_until("the thread reads", [&] { return 1 == count(n.b, stat::reads_thread); });
    EXPECT_EQ(1U, count(n.b, stat::wakes_self));
    EXPECT_EQ(0U, count(n.b, stat::wakes_match));
    n.drive("both", [&] { return 1 == s.delivered && 1 == r.delivered; });
    EXPECT_EQ(-1, r.differs(big, 3));
}

TEST_F(computing, a_small_message_to_a_large_receive_wakes_nobody_and_disarms_it) {
    node_pair n(parameters());
    n.start_threads();
    settle(n);
    test_recv r;
    test_send s;
    r.aim(big, ctx, 0, tag);
    s.aim(n.to_b, 100, 3, ctx, 0, tag);
    n.receive(n.b, r);
    EXPECT_EQ(1U, armed(n.b));
    n.send(n.a, s);
    n.drive("both", [&] { return 1 == s.delivered && 1 == r.delivered; });
    EXPECT_EQ(0U, armed(n.b));
    EXPECT_EQ(0U, count(n.b, stat::wakes_match) + count(n.a, stat::wakes_sent));
}

TEST_F(computing, receives_smaller_than_the_limit_are_not_armed) {
    params p = parameters();
    p.arm_from = 500000;
    node_pair n(p);
    n.start_threads();
    test_recv small, large;
    small.aim(500000, ctx, 0, 1);
    large.aim(500001, ctx, 0, 2);
    n.receive(n.b, small);
    EXPECT_EQ(0U, armed(n.b));
    n.receive(n.b, large);
    EXPECT_EQ(1U, armed(n.b));
    n.b.enter();
    EXPECT_TRUE(n.b.cancel_receive(&small));
    EXPECT_TRUE(n.b.cancel_receive(&large));
    n.b.leave();
    EXPECT_EQ(0U, armed(n.b));
    EXPECT_EQ(0U, engine_access::outstanding(n.b));
}

TEST_F(computing, more_receives_than_the_table_holds_are_all_served) {
    node_pair n(parameters());
    n.start_threads();
    settle(n);
    constexpr std::size_t many = 100;
    constexpr std::uint64_t bytes = 20000;
    std::deque<test_recv> r(many);
    std::deque<test_send> s(many);
    for (std::size_t i = 0; i < many; ++i) {
        r[i].aim(bytes, ctx, 0, static_cast<std::int32_t>(i));
        n.receive(n.b, r[i]);
    }
    EXPECT_EQ(many - 63, count(n.b, stat::requests_overflow));
    EXPECT_EQ(layout::request_entries, armed(n.b));
    for (std::size_t i = many; i-- > 0;) { // first those that stand behind the catch-all
        s[i].aim(n.to_b, bytes, i, ctx, 0, static_cast<std::int32_t>(i));
        n.send(n.a, s[i]);
    }
    wait_until("all are read while b computes", [&] { return many == count(n.b, stat::reads_thread); });
    n.drive("all", [&] {
        return std::all_of(s.begin(), s.end(), [](auto &x) { return 1 == x.delivered; }) &&
               std::all_of(r.begin(), r.end(), [](auto &x) { return 1 == x.delivered; });
    });
    for (std::size_t i = 0; i < many; ++i) {
        EXPECT_EQ(-1, r[i].differs(bytes, i));
    }
    EXPECT_EQ(0U, armed(n.b));
}

TEST_F(computing, messages_both_ways_one_after_the_other_have_no_futile_wake) {
    // RTS and CTS notices of one process: those handled must stay dead
    node_pair n(parameters("copy")); // senders are armed for the answer
    n.start_threads();
    settle(n);
    for (std::uint64_t round = 0; round < 20; ++round) {
        test_recv ra, rb;
        test_send sa, sb;
        ra.aim(big, ctx, 1, tag);
        rb.aim(big, ctx, 0, tag);
        n.receive(n.a, ra);
        n.receive(n.b, rb);
        sa.aim(n.to_b, big, round, ctx, 0, tag);
        sb.aim(n.to_a, big, round + 100, ctx, 1, tag);
        n.send(n.a, sa);
        n.send(n.b, sb);
        n.drive("all", [&] { return ra.delivered && rb.delivered && sa.delivered && sb.delivered; });
        ASSERT_EQ(-1, ra.differs(big, round + 100));
        ASSERT_EQ(-1, rb.differs(big, round));
    }
    settle(n);
    EXPECT_EQ(0U, count(n.a, stat::requests_matched) > 80) << count(n.a, stat::requests_matched);
}

TEST_F(computing, the_polling_thread_reads_as_well) {
    node_pair n(with("read", "poll"));
    n.start_threads();
    test_recv r;
    test_send s;
    r.aim(big, ctx, 0, tag);
    s.aim(n.to_b, big, 3, ctx, 0, tag);
    n.receive(n.b, r);
    n.send(n.a, s);
    wait_until("the thread reads", [&] { return 1 == count(n.b, stat::reads_thread); });
    n.drive("both", [&] { return 1 == s.delivered && 1 == r.delivered; });
    EXPECT_EQ(-1, r.differs(big, 3));
    EXPECT_EQ(gate::mode::fenced, n.b.the_gate().current_mode());
}

TEST_F(computing, without_a_strategy_nothing_moves_and_nothing_is_armed) {
    node_pair n(with("read", "none"));
    n.start_threads();
    EXPECT_FALSE(engine_access::has_thread(n.b));
    test_recv r;
    test_send s;
    r.aim(big, ctx, 0, tag);
    s.aim(n.to_b, big, 3, ctx, 0, tag);
    n.receive(n.b, r);
    n.send(n.a, s);
    EXPECT_EQ(0U, count(n.b, stat::requests_armed));
    EXPECT_EQ(0U, armed(n.b));
    n.drive("both", [&] { return 1 == s.delivered && 1 == r.delivered; });
    EXPECT_EQ(1U, count(n.b, stat::reads_app));
}

TEST_F(computing, dropped_notices_cost_no_data) {
    for (const bool garbage_too : {false, true}) {
        params p = parameters();
        p.fault_drop_notices = 50;
        p.fault_garbage_notices = garbage_too ? 50 : 0;
        node_pair n(p);
        n.start_threads();
        for (std::uint64_t i = 0; i < 50; ++i) {
            test_recv r;
            test_send s;
            r.aim(100000, ctx, 0, tag);
            s.aim(n.to_b, 100000, i, ctx, 0, tag);
            n.receive(n.b, r);
            n.send(n.a, s);
            n.drive("both", [&] { return s.delivered && r.delivered; });
            ASSERT_EQ(-1, r.differs(100000, i));
        }
        EXPECT_LT(count(n.a, stat::notices_posted), garbage_too ? 100U : 50U);
    }
}

TEST_F(computing, several_application_threads_share_the_engine) {
    // MPI_THREAD_MULTIPLE: one engine in this process, the other one in a child
    scratch_directory d;
    struct meeting {
        segment_ticket ticket;
        std::atomic<std::uint32_t> step{0};
    };
    shared_object<meeting> m;
    constexpr int threads = 3;
    constexpr int rounds = 60;
    const auto side = [&](std::uint32_t me) {
        params p = parameters();
        p.directory = d.path();
        engine e;
        set_hooks(e);
        ASSERT_EQ(0, e.start(p, {name_of(me), me, true}, false));
        EXPECT_EQ(gate::mode::locked, e.the_gate().current_mode());
        if (0 == me) {
            ASSERT_EQ(0, e.create_board(2, nullptr));
            m->ticket = e.board_segment().ticket();
            m->step = 1;
        } else {
            wait_until("the board", [&] { return m->step > 0; });
            ASSERT_EQ(0, e.open_board(m->ticket));
        }
        m->step.fetch_add(1);
        wait_until("the other rank", [&] { return m->step >= 3; });
        endpoint *peer = e.add_shared(name_of(1 - me), 1 - me);
        ASSERT_NE(nullptr, peer);
        e.start_thread();
        std::vector<std::thread> all;
        std::atomic<int> left{threads};
        for (int t = 0; t < threads; ++t) {
            all.emplace_back([&, t] {
                generator g(static_cast<std::uint64_t>(t));
                // as the pml's requests: the memory stays, whoever still has a view of it
                std::deque<test_recv> receives(rounds);
                std::deque<test_send> sends(rounds);
                for (int i = 0; i < rounds; ++i) {
                    const std::uint64_t bytes = g.below(3) ? g.below(9000) : g.below(300000);
                    const auto seed = static_cast<std::uint64_t>(i * 10 + t);
                    test_recv &r = receives[static_cast<std::size_t>(i)];
                    test_send &s = sends[static_cast<std::size_t>(i)];
                    r.aim(300000, ctx, static_cast<std::int32_t>(1 - me), t);
                    s.aim(peer, bytes, seed, ctx, static_cast<std::int32_t>(me), t);
                    e.enter();
                    e.receive(&r);
                    e.send(&s);
                    e.leave();
                    bool over = false;
                    wait_until("both", [&] {
                        e.progress();
                        e.enter();
                        over = 0 != r.delivered && 0 != s.delivered;
                        e.leave();
                        return over;
                    });
                    ASSERT_TRUE(over);
                    ASSERT_EQ(bytes, r.received);
                    ASSERT_EQ(-1, r.differs(bytes, seed));
                }
                --left;
                wait_until("the other threads", [&] {
                    e.progress();
                    return 0 == left;
                });
            });
        }
        for (auto &t : all) {
            t.join();
        }
        m->step.fetch_add(1);
        wait_until("the other rank's end", [&] {
            e.progress();
            return m->step >= 5;
        });
        e.stop();
    };
    child other([&] { side(1); });
    side(0);
    EXPECT_EQ(0, other.join());
    EXPECT_TRUE(d.left().empty() || HasFailure());
}

// ---- ranks in processes of their own

void ranks(unsigned size, const char *progress, const char *rendezvous, unsigned rounds) {
    scratch_directory d;
    struct meeting {
        segment_ticket ticket;
        std::atomic<std::uint32_t> made{0}, in{0}, out{0};
    };
    shared_object<meeting> m;
    const auto rank = [&](std::uint32_t me) {
        params p = with(rendezvous, progress);
        p.directory = d.path();
        engine e;
        set_hooks(e);
        ASSERT_EQ(0, e.start(p, {name_of(me), me, false}, false));
        if (0 == me) {
            ASSERT_EQ(0, e.create_board(size, nullptr));
            m->ticket = e.board_segment().ticket();
            m->made = 1;
        } else {
            wait_until("the board", [&] { return 1 == m->made; });
            ASSERT_EQ(0, e.open_board(m->ticket));
        }
        ++m->in;
        wait_until("everybody", [&] { return size == m->in; });
        if (0 == me) {
            e.board_complete();
        }
        std::vector<endpoint *> peers(size);
        for (std::uint32_t i = 0; i < size; ++i) {
            peers[i] = i == me ? e.add_self() : e.add_shared(name_of(i), i);
        }
        e.start_thread();
        const auto length = [](unsigned round, unsigned from, unsigned to) -> std::uint64_t {
            generator g(round * 1000 + from * 30 + to + 1);
            return g.below(2) ? g.below(10000) : g.below(600000);
        };
        generator mine(me + 77);
        for (unsigned round = 0; round < rounds; ++round) {
            std::deque<test_send> s(size);
            std::deque<test_recv> r(size);
            for (std::uint32_t i = 0; i < size; ++i) {
                s[i].aim(peers[i], length(round, me, i), round * 100 + me * 10 + i, ctx,
                         static_cast<std::int32_t>(me), static_cast<std::int32_t>(round),
                         mine.below(5) ? 1 : 2);
                r[i].aim(600000, ctx, static_cast<std::int32_t>(i), static_cast<std::int32_t>(round),
                         mine.below(5) ? 1 : 2);
            }
            e.enter();
            for (std::uint32_t i = 0; i < size; ++i) {
                e.receive(&r[i]);
            }
            for (std::uint32_t i = 0; i < size; ++i) {
                e.send(&s[i]);
            }
            e.leave();
            for (unsigned k = mine.below(200000); k > 0; --k) { // compute
                std::atomic_signal_fence(std::memory_order_seq_cst);
            }
            const bool wait = mine.below(2);
            if (wait) {
                e.begin_wait();
            }
            wait_until("the round", [&] {
                e.progress();
                return std::all_of(s.begin(), s.end(), [](auto &x) { return 1 == x.delivered; }) &&
                       std::all_of(r.begin(), r.end(), [](auto &x) { return 1 == x.delivered; });
            });
            if (wait) {
                e.end_wait();
            }
            for (std::uint32_t i = 0; i < size; ++i) {
                ASSERT_EQ(length(round, i, me), r[i].received) << "round " << round << " from " << i;
                ASSERT_EQ(-1, r[i].differs(r[i].received, round * 100 + i * 10 + me))
                    << "round " << round << " from " << i;
            }
        }
        ++m->out;
        wait_until("everybody's end", [&] {
            e.progress();
            return size == m->out;
        });
        EXPECT_EQ(0U, count(e, stat::refused_messages));
        EXPECT_EQ(0U, count(e, stat::fallbacks));
        e.stop();
    };
    std::vector<std::unique_ptr<child>> children;
    for (std::uint32_t i = 0; i < size; ++i) {
        children.push_back(std::make_unique<child>([&, i] { rank(i); }));
    }
    for (auto &c : children) {
        EXPECT_EQ(0, c->join());
    }
    EXPECT_TRUE(d.left().empty());
}

TEST(ranks_in_processes, three_with_interrupt_threads_exchange_everything) {
    ranks(3, "helper", "auto", 40);
}
TEST(ranks_in_processes, three_without_threads_exchange_everything) { ranks(3, "none", "auto", 40); }
TEST(ranks_in_processes, three_that_write_exchange_everything) { ranks(3, "helper", "write", 30); }
TEST(ranks_in_processes, three_that_read_exchange_everything) { ranks(3, "helper", "read", 30); }
TEST(ranks_in_processes, two_that_copy_exchange_everything) { ranks(2, "helper", "copy", 30); }
TEST(ranks_in_processes, two_with_polling_threads_exchange_everything) { ranks(2, "poll", "auto", 10); }

// ---- between nodes

struct engines_of_two_nodes : testing::Test {
    void exchange(network_pair &n, std::uint64_t bytes, std::uint64_t capacity, bool first,
                  unsigned ss, unsigned rs, bool sync) {
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

TEST_F(engines_of_two_nodes, a_process_met_by_its_rts_alone_is_answered) {
    engine a, b;
    params p = with("auto");
    set_hooks(a);
    set_hooks(b);
    ASSERT_EQ(0, a.start(p, {name_of(0), 0, false}, true));
    ASSERT_EQ(0, b.start(p, {name_of(1), 0, false}, true));
    endpoint *to_b = a.add_network(name_of(1), b.net().address().data(), b.net().address().size(), nullptr, 0);
    test_send s;
    test_recv r;
    s.aim(to_b, big, 1, ctx, 0, tag);
    r.aim(big, ctx, 0, tag);
    b.enter();
    b.receive(&r);
    b.leave();
    a.enter();
    a.send(&s);
    a.leave();
    wait_until("both", [&] {
        a.progress();
        b.progress();
        return s.delivered && r.delivered;
    });
    EXPECT_EQ(-1, r.differs(big, 1));
    EXPECT_NE(nullptr, b.find_peer(name_of(0)));
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
    EXPECT_NE(std::string::npos, testing::internal::GetCapturedStderr().find("carrier_pigeon"));
    EXPECT_FALSE(a.started());
}

} // namespace
} // namespace smartint
