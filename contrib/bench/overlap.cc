// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// overlap: a rank posts a large receive or send, computes, and waits. Plain MPI-3.1, for any MPI
// library:
//
//     mpicxx -O2 -std=c++20 -o overlap overlap.cc && mpirun -np 2 ./overlap --help
//
// run-overlap compares systems with it.

#define OMPI_SKIP_MPICXX  1
#define MPICH_SKIP_MPICXX 1

#include "bench_batches.h"
#include "bench_figures.h"
#include "bench_options.h"
#include "bench_place.h"
#include "bench_pvars.h"
#include "bench_sync.h"
#include "bench_work.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <sys/resource.h>

namespace bench {
namespace {

constexpr int tag_data = 11;
constexpr int tag_ack = 12;
constexpr int fewest_reps = 5;

// Text goes where it does not mix with a CSV on standard output.
std::FILE *text(const options &o)
{
    return "-" == o.csv ? stderr : stdout;
}

// ---- the benchmark
// ----------------------------------------------------------------------------------

class benchmark {
public:
    benchmark(const options &o, const work &w) : o_(o), work_(w), clock_(MPI_COMM_WORLD)
    {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
        MPI_Comm_size(MPI_COMM_WORLD, &size_);
        const int half = size_ / 2;
        const bool lower = rank_ < half;
        peer_ = lower ? rank_ + half : rank_ - half;
        sender_ = lower != o_.swap;
        std::size_t most = o_.bw_size;
        for (const std::size_t s : o_.sizes) {
            most = std::max(most, s);
        }
        buffer_.resize(most / sizeof(std::uint64_t) + 1);
        if (0 == rank_) {
            out_.emplace(o_.csv);
        } else {
            out_.emplace();
        }
    }

