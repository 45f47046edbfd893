// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// The ring with four producing threads and one consumer: nothing lost, nothing mixed up, each
// producer in its order, through many turns of a small ring.
#include "common_smartint_ring.h"

#include <memory>
#include <thread>
#include <cstdlib>
#include <vector>

#include "harness.h"

namespace smartint {
namespace {

constexpr std::uint64_t capacity = 16384;

struct memory {
    layout::ring_control control;
    alignas(layout::line) std::byte bytes[capacity];
};

void run(unsigned producers, std::uint32_t records, std::uint32_t largest, bool lingering) {
    const auto m = std::make_unique<memory>();
    std::vector<std::thread> threads;
    for (std::uint16_t source = 0; source < producers; ++source) {
        threads.emplace_back([&m, source, records, largest, lingering] {
            ring_producer p;
            p.attach(&m->control, m->bytes, capacity);
            test::generator g(source + 10U);
            for (std::uint32_t i = 0; i < records; ++i) {
                const std::uint32_t bytes = 4 + g.below(largest);
                std::byte *at = nullptr;
                while (nullptr == (at = p.reserve(bytes))) {
                    sched_yield();
                }
                if (lingering && 0 == g.below(100)) {
                    sched_yield(); // between reserve and commit: the others go on behind
                }
                std::memcpy(at, &i, 4);
                std::memset(at + 4, static_cast<int>(i + source), bytes - 4);
                p.commit(at, ring_word::pack(bytes, source, static_cast<std::uint8_t>(source + 1)));
            }
        });
    }
    ring_consumer c;
    c.attach(&m->control, m->bytes, capacity);
    std::vector<std::uint32_t> next(producers, 0);
    bool good = true;
    for (std::uint64_t got = 0; good && got < std::uint64_t{producers} * records;) {
        std::uint64_t word = 0;
        const std::byte *payload = nullptr;
        const auto r = c.peek(word, payload);
        if (ring_consumer::result::empty == r) {
            sched_yield();
            continue;
        }
        good = ring_consumer::result::record == r && ring_word::source(word) < producers;
        EXPECT_TRUE(good);
        if (!good) {
            break;
        }
        const unsigned source = ring_word::source(word);
        EXPECT_EQ(source + 1, ring_word::type(word));
        std::uint32_t i = 0;
        std::memcpy(&i, payload, 4);
        good = next[source]++ == i;
        EXPECT_TRUE(good) << "order of producer " << source;
        for (std::uint32_t k = 4; good && k < ring_word::bytes(word); ++k) {
            good = std::byte(i + source) == payload[k];
            EXPECT_TRUE(good) << "byte " << k << " of record " << i;
        }
        c.release();
        ++got;
    }
    if (!good) {
        std::_Exit(1); // the producers would wait for ever
    }
    for (auto &t : threads) {
        t.join();
    }
    std::uint64_t word = 0;
    const std::byte *payload = nullptr;
    EXPECT_TRUE(ring_consumer::result::empty == c.peek(word, payload)); // gives back what it still held
    EXPECT_EQ(m->control.head.load(), m->control.tail.load());
}

TEST(ring_race, four_producers_of_small_records) { run(4, 15000, 40, false); }
TEST(ring_race, four_producers_of_large_records) { run(4, 2000, 4000, false); }
TEST(ring_race, four_producers_that_linger_before_they_commit) { run(4, 5000, 500, true); }
TEST(ring_race, one_producer) { run(1, 30000, 200, false); }

} // namespace
} // namespace smartint
