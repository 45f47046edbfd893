// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "common_smartint_rma_runs.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "harness.h"

namespace smartint {
namespace {

// Every byte's offset, in packed order.
std::vector<std::int64_t> offsets_of(const rma_layout &l) {
    std::vector<std::int64_t> all;
    for (rma_cursor c(&l); 0 != c.left();) {
        const auto p = c.look(c.left());
        for (std::uint64_t i = 0; i < p.bytes; ++i) {
            all.push_back(p.offset + static_cast<std::int64_t>(i));
        }
        c.advance(p.bytes);
    }
    return all;
}

std::vector<std::int64_t> offsets_of(const std::vector<rma_run> &runs) {
    rma_layout l;
    for (const rma_run &r : runs) {
        l.append(r);
    }
    return offsets_of(l);
}

struct random_layout {
    rma_layout layout;
    std::vector<std::int64_t> offsets;

    explicit random_layout(test::generator &g) {
        const unsigned pieces = 1 + static_cast<unsigned>(g.next() % 12);
        const std::uint64_t even = 1 + g.next() % 9;
        const bool regular = 0 == g.next() % 2;
        std::int64_t at = static_cast<std::int64_t>(g.next() % 50) - 20;
        for (unsigned i = 0; i < pieces; ++i) {
            const std::uint64_t length = regular ? even : 1 + g.next() % 9;
            layout.append(at, length);
            for (std::uint64_t b = 0; b < length; ++b) {
                offsets.push_back(at + static_cast<std::int64_t>(b));
            }
            at += static_cast<std::int64_t>(length + (regular ? even : g.next() % 7));
        }
        const std::uint64_t times = 1 + g.next() % 4;
        const std::int64_t extent = 0 == g.next() % 3 ? at : at + 13;
        const auto once = offsets;
        for (std::uint64_t t = 1; t < times; ++t) {
            for (const std::int64_t o : once) {
                offsets.push_back(o + static_cast<std::int64_t>(t) * extent);
            }
        }
        layout.repeat(times, extent);
    }
};

TEST(rma_runs, pieces_that_follow_each_other_are_one) {
    rma_layout l;
    l.append(0, 8);
    l.append(8, 8);
    EXPECT_TRUE(l.contiguous());
    l.repeat(1000, 16);
    EXPECT_TRUE(l.contiguous());
    EXPECT_EQ(16000U, l.bytes());
}

TEST(rma_runs, equal_pieces_at_equal_distances_are_one_run_however_many) {
    rma_layout l;
    for (int i = 0; i < 1000; ++i) {
        l.append(24 * i, 8);
    }
    EXPECT_EQ(1U, l.runs().size());
    l.repeat(1000, 24000);
    EXPECT_EQ(1U, l.runs().size());
    EXPECT_EQ(8000000U, l.bytes());
}

TEST(rma_runs, nothing_has_no_bytes_and_is_contiguous) {
    rma_layout l;
    EXPECT_EQ(0U, l.bytes());
    EXPECT_TRUE(l.contiguous());
    l.append(5, 0);
    l.repeat(0, 8);
    EXPECT_EQ(0U, l.bytes());
    EXPECT_EQ(0U, rma_cursor(&l).left());
}

TEST(rma_runs, a_walk_finds_every_byte_in_order) {
    test::generator g(11);
    for (int i = 0; i < 2000; ++i) {
        const random_layout r(g);
        ASSERT_EQ(r.offsets, offsets_of(r.layout));
        ASSERT_EQ(r.offsets.size(), r.layout.bytes());
    }
}

// As arrays of structures, and the planes of a grid: what is folded is walked as before, repeated or not.
TEST(rma_runs, what_comes_again_and_again_is_kept_once) {
    test::generator g(21);
    unsigned folded = 0;
    for (int i = 0; i < 4000; ++i) {
        const auto pattern = static_cast<unsigned>(1 + g.next() % 4);
        const auto turns = static_cast<unsigned>(1 + g.next() % 9);
        const bool in_order = 0 != g.next() % 4;
        const bool alone = 0 == g.next() % 2; // a single piece may join a run before it
        std::vector<rma_run> element;
        std::int64_t at = static_cast<std::int64_t>(g.next() % 50) - 20;
        for (unsigned k = 0; k < pattern; ++k) {
            element.push_back({at, 1 + g.next() % 5, 11, (alone ? 1 : 2) + g.next() % 3});
            at += 40;
        }
        const std::int64_t distance = at + static_cast<std::int64_t>(g.next() % 3);
        rma_layout plain;
        for (unsigned turn = 0; turn < turns; ++turn) {
            for (rma_run run : element) {
                run.offset += distance * turn;
                plain.append(run);
            }
            if (!in_order) {
                element[g.next() % pattern].length = 1 + g.next() % 5;
            }
        }
        rma_layout layout = plain;
        layout.fold();
        ASSERT_EQ(plain.bytes(), layout.bytes());
        ASSERT_EQ(plain.pieces(), layout.pieces());
        ASSERT_EQ(offsets_of(plain), offsets_of(layout));
        folded += layout.runs().size() < plain.runs().size() ? 1 : 0;
        if (in_order && !alone) {
            ASSERT_LE(layout.runs().size(), pattern);
        }
        const std::uint64_t times = g.next() % 4;
        const std::int64_t extent = distance * turns + static_cast<std::int64_t>(0 == g.next() % 2 ? 0 : g.next() % 5);
        plain.repeat(times, extent);
        layout.repeat(times, extent);
        ASSERT_EQ(plain.bytes(), layout.bytes());
        ASSERT_EQ(offsets_of(plain), offsets_of(layout));
        if (const std::uint64_t bytes = plain.bytes(); 0 != bytes) {
            ASSERT_EQ(offsets_of(plain.front(bytes / 2 + 1)), offsets_of(layout.front(bytes / 2 + 1)));
        }
    }
    EXPECT_LT(1000U, folded);
}

TEST(rma_runs, messages_of_a_few_runs_cover_all_and_cut_no_element) {
    test::generator g(12);
    for (int i = 0; i < 2000; ++i) {
        const random_layout r(g);
        std::vector<std::uint64_t> units;
        for (std::uint64_t u = 1; u <= 16; ++u) {
            if (0 == r.layout.bytes() % u) {
                units.push_back(u);
            }
        }
        const std::uint64_t unit = units[g.next() % units.size()];
        const std::uint64_t most = unit * (1 + g.next() % 20);
        std::vector<std::int64_t> found;
        for (rma_cursor c(&r.layout); 0 != c.left();) {
            std::vector<rma_run> runs;
            const std::uint64_t n = c.take(most, 16 + static_cast<unsigned>(g.next() % 8), unit, &runs);
            ASSERT_NE(0U, n);
            ASSERT_EQ(0U, n % unit);
            ASSERT_LE(n, most);
            const auto these = offsets_of(runs);
            ASSERT_EQ(n, these.size());
            found.insert(found.end(), these.begin(), these.end());
        }
        ASSERT_EQ(r.offsets, found);
    }
}

TEST(rma_runs, a_front_is_what_comes_first) {
    test::generator g(15);
    for (int i = 0; i < 150; ++i) {
        const random_layout r(g);
        std::vector<std::byte> memory(4096);
        test::fill(memory.data(), memory.size(), g.next());
        for (std::uint64_t bytes = 0; bytes <= r.layout.bytes(); ++bytes) {
            const rma_layout front = r.layout.front(bytes);
            const std::vector<std::int64_t> first(r.offsets.begin(),
                                                  r.offsets.begin() + static_cast<std::ptrdiff_t>(bytes));
            ASSERT_EQ(bytes, front.bytes());
            ASSERT_EQ(first, offsets_of(front));
            std::vector<rma_run> runs;
            rma_cursor taken(&front);
            ASSERT_EQ(bytes, taken.take(~0ULL, 1000, 1, &runs));
            ASSERT_EQ(first, offsets_of(runs));
            std::vector<std::int64_t> stripped;
            for (rma_cursor c(&front); 0 != c.left();) {
                const rma_run s = c.strip(c.left());
                const auto these = offsets_of(std::vector<rma_run>{s});
                stripped.insert(stripped.end(), these.begin(), these.end());
                c.pass(s, s.count);
            }
            ASSERT_EQ(first, stripped);
            ASSERT_GE(front.pieces(), runs.empty() ? 0U : 1U);
            if (front.contiguous()) {
                ASSERT_LE(runs.size(), 1U);
            }
            std::vector<std::byte> packed(bytes);
            rma_cursor from(&front);
            rma_gather(memory.data() + 100, from, packed.data(), bytes);
            for (std::size_t k = 0; k < bytes; ++k) {
                ASSERT_EQ(memory[static_cast<std::size_t>(100 + first[k])], packed[k]);
            }
        }
    }
}

TEST(rma_runs, a_front_of_what_repeats_repeats) {
    rma_layout l;
    l.append(0, 8);
    l.append(12, 4);
    l.repeat(10'000'000, 24);
    for (const std::uint64_t bytes : {119'999'988U, 12U, 24'000'000U, 24'000'005U, 24'000'009U}) {
        const rma_layout front = l.front(bytes);
        EXPECT_EQ(bytes, front.bytes());
        EXPECT_EQ(2U, front.runs().size());
    }
}

TEST(rma_runs, pieces_from_address_zero_are_where_their_offsets_say) {
    std::vector<std::byte> memory(64);
    test::fill(memory.data(), memory.size(), 3);
    rma_layout l(0);
    l.append(static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(memory.data())), 8);
    l.append(static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(memory.data() + 24)), 16);
    std::vector<std::byte> packed(l.bytes());
    std::vector<std::byte> back(memory.size());
    rma_cursor from(&l);
    rma_gather(nullptr, from, packed.data(), packed.size());
    EXPECT_EQ(0, std::memcmp(packed.data(), memory.data(), 8));
    EXPECT_EQ(0, std::memcmp(packed.data() + 8, memory.data() + 24, 16));
    rma_layout whole(packed.size());
    rma_cursor source(&l);
    rma_cursor to(&whole);
    rma_copy(back.data(), to, nullptr, source, packed.size());
    EXPECT_EQ(0, std::memcmp(back.data(), packed.data(), packed.size()));
    std::fill(packed.begin(), packed.end(), std::byte{7});
    rma_cursor again(&l);
    rma_scatter(nullptr, again, packed.data(), packed.size());
    EXPECT_EQ(std::byte{7}, memory[7]);
    EXPECT_EQ(std::byte{7}, memory[39]);
}

