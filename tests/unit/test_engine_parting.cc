// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Processes of two jobs, of which one goes: what it sent before is received, and nobody waits for it for ever.
#include "common_smartint_clock.h"
#include "harness_exchange.h"

namespace smartint {
namespace {

using namespace test;

constexpr std::uint64_t of_another_job = std::uint64_t{test_job + 1} << 32;

struct parting_jobs : testing::Test {
    parting_jobs() : n(with("copy"), false, of_another_job) {}
    void aim(test_recv &r, std::uint64_t bytes = 100) {
        r.aim(bytes, ctx, 0, tag);
        r.peer = n.to_a;
    }
    void lose() { // as by a send that finds the connection broken
        n.b.enter();
        engine_access::lose(n.b, n.to_a);
        n.b.leave();
    }
    void b_alone(const char *what, const test_recv &r) {
        wait_until(what, [&] {
            n.b.progress();
            return 0 != r.delivered;
        });
    }

    network_pair n;
};

TEST_F(parting_jobs, what_one_sent_before_it_went_is_received) {
    test_recv first, second;
    test_send s, t;
    aim(first);
    n.receive(n.b, first);
    lose();
    aim(second, big);
    n.receive(n.b, second);
    for (int i = 0; i < 1000; ++i) {
        n.b.progress();
    }
    EXPECT_EQ(0U, first.delivered + second.delivered);
    s.aim(n.to_b, 100, 7, ctx, 0, tag);
    t.aim(n.to_b, 40000, 9, ctx, 0, tag);
    n.send(n.a, s);
    n.send(n.a, t);
    n.drive("both", [&] { return 0 != first.delivered && 0 != second.delivered; });
    EXPECT_FALSE(first.failed || second.failed);
    EXPECT_EQ(-1, first.differs(100, 7));
    EXPECT_EQ(-1, second.differs(40000, 9));
}

TEST_F(parting_jobs, what_does_not_come_fails_after_a_while) {
    test_recv before, behind, later;
    aim(before);
    aim(behind);
    aim(later);
    n.receive(n.b, before);
    const std::uint64_t begun = now_us();
    lose();
    n.receive(n.b, behind);
    n.b.enter();
    EXPECT_FALSE(n.b.is_lost(n.to_a)) << "to a probe";
    n.b.leave();
    b_alone("the first", before);
    b_alone("the second", behind);
    EXPECT_LE(2000000U, now_us() - begun);
    EXPECT_TRUE(before.failed && behind.failed);
    n.receive(n.b, later);
    n.b.progress();
    EXPECT_EQ(1U, later.delivered);
    EXPECT_TRUE(later.failed);
    n.b.enter();
    EXPECT_TRUE(n.b.is_lost(n.to_a));
    n.b.leave();
    EXPECT_EQ(0U, engine_access::posted(n.b));
}

TEST_F(parting_jobs, one_that_nothing_was_sent_to_is_missed_all_the_same) {
    test_recv r;
    aim(r);
    n.receive(n.b, r);
    EXPECT_NE(nullptr, n.to_a->control);
    test_send s;
    s.aim(n.to_b, 100, 7, ctx, 0, tag + 1); // they have met
    n.send(n.a, s);
    n.drive("the message", [&] { return 1 == engine_access::unexpected_messages(n.b); });
    n.a.stop();
    b_alone("the receive", r);
    EXPECT_TRUE(r.failed);
}

TEST_F(parting_jobs, a_probe_sees_to_it_too) {
    n.b.enter();
    EXPECT_FALSE(n.b.is_lost(n.to_a));
    n.b.leave();
    EXPECT_NE(nullptr, n.to_a->control);
    for (int i = 0; i < 100; ++i) {
        n.a.progress();
        n.b.progress();
    }
    n.a.stop();
    wait_until("the end is seen", [&] {
        n.b.progress();
        n.b.enter();
        const bool lost = n.b.is_lost(n.to_a);
        n.b.leave();
        return lost;
    });
}

// A time in which nobody looked is none in which nothing came; but each look counts for some.
TEST_F(parting_jobs, who_looks_seldom_gives_up_later_and_does) {
    test_recv r;
    aim(r);
    n.receive(n.b, r);
    lose();
    const auto look = [&] {
        for (int i = 0; i < 50; ++i) { // not each pass looks at the network
            n.b.progress();
        }
    };
    look();
    const auto long_after = [&] {
        n.b.enter();
        engine_access::let_time_pass(n.b, n.to_a, &r, 10000000);
        n.b.leave();
        look();
    };
    long_after();
    EXPECT_EQ(0U, r.delivered);
    for (int i = 0; i < 3 && 0 == r.delivered; ++i) {
        long_after();
    }
    EXPECT_TRUE(1 == r.delivered && r.failed);
}

// What the program has sent is waited for at the end, and that it failed is said.
TEST_F(parting_jobs, what_is_owed_at_the_end_is_told_if_it_fails) {
    test_send s;
    s.aim(n.to_a, big, 7, ctx, 1, tag);
    n.send(n.b, s);
    n.drive("its first word", [&] { return 1 == engine_access::unexpected_messages(n.a); });
    n.a.stop();
    n.b.see_out();
    EXPECT_TRUE(1 == s.delivered && s.failed);
    EXPECT_TRUE(n.to_a->told);
}

// Not what Open MPI itself sends there.
TEST_F(parting_jobs, what_is_sent_at_the_end_is_not_waited_for_and_nothing_is_said) {
    test_send before, behind;
    test_recv r;
    before.aim(n.to_a, 100, 7, ctx, 1, tag);
    r.aim(100, ctx, 1, tag);
    n.receive(n.a, r);
    n.send(n.b, before);
    n.drive("both", [&] { return 1 == before.delivered && 1 == r.delivered; });
    n.b.see_out();
    behind.aim(n.to_a, big, 7, ctx, 1, tag);
    n.send(n.b, behind);
    n.b.see_out();
    EXPECT_EQ(0U, behind.delivered);
    n.a.stop();
    wait_until("its end", [&] {
        n.b.progress();
        return 1 == behind.delivered;
    });
    EXPECT_TRUE(behind.failed);
    EXPECT_FALSE(n.to_a->told);
}

// Its credits are not sent in the transport's callback.
TEST_F(parting_jobs, large_messages_go_between_them) {
    for (const bool first : {true, false}) {
        test_recv r;
        test_send s;
        r.aim(8 * big, ctx, 0, tag);
        r.peer = n.to_a;
        s.aim(n.to_b, 8 * big, 5, ctx, 0, tag);
        if (first) {
            n.receive(n.b, r);
            n.send(n.a, s);
        } else {
            n.send(n.a, s);
            n.receive(n.b, r);
        }
        n.drive("8 MiB", [&] { return 0 != r.delivered && 0 != s.delivered; });
        EXPECT_FALSE(r.failed || s.failed);
        EXPECT_EQ(-1, r.differs(8 * big, 5));
    }
}

} // namespace
} // namespace smartint
