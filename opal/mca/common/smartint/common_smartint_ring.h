// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Message ring in shared memory: many producers, one consumer, records of any size in
// whole cache lines. Life of a record: reserve (compare-exchange on tail) -> fill ->
// commit (release store of the first word) -> consumer reads -> first word of every line
// back to zero -> head moves on.
//
// Why a stale word is never taken for a record: a record starts at a line, its first word
// is never zero once committed, and the consumer zeroes the first word of each line it
// consumed before it publishes head (H1). A producer writes only into lines below
// head + capacity (H2). So at the consumer's position there is zero until commit.
// tail and head count bytes, and those that start_over leaves out: up to a ring's size for each near_bytes, so in a job
// of days they wrap. Positions are compared by their signed difference; those at hand are never half the range apart.
//
// Ordering edges:
//   C1 commit, release store of the word   pairs with  C2 consumer's acquire load
//   H1 consumer's release store of head    pairs with  H2 producer's acquire load
// A failing producer must not wedge the others: everything that can fail happens before
// reserve; between reserve and commit there is only memory copying. Nor may those of short records
// keep one of a long record out: it says that it waits (wanted), and room is given back by the quarter.
#pragma once

#include <cstring>

#include "common_smartint_clock.h"
#include "common_smartint_headway.h"
#include "common_smartint_layout.h"

namespace smartint {

// First word of a record: payload bytes << 32 | source slot << 16 | type << 8 | mark.
struct ring_word {
    static constexpr std::uint64_t mark = 0xA5;
    static constexpr std::uint8_t pad_type = 0xff;
    static constexpr std::uint64_t pack(std::uint32_t bytes, std::uint16_t source, std::uint8_t type) {
        return static_cast<std::uint64_t>(bytes) << 32 | static_cast<std::uint64_t>(source) << 16 |
               static_cast<std::uint64_t>(type) << 8 | mark;
    }
    static constexpr std::uint32_t bytes(std::uint64_t w) { return static_cast<std::uint32_t>(w >> 32); }
    static constexpr std::uint16_t source(std::uint64_t w) { return static_cast<std::uint16_t>(w >> 16); }
    static constexpr std::uint8_t type(std::uint64_t w) { return static_cast<std::uint8_t>(w >> 8); }
    static constexpr bool sound(std::uint64_t w) { return (w & 0xff) == mark; }
};

constexpr std::uint64_t ring_record_bytes(std::uint64_t payload) {
    return (payload + sizeof(std::uint64_t) + layout::line - 1) & ~(layout::line - 1);
}

// Position a comes later than b.
constexpr bool is_behind(std::uint64_t a, std::uint64_t b) { return static_cast<std::int64_t>(a - b) > 0; }

// A consumer that finds the ring empty beyond this goes back to its beginning.
constexpr std::uint64_t near_bytes = 8192;

// One producer's view of one ring. Not shared between threads without the gate.
class ring_producer {
public:
    void attach(layout::ring_control *control, std::byte *base, std::uint64_t capacity) {
        control_ = control;
        base_ = base;
        capacity_ = capacity;
        head_ = end_ = control->head.load(std::memory_order_acquire); // H2; as anywhere, 0 may lie ahead
    }

