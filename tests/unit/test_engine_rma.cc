// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Epochs of two engines on one board, driven by hand: what a fence must have waited for, whoever is first.
#include <gtest/gtest.h>

#include <array>

#include "harness_engine.h"

namespace smartint {
namespace {

using std::byte;

constexpr std::uint32_t window_id = 5;
constexpr std::size_t exposed = 4096;

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

        rma_peer *peer(int of) { return e.one_sided().peer(window, of); }
        void fence(rma_sync *sync) {
            e.enter();
            e.one_sided().fence(window, true, sync);
            e.leave();
        }
        // So many bytes of the buffer, to the same place there.
        void put(int to, byte *there, std::size_t bytes) {
            e.enter();
            rma_item *i = rma::make(rma_item::what::put);
            i->origin = buffer.data();
            i->origin_layout = rma_layout(bytes);
            i->target = reinterpret_cast<std::uint64_t>(there);
            i->target_layout = rma_layout(bytes);
            e.one_sided().submit(peer(to), i);
            e.leave();
        }
    };

    pair_of_windows() {
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

    test::node_pair pair_{test::test_params("none")};
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