TEST(rma_runs, what_was_folded_is_unrolled_only_where_it_does_not_go_on) {
    rma_layout layout;
    for (std::int64_t turn = 0; turn < 100; ++turn) {
        layout.append(turn * 80, 4);
        layout.append(turn * 80 + 8, 25);
    }
    EXPECT_EQ(200U, layout.runs().size());
    EXPECT_FALSE(layout.unrolls_beyond(10, 5, 8000)) << "not folded yet";
    layout.fold();
    ASSERT_EQ(2U, layout.runs().size());
    EXPECT_FALSE(layout.unrolls_beyond(10, 1, 7960));
    EXPECT_FALSE(layout.unrolls_beyond(10, 5, 8000)) << "it goes on";
    EXPECT_FALSE(layout.unrolls_beyond(200, 5, 7960));
    EXPECT_TRUE(layout.unrolls_beyond(199, 5, 7960));
    layout.repeat(5, 7960);
    EXPECT_EQ(200U, layout.runs().size());
}

TEST(rma_runs, bounds_hold_every_byte_and_no_more) {
    test::generator g(13);
    for (int i = 0; i < 2000; ++i) {
        const random_layout r(g);
        std::int64_t low = 0;
        std::int64_t high = 0;
        ASSERT_TRUE(r.layout.bounds(&low, &high));
        ASSERT_EQ(*std::min_element(r.offsets.begin(), r.offsets.end()), low);
        ASSERT_EQ(*std::max_element(r.offsets.begin(), r.offsets.end()) + 1, high);
    }
}

