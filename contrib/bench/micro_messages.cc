// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// What a message's steps cost by themselves: through a ring, and matching. One core does both
// sides of a ring here, so no cache line travels; see micro.cc.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "common_smartint_match.h"
#include "common_smartint_params.h"
#include "common_smartint_ring.h"

namespace {

using namespace smartint;

// ---- a message into a ring and out of it again

// waiting: messages that stay in the ring between put and get. With none the records stay in the
// same lines, with many they go through all of the ring.
void ring_put_get(benchmark::State &state) {
    const auto bytes = static_cast<std::uint32_t>(state.range(0));
    const auto waiting = static_cast<unsigned>(state.range(1));
    const std::size_t capacity = params{}.ring_bytes;
    auto control = std::make_unique<layout::ring_control>();
    const std::unique_ptr<std::byte, decltype(&std::free)> base(
        static_cast<std::byte *>(std::aligned_alloc(4096, capacity)), std::free);
    std::memset(base.get(), 0, capacity);
    ring_producer producer;
    ring_consumer consumer;
    producer.attach(control.get(), base.get(), capacity);
    consumer.attach(control.get(), base.get(), capacity);
    std::vector<std::byte> out(bytes, std::byte{7}), in(bytes);

    const auto put = [&] {
        std::byte *p = producer.reserve(bytes);
        if (nullptr != p) {
            std::memcpy(p, out.data(), bytes);
            producer.commit(p, ring_word::pack(bytes, 0, 1));
        }
        return nullptr != p;
    };
    bool sound = true;
    for (unsigned i = 0; i < waiting; ++i) {
        sound = put() && sound;
    }
    for (auto _ : state) {
        sound = put() && sound;
        std::uint64_t word = 0;
        const std::byte *payload = nullptr;
        if (ring_consumer::result::record != consumer.peek(word, payload)) {
            sound = false;
            break;
        }
        std::memcpy(in.data(), payload, ring_word::bytes(word));
        benchmark::ClobberMemory();
        consumer.release();
    }
    if (!sound || in != out) {
        state.SkipWithError("a message did not go through");
    }
}
BENCHMARK(ring_put_get)->ArgNames({"bytes", "waiting"})->ArgsProduct({{8, 256, 1024, 4096}, {0, 32}});

// ---- matching

// 0 .. depth-1 in an order that no cache foresees: each message or receive has a tag of its own.
std::vector<int> any_order(std::size_t depth) {
    std::vector<int> tags(depth);
    std::iota(tags.begin(), tags.end(), 0);
    std::shuffle(tags.begin(), tags.end(), std::mt19937_64(4711));
    return tags;
}

constexpr std::uint32_t context = 1;
constexpr int source = 3;

enum class tags { own, same };

// A message finds its receive among `depth` posted ones, and the receive is posted again.
void match_posted(benchmark::State &state, tags which) {
    const auto depth = static_cast<std::size_t>(state.range(0));
    auto receives = std::make_unique<recv_op[]>(depth);
    matcher m;
    for (std::size_t i = 0; i < depth; ++i) {
        receives[i].context = context;
        receives[i].source = source;
        receives[i].tag = tags::own == which ? static_cast<int>(i) : 0;
        m.post(&receives[i]);
    }
    const std::vector<int> order = any_order(depth);
    std::size_t at = 0;
    for (auto _ : state) {
        const int tag = tags::own == which ? order[at] : 0;
        at = at + 1 == depth ? 0 : at + 1;
        recv_op *r = m.arrive({context, source, tag});
        if (nullptr == r || tag != r->tag) {
            state.SkipWithError("the wrong receive, or none");
            break;
        }
        m.post(r);
    }
    if (depth != m.posted_count()) {
        state.SkipWithError("receives were lost");
    }
    for (std::size_t i = 0; i < depth; ++i) {
        m.cancel(&receives[i]);
    }
}
BENCHMARK_CAPTURE(match_posted, tags_of_their_own, tags::own)->ArgName("depth")->Arg(1)->Arg(1000)->Arg(100000);
BENCHMARK_CAPTURE(match_posted, one_tag, tags::same)->ArgName("depth")->Arg(1)->Arg(1000)->Arg(100000);

void keep_message(matcher &m, int tag) {
    unexpected *u = m.allocate(8);
    u->key = {context, source, tag};
    m.keep(u);
}

// A receive finds its message among `depth` unexpected ones, and another takes its place.
void match_unexpected(benchmark::State &state, tags which, bool wild) {
    const auto depth = static_cast<std::size_t>(state.range(0));
    matcher m;
    if (wild) {
        m.find(context, any_source, any_tag); // from now on messages stand in its queue too
    }
    for (std::size_t i = 0; i < depth; ++i) {
        keep_message(m, tags::own == which ? static_cast<int>(i) : 0);
    }
    const std::vector<int> order = any_order(depth);
    std::size_t at = 0;
    for (auto _ : state) {
        const int tag = tags::own == which ? order[at] : 0;
        at = at + 1 == depth ? 0 : at + 1;
        unexpected *u = wild ? m.find(context, any_source, any_tag) : m.find(context, source, tag);
        if (nullptr == u || (!wild && tag != u->key.tag)) {
            state.SkipWithError("the wrong message, or none");
            break;
        }
        const int taken = u->key.tag;
        m.take(u);
        m.release(u);
        keep_message(m, taken);
    }
    if (depth != m.unexpected_count()) {
        state.SkipWithError("messages were lost");
    }
}
BENCHMARK_CAPTURE(match_unexpected, tags_of_their_own, tags::own, false)
    ->ArgName("depth")
    ->Arg(1)
    ->Arg(1000)
    ->Arg(100000);
BENCHMARK_CAPTURE(match_unexpected, one_tag, tags::same, false)->ArgName("depth")->Arg(1)->Arg(1000)->Arg(100000);
BENCHMARK_CAPTURE(match_unexpected, any_source_any_tag, tags::own, true)
    ->ArgName("depth")
    ->Arg(1)
    ->Arg(1000)
    ->Arg(100000);

// A message finds nothing among `depth` receives with other tags.
void match_nothing(benchmark::State &state) {
    const auto depth = static_cast<std::size_t>(state.range(0));
    auto receives = std::make_unique<recv_op[]>(depth);
    matcher m;
    for (std::size_t i = 0; i < depth; ++i) {
        receives[i].context = context;
        receives[i].source = source;
        receives[i].tag = static_cast<int>(i);
        m.post(&receives[i]);
    }
    int tag = static_cast<int>(depth);
    for (auto _ : state) {
        if (nullptr != m.arrive({context, source, tag++ | 1 << 20})) {
            state.SkipWithError("a receive that does not name the message");
            break;
        }
    }
    for (std::size_t i = 0; i < depth; ++i) {
        m.cancel(&receives[i]);
    }
}
BENCHMARK(match_nothing)->ArgName("depth")->Arg(1)->Arg(1000)->Arg(100000);

} // namespace
