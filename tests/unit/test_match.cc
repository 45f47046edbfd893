// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "common_smartint_match.h"

#include <algorithm>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <vector>

#include "harness.h"

namespace smartint {
namespace {

using test::generator;

bool fits(const match_key &message, std::uint32_t context, std::int32_t source, std::int32_t tag) {
    return message.context == context && (any_source == source || message.source == source) &&
           (any_tag == tag ? message.tag >= 0 : message.tag == tag);
}

std::unique_ptr<recv_op> make_receive(std::uint32_t c, std::int32_t s, std::int32_t t) {
    auto r = std::make_unique<recv_op>();
    r->context = c;
    r->source = s;
    r->tag = t;
    return r;
}

unexpected *keep(matcher &m, const match_key &k, std::uint64_t serial, std::uint32_t bytes = 8) {
    unexpected *u = m.allocate(bytes);
    u->key = k;
    u->sender = serial;
    if (bytes >= 8) {
        test::fill(u->bytes(), bytes, serial);
    }
    m.keep(u);
    return u;
}

// What MPI says, done the slow way.
struct model {
    std::list<recv_op *> posted;
    struct message {
        match_key key;
        std::uint64_t serial;
        unexpected *u;
        std::uint32_t bytes;
    };
    std::list<message> waiting;

    recv_op *arrive(const match_key &k) {
        for (auto it = posted.begin(); it != posted.end(); ++it) {
            if (fits(k, (*it)->context, (*it)->source, (*it)->tag)) {
                recv_op *r = *it;
                posted.erase(it);
                return r;
            }
        }
        return nullptr;
    }
    std::list<message>::iterator find(std::uint32_t c, std::int32_t s, std::int32_t t) {
        for (auto it = waiting.begin(); it != waiting.end(); ++it) {
            if (fits(it->key, c, s, t)) {
                return it;
            }
        }
        return waiting.end();
    }
};

void random_operations(std::uint64_t seed, unsigned operations, bool wild) {
    generator g(seed);
    matcher m;
    model ref;
    std::map<recv_op *, std::unique_ptr<recv_op>> owned;
    std::uint64_t serial = 0;
    const std::int32_t tags[] = {0, 1, 2, -1, -5, 0x7fffffff};
    for (unsigned n = 0; n < operations; ++n) {
        const std::uint32_t c = g.below(3);
        const auto s = static_cast<std::int32_t>(g.below(4));
        const std::int32_t t = tags[g.below(6)];
        const std::int32_t ws = wild && 0 == g.below(4) ? any_source : s;
        const std::int32_t wt = wild && 0 == g.below(4) ? any_tag : t;
        switch (g.below(16)) {
        case 0:
        case 1:
        case 2:
        case 3:
        case 4: { // a receive: a waiting message first
            const auto it = ref.find(c, ws, wt);
            unexpected *u = m.find(c, ws, wt);
            if (it != ref.waiting.end()) {
                ASSERT_EQ(it->u, u) << "operation " << n;
                ASSERT_EQ(it->serial, u->sender);
                ASSERT_EQ(it->bytes, u->stored);
                ASSERT_EQ(-1, test::differs(u->bytes(), it->bytes, it->serial));
                m.take(u);
                m.release(u);
                ref.waiting.erase(it);
            } else {
                ASSERT_EQ(nullptr, u) << "operation " << n;
                auto r = make_receive(c, ws, wt);
                m.post(r.get());
                ref.posted.push_back(r.get());
                owned[r.get()] = std::move(r);
            }
            break;
        }
        case 5:
        case 6:
        case 7:
        case 8:
        case 9:
        case 10: { // a message
            recv_op *r = m.arrive({c, s, t});
            ASSERT_EQ(ref.arrive({c, s, t}), r) << "operation " << n;
            if (nullptr == r) {
                const std::uint32_t bytes = 8 + g.below(0 == g.below(10) ? 3000 : 100);
                unexpected *u = keep(m, {c, s, t}, ++serial, bytes);
                ref.waiting.push_back({{c, s, t}, serial, u, bytes});
            } else {
                ASSERT_FALSE(m.cancel(r)) << "a receive that got its message";
                owned.erase(r);
            }
            break;
        }
        case 11:
        case 12: // cancel
            if (!ref.posted.empty()) {
                auto it = std::next(ref.posted.begin(), g.below(static_cast<std::uint32_t>(ref.posted.size())));
                recv_op *r = *it;
                ASSERT_TRUE(m.cancel(r));
                ASSERT_FALSE(m.cancel(r));
                ref.posted.erase(it);
                owned.erase(r);
            }
            break;
        case 13:
        case 14: { // probe
            const auto it = ref.find(c, ws, wt);
            ASSERT_EQ(it == ref.waiting.end() ? nullptr : it->u, m.find(c, ws, wt));
            break;
        }
        default:
            if (0 == g.below(40)) { // a communicator goes
                unsigned dropped = 0;
                for (auto it = ref.waiting.begin(); it != ref.waiting.end();) {
                    if (it->key.context == c) {
                        it = ref.waiting.erase(it);
                        ++dropped;
                    } else {
                        ++it;
                    }
                }
                ASSERT_EQ(dropped, m.drop_context(c));
            }
        }
        ASSERT_EQ(ref.posted.size(), m.posted_count());
        ASSERT_EQ(ref.waiting.size(), m.unexpected_count());
    }
}

TEST(matching, agrees_with_a_simple_model_without_wildcards) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        random_operations(seed, 4000, false);
        ASSERT_FALSE(HasFatalFailure()) << "seed " << seed;
    }
}

