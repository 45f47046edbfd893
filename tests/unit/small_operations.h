// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Two engines of a node with a window, for small operations by message.
#pragma once

#include <array>
#include <vector>

#include "harness_exchange.h"

namespace smartint::test {

constexpr std::uint32_t window_id = 11;
constexpr std::size_t words_exposed = 8192;

// Engine a is the origin, b the target. Both have a thread.
class small_operations : public computing {
protected:
    static params all_by_message() {
        params p = parameters();
        p.timed_bytes = 0; // as usual, and that is by message
        p.ring_bytes = 16384;
        return p;
    }
    explicit small_operations(const params &p = all_by_message(), bool threads = false, bool shares = true)
        : n(p, threads), shares_words(shares) {
        engine_access::give_units(n.a);
        engine_access::give_units(n.b);
        n.start_threads();
        endpoint *const self[] = {n.a.add_self(), n.b.add_self()};
        std::vector<rma_member> mine = {member(self[0], 0), member(n.to_b, 1)};
        std::vector<rma_member> theirs = {member(n.to_a, 0), member(self[1], 1)};
        at_a = make_window(n.a, window_id, 0, std::move(mine));
        at_b = make_window(n.b, window_id, 1, std::move(theirs));
        target = n.a.one_sided().peer(at_a, 1);
        call(n.a, [](rma &r) { r.use(); });
        call(n.b, [](rma &r) { r.use(); });
        settle(n);
    }
    ~small_operations() override {
        n.a.stop_thread();
        n.b.stop_thread();
        destroy_window(n.a, at_a);
        destroy_window(n.b, at_b);
    }
    rma_member member(endpoint *ep, std::size_t rank) {
        rma_member m;
        m.ep = ep;
        m.base = reinterpret_cast<std::uint64_t>(memory[rank].data());
        m.bytes = sizeof(memory[rank]);
        m.words = shares_words ? &shared[rank] : nullptr;
        return m;
    }

    rma_small operation(wire::rma_kind kind, rma_operator op, std::size_t word, const std::int64_t *operand,
                        std::int64_t *result, std::size_t words = 1) {
        rma_small o;
        o.kind = kind;
        o.op = op;
        o.type = rma_type::i64;
        o.operand = reinterpret_cast<const std::byte *>(operand);
        o.result = reinterpret_cast<std::byte *>(result);
        o.target = reinterpret_cast<std::uint64_t>(&memory[1][word]);
        o.bytes = 8 * words;
        return o;
    }
    rma_small put(std::size_t word, const std::int64_t *from, std::size_t words = 1) {
        return operation(wire::rma_kind::put, rma_operator::replace, word, from, nullptr, words);
    }
    rma_small get(std::size_t word, std::int64_t *to, std::size_t words = 1) {
        return operation(wire::rma_kind::get, rma_operator::replace, word, nullptr, to, words);
    }
    rma_begun begin(const rma_small &o) {
        rma_begun begun = rma_begun::no;
        call(n.a, [&](rma &r) { begun = r.try_small(target, o); });
        return begun;
    }
    // As the component does where begin() did not.
    void submit(const rma_small &o, rma_begun begun) {
        rma_item *i = rma::make(wire::rma_kind::get == o.kind ? rma_item::what::get : rma_item::what::put);
        i->chosen = rma_begun::no != begun;
        i->by_message = rma_begun::message == begun;
        i->origin = const_cast<std::byte *>(o.operand);
        i->result = o.result;
        i->target = o.target;
        (nullptr == o.operand ? i->result_layout : i->origin_layout) = rma_layout(o.bytes);
        i->target_layout = rma_layout(o.bytes);
        call(n.a, [&](rma &r) { r.submit(target, i); });
    }
    void flush() {
        const auto sync = begin_flush(n.a, target);
        n.drive("a flush", [&] { return ended(n.a, *sync); });
        EXPECT_TRUE(rma::quiet(target));
    }
    // Until what a has asked for is here, with no call of b's.
    template <class F> void origin_alone(F done) {
        wait_until("the answer", [&] {
            n.a.progress();
            return done();
        });
    }

    node_pair n;
    bool shares_words; // else what combines goes by message, whatever the target does
    std::array<std::int64_t, words_exposed> memory[2]{};
    layout::window_words shared[2]{};
    rma_window *at_a = nullptr;
    rma_window *at_b = nullptr;
    rma_peer *target = nullptr;
};

} // namespace smartint::test
