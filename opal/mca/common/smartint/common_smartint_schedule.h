// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// How soon a thread that is woken gets the processor that somebody computes on.
#pragma once

#include <cstdint>

namespace smartint {

// The calling thread works for a moment at a time and should begin at once: from Linux 6.12 on a thread that asks
// for turns of `us` (100 to 100000) microseconds comes before one in the middle of a longer turn, and has
// no more of the processor than others for that. Takes no privilege. 0: leave it. False: the kernel has
// refused; older ones take the wish and ignore it.
bool ask_for_short_turns(std::uint32_t us);

} // namespace smartint
