// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// The plan of a round, the same on all ranks: who sends what to whom, and which receives may take
// it.
//
// Places are numbered. A rank that goes through them in order may block: whoever is blocked at the
// lowest place waits for somebody who is not blocked below it, so one of them can always go on.
// That is so for
//   - receives of all classes but shuffled ones: of the messages of the class up to this place not
//   all are taken;
//   - sends that wait for their receive, and tokens, in the class exact only: with wildcards the
//   receive of this
//     place may have gone to a later message;
//   - collective calls.
// Ranks of another order call nothing that blocks before all of theirs is under way, so they hold
// up nobody.
#include <algorithm>
#include <map>
#include <tuple>

#include "torture.h"

namespace torture {
namespace {

enum class policy { exact, any, divided, shuffled };

struct receiver { // of one communicator
    policy how = policy::exact;
    int only = -1;             // shuffled: the sender
    std::uint64_t sources = 0; // divided: those of this set are received by any_tag
};

constexpr int tags = 6; // divided: the upper half is received by any_source
constexpr std::size_t most_buffered = 32768;
constexpr unsigned most_buffered_messages = 24;

std::size_t draw_size(random *r, bool wild) {
    static const std::size_t edges[] = {8192, 65536, 32768, 131072, 262144, 524288, 1048576};
    std::size_t size = 0;
    switch (r->below(10)) {
    case 0:
        size = r->below(3);
        break;
    case 1:
        size = r->below(256);
        break;
    case 2:
    case 3:
        size = r->below(20000);
        break;
    case 4:
    case 5: // around limits and pieces, less headers perhaps
        size = edges[r->below(7)];
        size = r->one_in(2) ? size + r->below(5) - 2 : size - r->below(120);
        break;
    case 6:
        size = (std::size_t{1} << r->below(24)) + r->below(3) - 1;
        break;
    case 7:
    case 8:
        size = r->below(200000);
        break;
    default:
        size = r->below(r->one_in(8) ? opt.max_size + 1 : (4 << 20));
        break;
    }
    return std::min({size, opt.max_size, wild ? std::size_t{2} << 20 : opt.max_size});
}

// Bytes of an element of the datatype: many small pieces only where there are not too many in all.
std::size_t draw_unit(random *r, std::size_t size, bool divides) {
    static const std::size_t units[] = {1, 3, 12, 24, 100, 1000, 4096, 65536};
    if (0 == size || !r->one_in(3)) {
        return 0;
    }
    std::size_t unit = size > (1 << 20) ? units[5 + r->below(3)] : units[r->below(8)];
    if (unit > size || r->one_in(6)) {
        unit = size;
    }
    return divides && 0 != size % unit ? 0 : unit;
}

std::size_t class_of(const message &m) { // those that may meet the same receives, of one receiver and communicator
    switch (m.how) {
    case kind::exact:
        return 1 + static_cast<std::size_t>(m.from) * 1000 + static_cast<std::size_t>(m.tag % 100);
    case kind::any_source:
        return 10000000 + static_cast<std::size_t>(m.tag % 100);
    case kind::any_tag:
        return 20000000 + static_cast<std::size_t>(m.from);
    default:
        return 0;
    }
}

bool matches(const message &receive, const round_plan &plan, const message &m) {
    const message &named = plan.places[receive.pattern_of].m;
    return (receive.wild_source || named.from == m.from) && (receive.wild_tag || named.tag == m.tag);
}

// Receives in any order and of any form for the messages of one sender. What a message meets is
// determined: the first receive posted that it fits, whatever the timing.
void shuffle(random *r, round_plan *plan, const std::vector<unsigned> &group, bool tags_wild) {
    std::vector<unsigned> pattern(group);
    const std::size_t reach = r->one_in(2) ? group.size() : 3;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        std::swap(pattern[i], pattern[i + r->below(std::min(reach, pattern.size() - i))]);
    }
    for (unsigned wildness = 3;; --wildness) {
        for (std::size_t i = 0; i < group.size(); ++i) {
            message &receive = plan->places[group[i]].m;
            receive.pattern_of = pattern[i];
            receive.wild_source = r->one_in(2);
            receive.wild_tag = tags_wild && wildness > 0 && r->below(6) < wildness;
            receive.expects = -1;
        }
        std::vector<bool> taken(group.size(), false);
        std::size_t matched = 0;
        for (const unsigned sent : group) {
            for (std::size_t i = 0; i < group.size(); ++i) {
                if (!taken[i] && matches(plan->places[group[i]].m, *plan, plan->places[sent].m)) {
                    taken[i] = true;
                    plan->places[group[i]].m.expects = static_cast<int>(sent);
                    ++matched;
                    break;
                }
            }
        }
        if (matched == group.size()) { // with tags named it always is
            break;
        }
    }
}

} // namespace

