// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "smartintd_relay.h"

#include <algorithm>
#include <cstring>

#include "common_smartint_nodes.h"
#include "common_smartint_ring.h"

namespace smartint::daemon {
namespace {

constexpr std::uint8_t relay_type = 1;
constexpr std::uint8_t moved_type = 2;
constexpr std::size_t backlog_limit = 1024; // notices per node; beyond it the oldest go

} // namespace

relay::~relay() {
    for (auto &[index, n] : nodes_) {
        network_.disconnect(n.connection);
    }
}

bool relay::open(const options &o, deliver d) {
    deliver_ = std::move(d);
    if ("none" == o.transport) {
        return false;
    }
    network_config cfg;
    cfg.transport = o.transport;
    cfg.device = o.device;
    cfg.allow_write = false;
    error_ = network_.open(cfg, on_message, this);
    return 0 == error_;
}

void relay::on_message(void *self, const std::byte *message, std::uint32_t bytes) {
    static_cast<relay *>(self)->receive(message, bytes);
}

void relay::receive(const std::byte *message, std::uint32_t bytes) {
    std::uint64_t word = 0;
    layout::relay_message_header h{};
    if (bytes < sizeof(word) + sizeof(h)) {
        ++rejected_;
        return;
    }
    std::memcpy(&word, message, sizeof(word));
    if (moved_type == ring_word::type(word)) {
        receive_moved(word, message + sizeof(word), bytes - sizeof(word));
        return;
    }
    std::memcpy(&h, message + sizeof(word), sizeof(h));
    const std::byte *at = message + sizeof(word) + sizeof(h);
    const std::size_t left = bytes - sizeof(word) - sizeof(h);
    if (!ring_word::sound(word) || !addressed_here(board_, h) || relay_type != ring_word::type(word) || 0 == h.count ||
        h.count > layout::relay_batch || left != h.count * sizeof(layout::relay_message_item)) {
        ++rejected_;
        return;
    }
    for (unsigned i = 0; i < h.count; ++i) {
        layout::relay_message_item item{};
        std::memcpy(&item, at + i * sizeof(item), sizeof(item));
        if (item.slot >= board_.slots()) {
            ++rejected_;
            continue;
        }
        deliver_(item.slot, {item.key_hi, item.key_lo}, item.source_seq);
    }
}

// The connection is made anew outside the transport's callback, by find().
void relay::receive_moved(std::uint64_t word, const std::byte *data, std::size_t bytes) {
    layout::relay_message_moved m{};
    std::int32_t index = -1;
    if (!ring_word::sound(word) || sizeof(m) != bytes) {
        ++rejected_;
        return;
    }
    std::memcpy(&m, data, sizeof(m));
    if (!take_moved(board_, m, &index)) {
        ++rejected_;
    } else if (index >= 0) {
        if (const auto n = nodes_.find(static_cast<std::uint32_t>(index)); nodes_.end() != n) {
            n->second.broken = false; // perhaps by the address that it had
        }
    }
}

void relay::announce() {
    announces_ = true;
    for (std::uint32_t i = 0; is_open() && i < board_.nodes(); ++i) {
        if (0 != board_.node(i).helper.generation.load(std::memory_order_relaxed)) {
            find(i);
        }
    }
}

network::result relay::send_moved(std::uint32_t index, node &n) {
    helper_address here;
    if (!read_address(board_.helper(0).address, &here)) {
        return network::result::broken; // there is none, which nobody can have announced
    }
    const layout::relay_message_moved m = compose_moved(board_, index, here);
    return network_.send(n.connection, ring_word::pack(sizeof(m), 0, moved_type), &m, sizeof(m), nullptr, 0);
}

// What waits for it is dropped: a node that cannot be reached is done without.
void relay::close(node &n) {
    if (nullptr != n.connection) {
        network_.disconnect(n.connection);
        n.connection = nullptr;
    }
    waiting_ -= n.items.size() + (n.announce ? 1 : 0);
    n.items.clear();
    n.announce = false;
}

// For a time: a refused connection, or a lost one, may be a fault that passes.
void relay::fail(node &n) {
    close(n);
    n.broken = true;
    n.patience = std::clamp(2 * n.patience, shortest_patience, longest_patience);
    n.again = clock::now() + n.patience;
}

unsigned relay::progress() {
    if (!is_open()) {
        return 0;
    }
    const unsigned events = network_.progress();
    for (void *connection : network_.take_lost()) {
        for (auto &[index, n] : nodes_) {
            if (connection == n.connection) {
                fail(n);
            }
        }
    }
    return events;
}

relay::node *relay::find(std::uint32_t index) {
    node &n = nodes_[index];
    const layout::node_entry &e = board_.node(index);
    // relaxed: the address is read with its own edges, below
    const std::uint32_t generation = e.helper.generation.load(std::memory_order_relaxed);
    if (n.generation != generation && 0 == generation % 2) {
        close(n); // another helper is there now
        n.broken = false;
    }
    n.broken = n.broken && clock::now() < n.again;
    if (nullptr != n.connection || n.broken) {
        return n.broken ? nullptr : &n;
    }
    helper_address there;
    if (!read_address(e.helper, &there)) {
        return nullptr;
    }
    n.generation = there.generation;
    n.secret_hi = e.secret_hi;
    n.secret_lo = e.secret_lo;
    const auto bytes = static_cast<std::uint32_t>(there.bytes.size());
    const std::uint32_t whole = network_.max_message(there.bytes.data(), bytes);
    const std::uint32_t least =
        sizeof(std::uint64_t) + sizeof(layout::relay_message_header) + sizeof(layout::relay_message_item);
    if (whole >= least) { // small datagrams hold less than a full batch
        n.batch =
            std::min<std::uint32_t>(layout::relay_batch, 1 + (whole - least) / sizeof(layout::relay_message_item));
        n.connection = network_.connect(there.bytes.data(), bytes);
    }
    if (nullptr == n.connection) {
        fail(n);
        return nullptr;
    }
    if (announces_) {
        n.announce = true;
        ++waiting_;
        ++moves_;
    }
    return &n;
}

unsigned relay::push() {
    unsigned events = 0;
    relay_item item;
    while (relay_take(board_.relay(), item)) {
        ++events;
        if (!is_open() || item.node >= board_.nodes()) {
            continue;
        }
        node *n = find(item.node);
        if (nullptr == n) {
            continue;
        }
        moves_ += n->items.empty() ? 1 : 0;
        if (n->items.size() >= backlog_limit) {
            n->items.erase(n->items.begin());
            --waiting_;
        }
        n->items.push_back({item.slot, 0, item.k.hi, item.k.lo, item.source_seq});
        ++waiting_;
    }
    if (waiting_ > 0) {
        for (auto &[index, n] : nodes_) {
            events += flush(index, n);
        }
    }
    return events;
}

unsigned relay::flush(std::uint32_t index, node &n) {
    unsigned done = 0;
    if (n.announce) {
        switch (send_moved(index, n)) {
        case network::result::again:
            return 0;
        case network::result::broken:
            fail(n);
            return 0;
        case network::result::done:
            n.announce = false;
            --waiting_;
            ++moves_;
            ++done;
        }
    }
    while (!n.items.empty()) {
        const auto count = static_cast<std::uint32_t>(std::min<std::size_t>(n.items.size(), n.batch));
        const std::uint32_t payload = count * sizeof(layout::relay_message_item);
        const layout::relay_message_header h = relay_header(board_, count, n.secret_hi, n.secret_lo);
        const auto r = network_.send(n.connection, ring_word::pack(sizeof(h) + payload, 0, relay_type), &h, sizeof(h),
                                     n.items.data(), payload);
        if (network::result::again == r) {
            break;
        }
        if (network::result::broken == r) {
            fail(n);
            break;
        }
        n.items.erase(n.items.begin(), n.items.begin() + count);
        waiting_ -= count;
        sent_ += count;
        n.patience = {}; // it is there
        ++moves_;
        done += count;
    }
    return done;
}

} // namespace smartint::daemon
