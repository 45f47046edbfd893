// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "common_smartint_match.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace smartint {
namespace {

constexpr std::size_t first_buckets = 256;
constexpr unsigned pool_limit = 256;

unexpected *message_of(list_hook *h) { return reinterpret_cast<unexpected::linked *>(h)->self; }

// A message hangs in up to four queues; in that of its own key by this hook.
bool by_own_key(list_hook *h) { return h == &message_of(h)->exact.hook; }

unsigned kind_of(std::int32_t source, std::int32_t tag) {
    return (any_source == source ? 1U : 0U) | (any_tag == tag ? 2U : 0U);
}

} // namespace

matcher::matcher() {
    posted_.buckets.assign(first_buckets, nullptr);
    unexpected_.buckets.assign(first_buckets, nullptr);
}

matcher::~matcher() {
    for (match_queue *q : unexpected_.buckets) {
        for (; nullptr != q; q = q->next) {
            while (!q->head.empty()) {
                unexpected *u = message_of(q->head.next);
                take(u);
                std::free(u);
            }
        }
    }
    for (pool &p : pools_) {
        while (nullptr != p.first) {
            unexpected *u = p.first;
            p.first = u->pool_link;
            std::free(u);
        }
    }
}

// Tags are often counted up, by programs that have thousands of messages at a time: 64 in a row share eight lines of
// the table, in an order of their own, and what follows is found in caches or foreseen. Those with a multiple of that
// between them are spread like others.
std::uint64_t matcher::hash(const match_key &k) {
    const auto tag = static_cast<std::uint32_t>(k.tag);
    std::uint64_t h = static_cast<std::uint64_t>(k.context) << 32 | tag >> 6;
    h ^= static_cast<std::uint64_t>(static_cast<std::uint32_t>(k.source)) * 0x9e3779b97f4a7c15ULL;
    h *= 0xff51afd7ed558ccdULL;
    return h ^ (h >> 32) ^ (tag & 63);
}

inline match_queue *matcher::lookup(table &t, const match_key &k) {
    match_queue *q = t.recent;
    return nullptr != q && q->key == k ? q : search(t, k);
}

match_queue *matcher::search(table &t, const match_key &k) {
    for (match_queue *q = t.buckets[hash(k) & (t.buckets.size() - 1)]; nullptr != q; q = q->next) {
        if (q->key == k) {
            t.recent = q;
            return q;
        }
    }
    return nullptr;
}

match_queue *matcher::obtain(table &t, const match_key &k) {
    if (match_queue *q = lookup(t, k); nullptr != q) {
        return q;
    }
    if (t.queues >= t.buckets.size()) {
        sweep(t);
    }
    if (nullptr == t.free_list) {
        constexpr unsigned block = 64;
        t.blocks.push_back(std::make_unique<match_queue[]>(block));
        for (unsigned i = 0; i < block; ++i) {
            t.blocks.back()[i].next = t.free_list;
            t.free_list = &t.blocks.back()[i];
        }
    }
    match_queue *q = t.free_list;
    t.free_list = q->next;
    q->key = k;
    q->head.make_head();
    match_queue *&bucket = t.buckets[hash(k) & (t.buckets.size() - 1)];
    q->next = bucket;
    bucket = q;
    ++t.queues;
    return q;
}

// Empty queues go back to the free list; the table doubles if the rest fill more than half.
void matcher::sweep(table &t) {
    std::vector<match_queue *> live;
    t.recent = nullptr;
    for (match_queue *&bucket : t.buckets) {
        while (nullptr != bucket) {
            match_queue *q = bucket;
            bucket = q->next;
            if (q->head.empty()) {
                q->next = t.free_list;
                t.free_list = q;
                --t.queues;
            } else {
                live.push_back(q);
            }
        }
    }
    if (live.size() * 2 > t.buckets.size()) {
        t.buckets.assign(t.buckets.size() * 2, nullptr);
    }
    for (match_queue *q : live) {
        match_queue *&bucket = t.buckets[hash(q->key) & (t.buckets.size() - 1)];
        q->next = bucket;
        bucket = q;
    }
}

match_key matcher::wild_key(const match_key &k, unsigned kind) {
    return {k.context, 0 != (kind & 1) ? any_source : k.source, 0 != (kind & 2) ? any_tag : k.tag};
}

// by: 1 or -1
void matcher::count_wild(const recv_op *r, int by) {
    const auto n = static_cast<std::uint64_t>(by);
    wilds_ += n;
    wild_posted_[kind_of(r->source, r->tag)] += n;
}

bool matcher::cancel(recv_op *r) {
    if (nullptr == r->queue) {
        return false;
    }
    take_out(r);
    if (any_source == r->source || any_tag == r->tag) {
        count_wild(r, -1);
    }
    return true;
}

