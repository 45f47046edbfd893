// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// What a peer of the same job sends is not trusted to be a bundle, an answer or a lock that can be.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "rma_bundles.h"

namespace smartint {
namespace {

using namespace test;

struct false_bundles : bundles {
    // As if zero had sent it. How much of it was refused.
    std::uint64_t arrives(const void *data, std::size_t bytes) {
        std::vector<byte> message(bytes); // its end is where the sanitizer looks
        std::memcpy(message.data(), data, bytes);
        std::fill(target_bytes.begin(), target_bytes.end(), byte{0});
        const std::uint64_t before = refused();
        n.b.enter();
        engine_access::dispatch(n.b, n.to_a, wire::rma, message.data(), static_cast<std::uint32_t>(bytes));
        n.b.leave();
        return refused() - before;
    }
};

TEST_F(false_bundles, one_that_is_no_bundle_is_refused_from_there_on) {
    struct part {
        wire::rma_part what;
        wire::rma_head head;
        rma_run run;
        std::uint64_t data[2];
    };
    static_assert(0 == sizeof(part) % wire::rma_part_step);
    struct {
        wire::rma_head head;
        part parts[2];
    } m{};
    m.head.name = name_of(0);
    m.head.window = window_id;
    m.head.kind = wire::rma_kind::bundle;
    for (part &x : m.parts) {
        x.what.bytes = sizeof(part) - sizeof(x.what) - sizeof(x.data[1]);
        x.head.kind = wire::rma_kind::put;
        x.head.runs = 1;
        x.run = {static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(target_bytes.data())), 8, 8, 1};
        x.data[0] = 3;
    }
    m.parts[1].run.offset += 8;
    const auto good = m;
    const auto arrive = [&](std::size_t bytes = sizeof(m)) {
        const std::uint64_t was_refused = arrives(&m, bytes);
        m = good;
        return was_refused;
    };
    EXPECT_EQ(0U, arrive());
    EXPECT_EQ(3U, cell(0));
    EXPECT_EQ(3U, cell(1));
    EXPECT_EQ(0U, arrive(sizeof(m) - sizeof(std::uint64_t))) << "the last need not be filled up";
    EXPECT_EQ(3U, cell(1));
    EXPECT_EQ(0U, arrive(sizeof(m.head))) << "nothing in it";
    const auto second = [&](auto change) {
        change(m.parts[1]);
        EXPECT_EQ(1U, arrive());
        EXPECT_EQ(3U, cell(0)) << "those before it are as good as by themselves";
        EXPECT_EQ(0U, cell(1));
    };
    second([](part &x) { x.what.bytes = 0; });
    second([](part &x) { x.what.bytes = sizeof(x.head) - 1; });
    second([](part &x) { x.what.bytes = sizeof(part) - sizeof(x.what) + 1; });
    second([](part &x) { x.what.bytes = ~0U; });
    second([](part &x) { x.head.runs = 2; });
    second([](part &x) { x.head.runs = ~0U; });
    for (const auto kind : {wire::rma_kind::none, wire::rma_kind::grant, wire::rma_kind::bundle, wire::rma_kind::ack,
                            wire::rma_kind::data, wire::rma_kind::barrier, wire::rma_kind::count_}) {
        second([&](part &x) { x.head.kind = kind; });
    }
    EXPECT_EQ(1U, arrive(sizeof(m) - sizeof(part) + 4)) << "cut in a length";
    EXPECT_EQ(1U, arrive(sizeof(m) - 2 * sizeof(std::uint64_t))) << "cut in a message";
    m.parts[1].run.offset = 8; // outside: no malformed message, but its sender is told
    EXPECT_EQ(0U, arrive());
    EXPECT_EQ(1U, count(n.b, stat::rma_refused));
}

// The same where a part says all that a message would.
TEST_F(false_bundles, brief_parts_that_cannot_be_are_refused_from_there_on) {
    struct part {
        wire::rma_part what;
        std::uint64_t data[2];
    };
    struct {
        wire::rma_head head;
        part parts[2];
    } m{};
    m.head.name = name_of(0);
    m.head.window = window_id;
    m.head.kind = wire::rma_kind::bundle;
    for (part &x : m.parts) {
        x.what = {8, wire::rma_kind::put, 0, 0, 0, reinterpret_cast<std::uintptr_t>(target_bytes.data())};
        x.data[0] = 3;
    }
    m.parts[1].what.at += 8;
    const auto good = m;
    const auto arrive = [&](std::size_t bytes = sizeof(m)) {
        const std::uint64_t was_refused = arrives(&m, bytes);
        m = good;
        return was_refused;
    };
    EXPECT_EQ(0U, arrive());
    EXPECT_EQ(3U, cell(0));
    EXPECT_EQ(3U, cell(1));
    EXPECT_EQ(0U, arrive(sizeof(m) - sizeof(std::uint64_t))) << "the last need not be filled up";
    EXPECT_EQ(3U, cell(1));
    const auto second = [&](auto change) {
        change(m.parts[1]);
        EXPECT_EQ(1U, arrive());
        EXPECT_EQ(3U, cell(0)) << "those before it are as good as by themselves";
        EXPECT_EQ(0U, cell(1));
    };
    second([](part &x) { x.what.bytes = 17; });
    second([](part &x) { x.what.bytes = ~0U; });
    for (const auto kind : {wire::rma_kind::grant, wire::rma_kind::bundle, wire::rma_kind::answers, wire::rma_kind::ack,
                            wire::rma_kind::data, wire::rma_kind::barrier, wire::rma_kind::count_}) {
        second([&](part &x) { x.what.kind = kind; });
    }
    second([](part &x) { // an operand of its own, which is not there
        x.what.kind = wire::rma_kind::fetch;
        x.what.op = static_cast<std::uint8_t>(rma_operator::sum);
        x.what.type = static_cast<std::uint8_t>(rma_type::i64);
    });
    second([](part &x) {
        x.what.kind = wire::rma_kind::accumulate;
        x.what.op = x.what.type = 255;
    });
    EXPECT_EQ(1U, arrive(sizeof(m) - sizeof(part) + 4)) << "cut in a part";
    EXPECT_EQ(1U, arrive(sizeof(m) - 2 * sizeof(std::uint64_t))) << "cut in its data";
    m.parts[1].what.at = 8; // outside: no malformed message, but its sender is told
    EXPECT_EQ(0U, arrive());
    EXPECT_EQ(1U, count(n.b, stat::rma_refused));
    m.head.kind = wire::rma_kind::answers; // to nothing that was asked
    m.parts[0].what.kind = m.parts[1].what.kind = wire::rma_kind::data;
    EXPECT_EQ(2U, arrive());
    m.head.kind = wire::rma_kind::answers;
    EXPECT_EQ(1U, arrive()) << "puts are no answers";
}

struct false_locks : bundles {
    // As if the other had sent it.
    void forged(engine &to, endpoint *from, std::uint64_t name, wire::rma_kind kind) {
        wire::rma_head h{};
        h.name = name;
        h.window = window_id;
        h.kind = kind;
        h.flags = wire::rma_exclusive;
        to.enter();
        engine_access::dispatch(to, from, wire::rma, &h, sizeof(h));
        to.leave();
        to.progress();
    }
    rma_hold holds() {
        n.b.enter();
        const rma_hold h = n.b.one_sided().peer(one, 0)->holds;
        n.b.leave();
        return h;
    }
};

TEST_F(false_locks, one_asked_for_twice_is_let_go_once) {
    forged(n.b, n.to_a, name_of(0), wire::rma_kind::lock);
    EXPECT_EQ(rma_hold::exclusive, holds());
    forged(n.b, n.to_a, name_of(0), wire::rma_kind::lock);
    EXPECT_EQ(1U, refused());
    forged(n.b, n.to_a, name_of(0), wire::rma_kind::unlock);
    EXPECT_EQ(rma_hold::none, holds()) << "others may have it";
    EXPECT_EQ(1U, refused());
}

TEST_F(false_locks, a_grant_that_nobody_waits_for_grants_nothing) {
    const auto forged_grant = [&] {
        const std::uint64_t before = count(n.a, stat::refused_messages);
        forged(n.a, n.to_b, name_of(1), wire::rma_kind::grant);
        return count(n.a, stat::refused_messages) - before;
    };
    EXPECT_EQ(1U, forged_grant()) << "not asked";
    n.a.enter();
    n.a.one_sided().lock(p, true, nullptr);
    n.a.leave();
    EXPECT_TRUE(p->lock_bundled);
    EXPECT_EQ(1U, forged_grant()) << "the question is not sent yet";
    EXPECT_NE(nullptr, p->asked);
    put(0, 0);
    rma_sync over;
    n.a.enter();
    n.a.one_sided().unlock(p, &over);
    n.a.leave();
    n.drive("the epoch", [&] { return over.done(); });
    EXPECT_EQ(5U, cell(0));
    EXPECT_EQ(1U, forged_grant()) << "it was granted before";
    EXPECT_EQ(0U, refused());
}

} // namespace
} // namespace smartint
