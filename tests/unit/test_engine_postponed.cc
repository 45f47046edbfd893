// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
// One-sided operations inside a node that wait for their target, while the origin computes: postponed to its next call,
// if that comes soon.
#include <array>
#include <chrono>
#include <cstring>
#include <deque>
#include <thread>

#include "harness_exchange.h"

namespace smartint {
namespace {

using namespace test;
using std::byte;

constexpr std::uint32_t forever_us = 1000000000;
constexpr std::uint32_t window_id = 7;
constexpr std::size_t exposed = 1 << 20;

// Zero puts into one's window as soon as one has posted it; both threads sleep, and both processes compute.
class postponed_queues : public computing {
protected:
    struct node {
        explicit node(const params &p) : n(p) {
            endpoint *const self[] = {n.a.add_self(), n.b.add_self()};
            n.a.hooks().rma_done = [](void *user, rma_error) { ++*static_cast<unsigned *>(user); };
            zero = make_window(n.a, window_id, 0, {member_of(self[0], own), member_of(n.to_b, target)});
            one = make_window(n.b, window_id, 1, {member_of(n.to_a, own), member_of(self[1], target)});
            n.start_threads();
            settle(n);
        }
        ~node() {
            n.a.stop_thread();
            n.b.stop_thread();
            destroy_window(n.a, zero);
            destroy_window(n.b, one);
        }
        // MPI_Win_start and MPI_Put.
        void start_and_put(std::size_t bytes) {
            rma_peer *p = nullptr;
            n.a.enter();
            p = n.a.one_sided().peer(zero, 1);
            n.a.one_sided().await_post(p, nullptr);
            n.a.leave();
            n.a.enter();
            rma_item *i = rma::make(rma_item::what::put);
            i->target = reinterpret_cast<std::uint64_t>(target.data());
            i->target_layout = i->origin_layout = rma_layout(bytes);
            i->origin = source.data();
            n.a.one_sided().submit(p, i);
            n.a.leave();
        }
        void post() {
            n.b.enter();
            n.b.one_sided().post(one, {0}, false, false);
            n.b.leave();
        }
        // MPI_Win_complete, as a request if it has somebody to tell.
        void complete(rma_sync *sync) {
            n.a.enter();
            n.a.one_sided().complete(n.a.one_sided().peer(zero, 1), sync);
            n.a.leave();
        }
        bool there(std::size_t bytes) { // others store into it
            return byte{0x5a} == static_cast<volatile byte *>(target.data())[bytes - 1];
        }
        std::uint64_t wakes() {
            std::uint64_t sum = 0;
            for (const stat s : {stat::wakes_match, stat::wakes_self, stat::wakes_timer, stat::wakes_transport}) {
                sum += count(n.a, s);
            }
            return sum;
        }
        void end() { // of the epoch
            rma_sync done;
            complete(&done);
            n.b.enter();
            rma_sync waited;
            n.b.one_sided().wait(one, &waited);
            n.b.leave();
            n.drive("the epoch's end", [&] { return ended(n.a, done) && ended(n.b, waited); });
            EXPECT_EQ(0U, count(n.a, stat::wakes_futile));
        }

        std::vector<byte> source = std::vector<byte>(exposed, byte{0x5a});
        std::vector<byte> own = std::vector<byte>(exposed);
        std::vector<byte> target = std::vector<byte>(exposed);
        node_pair n;
        rma_window *zero = nullptr;
        rma_window *one = nullptr;
    };