recv_op *matcher::posted_from(const endpoint *peer) const {
    for (const match_queue *q : posted_.buckets) {
        for (; nullptr != q; q = q->next) {
            for (list_hook *h = q->head.next; h != &q->head; h = h->next) {
                if (receive_of(h)->peer == peer) {
                    return receive_of(h);
                }
            }
        }
    }
    return nullptr;
}

std::uint64_t matcher::posted_count() const {
    std::uint64_t n = 0;
    for (const match_queue *q : posted_.buckets) {
        for (; nullptr != q; q = q->next) {
            for (list_hook *h = q->head.next; h != &q->head; h = h->next) {
                ++n;
            }
        }
    }
    return n;
}

recv_op *matcher::arrive_among(const match_key &k) {
    recv_op *best = nullptr;
    for (unsigned kind = 0; kind < 4; ++kind) {
        if (0 != kind && 0 == wild_posted_[kind]) {
            continue;
        }
        if (0 != (kind & 2) && k.tag < 0) {
            continue; // negative tags are the library's own: no wildcard gets them
        }
        match_queue *q = lookup(posted_, wild_key(k, kind));
        if (nullptr == q || q->head.empty()) {
            continue;
        }
        recv_op *r = front(q);
        if (nullptr == best || r->order < best->order) {
            best = r;
        }
    }
    if (nullptr != best) {
        cancel(best);
    }
    return best;
}

unexpected *matcher::allocate(std::uint32_t bytes) {
    void *memory = nullptr;
    std::size_t room = bytes;
    if (bytes <= pooled_bytes[1]) {
        pool &p = pools_[bytes > pooled_bytes[0] ? 1 : 0];
        room = pooled_bytes[bytes > pooled_bytes[0] ? 1 : 0];
        if (nullptr != p.first) {
            memory = p.first;
            p.first = p.first->pool_link;
            --p.size;
        }
    }
    if (nullptr == memory) {
        memory = std::malloc(sizeof(unexpected) + room);
        if (nullptr == memory) {
            return nullptr;
        }
    }
    auto *u = new (memory) unexpected;
    u->stored = bytes;
    return u;
}

void matcher::release(unexpected *u) {
    if (u->stored <= pooled_bytes[1]) {
        pool &p = pools_[u->stored > pooled_bytes[0] ? 1 : 0];
        if (p.size < pool_limit) {
            u->pool_link = p.first;
            p.first = u;
            ++p.size;
            return;
        }
    }
    std::free(u);
}

void matcher::append(unexpected *u, unsigned kind) {
    unexpected::linked &place = u->link(kind);
    place.self = u;
    obtain(unexpected_, wild_key(u->key, kind))->head.append(place.hook);
}

void matcher::keep(unexpected *u) {
    for (unsigned kind = 0; kind < 4; ++kind) {
        if (stands_in(kind, u->key)) {
            append(u, kind);
        }
    }
    u->order = ++order_;
    ++unexpected_count_;
}

// First use of a wildcard of this kind: enter the messages kept so far, in order of arrival.
void matcher::index_kind(unsigned kind) {
    indexed_[kind] = true;
    std::vector<unexpected *> all;
    all.reserve(unexpected_count_);
    for (match_queue *q : unexpected_.buckets) {
        for (; nullptr != q; q = q->next) {
            for (list_hook *h = q->head.next; h != &q->head; h = h->next) {
                if (by_own_key(h)) {
                    all.push_back(message_of(h));
                }
            }
        }
    }
    std::sort(all.begin(), all.end(), [](const unexpected *a, const unexpected *b) { return a->order < b->order; });
    for (unexpected *u : all) {
        if (stands_in(kind, u->key)) {
            append(u, kind);
        }
    }
}

unexpected *matcher::find_among(std::uint32_t context, std::int32_t source, std::int32_t tag) {
    const unsigned kind = kind_of(source, tag);
    if (!indexed_[kind]) {
        index_kind(kind);
    }
    match_queue *q = lookup(unexpected_, {context, source, tag});
    return nullptr == q || q->head.empty() ? nullptr : message_of(q->head.next);
}

void matcher::take(unexpected *u) {
    for (unsigned kind = 0; kind < 4; ++kind) {
        if (stands_in(kind, u->key)) {
            u->link(kind).hook.unlink();
        }
    }
    --unexpected_count_;
}

unsigned matcher::drop_context(std::uint32_t context) {
    if (0 == unexpected_count_) { // the table may have grown large once
        return 0;
    }
    std::vector<unexpected *> dead;
    for (match_queue *q : unexpected_.buckets) {
        for (; nullptr != q; q = q->next) {
            if (q->key.context != context) {
                continue;
            }
            for (list_hook *h = q->head.next; h != &q->head; h = h->next) {
                if (by_own_key(h)) {
                    dead.push_back(message_of(h));
                }
            }
        }
    }
    for (unexpected *u : dead) {
        take(u);
        release(u);
    }
    return static_cast<unsigned>(dead.size());
}

} // namespace smartint
