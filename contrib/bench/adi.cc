// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// adi: implicit line solves in three directions, with the message pattern of the SP program of the
// NAS parallel benchmarks (SI section 4.5.4, LF Figure 4). The domain is cut into q^3 cells for q x
// q ranks so that every rank has one cell in each slab of each direction: in every stage of every
// solve all ranks have work, and hand the ends of their lines to the next one. What does not need
// the message, the coefficients of the stage, is computed while it travels. Plain MPI-3.1, for any
// MPI library:
//
//     mpicxx -O3 -std=c++20 -o adi adi.cc && mpirun -np 4 ./adi --help

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1

#include "bench_kernel.h"

#include <array>
#include <cmath>

namespace bench {
namespace {

struct options : kernel_options {
    int n = 48;
    int steps = 2;
};

constexpr int components = 5; // unknowns of a point, as in SP

using triple = std::array<int, 3>;

// m^3 points with a layer around them; and what the solves need.
struct cell {
    triple place{};                    // among the q^3 cells
    std::vector<double> u, rhs, ahead; // ahead: coefficients of the eliminated lines
    std::vector<double> lower, main, upper;
};

class adi : public kernel {
public:
    // q x q ranks of `comm`, of which this is one.
    adi(MPI_Comm comm, int q, int n, int steps) : comm_(comm), q_(q), m_(n / q), steps_(steps) {
        int rank;
        MPI_Comm_rank(comm, &rank);
        i_ = rank / q;
        j_ = rank % q;
        const auto points = static_cast<std::size_t>(m_) * m_ * m_ * components;
        const auto around = static_cast<std::size_t>(m_ + 2) * (m_ + 2) * (m_ + 2) * components;
        for (int c = 0; c < q; ++c) {
            cell x;
            x.place = {(i_ + c) % q, (j_ + c) % q, c};
            x.u.resize(around);
            for (std::vector<double> *v : {&x.rhs, &x.ahead, &x.lower, &x.main, &x.upper}) {
                v->resize(points);
            }
            cells_.push_back(std::move(x));
        }
        // the cell beyond in x belongs to rank (i + 1, j), in y to (i, j + 1), in z to (i - 1, j -
        // 1)
        after_ = {rank_at(i_ + 1, j_), rank_at(i_, j_ + 1), rank_at(i_ - 1, j_ - 1)};
        before_ = {rank_at(i_ - 1, j_), rank_at(i_, j_ - 1), rank_at(i_ + 1, j_ + 1)};
        for (int side = 0; side < 6; ++side) {
            const std::size_t faces = static_cast<std::size_t>(q - 1) * m_ * m_ * components;
            face_out_[side].resize(faces);
            face_in_[side].resize(faces);
        }
        const std::size_t ends = 2 * static_cast<std::size_t>(m_) * m_ * components;
        end_out_.resize(ends);
        end_in_.resize(ends);
    }

    std::size_t message() const { return end_out_.size() * sizeof(double); }

    void reset(std::uint64_t repetition) override {
        repetition_ = repetition;
        for (cell &c : cells_) {
            std::fill(c.u.begin(), c.u.end(), 0.);
            for_points([&](int x, int y, int z) {
                const auto where = static_cast<std::uint64_t>(x + c.place[0] * m_) * 73856093 ^
                                   static_cast<std::uint64_t>(y + c.place[1] * m_) * 19349663 ^
                                   static_cast<std::uint64_t>(z + c.place[2] * m_) * 83492791;
                for (int k = 0; k < components; ++k) {
                    c.u[around(x, y, z) + static_cast<std::size_t>(k)] =
                        static_cast<double>((where + 977 * repetition + 31u * static_cast<unsigned>(k)) % 1009) / 1009;
                }
            });
        }
    }

    void run(form f) override {
        for (int step = 0; step < steps_; ++step) {
            copy_faces(f);
            for (int d = 0; d < 3; ++d) {
                solve(f, d);
            }
            compute(f, [this] { add(); });
        }
    }

