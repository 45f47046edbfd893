// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// More than a ring holds, to and from a target that waits: the rest is for the origin's next calls, and for its thread
// where those are late, or a core is idle.
#include <algorithm>
#include <vector>

#include "small_operations.h"

namespace smartint {
namespace {

using namespace test;

constexpr std::uint32_t forever_us = 60000000;
constexpr std::size_t words = 500; // in several messages
constexpr std::size_t operations = 40;

struct full_ring : small_operations {
    static params of(const char *idle_cores, std::uint32_t postpone_us) {
        params p = all_by_message();
        p.idle_cores = idle_cores;
        p.postpone_us = postpone_us;
        p.arm_from = 0; // what is less is postponed in any case
        return p;
    }
    explicit full_ring(const char *idle_cores = "no", std::uint32_t postpone_us = forever_us)
        : small_operations(of(idle_cores, postpone_us)), mine(operations * words) {
        for (std::size_t i = 0; i < mine.size(); ++i) {
            mine[i] = static_cast<std::int64_t>(5 * i + 1);
        }
        n.b.begin_wait();
    }
    ~full_ring() override { n.b.end_wait(); }
    std::size_t place(std::size_t k) const { return k % 16 * words; }
    void put_all() {
        for (std::size_t k = 0; k < operations; ++k) {
            submit(put(place(k), &mine[k * words], words), rma_begun::message);
        }
    }
    void get_all() {
        for (std::size_t i = 0; i < words_exposed; ++i) {
            memory[1][i] = static_cast<std::int64_t>(3 * i + 2);
        }
        for (std::size_t k = 0; k < operations; ++k) {
            submit(get(place(k), &mine[k * words], words), rma_begun::message);
        }
    }
    // The last of each place.
    bool all_put() { return same_from(operations - 16); }
    bool all_got() { return same_from(0); }
    bool same_from(std::size_t k) {
        bool same = true;
        for (; k < operations; ++k) {
            same = same && std::equal(&mine[k * words], &mine[(k + 1) * words], &memory[1][place(k)]);
        }
        return same;
    }
    // With no call of a's.
    void expect_thread_to_put() {
        wait_until("the thread of a", [&] {
            n.b.progress();
            return all_put();
        });
        EXPECT_LE(1U, count(n.a, stat::rma_by_thread));
    }
    // The thread writes them.
    unsigned postponed() {
        n.a.enter();
        const unsigned queues = engine_access::postponed_queues(n.a);
        n.a.leave();
        return queues;
    }
    unsigned in_flight() {
        n.a.enter();
        const unsigned transfers = engine_access::in_flight(n.a);
        n.a.leave();
        return transfers;
    }

    std::vector<std::int64_t> mine;
};

TEST_F(full_ring, leaves_the_rest_of_puts_to_the_next_calls) {
    put_all();
    EXPECT_FALSE(rma::quiet(target));
    EXPECT_EQ(1U, postponed());
    EXPECT_EQ(0U, in_flight());
    flush();
    EXPECT_TRUE(all_put());
    EXPECT_EQ(0U, postponed());
    EXPECT_EQ(0U, count(n.a, stat::wakes_self));
}

TEST_F(full_ring, leaves_the_data_of_gets_to_the_next_calls) {
    get_all();
    EXPECT_LE(1U, postponed());
    EXPECT_EQ(0U, in_flight());
    flush();
    EXPECT_TRUE(all_got());
    EXPECT_EQ(0U, postponed());
    EXPECT_EQ(0U, count(n.a, stat::wakes_self));
}

// A request may be waited for much later.
TEST_F(full_ring, is_not_left_to_the_next_calls_where_there_is_a_request) {
    put_all();
    EXPECT_EQ(0U, in_flight());
    unsigned ends = 0;
    rma_sync request;
    request.user = &ends;
    n.a.hooks().rma_done = [](void *user, rma_error) { ++*static_cast<unsigned *>(user); };
    call(n.a, [&](rma &r) { r.flush(target, &request); });
    EXPECT_EQ(1U, in_flight());
    expect_thread_to_put();
    n.drive("the request", [&] { return 0 != ends; });
    EXPECT_EQ(0U, postponed());
}

struct full_ring_beside_an_idle_core : full_ring {
    full_ring_beside_an_idle_core() : full_ring("yes") {}
};

TEST_F(full_ring_beside_an_idle_core, is_the_threads) {
    put_all();
    EXPECT_EQ(0U, postponed());
    EXPECT_EQ(1U, in_flight());
    expect_thread_to_put();
    flush();
}

struct full_ring_of_late_calls : full_ring {
    full_ring_of_late_calls() : full_ring("no", 2000) {}
};

TEST_F(full_ring_of_late_calls, is_seen_to_by_the_thread) {
    n.a.enter(); // which has no turn meanwhile
    put_all();
    EXPECT_EQ(1U, postponed());
    n.a.leave();
    expect_thread_to_put();
    flush();
    EXPECT_EQ(0U, postponed());
}

// Up to what the next call takes in sooner than a thread is woken.
TEST_F(full_ring_of_late_calls, has_its_data_of_gets_come_for) {
    n.a.enter();
    get_all();
    EXPECT_LE(1U, postponed());
    n.a.leave();
    wait_until("the thread of a", [&] {
        n.b.progress();
        n.a.enter();
        const bool little = target->getting < 131072;
        n.a.leave();
        return little;
    });
    EXPECT_EQ(0U, postponed());
    EXPECT_LE(1U, count(n.a, stat::wakes_timer));
    flush();
    EXPECT_TRUE(all_got());
}

} // namespace
} // namespace smartint
