// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// messages: what plain messages cost where nothing is to overlap, both sides in MPI all the time.
// Plain MPI-3.1, for any MPI library:
//
//     mpicxx -O2 -std=c++20 -o messages messages.cc && mpirun -np 2 ./messages --help
//
// run-messages compares systems with it.

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1

#include "bench_batches.h"
#include "bench_figures.h"
#include "bench_place.h"
#include "bench_work.h"
#include "messages_match.h"
#include "messages_memory.h"
#include "messages_options.h"
#include "messages_pair.h"

#include <cmath>
#include <functional>
#include <optional>
#include <sys/resource.h>

namespace bench {
namespace {

enum class direction { one_way, both_ways };

// Text goes where it does not mix with a CSV on standard output.
std::FILE *text(const message_options &o) { return "-" == o.csv ? stderr : stdout; }

class messages {
public:
    messages(const message_options &o, figures &out) : o_(o), out_(out) {}

    std::uint64_t run() {
        if (o_.latency) {
            title("latency", "us");
            for (const std::size_t bytes : o_.latency_sizes) {
                latency(bytes);
            }
        }
        if (o_.rate) {
            title("message rate", "million messages/s");
            for (const std::size_t bytes : o_.rate_sizes) {
                stream("rate", "one_way", bytes, direction::one_way, "M/s", 1. / o_.window);
            }
        }
        if (o_.bandwidth) {
            for (const direction d : {direction::one_way, direction::both_ways}) {
                const bool both = direction::both_ways == d;
                title(both ? "bandwidth, both ways" : "bandwidth", "MB/s");
                for (const std::size_t bytes : o_.bandwidth_sizes) {
                    stream("bandwidth", both ? "both_ways" : "one_way", bytes, d, "MB/s",
                           1. / (static_cast<double>(bytes) * o_.window * (both ? 2 : 1)));
                }
            }
        }
        if (o_.match) {
            title("cost of a match", "us, by number of posted receives or of unexpected messages");
            for (const int depth : o_.depths) {
                match(depth);
            }
        }
        return pair_.wrong;
    }

private:
    void title(const char *name, const char *unit) const {
        if (0 == pair_.rank) {
            std::fprintf(text(o_), "%s (%s)\n", name, unit);
        }
    }

    void report(const char *figure, const char *mode, std::size_t bytes, const char *unit,
                const std::vector<double> &v) {
        if (0 == pair_.rank) {
            out_.put_spread(figure, mode, bytes, unit, v);
            std::fprintf(text(o_), "  %-14s %8zu  median %10.3f  quartiles %10.3f %10.3f\n", mode, bytes, median(v),
                         quartile(v, 1), quartile(v, 3));
            std::fflush(text(o_));
        }
    }

    // How many `once` fill half a millisecond, the same on all ranks: shorter than that a clock's
    // reading and a neighbour's late start would show.
    static int enough(const std::function<void(int)> &once) {
        constexpr double batch_us = 500;
        int count = 1;
        while (true) {
            const double begin = now_us();
            once(count);
            double took = now_us() - begin;
            MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
            if (took > batch_us / 2 || count > 100'000) {
                return std::max(1, static_cast<int>(std::lround(count * batch_us / took)));
            }
            count *= 4;
        }
    }

    // -- latency