    // Room for `payload` bytes, or nullptr when the ring is full (retry later). payload must
    // be at most capacity/4, else it never fits. The caller must commit what it reserved.
    std::byte *reserve(std::uint32_t payload) {
        const std::uint64_t need = ring_record_bytes(payload);
        std::uint64_t tail = control_->tail.load(std::memory_order_relaxed);
        for (;;) {
            // a line's start, whatever somebody wrote there: a pad must have room for its word
            const std::uint64_t at = tail & (capacity_ - layout::line);
            const std::uint64_t to_end = capacity_ - at;
            const std::uint64_t take = need <= to_end ? need : to_end + need;
            if (tail + take - head_ > capacity_) {
                head_ = control_->head.load(std::memory_order_acquire); // H2, pairs with H1
                if (is_behind(head_, tail)) {                           // others went on, or the consumer started over
                    const std::uint64_t now = control_->tail.load(std::memory_order_relaxed);
                    if (!is_behind(head_, now)) { // behind H2 it is not, but for what a peer forges
                        tail = now;
                        continue;
                    }
                }
                if (tail + take - head_ > capacity_) {
                    // relaxed: a hint, for the consumer's next records
                    if (need > layout::line && 0 == control_->wanted.load(std::memory_order_relaxed)) {
                        control_->wanted.store(1, std::memory_order_relaxed);
                    }
                    return nullptr;
                }
            }
            // relaxed: the claim orders nothing; the record is published by C1
            if (control_->tail.compare_exchange_weak(tail, tail + take, std::memory_order_relaxed,
                                                     std::memory_order_relaxed)) {
                end_ = tail + take;
                if (take != need) {
                    publish(at, ring_word::pack(static_cast<std::uint32_t>(to_end - sizeof(std::uint64_t)), 0,
                                                ring_word::pad_type));
                    return base_ + sizeof(std::uint64_t);
                }
                return base_ + at + sizeof(std::uint64_t);
            }
        }
    }

    // More than `bytes` in it are not read yet, others' and own: a guess. False for 0: what this producer put in was
    // read.
    bool holds_more_than(std::uint64_t bytes) const {
        const std::uint64_t head = control_->head.load(std::memory_order_relaxed);
        const std::uint64_t tail = control_->tail.load(std::memory_order_relaxed); // later: never the smaller one
        return is_behind(tail, head) && tail - head > bytes;                       // but for what a peer forges
    }

    void commit(std::byte *payload, std::uint64_t word) {
        publish(static_cast<std::uint64_t>(payload - base_) - sizeof(std::uint64_t), word);
    }

    // The consumer is to say when it waits.
    void visit() {
        if (0 == control_->visited.load(std::memory_order_relaxed)) {
            control_->visited.store(1, std::memory_order_relaxed); // relaxed: a hint
        }
    }

    // The last record is for the consumer to see to before it leaves its engine. Behind that a full fence (L3).
    void ask() {
        // Acquire and release, so that tail is not older than the position read before it: one beyond it was forged.
        std::uint64_t before = control_->asked.load(std::memory_order_acquire);
        while ((is_behind(end_, before) || is_behind(before, control_->tail.load(std::memory_order_relaxed))) &&
               !control_->asked.compare_exchange_weak(before, end_, std::memory_order_release,
                                                      std::memory_order_acquire)) {}
    }

private:
    void publish(std::uint64_t at, std::uint64_t word) {
        auto *w = reinterpret_cast<layout::shared<std::uint64_t> *>(base_ + at);
        w->store(word, std::memory_order_release); // C1, pairs with C2
    }

    layout::ring_control *control_ = nullptr;
    std::byte *base_ = nullptr;
    std::uint64_t capacity_ = 0;
    std::uint64_t head_ = 0; // what this producer last saw of head
    std::uint64_t end_ = 0;  // position behind the last one
};

class ring_consumer {
public:
    enum class result { empty, record, broken };

    // reuse: it goes back to its beginning where it can, see start_over.
    void attach(layout::ring_control *control, std::byte *base, std::uint64_t capacity, bool reuse = true) {
        control_ = control;
        base_ = base;
        capacity_ = capacity;
        start_over_from_ = reuse ? near_bytes : capacity;
        head_ = control->head.load(std::memory_order_relaxed) & ~(layout::line - 1);
        published_ = head_;
    }

    headway &distance() { return distance_; }
    // Not to be looked into yet: only for one that looks again soon. Who waits for what a record says has asked, and
    // who waits for room says so (relaxed: hints).
    bool keeps_off() { return distance_.kept() && distance_.goes_on(hurry(), now_ns()); }

