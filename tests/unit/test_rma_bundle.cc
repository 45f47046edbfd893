// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Small stores, gets and fetches towards another node: several in one message, in order, and none of them later than
// what waits for it; and their answers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "rma_bundles.h"

namespace smartint {
namespace {

using namespace test;

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

// The application computes and makes no call.
TEST(bundles_by_the_clock, the_thread_sends_what_the_application_left) {
    params with = test_params("helper");
    with.postpone_us = 2000;
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
    const auto end_epoch = [&](bool unlocks) {
        rma_sync sync;
        n.a.enter();
        if (unlocks) {
            n.a.one_sided().unlock(p, &sync);
        } else {
            n.a.one_sided().flush(p, &sync);
        }
        n.a.leave();
        n.drive("its end", [&] { return ended(n.a, sync); });
    };
    put(0, false);
    end_epoch(false); // the connection is there
    n.a.start_thread();
    wait_until("its thread sleeps", [&] { return engine_access::parked(n.a); });
    for (std::size_t i = 1; i < 4; ++i) {
        const bool locked = 3 == i;
        const std::uint64_t before = count(n.a, stat::wakes_timer);
        put(i, locked);
        wait_until("what was left", [&] {
            n.b.progress();
            return value == cell(i);
        });
        EXPECT_LT(before, count(n.a, stat::wakes_timer));
        end_epoch(locked);
        wait_until("it sleeps again", [&] { return engine_access::parked(n.a); });
    }
    n.a.stop_thread();
    destroy_window(n.a, zero);
    destroy_window(n.b, one);
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
