// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Whether the UCX that is found at run time is one that this build can use. UCX's lower layer fills structs of its
// caller's, as large as its headers had them: an older library leaves fields as they were, or lacks functions, and the
// process would crash where it first counts on one.
#pragma once

#include <string>

namespace smartint {

struct ucx_version {
    unsigned major = 0;
    unsigned minor = 0;
};

// A library of the same major version, as old or newer, serves.
constexpr bool ucx_serves(ucx_version built, ucx_version running) {
    return built.major == running.major && built.minor <= running.minor;
}

// Of the libuct that this process uses. False: it cannot be told, as it comes without the library that knows.
bool running_ucx(ucx_version *out);

// What is wrong with the running one, and the remedy, for the user; empty: nothing, or it cannot be told.
std::string ucx_problem();
std::string ucx_problem(ucx_version built, ucx_version running);

} // namespace smartint