    // The record at the head, if there is one. `broken`: a length that cannot be, from a
    // producer that is not to be trusted; the ring is of no use any more.
    result peek(std::uint64_t &word, const std::byte *&payload) {
        for (;;) {
            const std::uint64_t at = head_ & (capacity_ - 1);
            auto *w = reinterpret_cast<layout::shared<std::uint64_t> *>(base_ + at);
            word = w->load(std::memory_order_acquire); // C2, pairs with C1
            if (0 == word) {
                if (published_ != head_) {
                    give_room();
                }
                if (at >= start_over_from_) {
                    start_over(capacity_ - at);
                }
                return result::empty;
            }
            size_ = ring_record_bytes(ring_word::bytes(word));
            if (!ring_word::sound(word) || size_ > capacity_ - at) {
                return result::broken;
            }
            payload = base_ + at + sizeof(std::uint64_t);
            if (ring_word::pad_type != ring_word::type(word)) {
                return result::record;
            }
            give_back(sizeof(word)); // of a pad nothing but its first word was written
        }
    }

    // Not under the gate: has a producer taken room that was not given back yet? It may have been read all the same,
    // where somebody waits for more of it.
    bool anything() const {
        return control_->tail.load(std::memory_order_relaxed) != control_->head.load(std::memory_order_relaxed);
    }

    // The same of records that a producer counts on to be found, see ask(): the position behind the last one, or 0.
    // Behind a full fence (L4).
    std::uint64_t asked() const {
        const std::uint64_t head = control_->head.load(std::memory_order_relaxed);
        const std::uint64_t asked = control_->asked.load(std::memory_order_acquire); // as in ask()
        // whatever somebody wrote there
        return is_behind(asked, head) && !is_behind(asked, control_->tail.load(std::memory_order_relaxed)) ? asked : 0;
    }

    // Also not under the gate: somebody has come since the last call for which that was said.
    bool visited() const { return 0 != control_->visited.load(std::memory_order_relaxed); }
    void note_visit() { control_->visited.store(0, std::memory_order_relaxed); }

    // Give back the record of the last peek.
    void release() { give_back(size_); }

private:
    // Used to its end in turn, a ring passes through all of its cache lines, and each comes from the
    // second level cache or farther. So a consumer that has read everything takes what is left up to
    // the end for itself, as a producer takes room, and the next record stands at the beginning:
    // messages that are read as they come stay in few lines (1 KiB takes 150 ns instead of 250), and
    // the whole ring is free for those that are not. One compare-exchange in near_bytes. On other
    // processors it is the other way round, see params::ring_reuse.
    void start_over(std::uint64_t to_end) {
        std::uint64_t tail = head_;
        // relaxed: the claim orders nothing, the lines are zero already and nobody's
        if (control_->tail.load(std::memory_order_relaxed) == head_ &&
            control_->tail.compare_exchange_strong(tail, head_ + to_end, std::memory_order_relaxed)) {
            head_ += to_end;
            publish_head();
        }
    }

    bool hurry() const {
        return is_behind(control_->asked.load(std::memory_order_relaxed), head_) ||
               0 != control_->wanted.load(std::memory_order_relaxed);
    }

    void publish_head() {
        published_ = head_;
        control_->head.store(head_, std::memory_order_release); // H1, pairs with H2
    }

    void give_room() {
        control_->wanted.store(0, std::memory_order_relaxed); // who finds none again says so again
        publish_head();
    }

    void give_back(std::uint64_t written) {
        std::byte *p = base_ + (head_ & (capacity_ - 1));
        for (std::uint64_t off = 0; off < written; off += layout::line) {
            reinterpret_cast<layout::shared<std::uint64_t> *>(p + off)->store(
                0, std::memory_order_relaxed); // ordered before the reuse of the line by H1
        }
        head_ += size_;
        // Given back line by line, the room of a full ring goes to whoever sends short messages, and a longer one might
        // never find enough. Where one waits it is given back by the quarter.
        if (0 == control_->wanted.load(std::memory_order_relaxed)) {
            publish_head();
        } else if (head_ - published_ >= capacity_ / 4) {
            give_room();
        }
    }

    layout::ring_control *control_ = nullptr;
    std::byte *base_ = nullptr;
    std::uint64_t capacity_ = 0;
    std::uint64_t start_over_from_ = 0; // capacity_: never
    std::uint64_t head_ = 0;
    std::uint64_t published_ = 0; // of head_, what producers were told
    std::uint64_t size_ = 0;
    headway distance_;
};

} // namespace smartint
