// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// A small machine with store buffers (x86-TSO) and an explorer of all its interleavings. A
// thread is a list of steps; each step is one memory access, a fence or a jump. A store goes
// into its thread's buffer and reaches memory at any later moment; a load looks into its own
// buffer first. What the explorer visits once it does not visit again, so loops that wait are
// no trouble; a state in which nobody can move although somebody is not at his end is a
// deadlock, unless whoever asks calls it a rest (a thread that sleeps because nothing is left).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

namespace smartint::tso {

constexpr unsigned max_variables = 12;
constexpr unsigned max_threads = 4;
constexpr unsigned max_registers = 6;
constexpr unsigned buffer_room = 12;

enum class op : std::uint8_t {
    store,       // memory[var] = value, through the buffer
    store_plus,  // memory[var] = reg + value, through the buffer
    load,        // reg = memory[var]
    fence,       // waits for the own buffer to be empty
    membarrier,  // empties every buffer of the process, at once
    exchange,    // reg = memory[var], memory[var] = value, own buffer empty first
    compare,     // if memory[var] == expected: memory[var] = value, reg = 1; else reg = 0
    advance,     // if memory[var] == reg[expected]: memory[var] = it + value, reg = 1; else reg = 0
    add,         // reg = memory[var], memory[var] += value
    mark,        // memory[var + reg] += 1: the observer's notes, in no order with the rest
    set,         // reg = value
    jump_if,     // if reg == value: to target
    jump_unless, // if reg != value: to target
    jump,        // to target
    enter,       // the critical section begins: nobody else may be in one
    leave,       // and ends
    futex_wait,  // if memory[var] == value: sleep until woken
    futex_wake,  // wakes who sleeps on var
    sleep,       // waits until memory[var] is not zero, then makes it zero (an eventfd)
};

struct step {
    op what;
    unsigned variable = 0;
    unsigned reg = 0;
    int value = 0;
    int expected = 0;
    std::string target{};
    std::string label{};
    unsigned to = 0;
};

using program = std::vector<step>;

inline program assemble(program p) {
    for (auto &s : p) {
        if (!s.target.empty()) {
            s.to = static_cast<unsigned>(p.size());
            for (unsigned i = 0; i < p.size(); ++i) {
                if (p[i].label == s.target) {
                    s.to = i;
                }
            }
        }
    }
    return p;
}

inline step at(const char *label, step s) {
    s.label = label;
    return s;
}
inline step store(unsigned var, int value) { return {op::store, var, 0, value}; }
inline step store_plus(unsigned var, unsigned reg, int add) { return {op::store_plus, var, reg, add}; }
inline step load(unsigned reg, unsigned var) { return {op::load, var, reg}; }
inline step fence() { return {op::fence}; }
inline step membarrier() { return {op::membarrier}; }
inline step nothing() { return {op::set, 0, max_registers - 1, 0}; }
inline step exchange(unsigned reg, unsigned var, int value) { return {op::exchange, var, reg, value}; }
inline step compare(unsigned reg, unsigned var, int expected, int value) {
    return {op::compare, var, reg, value, expected};
}
inline step advance(unsigned reg, unsigned var, unsigned from, int by) {
    return {op::advance, var, reg, by, static_cast<int>(from)};
}
inline step add(unsigned reg, unsigned var, int by) { return {op::add, var, reg, by}; }
inline step mark(unsigned var, unsigned reg) { return {op::mark, var, reg}; }
inline step set(unsigned reg, int value) { return {op::set, 0, reg, value}; }
inline step jump_if(unsigned reg, int value, const char *target) { return {op::jump_if, 0, reg, value, 0, target}; }
inline step jump_unless(unsigned reg, int value, const char *target) {
    return {op::jump_unless, 0, reg, value, 0, target};
}
inline step jump(const char *target) { return {op::jump, 0, 0, 0, 0, target}; }
inline step enter() { return {op::enter}; }
inline step leave() { return {op::leave}; }
inline step futex_wait(unsigned var, int value) { return {op::futex_wait, var, 0, value}; }
inline step futex_wake(unsigned var) { return {op::futex_wake, var}; }
inline step sleep_on(unsigned var) { return {op::sleep, var}; }

struct thread_state {
    std::uint8_t pc = 0;
    std::uint8_t buffered = 0;
    std::uint8_t asleep = 0; // 1 + variable
    std::uint8_t critical = 0;
    std::array<std::int8_t, max_registers> reg{};
    std::array<std::uint8_t, buffer_room> variable{};
    std::array<std::int8_t, buffer_room> value{};
};

struct state {
    std::array<std::int8_t, max_variables> memory{};
    std::array<thread_state, max_threads> thread{};

