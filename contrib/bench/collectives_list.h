// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// The nonblocking collectives, each with its data and what must come out.
//
// Two kinds. Those that move blocks: what one rank sends to another is a pattern with a seed of the
// two. Those that reduce: whole numbers in doubles, small enough to be exact whatever the order, so
// that the result is known without asking anybody.

#ifndef SMARTINT_BENCH_COLLECTIVES_LIST_H
#define SMARTINT_BENCH_COLLECTIVES_LIST_H

#include "bench_data.h"
#include "bench_hide.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace bench {

// Everything that the calls below need; one for each collective and size.
class collective : public communication {
public:
    using call = std::function<void(collective &, MPI_Request *)>;

    collective(int rank, int size, std::size_t bytes, call post)
        : rank(rank), size(size), block(bytes), post_(std::move(post)) {
        const std::size_t all = bytes * static_cast<std::size_t>(size);
        out.resize(all);
        in.resize(all);
        counts.assign(static_cast<std::size_t>(size), static_cast<int>(bytes));
        offsets.resize(counts.size());
        byte_types.assign(counts.size(), MPI_BYTE);
        for (std::size_t i = 0; i < counts.size(); ++i) {
            offsets[i] = static_cast<int>(i * bytes);
        }
    }

    void post(std::vector<MPI_Request> &requests) override {
        requests.push_back(MPI_REQUEST_NULL);
        post_(*this, &requests.back());
    }

    bool latency_of_all() const override { return true; }

    char *out_block(int of) { return out.data() + static_cast<std::size_t>(of) * block; }
    char *in_block(int of) { return in.data() + static_cast<std::size_t>(of) * block; }

    // for the calls
    int rank, size;
    std::size_t block;
    std::vector<char> out, in;
    std::vector<int> counts, offsets;
    std::vector<MPI_Datatype> byte_types;
    static constexpr int root = 0;
    bool is_root() const { return root == rank; }
    int bytes() const { return static_cast<int>(block); }
    int doubles() const { return static_cast<int>(block / sizeof(double)); }

protected:
    std::uint64_t repetition_ = 0;

private:
    call post_;
};

// Blocks move. What this rank must have received: from `sources`, each a block.
class moving : public collective {
public:
    // who sends what to whom
    enum class kind { bcast, scatter, gather, all_same, all_to_all, nothing };

    moving(kind k, int rank, int size, std::size_t bytes, call post)
        : collective(rank, size, bytes, std::move(post)), kind_(k) {}

    void prepare(std::uint64_t repetition) override {
        repetition_ = repetition;
        for (int to = 0; sends() && to < (one_for_all() ? 1 : size); ++to) {
            fill(source_block(to), block, seed(rank, to));
        }
    }

    std::uint64_t wrong() override {
        std::uint64_t bad = 0;
        each_source([&](int from) { bad += filled(place(from), block, expected(from)) ? 0 : 1; });
        return bad;
    }

    bool there() override {
        bool all = kind::nothing != kind_;
        each_source([&](int from) { all = all && arrived(place(from), block, expected(from)); });
        return all;
    }

    bool receives() const override {
        return kind::gather == kind_ ? is_root() : kind::bcast == kind_ || kind::scatter == kind_ ? !is_root() : true;
    }

private:
    bool one_for_all() const { return kind::bcast == kind_ || kind::all_same == kind_ || kind::gather == kind_; }
    bool sends() const { return kind::bcast == kind_ || kind::scatter == kind_ ? is_root() : kind::nothing != kind_; }
    // a broadcast has one buffer, the one in which it is received
    char *source_block(int to) { return kind::bcast == kind_ ? in_block(0) : out_block(to); }
    char *place(int from) { return kind::bcast == kind_ || kind::scatter == kind_ ? in_block(0) : in_block(from); }
    std::uint64_t seed(int from, int to) const { return seed_of(repetition_, from, one_for_all() ? 0 : to); }
    std::uint64_t expected(int from) const { return seed(from, rank); }

    template <typename F> void each_source(F f) {
        if (!receives() || kind::nothing == kind_) {
            return;
        }
        const bool from_root = kind::bcast == kind_ || kind::scatter == kind_;
        for (int from = 0; from < (from_root ? 1 : size); ++from) {
            f(from);
        }
    }

    kind kind_;
};

