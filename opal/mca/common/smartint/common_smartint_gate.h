// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Progress gate: who may run the engine, the application or the interrupt thread.
// The application's side costs two plain stores and a load; the interrupt thread pays
// (membarrier) and never waits. docs/ordering.md argues it, race_model_gate.cc checks it.
//
//   application enter:  inside = 1 (G1)  [light fence]   read claim (G2)
//   thread claim:       claim = 1  (G3)  [heavy fence]   read inside (G4)
// Not both can read the old value: one of G2, G4 sees the other's store (Dekker), because
// the heavy fence puts a full fence into every running thread of the process between its
// earlier and later accesses. Hand-over of the engine's data:
//   leave: inside = 0 release (G5)   pairs with  G4 acquire
//   release: claim = 0 release (G6)  pairs with  G2 acquire
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

namespace smartint {

class gate {
public:
    enum class mode {
        asymmetric, // private expedited membarrier
        fenced,     // a full fence in enter; where membarrier is missing or `poll` is chosen
        locked,     // MPI_THREAD_MULTIPLE: any number of application threads
    };

    // Before any enter. Falls back from asymmetric to fenced where the kernel refuses.
    void set_mode(mode m);
    mode current_mode() const { return mode_; }

    // Application side. Recursive per thread. Without `locked`, calls must be serialised by
    // the application, as MPI_THREAD_SERIALIZED and below demand.
    void enter() {
        if (mode::locked == mode_) {
            enter_locked();
            return;
        }
        if (0 == depth_++) {
            inside_.store(1, std::memory_order_relaxed); // G1
            light_fence();
            if (open != claim_.load(std::memory_order_acquire)) { // G2
                wait_for_thread();
            }
        }
    }

    // As enter, but gives up where the interrupt thread holds the gate. After
    // `patience` refusals in a row it waits (asleep) like enter. Locked: gives up
    // where any thread holds it, and never waits.
    bool try_enter() {
        if (mode::locked == mode_) {
            return try_enter_locked();
        }
        if (0 != depth_ || open == claim_.load(std::memory_order_relaxed) || ++refused_ > patience) {
            refused_ = 0;
            enter();
            return true;
        }
        return false;
    }

    void leave() {
        if (mode::locked == mode_) {
            leave_locked();
            return;
        }
        if (0 == --depth_) {
            inside_.store(0, std::memory_order_release); // G5
        }
    }

    // True while the calling (application) thread is inside: in nested calls.
    bool nested() const { return mode::locked == mode_ ? nested_locked() : depth_ > 1; }
    std::uint32_t depth() const { return depth_; }

    // Interrupt thread side: never waits, false when the application is inside.
    bool claim();
    void release();
    // By the interrupt thread: its last claim failed because the kernel refused what the gate is made of. It can never
    // be in again, nor does the application wait for it.
    bool out_of_use() const { return no_fence_; }

    // Locked mode: around a call into code of others, which may take a lock that another thread holds while it enters.
    // The gate is open meanwhile, however deep this thread is in it; the interrupt thread stays out. Elsewhere nothing.
    class opened {
    public:
        explicit opened(gate &g) : gate_(g), depth_(g.lend()) {}
        ~opened() { gate_.take_back(depth_); }
        opened(const opened &) = delete;
        opened &operator=(const opened &) = delete;

    private:
        gate &gate_;
        std::uint32_t depth_;
    };

    // By the interrupt thread: what it stored before is seen by an application that leaves from now on and then looks,
    // behind a compiler fence alone.
    void fence_application() const { heavy_fence(); } // refused: the next claim will be, too
    bool asymmetric() const { return mode::asymmetric == mode_; }

    // For the interrupt thread's own decision to sleep: a hint.
    bool application_inside() const { return 0 != inside_.load(std::memory_order_relaxed); }

private:
    static constexpr std::uint32_t patience = 20;

    void light_fence() const {
        if (mode::asymmetric == mode_) {
            std::atomic_signal_fence(std::memory_order_seq_cst); // made real by membarrier
        } else {
            std::atomic_thread_fence(std::memory_order_seq_cst);
        }
    }
    bool heavy_fence() const;
    void wait_for_thread();
    std::uint32_t lend(); // how deep it was, for take_back
    void take_back(std::uint32_t depth);
    void enter_locked();
    bool try_enter_locked();
    void leave_locked();
    bool nested_locked() const;

    // line of the application
    alignas(64) mode mode_ = mode::fenced;
    std::uint32_t depth_ = 0;
    std::uint32_t refused_ = 0;
    std::atomic<std::uint32_t> inside_{0};
    // line of the interrupt thread
    enum : std::uint32_t { open = 0, claimed = 1, awaited = 2 /* claimed, and the application sleeps */ };
    alignas(64) std::atomic<std::uint32_t> claim_{open};
    bool no_fence_ = false; // the interrupt thread's
    std::recursive_mutex mutex_;
    std::uint32_t lent_ = 0; // to how many; under the mutex
};

} // namespace smartint
