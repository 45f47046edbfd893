// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// fft: a three-dimensional Fourier transform in pencils, as in CH section 6.4 (P3DFFT). Both
// transpositions go in pieces by MPI_Ialltoall, and while one piece travels the next is
// transformed. FFTW does the transforms in one dimension. Plain MPI-3.1, for any MPI library:
//
//     mpicxx -O3 -std=c++20 -o fft fft.cc -lfftw3 && mpirun -np 4 ./fft --help

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1

#include "bench_kernel.h"

#include <cmath>
#include <complex>
#include <fftw3.h>
#include <memory>
#include <numbers>

namespace bench {
namespace {

using complex = std::complex<double>;

struct options : kernel_options {
    int n = 64;
    int pieces = 4;
};

// One of the two transpositions, seen in general. Before it this rank has lines along A:
// data[c][b][a] with all of a, its part of b, and c, which does not take part and is cut into
// pieces. After it, lines along B: data[c][a][b] with all of b and its part of a. `ranks` share a
// set of c; B and A are of n points each.
class transposition {
public:
    transposition(MPI_Comm ranks, int n, int c_points, int pieces)
        : ranks_(ranks), n_(n), c_points_(c_points), pieces_(pieces) {
        MPI_Comm_size(ranks, &size_);
        part_ = n / size_;
        out_.resize(static_cast<std::size_t>(c_points) * n * part_);
        in_.resize(out_.size());
        requests_.assign(static_cast<std::size_t>(pieces), MPI_REQUEST_NULL);
    }

    int first(int piece) const { return c_points_ * piece / pieces_; }
    int planes(int piece) const { return first(piece + 1) - first(piece); }
    std::size_t block(int piece) const { return static_cast<std::size_t>(planes(piece)) * part_ * part_; }

    // The piece's part of data, sorted by destination.
    void pack(int piece, const complex *data) {
        complex *to = out_.data() + start(piece);
        for (int r = 0; r < size_; ++r) {
            for (int c = first(piece); c < first(piece + 1); ++c) {
                for (int a = r * part_; a < (r + 1) * part_; ++a) {
                    for (int b = 0; b < part_; ++b) {
                        *to++ = data[(static_cast<std::size_t>(c) * part_ + b) * n_ + a];
                    }
                }
            }
        }
    }

    void post(int piece) {
        const int count = static_cast<int>(2 * block(piece));
        MPI_Ialltoall(out_.data() + start(piece), count, MPI_DOUBLE, in_.data() + start(piece), count, MPI_DOUBLE,
                      ranks_, &requests_[static_cast<std::size_t>(piece)]);
    }

    MPI_Request &request(int piece) { return requests_[static_cast<std::size_t>(piece)]; }

    void unpack(int piece, complex *data) const {
        const complex *from = in_.data() + start(piece);
        for (int r = 0; r < size_; ++r) {
            for (int c = first(piece); c < first(piece + 1); ++c) {
                for (int a = 0; a < part_; ++a) {
                    complex *line = data + (static_cast<std::size_t>(c) * part_ + a) * n_;
                    std::copy_n(from, part_, line + r * part_);
                    from += part_;
                }
            }
        }
    }

private:
    std::size_t start(int piece) const { return static_cast<std::size_t>(first(piece)) * n_ * part_; }

    MPI_Comm ranks_;
    int n_, c_points_, pieces_, size_, part_;
    std::vector<complex> out_, in_;
    std::vector<MPI_Request> requests_;
};

// Transforms of the lines of a few planes, in place.
class lines {
public:
    lines(complex *data, int n, int planes, int per_plane) {
        auto *d = reinterpret_cast<fftw_complex *>(data);
        plan_ = fftw_plan_many_dft(1, &n, planes * per_plane, d, nullptr, 1, n, d, nullptr, 1, n, FFTW_FORWARD,
                                   FFTW_ESTIMATE);
    }
    ~lines() { fftw_destroy_plan(plan_); }
    lines(const lines &) = delete;
    lines &operator=(const lines &) = delete;

    void transform() const { fftw_execute(plan_); }

private:
    fftw_plan plan_;
};

class fft : public kernel {
public:
    // `grid` is P x Q: before, x lies in the rank, y over P and z over Q; then y over nothing, x
    // over P and z over Q; in the end z over nothing, x over P and y over Q.
    fft(MPI_Comm rows, MPI_Comm columns, int p, int q, int n, int pieces)
        : n_(n), pieces_(pieces), x_part_(n / p), y_part_(n / p), z_part_(n / q), y_last_(n / q),
          first_(rows, n, z_part_, pieces), second_(columns, n, x_part_, pieces) {
        MPI_Comm_rank(rows, &row_);
        MPI_Comm_rank(columns, &column_);
        const std::size_t points = static_cast<std::size_t>(n) * y_part_ * z_part_;
        x_.resize(points);
        y_.resize(points);
        turned_.resize(points);
        z_.resize(points);
        for (int i = 0; i < pieces; ++i) {
            x_lines_.push_back(std::make_unique<lines>(
                x_.data() + static_cast<std::size_t>(first_.first(i)) * y_part_ * n, n, first_.planes(i), y_part_));
            y_lines_.push_back(
                std::make_unique<lines>(turned_.data() + static_cast<std::size_t>(second_.first(i)) * z_part_ * n, n,
                                        second_.planes(i), z_part_));
            z_lines_.push_back(std::make_unique<lines>(
                z_.data() + static_cast<std::size_t>(second_.first(i)) * y_last_ * n, n, second_.planes(i), y_last_));
        }
        for (int i = 0; i < n; ++i) {
            const double angle = 2 * std::numbers::pi * i / n;
            roots_.emplace_back(std::cos(angle), std::sin(angle));
        }
    }