    // The whole domain as one cell of one rank, without messages: not a bit may differ.
    std::uint64_t wrong() override {
        adi whole(MPI_COMM_SELF, 1, m_ * q_, steps_);
        whole.reset(repetition_);
        whole.run(form::in_turn);
        std::uint64_t bad = 0;
        for (const cell &c : cells_) {
            for_points([&](int x, int y, int z) {
                const std::size_t there = whole.around(x + c.place[0] * m_, y + c.place[1] * m_, z + c.place[2] * m_);
                for (std::size_t k = 0; k < components; ++k) {
                    bad += c.u[around(x, y, z) + k] == whole.cells_[0].u[there + k] ? 0 : 1;
                }
            });
        }
        return bad;
    }

private:
    int rank_at(int i, int j) const { return (i + q_) % q_ * q_ + (j + q_) % q_; }

    std::size_t around(int x, int y, int z) const {
        return ((static_cast<std::size_t>(z + 1) * (m_ + 2) + static_cast<std::size_t>(y + 1)) * (m_ + 2) +
                static_cast<std::size_t>(x + 1)) *
               components;
    }
    std::size_t inside(int x, int y, int z) const {
        return ((static_cast<std::size_t>(z) * m_ + static_cast<std::size_t>(y)) * m_ + static_cast<std::size_t>(x)) *
               components;
    }
    std::size_t inside(const triple &t) const { return inside(t[0], t[1], t[2]); }

    template <typename F> void for_points(F f) const {
        for (int z = 0; z < m_; ++z) {
            for (int y = 0; y < m_; ++y) {
                for (int x = 0; x < m_; ++x) {
                    f(x, y, z);
                }
            }
        }
    }

    // Points of the layer `at` of direction d: each a line of that direction.
    template <typename F> void for_lines(int d, int at, F f) const {
        const auto d0 = static_cast<std::size_t>(d), d1 = (d0 + 1) % 3, d2 = (d0 + 2) % 3;
        triple t;
        t[d0] = at;
        std::size_t line = 0;
        for (t[d2] = 0; t[d2] < m_; ++t[d2]) {
            for (t[d1] = 0; t[d1] < m_; ++t[d1]) {
                f(line++, t);
            }
        }
    }

    cell &in_slab(int d, int slab) {
        for (cell &c : cells_) {
            if (c.place[static_cast<std::size_t>(d)] == slab) {
                return c;
            }
        }
        return cells_.front(); // does not happen: a rank has a cell in each slab
    }

    void exchange(std::vector<double> &out, int to, std::vector<double> &in, int from, int tag) {
        requests_.resize(requests_.size() + 2);
        MPI_Request *r = &requests_[requests_.size() - 2];
        MPI_Irecv(in.data(), static_cast<int>(in.size()), MPI_DOUBLE, from, tag, comm_, &r[0]);
        MPI_Isend(out.data(), static_cast<int>(out.size()), MPI_DOUBLE, to, tag, comm_, &r[1]);
    }

    // The layers around all cells from the neighbours, all faces of one side in one message; the
    // right side of the points that need none of them meanwhile.
    void copy_faces(form f) {
        compute(f, [this] { faces(true); });
        if (communicates(f) && 1 < q_) {
            for (int d = 0; d < 3; ++d) {
                exchange(face_out_[2 * d], before_[d], face_in_[2 * d + 1], after_[d], 10 + d);
                exchange(face_out_[2 * d + 1], after_[d], face_in_[2 * d], before_[d], 20 + d);
            }
        }
        around_wait(f, [this] { right_side(true); });
        compute(f, [this] {
            faces(false);
            right_side(false);
        });
    }

    // kernel::around(), by a name that does not hide the index
    template <typename F> void around_wait(form f, F work) { kernel::around(f, requests_, work); }

