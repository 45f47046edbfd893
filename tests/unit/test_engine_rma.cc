// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// One-sided calls of two engines on one board, driven by hand: what a fence must have waited for, whoever is
// first; what is refused ends; messages of the smallest ring.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "harness_exchange.h"

namespace smartint {
namespace {

using std::byte;
using test::count;

constexpr std::uint32_t window_id = 5;
constexpr std::size_t exposed = 262144;

// A dynamic window of both: everything goes by message, to the own process too.
class pair_of_windows : public ::testing::Test {
protected:
    struct side {
        engine &e;
        int rank;
        endpoint *self = nullptr;
        rma_window *window = nullptr;
        std::array<byte, exposed> memory{};
        std::array<byte, exposed> buffer{};
        std::array<byte, exposed> fetched{};

        rma_peer *peer(int of) { return e.one_sided().peer(window, of); }
        void fence(rma_sync *sync) {
            e.enter();
            e.one_sided().fence(window, sync);
            e.leave();
        }
        void submit(int to, rma_item *i, byte *there, const rma_layout &layout) {
            e.enter();
            i->target = reinterpret_cast<std::uint64_t>(there);
            i->target_layout = layout;
            if (rma_item::what::get != i->kind) {
                i->origin = buffer.data();
                i->origin_layout = rma_layout(layout.bytes());
            }
            if (rma_item::what::get == i->kind || rma_item::what::fetch == i->kind) {
                i->result = fetched.data();
                i->result_layout = rma_layout(layout.bytes());
            }
            e.one_sided().submit(peer(to), i);
            e.leave();
        }
        // So many bytes of the buffer.
        void put(int to, byte *there, std::size_t bytes) {
            submit(to, rma::make(rma_item::what::put), there, rma_layout(bytes));
        }
    };

    explicit pair_of_windows(std::uint32_t ring_bytes = 16384) : pair_(with_rings(ring_bytes)) {
        zero_.self = pair_.a.add_self();
        one_.self = pair_.b.add_self();
        make(zero_, {{zero_.self}, {pair_.to_b}});
        make(one_, {{pair_.to_a}, {one_.self}});
    }
    ~pair_of_windows() override {
        for (side *s : {&zero_, &one_}) {
            s->e.enter();
            s->e.one_sided().destroy(s->window);
            s->e.leave();
        }
    }

    static void make(side &s, std::vector<rma_member> members) {
        s.buffer.fill(byte{0x5a});
        s.e.enter();
        s.window = s.e.one_sided().create(window_id, s.rank, std::move(members), true);
        s.e.one_sided().attach(s.window, reinterpret_cast<std::uint64_t>(s.memory.data()), exposed);
        s.e.leave();
    }
    void settle(const char *what, const rma_sync &x, const rma_sync &y) {
        pair_.drive(what, [&] { return x.done() && y.done(); });
    }

    static params with_rings(std::uint32_t bytes) {
        params p = test::test_params("none");
        p.ring_bytes = bytes;
        return p;
    }

