// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "common_smartint_match.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace smartint {
namespace {

constexpr std::size_t first_buckets = 256;
constexpr std::uint32_t pooled_bytes = 512;
constexpr unsigned pool_limit = 256;

void init_head(list_hook &h) { h.prev = h.next = &h; }
bool is_empty(const list_hook &h) { return h.next == &h; }

void append(list_hook &head, list_hook &n) {
    n.prev = head.prev;
    n.next = &head;
    head.prev->next = &n;
    head.prev = &n;
}

void unlink(list_hook &n) {
    n.prev->next = n.next;
    n.next->prev = n.prev;
    n.next = n.prev = nullptr;
}

recv_op *receive_of(list_hook *h) {
    return reinterpret_cast<recv_op *>(reinterpret_cast<std::byte *>(h) - offsetof(recv_op, hook));
}

unexpected *message_of(list_hook *h) {
    return reinterpret_cast<unexpected::linked *>(h)->self;
}

// A message hangs in up to four queues; in that of its own key by this hook.
bool by_own_key(list_hook *h) { return h == &message_of(h)->link[0].hook; }

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
            while (!is_empty(q->head)) {
                unexpected *u = message_of(q->head.next);
                take(u);
                std::free(u);
            }
        }
    }
    while (nullptr != pool_) {
        unexpected *u = pool_;
        pool_ = u->pool_link;
        std::free(u);
    }
}

std::uint64_t matcher::hash(const match_key &k) {
    std::uint64_t h =
        static_cast<std::uint64_t>(k.context) << 32 | static_cast<std::uint32_t>(k.tag);
    h ^= static_cast<std::uint64_t>(static_cast<std::uint32_t>(k.source)) * 0x9e3779b97f4a7c15ULL;
    h *= 0xff51afd7ed558ccdULL;
    return h ^ (h >> 32);
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
    init_head(q->head);
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
            if (is_empty(q->head)) {
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

void matcher::post(recv_op *r) {
    match_queue *q = obtain(posted_, {r->context, r->source, r->tag});
    r->queue = q;
    r->order = ++order_;
    append(q->head, r->hook);
    ++posted_count_;
    ++wild_posted_[kind_of(r->source, r->tag)];
}

bool matcher::cancel(recv_op *r) {
    if (nullptr == r->queue) {
        return false;
    }
    unlink(r->hook);
    r->queue = nullptr;
    --posted_count_;
    --wild_posted_[kind_of(r->source, r->tag)];
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

recv_op *matcher::arrive(const match_key &k) {
    recv_op *best = nullptr;
    for (unsigned kind = 0; kind < 4; ++kind) {
        if (0 == wild_posted_[kind]) {
            continue;
        }
        if (0 != (kind & 2) && k.tag < 0) {
            continue; // negative tags are the library's own: no wildcard gets them
        }
        match_queue *q = lookup(posted_, wild_key(k, kind));
        if (nullptr == q || is_empty(q->head)) {
            continue;
        }
        recv_op *r = receive_of(q->head.next);
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
    unexpected *u = nullptr;
    if (bytes <= pooled_bytes && nullptr != pool_) {
        u = pool_;
        pool_ = u->pool_link;
        --pool_size_;
    } else {
        const std::size_t room = bytes <= pooled_bytes ? pooled_bytes : bytes;
        u = static_cast<unexpected *>(std::malloc(sizeof(unexpected) + room));
        if (nullptr == u) {
            return nullptr;
        }
    }
    new (u) unexpected{};
    u->stored = bytes;
    return u;
}

void matcher::release(unexpected *u) {
    if (u->stored <= pooled_bytes && pool_size_ < pool_limit) {
        u->pool_link = pool_;
        pool_ = u;
        ++pool_size_;
    } else {
        std::free(u);
    }
}

void matcher::keep(unexpected *u) {
    for (unsigned kind = 0; kind < 4; ++kind) {
        if (indexed_[kind] && (0 == (kind & 2) || u->key.tag >= 0)) {
            u->link[kind].self = u;
            append(obtain(unexpected_, wild_key(u->key, kind))->head, u->link[kind].hook);
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
    std::sort(all.begin(), all.end(),
              [](const unexpected *a, const unexpected *b) { return a->order < b->order; });
    for (unexpected *u : all) {
        if (0 == (kind & 2) || u->key.tag >= 0) {
            u->link[kind].self = u;
            append(obtain(unexpected_, wild_key(u->key, kind))->head, u->link[kind].hook);
        }
    }
}

unexpected *matcher::find_among(std::uint32_t context, std::int32_t source, std::int32_t tag) {
    const unsigned kind = kind_of(source, tag);
    if (!indexed_[kind]) {
        index_kind(kind);
    }
    match_queue *q = lookup(unexpected_, {context, source, tag});
    return nullptr == q || is_empty(q->head) ? nullptr : message_of(q->head.next);
}

void matcher::take(unexpected *u) {
    for (auto &l : u->link) {
        if (nullptr != l.hook.next) {
            unlink(l.hook);
        }
    }
    --unexpected_count_;
}

unsigned matcher::drop_context(std::uint32_t context) {
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
