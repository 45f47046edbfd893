// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// helper: SmartInterrupts (SI 4.2, 4.3.3). The thread sleeps until the board or the helper
// finds that this rank can make progress and is not making it. Awake, it runs the engine
// under the gate, copies outside it, and, while transfers are under way, drains the network
// by a paced timer rather than at every packet. It goes back to sleep when nothing is left
// or when the application is in the engine, which then rings when it leaves.
#include "common_smartint_strategy_helper.h"

#include <algorithm>
#include <fstream>
#include <utility>

#include "common_smartint_log.h"
#include "common_smartint_schedule.h"

namespace smartint {
namespace {

constexpr std::uint32_t quiet_us = 5000; // between looks at a transfer that stands still
constexpr std::uint32_t soon_us = 500;   // the first of them, halved
constexpr std::uint32_t locked_retry_us = 50;
constexpr std::uint64_t last_bytes = 12288; // of what is awaited: they are listened for
constexpr std::int64_t shortest_sample_us = 100;
constexpr std::uint32_t most_vain = 4;        // wakes by the transport, see on_descriptor
constexpr std::uint32_t most_idle_looks = 4;  // in a row, while the application calls often
constexpr std::uint32_t worth_a_nap_us = 150; // a sleep by the clock instead of one wake per segment

// There is nothing that the thread could wait for.
bool idle(const thread_view &view) {
    return !view.matched && !view.network && !view.copies && !view.listens && !view.awaited && !view.expects;
}

// What a socket's buffer for what arrives may grow to here; 0: not known.
std::uint64_t held_by_sockets() {
    std::uint64_t least = 0, usual = 0, most = 0;
    std::ifstream("/proc/sys/net/ipv4/tcp_rmem") >> least >> usual >> most;
    return most;
}

bool wanted(const thread_view &view) { return view.more || !idle(view); }

} // namespace

helper_strategy::helper_strategy() : pace_(held_by_sockets()) {}

void helper_strategy::run(interrupt_thread &t) {
    ask_for_short_turns(t.the_engine().settings().turn_us);
    serve(t, {}); // what began before there was a thread that could be rung
    while (!t.stop_requested()) {
        const auto causes = t.sleep();
        if (causes.lost || t.stop_requested()) {
            break;
        }
        serve(t, causes);
    }
}

void helper_strategy::count(engine &e, const interrupt_thread::causes &c, bool woken) {
    stats &s = e.counters();
    if (0 != c.rings) {
        s.add(woken ? stat::wakes_match : stat::wakes_self);
    }
    if (c.transport) {
        s.add(stat::wakes_transport);
    }
    if (c.timer || c.postponed) {
        s.add(stat::wakes_timer);
    }
}

// The application is in the engine and makes the progress itself: sleep until it leaves.
// True: it is really in; false: try again.
bool helper_strategy::park_behind_application(interrupt_thread &t) {
    engine &e = t.the_engine();
    if (gate::mode::locked == e.the_gate().current_mode()) {
        t.set_timer(locked_retry_us); // some thread has the mutex for a moment
        return true;
    }
    t.hush();
    if (often_) { // it would ring at the end of this call, and of the next one
        e.note_sleep(engine::sleep::short_or_none);
        t.set_timer(call_rate_.nap_us());
        return true;
    }
    t.set_timer(0);
    e.note_sleep(engine::sleep::parked);
    e.give_way();
    if (e.the_gate().application_inside()) {
        return true;
    }
    e.note_sleep(engine::sleep::short_or_none);
    return false;
}

// From a look behind a pass: how fast data comes, and whether wakes and looks are of use.
// vain: this wake, by the transport, has brought nothing yet.
void helper_strategy::learn(engine &e, const interrupt_thread::causes &causes, unsigned events, bool *vain,
                            thread_view *view) {
    const bool flows = view->network || view->expects || view->awaited;
    const auto now = flows || view->matched ? std::chrono::steady_clock::now() : arrival_rate::time{};
    rate_.look(view->moved.both(), flows, now);
    if (patience_.over(view->matched, 0 != events, now)) {
        e.counters().add(stat::wakes_futile);
        view->matched = e.give_up_matches();
    }
    if (0 != events) {
        vain_ = 0;
    } else if (std::exchange(*vain, false)) {
        ++vain_;
    }
    const bool nothing = idle(*view);
    idle_looks_ = nothing ? idle_looks_ + 1 : 0;
    // who came only because it was late goes again
    often_ = often_ && idle_looks_ < most_idle_looks && !(nothing && 0 == causes.rings && !causes.timer);
}

// Before the gate opens: whoever leaves later rings, or has the thread hear. True: the transport has something already.
bool helper_strategy::before_sleep(interrupt_thread &t, const thread_view &view, unsigned events) {
    engine &e = t.the_engine();
    // A transport that tells by events must be made to, and refuses while there are some.
    const bool more = !view.copies && on_descriptor(view, events) && !e.arm_network();
    if (idle(view) && !often_) {
        t.hush();
        e.note_sleep(engine::sleep::parked);
    } else if (!view.copies && without_timer(view, events)) {
        e.note_sleep(engine::sleep::listens);
    }
    return more;
}

void helper_strategy::serve(interrupt_thread &t, const interrupt_thread::causes &causes) {
    engine &e = t.the_engine();
    // Rung by others too, or by this rank alone?
    const std::uint64_t own = e.take_self_rings(causes.rings);
    const bool woken = causes.rings > own;
    count(e, causes, woken);
    e.note_woken(woken);
    unsigned events = 0;
    bool waited_for_copies = false;
    bool late = causes.postponed || e.timer_missed();
    thread_view view;
    often_ = call_rate_.often(e.calls(), std::chrono::steady_clock::now());
    bool called = 0 != causes.rings || causes.transport || causes.timer || late; // else it has only been made
    bool vain = causes.transport && 0 == causes.rings;
    if (0 != causes.rings) {
        vain_ = 0;
    }
    while (!t.stop_requested()) {
        if (!e.the_gate().claim()) {
            if (e.the_gate().out_of_use()) {
                tell(topic::no_thread, "membarrier", "the kernel refuses since this process began");
                t.set_timer(0);
                t.hush();
                return;
            }
            if (late) {
                e.note_timer_missed(true); // before parking: whoever leaves without having looked rings
            }
            if (!park_behind_application(t)) {
                continue;
            }
            if (0 != causes.rings && 0 == events) {
                e.counters().add(stat::wakes_busy);
            }
            patience_.over(false, false, {}); // the application waits by itself
            return;
        }
        e.note_sleep(engine::sleep::short_or_none);
        e.thread_begins();
        if (called || wanted(e.look())) { // what arrives is the application's where nothing is asked for
            events += e.pass(true);
        }
        called = true;
        if (late || waited_for_copies) { // no timer is heard between its pieces
            late = false;
            e.take_what_is_postponed();
        }
        view = e.look();
        learn(e, causes, events, &vain, &view);
        const bool more = before_sleep(t, view, events);
        e.thread_ends();
        e.the_gate().release();
        if (!view.copies) {
            if (more || view.more || e.wanted_again()) {
                continue;
            }
            break;
        }
        waited_for_copies = true;
        if (e.work_on_copies()) {
            ++events;
        } else if (e.the_gate().application_inside()) {
            continue; // parks at the claim
        }
    }
    if (woken && 0 == events && !view.matched && !waited_for_copies) {
        e.counters().add(stat::wakes_futile);
    }
    sleep_how(t, view, events);
}

// Will sleep_how() have the thread sleep on the transport's descriptor? While much data is under way the
// clock is kinder to the application, while it flows; what is waited for alone comes when it comes. By the clock, too,
// where the descriptor woke it in vain time after time: tcp's is ready all the time while a peer that computes has not
// answered the first word of this one.
bool helper_strategy::on_descriptor(const thread_view &view, unsigned events) const {
    if (view.transport < 0 || (often_ && !view.matched)) {
        return false;
    }
    if (vain_ >= most_vain && (view.network || view.expects || view.awaited || view.matched)) {
        return false;
    }
    if ((view.network || view.expects) && !view.awaited) {
        return 0 == events && (view.matched || quiet_ > 0);
    }
    if (view.awaited && 0 != events && 0 != rate_.nearly_here_us(view.due)) {
        return false; // it flows, and how much of it is to come is known
    }
    return view.matched || view.awaited || view.listens;
}

// Will it do so with nothing but the descriptor to wake it? Not for what the transport does not know of. What may
// never come needs no backstop: the descriptor tells.
bool helper_strategy::without_timer(const thread_view &view, unsigned events) const {
    return !often_ && !view.matched && !view.network && !view.awaited &&
           (!view.expects || (0 == events && on_descriptor(view, events)));
}

void helper_strategy::sleep_how(interrupt_thread &t, const thread_view &view, unsigned events) {
    engine &e = t.the_engine();
    const traffic moved{view.moved.arrived - moved_before_.arrived, view.moved.other - moved_before_.other};
    moved_before_ = view.moved;
    const bool watch = on_descriptor(view, events);
    const bool flows = view.network || view.expects;
    const bool timer = !without_timer(view, events);
    if (!view.matched && !flows && !view.awaited) {
        quiet_ = 0;
        t.set_timer(0);
    } else if (0 != events) {
        quiet_ = 0;
        if (flows) {
            pace_.adapt(moved, e.settings().pace_us);
        }
        const std::uint32_t nap = view.awaited ? rate_.nearly_here_us(view.due) : 0;
        std::uint32_t pace = flows || !watch ? pace_.us() : quiet_us;
        if (const std::uint32_t end = rate_.here_us(view.coming); flows && 0 != end) { // whoever sent it may wait
            pace = std::max(std::min(pace, end), e.settings().pace_us);
        }
        t.set_timer(0 == nap ? pace : flows ? std::min(nap, pace) : nap);
    } else {
        // Nothing this time. Data under way: once more by the clock; else sleep on the
        // descriptor, with a slow timer as a backstop.
        ++quiet_;
        const std::uint32_t wait = std::min(quiet_us, std::min(pace_.us(), soon_us) << std::min(quiet_, 6U));
        t.set_timer(timer ? wait : 0);
    }
    if (often_ && !flows && !view.matched) { // by the clock, as long as that goes on
        t.set_timer(call_rate_.nap_us());
    }
    if (watch) {
        t.watch_transport(view.transport);
    } else if (!idle(view) && (0 != events || (!view.matched && !flows))) {
        t.hush();
    }
}

// Half of it is the kernel's own; and what is never found, as there is no room for it, would never be too much.
look_pace::look_pace(std::uint64_t held) : arrives_(0 == held ? little_per_look : std::min(held / 2, most_per_look)) {}

void look_pace::adapt(const traffic &moved, std::uint32_t fastest_us) {
    const std::uint64_t aim = moved.arrived > moved.other ? arrives_ : little_per_look;
    if (moved.both() < aim / 2) {
        us_ += us_ / 2;
    } else if (moved.both() > aim / 4 * 5) {
        us_ /= 2;
    }
    us_ = std::max(std::min(us_, slowest_us), fastest_us);
}

bool notice_patience::over(bool matched, bool came, time now) {
    if (!matched || came || !waits_) {
        since_ = now;
        waits_ = matched;
        return false;
    }
    waits_ = now - since_ < most;
    return !waits_;
}

bool call_rate::often(std::uint32_t calls, time now) {
    const std::uint32_t n = calls - calls_;
    const bool is = n >= 2 && now - looked_ <= n * close;
    nap_us_ = !is ? shortest_us : std::min(2 * nap_us_, longest_us);
    calls_ = calls;
    looked_ = now;
    return is;
}

void arrival_rate::look(std::uint64_t moved, bool flows, time now) {
    if (flowed_ && flows) {
        const auto us = std::chrono::duration_cast<std::chrono::microseconds>(now - looked_).count();
        if (us < shortest_sample_us) {
            return; // several looks in a row are one
        }
        if (moved != moved_) {
            rate_ = std::max(rate_ - rate_ / 8, (moved - moved_) * 1024 / static_cast<std::uint64_t>(us));
        }
    }
    moved_ = moved;
    looked_ = now;
    flowed_ = flows;
}

std::uint32_t arrival_rate::nearly_here_us(std::uint64_t due) const {
    if (0 == rate_ || due <= last_bytes) {
        return 0;
    }
    const std::uint64_t us = std::min<std::uint64_t>((due - last_bytes) * 1024 / rate_, look_pace::slowest_us);
    return us < worth_a_nap_us ? 0 : static_cast<std::uint32_t>(us);
}

// The rate is the best of late, so that it takes rather longer: a look too early is one too many.
std::uint32_t arrival_rate::here_us(std::uint64_t bytes) const {
    if (0 == rate_ || 0 == bytes) {
        return 0;
    }
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(bytes * 1152 / rate_, 1, look_pace::slowest_us));
}

std::unique_ptr<strategy> make_helper() { return std::make_unique<helper_strategy>(); }

} // namespace smartint