    void ping_pong(message_data &d, int bytes, int rounds) {
        for (int i = 0; i < rounds; ++i) {
            if (pair_.lower) {
                MPI_Send(d.source(0), bytes, MPI_BYTE, pair_.peer, tag_data, MPI_COMM_WORLD);
            }
            MPI_Recv(d.landing(0), bytes, MPI_BYTE, pair_.peer, tag_data, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (!pair_.lower) {
                MPI_Send(d.source(0), bytes, MPI_BYTE, pair_.peer, tag_data, MPI_COMM_WORLD);
            }
        }
    }

    void latency(std::size_t bytes) {
        message_data d(bytes, 1);
        const int count = static_cast<int>(bytes);
        const auto verified = [&] {
            d.wipe();
            ping_pong(d, count, 1);
            if (!d.all_right()) {
                pair_.complain("latency", bytes);
            }
        };
        verified();
        const int rounds = enough([&](int n) { ping_pong(d, count, n); });
        const auto v = batches(o_.time, 5000, [&] {
            const double begin = now_us();
            ping_pong(d, count, rounds);
            return (now_us() - begin) / (2. * rounds);
        });
        verified();
        report("latency", "ping_pong", bytes, "us", v);
    }

    // -- windows

    void windows(message_data &d, int bytes, direction way, int count) {
        const bool sends = pair_.lower || direction::both_ways == way;
        const bool receives = !pair_.lower || direction::both_ways == way;
        std::vector<MPI_Request> requests;
        requests.reserve(2 * static_cast<std::size_t>(o_.window));
        for (int n = 0; n < count; ++n) {
            requests.clear();
            for (int k = 0; receives && k < o_.window; ++k) {
                MPI_Irecv(d.landing(k), bytes, MPI_BYTE, pair_.peer, tag_data, MPI_COMM_WORLD,
                          &requests.emplace_back());
            }
            for (int k = 0; sends && k < o_.window; ++k) {
                MPI_Isend(d.source(k), bytes, MPI_BYTE, pair_.peer, tag_data, MPI_COMM_WORLD, &requests.emplace_back());
            }
            MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
            char done = 1;
            if (direction::both_ways == way) {
                // both know that both are done with as many messages of their own
            } else if (pair_.lower) {
                MPI_Recv(&done, 1, MPI_CHAR, pair_.peer, tag_ack, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            } else {
                MPI_Send(&done, 1, MPI_CHAR, pair_.peer, tag_ack, MPI_COMM_WORLD);
            }
        }
    }

    // `per` is what one window counts in a microsecond, inverted.
    void stream(const char *figure, const char *mode, std::size_t bytes, direction way, const char *unit, double per) {
        message_data d(bytes, o_.window);
        const int count = static_cast<int>(bytes);
        const bool receives = !pair_.lower || direction::both_ways == way;
        const auto verified = [&] {
            d.wipe();
            MPI_Barrier(MPI_COMM_WORLD);
            windows(d, count, way, 1);
            if (receives && !d.all_right()) {
                pair_.complain(figure, bytes);
            }
        };
        verified();
        const int n = enough([&](int times) { windows(d, count, way, times); });
        const auto v = batches(o_.time, 5000, [&] {
            const double begin = now_us();
            windows(d, count, way, n);
            return n / (now_us() - begin) / per;
        });
        verified();
        report(figure, mode, bytes, unit, v);
    }

    // -- queues

    void match(int depth) {
        if (!matching::possible(depth)) {
            if (0 == pair_.rank) {
                std::fprintf(stderr, "messages: fewer than %d tags here\n", depth);
            }
            return;
        }
        matching m(pair_, depth);
        for (const taken which : {taken::oldest, taken::newest, taken::newest_of_any}) {
            const auto posted = batches(o_.time, 200, [&] { return m.posted(which); });
            report("match_posted", name_of(which), static_cast<std::size_t>(depth), "us", posted);
            const auto unexpected = batches(o_.time, 200, [&] { return m.unexpected(which); });
            report("match_unexpected", name_of(which), static_cast<std::size_t>(depth), "us", unexpected);
        }
    }

    const message_options &o_;
    figures &out_;
    pair_of_ranks pair_;
};

// What each rank has at one moment, to the ranks' figures of rank 0.
void report_memory(const char *when, const memory &mine, figures &out, std::FILE *text) {
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    constexpr std::size_t kinds = memory::names.size();
    std::vector<double> all(kinds * static_cast<std::size_t>(size));
    MPI_Gather(mine.kib.data(), kinds, MPI_DOUBLE, all.data(), kinds, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (0 != rank) {
        return;
    }
    std::fprintf(text, "memory of a rank, %s (KiB, median of the ranks):", when);
    for (std::size_t kind = 0; kind < kinds; ++kind) {
        std::vector<double> v;
        for (int r = 0; r < size; ++r) {
            v.push_back(all[kinds * static_cast<std::size_t>(r) + kind]);
            out.put((std::string("memory_") + memory::names[kind]).c_str(), when, 0, r, "KiB", v.back());
        }
        std::fprintf(text, " %s %.0f", memory::names[kind], median(v));
    }
    std::fputc('\n', text);
}

int main_program(int argc, char **argv) {
    const message_options o = parse_messages(argc, argv);
    if (!o.pin.empty()) {
        pin_to_core(o.pin);
    }
    std::optional<priority> raised;
    if (0 != o.nice) {
        raised.emplace(o.nice);
    }
    const memory before = memory::now();
    MPI_Init(&argc, &argv);
    const memory started = memory::now();
    if (raised) {
        raised->include_job();
    }
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size < 2 || 0 != size % 2) {
        if (0 == rank) {
            std::fprintf(stderr, "messages: needs an even number of ranks\n");
        }
        MPI_Finalize();
        return 2;
    }
    std::uint64_t wrong = 0;
    {
        figures out(0 == rank ? o.csv : std::string());
        if (o.memory) {
            const std::uint64_t bad = talk_to_all({1, 4 << 10, 256 << 10});
            const memory used = memory::now();
            report_memory("before_init", before, out, text(o));
            report_memory("after_init", started, out, text(o));
            report_memory("after_messages", used, out, text(o));
            wrong += bad;
        }
        rusage start, end;
        getrusage(RUSAGE_SELF, &start);
        const double begin = now_us();
        wrong += messages(o, out).run();
        getrusage(RUSAGE_SELF, &end);
        double mine = static_cast<double>(end.ru_nivcsw - start.ru_nivcsw) / (now_us() - begin) * 1e6;
        double most = 0;
        MPI_Reduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
        if (0 == rank) {
            out.put("preempted", "all", 0, "1/s", most);
            out.put("wrong_messages", "all", 0, "1", static_cast<double>(wrong));
            std::fprintf(text(o), "taken off its core %.0f times a second; %s\n", most,
                         0 == wrong ? "all data right" : "WRONG DATA");
        }
    }
    raised.reset();
    MPI_Finalize();
    return 0 == wrong ? 0 : 1;
}

} // namespace
} // namespace bench

int main(int argc, char **argv) { return bench::main_program(argc, argv); }
