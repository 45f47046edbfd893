// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// One-sided operations on a target of another node: data that leaves from where it is, and notices that are held back.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "common_smartint_foresight.h"
#include "harness_exchange.h"

namespace smartint {
namespace {

using namespace test;
using std::byte;

constexpr std::uint32_t window_id = 7;
constexpr std::size_t exposed = 4 << 20;

// a is the origin, b the target; helpers' queues, but no helpers.
struct far_target : testing::Test {
    void make(const char *progress = "none") {
        params x = test_params(progress);
        x.directory = directory.path();
        n.emplace(x);
        ASSERT_EQ(0, n->a.create_board(1));
        ASSERT_EQ(0, n->b.create_board(1));
        n->to_b->node = 0;
        for (std::size_t k = 0; k < exposed; ++k) {
            source[k] = static_cast<byte>(k * 7 + k / 4096);
        }
        zero = make_window(n->a, window_id, 0, {member_of(n->a.add_self(), own), member_of(n->to_b, target)});
        one = make_window(n->b, window_id, 1, {member_of(n->to_a, own), member_of(n->b.add_self(), target)});
        n->a.enter();
        p = n->a.one_sided().peer(zero, 1);
        n->a.leave();
        engine_access::hold_for(n->a, std::chrono::minutes(5)); // else by chance, where this machine is busy
    }
    ~far_target() override {
        if (n) {
            destroy_window(n->a, zero);
            if (nullptr != one) {
                destroy_window(n->b, one);
            }
        }
    }
    void put(std::size_t at, std::size_t bytes) {
        submit(n->a, p, rma_item::what::put, source.data() + at, target.data() + at, rma_layout(bytes));
    }
    void get(std::size_t at, std::size_t bytes) {
        submit(n->a, p, rma_item::what::get, fetched.data() + at, target.data() + at, rma_layout(bytes));
    }
    // The origin waits for what it has begun.
    void flush() {
        n->a.begin_wait();
        flushed(*n, p);
        n->a.end_wait();
    }
    void put_and_flush(std::size_t bytes = 65536) {
        n->a.begin_wait();
        put(0, bytes);
        flushed(*n, p);
        n->a.end_wait();
    }
    // And the target takes none of it: the last one is half out.
    void put_more_than_goes_out() {
        for (unsigned k = 0; k < 64 && 0 == p->transfers; ++k) { // more than the sockets' buffers hold
            put(0, exposed);
        }
        ASSERT_NE(0U, p->transfers);
    }
    std::uint64_t served() { return count(n->b, stat::rma_served); }
    std::uint64_t held() { return count(n->a, stat::notices_held); }
    // Those that went to the helper, or would have if its queue had room.
    std::uint64_t noticed() { return count(n->a, stat::notices_relayed) + count(n->a, stat::notices_dropped); }
    void learn() {
        wait_until("it is known", [&] { // one notice in a while is enough for a target that answers
            put_and_flush();
            return foresight::enough == p->notices.score;
        });
    }
    template <class F> void only_origin(const char *what, F f) {
        wait_until(what, [&] {
            n->a.progress();
            return f();
        });
    }