    test::node_pair pair_;
    side zero_{pair_.a, 0};
    side one_{pair_.b, 1};
};

TEST_F(pair_of_windows, a_fence_that_the_other_is_in_already_waits_for_all_of_its_own_flushes) {
    rma_sync mine;
    rma_sync theirs;
    one_.fence(&theirs);
    while (zero_.window->rounds_in.empty()) { // its barrier has come
        zero_.e.progress();
    }
    // The flush of what it put to itself is through before the one to the other process is asked for.
    zero_.put(0, zero_.memory.data(), 64);
    zero_.put(1, one_.memory.data(), 64);
    zero_.fence(&mine);
    EXPECT_FALSE(mine.done()) << "the other has not answered";
    EXPECT_EQ(1U, zero_.window->fences.size());
    for (int i = 0; i < 100; ++i) {
        zero_.e.progress();
    }
    EXPECT_FALSE(mine.done()) << "the other has not even looked";
    settle("a fence of both", mine, theirs);
    EXPECT_EQ(byte{0x5a}, zero_.memory[63]);
    EXPECT_EQ(byte{0x5a}, one_.memory[63]);
    EXPECT_EQ(byte{0}, one_.memory[64]);
    EXPECT_TRUE(zero_.e.one_sided().idle(zero_.window));
}

TEST_F(pair_of_windows, fences_follow_each_other_whoever_comes_first) {
    for (unsigned round = 0; round < 200; ++round) {
        side &first = 0 == round % 2 ? one_ : zero_;
        side &second = 0 == round % 2 ? zero_ : one_;
        rma_sync early;
        rma_sync late;
        first.buffer.fill(byte(round));
        second.buffer.fill(byte(round + 1));
        if (0 != round % 3) {
            first.put(second.rank, second.memory.data(), 512);
            first.put(first.rank, first.memory.data(), 512);
        }
        first.fence(&early);
        for (unsigned i = 0; i < round % 5; ++i) {
            second.e.progress();
        }
        if (0 != round % 4) {
            second.put(second.rank, second.memory.data() + 512, 512);
            second.put(first.rank, first.memory.data() + 512, 512);
        }
        second.fence(&late);
        settle("fences in turn", early, late);
        if (0 != round % 3) {
            EXPECT_EQ(byte(round), second.memory[511]);
            EXPECT_EQ(byte(round), first.memory[0]);
        }
        if (0 != round % 4) {
            EXPECT_EQ(byte(round + 1), second.memory[512]);
            EXPECT_EQ(byte(round + 1), first.memory[1023]);
        }
    }
    EXPECT_TRUE(zero_.e.one_sided().idle(zero_.window));
    EXPECT_TRUE(one_.e.one_sided().idle(one_.window));
}

// Epochs that return requests may be under way still when the fence begins.
TEST_F(pair_of_windows, a_fence_waits_for_exposures_and_accesses_that_were_begun_before_it) {
    rma_sync waited;
    rma_sync completed;
    rma_sync mine;
    rma_sync theirs;
    const auto expose = [&] {
        zero_.e.enter();
        zero_.e.one_sided().post(zero_.window, {1}, false, true);
        zero_.e.one_sided().wait(zero_.window, &waited);
        zero_.e.leave();
        zero_.fence(&mine);
    };
    const auto access = [&] {
        one_.e.enter();
        one_.e.one_sided().await_post(one_.peer(0), nullptr);
        one_.e.leave();
        one_.put(0, zero_.memory.data(), 64);
        one_.e.enter();
        one_.e.one_sided().complete(one_.peer(0), &completed);
        one_.e.leave();
        one_.fence(&theirs);
    };
    const auto passes = [&] {
        for (int i = 0; i < 200; ++i) {
            zero_.e.progress();
            one_.e.progress();
        }
    };
    expose();
    passes();
    EXPECT_TRUE(one_.window->rounds_in.empty()) << "it exposes still";
    access();
    settle("an exposure and a fence", mine, theirs);
    EXPECT_TRUE(waited.done());
    EXPECT_TRUE(completed.done());
    EXPECT_EQ(byte{0x5a}, zero_.memory[63]);

    access();
    passes();
    EXPECT_TRUE(zero_.window->rounds_in.empty()) << "its access has not begun";
    EXPECT_FALSE(theirs.done());
    expose();
    settle("a fence behind an access", mine, theirs);
    EXPECT_TRUE(zero_.e.one_sided().idle(zero_.window));
    EXPECT_TRUE(one_.e.one_sided().idle(one_.window));
}

// Neither a message that is larger than what the ring takes, nor one whose runs alone are.
TEST_F(pair_of_windows, what_is_large_or_in_many_pieces_goes_through_the_smallest_ring) {
    ASSERT_LT(pair_.to_b->max_payload, 64 * sizeof(rma_run));
    rma_layout strided;
    for (std::int64_t i = 0; i < 400; ++i) {
        strided.append(i * i + 8 * i, 8); // no two at the same distance: a run each
    }
    rma_layout sparse(1);
    sparse.append(exposed - 1, 1);
    using what = rma_item::what;
    for (const rma_layout &layout : {rma_layout(exposed), strided, sparse}) {
        for (const what kind : {what::put, what::accumulate, what::fetch, what::get}) {
            for (const int to : {0, 1}) {
                byte *there = (0 == to ? zero_ : one_).memory.data();
                rma_sync done;
                zero_.fetched.fill(byte{0});
                zero_.submit(to, rma::make(kind), there, layout);
                zero_.e.enter();
                zero_.e.one_sided().flush(zero_.peer(to), &done);
                zero_.e.leave();
                pair_.drive("what was asked for",
                            [&] { return done.done() && zero_.e.one_sided().idle(zero_.window); });
                if (what::get == kind) {
                    EXPECT_EQ(byte{0x5a}, zero_.fetched[layout.bytes() - 1]);
                    EXPECT_TRUE(std::equal(zero_.buffer.begin(),
                                           zero_.buffer.begin() + static_cast<std::ptrdiff_t>(layout.bytes()),
                                           zero_.fetched.begin()));
                }
            }
        }
    }
    EXPECT_EQ(0U, count(pair_.a, stat::refused_messages) + count(pair_.b, stat::refused_messages));
    EXPECT_EQ(0U, count(pair_.b, stat::rma_refused));
}

// A part of it lies where nothing is attached: whatever waits for it ends all the same.
TEST_F(pair_of_windows, a_fetch_that_is_refused_for_one_of_its_runs_ends) {
    rma_sync done;
    rma_layout three(8);
    three.append(-1000000, 8);
    three.append(100, 16);
    for (const int to : {0, 1}) {
        for (const auto kind : {rma_item::what::fetch, rma_item::what::get}) {
            zero_.submit(to, rma::make(kind, &done), (0 == to ? zero_ : one_).memory.data() + 64, three);
            pair_.drive("what is refused", [&] { return done.done() && zero_.e.one_sided().idle(zero_.window); });
            EXPECT_EQ(rma_error::range, zero_.e.one_sided().take_error(zero_.window));
            EXPECT_EQ(0U, zero_.peer(to)->fetching + zero_.peer(to)->getting);
        }
    }
}

// Both count what is fetched and not back, and the target refuses what is too much. Here its answers go in small parts,
// and the ring takes only some of them at first.
class large_rings : public pair_of_windows {
protected:
    large_rings() : pair_of_windows(1 << 20) {}
    // Messages that nobody receives into the ring of zero, up to the one that finds no room; how many.
    unsigned fill(unsigned most) {
        const std::array<byte, 4096> data{};
        unsigned n = 0;
        one_.e.enter();
        while (n < most && one_.e.try_eager(pair_.to_a, {77, 1, 1}, data.data(), data.size())) {
            ++n;
        }
        one_.e.leave();
        return n;
    }
};

TEST_F(large_rings, a_target_counts_what_is_fetched_as_the_origin_does) {
    pair_.to_b->max_payload = 65592;
    pair_.to_a->max_payload = 2016;
    const unsigned all = fill(100000);
    while (engine_access::unexpected_messages(zero_.e) < all) {
        zero_.e.progress();
    }
    ASSERT_EQ(all - 8, fill(all - 8)); // room for some 30 KiB
    rma_sync done;
    std::array<byte, exposed> before{};
    before = one_.memory;
    for (const std::size_t bytes : {200536, 63512, 63512, 63512}) {
        rma_item *i = rma::make(rma_item::what::fetch, &done);
        i->op = rma_operator::no_op;
        zero_.submit(1, i, one_.memory.data(), rma_layout(bytes));
    }
    one_.e.progress(); // answers, up to the ring's end
    for (int i = 0; i < 100; ++i) {
        zero_.e.progress(); // has some of it, and asks for more
    }
    EXPECT_FALSE(one_.peer(0)->replies.empty());
    EXPECT_GT(zero_.peer(1)->fetching, 200536U) << "the test is none";
    pair_.drive("all fetches", [&] { return done.done(); });
    EXPECT_EQ(0U, count(one_.e, stat::refused_messages));
    EXPECT_EQ(before, one_.memory);
    EXPECT_TRUE(zero_.e.one_sided().idle(zero_.window));
}

// What lies between the pieces of one run need not be attached, and regions that touch are one.
TEST_F(pair_of_windows, pieces_are_looked_for_in_all_regions) {
    rma &r = one_.e.one_sided();
    byte *const memory = one_.memory.data();
    const auto at = reinterpret_cast<std::uint64_t>(memory);
    ASSERT_TRUE(r.detach(one_.window, at));
    // 0..1000, 1000..1500, then 3000..3100 and 5000..5008
    ASSERT_TRUE(r.attach(one_.window, at + 1000, 500));
    ASSERT_TRUE(r.attach(one_.window, at, 1000));
    ASSERT_TRUE(r.attach(one_.window, at + 3000, 100));
    ASSERT_TRUE(r.attach(one_.window, at + 5000, 8));
    const struct {
        rma_run run;
        bool good;
    } cases[] = {
        {{900, 200, 0, 1}, true},                                 // one piece in two regions that touch
        {{900, 601, 0, 1}, false},                                // and a byte behind them
        {{0, 8, 3000, 2}, true},                                  // 0, 3000
        {{5000, 8, -2000, 2}, true},                              // 5000, 3000
        {{5000, 8, -2500, 3}, false},                             // 2500 is nobody's
        {{0, 8, 2500, 3}, false},     {{1000, 8, 2000, 3}, true}, // 1000, 3000, 5000
        {{1000, 9, 2000, 3}, false},                              // the last one is too short
        {{0, 4, 4, 375}, true},                                   // 0..1500 all through
        {{0, 4, 4, 376}, false},      {{998, 4, 2, 250}, true},   // pieces that overlap, and lie across the seam
        {{998, 4, 2, 251}, false},    {{1496, 4, -8, 188}, true}, {{3096, 4, -16, 7}, true}, {{3096, 4, -16, 8}, false},
    };
    for (const auto &c : cases) {
        rma_layout layout;
        layout.append(c.run);
        rma_sync done;
        one_.memory.fill(byte{0});
        zero_.submit(1, rma::make(rma_item::what::put), memory, layout);
        zero_.e.enter();
        zero_.e.one_sided().flush(zero_.peer(1), &done);
        zero_.e.leave();
        pair_.drive("a put", [&] { return done.done(); });
        EXPECT_EQ(c.good ? rma_error::none : rma_error::range, zero_.e.one_sided().take_error(zero_.window))
            << c.run.offset << " " << c.run.length << " " << c.run.stride << " " << c.run.count;
        const bool one_message = c.run.bytes() <= 1000; // of several those that are good are taken
        for (std::uint64_t k = 0; k < c.run.count && (c.good || one_message); ++k) {
            const std::int64_t last = c.run.offset + static_cast<std::int64_t>(k) * c.run.stride +
                                      static_cast<std::int64_t>(c.run.length) - 1;
            EXPECT_EQ(c.good ? byte{0x5a} : byte{0}, memory[last]) << last;
        }
    }
}

// 12 bytes do not go into 64 KiB. In memory that is at hand they are combined here, so many at a time.
TEST_F(pair_of_windows, pairs_are_combined_whole_however_many) {
    constexpr std::size_t many = 10007;
    zero_.e.enter();
    zero_.e.one_sided().destroy(zero_.window);
    zero_.window =
        zero_.e.one_sided().create(window_id, 0,
                                   {{zero_.self, reinterpret_cast<std::uint64_t>(zero_.memory.data()), exposed},
                                    {pair_.to_b, reinterpret_cast<std::uint64_t>(one_.memory.data()), exposed}},
                                   false);
    zero_.e.leave();
    for (std::size_t i = 0; i < many; ++i) {
        const double value = static_cast<double>(i);
        const int index = static_cast<int>(i);
        std::memcpy(zero_.buffer.data() + 12 * i, &value, 8);
        std::memcpy(zero_.buffer.data() + 12 * i + 8, &index, 4);
    }
    rma_layout layout; // as they lie in memory, with a gap behind each
    layout.append(0, 12);
    layout.repeat(many, 16);
    for (const auto kind : {rma_item::what::accumulate, rma_item::what::fetch}) {
        rma_sync done;
        rma_item *i = rma::make(kind, &done);
        i->op = rma_operator::maxloc;
        i->type = rma_type::pair_f64;
        zero_.submit(0, i, zero_.memory.data(), layout);
        pair_.drive("pairs", [&] { return done.done(); });
    }
    EXPECT_GT(count(pair_.a, stat::rma_direct), 0U);
    for (std::size_t i = 0; i < many; ++i) {
        ASSERT_EQ(0, std::memcmp(zero_.memory.data() + 16 * i, zero_.buffer.data() + 12 * i, 12)) << i;
    }
    EXPECT_EQ(0, std::memcmp(zero_.fetched.data(), zero_.buffer.data(), 12 * many));
    EXPECT_EQ(byte{0}, zero_.memory[16 * many]);
}

TEST_F(pair_of_windows, a_test_for_the_end_of_an_exposure_ends_if_an_origin_is_lost) {
    rma &r = zero_.e.one_sided();
    zero_.e.enter();
    r.post(zero_.window, {1}, false, false);
    EXPECT_FALSE(r.test(zero_.window));
    engine_access::lose(zero_.e, pair_.to_b);
    EXPECT_TRUE(r.test(zero_.window));
    EXPECT_EQ(rma_error::lost, r.take_error(zero_.window));
    zero_.e.leave();
}

// A datatype that begins far behind its address makes up for a displacement before the window.
TEST(mapped_window, a_target_before_its_memory_is_where_its_pieces_say) {
    test::node_pair n(test::test_params("none"));
    std::vector<byte> here(64);
    std::vector<byte> there(64);
    test::fill(here.data(), here.size(), 5);
    rma_member theirs = test::member_of(n.to_b, there);
    theirs.mapped = there.data();
    rma_window *w = test::make_window(n.a, window_id, 0, {test::member_of(n.a.add_self(), here), theirs});
    for (const auto kind : {rma_item::what::put, rma_item::what::get}) {
        rma_item *i = rma::make(kind);
        i->target = theirs.base - 1000;
        i->target_layout.append(1008, 16);
        (rma_item::what::put == kind ? i->origin : i->result) = here.data();
        (rma_item::what::put == kind ? i->origin_layout : i->result_layout) = rma_layout(16);
        rma_sync done;
        test::call(n.a, [&](rma &r) {
            r.submit(r.peer(w, 1), i);
            r.flush(r.peer(w, 1), &done);
        });
        n.drive("a flush", [&] { return test::ended(n.a, done); });
        EXPECT_EQ(0, std::memcmp(here.data(), there.data() + 8, 16));
        std::memset(there.data() + 8, 7, 16);
    }
    EXPECT_EQ(byte{7}, there[8]);
    EXPECT_EQ(byte{0}, there[7]);
    test::destroy_window(n.a, w);
}

TEST_F(pair_of_windows, regions_do_not_overlap_and_an_empty_one_is_one_too) {
    rma &r = zero_.e.one_sided();
    rma_window *w = zero_.window; // all of memory is attached
    const auto at = reinterpret_cast<std::uint64_t>(zero_.memory.data());
    EXPECT_FALSE(r.attach(w, at + 8, 8));
    EXPECT_TRUE(r.attach(w, at + 8, 0));
    EXPECT_TRUE(r.detach(w, at + 8));
    EXPECT_FALSE(r.detach(w, at + 8));
    EXPECT_TRUE(r.detach(w, at));
    EXPECT_TRUE(r.attach(w, at + 8, 0));
    EXPECT_TRUE(r.attach(w, at, exposed));
}

// What the fence of a process with a lost member waits for ends, and so does the fence, in the middle of its call.
TEST_F(pair_of_windows, a_fence_in_a_window_with_a_lost_member_ends_with_an_error) {
    rma_sync before;
    zero_.put(1, one_.memory.data(), 64);
    zero_.fence(&before);
    zero_.e.enter();
    engine_access::lose(zero_.e, pair_.to_b);
    zero_.e.leave();
    EXPECT_TRUE(before.done());
    EXPECT_EQ(rma_error::lost, before.error);
    for (int i = 0; i < 3; ++i) {
        rma_sync after;
        zero_.put(0, zero_.memory.data(), 64);
        zero_.put(1, one_.memory.data(), 64);
        zero_.fence(&after);
        EXPECT_TRUE(after.done());
        EXPECT_EQ(rma_error::lost, after.error);
        EXPECT_TRUE(zero_.window->fences.empty());
    }
}

} // namespace
} // namespace smartint
