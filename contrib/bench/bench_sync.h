// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// A common start for all ranks: clocks are compared by message, then rank 0 names a moment in the
// near future and everybody spins until then, outside MPI and with nothing in flight.

#ifndef SMARTINT_BENCH_SYNC_H
#define SMARTINT_BENCH_SYNC_H

#include "bench_work.h"

#include <mpi.h>

namespace bench {

class common_clock {
public:
    explicit common_clock(MPI_Comm comm) {
        MPI_Comm_dup(comm, &comm_);
        MPI_Comm_rank(comm_, &rank_);
        MPI_Comm_size(comm_, &size_);
    }
    void close() { MPI_Comm_free(&comm_); }

    // This rank's clock against rank 0's: of many exchanges the quickest says most.
    void compare() {
        double slowest = 0;
        for (int other = 1; other < size_; ++other) {
            if (0 == rank_) {
                slowest = std::max(slowest, ask(other));
            } else if (rank_ == other) {
                answer();
            }
        }
        lead_ = 150 + 6 * slowest;
    }

    // Returns this rank's time of the common start, having waited for it; `late` is set if the news
    // came after the moment had passed.
    double start(bool &late) {
        double when = now_us() + lead_;
        MPI_Bcast(&when, 1, MPI_DOUBLE, 0, comm_);
        when += offset_;
        late = now_us() > when;
        while (now_us() < when) {}
        return when;
    }

private:
    static constexpr int exchanges = 40;

    double ask(int other) const {
        double best = 1e18, offset = 0;
        for (int i = 0; i < exchanges; ++i) {
            double there = 0;
            const double begin = now_us();
            MPI_Send(&there, 1, MPI_DOUBLE, other, 0, comm_);
            MPI_Recv(&there, 1, MPI_DOUBLE, other, 0, comm_, MPI_STATUS_IGNORE);
            const double end = now_us();
            if (end - begin < best) {
                best = end - begin;
                offset = there - (begin + end) / 2;
            }
        }
        MPI_Send(&offset, 1, MPI_DOUBLE, other, 1, comm_);
        return best;
    }

    void answer() {
        for (int i = 0; i < exchanges; ++i) {
            double stamp;
            MPI_Recv(&stamp, 1, MPI_DOUBLE, 0, 0, comm_, MPI_STATUS_IGNORE);
            stamp = now_us();
            MPI_Send(&stamp, 1, MPI_DOUBLE, 0, 0, comm_);
        }
        MPI_Recv(&offset_, 1, MPI_DOUBLE, 0, 1, comm_, MPI_STATUS_IGNORE);
    }

    MPI_Comm comm_;
    int rank_ = 0, size_ = 1;
    double offset_ = 0; // this rank's clock minus rank 0's
    double lead_ = 500;
};

} // namespace bench

#endif
