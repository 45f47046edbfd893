// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Puts and gets between nodes without the target's processor: the network writes and reads the window's memory by
// itself, from and to the user's. The origin asks for the key of a target's memory when it first has something
// large for it, which still goes by message. What is not contiguous, small, or cannot be registered does so always.
// Nothing behind a write tells the target of it before the transport says that it is there: a mark that covers it, of
// an unlock, flush or complete, waits in the queue until then.
#include <algorithm>
#include <utility>

#include "common_smartint_engine.h"
#include "common_smartint_rma.h"

namespace smartint {
namespace {

constexpr unsigned most_transfers = 16;       // under way towards one target
constexpr std::uint64_t most_bytes = 1 << 30; // of one of them

} // namespace

rma_transfer *rma::take_transfer(rma_peer *p, rma_item *i) {
    if (nullptr == free_transfers_) {
        free_transfers_ = &transfers_.emplace_back();
    }
    rma_transfer *t = free_transfers_;
    free_transfers_ = t->link;
    t->owner = this;
    t->peer = p;
    t->item = i;
    t->answer = false;
    t->completion.done = transfer_done;
    t->completion.arg = t;
    return t;
}

void rma::give_back(rma_transfer *t) {
    t->link = free_transfers_;
    free_transfers_ = t;
}

// From within the transport: noted, the pass that goes on sees to it.
void rma::transfer_done(void *arg, bool ok) {
    auto *t = static_cast<rma_transfer *>(arg);
    rma_peer *p = t->peer;
    p->broken_off = p->broken_off || !ok;
    --p->transfers;
    if (nullptr != t->item) {
        --t->item->under_way;
    }
    p->answering -= t->answer ? 1 : 0;
    t->owner->give_back(t);
    t->owner->activate(p);
}

// What became of one: queued, it is under way. full: there is no room. blocked: the peer is lost.
rma::step rma::posted(rma_transfer *t, network::result r, bool queued) {
    rma_peer *p = t->peer;
    if (queued) {
        ++p->transfers;
        if (nullptr != t->item) {
            ++t->item->under_way;
        }
        p->answering += t->answer ? 1 : 0;
        return step::done;
    }
    give_back(t);
    if (network::result::broken == r) {
        p->broken_off = true; // for end_transfers()
        activate(p);
        return step::blocked;
    }
    return network::result::again == r ? step::full : step::done;
}

bool rma::network_reaches(bool put) const {
    const network::capabilities &caps = e_.network_.caps();
    return 0 != e_.params_.window_rdma && (put ? caps.write : caps.read);
}

std::uint64_t rma::least_by_network(bool put) const {
    const network::capabilities &caps = e_.network_.caps();
    return std::max<std::uint64_t>(e_.params_.window_rdma, put ? caps.min_write : caps.min_read);
}

// Does this operation go so? Once it has begun to, it does to its end.
bool rma::by_network(rma_peer *p, rma_item *i) {
    using what = rma_item::what;
    if (nullptr != i->network) {
        return true;
    }
    const bool put = what::put == i->kind;
    if (route::network != p->ep->way || p->window->dynamic || i->by_message || 0 != i->target_at.done() ||
        (!put && (what::get != i->kind || 0 != i->id)) || !network_reaches(put)) {
        return false;
    }
    const network::capabilities &caps = e_.network_.caps();
    const rma_layout &mine = put ? i->origin_layout : i->result_layout;
    const std::uint64_t bytes = i->target_layout.bytes();
    if (bytes < least_by_network(put) || 1 != i->target_layout.pieces() || 1 != mine.pieces()) {
        return false;
    }
    if (rma_peer::reach::known != p->reached) {
        if (rma_peer::reach::unknown == p->reached) {
            p->reached = rma_peer::reach::asked;
            send_now(p, wire::rma_kind::want_key, 0, 0, 0, rma_epoch_kind::none);
        }
        return false;
    }
    const std::uint64_t at = i->target + static_cast<std::uint64_t>(i->target_at.look(bytes).offset);
    if (at < p->base || at - p->base > p->bytes || bytes > p->bytes - (at - p->base)) {
        return false; // its target refuses it
    }
    auto state = std::make_unique<rma_network_state>();
    state->local = put ? place_at(i->origin, i->origin_at.look(bytes).offset)
                       : place_at(i->result, i->result_at.look(bytes).offset);
    state->remote = at;
    if (caps.registers && !e_.network_.pin(state->local, bytes, &state->memory)) {
        i->by_message = true;
        e_.stats_.add(stat::fallbacks);
        return false;
    }
    i->network = std::move(state);
    e_.stats_.add(stat::rma_remote);
    return true;
}

// The head of the queue, as far as the transport takes it.
rma::step rma::run_by_network(rma_peer *p, rma_item *i) {
    if (const step s = after_messages(p); step::done != s) {
        return s;
    }
    const bool put = rma_item::what::put == i->kind;
    const network::capabilities &caps = e_.network_.caps();
    const std::uint64_t least = put ? caps.min_write : caps.min_read;
    const std::uint64_t most =
        put ? std::min<std::uint64_t>(e_.params_.write_bytes, caps.max_write) : std::min(caps.max_read, most_bytes);
    endpoint *ep = p->ep;
    sending_ = true; // what a loss would end is in use
    const bool connected = e_.connect(ep, put);
    sending_ = false;
    rma_network_state &s = *i->network;
    while (connected && s.begun < i->target_layout.bytes()) {
        if (p->transfers >= most_transfers) {
            return step::blocked;
        }
        const std::uint64_t bytes = next_piece(i->target_layout.bytes() - s.begun, least, most);
        rma_transfer *t = take_transfer(p, i);
        bool queued = false;
        const network::result r = put ? e_.network_.write(ep->bulk, s.local + s.begun, &s.memory, bytes,
                                                          s.remote + s.begun, &p->key, &t->completion, &queued)
                                      : e_.network_.read(ep->control, s.local + s.begun, &s.memory, bytes,
                                                         s.remote + s.begun, &p->key, &t->completion, &queued);
        if (const step begun = posted(t, r, queued); step::done != begun) {
            return begun;
        }
        p->unflushed = p->unflushed || put;
        s.begun += bytes;
        (put ? e_.traffic_.other : e_.traffic_.arrived) += bytes;
    }
    if (!connected) {
        return step::blocked;
    }
    take_head(p);
    if (p->told == wire::next_sequence(ep->rma_out)) {
        p->told = 0; // for the connection: the next message is another one
    }
    p->under_way.push_back(i);
    end_transfers(p);
    return step::done;
}

// Those that are over, at the origin.
void rma::end_transfers(rma_peer *p) {
    const auto over = [](const rma_item *i) { return 0 == i->under_way; };
    for (auto at = std::find_if(p->under_way.begin(), p->under_way.end(), over); at != p->under_way.end();
         at = std::find_if(p->under_way.begin(), p->under_way.end(), over)) {
        rma_item *i = *at;
        p->under_way.erase(at);
        end(i, p->broken_off || p->ep->lost ? rma_error::lost : rma_error::none);
    }
    if (0 == p->transfers) {
        for (rma_item *i : std::exchange(p->ending, {})) {
            end(i, rma_error::lost);
        }
    }
    if (p->broken_off && !p->ep->lost) {
        e_.lose(p->ep);
    }
}

// done: all transfers of this queue are over and at the target. Begins the flush that makes sure.
rma::step rma::at_rest(rma_peer *p) {
    if (0 != p->transfers || !p->under_way.empty()) {
        if (p->owed_wake && !e_.application_waits()) { // messages may be among them, and the next call long in coming
            wake_target(p);
        }
        return step::blocked; // the last of them, or of the flush, has the queue go on
    }
    if (!p->unflushed) {
        return step::done;
    }
    rma_transfer *t = take_transfer(p, nullptr);
    bool queued = false;
    const network::result r = e_.network_.flush(p->ep->bulk, &t->completion, &queued);
    if (const step begun = posted(t, r, queued); step::done != begun) {
        return begun;
    }
    p->unflushed = false;
    return queued ? step::blocked : step::done;
}

// A target's answer to want_key: what an origin needs to reach this process's memory, once registered for all.
rma::step rma::send_key(rma_peer *p) {
    rma_window *w = p->window;
    const network::capabilities &caps = e_.network_.caps();
    const rma_region none;
    const rma_region &r = w->dynamic || w->regions.empty() ? none : w->regions.front();
    if (!w->offered) {
        w->offered = true;
        const bool wanted = 0 != r.bytes && (network_reaches(true) || network_reaches(false));
        w->reachable =
            wanted && (!caps.registers || e_.network_.pin(reinterpret_cast<const void *>(r.base), r.bytes, &w->memory));
        e_.stats_.add(stat::fallbacks, wanted && !w->reachable ? 1 : 0);
    }
    wire::rma_head h{};
    h.kind = wire::rma_kind::key;
    h.flags = w->reachable ? 0 : wire::rma_no_operand;
    h.at = r.base;
    h.more = r.bytes;
    return transmit(p, h, {}, w->memory.key, w->reachable ? w->memory.key_bytes : 0);
}

void rma::on_key(rma_peer *p, const wire::rma_head &h, const std::byte *data, std::uint32_t bytes) {
    if (rma_peer::reach::asked != p->reached) {
        e_.refuse();
        return;
    }
    p->reached = rma_peer::reach::none;
    if (0 != (h.flags & wire::rma_no_operand)) {
        return;
    }
    const bool sound = h.at == p->base && h.more == p->bytes && bytes <= network_memory::max_key &&
                       (e_.network_.caps().registers ? e_.network_.unpack(data, bytes, &p->key) : 0 == bytes);
    if (!sound) {
        e_.refuse();
        return;
    }
    p->reached = rma_peer::reach::known;
}

void rma::forget_keys(rma_window *w) {
    e_.network_.unpin(&w->memory);
    for (auto &p : w->peers) {
        if (p) {
            e_.network_.release(&p->key);
        }
    }
}

} // namespace smartint
