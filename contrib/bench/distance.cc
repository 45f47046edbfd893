// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// distance: nanoseconds that a cache line takes from one core to another and back. The host of a
// virtual machine moves its cores about, and with their distance the cost of every message inside
// the machine changes by a factor of two or three: runs that are compared must have had the same.
//
//     g++ -O2 -std=c++20 -pthread -o distance distance.cc && ./distance [CORE CORE]

#include "bench_work.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <sched.h>
#include <sys/resource.h>
#include <thread>

namespace {

constexpr int trials = 20, exchanges = 2000;

void pin(int core) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    sched_setaffinity(0, sizeof(set), &set);
}

} // namespace

int main(int argc, char **argv) {
    const int first = argc > 2 ? std::atoi(argv[1]) : 0, second = argc > 2 ? std::atoi(argv[2]) : 1;
    setpriority(PRIO_PROCESS, 0, -15); // where permitted
    alignas(64) std::atomic<int> ball{0};
    std::thread other([&] {
        pin(second);
        for (int i = 0; i < trials * exchanges; ++i) {
            while (2 * i + 1 != ball.load(std::memory_order_acquire)) {}
            ball.store(2 * i + 2, std::memory_order_release);
        }
    });
    pin(first);
    double best = 1e18; // disturbances only lengthen
    for (int t = 0; t < trials; ++t) {
        const double begin = bench::now_us();
        for (int i = t * exchanges; i < (t + 1) * exchanges; ++i) {
            ball.store(2 * i + 1, std::memory_order_release);
            while (2 * i + 2 != ball.load(std::memory_order_acquire)) {}
        }
        best = std::min(best, 1e3 * (bench::now_us() - begin) / exchanges);
    }
    other.join();
    std::printf("%.1f\n", best);
    return 0;
}
