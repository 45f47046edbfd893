// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Command line of the overlap benchmark.

#ifndef SMARTINT_BENCH_OPTIONS_H
#define SMARTINT_BENCH_OPTIONS_H

#include "bench_parse.h"

#include <cstdio>
#include <cstdlib>
#include <getopt.h>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

enum class mode { none, receiver, sender, both };

inline const char *name_of(mode m)
{
    constexpr const char *names[] = {"none", "receiver", "sender", "both"};
    return names[static_cast<int>(m)];
}

struct options {
    std::vector<mode> modes{mode::receiver};
    std::vector<std::size_t> sizes{64 << 10, 256 << 10, 1 << 20, 4 << 20};
    int reps = 20;
    int warmup = 3;
    double time_limit = 0;                   // s per size and mode, 0: none
    std::map<std::size_t, double> reference; // size -> us: T_syn and denominator
    double ratio = 1;                        // T_syn = ratio * reference
    double tsyn = 0;                         // us, overrides the ratio
    double poke = 0;                         // us between MPI_Test calls, 0: none
    bool swap = false;
    bool overlap = true, latency = true, bandwidth = true, neighbour = false;
    double figure_time = 0.4; // s for latency and for bandwidth
    std::size_t bw_size = 1 << 20;
    int window = 16;
    int rounds = 20;
    double phase_ms = 60;
    double loops_per_us = 0;
    bool calibrate_only = false;
    int nice = 0;
    std::vector<int> pin;
    std::string csv;
};

[[noreturn]] inline void usage(int status)
{
    std::fputs(
        "overlap - how much of a large message's transfer hides behind computation\n"
        "\n"
        "  mpirun -np 2 ./overlap [options]     with more ranks, rank i sends to rank i + np/2\n"
        "\n"
        "Measured for every size, from a common start outside MPI:\n"
        "  T_lat    receive posted to receive done, both sides in MPI all the time\n"
        "  T_total  the same with a computation of T_syn between post and wait; where the sender "
        "computes,\n"
        "           until both sides are done (the receiver's share of it is in the CSV as "
        "t_arrival)\n"
        "  overlap  1 - (T_total - T_syn) / T_ref: 1 = all hidden, 0 = none, below 0 = worse than "
        "in turn\n"
        "  slowed   how much longer the computation took than alone\n"
        "T_ref is this run's own T_lat unless --reference gives one. Received data is always "
        "checked.\n"
        "\n"
        "  -m, --mode LIST        who computes: receiver (default), sender, both; none: T_lat "
        "only\n"
        "  -s, --sizes LIST       message sizes, default 64K,256K,1M,4M\n"
        "  -r, --reps N           repetitions of each figure (20);  --warmup N (3)\n"
        "  -t, --time SECONDS     stop the repetitions of a size after this long (never below 5)\n"
        "      --reference LIST   T_ref per size in us, as 64K:550,1M:8800\n"
        "      --ratio R          T_syn = R * T_ref (1)\n"
        "      --tsyn US          T_syn itself\n"
        "      --poke US          call MPI_Test this often while computing\n"
        "      --swap             the upper half of the ranks sends\n"
        "  -o, --only LIST        of overlap, latency, bandwidth (default: all three)\n"
        "      --figure-time S    time for latency and for bandwidth each (0.4)\n"
        "      --bw-size SIZE --window N   bandwidth: N messages of SIZE under way (16 of 1M)\n"
        "      --idle-neighbour   another measurement: ranks 0 and 1 exchange messages of the "
        "first size, the\n"
        "                         others only compute; how much are they slowed? --rounds N (20), "
        "--phase MS (60)\n"
        "      --prio[=NICE]      raise the priority while measuring, where permitted (-15)\n"
        "      --pin LIST         core of each rank\n"
        "      --calibrate        print the computation's loops per us, and stop\n"
        "      --loops-per-us X   use X instead of calibrating\n"
        "  -c, --csv FILE         all figures as figure,mode,bytes,rank,unit,value ('-': standard "
        "output)\n"
        "  -h, --help\n",
        0 == status ? stdout : stderr);
    std::exit(status);
}

inline mode mode_named(std::string_view text)
{
    for (const mode m : {mode::receiver, mode::sender, mode::both}) {
        if (text == name_of(m)) {
            return m;
        }
    }
    bad_value("mode", text);
}

