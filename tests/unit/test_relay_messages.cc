// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// What another helper, or somebody who claims to be one, sends.
#include <algorithm>
#include <cstring>
#include <vector>

#include "common_smartint_nodes.h"
#include "common_smartint_ring.h"
#include "harness.h"
#include "smartintd_relay.h"

namespace smartint::daemon {
namespace {

using namespace test;

struct relay_messages : testing::Test {
    relay_messages() : gate(board) {
        EXPECT_EQ(0, board.create(directory.path().c_str(), {9, 2, 16384, 1}));
        options o;
        o.transport = "none";
        gate.open(o, [this](std::uint32_t slot, const key &k, std::uint64_t q) {
            got.push_back({slot, k.hi, k.lo, q});
        });
        h.magic = static_cast<std::uint32_t>(layout::magic);
        h.version = layout::version;
        h.count = 1;
        h.job = 9;
        h.secret_hi = board.header().secret_hi;
        h.secret_lo = board.header().secret_lo;
    }
    std::vector<std::byte> message(unsigned items) {
        const auto bytes = static_cast<std::uint32_t>(sizeof(h) + items * sizeof(item));
        std::vector<std::byte> m(8 + bytes);
        const std::uint64_t word = ring_word::pack(bytes, 0, 1);
        std::memcpy(m.data(), &word, 8);
        std::memcpy(m.data() + 8, &h, sizeof(h));
        for (unsigned i = 0; i < items; ++i) {
            item.source_seq = i;
            std::memcpy(m.data() + 8 + sizeof(h) + i * sizeof(item), &item, sizeof(item));
        }
        return m;
    }
    void receive(const std::vector<std::byte> &m) { gate.receive(m.data(), static_cast<std::uint32_t>(m.size())); }
    void rejected(const char *what, unsigned items = 1) {
        const std::uint64_t before = gate.rejected();
        receive(message(items));
        EXPECT_EQ(before + 1, gate.rejected()) << what;
        EXPECT_TRUE(got.empty()) << what;
    }

    struct one {
        std::uint32_t slot;
        std::uint64_t hi, lo, source_seq;
    };
    scratch_directory directory;
    segment board;
    relay gate;
    layout::relay_message_header h{};
    layout::relay_message_item item{1, 0, 11, 22, 0};
    std::vector<one> got;
};

TEST_F(relay_messages, a_good_one_is_delivered_item_by_item) {
    for (unsigned items = 1; items <= layout::relay_batch; ++items) {
        h.count = static_cast<std::uint16_t>(items);
        got.clear();
        receive(message(items));
        ASSERT_EQ(items, got.size());
        for (unsigned i = 0; i < items; ++i) {
            EXPECT_EQ(1U, got[i].slot);
            EXPECT_EQ(11U, got[i].hi);
            EXPECT_EQ(22U, got[i].lo);
            EXPECT_EQ(i, got[i].source_seq);
        }
    }
    EXPECT_EQ(0U, gate.rejected());
}

TEST_F(relay_messages, one_that_a_helper_moved_is_taken_whole_and_as_nothing_else) {
    layout::node_entry &e = board.node(4);
    e.node = 4;
    write_address(e.helper, reinterpret_cast<const std::byte *>("first"), 5);
    layout::relay_message_moved m{};
    m.head = h;
    m.head.count = 0;
    m.node = 4;
    m.address_bytes = 5;
    m.generation = layout::first_address + 2;
    std::memcpy(m.address, "other", 5);
    const auto moved = [&](std::uint8_t type, std::size_t bytes = sizeof(m)) {
        std::vector<std::byte> all(8 + bytes);
        const std::uint64_t word = ring_word::pack(static_cast<std::uint32_t>(bytes), 0, type);
        std::memcpy(all.data(), &word, 8);
        std::memcpy(all.data() + 8, &m, std::min(bytes, sizeof(m)));
        receive(all);
        helper_address now;
        EXPECT_TRUE(read_address(e.helper, &now));
        return now.generation;
    };
    EXPECT_EQ(layout::first_address, moved(1)); // not as notices
    EXPECT_EQ(layout::first_address, moved(2, sizeof(m) - 1));
    EXPECT_EQ(layout::first_address, moved(2, sizeof(m) + 1));
    m.head.secret_lo ^= 1;
    EXPECT_EQ(layout::first_address, moved(2));
    EXPECT_EQ(4U, gate.rejected());
    m.head.secret_lo ^= 1;
    EXPECT_EQ(layout::first_address + 2, moved(2));
    m.node = 1005; // nobody here knows it yet
    EXPECT_EQ(layout::first_address + 2, moved(2));
    EXPECT_TRUE(is_published(board, 1005));
    EXPECT_EQ(4U, gate.rejected());
    EXPECT_TRUE(got.empty());
}

TEST_F(relay_messages, every_wrong_field_is_rejected_and_counted) {
    const auto good = h;
    h.secret_hi ^= 1;
    rejected("secret");
    h = good;
    h.secret_lo ^= 1ULL << 63;
    rejected("secret");
    h = good;
    h.version = layout::version + 1;
    rejected("version");
    h = good;
    h.magic ^= 1;
    rejected("magic");
    h = good;
    h.job = 8;
    rejected("job");
    h = good;
    for (const unsigned count : {0U, 2U, layout::relay_batch + 1, 0xffffU}) {
        h.count = static_cast<std::uint16_t>(count);
        rejected("count");
    }
    h.count = layout::relay_batch + 1;
    rejected("more than a batch", layout::relay_batch + 1);
    h = good;
    h.count = 0;
    rejected("nothing in it", 0);
}

TEST_F(relay_messages, a_slot_out_of_range_is_rejected_and_the_others_are_not) {
    h.count = 3;
    auto m = message(3);
    const std::uint32_t wrong = 2;
    std::memcpy(m.data() + 8 + sizeof(h) + sizeof(item), &wrong, 4);
    receive(m);
    EXPECT_EQ(1U, gate.rejected());
    EXPECT_EQ(2U, got.size());
}

TEST_F(relay_messages, every_length_but_the_right_one_is_rejected) {
    h.count = 2;
    const auto good = message(2);
    for (std::size_t bytes = 0; bytes < good.size(); ++bytes) {
        const std::uint64_t before = gate.rejected();
        receive({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(bytes)});
        EXPECT_EQ(before + 1, gate.rejected()) << bytes;
    }
    auto longer = good;
    longer.push_back(std::byte{0});
    const std::uint64_t before = gate.rejected();
    receive(longer);
    EXPECT_EQ(before + 1, gate.rejected());
    EXPECT_TRUE(got.empty());
}

TEST_F(relay_messages, random_ones_never_get_through) {
    generator g(3);
    for (int i = 0; i < 20000; ++i) {
        auto m = message(1);
        for (int k = 1 + static_cast<int>(g.below(4)); k > 0; --k) {
            m[8 + g.below(sizeof(h))] ^= std::byte(1 + g.below(255));
        }
        m.resize(g.below(4) ? m.size() : g.below(static_cast<std::uint32_t>(m.size())));
        if (0 == std::memcmp(m.data() + 8, &h,
                             std::min<std::size_t>(sizeof(h), m.size() - std::min<std::size_t>(8, m.size())))) {
            continue; // changed back
        }
        receive(m);
    }
    // the pad of the header is nobody's concern
    for (const auto &one : got) {
        EXPECT_EQ(1U, one.slot);
    }
    EXPECT_GT(gate.rejected(), 10000U);
}

} // namespace
} // namespace smartint::daemon
