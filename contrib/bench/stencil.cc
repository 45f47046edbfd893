// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// stencil: a 7-point stencil in three dimensions, faces exchanged by nonblocking calls and hidden
// behind the inner points (CH section 6.3, Figure 12). Plain MPI-3.1, for any MPI library:
//
//     mpicxx -O3 -std=c++20 -o stencil stencil.cc && mpirun -np 2 ./stencil --help

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1

#include "bench_kernel.h"

#include <array>

namespace bench {
namespace {

struct options : kernel_options {
    int n = 96;
    int steps = 4;
};

using triple = std::array<int, 3>;

// A box of points with one layer around it.
class field {
public:
    explicit field(const triple &points) : points_(points) {
        pitch_ = {1, points[0] + 2, (points[0] + 2) * (points[1] + 2)};
        values_.resize(static_cast<std::size_t>(pitch_[2]) * static_cast<std::size_t>(points[2] + 2));
    }

    // -1 and points[d] are the layers around
    double &at(int x, int y, int z) { return values_[index(x, y, z)]; }

    void relax(const field &from, const triple &low, const triple &high) {
        for (int z = low[2]; z < high[2]; ++z) {
            for (int y = low[1]; y < high[1]; ++y) {
                double *__restrict to = &values_[index(low[0], y, z)];
                const double *u = &from.values_[index(low[0], y, z)];
                for (int x = 0; x < high[0] - low[0]; ++x) {
                    to[x] = 0.4 * u[x] + 0.1 * (((u[x - 1] + u[x + 1]) + (u[x - pitch_[1]] + u[x + pitch_[1]])) +
                                                (u[x - pitch_[2]] + u[x + pitch_[2]]));
                }
            }
        }
    }

    void clear() { std::fill(values_.begin(), values_.end(), 0.); }

    void fill_with(const triple &origin, std::uint64_t seed) {
        clear();
        for (int z = 0; z < points_[2]; ++z) {
            for (int y = 0; y < points_[1]; ++y) {
                for (int x = 0; x < points_[0]; ++x) {
                    const auto where = static_cast<std::uint64_t>(x + origin[0]) * 73856093 ^
                                       static_cast<std::uint64_t>(y + origin[1]) * 19349663 ^
                                       static_cast<std::uint64_t>(z + origin[2]) * 83492791;
                    at(x, y, z) = static_cast<double>((where + 977 * seed) % 10007);
                }
            }
        }
    }

private:
    std::size_t index(int x, int y, int z) const {
        return static_cast<std::size_t>(x + 1 + (y + 1) * pitch_[1] + (z + 1) * pitch_[2]);
    }

    triple points_, pitch_;
    std::vector<double> values_;
};

class stencil : public kernel {
public:
    stencil(const program &p, int n, int steps) : n_{n, n, n}, steps_(steps), now_(n_), next_(n_) {
        int zero[3] = {0, 0, 0};
        dims_ = {0, 0, 0};
        MPI_Dims_create(p.size(), 3, dims_.data());
        MPI_Cart_create(MPI_COMM_WORLD, 3, dims_.data(), zero, 0, &grid_);
        MPI_Cart_coords(grid_, p.rank(), 3, place_.data());
        for (int d = 0; d < 3; ++d) {
            MPI_Cart_shift(grid_, d, 1, &peers_[2 * d], &peers_[2 * d + 1]);
        }
        for (std::vector<double> &face : out_) {
            face.resize(static_cast<std::size_t>(n) * static_cast<std::size_t>(n));
        }
        in_ = out_;
    }
    ~stencil() override { MPI_Comm_free(&grid_); }

    std::size_t message() const { return out_[0].size() * sizeof(double); }

    void reset(std::uint64_t repetition) override {
        seed_ = repetition;
        now_.fill_with({place_[0] * n_[0], place_[1] * n_[1], place_[2] * n_[2]}, seed_);
        next_.clear();
    }

    void run(form f) override {
        for (int step = 0; step < steps_; ++step) {
            compute(f, [this] { pack(); });
            if (communicates(f)) {
                post();
            }
            if (form::in_turn == f) {
                wait(requests_);
            }
            compute(f, [this] { inner(); });
            wait(requests_);
            compute(f, [this] {
                unpack();
                outer();
            });
            std::swap(now_, next_);
        }
    }

