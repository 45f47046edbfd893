// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// neighbour: how much are ranks slowed that only compute, while two others exchange messages? Plain
// MPI-3.1, for any MPI library:
//
//     mpicxx -O2 -std=c++20 -o neighbour neighbour.cc && mpirun -np 3 ./neighbour --help

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1

#include "bench_counters.h"
#include "bench_program.h"
#include "bench_sync.h"

#include <sys/resource.h>

namespace bench {
namespace {

struct options : program_options {
    std::size_t bytes = 1 << 20;
    double tsyn = 100;
    int rounds = 20;
    double phase_ms = 60;
};

options parse(int argc, char **argv) {
    options o;
    arguments a("neighbour - how much are ranks slowed that only compute?\n\n"
                "  mpirun -np 3 ./neighbour [options]\n\n"
                "Ranks 0 and 1 sleep, compute, and exchange messages in turn; the others compute all "
                "the time.\n");
    a.size('s', "size", "of the messages (1M)", o.bytes);
    a.value(0, "tsyn", "US", "the receiver's computation between post and wait (100)", o.tsyn, 1e-3, 1e9);
    a.value(0, "rounds", "N", "of all three phases (20)", o.rounds, 1, 100'000);
    a.value(0, "phase", "MS", "length of a phase (60)", o.phase_ms, 20., 1e5);
    o.add_to(a);
    a.parse(argc, argv);
    return o;
}

class neighbours {
public:
    neighbours(program &p, const options &o) : program_(p), o_(o), clock_(MPI_COMM_WORLD), buffer_(o.bytes) {}

    void run() {
        constexpr phase phases[] = {phase::asleep, phase::busy, phase::talking};
        std::vector<double> slowed_alone, slowed_busy, preempted_alone, preempted_talking;
        clock_.compare();
        const counters before = pvars_.read();
        for (int round = 0; round < o_.rounds; ++round) {
            watched w[3] = {};
            for (int p = 0; p < 3; ++p) {
                bool late;
                const double begin = clock_.start(late), end = begin + o_.phase_ms * 1e3;
                if (program_.rank() < 2) {
                    pair(phases[p], end);
                } else {
                    w[p] = watch(begin, end);
                }
            }
            slowed_alone.push_back(100 * (w[2].slowness / w[0].slowness - 1));
            slowed_busy.push_back(100 * (w[2].slowness / w[1].slowness - 1));
            preempted_alone.push_back(w[0].preemptions);
            preempted_talking.push_back(w[2].preemptions);
        }
        counters counted;
        pvars_.accumulate(counted, before, pvars_.read());
        report_counters(program_.out(), "none", o_.bytes, counted);
        report({median(slowed_alone), median(slowed_busy), median(preempted_alone), median(preempted_talking),
                static_cast<double>(exchanged_)});
        pvars_.close();
        clock_.close();
    }

private:
    enum class phase { asleep, busy, talking };

    // Ranks 0 and 1 until `end`: nothing, computing, or exchanges in which the receiver computes as
    // well.
    void pair(phase p, double end) {
        if (phase::asleep == p) {
            sleep_us(end - now_us());
        } else if (phase::busy == p) {
            while (now_us() < end) {
                program_.work().compute(100);
            }
        } else {
            exchange(end);
        }
    }

    // The sender says with a message's first byte whether it is the last one.
    void exchange(double end) {
        const int count = static_cast<int>(o_.bytes), other = 1 - program_.rank();
        for (bool last = false; !last; ++exchanged_) {
            MPI_Request request;
            if (0 == program_.rank()) {
                buffer_[0] = now_us() > end ? 1 : 0;
                MPI_Isend(buffer_.data(), count, MPI_BYTE, other, tag, MPI_COMM_WORLD, &request);
            } else {
                MPI_Irecv(buffer_.data(), count, MPI_BYTE, other, tag, MPI_COMM_WORLD, &request);
                program_.work().compute(o_.tsyn);
            }
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            last = 0 != buffer_[0];
        }
    }

    struct watched {
        double slowness;    // time per time alone
        double preemptions; // per second
    };

    // The others: chunks of work, the phase's edges left out.
    watched watch(double begin, double end) const {
        constexpr double edge = 5000, chunk = 500;
        double wall = 0, nominal = 0;
        while (now_us() < begin + edge) {
            program_.work().compute(chunk);
        }
        rusage before, after;
        getrusage(RUSAGE_THREAD, &before);
        while (now_us() < end - edge) {
            const double from = now_us();
            program_.work().compute(chunk);
            wall += now_us() - from;
            nominal += chunk;
        }
        getrusage(RUSAGE_THREAD, &after);
        return {wall / nominal, static_cast<double>(after.ru_nivcsw - before.ru_nivcsw) / wall * 1e6};
    }

    void report(const std::vector<double> &mine) {
        const int each = static_cast<int>(mine.size());
        std::vector<double> all(mine.size() * static_cast<std::size_t>(program_.size()));
        MPI_Gather(mine.data(), each, MPI_DOUBLE, all.data(), each, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        if (0 != program_.rank()) {
            return;
        }
        program_.say("%.0f messages exchanged by ranks 0 and 1\n", all[4]);
        figures &out = program_.out();
        for (int r = 2; r < program_.size(); ++r) {
            const double *v = &all[mine.size() * static_cast<std::size_t>(r)];
            out.put("neighbour_slowed", "none", o_.bytes, r, "%", v[0]);
            out.put("neighbour_slowed_beside_computation", "none", o_.bytes, r, "%", v[1]);
            out.put("neighbour_preempted_alone", "none", o_.bytes, r, "1/s", v[2]);
            out.put("neighbour_preempted", "none", o_.bytes, r, "1/s", v[3]);
            program_.say("rank %d, while they talk: %.2f %% slower than alone, %.2f %% slower than "
                         "while they compute; taken off its core %.0f times a second (alone %.0f)\n",
                         r, v[0], v[1], v[3], v[2]);
        }
    }

    static constexpr int tag = 11;

    program &program_;
    const options &o_;
    common_clock clock_;
    pvars pvars_;
    std::vector<char> buffer_;
    std::uint64_t exchanged_ = 0;
};

int main_program(int argc, char **argv) {
    const options o = parse(argc, argv);
    program p(argc, argv, o);
    if (p.size() < 3) {
        p.refuse("three ranks or more");
    }
    neighbours(p, o).run();
    return p.end(0);
}

} // namespace
} // namespace bench

int main(int argc, char **argv) { return bench::main_program(argc, argv); }
