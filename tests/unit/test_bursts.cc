// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
// Receives inside a node that are timed together, and the way that they go.
#include "common_smartint_bursts.h"

#include <chrono>
#include <deque>
#include <thread>

#include "harness.h"

namespace smartint {
namespace {

using met_in = bursts::met_in;
using preference = bursts::preference;
constexpr std::uint64_t kib = 1024;

class bursts_of_receives : public testing::Test {
protected:
    bursts_of_receives() {
        p.stream_bytes = 256 * kib;
        p.timed_bytes = 1024 * kib;
    }
    // One is met; by the ring?
    bool meet(std::uint64_t bytes, met_in where, preference agreed = preference::nothing) {
        recv_op &op = open.emplace_back();
        op.received = bytes;
        return b.met(&op, where, agreed);
    }
    void receive_all() {
        for (recv_op &op : open) {
            b.received(&op);
        }
        open.clear();
    }
    std::uint64_t timed() const { return counters.get(stat::receives_timed); }

    params p;
    stats counters;
    bursts b{p, counters};
    std::deque<recv_op> open;
};

TEST_F(bursts_of_receives, larger_ones_than_are_timed_go_as_usual) {
    p.stream_bytes = 4096 * kib;
    EXPECT_TRUE(meet(2048 * kib, met_in::wait_of_both));
    EXPECT_FALSE(meet(8192 * kib, met_in::wait_of_both));
    EXPECT_FALSE(meet(2048 * kib, met_in::wait)) << "the sender does not wait";
    EXPECT_EQ(preference::ring, b.prefers(2048 * kib));
    EXPECT_EQ(preference::pieces, b.prefers(8192 * kib));
    receive_all();
    EXPECT_EQ(0U, timed());
}

TEST_F(bursts_of_receives, all_of_one_go_the_way_of_the_first) {
    for (unsigned i = 0; i < 2 * quicker::tries; ++i) {
        const bool first = meet(64 * kib, met_in::wait_of_both);
        EXPECT_EQ(first, meet(70 * kib, met_in::wait_of_both));
        if (!first) {
            EXPECT_FALSE(meet(64 * kib, met_in::wait)) << "it is read, as these are";
        }
        receive_all();
    }
    EXPECT_EQ(5U * quicker::tries, timed());
}

TEST_F(bursts_of_receives, one_that_is_met_in_a_call_or_of_another_size_tells_nothing) {
    meet(64 * kib, met_in::wait_of_both);
    meet(64 * kib, met_in::call);
    receive_all();
    meet(64 * kib, met_in::wait_of_both);
    meet(256 * kib, met_in::wait_of_both);
    receive_all();
    meet(64 * kib, met_in::wait_of_both);
    b.spoil();
    receive_all();
    meet(64 * kib, met_in::exchange, preference::ring);
    meet(64 * kib, met_in::wait); // which is read
    receive_all();
    meet(64 * kib, met_in::wait_of_both);
    open.back().failed = true;
    receive_all();
    EXPECT_EQ(0U, timed());
}

TEST_F(bursts_of_receives, what_is_agreed_is_done) {
    EXPECT_TRUE(meet(64 * kib, met_in::exchange, preference::ring));
    EXPECT_TRUE(b.in_exchange());
    EXPECT_TRUE(meet(64 * kib, met_in::exchange)) << "as the first";
    receive_all();
    EXPECT_FALSE(b.in_exchange());
    EXPECT_EQ(2U, timed());
    EXPECT_FALSE(meet(64 * kib, met_in::exchange, preference::pieces));
    EXPECT_TRUE(meet(64 * kib, met_in::exchange, preference::ring)) << "with somebody else";
    receive_all();
    EXPECT_EQ(2U, timed()) << "a mixture";
    meet(64 * kib, met_in::exchange, preference::ring);
    meet(64 * kib, met_in::wait_of_both);
    receive_all();
    EXPECT_EQ(2U, timed());
}

// Those of an exchange are apart from others, and the rank that decides goes on trying both ways.
TEST_F(bursts_of_receives, a_rank_prefers_the_same_until_it_was_timed) {
    unsigned ring = 0;
    for (unsigned i = 0; i < 2 * quicker::tries; ++i) {
        const preference mine = b.prefers(64 * kib);
        b.prefers(512 * kib); // of another size between them
        for (int k = 0; k < 3; ++k) {
            EXPECT_EQ(mine, b.prefers(100 * kib)) << "nearly the same size";
        }
        EXPECT_EQ(preference::ring == mine, meet(64 * kib, met_in::exchange, mine));
        meet(512 * kib, met_in::call);
        receive_all();
        EXPECT_EQ(mine, b.prefers(64 * kib)) << "that told nothing";
        meet(64 * kib, met_in::exchange, mine);
        receive_all();
        ring += preference::ring == mine ? 1 : 0;
    }
    EXPECT_EQ(quicker::tries, ring);
    EXPECT_EQ(2U * quicker::tries, timed());
}

// Else all would go the slower way for as long.
TEST_F(bursts_of_receives, a_trial_that_cannot_be_timed_is_given_up) {
    while (preference::ring != b.prefers(64 * kib)) {
        meet(64 * kib, met_in::exchange, preference::pieces);
        receive_all();
    }
    for (unsigned i = 0; i < quicker::tries; ++i) { // the ring is the slower one
        EXPECT_EQ(preference::ring, b.prefers(64 * kib));
        meet(64 * kib, met_in::exchange, preference::ring);
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        receive_all();
    }
    unsigned before = 0;
    for (; preference::pieces == b.prefers(64 * kib) && before < 1000; ++before) {
        meet(64 * kib, met_in::exchange, preference::pieces);
        receive_all();
    }
    EXPECT_EQ(quicker::soonest - 1, before) << "then it is tried anew";
    for (int i = 0; i < 4; ++i) {
        EXPECT_EQ(preference::ring, b.prefers(64 * kib));
        meet(64 * kib, met_in::exchange, preference::ring);
        meet(64 * kib, met_in::exchange, preference::pieces); // with somebody else
        receive_all();
    }
    EXPECT_EQ(preference::pieces, b.prefers(64 * kib));
    meet(64 * kib, met_in::exchange, preference::pieces);
    receive_all();
    EXPECT_EQ(preference::pieces, b.prefers(64 * kib)) << "for long";
}

// As one that sends and receives by different ways: its receivers find out for themselves.
TEST_F(bursts_of_receives, a_rank_that_is_never_timed_prefers_nothing) {
    const preference first = b.prefers(64 * kib);
    EXPECT_NE(preference::nothing, first);
    unsigned times = 1;
    for (; preference::nothing != b.prefers(64 * kib) && times < 100000; ++times) {}
    EXPECT_EQ(512U, times);
    EXPECT_NE(preference::nothing, b.prefers(128 * kib));
    meet(64 * kib, met_in::exchange);
    receive_all();
    EXPECT_EQ(1U, timed());
    EXPECT_NE(preference::nothing, b.prefers(64 * kib));
}

TEST_F(bursts_of_receives, one_that_never_ends_is_cut) {
    std::deque<recv_op> all(1000);
    for (std::size_t i = 0; i < all.size(); ++i) { // the next one is there before one is complete
        all[i].received = 64 * kib;
        b.met(&all[i], met_in::wait_of_both);
        if (i > 0) {
            b.received(&all[i - 1]);
        }
    }
    EXPECT_GE(timed(), 512U);
}

} // namespace
} // namespace smartint