inline options parse(int argc, char **argv)
{
    enum {
        opt_warmup = 256,
        opt_reference,
        opt_ratio,
        opt_tsyn,
        opt_poke,
        opt_swap,
        opt_figure_time,
        opt_bw_size,
        opt_window,
        opt_neighbour,
        opt_rounds,
        opt_phase,
        opt_prio,
        opt_pin,
        opt_calibrate,
        opt_loops
    };
    static const option table[] = {
        {"mode", required_argument, nullptr, 'm'},
        {"sizes", required_argument, nullptr, 's'},
        {"reps", required_argument, nullptr, 'r'},
        {"warmup", required_argument, nullptr, opt_warmup},
        {"time", required_argument, nullptr, 't'},
        {"reference", required_argument, nullptr, opt_reference},
        {"ratio", required_argument, nullptr, opt_ratio},
        {"tsyn", required_argument, nullptr, opt_tsyn},
        {"poke", required_argument, nullptr, opt_poke},
        {"swap", no_argument, nullptr, opt_swap},
        {"only", required_argument, nullptr, 'o'},
        {"figure-time", required_argument, nullptr, opt_figure_time},
        {"bw-size", required_argument, nullptr, opt_bw_size},
        {"window", required_argument, nullptr, opt_window},
        {"idle-neighbour", no_argument, nullptr, opt_neighbour},
        {"rounds", required_argument, nullptr, opt_rounds},
        {"phase", required_argument, nullptr, opt_phase},
        {"prio", optional_argument, nullptr, opt_prio},
        {"pin", required_argument, nullptr, opt_pin},
        {"calibrate", no_argument, nullptr, opt_calibrate},
        {"loops-per-us", required_argument, nullptr, opt_loops},
        {"csv", required_argument, nullptr, 'c'},
        {"help", no_argument, nullptr, 'h'},
        {nullptr, 0, nullptr, 0},
    };
    options o;
    for (int c; - 1 != (c = getopt_long(argc, argv, "m:s:r:t:o:c:h", table, nullptr));) {
        switch (c) {
        case 'm':
            o.modes.clear();
            for (const auto part : split(optarg)) {
                if (name_of(mode::none) != part) {
                    o.modes.push_back(mode_named(part));
                }
            }
            break;
        case 's':
            o.sizes.clear();
            for (const auto part : split(optarg)) {
                o.sizes.push_back(bytes("sizes", part));
            }
            break;
        case 'r':
            o.reps = number("reps", optarg, 1, 100'000);
            break;
        case opt_warmup:
            o.warmup = number("warmup", optarg, 0, 100'000);
            break;
        case 't':
            o.time_limit = number("time", optarg, 0., 1e6);
            break;
        case opt_reference:
            for (const auto part : split(optarg)) {
                const auto colon = part.find(':');
                if (std::string_view::npos == colon) {
                    bad_value("reference", part);
                }
                o.reference[bytes("reference", part.substr(0, colon))] =
                    number("reference", part.substr(colon + 1), 1e-3, 1e9);
            }
            break;
        case opt_ratio:
            o.ratio = number("ratio", optarg, 0., 1e6);
            break;
        case opt_tsyn:
            o.tsyn = number("tsyn", optarg, 1e-3, 1e9);
            break;
        case opt_poke:
            o.poke = number("poke", optarg, 1., 1e9);
            break;
        case opt_swap:
            o.swap = true;
            break;
        case 'o':
            o.overlap = o.latency = o.bandwidth = false;
            for (const auto part : split(optarg)) {
                bool &chosen = "overlap" == part     ? o.overlap
                               : "latency" == part   ? o.latency
                               : "bandwidth" == part ? o.bandwidth
                                                     : (bad_value("only", part), o.overlap);
                chosen = true;
            }
            break;
        case opt_figure_time:
            o.figure_time = number("figure-time", optarg, 0.01, 1e4);
            break;
        case opt_bw_size:
            o.bw_size = bytes("bw-size", optarg);
            break;
        case opt_window:
            o.window = number("window", optarg, 1, 4096);
            break;
        case opt_neighbour:
            o.neighbour = true;
            break;
        case opt_rounds:
            o.rounds = number("rounds", optarg, 1, 100'000);
            break;
        case opt_phase:
            o.phase_ms = number("phase", optarg, 20., 1e5);
            break;
        case opt_prio:
            o.nice = nullptr == optarg ? -15 : number("prio", optarg, -20, 19);
            break;
        case opt_pin:
            for (const auto part : split(optarg)) {
                o.pin.push_back(number("pin", part, 0, 1023));
            }
            break;
        case opt_calibrate:
            o.calibrate_only = true;
            break;
        case opt_loops:
            o.loops_per_us = number("loops-per-us", optarg, 0.1, 1e6);
            break;
        case 'c':
            o.csv = optarg;
            break;
        case 'h':
            usage(0);
        default:
            usage(2);
        }
    }
    if (optind != argc) {
        usage(2);
    }
    return o;
}

} // namespace bench

#endif
