// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Direct copies in pieces, and the rest of one handed over to the sender while the interrupt
// thread still looks at the old words (J1 to J3): a model of all interleavings, where each check
// of hand_over that is left out must be missed, and then the real thing between threads.
#include <deque>
#include <thread>

#include "harness_exchange.h"
#include "tso_model.h"

namespace smartint {
namespace {

namespace model {

using namespace tso;

// Words of three pieces: next counts those given out (the generation is in the check of the
// view), done those in place. over: the job was completed, its memory may be used anew.
constexpr int pieces = 3;
enum variable : unsigned { own_next, own_done, next, done, handed, completed, over, copied };
constexpr unsigned after_over = copied + pieces; // accesses to a job that was over
enum reg : unsigned { r_at, r_ok, r_done, r_over, r_zero = max_registers - 1 };

struct variant {
    bool closes = true;     // hand_over takes what is left from the old words
    bool looks_done = true; // and only where nobody is in the middle of a piece
    bool hands_over = true;
    bool adds_whole = true; // J2 is one read-modify-write
};

void append(program &p, std::initializer_list<step> more) { p.insert(p.end(), more); }

// copy_step until nothing is left, then `out`. Who finishes completes the job.
void append_steps(program &p, const variant &v, const std::string &n, variable from, variable to, bool own_job,
                  const char *out) {
    const std::string again = "again" + n;
    const std::string clean = "clean" + n;
    append(p, {at(again.c_str(), load(r_at, from)), jump_if(r_at, pieces, out), advance(r_ok, from, r_at, 1),
               jump_if(r_ok, 0, again.c_str()), // J1
               mark(copied, r_at)});
    // the job's own words: error and by_thread before done, nothing behind it
    if (own_job) {
        append(p, {load(r_over, over), jump_if(r_over, 0, clean.c_str()), mark(after_over, r_zero),
                   at(clean.c_str(), nothing())});
    }
    if (v.adds_whole) {
        append(p, {add(r_done, to, 1)}); // J2
    } else {
        append(p, {load(r_done, to), store_plus(to, r_done, 1)});
    }
    append(p, {jump_unless(r_done, pieces - 1, again.c_str()), add(r_ok, completed, 1), // J3
               exchange(r_ok, over, 1), jump(again.c_str())});
}

// The interrupt thread with a view of the own words, from before.
program viewer(const variant &v) {
    program p;
    append_steps(p, v, "v", own_next, own_done, true, "end");
    return assemble(p);
}

// The application, which came to wait: hands over if it can, and copies what it then may.
program application(const variant &v) {
    program p;
    if (v.hands_over) {
        append(p, {load(r_at, own_next), jump_if(r_at, pieces, "own"), load(r_done, own_done)});
        if (v.looks_done) {
            // at == done, by the three values that at can have
            append(p, {jump_if(r_at, 1, "one"), jump_if(r_at, 2, "two"), jump_if(r_done, 0, "close"), jump("own"),
                       at("one", nothing()), jump_if(r_done, 1, "close"), jump("own"), at("two", nothing()),
                       jump_if(r_done, 2, "close"), jump("own")});
        }
        append(p, {at("close", nothing())});
        if (v.closes) {
            // the exchange of next for the length, by the value it had
            append(p, {jump_if(r_at, 1, "close1"), jump_if(r_at, 2, "close2"), compare(r_ok, own_next, 0, pieces),
                       jump("closed"), at("close1", compare(r_ok, own_next, 1, pieces)), jump("closed"),
                       at("close2", compare(r_ok, own_next, 2, pieces)), at("closed", nothing()),
                       jump_if(r_ok, 0, "own")});
        }
        append(p, {store_plus(done, r_at, 0), store_plus(next, r_at, 0), // share_copy, J1
                   exchange(r_ok, handed, 1)});                          // the answer
        append_steps(p, v, "s", next, done, true, "end");
        append(p, {jump("end")});
    }
    append(p, {at("own", nothing())});
    append_steps(p, v, "o", own_next, own_done, true, "end");
    return assemble(p);
}

// The sender: takes pieces of the shared words once it has the answer. Its job is its own.
program sender(const variant &v) {
    program p{load(r_ok, handed), jump_if(r_ok, 0, "end")};
    append_steps(p, v, "p", next, done, false, "end");
    return assemble(p);
}

verdict check(const variant &v) {
    state s;
    s.memory[next] = pieces; // no shared copy yet
    return explore({viewer(v), application(v), sender(v)}, s, [](const state &e) {
        for (unsigned i = 0; i < pieces; ++i) {
            if (1 != e.memory[copied + i]) {
                return false;
            }
        }
        return 1 == e.memory[completed] && 0 == e.memory[after_over];
    });
}

} // namespace model

TEST(copy_model, each_piece_is_copied_once_and_the_job_finished_once_and_left_alone) {
    for (const bool hands_over : {true, false}) {
        model::variant v;
        v.hands_over = hands_over;
        const tso::verdict r = model::check(v);
        EXPECT_TRUE(r.good());
        EXPECT_GT(r.states, 100U);
        EXPECT_GT(r.ends, 0U);
    }
}

TEST(copy_model, where_the_old_words_are_not_closed_it_goes_wrong_and_the_explorer_finds_it) {
    model::variant v;
    v.closes = false;
    EXPECT_TRUE(model::check(v).bad_end);
}

TEST(copy_model, where_somebody_is_in_the_middle_of_a_piece_it_goes_wrong_and_the_explorer_finds_it) {
    model::variant v;
    v.looks_done = false;
    EXPECT_TRUE(model::check(v).bad_end);
}

TEST(copy_model, where_done_is_loaded_and_stored_it_is_never_finished_and_the_explorer_finds_it) {
    model::variant v;
    v.adds_whole = false;
    v.hands_over = false;
    EXPECT_TRUE(model::check(v).bad_end);
}

// ---- the engine's own functions

using namespace test;

params pieces_of(std::uint32_t bytes) {
    params p = with("auto");
    p.copy_bytes = bytes;
    return p;
}

// A copy that b reads: begun, nothing moved.
void begin(node_pair &n, test_send &s, test_recv &r, std::uint64_t bytes, std::uint64_t seed) {
    r.aim(bytes, ctx, 0, tag);
    s.aim(n.to_b, bytes, seed, ctx, 0, tag);
    n.receive(n.b, r);
    n.send(n.a, s);
    n.b.enter();
    n.b.pass(true);
    n.b.leave();
    ASSERT_EQ(op_state::moving, r.state);
}

TEST(copy_race, in_the_middle_of_a_piece_nothing_is_handed_over) {
    node_pair n(pieces_of(65536));
    test_recv r;
    test_send s;
    begin(n, s, r, big, 3);
    const auto view = engine_access::view_of(n.b, &r.job);
    n.a.begin_wait();
    const auto copies = [&] {
        n.b.enter();
        const bool any = n.b.look().copies;
        n.b.leave();
        return any;
    };
    view.next->fetch_add(view.step); // the interrupt thread takes a piece
    EXPECT_TRUE(copies());
    EXPECT_EQ(0U, count(n.b, stat::pushes_requested));
    std::copy_n(s.data.data(), view.step, view.local); // and has moved it
    view.done->fetch_add(view.step);
    EXPECT_FALSE(copies()) << "the sender's now";
    EXPECT_EQ(1U, count(n.b, stat::pushes_requested));
    EXPECT_FALSE(engine_access::copy_step(n.b, view)) << "no piece left in the old words";
    n.drive("both", [&] { return 1 == s.delivered && 1 == r.delivered; });
    n.a.end_wait();
    EXPECT_EQ(-1, r.differs(big, 3));
    EXPECT_EQ(0U, count(n.a, stat::refused_messages) + count(n.b, stat::refused_messages));
}

TEST(copy_race, a_thread_on_an_old_view_and_a_hand_over_leave_no_byte_out_and_finish_once) {
    node_pair n(pieces_of(4096));
    constexpr std::uint64_t bytes = 300000;
    constexpr std::uint64_t rounds = 400;
    std::deque<test_recv> r(rounds); // whoever still has a view of one finds it there
    steps go, here, met, gone;
    engine_access::view view;
    // Some pieces alone, then the two meet, and it goes on.
    std::thread thread([&] {
        generator g(4);
        for (std::uint32_t i = 1; i <= rounds; ++i) {
            go.await(i);
            for (unsigned k = g.below(40); k > 0; --k) {
                EXPECT_TRUE(engine_access::copy_step(n.b, view));
            }
            here.reach(i);
            met.await(i);
            for (unsigned k = g.below(4000); k > 0; --k) {
                std::atomic_signal_fence(std::memory_order_seq_cst);
            }
            while (engine_access::copy_step(n.b, view)) {}
            gone.reach(i);
        }
    });
    generator g(3);
    unsigned shared = 0;
    unsigned both = 0;
    for (std::uint64_t i = 0; i < rounds; ++i) {
        test_send s;
        const std::uint64_t pushed = count(n.b, stat::pushes_requested);
        begin(n, s, r[i], bytes, i);
        view = engine_access::view_of(n.b, &r[i].job);
        n.a.begin_wait();
        go.reach(static_cast<std::uint32_t>(i + 1));
        here.await(static_cast<std::uint32_t>(i + 1));
        const std::uint64_t from = view.next->load(std::memory_order_relaxed);
        n.b.begin_wait(); // the application comes: hands over, or copies the rest itself
        met.reach(static_cast<std::uint32_t>(i + 1));
        for (unsigned k = g.below(2) * g.below(30000); k > 0; --k) {
            std::atomic_signal_fence(std::memory_order_seq_cst);
        }
        n.b.progress();
        n.drive("both", [&] { return 1 == s.delivered && 1 == r[i].delivered; });
        n.b.end_wait();
        n.a.end_wait();
        gone.await(static_cast<std::uint32_t>(i + 1));
        EXPECT_FALSE(engine_access::copy_step(n.b, view)) << "it is over";
        ASSERT_EQ(-1, r[i].differs(bytes, i)) << "round " << i;
        EXPECT_EQ(1U, s.delivered);
        EXPECT_EQ(1U, r[i].delivered);
        ASSERT_FALSE(engine_access::copies_open(n.a) || engine_access::copies_open(n.b));
        const bool handed = pushed != count(n.b, stat::pushes_requested);
        shared += handed;
        both += handed && 0 != (from & copy_job::offset_mask);
    }
    thread.join();
    for (int i = 0; i < 5; ++i) { // nothing is finished a second time
        n.a.progress();
        n.b.progress();
    }
    for (const auto &op : r) {
        EXPECT_EQ(1U, op.delivered);
    }
    EXPECT_EQ(0U, count(n.a, stat::refused_messages) + count(n.b, stat::refused_messages));
    EXPECT_EQ(0U, count(n.a, stat::fallbacks) + count(n.b, stat::fallbacks));
    EXPECT_EQ(0U, engine_access::outstanding(n.a) + engine_access::outstanding(n.b));
    std::printf("# %u of %llu copies handed over, %u of them after pieces of the thread's\n", shared,
                static_cast<unsigned long long>(rounds), both);
}

TEST(copy_race, three_who_take_pieces_of_one_copy_finish_it_once) {
    node_pair n(pieces_of(4096));
    constexpr std::uint64_t bytes = 200000;
    constexpr std::uint32_t rounds = 300;
    std::deque<test_recv> r(rounds);
    steps go;
    steps gone[2];
    engine_access::view view;
    std::vector<std::thread> threads;
    for (steps &done : gone) {
        threads.emplace_back([&] {
            for (std::uint32_t i = 1; i <= rounds; ++i) {
                go.await(i);
                while (engine_access::copy_step(n.b, view)) {}
                done.reach(i);
            }
        });
    }
    for (std::uint32_t i = 0; i < rounds; ++i) {
        test_send s;
        begin(n, s, r[i], bytes, i);
        view = engine_access::view_of(n.b, &r[i].job);
        go.reach(i + 1);
        wait_until("the first piece",
                   [&] { return 0 != (view.next->load(std::memory_order_relaxed) & copy_job::offset_mask); });
        n.drive("both", [&] { return 1 == s.delivered && 1 == r[i].delivered; });
        for (steps &done : gone) {
            done.await(i + 1);
        }
        ASSERT_EQ(-1, r[i].differs(bytes, i)) << "round " << i;
    }
    for (auto &t : threads) {
        t.join();
    }
    for (const auto &op : r) {
        EXPECT_EQ(1U, op.delivered);
    }
    EXPECT_EQ(std::uint64_t{rounds}, count(n.b, stat::reads_app) + count(n.b, stat::reads_thread));
    EXPECT_EQ(0U, count(n.a, stat::refused_messages) + count(n.b, stat::refused_messages));
}

// One of an exchange that the sender was asked to write: its receiver comes to wait and would have it by the ring,
// while the sender's thread may begin with it.
TEST(copy_race, a_copy_that_is_taken_back_moves_whole_by_one_way_or_the_other) {
    params p = with("auto");
    p.stream_bytes = big;
    p.timed_bytes = 0;
    p.arm_from = 524288;
    node_pair n(p);
    constexpr std::uint32_t rounds = 400;
    std::deque<test_send> to_b(rounds); // whoever still has a view of one finds it there
    steps go, gone;
    engine_access::view view;
    std::thread thread([&] {
        generator g(5);
        for (std::uint32_t i = 1; i <= rounds; ++i) {
            go.await(i);
            for (unsigned k = g.below(3000); k > 0; --k) {
                std::atomic_signal_fence(std::memory_order_seq_cst);
            }
            while (engine_access::copy_step(n.a, view)) {}
            gone.reach(i);
        }
    });
    generator g(6);
    std::uint64_t taken_back = 0;
    test_send to_a;
    test_recv at_a, at_b;
    for (std::uint32_t i = 0; i < rounds; ++i) {
        to_b[i].aim(n.to_b, big, i, ctx, 0, tag);
        to_a.aim(n.to_a, big, i + 1, ctx, 1, tag);
        at_a.aim(big, ctx, 1, tag);
        at_b.aim(big, ctx, 0, tag);
        n.a.begin_wait();
        n.a.receive(&at_a);
        n.a.send(&to_b[i]);
        n.b.progress();
        n.receive(n.b, at_b); // asks a to write it
        n.a.pass(false, false);
        view = engine_access::view_of(n.a, &to_b[i].job);
        n.send(n.b, to_a);
        const std::uint64_t by_ring = count(n.b, stat::copies);
        go.reach(i + 1);
        for (unsigned k = g.below(6000); k > 0; --k) {
            std::atomic_signal_fence(std::memory_order_seq_cst);
        }
        n.b.begin_wait();
        n.b.progress();
        taken_back += count(n.b, stat::copies) - by_ring;
        n.drive("both", [&] { return 4 == to_b[i].delivered + to_a.delivered + at_a.delivered + at_b.delivered; });
        n.b.end_wait();
        n.a.end_wait();
        gone.await(i + 1);
        EXPECT_FALSE(engine_access::copy_step(n.a, view)) << "it is over";
        ASSERT_EQ(-1, at_b.differs(big, i)) << "round " << i;
        ASSERT_EQ(-1, at_a.differs(big, i + 1)) << "round " << i;
        ASSERT_FALSE(engine_access::copies_open(n.a) || engine_access::copies_open(n.b));
    }
    thread.join();
    EXPECT_EQ(0U, count(n.a, stat::refused_messages) + count(n.b, stat::refused_messages));
    EXPECT_EQ(0U, count(n.a, stat::fallbacks) + count(n.b, stat::fallbacks));
    EXPECT_EQ(0U, engine_access::outstanding(n.a) + engine_access::outstanding(n.b));
    std::printf("# %llu of %u copies taken back\n", static_cast<unsigned long long>(taken_back), rounds);
}

} // namespace
} // namespace smartint
