// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// The board's protocol on a machine with store buffers, every interleaving: arm against post,
// match against leave, two posters for one request. Each fence taken away must be missed.
#include "harness.h"
#include "tso_model.h"

namespace smartint {
namespace {

using namespace tso;

enum variable : unsigned { request, armed, notice, wanted, progress, notice2 };
enum : int { request_free = 0, request_armed = 1, request_matched = 2 };
enum reg : unsigned { r_seen, r_swap, r_known, r_wanted, r_matched, r_wake };

struct fences {
    bool b2 = true, b5 = true, b8 = true, b10 = true;
};

// The owner arms inside its engine and then leaves it.
program owner(const fences &f) {
    return assemble({
        store(request, request_armed), // B1
        store(armed, 1),
        f.b2 ? fence() : nothing(),
        load(r_seen, notice), // B3
        jump_if(r_seen, 0, "leave"),
        compare(r_swap, request, request_armed, request_matched),
        set(r_known, 1), // *matched, whoever won the exchange
        at("leave", store(progress, 0)),
        f.b10 ? fence() : nothing(),
        load(r_wanted, wanted), // B11
    });
}

program poster(const fences &f, variable which) {
    return assemble({
        store(which, 1), // B4
        f.b5 ? fence() : nothing(),
        load(r_seen, armed), // B6
        jump_if(r_seen, 0, "end"),
        load(r_seen, request),
        jump_unless(r_seen, request_armed, "end"),
        compare(r_matched, request, request_armed, request_matched), // B7
        jump_if(r_matched, 0, "end"),
        store(wanted, 1),
        f.b8 ? fence() : nothing(),
        load(r_wake, progress), // B9
        jump_if(r_wake, 0, "wake"),
        set(r_wake, 0),
        jump("end"),
        at("wake", set(r_wake, 1)),
    });
}

state inside_engine() {
    state s;
    s.memory[progress] = 1;
    return s;
}

// Somebody acts: the owner knew when it armed, or saw `wanted`, or was woken.
bool served(const state &s) {
    const auto &o = s.thread[0].reg;
    bool woken = false;
    for (unsigned t = 1; t < max_threads; ++t) {
        woken = woken || (1 == s.thread[t].reg[r_matched] && 1 == s.thread[t].reg[r_wake]);
    }
    return 1 == o[r_known] || 1 == o[r_wanted] || woken;
}

verdict check(const fences &f) {
    return explore({owner(f), poster(f, notice)}, inside_engine(), [](const state &s) {
        return request_matched == s.memory[request] && served(s);
    });
}

TEST(board_model, whoever_comes_second_matches_and_somebody_always_acts) {
    const verdict v = check({});
    EXPECT_TRUE(v.good());
    EXPECT_GT(v.ends, 3U);
}

TEST(board_model, two_posters_match_one_request_once) {
    const verdict v = explore({owner({}), poster({}, notice), poster({}, notice2)}, inside_engine(),
                              [](const state &s) {
                                  const int matches = s.thread[1].reg[r_matched] +
                                                      s.thread[2].reg[r_matched] +
                                                      (1 == s.thread[0].reg[r_swap] ? 1 : 0);
                                  return 1 == matches && served(s);
                              });
    EXPECT_TRUE(v.good());
}

TEST(board_model, without_any_one_of_its_fences_a_match_is_lost_and_the_explorer_finds_it) {
    for (bool fences::*missing : {&fences::b2, &fences::b5}) {
        fences f;
        f.*missing = false;
        EXPECT_TRUE(check(f).bad_end);
    }
}

// Leaving alone, without an arm that has fences of its own: B8 and B10.
verdict check_leave(const fences &f) {
    state s = inside_engine();
    s.memory[request] = request_armed;
    s.memory[armed] = 1;
    const program leaver = assemble({
        store(progress, 0),
        f.b10 ? fence() : nothing(),
        load(r_wanted, wanted),
    });
    return explore({leaver, poster(f, notice)}, s, served);
}

TEST(board_model, a_rank_that_leaves_and_one_who_matches_never_both_miss) {
    EXPECT_TRUE(check_leave({}).good());
}

TEST(board_model, without_a_fence_at_leaving_or_matching_both_miss_and_the_explorer_finds_it) {
    for (bool fences::*missing : {&fences::b8, &fences::b10}) {
        fences f;
        f.*missing = false;
        EXPECT_TRUE(check_leave(f).bad_end);
    }
}

// A request is disarmed and its entry armed for something else while a poster is at it: the
// generation keeps the poster from matching what it did not read. Values: generation * 4 + state.
TEST(board_model, a_late_matcher_never_matches_a_later_generation) {
    enum : unsigned { word = 0, key = 1 };
    const program owner{store(word, 8), store(key, 2), store(word, 13)}; // free, new key, armed
    const program poster = assemble({
        load(0, word),
        jump_unless(0, 5, "end"), // armed in generation 1
        load(1, key),
        jump_unless(1, 1, "end"),
        compare(2, word, 5, 6),
    });
    state s;
    s.memory[word] = 5;
    s.memory[key] = 1;
    const verdict v = explore({owner, poster}, s, [](const state &e) {
        // matched by the poster, then overwritten by the owner; or not at all
        return 13 == e.memory[word];
    });
    EXPECT_TRUE(v.good());
}

// How the engine takes `wanted`: look, then exchange. A match in between must not be lost: the
// word is set again, its poster has woken the rank, or the request says matched at the next look.
TEST(board_model, a_match_while_wanted_is_taken_is_not_lost) {
    const program clearer = assemble({
        load(r_wanted, wanted),
        jump_if(r_wanted, 0, "end"),
        exchange(r_swap, wanted, 0),
        load(r_seen, request), // any_matched
    });
    state s = inside_engine();
    s.memory[request] = request_armed;
    s.memory[armed] = 1;
    s.memory[wanted] = 1; // of an earlier match
    const verdict v = explore({clearer, poster({}, notice)}, s, [](const state &e) {
        return 1 == e.memory[wanted] || request_matched == e.thread[0].reg[r_seen] ||
               1 == e.thread[1].reg[r_wake];
    });
    EXPECT_TRUE(v.good());
}

} // namespace
} // namespace smartint
