// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// What is timed of one-sided operations inside a node, and what follows from it.
#include "common_smartint_rma_bursts.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "common_smartint_rma.h"

namespace smartint {
namespace {

using what = rma_item::what;
constexpr std::uint64_t kib = 1024;

class bursts_of_operations : public testing::Test {
protected:
    // One call that begins an operation. True: by message. `quick` is the way that takes less time.
    bool operation(const rma_peer &to, what kind, std::uint64_t bytes, bool in_call = true) {
        rma_item i;
        i.kind = kind;
        i.target_layout = rma_layout(bytes);
        bursts.call_begins(&to, &i);
        const bool message = bursts.by_message(&to, &i, in_call, false);
        if (message != quick_by_message) {
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
        bursts.call_ends();
        return message;
    }
    void flush(const rma_peer &to) {
        rma_item i;
        i.kind = what::flush;
        bursts.call_begins(&to, &i);
        bursts.call_ends();
        bursts.ended(&i);
    }
    std::uint64_t timed() const { return counters.get(stat::rma_timed); }
    // Each in a burst of its own; how many of the last ones went by message.
    int by_message(what kind, std::uint64_t bytes, int times, int last) {
        int n = 0;
        for (int k = 0; k < times; ++k) {
            const bool message = operation(one, kind, bytes);
            n += message && k >= times - last ? 1 : 0;
            flush(one);
        }
        return n;
    }

    params p;
    stats counters;
    rma_bursts bursts{p, counters};
    rma_peer one, other;
    bool quick_by_message = true;
};

TEST_F(bursts_of_operations, the_quicker_way_stays_for_each_kind_and_size) {
    constexpr int found = 2 * quicker::tries;
    EXPECT_EQ(10, by_message(what::put, 16 * kib, found + 10, 10));
    EXPECT_EQ(10, by_message(what::fetch, 8, found + 10, 10));
    quick_by_message = false;
    EXPECT_EQ(0, by_message(what::get, 16 * kib, found + 10, 10));
    EXPECT_EQ(0, by_message(what::put, 128 * kib, found + 10, 10));
    EXPECT_EQ(0, by_message(what::accumulate, 8, found + 10, 10));
    EXPECT_GE(timed(), 5U * found);
    EXPECT_TRUE(operation(one, what::put, 16 * kib)) << "as before";
}

TEST_F(bursts_of_operations, all_of_one_go_the_same_way) {
    for (int k = 0; k < 20; ++k) {
        const bool first = operation(one, what::put, 16 * kib);
        for (int n = 0; n < 5; ++n) {
            EXPECT_EQ(first, operation(one, what::put, 20 * kib));
        }
        flush(one);
    }
    EXPECT_GE(timed(), 6U * 2 * quicker::tries);
}

TEST_F(bursts_of_operations, a_mixture_tells_nothing) {
    operation(one, what::put, 16 * kib);
    operation(other, what::put, 16 * kib); // to two targets
    flush(one);
    operation(one, what::put, 16 * kib);
    operation(one, what::get, 16 * kib); // both ways
    flush(one);
    operation(one, what::put, 16 * kib);
    operation(one, what::put, 256 * kib); // of different sizes
    flush(one);
    operation(one, what::put, 16 * kib);
    operation(one, what::put, 16 * kib, false); // made in a pass
    flush(one);
    operation(one, what::put, 16 * kib);
    bursts.spoil();
    flush(one);
    operation(one, what::put, 16 * kib);
    bursts.forget(&one); // its window is freed
    flush(one);
    EXPECT_EQ(0U, timed());
    operation(one, what::put, 16 * kib);
    bursts.all_done(&one); // a flush that has nothing to wait for
    EXPECT_EQ(1U, timed());
}

TEST_F(bursts_of_operations, what_a_request_waits_for_is_not_timed) {
    int user = 0;
    rma_sync sync;
    sync.user = &user;
    rma_item i;
    i.kind = what::put;
    i.target_layout = rma_layout(16 * kib);
    i.sync = &sync;
    bursts.call_begins(&one, &i);
    EXPECT_TRUE(bursts.by_message(&one, &i, true, false)) << "as usual";
    bursts.call_ends();
    flush(one);
    operation(one, what::put, 16 * kib);
    rma_item iflush;
    iflush.kind = what::flush;
    iflush.sync = &sync;
    bursts.call_begins(&one, &iflush);
    bursts.call_ends();
    bursts.ended(&iflush);
    flush(one);
    EXPECT_EQ(0U, timed());
}

TEST_F(bursts_of_operations, behind_messages_all_goes_by_message) {
    quick_by_message = false;
    by_message(what::put, 16 * kib, 10, 0);
    rma_item i;
    i.kind = what::put;
    i.target_layout = rma_layout(16 * kib);
    EXPECT_FALSE(bursts.by_message(&one, &i, true, false));
    flush(one);
    EXPECT_TRUE(bursts.by_message(&one, &i, true, true));
}

TEST_F(bursts_of_operations, untimed_the_size_decides) {
    p.timed_bytes = 0;
    p.stream_bytes = 100000;
    for (int k = 0; k < 10; ++k) {
        EXPECT_TRUE(operation(one, what::put, 100000));
        flush(one);
        EXPECT_FALSE(operation(one, what::get, 100001));
        flush(one);
    }
    EXPECT_EQ(0U, timed());
}

} // namespace
} // namespace smartint