TEST(matching, agrees_with_a_simple_model_with_wildcards) {
    for (std::uint64_t seed = 100; seed <= 140; ++seed) {
        random_operations(seed, 4000, true);
        ASSERT_FALSE(HasFatalFailure()) << "seed " << seed;
    }
}

TEST(matching, the_receive_posted_first_wins_whatever_its_wildcards) {
    const struct { std::int32_t s, t; } kinds[] = {{3, 4}, {any_source, 4}, {3, any_tag}, {any_source, any_tag}};
    unsigned order[4] = {0, 1, 2, 3};
    do {
        matcher m;
        std::vector<std::unique_ptr<recv_op>> posted;
        for (const unsigned i : order) {
            posted.push_back(make_receive(1, kinds[i].s, kinds[i].t));
            m.post(posted.back().get());
        }
        for (const auto &r : posted) {
            EXPECT_EQ(r.get(), m.arrive({1, 3, 4}));
        }
        EXPECT_EQ(nullptr, m.arrive({1, 3, 4}));
    } while (std::next_permutation(order, order + 4));
}

TEST(matching, a_wildcard_tag_takes_no_negative_tag) {
    matcher m;
    auto wild = make_receive(1, 0, any_tag);
    auto both = make_receive(1, any_source, any_tag);
    auto exact = make_receive(1, any_source, -7);
    m.post(wild.get());
    m.post(both.get());
    m.post(exact.get());
    EXPECT_EQ(exact.get(), m.arrive({1, 0, -7}));
    EXPECT_EQ(nullptr, m.arrive({1, 0, -7}));
    unexpected *u = keep(m, {1, 0, -7}, 1);
    EXPECT_EQ(nullptr, m.find(1, 0, any_tag));
    EXPECT_EQ(nullptr, m.find(1, any_source, any_tag));
    EXPECT_EQ(u, m.find(1, any_source, -7));
    EXPECT_EQ(u, m.find(1, 0, -7));
}

TEST(matching, a_wildcard_used_late_finds_older_messages_in_order_of_arrival) {
    matcher m;
    std::vector<unexpected *> kept;
    for (std::int32_t i = 0; i < 100; ++i) {
        kept.push_back(keep(m, {1, i * 7 % 13, i * 5 % 11}, static_cast<std::uint64_t>(i)));
    }
    for (unexpected *u : kept) {
        ASSERT_EQ(u, m.find(1, any_source, any_tag));
        m.take(u);
        m.release(u);
    }
    EXPECT_EQ(nullptr, m.find(1, any_source, any_tag));
}

TEST(matching, a_matcher_that_goes_away_with_messages_frees_them) {
    for (const bool wild : {false, true}) {
        matcher m;
        if (wild) {
            m.find(1, any_source, any_tag);
        }
        for (std::int32_t i = 0; i < 1000; ++i) {
            keep(m, {1, i, i % 3}, 1, i % 2 ? 10 : 2000);
        }
    }
}