    // The whole domain, computed here by the same function: not a bit may differ.
    std::uint64_t wrong() override {
        const triple all{n_[0] * dims_[0], n_[1] * dims_[1], n_[2] * dims_[2]};
        field a(all), b(all);
        a.fill_with({0, 0, 0}, seed_);
        for (int step = 0; step < steps_; ++step) {
            b.relax(a, {0, 0, 0}, all);
            std::swap(a, b);
        }
        std::uint64_t bad = 0;
        for (int z = 0; z < n_[2]; ++z) {
            for (int y = 0; y < n_[1]; ++y) {
                for (int x = 0; x < n_[0]; ++x) {
                    bad += now_.at(x, y, z) == a.at(x + place_[0] * n_[0], y + place_[1] * n_[1], z + place_[2] * n_[2])
                               ? 0
                               : 1;
                }
            }
        }
        return bad;
    }

private:
    // f(number, point) for all points of the layer
    template <typename F> void each_of_face(int d, int layer, F f) {
        const int d1 = (d + 1) % 3, d2 = (d + 2) % 3;
        std::size_t i = 0;
        triple at;
        at[d] = layer;
        for (at[d2] = 0; at[d2] < n_[d2]; ++at[d2]) {
            for (at[d1] = 0; at[d1] < n_[d1]; ++at[d1]) {
                f(i++, at);
            }
        }
    }

    void pack() {
        for (int side = 0; side < 6; ++side) {
            if (MPI_PROC_NULL != peers_[side]) {
                each_of_face(side / 2, 0 == side % 2 ? 0 : n_[side / 2] - 1,
                             [&](std::size_t i, const triple &at) { out_[side][i] = now_.at(at[0], at[1], at[2]); });
            }
        }
    }

    void unpack() {
        for (int side = 0; side < 6; ++side) {
            if (MPI_PROC_NULL != peers_[side]) {
                each_of_face(side / 2, 0 == side % 2 ? -1 : n_[side / 2],
                             [&](std::size_t i, const triple &at) { now_.at(at[0], at[1], at[2]) = in_[side][i]; });
            }
        }
    }

    void post() {
        for (int side = 0; side < 6; ++side) {
            if (MPI_PROC_NULL == peers_[side]) {
                continue;
            }
            const int count = static_cast<int>(out_[side].size());
            requests_.resize(requests_.size() + 2);
            MPI_Request *r = &requests_[requests_.size() - 2];
            // a message's tag is the side that it left
            MPI_Irecv(in_[side].data(), count, MPI_DOUBLE, peers_[side], side ^ 1, grid_, &r[0]);
            MPI_Isend(out_[side].data(), count, MPI_DOUBLE, peers_[side], side, grid_, &r[1]);
        }
    }

    void inner() { next_.relax(now_, {1, 1, 1}, {n_[0] - 1, n_[1] - 1, n_[2] - 1}); }

    void outer() {
        const int x = n_[0], y = n_[1], z = n_[2];
        next_.relax(now_, {0, 0, 0}, {x, y, 1});
        next_.relax(now_, {0, 0, z - 1}, {x, y, z});
        next_.relax(now_, {0, 0, 1}, {x, 1, z - 1});
        next_.relax(now_, {0, y - 1, 1}, {x, y, z - 1});
        next_.relax(now_, {0, 1, 1}, {1, y - 1, z - 1});
        next_.relax(now_, {x - 1, 1, 1}, {x, y - 1, z - 1});
    }

    triple n_, dims_, place_;
    int steps_;
    field now_, next_;
    MPI_Comm grid_;
    std::array<int, 6> peers_;
    std::array<std::vector<double>, 6> out_, in_;
    std::vector<MPI_Request> requests_;
    std::uint64_t seed_ = 0;
};

int main_program(int argc, char **argv) {
    options o;
    arguments a("stencil - 7-point stencil, faces hidden behind the inner points\n\n"
                "  mpirun -np 2 ./stencil [options]\n");
    a.value('n', "size", "N", "points of a rank in each dimension (96)", o.n, 3, 2048);
    a.value(0, "steps", "N", "in a run (4)", o.steps, 1, 100'000);
    o.add_to(a);
    a.parse(argc, argv);
    program p(argc, argv, o);
    std::uint64_t wrong;
    {
        stencil k(p, o.n, o.steps);
        wrong = measure_kernel(p, o, k, "stencil", k.message());
    }
    return p.end(wrong);
}

} // namespace
} // namespace bench

int main(int argc, char **argv) { return bench::main_program(argc, argv); }
