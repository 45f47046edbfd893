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
    static void aim(rma_item *i, what kind, std::uint64_t bytes) {
        i->kind = kind;
        i->target_layout = rma_layout(bytes);
    }
    // One call that begins an operation. True: by message.
    bool operation(const rma_peer &to, what kind, std::uint64_t bytes) {
        rma_item i;
        aim(&i, kind, bytes);
        bursts.call_begins(&to, &i);
        const bool message = bursts.by_message(&to, &i, false);
        if (message != quick_by_message) {
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
        bursts.call_ends();
        return message;
    }
    void flush(const rma_peer &to, what kind = what::flush) {
        rma_item i;
        i.kind = kind;
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

constexpr int found = 2 * quicker::tries; // so many, and the quicker way is known

TEST_F(bursts_of_operations, the_quicker_way_stays_for_each_kind_and_size) {
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

// Most bursts are not timed once the way is known: what is like their first operation need not ask.
TEST_F(bursts_of_operations, what_is_as_the_first_goes_the_same_way_without_asking) {
    using wire::rma_kind;
    EXPECT_FALSE(bursts.again(&one, rma_kind::put, 64)) << "there is no burst";
    by_message(what::put, 64, found + 10, 10);
    int untimed = 0;
    for (int k = 0; k < 28; ++k) {
        const std::uint64_t before = timed();
        operation(one, what::put, 64);
        const bool again = bursts.again(&one, rma_kind::put, 64);
        untimed += again ? 1 : 0;
        EXPECT_FALSE(bursts.again(&other, rma_kind::put, 64));
        EXPECT_FALSE(bursts.again(&one, rma_kind::get, 64));
        EXPECT_FALSE(bursts.again(&one, rma_kind::put, 65));
        rma_item last;
        last.kind = what::flush;
        bursts.call_begins(&one, &last);
        bursts.call_ends();
        EXPECT_FALSE(bursts.again(&one, rma_kind::put, 64)) << "it is waited for";
        bursts.ended(&last);
        EXPECT_FALSE(bursts.again(&one, rma_kind::put, 64)) << "it is over";
        EXPECT_EQ(again, before == timed());
    }
    EXPECT_LT(14, untimed);
    EXPECT_GT(28, untimed) << "some are timed for ever";
    quick_by_message = false;
    by_message(what::get, 64, found + 10, 10);
    for (int k = 0; k < 8; ++k) {
        const bool message = operation(one, what::get, 64);
        EXPECT_FALSE(!message && bursts.again(&one, rma_kind::get, 64)) << "a copy has an item";
        flush(one);
    }
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
    rma_item late;
    aim(&late, what::put, 16 * kib);
    bursts.by_message(&one, &late, false); // in a pass
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
    aim(&i, what::put, 16 * kib);
    i.sync = &sync;
    bursts.call_begins(&one, &i);
    EXPECT_TRUE(bursts.by_message(&one, &i, false)) << "as usual";
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
    by_message(what::put, 16 * kib, found + 2, 0);
    rma_item i;
    aim(&i, what::put, 16 * kib);
    EXPECT_FALSE(bursts.by_message(&one, &i, false));
    flush(one);
    EXPECT_TRUE(bursts.by_message(&one, &i, true));
}

// A million operations before a flush: not all of them the way that was tried first.
TEST_F(bursts_of_operations, of_very_many_copies_in_a_row_some_are_timed) {
    EXPECT_FALSE(operation(one, what::put, 8)) << "the first way";
    quick_by_message = false; // none of the rest need take its time
    int n = 1;
    for (; n < 1000 && !operation(one, what::put, 8); ++n) {}
    EXPECT_EQ(256, n);
    EXPECT_EQ(256U, timed());
    flush(one);
    // of large ones 128 MiB
    EXPECT_FALSE(operation(other, what::put, 8192 * kib));
    flush(other);
    for (n = 1; n < 1000 && !operation(other, what::put, 8192 * kib); ++n) {}
    EXPECT_EQ(1 + 16, n);
}

TEST_F(bursts_of_operations, what_waits_behind_messages_is_of_their_burst) {
    by_message(what::put, 16 * kib, found + 2, 0);
    const std::uint64_t before = timed();
    while (!operation(one, what::put, 16 * kib)) {
        flush(one);
    }
    rma_item i;
    aim(&i, what::put, 16 * kib);
    bursts.call_begins(&one, &i);
    EXPECT_TRUE(bursts.joins_queue(&one, &i));
    bursts.call_ends();
    rma_item get;
    aim(&get, what::get, 16 * kib);
    EXPECT_FALSE(bursts.joins_queue(&one, &get));
    EXPECT_FALSE(bursts.joins_queue(&other, &i));
    flush(one);
    for (int k = 0; k < 10; ++k) {
        operation(one, what::put, 16 * kib);
        operation(one, what::put, 16 * kib);
        flush(one);
    }
    EXPECT_GT(timed(), before);
}

TEST_F(bursts_of_operations, a_local_flush_ends_gets_and_not_puts) {
    operation(one, what::put, 16 * kib);
    flush(one, what::local);
    EXPECT_EQ(0U, timed());
    operation(one, what::get, 16 * kib);
    flush(one, what::local);
    EXPECT_EQ(1U, timed());
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
