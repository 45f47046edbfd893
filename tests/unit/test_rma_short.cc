// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// The short form of one-sided messages: what is not one is refused, and what can't be done at once becomes a long one.
// And calls that do not say that their process is in them.
#include <chrono>
#include <cstring>
#include <vector>

#include "small_operations.h"

namespace smartint {
namespace {

using namespace test;
using std::byte;
using wire::rma_kind;

struct short_messages : small_operations {
    explicit short_messages(bool shares = true) : small_operations(all_by_message(), false, shares) {}

    wire::rma_short_head head(rma_kind kind, std::size_t word, std::uint32_t bytes = 8) {
        wire::rma_short_head h{};
        h.window = window_id;
        h.kind = kind;
        h.op = static_cast<std::uint8_t>(rma_operator::sum);
        h.type = static_cast<std::uint8_t>(rma_type::i64);
        h.bytes = bytes;
        h.at = reinterpret_cast<std::uint64_t>(&memory[1][word]);
        h.id = 1;
        return h;
    }
    // At b, as if a had sent it. How many were refused.
    std::uint64_t arrives(const wire::rma_short_head &h, std::size_t data, std::size_t cut = 0) {
        return arrives_from(n.to_a, h, data, cut);
    }
    std::uint64_t arrives_from(endpoint *from, const wire::rma_short_head &h, std::size_t data, std::size_t cut = 0) {
        std::vector<byte> message(sizeof(h) + data, byte{7}); // its end is where the sanitizer looks
        std::memcpy(message.data(), &h, sizeof(h));
        message.resize(message.size() - cut);
        message.shrink_to_fit();
        const std::uint64_t before = count(n.b, stat::refused_messages);
        n.b.enter();
        engine_access::dispatch(n.b, from, wire::rma_short, message.data(), static_cast<std::uint32_t>(message.size()));
        n.b.leave();
        return count(n.b, stat::refused_messages) - before;
    }
    std::uint64_t outside() { return count(n.b, stat::rma_refused); }
    bool untouched() {
        for (const std::int64_t x : memory[1]) {
            if (0 != x) {
                return false;
            }
        }
        return true;
    }
    rma_error error_at_a() {
        rma_error e = rma_error::none;
        n.drive("an error", [&] { // that b's thread sends, perhaps
            call(n.a, [&](rma &r) { e = r.take_error(at_a); });
            return rma_error::none != e;
        });
        return e;
    }
};

TEST_F(short_messages, that_are_none_are_refused) {
    for (unsigned kind = 0; kind < 256; ++kind) {
        const auto k = static_cast<rma_kind>(kind);
        if ((k < rma_kind::put || k > rma_kind::get) && rma_kind::data != k) {
            EXPECT_EQ(1U, arrives(head(k, 0), 8)) << kind;
        }
    }
    const auto put = head(rma_kind::put, 0);
    EXPECT_EQ(1U, arrives(put, 0, 1)) << "no whole head";
    EXPECT_EQ(1U, arrives_from(nullptr, put, 8)) << "by the network";
    auto h = put;
    h.window = window_id + 1;
    EXPECT_EQ(1U, arrives(h, 8)) << "no such window";
    EXPECT_EQ(1U, arrives(head(rma_kind::data, 0), 8)) << "nobody has asked";
    EXPECT_EQ(1U, arrives(put, 7)) << "less than it says";
    EXPECT_EQ(1U, arrives(put, 9)) << "more";
    h = head(rma_kind::accumulate, 0, 12);
    EXPECT_EQ(1U, arrives(h, 12)) << "part of an element";
    h = head(rma_kind::fetch, 0);
    h.flags = wire::rma_no_operand;
    EXPECT_EQ(1U, arrives(h, 0)) << "a sum with nothing";
    EXPECT_TRUE(untouched());
    EXPECT_EQ(0U, outside());
    EXPECT_EQ(0U, arrives(put, 8));
    EXPECT_NE(0, memory[1][0]);
    memory[1][0] = 0;
}

TEST_F(short_messages, for_memory_outside_the_window_are_answered_with_an_error) {
    const std::uint64_t end = reinterpret_cast<std::uint64_t>(memory[1].data() + memory[1].size());
    std::uint64_t refused = 0;
    for (const rma_kind kind : {rma_kind::put, rma_kind::accumulate}) {
        for (const std::uint64_t at : {end, end - 4, std::uint64_t{0}, ~std::uint64_t{0} - 3}) {
            auto h = head(kind, 0);
            h.at = at;
            EXPECT_EQ(0U, arrives(h, 8));
            EXPECT_EQ(++refused, outside()) << at;
            EXPECT_EQ(rma_error::range, error_at_a());
        }
        auto h = head(kind, 0);
        h.bytes = 0;
        EXPECT_EQ(0U, arrives(h, 0));
        EXPECT_EQ(++refused, outside()) << "no byte";
        EXPECT_EQ(rma_error::range, error_at_a());
    }
    EXPECT_TRUE(untouched());
    std::int64_t there = 5;
    auto o = get(words_exposed, &there);
    n.b.begin_wait();
    EXPECT_EQ(rma_begun::done, begin(o));
    flush();
    EXPECT_EQ(rma_error::range, error_at_a());
    EXPECT_EQ(5, there);
    EXPECT_TRUE(rma::settled(target));
    n.b.end_wait();
}

TEST_F(short_messages, with_data_that_was_not_asked_for_change_nothing) {
    std::int64_t there[2] = {5, 5};
    memory[1][0] = 3;
    n.b.begin_wait();
    ASSERT_EQ(rma_begun::done, begin(get(0, &there[0])));
    n.b.end_wait();
    // Its answer lies in a's ring.
    const layout::slot &slot = n.a.board_segment().slot(n.to_a->slot);
    const std::uint64_t at = slot.ring.head & (n.a.board_segment().ring_bytes() - 1);
    wire::rma_short_head h{};
    std::memcpy(&h, n.a.board_segment().ring(n.to_a->slot) + at + sizeof(std::uint64_t), sizeof(h));
    ASSERT_EQ(rma_kind::data, h.kind);
    const std::uint64_t id = h.id;
    h = {};
    h.window = window_id;
    h.kind = rma_kind::data;
    const auto to_a = [&](std::uint64_t which, std::uint64_t offset, std::size_t data) {
        std::vector<byte> message(sizeof(h) + data, byte{9});
        h.id = which;
        h.at = offset;
        std::memcpy(message.data(), &h, sizeof(h));
        const std::uint64_t before = count(n.a, stat::refused_messages);
        n.a.enter();
        engine_access::dispatch(n.a, n.to_b, wire::rma_short, message.data(),
                                static_cast<std::uint32_t>(message.size()));
        n.a.leave();
        return count(n.a, stat::refused_messages) - before;
    };
    EXPECT_EQ(1U, to_a(id + 1, 0, 8)) << "another one";
    EXPECT_EQ(1U, to_a(id, 0, 16)) << "more than was asked for";
    EXPECT_EQ(1U, to_a(id, 8, 8)) << "behind it";
    EXPECT_EQ(1U, to_a(id, 4, 4)) << "its second half first";
    EXPECT_EQ(5, there[0]);
    EXPECT_EQ(0U, to_a(id, 0, 4));
    EXPECT_FALSE(rma::settled(target)) << "half of it";
    EXPECT_EQ(0U, to_a(id, 4, 4));
    EXPECT_TRUE(rma::settled(target));
    EXPECT_EQ(0x0909090909090909, there[0]);
    const std::uint64_t before = count(n.a, stat::refused_messages);
    n.a.progress();
    EXPECT_EQ(before + 1, count(n.a, stat::refused_messages)) << "the answer proper, too late";
    EXPECT_EQ(0x0909090909090909, there[0]);
    EXPECT_EQ(5, there[1]);
}

struct short_behind_a_lock : short_messages {
    short_behind_a_lock() : short_messages(false) {}

