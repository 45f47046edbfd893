// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "common_smartint_ring.h"

#include <memory>
#include <vector>

#include "harness.h"

namespace smartint {
namespace {

using test::child;
using test::differs;
using test::fill;

constexpr std::uint64_t capacity = 16384;

struct ring_memory {
    layout::ring_control control;
    alignas(layout::line) std::byte bytes[capacity];
};

struct ring : testing::Test {
    ring() {
        producer.attach(&memory->control, memory->bytes, capacity);
        consumer.attach(&memory->control, memory->bytes, capacity);
    }

    bool put(std::uint32_t bytes, std::uint64_t seed, std::uint16_t source = 0, std::uint8_t type = 1) {
        std::byte *p = producer.reserve(bytes);
        if (nullptr == p) {
            return false;
        }
        fill(p, bytes, seed);
        producer.commit(p, ring_word::pack(bytes, source, type));
        return true;
    }

    ring_consumer::result get(std::uint32_t bytes, std::uint64_t seed) {
        std::uint64_t word = 0;
        const std::byte *payload = nullptr;
        const auto r = consumer.peek(word, payload);
        if (ring_consumer::result::record == r) {
            EXPECT_EQ(bytes, ring_word::bytes(word));
            EXPECT_EQ(-1, differs(payload, bytes, seed));
            consumer.release();
        }
        return r;
    }

