// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "common_smartint_ids.h"

#include <map>
#include <vector>

#include "harness.h"

namespace smartint {
namespace {

TEST(ids, an_id_finds_what_was_added_and_zero_is_never_one) {
    id_table<int> t;
    int x = 0;
    EXPECT_EQ(nullptr, t.find(0));
    const std::uint64_t id = t.add(&x);
    EXPECT_NE(0U, id);
    EXPECT_EQ(&x, t.find(id));
    EXPECT_EQ(nullptr, t.find(0));
}

TEST(ids, a_removed_id_finds_nothing_even_when_its_place_is_used_again) {
    id_table<int> t;
    int x = 0;
    int y = 0;
    const std::uint64_t old = t.add(&x);
    t.remove(old);
    EXPECT_EQ(nullptr, t.find(old));
    const std::uint64_t young = t.add(&y);
    EXPECT_EQ(static_cast<std::uint32_t>(old), static_cast<std::uint32_t>(young)) << "same place";
    EXPECT_EQ(nullptr, t.find(old));
    EXPECT_EQ(&y, t.find(young));
    t.remove(old); // harmless
    EXPECT_EQ(&y, t.find(young));
}

TEST(ids, an_invented_id_finds_nothing_and_removes_nothing) {
    id_table<int> t;
    int x = 0;
    const std::uint64_t id = t.add(&x);
    test::generator g(1);
    for (int i = 0; i < 100000; ++i) {
        const std::uint64_t invented = g.next();
        if (invented != id) {
            ASSERT_EQ(nullptr, t.find(invented));
            t.remove(invented);
        }
    }
    for (const std::uint64_t near :
         {id + 1, id - 1, id ^ (std::uint64_t{1} << 32), id ^ (std::uint64_t{1} << 63), ~std::uint64_t{0}}) {
        EXPECT_EQ(nullptr, t.find(near));
    }
    EXPECT_EQ(&x, t.find(id));
}

TEST(ids, agree_with_a_map_under_random_use) {
    id_table<int> t;
    std::map<std::uint64_t, int *> ref;
    std::vector<std::uint64_t> dead;
    std::vector<int> values(500);
    test::generator g(2);
    for (int n = 0; n < 50000; ++n) {
        if (ref.size() < values.size() && 0 != g.below(2)) {
            int *p = &values[g.below(static_cast<std::uint32_t>(values.size()))];
            const std::uint64_t id = t.add(p);
            ASSERT_TRUE(ref.emplace(id, p).second) << "an id is given once";
        } else if (!ref.empty()) {
            auto it = std::next(ref.begin(), g.below(static_cast<std::uint32_t>(ref.size())));
            t.remove(it->first);
            dead.push_back(it->first);
            ref.erase(it);
        }
    }
    for (const auto &[id, p] : ref) {
        ASSERT_EQ(p, t.find(id));
    }
    for (const auto id : dead) {
        ASSERT_EQ(nullptr, t.find(id));
    }
    std::size_t seen = 0;
    t.each([&](int *) { ++seen; });
    EXPECT_EQ(ref.size(), seen);
}

TEST(ids, each_may_remove_what_it_is_given) {
    id_table<std::uint64_t> t;
    std::vector<std::uint64_t> ids(100);
    for (auto &id : ids) {
        id = t.add(&id);
    }
    unsigned calls = 0;
    t.each([&](std::uint64_t *id) {
        ++calls;
        t.remove(*id);
    });
    EXPECT_EQ(100U, calls);
    t.each([&](std::uint64_t *) { FAIL() << "nothing is left"; });
}

} // namespace
} // namespace smartint