    std::size_t message() const { return first_.block(0) * sizeof(complex); }

    // A few plane waves, whose amplitudes change with the repetition.
    void reset(std::uint64_t repetition) override {
        repetition_ = repetition;
        std::size_t i = 0;
        for (int z = 0; z < z_part_; ++z) {
            for (int y = 0; y < y_part_; ++y) {
                for (int x = 0; x < n_; ++x, ++i) {
                    x_[i] = 0;
                    for (const wave &w : waves_) {
                        const long phase = static_cast<long>(w.k[0]) * x +
                                           static_cast<long>(w.k[1]) * (y + row_ * y_part_) +
                                           static_cast<long>(w.k[2]) * (z + column_ * z_part_);
                        x_[i] += amplitude(w) * roots_[static_cast<std::size_t>(phase % n_)];
                    }
                }
            }
        }
    }

    void run(form f) override {
        transpose(f, first_, x_.data(), x_lines_, y_.data());
        // lines along y by x: second_ takes lines along its A, here y, for each x
        compute(f, [this] { turn(); });
        transpose(f, second_, turned_.data(), y_lines_, z_.data());
        for (const auto &l : z_lines_) {
            compute(f, [&] { l->transform(); });
        }
    }

    // Each wave is one number in the transform, all others are zero but for rounding.
    std::uint64_t wrong() override {
        const double scale = std::pow(n_, 3), allowed = 1e-9 * scale;
        std::uint64_t bad = 0;
        std::size_t i = 0;
        for (int x = 0; x < x_part_; ++x) {
            for (int y = 0; y < y_last_; ++y) {
                for (int z = 0; z < n_; ++z, ++i) {
                    complex expected = 0;
                    for (const wave &w : waves_) {
                        if (w.k[0] % n_ == x + row_ * x_part_ && w.k[1] % n_ == y + column_ * y_last_ &&
                            w.k[2] % n_ == z) {
                            expected += amplitude(w) * scale;
                        }
                    }
                    bad += std::abs(z_[i] - expected) < allowed ? 0 : 1;
                }
            }
        }
        return bad;
    }

private:
    struct wave {
        int k[3];
        double amplitude;
    };
    static constexpr wave waves_[] = {{{1, 2, 3}, 1}, {{5, 0, 7}, 0.5}, {{0, 6, 1}, 0.25}};

    complex amplitude(const wave &w) const {
        return w.amplitude * complex(1 + static_cast<double>(repetition_ % 5), w.k[1]);
    }

    // All pieces: lines transformed, packed, sent; and unpacked on the other side.
    void transpose(form f, transposition &t, complex *from, const std::vector<std::unique_ptr<lines>> &l, complex *to) {
        const auto finish = [&](int piece) {
            if (communicates(f)) {
                const double begin = now_us();
                MPI_Wait(&t.request(piece), MPI_STATUS_IGNORE);
                waiting += now_us() - begin;
            }
            compute(f, [&] { t.unpack(piece, to); });
        };
        for (int piece = 0; piece < pieces_; ++piece) {
            compute(f, [&] {
                l[static_cast<std::size_t>(piece)]->transform();
                t.pack(piece, from);
            });
            if (communicates(f)) {
                t.post(piece);
            }
            if (form::in_turn == f) {
                finish(piece);
            } else if (0 < piece) {
                finish(piece - 1);
            }
        }
        if (form::in_turn != f) {
            finish(pieces_ - 1);
        }
    }

    // [z][x][y] to [x][z][y]
    void turn() {
        for (int z = 0; z < z_part_; ++z) {
            for (int x = 0; x < x_part_; ++x) {
                std::copy_n(&y_[(static_cast<std::size_t>(z) * x_part_ + x) * n_], n_,
                            &turned_[(static_cast<std::size_t>(x) * z_part_ + z) * n_]);
            }
        }
    }

    int n_, pieces_, x_part_, y_part_, z_part_, y_last_;
    int row_ = 0, column_ = 0;
    std::uint64_t repetition_ = 0;
    std::vector<complex> x_, y_, turned_, z_, roots_;
    transposition first_, second_;
    std::vector<std::unique_ptr<lines>> x_lines_, y_lines_, z_lines_;
};

int main_program(int argc, char **argv) {
    options o;
    arguments a("fft - 3-D Fourier transform in pencils, transpositions hidden behind transforms\n\n"
                "  mpirun -np 4 ./fft [options]\n");
    a.value('n', "size", "N", "points in each dimension (64)", o.n, 8, 2048);
    a.value(0, "pieces", "N", "of each transposition (4)", o.pieces, 1, 1024);
    o.add_to(a);
    a.parse(argc, argv);
    program p(argc, argv, o);
    int dims[2] = {0, 0}, zero[2] = {0, 0}, keep_first[2] = {1, 0}, keep_second[2] = {0, 1};
    MPI_Dims_create(p.size(), 2, dims);
    if (0 != o.n % dims[0] || 0 != o.n % dims[1] || o.n / dims[0] < o.pieces || o.n / dims[1] < o.pieces) {
        p.refuse("a size that the grid of ranks divides, and no more pieces than planes");
    }
    MPI_Comm grid, rows, columns;
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, zero, 0, &grid);
    MPI_Cart_sub(grid, keep_first, &rows);
    MPI_Cart_sub(grid, keep_second, &columns);
    std::uint64_t wrong;
    {
        fft k(rows, columns, dims[0], dims[1], o.n, o.pieces);
        wrong = measure_kernel(p, o, k, "fft", k.message());
    }
    for (MPI_Comm *c : {&rows, &columns, &grid}) {
        MPI_Comm_free(c);
    }
    return p.end(wrong);
}

} // namespace
} // namespace bench

int main(int argc, char **argv) { return bench::main_program(argc, argv); }
