// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Locks that are asked for by message, of one process by four others: granted in order of arrival, shared ones
// together.
#include <gtest/gtest.h>

#include <array>

#include "harness_exchange.h"

namespace smartint {
namespace {

constexpr unsigned target = 0, ranks = 5;

class locks : public ::testing::Test {
protected:
    locks() {
        params p = test::test_params("none");
        p.directory = directory_.path();
        for (unsigned r = 0; r < ranks; ++r) {
            EXPECT_EQ(0, all_[r].e.start(p, {test::name_of(r), static_cast<std::uint16_t>(r), false}, false));
            EXPECT_EQ(0, 0 == r ? all_[r].e.create_board(ranks, nullptr)
                                : all_[r].e.open_board(all_[0].e.board_segment().ticket()));
        }
        for (unsigned r = 0; r < ranks; ++r) {
            std::vector<rma_member> members;
            for (unsigned other = 0; other < ranks; ++other) {
                endpoint *ep = other == r
                                   ? all_[r].e.add_self()
                                   : all_[r].e.add_shared(test::name_of(other), static_cast<std::uint16_t>(other));
                members.push_back(test::member_of(ep, all_[other].memory));
            }
            all_[r].window = test::make_window(all_[r].e, 3, static_cast<int>(r), std::move(members));
        }
    }
    ~locks() override {
        for (origin &o : all_) {
            test::destroy_window(o.e, o.window);
        }
        for (origin &o : all_) {
            o.e.stop();
        }
    }

    struct origin {
        engine e;
        rma_window *window = nullptr;
        std::vector<std::byte> memory = std::vector<std::byte>(64);
        rma_sync lock, unlock;
        rma_peer *peer() { return e.one_sided().peer(window, target); }
    };
    // Everything on its way has arrived and been answered.
    void settle() {
        for (unsigned i = 0; i < 20; ++i) {
            for (origin &o : all_) {
                o.e.progress();
            }
        }
    }
    void ask(unsigned r, bool exclusive) {
        origin &o = all_[r];
        asked_[r] = true;
        o.e.enter();
        o.e.one_sided().lock(o.peer(), exclusive, &o.lock);
        o.peer()->passing = false; // else a shared one would pass the others where 2 ms go by
        o.e.leave();
        settle();
    }
    void let_go(unsigned r) {
        origin &o = all_[r];
        o.e.enter();
        o.e.one_sided().unlock(o.peer(), &o.unlock);
        o.e.leave();
        settle();
        EXPECT_TRUE(o.unlock.done());
        asked_[r] = false;
    }
    using those = std::vector<unsigned>;
    those granted() {
        those g;
        for (unsigned r = 0; r < ranks; ++r) {
            if (asked_[r] && all_[r].lock.done()) {
                g.push_back(r);
            }
        }
        return g;
    }

    test::scratch_directory directory_;
    std::array<origin, ranks> all_;
    std::array<bool, ranks> asked_{};
};

TEST_F(locks, go_to_who_asked_first) {
    ask(1, true);
    EXPECT_EQ(those({1}), granted());
    ask(4, true);
    ask(2, true);
    ask(3, true);
    EXPECT_EQ(those({1}), granted());
    let_go(1);
    EXPECT_EQ(those({4}), granted());
    ask(1, true); // behind the others
    let_go(4);
    EXPECT_EQ(those({2}), granted());
    let_go(2);
    EXPECT_EQ(those({3}), granted());
    let_go(3);
    EXPECT_EQ(those({1}), granted());
    let_go(1);
}

TEST_F(locks, are_shared_by_those_between_exclusive_ones) {
    ask(1, true);
    ask(2, false);
    ask(3, false);
    ask(4, true);
    let_go(1);
    EXPECT_EQ(those({2, 3}), granted());
    ask(1, false); // could be shared with them, but one that asked before waits
    EXPECT_EQ(those({2, 3}), granted());
    let_go(2);
    EXPECT_EQ(those({3}), granted());
    let_go(3);
    EXPECT_EQ(those({4}), granted());
    let_go(4);
    EXPECT_EQ(those({1}), granted());
    let_go(1);
}

// Of two targets, by a process that waits for the first: the second lock is not asked for, and another process gets it,
// as it would where every call waits. One that belongs to no thread's order, or to another thread's, is.
TEST_F(locks, of_one_thread_are_asked_for_in_the_order_of_its_calls) {
    ask(1, true);
    origin &waiting = all_[2];
    rma &r = waiting.e.one_sided();
    rma_sync first, second, other, loose;
    waiting.e.enter();
    r.lock(waiting.peer(), true, &first, 1);
    r.lock(r.peer(waiting.window, 3), true, &second, 1);
    EXPECT_FALSE(r.try_take(r.peer(waiting.window, 4), true, 1));
    r.lock(r.peer(waiting.window, 4), true, &other, 2);
    r.lock(r.peer(waiting.window, 2), true, &loose);
    waiting.e.leave();
    settle();
    EXPECT_FALSE(first.done());
    EXPECT_FALSE(second.done());
    EXPECT_TRUE(other.done());
    EXPECT_TRUE(loose.done());
    rma_sync held, dropped;
    rma &third = all_[3].e.one_sided();
    rma_peer *itself = third.peer(all_[3].window, 3);
    all_[3].e.enter();
    third.lock(itself, true, &held, 1);
    all_[3].e.leave();
    settle();
    EXPECT_TRUE(held.done()) << "nobody else has it";
    let_go(1);
    EXPECT_TRUE(first.done());
    EXPECT_FALSE(second.done()) << "it is asked for now";
    all_[3].e.enter();
    third.unlock(itself, &dropped);
    all_[3].e.leave();
    settle();
    EXPECT_TRUE(second.done());
    rma_sync all;
    waiting.e.enter();
    for (const int rank : {0, 2, 3, 4}) {
        r.unlock(r.peer(waiting.window, rank), &all);
    }
    waiting.e.leave();
    settle();
    EXPECT_TRUE(all.done() && dropped.done());
}

TEST_F(locks, the_target_itself_waits_in_turn) {
    ask(1, true);
    ask(target, true);
    ask(2, true);
    EXPECT_EQ(those({1}), granted());
    let_go(1);
    EXPECT_EQ(those({target}), granted());
    let_go(target);
    EXPECT_EQ(those({2}), granted());
    let_go(2);
}

} // namespace
} // namespace smartint
