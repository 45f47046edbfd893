// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Peers: how each is reached, and what is told of one that is lost.
#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include "common_smartint_clock.h"
#include "common_smartint_engine.h"
#include "common_smartint_log.h"

namespace smartint {
namespace {

constexpr std::uint32_t ring_fragment = 16384; // of a copy pipeline inside a node
constexpr std::uint32_t room_factor = 4;       // see goes_whole; parameters.md names it

} // namespace

endpoint *engine::find_peer(std::uint64_t name) {
    const auto it = by_name_.find(name);
    return it == by_name_.end() ? nullptr : it->second;
}

endpoint *engine::keep(std::unique_ptr<endpoint> ep) {
    by_name_[ep->name] = ep.get();
    endpoints_.push_back(std::move(ep));
    return endpoints_.back().get();
}

endpoint *engine::add_self() {
    if (endpoint *known = find_peer(me_.name); nullptr != known) {
        return known;
    }
    auto ep = std::make_unique<endpoint>();
    ep->name = me_.name;
    ep->way = route::self;
    ep->eager_limit = ep->eager_if_room = params_.network_eager_limit;
    ep->max_payload = ep->max_fragment = ring_fragment;
    return keep(std::move(ep));
}

endpoint *engine::add_shared(std::uint64_t name, std::uint32_t slot) {
    if (!segment_.mapped() || slot >= segment_.slots()) {
        return nullptr;
    }
    if (endpoint *known = find_peer(name); nullptr != known) {
        return known;
    }
    auto ep = std::make_unique<endpoint>();
    ep->name = name;
    ep->way = route::shared;
    ep->slot = static_cast<std::uint16_t>(slot);
    ep->ring.attach(&segment_.slot(slot).ring, segment_.ring(slot), segment_.ring_bytes());
    const std::uint32_t quarter = segment_.ring_bytes() / 4 - layout::line;
    ep->eager_limit = std::min<std::uint32_t>(params_.eager_limit, quarter - wire::max_header);
    ep->eager_if_room = std::min<std::uint32_t>(room_factor * ep->eager_limit, quarter - wire::max_header);
    ep->max_payload = ep->max_fragment = std::min(ring_fragment, quarter / 2);
    ep->direct = rendezvous_kind::copy != rendezvous_;
    by_slot_[slot] = ep.get();
    return keep(std::move(ep));
}

endpoint *engine::add_network(std::uint64_t name, const std::byte *address, std::size_t bytes, const remote_node *node,
                              std::uint32_t relay_slot) {
    if (!network_.is_open() || 0 == bytes || bytes > wire::max_network_address) {
        return nullptr;
    }
    if (endpoint *known = find_peer(name); nullptr != known) {
        // first met by its RTS, which does not say where its helper is
        if (route::network == known->way && known->node < 0) {
            set_relay_route(known, node, relay_slot);
        }
        return known;
    }
    auto ep = std::make_unique<endpoint>();
    ep->name = name;
    ep->way = route::network;
    ep->address.assign(address, address + bytes);
    // what both can take, less our own words
    constexpr std::uint32_t own = sizeof(std::uint64_t) + wire::max_header;
    const std::uint32_t whole = network_.max_message(address, bytes);
    if (whole < own + least_payload) {
        return nullptr;
    }
    const std::uint32_t room = whole - own;
    ep->eager_limit = ep->eager_if_room = std::min<std::uint32_t>(params_.network_eager_limit, room);
    // What is copied into the transport's buffer first is no larger than what goes whole.
    ep->max_payload = std::min(room, std::max(params_.network_eager_limit, smallest_network_message - own));
    ep->max_fragment = room;
    ep->direct = false;
    set_relay_route(ep.get(), node, relay_slot);
    return keep(std::move(ep));
}

void engine::set_relay_route(endpoint *ep, const remote_node *node, std::uint32_t relay_slot) {
    ep->relay_slot = relay_slot;
    if (board_.attached() && nullptr != node && node->helper_bytes > 0 &&
        node->helper_bytes <= layout::node_address_bytes) {
        ep->node = publish_node(segment_, *node);
    }
}

// Met by its RTS, which does not say where its helper is: without that no notice from here would wake it. Once.
void engine::introduce(endpoint *ep) {
    ep->asked = true;
    if (by_thread_ || looks_again_) {
        defer({.kind = deferred::what::stranger, .from = ep});
    } else if (nullptr != hooks_.introduce) {
        hooks_.introduce(ep);
    }
}

bool engine::connect(endpoint *ep, bool bulk) {
    void *&c = bulk ? ep->bulk : ep->control;
    if (nullptr == c) {
        c = network_.connect(ep->address.data(), ep->address.size());
        if (nullptr == c) {
            lose(ep);
            return false;
        }
    }
    return true;
}

// The peer can't be reached any more: its operations fail, once, with one message.
// owed: something was, before they were failed.
void engine::lose(endpoint *ep, bool owed) {
    note_lost(ep);
    if (!ep->told && (!at_end_ || (of_another_job(ep) && owed))) { // else nobody is left who waits for it
        ep->told = true;
        std::string who = "process " + std::to_string(static_cast<std::uint32_t>(ep->name));
        if (of_another_job(ep)) { // spawned, or connected to
            who += " of job " + std::to_string(ep->name >> 32) + ", not this one";
        }
        tell(topic::lost_peer, who.c_str(), "the connection is broken", ep->name);
    }
    fail_peer_operations(ep); // also those that were begun after it was lost
}

// A process of another job sends over connections of its own, and may have gone long before this one sends anything.
void engine::note_lost(endpoint *ep) {
    if (!ep->lost && route::network == ep->way && of_another_job(ep)) {
        ep->parting = true;
        ep->lost_us = parting_.heard_us = now_us();
        parting_.peers.push_back(ep);
    }
    ep->lost = true;
}

bool engine::is_lost(endpoint *ep) {
    watch(ep);
    if (ep->lost && !ep->parting) {
        lose(ep);
    }
    return ep->lost && !ep->parting;
}

// The end of a process of another job is seen at a connection that this one has made. Nobody else ends for it.
void engine::watch(endpoint *ep) {
    if (route::network == ep->way && nullptr == ep->control && !ep->lost && !in_network_ && of_another_job(ep)) {
        ep->control = network_.connect(ep->address.data(), ep->address.size()); // or not: what is sent will tell
    }
}

// A send may have returned before its message was out, or its request may have been freed, and the peer may receive it
// long after this process would have ended.
//
// What Open MPI itself sends in MPI_Finalize, and does not wait for, is none of it: with several communicators that
// span jobs a word to each of their processes, which may have ended long ago.
bool engine::owes(const endpoint *ep) {
    bool any = 0 != ep->open_sends;
    for (const pending_message *m = ep->pending_head; nullptr != m && !any; m = m->next) {
        any = nullptr == m->op || m->op->owed || 0 == m->op->id;
    }
    return any;
}

bool engine::owes_other_jobs() {
    return std::any_of(endpoints_.begin(), endpoints_.end(), [this](const auto &ep) {
        return route::network == ep->way && !ep->lost && of_another_job(ep.get()) &&
               (owes(ep.get()) || (nullptr != ep->control && network_.unsent(ep->control)) ||
                (nullptr != ep->bulk && network_.unsent(ep->bulk)));
    });
}

// Until the peer has come to MPI and taken it, or is lost: as long as a send would have waited that kept nothing.
void engine::see_out() {
    if (!started_) {
        return;
    }
    enter(); // the thread looks at it
    at_end_ = true;
    leave();
    constexpr std::chrono::microseconds nap{100};
    const auto owed = [this] {
        enter();
        const bool yes = owes_other_jobs();
        leave();
        return yes;
    };
    while (owed()) {
        if (0 == progress()) {
            std::this_thread::sleep_for(nap);
        }
    }
}

// A peer that ended has closed all its connections, and what it sent before stands in front of the end of one but not
// of another. A look at a socket takes part of what is there.
void engine::look_for_lost() {
    std::vector<void *> lost = network_.take_lost();
    if (lost.empty()) {
        return;
    }
    constexpr unsigned most_looks = 4096, quiet_looks = 16;
    for (unsigned looks = 0, quiet = 0; looks < most_looks && quiet < quiet_looks; ++looks) {
        quiet = 0 == network_.progress() ? quiet + 1 : 0;
    }
    const std::vector<void *> more = network_.take_lost();
    lost.insert(lost.end(), more.begin(), more.end());
    for (void *connection : lost) {
        lost_connection(connection);
    }
}

// The transport says so. At the end of a job this is how peers go: it is worth a word only if
// something still depends on them.
void engine::lost_connection(void *connection) {
    for (const auto &ep : endpoints_) {
        if (connection == ep->control || connection == ep->bulk) {
            note_lost(ep.get());
            const bool owed = owes(ep.get());
            if (fail_peer_operations(ep.get()) > 0) {
                lose(ep.get(), owed);
            }
            return;
        }
    }
}

// Its data comes over a connection of its own, of which no end is told: what the peer sent before it ended may be on
// its way for as long as the line takes.
void engine::orphan(recv_op *op) {
    if (!op->orphaned) {
        op->orphaned = true;
        op->heard_us = now_us();
        ++parting_.receives;
    }
}

// Nothing came for so long that nothing will.
void engine::see_off() {
    constexpr std::uint64_t grace_us = 2000000, longest_us = 10 * grace_us; // of others something may always come
    // A time in which nobody looked, as this process computed without a thread or was stopped, is none in which nothing
    // came.
    constexpr std::uint64_t gap_us = grace_us / 2;
    const std::uint64_t since = now_us() - std::exchange(parting_.looked_us, now_us());
    if (since > gap_us) { // each look counts for something: who looks seldom comes to an end, too
        const auto later = [since](std::uint64_t *t) { *t = std::min(*t + since - gap_us, now_us()); };
        later(&parting_.heard_us);
        std::for_each(parting_.peers.begin(), parting_.peers.end(), [&](endpoint *ep) { later(&ep->lost_us); });
        receives_.each([&](recv_op *op) { later(&op->heard_us); });
    }
    for (std::size_t i = 0; i < parting_.peers.size();) {
        endpoint *ep = parting_.peers[i];
        const std::uint64_t now = now_us(); // what ends here may find another one lost
        if (now - parting_.heard_us < grace_us && now - ep->lost_us < longest_us) {
            ++i;
            continue;
        }
        parting_.peers.erase(parting_.peers.begin() + static_cast<std::ptrdiff_t>(i));
        ep->parting = false;
        const bool owed = owes(ep);
        if (fail_peer_operations(ep) > 0) {
            lose(ep, owed);
        }
    }
    if (0 == parting_.receives) {
        return;
    }
    const std::uint64_t now = now_us();
    receives_.each([&](recv_op *op) {
        if (!op->orphaned || 0 != op->unpacking) {
            return;
        }
        // Several of them come one after the other, over one connection.
        endpoint *ep = op->peer;
        const std::uint64_t heard =
            now - std::min(now, ep->lost_us) < longest_us ? std::max(op->heard_us, parting_.heard_us) : op->heard_us;
        if (now - std::min(now, heard) < grace_us) {
            return;
        }
        op->failed = true;
        complete(op);
        lose(ep);
    });
}

// All that depends on it, and how many those are.
unsigned engine::fail_peer_operations(endpoint *ep) {
    unsigned failed = 0;
    const auto fail = [&](auto *op) {
        op->failed = true;
        complete(op);
        ++failed;
    };
    while (nullptr != ep->pending_head) {
        pending_message *m = dequeue(ep);
        if (nullptr != m->op && op_state::done != m->op->state) {
            fail(m->op);
        }
        failed += m->early ? 1 : 0; // whose sender was told that all is well
        if (nullptr != m->sent) {
            sent_calls_.push_back({m->sent, m->arg, false});
        }
        delete m;
    }
    // Nothing more comes from it, so what waits for it would wait for ever. A receive from
    // anybody may still get another's message.
    while (recv_op *op = ep->parting ? nullptr : matcher_.posted_from(ep)) {
        matcher_.cancel(op);
        fail_posted(op);
        fail(op);
    }
    receives_.each([&](recv_op *op) {
        if (op->reading) {
            op->failed = op->failed || op->peer == ep; // the transport still has its buffer
        } else if (op->peer == ep && op_state::moving == op->state) {
            if (route::network == ep->way && wire::mode::copy == op->asked) {
                orphan(op);
            } else {
                std::erase(network_reads_, op);
                std::erase_if(deferred_, [&](const deferred &d) { return d.op == op; });
                fail(op);
            }
        }
    });
    sends_.each([&](send_op *op) {
        if (op->peer == ep && (op_state::rts_sent == op->state || op_state::queued == op->state)) {
            fail(op);
        }
    });
    return failed + (rma_ ? rma_->lost(ep) : 0);
}

} // namespace smartint
