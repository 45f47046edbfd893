// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// What others do on the processing units of this machine. A unit that no rank of this job is bound to may be another
// job's: the system says how long each was busy, and for whom does not matter.
#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

namespace smartint::daemon {

// Ticks of 10 ms, mostly, since the machine began.
struct unit_time {
    std::uint64_t busy = 0; // with programs, whoever's; not with interrupts
    std::uint64_t all = 0;
};

// By number; all 0 for one that is not listed (it is off). The lines of /proc/stat that begin with cpuN.
std::vector<unit_time> read_unit_times(std::istream &in);

// Those that others than this process were busy on for more than a fifth of the time between two readings. own: the
// unit this process ran on for own_ticks of it, or -1. Of a time that is too short to tell: none.
std::vector<unsigned> busy_units(const std::vector<unit_time> &before, const std::vector<unit_time> &now, int own,
                                 double own_ticks);

class unit_load {
public:
    explicit unit_load(std::string path = "/proc/stat") : path_(std::move(path)) {}
    // Since the last look that told something. own: the unit that this process was bound to meanwhile, or -1.
    std::vector<unsigned> busy(int own);

private:
    std::string path_;
    std::vector<unit_time> before_;
    std::vector<unsigned> known_;
    std::uint64_t ran_ns_ = 0; // this process, at that time
};

} // namespace smartint::daemon
