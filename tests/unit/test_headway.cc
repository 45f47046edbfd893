// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// A target that waits stays behind rows of puts, and is there for everybody who waits for it.
#include "common_smartint_clock.h"
#include "small_operations.h"

namespace smartint {
namespace {

using namespace test;

void serve(headway &h, unsigned operations) {
    for (; operations > 0; --operations) {
        h.served();
    }
}

TEST(headway, is_kept_in_rows_of_operations) {
    headway h;
    serve(h, headway::row);
    EXPECT_FALSE(h.in_a_row());
    serve(h, 1);
    EXPECT_TRUE(h.in_a_row());
    EXPECT_FALSE(h.in_a_row()) << "what was read now was none of it";
    h.answered();
    serve(h, 1);
    EXPECT_TRUE(h.in_a_row()) << "the next one is as long";
    serve(h, 1);
    h.answered();
    EXPECT_FALSE(h.in_a_row()) << "who was answered may go on with something else";
    serve(h, 1);
    h.answered();
    serve(h, 1);
    EXPECT_FALSE(h.in_a_row()) << "it was one alone";
}

TEST(headway, ends_by_the_clock_or_where_somebody_waits) {
    headway h;
    serve(h, 1000);
    EXPECT_FALSE(h.kept());
    h.keep(1000);
    EXPECT_TRUE(h.kept());
    EXPECT_TRUE(h.goes_on(false, 1000));
    EXPECT_TRUE(h.goes_on(false, 999 + headway::longest));
    EXPECT_FALSE(h.goes_on(false, 1000 + headway::longest));
    EXPECT_FALSE(h.kept());
    h.keep(5000);
    EXPECT_FALSE(h.goes_on(true, 5000));
    EXPECT_FALSE(h.kept());
}

TEST(headway, is_shorter_in_shorter_rows) {
    headway h;
    serve(h, 20);
    h.keep(1000);
    EXPECT_TRUE(h.goes_on(false, 999 + 20 * headway::each));
    EXPECT_FALSE(h.goes_on(false, 1000 + 20 * headway::each));
    h.answered();
    serve(h, 3);
    h.keep(1000);
    EXPECT_TRUE(h.goes_on(false, 999 + 20 * headway::each)) << "as the last one";
}

struct row_of_puts : small_operations {
    headway &of_b() { return engine_access::ring(n.b).distance(); }
    void put_one() { ASSERT_EQ(rma_begun::done, begin(put(next++, &five))); }
    std::int64_t last() const { return memory[1][next - 1]; }
    // Behind what is in its ring, and for long.
    void stay_behind() {
        n.b.begin_wait();
        n.b.progress();
        of_b().keep(now_ns() + 600000000000);
        put_one();
        n.b.progress();
    }

    const std::int64_t five = 5;
    std::size_t next = 0;
};

TEST_F(row_of_puts, is_left_alone_for_a_moment_by_a_target_that_waits) {
    n.b.begin_wait();
    for (unsigned k = 0; k < headway::row; ++k) {
        put_one();
        n.b.progress();
        EXPECT_EQ(five, last());
        EXPECT_FALSE(of_b().kept());
    }
    put_one();
    n.b.progress();
    EXPECT_EQ(five, last());
    EXPECT_TRUE(of_b().kept());
    put_one();
    wait_until("the moment is over", [&] {
        n.b.progress();
        return five == last();
    });
    n.b.end_wait();
}

TEST_F(row_of_puts, is_not_looked_at_meanwhile) {
    stay_behind();
    EXPECT_EQ(0, last());
    EXPECT_TRUE(of_b().kept());
    flush(); // which asks
    EXPECT_EQ(five, last());
    EXPECT_FALSE(of_b().kept());
    n.b.end_wait();
}

TEST_F(row_of_puts, is_looked_at_where_there_is_no_room) {
    stay_behind();
    const std::vector<std::int64_t> many(words_exposed, 7);
    for (int k = 0; k < 20; ++k) { // four times the ring
        submit(put(0, many.data(), 500), rma_begun::message);
    }
    n.a.enter(); // the thread may be at it
    EXPECT_FALSE(rma::quiet(target));
    n.a.leave();
    n.b.progress();
    EXPECT_EQ(7, memory[1][0]);
    flush();
    n.b.end_wait();
}

// As where a program sends messages behind its puts.
TEST_F(row_of_puts, what_is_none_of_it_has_nobody_stay_behind) {
    n.b.begin_wait();
    for (unsigned k = 0; k < 2 * headway::row; ++k) {
        put_one();
    }
    flush();
    test_send s;
    test_recv r;
    r.aim(100, ctx, 0, tag);
    s.aim(n.to_b, 100, 3, ctx, 0, tag);
    n.receive(n.b, r);
    of_b() = headway();
    for (unsigned k = 0; k < 2 * headway::row; ++k) {
        of_b().served();
    }
    EXPECT_TRUE(of_b().in_a_row());
    n.send(n.a, s);
    n.b.progress();
    EXPECT_EQ(op_state::done, r.state);
    EXPECT_FALSE(of_b().kept());
    n.b.end_wait();
}

TEST_F(row_of_puts, is_looked_at_by_a_target_that_does_not_wait) {
    stay_behind();
    EXPECT_EQ(0, last());
    n.b.end_wait();
    n.b.progress();
    EXPECT_EQ(five, last());
}

} // namespace
} // namespace smartint
