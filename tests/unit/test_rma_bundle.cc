// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Small stores, gets and fetches towards another node: several in one message, in order, and none of them later than
// what waits for it; and their answers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "harness_exchange.h"

namespace smartint {
namespace {

using namespace test;
using std::byte;

constexpr std::uint32_t window_id = 9;
constexpr std::size_t cells = 4096;

struct bundles : testing::Test {
    bundles() : n(test_params("none")) {
        zero = make_window(n.a, window_id, 0, {member_of(n.a.add_self(), own), member_of(n.to_b, memory())}, false);
        one = make_window(n.b, window_id, 1, {member_of(n.to_a, own), member_of(n.b.add_self(), memory())}, false);
        n.a.enter();
        p = n.a.one_sided().peer(zero, 1);
        n.a.leave();
        put(0, cells - 1); // the connection is made
        flushed();
        std::fill(target_bytes.begin(), target_bytes.end(), byte{0});
        sent_before = p->ep->rma_out;
        served_before = count(n.b, stat::rma_served);
    }
    ~bundles() override {
        destroy_window(n.a, zero);
        destroy_window(n.b, one);
    }
    std::vector<byte> &memory() {
        target_bytes.resize(cells * sizeof(std::uint64_t));
        return target_bytes;
    }
    std::uint64_t cell(std::size_t i) {
        std::uint64_t v = 0;
        std::memcpy(&v, target_bytes.data() + i * sizeof(v), sizeof(v));
        return v;
    }
    // operation: of values[from] and those behind it, to the cells from `to` on
    void submit(rma_item::what kind, std::size_t from, std::size_t to, std::size_t count, rma_sync *sync = nullptr) {
        n.a.enter();
        rma_item *i = rma::make(kind, sync);
        const rma_layout layout(count * sizeof(std::uint64_t));
        i->target = reinterpret_cast<std::uint64_t>(target_bytes.data()) + to * sizeof(std::uint64_t);
        i->target_layout = layout;
        i->op = rma_operator::sum;
        i->type = rma_type::i64;
        i->origin = reinterpret_cast<byte *>(values.data() + from);
        i->origin_layout = layout;
        i->result = reinterpret_cast<byte *>(fetched.data() + from);
        i->result_layout = layout;
        n.a.one_sided().submit(p, i);
        n.a.leave();
    }
    void put(std::size_t from, std::size_t to, std::size_t count = 1) { submit(rma_item::what::put, from, to, count); }
    std::unique_ptr<rma_sync> flush() {
        auto sync = std::make_unique<rma_sync>();
        n.a.enter();
        n.a.one_sided().flush(p, sync.get());
        n.a.leave();
        return sync;
    }
    void flushed() {
        const auto sync = flush();
        n.drive("a flush", [&] { return sync->done(); });
        EXPECT_EQ(rma_error::none, sync->error);
    }
    std::uint32_t sent() { return p->ep->rma_out - sent_before; }
    std::uint64_t served() { return count(n.b, stat::rma_served) - served_before; }
    std::uint64_t refused() { return count(n.b, stat::refused_messages); }