// Numbers are added up: element i of rank r is a small whole number.
class reducing : public collective {
public:
    enum class kind { to_root, to_all, scattered, scan, exscan };

    reducing(kind k, int rank, int size, std::size_t bytes, call post)
        : collective(rank, size, bytes, std::move(post)), kind_(k) {
        // the sums over all ranks of the part that does not depend on the rank's number
        for (int r = 0; r < size; ++r) {
            weight_all_ += weight(r);
            weight_upto_ += r <= rank ? weight(r) : 0;
        }
    }

    void prepare(std::uint64_t repetition) override {
        repetition_ = repetition;
        const std::size_t n = elements();
        for (std::size_t i = 0; i < n; ++i) {
            put(out.data(), i, weight(rank) * base(i));
        }
    }

    std::uint64_t wrong() override {
        if (!receives()) {
            return 0;
        }
        bool good = true;
        const std::size_t n = block / sizeof(double);
        for (std::size_t i = 0; i < n; ++i) {
            good &= result(i) == get(in.data(), i);
        }
        return good ? 0 : 1;
    }

    bool there() override {
        const std::size_t n = block / sizeof(double);
        for (std::size_t part = 1; part <= 16 && part <= n; ++part) {
            const std::size_t i = n * part / std::min<std::size_t>(16, n) - 1;
            if (result(i) != *(reinterpret_cast<const volatile double *>(in.data()) + i)) {
                return false;
            }
        }
        return true;
    }

    bool receives() const override {
        return kind::to_root == kind_ ? is_root() : kind::exscan == kind_ ? 0 < rank : true;
    }

private:
    std::size_t elements() const { return (kind::scattered == kind_ ? out.size() : block) / sizeof(double); }
    static double weight(int r) { return 1 + r % 7; }
    double base(std::size_t i) const { return static_cast<double>((i * 31 + repetition_) % 8191); }
    double result(std::size_t i) const {
        switch (kind_) {
        case kind::scan:
            return weight_upto_ * base(i);
        case kind::exscan:
            return (weight_upto_ - weight(rank)) * base(i);
        case kind::scattered:
            return weight_all_ * base(i + static_cast<std::size_t>(rank) * block / sizeof(double));
        default:
            return weight_all_ * base(i);
        }
    }
    static void put(char *to, std::size_t i, double v) { std::memcpy(to + i * sizeof(double), &v, sizeof(double)); }
    static double get(const char *from, std::size_t i) {
        double v;
        std::memcpy(&v, from + i * sizeof(double), sizeof(double));
        return v;
    }

    kind kind_;
    double weight_all_ = 0, weight_upto_ = 0;
};

struct named_collective {
    const char *name;
    std::function<std::unique_ptr<collective>(int, int, std::size_t)> make;
};

