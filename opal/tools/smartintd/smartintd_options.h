// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// What the node's first rank tells the helper by its command line.
#pragma once

#include <cstdint>
#include <string>

#include "common_smartint_params.h"

namespace smartint::daemon {

struct options {
    unsigned index = 0;          // which of the node's helpers this is
    std::uint32_t turn_us = 0;   // turns to ask the scheduler for, 0: none
    std::uint32_t poll_us = 200; // polling after the last event, on a core of its own
    std::string cores;           // processing units it may be bound to; empty: find one
    std::string transport = "tcp";
    std::string device = "any";
    wake_kind wake = wake_kind::automatic;
    std::string board;          // path, to take the name away once all ranks are in
    std::uint32_t launcher = 0; // process whose processing units the job may use
};

// False, with *problem naming the argument, on anything it does not know.
bool parse_options(int argc, char **argv, options *out, std::string *problem);

} // namespace smartint::daemon