    bool asked_of_b(const rma_peer *origin, std::size_t kept = 0) {
        n.b.enter(); // its thread may be at it
        const bool asked = origin->lock_pending && kept <= origin->kept.size();
        n.b.leave();
        return asked;
    }
};

TEST_F(short_behind_a_lock, they_are_kept_until_it_is_granted) {
    rma_peer *origin = n.b.one_sided().peer(at_b, 0);
    rma_peer *itself = n.b.one_sided().peer(at_b, 1);
    rma_sync held;
    rma_sync locked;
    call(n.b, [&](rma &r) { r.lock(itself, true, &held); });
    ASSERT_TRUE(ended(n.b, held));
    call(n.a, [&](rma &r) { r.lock(target, true, &locked); });
    n.drive("the question", [&] { return asked_of_b(origin); });
    EXPECT_EQ(0U, arrives(head(rma_kind::put, 3), 8));
    EXPECT_EQ(0U, arrives(head(rma_kind::accumulate, 3), 8));
    EXPECT_TRUE(untouched());
    EXPECT_EQ(2U, origin->kept.size());
    std::uint64_t refused = 0;
    for (int i = 0; i < 1000; ++i) {
        refused += arrives(head(rma_kind::put, 4, 256), 256);
    }
    EXPECT_LT(800U, refused) << "32 KiB are kept";
    EXPECT_GE(wire::rma_kept_bytes, origin->kept_bytes);
    call(n.b, [&](rma &r) { r.unlock(itself, nullptr); });
    n.drive("the lock", [&] { return ended(n.a, locked); });
    EXPECT_EQ(2 * 0x0707070707070707, memory[1][3]);
    EXPECT_EQ(0x0707070707070707, memory[1][4]);
    EXPECT_EQ(0U, origin->kept_bytes);
    rma_sync over;
    call(n.a, [&](rma &r) { r.unlock(target, &over); });
    n.drive("the end", [&] { return ended(n.a, over); });
}

// The target had its own lock, and computes as soon as it has let go of it.
TEST_F(short_behind_a_lock, what_was_kept_is_answered_by_whoever_lets_go) {
    rma_peer *origin = n.b.one_sided().peer(at_b, 0);
    rma_peer *itself = n.b.one_sided().peer(at_b, 1);
    rma_sync locked;
    call(n.b, [&](rma &r) { ASSERT_TRUE(r.try_take(itself, true)); });
    call(n.a, [&](rma &r) { r.lock(target, true, &locked); });
    n.drive("the question", [&] { return asked_of_b(origin); });
    wire::rma_head mark{}; // as an origin of another node sends it ahead
    mark.name = name_of(0);
    mark.window = window_id;
    mark.kind = rma_kind::flush;
    n.b.enter();
    engine_access::dispatch(n.b, n.to_a, wire::rma, &mark, sizeof(mark));
    EXPECT_EQ(1U, origin->kept.size());
    EXPECT_TRUE(n.b.one_sided().try_drop(itself));
    EXPECT_TRUE(origin->kept.empty() && origin->replies.empty()) << "nobody else may come for long";
    n.b.leave();
    n.drive("the lock", [&] { return ended(n.a, locked); });
    EXPECT_EQ(1U, count(n.a, stat::refused_messages)) << "the ack: it was not a's";
    rma_sync over;
    call(n.a, [&](rma &r) { r.unlock(target, &over); });
    n.drive("the end", [&] { return ended(n.a, over); });
}

// ---- calls that do not show themselves

struct brief_calls : small_operations {
    brief_calls() : small_operations(all_by_message(), false, false) {}
    void SetUp() override {
        if (!n.b.the_gate().asymmetric()) {
            GTEST_SKIP() << "the kernel has no membarrier for this: no call is brief";
        }
    }

