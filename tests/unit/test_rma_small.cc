// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Small operations inside a node as messages without a place in the queue, towards a target that waits; and a target
// that leaves its wait with one of them in its ring.
#include <array>
#include <cstring>
#include <vector>

#include "small_operations.h"

namespace smartint {
namespace {

using namespace test;
using std::byte;

TEST_F(small_operations, of_all_kinds_go_in_order_and_without_a_notice) {
    using wire::rma_kind;
    const std::uint64_t before = count(n.a, stat::notices_posted);
    const std::int64_t seven = 7;
    const std::int64_t three = 3;
    const std::int64_t one = 1;
    const std::int64_t swap[] = {20, 11};
    const std::int64_t in_vain[] = {30, 11};
    std::array<std::int64_t, 6> seen{};
    n.b.begin_wait();
    EXPECT_EQ(rma_begun::done, begin(get(5, &seen[0])));
    EXPECT_EQ(rma_begun::done, begin(put(5, &seven)));
    EXPECT_EQ(rma_begun::done, begin(get(5, &seen[1])));
    EXPECT_EQ(rma_begun::done, begin(operation(rma_kind::fetch, rma_operator::sum, 5, &three, &seen[2])));
    EXPECT_EQ(rma_begun::done, begin(operation(rma_kind::accumulate, rma_operator::sum, 5, &one, nullptr)));
    EXPECT_EQ(rma_begun::done, begin(operation(rma_kind::fetch, rma_operator::swap_if_equal, 5, swap, &seen[3])));
    EXPECT_EQ(rma_begun::done, begin(operation(rma_kind::fetch, rma_operator::swap_if_equal, 5, in_vain, &seen[4])));
    EXPECT_EQ(rma_begun::done, begin(operation(rma_kind::fetch, rma_operator::no_op, 5, nullptr, &seen[5])));
    EXPECT_EQ(0, memory[1][5]) << "the target has not looked";
    flush();
    EXPECT_EQ((std::array<std::int64_t, 6>{0, 7, 7, 11, 20, 20}), seen);
    EXPECT_EQ(20, memory[1][5]);
    EXPECT_EQ(8U, count(n.a, stat::rma_operations));
    EXPECT_EQ(before, count(n.a, stat::notices_posted));
    EXPECT_EQ(0U, count(n.b, stat::thread_events));
    n.b.end_wait();
}

TEST_F(small_operations, leave_zero_out_where_their_sequence_wraps) {
    std::int64_t word = 9;
    n.to_b->rma_out = UINT32_MAX;
    n.b.begin_wait();
    EXPECT_EQ(rma_begun::done, begin(put(0, &word)));
    EXPECT_EQ(1U, n.to_b->rma_out);
    flush();
    EXPECT_EQ(9, memory[1][0]);
    EXPECT_LT(1U, n.to_b->rma_out) << "of the flush";
    n.b.end_wait();
}

TEST_F(small_operations, wait_their_turn_where_something_stands_before_them) {
    std::int64_t word = 9;
    EXPECT_EQ(rma_begun::no, begin(put(0, &word))) << "the target computes";
    n.b.begin_wait();
    rma_sync posted;
    call(n.a, [&](rma &r) { r.await_post(target, &posted); });
    EXPECT_EQ(rma_begun::no, begin(put(0, &word))) << "in the queue";
    call(n.b, [&](rma &r) { r.post(at_b, {0}, false, false); });
    n.drive("a post", [&] { return ended(n.a, posted); });
    EXPECT_EQ(rma_begun::done, begin(put(0, &word)));
    const auto flushing = begin_flush(n.a, target);
    EXPECT_EQ(rma_begun::no, begin(put(1, &word))) << "an ack is to come";
    n.drive("a flush", [&] { return ended(n.a, *flushing); });
    EXPECT_EQ(rma_begun::done, begin(put(1, &word)));
    rma_sync complete;
    rma_sync exposure;
    call(n.a, [&](rma &r) { r.complete(target, &complete); });
    call(n.b, [&](rma &r) { r.wait(at_b, &exposure); });
    n.drive("the end", [&] { return ended(n.a, complete) && ended(n.b, exposure); });
    EXPECT_EQ(rma_begun::no, begin(put(2, &word))) << "the next exposure is not known of";
    rma_sync fenced;
    rma_sync theirs;
    call(n.a, [&](rma &r) { r.fence(at_a, &fenced); });
    EXPECT_EQ(rma_begun::no, begin(put(2, &word))) << "a fence is not through";
    call(n.b, [&](rma &r) { r.fence(at_b, &theirs); });
    n.drive("a fence", [&] { return ended(n.a, fenced) && ended(n.b, theirs); });
    EXPECT_EQ(9, memory[1][0]);
    EXPECT_EQ(9, memory[1][1]);
    EXPECT_EQ(0, memory[1][2]);
    EXPECT_EQ(rma_begun::done, begin(put(2, &word)));
    flush();
    EXPECT_EQ(9, memory[1][2]);
    n.b.end_wait();
}

TEST_F(small_operations, for_which_there_is_no_room_keep_their_place) {
    constexpr std::size_t words = 128;
    std::vector<std::int64_t> source(words_exposed);
    for (std::size_t i = 0; i < source.size(); ++i) {
        source[i] = static_cast<std::int64_t>(3 * i + 1);
    }
    n.b.begin_wait();
    std::size_t at = 0;
    rma_begun begun;
    for (; rma_begun::done == (begun = begin(put(at, &source[at], words))); at += words) {
        ASSERT_LT(at, words_exposed - 4 * words) << "a ring of 16 KiB";
    }
    ASSERT_EQ(rma_begun::message, begun);
    submit(put(at, &source[at], words), rma_begun::message);
    EXPECT_NE(nullptr, target->head);
    at += words;
    EXPECT_EQ(rma_begun::no, begin(put(at, &source[at], words))) << "it would overtake that";
    submit(put(at, &source[at], words), rma_begun::no);
    at += words;
    flush();
    EXPECT_TRUE(std::equal(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(at), memory[1].begin()));
    EXPECT_EQ(0, memory[1][at]);
    n.b.end_wait();
}

TEST_F(small_operations, whose_answers_find_no_room_get_them_later) {
    constexpr std::size_t words = 64;
    std::vector<std::int64_t> result(words_exposed);
    for (std::size_t i = 0; i < words_exposed; ++i) {
        memory[1][i] = static_cast<std::int64_t>(5 * i + 2);
    }
    n.b.begin_wait();
    for (std::size_t at = 0; at < words_exposed / 2; at += words) {
        ASSERT_EQ(rma_begun::done, begin(get(at, &result[at], words))) << at;
        n.b.progress(); // and a takes nothing in
    }
    std::int64_t before = 0;
    const std::int64_t added = 4;
    ASSERT_EQ(rma_begun::done, begin(operation(wire::rma_kind::fetch, rma_operator::sum, 0, &added, &before)));
    n.b.progress();
    EXPECT_EQ(6, memory[1][0]) << "done, though there is no room to say so";
    rma_peer *origin = n.b.one_sided().peer(at_b, 0);
    EXPECT_FALSE(origin->replies.empty()) << "32 KiB into a ring of 16";
    flush();
    EXPECT_EQ(2, before);
    for (std::size_t i = 0; i < words_exposed / 2; ++i) {
        ASSERT_EQ(static_cast<std::int64_t>(5 * i + 2), result[i]);
    }
    EXPECT_TRUE(origin->replies.empty());
    EXPECT_EQ(0U, origin->fetched);
    n.b.end_wait();
}

// What is found quicker may be a copy: its item goes that way, and the burst is timed as one without try_small.
struct small_and_timed : small_operations {
    small_and_timed() : small_operations(parameters()) {}
};

TEST_F(small_and_timed, either_way_is_tried_and_timed) {
    unsigned messages = 0;
    unsigned copies = 0;
    std::int64_t word = 0;
    n.b.begin_wait();
    for (unsigned k = 0; k < 4 * quicker::tries; ++k) {
        ++word;
        const std::uint64_t direct = count(n.a, stat::rma_direct);
        const rma_begun begun = begin(put(3, &word));
        if (rma_begun::done == begun) {
            ++messages;
            EXPECT_EQ(direct, count(n.a, stat::rma_direct));
        } else {
            ASSERT_EQ(rma_begun::copy, begun);
            ++copies;
            submit(put(3, &word), begun);
            EXPECT_EQ(direct + 1, count(n.a, stat::rma_direct));
            EXPECT_EQ(word, memory[1][3]) << "a copy is there when its call returns";
        }
        flush();
        call(n.a, [&](rma &r) { r.found_quiet(target); });
        EXPECT_EQ(word, memory[1][3]);
    }
    EXPECT_GE(messages, quicker::tries);
    EXPECT_GE(copies, quicker::tries);
    EXPECT_GE(count(n.a, stat::rma_timed), 2 * quicker::tries);
    n.b.end_wait();
}

TEST_F(small_operations, a_target_that_leaves_its_wait_answers_what_has_come) {
    std::int64_t there = 0;
    memory[1][7] = 77;
    n.b.begin_wait();
    EXPECT_EQ(rma_begun::done, begin(get(7, &there)));
    n.b.end_wait();
    n.a.progress();
    EXPECT_EQ(77, there) << "in that very call";
    EXPECT_TRUE(rma::settled(target));
    EXPECT_TRUE(asleep(n.b)) << "its thread is not needed";
    EXPECT_EQ(0U, count(n.a, stat::notices_posted));
}

// The answer of the first one is here, though nobody has looked; so the second one asks for nothing, and the target
// leaves without having seen it. Whoever waits for it makes sure.
TEST_F(small_operations, a_wait_makes_sure_of_what_was_asked_behind_others) {
    std::int64_t there[2] = {};
    memory[1][7] = 77;
    memory[1][8] = 88;
    n.b.begin_wait();
    EXPECT_EQ(rma_begun::done, begin(get(7, &there[0])));
    n.b.progress();
    EXPECT_EQ(rma_begun::done, begin(get(8, &there[1])));
    n.b.end_wait();
    EXPECT_TRUE(asleep(n.b));
    for (int k = 0; k < 100; ++k) {
        n.a.progress();
    }
    EXPECT_EQ(77, there[0]);
    EXPECT_EQ(0, there[1]) << "nobody has told the target";
    const auto sync = begin_flush(n.a, target);
    origin_alone([&] { return ended(n.a, *sync); });
    EXPECT_EQ(88, there[1]);
    EXPECT_EQ(1U, count(n.a, stat::notices_posted));
}

// What follows may not go before data has come, and what is waited for stands behind it.
TEST_F(small_operations, that_fill_the_limit_are_made_sure_of) {
    constexpr std::size_t words = 127; // one message of a ring of 16 KiB
    std::vector<std::int64_t> before(words_exposed * 8);
    const auto fetch = [&](std::size_t k) {
        return operation(wire::rma_kind::fetch, rma_operator::no_op, 0, nullptr, &before[k * words], words);
    };
    std::size_t k = 0;
    n.b.begin_wait();
    n.a.enter(); // its thread takes nothing in meanwhile
    for (; rma_begun::done == begin(fetch(k)); ++k) {
        n.b.progress();
    }
    EXPECT_GT(k, 32U);
    const layout::slot &s = n.b.board_segment().slot(n.to_b->slot);
    ASSERT_LT(s.ring.asked, s.ring.tail) << "the last ones came behind others: or take another size of theirs";
    rma_item *i = rma::make(rma_item::what::fetch);
    i->chosen = i->by_message = true; // nothing is taken in before it
    i->op = rma_operator::no_op;
    i->type = rma_type::i64;
    i->target = reinterpret_cast<std::uint64_t>(&memory[1][0]);
    i->target_layout = i->result_layout = rma_layout(8 * words);
    i->result = reinterpret_cast<byte *>(&before[k * words]);
    n.a.one_sided().submit(target, i);
    EXPECT_NE(nullptr, target->head) << "no more is asked for at one time";
    EXPECT_EQ(s.ring.asked, s.ring.tail);
    n.a.leave();
    n.b.end_wait();
    const auto sync = begin_flush(n.a, target);
    origin_alone([&] { return ended(n.a, *sync); });
}

// Any call may be the one that looks once more, one of a component's in the middle of its own work too.
TEST_F(small_operations, nobody_is_called_back_where_a_call_looks_once_more) {
    std::int64_t there = 0;
    const wire::am_header h{name_of(0), 3, 0};
    const char text[] = "for a component";
    active_messages().clear();
    memory[1][7] = 77;
    n.b.begin_wait();
    EXPECT_EQ(rma_begun::done, begin(get(7, &there)));
    n.a.enter();
    EXPECT_EQ(engine::am_result::sent, n.a.active_message(n.to_b, {wire::am, h, text, sizeof(text)}));
    n.a.leave();
    n.b.end_wait();
    n.a.progress();
    EXPECT_EQ(77, there);
    EXPECT_TRUE(active_messages().empty());
    EXPECT_TRUE(engine_access::deferred_waiting(n.b));
    n.b.progress();
    ASSERT_EQ(1U, active_messages().size());
    EXPECT_EQ(sizeof(h) + sizeof(text), active_messages()[0].data.size());
    active_messages().clear();
}

// A producer that lost its processor between claim and commit: nothing behind it can be read, and nobody spins for it.
TEST_F(small_operations, behind_a_record_that_is_being_written_are_come_for_by_the_clock) {
    std::int64_t there = 0;
    n.b.stop_thread();
    layout::slot &s = n.b.board_segment().slot(n.to_b->slot);
    ring_producer slow;
    slow.attach(&s.ring, n.b.board_segment().ring(n.to_b->slot), n.b.board_segment().ring_bytes());
    n.b.begin_wait();
    std::byte *record = slow.reserve(8);
    ASSERT_NE(nullptr, record);
    ASSERT_EQ(rma_begun::done, begin(get(7, &there)));
    n.b.enter();
    n.b.pass(true);
    EXPECT_TRUE(n.b.look().network);
    n.b.leave();
    EXPECT_FALSE(n.b.wanted_again()) << "the same as when it looked";
    std::int64_t one = 1;
    ASSERT_EQ(rma_begun::done, begin(put(8, &one)));
    call(n.a, [&](rma &r) { r.flush(target, nullptr); });
    EXPECT_TRUE(n.b.wanted_again()) << "asked for since";
    n.b.enter();
    EXPECT_TRUE(n.b.look().network);
    n.b.leave();
    EXPECT_TRUE(n.b.wanted_again()) << "that looks at no ring";
    std::memset(record, 0, 8);
    slow.commit(record, ring_word::pack(8, 0, wire::none));
    n.b.end_wait();
    flush();
    EXPECT_EQ(1, memory[1][8]);
    n.b.enter();
    EXPECT_FALSE(n.b.look().network);
    n.b.leave();
}

// With MPI_THREAD_MULTIPLE a call does not look twice: the thread is rung.
struct small_among_threads : small_operations {
    small_among_threads() : small_operations(all_by_message(), true) {}
};

TEST_F(small_among_threads, a_target_that_leaves_its_wait_has_its_thread_answer) {
    std::int64_t there = 0;
    memory[1][7] = 77;
    n.b.begin_wait();
    EXPECT_EQ(rma_begun::done, begin(get(7, &there)));
    n.b.end_wait();
    origin_alone([&] { return 77 == there; });
    EXPECT_EQ(0U, count(n.a, stat::notices_posted));
    n.b.enter(); // behind the thread's pass
    n.b.leave();
    EXPECT_LE(1U, count(n.b, stat::thread_events));
}

} // namespace
} // namespace smartint
