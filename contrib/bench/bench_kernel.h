// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// A kernel of an application, in four forms: its computation alone, its communication alone, one
// after the other, and one behind the other.
//
//   ideal    max(computation alone, communication alone)
//   overlap  (computation + communication - hidden) / communication: 1 all hidden, 0 none. The
//            same as SI eq. 4.2 with the computation for T_syn and the communication for T_lat
//   slowed   how much longer the computation took with the communication behind it
//   waiting  time in the calls that wait (LF Figures 9 to 12)

#ifndef SMARTINT_BENCH_KERNEL_H
#define SMARTINT_BENCH_KERNEL_H

#include "bench_counters.h"
#include "bench_figures.h"
#include "bench_program.h"
#include "bench_pvars.h"

#include <array>
#include <cstdint>
#include <mpi.h>
#include <string>
#include <vector>

namespace bench {

enum class form { compute, communicate, in_turn, hidden };

constexpr std::array<const char *, 4> form_names{"compute", "communicate", "in_turn", "hidden"};

// Of an element of a matrix: the same on all ranks.
inline std::uint32_t scrambled(int i, int j, unsigned seed) {
    std::uint32_t h =
        static_cast<std::uint32_t>(i) * 2654435761u ^ static_cast<std::uint32_t>(j) * 2246822519u ^ seed * 3266489917u;
    h = (h ^ h >> 15) * 2246822519u;
    return h >> 13;
}

class kernel {
public:
    virtual ~kernel() = default;
    // Data of this repetition; not timed.
    virtual void reset(std::uint64_t repetition) = 0;
    virtual void run(form f) = 0;
    // After a run that did everything: how many results are wrong here; not timed.
    virtual std::uint64_t wrong() = 0;

    // us in the last run
    double computing = 0, waiting = 0;

protected:
    // Does it unless the form leaves computation out.
    template <typename F> void compute(form f, F work) {
        if (form::communicate != f) {
            const double begin = now_us();
            work();
            computing += now_us() - begin;
        }
    }

    static bool communicates(form f) { return form::compute != f; }

    void wait(std::vector<MPI_Request> &requests) {
        if (requests.empty()) {
            return;
        }
        const double begin = now_us();
        MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
        waiting += now_us() - begin;
        requests.clear();
    }

    // Where the wait stands says which form it is: before the computation, or after it.
    template <typename F> void around(form f, std::vector<MPI_Request> &requests, F work) {
        if (form::in_turn == f) {
            wait(requests);
        }
        compute(f, work);
        wait(requests);
    }
};

struct kernel_options : program_options {
    int reps = 10;
    double time_limit = 0;
    bool verify = false;

    void add_to(arguments &a) {
        a.value('r', "reps", "N", "repetitions of each form (10)", reps, 1, 100'000);
        a.value('t', "time", "SECONDS", "stop the repetitions after this long (never below 2)", time_limit, 0., 1e6);
        a.flag(0, "verify", "check the results of every run", verify);
        program_options::add_to(a);
    }
};

// Runs the forms in turn and reports; returns what was wrong. `bytes`: of one typical message.
inline std::uint64_t measure_kernel(program &p, const kernel_options &o, kernel &k, const char *name,
                                    std::size_t bytes) {
    std::array<std::vector<double>, 4> total, computing, waiting;
    std::uint64_t wrong = 0, repetition = 0;
    pvars pv;
    counters counted;
    const double begin = now_us();
    for (int i = -1; i < o.reps; ++i) { // the first one warms up
        int more = i < 2 || 0 == o.time_limit || now_us() - begin < o.time_limit * 1e6 ? 1 : 0;
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (0 == more) {
            break;
        }
        for (const form f : {form::compute, form::communicate, form::in_turn, form::hidden}) {
            k.reset(++repetition);
            k.computing = k.waiting = 0;
            const counters before = pv.read();
            MPI_Barrier(MPI_COMM_WORLD);
            const double from = now_us();
            k.run(f);
            double mine[3] = {now_us() - from, k.computing, k.waiting}, most[3];
            MPI_Allreduce(mine, most, 3, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
            if (form::hidden == f) {
                pv.accumulate(counted, before, pv.read());
            }
            if (o.verify && (form::in_turn == f || form::hidden == f)) {
                wrong += k.wrong();
            }
            if (0 <= i) {
                const auto at = static_cast<std::size_t>(f);
                total[at].push_back(most[0]);
                computing[at].push_back(most[1]);
                waiting[at].push_back(most[2]);
            }
        }
    }
    report_counters(p.out(), name, bytes, counted);
    pv.close();
    if (0 != p.rank()) {
        return wrong;
    }
    figures &out = p.out();
    out.put("reps", name, bytes, "1", static_cast<double>(total[0].size()));
    for (std::size_t f = 0; f < total.size(); ++f) {
        const std::string mode = std::string(name) + "@" + form_names[f];
        out.put_both("t_total", mode, bytes, "us", total[f]);
        out.put_both("computing", mode, bytes, "us", computing[f]);
        out.put_both("waiting", mode, bytes, "us", waiting[f]);
    }
    const auto figure = [&](const char *stat, double (*of)(const std::vector<double> &)) {
        const double compute = of(total[0]), communicate = of(total[1]), hidden = of(total[3]);
        const double slowed = 100 * (of(computing[3]) / of(computing[0]) - 1);
        const double overlap = (compute + communicate - hidden) / communicate;
        out.put(std::string("overlap_") + stat, name, bytes, "1", overlap);
        out.put(std::string("ideal_") + stat, name, bytes, "us", std::max(compute, communicate));
        out.put(std::string("slowed_") + stat, name, bytes, "%", slowed);
        p.say("%s, %s: %.0f us computation, %.0f communication, %.0f in turn, %.0f hidden: overlap "
              "%.2f, computation slowed by %.1f %%, waiting %.0f in turn, %.0f hidden\n",
              name, stat, compute, communicate, of(total[2]), hidden, overlap, slowed, of(waiting[2]), of(waiting[3]));
    };
    figure("min", [](const std::vector<double> &v) { return smallest(v); });
    figure("med", [](const std::vector<double> &v) { return median(v); });
    return wrong;
}

} // namespace bench

#endif
