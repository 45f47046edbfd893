// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Command line of the messages benchmark.

#ifndef SMARTINT_BENCH_MESSAGES_OPTIONS_H
#define SMARTINT_BENCH_MESSAGES_OPTIONS_H

#include "bench_parse.h"

#include <cstdio>
#include <cstdlib>
#include <getopt.h>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

struct message_options {
    bool latency = true, rate = true, bandwidth = true, match = true, memory = true;
    std::vector<std::size_t> latency_sizes{0,       1,       8,        64,       128,       256,     512,    1 << 10,
                                           2 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20};
    std::vector<std::size_t> rate_sizes{1, 8, 64, 256};
    std::vector<std::size_t> bandwidth_sizes{1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20};
    std::vector<int> depths{100, 1000, 10'000, 100'000};
    int window = 64;
    double time = 0.1; // s per figure
    int nice = 0;
    std::vector<int> pin;
    std::string csv;
};

[[noreturn]] inline void message_usage(int status) {
    std::fputs("messages - what plain messages cost where nothing is to overlap\n"
               "\n"
               "  mpirun -np 2 ./messages [options]    with more ranks, rank i talks to rank i + np/2\n"
               "\n"
               "  latency     ping-pong of blocking calls, half a round trip\n"
               "  rate        small messages in windows: nonblocking calls, MPI_Waitall, one answer\n"
               "  bandwidth   the same with larger ones, one way and both ways\n"
               "  match       cost of a message with many receives posted, and of a receive with many\n"
               "              messages there: the oldest, the newest, the newest from any source\n"
               "  memory      of each rank, after MPI_Init and after messages to and from all others\n"
               "Received data is always checked, outside what is timed.\n"
               "\n"
               "  -o, --only LIST              of those (default: all)\n"
               "      --latency-sizes LIST     default 0 to 4M\n"
               "      --rate-sizes LIST        default 1,8,64,256\n"
               "      --bandwidth-sizes LIST   default 1K to 4M\n"
               "      --depths LIST            posted receives, messages that are there: "
               "100,1000,10000,100000\n"
               "  -w, --window N               messages under way (64)\n"
               "  -t, --time SECONDS           per figure (0.1)\n"
               "      --prio[=NICE]            raise the priority while measuring, where permitted (-15)\n"
               "      --pin LIST               core of each rank\n"
               "  -c, --csv FILE               all figures as figure,mode,bytes,rank,unit,value ('-': "
               "standard output)\n"
               "  -h, --help\n",
               0 == status ? stdout : stderr);
    std::exit(status);
}

inline message_options parse_messages(int argc, char **argv) {
    enum { opt_latency = 256, opt_rate, opt_bandwidth, opt_depths, opt_prio, opt_pin };
    static const option table[] = {
        {"only", required_argument, nullptr, 'o'},
        {"latency-sizes", required_argument, nullptr, opt_latency},
        {"rate-sizes", required_argument, nullptr, opt_rate},
        {"bandwidth-sizes", required_argument, nullptr, opt_bandwidth},
        {"depths", required_argument, nullptr, opt_depths},
        {"window", required_argument, nullptr, 'w'},
        {"time", required_argument, nullptr, 't'},
        {"prio", optional_argument, nullptr, opt_prio},
        {"pin", required_argument, nullptr, opt_pin},
        {"csv", required_argument, nullptr, 'c'},
        {"help", no_argument, nullptr, 'h'},
        {nullptr, 0, nullptr, 0},
    };
    const auto sizes = [](const char *name, std::size_t least) {
        std::vector<std::size_t> list;
        for (const auto part : split(optarg)) {
            list.push_back(bytes(name, part, least));
        }
        return list;
    };
    message_options o;
    for (int c; - 1 != (c = getopt_long(argc, argv, "o:w:t:c:h", table, nullptr));) {
        switch (c) {
        case 'o':
            o.latency = o.rate = o.bandwidth = o.match = o.memory = false;
            for (const auto part : split(optarg)) {
                bool &chosen = "latency" == part     ? o.latency
                               : "rate" == part      ? o.rate
                               : "bandwidth" == part ? o.bandwidth
                               : "match" == part     ? o.match
                               : "memory" == part    ? o.memory
                                                     : (bad_value("only", part), o.memory);
                chosen = true;
            }
            break;
        case opt_latency:
            o.latency_sizes = sizes("latency-sizes", 0);
            break;
        case opt_rate:
            o.rate_sizes = sizes("rate-sizes", 1);
            break;
        case opt_bandwidth:
            o.bandwidth_sizes = sizes("bandwidth-sizes", 1);
            break;
        case opt_depths:
            o.depths.clear();
            for (const auto part : split(optarg)) {
                o.depths.push_back(number("depths", part, 1, 1'000'000));
            }
            break;
        case 'w':
            o.window = number("window", optarg, 1, 4096);
            break;
        case 't':
            o.time = number("time", optarg, 0.001, 1e4);
            break;
        case opt_prio:
            o.nice = nullptr == optarg ? -15 : number("prio", optarg, -20, 19);
            break;
        case opt_pin:
            for (const auto part : split(optarg)) {
                o.pin.push_back(number("pin", part, 0, 1023));
            }
            break;
        case 'c':
            o.csv = optarg;
            break;
        case 'h':
            message_usage(0);
        default:
            message_usage(2);
        }
    }
    if (optind != argc) {
        message_usage(2);
    }
    return o;
}

} // namespace bench

#endif
