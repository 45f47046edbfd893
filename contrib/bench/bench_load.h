// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// How much of the machine others used while something was measured.

#ifndef SMARTINT_BENCH_LOAD_H
#define SMARTINT_BENCH_LOAD_H

#include "bench_figures.h"
#include "bench_work.h"

#include <fstream>
#include <mpi.h>
#include <string>
#include <sys/resource.h>
#include <unistd.h>

namespace bench {

class load {
public:
    load() : begin_(now()) {}

    // All ranks together. "others": cores in use by programs that are not the ranks (helpers and
    // launchers among them); "stolen": part of the machine that the host of a virtual one took.
    // Ranks on several machines: only rank 0's is looked at, and all ranks are taken for its own,
    // so that others are underestimated there.
    void report(figures &out) const {
        const moment end = now();
        double mine = end.own - begin_.own, all = 0;
        MPI_Reduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        const double seconds = std::max(1e-3, end.wall - begin_.wall);
        out.put("measured", "all", 0, "s", seconds);
        // of a very short time the kernel's ticks say little
        out.put("others", "all", 0, "1",
                std::clamp((end.programs - begin_.programs - all) / seconds, 0.,
                           static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN))));
        out.put("stolen", "all", 0, "1", (end.stolen - begin_.stolen) / std::max(1e-3, end.machine - begin_.machine));
    }

private:
    struct moment {
        double wall, own, programs, machine, stolen; // s
    };

    static moment now() {
        rusage used;
        getrusage(RUSAGE_SELF, &used);
        const auto seconds = [](const timeval &t) {
            return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
        };
        moment m{now_us() * 1e-6, seconds(used.ru_utime) + seconds(used.ru_stime), 0, 0, 0};
        std::ifstream file("/proc/stat");
        std::string name;
        double ticks[8] = {}; // user, nice, system, idle, iowait, irq, softirq, steal
        file >> name;
        const double tick = 1. / static_cast<double>(sysconf(_SC_CLK_TCK));
        for (double &t : ticks) {
            file >> t;
            m.machine += t * tick;
        }
        m.programs = (ticks[0] + ticks[1] + ticks[2]) * tick;
        m.stolen = ticks[7] * tick;
        return m;
    }

    moment begin_;
};

} // namespace bench

#endif