void draw_plan(round_plan *plan, const communicator_set &set, unsigned thread, std::uint64_t round) {
    random r(opt.seed, 0x91a7, thread, round);
    plan->places.clear();
    plan->orders.clear();
    const unsigned ranks = static_cast<unsigned>(n_ranks);
    const bool blocks = r.one_in(2); // blocking collective calls need everybody in order
    for (unsigned i = 0; i < ranks; ++i) {
        const bool in_order = blocks || r.one_in(2);
        plan->orders.push_back(in_order ? order::as_planned : r.one_in(2) ? order::receives_first : order::sends_first);
    }
    std::map<std::pair<unsigned, int>, receiver> receivers;
    std::map<std::pair<unsigned, int>, unsigned> wild;
    const unsigned count = static_cast<unsigned>(r.from_to(1, r.one_in(4) ? opt.messages : opt.messages / 3 + 1));
    const bool small = r.one_in(5);                                      // a storm of small ones
    const int hot = r.one_in(4) ? static_cast<int>(r.below(ranks)) : -1; // somebody gets most of it
    unsigned buffered = 0;
    std::size_t budget = opt.budget;
    bool exceeded = false; // one message of a round may be larger than its budget
    for (unsigned i = 0; i < count; ++i) {
        place p;
        if (r.one_in(12)) {
            p.is_collective = true;
            p.c.what = static_cast<collective>(r.below(collectives));
            p.c.comm = static_cast<unsigned>(r.below(set.comms.size() - 1)); // not the common one
            p.c.root = static_cast<unsigned>(r.below(64));
            p.c.blocking = blocks && r.one_in(3);
            p.c.bytes = r.one_in(8) ? r.below(400000) : r.below(9000);
            p.c.key = r.next();
            if (!set.comms[p.c.comm].inter) {
                plan->places.push_back(p);
            }
            continue;
        }
        message &m = p.m;
        m.comm = static_cast<unsigned>(r.below(set.comms.size()));
        const communicator &c = set.comms[m.comm];
        do {
            m.from = static_cast<int>(r.below(ranks));
            m.to = hot >= 0 && !r.one_in(4) ? hot : static_cast<int>(r.below(ranks));
        } while (m.from == m.to && ranks > 1 && !r.one_in(8));
        if (!c.pair(m.from, m.to)) {
            continue;
        }
        auto [found, fresh] = receivers.try_emplace({m.comm, m.to});
        receiver &to = found->second;
        if (fresh) {
            to.how = static_cast<policy>(r.below(4));
            if (!c.tags_wild && policy::any == to.how) {
                to.how = policy::divided;
            }
            to.only = m.from;
            to.sources = c.tags_wild ? r.next() : 0;
        }
        m.tag = c.tag_base + static_cast<int>(r.below(tags));
        switch (to.how) {
        case policy::exact:
            m.how = kind::exact;
            break;
        case policy::any:
            m.how = kind::any;
            break;
        case policy::shuffled:
            m.how = kind::shuffled;
            m.from = to.only;
            break;
        case policy::divided:
            if (0 != (to.sources >> m.from & 1)) {
                m.how = kind::any_tag;
                m.tag = c.tag_base + static_cast<int>(r.below(tags / 2)); // any_source must not fit it
            } else {
                m.how = m.tag - c.tag_base >= tags / 2 ? kind::any_source : kind::exact;
            }
        }
        const bool is_wild = kind::exact != m.how && kind::shuffled != m.how;
        m.size = small ? r.below(2000) : draw_size(&r, is_wild);
        if (m.size > opt.budget && !exceeded) {
            exceeded = true;
        } else if (m.size > budget) {
            m.size = r.below(10000);
        }
        // A wildcard's receive has room for the largest that may come.
        if (is_wild && ++wild[{m.comm, m.to}] > 8) {
            m.size = std::min<std::size_t>(m.size, 300000);
        }
        budget -= std::min(budget, m.size);
        for (std::size_t so_far = largest; so_far < m.size && !largest.compare_exchange_weak(so_far, m.size);) {}
        m.key = r.next();
        if (!is_wild && r.one_in(6)) {
            m.typed = true;
            m.size -= m.size % 24;
            m.unit_out = m.unit_in = 0 == m.size ? 0 : 24;
        } else {
            m.unit_out = draw_unit(&r, m.size, true);
        }
        switch (r.below(6)) {
        case 0:
            m.mode = send_mode::synchronous;
            break;
        case 1:
            if (m.size <= most_buffered && ++buffered <= most_buffered_messages) {
                m.mode = send_mode::buffered;
            }
            break;
        case 2:
            if (kind::exact == m.how && m.from != m.to) {
                m.mode = send_mode::ready;
            }
            break;
        default:
            break;
        }
        m.blocking_send = (kind::exact == m.how || send_mode::buffered == m.mode) && m.from != m.to && r.one_in(4);
        m.persistent_recv = r.one_in(5);
        m.persistent_send = !m.blocking_send && r.one_in(5);
        if (kind::exact == m.how && m.persistent_send && m.persistent_recv && send_mode::ready != m.mode &&
            !(opt.lenient && send_mode::buffered == m.mode)) {
            m.times = static_cast<unsigned>(r.from_to(1, 3));
        }
        plan->places.push_back(p);
    }
    // What each receive names, and the room it needs.
    std::map<std::tuple<unsigned, int, std::size_t>, std::vector<unsigned>> classes;
    for (unsigned i = 0; i < plan->places.size(); ++i) {
        message &m = plan->places[i].m;
        if (plan->places[i].is_collective) {
            continue;
        }
        classes[{m.comm, m.to, class_of(m)}].push_back(i);
        m.pattern_of = i;
        m.wild_source = kind::any_source == m.how || kind::any == m.how;
        m.wild_tag = kind::any_tag == m.how || kind::any == m.how;
        m.expects = kind::exact == m.how ? static_cast<int>(i) : -1;
    }
    for (auto &[name, group] : classes) {
        message &first = plan->places[group[0]].m;
        if (kind::shuffled == first.how) {
            shuffle(&r, plan, group, set.comms[first.comm].tags_wild);
        }
        std::size_t largest = 0;
        for (const unsigned i : group) {
            largest = std::max(largest, plan->places[i].m.size);
        }
        for (const unsigned i : group) {
            message &m = plan->places[i].m;
            const std::size_t size = m.expects >= 0 ? plan->places[static_cast<unsigned>(m.expects)].m.size : largest;
            m.capacity = r.one_in(3) ? size + r.below(100) : size;
            const bool typed = m.expects >= 0 && plan->places[static_cast<unsigned>(m.expects)].m.typed;
            m.unit_in = typed ? (0 == size ? 0 : 24) : draw_unit(&r, size, false);
            if (typed) {
                m.capacity = size;
            }
        }
    }
}

