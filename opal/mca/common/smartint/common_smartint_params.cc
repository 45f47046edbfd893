// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "common_smartint_params.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <initializer_list>

#include "common_smartint_devices.h"
#include "common_smartint_layout.h"

namespace smartint {

bool parse_strategy(const std::string &s, strategy_kind *out) {
    if ("none" == s) {
        *out = strategy_kind::none;
    } else if ("poll" == s) {
        *out = strategy_kind::poll;
    } else if ("interrupt" == s) {
        *out = strategy_kind::interrupt;
    } else if ("helper" == s) {
        *out = strategy_kind::helper;
    } else {
        return false;
    }
    return true;
}

bool parse_wake(const std::string &s, wake_kind *out) {
    if ("auto" == s) {
        *out = wake_kind::automatic;
    } else if ("eventfd" == s) {
        *out = wake_kind::eventfd;
    } else if ("module" == s) {
        *out = wake_kind::module;
    } else {
        return false;
    }
    return true;
}

bool parse_rendezvous(const std::string &s, rendezvous_kind *out) {
    if ("auto" == s) {
        *out = rendezvous_kind::automatic;
    } else if ("read" == s) {
        *out = rendezvous_kind::read;
    } else if ("write" == s) {
        *out = rendezvous_kind::write;
    } else if ("copy" == s) {
        *out = rendezvous_kind::copy;
    } else {
        return false;
    }
    return true;
}

bool number_within(const std::string &s, std::uint64_t lowest, std::uint64_t highest) {
    if (s.empty() || s[0] < '0' || s[0] > '9') {
        return false;
    }
    char *end = nullptr;
    errno = 0;
    const std::uint64_t n = std::strtoull(s.c_str(), &end, 0);
    unsigned shift = 0;
    switch (*end) {
    case 'k':
    case 'K':
        shift = 10;
        break;
    case 'm':
    case 'M':
        shift = 20;
        break;
    case 'g':
    case 'G':
        shift = 30;
        break;
    default:
        break;
    }
    if (0 != shift) {
        ++end;
    }
    return 0 == errno && s.c_str() + s.size() == end && n <= highest >> shift && n << shift >= lowest;
}

bool rings_are_reused(const params &p) {
#if defined(__x86_64__)
    const bool amd = __builtin_cpu_is("amd");
#else
    const bool amd = false;
#endif
    return "yes" == p.ring_reuse || ("auto" == p.ring_reuse && amd);
}

bool parse_cpu_list(const std::string &s, std::vector<unsigned> *out) {
    out->clear();
    const char *p = s.c_str();
    while (0 != *p) {
        char *end = nullptr;
        if (*p < '0' || *p > '9') {
            return false;
        }
        const unsigned long first = std::strtoul(p, &end, 10);
        unsigned long last = first;
        p = end;
        if ('-' == *p) {
            ++p;
            if (*p < '0' || *p > '9') {
                return false;
            }
            last = std::strtoul(p, &end, 10);
            p = end;
        }
        if (last < first || last >= CPU_SETSIZE) {
            return false;
        }
        for (unsigned long c = first; c <= last; ++c) {
            out->push_back(static_cast<unsigned>(c));
        }
        if (',' == *p) {
            ++p;
            if (0 == *p) {
                return false;
            }
        } else if (0 != *p) {
            return false;
        }
    }
    return true;
}

namespace {

// The list must be well formed and name at least one processing unit that exists. Whether this process may use it is
// not looked at.
bool usable_cpus(const std::string &list, std::string *remedy) {
    std::vector<unsigned> cpus;
    if (!parse_cpu_list(list, &cpus)) {
        *remedy = "use a list of processing units such as 3,7 or 8-11";
        return false;
    }
    const long count = sysconf(_SC_NPROCESSORS_CONF);
    for (const unsigned c : cpus) {
        if (static_cast<long>(c) < count) {
            return true;
        }
    }
    if (cpus.empty()) {
        return true;
    }
    *remedy = "this node has processing units 0 to " + std::to_string(count - 1);
    return false;
}

struct highest_of {
#define SMARTINT_STRING(n, def, level, help)
#define SMARTINT_NUMBER(n, def, lowest, highest, level, help) static constexpr std::uint64_t n = highest;
#include "common_smartint_params.def"
#undef SMARTINT_STRING
#undef SMARTINT_NUMBER
};
static_assert(highest_of::helpers <= layout::max_helpers);

} // namespace

bool check_params(const params &p, std::string *name, std::string *value, std::string *remedy) {
    strategy_kind s{};
    rendezvous_kind r{};
    wake_kind w{};
    device_list d;
    const auto refuse = [&](const char *n, const std::string &v, const std::string &what_to_do) {
        *name = n;
        *value = v;
        *remedy = what_to_do;
        return false;
    };
    const auto one_of = [](const std::string &v, std::initializer_list<const char *> words) {
        return std::find(words.begin(), words.end(), v) != words.end();
    };
#define SMARTINT_STRING(n, def, level, help)
#define SMARTINT_NUMBER(n, def, lowest, highest, level, help)                                                          \
    if (p.n < (lowest) || p.n > (highest)) {                                                                           \
        return refuse(#n, std::to_string(p.n), "use a number from " #lowest " to " #highest);                          \
    }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtype-limits"
#include "common_smartint_params.def"
#pragma GCC diagnostic pop
#undef SMARTINT_STRING
#undef SMARTINT_NUMBER
    if (!parse_strategy(p.progress, &s)) {
        return refuse("progress", p.progress, "use none, poll, interrupt or helper");
    }
    if (!parse_wake(p.wake, &w)) {
        return refuse("wake", p.wake, "use auto, eventfd or module");
    }
    if (!parse_rendezvous(p.rendezvous, &r)) {
        return refuse("rendezvous", p.rendezvous, "use auto, read, write or copy");
    }
    if (0 != (p.ring_bytes & (p.ring_bytes - 1))) {
        return refuse("ring_bytes", std::to_string(p.ring_bytes), "use a power of two");
    }
    if (!one_of(p.transport, {"tcp", "rc", "ud", "none"})) {
        return refuse("transport", p.transport, "use tcp, rc, ud or none");
    }
    if (!d.parse(p.device)) {
        return refuse("device", p.device,
                      "use any, or names of devices and subnets such as eth0,10.1.0.0/16, or those that are not to be "
                      "used with ^ in front");
    }
    if (p.directory.empty() || '/' != p.directory[0]) {
        return refuse("directory", p.directory, "use the absolute path of a directory in memory");
    }
    if (!one_of(p.network, {"auto", "always"})) {
        return refuse("network", p.network, "use auto or always");
    }
    if (!one_of(p.idle_cores, {"auto", "yes", "no"})) {
        return refuse("idle_cores", p.idle_cores, "use auto, yes or no");
    }
    if (!one_of(p.ring_reuse, {"auto", "yes", "no"})) {
        return refuse("ring_reuse", p.ring_reuse, "use auto, yes or no");
    }
    std::string unusable;
    if (!usable_cpus(p.cores, &unusable)) {
        return refuse("cores", p.cores, unusable);
    }
    if (!usable_cpus(p.helper_cores, &unusable)) {
        return refuse("helper_cores", p.helper_cores, unusable);
    }
    return true;
}

} // namespace smartint
