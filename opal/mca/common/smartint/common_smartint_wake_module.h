// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// The kernel module smartint.ko (kmod/), where there is one. A descriptor of it is slept on, rung and
// copied as an eventfd is; besides, whoever knows the job's secret wakes its ranks by their numbers, with
// no right to access the other process and no descriptor per rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "common_smartint_layout.h"
#include "common_smartint_params.h"

namespace smartint {

// What tells a user's jobs apart; the secret is the board's.
struct wake_identity {
    std::uint32_t job = 0;
    std::uint64_t secret_hi = 0;
    std::uint64_t secret_lo = 0;
};

inline wake_identity identity_of(const layout::segment_header &h) { return {h.job, h.secret_hi, h.secret_lo}; }

// Who sleeps has a number: a rank its slot, a helper one behind all slots.
constexpr std::uint32_t helper_number(unsigned index) { return layout::max_slots + index; }

// A nonblocking descriptor to sleep on, or -errno and *why.
int module_sleeper(const wake_identity &who, std::uint32_t number, std::string *why);
// One to wake by, or -errno.
int module_waker(const wake_identity &who);
// A file of the module's device.
bool is_modules_file(int fd);
// Wakes those numbered, in order, up to the first that nobody has: how many.
unsigned module_wake(int waker, const std::uint32_t *numbers, std::size_t count);

// By the module if how allows it, else an eventfd. Where the module was asked for and is not to be
// had, the user is told.
int wake_descriptor(wake_kind how, const wake_identity &who, std::uint32_t number);

} // namespace smartint
