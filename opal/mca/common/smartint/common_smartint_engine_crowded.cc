// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// A node whose cores all compute. A thread that copies a message between two of its ranks takes the
// time from one's computation, and the wake comes on top; done by whoever comes to wait first, or by
// both, the copy costs nothing that was of use. So while both compute a large message is postponed: the
// sender keeps its notice, or the receiver, where it met the RTS in a call, shares the copy and wakes
// nobody. After postpone_us a thread sees to it, however long they compute.
//
// All under the gate.
#include <algorithm>
#include <vector>

#include "common_smartint_clock.h"
#include "common_smartint_engine.h"
#include "common_smartint_thread.h"

namespace smartint {
namespace {

constexpr std::uint64_t longest_grace_ns = 30000; // about what a wake costs

} // namespace

// Are there as many ranks as units for them? Known when all ranks are there. A hint: what ranks say of
// their binding is not checked.
bool engine::crowded() {
    if (0 == params_.postpone_us || !can_arm()) {
        return false; // or there is no thread that sleeps
    }
    if (put_off::occupation::unknown == put_off_.cores && !look_for_idle_cores()) {
        return false;
    }
    return put_off::occupation::crowded == put_off_.cores;
}

// Units that the ranks of this node may run on, all together. False: not known, as long as some are not there; or ever,
// where one is bound beyond the table's end.
bool engine::count_units(std::uint32_t *count, bool *all_there) {
    // One that never comes, as it makes no window, is asked for again and again: of it alone.
    const auto attached = [this](std::uint32_t i) {
        return 1 == segment_.slot(i).control.attached.load(std::memory_order_acquire); // A1
    };
    *all_there = false;
    if (!attached(put_off_.missing)) {
        return false;
    }
    std::uint64_t units[layout::cpu_mask_words] = {};
    bool known = true;
    for (std::uint32_t i = 0; i < segment_.slots(); ++i) {
        const auto &c = segment_.slot(i).control;
        if (!attached(i)) {
            put_off_.missing = i;
            return false;
        }
        bool any = false;
        for (std::uint32_t w = 0; w < layout::cpu_mask_words; ++w) {
            units[w] |= c.cpus[w];
            any = any || 0 != c.cpus[w];
        }
        known = known && any;
    }
    *all_there = true;
    *count = 0;
    for (const std::uint64_t w : units) {
        *count += static_cast<std::uint32_t>(__builtin_popcountll(w));
    }
    return known;
}

// False: not known yet.
bool engine::look_for_idle_cores() {
    bool full = "no" == params_.idle_cores;
    if ("auto" == params_.idle_cores && params_.cores.empty() && segment_.mapped()) {
        std::uint32_t count = 0;
        bool all_there = false;
        full = count_units(&count, &all_there) && count <= segment_.slots();
        if (!all_there) {
            return false;
        }
    }
    // What is postponed needs somebody who comes late.
    put_off_.cores =
        full && thread_->make_postponed_timer() ? put_off::occupation::crowded : put_off::occupation::roomy;
    return true;
}

// Has each rank of this node a unit for itself? A process that waits in MPI then answers at once; otherwise
// when the scheduler runs it. A hint, as above.
bool engine::a_unit_each() {
    if (put_off::seats::unknown == put_off_.units && segment_.mapped()) {
        std::uint32_t count = 0;
        bool all_there = false;
        const bool known = count_units(&count, &all_there);
        if (all_there) {
            put_off_.units = known && count >= segment_.slots() ? put_off::seats::enough : put_off::seats::too_few;
        }
    }
    return put_off::seats::enough == put_off_.units;
}

// A send whose RTS has just gone out from the application, which is not about to wait.
bool engine::may_postpone(const send_op &op) {
    const auto in_mpi = [&] { // and finds it at once
        const board_slot there(&segment_.slot(op.peer->slot));
        return there.active() || there.waiting();
    };
    return route::shared == op.peer->way && op.peer->direct && nullptr != op.buffer && !op.blocking &&
           op.length > arming_floor(op.peer) && !by_thread_ && !application_waits() &&
           rendezvous_kind::automatic == rendezvous_ && crowded() && !in_mpi();
}

void engine::keep_notice(send_op *op) {
    stats_.add(stat::notices_kept);
    forget_known();
    const std::uint64_t now = now_ns();
    note_postponed(now);
    if (put_off_.unnoticed.empty()) {
        put_off_.unnoticed_since = now;
        put_off_.unnoticed_seen = 0;
    }
    put_off_.unnoticed.push_back(op->id);
}

// What the receiver found by itself.
void engine::forget_known() {
    std::erase_if(put_off_.unnoticed, [this](std::uint64_t id) {
        const send_op *op = sends_.find(id);
        return nullptr == op || op_state::rts_sent != op->state;
    });
}

void engine::postpone_copy(copy_job *job) {
    note_postponed(now_ns());
    job->postponed = true;
    ++put_off_.copies;
}

void engine::forget_postponed(copy_job *job) {
    put_off_.copies -= job->postponed ? 1 : 0;
    job->postponed = false;
}

// The next one-sided operation that waits inside the node. False: nobody would come when the calls are late.
bool engine::postpone_to_calls() {
    if (0 == params_.postpone_us || !thread_ || !thread_->make_postponed_timer()) {
        return false;
    }
    note_postponed(now_ns());
    return true;
}

// The thread comes when the time is over. To set a timer may cost a guest of a hypervisor microseconds: it is
// not stopped when all is done, and so set twice in postpone_us at most, however many messages there are. That is often
// enough for a program that postpones something time after time, and sees to it: the thread does not come at all.
void engine::note_postponed(std::uint64_t now) {
    bool set = !put_off_.timer_set;
    if (!put_off_.anything()) {
        put_off_.since = now;
        set = set || timer_missed() || // it came for what was done then
              now - put_off_.timer_at >= std::uint64_t{params_.postpone_us} * 1000 / 2;
    }
    if (set && thread_) {
        put_off_.timer_set = true;
        put_off_.timer_at = now;
        note_timer_missed(false);
        thread_->set_postponed_timer(params_.postpone_us);
    }
}

// The application waits, or looks. Two sides that computed as long as each other come at about the
// same time: after a long computation the receiver gets a moment to come by itself, as a wake costs as
// much. What it has found meanwhile it knows.
void engine::post_kept_notices() {
    forget_known();
    if (put_off_.unnoticed.empty()) {
        return;
    }
    const std::uint64_t now = now_ns();
    if (0 == put_off_.unnoticed_seen) {
        put_off_.unnoticed_seen = now;
    }
    if (now - put_off_.unnoticed_seen >=
        std::min(longest_grace_ns, (put_off_.unnoticed_seen - put_off_.unnoticed_since) / 4)) {
        post_notices_now();
    }
}

void engine::post_notices_now() {
    for (const std::uint64_t id : put_off_.unnoticed) {
        post_rts_notice(sends_.find(id));
    }
    put_off_.unnoticed.clear();
}

// The thread's: do they still compute? It may have come for others, before the time of these is over.
void engine::take_what_is_postponed() {
    note_timer_missed(false);
    forget_known();
    put_off_.timer_set = put_off_.anything();
    const std::uint64_t waited_us = (now_ns() - put_off_.since) / 1000;
    if (put_off_.timer_set && waited_us < params_.postpone_us) {
        thread_->set_postponed_timer(params_.postpone_us - static_cast<std::uint32_t>(waited_us));
        return;
    }
    put_off_.timer_set = false;
    post_notices_now();
    held_.take();
    for (copy_job *job = copies_; nullptr != job && 0 != put_off_.copies; job = job->link) {
        if (job->postponed) {
            forget_postponed(job);
            job->waiter_only = false;
            ++own_copies_;
        }
    }
    if (0 != put_off_.queues) {
        rma_->take_what_is_postponed();
    }
}

} // namespace smartint
