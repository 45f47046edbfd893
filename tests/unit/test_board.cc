// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "common_smartint_board.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "harness.h"

namespace smartint {
namespace {

constexpr std::uint32_t answer_bit = 0x80000000U; // what the engine sets in a CTS notice's source

struct board : testing::Test {
    board() { owner.attach(memory.get()); }
    board_slot stranger() const { return board_slot(memory.get()); }
    int arm(const key_pattern &p, bool expect_match) {
        bool matched = !expect_match;
        const int i = owner.arm(p, &matched);
        EXPECT_EQ(expect_match, matched);
        return i;
    }
    // The sequence of the notice that matched a request.
    std::uint32_t matched_by(int i) const {
        return static_cast<std::uint32_t>(memory->requests[i].match_seq.load(std::memory_order_relaxed));
    }

    std::unique_ptr<layout::slot> memory = std::make_unique<layout::slot>();
    board_owner owner;
};

TEST(keys, a_pattern_matches_exactly_the_messages_a_receive_would_get) {
    const std::uint32_t contexts[] = {0, 1, 0xffffffffU};
    const std::int32_t sources[] = {0, 1, 77, 0x7fffffff};
    const std::int32_t tags[] = {0, 1, -1, -17, 0x7fffffff};
    unsigned hits = 0;
    for (const auto c : contexts) {
        for (const auto s : sources) {
            for (const auto t : tags) {
                for (const bool any_s : {false, true}) {
                    for (const bool any_t : {false, true}) {
                        const key_pattern p = rts_pattern(c, s, t, any_s, any_t);
                        for (const auto c2 : contexts) {
                            for (const auto s2 : sources) {
                                for (const auto t2 : tags) {
                                    const bool expected = c == c2 && (any_s || s == s2) && (any_t ? t2 >= 0 : t == t2);
                                    ASSERT_EQ(expected, matches(make_rts_key(c2, s2, t2), p))
                                        << c << " " << s << " " << t << " / " << c2 << " " << s2 << " " << t2;
                                    hits += expected;
                                }
                            }
                        }
                    }
                }
            }
        }
    }
    EXPECT_GT(hits, 0U);
}

TEST(keys, kinds_never_match_each_other) {
    for (const std::uint64_t id : {0ULL, 1ULL, 0x100000000ULL, ~0ULL}) {
        EXPECT_FALSE(matches(make_cts_key(id), rts_pattern(0, 0, 0, true, true)));
        EXPECT_TRUE(matches(make_cts_key(id), exact_pattern(make_cts_key(id))));
        EXPECT_FALSE(matches(make_cts_key(id ^ 1), exact_pattern(make_cts_key(id))));
    }
    EXPECT_TRUE(matches(make_rts_key(5, 6, 7), {{0, 0}, {0, 0}})) << "the catch-all";
    EXPECT_TRUE(matches(make_cts_key(5), {{0, 0}, {0, 0}})) << "the catch-all";
}

TEST(keys, a_pattern_of_two_matches_both_and_what_they_have_in_common) {
    using what = rma_epoch_kind;
    const auto of = [](what kind, std::uint32_t window, std::uint64_t peer) {
        return exact_pattern(make_rma_key(kind, window, peer));
    };
    const key_pattern one = either(of(what::grant, 7, 0b0100), of(what::grant, 7, 0b0111));
    EXPECT_TRUE(matches(make_rma_key(what::grant, 7, 0b0100), one));
    EXPECT_TRUE(matches(make_rma_key(what::grant, 7, 0b0111), one));
    EXPECT_TRUE(matches(make_rma_key(what::grant, 7, 0b0110), one));
    EXPECT_FALSE(matches(make_rma_key(what::grant, 7, 0b1100), one));
    EXPECT_FALSE(matches(make_rma_key(what::ack, 7, 0b0100), one));
    EXPECT_FALSE(matches(make_rma_key(what::grant, 8, 0b0100), one));
    EXPECT_FALSE(matches(make_rts_key(7, 0, 4), one));
    const key_pattern more = either(one, rts_pattern(3, 0, 9, true, true));
    EXPECT_TRUE(matches(make_rma_key(what::grant, 7, 0b0111), more));
    EXPECT_TRUE(matches(make_rts_key(3, 12, 1), more));
    EXPECT_TRUE(
        matches(make_rts_key(3, 0, 0), either(rts_pattern(3, 0, 9, true, true), rts_pattern(3, 0, 0, false, false))));
}

TEST_F(board, arm_then_post_matches_once) {
    const int i = arm(rts_pattern(1, 2, 3, false, false), false);
    EXPECT_FALSE(owner.any_matched());
    const auto first = stranger().post(make_rts_key(1, 2, 3), 9, 41);
    EXPECT_TRUE(first.matched);
    EXPECT_TRUE(owner.is_matched(i));
    EXPECT_EQ(41U, matched_by(i));
    EXPECT_TRUE(owner.wanted());
    const auto second = stranger().post(make_rts_key(1, 2, 3), 9, 42);
    EXPECT_FALSE(second.matched) << "a matched request is not matched again";
}

TEST_F(board, post_then_arm_matches_once) {
    const auto o = stranger().post(make_rts_key(1, 2, 3), 9, 41);
    EXPECT_FALSE(o.matched);
    EXPECT_FALSE(o.wake);
    const int i = arm(rts_pattern(1, 2, 3, false, false), true);
    EXPECT_TRUE(owner.is_matched(i));
    EXPECT_EQ(41U, matched_by(i));
    EXPECT_FALSE(stranger().match_requests(make_rts_key(1, 2, 3), 9, 41).matched);
}

TEST_F(board, a_notice_finds_a_request_with_wildcards) {
    const int any = arm(rts_pattern(1, 0, 0, true, true), false);
    EXPECT_FALSE(stranger().post(make_rts_key(2, 5, 6), 1, 1).matched) << "another context";
    EXPECT_TRUE(stranger().post(make_rts_key(1, 5, 6), 1, 2).matched);
    EXPECT_TRUE(owner.is_matched(any));
}

TEST_F(board, one_notice_satisfies_one_request) {
    const int one = arm(rts_pattern(1, 2, 3, false, false), false);
    const int two = arm(rts_pattern(1, 2, 3, false, false), false);
    EXPECT_TRUE(stranger().post(make_rts_key(1, 2, 3), 1, 1).matched);
    EXPECT_NE(owner.is_matched(one), owner.is_matched(two));
    EXPECT_TRUE(stranger().post(make_rts_key(1, 2, 3), 1, 2).matched);
    EXPECT_TRUE(owner.is_matched(one) && owner.is_matched(two));
}

TEST_F(board, a_poster_wakes_only_a_rank_that_is_outside) {
    for (const bool inside : {false, true}) {
        const int i = arm(rts_pattern(1, 2, 3, false, false), false);
        owner.take_wanted();
        owner.set_progress(inside ? layout::rank_inside : layout::rank_outside);
        EXPECT_EQ(inside, stranger().active());
        const auto o = stranger().post(make_rts_key(1, 2, 3), 1, inside ? 2 : 1);
        EXPECT_TRUE(o.matched);
        EXPECT_EQ(!inside, o.wake);
        EXPECT_TRUE(owner.wanted()) << "matched while " << (inside ? "inside" : "outside");
        owner.publish_seen(1, inside ? 2 : 1);
        owner.disarm(i);
    }
}

TEST_F(board, a_wake_that_failed_is_tried_by_the_next_poster) {
    const int i = arm(rts_pattern(1, 2, 3, true, false), false);
    EXPECT_TRUE(stranger().post(make_rts_key(1, 2, 3), 1, 1).wake);
    const auto second = stranger().post(make_rts_key(1, 5, 3), 5, 1);
    EXPECT_FALSE(second.wake || second.matched) << "the first rings";
    stranger().ring_failed();
    EXPECT_FALSE(stranger().post(make_rts_key(1, 5, 4), 5, 2).wake) << "not what it waits for";
    owner.set_progress(layout::rank_inside);
    EXPECT_FALSE(stranger().post(make_rts_key(1, 5, 3), 5, 3).wake) << "it is there by itself";
    owner.set_progress(layout::rank_outside);
    const auto next = stranger().post(make_rts_key(1, 5, 3), 5, 4);
    EXPECT_TRUE(next.wake);
    EXPECT_FALSE(next.matched);
    EXPECT_FALSE(stranger().post(make_rts_key(1, 5, 3), 5, 5).wake) << "now that one rings";
    EXPECT_EQ(layout::wanted_rung, owner.take_wanted());
    EXPECT_FALSE(stranger().post(make_rts_key(1, 5, 3), 5, 6).wake) << "it has come";
    stranger().ring_failed();
    EXPECT_FALSE(owner.wanted()) << "and need not again";
    EXPECT_TRUE(owner.is_matched(i));
}

TEST_F(board, a_rank_that_leaves_after_a_match_is_told) {
    owner.set_progress(layout::rank_inside);
    arm(rts_pattern(1, 2, 3, false, false), false);
    EXPECT_FALSE(stranger().post(make_rts_key(1, 2, 3), 1, 1).wake);
    owner.set_progress(layout::rank_outside);
    EXPECT_TRUE(owner.wanted_after_leave());
    EXPECT_TRUE(owner.take_wanted());
    EXPECT_FALSE(owner.take_wanted());
    EXPECT_FALSE(owner.wanted_after_leave());
}

TEST_F(board, a_handled_notice_matches_nobody_whoever_comes_second) {
    stranger().post(make_rts_key(1, 2, 3), 4, 10);
    owner.publish_seen(4, 10);
    arm(rts_pattern(1, 2, 3, false, false), false);
    EXPECT_FALSE(stranger().post(make_rts_key(1, 2, 3), 4, 9).matched) << "late, already handled";
    EXPECT_FALSE(stranger().post(make_rts_key(1, 2, 3), 4, 10).matched);
    EXPECT_TRUE(stranger().post(make_rts_key(1, 2, 3), 4, 11).matched);
}

TEST_F(board, handled_counters_may_wrap_around) {
    EXPECT_FALSE(stranger().handled(4, 1)) << "nothing was ever handled";
    owner.publish_seen(4, 0xffffffffU);
    EXPECT_TRUE(stranger().handled(4, 0xffffffffU));
    EXPECT_TRUE(stranger().handled(4, 0xfffffff0U));
    EXPECT_FALSE(stranger().handled(4, 1));
    owner.publish_seen(4, 5);
    EXPECT_TRUE(stranger().handled(4, 0xfffffff0U));
    EXPECT_FALSE(stranger().handled(4, 6));
    EXPECT_FALSE(stranger().handled(5, 1)) << "another process";
}

TEST_F(board, a_full_table_refuses_and_takes_again_after_a_disarm) {
    std::vector<int> armed;
    for (unsigned i = 0; i < layout::request_entries; ++i) {
        const int index = arm(rts_pattern(1, 0, static_cast<std::int32_t>(i), false, false), false);
        ASSERT_GE(index, 0);
        armed.push_back(index);
    }
    EXPECT_EQ(layout::request_entries, owner.armed_count());
    bool matched = true;
    EXPECT_EQ(board_owner::none, owner.arm(rts_pattern(1, 0, 999, false, false), &matched));
    EXPECT_FALSE(matched);
    owner.disarm(armed[17]);
    EXPECT_EQ(armed[17], owner.arm(rts_pattern(1, 0, 999, false, false), &matched));
    for (unsigned i = 0; i < layout::request_entries; ++i) {
        const auto tag = static_cast<std::int32_t>(17 == i ? 999 : i);
        EXPECT_TRUE(stranger().post(make_rts_key(1, 0, tag), 1, i + 1).matched) << tag;
    }
    for (const int i : armed) {
        EXPECT_TRUE(owner.is_matched(i));
        owner.disarm(i);
    }
    EXPECT_EQ(0U, owner.armed_count());
    EXPECT_EQ(0U, memory->control.armed.load());
}

TEST_F(board, a_catch_all_takes_any_kind) {
    const int i = arm({{0, 0}, {0, 0}}, false);
    EXPECT_TRUE(stranger().post(make_cts_key(77), 1, 1).matched);
    owner.disarm(i);
    arm({{0, 0}, {0, 0}}, true);
}

TEST_F(board, a_notice_overwritten_by_64_others_is_lost_and_no_other_is_taken_for_it) {
    stranger().post(make_rts_key(1, 2, 3), 1, 1);
    for (unsigned i = 0; i < layout::notice_entries; ++i) {
        stranger().post(make_rts_key(8, 8, 8), 2, i + 1);
    }
    arm(rts_pattern(1, 2, 3, false, false), false);
    arm(rts_pattern(8, 8, 8, false, false), true);
}

TEST_F(board, the_newest_64_notices_are_all_there) {
    for (unsigned i = 0; i < 3 * layout::notice_entries; ++i) {
        stranger().post(make_rts_key(1, 0, static_cast<std::int32_t>(i)), 1, i + 1);
    }
    for (unsigned i = 2 * layout::notice_entries; i < 3 * layout::notice_entries; ++i) {
        const int at = arm(rts_pattern(1, 0, static_cast<std::int32_t>(i), false, false), true);
        owner.disarm(at);
    }
    arm(rts_pattern(1, 0, 2 * layout::notice_entries - 1, false, false), false);
}

TEST_F(board, a_matcher_that_comes_after_a_disarm_cannot_match) {
    const int i = arm(rts_pattern(1, 2, 3, false, false), false);
    auto &state = memory->requests[i].state;
    std::uint64_t seen = state.load(); // a matcher has read the entry and is interrupted here
    owner.disarm(i);
    EXPECT_FALSE(state.compare_exchange_strong(seen, (seen & ~3ULL) | layout::request_matched));
    const int again = arm(rts_pattern(7, 7, 7, false, false), false);
    EXPECT_EQ(i, again) << "the same entry";
    EXPECT_NE(seen & ~3ULL, 0U);
    std::uint64_t old = ((seen & ~3ULL) - 4) | layout::request_armed;
    EXPECT_FALSE(state.compare_exchange_strong(old, (old & ~3ULL) | layout::request_matched))
        << "of another generation";
    EXPECT_FALSE(owner.is_matched(again));
    EXPECT_FALSE(stranger().post(make_rts_key(1, 2, 3), 1, 1).matched);
}

TEST_F(board, a_state_never_repeats) {
    std::vector<std::uint64_t> states;
    for (int round = 0; round < 1000; ++round) {
        const int i = arm(rts_pattern(1, 2, 3, false, false), false);
        ASSERT_EQ(0, i);
        states.push_back(memory->requests[0].state);
        owner.disarm(i);
        states.push_back(memory->requests[0].state);
    }
    std::sort(states.begin(), states.end());
    EXPECT_EQ(states.end(), std::adjacent_find(states.begin(), states.end()));
}

TEST_F(board, a_request_is_armed_again_after_a_match_that_led_to_nothing) {
    const int i = arm(rts_pattern(1, 2, 3, false, false), false);
    const int other = arm(rts_pattern(1, 2, 4, false, false), false);
    EXPECT_TRUE(stranger().post(make_rts_key(1, 2, 3), 1, 1).matched);
    const std::uint64_t untouched = memory->requests[other].state;
    owner.rearm_matched();
    EXPECT_FALSE(owner.any_matched());
    EXPECT_EQ(untouched, memory->requests[other].state.load());
    EXPECT_TRUE(stranger().post(make_rts_key(1, 2, 3), 1, 2).matched);
    EXPECT_TRUE(owner.is_matched(i));
}

TEST_F(board, a_message_that_is_here_frees_the_other_requests_its_notice_had_matched) {
    const int first = arm(rts_pattern(1, 2, 3, true, false), false);
    const int second = arm(rts_pattern(1, 2, 3, false, false), false);
    EXPECT_TRUE(stranger().post(make_rts_key(1, 2, 3), 4, 1).matched);
    EXPECT_TRUE(stranger().post(make_rts_key(1, 2, 3), 5, 1).matched);
    owner.publish_seen(4, 1);
    EXPECT_FALSE(owner.settle()); // received by somebody else's queue
    EXPECT_FALSE(owner.is_matched(first));
    EXPECT_TRUE(owner.is_matched(second)) << "by another notice";
    EXPECT_TRUE(stranger().post(make_rts_key(1, 2, 3), 4, 2).matched) << "armed again";
}

TEST_F(board, a_rank_whose_thread_is_at_work_is_active_and_not_woken) {
    owner.set_progress(layout::rank_thread);
    EXPECT_TRUE(stranger().active());
    EXPECT_FALSE(stranger().waiting());
    arm(rts_pattern(1, 2, 3, false, false), false);
    const auto o = stranger().post(make_rts_key(1, 2, 3), 1, 1);
    EXPECT_TRUE(o.matched);
    EXPECT_FALSE(o.wake);
    owner.set_progress(layout::rank_outside);
    EXPECT_FALSE(stranger().active());
    EXPECT_TRUE(owner.wanted_after_leave());
}

TEST_F(board, a_notice_that_came_while_a_request_was_matched_is_not_missed_when_it_is_armed_again) {
    const int i = arm(rts_pattern(1, 2, 3, false, false), false);
    EXPECT_TRUE(stranger().post(make_rts_key(1, 2, 3), 66, 1).matched) << "forged";
    EXPECT_FALSE(stranger().post(make_rts_key(1, 2, 3), 5, 1).matched) << "the true one";
    owner.rearm_matched();
    EXPECT_TRUE(owner.is_matched(i)) << "the second comer here is the owner, who must look";
}

TEST_F(board, a_notice_still_being_written_is_passed_over_and_its_poster_finds_the_request) {
    // as in post, interrupted before the stamp
    const std::uint64_t ticket = memory->control.notices_posted.fetch_add(1);
    auto &n = memory->notices[ticket % layout::notice_entries];
    n.stamp = 2 * ticket + 1;
    const key k = make_rts_key(1, 2, 3);
    n.key_hi = k.hi;
    n.key_lo = k.lo;
    n.source_seq = 1ULL << 32 | 1;
    const int i = arm(rts_pattern(1, 2, 3, false, false), false);
    n.stamp = 2 * ticket + 2;
    EXPECT_TRUE(stranger().match_requests(k, 1, 1).matched);
    EXPECT_TRUE(owner.is_matched(i));
}

TEST_F(board, a_poster_lapped_by_others_leaves_nothing_that_is_believed) {
    // an old poster writes its stamp after its entry was used again
    stranger().post(make_rts_key(1, 2, 3), 1, 1);
    for (unsigned i = 0; i < layout::notice_entries; ++i) {
        stranger().post(make_rts_key(8, 8, 8), 2, i + 1);
    }
    memory->notices[0].stamp = 2; // ticket 0 again, but 64 is due here
    const key k = make_rts_key(1, 2, 3);
    memory->notices[0].key_hi = k.hi;
    memory->notices[0].key_lo = k.lo;
    arm(rts_pattern(1, 2, 3, false, false), false);
}

TEST_F(board, a_forged_counter_traps_nobody) {
    for (unsigned i = 0; i < 10; ++i) {
        stranger().post(make_rts_key(1, 0, 0), 1, i + 1);
    }
    owner.publish_seen(1, 10);
    arm(rts_pattern(1, 0, 0, false, false), false); // has looked at all ten
    for (const std::uint64_t forged : {~0ULL, 1ULL << 63, 5ULL, 0ULL}) {
        memory->control.notices_posted = forged;
        bool matched = false;
        const int i = owner.arm(rts_pattern(1, 2, 3, false, false), &matched);
        ASSERT_GE(i, 0);
        EXPECT_FALSE(matched);
        owner.disarm(i);
    }
}

TEST_F(board, forged_bits_of_armed_requests_match_nothing) {
    memory->control.armed = ~0ULL;
    for (unsigned i = 0; i < layout::request_entries; ++i) {
        memory->requests[i].state = i << 2 | (i % 2 ? 3 : 0);
    }
    EXPECT_FALSE(stranger().post(make_rts_key(0, 0, 0), 1, 1).matched);
}

// Two processes that share an entry of the table, whoever that is.
std::uint32_t shares_an_entry_with(std::uint32_t source) {
    for (std::uint32_t other = source + 1;; ++other) {
        const auto memory = std::make_unique<layout::slot>();
        board_owner owner;
        owner.attach(memory.get());
        owner.publish_seen(source, 5);
        owner.publish_seen(other, 5);
        if (!board_slot(memory.get()).handled(source, 5)) {
            return other;
        }
    }
}

TEST_F(board, two_processes_that_share_an_entry_of_the_seen_table_lose_no_wake) {
    const std::uint32_t one = 1;
    const std::uint32_t two = shares_an_entry_with(one);
    owner.set_progress(layout::rank_outside);
    for (std::uint32_t round = 1; round <= 8; ++round) {
        // two's message is taken in while the rank is in MPI, with nothing armed
        EXPECT_FALSE(stranger().post(make_rts_key(1, 9, 9), two, round).matched);
        owner.publish_seen(two, round);
        const int i = arm(rts_pattern(1, 2, 3, false, false), false);
        const auto o = stranger().post(make_rts_key(1, 2, 3), one, round);
        EXPECT_TRUE(o.matched && o.wake) << round;
        owner.publish_seen(one, round);
        owner.settle();
        owner.disarm(i);
    }
    EXPECT_FALSE(stranger().handled(two, 8)) << "they do share an entry";
    arm(rts_pattern(1, 9, 9, false, false), false); // none of two's notices is alive
    EXPECT_TRUE(stranger().post(make_rts_key(1, 9, 9), two, 9).wake);
}

TEST_F(board, a_notice_later_than_its_message_matches_for_a_moment_only) {
    const std::uint32_t one = 1;
    const std::uint32_t two = shares_an_entry_with(one);
    owner.publish_seen(one, 1);
    owner.publish_seen(two, 1);
    const int i = arm(rts_pattern(1, 2, 3, false, false), false);
    EXPECT_TRUE(stranger().post(make_rts_key(1, 2, 3), one, 1).matched) << "no stranger remembers that it was handled";
    EXPECT_FALSE(owner.settle());
    EXPECT_FALSE(owner.is_matched(i));
    EXPECT_TRUE(stranger().post(make_rts_key(1, 2, 3), one, 2).wake);
}

// As when the message comes between a poster's look at the table and its exchange.
TEST_F(board, a_match_that_crossed_its_message_is_undone_by_any_later_look) {
    const int i = arm(rts_pattern(1, 2, 3, false, false), false);
    EXPECT_TRUE(stranger().post(make_rts_key(1, 2, 3), 4, 8).matched);
    owner.publish_seen(4, 9); // and nobody settled at 8
    EXPECT_FALSE(owner.settle());
    EXPECT_FALSE(owner.is_matched(i));
    auto &r = memory->requests[i];
    r.state = (r.state.load() & ~3ULL) | layout::request_matched; // a poster that has not said yet by what
    EXPECT_FALSE(owner.settle());
    EXPECT_TRUE(owner.is_matched(i));
}

TEST_F(board, what_a_process_has_of_each_kind_never_shares_an_entry) {
    for (std::uint32_t process = 0; process < 4096; ++process) {
        owner.publish_seen(process, 3);
        owner.publish_seen(process | rma_source, 5);
        owner.publish_seen(process | answer_bit, 8);
        EXPECT_TRUE(stranger().handled(process, 3)) << process;
        EXPECT_TRUE(stranger().handled(process | rma_source, 5)) << process;
        EXPECT_TRUE(stranger().handled(process | answer_bit, 8)) << process;
    }
}

} // namespace
} // namespace smartint