TEST(matching, a_dropped_context_takes_wildcard_entries_along) {
    matcher m;
    m.find(1, any_source, any_tag);
    m.find(1, any_source, 0);
    m.find(1, 0, any_tag);
    for (std::int32_t i = 0; i < 50; ++i) {
        keep(m, {1, i % 5, i % 7}, 1);
        keep(m, {2, i % 5, i % 7}, 2);
    }
    EXPECT_EQ(50U, m.drop_context(1));
    EXPECT_EQ(nullptr, m.find(1, any_source, any_tag));
    EXPECT_EQ(50U, m.unexpected_count());
    EXPECT_NE(nullptr, m.find(2, any_source, any_tag));
    EXPECT_EQ(0U, m.drop_context(1));
}

// A cost that grows with the queue would take these minutes; the watchdog then ends them.
constexpr std::int32_t many = 100000;

TEST(matching, a_hundred_thousand_posted_receives_cost_no_search) {
    for (const bool one_key : {false, true}) {
        matcher m;
        std::deque<recv_op> ops(many);
        for (std::int32_t i = 0; i < many; ++i) {
            ops[static_cast<std::size_t>(i)].context = 1;
            ops[static_cast<std::size_t>(i)].source = one_key ? 0 : i % 1000;
            ops[static_cast<std::size_t>(i)].tag = one_key ? 0 : i / 1000;
            m.post(&ops[static_cast<std::size_t>(i)]);
        }
        // newest key first: the worst for a list
        for (std::int32_t i = many - 1; i >= 0; --i) {
            recv_op *r = one_key ? m.arrive({1, 0, 0}) : m.arrive({1, i % 1000, i / 1000});
            ASSERT_EQ(&ops[static_cast<std::size_t>(one_key ? many - 1 - i : i)], r);
        }
        EXPECT_EQ(0U, m.posted_count());
    }
}

TEST(matching, a_hundred_thousand_unexpected_messages_cost_no_search) {
    matcher m;
    for (std::int32_t i = 0; i < many; ++i) {
        keep(m, {1, i % 1000, i / 1000}, static_cast<std::uint64_t>(i));
    }
    for (std::int32_t i = many - 1; i >= many / 2; --i) {
        unexpected *u = m.find(1, i % 1000, i / 1000);
        ASSERT_NE(nullptr, u);
        ASSERT_EQ(static_cast<std::uint64_t>(i), u->sender);
        m.take(u);
        m.release(u);
    }
    for (std::int32_t i = 0; i < many / 2; ++i) { // and in order of arrival for a wildcard
        unexpected *u = m.find(1, any_source, any_tag);
        ASSERT_NE(nullptr, u);
        ASSERT_EQ(static_cast<std::uint64_t>(i), u->sender);
        m.take(u);
        m.release(u);
    }
    EXPECT_EQ(0U, m.unexpected_count());
}

TEST(matching, a_hundred_thousand_cancels_cost_no_search) {
    matcher m;
    std::deque<recv_op> ops(many);
    for (auto &op : ops) {
        op.context = 9;
        m.post(&op);
    }
    for (std::size_t i = 0; i < ops.size(); i += 2) {
        ASSERT_TRUE(m.cancel(&ops[i]));
    }
    for (std::size_t i = 1; i < ops.size(); i += 2) {
        ASSERT_EQ(&ops[i], m.arrive({9, 3, 3}));
    }
}

TEST(matching, keys_that_come_and_go_leave_no_growing_table_behind) {
    matcher m;
    for (std::int32_t i = 0; i < 1000000; ++i) {
        recv_op op;
        op.context = 1;
        op.source = 0;
        op.tag = i;
        m.post(&op);
        ASSERT_EQ(&op, m.arrive({1, 0, i}));
    }
}

// A message may come with any value in its header, those that stand for wildcards too.
TEST(matching, a_message_with_a_wildcards_value_is_kept_and_dropped_like_any) {
    matcher m;
    keep(m, {1, any_source, 3}, 1);
    keep(m, {1, 2, any_tag}, 2);
    m.find(1, any_source, any_tag);
    EXPECT_EQ(2U, m.drop_context(1));
    EXPECT_EQ(0U, m.unexpected_count());
}

} // namespace
} // namespace smartint
