// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// What the engine's tests have in common: a message of any kind from one engine to another,
// with everything checked that can be.
#pragma once

#include <algorithm>
#include <memory>

#include "harness_engine.h"

namespace smartint::test {

constexpr std::uint32_t ctx = 5;
constexpr std::int32_t tag = 17;
constexpr std::uint64_t big = 1 << 20;

inline std::uint64_t count(engine &e, stat s) { return e.counters().get(s); }

inline unsigned armed(engine &e) {
    e.enter();
    const unsigned n = engine_access::board(e).armed_count();
    e.leave();
    return n;
}

inline params with(const char *rendezvous, const char *progress = "none") {
    params p = test_params(progress);
    p.rendezvous = rendezvous;
    p.arm_from = 0;
    return p;
}

// a sends, b receives: data, status and what is left over.
template <class pair>
void exchange(pair &n, std::uint64_t bytes, std::uint64_t capacity, bool receive_first, unsigned send_step = 1,
              unsigned receive_step = 1, bool synchronous = false) {
    test_send s;
    test_recv r;
    s.aim(n.to_b, bytes, bytes + 3, ctx, 0, tag, send_step);
    s.synchronous = synchronous;
    r.aim(capacity, ctx, 0, tag, receive_step);
    if (receive_first) {
        n.receive(n.b, r);
        n.send(n.a, s);
    } else {
        n.send(n.a, s);
        for (int i = 0; i < 20; ++i) {
            n.b.progress();
            n.a.progress();
        }
        n.receive(n.b, r);
    }
    n.drive("send and receive", [&] { return 1 == s.delivered && 1 == r.delivered; });
    const std::uint64_t expected = std::min(bytes, capacity);
    EXPECT_EQ(op_state::done, s.state);
    EXPECT_EQ(op_state::done, r.state);
    EXPECT_EQ(bytes, r.announced);
    EXPECT_EQ(expected, r.received);
    EXPECT_EQ(bytes > capacity, r.truncated());
    EXPECT_EQ(0, r.got_source);
    EXPECT_EQ(tag, r.got_tag);
    EXPECT_FALSE(s.failed || r.failed || r.overrun);
    EXPECT_EQ(-1, r.differs(expected, bytes + 3)) << bytes << " bytes";
    EXPECT_EQ(0U, engine_access::outstanding(n.a));
    EXPECT_EQ(0U, engine_access::outstanding(n.b));
    EXPECT_EQ(0U, engine_access::in_flight(n.a));
    EXPECT_EQ(0U, engine_access::in_flight(n.b));
    EXPECT_FALSE(engine_access::copies_open(n.a) || engine_access::copies_open(n.b));
    for (int i = 0; i < 5; ++i) {
        n.a.progress();
        n.b.progress();
    }
    EXPECT_EQ(1U, s.delivered);
    EXPECT_EQ(1U, r.delivered);
}

// One call of e's application that has to do with windows: f(e.one_sided()).
template <class F> void call(engine &e, F f) {
    e.enter();
    f(e.one_sided());
    e.leave();
}

// A put, or a get, of the same layout on both sides, with what it begins by itself.
inline void submit(engine &a, rma_peer *p, rma_item::what kind, std::byte *here, std::byte *there,
                   const rma_layout &layout, rma_sync *sync = nullptr) {
    call(a, [&](rma &r) {
        rma_item *i = rma::make(kind, sync);
        i->target = reinterpret_cast<std::uint64_t>(there);
        i->target_layout = layout;
        const bool gets = rma_item::what::get == kind;
        (gets ? i->result : i->origin) = here;
        (gets ? i->result_layout : i->origin_layout) = layout;
        r.submit(p, i);
    });
}

// MPI_Win_flush of a, as far as it goes by itself.
inline std::unique_ptr<rma_sync> begin_flush(engine &a, rma_peer *p) {
    auto sync = std::make_unique<rma_sync>();
    call(a, [&](rma &r) { r.flush(p, sync.get()); });
    return sync;
}

inline void flushed(network_pair &n, rma_peer *p) {
    const auto sync = begin_flush(n.a, p);
    n.drive("a flush", [&] { return ended(n.a, *sync); });
    EXPECT_EQ(rma_error::none, sync->error);
}

// A window's member whose memory this is.
inline rma_member member_of(endpoint *ep, std::vector<std::byte> &memory) {
    rma_member m;
    m.ep = ep;
    m.base = reinterpret_cast<std::uint64_t>(memory.data());
    m.bytes = memory.size();
    return m;
}
inline rma_window *make_window(engine &e, std::uint32_t id, int rank, std::vector<rma_member> members,
                               bool dynamic = false) {
    e.enter();
    rma_window *w = e.one_sided().create(id, rank, std::move(members), dynamic);
    e.leave();
    return w;
}
inline void destroy_window(engine &e, rma_window *w) {
    e.enter();
    e.one_sided().destroy(w);
    e.leave();
}

// Two engines with their threads; the application computes, that is, does not call in.
struct computing : testing::Test {
    static params parameters(const char *rendezvous = "read") { return with(rendezvous, "helper"); }
    static bool asleep(engine &e) { return engine_access::parked(e); }
    static void settle(node_pair &n) {
        wait_until("both threads sleep", [&] { return asleep(n.a) && asleep(n.b); });
    }
};

} // namespace smartint::test
