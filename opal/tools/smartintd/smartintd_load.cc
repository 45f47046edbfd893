// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "smartintd_load.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string_view>

namespace smartint::daemon {
namespace {

constexpr std::size_t most_units = 65536;    // a number beyond it is none
constexpr std::uint64_t shortest_ticks = 20; // less is chance
constexpr std::uint64_t part = 5;            // of the time: more than what any system does by itself

std::uint64_t process_ns() {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(t.tv_nsec);
}

// A unit that was off meanwhile, or counts anew, tells nothing.
std::uint64_t grown(std::uint64_t before, std::uint64_t now) { return now > before ? now - before : 0; }

} // namespace

std::vector<unit_time> read_unit_times(std::istream &in) {
    constexpr std::string_view name = "cpu";
    std::vector<unit_time> v;
    // What follows the units' lines is long on a large machine, and not read.
    for (std::string line; std::getline(in, line) && 0 == line.compare(0, name.size(), name);) {
        std::size_t unit = 0;
        const char *const end = line.data() + line.size();
        const auto number = std::from_chars(line.data() + name.size(), end, unit);
        if (std::errc() != number.ec || unit >= most_units) {
            continue; // of all together
        }
        // user, nice, system, idle, waiting for a disk, interrupts, soft ones, stolen
        std::istringstream rest(std::string(number.ptr, end));
        unit_time t;
        std::uint64_t ticks = 0;
        for (unsigned column = 0; column < 8 && rest >> ticks; ++column) {
            t.busy += column < 3 ? ticks : 0;
            t.all += ticks;
        }
        v.resize(std::max(v.size(), unit + 1));
        v[unit] = t;
    }
    return v;
}

std::vector<unsigned> busy_units(const std::vector<unit_time> &before, const std::vector<unit_time> &now, int own,
                                 double own_ticks) {
    std::vector<unsigned> v;
    for (unsigned i = 0; i < std::min(before.size(), now.size()); ++i) {
        const std::uint64_t all = grown(before[i].all, now[i].all);
        const double mine = static_cast<int>(i) == own ? own_ticks : 0;
        const double others = static_cast<double>(grown(before[i].busy, now[i].busy)) - mine;
        if (all >= shortest_ticks && others * part > static_cast<double>(all)) {
            v.push_back(i);
        }
    }
    return v;
}

std::vector<unsigned> unit_load::busy(int own) {
    std::ifstream in(path_);
    std::vector<unit_time> now = read_unit_times(in);
    bool told = before_.empty();
    for (std::size_t i = 0; i < std::min(before_.size(), now.size()); ++i) {
        told = told || grown(before_[i].all, now[i].all) >= shortest_ticks;
    }
    if (!told) {
        return known_;
    }
    const std::uint64_t ran = process_ns();
    const double ticks = static_cast<double>(ran - ran_ns_) * static_cast<double>(sysconf(_SC_CLK_TCK)) / 1e9;
    known_ = busy_units(before_, now, own, ticks);
    before_ = std::move(now);
    ran_ns_ = ran;
    return known_;
}

} // namespace smartint::daemon