    // Of side 2 d the faces low in direction d, of 2 d + 1 the high ones; slab by slab.
    void faces(bool out) {
        for (int side = 0; side < 6; ++side) {
            const int d = side / 2;
            const bool high = 1 == side % 2;
            std::size_t at = 0;
            for (int slab = high ? 0 : 1; slab < q_ - (high ? 1 : 0); ++slab) {
                cell &c = in_slab(d, slab);
                for_lines(d, high ? m_ - (out ? 1 : 0) : (out ? 0 : -1), [&](std::size_t, const triple &t) {
                    double *u = &c.u[around(t[0], t[1], t[2])];
                    for (int k = 0; k < components; ++k, ++at) {
                        if (out) {
                            face_out_[side][at] = u[k];
                        } else {
                            u[k] = face_in_[side][at];
                        }
                    }
                });
            }
        }
    }

    void right_side(bool inner) {
        const int sx = components, sy = (m_ + 2) * sx, sz = (m_ + 2) * sy;
        for (cell &c : cells_) {
            for_points([&](int x, int y, int z) {
                const bool is_inner = 0 < x && 0 < y && 0 < z && x < m_ - 1 && y < m_ - 1 && z < m_ - 1;
                if (is_inner != inner) {
                    return;
                }
                const double *u = &c.u[around(x, y, z)];
                double *r = &c.rhs[inside(x, y, z)];
                for (int k = 0; k < components; ++k) {
                    r[k] = 0.05 *
                           (((u[k - sx] + u[k + sx]) + (u[k - sy] + u[k + sy])) + (u[k - sz] + u[k + sz]) - 6 * u[k]);
                }
            });
        }
    }

    // Elimination from slab to slab, then back. In each stage a message from the slab before.
    void solve(form f, int d) {
        for (int slab = 0; slab < q_; ++slab) {
            cell &c = in_slab(d, slab);
            receive_and(f, 0 < slab, before_[d], 30 + d, [&] { coefficients(c, d); });
            compute(f, [&] { eliminate(c, d, 0 < slab); });
            send(f, slab < q_ - 1, after_[d], 30 + d);
        }
        finish_send();
        for (int slab = q_ - 1; 0 <= slab; --slab) {
            cell &c = in_slab(d, slab);
            receive_and(f, slab < q_ - 1, after_[d], 40 + d, [] {});
            compute(f, [&] { substitute(c, d, slab < q_ - 1); });
            send(f, 0 < slab, before_[d], 40 + d);
        }
        finish_send();
    }

    template <typename F> void receive_and(form f, bool receives, int from, int tag, F work) {
        if (receives && communicates(f)) {
            requests_.resize(1);
            MPI_Irecv(end_in_.data(), static_cast<int>(end_in_.size()), MPI_DOUBLE, from, tag, comm_, requests_.data());
        }
        around_wait(f, work);
    }

    void send(form f, bool sends, int to, int tag) {
        if (sends && communicates(f)) {
            finish_send();
            sent_.swap(end_out_);
            end_out_.resize(sent_.size());
            MPI_Isend(sent_.data(), static_cast<int>(sent_.size()), MPI_DOUBLE, to, tag, comm_, &sending_);
        }
    }

    void finish_send() {
        const double begin = now_us();
        MPI_Wait(&sending_, MPI_STATUS_IGNORE);
        waiting += now_us() - begin;
    }

    // Of each point's equation along d, from what the solution was: diagonally dominant.
    void coefficients(cell &c, int d) {
        for_points([&](int x, int y, int z) {
            const double *u = &c.u[around(x, y, z)];
            const std::size_t at = inside(x, y, z);
            for (std::size_t k = 0; k < components; ++k) {
                const double speed = 0.1 + 0.05 * u[k] / (1 + u[(k + static_cast<std::size_t>(d)) % components]);
                c.lower[at + k] = -speed;
                c.upper[at + k] = -0.5 * speed;
                c.main[at + k] = 1 + 2 * speed;
            }
        });
    }

