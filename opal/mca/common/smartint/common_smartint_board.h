// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// The notice board: requests (who waits for what) and notices (what has arrived). Whoever
// comes second sees that the two match, marks the request and learns whether the rank must
// be woken (SI 4.2.2, 4.3.2). Hints only: a lost or forged one costs overlap, never data.
//
//   arm:  write entry; state = armed (B1 release); full fence (B2); scan notices (B3)
//   post: write notice; stamp (B4 release);        full fence (B5); scan requests (B6)
// Not both scans can miss: B2/B5 order each side's store before its own loads.
//   match: state armed -> matched by compare-exchange (B7); wanted = look; full fence (B8);
//          read progress (B9)
//   leave: progress = outside; full fence (B10); read wanted (B11)
// So a rank that leaves after B9 saw it inside reads wanted = look.
#pragma once

#include <array>
#include <unordered_map>

#include "common_smartint_key.h"
#include "common_smartint_layout.h"

namespace smartint {

// One rank's slot of a board, as its owner or a stranger sees it. Holds no state of its own.
class board_slot {
public:
    explicit board_slot(layout::slot *s = nullptr) : slot_(s) {}

    // Outcome of a scan or a post.
    struct outcome {
        bool matched = false;
        bool wake = false; // the rank was outside its engine: ring its descriptor
    };

    // Poster (any process). source: the sender's process number, seq its 1-based counter
    // of such notices to this rank; both only serve to drop what was handled already.
    outcome post(const key &k, std::uint32_t source, std::uint32_t seq) const;

    // Hints, behind which nothing is read. Somebody makes this rank's progress, and looks at the board and its ring
    // before it stops: it can be left alone.
    bool active() const {
        const std::uint32_t s = state();
        return layout::rank_outside != s && layout::rank_idle != s;
    }
    // In a call, or its thread is at work: either may end any moment, and looks at the board then, but not at the ring
    // if nothing there is relied on.
    bool passing() const {
        const std::uint32_t s = state();
        return layout::rank_inside == s || layout::rank_thread == s;
    }
    // The application waits in MPI: it has time, and stays until something comes.
    bool waiting() const {
        const std::uint32_t s = state();
        return layout::rank_waiting == s || layout::rank_idle == s;
    }
    // It waits, with time or without: it stays until what it waits for is done.
    bool stays() const {
        const std::uint32_t s = state();
        return layout::rank_waiting == s || layout::rank_idle == s || layout::rank_busy == s;
    }
    // As far as strangers can tell: of two sources that share an entry one is forgotten, which costs a wake.
    bool handled(std::uint32_t source, std::uint32_t seq) const;
    // Whoever wakes the rank for a match says so first: a rank that comes by itself meanwhile
    // takes the ring back.
    void note_ring() const;
    // It could not: the next one is to try.
    void ring_failed() const;
    // Scan requests armed for a notice: the second half of post().
    outcome match_requests(const key &k, std::uint32_t source, std::uint32_t seq) const;

private:
    std::uint32_t state() const { return slot_->control.progress.load(std::memory_order_acquire); }

    layout::slot *slot_;
};

// The owner's side: arms, disarms, publishes. Under the gate, except where noted.
class board_owner {
public:
    static constexpr int none = -1;

    void attach(layout::slot *s) { slot_ = s; }
    bool attached() const { return nullptr != slot_; }

    // Post a request. Index of the entry, or none when the table is full. *matched: a live
    // notice was there already, so the owner is its own second comer.
    int arm(const key_pattern &p, bool *matched);
    void disarm(int index);
    // Back to armed after a match that led to nothing. True: another notice matched at once.
    bool rearm_matched();
    bool is_matched(int index) const;
    bool any_matched() const;
    // Requests whose notice is handled are armed again: another receive got the message, or it was
    // faster than its notice. After publish_seen, and at every look; true as for rearm_matched.
    bool settle();
    unsigned armed_count() const { return armed_count_; }

    void publish_seen(std::uint32_t source, std::uint32_t seq);
    void set_progress(layout::rank_state s) { slot_->control.progress.store(s, std::memory_order_release); }
    bool shows(layout::rank_state s) const { return s == slot_->control.progress.load(std::memory_order_relaxed); }
    // After set_progress(outside): true if somebody matched meanwhile (B10, B11).
    bool wanted_after_leave() {
        std::atomic_thread_fence(std::memory_order_seq_cst);               // B10, pairs with B8
        return 0 != slot_->control.wanted.load(std::memory_order_acquire); // B11
    }
    // A read-modify-write: a match between a look and a plain store would be lost.
    layout::wanted_state take_wanted() {
        return static_cast<layout::wanted_state>(
            slot_->control.wanted.exchange(layout::wanted_nothing, std::memory_order_acq_rel)); // B13
    }
    bool wanted() const {
        return layout::wanted_nothing != slot_->control.wanted.load(std::memory_order_acquire); // B13
    }

private:
    bool handled(std::uint64_t source_seq) const;
    bool rearm(int index);
    bool match_live_notice(layout::request_entry &r, const key_pattern &p, std::uint64_t state, std::uint64_t except);
    bool taken(std::uint64_t source_seq) const;
    bool live_notice(const key_pattern &p, std::uint64_t except, std::uint64_t *source_seq);

    layout::slot *slot_ = nullptr;
    std::uint64_t used_ = 0;       // private mirror of control.armed
    std::uint64_t generation_ = 0; // of all entries together: never repeats
    std::uint64_t scan_from_ = 0;  // no live notice has an older ticket
    unsigned armed_count_ = 0;
    // What is in slot_->seen, and what had to make room there: the owner forgets nothing. What strangers take
    // for alive would be matched again and again.
    std::array<std::uint64_t, layout::seen_entries> seen_{};
    std::unordered_map<std::uint32_t, std::uint32_t> displaced_; // sequence by source
};

// The outbound queue to the helper. Any local rank posts; full means dropped (false).
bool relay_post(layout::relay_queue &q, std::uint32_t node, std::uint32_t slot, const key &k, std::uint32_t source,
                std::uint32_t seq);
struct relay_item {
    std::uint32_t node, slot;
    key k;
    std::uint64_t source_seq;
};
// Helper only. False: nothing there.
bool relay_take(layout::relay_queue &q, relay_item &out);
bool relay_empty(const layout::relay_queue &q);

} // namespace smartint
