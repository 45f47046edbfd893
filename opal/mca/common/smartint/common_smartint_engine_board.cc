// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// The engine and the board: arming, notices, entering and leaving.
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "common_smartint_engine.h"

namespace smartint {
namespace {

constexpr unsigned looks_of_a_turn = 8; // of a few ten ns each, as a call of the system takes a few hundred

} // namespace

bool engine::can_arm() const {
    return static_cast<bool>(thread_) && strategy_->arm() && (board_.attached() || strategy_->listens());
}

void engine::arm_request(const key_pattern &p, int *index) {
    if (!board_.attached()) {
        return; // the transport's events alone
    }
    stats_.add(stat::requests_armed);
    bool matched = false;
    // The last entry is kept for a request that catches all of a kind.
    if (board_.armed_count() + 1 < layout::request_entries) {
        *index = board_.arm(p, &matched);
    } else {
        stats_.add(stat::requests_overflow);
        *index = armed_by_catch_all;
        ++overflowed_;
        // Of many targets of one window it catches what comes for that window, and wakes for nothing else. Armed anew
        // for each, as one for this may have come already.
        caught_ = catch_all_ < 0 ? p : either(caught_, p);
        if (catch_all_ >= 0) {
            board_.disarm(catch_all_);
        }
        catch_all_ = board_.arm(caught_, &matched);
    }
    if (matched) {
        stats_.add(stat::requests_matched);
        matched_hint_ = true;
    }
    // A helper with a processing unit of its own watches while requests are posted.
    if (1 == board_.armed_count() && 0 != params_.helpers) {
        const unsigned mine = me_.slot % params_.helpers;
        if (segment_.helper(mine).cpu.load(std::memory_order_relaxed) >= 0) {
            bells_.ring(mine);
        }
    }
}

void engine::disarm_request(int *index) {
    if (not_armed == *index) {
        return;
    }
    if (armed_by_catch_all == *index) {
        if (0 == --overflowed_ && catch_all_ >= 0) {
            board_.disarm(catch_all_);
            catch_all_ = -1;
        }
    } else {
        board_.disarm(*index);
    }
    *index = not_armed;
}

// Somebody matched one of our requests: remember it, the pass that follows looks for it.
void engine::check_matched() {
    if (!board_.attached() || !board_.wanted()) {
        return;
    }
    const layout::wanted_state wanted = board_.take_wanted();
    if (layout::wanted_nothing == wanted) {
        return;
    }
    stats_.add(stat::requests_matched);
    matched_hint_ = true;
    seen_for_ = seen_calls;
    // The thread is being woken for what this pass sees to. If it has not run yet it need not:
    // with nothing to be read its epoll_wait sleeps on. What is rung for later is not lost:
    // matches from here on find the rank inside, and leaving looks at the board.
    if (layout::wanted_rung == wanted && !by_thread_) {
        const std::uint64_t rings = drain_eventfd(wake_fd_);
        take_self_rings(rings);
        stats_.add(stat::wakes_withdrawn, 0 != rings ? 1 : 0);
    }
}

// Its notice, if there was one, is of no use any more. Processes of other jobs have numbers of their own, and post
// none.
void engine::note_arrival(std::uint64_t name, std::uint32_t kind, std::uint32_t sequence) {
    if (board_.attached() && name >> 32 == me_.name >> 32) {
        const std::uint32_t source = static_cast<std::uint32_t>(name) | kind;
        board_.publish_seen(source, sequence);
        matched_hint_ = board_.settle() || matched_hint_;
    }
}

// What was announced did not come: a lost, late or forged notice. Arm again.
bool engine::give_up_matches() {
    const bool again = board_.rearm_matched();
    matched_hint_ = matched_hint_ || again;
    return again;
}

bool engine::chance(std::uint32_t percent) {
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    return random_ % 100 < percent;
}

void engine::post_notice(endpoint *ep, const key &k, std::uint32_t source, std::uint32_t sequence) {
    key what = k;
    int times = 1;
    if (0 != params_.fault_drop_notices && chance(params_.fault_drop_notices)) {
        times = 0;
    }
    if (0 != params_.fault_garbage_notices && chance(params_.fault_garbage_notices)) {
        what.lo ^= random_;
        ++times;
    }
    for (; times > 0; --times, what = k) {
        if (route::shared == ep->way || ep->here) {
            stats_.add(stat::notices_posted);
            layout::slot &s = segment_.slot(ep->slot);
            if (!board_slot(&s).post(what, source, sequence).wake) {
                continue;
            }
            if (waker_.wake(ep->slot, s)) {
                stats_.add(stat::wakes_sent);
            } else {
                board_slot(&s).ring_failed();
            }
        } else if (ep->relayed()) {
            const bool kept = relay_post(segment_.relay(), static_cast<std::uint32_t>(ep->node), ep->relay_slot, what,
                                         source, sequence);
            stats_.add(kept ? stat::notices_relayed : stat::notices_dropped);
            bells_.ring(0); // for a full queue too: who filled it may have had no descriptor to ring with
            tell_of_other_helper(ep);
        }
    }
}

// Who is sent a notice answers by one, by way of our helper. One that took the place of another has told the helpers
// it knew of; but if theirs ended meanwhile, neither finds the other. The ranks' connections are still there.
void engine::tell_of_other_helper(endpoint *ep) {
    const layout::address_cell &cell = segment_.helper(0).address;
    const std::uint32_t generation = cell.generation.load(std::memory_order_relaxed); // read whole below
    if (generation <= layout::first_address || nullptr != ep->pending_head) {
        return;
    }
    std::uint32_t &told = told_[ep->node];
    helper_address here;
    if (generation == told || !is_published(segment_, static_cast<std::uint32_t>(ep->node)) ||
        !read_address(cell, &here)) {
        return; // with the next notice, where it is not there yet
    }
    const layout::relay_message_moved m = compose_moved(segment_, static_cast<std::uint32_t>(ep->node), here);
    if (network::result::done == transmit(ep, {wire::helper_at, m})) {
        told = here.generation; // else with the next notice
    }
}

void engine::on_helper_at(const std::byte *data, std::uint32_t bytes) {
    layout::relay_message_moved m{};
    std::int32_t index = -1;
    if (!segment_.mapped() || sizeof(m) != bytes) {
        refuse();
        return;
    }
    std::memcpy(&m, data, sizeof(m));
    if (!take_moved(segment_, m, &index)) {
        refuse();
    }
}

void engine::ring_self() {
    self_rings_.fetch_add(1, std::memory_order_relaxed);
    ring_eventfd(wake_fd_);
}

// relaxed: only for the counters
std::uint64_t engine::take_self_rings(std::uint64_t rings) {
    std::uint64_t mine = self_rings_.load(std::memory_order_relaxed);
    while (!self_rings_.compare_exchange_weak(mine, mine - std::min(mine, rings), std::memory_order_relaxed)) {}
    return std::min(mine, rings);
}

// Waiting means time for a copy of somebody else's: not where this rank has its own to read, or fragments to send, or
// may want to have another way for one that its sender was asked to write.
void engine::publish_inside() {
    if (board_.attached()) {
        const bool busy = 0 != reads() || 0 != undecided() || pumps_.load(std::memory_order_relaxed);
        board_.set_progress(!application_waits()      ? layout::rank_inside
                            : leaves_without_a_look() ? layout::rank_idle
                            : busy                    ? layout::rank_busy
                                                      : layout::rank_waiting);
    }
}

// With nothing outstanding leave() says nothing.
void engine::hide_wait() {
    if (0 == outstanding_ && !application_waits() && board_.attached() && !board_.shows(layout::rank_outside)) {
        board_.set_progress(layout::rank_outside);
    }
}

// It shows itself, so it has to look at the board when it leaves, also if this is over by then: windows are in use.
void engine::hold_first() {
    if (rma_ && rma_->unused()) {
        rma_->use();
    }
    publish_inside();
}

void engine::thread_begins() {
    if (board_.attached() && 0 == waiting_.load(std::memory_order_relaxed)) {
        board_.set_progress(layout::rank_thread);
    }
}

void engine::thread_ends() {
    if (board_.attached()) {
        if (0 != waiting_.load(std::memory_order_relaxed)) {
            publish_inside(); // other application threads sit in waits (MPI_THREAD_MULTIPLE)
        } else {
            board_.set_progress(layout::rank_outside);
        }
    }
}

// Leaving with a rendezvous under way: say so, then look whether anything happened that only
// the interrupt thread can see to now.
__attribute__((noinline)) void engine::leave_slow(bool may_look) {
    const bool armed = std::exchange(armed_now_, false);
    if (gave_way_.load(std::memory_order_relaxed)) {
        gave_way_.store(false, std::memory_order_relaxed); // what the thread gave way for is looked at behind P2
    }
    // one that looks again is one call
    calls_.store(calls_.load(std::memory_order_relaxed) + (may_look ? 1 : 0), std::memory_order_relaxed);
    const bool others_wait = 0 != waiting_.load(std::memory_order_relaxed);
    if (rma_) {
        rma_->call_ends();
    }
    if (!thread_ || others_wait) {
        if (!others_wait && board_.attached()) {
            board_.set_progress(layout::rank_outside);
        }
        gate_.leave();
        return;
    }
    bool matched = false; // a request is, and its message has not come
    bool fresh = false;   // and the thread may not know
    // What a thread that sleeps on the transport's descriptor does not hear of, and all that it may see to.
    const bool unheard = 0 != in_flight_ || 0 != own_copies_ || 0 != queued_;
    // the thread had not done, and this call has not gone on with it
    const bool more = ring_goes_on_ || (rma_ && rma_->more());
    const bool transfers = unheard || 0 != awaited_ || expects_ || more;
    const ring_it ring =
        (may_listen() || listening_.hushed) && network_.event_fd() >= 0 ? listen_again() : ring_it::never;
    const bool postponed = put_off_.timer_set && put_off_.anything();
    const bool asked = 0 != asked_sends_; // read outside the gate it would be another thread's
    const bool serves = nullptr != rma_ && !ring_broken_;
    if (!board_.attached()) {
        gate_.leave();
        std::atomic_thread_fence(std::memory_order_seq_cst); // P2, pairs with P1
    } else {
        if (matched_hint_) {
            board_.settle();
            matched_hint_ = board_.any_matched();
        }
        matched = matched_hint_;
        board_.set_progress(layout::rank_outside);
        gate_.leave();
        fresh = board_.wanted_after_leave(); // its fence is P2, L2 and L4 too
        const bool relied_on = serves && 0 != ring_.asked();
        fresh = fresh || relied_on || (asked && ring_.anything());
        if (fresh && (armed || relied_on) && may_look && !me_.threads) {
            look_again();
            return;
        }
    }
    const sleep how = sleep_.load(std::memory_order_acquire); // with what the thread noted before, see note_sleep
    const bool late = postponed && timer_missed();            // P2 orders this read too
    const bool deaf = ring_it::always == ring ||
                      ((ring_it::if_deaf == ring || (ring_it::if_parked == ring && sleep::parked == how)) && !hears());
    const bool work = matched || late || (sleep::parked == how ? transfers : unheard);
    if (deaf || strategy_->leave(fresh, work, sleep::short_or_none != how)) {
        ring_self();
    }
}

// What others ask of this rank they ask of its thread meanwhile, which costs both more than a fence: calls are seen for
// a while after that.
void engine::enter_briefly() {
    gate_.enter();
    seen_for_ -= 0 != seen_for_ ? 1 : 0;
    if (0 != seen_for_ || !may_be_brief()) {
        note_entered();
    }
}

bool engine::may_be_brief() const {
    return gate_.asymmetric() && !may_listen() && !listening_.hushed &&
           0 == (in_flight_ | own_copies_ | queued_ | awaited_ | asked_sends_);
}

// Nothing that the thread, or anybody who saw this rank inside, may have to do with.
inline bool engine::leaves_nothing() const {
    return may_be_brief() && board_.attached() && board_.shows(layout::rank_outside) && !expects_ && !ring_goes_on_ &&
           !matched_hint_ && !armed_now_ && !(rma_ && rma_->more());
}

void engine::leave_briefly() {
    if (0 == outstanding_ || 1 != depth() || !leaves_nothing()) {
        leave();
        return;
    }
    if (leave_quietly()) {
        calls_.store(calls_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
}

bool engine::leave_again() {
    enter();
    leave_slow();
    return false;
}

void engine::note_sleep(sleep how) {
    sleep_.store(how, std::memory_order_release); // and whether the transport wakes it
    if (sleep::short_or_none != how) {
        std::atomic_thread_fence(std::memory_order_seq_cst); // P1, pairs with P2
    }
}

void engine::give_way() {
    if (!quiet_calls_.load(std::memory_order_relaxed)) {
        return;
    }
    gave_way_.store(true, std::memory_order_relaxed);
    gate_.fence_application(); // P4, pairs with P3
}

// What came while this call armed its receive is taken by it, too: often that leaves the thread nothing to do, as where
// two ranks begin an exchange at the same time. And what a peer sent that counted on this rank to find it. This may be
// any call, a component's in the middle of its own work too.
void engine::look_again() {
    enter();
    looks_again_ = true;
    pass(false, false);
    looks_again_ = false;
    leave_slow(false);
}

// What was there and could not be read when the thread looked at the ring, it comes for by the clock (look()).
bool engine::wanted_again() {
    if (!board_.attached()) {
        return false;
    }
    const bool wanted = board_.wanted_after_leave(); // L4
    const std::uint64_t asked = ring_.asked();
    return wanted || (0 != asked && relied_on_ != asked);
}

void engine::ask_for_windows() {
    // windows are outstanding as long as somebody waits for something of theirs
    if (0 != outstanding_ && rma_ && rma_->unasked() && !application_waits()) {
        rma_->wait_is_over();
    }
}

// Somebody who saw this rank wait may ask it to write: until the sends of then are done.
void engine::note_asked() {
    asked_until_ = sends_begun_;
    asked_sends_ = open_sends_;
}

void engine::begin_wait() {
    if (gate::mode::locked == gate_.current_mode()) {
        waiting_.fetch_add(1, std::memory_order_relaxed);
        publish_inside();
        return;
    }
    gate_.enter();
    if (1 == ++waits_) {
        hush();
    }
    if (0 != outstanding_ || 0 != shown_receives_) {
        publish_inside();
    }
}

void engine::end_wait() {
    if (gate::mode::locked != gate_.current_mode()) {
        --waits_;
        hide_wait();
        note_asked();
        ask_for_windows();
        held_.leave();
        if (0 != outstanding_ && gate_.nested()) {
            publish_inside(); // the call around this wait goes on
        }
        leave();
        return;
    }
    // Release and acquire: what others showed that this process is in comes before what the last one shows.
    if (1 == waiting_.fetch_sub(1, std::memory_order_acq_rel)) {
        gate_.enter(); // the last one out looks at the board as anybody who leaves
        hide_wait();
        note_asked();
        ask_for_windows();
        held_.leave();
        leave();
    }
}

void engine::give_way_to_others() {
    static thread_local unsigned looks = 0;
    if (0 == ++looks % looks_of_a_turn) {
        sched_yield();
    }
}

} // namespace smartint
