// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Locks that lie in a bundle with what follows them, and what goes ahead of their grants.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <vector>

#include "rma_bundles.h"

namespace smartint {
namespace {

using namespace test;

struct locks_in_bundles : bundles {
    void lock(bool exclusive = true, std::uint32_t thread = 0) {
        n.a.enter();
        n.a.one_sided().lock(p, exclusive, nullptr, thread);
        p->passing = false; // no reminder where 2 ms go by: messages are counted here
        n.a.leave();
    }
    void unlock(rma_sync *sync) {
        n.a.enter();
        n.a.one_sided().unlock(p, sync);
        n.a.leave();
    }
    // The target holds its own.
    void take_own() {
        rma_sync mine;
        n.b.enter();
        n.b.one_sided().lock(n.b.one_sided().peer(one, 1), true, &mine);
        n.b.leave();
        EXPECT_TRUE(mine.done());
    }
    void drop_own() {
        rma_sync gone;
        n.b.enter();
        n.b.one_sided().unlock(n.b.one_sided().peer(one, 1), &gone);
        n.b.leave();
        EXPECT_TRUE(gone.done());
    }
    template <class F> void passes(const char *what, F there) { // and many times what all that may go needs
        n.drive(what, there);
        for (int i = 0; i < 200; ++i) {
            n.a.progress();
            n.b.progress();
        }
    }
    rma_peer *at_target() {
        n.b.enter();
        rma_peer *q = n.b.one_sided().peer(one, 0);
        n.b.leave();
        return q;
    }
};

TEST_F(locks_in_bundles, a_short_epoch_is_one_message_and_one_answer) {
    const std::uint32_t answered = n.to_a->rma_out;
    lock();
    put(0, 0);
    submit(rma_item::what::accumulate, 1, 0, 1);
    EXPECT_EQ(0U, sent());
    rma_sync over;
    unlock(&over);
    EXPECT_EQ(1U, sent());
    n.drive("the epoch", [&] { return over.done(); });
    EXPECT_EQ(10U, cell(0));
    EXPECT_EQ(1U, n.to_a->rma_out - answered);
    EXPECT_EQ(rma_hold::none, at_target()->holds);
    EXPECT_EQ(0U, refused());
}

TEST_F(locks_in_bundles, a_get_takes_the_lock_along) {
    const std::uint32_t answered = n.to_a->rma_out;
    for (int i = 1; i < 4; ++i) {
        lock(0 == i % 2);
        submit(rma_item::what::fetch, 0, 7, 1);
        EXPECT_EQ(2U * i - 1, sent());
        const auto waits = flush();
        n.drive("the flush", [&] { return waits->done(); });
        EXPECT_EQ(5U * (i - 1), fetched[0]);
        EXPECT_EQ(rma_hold::none == at_target()->holds, false);
        EXPECT_EQ(2U * i - 1, n.to_a->rma_out - answered) << "grant and answer";
        rma_sync over;
        unlock(&over);
        n.drive("the end", [&] { return over.done(); });
    }
    EXPECT_EQ(15U, cell(7));
    EXPECT_EQ(0U, refused());
}

TEST_F(locks_in_bundles, what_stands_behind_a_lock_in_its_message_waits_for_the_grant) {
    take_own();
    lock();
    for (std::size_t i = 0; i < 4; ++i) {
        put(i, i);
    }
    submit(rma_item::what::fetch, 9, 0, 1); // takes all along
    submit(rma_item::what::get, 10, 0, 2);
    rma_sync over;
    unlock(&over);
    passes("all of it waits there", [&] { return 0 != at_target()->kept_bytes; });
    EXPECT_FALSE(over.done());
    EXPECT_EQ(0U, cell(0)) << "the lock is another's";
    drop_own();
    n.drive("the epoch", [&] { return over.done(); });
    EXPECT_EQ(5U, fetched[9]);
    EXPECT_EQ(10U, fetched[10]);
    EXPECT_EQ(5U, fetched[11]);
    EXPECT_EQ(5U, cell(3));
    EXPECT_EQ(0U, at_target()->kept_bytes);
    EXPECT_EQ(0U, refused());
}

TEST_F(locks_in_bundles, epochs_in_a_row_keep_their_order) {
    std::deque<rma_sync> over(20);
    for (std::size_t i = 0; i < over.size(); ++i) { // requests of MPIX_Win_iunlock, and nothing waited for between
        values[i] = i;
        lock(0 == i % 3);
        put(i, 0);
        submit(rma_item::what::get, 20 + i, 0, 1);
        unlock(&over[i]);
    }
    n.drive("all", [&] { return over.back().done(); });
    for (std::size_t i = 0; i < over.size(); ++i) {
        EXPECT_TRUE(over[i].done());
    }
    EXPECT_EQ(over.size() - 1, cell(0));
    EXPECT_EQ(rma_hold::none, at_target()->holds);
    EXPECT_EQ(0U, refused());
}

TEST_F(locks_in_bundles, more_than_may_go_ahead_sends_the_lock_and_waits) {
    take_own();
    lock();
    for (std::size_t i = 0; i < 1000; ++i) {
        values[i] = i;
        put(i, i % 50, 1 + i % 3);
    }
    rma_sync over;
    unlock(&over);
    passes("its lock waits there", [&] { return at_target()->lock_pending; });
    EXPECT_TRUE(at_target()->lock_pending);
    EXPECT_EQ(0U, refused()) << "no more than the target keeps";
    drop_own();
    n.drive("the epoch", [&] { return over.done(); });
    EXPECT_EQ(950U, cell(0));
    EXPECT_EQ(0U, refused());
}

// As the osc component makes them: without an item where that can be.
TEST_F(locks_in_bundles, stores_without_an_item_go_ahead_no_further_than_a_target_keeps) {
    for (const std::size_t bytes : {4U, 18U, 154U, 466U, 4000U}) {
        const std::size_t many = std::min<std::size_t>(1000, target_bytes.size() / bytes);
        std::vector<byte> data(many * bytes);
        for (std::size_t i = 0; i < data.size(); ++i) {
            data[i] = static_cast<byte>(i * 7 + i / 251 + bytes);
        }
        std::fill(target_bytes.begin(), target_bytes.end(), byte{0});
        take_own();
        lock();
        for (std::size_t i = 0; i < many; ++i) {
            byte *from = data.data() + i * bytes;
            const std::uint64_t to = reinterpret_cast<std::uint64_t>(target_bytes.data()) + i * bytes;
            n.a.enter();
            if (!n.a.one_sided().try_bundled(p, wire::rma_kind::put, rma_operator::replace, rma_type::bytes, from, to,
                                             bytes)) {
                rma_item *x = rma::make(rma_item::what::put);
                x->target = to;
                x->origin = from;
                x->target_layout = x->origin_layout = rma_layout(bytes);
                n.a.one_sided().submit(p, x);
            }
            n.a.leave();
        }
        rma_sync over;
        unlock(&over);
        passes("its lock waits there", [&] { return at_target()->lock_pending; });
        EXPECT_TRUE(at_target()->lock_pending);
        EXPECT_LE(p->ahead, wire::rma_ahead_bytes);
        EXPECT_LT(wire::rma_ahead_bytes / 2, p->ahead);
        drop_own();
        n.drive("the epoch", [&] { return over.done(); });
        EXPECT_EQ(0, std::memcmp(data.data(), target_bytes.data(), data.size())) << bytes << " bytes each";
        EXPECT_EQ(0U, refused()) << "no more than the target keeps";
    }
}

TEST_F(locks_in_bundles, once_a_lock_is_gone_nothing_stays_behind) {
    p->ep->max_payload = 4096; // which fills before the target's limit is reached
    take_own();
    lock();
    for (std::size_t i = 0; i < 2000 && p->lock_bundled; ++i) {
        put(i, i);
    }
    EXPECT_FALSE(p->lock_bundled);
    EXPECT_LT(0U, sent());
    EXPECT_TRUE(p->bundle.empty()) << "its origin may compute from now on";
    drop_own();
    rma_sync over;
    unlock(&over);
    n.drive("the epoch", [&] { return over.done(); });
    EXPECT_EQ(0U, refused());
}

TEST_F(locks_in_bundles, one_that_another_waits_for_goes) {
    std::vector<byte> more(64);
    rma_window *third = make_window(n.a, 11, 0, {member_of(n.a.add_self(), own), member_of(n.to_b, more)}, false);
    rma_window *fourth = make_window(n.b, 11, 1, {member_of(n.to_a, own), member_of(n.b.add_self(), more)}, false);
    lock(true, 1);
    EXPECT_EQ(0U, sent());
    n.a.enter();
    rma_peer *q = n.a.one_sided().peer(third, 1);
    n.a.one_sided().lock(q, true, nullptr, 1); // of the same thread: asked for when the first is held
    n.a.leave();
    EXPECT_EQ(1U, sent());
    rma_sync over, other;
    unlock(&over);
    n.a.enter();
    n.a.one_sided().unlock(q, &other);
    n.a.leave();
    n.drive("both", [&] { return over.done() && other.done(); });
    destroy_window(n.a, third);
    destroy_window(n.b, fourth);
}

// The first is held before the second is asked for, and its thread sees to both while the application computes.
TEST(locks_in_a_row, the_thread_asks_for_the_next_one) {
    network_pair n(test_params("helper"));
    std::vector<byte> own(64), memory(2 * 64);
    rma_window *at_a[2], *at_b[2];
    rma_peer *to[2];
    const std::uint64_t value = 4711;
    for (unsigned i : {0U, 1U}) {
        rma_member far = member_of(n.to_b, memory), here = member_of(n.b.add_self(), memory);
        at_a[i] = make_window(n.a, window_id + i, 0, {member_of(n.a.add_self(), own), far}, false);
        at_b[i] = make_window(n.b, window_id + i, 1, {member_of(n.to_a, own), here}, false);
        n.a.enter();
        to[i] = n.a.one_sided().peer(at_a[i], 1);
        n.a.leave();
    }
    const auto cell = [&](std::size_t i) {
        std::uint64_t v = 0;
        std::memcpy(&v, memory.data() + i * sizeof(v), sizeof(v));
        return v;
    };
    const auto epochs = [&](std::size_t at, rma_sync *over) { // the gate is held
        rma &r = n.a.one_sided();
        for (unsigned i : {0U, 1U}) {
            r.lock(to[i], true, nullptr, 1);
            rma_item *x = rma::make(rma_item::what::put);
            x->target = reinterpret_cast<std::uint64_t>(memory.data()) + (at + i) * sizeof(value);
            x->target_layout = x->origin_layout = rma_layout(sizeof(value));
            x->origin = reinterpret_cast<byte *>(const_cast<std::uint64_t *>(&value));
            r.submit(to[i], x);
        }
        for (unsigned i : {0U, 1U}) {
            r.unlock(to[i], &over[i]);
        }
    };
    rma_sync first[2], second[2];
    n.a.enter();
    epochs(0, first);
    n.a.leave();
    n.drive("the first epochs, and the connection", [&] { return first[0].done() && first[1].done(); });
    n.a.start_thread();
    wait_until("its thread sleeps", [&] { return engine_access::parked(n.a); });
    n.a.enter();
    epochs(2, second);
    n.a.leave(); // and no call more
    wait_until("both stores", [&] {
        n.b.progress();
        return value == cell(3);
    });
    n.drive("the ends", [&] { return ended(n.a, second[0]) && ended(n.a, second[1]); });
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(value, cell(i));
    }
    n.a.stop_thread();
    for (unsigned i : {0U, 1U}) {
        destroy_window(n.a, at_a[i]);
        destroy_window(n.b, at_b[i]);
    }
}

} // namespace
} // namespace smartint
