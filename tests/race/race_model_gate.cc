// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// The gate on a machine with store buffers, every interleaving: application enters and leaves
// twice, the interrupt thread claims and releases twice. And the same with one fence missing,
// where the explorer must find what goes wrong; otherwise it would prove nothing.
#include "harness.h"
#include "tso_model.h"

namespace smartint {
namespace {

using namespace tso;

enum variable : unsigned { inside, claim, data, claims };
enum reg : unsigned { r_claim, r_data, r_inside, r_swap, r_zero = max_registers - 1 };

struct variant {
    bool asymmetric = true;
    bool application_fence = true; // of the fenced mode
    bool thread_fence = true;
    bool wakes = true;
    bool looks_first = true;  // claim's first look at inside
    bool stores_late = false; // the thread's last store behind its release
};

constexpr int rounds = 2;

program application(const variant &v) {
    program p;
    for (int i = 0; i < rounds; ++i) {
        const std::string n = std::to_string(i);
        const auto name = [&](const char *s) { return s + n; };
        p.push_back(store(inside, 1)); // G1
        p.push_back(!v.asymmetric && v.application_fence ? fence() : nothing());
        p.push_back(load(r_claim, claim)); // G2
        p.push_back(jump_if(r_claim, 0, name("in").c_str()));
        p.push_back(at(name("wait").c_str(), load(r_claim, claim)));
        p.push_back(jump_if(r_claim, 0, name("in").c_str()));
        p.push_back(jump_if(r_claim, 2, name("sleep").c_str()));
        p.push_back(compare(r_swap, claim, 1, 2));
        p.push_back(jump_if(r_swap, 0, name("wait").c_str()));
        p.push_back(at(name("sleep").c_str(), futex_wait(claim, 2)));
        p.push_back(jump(name("wait").c_str()));
        p.push_back(at(name("in").c_str(), enter()));
        p.push_back(load(r_data, data)); // what the gate protects
        p.push_back(store_plus(data, r_data, 1));
        p.push_back(leave());
        p.push_back(store(inside, 0)); // G5
    }
    return assemble(p);
}

program thread(const variant &v) {
    program p;
    for (int i = 0; i < rounds; ++i) {
        const std::string n = std::to_string(i);
        const auto name = [&](const char *s) { return s + n; };
        if (v.looks_first) {
            p.push_back(load(r_inside, inside));
            p.push_back(jump_unless(r_inside, 0, name("next").c_str()));
        }
        p.push_back(store(claim, 1)); // G3
        p.push_back(!v.thread_fence ? nothing() : v.asymmetric ? membarrier() : fence());
        p.push_back(load(r_inside, inside)); // G4
        p.push_back(jump_unless(r_inside, 0, name("release").c_str()));
        p.push_back(enter());
        p.push_back(mark(claims, r_zero)); // how many succeeded
        p.push_back(load(r_data, data));
        p.push_back(v.stores_late ? nothing() : store_plus(data, r_data, 1));
        p.push_back(leave());
        if (v.stores_late) {
            p.push_back(exchange(r_swap, claim, 0));
            p.push_back(store_plus(data, r_data, 1));
            p.push_back(jump(name("wake").c_str()));
        }
        p.push_back(at(name("release").c_str(), exchange(r_swap, claim, 0))); // G6
        p.push_back(at(name("wake").c_str(), nothing()));
        p.push_back(jump_unless(r_swap, 2, name("next").c_str()));
        p.push_back(v.wakes ? futex_wake(claim) : nothing());
        p.push_back(at(name("next").c_str(), nothing()));
    }
    return assemble(p);
}

verdict check(const variant &v) {
    const std::vector<program> both{application(v), thread(v)};
    return explore(both, state{}, [](const state &s) {
        // closed, and no update of the data lost: the application's and one for each claim
        return 0 == s.memory[inside] && 0 == s.memory[claim] && rounds + s.memory[claims] == s.memory[data];
    });
}

// Both inside at once: looked for by itself, as the explorer ends at the first thing that is wrong.
bool both_get_in(const variant &v) {
    EXPECT_TRUE(check(v).bad_end || check(v).exclusion_broken);
    return explore({application(v), thread(v)}, state{}, [](const state &) { return true; }).exclusion_broken;
}

TEST(gate_model, asymmetric_excludes_and_never_hangs) {
    for (const bool looks : {true, false}) {
        variant v;
        v.looks_first = looks;
        const verdict r = check(v);
        EXPECT_FALSE(r.exclusion_broken);
        EXPECT_FALSE(r.deadlock);
        EXPECT_FALSE(r.bad_end);
        EXPECT_FALSE(r.overflow);
        EXPECT_GT(r.ends, 0U);
        EXPECT_GT(r.states, 1000U);
    }
}

TEST(gate_model, fenced_excludes_and_never_hangs) {
    for (const bool looks : {true, false}) {
        variant v;
        v.asymmetric = false;
        v.looks_first = looks;
        const verdict r = check(v);
        EXPECT_TRUE(r.good());
        EXPECT_GT(r.ends, 0U);
    }
}

TEST(gate_model, an_update_behind_the_release_is_lost_and_the_explorer_finds_it) {
    for (const bool asymmetric : {true, false}) {
        variant v;
        v.asymmetric = asymmetric;
        v.stores_late = true;
        const verdict r = check(v);
        EXPECT_TRUE(r.bad_end);
        EXPECT_FALSE(r.exclusion_broken) << "the update is lost, and nobody was in with another";
    }
}

TEST(gate_model, claims_succeed_in_every_number_that_is_possible) {
    std::array<bool, rounds + 1> seen{};
    const std::vector<program> both{application({}), thread({})};
    explore(both, state{}, [&](const state &s) {
        seen.at(static_cast<std::size_t>(s.memory[claims])) = true;
        return true;
    });
    for (int i = 0; i <= rounds; ++i) {
        EXPECT_TRUE(seen.at(static_cast<std::size_t>(i))) << i;
    }
}

TEST(gate_model, without_the_membarrier_both_get_in_and_the_explorer_finds_it) {
    variant v;
    v.thread_fence = false;
    EXPECT_TRUE(both_get_in(v));
}

TEST(gate_model, without_the_applications_fence_both_get_in_and_the_explorer_finds_it) {
    variant v;
    v.asymmetric = false;
    v.application_fence = false;
    EXPECT_TRUE(both_get_in(v));
}

TEST(gate_model, without_the_threads_fence_both_get_in_and_the_explorer_finds_it) {
    variant v;
    v.asymmetric = false;
    v.thread_fence = false;
    EXPECT_TRUE(both_get_in(v));
}

TEST(gate_model, without_the_wake_the_application_sleeps_for_ever_and_the_explorer_finds_it) {
    variant v;
    v.wakes = false;
    EXPECT_TRUE(check(v).deadlock);
}

TEST(gate_model, a_second_interrupt_thread_would_break_it_and_the_explorer_finds_it) {
    const variant v;
    const std::vector<program> three{application(v), thread(v), thread(v)};
    EXPECT_TRUE(explore(three, state{}, [](const state &) { return true; }).exclusion_broken);
}

// The thread's end of the bargain: behind an application that is inside it sleeps, and whoever
// leaves looks whether it does (P1, P2).
verdict check_parking(bool thread_fence, bool application_fence) {
    enum : unsigned { in = 0, parked = 1, bell = 2 };
    const program app = assemble({
        store(in, 0),
        application_fence ? fence() : nothing(),                     // P2
        load(0, parked), jump_if(0, 0, "end"), exchange(1, bell, 1), // ring: a system call
    });
    const program thread = assemble({
        store(parked, 1),
        thread_fence ? fence() : nothing(),                                          // P1
        load(0, in), jump_if(0, 0, "again"), sleep_on(bell), at("again", set(2, 1)), // tries the gate again
    });
    state first;
    first.memory[in] = 1;
    return explore({app, thread}, first, [](const state &s) { return 1 == s.thread[1].reg[2]; });
}

TEST(parking_model, a_thread_that_parks_behind_the_application_is_rung_when_it_leaves) {
    EXPECT_TRUE(check_parking(true, true).good());
}

TEST(parking_model, with_a_fence_missing_it_sleeps_for_ever_and_the_explorer_finds_it) {
    EXPECT_TRUE(check_parking(false, true).deadlock);
    EXPECT_TRUE(check_parking(true, false).deadlock);
}

TEST(explorer, finds_the_store_buffering_that_x86_shows_and_no_more) {
    enum : unsigned { x = 0, y = 1 };
    const auto both_zero = [](const program &a, const program &b) {
        bool seen = false;
        const verdict v = explore({a, b}, state{}, [&](const state &s) {
            seen = seen || (0 == s.thread[0].reg[0] && 0 == s.thread[1].reg[0]);
            return true;
        });
        EXPECT_TRUE(v.good());
        return seen;
    };
    EXPECT_TRUE(both_zero({store(x, 1), load(0, y)}, {store(y, 1), load(0, x)}));
    EXPECT_TRUE(both_zero({store(x, 1), fence(), load(0, y)}, {store(y, 1), load(0, x)}));
    EXPECT_FALSE(both_zero({store(x, 1), fence(), load(0, y)}, {store(y, 1), fence(), load(0, x)}));
    EXPECT_FALSE(both_zero({store(x, 1), load(0, y)}, {store(y, 1), membarrier(), load(0, x)}));
    EXPECT_FALSE(both_zero({exchange(1, x, 1), load(0, y)}, {exchange(1, y, 1), load(0, x)}));
}

TEST(explorer, keeps_the_order_of_stores_as_x86_does) {
    enum : unsigned { flag = 0, value = 1 };
    const program writer{store(value, 1), store(flag, 1)};
    const program reader{load(0, flag), load(1, value)};
    const verdict v = explore({writer, reader}, state{},
                              [](const state &s) { return !(1 == s.thread[1].reg[0] && 0 == s.thread[1].reg[1]); });
    EXPECT_TRUE(v.good());
}

} // namespace
} // namespace smartint
