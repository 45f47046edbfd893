// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// How the engine speaks to the user without knowing Open MPI: the glue installs a reporter
// that prints a help topic, each once per process; unit tests install their own or get stderr.
// The helper, whose stderr is /dev/null, says nothing. The first function that decides about
// a failure reports it, callers pass it on.
#pragma once

#include <cstdint>

namespace smartint {

// Topics are the section names of help-common-smartint.txt.
enum class topic : std::uint8_t {
    none,
    no_segment,     // value: path, detail: why
    bad_segment,    // value: file name, detail: what was expected
    no_helper,      // value: path of the helper, detail: why
    helper_lost,    // value: pid
    helper_network, // value: transport/device, detail: why
    no_transport,   // value: transport/device, detail: what there is
    no_thread,      // detail: why
    no_wake,        // detail: why
    no_module,      // value: device, detail: why
    no_direct_copy, // detail: why
    not_registered, // value: bytes, detail: why
    broken_ring,    // detail: what
    bad_parameter,  // value: name = value, detail: remedy
    lost_peer,      // value: peer, detail: why
    count_
};

struct report {
    topic what = topic::none;
    const char *value = "";
    const char *detail = "";
    std::uint64_t process = 0; // the one it is about, as endpoints are named; 0: none
};

using reporter = void (*)(const report &);

void set_reporter(reporter r);

// Safe in any thread: the report is kept and given to the reporter by the application
// thread (flush_reports), at most once per topic and process.
void tell(topic what, const char *value, const char *detail, std::uint64_t process = 0);
bool reports_pending();
void flush_reports();

const char *topic_name(topic t);

} // namespace smartint
