// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "smartintd_place.h"

#include <hwloc.h>
#include <sched.h>

#include <algorithm>

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

bool bind(unsigned unit) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(unit, &one);
    return 0 == sched_setaffinity(0, sizeof(one), &one);
}

// What hwloc knows of this machine; nothing where it can't say.
class machine {
public:
    machine() {
        if (0 == hwloc_topology_init(&topology_) && 0 != hwloc_topology_load(topology_)) {
            hwloc_topology_destroy(topology_);
            topology_ = nullptr;
        }
    }
    ~machine() {
        if (nullptr != topology_) {
            hwloc_topology_destroy(topology_);
        }
    }
    machine(const machine &) = delete;
    machine &operator=(const machine &) = delete;

    // Units of the objects of this type that hold one of the given ones.
    std::vector<unsigned> around(const std::vector<unsigned> &units, hwloc_obj_type_t type) const {
        std::vector<unsigned> v;
        const int objects = nullptr == topology_ ? 0 : hwloc_get_nbobjs_by_type(topology_, type);
        for (int i = 0; i < objects; ++i) {
            hwloc_obj_t object = hwloc_get_obj_by_type(topology_, type, static_cast<unsigned>(i));
            const bool used = std::any_of(units.begin(), units.end(),
                                          [&](unsigned u) { return 0 != hwloc_bitmap_isset(object->cpuset, u); });
            if (!used) {
                continue;
            }
            for (int u = hwloc_bitmap_first(object->cpuset); u >= 0; u = hwloc_bitmap_next(object->cpuset, u)) {
                v.push_back(static_cast<unsigned>(u));
            }
        }
        return v;
    }

private:
    hwloc_topology_t topology_ = nullptr;
};

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

int place(const segment &board, const options &o) {
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof(set), &set);
    std::vector<unsigned> allowed = units_of(set);
    const machine here;
    const std::vector<unsigned> ranks = units_of_ranks(board);
    // The other threads of a rank's core are not idle: who polls there slows that rank.
    std::vector<unsigned> taken = here.around(ranks, HWLOC_OBJ_CORE);
    taken.insert(taken.end(), ranks.begin(), ranks.end());
    if (!o.cores.empty()) {
        parse_cpu_list(o.cores, &allowed); // checked by the rank that started us
        taken.clear();
        // It may be one list for machines of several kinds, and others' units are not ours to use (cpusets).
        std::erase_if(allowed, [](unsigned u) { return !bind(u); });
        sched_setaffinity(0, sizeof(set), &set);
    }
    const int unit = choose_unit(allowed, taken, here.around(ranks, HWLOC_OBJ_NUMANODE), o.index);
    return unit >= 0 && bind(static_cast<unsigned>(unit)) ? unit : -1;
}

} // namespace smartint::daemon
