// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
// Notices to other nodes that are held back: what is learned, and when they go out all the same.
#include <chrono>
#include <cstdint>
#include <optional>
#include <thread>
#include <tuple>

#include "common_smartint_foresight.h"
#include "common_smartint_held.h"
#include "harness_exchange.h"

namespace smartint {
namespace {

using namespace test;

constexpr std::uint64_t bytes = 100000; // by rendezvous
constexpr unsigned learning = foresight::enough;

TEST(foresight, counts_on_an_answer_after_some_in_a_row_and_no_more_soon_after_some_that_are_late) {
    foresight f;
    const std::uint32_t kind = f.kind_of(3, 5, false);
    for (unsigned i = 0; i < learning; ++i) {
        EXPECT_FALSE(f.prompt(kind)) << i;
        f.in_time(kind);
    }
    EXPECT_TRUE(f.prompt(kind));
    for (int i = 0; i < 1000; ++i) {
        f.in_time(kind);
    }
    unsigned in_vain = 0;
    for (; f.prompt(kind); ++in_vain) {
        f.late(kind);
    }
    EXPECT_EQ(4U, in_vain);
    f.late(kind); // there is nothing below nothing
    for (unsigned i = 0; i < learning; ++i) {
        EXPECT_FALSE(f.prompt(kind));
        f.in_time(kind);
    }
    EXPECT_TRUE(f.prompt(kind));
}

TEST(foresight, one_late_of_six_is_too_many_and_one_of_twenty_is_not) {
    for (const unsigned every : {6U, 20U}) {
        foresight f;
        const std::uint32_t kind = f.kind_of(3, 5, false);
        unsigned held = 0;
        for (unsigned i = 0; i < 4000; ++i) {
            held += i >= 2000 && f.prompt(kind) ? 1 : 0;
            0 == i % every ? f.late(kind) : f.in_time(kind);
        }
        EXPECT_EQ(20 == every, held > 1000) << every;
        EXPECT_EQ(6 == every, 0 == held) << every;
    }
}

TEST(foresight, what_is_known_of_messages_says_nothing_of_others) {
    foresight f;
    const std::uint32_t kind = f.kind_of(3, 5, false);
    for (unsigned i = 0; i < learning; ++i) {
        f.in_time(kind);
    }
    for (const auto &[context, tag, answer] :
         {std::tuple(3U, 5, true), std::tuple(4U, 5, false), std::tuple(3U, -5, false), std::tuple(3U, 6, false)}) {
        foresight copy = f;
        EXPECT_FALSE(copy.prompt(copy.kind_of(context, tag, answer))) << context << " " << tag << " " << answer;
    }
    EXPECT_TRUE(f.prompt(f.kind_of(3, 5, false)));
    // one that has the same place begins anew, and so does the first then
    std::int32_t other = 6;
    while (f.kind_of(3, other, false) != kind) {
        ++other;
    }
    EXPECT_FALSE(f.prompt(f.kind_of(3, other, false)));
    EXPECT_FALSE(f.prompt(f.kind_of(3, 5, false)));
}

TEST(foresight, a_tag_that_counts_is_known_by_its_context) {
    foresight f;
    const auto tell = [&](std::uint32_t context, std::int32_t tag, bool in_time) {
        const std::uint32_t kind = f.kind_of(context, tag, false);
        const bool before = f.prompt(kind);
        in_time ? f.in_time(kind) : f.late(kind);
        return before;
    };
    std::int32_t tag = 0;
    for (; tag < foresight::most; ++tag) {
        EXPECT_FALSE(tell(3, tag, true)) << tag;
    }
    for (; tag < 1000; ++tag) {
        EXPECT_TRUE(tell(3, tag, true)) << tag;
    }
    EXPECT_FALSE(tell(4, tag, true)) << "another context";
    EXPECT_FALSE(f.prompt(f.kind_of(3, tag, true))) << "answers";
    EXPECT_TRUE(tell(3, ++tag, false));
    for (unsigned i = 0; i < foresight::off; ++i) { // until that is made good
        EXPECT_FALSE(tell(3, ++tag, true)) << i;
    }
    EXPECT_TRUE(tell(3, ++tag, true));
}

// Two ranks of two nodes; helpers' queues, but no helpers.
struct held : testing::Test {
    void make(const char *progress, bool answers = false) {
        params p = with("auto", progress);
        p.directory = directory.path();
        n.emplace(p);
        ASSERT_EQ(0, n->a.create_board(1));
        ASSERT_EQ(0, n->b.create_board(1));
        (answers ? n->to_a : n->to_b)->node = 0;
    }
    // The notices of e that went to its helper, or would have if its queue had room.
    static std::uint64_t noticed(engine &e) {
        return count(e, stat::notices_relayed) + count(e, stat::notices_dropped);
    }
    void receive() {
        r.aim(bytes, ctx, 0, tag);
        n->receive(n->b, r);
    }
    void send() {
        s.aim(n->to_b, bytes, 1, ctx, 0, tag);
        n->send(n->a, s);
    }
    void ends() {
        n->drive("both", [&] { return 1 == s.delivered && 1 == r.delivered; });
        EXPECT_EQ(-1, r.differs(bytes, 1));
    }
    // Both wait, as in blocking calls.
    void exchange() {
        n->b.begin_wait();
        receive();
        n->a.begin_wait();
        send();
        ends();
        n->a.end_wait();
        n->b.end_wait();
    }

