// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// lu: LU decomposition over windows (SI section 5.4.4, Figure 5.14). Block columns are dealt out to the ranks in
// turn; who owns the next one brings it up to date first, decomposes it and puts it into a window of every other
// rank, and all bring the rest of their columns up to date while it travels. Targets post before that work and wait
// behind it, the origin starts before and completes behind it. The matrix is dominated by its diagonal, so no rows
// are exchanged. Plain MPI-3.1, for any MPI library:
//
//     mpicxx -O3 -std=c++20 -o lu lu.cc && mpirun -np 2 ./lu --help

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1

#include "bench_kernel.h"

#include <algorithm>
#include <cmath>

namespace bench {
namespace {

struct options : kernel_options {
    int n = 768;
    int block = 64;
};

class lu : public kernel {
public:
    lu(const program &p, int n, int block)
        : rank_(p.rank()), ranks_(p.size()), n_(n), block_(block), blocks_(n / block) {
        mine_.resize(panel() * static_cast<std::size_t>((blocks_ + ranks_ - 1) / ranks_));
        MPI_Group world;
        MPI_Comm_group(MPI_COMM_WORLD, &world);
        std::vector<int> others;
        for (int r = 0; r < ranks_; ++r) {
            only_.emplace_back();
            MPI_Group_incl(world, 1, &r, &only_.back());
            if (rank_ != r) {
                others.push_back(r);
            }
        }
        MPI_Group_incl(world, ranks_ - 1, others.data(), &others_);
        MPI_Group_free(&world);
        // two panels: one is in use while the next one arrives
        const auto bytes = static_cast<MPI_Aint>(2 * panel() * sizeof(double));
        MPI_Win_allocate(bytes, sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &panels_, &window_);
    }
    ~lu() override {
        MPI_Group_free(&others_);
        for (MPI_Group &g : only_) {
            MPI_Group_free(&g);
        }
        MPI_Win_free(&window_);
    }

    std::size_t message() const { return panel() * sizeof(double); }

    void reset(std::uint64_t repetition) override {
        seed_ = static_cast<unsigned>(repetition);
        for (int b = rank_; b < blocks_; b += ranks_) {
            for (int j = 0; j < block_; ++j) {
                double *column = block_at(b) + times(j, n_);
                for (int i = 0; i < n_; ++i) {
                    column[i] = entry(i, b * block_ + j);
                }
            }
        }
        // what a form without communication computes with
        std::fill(panels_, panels_ + 2 * panel(), 1. / n_);
    }

    void run(form f) override {
        if (owns(0)) {
            compute(f, [this] { decompose(0); });
        }
        open(f, 0);
        close(f, 0);
        for (int k = 0; k + 1 < blocks_; ++k) {
            if (owns(k + 1)) {
                compute(f, [this, k] {
                    update(k, k + 1);
                    decompose(k + 1);
                });
            }
            open(f, k + 1);
            if (form::in_turn == f) {
                close(f, k + 1);
            }
            compute(f, [this, k] {
                for (int b = k + 2; b < blocks_; ++b) {
                    if (owns(b)) {
                        update(k, b);
                    }
                }
            });
            if (form::in_turn != f) {
                close(f, k + 1);
            }
        }
    }

