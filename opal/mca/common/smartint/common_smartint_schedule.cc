// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "common_smartint_schedule.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace smartint {
namespace {

// What the kernel calls sched_attr, in its first version; the C library here has no name for it.
struct attributes {
    std::uint32_t size;
    std::uint32_t policy;
    std::uint64_t flags;
    std::int32_t nice;
    std::uint32_t priority;
    std::uint64_t runtime; // ns; of an ordinary thread: its turn
    std::uint64_t deadline;
    std::uint64_t period;
};
static_assert(sizeof(attributes) == 48);

} // namespace

bool ask_for_short_turns(std::uint32_t us) {
    if (0 == us) {
        return true;
    }
    attributes a{};
    if (0 != syscall(SYS_sched_getattr, 0, &a, sizeof(a), 0) || SCHED_OTHER != a.policy) {
        return false; // real-time and batch are somebody's decision
    }
    a.size = sizeof(a);
    a.runtime = us * 1000ULL;
    return 0 == syscall(SYS_sched_setattr, 0, &a, 0);
}

} // namespace smartint