TEST(rma_runs, bounds_that_do_not_fit_are_refused) {
    std::int64_t low = 0;
    std::int64_t high = 0;
    EXPECT_FALSE(rma_bounds({INT64_MAX, 8, 0, 1}, &low, &high));
    EXPECT_FALSE(rma_bounds({0, 8, INT64_MAX, 3}, &low, &high));
    EXPECT_FALSE(rma_bounds({0, 1, 1, UINT64_MAX}, &low, &high));
    EXPECT_FALSE(rma_bounds({0, UINT64_MAX, 1, 2}, &low, &high));
    EXPECT_TRUE(rma_bounds({100, 8, -10, 5}, &low, &high));
    EXPECT_EQ(60, low);
    EXPECT_EQ(108, high);
}

TEST(rma_runs, gather_and_scatter_and_copy_agree) {
    test::generator g(14);
    for (int i = 0; i < 500; ++i) {
        const random_layout r(g);
        std::vector<std::byte> memory(4096);
        test::fill(memory.data(), memory.size(), g.next());
        std::byte *base = memory.data() + 100;
        std::vector<std::byte> packed(r.layout.bytes());
        rma_cursor c(&r.layout);
        const std::uint64_t first = packed.size() / 3;
        rma_gather(base, c, packed.data(), first);
        rma_gather(base, c, packed.data() + first, packed.size() - first);
        for (std::size_t k = 0; k < packed.size(); ++k) {
            ASSERT_EQ(base[r.offsets[k]], packed[k]);
        }
        std::vector<std::byte> other(4096);
        rma_cursor to(&r.layout);
        rma_scatter(other.data() + 100, to, packed.data(), packed.size());
        std::vector<std::byte> third(4096);
        rma_cursor from(&r.layout);
        rma_cursor again(&r.layout);
        rma_copy(third.data() + 100, again, base, from, packed.size());
        for (const std::int64_t o : r.offsets) {
            ASSERT_EQ(base[o], other[static_cast<std::size_t>(100 + o)]);
        }
        ASSERT_EQ(other, third);
    }
}

