// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// The board's protocol on a machine with store buffers, every interleaving: arm against post,
// match against leave, two posters for one request; the ring that the application takes back; a
// notice for another node and the helper that falls asleep. Each fence taken away must be missed.
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
        store(request, request_armed),                                     // B1
        store(armed, 1), f.b2 ? fence() : nothing(), load(r_seen, notice), // B3
        jump_if(r_seen, 0, "leave"), compare(r_swap, request, request_armed, request_matched),
        set(r_known, 1), // *matched, whoever won the exchange
        at("leave", store(progress, 0)), f.b10 ? fence() : nothing(), load(r_wanted, wanted), // B11
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
    return explore({owner(f), poster(f, notice)}, inside_engine(),
                   [](const state &s) { return request_matched == s.memory[request] && served(s); });
}

TEST(board_model, whoever_comes_second_matches_and_somebody_always_acts) {
    const verdict v = check({});
    EXPECT_TRUE(v.good());
    EXPECT_GT(v.ends, 3U);
}

TEST(board_model, two_posters_match_one_request_once) {
    const verdict v =
        explore({owner({}), poster({}, notice), poster({}, notice2)}, inside_engine(), [](const state &s) {
            const int matches =
                s.thread[1].reg[r_matched] + s.thread[2].reg[r_matched] + (1 == s.thread[0].reg[r_swap] ? 1 : 0);
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

TEST(board_model, a_rank_that_leaves_and_one_who_matches_never_both_miss) { EXPECT_TRUE(check_leave({}).good()); }

TEST(board_model, without_a_fence_at_leaving_or_matching_both_miss_and_the_explorer_finds_it) {
    for (bool fences::*missing : {&fences::b8, &fences::b10}) {
        fences f;
        f.*missing = false;
        EXPECT_TRUE(check_leave(f).bad_end);
    }
}

// A message for a peer that is in MPI, which is counted on to find it, against that peer's leaving: L3 and L4.
verdict check_relying(bool l3, bool l4) {
    enum : unsigned { record = notice, asked = wanted };
    const program leaver = assemble({
        store(progress, 0),
        l4 ? fence() : nothing(),
        load(r_wanted, asked),
        jump_if(r_wanted, 0, "end"),
        load(r_seen, record), // it looks once more
        at("end", nothing()),
    });
    const program sender = assemble({
        store(record, 1),                                                  // C1
        store(asked, 1), l3 ? fence() : nothing(), load(r_wake, progress), // 0: a notice
    });
    return explore({leaver, sender}, inside_engine(), [](const state &s) {
        return 0 == s.thread[1].reg[r_wake] || (1 == s.thread[0].reg[r_wanted] && 1 == s.thread[0].reg[r_seen]);
    });
}

TEST(board_model, who_relies_on_a_peer_to_find_a_message_and_that_peer_leaving_never_both_miss) {
    EXPECT_TRUE(check_relying(true, true).good());
    EXPECT_TRUE(check_relying(false, true).bad_end);
    EXPECT_TRUE(check_relying(true, false).bad_end);
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
        load(r_wanted, wanted), jump_if(r_wanted, 0, "end"), exchange(r_swap, wanted, 0),
        load(r_seen, request), // any_matched
    });
    state s = inside_engine();
    s.memory[request] = request_armed;
    s.memory[armed] = 1;
    s.memory[wanted] = 1; // of an earlier match
    const verdict v = explore({clearer, poster({}, notice)}, s, [](const state &e) {
        return 1 == e.memory[wanted] || request_matched == e.thread[0].reg[r_seen] || 1 == e.thread[1].reg[r_wake];
    });
    EXPECT_TRUE(v.good());
}

// ---- a ring that is taken back
//
// The whole way from a match to a served message: posters (note_ring, the descriptor), the
// application that visits its engine now and then (check_matched, leave_slow), and the interrupt
// thread that sleeps on the descriptor (serve). The gate is the asymmetric one. A message comes
// before its notice or after it. At rest, with everybody gone and the thread asleep, no message
// may lie there for a matched request: that would be a lost wake-up.
namespace taking_back {

enum variable : unsigned { wanted, progress, bell, inside, claim, hint, request, message = 8, gave_way = 10 };
enum : int { nothing_wanted = 0, look = 1, rung = 2 };
enum : int { outside = 0, application_inside = 1, thread_inside = 2 };
enum reg : unsigned { r, r_open, r_again };

struct variant {
    int requests = 1;
    int visits = 2;
    bool notice_first = false;  // the message comes by another way and later
    bool drains_always = false; // whatever the word said
    bool drains_by_thread = false;
    bool drains_outside = false; // behind leave's look at the word
    bool notes_plainly = false;  // note_ring by a store
    bool takes_plainly = false;  // check_matched by a load and a store
    bool leaves_blindly = false; // leave looks at the word only, not at what is matched
    bool without_b8 = false;
    bool without_b10 = false;
    bool brief = false; // the visits do not show themselves, where nothing was matched (leave_briefly)
    bool without_p3 = false;
    bool without_p4 = false;
    int before = nothing_wanted; // the word, of an earlier match; where it says so, rung
};

void append(program &p, std::initializer_list<step> more) { p.insert(p.end(), more); }

// any_matched.
void append_look(program &p, const variant &v, const std::string &n) {
    append(p, {set(r_open, 0)});
    for (int i = 0; i < v.requests; ++i) {
        const auto next = "look" + n + std::to_string(i);
        append(p, {load(r, request + i), jump_unless(r, request_matched, next.c_str()), set(r_open, 1),
                   at(next.c_str(), nothing())});
    }
}

// check_matched and poll_ring. At `r_open`: a request is matched and its message is not here.
void append_pass(program &p, const variant &v, const std::string &n, bool by_thread) {
    const auto name = [&](const char *s) { return s + n; };
    append(p, {load(r, wanted), jump_if(r, nothing_wanted, name("poll").c_str())});
    if (v.takes_plainly) {
        append(p, {load(r, wanted), store(wanted, nothing_wanted)});
    } else {
        append(p, {exchange(r, wanted, nothing_wanted)});
    }
    append(p, {store(hint, 1)});
    if (!by_thread || v.drains_by_thread) {
        if (!v.drains_always) {
            append(p, {jump_unless(r, rung, name("poll").c_str())});
        }
        append(p, {exchange(r, bell, 0)});
    }
    append(p, {at(name("poll").c_str(), nothing())});
    for (int i = 0; i < v.requests; ++i) {
        const auto next = name("next") + std::to_string(i);
        append(p, {load(r, message + i), jump_if(r, 0, next.c_str()), store(message + i, 0),
                   store(request + i, request_free), at(next.c_str(), nothing())});
    }
    append_look(p, v, n);
}

void append_enter(program &p, const std::string &n) {
    append(p, {store(inside, 1), at(("wait" + n).c_str(), load(r, claim)), // G1, G2
               jump_unless(r, 0, ("wait" + n).c_str())});
}

program application(const variant &v) {
    program p;
    for (int i = 0; i < v.visits; ++i) {
        const std::string n = std::to_string(i);
        const auto name = [&](const char *s) { return s + n; };
        append_enter(p, n);
        if (!v.brief) {
            append(p, {store(progress, application_inside)});
        }
        append_pass(p, v, n, false);
        append(p, {load(r, hint)});
        if (v.brief) {
            append(p, {jump_unless(r, 0, name("seen").c_str()), store(inside, 0)}); // G5
            append(p, {load(r, gave_way), jump_if(r, 0, name("end").c_str())});     // P3
            append_enter(p, name("again"));
            append_look(p, v, name("again"));
            append(p, {at(name("seen").c_str(), load(r, hint))});
        }
        // matched_hint_ && any_matched()
        append(p, {jump_unless(r, 0, name("leave").c_str()), set(r_open, 0), at(name("leave").c_str(), nothing()),
                   jump_if(r_open, 1, name("out").c_str()), store(hint, 0), at(name("out").c_str(), nothing())});
        if (v.brief) {
            append(p, {store(gave_way, 0)});
        }
        append(p, {store(progress, outside), store(inside, 0),             // G5
                   v.without_b10 ? nothing() : fence(), load(r, wanted)}); // B10, B11
        if (v.drains_outside) {
            append(p, {exchange(r_again, bell, 0)});
        }
        append(p, {jump_unless(r, nothing_wanted, name("ring").c_str())});
        if (!v.leaves_blindly) {
            append(p, {jump_if(r_open, 1, name("ring").c_str())});
        }
        append(p, {jump(name("end").c_str()), at(name("ring").c_str(), exchange(r, bell, 1)),
                   at(name("end").c_str(), nothing())});
    }
    if (v.without_p3) {
        for (step &s : p) {
            s = op::load == s.what && gave_way == s.variable ? set(r, 0) : s;
        }
    }
    return assemble(p);
}

program interrupt_thread(const variant &v) {
    program p{at("sleep", sleep_on(bell)),
              at("try", store(claim, 1)), // G3
              membarrier(),
              load(r, inside), // G4
              jump_if(r, 0, "in"),
              exchange(r, claim, 0),
              v.brief ? store(gave_way, 1) : nothing(),
              v.brief && !v.without_p4 ? membarrier() : nothing(),
              load(r, inside), // park behind the application
              jump_if(r, 0, "try"),
              jump("sleep"),
              at("in", store(progress, thread_inside))};
    append_pass(p, v, "t", true);
    append(p,
           {store(progress, outside), exchange(r, claim, 0),                                            // G6
            fence(), load(r, wanted), jump_unless(r, nothing_wanted, "try"), jump_if(r_open, 1, "try"), // by the timer
            jump("sleep")});
    return assemble(p);
}

program poster(const variant &v, unsigned i) {
    program p;
    if (!v.notice_first) {
        append(p, {store(message + i, 1), fence()}); // C1 .. B5
    }
    append(p, {load(r, request + i), jump_unless(r, request_armed, "end"),
               compare(r, request + i, request_armed, request_matched),                       // B7
               jump_if(r, 0, "end"), store(wanted, look), v.without_b8 ? nothing() : fence(), // B8
               load(r, progress), jump_unless(r, outside, "end"),                             // B9
               v.notes_plainly ? store(wanted, rung) : compare(r, wanted, look, rung), exchange(r, bell, 1),
               at("end", nothing())});
    if (v.notice_first) {
        append(p, {store(message + i, 1)});
    }
    return assemble(p);
}

verdict check(const variant &v) {
    state s;
    s.memory[wanted] = static_cast<std::int8_t>(v.before);
    s.memory[bell] = rung == v.before ? 1 : 0;
    std::vector<program> all{application(v), interrupt_thread(v)};
    for (int i = 0; i < v.requests; ++i) {
        s.memory[request + static_cast<unsigned>(i)] = request_armed;
        all.push_back(poster(v, static_cast<unsigned>(i)));
    }
    const auto no_end = [](const state &) { return true; };
    return explore(all, s, no_end, [&](const state &e) {
        for (unsigned i = 0; i < static_cast<unsigned>(v.requests); ++i) {
            if (request_matched == e.memory[request + i]) {
                return false;
            }
        }
        // and the word is empty, so that nobody is rung for what is over
        return nothing_wanted == e.memory[wanted];
    });
}

} // namespace taking_back

using taking_back::variant;

// Message or notice first; a word that is empty, or says look since an earlier match. What goes
// wrong does so in one visit already.
template <class F> void each_case(int visits, F f) {
    for (const bool notice_first : {false, true}) {
        for (const int before : {taking_back::nothing_wanted, taking_back::look}) {
            variant v;
            v.visits = visits;
            v.notice_first = notice_first;
            v.before = before;
            SCOPED_TRACE((notice_first ? "notice first, word " : "message first, word ") + std::to_string(before));
            f(v);
        }
    }
}

TEST(ring_taken_back, no_message_is_left_to_a_thread_that_sleeps) {
    for (const int visits : {1, 2}) {
        each_case(visits, [](variant v) {
            if (v.visits > 1 && (v.notice_first || taking_back::nothing_wanted != v.before)) {
                return; // many states and nothing new
            }
            const verdict r = taking_back::check(v);
            EXPECT_TRUE(r.good());
            EXPECT_GT(r.rests, 5U);
        });
    }
    variant v; // somebody is on his way already to wake the thread
    v.before = taking_back::rung;
    v.visits = 1;
    EXPECT_TRUE(taking_back::check(v).good());
}

TEST(ring_taken_back, behind_leaves_look_it_is_lost_and_the_explorer_finds_it) {
    each_case(1, [](variant v) {
        v.drains_outside = true;
        EXPECT_TRUE(taking_back::check(v).deadlock);
    });
}

TEST(ring_taken_back, without_a_look_at_the_requests_when_leaving_it_is_lost_and_the_explorer_finds_it) {
    variant v;
    v.notice_first = true;
    v.leaves_blindly = true;
    EXPECT_TRUE(taking_back::check(v).deadlock);
}

TEST(ring_taken_back, where_the_word_is_taken_by_a_load_and_a_store_it_is_lost_and_the_explorer_finds_it) {
    variant v;
    v.notice_first = true;
    v.visits = 1;
    v.before = taking_back::look;
    v.takes_plainly = true;
    EXPECT_TRUE(taking_back::check(v).deadlock);
}

TEST(ring_taken_back, without_the_fence_of_match_or_leave_it_is_lost_and_the_explorer_finds_it) {
    for (bool variant::*missing : {&variant::without_b8, &variant::without_b10}) {
        each_case(1, [&](variant v) {
            v.*missing = true;
            EXPECT_TRUE(taking_back::check(v).deadlock);
        });
    }
}

TEST(ring_taken_back, no_message_is_left_by_visits_that_do_not_show_themselves) {
    for (const int visits : {1, 2}) {
        each_case(visits, [](variant v) {
            v.brief = true;
            if (v.visits > 1 && (v.notice_first || taking_back::nothing_wanted != v.before)) {
                return; // many states and nothing new
            }
            const verdict r = taking_back::check(v);
            EXPECT_TRUE(r.good());
            EXPECT_GT(r.rests, 3U);
        });
    }
}

TEST(ring_taken_back, where_such_a_visit_and_the_thread_miss_each_other_it_is_lost_and_the_explorer_finds_it) {
    for (bool variant::*missing : {&variant::without_p3, &variant::without_p4}) {
        variant v;
        v.brief = true;
        v.visits = 1;
        v.*missing = true;
        EXPECT_TRUE(taking_back::check(v).deadlock);
    }
}

// What these get wrong costs wakes in vain only. A taken word is followed by a pass and by a look
// at the requests on leaving, whatever became of the ring: that is what keeps the messages.
TEST(ring_taken_back, to_drain_too_often_or_to_note_the_ring_by_a_plain_store_loses_no_message) {
    for (bool variant::*wrong : {&variant::drains_always, &variant::drains_by_thread, &variant::notes_plainly}) {
        variant v;
        v.*wrong = true;
        v.visits = 1;
        EXPECT_TRUE(taking_back::check(v).good());
        v.notice_first = true;
        EXPECT_TRUE(taking_back::check(v).good());
    }
}

// ---- a notice for another node (relay_post, helper_bells::ring) and the helper (core::sleep)

verdict check_helper(bool d1, bool d2) {
    enum : unsigned { entry, state_word, doorbell, taken };
    enum : int { polling = 0, sleeping = 1 };
    const program poster = assemble({
        store(entry, 1), // R1
        d1 ? fence() : nothing(), load(0, state_word), jump_unless(0, sleeping, "end"),
        exchange(1, doorbell, 1), // a system call
    });
    const program helper = assemble({
        at("pass", load(0, entry)), // R2
        jump_if(0, 0, "idle"),
        store(entry, 0),
        store(taken, 1),
        jump("pass"),
        at("idle", store(state_word, sleeping)),
        d2 ? fence() : nothing(),
        load(0, entry), // relay_empty
        jump_unless(0, 0, "awake"),
        sleep_on(doorbell),
        at("awake", store(state_word, polling)),
        jump("pass"),
    });
    const auto any = [](const state &) { return true; };
    return explore({poster, helper}, state{}, any, [](const state &s) { return 1 == s.memory[taken]; });
}

TEST(helper_model, a_notice_posted_while_the_helper_falls_asleep_is_taken) {
    const verdict v = check_helper(true, true);
    EXPECT_TRUE(v.good());
    EXPECT_GT(v.rests, 0U);
}

TEST(helper_model, with_a_fence_missing_it_stays_and_the_explorer_finds_it) {
    EXPECT_TRUE(check_helper(false, true).deadlock);
    EXPECT_TRUE(check_helper(true, false).deadlock);
}

} // namespace
} // namespace smartint