    std::string packed() const { return {reinterpret_cast<const char *>(this), sizeof(*this)}; }
};

struct verdict {
    std::uint64_t states = 0;
    std::uint64_t ends = 0;
    std::uint64_t rests = 0;
    bool exclusion_broken = false;
    bool deadlock = false;
    bool bad_end = false;
    bool overflow = false; // the model is too small: no verdict
    bool good() const { return !exclusion_broken && !deadlock && !bad_end && !overflow; }
};

// Explores everything from `first`. at_end(state) says whether an end is a good one, at_rest the
// same of a state in which nobody can move and somebody is not at his end.
template <class F, class R>
verdict explore(const std::vector<program> &programs, const state &first, F at_end, R at_rest) {
    verdict v;
    std::unordered_set<std::string> seen;
    std::vector<state> open{first};
    seen.insert(first.packed());
    const auto reach = [&](const state &s) {
        if (seen.insert(s.packed()).second) {
            open.push_back(s);
        }
    };
    const auto flush_one = [](state &s, unsigned t) {
        thread_state &th = s.thread[t];
        s.memory[th.variable[0]] = th.value[0];
        for (unsigned i = 1; i < th.buffered; ++i) {
            th.variable[i - 1] = th.variable[i];
            th.value[i - 1] = th.value[i];
        }
        --th.buffered;
        th.variable[th.buffered] = 0;
        th.value[th.buffered] = 0;
    };
    // one violation is enough: what follows it proves nothing more
    while (!open.empty() && !v.exclusion_broken && !v.bad_end && !v.deadlock) {
        const state now = open.back();
        open.pop_back();
        ++v.states;
        bool moved = false;
        bool all_done = true;
        for (unsigned t = 0; t < programs.size(); ++t) {
            if (now.thread[t].buffered > 0) {
                state s = now;
                flush_one(s, t);
                reach(s);
                moved = true;
            }
            if (now.thread[t].pc >= programs[t].size()) {
                continue;
            }
            all_done = false;
            if (0 != now.thread[t].asleep) {
                continue; // until woken
            }
            const step &i = programs[t][now.thread[t].pc];
            state s = now;
            thread_state &th = s.thread[t];
            ++th.pc;
            const bool needs_empty = op::fence == i.what || op::exchange == i.what || op::compare == i.what ||
                                     op::advance == i.what || op::add == i.what || op::futex_wait == i.what ||
                                     op::futex_wake == i.what || op::sleep == i.what || op::membarrier == i.what;
            if (needs_empty && th.buffered > 0) {
                continue; // first its stores (a step of their own)
            }
            switch (i.what) {
            case op::store:
            case op::store_plus:
                if (th.buffered == buffer_room) {
                    v.overflow = true;
                    continue;
                }
                th.variable[th.buffered] = static_cast<std::uint8_t>(i.variable);
                th.value[th.buffered] =
                    static_cast<std::int8_t>(op::store == i.what ? i.value : th.reg[i.reg] + i.value);
                ++th.buffered;
                break;
            case op::load:
                th.reg[i.reg] = s.memory[i.variable];
                for (unsigned b = 0; b < th.buffered; ++b) {
                    if (th.variable[b] == i.variable) {
                        th.reg[i.reg] = th.value[b];
                    }
                }
                break;
            case op::fence:
                break;
            case op::membarrier:
                for (unsigned o = 0; o < programs.size(); ++o) {
                    while (s.thread[o].buffered > 0) {
                        flush_one(s, o);
                    }
                }
                break;
            case op::exchange:
                th.reg[i.reg] = s.memory[i.variable];
                s.memory[i.variable] = static_cast<std::int8_t>(i.value);
                break;
            case op::compare:
                th.reg[i.reg] = s.memory[i.variable] == i.expected ? 1 : 0;
                if (1 == th.reg[i.reg]) {
                    s.memory[i.variable] = static_cast<std::int8_t>(i.value);
                }
                break;
            case op::advance: {
                const std::int8_t expected = th.reg[static_cast<unsigned>(i.expected)];
                th.reg[i.reg] = s.memory[i.variable] == expected ? 1 : 0;
                if (1 == th.reg[i.reg]) {
                    s.memory[i.variable] = static_cast<std::int8_t>(expected + i.value);
                }
                break;
            }
            case op::add:
                th.reg[i.reg] = s.memory[i.variable];
                s.memory[i.variable] = static_cast<std::int8_t>(th.reg[i.reg] + i.value);
                break;
            case op::mark:
                ++s.memory[i.variable + static_cast<unsigned>(th.reg[i.reg])];
                break;
            case op::set:
                th.reg[i.reg] = static_cast<std::int8_t>(i.value);
                break;
            case op::jump_if:
            case op::jump_unless:
                if ((th.reg[i.reg] == i.value) == (op::jump_if == i.what)) {
                    th.pc = static_cast<std::uint8_t>(i.to);
                }
                break;
            case op::jump:
                th.pc = static_cast<std::uint8_t>(i.to);
                break;
            case op::enter:
                th.critical = 1;
                for (unsigned o = 0; o < programs.size(); ++o) {
                    if (o != t && 0 != s.thread[o].critical) {
                        v.exclusion_broken = true;
                    }
                }
                break;
            case op::leave:
                th.critical = 0;
                break;
            case op::futex_wait:
                if (s.memory[i.variable] == i.value) {
                    th.asleep = static_cast<std::uint8_t>(1 + i.variable);
                }
                break;
            case op::futex_wake:
                for (auto &other : s.thread) {
                    if (other.asleep == 1 + i.variable) {
                        other.asleep = 0;
                    }
                }
                break;
            case op::sleep:
                if (0 == s.memory[i.variable]) {
                    continue; // nothing there yet
                }
                s.memory[i.variable] = 0;
                break;
            }
            reach(s);
            moved = true;
        }
        if (all_done && !moved) {
            ++v.ends;
            if (!at_end(now)) {
                v.bad_end = true;
            }
        } else if (!moved) {
            ++v.rests;
            v.deadlock = v.deadlock || !at_rest(now);
        }
    }
    return v;
}

template <class F> verdict explore(const std::vector<program> &programs, const state &first, F at_end) {
    return explore(programs, first, at_end, [](const state &) { return false; });
}

} // namespace smartint::tso
