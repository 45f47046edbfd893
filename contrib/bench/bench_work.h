// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Synthetic computation of a known length, and a clock.

#ifndef SMARTINT_BENCH_WORK_H
#define SMARTINT_BENCH_WORK_H

#include <algorithm>
#include <array>
#include <cstdint>
#include <ctime>

namespace bench {

inline double now_us(clockid_t clock = CLOCK_MONOTONIC) {
    timespec t;
    clock_gettime(clock, &t);
    return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) * 1e-3;
}

inline void sleep_us(double us) {
    const auto ns = static_cast<long>(1e3 * std::max(0., us));
    const timespec t{ns / 1'000'000'000, ns % 1'000'000'000};
    nanosleep(&t, nullptr);
}

// Work in registers only, each step waiting for the one before: its length depends on nothing but
// the time the thread gets on a core, so what it takes longer than alone was taken by somebody
// else.
class work {
public:
    // Loops that fit in a microsecond of this thread's CPU time. Disturbances lengthen a trial, and
    // a virtual machine's clock now and then shortens one, so neither the fastest nor the middle
    // one is taken, but one near the fast end. Call before MPI_Init, with nothing of MPI running
    // yet.
    static work calibrated() {
        constexpr int trials = 200;
        constexpr std::uint64_t loops = 100'000;
        std::array<double, trials> used;
        for (double &u : used) {
            const double begin = now_us(CLOCK_THREAD_CPUTIME_ID);
            spin(loops);
            u = now_us(CLOCK_THREAD_CPUTIME_ID) - begin;
        }
        std::sort(used.begin(), used.end());
        return work(static_cast<double>(loops) / used[trials / 5]);
    }

    explicit work(double loops_per_us) : loops_per_us_(loops_per_us) {}

    double loops_per_us() const { return loops_per_us_; }

    // The amount of work that takes `us` microseconds undisturbed.
    void compute(double us) const { spin(static_cast<std::uint64_t>(us * loops_per_us_)); }

private:
    static void spin(std::uint64_t loops) {
        std::uint64_t x = loops | 1;
        for (std::uint64_t i = 0; i < loops; ++i) {
            x = x * 6364136223846793005ULL + 1442695040888963407ULL;
            asm volatile("" : "+r"(x)); // keeps the chain from being folded
        }
    }

    double loops_per_us_;
};

} // namespace bench

#endif
