// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "smartintd_place.h"

#include <hwloc.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>

#include "common_smartint_layout.h"
#include "common_smartint_params.h"

namespace smartint::daemon {
namespace {

bool contains(const std::vector<unsigned> &v, unsigned x) { return v.end() != std::find(v.begin(), v.end(), x); }

std::vector<unsigned> units_of(const cpu_set_t &set) {
    std::vector<unsigned> v;
    for (unsigned i = 0; i < CPU_SETSIZE; ++i) {
        if (CPU_ISSET(i, &set)) {
            v.push_back(i);
        }
    }
    return v;
}

std::vector<unsigned> units_of_ranks(const segment &board) {
    std::vector<unsigned> v;
    for (unsigned i = 0; i < layout::cpu_mask_words * 64; ++i) {
        for (std::uint32_t s = 0; s < board.slots(); ++s) {
            const auto &c = board.slot(s).control;
            if (1 == c.attached.load(std::memory_order_acquire) && // A1
                0 != (c.cpus[i / 64] >> (i % 64) & 1)) {
                v.push_back(i);
                break;
            }
        }
    }
    return v;
}

// Of the node's other helpers.
std::vector<unsigned> units_of_others(const segment &board, unsigned own) {
    std::vector<unsigned> v;
    for (unsigned i = 0; i < layout::max_helpers; ++i) {
        const layout::helper_line &l = board.helper(i);
        const std::uint32_t state = l.state.load(std::memory_order_acquire); // H3
        const std::int32_t unit = l.cpu.load(std::memory_order_relaxed);
        if (i != own && unit >= 0 && (layout::helper_sleeping == state || layout::helper_polling == state)) {
            v.push_back(static_cast<unsigned>(unit));
        }
    }
    return v;
}

bool bind_to(const std::vector<unsigned> &units) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const unsigned u : units) {
        CPU_SET(u, &set);
    }
    return 0 == sched_setaffinity(0, sizeof(set), &set);
}

std::vector<std::vector<unsigned>> groups_of(hwloc_topology_t machine, hwloc_obj_type_t type) {
    std::vector<std::vector<unsigned>> all;
    const int objects = hwloc_get_nbobjs_by_type(machine, type);
    for (int i = 0; i < objects; ++i) {
        hwloc_const_cpuset_t set = hwloc_get_obj_by_type(machine, type, static_cast<unsigned>(i))->cpuset;
        std::vector<unsigned> units;
        for (int u = hwloc_bitmap_first(set); u >= 0; u = hwloc_bitmap_next(set, u)) {
            units.push_back(static_cast<unsigned>(u));
        }
        all.push_back(std::move(units));
    }
    return all;
}

// All units of those groups that hold one of the given ones.
std::vector<unsigned> around(const std::vector<unsigned> &units, const std::vector<std::vector<unsigned>> &groups) {
    std::vector<unsigned> v;
    for (const auto &g : groups) {
        if (std::any_of(g.begin(), g.end(), [&](unsigned u) { return contains(units, u); })) {
            v.insert(v.end(), g.begin(), g.end());
        }
    }
    return v;
}

// Of all threads of a process but an interrupt thread, which may share ours (smartint_cores). A process that is over or
// cannot be seen has none. Most threads of a rank may run where its others do: their names need not be read, which
// takes ten times as long as all else.
void add_units_of(std::uint32_t pid, cpu_set_t *units) {
    std::error_code none;
    const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
    for (std::filesystem::directory_iterator task(tasks, none), end; task != end; task.increment(none)) {
        const pid_t thread = std::atoi(task->path().filename().c_str());
        cpu_set_t set;
        CPU_ZERO(&set);
        if (thread <= 0 || 0 != sched_getaffinity(thread, sizeof(set), &set)) { // 0 would be us
            continue;
        }
        cpu_set_t both;
        CPU_OR(&both, units, &set);
        if (CPU_EQUAL(&both, units)) {
            continue;
        }
        std::string name;
        std::getline(std::ifstream(task->path() / "comm"), name);
        if (layout::thread_name != name) {
            *units = both;
        }
    }
}

} // namespace

int choose_unit(const std::vector<unsigned> &allowed, const std::vector<unsigned> &taken,
                const std::vector<unsigned> &near, unsigned index) {
    for (const bool close : {true, false}) {
        for (const unsigned u : allowed) {
            if (!contains(taken, u) && contains(near, u) == close && 0 == index--) {
                return static_cast<int>(u);
            }
        }
    }
    return -1;
}

void leave_binding(const options &o) {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (0 != o.launcher && 0 == sched_getaffinity(static_cast<pid_t>(o.launcher), sizeof(set), &set)) {
        sched_setaffinity(0, sizeof(set), &set);
    }
}

void placement::begin(const segment &board) {
    bound_ = units_of_ranks(board);
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof(set), &set);
    allowed_ = units_of(set);
    hwloc_topology_t machine = nullptr;
    if (0 != hwloc_topology_init(&machine)) {
        return;
    }
    if (0 == hwloc_topology_load(machine)) {
        cores_ = groups_of(machine, HWLOC_OBJ_CORE);
        domains_ = groups_of(machine, HWLOC_OBJ_NUMANODE);
    }
    hwloc_topology_destroy(machine);
}

int placement::choose(const segment &board, const std::vector<std::uint32_t> &pids, const options &o) {
    if (allowed_.empty()) {
        begin(board);
    }
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const unsigned u : bound_) {
        CPU_SET(u, &set);
    }
    for (const std::uint32_t pid : pids) {
        add_units_of(pid, &set);
    }
    const std::vector<unsigned> ranks = units_of(set);
    std::vector<unsigned> allowed = allowed_;
    // The other threads of a rank's core are not idle: who polls there slows that rank.
    std::vector<unsigned> taken = around(ranks, cores_);
    taken.insert(taken.end(), ranks.begin(), ranks.end());
    if (o.cores.empty()) {
        std::vector<unsigned> busy = load_.busy(unit_);
        for (const unsigned other : units_of_others(board, o.index)) { // which share the free ones by their numbers
            std::erase(busy, other);
        }
        const std::vector<unsigned> beside = around(busy, cores_);
        taken.insert(taken.end(), busy.begin(), busy.end());
        taken.insert(taken.end(), beside.begin(), beside.end());
    } else {
        parse_cpu_list(o.cores, &allowed); // checked by the rank that started us
        taken.clear();
        // It may be one list for machines of several kinds, and others' units are not ours to use (cpusets).
        std::erase_if(allowed, [](unsigned u) { return !bind_to({u}); });
    }
    unit_ = choose_unit(allowed, taken, around(ranks, domains_), o.index);
    if (unit_ < 0 || !bind_to({static_cast<unsigned>(unit_)})) {
        unit_ = -1;
        bind_to(allowed_);
    }
    return unit_;
}

} // namespace smartint::daemon
