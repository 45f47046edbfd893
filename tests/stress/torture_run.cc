// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// One thread's part in a round: it goes through the plan, with calls and computing times of its own
// choice, completes what is under way, starts persistent requests again and has the result judged.
#include <algorithm>
#include <array>
#include <map>

#include "torture.h"

namespace torture {
namespace {

class sending final : public operation {
public:
    sending(const message &m, unsigned i, random geometry)
        : data(geometry, m.size, m.unit_out, m.typed), m_(m), key_(m.key)
    {
        index = i;
        data.put(key_, m.size);
    }
    void finish(const MPI_Status &) override
    {
        data.expect(key_, m_.size, "a send buffer");
        done = true;
        data.spoil();
    }
    void again(std::uint64_t key)
    {
        key_ = key;
        data.put(key_, m_.size);
        done = false;
    }
    memory data;
    bool done = false;

private:
    const message &m_;
    std::uint64_t key_;
};

struct state {
    const round_plan &plan;
    const communicator_set &set;
    unsigned thread;
    std::uint64_t round;
    random own;
    bool in_order;
    operations active;
    std::vector<std::unique_ptr<operation>> all;
    std::vector<receipt> receipts; // of receives that are complete
    std::uint64_t posted = 0;
    std::vector<bool> identified; // messages to us that a receive has got
};

class receiving final : public operation {
public:
    receiving(state *s, const message &m, unsigned i, random geometry)
        : data(geometry, m.capacity, m.unit_in,
               24 == m.unit_in && m.expects >= 0
                   && s->plan.places[static_cast<unsigned>(m.expects)].m.typed),
          s_(s), m_(m)
    {
        index = i;
    }

    // How it names its message.
    int source() const
    {
        const communicator &c = s_->set.comms[m_.comm];
        return m_.wild_source ? MPI_ANY_SOURCE
                              : c.rank_of(my_rank, s_->plan.places[m_.pattern_of].m.from);
    }
    int tag() const { return m_.wild_tag ? MPI_ANY_TAG : s_->plan.places[m_.pattern_of].m.tag; }
    void note_posted() { posted = s_->posted++; }

    void finish(const MPI_Status &status) override
    {
        int flag = 0;
        MPI(MPI_Test_cancelled(&status, &flag));
        if (flag) {
            fail("receive %u was cancelled by nobody", index);
        }
        const receipt got = read(status);
        if (again_) {
            data.expect(key_, m_.size, "a message of a persistent request");
        } else if (m_.expects >= 0) {
            const message &want = s_->plan.places[static_cast<unsigned>(m_.expects)].m;
            if (got.from != want.from || got.tag != want.tag || got.bytes != want.size) {
                fail("receive %u: status says %zu bytes from %d with tag %d, expected message %d: "
                     "%zu from %d, %d",
                     index, got.bytes, got.from, got.tag, m_.expects, want.size, want.from,
                     want.tag);
            }
            data.expect(want.key, want.size, "a message");
        } else {
            identify(got);
        }
        done = true;
        if (!again_) {
            s_->receipts.push_back(got);
        }
    }

    void again(std::uint64_t key)
    {
        key_ = key;
        again_ = true;
        done = false;
        data.clear();
    }

    receipt read(const MPI_Status &status) const
    {
        receipt got;
        int bytes = -1;
        // elements may be of several types and the last one partial: their bytes are counted
        MPI(MPI_Get_count(&status, MPI_BYTE, &bytes));
        if (bytes < 0 || static_cast<std::size_t>(bytes) > m_.capacity) {
            fail("receive %u: status says %d bytes, there is room for %zu", index, bytes,
                 m_.capacity);
        }
        got.index = index;
        got.posted = posted;
        got.from = s_->set.comms[m_.comm].world_of(my_rank, status.MPI_SOURCE);
        got.tag = status.MPI_TAG;
        got.bytes = static_cast<std::size_t>(bytes);
        got.data = &data;
        return got;
    }

    // What a probe for this receive found must be what it would get.
    void check_probe(const MPI_Status &status) const
    {
        const receipt got = read(status);
        if (m_.expects >= 0) {
            const message &want = s_->plan.places[static_cast<unsigned>(m_.expects)].m;
            if (got.from != want.from || got.tag != want.tag || got.bytes != want.size) {
                fail("probe for receive %u: %zu bytes from %d with tag %d, expected message %d: "
                     "%zu from %d, %d",
                     index, got.bytes, got.from, got.tag, m_.expects, want.size, want.from,
                     want.tag);
            }
        }
    }

