// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// One thread's part in a round: it goes through the plan, with calls and computing times of its own
// choice, completes what is under way, starts persistent requests again and has the result judged.
#include <algorithm>
#include <array>
#include <map>

#include "torture_part.h"

namespace torture {
namespace {

// A receive for what nobody sends, taken back: it must take nothing.
void cancel_one(state *s) {
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

void between_calls(state *s) {
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

void finish_all(state *s) {
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
void start_again(state *s) {
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
        std::stable_sort(ordered.begin(), ordered.end(),
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

void run_round(const round_plan &plan, const communicator_set &set, unsigned thread, std::uint64_t round) {
    const order how = plan.orders[static_cast<std::size_t>(my_rank)];
    state s{plan, set, thread, round, random(opt.seed, 0x0b51, thread, round, my_rank), order::as_planned == how,
            {},   {},  {},     0,     std::vector<bool>(plan.places.size(), false)};
    // two sweeps for those who send or receive first; collective calls are in the first one
    const unsigned sweeps = s.in_order ? 1 : 2;
    for (unsigned sweep = 0; sweep < sweeps; ++sweep) {
        const bool sends = s.in_order || (order::sends_first == how) == (0 == sweep);
        const bool recvs = s.in_order || !sends;
        for (unsigned i = 0; i < plan.places.size(); ++i) {
            const place &p = plan.places[i];
            set_note(thread, "seed %llu round %llu thread %u place %u of %zu",
                     static_cast<unsigned long long>(opt.seed), static_cast<unsigned long long>(round), thread, i,
                     plan.places.size());
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
             static_cast<unsigned long long>(opt.seed), static_cast<unsigned long long>(round), thread,
             plan.places.size());
    finish_all(&s);
    if (order::sends_first == how) { // tokens of sends that did without
        for (unsigned i = 0; i < plan.places.size(); ++i) {
            const place &p = plan.places[i];
            if (!p.is_collective && p.m.from == my_rank && send_mode::ready == p.m.mode) {
                MPI(MPI_Recv(nullptr, 0, MPI_BYTE, p.m.to, static_cast<int>(i), set.tokens, MPI_STATUS_IGNORE));
            }
        }
    }
    set_note(thread, "seed %llu round %llu thread %u, judging", static_cast<unsigned long long>(opt.seed),
             static_cast<unsigned long long>(round), thread);
    judge(plan, s.receipts);
    set_note(thread, "seed %llu round %llu thread %u, persistent requests again",
             static_cast<unsigned long long>(opt.seed), static_cast<unsigned long long>(round), thread);
    start_again(&s);
    for (const auto &o : s.all) {
        if (o->persistent) {
            MPI(MPI_Request_free(&o->request));
        }
    }
}

} // namespace torture