    // The first one has its notice before its RTS, as the peer must take part in the connection, and tells nothing.
    static constexpr unsigned learned = learning + 1;
    void learn() {
        for (unsigned i = 0; i < learned; ++i) {
            exchange();
        }
    }

    void need_none_after_a_while(bool answers);
    void is_noticed_where_it_computes(bool sender);

    scratch_directory directory;
    std::optional<network_pair> n;
    test_send s;
    test_recv r;
};

// answers: of the receiver's, and not of the sender's.
void held::need_none_after_a_while(bool answers) {
    ASSERT_NO_FATAL_FAILURE(make("none", answers));
    engine &e = answers ? n->b : n->a;
    engine_access::hold_for(e, std::chrono::minutes(5)); // else by chance, where this machine is busy
    learn();
    const std::uint64_t first = answers ? 1 : 0; // of the first answer no less is learned
    EXPECT_EQ(first, count(e, stat::notices_held));
    EXPECT_EQ(learned - first, noticed(e));
    for (unsigned i = 0; i < 20; ++i) {
        exchange();
    }
    EXPECT_EQ(first + 20, count(e, stat::notices_held));
    EXPECT_EQ(learned - first, noticed(e));
}

TEST_F(held, messages_that_are_answered_at_once_need_no_notice_after_a_while) { need_none_after_a_while(false); }

TEST_F(held, answers_that_are_followed_by_data_at_once_need_no_notice_after_a_while) { need_none_after_a_while(true); }

TEST_F(held, one_that_is_not_answered_is_noticed_by_who_waits) {
    ASSERT_NO_FATAL_FAILURE(make("none"));
    learn();
    n->a.begin_wait();
    send();
    EXPECT_EQ(1U, count(n->a, stat::notices_held));
    EXPECT_EQ(learned, noticed(n->a));
    wait_until("it is noticed", [&] {
        n->a.progress();
        return learned + 1 == noticed(n->a);
    });
    receive();
    ends();
    n->a.end_wait();
    // once in vain: not held again at once
    exchange();
    EXPECT_EQ(1U, count(n->a, stat::notices_held));
    EXPECT_EQ(learned + 2, noticed(n->a));
}

TEST_F(held, where_nobody_comes_for_it_it_goes_out_with_the_message_or_at_the_waits_end) {
    ASSERT_NO_FATAL_FAILURE(make("none")); // no thread
    learn();
    send(); // and goes to compute
    EXPECT_EQ(0U, count(n->a, stat::notices_held));
    EXPECT_EQ(learned + 1, noticed(n->a));
    receive();
    ends();

    n->a.begin_wait();
    send();
    EXPECT_EQ(1U, count(n->a, stat::notices_held));
    n->a.end_wait(); // for something else
    EXPECT_EQ(learned + 2, noticed(n->a));
    receive();
    ends();
}

TEST_F(held, of_a_rank_that_goes_to_compute_its_thread_posts_it) {
    ASSERT_NO_FATAL_FAILURE(make("helper"));
    learn();
    const std::uint64_t before = noticed(n->a);
    n->a.start_thread();
    send();
    EXPECT_EQ(1U, count(n->a, stat::notices_held));
    EXPECT_EQ(before, noticed(n->a));
    wait_until("the thread does", [&] { return before + 1 == noticed(n->a); });
    receive();
    wait_until("all is there", [&] {
        n->a.progress();
        n->b.progress();
        return 1 == s.delivered && 1 == r.delivered;
    });
}

TEST_F(held, its_thread_comes_again_for_what_is_fresh) {
    ASSERT_NO_FATAL_FAILURE(make("helper"));
    learn();
    const std::uint64_t before = noticed(n->a);
    engine_access::hold_for(n->a, std::chrono::minutes(5));
    n->a.start_thread();
    send();
    wait_until("it comes twice", [&] { return 2 <= count(n->a, stat::wakes_timer); });
    EXPECT_EQ(before, noticed(n->a));
    n->a.enter();
    engine_access::hold_for(n->a, std::chrono::nanoseconds(0));
    n->a.leave();
    wait_until("and posts it", [&] { return before + 1 == noticed(n->a); });
    receive();
    ends();
}

// Whose answers, or data, come is at work, and sees to the rest too.
TEST_F(held, a_peer_that_is_heard_of_is_waited_for) {
    ASSERT_NO_FATAL_FAILURE(make("none"));
    learn();
    engine_access::hold_for(n->a, std::chrono::nanoseconds(0));
    n->to_b->heard_ns = UINT64_MAX / 2;
    n->a.begin_wait();
    send(); // which nobody receives
    for (int i = 0; i < 100; ++i) {
        n->a.progress();
    }
    EXPECT_EQ(learned, noticed(n->a));
    test_send other;
    test_recv to;
    other.aim(n->to_b, bytes, 2, ctx, 0, tag + 1);
    to.aim(bytes, ctx, 0, tag + 1);
    n->receive(n->b, to);
    n->send(n->a, other); // of another tag: noticed
    n->drive("the other one", [&] { return 1 == other.delivered && 1 == to.delivered; });
    EXPECT_GT(UINT64_MAX / 2, n->to_b->heard_ns);
    wait_until("now it is noticed", [&] {
        n->a.progress();
        return learned + 2 == noticed(n->a);
    });
    receive();
    ends();
    n->a.end_wait();
}

// The side that computes, and whether the other one holds its notices to it.
void held::is_noticed_where_it_computes(bool sender) {
    ASSERT_NO_FATAL_FAILURE(make("helper", sender));
    exchange(); // so they are connected
    engine &computes = sender ? n->a : n->b, &waits = sender ? n->b : n->a;
    engine_access::hold_for(waits, std::chrono::minutes(5)); // one that was held would not be noticed at all
    const std::uint64_t before = noticed(waits);
    computes.start_thread();
    for (unsigned i = 0; i < 2 * learning; ++i) {
        sender ? send() : receive(); // and goes to compute
        waits.begin_wait();
        sender ? receive() : send();
        wait_until("its thread sees to it", [&] {
            ring_eventfd(computes.wake_descriptor()); // as who got the notice, and again if that found nothing
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            waits.progress();
            return op_state::done == s.state.seen() && op_state::done == r.state.seen();
        });
        waits.end_wait();
        computes.progress();
    }
    EXPECT_EQ(0U, count(waits, stat::notices_held));
    EXPECT_EQ(before + 2 * learning, noticed(waits));
}

TEST_F(held, a_receiver_that_had_to_be_woken_is_noticed_the_next_time) { is_noticed_where_it_computes(false); }

TEST_F(held, a_sender_that_had_to_be_woken_is_noticed_the_next_time) { is_noticed_where_it_computes(true); }

} // namespace
} // namespace smartint
