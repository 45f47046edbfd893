// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// The interrupt thread of a rank and the epoll set it sleeps in: the wake descriptor always,
// the transport's descriptor and the pacing timer only when the strategy asks for them.
// It touches no Open MPI object and runs no user code (SI 4.3.3: it only calls the engine).
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>

#include "common_smartint_engine.h"

namespace smartint {

class interrupt_thread {
public:
    explicit interrupt_thread(engine &e) : engine_(e) {}
    ~interrupt_thread() { stop(); }

    // False: the system refused (descriptors or the thread itself); reported.
    bool start();
    // False: nothing of ours wakes it any more, and it is left behind asleep. Should it wake it only ends: this object,
    // its strategy and its engine must stay where they are, and the engine is not started again.
    bool stop();

    // ---- for the strategy's run(), on the thread itself
    engine &the_engine() { return engine_; }
    bool stop_requested() const { return stop_.load(std::memory_order_seq_cst); } // T2

    struct causes {
        bool lost = false;       // there is nothing to sleep on any more: told; the thread ends
        std::uint64_t rings = 0; // of the wake descriptor
        bool timer = false;
        bool postponed = false; // the timer of what is
        bool transport = false;
    };
    causes sleep();
    // One shot. fd: of the transport, as the engine told it under the gate: a job may open its
    // network while the thread runs, once. -1: there is none.
    void watch_transport(int fd);
    void set_timer(std::uint32_t microseconds); // one shot, 0 stops it

    // ---- for the application too, under the gate
    // Does the transport's descriptor wake this thread?
    bool watches() const { return watching_.load(std::memory_order_relaxed); } // ordered by P1 and P2
    bool hush();                                                               // not any more; true: it did
    void watch_again(); // as the thread did before, if it ever did
    // Makes the timer of set_postponed_timer, a descriptor more, at the first use. False: the system refused it.
    bool make_postponed_timer();
    // After make_postponed_timer: wake this thread after so long, once.
    void set_postponed_timer(std::uint32_t microseconds);

private:
    engine &engine_;
    std::thread thread_;
    std::atomic<bool> stop_{false};
    std::atomic<bool> over_{false}; // it has ended, or is about to
    std::atomic<bool> asleep_{false};
    struct ::stat wake_file_ {}; // what wakes it
    bool is_own_wake() const;
    int epoll_ = -1;
    int timer_ = -1;
    std::atomic<int> postponed_timer_{-1}; // relaxed: epoll orders its use here behind its making
    void watch(bool on);                   // under transport_lock_

    // Thread and application both turn the transport on and off: what they note is what they did last.
    std::mutex transport_lock_;
    int transport_ = -1;                // in the set
    std::atomic<bool> watching_{false}; // it would wake the thread
};

} // namespace smartint
