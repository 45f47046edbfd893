// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Options of all programs that hide a communication behind computation (bench_hide.h).

#ifndef SMARTINT_BENCH_HIDE_OPTIONS_H
#define SMARTINT_BENCH_HIDE_OPTIONS_H

#include "bench_arguments.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace bench {

struct hide_options {
    int reps = 20;
    int warmup = 3;
    double time_limit = 0; // s per size, 0: none
    std::vector<double> ratios{1};
    double tsyn = 0; // us, overrides the ratios
    double poke = 0; // us between calls of MPI_Testall, 0: none
    bool watch = false;
    bool asleep = false;
    bool latency_only = false;
    std::map<std::size_t, double> reference;                                 // size -> us
    std::map<std::pair<std::string, std::size_t>, double> reference_by_name; // T_lat's name, size

    void add_to(arguments &a) {
        a.value('r', "reps", "N", "repetitions of each figure (20)", reps, 1, 100'000);
        a.value(0, "warmup", "N", "repetitions before, which do not count (3)", warmup, 0, 100'000);
        a.value('t', "time", "SECONDS", "stop the repetitions of a size after this long (never below 5)", time_limit,
                0., 1e6);
        a.list(0, "ratio", "T_syn = ratio * T_ref, each in turn (1)", ratios, 0., 1e6);
        a.value(0, "tsyn", "US", "T_syn itself", tsyn, 1e-3, 1e9);
        a.value(0, "poke", "US", "call MPI_Test this often while computing", poke, 1., 1e9);
        a.flag(0, "watch",
               "also: when the data was there, by looking into the buffer while computing "
               "(progression)",
               watch);
        a.flag(0, "asleep",
               "sleep for T_syn instead of computing: with more ranks than cores, what helper and "
               "threads can do",
               asleep);
        a.flag(0, "latency-only", "T_lat only", latency_only);
        a.add(0, "reference", "LIST", "T_ref per size in us, as 64K:550,1M:8800",
              [this](const char *text) { read_list(text); });
        a.add(0, "reference-file", "FILE", "T_ref in lines `name,bytes,us`, by the name of T_lat",
              [this](const char *text) { read_file(text); });
    }

private:
    void read_list(const char *text) {
        for (const auto part : split(text)) {
            const auto colon = part.find(':');
            if (std::string_view::npos == colon) {
                bad_value("reference", part);
            }
            reference[bytes("reference", part.substr(0, colon))] =
                number("reference", part.substr(colon + 1), 1e-3, 1e9);
        }
    }

    void read_file(const char *path) {
        std::ifstream file(path);
        if (!file) {
            bad_value("reference-file", path);
        }
        for (std::string line; std::getline(file, line);) {
            std::istringstream words(line);
            std::string name, size, us;
            std::getline(words, name, ',');
            std::getline(words, size, ',');
            std::getline(words, us);
            reference_by_name[{name, bytes("reference-file", size)}] = number("reference-file", us, 1e-3, 1e9);
        }
    }
};

} // namespace bench

#endif
