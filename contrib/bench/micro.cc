// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// What the steps of the mechanism cost by themselves: the board (requests, notices), the helper's
// look at it, the gate and wakes. micro_messages.cc: rings and matching. All on one core with
// everything in its caches, where not said otherwise: in a job the lines that two cores share come
// on top.
//
// A pass of the helper is one look at the word `wanted` of each rank of its node. It never looks at
// a rank's requests: whoever matches one sets that word.

#include <benchmark/benchmark.h>
#include <emmintrin.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "common_smartint_board.h"
#include "common_smartint_gate.h"
#include "common_smartint_params.h"
#include "common_smartint_segment.h"
#include "common_smartint_wake.h"
#include "smartintd_core.h"

namespace smartint::daemon {

// The parts of a helper's loop by themselves.
class core_access {
public:
    static unsigned scan(core &c) { return c.scan(); }
    static bool anything_armed(const core &c) { return c.anything_armed(); }
    static void forget_wakes(core &c) { c.woken_.assign(c.woken_.size(), false); }
};

} // namespace smartint::daemon

namespace {

using namespace smartint;
using daemon::core_access;

constexpr unsigned ranks = 128;
constexpr unsigned requests = layout::request_entries; // all that a slot can hold
constexpr unsigned few = 4;

[[noreturn]] void give_up(const char *what, const std::string &why) {
    std::fprintf(stderr, "micro: %s: %s\n", what, why.c_str());
    std::exit(1);
}

key message_key(int tag) { return make_rts_key(1, 5, tag); }
key_pattern message_pattern(int tag) { return exact_pattern(message_key(tag)); }

// A board as a job has it, with its rings, so that slots lie as far from each other. All ranks are
// this process.
class node {
public:
    explicit node(unsigned slots) {
        if (0 != board.create("/dev/shm", {1, slots, params{}.ring_bytes, 1})) {
            give_up("no board", board.why());
        }
        board.unlink();
        for (unsigned i = 0; i < slots; ++i) {
            auto &c = board.slot(i).control;
            c.pid = static_cast<std::uint32_t>(getpid());
            c.start_time = process_start_time(c.pid);
            c.wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
            c.cpus[0] = ~0ULL; // every core is a rank's: the helper stays where it is
            c.attached = 1;
            owner.emplace_back();
            owner[i].attach(&board.slot(i));
        }
    }
    ~node() {
        for (unsigned i = 0; i < board.slots(); ++i) {
            ::close(board.slot(i).control.wake_fd);
        }
    }

    void arm(unsigned rank, unsigned count) {
        bool matched = false;
        for (unsigned i = 0; i < count; ++i) {
            if (board_owner::none == owner[rank].arm(message_pattern(static_cast<int>(i)), &matched) || matched) {
                give_up("arm", "the table is full or a notice was there");
            }
        }
    }
    // Up to `few` ranks, spread over the board, that somebody matched.
    void want(unsigned count, layout::rank_state state) {
        for (unsigned i = 0; i < count; ++i) {
            auto &c = board.slot(i * (board.slots() / few)).control;
            c.progress = state;
            c.wanted = layout::wanted_look;
        }
    }

