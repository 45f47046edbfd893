// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// How one thread sends and receives a message of the plan: in one of MPI's many ways.
#include <array>

#include "torture_part.h"

namespace torture {
namespace {

class token final : public operation {
public:
    void finish(const MPI_Status &) override {}
};

} // namespace

void begin_send(state *s, unsigned i) {
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
            mode = send_mode::standard; // its receiver may wait for us; the token is taken at the end
        } else {
            MPI(MPI_Recv(nullptr, 0, MPI_BYTE, m.to, static_cast<int>(i), s->set.tokens, MPI_STATUS_IGNORE));
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
        static const std::array<function, 4> calls{MPI_Send_init, MPI_Ssend_init, MPI_Bsend_init, MPI_Rsend_init};
        MPI(calls[form](b, n, t, to, m.tag, c.comm, &o.request));
        MPI(MPI_Start(&o.request));
        o.persistent = true;
    } else {
        static const std::array<function, 4> calls{MPI_Isend, MPI_Issend, MPI_Ibsend, MPI_Irsend};
        MPI(calls[form](b, n, t, to, m.tag, c.comm, &o.request));
    }
    s->active.push_back(&o);
}

void begin_recv(state *s, unsigned i) {
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
        MPI(MPI_Isend(nullptr, 0, MPI_BYTE, m.from, static_cast<int>(i), s->set.tokens, &told->request));
        s->active.push_back(told.get());
        s->all.push_back(std::move(told));
    }
}

} // namespace torture
