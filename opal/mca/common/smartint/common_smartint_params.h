// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// The parameters as the engine sees them. The glue fills them from MCA variables; unit
// tests set them directly.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace smartint {

struct params {
#define SMARTINT_STRING(name, def, level, help) std::string name = def;
#define SMARTINT_NUMBER(name, def, lowest, highest, level, help) std::uint32_t name = def;
#include "common_smartint_params.def"
#undef SMARTINT_STRING
#undef SMARTINT_NUMBER
};

enum class strategy_kind { none, poll, interrupt, helper };
enum class wake_kind { automatic, eventfd, module };
enum class rendezvous_kind { automatic, read, write, copy };

// Check ranges and words. On failure *name, *value and *remedy are filled in, for the user; nothing is
// corrected here. (eager_limit may later be capped by the ring, network_eager_limit and
// write_bytes by the transport.)
bool check_params(const params &p, std::string *name, std::string *value, std::string *remedy);

// Whether this is what Open MPI reads whole as a number without a sign (decimal, 0x and 0, with one of k, m, g behind
// it), and in range.
bool number_within(const std::string &s, std::uint64_t lowest, std::uint64_t highest);

bool parse_strategy(const std::string &s, strategy_kind *out);
bool parse_wake(const std::string &s, wake_kind *out);
bool parse_rendezvous(const std::string &s, rendezvous_kind *out);
// ring_reuse, on this processor.
bool rings_are_reused(const params &p);
// "3,7" or "8-11": processing units below 1024, in order. False: malformed.
bool parse_cpu_list(const std::string &s, std::vector<unsigned> *out);

} // namespace smartint