    segment board;
    std::vector<board_owner> owner;
};

// A helper over a board of 128 ranks that have 64 requests armed each.
class helped_node : public node {
public:
    explicit helped_node(const char *transport) : node(ranks) {
        daemon::options o;
        o.transport = transport;
        o.device = "lo";
        helper = std::make_unique<daemon::core>(o);
        if (!helper->start(dup(board.fd()))) {
            give_up("no helper", helper->why());
        }
        for (unsigned i = 0; i < ranks; ++i) {
            arm(i, requests);
        }
    }
    std::unique_ptr<daemon::core> helper;
};

// ---- the helper's look at 128 ranks

void scan(benchmark::State &state, unsigned wanted, layout::rank_state where) {
    helped_node n("none");
    n.want(wanted, where);
    core_access::scan(*n.helper); // whoever is outside is woken here, and not again
    unsigned wakes = 0;
    for (auto _ : state) {
        wakes += core_access::scan(*n.helper);
    }
    if (0 != wakes) {
        state.SkipWithError("a rank was woken twice");
    }
}
BENCHMARK_CAPTURE(scan, of_128_nothing_wanted, 0, layout::rank_outside);
BENCHMARK_CAPTURE(scan, of_128_4_wanted_inside, few, layout::rank_inside);
BENCHMARK_CAPTURE(scan, of_128_4_wanted_woken_before, few, layout::rank_outside);

void scan_wakes(benchmark::State &state) {
    helped_node n("none");
    n.want(few, layout::rank_outside);
    for (auto _ : state) {
        core_access::forget_wakes(*n.helper);
        if (few != core_access::scan(*n.helper)) {
            state.SkipWithError("not every rank was woken");
            break;
        }
    }
}
BENCHMARK(scan_wakes)->Name("scan/of_128_4_wanted_and_woken_each_pass");

// Every word comes from memory: farther than from any core that wrote it. Read by the clock in
// place of the loop, as throwing the lines out takes longer than the pass.
void scan_cold(benchmark::State &state) {
    using clock = std::chrono::steady_clock;
    helped_node n("none");
    for (auto _ : state) {
        for (unsigned i = 0; i < ranks; ++i) {
            _mm_clflush(&n.board.slot(i).control.wanted);
        }
        _mm_mfence();
        const auto begin = clock::now();
        benchmark::DoNotOptimize(core_access::scan(*n.helper));
        state.SetIterationTime(std::chrono::duration<double>(clock::now() - begin).count());
    }
}
BENCHMARK(scan_cold)->Name("scan/of_128_nothing_in_any_cache")->UseManualTime();

// Is anybody waiting at all? Asked by a helper before it polls. Nobody: all 128 are looked at.
void anything_armed(benchmark::State &state, bool armed) {
    helped_node n("none");
    for (unsigned i = 0; !armed && i < ranks; ++i) {
        for (unsigned r = 0; r < requests; ++r) {
            n.owner[i].disarm(static_cast<int>(r));
        }
    }
    for (auto _ : state) {
        if (armed != core_access::anything_armed(*n.helper)) {
            state.SkipWithError("the wrong answer");
            break;
        }
    }
}
BENCHMARK_CAPTURE(anything_armed, of_128_all_are, true);
BENCHMARK_CAPTURE(anything_armed, of_128_none_is, false);

// All that a polling helper does between two looks, with the network of a cluster (tcp) open.
void whole_loop(benchmark::State &state, const char *transport) {
    helped_node n(transport);
    for (auto _ : state) {
        benchmark::DoNotOptimize(n.helper->pass());
        benchmark::DoNotOptimize(core_access::anything_armed(*n.helper));
        benchmark::DoNotOptimize(core_access::scan(*n.helper));
        benchmark::DoNotOptimize(std::chrono::steady_clock::now());
    }
}
BENCHMARK_CAPTURE(whole_loop, of_128_without_network, "none");
BENCHMARK_CAPTURE(whole_loop, of_128_with_tcp, "tcp");

// ---- requests and notices

// notices: live ones on the board, of others' messages. A rank that arms must look at each.
void arm_and_disarm(benchmark::State &state) {
    node n(1);
    for (int i = 0; i < state.range(0); ++i) {
        board_slot(&n.board.slot(0)).post(message_key(1000 + i), 5, static_cast<std::uint32_t>(i + 1));
    }
    bool matched = false;
    for (auto _ : state) {
        const int i = n.owner[0].arm(message_pattern(7), &matched);
        benchmark::DoNotOptimize(matched);
        n.owner[0].disarm(i);
    }
    if (matched) {
        state.SkipWithError("a request matched what it does not name");
    }
}
BENCHMARK(arm_and_disarm)->ArgName("notices")->Arg(0)->Arg(1)->Arg(64);

// A notice that nobody of `requests` waits for.
void post_unmatched(benchmark::State &state) {
    node n(1);
    n.arm(0, static_cast<unsigned>(state.range(0)));
    std::uint32_t sequence = 0;
    bool matched = false;
    for (auto _ : state) {
        matched |= board_slot(&n.board.slot(0)).post(message_key(1000), 5, ++sequence).matched;
    }
    if (matched) {
        state.SkipWithError("a notice matched what does not name it");
    }
}
BENCHMARK(post_unmatched)->ArgName("requests")->Arg(0)->Arg(1)->Arg(64);

// A notice for the last of `requests`. The request is made armed again by one store.
void post_matched(benchmark::State &state, layout::rank_state where) {
    node n(1);
    const auto count = static_cast<unsigned>(state.range(0));
    n.arm(0, count);
    layout::slot &s = n.board.slot(0);
    s.control.progress = where;
    auto &word = s.requests[count - 1].state;
    const std::uint64_t armed = word;
    std::uint32_t sequence = 0;
    const bool outside = layout::rank_outside == where;
    for (auto _ : state) {
        const auto o = board_slot(&s).post(message_key(static_cast<int>(count - 1)), 5, ++sequence);
        if (!o.matched || outside != o.wake) {
            state.SkipWithError("not matched, or wrong about the wake");
            break;
        }
        word.store(armed, std::memory_order_relaxed);
    }
}
BENCHMARK_CAPTURE(post_matched, rank_inside, layout::rank_inside)->ArgName("requests")->Arg(1)->Arg(64);
BENCHMARK_CAPTURE(post_matched, rank_outside, layout::rank_outside)->ArgName("requests")->Arg(1)->Arg(64);

// ---- gate and wakes

// A thread that sleeps, as a rank's interrupt thread does: with one thread the kernel answers
// membarrier at once.
class sleeping_thread {
public:
    sleeping_thread() : thread_([this] { over_.wait(false); }) {}
    ~sleeping_thread() {
        over_ = true;
        over_.notify_one();
        thread_.join();
    }

private:
    std::atomic<bool> over_{false};
    std::thread thread_;
};

// What an MPI call pays.
void gate_enter_leave(benchmark::State &state, gate::mode mode) {
    gate g;
    g.set_mode(mode);
    if (mode != g.current_mode()) {
        state.SkipWithError("the kernel has no membarrier");
    }
    for (auto _ : state) {
        g.enter();
        benchmark::ClobberMemory();
        g.leave();
    }
}
BENCHMARK_CAPTURE(gate_enter_leave, asymmetric, gate::mode::asymmetric);
BENCHMARK_CAPTURE(gate_enter_leave, fenced, gate::mode::fenced);
BENCHMARK_CAPTURE(gate_enter_leave, locked, gate::mode::locked);

// What the interrupt thread pays, while the application's thread is on no core.
void gate_claim_release(benchmark::State &state, gate::mode mode) {
    const sleeping_thread other;
    gate g;
    g.set_mode(mode);
    for (auto _ : state) {
        if (!g.claim()) {
            state.SkipWithError("refused");
            break;
        }
        g.release();
    }
}
BENCHMARK_CAPTURE(gate_claim_release, asymmetric, gate::mode::asymmetric);
BENCHMARK_CAPTURE(gate_claim_release, fenced, gate::mode::fenced);

// The write of a rank's descriptor; nobody sleeps on it.
void wake(benchmark::State &state, bool drained) {
    node n(1);
    waker w;
    w.resize(1);
    for (auto _ : state) {
        if (!w.wake(0, n.board.slot(0)) || (drained && 1 != drain_eventfd(n.board.slot(0).control.wake_fd))) {
            state.SkipWithError("the descriptor was not rung");
            break;
        }
    }
}
BENCHMARK_CAPTURE(wake, write, false);
BENCHMARK_CAPTURE(wake, write_and_read, true);

} // namespace

BENCHMARK_MAIN();
