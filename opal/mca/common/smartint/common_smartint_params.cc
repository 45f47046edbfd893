// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "common_smartint_params.h"

#include <sched.h>
#include <unistd.h>

#include <cstdlib>

#include "common_smartint_devices.h"

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

// The list must be well formed and name at least one processing unit this process may use.
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

} // namespace

bool check_params(const params &p, std::string *name, std::string *value, std::string *remedy) {
    strategy_kind s{};
    rendezvous_kind r{};
    wake_kind w{};
#define SMARTINT_STRING(n, def, level, help)
#define SMARTINT_NUMBER(n, def, lowest, highest, level, help)                                                          \
    if (p.n < (lowest) || p.n > (highest)) {                                                                           \
        *name = #n;                                                                                                    \
        *value = std::to_string(p.n);                                                                                  \
        *remedy = "use a number from " #lowest " to " #highest;                                                        \
        return false;                                                                                                  \
    }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtype-limits"
#include "common_smartint_params.def"
#pragma GCC diagnostic pop
#undef SMARTINT_STRING
#undef SMARTINT_NUMBER
    if (!parse_strategy(p.progress, &s)) {
        *name = "progress";
        *value = p.progress;
        *remedy = "use none, poll, interrupt or helper";
        return false;
    }
    if (!parse_wake(p.wake, &w)) {
        *name = "wake";
        *value = p.wake;
        *remedy = "use auto, eventfd or module";
        return false;
    }
    if (!parse_rendezvous(p.rendezvous, &r)) {
        *name = "rendezvous";
        *value = p.rendezvous;
        *remedy = "use auto, read, write or copy";
        return false;
    }
    if (0 != (p.ring_bytes & (p.ring_bytes - 1))) {
        *name = "ring_bytes";
        *value = std::to_string(p.ring_bytes);
        *remedy = "use a power of two";
        return false;
    }
    if ("tcp" != p.transport && "rc" != p.transport && "ud" != p.transport && "none" != p.transport) {
        *name = "transport";
        *value = p.transport;
        *remedy = "use tcp, rc, ud or none";
        return false;
    }
    if (device_list d; !d.parse(p.device)) {
        *name = "device";
        *value = p.device;
        *remedy = "use any, or names of devices and subnets such as eth0,10.1.0.0/16, or those that are not to be used "
                  "with ^ in front";
        return false;
    }
    if (p.directory.empty() || '/' != p.directory[0]) {
        *name = "directory";
        *value = p.directory;
        *remedy = "use the absolute path of a directory in memory";
        return false;
    }
    if ("auto" != p.network && "always" != p.network) {
        *name = "network";
        *value = p.network;
        *remedy = "use auto or always";
        return false;
    }
    if ("auto" != p.idle_cores && "yes" != p.idle_cores && "no" != p.idle_cores) {
        *name = "idle_cores";
        *value = p.idle_cores;
        *remedy = "use auto, yes or no";
        return false;
    }
    if (!usable_cpus(p.cores, remedy)) {
        *name = "cores";
        *value = p.cores;
        return false;
    }
    if (!usable_cpus(p.helper_cores, remedy)) {
        *name = "helper_cores";
        *value = p.helper_cores;
        return false;
    }
    return true;
}

} // namespace smartint
