// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Every rank's counters in the file of figures.

#ifndef SMARTINT_BENCH_COUNTERS_H
#define SMARTINT_BENCH_COUNTERS_H

#include "bench_figures.h"
#include "bench_pvars.h"

#include <cstdlib>
#include <mpi.h>
#include <string>

namespace bench {

// Called by all ranks. They go to rank 0 as text: the ranks need not have the same ones.
inline void report_counters(figures &out, const char *mode, std::size_t bytes, const counters &mine) {
    constexpr int tag = 13;
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    std::string lines;
    for (const auto &[name, value] : mine) {
        lines += name + " " + std::to_string(value) + "\n";
    }
    if (0 != rank) {
        MPI_Send(lines.data(), static_cast<int>(lines.size()), MPI_CHAR, 0, tag, MPI_COMM_WORLD);
        return;
    }
    for (int r = 0; r < size; ++r) {
        if (0 != r) {
            MPI_Status status;
            int length = 0;
            MPI_Probe(r, tag, MPI_COMM_WORLD, &status);
            MPI_Get_count(&status, MPI_CHAR, &length);
            lines.resize(static_cast<std::size_t>(length));
            MPI_Recv(lines.data(), length, MPI_CHAR, r, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        for (std::size_t at = 0; at < lines.size();) {
            const auto blank = lines.find(' ', at), end = lines.find('\n', at);
            out.put(lines.substr(at, blank - at).c_str(), mode, bytes, r, "counter",
                    std::strtod(lines.c_str() + blank, nullptr));
            at = end + 1;
        }
    }
}

} // namespace bench

#endif
