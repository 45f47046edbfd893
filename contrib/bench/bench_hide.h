// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// One communication, hidden behind computation: posted, computed, waited for, from a common start
// outside MPI and with nothing else in flight. The method is that of SI 4.5.2 (Figures 4.5 and
// 4.11) with a common clock in place of MPI_Barrier.
//
//   T_lat    posted to done, all ranks in MPI
//   T_total  the same with a computation of T_syn = ratio * T_ref in between (SI: T_et)
//   T_there  posted until the data is in the buffer, whatever the computation (SI: progression)
//   overlap  (T_syn - (T_total - T_lat)) / T_lat, SI eq. 4.2, with T_ref for T_lat
//   slowed   how much longer the computation took than alone
//
// T_ref is this run's own T_lat unless one is given: with one length of computation for all
// systems, a slow system gains nothing by being slow.

#ifndef SMARTINT_BENCH_HIDE_H
#define SMARTINT_BENCH_HIDE_H

#include "bench_counters.h"
#include "bench_data.h"
#include "bench_figures.h"
#include "bench_hide_options.h"
#include "bench_program.h"
#include "bench_pvars.h"
#include "bench_sync.h"

#include <algorithm>
#include <cstdint>
#include <mpi.h>
#include <string>
#include <vector>

namespace bench {

// What is to be hidden, seen from one rank.
class communication {
public:
    virtual ~communication() = default;
    // Data of this repetition; not timed.
    virtual void prepare(std::uint64_t repetition) = 0;
    virtual void post(std::vector<MPI_Request> &requests) = 0;
    // What ends it.
    virtual void finish(std::vector<MPI_Request> &requests) {
        MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    }
    // Once it is complete; not timed. How many messages were wrong.
    virtual std::uint64_t wrong() = 0;
    // Whether what this rank receives seems to be in its buffer (progression).
    virtual bool there() { return false; }
    virtual bool receives() const { return true; }
    // T_lat lasts until all ranks are done, not only those that receive.
    virtual bool latency_of_all() const { return false; }
    // How much later than the common start this rank posts, us.
    virtual double delay() const { return 0; }
    // Before prepare(): in this repetition some ranks come late on purpose (hidden_by::late).
    virtual void some_are_late(bool) {}
};

// Which ranks compute, and what counts as the end.
struct hidden_by {
    std::string name;    // in the figures
    bool here;           // this rank computes
    bool receivers_only; // the receivers' end counts, not everybody's
    bool before = false; // it computes before it posts: a rank that comes late
    // Part of T_ref by which some ranks post later, while the others compute so much longer (SI Figure 5.7).
    double late = 0;
    bool late_here = false; // this rank is one of them
    double late_us = 0;     // set by measure()
};

class hiding {
public:
    hiding(program &p, const hide_options &o) : program_(p), o_(o), clock_(MPI_COMM_WORLD) {}

    // Once for all communications.
    void title(const char *what) {
        program_.say("%10s %-20s %10s %10s %10s %10s %8s %8s %8s%s   (us, min; med)\n", "bytes", what, "T_lat", "T_syn",
                     "T_total", "(med)", "overlap", "(med)", "slowed", o_.watch ? "    T_there" : "");
    }

    // T_lat stands under `name` in the figures, the rest under the names of `ways`.
    void measure(communication &c, const std::string &name, std::size_t bytes, const std::vector<hidden_by> &ways) {
        clock_.compare();
        const hidden_by nobody{name, false, !c.latency_of_all()};
        series dropped;
        for (int i = 0; i < o_.warmup; ++i) {
            repeat(c, nobody, 0, dropped);
        }
        const double reference = reference_of(c, nobody, bytes);
        std::vector<one_case> cases{{nobody, name, 0, {}}};
        const std::size_t lengths = o_.latency_only ? 0 : 0 < o_.tsyn ? 1 : o_.ratios.size();
        for (hidden_by way : ways) {
            way.late_us = way.late * reference;
            for (std::size_t i = 0; i < lengths; ++i) {
                char ratio[32] = "";
                if (1 < lengths) {
                    std::snprintf(ratio, sizeof(ratio), "@%g", o_.ratios[i]);
                }
                cases.push_back(
                    {way, way.name + ratio, way.late_us + (0 < o_.tsyn ? o_.tsyn : o_.ratios[i] * reference), {}});
            }
            if (0 < lengths) {
                repeat(c, way, cases.back().tsyn, dropped);
            }
        }
        // the cases take turns, so that a slow spell of the machine meets all of them
        const double begin = now_us();
        for (int i = 0; i < o_.reps && go_on(i, begin); ++i) {
            for (one_case &k : cases) {
                while (!repeat(c, k.way, k.tsyn, k.result)) {}
            }
        }
        for (const one_case &k : cases) {
            report_counters(program_.out(), k.name.c_str(), bytes, k.result.counted);
        }
        if (0 == program_.rank()) {
            report(cases, name, bytes, reference);
        }
    }