    // Behind whatever b's thread does, without a call of b's.
    template <class F> auto behind_b(F f) {
        n.b.the_gate().enter();
        const auto value = f();
        n.b.the_gate().leave();
        return value;
    }
    std::int64_t word(std::size_t i) {
        return behind_b([&] { return memory[1][i]; });
    }
    bool seen_in_b() { return board_slot(&n.b.board_segment().slot(n.to_b->slot)).active(); }
    // Until one is not.
    unsigned seen_calls_of_b() {
        unsigned calls = 0;
        for (bool seen = true; seen && calls < 10000; ++calls) {
            n.b.enter_briefly();
            seen = seen_in_b();
            n.b.leave_briefly();
            EXPECT_FALSE(seen_in_b());
        }
        return calls;
    }
    // That b's processor has to see to, whatever it does.
    void add(std::int64_t *what) {
        rma_item *i = rma::make(rma_item::what::accumulate);
        i->op = rma_operator::sum;
        i->type = rma_type::i64;
        i->origin = reinterpret_cast<byte *>(what);
        i->target = reinterpret_cast<std::uint64_t>(&memory[1][0]);
        i->origin_layout = i->target_layout = rma_layout(8);
        call(n.a, [&](rma &r) {
            r.submit(target, i);
            r.flush(target, &flushed);
        });
    }
    void added() {
        origin_alone([&] { return ended(n.a, flushed); });
    }

