// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// availability: overhead and availability of sender and receiver by post-work-wait, the method of
// the Sandia micro-benchmarks as CS section 5 and LF section 5.2 use it. A nonblocking call, an
// amount of work, a wait; the work grows until the whole takes longer than the communication alone
// by a threshold. Of that last step:
//
//     overhead     = iter_t - work_t                     CS eq. 1
//     availability = 1 - (iter_t - work_t) / base_t      CS eq. 2
//
// The other side stays in MPI. Plain MPI-3.1, for any MPI library:
//
//     mpicxx -O2 -std=c++20 -o availability availability.cc && mpirun -np 2 ./availability --help

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1

#include "bench_data.h"
#include "bench_program.h"
#include "bench_sync.h"

namespace bench {
namespace {

struct options : program_options {
    std::vector<std::size_t> sizes{1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20};
    int reps = 15;
    double threshold = 1.5, growth = 1.25;
    bool sender = true, receiver = true;
};

options parse(int argc, char **argv) {
    options o;
    arguments a("availability - of sender and receiver, by post-work-wait\n\n"
                "  mpirun -np 2 ./availability [options]\n\n"
                "Data is always checked.\n");
    a.sizes('s', "sizes", "message sizes, default 1K,4K,16K,64K,256K,1M,4M", o.sizes);
    a.value('r', "reps", "N", "repetitions of each amount of work (15)", o.reps, 1, 100'000);
    a.value(0, "threshold", "X", "stop when iter_t is above X base_t (1.5)", o.threshold, 1.01, 100.);
    a.value(0, "growth", "X", "of the amount of work from step to step (1.25)", o.growth, 1.01, 10.);
    a.add('m', "mode", "LIST", "of sender, receiver (default: both)", [&o](const char *text) {
        o.sender = o.receiver = false;
        for (const auto part : split(text)) {
            bool &chosen = "sender" == part     ? o.sender
                           : "receiver" == part ? o.receiver
                                                : (bad_value("mode", part), o.sender);
            chosen = true;
        }
    });
    o.add_to(a);
    a.parse(argc, argv);
    return o;
}

class post_work_wait {
public:
    post_work_wait(program &p, const options &o) : program_(p), o_(o), clock_(MPI_COMM_WORLD) { clock_.compare(); }

    std::uint64_t run() {
        program_.say("%10s %-9s %10s %10s %10s %10s %8s   (us)\n", "bytes", "side", "base_t", "iter_t", "work_t",
                     "overhead", "avail.");
        for (const std::size_t bytes : o_.sizes) {
            if (o_.receiver) {
                one_size("receiver", bytes, 1);
            }
            if (o_.sender) {
                one_size("sender", bytes, 0);
            }
        }
        clock_.close();
        return wrong_;
    }

private:
    // rank 0 sends, rank 1 receives; `worker` is the one that is measured
    void one_size(const char *side, std::size_t bytes, int worker) {
        data_.resize(bytes);
        for (int i = 0; i < 3; ++i) {
            once(bytes, worker, 0);
        }
        const double base = median_of(bytes, worker, 0);
        double work_us = base / 4, iter = base, last_iter = base, last_work = 0;
        // the last step below the threshold would say less: there part of the communication is
        // still waited for
        while (iter < o_.threshold * base && work_us < 100 * base) {
            iter = median_of(bytes, worker, work_us);
            last_iter = iter;
            last_work = work_us;
            work_us *= o_.growth;
        }
        const double overhead = last_iter - last_work, availability = 1 - overhead / base;
        figures &out = program_.out();
        out.put("base_t", side, bytes, "us", base);
        out.put("iter_t", side, bytes, "us", last_iter);
        out.put("work_t", side, bytes, "us", last_work);
        out.put("overhead", side, bytes, "us", overhead);
        out.put("availability", side, bytes, "1", availability);
        program_.say("%10zu %-9s %10.2f %10.2f %10.2f %10.2f %8.2f\n", bytes, side, base, last_iter, last_work,
                     overhead, availability);
    }

    double median_of(std::size_t bytes, int worker, double work_us) {
        std::vector<double> v;
        for (int i = 0; i < o_.reps; ++i) {
            v.push_back(once(bytes, worker, work_us));
        }
        double m = median(v);
        MPI_Bcast(&m, 1, MPI_DOUBLE, worker, MPI_COMM_WORLD);
        return m;
    }

    // The worker's time from post to done.
    double once(std::size_t bytes, int worker, double work_us) {
        ++repetition_;
        const int rank = program_.rank(), count = static_cast<int>(bytes);
        if (0 == rank) {
            fill(data_.data(), bytes, repetition_);
        }
        MPI_Request request = MPI_REQUEST_NULL;
        bool late;
        double begin = clock_.start(late);
        if (late) {
            begin = now_us();
        }
        if (0 == rank) {
            MPI_Isend(data_.data(), count, MPI_BYTE, 1, tag, MPI_COMM_WORLD, &request);
        } else if (1 == rank) {
            MPI_Irecv(data_.data(), count, MPI_BYTE, 0, tag, MPI_COMM_WORLD, &request);
        }
        if (worker == rank) {
            program_.work().compute(work_us);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        const double took = now_us() - begin;
        if (1 == rank && !filled(data_.data(), bytes, repetition_)) {
            ++wrong_;
        }
        return took;
    }

    static constexpr int tag = 11;

    program &program_;
    const options &o_;
    common_clock clock_;
    std::vector<char> data_;
    std::uint64_t repetition_ = 0, wrong_ = 0;
};

int main_program(int argc, char **argv) {
    const options o = parse(argc, argv);
    program p(argc, argv, o);
    if (p.size() < 2) {
        p.refuse("two ranks");
    }
    const std::uint64_t wrong = post_work_wait(p, o).run();
    return p.end(wrong);
}

} // namespace
} // namespace bench

int main(int argc, char **argv) { return bench::main_program(argc, argv); }
