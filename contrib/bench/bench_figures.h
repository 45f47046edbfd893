// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Statistics over repetitions, and the CSV or JSON file that programs read.

#ifndef SMARTINT_BENCH_FIGURES_H
#define SMARTINT_BENCH_FIGURES_H

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <mpi.h>
#include <string>
#include <vector>

namespace bench {

inline double smallest(const std::vector<double> &v) { return *std::min_element(v.begin(), v.end()); }

inline double median(std::vector<double> v) {
    const auto middle = v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2);
    std::nth_element(v.begin(), middle, v.end());
    if (1 == v.size() % 2) {
        return *middle;
    }
    return (*middle + *std::max_element(v.begin(), middle)) / 2;
}

// One of four equal parts of the sorted samples lies below quarter 1, three below quarter 3.
inline double quartile(std::vector<double> v, int quarter) {
    const auto at = v.begin() + static_cast<std::ptrdiff_t>((v.size() - 1) * static_cast<std::size_t>(quarter) / 4);
    std::nth_element(v.begin(), at, v.end());
    return *at;
}

// What a figure belongs to, as a word: a benchmark's own kinds have their own name_of().
inline const char *name_of(const char *word) { return word; }
inline const char *name_of(const std::string &word) { return word.c_str(); }

// Rank 0's figures: one per line in the CSV file, for programs. Other ranks hold an idle one.
class figures {
public:
    explicit figures(const std::string &path) {
        if ("-" == path) {
            out_ = stdout;
        } else if (!path.empty()) {
            out_ = std::fopen(path.c_str(), "w");
            if (nullptr == out_) {
                std::fprintf(stderr, "%s: cannot write %s\n", program_invocation_short_name, path.c_str());
                MPI_Abort(MPI_COMM_WORLD, 2);
            }
        }
        json_ = path.ends_with(".json");
        if (nullptr != out_) {
            std::fputs(json_ ? "[" : "figure,mode,bytes,rank,unit,value\n", out_);
        }
    }
    figures() = default;
    ~figures() {
        if (nullptr != out_ && json_) {
            std::fputs("\n]\n", out_);
        }
        if (nullptr != out_ && stdout != out_) {
            std::fclose(out_);
        }
    }
    figures(const figures &) = delete;
    figures &operator=(const figures &) = delete;

    void put(const char *figure, const char *mode, std::size_t bytes, int rank, const char *unit, double value) {
        if (nullptr == out_) {
            return;
        }
        if (json_) {
            std::fprintf(out_,
                         "%s\n{\"figure\": \"%s\", \"mode\": \"%s\", \"bytes\": %zu, "
                         "\"rank\": %d, \"unit\": \"%s\", \"value\": %.6g}",
                         empty_ ? "" : ",", figure, mode, bytes, rank, unit, value);
            empty_ = false;
            std::fflush(out_);
            return;
        }
        std::fprintf(out_, "%s,%s,", figure, mode);
        std::fprintf(out_, 0 == bytes ? "," : "%zu,", bytes);
        std::fprintf(out_, rank < 0 ? "," : "%d,", rank);
        std::fprintf(out_, "%s,%.6g\n", unit, value);
        std::fflush(out_);
    }
    template <typename M>
    void put(const std::string &figure, const M &m, std::size_t bytes, const char *unit, double value) {
        put(figure.c_str(), name_of(m), bytes, -1, unit, value);
    }
    // least and median of the samples
    template <typename M>
    void put_both(const std::string &figure, const M &m, std::size_t bytes, const char *unit,
                  const std::vector<double> &samples) {
        put(figure + "_min", m, bytes, unit, smallest(samples));
        put(figure + "_med", m, bytes, unit, median(samples));
    }
    // least, quartiles and median of the samples
    template <typename M>
    void put_spread(const std::string &figure, const M &m, std::size_t bytes, const char *unit,
                    const std::vector<double> &samples) {
        put_both(figure, m, bytes, unit, samples);
        put(figure + "_q1", m, bytes, unit, quartile(samples, 1));
        put(figure + "_q3", m, bytes, unit, quartile(samples, 3));
    }

private:
    std::FILE *out_ = nullptr;
    bool json_ = false, empty_ = true;
};

} // namespace bench

#endif
