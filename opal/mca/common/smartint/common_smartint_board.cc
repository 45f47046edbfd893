// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "common_smartint_board.h"

#include <bit>

namespace smartint {
namespace {

using namespace layout;

constexpr std::uint64_t state_mask = 3;

std::uint64_t pack_source(std::uint32_t source, std::uint32_t seq) {
    return static_cast<std::uint64_t>(source) << 32 | seq;
}

// The upper bits of a product with the golden ratio: neighbours lie far from each other, and a process's messages,
// its one-sided ones (bit 30) and its answers (bit 31) always in different entries, as the factor is odd.
unsigned seen_index(std::uint32_t source) {
    static_assert(std::has_single_bit(seen_entries) && seen_entries >= 4);
    return source * 2654435769U >> (33 - std::bit_width(seen_entries));
}

// 1-based counters that may wrap: later means less than half the range ahead.
bool not_after(std::uint32_t a, std::uint32_t b) { return static_cast<std::int32_t>(a - b) <= 0; }

} // namespace

bool board_slot::handled(std::uint32_t source, std::uint32_t seq) const {
    // relaxed: a stale value costs one wake
    const std::uint64_t seen = slot_->seen[seen_index(source)].load(std::memory_order_relaxed);
    return 0 != seen && seen >> 32 == source && not_after(seq, static_cast<std::uint32_t>(seen));
}

void board_slot::note_ring() const {
    // relaxed: only spares the interrupt thread a wake in vain. If the rank has taken the word
    // meanwhile, it stays empty.
    std::uint32_t look = wanted_look;
    slot_->control.wanted.compare_exchange_strong(look, wanted_rung, std::memory_order_relaxed);
}

board_slot::outcome board_slot::match_requests(const key &k, std::uint32_t source, std::uint32_t seq) const {
    outcome o;
    bool again = false;                                                         // it waits for this, and was matched
    std::uint64_t armed = slot_->control.armed.load(std::memory_order_acquire); // B6
    while (0 != armed) {
        const unsigned i = static_cast<unsigned>(__builtin_ctzll(armed));
        armed &= armed - 1;
        request_entry &r = slot_->requests[i];
        std::uint64_t state = r.state.load(std::memory_order_acquire); // pairs with B1
        const std::uint64_t what = state & state_mask;
        if (request_armed != what && request_matched != what) {
            continue;
        }
        // relaxed: B1 ordered them before the state; a change since then changes the
        // generation and the exchange below fails
        const key_pattern p{{r.key_hi.load(std::memory_order_relaxed), r.key_lo.load(std::memory_order_relaxed)},
                            {r.mask_hi.load(std::memory_order_relaxed), r.mask_lo.load(std::memory_order_relaxed)}};
        if (!matches(k, p)) {
            continue;
        }
        if (handled(source, seq)) {
            return o;
        }
        if (request_matched == what) {
            again = true;
            continue;
        }
        std::atomic_thread_fence(std::memory_order_acquire); // B15, pairs with B14
        if (!r.state.compare_exchange_strong(state, (state & ~state_mask) | request_matched,
                                             std::memory_order_acq_rel)) { // B7
            continue;
        }
        r.match_seq.store(pack_source(source, seq), std::memory_order_relaxed);
        slot_->control.wanted.store(wanted_look, std::memory_order_release); // B12, pairs with B13
        std::atomic_thread_fence(std::memory_order_seq_cst);                 // B8, pairs with B10
        o.matched = true;
        o.wake = !active(); // B9
        if (o.wake) {
            note_ring();
        }
        return o; // one notice satisfies one request
    }
    // Whoever matched it may have been refused the wake, or stopped before it: nobody says that a ring is on its way.
    if (again && wanted_look == slot_->control.wanted.load(std::memory_order_acquire) && !active()) { // B13
        o.wake = true;
        note_ring();
    }
    return o;
}

void board_slot::ring_failed() const {
    std::uint32_t rung = wanted_rung;
    slot_->control.wanted.compare_exchange_strong(rung, wanted_look, std::memory_order_relaxed); // as note_ring
}

board_slot::outcome board_slot::post(const key &k, std::uint32_t source, std::uint32_t seq) const {
    const std::uint64_t ticket = slot_->control.notices_posted.fetch_add(1, std::memory_order_relaxed);
    notice_entry &n = slot_->notices[ticket % notice_entries];
    // A slow poster that is lapped here leaves a torn entry: its stamp then does not fit and
    // the scanner drops it.
    // The fence keeps the odd stamp before the words; no reader looks at the stamp twice, a mixture is a false hint.
    n.stamp.store(2 * ticket + 1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    n.key_hi.store(k.hi, std::memory_order_relaxed);
    n.key_lo.store(k.lo, std::memory_order_relaxed);
    n.source_seq.store(pack_source(source, seq), std::memory_order_relaxed);
    n.stamp.store(2 * ticket + 2, std::memory_order_release); // B4
    std::atomic_thread_fence(std::memory_order_seq_cst);      // B5, pairs with B2
    return match_requests(k, source, seq);
}

int board_owner::arm(const key_pattern &p, bool *matched) {
    *matched = false;
    if (~0ULL == used_) {
        return none;
    }
    const int i = __builtin_ctzll(~used_);
    request_entry &r = slot_->requests[i];
    // Who reads a word of the new request sees that the last one's generation is over, too.
    std::atomic_thread_fence(std::memory_order_release); // B14, pairs with B15
    r.key_hi.store(p.value.hi, std::memory_order_relaxed);
    r.key_lo.store(p.value.lo, std::memory_order_relaxed);
    r.mask_hi.store(p.mask.hi, std::memory_order_relaxed);
    r.mask_lo.store(p.mask.lo, std::memory_order_relaxed);
    r.match_seq.store(0, std::memory_order_relaxed);
    std::uint64_t state = ++generation_ << 2 | request_armed;
    r.state.store(state, std::memory_order_release); // B1
    used_ |= 1ULL << i;
    ++armed_count_;
    slot_->control.armed.store(used_, std::memory_order_release); // B1, pairs with B6
    std::atomic_thread_fence(std::memory_order_seq_cst);          // B2, pairs with B5
    *matched = match_live_notice(r, p, state, 0);                 // B3
    return i;
}

// The owner's scan after it armed r. True: matched, by us or by a poster meanwhile. except:
// the notice that led to nothing before, or 0.
bool board_owner::match_live_notice(request_entry &r, const key_pattern &p, std::uint64_t state, std::uint64_t except) {
    std::uint64_t source_seq = 0;
    if (!live_notice(p, except, &source_seq)) {
        return false;
    }
    // a poster may be doing the same: the exchange lets one of us have it
    if (r.state.compare_exchange_strong(state, (state & ~state_mask) | request_matched,
                                        std::memory_order_acq_rel)) { // B7
        r.match_seq.store(source_seq, std::memory_order_relaxed);
    }
    return true;
}

bool board_owner::live_notice(const key_pattern &p, std::uint64_t except, std::uint64_t *source_seq) {
    const std::uint64_t end = slot_->control.notices_posted.load(std::memory_order_acquire);
    std::uint64_t from = end > notice_entries ? end - notice_entries : 0;
    if (scan_from_ > from) {
        from = scan_from_ <= end ? scan_from_ : end; // a forged counter must not trap us
    }
    bool all_dead = true;
    for (std::uint64_t t = from; t < end; ++t) {
        notice_entry &n = slot_->notices[t % notice_entries];
        if (2 * t + 2 != n.stamp.load(std::memory_order_acquire)) { // pairs with B4
            // being written: its poster scans after us and sees our request
            all_dead = false;
            continue;
        }
        const key k{n.key_hi.load(std::memory_order_relaxed), n.key_lo.load(std::memory_order_relaxed)};
        const std::uint64_t ss = n.source_seq.load(std::memory_order_relaxed);
        if (handled(ss)) {
            if (all_dead) {
                scan_from_ = t + 1;
            }
            continue;
        }
        all_dead = false;
        if (ss != except && matches(k, p) && !taken(ss)) {
            *source_seq = ss;
            return true;
        }
    }
    return false;
}

// Did this notice match another of our requests? One satisfies one.
bool board_owner::taken(std::uint64_t source_seq) const {
    for (std::uint64_t left = used_; 0 != left; left &= left - 1) {
        const int i = __builtin_ctzll(left);
        if (is_matched(i) && source_seq == slot_->requests[i].match_seq.load(std::memory_order_relaxed)) {
            return true;
        }
    }
    return false;
}

void board_owner::disarm(int index) {
    request_entry &r = slot_->requests[index];
    used_ &= ~(1ULL << index);
    --armed_count_;
    slot_->control.armed.store(used_, std::memory_order_relaxed);
    // the new generation makes a late matcher's exchange fail
    r.state.store(++generation_ << 2 | request_free, std::memory_order_release);
}

// Armed again: notices posted while it was matched found nobody armed, so we are the second
// comer for them and look, as in arm().
bool board_owner::rearm(int index) {
    request_entry &r = slot_->requests[index];
    // relaxed: ours, but for match_seq, which only serves to tell notices apart
    const key_pattern p{{r.key_hi.load(std::memory_order_relaxed), r.key_lo.load(std::memory_order_relaxed)},
                        {r.mask_hi.load(std::memory_order_relaxed), r.mask_lo.load(std::memory_order_relaxed)}};
    const std::uint64_t before = r.match_seq.load(std::memory_order_relaxed);
    r.match_seq.store(0, std::memory_order_relaxed); // so that settle() takes no old notice for the next one
    const std::uint64_t state = ++generation_ << 2 | request_armed;
    r.state.store(state, std::memory_order_release);     // B1
    std::atomic_thread_fence(std::memory_order_seq_cst); // B2, pairs with B5
    return match_live_notice(r, p, state, before);       // B3
}

bool board_owner::rearm_matched() {
    bool again = false;
    for (std::uint64_t left = used_; 0 != left; left &= left - 1) {
        const int i = __builtin_ctzll(left);
        again = (is_matched(i) && rearm(i)) || again;
    }
    return again;
}

bool board_owner::is_matched(int index) const {
    return request_matched == (slot_->requests[index].state.load(std::memory_order_acquire) & state_mask);
}

bool board_owner::settle() {
    bool again = false;
    for (std::uint64_t left = used_; 0 != left; left &= left - 1) {
        const int i = __builtin_ctzll(left);
        // 0: whoever matched it has not said yet by what
        const std::uint64_t by = slot_->requests[i].match_seq.load(std::memory_order_relaxed);
        if (is_matched(i) && 0 != by && handled(by)) {
            again = rearm(i) || again;
        }
    }
    return again;
}

bool board_owner::any_matched() const {
    for (std::uint64_t left = used_; 0 != left; left &= left - 1) {
        if (is_matched(__builtin_ctzll(left))) {
            return true;
        }
    }
    return false;
}

void board_owner::publish_seen(std::uint32_t source, std::uint32_t seq) {
    const unsigned i = seen_index(source);
    const std::uint64_t before = seen_[i];
    if (0 != before && before >> 32 != source) {
        displaced_[static_cast<std::uint32_t>(before >> 32)] = static_cast<std::uint32_t>(before);
    }
    seen_[i] = pack_source(source, seq);
    slot_->seen[i].store(seen_[i], std::memory_order_relaxed);
}

bool board_owner::handled(std::uint64_t source_seq) const {
    const auto source = static_cast<std::uint32_t>(source_seq >> 32);
    const auto seq = static_cast<std::uint32_t>(source_seq);
    const std::uint64_t seen = seen_[seen_index(source)];
    if (0 != seen && seen >> 32 == source) {
        return not_after(seq, static_cast<std::uint32_t>(seen));
    }
    const auto old = displaced_.find(source);
    return displaced_.end() != old && not_after(seq, old->second);
}

bool relay_post(relay_queue &q, std::uint32_t node, std::uint32_t slot, const key &k, std::uint32_t source,
                std::uint32_t seq) {
    std::uint64_t ticket = q.posted.load(std::memory_order_relaxed);
    do {
        // signed: a ticket that others have passed meanwhile fails at the exchange, not here
        if (static_cast<std::int64_t>(ticket - q.taken.load(std::memory_order_acquire)) >= // R4
            static_cast<std::int64_t>(relay_entries)) {
            return false;
        }
    } while (!q.posted.compare_exchange_weak(ticket, ticket + 1, std::memory_order_relaxed));
    relay_entry &e = q.entries[ticket % relay_entries];
    e.target.store(static_cast<std::uint64_t>(node) << 32 | slot, std::memory_order_relaxed);
    e.key_hi.store(k.hi, std::memory_order_relaxed);
    e.key_lo.store(k.lo, std::memory_order_relaxed);
    e.source_seq.store(pack_source(source, seq), std::memory_order_relaxed);
    e.stamp.store(ticket + 1, std::memory_order_release); // R1, pairs with R2
    return true;
}

bool relay_take(relay_queue &q, relay_item &out) {
    const std::uint64_t at = q.taken.load(std::memory_order_relaxed); // ours alone
    relay_entry &e = q.entries[at % relay_entries];
    if (at + 1 != e.stamp.load(std::memory_order_acquire)) { // R2, pairs with R1
        return false;
    }
    const std::uint64_t target = e.target.load(std::memory_order_relaxed);
    out.node = static_cast<std::uint32_t>(target >> 32);
    out.slot = static_cast<std::uint32_t>(target);
    out.k = {e.key_hi.load(std::memory_order_relaxed), e.key_lo.load(std::memory_order_relaxed)};
    out.source_seq = e.source_seq.load(std::memory_order_relaxed);
    q.taken.store(at + 1, std::memory_order_release); // R3, pairs with R4
    return true;
}

bool relay_empty(const relay_queue &q) {
    const std::uint64_t at = q.taken.load(std::memory_order_relaxed);
    return at + 1 != q.entries[at % relay_entries].stamp.load(std::memory_order_acquire); // R2
}

} // namespace smartint