    memory data;
    std::uint64_t posted = 0;
    bool done = false;

private:
    // At once, as bytes that come later than completion would be missed after the round. Which one
    // it must have been is judged then.
    void identify(const receipt &got)
    {
        for (unsigned i = 0; i < s_->plan.places.size(); ++i) {
            const message &m = s_->plan.places[i].m;
            if (!s_->plan.places[i].is_collective && m.to == my_rank && m.comm == m_.comm
                && m.from == got.from && m.tag == got.tag && m.size == got.bytes
                && !s_->identified[i] && data.holds(m.key, m.size)) {
                s_->identified[i] = true;
                return;
            }
        }
        fail("receive %u with wildcards: its %zu bytes from %d with tag %d are of no message sent "
             "so",
             index, got.bytes, got.from, got.tag);
    }

    state *s_;
    const message &m_;
    std::uint64_t key_ = 0;
    bool again_ = false;
};

void begin_send(state *s, unsigned i)
{
    const message &m = s->plan.places[i].m;
    const communicator &c = s->set.comms[m.comm];
    auto owned = std::make_unique<sending>(m, i, random(m.key, 1));
    sending &o = *owned;
    s->all.push_back(std::move(owned));
    o.may_wait = kind::exact == m.how;
    void *b = o.data.address();
    const int n = o.data.count();
    const MPI_Datatype t = o.data.type();
    const int to = c.rank_of(my_rank, m.to);
    send_mode mode = m.mode;
    if (send_mode::ready == mode) {
        if (order::sends_first == s->plan.orders[static_cast<std::size_t>(my_rank)]) {
            mode =
                send_mode::standard; // its receiver may wait for us; the token is taken at the end
        } else {
            MPI(MPI_Recv(nullptr, 0, MPI_BYTE, m.to, static_cast<int>(i), s->set.tokens,
                         MPI_STATUS_IGNORE));
        }
    }
    const auto form = static_cast<std::size_t>(mode);
    if (m.blocking_send && s->in_order) {
        using function = int (*)(const void *, int, MPI_Datatype, int, int, MPI_Comm);
        static const std::array<function, 4> calls{MPI_Send, MPI_Ssend, MPI_Bsend, MPI_Rsend};
        MPI(calls[form](b, n, t, to, m.tag, c.comm));
        o.finish(MPI_Status{});
        return;
    }
    using function = int (*)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
    if (m.persistent_send) {
        static const std::array<function, 4> calls{MPI_Send_init, MPI_Ssend_init, MPI_Bsend_init,
                                                   MPI_Rsend_init};
        MPI(calls[form](b, n, t, to, m.tag, c.comm, &o.request));
        MPI(MPI_Start(&o.request));
        o.persistent = true;
    } else {
        static const std::array<function, 4> calls{MPI_Isend, MPI_Issend, MPI_Ibsend, MPI_Irsend};
        MPI(calls[form](b, n, t, to, m.tag, c.comm, &o.request));
    }
    s->active.push_back(&o);
}

class token final : public operation {
public:
    void finish(const MPI_Status &) override {}
};

void begin_recv(state *s, unsigned i)
{
    const message &m = s->plan.places[i].m;
    const communicator &c = s->set.comms[m.comm];
    auto owned = std::make_unique<receiving>(s, m, i, random(m.key, 2));
    receiving &o = *owned;
    s->all.push_back(std::move(owned));
    o.may_wait = kind::shuffled != m.how;
    void *b = o.data.address();
    const int n = o.data.count();
    const MPI_Datatype t = o.data.type();
    const int from = o.source();
    const int tag = o.tag();
    MPI_Status status;
    MPI_Message taken = MPI_MESSAGE_NULL;
    int flag = 0;
    const bool may_block = s->in_order && kind::shuffled != m.how && send_mode::ready != m.mode;
    const std::uint64_t form = s->own.below(12);
    o.note_posted();
    if (m.persistent_recv) {
        MPI(MPI_Recv_init(b, n, t, from, tag, c.comm, &o.request));
        MPI(MPI_Start(&o.request));
        o.persistent = true;
    } else if (0 == form && may_block) {
        MPI(MPI_Recv(b, n, t, from, tag, c.comm, &status));
        o.finish(status);
        return;
    } else if (1 == form && may_block) {
        MPI(MPI_Probe(from, tag, c.comm, &status));
        o.check_probe(status);
        busy(&s->own);
        MPI(MPI_Recv(b, n, t, status.MPI_SOURCE, status.MPI_TAG, c.comm, &status));
        o.finish(status);
        return;
    } else if (2 == form && may_block) {
        MPI(MPI_Mprobe(from, tag, c.comm, &taken, &status));
        o.check_probe(status);
        if (s->own.one_in(2)) {
            MPI(MPI_Mrecv(b, n, t, &taken, &status));
            o.finish(status);
            return;
        }
        busy(&s->own);
        MPI(MPI_Imrecv(b, n, t, &taken, &o.request));
    } else if (3 == form && may_block) {
        do {
            busy(&s->own);
            MPI(MPI_Iprobe(from, tag, c.comm, &flag, &status));
        } while (!flag);
        o.check_probe(status);
        MPI(MPI_Irecv(b, n, t, status.MPI_SOURCE, status.MPI_TAG, c.comm, &o.request));
    } else if (4 == form && may_block) { // cancelled, and posted again unless it was too late
        MPI(MPI_Irecv(b, n, t, from, tag, c.comm, &o.request));
        busy(&s->own);
        MPI(MPI_Cancel(&o.request));
        MPI(MPI_Wait(&o.request, &status));
        MPI(MPI_Test_cancelled(&status, &flag));
        if (!flag) {
            o.finish(status);
            return;
        }
        o.data.expect(0, 0, "the buffer of a cancelled receive");
        o.note_posted();
        MPI(MPI_Irecv(b, n, t, from, tag, c.comm, &o.request));
    } else if (5 == form || 6 == form) {
        MPI(MPI_Improbe(from, tag, c.comm, &flag, &taken, &status));
        if (flag) {
            o.check_probe(status);
            busy(&s->own);
            MPI(MPI_Imrecv(b, n, t, &taken, &o.request));
        } else {
            MPI(MPI_Irecv(b, n, t, from, tag, c.comm, &o.request));
        }
    } else {
        MPI(MPI_Irecv(b, n, t, from, tag, c.comm, &o.request));
    }
    s->active.push_back(&o);
    if (send_mode::ready == m.mode) {
        auto told = std::make_unique<token>();
        told->index = i;
        MPI(MPI_Isend(nullptr, 0, MPI_BYTE, m.from, static_cast<int>(i), s->set.tokens,
                      &told->request));
        s->active.push_back(told.get());
        s->all.push_back(std::move(told));
    }
}

// A receive for what nobody sends, taken back: it must take nothing.
void cancel_one(state *s)
{
    const communicator &c = s->set.comms[0];
    std::array<std::byte, 64> nothing{};
    MPI_Request request;
    MPI_Status status;
    int flag = 0;
    MPI(MPI_Irecv(nothing.data(), 64, MPI_BYTE, MPI_ANY_SOURCE, 99, c.comm, &request));
    busy(&s->own);
    MPI(MPI_Cancel(&request));
    MPI(MPI_Wait(&request, &status));
    MPI(MPI_Test_cancelled(&status, &flag));
    if (!flag) {
        fail("a receive for a tag nobody uses was not cancelled");
    }
}

void between_calls(state *s)
{
    if (s->own.one_in(4)) {
        busy(&s->own);
    }
    if (s->own.one_in(30)) {
        cancel_one(s);
    }
    if (s->own.one_in(4)) {
        complete_some(&s->active, &s->own, s->in_order && s->own.one_in(3));
    }
}

void finish_all(state *s)
{
    for (operation *o : s->active) {
        o->may_wait = true;
    }
    while (!s->active.empty()) {
        complete_some(&s->active, &s->own, s->own.one_in(2));
        if (s->own.one_in(4)) {
            busy(&s->own);
        }
    }
}

// Persistent requests once more: in the plan's order, and those that share their way with no other
// by MPI_Startall, which may start them in any order.
void start_again(state *s)
{
    for (unsigned time = 1; time < 3; ++time) {
        std::map<std::array<int, 4>, unsigned> ways;
        for (const place &p : s->plan.places) {
            if (!p.is_collective && p.m.times > time) {
                ++ways[{static_cast<int>(p.m.comm), p.m.from, p.m.to, p.m.tag}];
            }
        }
        std::vector<MPI_Request> together;
        operations those;
        std::vector<operation *> ordered;
        for (const auto &o : s->all) {
            ordered.push_back(o.get());
        }
        std::stable_sort(
            ordered.begin(), ordered.end(),
            [](const operation *a, const operation *b) { return a->index < b->index; });
        for (operation *o : ordered) {
            const place &p = s->plan.places[o->index];
            if (p.is_collective || p.m.times <= time || !o->persistent) {
                continue;
            }
            const std::uint64_t key = mix(p.m.key + time);
            if (auto *send = dynamic_cast<sending *>(o)) {
                send->again(key);
            } else {
                static_cast<receiving *>(o)->again(key);
            }
            if (1 == ways[{static_cast<int>(p.m.comm), p.m.from, p.m.to, p.m.tag}]) {
                together.push_back(o->request);
                those.push_back(o);
            } else {
                MPI(MPI_Start(&o->request));
                s->active.push_back(o);
            }
        }
        if (!together.empty()) {
            MPI(MPI_Startall(static_cast<int>(together.size()), together.data()));
            s->active.insert(s->active.end(), those.begin(), those.end());
        }
        finish_all(s);
    }
}

} // namespace

void run_round(const round_plan &plan, const communicator_set &set, unsigned thread,
               std::uint64_t round)
{
    const order how = plan.orders[static_cast<std::size_t>(my_rank)];
    state s{plan,
            set,
            thread,
            round,
            random(opt.seed, 0x0b51, thread, round, my_rank),
            order::as_planned == how,
            {},
            {},
            {},
            0,
            std::vector<bool>(plan.places.size(), false)};
    // two sweeps for those who send or receive first; collective calls are in the first one
    const unsigned sweeps = s.in_order ? 1 : 2;
    for (unsigned sweep = 0; sweep < sweeps; ++sweep) {
        const bool sends = s.in_order || (order::sends_first == how) == (0 == sweep);
        const bool recvs = s.in_order || !sends;
        for (unsigned i = 0; i < plan.places.size(); ++i) {
            const place &p = plan.places[i];
            set_note(thread, "seed %llu round %llu thread %u place %u of %zu",
                     static_cast<unsigned long long>(opt.seed),
                     static_cast<unsigned long long>(round), thread, i, plan.places.size());
            if (p.is_collective) {
                if (0 == sweep && set.comms[p.c.comm].has(my_rank)) {
                    if (auto o = begin_collective(p.c, set.comms[p.c.comm], i)) {
                        s.active.push_back(o.get());
                        s.all.push_back(std::move(o));
                    }
                    between_calls(&s);
                }
                continue;
            }
            if (sends && p.m.from == my_rank) {
                begin_send(&s, i);
                if (p.m.to != my_rank) { // else nobody would receive it while we wait
                    between_calls(&s);
                }
            }
            if (recvs && p.m.to == my_rank) {
                begin_recv(&s, i);
                between_calls(&s);
            }
        }
    }
    set_note(thread, "seed %llu round %llu thread %u, all %zu places under way",
             static_cast<unsigned long long>(opt.seed), static_cast<unsigned long long>(round),
             thread, plan.places.size());
    finish_all(&s);
    if (order::sends_first == how) { // tokens of sends that did without
        for (unsigned i = 0; i < plan.places.size(); ++i) {
            const place &p = plan.places[i];
            if (!p.is_collective && p.m.from == my_rank && send_mode::ready == p.m.mode) {
                MPI(MPI_Recv(nullptr, 0, MPI_BYTE, p.m.to, static_cast<int>(i), set.tokens,
                             MPI_STATUS_IGNORE));
            }
        }
    }
    set_note(thread, "seed %llu round %llu thread %u, judging",
             static_cast<unsigned long long>(opt.seed), static_cast<unsigned long long>(round),
             thread);
    judge(plan, s.receipts);
    set_note(thread, "seed %llu round %llu thread %u, persistent requests again",
             static_cast<unsigned long long>(opt.seed), static_cast<unsigned long long>(round),
             thread);
    start_again(&s);
    for (const auto &o : s.all) {
        if (o->persistent) {
            MPI(MPI_Request_free(&o->request));
        }
    }
}

} // namespace torture
