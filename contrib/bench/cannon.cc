// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// cannon: matrix multiplication by Cannon's algorithm on q x q ranks, as in LF section 5.4: the
// blocks of the next step travel while those of this one are multiplied. With OpenMP inside a rank
// if it is compiled with it. Plain MPI-3.1, for any MPI library:
//
//     mpicxx -O3 -fopenmp -std=c++20 -o cannon cannon.cc && mpirun -np 4 ./cannon --help

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1

#include "bench_kernel.h"

#include <cmath>

namespace bench {
namespace {

struct options : kernel_options {
    int n = 512;
    int threads = 1;
};

class cannon : public kernel {
public:
    cannon(const program &p, int n, int threads) : n_(n), threads_(threads) {
        q_ = static_cast<int>(std::lround(std::sqrt(p.size())));
        b_ = n / q_;
        int dims[2] = {q_, q_}, periods[2] = {1, 1}, at[2];
        MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid_);
        MPI_Cart_coords(grid_, p.rank(), 2, at);
        row_ = at[0];
        column_ = at[1];
        MPI_Cart_shift(grid_, 1, -1, &from_right_, &left_);
        MPI_Cart_shift(grid_, 0, -1, &from_below_, &up_);
        int keep[2] = {0, 1};
        MPI_Cart_sub(grid_, keep, &row_ranks_);
        for (std::vector<double> *m : {&a_, &b_block_, &next_a_, &next_b_, &c_}) {
            m->resize(static_cast<std::size_t>(b_) * static_cast<std::size_t>(b_));
        }
    }
    ~cannon() override {
        MPI_Comm_free(&row_ranks_);
        MPI_Comm_free(&grid_);
    }

    std::size_t message() const { return a_.size() * sizeof(double); }

    // The blocks where the algorithm's first alignment would have put them.
    void reset(std::uint64_t repetition) override {
        seed_ = static_cast<unsigned>(repetition);
        const int k = (row_ + column_) % q_;
        for (int i = 0; i < b_; ++i) {
            for (int j = 0; j < b_; ++j) {
                a_[index(i, j)] = entry(row_ * b_ + i, k * b_ + j, 1);
                b_block_[index(i, j)] = entry(k * b_ + i, column_ * b_ + j, 2);
                c_[index(i, j)] = 0;
            }
        }
    }

    void run(form f) override {
        for (int step = 0; step < q_; ++step) {
            if (communicates(f) && step + 1 < q_) {
                shift(a_, next_a_, left_, from_right_, 1);
                shift(b_block_, next_b_, up_, from_below_, 2);
            }
            around(f, requests_, [this] { multiply(); });
            if (communicates(f) && step + 1 < q_) {
                a_.swap(next_a_);
                b_block_.swap(next_b_);
            }
        }
    }

    // Freivalds: C x = A (B x), with A and B known to everybody and whole numbers throughout.
    std::uint64_t wrong() override {
        const auto x = [](int j) { return static_cast<double>(1 + (j * 7 + j / 5) % 11); };
        std::vector<double> y(static_cast<std::size_t>(n_), 0.);
        for (int k = 0; k < n_; ++k) {
            for (int j = 0; j < n_; ++j) {
                y[static_cast<std::size_t>(k)] += entry(k, j, 2) * x(j);
            }
        }
        std::vector<double> cx(static_cast<std::size_t>(b_), 0.);
        for (int i = 0; i < b_; ++i) {
            for (int j = 0; j < b_; ++j) {
                cx[static_cast<std::size_t>(i)] += c_[index(i, j)] * x(column_ * b_ + j);
            }
        }
        MPI_Allreduce(MPI_IN_PLACE, cx.data(), b_, MPI_DOUBLE, MPI_SUM, row_ranks_);
        std::uint64_t bad = 0;
        for (int i = 0; i < b_; ++i) {
            double expected = 0;
            for (int k = 0; k < n_; ++k) {
                expected += entry(row_ * b_ + i, k, 1) * y[static_cast<std::size_t>(k)];
            }
            bad += expected == cx[static_cast<std::size_t>(i)] ? 0 : 1;
        }
        return bad;
    }

private:
    std::size_t index(int i, int j) const {
        return static_cast<std::size_t>(i) * static_cast<std::size_t>(b_) + static_cast<std::size_t>(j);
    }

    // -4 to 4, the same for all ranks
    double entry(int i, int j, unsigned which) const {
        return static_cast<double>(scrambled(i, j, seed_ * 4 + which) % 9) - 4;
    }

    void shift(std::vector<double> &from, std::vector<double> &to, int dest, int source, int tag) {
        requests_.resize(requests_.size() + 2);
        MPI_Request *r = &requests_[requests_.size() - 2];
        const int count = static_cast<int>(from.size());
        MPI_Irecv(to.data(), count, MPI_DOUBLE, source, tag, grid_, &r[0]);
        MPI_Isend(from.data(), count, MPI_DOUBLE, dest, tag, grid_, &r[1]);
    }

    void multiply() {
        const double *a = a_.data(), *b = b_block_.data();
        double *c = c_.data();
        const auto n = static_cast<std::size_t>(b_);
#ifdef _OPENMP
#pragma omp parallel for num_threads(threads_)
#endif
        for (int i = 0; i < b_; ++i) {
            double *__restrict row = c + static_cast<std::size_t>(i) * n;
            for (std::size_t k = 0; k < n; ++k) {
                const double f = a[static_cast<std::size_t>(i) * n + k];
                const double *__restrict other = b + k * n;
                for (std::size_t j = 0; j < n; ++j) {
                    row[j] += f * other[j];
                }
            }
        }
    }

    int n_, threads_, q_, b_, row_, column_;
    int left_, from_right_, up_, from_below_;
    unsigned seed_ = 0;
    MPI_Comm grid_, row_ranks_;
    std::vector<double> a_, b_block_, next_a_, next_b_, c_;
    std::vector<MPI_Request> requests_;
};

int main_program(int argc, char **argv) {
    options o;
    arguments a("cannon - matrix multiplication, communication hidden behind it\n\n"
                "  mpirun -np 4 ./cannon [options]      a square number of ranks\n");
    a.value('n', "size", "N", "rows of the matrices (512)", o.n, 1, 1 << 15);
    a.value(0, "threads", "N", "OpenMP threads of a rank (1)", o.threads, 1, 1024);
    o.add_to(a);
    a.parse(argc, argv);
    program p(argc, argv, o, o.threads > 1 ? MPI_THREAD_FUNNELED : MPI_THREAD_SINGLE);
    const int q = static_cast<int>(std::lround(std::sqrt(p.size())));
    if (q * q != p.size() || 0 != o.n % q) {
        p.refuse("a square number of ranks, and a size that divides by its root");
    }
#ifndef _OPENMP
    if (1 < o.threads) {
        p.refuse("to be compiled with OpenMP for --threads");
    }
#endif
    std::uint64_t wrong;
    {
        cannon k(p, o.n, o.threads);
        wrong = measure_kernel(p, o, k, "cannon", k.message());
    }
    return p.end(wrong);
}

} // namespace
} // namespace bench

int main(int argc, char **argv) { return bench::main_program(argc, argv); }
