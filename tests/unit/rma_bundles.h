// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Two engines of two nodes with a window each, for tests of what one sends the other in bundles.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "harness_exchange.h"

namespace smartint::test {

using std::byte;

inline constexpr std::uint32_t window_id = 9;
inline constexpr std::size_t cells = 4096;

struct bundles : testing::Test {
    bundles() : n(test_params("none")) {
        zero = make_window(n.a, window_id, 0, {member_of(n.a.add_self(), own), member_of(n.to_b, memory())}, false);
        one = make_window(n.b, window_id, 1, {member_of(n.to_a, own), member_of(n.b.add_self(), memory())}, false);
        n.a.enter();
        p = n.a.one_sided().peer(zero, 1);
        n.a.leave();
        put(0, cells - 1); // the connection is made
        flushed();
        std::fill(target_bytes.begin(), target_bytes.end(), byte{0});
        sent_before = p->ep->rma_out;
        served_before = count(n.b, stat::rma_served);
    }
    ~bundles() override {
        destroy_window(n.a, zero);
        destroy_window(n.b, one);
    }
    std::vector<byte> &memory() {
        target_bytes.resize(cells * sizeof(std::uint64_t));
        return target_bytes;
    }
    std::uint64_t cell(std::size_t i) {
        std::uint64_t v = 0;
        std::memcpy(&v, target_bytes.data() + i * sizeof(v), sizeof(v));
        return v;
    }
    // operation: of values[from] and those behind it, to the cells from `to` on
    void submit(rma_item::what kind, std::size_t from, std::size_t to, std::size_t count, rma_sync *sync = nullptr) {
        n.a.enter();
        rma_item *i = rma::make(kind, sync);
        const rma_layout layout(count * sizeof(std::uint64_t));
        i->target = reinterpret_cast<std::uint64_t>(target_bytes.data()) + to * sizeof(std::uint64_t);
        i->target_layout = layout;
        i->op = rma_operator::sum;
        i->type = rma_type::i64;
        i->origin = reinterpret_cast<byte *>(values.data() + from);
        i->origin_layout = layout;
        i->result = reinterpret_cast<byte *>(fetched.data() + from);
        i->result_layout = layout;
        n.a.one_sided().submit(p, i);
        n.a.leave();
    }
    void put(std::size_t from, std::size_t to, std::size_t count = 1) { submit(rma_item::what::put, from, to, count); }
    std::unique_ptr<rma_sync> flush() { return begin_flush(n.a, p); }
    void flushed() { test::flushed(n, p); }
    std::uint32_t sent() { return p->ep->rma_out - sent_before; }
    std::uint64_t served() { return count(n.b, stat::rma_served) - served_before; }
    std::uint64_t refused() { return count(n.b, stat::refused_messages); }

    network_pair n;
    std::vector<std::uint64_t> values = std::vector<std::uint64_t>(cells, 5);
    std::vector<std::uint64_t> fetched = std::vector<std::uint64_t>(cells);
    std::vector<byte> own = std::vector<byte>(64);
    std::vector<byte> target_bytes;
    std::uint32_t sent_before = 0;
    std::uint64_t served_before = 0;
    rma_window *zero = nullptr;
    rma_window *one = nullptr;
    rma_peer *p = nullptr;
};

} // namespace smartint::test