    // Returns the number of messages that arrived wrong.
    std::uint64_t run()
    {
        if (0 == rank_) {
            out_->put("loops_per_us", "", 0, -1, "1/us", work_.loops_per_us());
        }
        clock_.compare();
        if (o_.neighbour) {
            idle_neighbour();
        } else {
            if (o_.latency) {
                latency();
            }
            if (o_.overlap) {
                overlap();
            }
            if (o_.bandwidth) {
                bandwidth();
            }
        }
        std::uint64_t all = 0;
        MPI_Allreduce(&wrong_, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
        if (0 == rank_) {
            out_->put("wrong_messages", "", 0, -1, "1", static_cast<double>(all));
            if (0 != all) {
                std::fprintf(stderr, "overlap: %llu messages arrived with wrong data\n",
                             static_cast<unsigned long long>(all));
            }
        }
        pvars_.close();
        clock_.close();
        return all;
    }

private:
    // What one rank reports of one repetition; gathered by rank 0 as doubles.
    struct sample {
        double elapsed; // us from the common start until this rank was done
        double compute; // us its computation took
        double late;    // 1 if it heard of the start too late
    };
    static constexpr int sample_doubles = sizeof(sample) / sizeof(double);

    struct series {
        std::vector<double> receiver, all, compute;
        counters counted; // of this rank, over the repetitions kept
        int late = 0;
    };

    bool computes(mode m) const
    {
        return mode::both == m || (mode::sender == m && sender_)
               || (mode::receiver == m && !sender_);
    }

    // -- data

    static std::uint64_t pattern(std::uint64_t seed, std::size_t i)
    {
        return (seed + i) * 0x9E3779B97F4A7C15ULL ^ seed;
    }
    void fill(std::size_t bytes)
    {
        for (std::size_t i = 0; i < bytes / 8 + 1; ++i) {
            buffer_[i] = pattern(seed_, i);
        }
    }
    // The seed changes with every message, so what an earlier one left behind doesn't pass.
    void check(std::size_t bytes)
    {
        bool good = true;
        for (std::size_t i = 0; i < bytes / 8; ++i) {
            good &= buffer_[i] == pattern(seed_, i);
        }
        const std::uint64_t tail = pattern(seed_, bytes / 8);
        good &= 0 == std::memcmp(&buffer_[bytes / 8], &tail, bytes % 8);
        wrong_ += good ? 0 : 1;
    }

    // -- one transfer

    void compute(double us, MPI_Request &request) const
    {
        if (0 == o_.poke) {
            work_.compute(us);
            return;
        }
        for (double done = 0; done < us; done += o_.poke) {
            int flag;
            work_.compute(std::min(o_.poke, us - done));
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        }
    }

    sample transfer(mode m, std::size_t bytes, double tsyn)
    {
        ++seed_;
        if (sender_) {
            fill(bytes);
        }
        bool late = false;
        MPI_Request request;
        sample s{};
        const double begin = clock_.start(late);
        if (sender_) {
            MPI_Isend(buffer_.data(), static_cast<int>(bytes), MPI_BYTE, peer_, tag_data,
                      MPI_COMM_WORLD, &request);
        } else {
            MPI_Irecv(buffer_.data(), static_cast<int>(bytes), MPI_BYTE, peer_, tag_data,
                      MPI_COMM_WORLD, &request);
        }
        if (computes(m)) {
            const double from = now_us();
            compute(tsyn, request);
            s.compute = now_us() - from;
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        s.elapsed = now_us() - begin;
        s.late = late ? 1 : 0;
        if (!sender_) {
            check(bytes);
        }
        return s;
    }

    // One repetition, gathered and sorted into the series. False on all ranks if the start was
    // missed.
    bool repeat(mode m, std::size_t bytes, double tsyn, series &to)
    {
        const counters before = pvars_.read();
        const sample mine = transfer(m, bytes, tsyn);
        std::vector<sample> all(static_cast<std::size_t>(size_));
        MPI_Allgather(&mine, sample_doubles, MPI_DOUBLE, all.data(), sample_doubles, MPI_DOUBLE,
                      MPI_COMM_WORLD);
        if (std::any_of(all.begin(), all.end(), [](const sample &s) { return 0 != s.late; })) {
            ++to.late;
            if (to.late < 50) {
                return false;
            }
        }
        pvars_.accumulate(to.counted, before, pvars_.read());
        double receiver = 0, slowest = 0, longest = 0;
        for (int r = 0; r < size_; ++r) {
            const sample &s = all[static_cast<std::size_t>(r)];
            const bool sends = (r < size_ / 2) != o_.swap;
            receiver = std::max(receiver, sends ? 0 : s.elapsed);
            slowest = std::max(slowest, s.elapsed);
            longest = std::max(longest, s.compute);
        }
        to.receiver.push_back(receiver);
        to.all.push_back(slowest);
        to.compute.push_back(longest);
        return true;
    }

    // -- overlap over all sizes

    void overlap()
    {
        if (0 == rank_) {
            std::fprintf(text(o_), "%10s %-9s %10s %10s %10s %10s %8s %8s %8s   (us, min; med)\n",
                         "bytes", "computes", "T_lat", "T_syn", "T_total", "(med)", "overlap",
                         "(med)", "slowed");
        }
        for (const std::size_t bytes : o_.sizes) {
            one_size(bytes);
        }
    }

    void one_size(std::size_t bytes)
    {
        clock_.compare();
        std::map<mode, series> result;
        series dropped;
        for (int i = 0; i < o_.warmup; ++i) {
            repeat(mode::none, bytes, 0, dropped);
        }
        // T_syn: given, or from a first look at this run's own latency
        double reference = 0;
        if (const auto given = o_.reference.find(bytes); o_.reference.end() != given) {
            reference = given->second;
        } else {
            series first;
            for (int i = 0; i < std::max(fewest_reps, o_.reps / 2); ++i) {
                i -= repeat(mode::none, bytes, 0, first) ? 0 : 1;
            }
            reference = smallest(first.receiver);
        }
        const double tsyn = 0 < o_.tsyn ? o_.tsyn : o_.ratio * reference;
        for (const mode m : o_.modes) {
            repeat(m, bytes, tsyn, dropped);
        }
        // the modes take turns, so that a slow spell of the machine meets all of them
        std::vector<mode> turns{mode::none};
        turns.insert(turns.end(), o_.modes.begin(), o_.modes.end());
        const double begin = now_us();
        for (int i = 0; i < o_.reps && go_on(i, begin); ++i) {
            for (const mode m : turns) {
                while (!repeat(m, bytes, tsyn, result[m])) {}
            }
        }
        report(bytes, tsyn, reference, result);
    }

    bool go_on(int done, double begin) const
    {
        if (0 == o_.time_limit) {
            return true;
        }
        int more = done < fewest_reps || now_us() - begin < o_.time_limit * 1e6 ? 1 : 0;
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
        return 0 != more;
    }

    void report(std::size_t bytes, double tsyn, double reference,
                const std::map<mode, series> &result)
    {
        for (const auto &[m, s] : result) {
            report_counters(m, bytes, s.counted);
        }
        if (0 != rank_) {
            return;
        }
        const series &plain = result.at(mode::none);
        out_->put_both("t_lat", mode::none, bytes, "us", plain.receiver);
        out_->put_both("t_lat_all", mode::none, bytes, "us", plain.all);
        out_->put("t_ref", mode::none, bytes, "us", reference);
        for (const auto &[m, s] : result) {
            out_->put("reps", m, bytes, "1", static_cast<double>(s.all.size()));
            out_->put("late_starts", m, bytes, "1", s.late);
            if (mode::none == m) {
                continue;
            }
            const std::vector<double> &total = mode::receiver == m ? s.receiver : s.all;
            const auto hidden = [&](double t) {
                return 1 - (t - tsyn) / reference;
            };
            const auto slowed = [&](double t) {
                return 100 * (t / tsyn - 1);
            };
            out_->put("t_syn", m, bytes, "us", tsyn);
            out_->put_both("t_total", m, bytes, "us", total);
            out_->put_both("t_arrival", m, bytes, "us", s.receiver);
            out_->put_both("compute", m, bytes, "us", s.compute);
            out_->put("overlap_min", m, bytes, "1", hidden(smallest(total)));
            out_->put("overlap_med", m, bytes, "1", hidden(median(total)));
            out_->put("slowed_min", m, bytes, "%", slowed(smallest(s.compute)));
            out_->put("slowed_med", m, bytes, "%", slowed(median(s.compute)));
            std::fprintf(text(o_), "%10zu %-9s %10.1f %10.1f %10.1f %10.1f %8.2f %8.2f %7.1f%%\n",
                         bytes, name_of(m), smallest(plain.receiver), tsyn, smallest(total),
                         median(total), std::clamp(hidden(smallest(total)), -9.99, 1.0),
                         std::clamp(hidden(median(total)), -9.99, 1.0), slowed(median(s.compute)));
            std::fflush(text(o_));
        }
    }

    // Every rank's counters, as text, to rank 0: the ranks need not have the same ones.
    void report_counters(mode m, std::size_t bytes, const counters &mine)
    {
        std::string lines;
        for (const auto &[name, value] : mine) {
            lines += name + " " + std::to_string(value) + "\n";
        }
        if (0 != rank_) {
            MPI_Send(lines.data(), static_cast<int>(lines.size()), MPI_CHAR, 0, tag_ack,
                     MPI_COMM_WORLD);
            return;
        }
        for (int r = 0; r < size_; ++r) {
            if (0 != r) {
                MPI_Status status;
                int length = 0;
                MPI_Probe(r, tag_ack, MPI_COMM_WORLD, &status);
                MPI_Get_count(&status, MPI_CHAR, &length);
                lines.resize(static_cast<std::size_t>(length));
                MPI_Recv(lines.data(), length, MPI_CHAR, r, tag_ack, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
            }
            for (std::size_t at = 0; at < lines.size();) {
                const auto blank = lines.find(' ', at), end = lines.find('\n', at);
                out_->put(lines.substr(at, blank - at).c_str(), name_of(m), bytes, r, "counter",
                          std::strtod(lines.c_str() + blank, nullptr));
                at = end + 1;
            }
        }
    }

    // -- 1-byte latency and large bandwidth

    double ping_pong(int rounds)
    {
        char byte = 1;
        const double begin = now_us();
        for (int i = 0; i < rounds; ++i) {
            if (sender_) {
                MPI_Send(&byte, 1, MPI_CHAR, peer_, tag_data, MPI_COMM_WORLD);
                MPI_Recv(&byte, 1, MPI_CHAR, peer_, tag_data, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            } else {
                MPI_Recv(&byte, 1, MPI_CHAR, peer_, tag_data, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                MPI_Send(&byte, 1, MPI_CHAR, peer_, tag_data, MPI_COMM_WORLD);
            }
        }
        return (now_us() - begin) / (2. * rounds);
    }

    void latency()
    {
        const auto v = batches(o_.figure_time, 5000, [this] { return ping_pong(100); });
        if (0 == rank_) {
            out_->put_both("latency_1_byte", mode::none, 1, "us", v);
            std::fprintf(text(o_), "1-byte latency %.3f us (median %.3f)\n", smallest(v),
                         median(v));
        }
    }

    double window()
    {
        std::vector<MPI_Request> requests(static_cast<std::size_t>(o_.window));
        char ack = 0;
        const int count = static_cast<int>(o_.bw_size);
        const double begin = now_us();
        for (MPI_Request &r : requests) {
            if (sender_) {
                MPI_Isend(buffer_.data(), count, MPI_BYTE, peer_, tag_data, MPI_COMM_WORLD, &r);
            } else {
                // overlapping receives are not allowed, so only the first lands in the buffer kept
                // for checks
                MPI_Irecv(landing(&r - requests.data()), count, MPI_BYTE, peer_, tag_data,
                          MPI_COMM_WORLD, &r);
            }
        }
        MPI_Waitall(o_.window, requests.data(), MPI_STATUSES_IGNORE);
        if (sender_) {
            MPI_Recv(&ack, 1, MPI_CHAR, peer_, tag_ack, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Send(&ack, 1, MPI_CHAR, peer_, tag_ack, MPI_COMM_WORLD);
        }
        return static_cast<double>(o_.bw_size) * o_.window / (now_us() - begin); // MB/s
    }
    char *landing(std::ptrdiff_t i)
    {
        const std::size_t each = o_.bw_size + 64;
        if (landing_.empty()) {
            landing_.resize(each * static_cast<std::size_t>(o_.window));
        }
        return landing_.data() + each * static_cast<std::size_t>(i);
    }

    void bandwidth()
    {
        const auto v = batches(o_.figure_time, 5000, [this] { return window(); });
        if (0 == rank_) {
            out_->put("bandwidth_max", mode::none, o_.bw_size, "MB/s",
                      *std::max_element(v.begin(), v.end()));
            out_->put("bandwidth_med", mode::none, o_.bw_size, "MB/s", median(v));
            std::fprintf(text(o_), "bandwidth %.0f MB/s (median %.0f), %d messages of %zu bytes\n",
                         *std::max_element(v.begin(), v.end()), median(v), o_.window, o_.bw_size);
        }
    }

    // -- idle neighbour

    enum class phase { asleep, busy, talking };

    // Ranks 0 and 1 until `end`: nothing, computing, or exchanges in which the receiver computes as
    // well.
    void pair(phase p, double end)
    {
        if (phase::asleep == p) {
            const double left = std::max(0., end - now_us());
            const timespec t{
                static_cast<time_t>(left / 1e6),
                static_cast<long>(
                    1e3 * (left - 1e6 * static_cast<double>(static_cast<long>(left / 1e6))))};
            nanosleep(&t, nullptr);
        } else if (phase::busy == p) {
            while (now_us() < end) {
                work_.compute(100);
            }
        } else {
            exchange(end);
        }
    }

    // The sender says with a message's first byte whether it is the last one.
    void exchange(double end)
    {
        const int count = static_cast<int>(o_.sizes.front()), other = 1 - rank_;
        char *data = reinterpret_cast<char *>(buffer_.data());
        for (bool last = false; !last; ++exchanged_) {
            MPI_Request request;
            if (0 == rank_) {
                last = now_us() > end;
                data[0] = last ? 1 : 0;
                MPI_Isend(data, count, MPI_BYTE, other, tag_data, MPI_COMM_WORLD, &request);
            } else {
                MPI_Irecv(data, count, MPI_BYTE, other, tag_data, MPI_COMM_WORLD, &request);
                work_.compute(0 < o_.tsyn ? o_.tsyn : 100);
            }
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            last = 0 != data[0];
        }
    }

    struct watched {
        double slowness;    // time per time alone
        double preemptions; // per second
    };

    // The others: chunks of work, the phase's edges left out.
    watched watch(double begin, double end) const
    {
        constexpr double edge = 5000, chunk = 500;
        double wall = 0, nominal = 0;
        while (now_us() < begin + edge) {
            work_.compute(chunk);
        }
        rusage before, after;
        getrusage(RUSAGE_THREAD, &before);
        while (now_us() < end - edge) {
            const double from = now_us();
            work_.compute(chunk);
            wall += now_us() - from;
            nominal += chunk;
        }
        getrusage(RUSAGE_THREAD, &after);
        return {wall / nominal,
                static_cast<double>(after.ru_nivcsw - before.ru_nivcsw) / wall * 1e6};
    }

    void idle_neighbour()
    {
        constexpr phase phases[] = {phase::asleep, phase::busy, phase::talking};
        std::vector<double> slowed_alone, slowed_busy, preempted_alone, preempted_talking;
        const counters before = pvars_.read();
        for (int round = 0; round < o_.rounds; ++round) {
            watched w[3] = {};
            for (int p = 0; p < 3; ++p) {
                bool late;
                const double begin = clock_.start(late), end = begin + o_.phase_ms * 1e3;
                if (rank_ < 2) {
                    pair(phases[p], end);
                } else {
                    w[p] = watch(begin, end);
                }
            }
            slowed_alone.push_back(100 * (w[2].slowness / w[0].slowness - 1));
            slowed_busy.push_back(100 * (w[2].slowness / w[1].slowness - 1));
            preempted_alone.push_back(w[0].preemptions);
            preempted_talking.push_back(w[2].preemptions);
        }
        counters counted;
        pvars_.accumulate(counted, before, pvars_.read());
        report_counters(mode::none, o_.sizes.front(), counted);
        double mine[] = {median(slowed_alone), median(slowed_busy), median(preempted_alone),
                         median(preempted_talking), static_cast<double>(exchanged_)};
        std::vector<double> all(5 * static_cast<std::size_t>(size_));
        MPI_Gather(mine, 5, MPI_DOUBLE, all.data(), 5, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        if (0 != rank_) {
            return;
        }
        std::fprintf(text(o_), "%.0f messages exchanged by ranks 0 and 1\n", all[4]);
        for (int r = 2; r < size_; ++r) {
            const double *v = &all[5 * static_cast<std::size_t>(r)];
            const std::size_t bytes = o_.sizes.front();
            out_->put("neighbour_slowed", "none", bytes, r, "%", v[0]);
            out_->put("neighbour_slowed_beside_computation", "none", bytes, r, "%", v[1]);
            out_->put("neighbour_preempted_alone", "none", bytes, r, "1/s", v[2]);
            out_->put("neighbour_preempted", "none", bytes, r, "1/s", v[3]);
            std::fprintf(text(o_),
                         "rank %d, while they talk: %.2f %% slower than alone, %.2f %% slower than "
                         "while they compute; "
                         "taken off its core %.0f times a second (alone %.0f)\n",
                         r, v[0], v[1], v[3], v[2]);
        }
    }

    const options &o_;
    work work_;
    common_clock clock_;
    pvars pvars_;
    std::optional<figures> out_;
    int rank_ = 0, size_ = 1, peer_ = 0;
    bool sender_ = false;
    std::vector<std::uint64_t> buffer_;
    std::vector<char> landing_;
    std::uint64_t seed_ = 0;
    std::uint64_t wrong_ = 0;
    std::uint64_t exchanged_ = 0;
};

int main_program(int argc, char **argv)
{
    const options o = parse(argc, argv);
    if (!o.pin.empty()) {
        pin_to_core(o.pin);
    }
    std::optional<priority> raised;
    if (0 != o.nice) {
        raised.emplace(o.nice);
    }
    work w = 0 < o.loops_per_us ? work(o.loops_per_us) : work::calibrated();
    if (o.calibrate_only) {
        std::printf("%.2f\n", w.loops_per_us());
        return 0;
    }
    MPI_Init(&argc, &argv);
    if (raised) {
        raised->include_job();
    }
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (o.neighbour ? size < 3 : size < 2 || 0 != size % 2) {
        if (0 == rank) {
            std::fprintf(stderr, "overlap: needs %s\n",
                         o.neighbour ? "three ranks or more" : "an even number of ranks");
        }
        MPI_Finalize();
        return 2;
    }
    if (0 == rank && raised && !raised->raised()) {
        std::fprintf(stderr,
                     "overlap: a higher priority is not permitted here; going on without\n");
    }
    // one amount of work for all ranks: the one that the least disturbed of them found
    double loops = w.loops_per_us();
    MPI_Allreduce(MPI_IN_PLACE, &loops, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    std::uint64_t wrong = 0;
    {
        benchmark b(o, work(loops));
        wrong = b.run();
    }
    raised.reset();
    MPI_Finalize();
    return 0 == wrong ? 0 : 1;
}

} // namespace
} // namespace bench

int main(int argc, char **argv)
{
    return bench::main_program(argc, argv);
}
