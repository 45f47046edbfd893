// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// skew: blocking MPI_Gather and MPI_Reduce whose root comes late (CH section 6.2, Figure 11). How
// long do the others stay in a call that needs nothing from them but their data? Plain MPI-3.1, for
// any MPI library:
//
//     mpicxx -O2 -std=c++20 -o skew skew.cc && mpirun -np 4 ./skew --help

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1

#include "bench_data.h"
#include "bench_program.h"
#include "bench_sync.h"

namespace bench {
namespace {

struct options : program_options {
    std::vector<std::size_t> sizes{16 << 10, 64 << 10, 256 << 10, 1 << 20};
    std::vector<double> ratios{0, 1, 4};
    int reps = 15;
};

options parse(int argc, char **argv) {
    options o;
    arguments a("skew - MPI_Gather and MPI_Reduce whose root comes late\n\n"
                "  mpirun -np 4 ./skew [options]\n\n"
                "The root computes for ratio * T_lat, then calls; the others call at once, and\n"
                "compute as long afterwards. T_lat is the call's time without skew.\n"
                "  others  median time of the other ranks in the call\n"
                "  total   until all ranks are done\n"
                "Results are always checked.\n");
    a.sizes('s', "sizes", "bytes of a rank's data, default 16K,64K,256K,1M", o.sizes);
    a.list(0, "ratio", "how late (0,1,4)", o.ratios, 0., 1e4);
    a.value('r', "reps", "N", "repetitions (15)", o.reps, 1, 100'000);
    o.add_to(a);
    a.parse(argc, argv);
    return o;
}

class skewed {
public:
    skewed(program &p, const options &o) : program_(p), o_(o), clock_(MPI_COMM_WORLD) { clock_.compare(); }

    std::uint64_t run() {
        program_.say("%10s %-12s %10s %10s %10s %10s   (us)\n", "bytes", "call", "T_lat", "late by", "others", "total");
        for (const bool reduce : {false, true}) {
            for (const std::size_t bytes : o_.sizes) {
                one_size(reduce, bytes / 8 * 8);
            }
        }
        clock_.close();
        return wrong_;
    }

private:
    struct times {
        double others, total;
    };

    void one_size(bool reduce, std::size_t bytes) {
        out_.resize(bytes);
        in_.resize(0 == program_.rank() ? bytes * static_cast<std::size_t>(program_.size()) : 0);
        once(reduce, bytes, 0);
        const double t_lat = middle(reduce, bytes, 0).total;
        const std::string name = reduce ? "reduce" : "gather";
        program_.out().put("t_lat", name, bytes, "us", t_lat);
        for (const double ratio : o_.ratios) {
            const times t = middle(reduce, bytes, ratio * t_lat);
            char at[48];
            std::snprintf(at, sizeof(at), "%s@%g", name.c_str(), ratio);
            program_.out().put("late_by", at, bytes, "us", ratio * t_lat);
            program_.out().put("others", at, bytes, "us", t.others);
            program_.out().put("total", at, bytes, "us", t.total);
            program_.say("%10zu %-12s %10.1f %10.1f %10.1f %10.1f\n", bytes, at, t_lat, ratio * t_lat, t.others,
                         t.total);
        }
    }

    times middle(bool reduce, std::size_t bytes, double late_us) {
        std::vector<double> others, total;
        for (int i = 0; i < o_.reps; ++i) {
            const times t = once(reduce, bytes, late_us);
            others.push_back(t.others);
            total.push_back(t.total);
        }
        return {median(others), median(total)};
    }

    // The same on all ranks.
    times once(bool reduce, std::size_t bytes, double late_us) {
        ++repetition_;
        const int rank = program_.rank(), size = program_.size();
        const std::size_t n = bytes / 8;
        if (reduce) {
            for (std::size_t i = 0; i < n; ++i) {
                const double v = value(rank, i);
                std::memcpy(&out_[8 * i], &v, 8);
            }
        } else {
            fill(out_.data(), bytes, seed_of(repetition_, rank, 0));
        }
        bool late;
        const double begin = clock_.start(late);
        if (0 == rank) {
            program_.work().compute(late_us);
        }
        const double called = now_us();
        if (reduce) {
            MPI_Reduce(out_.data(), in_.data(), static_cast<int>(n), MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        } else {
            MPI_Gather(out_.data(), static_cast<int>(bytes), MPI_BYTE, in_.data(), static_cast<int>(bytes), MPI_BYTE, 0,
                       MPI_COMM_WORLD);
        }
        const double returned = now_us();
        if (0 != rank) {
            program_.work().compute(late_us);
        }
        double mine[2] = {0 == rank ? 0 : returned - called, now_us() - begin}, most[2];
        if (0 == rank) {
            wrong_ += right(reduce, bytes, size) ? 0 : 1;
        }
        MPI_Allreduce(mine, most, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        return {most[0], most[1]};
    }

    double value(int rank, std::size_t i) const {
        return (1 + rank % 7) * static_cast<double>((31 * i + repetition_) % 8191);
    }

    bool right(bool reduce, std::size_t bytes, int size) const {
        bool good = true;
        for (int r = 0; !reduce && r < size; ++r) {
            good &= filled(in_.data() + static_cast<std::size_t>(r) * bytes, bytes, seed_of(repetition_, r, 0));
        }
        for (std::size_t i = 0; reduce && i < bytes / 8; ++i) {
            double sum = 0, got;
            for (int r = 0; r < size; ++r) {
                sum += value(r, i);
            }
            std::memcpy(&got, &in_[8 * i], 8);
            good &= sum == got;
        }
        return good;
    }

    program &program_;
    const options &o_;
    common_clock clock_;
    std::vector<char> out_, in_;
    std::uint64_t repetition_ = 0, wrong_ = 0;
};

int main_program(int argc, char **argv) {
    const options o = parse(argc, argv);
    program p(argc, argv, o);
    if (p.size() < 2) {
        p.refuse("two ranks or more");
    }
    const std::uint64_t wrong = skewed(p, o).run();
    return p.end(wrong);
}

} // namespace
} // namespace bench

int main(int argc, char **argv) { return bench::main_program(argc, argv); }