// Of elements of a few pieces, which are copied many at a time: between any two shapes, in any steps, forwards and
// backwards.
TEST(rma_runs, many_elements_are_copied_as_one_piece_after_the_other) {
    test::generator g(22);
    constexpr std::size_t room = 1 << 17;
    const auto elements = [&](rma_layout *l) {
        const std::uint64_t pieces = 0 == g.next() % 5 ? 0 : 1 + g.next() % 18;
        std::int64_t at = 0;
        for (std::uint64_t k = 0; k < pieces; ++k) {
            const std::uint64_t length = 0 == g.next() % 2 ? 8 : 1 + g.next() % 9;
            l->append(at, length);
            at += static_cast<std::int64_t>(length + g.next() % 4);
        }
        if (0 == pieces) { // one piece of all
            l->append(0, room / 4);
            return;
        }
        const std::int64_t extent = at + static_cast<std::int64_t>(g.next() % 9);
        l->repeat(1 + g.next() % 220, 0 == g.next() % 8 ? -extent : extent);
    };
    std::vector<std::byte> source(room);
    test::fill(source.data(), source.size(), 5);
    const std::size_t middle = room / 2;
    for (int i = 0; i < 150; ++i) {
        rma_layout here;
        rma_layout there;
        elements(&here);
        elements(&there);
        if (0 == g.next() % 3) {
            there = here;
        }
        const std::uint64_t bytes = std::min(here.bytes(), there.bytes());
        const std::vector<std::int64_t> from = offsets_of(here);
        const std::vector<std::int64_t> to = offsets_of(there);
        std::vector<std::byte> expected(room);
        std::vector<std::byte> packed(bytes);
        for (std::uint64_t k = 0; k < bytes; ++k) {
            packed[k] = source[middle + static_cast<std::size_t>(from[k])];
            expected[middle + static_cast<std::size_t>(to[k])] = packed[k];
        }
        const auto in_steps = [&](auto step) {
            for (std::uint64_t done = 0; done < bytes;) {
                const std::uint64_t n = std::min(bytes - done, 0 == g.next() % 2 ? bytes : 1 + g.next() % 5000);
                step(done, n);
                done += n;
            }
        };
        std::vector<std::byte> got(room);
        rma_cursor f(&here);
        rma_cursor t(&there);
        in_steps(
            [&](std::uint64_t, std::uint64_t n) { rma_copy(got.data() + middle, t, source.data() + middle, f, n); });
        ASSERT_TRUE(expected == got) << i;
        ASSERT_EQ(bytes, t.done());
        ASSERT_EQ(bytes, f.done());
        std::vector<std::byte> between(bytes);
        rma_cursor gathered(&here);
        in_steps([&](std::uint64_t at, std::uint64_t n) {
            rma_gather(source.data() + middle, gathered, between.data() + at, n);
        });
        ASSERT_TRUE(packed == between) << i;
        std::fill(got.begin(), got.end(), std::byte{0});
        rma_cursor scattered(&there);
        in_steps([&](std::uint64_t at, std::uint64_t n) {
            rma_scatter(got.data() + middle, scattered, packed.data() + at, n);
        });
        ASSERT_TRUE(expected == got) << i;
    }
}

} // namespace
} // namespace smartint
