// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// passive: one-sided operations on a process that takes no part in them. How long does one take while the
// target waits in MPI, and while it computes? How fast are many puts or gets of one piece, and of many? Plain
// MPI-3.1, for any MPI library:
//
//     mpicxx -O2 -std=c++20 -o passive passive.cc && mpirun -np 2 ./passive --help

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1

#include "bench_counters.h"
#include "bench_program.h"
#include "bench_sync.h"

#include <cstring>
#include <functional>

namespace bench {
namespace {

struct options : program_options {
    int reps = 30;
    double time_limit = 0;
    double tsyn = 5000;
    std::vector<std::size_t> sizes{64 << 10, 1 << 20};
    int window = 16;
    std::size_t piece = 1024;
    bool allocates = false;
    bool latencies = true, bandwidths = true;
};

options parse(int argc, char **argv) {
    options o;
    arguments a("passive - one-sided operations on a process that takes no part\n\n"
                "  mpirun -np 2 ./passive [options]\n\n"
                "Rank 0 is the origin, rank 1 the target. What is put or got is checked.\n");
    a.value('r', "reps", "N", "of each figure (30)", o.reps, 3, 100'000);
    a.value('t', "time", "SECONDS", "stop the repetitions of a figure after this long (never below 3)", o.time_limit,
            0., 1e6);
    a.value(0, "tsyn", "US", "the target's computation (5000)", o.tsyn, 1., 1e7);
    a.sizes('s', "sizes", "of puts and gets for the bandwidth (64K,1M)", o.sizes);
    a.value('w', "window", "N", "operations in a row, then a flush (16)", o.window, 1, 4096);
    a.add('o', "only", "LIST", "of latency, bandwidth (default: both)", [&o](const char *text) {
        o.latencies = o.bandwidths = false;
        for (const auto part : split(text)) {
            bool &chosen = "latency" == part     ? o.latencies
                           : "bandwidth" == part ? o.bandwidths
                                                 : (bad_value("only", part), o.latencies);
            chosen = true;
        }
    });
    a.size(0, "piece", "of what is strided: every other one is moved (1K)", o.piece);
    a.flag(0, "allocate", "a window by MPI_Win_allocate, not of the program's own memory", o.allocates);
    o.add_to(a);
    a.parse(argc, argv);
    return o;
}

class passive {
public:
    passive(program &p, const options &o) : program_(p), o_(o), clock_(MPI_COMM_WORLD) {
        std::size_t largest = bulk;
        for (const std::size_t s : o.sizes) {
            largest = std::max(largest, s);
        }
        room_ = words + 2 * largest;
        const auto size = static_cast<MPI_Aint>(room_);
        if (o.allocates) {
            MPI_Win_allocate(size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory_, &window_);
        } else {
            own_.resize(room_);
            memory_ = own_.data();
            MPI_Win_create(memory_, size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window_);
        }
        std::memset(memory_, 0, room_);
        buffer_.resize(2 * largest);
        MPI_Barrier(MPI_COMM_WORLD);
    }

    void run() {
        clock_.compare();
        if (o_.latencies) {
            latencies();
        }
        if (o_.bandwidths) {
            bandwidths();
        }
        check_sums();
        MPI_Win_free(&window_);
        pvars_.close();
        clock_.close();
    }
    std::uint64_t wrong() const { return wrong_; }

private:
    static constexpr int target = 1;
    static constexpr std::size_t words = 4096; // counters of the window: 8-byte words
    static constexpr std::size_t bulk = 65536;

    // An operation and what completes it at the target.
    struct operation {
        const char *name;
        std::size_t bytes;
        bool locked; // in an epoch that is open; else it brings its own
        std::function<void()> call;
    };

    std::vector<operation> operations() {
        return {
            {"fetch_and_op", 8, true,
             [this] {
                 std::int64_t before = -1;
                 MPI_Fetch_and_op(&one_, &before, MPI_INT64_T, target, 0, MPI_SUM, window_);
                 MPI_Win_flush(target, window_);
                 wrong_ += before == added_++ ? 0 : 1;
             }},
            {"accumulate", 8, true,
             [this] {
                 MPI_Accumulate(&one_, 1, MPI_INT64_T, target, 8, 1, MPI_INT64_T, MPI_SUM, window_);
                 MPI_Win_flush(target, window_);
                 ++accumulated_;
             }},
            {"accumulate", bulk, true,
             [this] {
                 MPI_Accumulate(zeros_.data(), bulk / 8, MPI_INT64_T, target, words, bulk / 8, MPI_INT64_T, MPI_SUM,
                                window_);
                 MPI_Win_flush(target, window_);
             }},
            {"get", 8, true,
             [this] {
                 std::int64_t there = -1;
                 MPI_Get(&there, 1, MPI_INT64_T, target, 8, 1, MPI_INT64_T, window_);
                 MPI_Win_flush(target, window_);
                 wrong_ += there == accumulated_ ? 0 : 1;
             }},
            {"get", bulk, true,
             [this] {
                 MPI_Get(buffer_.data(), bulk, MPI_BYTE, target, words, bulk, MPI_BYTE, window_);
                 MPI_Win_flush(target, window_);
             }},
            {"lock_put_unlock", 8, false,
             [this] {
                 MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window_);
                 MPI_Put(&one_, 1, MPI_INT64_T, target, 16, 1, MPI_INT64_T, window_);
                 MPI_Win_unlock(target, window_);
             }},
        };
    }

    void latencies() {
        program_.say("%-20s %10s %14s %14s %14s   (us, median)\n", "operation", "bytes", "target waits", "it computes",
                     "always waits");
        for (const operation &op : operations()) {
            std::vector<double> idle, computing, always;
            counters counted;
            const counters before = pvars_.read();
            const double begin = now_us();
            for (int i = 0; i < o_.reps && go_on(i, begin); ++i) {
                idle.push_back(once(op, false));
                computing.push_back(once(op, true));
            }
            const double again = now_us(); // a target that has not computed for long
            for (int i = 0; i < o_.reps && go_on(i, again); ++i) {
                always.push_back(once(op, false));
            }
            pvars_.accumulate(counted, before, pvars_.read());
            report_counters(program_.out(), op.name, op.bytes, counted);
            figures &out = program_.out();
            out.put_both("passive_idle", op.name, op.bytes, "us", idle);
            out.put_both("passive_computing", op.name, op.bytes, "us", computing);
            out.put_both("passive_always", op.name, op.bytes, "us", always);
            program_.say("%-20s %10zu %14.2f %14.2f %14.2f\n", op.name, op.bytes, median(idle), median(computing),
                         median(always));
        }
    }

    // The origin's time; the target computes from the common start on, longer than that takes, or waits.
    double once(const operation &op, bool computes) {
        double took = 0;
        bool late;
        if (0 == program_.rank() && op.locked) {
            MPI_Win_lock(MPI_LOCK_SHARED, target, 0, window_);
            std::int64_t there; // a call that asks for the lock may return before it is held: then this waits for it
            MPI_Get(&there, 1, MPI_INT64_T, target, 24, 1, MPI_INT64_T, window_);
            MPI_Win_flush(target, window_);
        }
        clock_.start(late);
        if (0 == program_.rank()) {
            sleep_us(100); // the target computes, or sits in MPI
            const double begin = now_us();
            op.call();
            took = now_us() - begin;
            if (op.locked) {
                MPI_Win_unlock(target, window_);
            }
        } else if (target == program_.rank() && computes) {
            program_.work().compute(o_.tsyn);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        return took;
    }

    // What is put or got: contiguous, or every other piece.
    struct shape {
        std::size_t pieces, piece, step;
        MPI_Datatype type;
        int count;
    };

    void bandwidths() {
        program_.say("%-20s %10s %14s %14s   (MB/s, most)\n", "operation", "bytes", "one piece", "strided");
        for (const bool get : {false, true}) {
            for (const std::size_t bytes : o_.sizes) {
                const std::size_t pieces = std::max<std::size_t>(1, bytes / o_.piece);
                const std::size_t piece = bytes / pieces;
                MPI_Datatype strided;
                MPI_Type_vector(static_cast<int>(pieces), static_cast<int>(piece), static_cast<int>(2 * piece),
                                MPI_BYTE, &strided);
                MPI_Type_commit(&strided);
                const double plain = bandwidth(get, {1, bytes, bytes, MPI_BYTE, static_cast<int>(bytes)});
                const double apart = bandwidth(get, {pieces, piece, 2 * piece, strided, 1});
                MPI_Type_free(&strided);
                const char *name = get ? "get" : "put";
                program_.out().put("rma_bandwidth_max", name, bytes, "MB/s", plain);
                program_.out().put("rma_bandwidth_strided_max", name, bytes, "MB/s", apart);
                program_.say("%-20s %10zu %14.1f %14.1f\n", name, bytes, plain, apart);
            }
        }
    }

    void fill(unsigned seed) {
        for (std::size_t i = 0; i < buffer_.size(); ++i) {
            buffer_[i] = static_cast<char>(seed + i * 7 + i / 251);
        }
    }

    // The origin's, in an epoch: all of it at the target, or here.
    void move(bool get, const shape &x, int times) {
        for (int k = 0; k < times; ++k) {
            const auto at = static_cast<MPI_Aint>(words);
            if (get) {
                MPI_Get(buffer_.data(), x.count, x.type, target, at, x.count, x.type, window_);
            } else {
                MPI_Put(buffer_.data(), x.count, x.type, target, at, x.count, x.type, window_);
            }
        }
        MPI_Win_flush(target, window_);
    }

    // The pattern is written before gets, and read back behind puts.
    double bandwidth(bool get, const shape &x) {
        const std::size_t bytes = x.pieces * x.piece;
        double best = 0;
        const double begin = now_us();
        ++pattern_;
        for (int i = 0; i < o_.reps && go_on(i, begin); ++i) {
            MPI_Barrier(MPI_COMM_WORLD);
            if (0 == program_.rank()) {
                MPI_Win_lock(MPI_LOCK_SHARED, target, 0, window_);
                fill(pattern_);
                if (get && 0 == i) {
                    move(false, x, 1);
                }
                if (get) {
                    std::fill(buffer_.begin(), buffer_.end(), 0);
                }
                const double from = now_us();
                move(get, x, o_.window);
                best = std::max(best, static_cast<double>(bytes) * o_.window / (now_us() - from));
                if (!get) {
                    std::fill(buffer_.begin(), buffer_.end(), 0);
                    move(true, x, 1);
                }
                check(x);
                MPI_Win_unlock(target, window_);
            }
            MPI_Barrier(MPI_COMM_WORLD);
        }
        return best;
    }

    void check(const shape &x) {
        const std::vector<char> here = buffer_;
        fill(pattern_);
        for (std::size_t k = 0; k < x.pieces; ++k) {
            wrong_ += 0 == std::memcmp(here.data() + k * x.step, buffer_.data() + k * x.step, x.piece) ? 0 : 1;
        }
    }

    // What was added is there, once each time.
    void check_sums() {
        std::int64_t expected[2] = {added_, accumulated_};
        MPI_Bcast(expected, 2, MPI_INT64_T, 0, MPI_COMM_WORLD);
        if (target == program_.rank()) {
            MPI_Win_lock(MPI_LOCK_SHARED, target, 0, window_);
            wrong_ += 0 == std::memcmp(memory_, expected, sizeof(expected)) ? 0 : 1;
            MPI_Win_unlock(target, window_);
        }
    }

    bool go_on(int done, double begin) const {
        if (0 == o_.time_limit) {
            return true;
        }
        int more = done < 3 || now_us() - begin < o_.time_limit * 1e6 ? 1 : 0;
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
        return 0 != more;
    }

    program &program_;
    const options &o_;
    common_clock clock_;
    pvars pvars_;
    std::size_t room_ = 0;
    std::vector<char> own_, buffer_;
    std::vector<std::int64_t> zeros_ = std::vector<std::int64_t>(bulk / 8);
    char *memory_ = nullptr;
    MPI_Win window_;
    const std::int64_t one_ = 1;
    std::int64_t added_ = 0, accumulated_ = 0;
    std::uint64_t wrong_ = 0;
    unsigned pattern_ = 0;
};

int main_program(int argc, char **argv) {
    const options o = parse(argc, argv);
    program p(argc, argv, o);
    if (2 != p.size()) {
        p.refuse("two ranks");
    }
    passive t(p, o);
    t.run();
    return p.end(t.wrong());
}

} // namespace
} // namespace bench

int main(int argc, char **argv) { return bench::main_program(argc, argv); }
