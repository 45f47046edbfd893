// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
// Engines in processes of their own on one board.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "harness_exchange.h"

namespace smartint {
namespace {

using namespace test;

void ranks(unsigned size, const char *progress, const char *rendezvous, unsigned rounds) {
    scratch_directory d;
    struct meeting {
        segment_ticket ticket;
        std::atomic<std::uint32_t> made{0}, in{0}, out{0};
    };
    shared_object<meeting> m;
    const auto rank = [&](std::uint32_t me) {
        params p = with(rendezvous, progress);
        p.directory = d.path();
        engine e;
        set_hooks(e);
        ASSERT_EQ(0, e.start(p, {name_of(me), me, false}, false));
        if (0 == me) {
            ASSERT_EQ(0, e.create_board(size, nullptr));
            m->ticket = e.board_segment().ticket();
            m->made = 1;
        } else {
            wait_until("the board", [&] { return 1 == m->made; });
            ASSERT_EQ(0, e.open_board(m->ticket));
        }
        ++m->in;
        wait_until("everybody", [&] { return size == m->in; });
        EXPECT_TRUE(d.left().empty()) << "the last one takes the name of the board away";
        std::vector<endpoint *> peers(size);
        for (std::uint32_t i = 0; i < size; ++i) {
            peers[i] = i == me ? e.add_self() : e.add_shared(name_of(i), i);
        }
        e.start_thread();
        const auto length = [](unsigned round, unsigned from, unsigned to) -> std::uint64_t {
            generator g(round * 1000 + from * 30 + to + 1);
            return g.below(2) ? g.below(10000) : g.below(600000);
        };
        generator mine(me + 77);
        // Operations outlive the engine, as those of a free list do: a thread may look at one that is done.
        std::deque<test_send> sends(std::size_t{rounds} * size);
        std::deque<test_recv> receives(std::size_t{rounds} * size);
        for (unsigned round = 0; round < rounds; ++round) {
            const std::ptrdiff_t first = std::ptrdiff_t{round} * size;
            const auto s = sends.begin() + first;
            const auto r = receives.begin() + first;
            for (std::uint32_t i = 0; i < size; ++i) {
                s[i].aim(peers[i], length(round, me, i), round * 100 + me * 10 + i, ctx, static_cast<std::int32_t>(me),
                         static_cast<std::int32_t>(round), mine.below(5) ? 1 : 2);
                r[i].aim(600000, ctx, static_cast<std::int32_t>(i), static_cast<std::int32_t>(round),
                         mine.below(5) ? 1 : 2);
            }
            e.enter();
            for (std::uint32_t i = 0; i < size; ++i) {
                e.receive(&r[i]);
            }
            for (std::uint32_t i = 0; i < size; ++i) {
                e.send(&s[i]);
            }
            e.leave();
            for (unsigned k = mine.below(200000); k > 0; --k) { // compute
                std::atomic_signal_fence(std::memory_order_seq_cst);
            }
            const bool wait = mine.below(2);
            if (wait) {
                e.begin_wait();
            }
            wait_until("the round", [&] {
                e.progress();
                return std::all_of(s, s + size, [](auto &x) { return 1 == x.delivered; }) &&
                       std::all_of(r, r + size, [](auto &x) { return 1 == x.delivered; });
            });
            if (wait) {
                e.end_wait();
            }
            for (std::uint32_t i = 0; i < size; ++i) {
                ASSERT_EQ(length(round, i, me), r[i].received) << "round " << round << " from " << i;
                ASSERT_EQ(-1, r[i].differs(r[i].received, round * 100 + i * 10 + me))
                    << "round " << round << " from " << i;
                s[i].data = {};
                r[i].data = {};
            }
        }
        ++m->out;
        wait_until("everybody's end", [&] {
            e.progress();
            return size == m->out;
        });
        EXPECT_EQ(0U, count(e, stat::refused_messages));
        EXPECT_EQ(0U, count(e, stat::fallbacks));
        e.stop();
    };
    std::vector<std::unique_ptr<child>> children;
    for (std::uint32_t i = 0; i < size; ++i) {
        children.push_back(std::make_unique<child>([&, i] { rank(i); }));
    }
    for (auto &c : children) {
        EXPECT_EQ(0, c->join());
    }
    EXPECT_TRUE(d.left().empty());
}

TEST(ranks_in_processes, three_with_interrupt_threads_exchange_everything) { ranks(3, "helper", "auto", 40); }
TEST(ranks_in_processes, three_without_threads_exchange_everything) { ranks(3, "none", "auto", 40); }
TEST(ranks_in_processes, three_that_write_exchange_everything) { ranks(3, "helper", "write", 30); }
TEST(ranks_in_processes, three_that_read_exchange_everything) { ranks(3, "helper", "read", 30); }
TEST(ranks_in_processes, two_that_copy_exchange_everything) { ranks(2, "helper", "copy", 30); }
TEST(ranks_in_processes, two_with_polling_threads_exchange_everything) { ranks(2, "poll", "auto", 10); }

} // namespace
} // namespace smartint