inline const std::vector<named_collective> &all_collectives() {
    const auto moves = [](const char *name, moving::kind k, collective::call post) {
        return named_collective{name, [=](int rank, int size, std::size_t bytes) {
                                    return std::make_unique<moving>(k, rank, size, bytes, post);
                                }};
    };
    const auto reduces = [](const char *name, reducing::kind k, collective::call post) {
        return named_collective{name, [=](int rank, int size, std::size_t bytes) {
                                    return std::make_unique<reducing>(k, rank, size, bytes, post);
                                }};
    };
    using c = collective;
    using m = moving::kind;
    using r = reducing::kind;
    static const std::vector<named_collective> list{
        moves("ibarrier", m::nothing, [](c &, MPI_Request *q) { MPI_Ibarrier(MPI_COMM_WORLD, q); }),
        moves("ibcast", m::bcast,
              [](c &x, MPI_Request *q) { MPI_Ibcast(x.in.data(), x.bytes(), MPI_BYTE, c::root, MPI_COMM_WORLD, q); }),
        moves("iscatter", m::scatter,
              [](c &x, MPI_Request *q) {
                  MPI_Iscatter(x.out.data(), x.bytes(), MPI_BYTE, x.in.data(), x.bytes(), MPI_BYTE, c::root,
                               MPI_COMM_WORLD, q);
              }),
        moves("iscatterv", m::scatter,
              [](c &x, MPI_Request *q) {
                  MPI_Iscatterv(x.out.data(), x.counts.data(), x.offsets.data(), MPI_BYTE, x.in.data(), x.bytes(),
                                MPI_BYTE, c::root, MPI_COMM_WORLD, q);
              }),
        moves("igather", m::gather,
              [](c &x, MPI_Request *q) {
                  MPI_Igather(x.out.data(), x.bytes(), MPI_BYTE, x.in.data(), x.bytes(), MPI_BYTE, c::root,
                              MPI_COMM_WORLD, q);
              }),
        moves("igatherv", m::gather,
              [](c &x, MPI_Request *q) {
                  MPI_Igatherv(x.out.data(), x.bytes(), MPI_BYTE, x.in.data(), x.counts.data(), x.offsets.data(),
                               MPI_BYTE, c::root, MPI_COMM_WORLD, q);
              }),
        moves("iallgather", m::all_same,
              [](c &x, MPI_Request *q) {
                  MPI_Iallgather(x.out.data(), x.bytes(), MPI_BYTE, x.in.data(), x.bytes(), MPI_BYTE, MPI_COMM_WORLD,
                                 q);
              }),
        moves("iallgatherv", m::all_same,
              [](c &x, MPI_Request *q) {
                  MPI_Iallgatherv(x.out.data(), x.bytes(), MPI_BYTE, x.in.data(), x.counts.data(), x.offsets.data(),
                                  MPI_BYTE, MPI_COMM_WORLD, q);
              }),
        moves("ialltoall", m::all_to_all,
              [](c &x, MPI_Request *q) {
                  MPI_Ialltoall(x.out.data(), x.bytes(), MPI_BYTE, x.in.data(), x.bytes(), MPI_BYTE, MPI_COMM_WORLD, q);
              }),
        moves("ialltoallv", m::all_to_all,
              [](c &x, MPI_Request *q) {
                  MPI_Ialltoallv(x.out.data(), x.counts.data(), x.offsets.data(), MPI_BYTE, x.in.data(),
                                 x.counts.data(), x.offsets.data(), MPI_BYTE, MPI_COMM_WORLD, q);
              }),
        moves("ialltoallw", m::all_to_all,
              [](c &x, MPI_Request *q) {
                  MPI_Ialltoallw(x.out.data(), x.counts.data(), x.offsets.data(), x.byte_types.data(), x.in.data(),
                                 x.counts.data(), x.offsets.data(), x.byte_types.data(), MPI_COMM_WORLD, q);
              }),
        reduces("ireduce", r::to_root,
                [](c &x, MPI_Request *q) {
                    MPI_Ireduce(x.out.data(), x.in.data(), x.doubles(), MPI_DOUBLE, MPI_SUM, c::root, MPI_COMM_WORLD,
                                q);
                }),
        reduces("iallreduce", r::to_all,
                [](c &x, MPI_Request *q) {
                    MPI_Iallreduce(x.out.data(), x.in.data(), x.doubles(), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, q);
                }),
        reduces("ireduce_scatter", r::scattered,
                [](c &x, MPI_Request *q) {
                    x.counts.assign(x.counts.size(), x.doubles());
                    MPI_Ireduce_scatter(x.out.data(), x.in.data(), x.counts.data(), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD,
                                        q);
                }),
        reduces("ireduce_scatter_block", r::scattered,
                [](c &x, MPI_Request *q) {
                    MPI_Ireduce_scatter_block(x.out.data(), x.in.data(), x.doubles(), MPI_DOUBLE, MPI_SUM,
                                              MPI_COMM_WORLD, q);
                }),
        reduces("iscan", r::scan,
                [](c &x, MPI_Request *q) {
                    MPI_Iscan(x.out.data(), x.in.data(), x.doubles(), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, q);
                }),
        reduces("iexscan", r::exscan,
                [](c &x, MPI_Request *q) {
                    MPI_Iexscan(x.out.data(), x.in.data(), x.doubles(), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, q);
                }),
    };
    return list;
}

inline std::vector<std::string> collective_names() {
    std::vector<std::string> names;
    for (const named_collective &c : all_collectives()) {
        names.emplace_back(c.name);
    }
    return names;
}

// The sizes of numbers are rounded down to whole ones.
inline std::unique_ptr<collective> make_collective(const std::string &name, int rank, int size, std::size_t bytes) {
    for (const named_collective &c : all_collectives()) {
        if (name == c.name) {
            return c.make(rank, size, std::max<std::size_t>(8, bytes / 8 * 8));
        }
    }
    return nullptr;
}

} // namespace bench

#endif
