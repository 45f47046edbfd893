// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Windows and their members; what a pass does; how things end.
#include "common_smartint_rma.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "common_smartint_clock.h"
#include "common_smartint_engine.h"

namespace smartint {
namespace {

constexpr std::uint64_t bulk_from = 131072; // bytes: looked for at the pace they come
constexpr std::size_t most_spare = 64;      // items that are kept for the next small operations

} // namespace

rma::rma(engine &e) : e_(e), pid_(static_cast<std::uint32_t>(getpid())), bursts_(e.params_, e.stats_) {}

rma::~rma() {
    // A job that ends in the middle: items belong to their queues, or to the lists behind them.
    locks_.clear();
    gets_.each([](rma_item *i) {
        if (i->waiting) { // else it stood in a queue
            delete i;
        }
    });
    for (auto &[id, w] : windows_) {
        forget_keys(w.get());
        for (auto &p : w->peers) {
            if (!p) {
                continue;
            }
            for (rma_item *i : p->under_way) {
                discard(i);
            }
            for (rma_item *i : p->ending) {
                discard(i);
            }
            while (nullptr != p->head) {
                rma_item *i = p->head;
                p->head = i->next;
                discard(i);
            }
            delete p->asked;
            for (rma_item *i : p->acks) {
                delete i;
            }
            for (auto &[count, i] : p->locals) {
                delete i;
            }
        }
    }
    for (rma_item *i : spare_) {
        delete i;
    }
}

rma_window *rma::create(std::uint32_t id, int rank, std::vector<rma_member> members, bool dynamic) {
    auto made = std::make_unique<rma_window>();
    rma_window *w = made.get();
    w->id = id;
    w->rank = rank;
    w->dynamic = dynamic;
    w->members = std::move(members);
    w->peers.resize(w->members.size());
    rma_member &me = w->members[static_cast<std::size_t>(rank)];
    if (!dynamic) {
        w->regions.push_back({me.base, me.bytes});
        me.mapped = reinterpret_cast<std::byte *>(me.base);
    }
    if (nullptr == me.words) {
        me.words = &w->own_words;
    }
    w->words = me.words;
    for (std::size_t i = 0; i < w->members.size(); ++i) {
        w->rank_of.emplace(w->members[i].ep, static_cast<int>(i));
        w->far = w->far || route::network == w->members[i].ep->way;
    }
    windows_[id] = std::move(made);
    // Relaxed: the thread cannot be woken for this window before its request is armed, and that has a fence (B2).
    e_.quiet_calls_.store(true, std::memory_order_relaxed);
    if (!e_.leaves_without_a_look() || !e_.may_be_brief()) {
        use();
    } else if (e_.board_.attached()) {
        e_.board_.set_progress(layout::rank_outside); // whatever it showed when that concerned nobody
    }
    if (not_armed == serving_ && e_.can_arm()) {
        // One request for all windows: whatever comes, this process must see to it.
        const key k = make_rma_key(rma_epoch_kind::serve, 0, 0);
        e_.arm_request({k, {0xffffULL << 48, 0}}, &serving_);
        if (e_.matched_hint_) {
            use(); // somebody was here before
        }
    }
    return w;
}

void rma::destroy(rma_window *w) {
    for (auto &p : w->peers) {
        if (p) {
            disarm(&p->armed);
            std::erase(active_, p.get());
            std::erase(unasked_peers_, p.get());
            fly(p.get(), rma_peer::flight::none);
            forget_queue(p.get());
            hurry_gets(p.get());
            forget_bundle(p.get());
            bursts_.forget(p.get());
            e_.held_.forget(p.get());
        }
    }
    disarm(&w->armed);
    forget_fence(w);
    disarm(&w->armed_complete);
    std::erase(unasked_windows_, w);
    forget_keys(w);
    last_ = nullptr;
    windows_.erase(w->id);
    if (windows_.empty()) {
        disarm(&serving_);
        e_.quiet_calls_.store(false, std::memory_order_relaxed); // relaxed: nobody is woken for windows any more
        if (0 != std::exchange(used_for_, 0)) {
            e_.unhold();
        }
    }
}

// Leaving looks at the board as long as others may count on this process.
void rma::begin_use() {
    used_for_ = used_calls;
    e_.hold();
    if (e_.board_.attached()) {
        e_.ring_.note_visit();
    }
}

// This call leaves with a look at the board all the same: only so may windows go out of use, and only if nothing else
// is outstanding, so that no call says that it is in and then leaves quietly.
void rma::call_ends() {
    if (0 == used_for_ || 0 != --used_for_) {
        return;
    }
    used_for_ = used_calls;
    const bool visited = e_.board_.attached() && e_.ring_.visited();
    if (visited) {
        e_.ring_.note_visit();
    }
    const std::uint64_t now = now_ns();
    if (visited || std::exchange(used_, false) || !rests()) {
        unused_since_ = now;
    } else if (now - unused_since_ >= unused_after_ns) {
        used_for_ = 0;
        e_.unhold();
    }
}

bool rma::rests() const {
    return 1 == e_.outstanding_ && e_.may_be_brief() && !e_.matched_hint_ && active_.empty() && losing_.empty() &&
           locks_.empty() && unasked_peers_.empty() && unasked_windows_.empty() &&
           std::all_of(windows_.begin(), windows_.end(), [&](const auto &x) {
               const rma_window *w = x.second.get();
               return w->fences.empty() && w->exposures.empty() && w->waiters.empty() && idle(w);
           });
}

bool rma::idle(const rma_window *w) const {
    for (const auto &p : w->peers) {
        if (p && (nullptr != p->head || nullptr != p->asked || !p->acks.empty() || !p->locals.empty() ||
                  !p->replies.empty() || p->gets_done != p->gets_begun || 0 != p->transfers || !p->under_way.empty() ||
                  !p->ending.empty() || !p->bundle.empty())) {
            return false;
        }
    }
    return w->fences.empty() && w->exposures.empty();
}

bool rma::attach(rma_window *w, std::uint64_t base, std::uint64_t bytes) {
    const auto overlaps = [&](const rma_region &r) {
        // nothing overlaps nothing, and is kept for its detach
        return 0 != bytes && 0 != r.bytes && base < r.base + r.bytes && r.base < base + bytes;
    };
    if (base + bytes < base || std::any_of(w->regions.begin(), w->regions.end(), overlaps)) {
        return false;
    }
    w->regions.push_back({base, bytes});
    return true;
}

bool rma::detach(rma_window *w, std::uint64_t base) {
    // the last one that begins there: an empty one may have come to another
    const auto r =
        std::find_if(w->regions.rbegin(), w->regions.rend(), [&](const rma_region &x) { return base == x.base; });
    if (r == w->regions.rend()) {
        return false;
    }
    w->regions.erase(std::next(r).base());
    return true;
}

rma_peer *rma::peer(rma_window *w, int rank) {
    auto &p = w->peers[static_cast<std::size_t>(rank)];
    if (!p) {
        p = std::make_unique<rma_peer>();
        const rma_member &m = w->members[static_cast<std::size_t>(rank)];
        p->window = w;
        p->rank = rank;
        p->ep = m.ep;
        p->base = m.base;
        p->bytes = m.bytes;
        p->mapped = m.mapped;
        p->words = m.words;
    }
    return p.get();
}

rma_window *rma::find(std::uint32_t id) const {
    const auto it = windows_.find(id);
    return it == windows_.end() ? nullptr : it->second.get();
}

rma_peer *rma::peer_of(rma_window *w, const endpoint *ep) {
    const auto it = w->rank_of.find(ep);
    return it == w->rank_of.end() ? nullptr : peer(w, it->second);
}

rma_error rma::take_error(rma_window *w) {
    const rma_error error = w->error;
    w->error = rma_error::none;
    return error;
}

void rma::note_error(rma_window *w, rma_error error) {
    if (rma_error::none == w->error) {
        w->error = error;
    }
}

// Of an operation: who waits for its request is told, else whoever ends the epoch.
void rma::note_error(rma_item *i, rma_error error) {
    if (i->requested()) {
        i->failed = error;
    } else {
        note_error(i->peer->window, error);
    }
}

void rma::activate(rma_peer *p) {
    if (!p->listed) {
        p->listed = true;
        active_.push_back(p);
    }
}

// A transfer under way keeps the interrupt thread at the transport, and the application's leave
// rings it: of much data by the clock, of little by the transport's events.
void rma::settle_state(rma_peer *p) {
    using flight = rma_peer::flight;
    // What is on its way already is taken to its end.
    const bool copied = route::shared == p->ep->way && flight::none == p->flying;
    const std::uint64_t worth = copied ? worthwhile_near : worthwhile;
    const std::uint64_t coming = p->gets_postponed ? 0 : p->fetching + p->getting; // that may lie in the ring
    flight now = flight::none;
    // The next call goes on with it, and most come soon. Not while the thread takes messages in, or goes through the
    // queues.
    const bool by_thread = by_thread_ || e_.by_thread_;
    const bool stuck = p->stuck && (p->requested || (by_thread ? !p->postponed : !postpone_to_calls(p)));
    const bool slack = nullptr != p->head && p->head->slack && p->window->fences_done >= p->head->after_fence &&
                       p->acks.empty() && p->gets_done >= p->gets_before;
    if (stuck || slack || !p->replies.empty() || 0 != p->transfers || p->incoming >= bulk_from || coming >= bulk_from) {
        now = flight::bulk;
    } else if (0 != p->incoming || (nullptr != p->asked && (nullptr != p->head || others_follow(p->asked))) ||
               coming >= worth || (p->gets_done != p->gets_begun && nullptr != p->head)) {
        now = flight::brisk; // less, that nothing waits for, is taken when the next call comes
    }
    fly(p, now);
}

void rma::fly(rma_peer *p, rma_peer::flight now) {
    const auto count = [&](rma_peer::flight f, unsigned by) {
        e_.in_flight_ += rma_peer::flight::bulk == f ? by : 0;
        e_.awaited_ += rma_peer::flight::brisk == f ? by : 0;
        e_.near_ += rma_peer::flight::none != f && route::shared == p->ep->way ? by : 0;
    };
    (rma_peer::flight::bulk == p->flying ? coming_ : e_.due_) -= p->due;
    if (now != p->flying) {
        count(p->flying, -1U);
        count(now, 1);
        p->flying = now;
    }
    const bool counted =
        rma_peer::flight::brisk == now || (rma_peer::flight::bulk == now && route::network == p->ep->way);
    p->due = counted ? p->incoming + p->fetching + p->getting : 0;
    (rma_peer::flight::bulk == now ? coming_ : e_.due_) += p->due;
}

unsigned rma::progress(bool by_thread) {
    while (!losing_.empty()) {
        endpoint *ep = losing_.back();
        losing_.pop_back();
        lost(ep);
    }
    by_thread_ = by_thread;
    in_progress_ = true;
    more_ = false;
    budget_ = by_thread ? e_.params_.copy_bytes : UINT64_MAX;
    unsigned events = 0;
    for (std::size_t i = 0; i < active_.size();) {
        rma_peer *p = active_[i];
        p->listed = false; // a fence that gets through in here lists it once more
        const rma_item *before = p->head;
        const std::size_t owed = p->replies.size();
        while (!p->replies.empty() && step::done == reply(p)) {}
        end_transfers(p);
        pump(p);
        if (!in_operation_) {
            hurry_bundle(p);
        }
        drive_epochs(p->window); // one may have waited for the last of this
        if (p->unacked && !p->stuck && before != p->head) {
            // What had to wait is late already, and nobody may come to flush it soon: a target
            // that computes takes it in meanwhile.
            wake_target(p, !p->requested);
        }
        p->owed_wake = p->owed_wake && !(settled(p) && nullptr == p->head);
        look_after_wake(p);
        look_after_lock(p);
        settle_state(p);
        events += before != p->head || owed != p->replies.size() ? 1 : 0;
        // What is blocked is listed again by the message that opens it.
        if (!p->listed && (p->owed_wake || p->passing || p->stuck || !p->bundle.empty() || !p->replies.empty() ||
                           (more_ && nullptr != p->head))) {
            p->listed = true;
            ++i;
        } else {
            active_[i] = active_.back();
            active_.pop_back();
        }
    }
    by_thread_ = false;
    in_progress_ = false;
    budget_ = UINT64_MAX;
    return events;
}

void rma::end(rma_item *i, rma_error error) {
    bursts_.ended(i);
    part_done(i->sync, error);
    discard(i);
}

void rma::discard(rma_item *i) {
    if (0 != i->thread) {
        leave_order(i);
    }
    if (nullptr != i->network) {
        e_.network_.unpin(&i->network->memory);
    }
    if (i->small && spare_.size() < most_spare) {
        spare_.push_back(i);
    } else {
        delete i;
    }
}

void rma::part_done(rma_sync *sync, rma_error error) {
    if (nullptr == sync) {
        return;
    }
    if (rma_error::none == sync->error) {
        sync->error = error;
    }
    if (0 == --sync->pending && nullptr != sync->user) {
        sync->link = nullptr;
        *done_tail_ = sync;
        done_tail_ = &sync->link;
    }
}

void rma::finish() {
    while (nullptr != done_) {
        rma_sync *s = done_;
        done_ = s->link;
        if (nullptr == done_) {
            done_tail_ = &done_;
        }
        e_.hooks_.rma_done(s->user, s->error);
    }
}

// There is a thread that sleeps, and this process may go away to compute. In a wait of the application nobody need
// come: whoever would have armed is looked after when that is over.
template <class W> bool rma::may_arm(W *whose, std::vector<W *> *unasked) {
    if (!e_.can_arm()) {
        return false;
    }
    if (!e_.application_waits()) {
        return true;
    }
    if (!whose->unasked) {
        whose->unasked = true;
        unasked->push_back(whose);
    }
    return false;
}
template bool rma::may_arm(rma_peer *, std::vector<rma_peer *> *);
template bool rma::may_arm(rma_window *, std::vector<rma_window *> *);

// Most of it came in that wait. Another thread may begin one meanwhile, and what cannot be asked for then is listed
// anew.
void rma::wait_is_over() {
    const std::size_t windows = unasked_windows_.size();
    const std::size_t peers = unasked_peers_.size();
    for (std::size_t i = 0; i < windows; ++i) {
        rma_window *w = unasked_windows_[i];
        w->unasked = false;
        drive_epochs(w);
    }
    for (std::size_t i = 0; i < peers; ++i) {
        rma_peer *p = unasked_peers_[i];
        p->unasked = false;
        arm_flush(p);
        if (nullptr != p->head && !p->stuck) {
            go_on(p);
        }
    }
    unasked_windows_.erase(unasked_windows_.begin(), unasked_windows_.begin() + static_cast<std::ptrdiff_t>(windows));
    unasked_peers_.erase(unasked_peers_.begin(), unasked_peers_.begin() + static_cast<std::ptrdiff_t>(peers));
}

// The head waits for the peer, and this process may go away to compute.
void rma::arm(rma_peer *p, rma_epoch_kind kind) {
    hurry_bundle(p);                               // what it waits for may be asked for there
    if (p->owed_wake && !e_.application_waits()) { // the next call may be long in coming
        wake_target(p);
    }
    if (not_armed == p->armed && route::self != p->ep->way && may_arm(p) && !postpone_to_calls(p)) {
        e_.arm_request(exact_pattern(make_rma_key(kind, p->window->id, p->ep->name)), &p->armed);
    }
}

// A fence's next step must not wait for a call of this process, nor must those who stand behind a lock that it holds in
// the target's words and lets go of when the ack is here.
bool rma::somebody_waits(const rma_item *i) {
    return i->for_fence || (rma_item::what::unlock == i->kind && i->begun && i->requested());
}

// Behind what has come just now.
void rma::arm_flush(rma_peer *p) {
    if (std::any_of(p->acks.begin(), p->acks.end(), somebody_waits)) {
        arm(p, rma_epoch_kind::ack);
    }
}

void rma::disarm(int *index) { e_.disarm_request(index); }

// All that waits for this process ends with an error, and so does what needs all of the window.
unsigned rma::lost(endpoint *ep) {
    if (sending_) { // found out by a message that was to go to it
        losing_.push_back(ep);
        return 1;
    }
    unsigned ended = 0;
    for (auto &[id, w] : windows_) {
        rma_peer *p = peer_of(w.get(), ep);
        if (nullptr == p) {
            continue;
        }
        bursts_.forget(p);
        std::vector<rma_item *> all(p->acks.begin(), p->acks.end());
        if (nullptr != p->asked) {
            all.push_back(p->asked);
            p->asked = nullptr;
        }
        for (auto &[count, i] : p->locals) {
            all.push_back(i);
        }
        gets_.each([&](rma_item *i) {
            if (i->peer == p && i->waiting) {
                all.push_back(i);
            }
        });
        for (; nullptr != p->head; p->head = p->head->next) {
            if (0 != p->head->under_way) {
                p->under_way.push_back(p->head); // with the others, when the transport is done with it
            } else {
                all.push_back(p->head);
            }
        }
        p->tail = nullptr;
        hurry_gets(p);
        forget_queue(p);
        p->acks.clear();
        p->locals.clear();
        p->replies.clear();
        forget_bundle(p);
        p->stuck = p->owed_wake = p->unsure = false;
        p->incoming = 0;
        p->fetching = p->getting = p->fetched = 0;
        p->gets_requested = false;
        p->gets_done = p->gets_begun;
        disarm(&p->armed);
        for (rma_item *i : all) {
            gets_.remove(i->id);
            ++ended;
        }
        p->ending.insert(p->ending.end(), all.begin(), all.end());
        ended += static_cast<unsigned>(w->fences.size() + w->exposures.size());
        end_transfers(p); // the transport tells of the others
        w->broken = true;
        forget_locks(p);
        drive_epochs(w.get());
        settle_state(p);
        note_error(w.get(), rma_error::lost);
    }
    return ended;
}

} // namespace smartint