    // In a call of b, which nobody can see: the thread is rung for what is asked, and gives way to the call.
    void thread_gives_way() {
        EXPECT_FALSE(seen_in_b());
        add(&three);
        wait_until("the thread of b gives way", [&] { return 1 == count(n.b, stat::wakes_busy) && asleep(n.b); });
        EXPECT_EQ(0, word(0));
    }
    void added_behind_it() {
        added();
        EXPECT_EQ(3, word(0));
        wait_until("its thread sleeps", [&] { return asleep(n.b); });
        EXPECT_FALSE(seen_in_b());
    }

    std::int64_t three = 3;
    rma_sync flushed;
};

TEST_F(brief_calls, are_not_seen_until_somebody_asks_for_something) {
    n.b.enter();
    EXPECT_TRUE(seen_in_b());
    n.b.leave();
    n.b.enter_briefly();
    EXPECT_FALSE(seen_in_b());
    n.b.leave_briefly();
    n.b.begin_wait();
    n.b.enter_briefly(); // in the course of a wait
    EXPECT_TRUE(seen_in_b());
    n.b.leave_briefly();
    EXPECT_TRUE(seen_in_b());
    n.b.end_wait();
    EXPECT_FALSE(seen_in_b());
    std::int64_t there = 0;
    n.b.begin_wait();
    EXPECT_EQ(rma_begun::done, begin(get(7, &there)));
    flush();
    n.b.end_wait();
    const unsigned calls = seen_calls_of_b();
    EXPECT_LT(1000U, calls) << "a's requests would cost b's thread a wake each";
    EXPECT_GT(2000U, calls);
    add(&three);
    added();
    EXPECT_EQ(3, word(0));
    wait_until("its thread sleeps", [&] { return asleep(n.b); });
    EXPECT_LT(1000U, seen_calls_of_b()) << "its thread was woken";
}

TEST_F(brief_calls, a_thread_that_gave_way_to_one_comes_behind_it) {
    n.b.enter_briefly();
    thread_gives_way();
    n.b.leave_briefly();
    added_behind_it();
}

TEST_F(brief_calls, in_which_others_are_served_ring_nobody) {
    n.b.enter_briefly();
    add(&three);
    n.b.pass(false);
    n.b.leave_briefly();
    n.a.progress();
    EXPECT_EQ(3, word(0));
    EXPECT_TRUE(ended(n.a, flushed));
    wait_until("the thread sleeps", [&] { return asleep(n.b); });
    EXPECT_EQ(0U, count(n.b, stat::wakes_self));
}

// A target computes when the data of many gets is on its way: the thread of the origin comes when its calls are late.
struct postponed_gets : small_operations {
    static params late(std::uint32_t us) {
        params p = all_by_message();
        p.ring_bytes = 1 << 20;
        p.postpone_us = us;
        return p;
    }
    explicit postponed_gets(std::uint32_t us = 60000000) // and no machine is as slow
        : small_operations(late(us)), result(gets * words) {
        for (std::size_t i = 0; i < words_exposed; ++i) {
            memory[1][i] = static_cast<std::int64_t>(7 * i + 3);
        }
    }
    void ask() {
        for (std::size_t k = 0; k < gets; ++k) {
            ASSERT_EQ(rma_begun::done, begin(get(k * words, &result[k * words], words)));
        }
    }
    bool all_here() { return std::equal(result.begin(), result.end(), memory[1].begin()); }
    unsigned postponed() { return engine_access::postponed_queues(n.a); }