    static params postponed_for(std::uint32_t us, const char *idle_cores) {
        params p = test_params("helper");
        p.idle_cores = idle_cores;
        p.postpone_us = us;
        return p;
    }
};

TEST_F(postponed_queues, little_data_goes_with_the_next_call_and_wakes_nobody) {
    node x(postponed_for(forever_us, "yes"));
    x.start_and_put(64);
    x.post();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(x.there(64));
    EXPECT_EQ(0U, x.wakes());
    x.n.a.progress();
    EXPECT_TRUE(x.there(64));
    EXPECT_EQ(0U, count(x.n.a, stat::rma_by_thread));
    x.end();
}

TEST_F(postponed_queues, much_data_too_where_no_core_is_idle) {
    for (const bool idle : {false, true}) {
        params p = postponed_for(forever_us, idle ? "yes" : "no");
        p.arm_from = exposed / 2;
        node x(p);
        x.start_and_put(exposed);
        x.post();
        if (idle) {
            wait_until("the thread puts", [&] { return x.there(exposed) && 0 != count(x.n.a, stat::rma_by_thread); });
        } else {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            EXPECT_FALSE(x.there(exposed));
        }
        EXPECT_EQ(idle, 0 != x.wakes());
        x.end();
        EXPECT_EQ(0, std::memcmp(x.source.data(), x.target.data(), exposed));
    }
}

TEST_F(postponed_queues, when_no_call_comes_the_thread_puts) {
    node x(postponed_for(20000, "no"));
    x.start_and_put(64);
    x.post();
    wait_until("the thread puts", [&] { return x.there(64); });
    EXPECT_EQ(1U, count(x.n.a, stat::wakes_timer));
    x.end();
}

TEST_F(postponed_queues, who_is_late_to_post_finds_the_thread_listening) {
    node x(postponed_for(5000, "no"));
    x.start_and_put(64);
    wait_until("the thread has come",
               [&] { return 1 == count(x.n.a, stat::wakes_timer) && 0 != count(x.n.a, stat::requests_armed); });
    settle(x.n);
    EXPECT_EQ(0U, count(x.n.a, stat::wakes_match));
    x.post();
    wait_until("the thread puts", [&] { return x.there(64) && 0 != count(x.n.a, stat::rma_by_thread); });
    x.end();
}

TEST_F(postponed_queues, what_a_request_waits_for_is_not_postponed) {
    node x(postponed_for(forever_us, "no"));
    unsigned told = 0;
    rma_sync request;
    request.user = &told;
    x.start_and_put(64);
    x.complete(&request); // and the application computes
    x.post();
    wait_until("the thread puts, and completes", [&] { return x.there(64) && 2 <= count(x.n.a, stat::rma_by_thread); });
    x.n.b.enter();
    rma_sync waited;
    x.n.b.one_sided().wait(x.one, &waited);
    x.n.b.leave();
    wait_until("the target's wait", [&] { // the origin computes on
        x.n.b.progress();
        return ended(x.n.b, waited);
    });
    EXPECT_EQ(0U, told) << "user code is the application's";
    wait_until("the application is told", [&] { // not in a pass while the thread has the gate
        x.n.a.progress();
        return 1U == told;
    });
}

TEST_F(postponed_queues, nothing_is_postponed_where_it_was_not_asked_for) {
    node x(postponed_for(0, "no"));
    x.start_and_put(64);
    x.post();
    wait_until("the thread puts", [&] { return x.there(64) && 0 != count(x.n.a, stat::rma_by_thread); });
    x.end();
}

// With the target: copied by both where it waits for nothing but this, else by the origin alone.
TEST_F(postponed_queues, a_target_that_waits_takes_part_in_the_copy_unless_it_is_busy_or_without_a_core) {
    enum class at { waits, computes, busy, without };
    for (const at where : {at::waits, at::computes, at::busy, at::without}) {
        for (const std::size_t bytes : {std::size_t{512}, std::size_t{8192}, exposed}) {
            params p = postponed_for(forever_us, "yes");
            p.timed_bytes = 0; // the size decides, and not what is quicker
            p.stream_bytes = exposed;
            node x(p);
            for (std::uint32_t rank : {0U, 1U}) { // as if they were bound so
                x.n.a.board_segment().slot(rank).control.cpus[0] = at::without == where ? 1 : 1 + rank;
            }
            std::deque<test_send> s(6);
            std::deque<test_recv> r(6);
            x.post();
            x.n.a.progress();
            if (at::busy == where) {
                for (auto &one : s) { // others', as far as this put knows
                    one.aim(x.n.to_b, 8000, 1, ctx, 0, tag);
                    x.n.send(x.n.a, one);
                }
            }
            if (at::computes != where) {
                x.n.b.begin_wait();
            }
            x.start_and_put(bytes);
            const bool both = at::waits == where;
            EXPECT_EQ(both ? 0U : 1U, count(x.n.a, stat::rma_direct)) << bytes;
            EXPECT_EQ(!both, x.there(bytes)) << bytes;
            if (at::computes != where) {
                wait_until("the target copies", [&] {
                    x.n.b.progress();
                    x.n.a.progress();
                    return x.there(bytes);
                });
                x.n.b.end_wait();
            }
            for (auto &one : r) {
                if (at::busy == where) {
                    one.aim(8000, ctx, 0, tag);
                    x.n.receive(x.n.b, one);
                }
            }
            x.end();
            EXPECT_EQ(0, std::memcmp(x.source.data(), x.target.data(), bytes));
        }
    }
}

} // namespace
} // namespace smartint