    void eliminate(cell &c, int d, bool from_before) {
        const std::size_t lines = static_cast<std::size_t>(m_) * m_;
        const auto d0 = static_cast<std::size_t>(d);
        for (int at = 0; at < m_; ++at) {
            for_lines(d, at, [&](std::size_t line, triple t) {
                const std::size_t here = inside(t);
                t[d0] = at - 1;
                const bool first = 0 == at;
                const std::size_t before = first ? 0 : inside(t);
                for (std::size_t k = 0; k < components; ++k) {
                    const double a = first ? (from_before ? end_in_[line * components + k] : 0) : c.ahead[before + k];
                    const double r =
                        first ? (from_before ? end_in_[(lines + line) * components + k] : 0) : c.rhs[before + k];
                    const double scale = 1 / (c.main[here + k] - c.lower[here + k] * a);
                    c.ahead[here + k] = c.upper[here + k] * scale;
                    c.rhs[here + k] = (c.rhs[here + k] - c.lower[here + k] * r) * scale;
                }
            });
        }
        for_lines(d, m_ - 1, [&](std::size_t line, const triple &t) {
            for (std::size_t k = 0; k < components; ++k) {
                end_out_[line * components + k] = c.ahead[inside(t) + k];
                end_out_[(lines + line) * components + k] = c.rhs[inside(t) + k];
            }
        });
    }

    // The first half of the message is the solution beyond; the second is not used.
    void substitute(cell &c, int d, bool from_after) {
        const auto d0 = static_cast<std::size_t>(d);
        for (int at = m_ - 1; 0 <= at; --at) {
            for_lines(d, at, [&](std::size_t line, triple t) {
                const std::size_t here = inside(t);
                t[d0] = at + 1;
                const bool last = m_ - 1 == at;
                const std::size_t after = last ? 0 : inside(t);
                for (std::size_t k = 0; k < components; ++k) {
                    const double beyond = last ? (from_after ? end_in_[line * components + k] : 0) : c.rhs[after + k];
                    c.rhs[here + k] -= c.ahead[here + k] * beyond;
                }
            });
        }
        for_lines(d, 0, [&](std::size_t line, const triple &t) {
            for (std::size_t k = 0; k < components; ++k) {
                end_out_[line * components + k] = c.rhs[inside(t) + k];
            }
        });
    }

    void add() {
        for (cell &c : cells_) {
            for_points([&](int x, int y, int z) {
                for (std::size_t k = 0; k < components; ++k) {
                    c.u[around(x, y, z) + k] += c.rhs[inside(x, y, z) + k];
                }
            });
        }
    }

    MPI_Comm comm_;
    int q_, m_, steps_, i_, j_;
    std::array<int, 3> before_, after_;
    std::uint64_t repetition_ = 0;
    std::vector<cell> cells_;
    std::array<std::vector<double>, 6> face_out_, face_in_;
    std::vector<double> end_out_, end_in_, sent_;
    std::vector<MPI_Request> requests_;
    MPI_Request sending_ = MPI_REQUEST_NULL;
};

int main_program(int argc, char **argv) {
    options o;
    arguments a("adi - implicit line solves with the message pattern of NAS SP\n\n"
                "  mpirun -np 4 ./adi [options]         a square number of ranks\n");
    a.value('n', "size", "N", "points in each dimension (48)", o.n, 2, 2048);
    a.value(0, "steps", "N", "in a run (2)", o.steps, 1, 100'000);
    o.add_to(a);
    a.parse(argc, argv);
    program p(argc, argv, o);
    const int q = static_cast<int>(std::lround(std::sqrt(p.size())));
    if (q * q != p.size() || 0 != o.n % q) {
        p.refuse("a square number of ranks, and a size that divides by its root");
    }
    std::uint64_t wrong;
    {
        adi k(MPI_COMM_WORLD, q, o.n, o.steps);
        wrong = measure_kernel(p, o, k, "adi", k.message());
    }
    return p.end(wrong);
}

} // namespace
} // namespace bench

int main(int argc, char **argv) { return bench::main_program(argc, argv); }