    static constexpr std::size_t words = 512;
    static constexpr std::size_t gets = 16; // 64 KiB
    std::vector<std::int64_t> result;
};

TEST_F(postponed_gets, are_taken_in_by_the_next_calls_without_the_thread) {
    n.b.begin_wait();
    for (int round = 0; round < 4; ++round) { // 256 KiB under way
        ask();
    }
    EXPECT_EQ(1U, postponed());
    EXPECT_EQ(0U, engine_access::in_flight(n.a));
    flush();
    EXPECT_EQ(0U, postponed());
    EXPECT_TRUE(all_here());
    n.b.end_wait();
    EXPECT_EQ(0U, count(n.a, stat::wakes_self));
}

struct gets_that_are_late : postponed_gets {
    gets_that_are_late() : postponed_gets(2000) {}
};

TEST_F(gets_that_are_late, are_come_for_where_no_call_comes) {
    n.b.begin_wait();
    n.a.enter(); // its thread has no turn meanwhile
    for (int round = 0; round < 4; ++round) {
        ask();
    }
    EXPECT_EQ(1U, postponed());
    n.a.leave();
    wait_until("the thread of a", [&] {
        n.b.progress();
        if (0 == count(n.a, stat::thread_events)) {
            return false;
        }
        n.a.enter(); // behind it
        const bool all = all_here();
        n.a.leave();
        return all;
    });
    n.b.end_wait();
    flush();
    EXPECT_EQ(0U, postponed());
}

TEST_F(postponed_gets, what_a_request_may_wait_for_is_not) {
    n.b.begin_wait();
    for (int round = 0; round < 4; ++round) {
        ask();
    }
    EXPECT_EQ(1U, postponed());
    std::int64_t there = 0;
    submit(get(5, &there), rma_begun::message);
    EXPECT_EQ(0U, postponed());
    EXPECT_NE(0U, engine_access::in_flight(n.a));
    flush();
    EXPECT_EQ(memory[1][5], there);
    EXPECT_EQ(0U, engine_access::in_flight(n.a));
    n.b.end_wait();
}

// ---- windows that nobody uses

struct unused_windows : brief_calls {
    void calls_of_b() {
        for (unsigned k = 0; k < 1000; ++k) {
            n.b.enter();
            n.b.leave();
        }
    }
    void rest_of_b() {
        wait_until("windows of b go out of use", [&] {
            calls_of_b();
            return !used_by_b();
        });
    }
    // However long it rests.
    void b_stays_in_use() {
        const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(70);
        for (unsigned k = 0; k < 20 || std::chrono::steady_clock::now() < end; ++k) {
            calls_of_b();
        }
        EXPECT_TRUE(used_by_b());
    }
    unsigned outstanding_at_b() {
        return behind_b([&] { return engine_access::outstanding(n.b); });
    }
    bool used_by_b() { return 0 != outstanding_at_b(); }
    void b_computes() {
        wait_until("its thread sleeps", [&] { return asleep(n.b); });
        EXPECT_FALSE(b().active());
    }
    board_slot b() { return board_slot(&n.b.board_segment().slot(n.to_b->slot)); }
    void SetUp() override {
        brief_calls::SetUp();
        if (n.b.the_gate().asymmetric()) {
            rest_of_b();
        }
    }
    // A large one to b, up to its end or just before, where only b has something to do.
    test_recv r;
    test_send s;
    void receive_at_b(bool blocking) {
        r.blocking = blocking;
        r.aim(big, ctx, 0, tag);
        n.receive(n.b, r);
    }
    void send_of_a() {
        s.aim(n.to_b, big, 3, ctx, 0, tag);
        n.send(n.a, s);
    }
    // That b's thread has to come for.
    void add_while_b_computes() {
        const std::int64_t before = word(0);
        add(&three);
        added();
        EXPECT_EQ(before + 3, word(0));
    }
};

TEST_F(unused_windows, are_as_none_until_somebody_comes) {
    n.b.enter();
    EXPECT_FALSE(seen_in_b());
    n.b.leave();
    n.b.begin_wait();
    EXPECT_FALSE(seen_in_b());
    n.b.progress();
    EXPECT_FALSE(seen_in_b());
    std::int64_t there = 0;
    EXPECT_EQ(rma_begun::no, begin(get(7, &there))) << "it may wait or not";
    n.b.progress();
    EXPECT_TRUE(used_by_b());
    EXPECT_TRUE(b().waiting()) << "in the wait that began before";
    EXPECT_EQ(rma_begun::done, begin(get(7, &there)));
    flush();
    n.b.end_wait();
    EXPECT_FALSE(seen_in_b());
    rest_of_b();
    rma_sync fences[2];
    call(n.b, [&](rma &all) { all.fence(at_b, &fences[1]); });
    EXPECT_TRUE(used_by_b()) << "by itself";
    call(n.a, [&](rma &all) { all.fence(at_a, &fences[0]); });
    n.drive("the fence", [&] { return ended(n.a, fences[0]) && ended(n.b, fences[1]); });
}

TEST_F(unused_windows, that_somebody_waits_for_are_in_use) {
    rma_sync over;
    rma_sync complete;
    call(n.b, [&](rma &all) {
        all.post(at_b, {0}, false, false);
        all.wait(at_b, &over);
    });
    b_stays_in_use();
    call(n.a, [&](rma &all) {
        all.await_post(target, nullptr);
        all.complete(target, &complete);
    });
    n.drive("the epoch", [&] { return ended(n.a, complete) && ended(n.b, over); });
    rest_of_b();
}

// Senders are to see that it waits. But it leaves without a look at its ring.
TEST_F(unused_windows, nobody_counts_on_a_wait_with_nothing_outstanding) {
    memory[1][7] = 77;
    n.b.begin_wait();
    receive_at_b(true);
    ASSERT_FALSE(used_by_b());
    EXPECT_TRUE(b().waiting());
    EXPECT_TRUE(b().stays());
    EXPECT_FALSE(b().active());
    std::int64_t there = 0;
    EXPECT_EQ(rma_begun::done, begin(get(7, &there)));
    EXPECT_EQ(1U, count(n.a, stat::notices_posted));
    n.b.end_wait();
    EXPECT_FALSE(b().waiting());
    origin_alone([&] { return 77 == there; });
    send_of_a();
    n.drive("the message", [&] { return 1 == s.delivered && op_state::done == r.state; });
}

// With something outstanding it does look, and does not go over to quiet calls when that ends in one.
TEST_F(unused_windows, are_used_by_whoever_has_anything_outstanding) {
    receive_at_b(false);
    b_stays_in_use();
    EXPECT_EQ(2U, outstanding_at_b()) << "it and the windows";
    send_of_a();
    n.drive("the message", [&] { return 1 == s.delivered && 1 == r.delivered; });
    EXPECT_TRUE(used_by_b()) << "it has been seen inside, perhaps";
    b_computes();
    add_while_b_computes();
    rest_of_b();
    b_computes();
    add_while_b_computes();
}

TEST_F(unused_windows, are_used_in_a_wait_whose_receive_was_outstanding) {
    receive_at_b(false);
    b_stays_in_use();
    EXPECT_EQ(2U, outstanding_at_b()) << "it and the windows";
    n.b.begin_wait();
    EXPECT_TRUE(b().active());
    send_of_a();
    n.drive("the message", [&] { return 1 == s.delivered && 1 == r.delivered; });
    EXPECT_TRUE(b().active());
    n.b.end_wait();
    EXPECT_FALSE(b().active() || b().waiting());
    EXPECT_TRUE(used_by_b());
    add_while_b_computes();
}

TEST_F(unused_windows, a_thread_that_gave_way_to_a_call_comes_behind_it) {
    n.b.enter();
    thread_gives_way();
    n.b.leave();
    added_behind_it();
    EXPECT_TRUE(used_by_b());
}

} // namespace
} // namespace smartint
