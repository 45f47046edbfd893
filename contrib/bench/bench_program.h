// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// How every program begins and ends: options that all have, core and priority, the computation's
// calibration before MPI_Init, one amount of work for all ranks, the file of figures.

#ifndef SMARTINT_BENCH_PROGRAM_H
#define SMARTINT_BENCH_PROGRAM_H

#include "bench_arguments.h"
#include "bench_figures.h"
#include "bench_load.h"
#include "bench_place.h"
#include "bench_work.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mpi.h>
#include <optional>
#include <string>
#include <vector>

namespace bench {

struct program_options {
    double loops_per_us = 0;
    bool calibrate_only = false;
    int nice = 0;
    std::vector<int> pin;
    std::string csv;

    void add_to(arguments &a) {
        a.add(0, "prio", "[NICE]", "raise the priority while measuring, where permitted (-15)",
              [this](const char *text) { nice = nullptr == text ? -15 : number("prio", text, -20, 19); });
        a.list(0, "pin", "core of each rank", pin, 0, 1023);
        a.flag(0, "calibrate", "print the computation's loops per us, and stop", calibrate_only);
        a.value(0, "loops-per-us", "X", "use X instead of calibrating", loops_per_us, 0.1, 1e6);
        a.add('c', "csv", "FILE",
              "all figures as figure,mode,bytes,rank,unit,value; as JSON if the name ends in "
              ".json; '-': standard output",
              [this](const char *text) { csv = text; });
    }
};

// From MPI_Init to MPI_Finalize.
class program {
public:
    program(int &argc, char **&argv, const program_options &o, int threads = MPI_THREAD_SINGLE) : o_(o) {
        if (!o.pin.empty()) {
            pin_to_core(o.pin);
        }
        if (0 != o.nice) {
            raised_.emplace(o.nice);
        }
        const bench::work mine = 0 < o.loops_per_us ? bench::work(o.loops_per_us) : bench::work::calibrated();
        if (o.calibrate_only) {
            std::printf("%.2f\n", mine.loops_per_us());
            std::exit(0);
        }
        int provided;
        MPI_Init_thread(&argc, &argv, threads, &provided);
        if (raised_) {
            raised_->include_job();
        }
        MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
        MPI_Comm_size(MPI_COMM_WORLD, &size_);
        if (provided < threads) {
            refuse("an MPI library with the support of threads that it asks for");
        }
        if (0 == rank_ && raised_ && !raised_->raised()) {
            std::fprintf(stderr, "%s: a higher priority is not permitted here; going on without\n",
                         program_invocation_short_name);
        }
        // one amount of work for all ranks: the one that the least disturbed of them found
        double loops = mine.loops_per_us();
        MPI_Allreduce(MPI_IN_PLACE, &loops, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        work_.emplace(loops);
        if (0 == rank_) {
            out_.emplace(o.csv);
            out_->put("loops_per_us", "", 0, -1, "1/us", loops);
        } else {
            out_.emplace();
        }
        load_.emplace();
    }
    program(const program &) = delete;
    program &operator=(const program &) = delete;

    int rank() const { return rank_; }
    int size() const { return size_; }
    const bench::work &work() const { return *work_; }
    figures &out() { return *out_; }

    // Text goes where it does not mix with a CSV on standard output; rank 0 alone says something.
    template <typename... A> void say(const char *form, A... what) const {
        if (0 == rank_) {
            std::FILE *to = "-" == o_.csv ? stderr : stdout;
            std::fprintf(to, form, what...);
            std::fflush(to);
        }
    }

    // Ends all ranks, which agree about that.
    [[noreturn]] void refuse(const char *needed) {
        if (0 == rank_) {
            std::fprintf(stderr, "%s: needs %s\n", program_invocation_short_name, needed);
        }
        raised_.reset();
        MPI_Finalize();
        std::exit(2);
    }

    // The exit status; `wrong` is how many messages or results of this rank were wrong.
    int end(std::uint64_t wrong) {
        MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
        load_->report(*out_);
        out_->put("wrong_messages", "all", 0, "1", static_cast<double>(wrong));
        if (0 != wrong && 0 == rank_) {
            std::fprintf(stderr, "%s: %llu messages or results were wrong\n", program_invocation_short_name,
                         static_cast<unsigned long long>(wrong));
        }
        out_.reset();
        raised_.reset();
        MPI_Finalize();
        return 0 == wrong ? 0 : 1;
    }

private:
    const program_options &o_;
    std::optional<priority> raised_;
    std::optional<bench::work> work_;
    std::optional<figures> out_;
    std::optional<load> load_; // from the first to the last measurement
    int rank_ = 0, size_ = 1;
};

} // namespace bench

#endif
