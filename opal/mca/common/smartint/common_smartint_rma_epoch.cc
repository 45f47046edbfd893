// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Epochs: fences, post and complete, flushes. None of it needs a call of MPI to go on.
#include <algorithm>
#include <utility>

#include "common_smartint_engine.h"
#include "common_smartint_rma.h"

namespace smartint {

// ---- fence: all this process did is done at its targets, then a barrier by messages: in round r
// to the process 2^r further on. Nobody stores into others' memory before all are in. With epochs that return requests
// some that began before this fence may still be open, exposures too: those end first.

void rma::fence(rma_window *w, rma_sync *sync) {
    use();
    rma_fence &f = w->fences.emplace_back();
    f.sync = sync;
    f.flushed = std::make_unique<rma_sync>();
    // One part of it is this call's. The flush of this process's own part ends in push(): the barrier must not
    // begin, and the fence go, before the flushes of all others are counted in too.
    rma_sync *const flushed = f.flushed.get();
    flushed->pending = 1;
    if (nullptr != sync) {
        ++sync->pending;
    }
    f.number = w->fences_begun + 1;
    // f is not touched from here on: where a member is lost the fence may end in the middle of this.
    const bool requested = nullptr != sync && nullptr != sync->user;
    if (requested) {
        bursts_.spoil(); // the application may compute until it is through
    }
    for (auto &p : w->peers) {
        if (p && quiet(p.get())) {
            found_quiet(p.get());
        } else if (p) {
            p->requested = p->requested || requested;
            rma_item *i = make(rma_item::what::flush, flushed);
            i->for_fence = true;
            push(p.get(), i);
        }
    }
    ++w->fences_begun;
    part_done(flushed, rma_error::none);
    drive_epochs(w);
}

// The thread is to come for the next message of a fence's barrier, should this process go away to compute.
void rma::arm_fence(rma_window *w) {
    if (not_armed == w->armed && may_arm(w)) {
        e_.arm_request(exact_pattern(make_rma_key(rma_epoch_kind::fence, w->id, 0)), &w->armed);
    }
}

// Inside a node a small fence takes less than a wake, and puts are the origin's own work: the barrier is postponed to
// the calls.
// But others' operations may wait for what this process sends on, and it may compute for long: then the thread comes.
void rma::postpone_fence(rma_window *w) {
    if (w->postponed || not_armed != w->armed || !may_arm(w)) {
        return;
    }
    if (e_.postpone_to_calls()) {
        w->postponed = true;
        ++e_.put_off_.queues;
    } else {
        arm_fence(w);
    }
}

void rma::forget_fence(rma_window *w) {
    e_.put_off_.queues -= w->postponed ? 1 : 0;
    w->postponed = false;
}

// The network has memory of this process still, which is the program's again when a fence ends, with an error too.
bool rma::moves(const rma_window *w) {
    return std::any_of(w->peers.begin(), w->peers.end(), [](const auto &p) { return p && 0 != p->transfers; });
}

// Fences and exposures wait for each other where they were begun in turn.
void rma::drive_epochs(rma_window *w) {
    while (end_fences(w) || end_exposures(w)) {}
}

// True: one is through.
bool rma::end_fences(rma_window *w) {
    const auto n = static_cast<unsigned>(w->size());
    bool any = false;
    while (!w->fences.empty()) {
        rma_fence &f = w->fences.front();
        // Others wait for what this process sends on, with operations of their own.
        const auto arm_for = [&] {
            const bool sends_on = (2ULL << f.round) < n;
            if ((sends_on && w->far) || (nullptr != f.sync && nullptr != f.sync->user)) {
                arm_fence(w);
            } else if (sends_on && nullptr == f.sync) { // its call has returned
                postpone_fence(w);
            }
        };
        const bool exposed = !w->exposures.empty() && w->exposures.front().after_fence < f.number;
        if (w->broken ? moves(w) : exposed || !f.flushed->done()) {
            if (exposed) {
                arm_for(); // the exposure may end in a call, where nobody asks
            }
            break;
        }
        bool through = true;
        for (; !w->broken && (1ULL << f.round) < n; ++f.round, f.sent = false) {
            const unsigned distance = 1U << f.round;
            if (!f.sent) {
                f.sent = true;
                const unsigned to = (static_cast<unsigned>(w->rank) + distance) % n;
                send_now(peer(w, static_cast<int>(to)), wire::rma_kind::barrier, 0, f.number, f.round,
                         rma_epoch_kind::fence);
            }
            if (0 == (w->rounds_in[f.number] & distance)) {
                through = false;
                break;
            }
        }
        if (!through) {
            arm_for();
            break;
        }
        w->rounds_in.erase(f.number);
        ++w->fences_done;
        part_done(f.sync, w->broken ? rma_error::lost : rma_error::none);
        if (!f.flushed->done()) {
            w->left_over.push_back(std::move(f.flushed));
        }
        w->fences.pop_front();
        any = true;
    }
    if (!any) {
        return false;
    }
    disarm(&w->armed);
    forget_fence(w);
    for (auto &p : w->peers) {
        if (p && nullptr != p->head) {
            activate(p.get());
        }
    }
    return true;
}

// Nobody is more than one fence ahead of the last that is through here, plus the one it waits in.
void rma::on_barrier(rma_window *w, std::uint64_t number, std::uint64_t round) {
    if (number <= w->fences_done || number > w->fences_done + 2 || round >= 31 ||
        (1ULL << round) >= static_cast<std::uint64_t>(w->size())) {
        e_.refuse();
        return;
    }
    w->rounds_in[number] |= 1U << round;
    drive_epochs(w);
}

// ---- post, start, complete, wait

void rma::post(rma_window *w, std::vector<int> origins, bool silent, bool nonblocking) {
    use();
    rma_exposure &x = w->exposures.emplace_back();
    x.origins = std::move(origins);
    x.silent = silent;
    x.nonblocking = nonblocking;
    x.after_fence = w->fences_begun;
    drive_epochs(w);
}

// Exposures follow each other: the next opens when the one before has ended. True: one has.
bool rma::end_exposures(rma_window *w) {
    bool any = false;
    while (!w->exposures.empty()) {
        rma_exposure &x = w->exposures.front();
        if (!x.posted) {
            if (w->fences_done < x.after_fence) {
                arm_fence(w); // origins wait for the post, and this process may compute
                break;
            }
            x.posted = true;
            for (const int rank : x.origins) {
                rma_peer *p = peer(w, rank);
                if (0 != p->completes) { // it knew without being told, and is done already
                    --p->completes;
                    continue;
                }
                p->exposed = true;
                ++x.open;
                if (!x.silent) {
                    send_now(p, wire::rma_kind::post, x.nonblocking ? wire::rma_nonblocking : 0, 0, 0,
                             rma_epoch_kind::post);
                }
            }
        }
        if ((0 != x.open && !w->broken) || nullptr == x.sync) {
            if (0 != x.open && x.nonblocking && not_armed == w->armed_complete && may_arm(w)) {
                e_.arm_request(exact_pattern(make_rma_key(rma_epoch_kind::complete, w->id, 0)), &w->armed_complete);
            }
            break;
        }
        part_done(x.sync, 0 != x.open ? rma_error::lost : rma_error::none);
        w->exposures.pop_front();
        disarm(&w->armed_complete);
        any = true;
    }
    return any;
}

void rma::on_complete(rma_peer *p) {
    rma_window *w = p->window;
    p->notices.by_woken = false; // nothing of the epoch is answered
    if (p->exposed && !w->exposures.empty()) {
        p->exposed = false;
        --w->exposures.front().open;
        drive_epochs(w);
    } else {
        ++p->completes;
    }
}

void rma::wait(rma_window *w, rma_sync *sync) {
    ++sync->pending;
    w->exposures.back().sync = sync;
    drive_epochs(w);
}

bool rma::test(rma_window *w) {
    if (1 != w->exposures.size()) {
        return false;
    }
    rma_exposure &x = w->exposures.front();
    if (!x.posted || nullptr != x.sync || (0 != x.open && !w->broken)) {
        return false;
    }
    if (0 != x.open) {
        note_error(w, rma_error::lost);
    }
    w->exposures.pop_front();
    disarm(&w->armed_complete); // where it was begun without blocking
    return true;
}

void rma::await_post(rma_peer *p, rma_sync *sync) { push(p, make(rma_item::what::await_post, sync)); }

void rma::complete(rma_peer *p, rma_sync *sync) { push(p, make(rma_item::what::complete, sync)); }

// ---- flushes

void rma::flush(rma_peer *p, rma_sync *sync) { push(p, make(rma_item::what::flush, sync)); }

// Nothing to be done for what was copied at once, and what is sent is a copy, unless it is under way: of a lock that is
// asked for too.
void rma::flush_local(rma_peer *p, rma_sync *sync) {
    if (nullptr != p->head || !p->under_way.empty() || 0 != p->transfers || p->gets_done != p->gets_begun) {
        push(p, make(rma_item::what::local, sync));
    } else if (quiet(p)) {
        found_quiet(p);
    }
}

} // namespace smartint