    network_pair n;
    std::vector<std::uint64_t> values = std::vector<std::uint64_t>(cells, 5);
    std::vector<std::uint64_t> fetched = std::vector<std::uint64_t>(cells);
    std::vector<byte> own = std::vector<byte>(64);
    std::vector<byte> target_bytes;
    std::uint32_t sent_before = 0;
    std::uint64_t served_before = 0;
    rma_window *zero = nullptr;
    rma_window *one = nullptr;
    rma_peer *p = nullptr;
};

TEST_F(bundles, stores_and_the_flush_behind_them_are_one_message) {
    for (std::size_t i = 0; i < 8; ++i) {
        values[i] = 100 + i;
        put(i, 2 * i);
    }
    submit(rma_item::what::accumulate, 100, 0, 1);
    EXPECT_EQ(0U, sent());
    EXPECT_FALSE(rma::settled(p));
    values[0] = 1; // what was put is a copy
    flushed();
    EXPECT_EQ(1U, sent());
    EXPECT_EQ(10U, served());
    EXPECT_EQ(105U, cell(0)) << "in order";
    for (std::size_t i = 1; i < 8; ++i) {
        EXPECT_EQ(100 + i, cell(2 * i));
        EXPECT_EQ(0U, cell(2 * i - 1));
    }
    EXPECT_TRUE(rma::settled(p));
}

TEST_F(bundles, a_fetch_takes_them_along_and_sees_them) {
    values[0] = 40;
    put(0, 3);
    submit(rma_item::what::accumulate, 1, 3, 1);
    rma_sync sync;
    submit(rma_item::what::fetch, 2, 3, 1, &sync);
    EXPECT_EQ(1U, sent());
    n.drive("the fetch", [&] { return sync.done(); });
    EXPECT_EQ(45U, fetched[2]);
    EXPECT_EQ(50U, cell(3));
    flushed();
    EXPECT_EQ(2U, sent()) << "the stores want an answer of their own";
}

TEST_F(bundles, what_is_fetched_wants_no_flush_of_its_own) {
    rma_sync sync;
    submit(rma_item::what::fetch, 2, 3, 1, &sync);
    submit(rma_item::what::get, 4, 3, 1);
    EXPECT_EQ(1U, sent()) << "the second waits for others";
    const auto waits = flush();
    EXPECT_FALSE(waits->done());
    n.drive("the flush", [&] { return waits->done(); });
    EXPECT_TRUE(sync.done());
    EXPECT_EQ(5U, fetched[4]);
    EXPECT_EQ(2U, sent());
}

TEST_F(bundles, gets_behind_the_first_go_together_and_so_do_their_answers) {
    for (std::size_t i = 0; i < 8; ++i) {
        put(i, i);
    }
    flushed();
    const std::uint32_t before = sent();
    const std::uint32_t answered = n.to_a->rma_out;
    for (std::size_t i = 0; i < 6; ++i) {
        submit(0 == i % 2 ? rma_item::what::get : rma_item::what::fetch, i, i, 1);
    }
    EXPECT_EQ(before + 1, sent()) << "the first at once";
    const auto waits = flush();
    EXPECT_EQ(before + 2, sent()) << "the others with whoever waits for them, who needs no message of its own";
    EXPECT_FALSE(waits->done());
    n.drive("the flush", [&] { return waits->done(); });
    EXPECT_LE(n.to_a->rma_out - answered, 2U);
    for (std::size_t i = 0; i < 6; ++i) {
        EXPECT_EQ(5U, fetched[i]);
        EXPECT_EQ(0 == i % 2 ? 5U : 10U, cell(i));
    }
    EXPECT_TRUE(rma::settled(p));
}

TEST_F(bundles, an_ack_goes_with_the_answers_before_it) {
    const std::uint32_t answered = n.to_a->rma_out;
    fetched[0] = fetched[4] = 1;
    submit(rma_item::what::get, 0, 3, 2);
    n.drive("the first get", [&] { return p->gets_done == p->gets_begun; });
    submit(rma_item::what::get, 0, 3, 2);
    put(2, 10);
    submit(rma_item::what::get, 4, 3, 1);
    flushed();
    EXPECT_EQ(0U, fetched[0]);
    EXPECT_EQ(0U, fetched[4]);
    EXPECT_EQ(5U, cell(10));
    EXPECT_LE(n.to_a->rma_out - answered, 3U);
}

TEST_F(bundles, a_flush_at_the_origin_alone_sends_gets) {
    submit(rma_item::what::get, 0, 0, 1);
    submit(rma_item::what::get, 1, 1, 1);
    EXPECT_EQ(1U, sent());
    rma_sync local;
    n.a.enter();
    n.a.one_sided().flush_local(p, &local);
    n.a.leave();
    EXPECT_EQ(2U, sent());
    n.drive("both", [&] { return local.done(); });
    EXPECT_EQ(p->gets_begun, p->gets_done);
}

TEST_F(bundles, a_get_that_a_request_tells_of_takes_those_before_it_along) {
    submit(rma_item::what::get, 0, 0, 1);
    submit(rma_item::what::get, 1, 1, 1);
    EXPECT_EQ(1U, sent());
    unsigned told = 0;
    n.a.hooks().rma_done = [](void *user, rma_error) { ++*static_cast<unsigned *>(user); };
    rma_sync request;
    request.user = &told;
    submit(rma_item::what::get, 2, 2, 1, &request);
    EXPECT_EQ(2U, sent()) << "who has a request may wait for it much later";
    n.drive("the request", [&] { return 1 == told; });
    n.drive("all", [&] { return p->gets_begun == p->gets_done; });
}

TEST_F(bundles, so_many_gets_are_worth_a_message) {
    for (std::size_t i = 0; i < 100; ++i) {
        submit(rma_item::what::get, i, i, 1);
    }
    EXPECT_GT(sent(), 4U) << "the target can begin with the first";
    EXPECT_LT(sent(), 20U);
    flushed();
    EXPECT_EQ(p->gets_begun, p->gets_done);
}

TEST_F(bundles, a_store_without_an_item_keeps_its_place_among_others) {
    const auto quick = [&](std::size_t from, std::size_t to) {
        n.a.enter();
        const bool did = n.a.one_sided().try_bundled(
            p, wire::rma_kind::put, rma_operator::replace, rma_type::bytes, reinterpret_cast<byte *>(&values[from]),
            reinterpret_cast<std::uint64_t>(target_bytes.data()) + to * sizeof(std::uint64_t), sizeof(std::uint64_t));
        n.a.leave();
        return did;
    };
    values[0] = 1;
    values[1] = 2;
    values[2] = 3;
    EXPECT_FALSE(quick(0, 0)) << "the first has an item";
    put(0, 0);
    EXPECT_TRUE(quick(1, 0));
    EXPECT_TRUE(quick(2, 1));
    submit(rma_item::what::accumulate, 2, 0, 1);
    EXPECT_FALSE(rma::settled(p));
    EXPECT_EQ(0U, sent());
    flushed();
    EXPECT_EQ(1U, sent());
    EXPECT_EQ(5U, cell(0));
    EXPECT_EQ(3U, cell(1));
    put(0, 5);
    rma_sync posted, over; // what comes now belongs to the next epoch
    n.a.enter();
    n.a.one_sided().await_post(p, &posted);
    n.a.leave();
    EXPECT_FALSE(quick(1, 5));
    n.b.enter();
    n.b.one_sided().post(one, {0}, false, false);
    n.b.leave();
    n.drive("the post", [&] { return posted.done(); });
    n.a.enter();
    n.a.one_sided().complete(p, &over);
    n.a.leave();
    rma_sync ended;
    n.b.enter();
    n.b.one_sided().wait(one, &ended);
    n.b.leave();
    n.drive("its end", [&] { return over.done() && ended.done(); });
    EXPECT_EQ(1U, cell(5));
}

// The target of this process's gets may be asking for its lock: what it answers is not for then.
TEST_F(bundles, answers_come_through_while_their_sender_waits_for_a_lock) {
    rma_sync mine;
    n.a.enter();
    rma_peer *self = n.a.one_sided().peer(zero, 0);
    n.a.one_sided().lock(self, true, &mine);
    n.a.leave();
    ASSERT_TRUE(mine.done());
    rma_sync lock;
    n.b.enter();
    n.b.one_sided().lock(n.b.one_sided().peer(one, 0), true, &lock);
    n.b.leave();
    n.drive("the question", [&] { return p->lock_pending; });
    for (std::size_t i = 0; i < 4; ++i) {
        submit(rma_item::what::get, i, i, 1);
    }
    flushed();
    EXPECT_FALSE(lock.done());
    rma_sync gone;
    n.a.enter();
    n.a.one_sided().unlock(self, &gone);
    n.a.leave();
    n.drive("the lock", [&] { return lock.done(); });
    rma_sync back;
    n.b.enter();
    n.b.one_sided().unlock(n.b.one_sided().peer(one, 0), &back);
    n.b.leave();
    n.drive("its end", [&] { return back.done(); });
}

TEST_F(bundles, the_next_pass_sends_what_nothing_waits_for) {
    values[0] = 77;
    put(0, 1);
    EXPECT_EQ(0U, sent());
    n.a.progress();
    EXPECT_EQ(1U, sent());
    n.drive("the store", [&] { return 77 == cell(1); });
    EXPECT_FALSE(rma::settled(p));
    flushed();
    EXPECT_EQ(2U, sent());
}

TEST_F(bundles, more_than_one_message_has_room_for_goes_in_order) {
    for (std::size_t i = 0; i < cells; ++i) {
        values[i] = i;
    }
    for (std::size_t i = 0; i < 2000; ++i) {
        put(i, i % 7, 1 + i % 3);
    }
    EXPECT_GT(sent(), 2U);
    EXPECT_LT(sent(), 200U);
    flushed();
    EXPECT_EQ(2001U, served());
    std::vector<std::uint64_t> model(cells);
    for (std::size_t i = 0; i < 2000; ++i) {
        for (std::size_t k = 0; k < 1 + i % 3; ++k) {
            model[i % 7 + k] = i + k;
        }
    }
    for (std::size_t i = 0; i < 10; ++i) {
        EXPECT_EQ(model[i], cell(i)) << i;
    }
}

TEST_F(bundles, a_large_one_goes_behind_those_before_it) {
    put(0, 10);
    values[1] = 9;
    values[2] = 11;
    put(1, 0, 600); // cell 10 too
    EXPECT_EQ(2U, sent());
    put(2, 10);
    flushed();
    EXPECT_EQ(3U, sent());
    EXPECT_EQ(9U, cell(0));
    EXPECT_EQ(11U, cell(10));
    EXPECT_EQ(5U, cell(11));
}

TEST_F(bundles, behind_a_lock_that_is_not_granted_a_target_keeps_no_more_than_it_allows) {
    rma_sync mine;
    n.b.enter(); // the target holds its own lock
    rma_peer *self = n.b.one_sided().peer(one, 1);
    n.b.one_sided().lock(self, true, &mine);
    n.b.leave();
    ASSERT_TRUE(mine.done());
    rma_sync lock;
    n.a.enter();
    n.a.one_sided().lock(p, true, &lock);
    n.a.leave();
    for (std::size_t i = 0; i < 1000; ++i) {
        values[i] = i;
        put(i, i % 50);
    }
    rma_sync unlock;
    n.a.enter();
    n.a.one_sided().unlock(p, &unlock);
    n.a.leave();
    for (int i = 0; i < 200; ++i) {
        n.a.progress();
        n.b.progress();
    }
    EXPECT_FALSE(unlock.done());
    EXPECT_EQ(0U, cell(1)) << "the lock is another's";
    EXPECT_EQ(0U, refused());
    rma_sync gone;
    n.b.enter();
    n.b.one_sided().unlock(self, &gone);
    n.b.leave();
    n.drive("the epoch", [&] { return lock.done() && unlock.done(); });
    for (std::size_t i = 0; i < 50; ++i) {
        EXPECT_EQ(950 + i, cell(i));
    }
    EXPECT_EQ(0U, refused());
}

TEST_F(bundles, a_target_is_told_where_one_finds_no_room) {
    for (unsigned k = 0; k < 200000 && !p->stuck; ++k) {
        put(0, 1, 200);
        n.a.progress();
    }
    ASSERT_TRUE(p->stuck);
    EXPECT_EQ(p->ep->rma_out + 1, p->told);
    flushed();
    EXPECT_EQ(5U, cell(200));
}

TEST_F(bundles, those_of_a_lost_peer_are_forgotten) {
    put(0, 1);
    n.a.enter();
    engine_access::lose(n.a, n.to_b);
    n.a.leave();
    n.a.progress();
    EXPECT_TRUE(p->bundle.empty());
    const auto sync = flush();
    EXPECT_TRUE(sync->done());
    EXPECT_EQ(rma_error::lost, sync->error);
}

// ---- locks, and what goes ahead of the grant

struct locks_in_bundles : bundles {
    void lock(bool exclusive = true, std::uint32_t thread = 0) {
        n.a.enter();
        n.a.one_sided().lock(p, exclusive, nullptr, thread);
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
    for (int i = 0; i < 200; ++i) {
        n.a.progress();
        n.b.progress();
    }
    EXPECT_FALSE(over.done());
    EXPECT_EQ(0U, cell(0)) << "the lock is another's";
    EXPECT_LT(0U, at_target()->kept_bytes);
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
    for (int i = 0; i < 200; ++i) {
        n.a.progress();
        n.b.progress();
    }
    EXPECT_TRUE(at_target()->lock_pending);
    EXPECT_EQ(0U, refused()) << "no more than the target keeps";
    drop_own();
    n.drive("the epoch", [&] { return over.done(); });
    EXPECT_EQ(950U, cell(0));
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

// The application computes and makes no call.
TEST(bundles_by_the_clock, the_thread_sends_what_the_application_left) {
    params with = test_params("helper");
    with.left_us = 2000;
    network_pair n(with);
    std::vector<byte> own(64), memory(64);
    rma_window *zero = make_window(n.a, window_id, 0, {member_of(n.a.add_self(), own), member_of(n.to_b, memory)});
    rma_window *one = make_window(n.b, window_id, 1, {member_of(n.to_a, own), member_of(n.b.add_self(), memory)});
    const std::uint64_t value = 4711;
    const auto cell = [&](std::size_t i) {
        std::uint64_t v = 0;
        std::memcpy(&v, memory.data() + i * sizeof(v), sizeof(v));
        return v;
    };
    rma_peer *p = nullptr;
    const auto put = [&](std::size_t i, bool locked) {
        n.a.enter();
        p = n.a.one_sided().peer(zero, 1);
        if (locked) {
            n.a.one_sided().lock(p, true, nullptr);
        }
        rma_item *x = rma::make(rma_item::what::put);
        x->target = reinterpret_cast<std::uint64_t>(memory.data()) + i * sizeof(value);
        x->target_layout = x->origin_layout = rma_layout(sizeof(value));
        x->origin = reinterpret_cast<byte *>(const_cast<std::uint64_t *>(&value));
        n.a.one_sided().submit(p, x);
        n.a.leave();
    };
    const auto ended = [&](bool unlocks) {
        rma_sync sync;
        n.a.enter();
        if (unlocks) {
            n.a.one_sided().unlock(p, &sync);
        } else {
            n.a.one_sided().flush(p, &sync);
        }
        n.a.leave();
        n.drive("its end", [&] { return sync.done(); });
    };
    put(0, false);
    ended(false); // the connection is there
    n.a.start_thread();
    wait_until("its thread sleeps", [&] { return engine_access::parked(n.a); });
    for (std::size_t i = 1; i < 4; ++i) {
        const bool locked = 3 == i;
        put(i, locked);
        wait_until("what was left", [&] {
            n.b.progress();
            return value == cell(i);
        });
        ended(locked);
        EXPECT_EQ(i, count(n.a, stat::wakes_timer)) << "once each";
        wait_until("it sleeps again", [&] { return engine_access::parked(n.a); });
    }
    n.a.stop_thread();
    destroy_window(n.a, zero);
    destroy_window(n.b, one);
}

// A peer of the same job is not trusted with what it says of its parts.
TEST_F(bundles, one_that_is_no_bundle_is_refused_from_there_on) {
    struct part {
        wire::rma_part what;
        wire::rma_head head;
        rma_run run;
        std::uint64_t data[2];
    };
    static_assert(0 == sizeof(part) % wire::rma_part_step);
    struct {
        wire::rma_head head;
        part parts[2];
    } m{};
    m.head.name = name_of(0);
    m.head.window = window_id;
    m.head.kind = wire::rma_kind::bundle;
    for (part &x : m.parts) {
        x.what.bytes = sizeof(part) - sizeof(x.what) - sizeof(x.data[1]);
        x.head.kind = wire::rma_kind::put;
        x.head.runs = 1;
        x.run = {static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(target_bytes.data())), 8, 8, 1};
        x.data[0] = 3;
    }
    m.parts[1].run.offset += 8;
    const auto good = m;
    const auto arrive = [&](std::size_t bytes = sizeof(m)) {
        std::vector<byte> message(bytes); // its end is where the sanitizer looks
        std::memcpy(message.data(), &m, bytes);
        std::fill(target_bytes.begin(), target_bytes.end(), byte{0});
        const std::uint64_t before = refused();
        n.b.enter();
        engine_access::dispatch(n.b, n.to_a, wire::rma, message.data(), static_cast<std::uint32_t>(bytes));
        n.b.leave();
        m = good;
        return refused() - before;
    };
    EXPECT_EQ(0U, arrive());
    EXPECT_EQ(3U, cell(0));
    EXPECT_EQ(3U, cell(1));
    EXPECT_EQ(0U, arrive(sizeof(m) - sizeof(std::uint64_t))) << "the last need not be filled up";
    EXPECT_EQ(3U, cell(1));
    EXPECT_EQ(0U, arrive(sizeof(m.head))) << "nothing in it";
    const auto second = [&](auto change) {
        change(m.parts[1]);
        EXPECT_EQ(1U, arrive());
        EXPECT_EQ(3U, cell(0)) << "those before it are as good as by themselves";
        EXPECT_EQ(0U, cell(1));
    };
    second([](part &x) { x.what.bytes = 0; });
    second([](part &x) { x.what.bytes = sizeof(x.head) - 1; });
    second([](part &x) { x.what.bytes = sizeof(part) - sizeof(x.what) + 1; });
    second([](part &x) { x.what.bytes = ~0U; });
    second([](part &x) { x.head.runs = 2; });
    second([](part &x) { x.head.runs = ~0U; });
    for (const auto kind : {wire::rma_kind::none, wire::rma_kind::grant, wire::rma_kind::bundle, wire::rma_kind::ack,
                            wire::rma_kind::data, wire::rma_kind::barrier, wire::rma_kind::count_}) {
        second([&](part &x) { x.head.kind = kind; });
    }
    EXPECT_EQ(1U, arrive(sizeof(m) - sizeof(part) + 4)) << "cut in a length";
    EXPECT_EQ(1U, arrive(sizeof(m) - 2 * sizeof(std::uint64_t))) << "cut in a message";
    m.parts[1].run.offset = 8; // outside: no malformed message, but its sender is told
    EXPECT_EQ(0U, arrive());
    EXPECT_EQ(1U, count(n.b, stat::rma_refused));
}

// The same where a part says all that a message would.
TEST_F(bundles, brief_parts_that_cannot_be_are_refused_from_there_on) {
    struct part {
        wire::rma_part what;
        std::uint64_t data[2];
    };
    struct {
        wire::rma_head head;
        part parts[2];
    } m{};
    m.head.name = name_of(0);
    m.head.window = window_id;
    m.head.kind = wire::rma_kind::bundle;
    for (part &x : m.parts) {
        x.what = {8, wire::rma_kind::put, 0, 0, 0, reinterpret_cast<std::uintptr_t>(target_bytes.data())};
        x.data[0] = 3;
    }
    m.parts[1].what.at += 8;
    const auto good = m;
    const auto arrive = [&](std::size_t bytes = sizeof(m)) {
        std::vector<byte> message(bytes); // its end is where the sanitizer looks
        std::memcpy(message.data(), &m, bytes);
        std::fill(target_bytes.begin(), target_bytes.end(), byte{0});
        const std::uint64_t before = refused();
        n.b.enter();
        engine_access::dispatch(n.b, n.to_a, wire::rma, message.data(), static_cast<std::uint32_t>(bytes));
        n.b.leave();
        m = good;
        return refused() - before;
    };
    EXPECT_EQ(0U, arrive());
    EXPECT_EQ(3U, cell(0));
    EXPECT_EQ(3U, cell(1));
    EXPECT_EQ(0U, arrive(sizeof(m) - sizeof(std::uint64_t))) << "the last need not be filled up";
    EXPECT_EQ(3U, cell(1));
    const auto second = [&](auto change) {
        change(m.parts[1]);
        EXPECT_EQ(1U, arrive());
        EXPECT_EQ(3U, cell(0)) << "those before it are as good as by themselves";
        EXPECT_EQ(0U, cell(1));
    };
    second([](part &x) { x.what.bytes = 17; });
    second([](part &x) { x.what.bytes = ~0U; });
    for (const auto kind : {wire::rma_kind::grant, wire::rma_kind::bundle, wire::rma_kind::answers, wire::rma_kind::ack,
                            wire::rma_kind::data, wire::rma_kind::barrier, wire::rma_kind::count_}) {
        second([&](part &x) { x.what.kind = kind; });
    }
    second([](part &x) { // an operand of its own, which is not there
        x.what.kind = wire::rma_kind::fetch;
        x.what.op = static_cast<std::uint8_t>(rma_operator::sum);
        x.what.type = static_cast<std::uint8_t>(rma_type::i64);
    });
    second([](part &x) {
        x.what.kind = wire::rma_kind::accumulate;
        x.what.op = x.what.type = 255;
    });
    EXPECT_EQ(1U, arrive(sizeof(m) - sizeof(part) + 4)) << "cut in a part";
    EXPECT_EQ(1U, arrive(sizeof(m) - 2 * sizeof(std::uint64_t))) << "cut in its data";
    m.parts[1].what.at = 8; // outside: no malformed message, but its sender is told
    EXPECT_EQ(0U, arrive());
    EXPECT_EQ(1U, count(n.b, stat::rma_refused));
    m.head.kind = wire::rma_kind::answers; // to nothing that was asked
    m.parts[0].what.kind = m.parts[1].what.kind = wire::rma_kind::data;
    EXPECT_EQ(2U, arrive());
    m.head.kind = wire::rma_kind::answers;
    EXPECT_EQ(1U, arrive()) << "puts are no answers";
}

TEST_F(bundles, swaps_and_fetches_that_follow_others_say_what_they_want_in_parts) {
    for (std::size_t i = 0; i < 4; ++i) {
        put(i, i);
    }
    flushed();
    submit(rma_item::what::get, 20, 0, 1);
    std::uint64_t seen[2] = {};
    n.a.enter();
    for (std::size_t i = 0; i < 2; ++i) { // 5 is there: one swaps, the other finds something else
        const std::uint64_t operands[2] = {77, 5 + i};
        rma_item *x = rma::make(rma_item::what::fetch);
        const rma_layout layout(sizeof(std::uint64_t));
        x->target = reinterpret_cast<std::uint64_t>(target_bytes.data()) + i * sizeof(std::uint64_t);
        x->target_layout = layout;
        x->op = rma_operator::swap_if_equal;
        x->type = rma_type::i64;
        std::memcpy(x->operands, operands, sizeof(operands));
        x->origin = x->operands;
        x->origin_layout = layout;
        x->result = reinterpret_cast<byte *>(&seen[i]);
        x->result_layout = layout;
        n.a.one_sided().submit(p, x);
    }
    rma_item *x = rma::make(rma_item::what::fetch); // looks, and changes nothing
    x->target = reinterpret_cast<std::uint64_t>(target_bytes.data()) + 2 * sizeof(std::uint64_t);
    x->target_layout = rma_layout(sizeof(std::uint64_t));
    x->op = rma_operator::no_op;
    x->type = rma_type::i64;
    x->result = reinterpret_cast<byte *>(&fetched[30]);
    x->result_layout = rma_layout(sizeof(std::uint64_t));
    n.a.one_sided().submit(p, x);
    n.a.leave();
    const std::uint32_t before = sent();
    flushed();
    EXPECT_EQ(before + 1, sent());
    EXPECT_EQ(5U, seen[0]);
    EXPECT_EQ(77U, cell(0));
    EXPECT_EQ(5U, seen[1]);
    EXPECT_EQ(5U, cell(1));
    EXPECT_EQ(5U, fetched[30]);
    EXPECT_EQ(5U, cell(2));
    EXPECT_EQ(0U, refused());
}

} // namespace
} // namespace smartint