    std::uint64_t wrong() const { return wrong_; }
    const pvars &counted() const { return pvars_; }
    common_clock &clock() { return clock_; }

    void close() {
        pvars_.close();
        clock_.close();
    }

private:
    static constexpr int fewest_reps = 5;

    // What one rank reports of one repetition; gathered as doubles.
    struct sample {
        double elapsed;  // us from its start until this rank was done
        double compute;  // us its computation took
        double there;    // us until its data was there
        double late;     // 1 if it heard of the start too late
        double receives; // 1 if it receives
    };
    static constexpr int sample_doubles = sizeof(sample) / sizeof(double);

    struct series {
        std::vector<double> receiver, all, sender, compute, there;
        counters counted; // of this rank, over the repetitions kept
        int late = 0;
    };

    struct one_case {
        hidden_by way;
        std::string name;
        double tsyn;
        series result;
    };

    // Computes; returns when the data was there, or a negative number.
    double compute(communication &c, double us, std::vector<MPI_Request> &requests, double begin) const {
        const auto spend = [this](double time) {
            if (o_.asleep) {
                sleep_us(time);
            } else {
                program_.work().compute(time);
            }
        };
        if (!o_.watch && 0 == o_.poke) {
            spend(us);
            return -1;
        }
        const double step = 0 < o_.poke ? o_.poke : std::max(o_.asleep ? 100. : 1., us / 200);
        double there = -1;
        for (double done = 0; done < us; done += step) {
            spend(std::min(step, us - done));
            if (0 < o_.poke) {
                int flag;
                MPI_Testall(static_cast<int>(requests.size()), requests.data(), &flag, MPI_STATUSES_IGNORE);
            }
            if (o_.watch && there < 0 && c.receives() && c.there()) {
                there = now_us() - begin;
            }
        }
        return there;
    }

    sample once(communication &c, const hidden_by &way, double tsyn) {
        c.some_are_late(0 < way.late);
        c.prepare(++repetition_);
        bool late = false;
        requests_.clear();
        sample s{};
        s.there = -1;
        double begin = clock_.start(late) + c.delay() + (way.late_here ? way.late_us : 0);
        while (now_us() < begin) {}
        const auto busy = [&] {
            const double from = now_us();
            s.there = compute(c, tsyn, requests_, begin);
            s.compute = now_us() - from;
        };
        if (way.here && way.before) {
            busy();
        }
        c.post(requests_);
        if (way.here && !way.before) {
            busy();
        }
        c.finish(requests_);
        s.elapsed = now_us() - begin;
        s.there = s.there < 0 ? s.elapsed : s.there;
        s.late = late ? 1 : 0;
        s.receives = c.receives() ? 1 : 0;
        wrong_ += c.wrong();
        return s;
    }

    // One repetition, gathered and sorted into the series. False on all ranks if the start was
    // missed.
    bool repeat(communication &c, const hidden_by &way, double tsyn, series &to) {
        const counters before = pvars_.read();
        const sample mine = once(c, way, tsyn);
        std::vector<sample> all(static_cast<std::size_t>(program_.size()));
        MPI_Allgather(&mine, sample_doubles, MPI_DOUBLE, all.data(), sample_doubles, MPI_DOUBLE, MPI_COMM_WORLD);
        if (std::any_of(all.begin(), all.end(), [](const sample &s) { return 0 != s.late; })) {
            ++to.late;
            if (to.late < 50) {
                return false;
            }
        }
        pvars_.accumulate(to.counted, before, pvars_.read());
        sample most{};
        double receiver = 0, sender = 0;
        for (const sample &s : all) {
            (0 != s.receives ? receiver : sender) = std::max(0 != s.receives ? receiver : sender, s.elapsed);
            most.elapsed = std::max(most.elapsed, s.elapsed);
            most.compute = std::max(most.compute, s.compute);
            most.there = std::max(most.there, 0 != s.receives ? s.there : 0);
        }
        to.receiver.push_back(receiver);
        to.sender.push_back(sender);
        to.all.push_back(most.elapsed);
        to.compute.push_back(most.compute);
        to.there.push_back(most.there);
        return true;
    }