    std::unique_ptr<ring_memory> memory = std::make_unique<ring_memory>();
    ring_producer producer;
    ring_consumer consumer;
};

using result = ring_consumer::result;

TEST_F(ring, an_empty_ring_has_no_record) { EXPECT_EQ(result::empty, get(0, 0)); }

TEST_F(ring, the_first_word_carries_length_source_and_type) {
    const std::uint64_t w = ring_word::pack(0xfedcba98U, 0x7654, 0x32);
    EXPECT_EQ(0xfedcba98U, ring_word::bytes(w));
    EXPECT_EQ(0x7654, ring_word::source(w));
    EXPECT_EQ(0x32, ring_word::type(w));
    EXPECT_TRUE(ring_word::sound(w));
    EXPECT_FALSE(ring_word::sound(w ^ 1));
    EXPECT_NE(0U, ring_word::pack(0, 0, 0)) << "a committed word is never zero";
}

TEST_F(ring, a_long_record_finds_room_beside_short_ones_that_fill_it_all_the_time) {
    ring_producer other;
    other.attach(&memory->control, memory->bytes, capacity);
    std::uint64_t sent = 0;
    const auto put_short = [&] { return put(8, sent) && ++sent; };
    while (put_short()) {}
    std::uint64_t seen = 0;
    std::byte *room = nullptr;
    for (unsigned i = 0; i < 4 * capacity / layout::line && nullptr == room; ++i) {
        ASSERT_EQ(result::record, get(8, seen++));
        put_short(); // who sends short ones is there first
        room = other.reserve(2000);
    }
    ASSERT_NE(nullptr, room);
    fill(room, 2000, 1);
    other.commit(room, ring_word::pack(2000, 1, 1));
    while (seen < sent) {
        ASSERT_EQ(result::record, get(8, seen++));
    }
    EXPECT_EQ(result::record, get(2000, 1));
    EXPECT_EQ(result::empty, get(0, 0));
    EXPECT_FALSE(consumer.anything()) << "what is read is given back when nothing more is there";
}

TEST_F(ring, a_record_takes_whole_lines_with_its_word) {
    EXPECT_EQ(64U, ring_record_bytes(0));
    EXPECT_EQ(64U, ring_record_bytes(56));
    EXPECT_EQ(128U, ring_record_bytes(57));
    EXPECT_EQ(128U, ring_record_bytes(120));
    EXPECT_EQ(192U, ring_record_bytes(121));
}

TEST_F(ring, records_of_every_size_come_out_as_they_went_in_around_the_end_many_times) {
    for (std::uint32_t bytes = 0; bytes <= capacity / 4; ++bytes) {
        ASSERT_TRUE(put(bytes, bytes)) << bytes;
        ASSERT_EQ(result::record, get(bytes, bytes)) << bytes;
        ASSERT_EQ(result::empty, get(0, 0)) << bytes;
    }
}

TEST_F(ring, a_quarter_of_the_ring_fits_into_an_empty_ring_wherever_its_tail_stands) {
    for (std::uint64_t line = 0; line < capacity / layout::line; ++line) {
        memory->control.tail = memory->control.head = capacity * 5 + line * layout::line;
        producer.attach(&memory->control, memory->bytes, capacity);
        consumer.attach(&memory->control, memory->bytes, capacity);
        ASSERT_TRUE(put(capacity / 4, line)) << line;
        ASSERT_EQ(result::record, get(capacity / 4, line)) << line;
        ASSERT_EQ(result::empty, get(0, 0)) << line;
        ASSERT_EQ(memory->control.tail.load(), memory->control.head.load());
    }
}

TEST_F(ring, a_record_that_does_not_fit_before_the_end_leaves_a_pad_that_nobody_sees) {
    memory->control.tail = memory->control.head = capacity - 2 * layout::line;
    producer.attach(&memory->control, memory->bytes, capacity);
    consumer.attach(&memory->control, memory->bytes, capacity);
    ASSERT_TRUE(put(300, 1));
    std::uint64_t pad = 0;
    std::memcpy(&pad, memory->bytes + capacity - 2 * layout::line, sizeof(pad));
    EXPECT_EQ(ring_word::pad_type, ring_word::type(pad));
    EXPECT_EQ(2 * layout::line, ring_record_bytes(ring_word::bytes(pad)));
    EXPECT_EQ(result::record, get(300, 1));
    EXPECT_EQ(result::empty, get(0, 0));
    EXPECT_EQ(capacity + ring_record_bytes(300), memory->control.head.load());
}

TEST_F(ring, a_full_ring_refuses_until_the_consumer_gives_back) {
    unsigned in = 0;
    while (put(1000, in)) {
        ++in;
    }
    EXPECT_EQ(capacity / ring_record_bytes(1000), in);
    EXPECT_FALSE(put(0, 0) && put(0, 0) && put(0, 0) && put(0, 0) && put(0, 0))
        << "what is left has less than a record of 1000 bytes";
    for (std::uint64_t given = 0; given < capacity / 4; given += ring_record_bytes(1000)) {
        EXPECT_FALSE(put(1000, 77)) << "one of several lines waits: room is given back by the quarter";
        ASSERT_EQ(result::record, get(1000, given / ring_record_bytes(1000)));
    }
    EXPECT_TRUE(put(1000, 77));
}

TEST_F(ring, a_full_ring_gives_room_line_by_line_where_no_long_record_waits) {
    std::uint64_t in = 0;
    while (put(8, in)) {
        ++in;
    }
    EXPECT_EQ(capacity / layout::line, in);
    for (std::uint64_t i = 0; i < 100; ++i) {
        ASSERT_EQ(result::record, get(8, i));
        EXPECT_TRUE(put(8, in + i));
        EXPECT_FALSE(put(8, 0));
    }
}

TEST_F(ring, a_refusal_leaves_the_ring_as_it_was) {
    while (put(4000, 9)) {}
    const std::uint64_t tail = memory->control.tail;
    for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(nullptr, producer.reserve(4000));
    }
    EXPECT_EQ(tail, memory->control.tail.load());
}

TEST_F(ring, a_reader_who_finds_it_empty_keeps_the_ring_at_its_beginning) {
    for (std::uint32_t i = 0; i < 5000; ++i) {
        const std::uint32_t bytes = 1 + i % 1500;
        std::byte *p = producer.reserve(bytes);
        ASSERT_NE(nullptr, p);
        ASSERT_LT(p - memory->bytes, static_cast<std::ptrdiff_t>(near_bytes)) << i;
        fill(p, bytes, i);
        producer.commit(p, ring_word::pack(bytes, 0, 1));
        ASSERT_EQ(result::record, get(bytes, i));
        ASSERT_EQ(result::empty, get(0, 0));
        ASSERT_EQ(memory->control.tail.load(), memory->control.head.load());
    }
}

TEST_F(ring, or_uses_all_of_it_in_turn_where_that_is_quicker) {
    consumer.attach(&memory->control, memory->bytes, capacity, false);
    const std::uint64_t rounds = 3 * capacity / ring_record_bytes(1000);
    for (std::uint64_t i = 0; i < rounds; ++i) {
        ASSERT_TRUE(put(1000, i));
        ASSERT_EQ(result::record, get(1000, i));
        ASSERT_EQ(result::empty, get(0, 0));
    }
    EXPECT_GE(memory->control.tail.load(), rounds * ring_record_bytes(1000));
    EXPECT_LE(memory->control.tail.load(), rounds * ring_record_bytes(1000) + 3 * ring_record_bytes(1000))
        << "but for what is left at its end";
}

TEST_F(ring, wherever_an_empty_ring_stands_all_of_it_is_free) {
    for (unsigned before = 0; before < 40; ++before) {
        for (unsigned i = 0; i < before; ++i) {
            ASSERT_TRUE(put(700, i));
            ASSERT_EQ(result::record, get(700, i));
        }
        ASSERT_EQ(result::empty, get(0, 0));
        unsigned in = 0;
        while (put(56, in)) {
            ++in;
        }
        ASSERT_EQ(capacity / layout::line, in) << "after " << before;
        for (unsigned i = 0; i < in; ++i) {
            ASSERT_EQ(result::record, get(56, i));
        }
    }
}

TEST_F(ring, what_is_being_written_is_not_taken_away_from_under_the_writer) {
    while (memory->control.tail.load() < near_bytes) {
        ASSERT_TRUE(put(500, 1));
        ASSERT_EQ(result::record, get(500, 1));
    }
    std::byte *p = producer.reserve(100);
    ASSERT_NE(nullptr, p);
    ASSERT_GT(p - memory->bytes, static_cast<std::ptrdiff_t>(near_bytes));
    EXPECT_EQ(result::empty, get(0, 0));
    fill(p, 100, 7);
    producer.commit(p, ring_word::pack(100, 0, 1));
    EXPECT_EQ(result::record, get(100, 7));
    EXPECT_EQ(result::empty, get(0, 0));
    EXPECT_EQ(0U, memory->control.tail.load() % capacity) << "and then it starts over";
}

TEST_F(ring, a_record_not_yet_committed_hides_what_is_behind_it) {
    std::byte *first = producer.reserve(10);
    ASSERT_NE(nullptr, first);
    ASSERT_TRUE(put(20, 2));
    EXPECT_EQ(result::empty, get(20, 2));
    fill(first, 10, 1);
    producer.commit(first, ring_word::pack(10, 0, 1));
    EXPECT_EQ(result::record, get(10, 1));
    EXPECT_EQ(result::record, get(20, 2));
}

TEST_F(ring, the_consumer_leaves_the_first_word_of_every_line_zero) {
    for (unsigned round = 0; round < 50; ++round) {
        ASSERT_TRUE(put(1 + round * 79, round));
        ASSERT_EQ(result::record, get(1 + round * 79, round));
    }
    for (std::uint64_t at = 0; at < capacity; at += layout::line) {
        std::uint64_t w = 1;
        std::memcpy(&w, memory->bytes + at, sizeof(w));
        EXPECT_EQ(0U, w) << at;
    }
}

TEST_F(ring, a_length_beyond_the_end_is_found_broken) {
    for (const std::uint32_t bytes : {static_cast<std::uint32_t>(capacity), 0x7fffffffU, 0xffffffffU}) {
        std::byte *p = producer.reserve(8);
        ASSERT_NE(nullptr, p);
        producer.commit(p, ring_word::pack(bytes, 0, 1));
        EXPECT_EQ(result::broken, get(0, 0)) << bytes;
        EXPECT_EQ(result::broken, get(0, 0)) << "and stays so";
        memory = std::make_unique<ring_memory>();
        producer.attach(&memory->control, memory->bytes, capacity);
        consumer.attach(&memory->control, memory->bytes, capacity);
    }
}

TEST_F(ring, a_word_without_its_mark_is_found_broken) {
    std::byte *p = producer.reserve(8);
    ASSERT_NE(nullptr, p);
    producer.commit(p, 0x0000000800000100ULL);
    EXPECT_EQ(result::broken, get(0, 0));
}

TEST_F(ring, a_pad_that_would_leave_the_ring_is_found_broken) {
    memory->control.tail = memory->control.head = capacity - layout::line;
    producer.attach(&memory->control, memory->bytes, capacity);
    consumer.attach(&memory->control, memory->bytes, capacity);
    std::byte *p = producer.reserve(8);
    producer.commit(p, ring_word::pack(100, 0, ring_word::pad_type));
    EXPECT_EQ(result::broken, get(0, 0));
}

TEST_F(ring, a_forged_tail_makes_no_producer_write_beside_the_ring) {
    struct {
        ring_memory memory;
        std::byte behind[256];
    } *m = new std::remove_pointer_t<decltype(m)>{};
    for (const std::uint64_t tail :
         {capacity - 1, capacity - 4, capacity - 63, std::uint64_t{3}, 3 * capacity - 7, ~std::uint64_t{0}}) {
        for (const std::uint32_t bytes : {0U, 1U, 56U, 57U, 4000U}) {
            m->memory.control.tail.store(tail, std::memory_order_relaxed);
            // as full or empty as it may claim to be
            m->memory.control.head.store(tail, std::memory_order_relaxed);
            ring_producer p;
            p.attach(&m->memory.control, m->memory.bytes, capacity);
            std::byte *at = p.reserve(bytes);
            if (nullptr == at) {
                continue;
            }
            ASSERT_GE(at, m->memory.bytes + sizeof(std::uint64_t));
            ASSERT_LE(at + bytes, m->memory.bytes + capacity);
            EXPECT_EQ(8U, static_cast<std::size_t>(at - m->memory.bytes) % layout::line);
            fill(at, bytes, 1);
            p.commit(at, ring_word::pack(bytes, 0, 1));
        }
    }
    for (const std::byte b : m->behind) {
        EXPECT_EQ(std::byte{0}, b);
    }
    delete m;
}

TEST_F(ring, a_record_that_is_counted_on_is_told_of_until_it_is_read) {
    EXPECT_FALSE(consumer.asked());
    ASSERT_TRUE(put(100, 1));
    EXPECT_FALSE(consumer.asked()) << "nobody asks for that one";
    ASSERT_TRUE(put(100, 2));
    producer.ask();
    ASSERT_TRUE(put(100, 3));
    ring_producer other;
    other.attach(&memory->control, memory->bytes, capacity);
    other.ask(); // of nothing: an older position does not replace a newer one
    EXPECT_EQ(result::record, get(100, 1));
    EXPECT_TRUE(consumer.asked());
    EXPECT_EQ(result::record, get(100, 2));
    EXPECT_FALSE(consumer.asked());
    EXPECT_EQ(result::record, get(100, 3));
    EXPECT_FALSE(consumer.asked());
    // Around the end of the ring it goes by positions, which go on.
    for (std::uint64_t i = 0; i < 3 * capacity / 128; ++i) {
        ASSERT_TRUE(put(100, i));
        producer.ask();
        EXPECT_TRUE(consumer.asked());
        EXPECT_EQ(result::record, get(100, i));
        EXPECT_FALSE(consumer.asked());
    }
    // Somebody who asks late, for what was read long ago, takes nothing back.
    std::byte *p = other.reserve(100);
    ASSERT_NE(nullptr, p);
    fill(p, 100, 7);
    other.commit(p, ring_word::pack(100, 0, 1));
    EXPECT_EQ(result::record, get(100, 7));
    for (std::uint64_t i = 0; i < 2 * capacity / 128; ++i) {
        ASSERT_TRUE(put(100, i));
        EXPECT_EQ(result::record, get(100, i));
    }
    ASSERT_TRUE(put(100, 8));
    producer.ask();
    other.ask();
    EXPECT_TRUE(consumer.asked());
    EXPECT_EQ(result::record, get(100, 8));
    for (const std::uint64_t forged : {~std::uint64_t{0} >> 1, ~std::uint64_t{0}, 100 * capacity, std::uint64_t{0}}) {
        memory->control.asked = forged;
        EXPECT_FALSE(consumer.asked());
        ASSERT_TRUE(put(100, 4));
        producer.ask();
        EXPECT_TRUE(consumer.asked()) << forged;
        EXPECT_EQ(result::record, get(100, 4));
    }
}

// Positions that wrap in the middle of the ring's use are as any others.
TEST_F(ring, a_ring_that_has_been_used_for_years_is_as_good_as_a_new_one) {
    memory->control.tail = memory->control.head = memory->control.asked = 0 - 4 * capacity;
    producer.attach(&memory->control, memory->bytes, capacity);
    ring_producer other;
    other.attach(&memory->control, memory->bytes, capacity);
    consumer.attach(&memory->control, memory->bytes, capacity, false);
    std::uint64_t in = 0;
    std::uint64_t out = 0;
    while (memory->control.head >= 0 - 4 * capacity || memory->control.head < 4 * capacity) {
        for (unsigned k = 0; k < 3; ++k) {
            ASSERT_TRUE(put(184, in++));
        }
        producer.ask();
        other.ask(); // of nothing
        EXPECT_TRUE(producer.holds_more_than(0));
        EXPECT_TRUE(producer.holds_more_than(511));
        for (unsigned k = 0; k < 3; ++k) {
            EXPECT_TRUE(consumer.asked()) << memory->control.head;
            ASSERT_EQ(result::record, get(184, out++));
        }
        EXPECT_FALSE(consumer.asked());
        EXPECT_FALSE(producer.holds_more_than(0));
    }
    EXPECT_EQ(result::empty, get(0, 0));
}

TEST(ring_of_processes, four_producers_keep_their_order_and_their_bytes) {
    constexpr unsigned producers = 4;
    constexpr std::uint32_t records = 20000;
    test::shared_object<ring_memory> memory;
    std::vector<std::unique_ptr<child>> children;
    for (std::uint16_t source = 0; source < producers; ++source) {
        children.push_back(std::make_unique<child>([&memory, source] {
            ring_producer p;
            p.attach(&memory->control, memory->bytes, capacity);
            test::generator g(source + 1U);
            for (std::uint32_t i = 0; i < records; ++i) {
                const std::uint32_t bytes = 4 + g.below(0 == i % 64 ? 4000 : 120);
                std::byte *at = nullptr;
                while (nullptr == (at = p.reserve(bytes))) {
                    sched_yield();
                }
                std::memcpy(at, &i, sizeof(i));
                fill(at + 4, bytes - 4, i * 4 + source);
                p.commit(at, ring_word::pack(bytes, source, 3));
            }
        }));
    }
    ring_consumer c;
    c.attach(&memory->control, memory->bytes, capacity);
    std::uint32_t next[producers] = {};
    for (std::uint32_t got = 0; got < producers * records;) {
        std::uint64_t word = 0;
        const std::byte *payload = nullptr;
        const auto r = c.peek(word, payload);
        if (result::empty == r) {
            sched_yield();
            continue;
        }
        ASSERT_EQ(result::record, r);
        const unsigned source = ring_word::source(word);
        ASSERT_LT(source, producers);
        ASSERT_EQ(3, ring_word::type(word));
        std::uint32_t i = 0;
        std::memcpy(&i, payload, sizeof(i));
        ASSERT_EQ(next[source], i) << "order of producer " << source;
        ++next[source];
        ASSERT_EQ(-1, differs(payload + 4, ring_word::bytes(word) - 4, i * 4 + source));
        c.release();
        ++got;
    }
    for (auto &one : children) {
        EXPECT_EQ(0, one->join());
    }
    std::uint64_t word = 0;
    const std::byte *payload = nullptr;
    EXPECT_EQ(result::empty, c.peek(word, payload));
}

} // namespace
} // namespace smartint
