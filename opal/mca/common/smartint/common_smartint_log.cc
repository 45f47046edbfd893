// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "common_smartint_log.h"

#include <atomic>
#include <cstdio>
#include <mutex>
#include <string>

namespace smartint {
namespace {

constexpr unsigned topics = static_cast<unsigned>(topic::count_);

struct state {
    std::mutex lock;
    std::string value[topics];
    std::string detail[topics];
    std::uint64_t process[topics]{};
    bool kept[topics]{};
    bool told[topics]{};
    std::atomic<bool> pending{false};
    reporter out = nullptr;
};

state &the_state() {
    static auto *s = new state; // never destroyed: destructors of the program's may communicate
    return *s;
}

void to_stderr(const report &r) {
    std::fprintf(stderr, "smartint: %s: %s %s\n", topic_name(r.what), r.value, r.detail);
}

} // namespace

const char *topic_name(topic t) {
    static constexpr const char *names[] = {"none",        "no-segment",     "bad-segment",    "no-helper",
                                            "helper-lost", "helper-network", "no-transport",   "no-thread",
                                            "no-wake",     "no-module",      "no-direct-copy", "not-registered",
                                            "broken-ring", "bad-parameter",  "lost-peer"};
    static_assert(sizeof(names) / sizeof(names[0]) == topics);
    return names[static_cast<unsigned>(t)];
}

void set_reporter(reporter r) { the_state().out = r; }

void tell(topic what, const char *value, const char *detail, std::uint64_t process) {
    state &s = the_state();
    const std::lock_guard<std::mutex> hold(s.lock);
    const auto i = static_cast<unsigned>(what);
    if (s.told[i] || s.kept[i]) {
        return;
    }
    s.kept[i] = true;
    s.value[i] = value;
    s.detail[i] = detail;
    s.process[i] = process;
    s.pending.store(true, std::memory_order_relaxed); // a hint; the lock orders the rest
}

bool reports_pending() { return the_state().pending.load(std::memory_order_relaxed); }

void flush_reports() {
    state &s = the_state();
    // First: what is told from here on, by a reporter too, is pending again.
    s.pending.store(false, std::memory_order_relaxed);
    for (unsigned i = 0; i < topics; ++i) {
        report r;
        std::string value;
        std::string detail;
        {
            const std::lock_guard<std::mutex> hold(s.lock);
            if (!s.kept[i]) {
                continue;
            }
            s.kept[i] = false;
            s.told[i] = true;
            value = s.value[i];
            detail = s.detail[i];
            r.process = s.process[i];
        }
        r.what = static_cast<topic>(i);
        r.value = value.c_str();
        r.detail = detail.c_str();
        (nullptr != s.out ? s.out : to_stderr)(r);
    }
}

} // namespace smartint
