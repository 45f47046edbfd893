// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Locks. Members of a node take a free one by themselves, in memory they share. Whoever finds it taken,
// or is on another node, stands in the target's queue; its engine grants in order of arrival.
#include "common_smartint_rma_lock.h"

#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>

#include "common_smartint_clock.h"
#include "common_smartint_engine.h"
#include "common_smartint_rma.h"

namespace smartint {
namespace {

constexpr std::uint64_t pass_after_us = 2000; // many times what an exclusive lock is held for, mostly
constexpr unsigned most_doublings = 9;        // of it: a second
constexpr unsigned most_tries = 200;          // in the call, before the target is asked: some microseconds
constexpr unsigned spins = 64;                // before the processor is given to others
constexpr unsigned look_every = 16384;        // whether the one waited for lives

// Not as long as nobody has waited for it: one whose first thread alone has ended looks the same.
bool dead(std::uint32_t pid) { return pid > INT32_MAX || (0 != kill(static_cast<pid_t>(pid), 0) && ESRCH == errno); }

} // namespace

void combining_guard::wait(std::uint32_t pid) {
    for (unsigned tries = 1;; ++tries) {
        std::uint32_t owner = word_.load(std::memory_order_relaxed);
        const bool may = 0 == owner || (0 == tries % look_every && dead(owner));
        if (may && word_.compare_exchange_strong(owner, pid, std::memory_order_acquire, // W3
                                                 std::memory_order_relaxed)) {
            return;
        }
        if (0 == tries % spins) {
            sched_yield(); // who has it may need this processor
        } else {
            relax();
        }
    }
}

void rma::lock(rma_peer *p, bool exclusive, rma_sync *sync, std::uint32_t thread) {
    rma_item *i = make(rma_item::what::lock, sync);
    i->exclusive = exclusive;
    i->passes = !exclusive;
    i->thread = thread;
    if (0 != thread) {
        locks_.push_back(i);
    }
    push(p, i);
}

// The first of this thread's that is not held, or nullptr.
rma_item *rma::first_lock(std::uint32_t thread) const {
    const auto first =
        std::find_if(locks_.begin(), locks_.end(), [&](const rma_item *i) { return thread == i->thread; });
    return locks_.end() == first ? nullptr : *first;
}

// Locks of the same thread, elsewhere, that are asked for when this one is held.
bool rma::others_follow(const rma_item *lock) const {
    return 0 != lock->thread && std::any_of(locks_.begin(), locks_.end(),
                                            [&](const rma_item *i) { return i != lock && lock->thread == i->thread; });
}

// It is held, or never will be: the thread's next one may be asked for.
void rma::leave_order(const rma_item *i) {
    std::erase(locks_, i);
    if (const rma_item *next = first_lock(i->thread); nullptr != next) {
        activate(next->peer);
    }
}

void rma::lock_of_all(rma_peer *p, rma_sync *sync) {
    rma_item *i = make(rma_item::what::lock, sync);
    i->passes = true;
    push(p, i);
}

void rma::unlock(rma_peer *p, rma_sync *sync) { push(p, make(rma_item::what::unlock, sync)); }

// ---- as origin

bool rma::try_take(rma_peer *p, bool exclusive, std::uint32_t thread) {
    const rma_window *w = p->window;
    if (nullptr == p->words || (0 != thread && nullptr != first_lock(thread)) || nullptr != p->head ||
        rma_hold::none != p->held || w->fences_done < w->fences_begun || !take_lock(*p->words, exclusive, false)) {
        return false;
    }
    e_.stats_.add(stat::rma_locks_direct);
    p->held = exclusive ? rma_hold::exclusive : rma_hold::shared;
    p->unposted = false;
    return true;
}

bool rma::try_drop(rma_peer *p) {
    if (rma_hold::none == p->held || !quiet(p)) {
        return false;
    }
    found_quiet(p);
    const bool exclusive = rma_hold::exclusive == p->held;
    p->held = rma_hold::none;
    let_go(p, exclusive);
    return true;
}

bool rma::only_by_message(const rma_peer *p) {
    return route::network == p->ep->way && nullptr == p->words && nullptr == p->mapped;
}

bool rma::try_lock(rma_peer *p, bool exclusive) {
    if (nullptr == p->words) {
        return false;
    }
    for (unsigned tries = by_thread_ ? 1 : most_tries; tries > 0; --tries) {
        if (take_lock(*p->words, exclusive, false)) {
            e_.stats_.add(stat::rma_locks_direct);
            return true;
        }
        if (0 != (p->words->lock.load(std::memory_order_relaxed) & layout::window_queued)) {
            return false;
        }
        relax();
    }
    return false;
}

// The lock item at the head. done: it is held, or asked for and p->asked.
rma::step rma::take_lock_item(rma_peer *p, rma_item *i) {
    const rma_hold hold = i->exclusive ? rma_hold::exclusive : rma_hold::shared;
    if (!i->begun) {
        if (rma_item *first = 0 == i->thread ? i : first_lock(i->thread); i != first) {
            arm(first->peer, rma_epoch_kind::grant);
            settle_state(first->peer);
            return step::blocked;
        }
        if (try_lock(p, i->exclusive)) {
            p->held = hold;
            p->unposted = false; // who may be locked is not exposed: it has seen all exposures to their end
            return step::done;
        }
        // Nobody waits for it: what follows may go with it.
        const bool stays = only_by_message(p) && nullptr == i->sync;
        if (const step s = send_mark(p, i, wire::rma_kind::lock, i->exclusive ? wire::rma_exclusive : 0, stays);
            step::done != s) {
            return s;
        }
        i->begun = true;
        if (i->passes) {
            p->passing = true;
            p->asked_at = now_us();
            activate(p);
        }
        // Only where all goes by message: who reaches the memory itself must hold the lock.
        if (only_by_message(p)) {
            p->asked = i; // run() takes it out of the queue
            p->ahead = 0;
            p->gets_before = 0; // what follows is kept until the target has read for gets, and grants
            return step::done;
        }
    }
    if (!p->granted) {
        arm(p, rma_epoch_kind::grant);
        return step::blocked;
    }
    p->granted = false;
    if (nullptr != p->words) { // the target took it for this process, which lets go by itself
        p->held = hold;
    }
    return step::done;
}

// A lock held by this process in shared memory.
void rma::let_go(rma_peer *p, bool exclusive) {
    if (!drop_lock(*p->words, exclusive)) {
        return;
    }
    if (route::self == p->ep->way) {
        grant_waiters(p->window);
    } else {
        send_now(p, wire::rma_kind::released, 0, 0, 0, rma_epoch_kind::serve);
    }
}

// ---- as target: in order of arrival, whoever runs the engine

void rma::ask_lock(rma_peer *p, bool exclusive) {
    rma_window *w = p->window;
    for (const rma_waiter &waiter : w->waiters) {
        if (p == waiter.peer) {
            e_.refuse();
            return;
        }
    }
    if (rma_hold::none != p->holds) {
        e_.refuse();
        p->lock_pending = false; // what comes behind it is looked at: it may let the lock go
        take_kept(p);
        return;
    }
    w->waiters.push_back({p, exclusive, 0, 0});
    note_queue(*w->words, true);
    grant_waiters(w, p);
}

// A shared lock that has waited for long, while its owner may be waited for itself: it and all other shared ones pass
// the exclusive ones in the queue, but not one that is held. If it is not in the queue it was granted meanwhile, or its
// question is not read yet: its owner says so again. An exclusive one that was passed is passed again after twice the
// time only: shared locks that follow each other would keep it out for ever.
void rma::let_pass(rma_peer *p) {
    auto &waiters = p->window->waiters;
    const auto it = std::find_if(waiters.begin(), waiters.end(), [p](const rma_waiter &x) { return p == x.peer; });
    // relaxed: a look; who holds it says so on letting go
    if (waiters.end() == it || it->exclusive ||
        0 != (p->window->words->lock.load(std::memory_order_relaxed) & layout::window_exclusive)) {
        return;
    }
    const auto first = std::find_if(waiters.begin(), it, [](const rma_waiter &x) { return x.exclusive; });
    if (const std::uint64_t now = now_us(); first != it) {
        if (now < first->not_before) {
            return;
        }
        first->passed += first->passed < most_doublings ? 1 : 0;
        first->not_before = now + (pass_after_us << first->passed);
        std::stable_partition(first, waiters.end(), [](const rma_waiter &x) { return !x.exclusive; });
    }
    grant_waiters(p->window);
}

// In passes, of the application while it waits.
void rma::look_after_lock(rma_peer *p) {
    p->passing = p->passing && !p->ep->lost;
    if (!p->passing) {
        return;
    }
    if (const std::uint64_t now = now_us(); now - p->asked_at >= pass_after_us) {
        p->asked_at = now;
        send_now(p, wire::rma_kind::pass, 0, 0, 0, rma_epoch_kind::serve);
    }
}

void rma::grant_waiters(rma_window *w, const rma_peer *asking) {
    while (!w->waiters.empty()) {
        const rma_waiter next = w->waiters.front();
        if (!take_lock(*w->words, next.exclusive, true)) {
            return;
        }
        w->waiters.pop_front();
        if (w->waiters.empty()) {
            note_queue(*w->words, false);
        }
        if (nullptr == next.peer->words) { // else its origin keeps it in mind
            next.peer->holds = next.exclusive ? rma_hold::exclusive : rma_hold::shared;
        }
        // One of another node that gets it at once needs no notice: its thread, if it computes, is at the transport.
        // And what it has sent ahead is answered in the same message.
        if (asking == next.peer && only_by_message(asking)) {
            next.peer->replies.emplace_back().kind = wire::rma_kind::grant;
        } else {
            send_now(next.peer, wire::rma_kind::grant, answer_flags(next.peer), 0, 0, rma_epoch_kind::grant);
            next.peer->notices.by_woken = false;
        }
        next.peer->lock_pending = false;
        take_kept(next.peer);
        activate(next.peer);
        if (!e_.in_pass_) { // this process has let go of its own lock, and its next pass may be long in coming
            while (!next.peer->replies.empty() && step::done == reply(next.peer)) {}
            settle_state(next.peer);
        }
    }
}

void rma::release_lock(rma_peer *p) {
    if (rma_hold::none == p->holds) {
        e_.refuse();
        return;
    }
    drop_lock(*p->window->words, rma_hold::exclusive == p->holds);
    p->holds = rma_hold::none;
    grant_waiters(p->window);
}

// It waits and holds no more.
void rma::forget_locks(rma_peer *p) {
    rma_window *w = p->window;
    p->lock_pending = false;
    p->kept.clear();
    p->kept_bytes = 0;
    const bool any = !w->waiters.empty();
    std::erase_if(w->waiters, [&](const rma_waiter &x) { return p == x.peer; });
    if (any && w->waiters.empty()) {
        note_queue(*w->words, false);
    }
    if (rma_hold::none != p->holds) {
        release_lock(p);
    } else {
        grant_waiters(w);
    }
}

} // namespace smartint