    // L (U x) against A x.
    std::uint64_t wrong() override {
        std::vector<double> x(static_cast<std::size_t>(n_)), ux(x.size()), lux(x.size());
        for (int j = 0; j < n_; ++j) {
            x[static_cast<std::size_t>(j)] = 1 + (j * 7 + j / 5) % 11;
        }
        each_column([&](int j, const double *column) {
            for (int i = 0; i <= j; ++i) {
                ux[static_cast<std::size_t>(i)] += column[i] * x[static_cast<std::size_t>(j)];
            }
        });
        MPI_Allreduce(MPI_IN_PLACE, ux.data(), n_, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        each_column([&](int j, const double *column) {
            const double f = ux[static_cast<std::size_t>(j)];
            lux[static_cast<std::size_t>(j)] += f;
            for (int i = j + 1; i < n_; ++i) {
                lux[static_cast<std::size_t>(i)] += column[i] * f;
            }
        });
        MPI_Allreduce(MPI_IN_PLACE, lux.data(), n_, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        std::uint64_t bad = 0;
        for (int i = rank_; i < n_; i += ranks_) {
            double ax = 0, size = 0;
            for (int j = 0; j < n_; ++j) {
                ax += entry(i, j) * x[static_cast<std::size_t>(j)];
                size += std::fabs(entry(i, j) * x[static_cast<std::size_t>(j)]);
            }
            bad += std::fabs(ax - lux[static_cast<std::size_t>(i)]) <= 1e-10 * size ? 0 : 1; // a NaN is wrong
        }
        return bad;
    }

private:
    static std::size_t times(int columns, int rows) {
        return static_cast<std::size_t>(columns) * static_cast<std::size_t>(rows);
    }
    std::size_t panel() const { return times(block_, n_); }
    std::size_t slot(int k) const { return 0 == k % 2 ? 0 : panel(); } // where it arrives
    bool owns(int b) const { return b % ranks_ == rank_; }
    double *block_at(int b) { return mine_.data() + times(b / ranks_, block_) * static_cast<std::size_t>(n_); }

    // Panel k: block column k from its diagonal block on, where this rank has it.
    struct place {
        const double *first;
        int rows; // from the start of one column to the next
    };
    place panel_of(int k) {
        if (owns(k)) {
            return {block_at(k) + k * block_, n_};
        }
        return {panels_ + slot(k), n_ - k * block_};
    }

    template <typename F> void each_column(F work) {
        for (int b = rank_; b < blocks_; b += ranks_) {
            for (int j = 0; j < block_; ++j) {
                work(b * block_ + j, block_at(b) + times(j, n_));
            }
        }
    }

    // 0 to 1, and a diagonal above the sum of its row; the same for all ranks
    double entry(int i, int j) const {
        return static_cast<double>(scrambled(i, j, seed_) % 1024) / 1024 + (i == j ? n_ : 0);
    }

    void open(form f, int k) {
        if (!communicates(f) || 1 == ranks_) {
            return;
        }
        if (!owns(k)) {
            MPI_Win_post(only_[static_cast<std::size_t>(k % ranks_)], 0, window_);
            return;
        }
        const int rows = n_ - k * block_, count = rows * block_;
        MPI_Datatype columns;
        MPI_Type_vector(block_, rows, n_, MPI_DOUBLE, &columns);
        MPI_Type_commit(&columns);
        MPI_Win_start(others_, 0, window_);
        for (int r = 0; r < ranks_; ++r) {
            if (rank_ != r) {
                MPI_Put(panel_of(k).first, 1, columns, r, static_cast<MPI_Aint>(slot(k)), count, MPI_DOUBLE, window_);
            }
        }
        MPI_Type_free(&columns);
    }

    void close(form f, int k) {
        if (!communicates(f) || 1 == ranks_) {
            return;
        }
        const double begin = now_us();
        owns(k) ? MPI_Win_complete(window_) : MPI_Win_wait(window_);
        waiting += now_us() - begin;
    }

    // Block column k, up to date: its part of L below the diagonal, of U on it and above.
    void decompose(int k) {
        double *a = block_at(k) + k * block_;
        const int rows = n_ - k * block_;
        for (int j = 0; j < block_; ++j) {
            double *pivot = a + times(j, n_);
            for (int i = j + 1; i < rows; ++i) {
                pivot[i] /= pivot[j];
            }
            for (int c = j + 1; c < block_; ++c) {
                subtract(a + times(c, n_), pivot, j, rows);
            }
        }
    }

    // Block column b by panel k.
    void update(int k, int b) {
        const place p = panel_of(k);
        const int rows = n_ - k * block_;
        for (int c = 0; c < block_; ++c) {
            double *column = block_at(b) + times(c, n_) + k * block_;
            for (int j = 0; j < block_; ++j) {
                subtract(column, p.first + times(j, p.rows), j, rows);
            }
        }
    }

    // From row j + 1 on, as often as row j says.
    static void subtract(double *__restrict to, const double *__restrict from, int j, int rows) {
        const double f = to[j];
        for (int i = j + 1; i < rows; ++i) {
            to[i] -= f * from[i];
        }
    }

    int rank_, ranks_, n_, block_, blocks_;
    unsigned seed_ = 0;
    std::vector<double> mine_;
    double *panels_ = nullptr;
    MPI_Win window_;
    MPI_Group others_;
    std::vector<MPI_Group> only_;
};

int main_program(int argc, char **argv) {
    options o;
    arguments a("lu - LU decomposition, panels put into windows behind the computation\n\n"
                "  mpirun -np 2 ./lu [options]\n");
    a.value('n', "size", "N", "rows of the matrix (768)", o.n, 1, 1 << 14);
    a.value('b', "block", "N", "columns that are decomposed and sent together (64)", o.block, 1, 1 << 12);
    o.add_to(a);
    a.parse(argc, argv);
    program p(argc, argv, o);
    if (0 != o.n % o.block) {
        p.refuse("a size that divides by the block");
    }
    std::uint64_t wrong;
    {
        lu k(p, o.n, o.block);
        wrong = measure_kernel(p, o, k, "lu", k.message());
    }
    return p.end(wrong);
}

} // namespace
} // namespace bench

int main(int argc, char **argv) { return bench::main_program(argc, argv); }
