// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Repetition by time: how often a piece of measurement is run, the same on all ranks.

#ifndef SMARTINT_BENCH_BATCHES_H
#define SMARTINT_BENCH_BATCHES_H

#include "bench_work.h"

#include <algorithm>
#include <mpi.h>
#include <vector>

namespace bench {

// Runs batch() for about `seconds`, three to `most` times and on all ranks equally often, and
// returns this rank's results. Two runs before them count for nothing: connections, first touches.
template <typename F> std::vector<double> batches(double seconds, int most, F batch) {
    batch();
    batch();
    const double begin = now_us();
    batch();
    double took = now_us() - begin;
    MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    const int count = static_cast<int>(std::clamp(seconds * 1e6 / took, 3., most * 1.));
    std::vector<double> results;
    for (int i = 0; i < count; ++i) {
        results.push_back(batch());
    }
    return results;
}

} // namespace bench

#endif
