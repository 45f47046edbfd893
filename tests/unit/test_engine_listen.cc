// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
// A target on another node that was asked while it computed: its thread listens to the network, for a while and not
// while its application waits.
#include <poll.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "common_smartint_uct.h"
#include "common_smartint_wake.h"
#include "harness_exchange.h"

namespace smartint {
namespace {

using namespace test;
using std::byte;

constexpr std::uint32_t window_id = 7;
constexpr std::uint32_t forever_us = 1000000000;

params listening_for(std::uint32_t us) {
    params p = test_params("helper");
    p.listen_us = us;
    return p;
}

// The origin, a, waits in MPI for all that it asks; the target, b, computes unless a test says otherwise.
class target_far_away {
public:
    explicit target_far_away(const params &p) : n(p) {
        zero_ = make_window(n.a, window_id, 0, {member_of(n.a.add_self(), mine_), member_of(n.to_b, theirs_)});
        one_ = make_window(n.b, window_id, 1, {member_of(n.to_a, mine_), member_of(n.b.add_self(), theirs_)});
        n.b.start_thread();
        wait_until("its thread sleeps", [&] { return engine_access::parked(n.b); });
    }
    ~target_far_away() {
        n.b.stop_thread();
        destroy_window(n.a, zero_);
        destroy_window(n.b, one_);
    }

    // MPI_Fetch_and_op and what it needs of an epoch, sent and not waited for.
    void ask() {
        n.a.enter();
        rma_peer *p = n.a.one_sided().peer(zero_, 1);
        rma_item *i = rma::make(rma_item::what::fetch);
        i->op = rma_operator::sum;
        i->type = rma_type::i64;
        i->target = reinterpret_cast<std::uint64_t>(theirs_.data());
        i->target_layout = i->origin_layout = i->result_layout = rma_layout(sizeof(one));
        i->origin = reinterpret_cast<byte *>(&one);
        i->result = reinterpret_cast<byte *>(&before);
        n.a.one_sided().submit(p, i);
        done_ = std::make_unique<rma_sync>();
        n.a.one_sided().flush(p, done_.get());
        n.a.leave();
    }
    bool answered() {
        n.a.progress();
        return done_->done();
    }
    // By the thread, which hears of it by itself, or by way of its wake descriptor, as the helper would.
    void by_thread(const char *how, bool helper) {
        ask();
        if (helper) {
            wait_until("it is there", [&] {
                n.a.progress();
                pollfd at{n.b.net().event_fd(), POLLIN, 0};
                return 1 == poll(&at, 1, 0);
            });
            ring_eventfd(n.b.wake_descriptor());
        }
        wait_until(how, [&] { return answered(); });
    }
    bool listens() { return engine_access::listens(n.b) && engine_access::hears(n.b); }
    void by_application() { // which waits
        n.b.begin_wait();
        ask();
        n.drive("the application answers", [&] { return answered(); });
        n.b.end_wait();
    }