    scratch_directory directory;
    std::vector<byte> source = std::vector<byte>(exposed);
    std::vector<byte> fetched = std::vector<byte>(exposed);
    std::vector<byte> own = std::vector<byte>(64);
    std::vector<byte> target = std::vector<byte>(exposed);
    std::optional<network_pair> n;
    rma_window *zero = nullptr;
    rma_window *one = nullptr;
    rma_peer *p = nullptr;
};

TEST_F(far_target, data_goes_in_messages_as_large_as_it_can_take_them) {
    ASSERT_NO_FATAL_FAILURE(make());
    const std::size_t bytes = 1 << 20;
    const auto messages = [&] {
        const std::uint64_t before = served();
        put(3, bytes);
        flush();
        EXPECT_EQ(0, std::memcmp(&source[3], &target[3], bytes));
        EXPECT_EQ(byte{0}, target[3 + bytes]);
        std::fill(target.begin(), target.end(), byte{0});
        return served() - before - 1; // and the flush
    };
    const auto of = [&](std::uint32_t most) { return (bytes + most - 1) / most; };
    ASSERT_LT(p->ep->max_payload, p->ep->max_fragment);
    p->attentive = true;
    EXPECT_EQ(of(p->ep->max_fragment), messages()) << "it waits in MPI";
    p->attentive = false;
    EXPECT_EQ(of(p->ep->max_payload), messages()) << "it computes, and tells the rate by them";
}

TEST_F(far_target, what_is_got_comes_in_large_messages_where_it_is_waited_for) {
    ASSERT_NO_FATAL_FAILURE(make());
    put_and_flush(); // connected
    std::copy(source.begin(), source.end(), target.begin());
    for (const bool waits : {false, true, true, false, false}) {
        const bool large = p->in_wait;
        std::fill(fetched.begin(), fetched.end(), byte{0});
        std::vector<std::uint64_t> arrived{0};
        get(5, 1 << 20);
        waits ? n->a.begin_wait() : void();
        n->drive("the data", [&] {
            const std::uint64_t here = (1 << 20) - p->getting;
            if (here != arrived.back()) {
                arrived.push_back(here);
            }
            return 0 == p->getting;
        });
        waits ? n->a.end_wait() : void();
        EXPECT_EQ(0, std::memcmp(&source[5], &fetched[5], 1 << 20));
        EXPECT_EQ(byte{0}, fetched[5 + (1 << 20)]);
        EXPECT_EQ(waits, p->in_wait);
        for (const std::uint64_t here : arrived) { // several messages may come in one pass
            EXPECT_TRUE(1 << 20 == here || 0 == here % (large ? p->ep->max_fragment : p->ep->max_payload)) << here;
        }
        flush();
    }
}

// The transport has the user's memory until all is out.
TEST_F(far_target, a_put_that_the_target_makes_no_room_for_is_not_over) {
    ASSERT_NO_FATAL_FAILURE(make());
    put_and_flush(); // connected
    rma_sync local;
    ASSERT_NO_FATAL_FAILURE(put_more_than_goes_out());
    call(n->a, [&](rma &r) { r.flush_local(p, &local); });
    for (int i = 0; i < 100; ++i) {
        n->a.progress();
    }
    EXPECT_FALSE(ended(n->a, local));
    EXPECT_FALSE(n->a.one_sided().idle(zero));
    flush();
    EXPECT_TRUE(local.done());
    EXPECT_EQ(0U, p->transfers);
    EXPECT_EQ(source, target);
    EXPECT_TRUE(n->a.one_sided().idle(zero));
}

TEST_F(far_target, a_put_whose_last_message_is_half_out_is_not_over) {
    ASSERT_NO_FATAL_FAILURE(make());
    put_and_flush();
    std::vector<std::unique_ptr<rma_sync>> all;
    for (; all.size() < 4096 && 0 == p->transfers;) { // each of one message
        submit(n->a, p, rma_item::what::put, source.data(), target.data(), rma_layout(65536),
               all.emplace_back(std::make_unique<rma_sync>()).get());
    }
    ASSERT_NE(0U, p->transfers);
    EXPECT_EQ(nullptr, p->head);
    EXPECT_FALSE(all.back()->done());
    all.pop_back();
    for (const auto &before : all) {
        EXPECT_TRUE(before->done());
    }
    flush();
}

TEST_F(far_target, that_is_lost_ends_puts_that_are_half_out) {
    ASSERT_NO_FATAL_FAILURE(make());
    put_and_flush();
    ASSERT_NO_FATAL_FAILURE(put_more_than_goes_out());
    const auto sync = begin_flush(n->a, p);
    EXPECT_FALSE(sync->done());
    n->b.stop(); // its connections go, and its window
    one = nullptr;
    only_origin("the end", [&] { return sync->done() && n->a.one_sided().idle(zero); });
    EXPECT_EQ(rma_error::lost, sync->error);
    EXPECT_EQ(0U, p->transfers);
}

TEST_F(far_target, answers_all_though_the_origin_makes_no_room_for_a_while) {
    ASSERT_NO_FATAL_FAILURE(make());
    std::copy(source.begin(), source.end(), target.begin());
    put_and_flush();
    for (unsigned k = 0; k < 16; ++k) {
        get(0, exposed);
    }
    wait_until("the target is stuck", [&] {
        n->b.progress();
        n->b.enter();
        const bool stuck = 0 != n->b.one_sided().peer(one, 0)->transfers;
        EXPECT_EQ(stuck ? 1U : 0U, n->b.one_sided().peer(one, 0)->answering);
        n->b.leave();
        return stuck;
    });
    flush();
    EXPECT_EQ(source, fetched);
    n->drive("the last of it", [&] { return n->b.one_sided().idle(one); });
    EXPECT_EQ(0U, n->b.one_sided().peer(one, 0)->answering);
}

// What comes behind the epoch may write to the window: its end, or the lock's next holder.
TEST_F(far_target, keeps_its_epoch_open_and_the_lock_while_the_transport_reads_its_window) {
    ASSERT_NO_FATAL_FAILURE(make());
    put_and_flush();
    n->b.enter();
    rma_peer *origin = n->b.one_sided().peer(one, 0);
    origin->answering = 1; // as where the last of an answer is half out
    n->b.leave();
    // It arrives, and waits.
    const auto end_comes = [&] {
        n->drive("the end", [&] { return !origin->replies.empty(); });
        for (int i = 0; i < 200; ++i) {
            n->a.progress();
            n->b.progress();
        }
    };
    rma_sync exposure, access, locked, unlocked;
    call(n->b, [&](rma &r) { r.post(one, {0}, false, false); });
    call(n->a, [&](rma &r) {
        r.await_post(p, nullptr);
        r.complete(p, &access);
    });
    call(n->b, [&](rma &r) { r.wait(one, &exposure); });
    end_comes();
    EXPECT_FALSE(ended(n->b, exposure));
    origin->answering = 0;
    n->drive("the epoch", [&] { return ended(n->b, exposure) && ended(n->a, access); });

    call(n->a, [&](rma &r) { r.lock(p, true, &locked); });
    n->drive("the lock", [&] { return ended(n->a, locked); });
    origin->answering = 1;
    call(n->a, [&](rma &r) { r.unlock(p, &unlocked); });
    end_comes();
    EXPECT_EQ(rma_hold::exclusive, origin->holds);
    origin->answering = 0;
    n->drive("the unlock", [&] { return ended(n->a, unlocked); });
    EXPECT_EQ(rma_hold::none, origin->holds);
}

TEST_F(far_target, that_answers_at_once_needs_no_notice_after_a_while) {
    ASSERT_NO_FATAL_FAILURE(make());
    learn();
    const std::uint64_t before = held(), posted = noticed();
    for (unsigned i = 0; i < 20; ++i) {
        put_and_flush();
    }
    EXPECT_EQ(before + 20, held()) << "one for all that a flush is for";
    EXPECT_EQ(posted, noticed());
}

TEST_F(far_target, is_noticed_of_what_it_does_not_answer) {
    ASSERT_NO_FATAL_FAILURE(make());
    learn();
    const std::uint64_t posted = noticed();
    n->a.begin_wait();
    put(0, 65536);
    EXPECT_TRUE(p->notices.held);
    for (int i = 0; i < 100; ++i) {
        n->a.progress();
    }
    EXPECT_EQ(posted, noticed());
    engine_access::hold_for(n->a, std::chrono::nanoseconds(0));
    only_origin("it is noticed", [&] { return posted + 1 == noticed(); });
    EXPECT_FALSE(p->notices.held);
    // It was there all the time: the next one is held for longer.
    flushed(*n, p);
    n->a.end_wait();
    EXPECT_EQ(1U, p->notices.doublings);
    EXPECT_LT(foresight::enough, p->notices.score);
}

TEST_F(far_target, that_had_to_be_woken_is_noticed_at_once_after_some_times) {
    ASSERT_NO_FATAL_FAILURE(make());
    learn();
    wire::rma_head h{};
    h.kind = wire::rma_kind::ack;
    h.name = name_of(1);
    h.window = window_id;
    h.flags = wire::rma_woken | wire::rma_by_thread;
    n->a.begin_wait();
    put(0, 65536);
    const auto sync = begin_flush(n->a, p);
    EXPECT_TRUE(p->notices.held);
    p->notices.doublings = 2;
    n->a.enter();
    engine_access::dispatch(n->a, n->to_b, wire::rma, &h, sizeof(h)); // as it would answer
    n->a.leave();
    n->a.end_wait();
    EXPECT_TRUE(sync->done());
    EXPECT_EQ(0, p->notices.score);
    EXPECT_EQ(0, p->notices.doublings);
    n->a.progress();
    EXPECT_FALSE(p->notices.held);
    const std::uint64_t before = held(), posted = noticed();
    p->woken_at = 0; // long ago
    n->a.begin_wait();
    put(0, 65536);
    EXPECT_EQ(before, held());
    EXPECT_EQ(posted + 1, noticed());
    n->a.end_wait();
}

// Its thread takes something in, and the application gives the answer.
TEST_F(far_target, says_that_a_thread_was_woken_and_says_it_once) {
    ASSERT_NO_FATAL_FAILURE(make("helper"));
    learn();
    n->b.enter();
    rma_peer *origin = n->b.one_sided().peer(one, 0);
    n->b.leave();
    EXPECT_FALSE(origin->notices.by_woken);
    const std::uint64_t before = served();
    n->b.start_thread();
    put(0, 65536);
    wait_until("the thread does", [&] {
        ring_eventfd(n->b.wake_descriptor()); // as who got the notice, and again if that found nothing
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        n->a.progress();
        return served() != before;
    });
    n->b.stop_thread();
    EXPECT_TRUE(origin->notices.by_woken);
    flush();
    EXPECT_FALSE(origin->notices.by_woken);
    EXPECT_EQ(0, p->notices.score);
}

TEST_F(far_target, has_as_few_notices_as_before_where_nobody_would_come_for_one_that_is_held) {
    ASSERT_NO_FATAL_FAILURE(make("none"));
    learn();
    const std::uint64_t before = held(), posted = noticed();
    p->listens_until = UINT64_MAX; // it was told just now
    put(0, 65536);                 // in no wait, and there is no thread
    EXPECT_EQ(before, held());
    EXPECT_EQ(posted, noticed());
    EXPECT_TRUE(p->owed_wake);
}

TEST_F(far_target, of_which_a_request_is_in_the_queue_is_noticed_at_once) {
    ASSERT_NO_FATAL_FAILURE(make());
    n->a.hooks().rma_done = [](void *user, rma_error) { ++*static_cast<unsigned *>(user); };
    learn();
    n->a.begin_wait();
    ASSERT_NO_FATAL_FAILURE(put_more_than_goes_out());
    EXPECT_TRUE(p->notices.held);
    const std::uint64_t posted = noticed();
    unsigned told = 0;
    rma_sync request;
    request.user = &told;
    submit(n->a, p, rma_item::what::put, source.data(), target.data(), rma_layout(65536), &request);
    EXPECT_EQ(posted + 1, noticed());
    EXPECT_FALSE(p->notices.held);
    flushed(*n, p);
    n->a.end_wait();
    n->drive("the request", [&] { return 1 == told; });
}

TEST_F(far_target, whose_epoch_ends_without_an_answer_may_have_needed_the_notice) {
    ASSERT_NO_FATAL_FAILURE(make());
    put_and_flush();
    for (const bool late : {false, true}) {
        rma_sync exposure, access;
        p->notices.score = foresight::most;
        p->notices.watched = true;
        p->notices.late = late;
        call(n->b, [&](rma &r) { r.post(one, {0}, false, false); });
        call(n->a, [&](rma &r) {
            r.await_post(p, nullptr);
            r.complete(p, &access);
        });
        call(n->b, [&](rma &r) { r.wait(one, &exposure); });
        n->drive("the epoch", [&] { return ended(n->b, exposure) && ended(n->a, access); });
        EXPECT_EQ(late ? foresight::most - foresight::off : foresight::most, p->notices.score);
        EXPECT_EQ(!late, p->notices.watched);
    }
}

TEST_F(far_target, whose_window_goes_is_not_noticed_any_more) {
    ASSERT_NO_FATAL_FAILURE(make());
    learn();
    const std::uint64_t posted = noticed();
    n->a.begin_wait();
    put(0, 65536);
    EXPECT_TRUE(p->notices.held);
    destroy_window(n->a, zero);
    engine_access::hold_for(n->a, std::chrono::nanoseconds(0));
    for (int i = 0; i < 100; ++i) {
        n->a.progress();
    }
    n->a.end_wait();
    EXPECT_EQ(posted, noticed());
    zero = make_window(n->a, window_id, 0, {member_of(n->a.add_self(), own), member_of(n->to_b, target)});
}

TEST_F(far_target, of_an_origin_that_computes_is_noticed_by_its_thread) {
    ASSERT_NO_FATAL_FAILURE(make("helper"));
    learn();
    const std::uint64_t posted = noticed();
    engine_access::hold_for(n->a, std::chrono::nanoseconds(0));
    n->a.start_thread();
    put(0, 65536); // and goes to compute
    n->a.enter();  // beside its thread
    const bool holds = p->notices.held;
    n->a.leave();
    EXPECT_TRUE(holds || posted + 1 == noticed());
    wait_until("the thread does", [&] { return posted + 1 == noticed(); });
    flush();
    n->a.stop_thread();
}

} // namespace
} // namespace smartint