    // T_ref: given, or from a first look at this run's own latency.
    double reference_of(communication &c, const hidden_by &nobody, std::size_t bytes) {
        if (const auto given = o_.reference_by_name.find({nobody.name, bytes}); o_.reference_by_name.end() != given) {
            return given->second;
        }
        if (const auto given = o_.reference.find(bytes); o_.reference.end() != given) {
            return given->second;
        }
        series first;
        for (int i = 0; i < std::max(fewest_reps, o_.reps / 2); ++i) {
            i -= repeat(c, nobody, 0, first) ? 0 : 1;
        }
        double smallest_of_all = smallest(nobody.receivers_only ? first.receiver : first.all);
        MPI_Bcast(&smallest_of_all, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        return smallest_of_all;
    }

    bool go_on(int done, double begin) const {
        if (0 == o_.time_limit) {
            return true;
        }
        int more = done < fewest_reps || now_us() - begin < o_.time_limit * 1e6 ? 1 : 0;
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
        return 0 != more;
    }

    void report(const std::vector<one_case> &cases, const std::string &name, std::size_t bytes, double reference) {
        figures &out = program_.out();
        const series &plain = cases.front().result;
        const std::vector<double> &t_lat = total_of(cases.front());
        out.put_both("t_lat", name, bytes, "us", t_lat);
        out.put_both("t_lat_all", name, bytes, "us", plain.all);
        out.put("t_ref", name, bytes, "us", reference);
        out.put("late_starts", name, bytes, "1", plain.late);
        if (1 == cases.size()) {
            program_.say("%10zu %-20s %10.1f\n", bytes, name.c_str(), smallest(t_lat));
        }
        for (std::size_t i = 1; i < cases.size(); ++i) {
            report(cases[i], smallest(t_lat), bytes, reference);
        }
        by_largest(cases, bytes, reference);
    }

    void report(const one_case &k, double t_lat, std::size_t bytes, double reference) {
        figures &out = program_.out();
        const series &s = k.result;
        const std::vector<double> &total = total_of(k);
        const auto hidden = [&](double t) { return (k.tsyn - (t - reference)) / reference; };
        const auto slowed = [&](double t) { return 0 < k.tsyn ? 100 * (t / k.tsyn - 1) : 0; };
        out.put("reps", k.name, bytes, "1", static_cast<double>(s.all.size()));
        out.put("late_starts", k.name, bytes, "1", s.late);
        out.put("t_syn", k.name, bytes, "us", k.tsyn);
        out.put_both("t_total", k.name, bytes, "us", total);
        out.put_both("t_arrival", k.name, bytes, "us", s.receiver);
        out.put_both("t_sender", k.name, bytes, "us", s.sender);
        out.put_both("compute", k.name, bytes, "us", s.compute);
        if (o_.watch) {
            out.put_both("t_there", k.name, bytes, "us", s.there);
        }
        out.put("overlap_min", k.name, bytes, "1", hidden(smallest(total)));
        out.put("overlap_med", k.name, bytes, "1", hidden(median(total)));
        out.put("slowed_min", k.name, bytes, "%", slowed(smallest(s.compute)));
        out.put("slowed_med", k.name, bytes, "%", slowed(median(s.compute)));
        program_.say("%10zu %-20s %10.1f %10.1f %10.1f %10.1f %8.2f %8.2f %7.1f%%", bytes, k.name.c_str(), t_lat,
                     k.tsyn, smallest(total), median(total), std::clamp(hidden(smallest(total)), -9.99, 1.0),
                     std::clamp(hidden(median(total)), -9.99, 1.0), slowed(median(s.compute)));
        if (o_.watch) {
            program_.say(" %10.1f", smallest(s.there));
        }
        program_.say("\n");
    }

    static const std::vector<double> &total_of(const one_case &k) {
        return k.way.receivers_only ? k.result.receiver : k.result.all;
    }

    // SI's rule where T_syn is swept: the overlap ratio (eq. 4.2) of the longest computation that
    // does not show, T_diff = 1.1 T_lat - T_et >= 0 (eq. 4.1).
    void by_largest(const std::vector<one_case> &cases, std::size_t bytes, double reference) {
        if (o_.ratios.size() < 2 || 0 < o_.tsyn) {
            return;
        }
        std::map<std::string, double> best;
        for (std::size_t i = 1; i < cases.size(); ++i) {
            const double t = smallest(total_of(cases[i]));
            double &b = best[cases[i].way.name];
            if (0 <= 1.1 * reference - t) {
                b = (cases[i].tsyn - (t - reference)) / reference; // the ratios grow
            }
        }
        for (const auto &[way, overlap] : best) {
            program_.out().put("overlap_largest", way, bytes, "1", overlap);
        }
    }

    program &program_;
    const hide_options &o_;
    common_clock clock_;
    pvars pvars_;
    std::vector<MPI_Request> requests_;
    std::uint64_t repetition_ = 0;
    std::uint64_t wrong_ = 0;
};

} // namespace bench

#endif
