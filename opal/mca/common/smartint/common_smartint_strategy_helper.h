// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// The strategies whose thread sleeps until there is something to do: helper, and interrupt
// (common_smartint_strategy_interrupt.cc), which differs in what it sleeps on.
#pragma once

#include <chrono>

#include "common_smartint_thread.h"

namespace smartint {

// How fast data came lately, while some was awaited from one look of the thread to the next: so when will
// what is still to come be here?
class arrival_rate {
public:
    using time = std::chrono::steady_clock::time_point;
    // moved: bytes so far, ever. flows: more is awaited, and the thread will look again.
    void look(std::uint64_t moved, bool flows, time now);
    // Until all but the last of so many bytes are here, us; 0: soon, or who knows.
    std::uint32_t nearly_here_us(std::uint64_t due) const;
    // Until so many are here, us, an eighth added, from 1 on; 0: not known.
    std::uint32_t here_us(std::uint64_t bytes) const;

private:
    std::uint64_t rate_ = 0; // bytes in 1024 us, the best of late; 0: not known
    std::uint64_t moved_ = 0;
    time looked_;
    bool flowed_ = false;
};

// How long the thread sleeps from look to look while data flows. Each look costs the application two switches and
// what it has in its caches, so that the fewer the better; but no more must come in between than sockets hold, or
// the network waits. Of what is sent that is little: it follows what is under way, and not what is possible; and so
// it is of what comes by a ring of this node.
class look_pace {
public:
    static constexpr std::uint32_t slowest_us = 4000; // below what a socket's buffers hold at 200 Mbit/s
    static constexpr std::uint64_t little_per_look = 65536;
    static constexpr std::uint64_t most_per_look = 524288;
    // held: bytes that a socket may hold of what arrives; 0: not known.
    explicit look_pace(std::uint64_t held);
    // moved: since the last look. fastest_us: smartint_pace_us.
    void adapt(const traffic &moved, std::uint32_t fastest_us);
    std::uint32_t us() const { return us_; }

private:
    std::uint64_t arrives_; // so much is to come from look to look
    std::uint32_t us_ = 200;
};

// How long to go on looking for a message whose notice came before it. By the clock: the transport's descriptor may
// tell of something all the time that is no message yet, as while two processes connect to each other.
class notice_patience {
public:
    using time = std::chrono::steady_clock::time_point;
    static constexpr std::chrono::milliseconds most{500};
    // matched: there is a notice without its message. came: something did, in this look. True: it is at its end, once.
    bool over(bool matched, bool came, time now);

private:
    time since_; // of the first look that found it so
    bool waits_ = false;
};

// Calls of the application in close order, with something under way: it will be in the engine again before anything has
// got late, and a thread that comes for each message, or for each call's end, is in its way.
class call_rate {
public:
    using time = std::chrono::steady_clock::time_point;
    static constexpr std::chrono::microseconds close{50};
    // calls: so many since ever. True: at least two since the last look, and no further apart than that.
    bool often(std::uint32_t calls, time now);
    // Until the next look, where it said so: longer each time.
    std::uint32_t nap_us() const { return nap_us_; }

private:
    static constexpr std::uint32_t shortest_us = 25;
    static constexpr std::uint32_t longest_us = 400;
    std::uint32_t calls_ = 0;
    std::uint32_t nap_us_ = shortest_us;
    time looked_;
};

class helper_strategy : public strategy {
public:
    helper_strategy();
    bool needs_thread() const override { return true; }
    bool arm() const override { return true; }
    bool leave(bool fresh, bool work, bool asleep) const override { return fresh || (work && asleep); }
    void run(interrupt_thread &t) override;

private:
    void count(engine &e, const interrupt_thread::causes &c, bool woken);
    bool park_behind_application(interrupt_thread &t);
    void serve(interrupt_thread &t, const interrupt_thread::causes &causes);
    void learn(engine &e, const interrupt_thread::causes &causes, unsigned events, bool *vain, thread_view *view);
    bool before_sleep(interrupt_thread &t, const thread_view &view, unsigned events);
    bool on_descriptor(const thread_view &view, unsigned events) const;
    bool without_timer(const thread_view &view, unsigned events) const;
    void sleep_how(interrupt_thread &t, const thread_view &view, unsigned events);

    traffic moved_before_;
    look_pace pace_;
    arrival_rate rate_; // changes in serve() only: all of sleep_how() follows one view
    notice_patience patience_;
    call_rate call_rate_;
    bool often_ = false;           // what it said at the begin of serve()
    std::uint32_t idle_looks_ = 0; // with nothing to wait for, in a row
    std::uint32_t quiet_ = 0;      // passes in a row without an event
    std::uint32_t vain_ = 0;       // wakes by the transport in a row that found nothing
};

} // namespace smartint
