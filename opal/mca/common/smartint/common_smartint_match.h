// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Matching of messages and receives, pure logic. Posted receives sit in queues found by a
// hash of (context, source, tag), a wildcard being a value like any other; an arriving
// message looks into at most four queues and takes the receive posted first. Unexpected
// messages sit in the queue of their exact key and, once a wildcard of a kind has ever been
// used, in that kind's queue too. So the cost is flat in the number of messages and receives.
//
// Per (source, context) messages arrive in order on one channel, so no sequence numbers are
// needed here. Not thread-safe: the gate protects it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "common_smartint_ops.h"

namespace smartint {

struct match_key {
    std::uint32_t context;
    std::int32_t source;
    std::int32_t tag;
    bool operator==(const match_key &) const = default;
};

// One key's receives or messages, oldest first. Lives in the table until it is empty and
// the table is swept.
struct match_queue {
    match_key key{};
    list_hook head; // circular
    match_queue *next = nullptr;
};

// A message without a receive. Data of an eager one, or the RTS, follows in `bytes`. What every message uses lies
// together, behind what few do.
struct unexpected {
    struct linked { // nothing is in it while the message does not stand in that queue
        list_hook hook;
        unexpected *self;
    };
    linked wild[3]; // any source, any tag, both
    linked exact;
    match_key key{};
    std::uint8_t type = 0; // wire::type
    endpoint *peer = nullptr;
    std::uint64_t length = 0; // of the message
    std::uint64_t sender = 0; // operation id, where an answer is due
    std::uint32_t stored = 0; // bytes that follow the struct
    std::uint64_t order = 0;  // of arrival
    unexpected *pool_link = nullptr;

    linked &link(unsigned kind) { return 0 == kind ? exact : wild[kind - 1]; }
    std::byte *bytes() { return reinterpret_cast<std::byte *>(this + 1); }
};

class matcher {
public:
    matcher();
    ~matcher();
    matcher(const matcher &) = delete;
    matcher &operator=(const matcher &) = delete;

    void post(recv_op *r) {
        const match_key k{r->context, r->source, r->tag};
        match_queue *q = posted_.recent;
        if (nullptr == q || !(q->key == k)) {
            q = obtain(posted_, k);
        }
        r->queue = q;
        r->order = ++order_;
        q->head.append(r->hook);
        if (any_source == r->source || any_tag == r->tag) {
            count_wild(r, 1);
        }
    }
    // Take a posted receive out; false if it is not posted (any more).
    bool cancel(recv_op *r);
    // Any posted receive that names this peer, left in place; nullptr: none. Walks them all.
    recv_op *posted_from(const endpoint *peer) const;
    // The receive a message with this key belongs to, taken out; nullptr: unexpected.
    recv_op *arrive(const match_key &k) {
        // Messages of one key in a row, and no wildcard: no more than the queue found last.
        match_queue *q = posted_.recent;
        if (0 != wilds_ || nullptr == q || !(q->key == k)) {
            return arrive_among(k);
        }
        if (q->head.empty()) {
            return nullptr;
        }
        recv_op *r = front(q);
        take_out(r);
        return r;
    }

    // Storage for an unexpected message with `bytes` behind it; nullptr: out of memory.
    unexpected *allocate(std::uint32_t bytes);
    void release(unexpected *u);
    void keep(unexpected *u);
    // The oldest message a receive (source, tag may be wild) would get. Left in place.
    unexpected *find(std::uint32_t context, std::int32_t source, std::int32_t tag) {
        return 0 != unexpected_count_ ? find_among(context, source, tag) : nullptr;
    }
    void take(unexpected *u);
    // A communicator is gone: drop what is left of it. Number of messages dropped.
    unsigned drop_context(std::uint32_t context);

    std::uint64_t posted_count() const; // for tests: walks them all
    std::uint64_t unexpected_count() const { return unexpected_count_; }

private:
    struct table {
        std::vector<match_queue *> buckets;
        std::uint64_t queues = 0;
        match_queue *recent = nullptr; // found last: many messages in a row have one key
        match_queue *free_list = nullptr;
        std::vector<std::unique_ptr<match_queue[]>> blocks;
    };
    static recv_op *front(match_queue *q) { return receive_of(q->head.next); }
    static recv_op *receive_of(list_hook *h) {
        return reinterpret_cast<recv_op *>(reinterpret_cast<std::byte *>(h) - offsetof(recv_op, hook));
    }
    void take_out(recv_op *r) {
        r->hook.unlink();
        r->queue = nullptr;
    }
    void count_wild(const recv_op *r, int by);
    recv_op *arrive_among(const match_key &k);
    static std::uint64_t hash(const match_key &k);
    static match_queue *lookup(table &t, const match_key &k);
    static match_queue *search(table &t, const match_key &k);
    match_queue *obtain(table &t, const match_key &k);
    void sweep(table &t);
    unexpected *find_among(std::uint32_t context, std::int32_t source, std::int32_t tag);
    void index_kind(unsigned kind);
    // Does the message stand in the queue of this kind? Negative tags are the library's own: no wildcard gets them.
    bool stands_in(unsigned kind, const match_key &k) const {
        return indexed_[kind] && (0 == (kind & 2) || k.tag >= 0);
    }
    void append(unexpected *u, unsigned kind);
    static match_key wild_key(const match_key &k, unsigned kind);

    table posted_;
    table unexpected_;
    std::uint64_t order_ = 0;
    std::uint64_t unexpected_count_ = 0;
    std::uint64_t wilds_ = 0;           // posted receives with a wildcard
    std::uint64_t wild_posted_[4] = {}; // by kind: any source 1, any tag 2
    bool indexed_[4] = {true, false, false, false};
    struct pool { // small ones, used again
        unexpected *first = nullptr;
        unsigned size = 0;
    };
    static constexpr std::uint32_t pooled_bytes[] = {64, 512};
    pool pools_[2];
};

} // namespace smartint