    network_pair n;
    std::int64_t one = 1;
    std::int64_t before = -1;

private:
    std::vector<byte> mine_ = std::vector<byte>(64);
    std::vector<byte> theirs_ = std::vector<byte>(64);
    rma_window *zero_ = nullptr;
    rma_window *one_ = nullptr;
    std::unique_ptr<rma_sync> done_;
};

TEST(listening, what_comes_wakes_the_thread_of_a_target_that_was_asked_while_it_computed) {
    target_far_away t(listening_for(forever_us));
    t.by_application(); // the connection is there
    EXPECT_EQ(0U, count(t.n.b, stat::rma_served_thread));
    t.by_thread("woken by a helper", true);
    EXPECT_EQ(1U, count(t.n.b, stat::wakes_match));
    for (std::int64_t i = 2; i < 20; ++i) {
        t.by_thread("woken by what comes", false);
        EXPECT_EQ(i, t.before);
    }
    EXPECT_EQ(1U, count(t.n.b, stat::wakes_match)) << "by nobody else";
    EXPECT_LT(0U, count(t.n.b, stat::wakes_transport));
    EXPECT_EQ(19U, count(t.n.b, stat::rma_served_thread)); // fetches: the flush behind them asks for nothing
    wait_until("it listens on", [&] { return t.listens(); });
}

TEST(listening, a_target_that_only_the_application_answers_for_never_listens) {
    target_far_away t(listening_for(forever_us));
    for (int i = 0; i < 5; ++i) {
        t.by_application();
    }
    t.ask();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(t.answered()) << "somebody woke it";
    EXPECT_EQ(0U, count(t.n.b, stat::wakes_transport));
    t.n.drive("the application answers", [&] { return t.answered(); });
}

TEST(listening, a_thread_that_its_transport_cannot_wake_any_more_sleeps_all_the_same) {
    static std::atomic<unsigned> asked;
    asked = 0;
    ASSERT_EQ("", load_uct());
    const auto arm = std::exchange(uct.iface_event_arm, [](uct_iface_h, unsigned) {
        ++asked;
        return UCS_ERR_IO_ERROR;
    });
    {
        target_far_away t(listening_for(forever_us));
        for (int i = 0; i < 4; ++i) { // by a helper's notices alone
            t.ask();
            wait_until("woken", [&] {
                ring_eventfd(t.n.b.wake_descriptor());
                return t.answered();
            });
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        EXPECT_EQ(1U, asked);
        EXPECT_FALSE(t.listens());
        t.by_application();
    }
    uct.iface_event_arm = arm;
}

TEST(listening, never_where_the_parameter_says_so) {
    target_far_away t(listening_for(0));
    t.by_application();
    t.by_thread("woken by a helper", true);
    t.ask();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(t.answered());
    EXPECT_EQ(0U, count(t.n.b, stat::wakes_transport));
    t.n.drive("the application answers", [&] { return t.answered(); });
}

TEST(listening, while_the_application_waits_nothing_wakes_the_thread_and_afterwards_all_does) {
    target_far_away t(listening_for(forever_us));
    t.by_application();
    t.by_thread("woken by a helper", true);
    wait_until("it listens", [&] { return t.listens(); });
    std::uint64_t wakes = count(t.n.b, stat::wakes_transport);
    for (int round = 0; round < 10; ++round) {
        t.n.b.begin_wait();
        for (int i = 0; i < 5; ++i) {
            t.by_application();
        }
        EXPECT_EQ(wakes, count(t.n.b, stat::wakes_transport)) << "it reads by itself";
        t.ask(); // comes before it leaves, and is not read
        for (int i = 0; i < 1000; ++i) {
            t.n.a.progress();
        }
        t.n.b.end_wait();
        wait_until("its thread", [&] { return t.answered(); });
        wait_until("it listens", [&] { return t.listens(); });
        EXPECT_LT(wakes, count(t.n.b, stat::wakes_transport));
        wakes = count(t.n.b, stat::wakes_transport);
        t.by_thread("woken by what comes", false);
        wait_until("it listens", [&] { return t.listens(); });
        wakes = count(t.n.b, stat::wakes_transport);
    }
    EXPECT_EQ(1U, count(t.n.b, stat::wakes_match));
}

// The application in and out all the time, waiting or not, while the thread wakes, parks and hears: nothing that is
// asked goes unanswered when it computes again.
TEST(listening, whatever_the_application_does_meanwhile_no_question_is_left) {
    target_far_away t(listening_for(forever_us));
    t.by_application();
    t.by_thread("woken by a helper", true);
    std::atomic<bool> over{false};
    std::atomic<bool> computes{false};
    std::atomic<bool> may_compute{true};
    std::thread application([&] {
        for (unsigned k = 0; !over.load(); ++k) {
            if (0 == k % 3) {
                t.n.b.begin_wait();
                for (unsigned i = 0; i < k % 50; ++i) {
                    t.n.b.progress();
                }
                t.n.b.end_wait();
            } else {
                t.n.b.enter();
                t.n.b.leave();
            }
            if (0 == k % 64) {
                computes = true;
                while (may_compute.load() && !over.load()) {
                    std::this_thread::yield();
                }
                computes = false;
                while (!may_compute.load() && !over.load()) {
                    std::this_thread::yield();
                }
            }
        }
    });
    for (std::int64_t i = 2; i < 300; ++i) {
        may_compute = 0 == i % 2;
        t.by_thread("in the middle of calls", false); // of calls, and then of computation
        EXPECT_EQ(i, t.before);
        may_compute = true;
        wait_until("it computes", [&] { return computes.load(); });
        t.by_thread("while it computes", false);
        EXPECT_EQ(++i, t.before);
        may_compute = false; // it goes on from there
        wait_until("it calls", [&] { return !computes.load(); });
    }
    over = true;
    application.join();
    EXPECT_EQ(0U, count(t.n.b, stat::refused_messages));
}

TEST(listening, after_its_time_the_thread_listens_no_more) {
    target_far_away t(listening_for(2000));
    t.by_application();
    t.by_thread("woken by a helper", true);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    // Still on the descriptor: the first that comes finds that the time is over, but not before it was answered,
    // which begins another one. So what nobody waits for: a message.
    test_send s;
    s.aim(t.n.to_b, 8, 1, ctx, 0, tag);
    t.n.send(t.n.a, s);
    wait_until("it parks", [&] {
        t.n.a.progress();
        return engine_access::parked(t.n.b);
    });
    EXPECT_FALSE(engine_access::hears(t.n.b));
    const std::uint64_t wakes = count(t.n.b, stat::wakes_transport);
    for (int i = 0; i < 10; ++i) { // nor do calls make it listen again
        t.n.b.begin_wait();
        t.n.b.end_wait();
        EXPECT_FALSE(engine_access::hears(t.n.b));
    }
    t.ask();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(t.answered());
    EXPECT_EQ(wakes, count(t.n.b, stat::wakes_transport));
    test_recv r;
    r.aim(8, ctx, 0, tag);
    t.n.receive(t.n.b, r);
    t.n.drive("the application", [&] { return t.answered() && 0 != r.delivered && 0 != s.delivered; });
}

} // namespace
} // namespace smartint