void show_plan(const round_plan &plan) {
    static const char *const kinds[] = {"exact", "any source", "any tag", "any", "shuffled"};
    static const char *const modes[] = {"send", "ssend", "bsend", "rsend"};
    static const char *const orders[] = {"in order", "receives first", "sends first"};
    for (std::size_t r = 0; r < plan.orders.size(); ++r) {
        std::printf("# rank %zu %s\n", r, orders[static_cast<std::size_t>(plan.orders[r])]);
    }
    for (std::size_t i = 0; i < plan.places.size(); ++i) {
        const place &p = plan.places[i];
        if (p.is_collective) {
            std::printf("# %zu: collective %u in %u, %zu bytes%s\n", i, static_cast<unsigned>(p.c.what), p.c.comm,
                        p.c.bytes, p.c.blocking ? ", blocking" : "");
            continue;
        }
        const message &m = p.m;
        std::printf("# %zu: %s%s%s %d to %d in %u tag %d, %zu bytes, element %zu; %s receive%s "
                    "like %u%s%s, element %zu, "
                    "room %zu, gets %d; %u times\n",
                    i, m.blocking_send ? "blocking " : "", m.persistent_send ? "persistent " : "",
                    modes[static_cast<std::size_t>(m.mode)], m.from, m.to, m.comm, m.tag, m.size, m.unit_out,
                    kinds[static_cast<std::size_t>(m.how)], m.persistent_recv ? ", persistent" : "", m.pattern_of,
                    m.wild_source ? " any source" : "", m.wild_tag ? " any tag" : "", m.unit_in, m.capacity, m.expects,
                    m.times);
    }
    std::fflush(stdout);
}

} // namespace torture
