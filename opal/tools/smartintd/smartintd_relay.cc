// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "smartintd_relay.h"

#include <algorithm>
#include <cstring>

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
    return 0 == network_.open(cfg, on_message, this);
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
    std::memcpy(&h, message + sizeof(word), sizeof(h));
    const std::byte *at = message + sizeof(word) + sizeof(h);
    const std::size_t left = bytes - sizeof(word) - sizeof(h);
    const auto &board = board_.header();
    if (!ring_word::sound(word) || static_cast<std::uint32_t>(layout::magic) != h.magic ||
        layout::version != h.version || board.job != h.job || board.secret_hi != h.secret_hi ||
        board.secret_lo != h.secret_lo) {
        ++rejected_;
        return;
    }
    layout::relay_message_moved m{};
    if (moved_type == ring_word::type(word) && 0 == h.count && sizeof(m) == left) {
        std::memcpy(&m, at, sizeof(m));
        take_moved(m);
        return;
    }
    if (relay_type != ring_word::type(word) || 0 == h.count || h.count > layout::relay_batch ||
        left != h.count * sizeof(layout::relay_message_item)) {
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

// Its address into the node table, which but for this nobody changes and nobody else reads. The
// connection is made anew outside the transport's callback. Two that both took another's place tell
// each other at every new connection: what is known already makes none, or it would go on for ever.
void relay::take_moved(const layout::relay_message_moved &m) {
    if (0 == m.address_bytes || m.address_bytes > layout::node_address_bytes) {
        ++rejected_;
        return;
    }
    for (std::uint32_t i = 0; i < layout::max_nodes; ++i) {
        layout::node_entry &e = board_.nodes()[i];
        if (2 == e.state.load(std::memory_order_acquire) && m.node == e.node) { // N2
            const auto n = nodes_.find(i);
            const bool lost = nodes_.end() != n && n->second.broken;
            if (lost || e.address_bytes != m.address_bytes ||
                0 != std::memcmp(e.address, m.address, m.address_bytes)) {
                e.address_bytes = m.address_bytes;
                std::memcpy(e.address, m.address, m.address_bytes);
                moved_.push_back(i);
            }
            return;
        }
    }
}

void relay::announce(std::uint64_t node) {
    here_ = node;
    for (std::uint32_t i = 0; is_open() && i < layout::max_nodes; ++i) {
        if (2 == board_.nodes()[i].state.load(std::memory_order_acquire)) { // N2
            find(i);
        }
    }
}

network::result relay::send_moved(node &n) {
    layout::relay_message_header h{};
    h.magic = static_cast<std::uint32_t>(layout::magic);
    h.version = layout::version;
    h.job = board_.header().job;
    h.secret_hi = n.secret_hi;
    h.secret_lo = n.secret_lo;
    layout::relay_message_moved m{};
    m.node = here_;
    const auto &a = network_.address();
    m.address_bytes =
        static_cast<std::uint32_t>(std::min<std::size_t>(a.size(), layout::node_address_bytes));
    std::memcpy(m.address, a.data(), m.address_bytes);
    return network_.send(n.connection, ring_word::pack(sizeof(h) + sizeof(m), 0, moved_type), &h,
                         sizeof(h), &m, sizeof(m));
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

unsigned relay::progress() {
    if (!is_open()) {
        return 0;
    }
    const unsigned events = network_.progress();
    for (void *connection : network_.take_lost()) {
        for (auto &[index, n] : nodes_) {
            if (connection == n.connection) {
                close(n);
                n.broken = true;
            }
        }
    }
    for (const std::uint32_t index : moved_) {
        node &n = nodes_[index];
        close(n);
        n.broken = false;
    }
    moved_.clear();
    return events;
}

relay::node *relay::find(std::uint32_t index) {
    node &n = nodes_[index];
    if (nullptr != n.connection || n.broken) {
        return n.broken ? nullptr : &n;
    }
    const layout::node_entry &e = board_.nodes()[index];
    const std::uint32_t bytes = e.address_bytes;
    if (2 == e.state.load(std::memory_order_acquire) && bytes <= layout::node_address_bytes) { // N2
        n.secret_hi = e.secret_hi;
        n.secret_lo = e.secret_lo;
        const auto *address = reinterpret_cast<const std::byte *>(e.address);
        const std::uint32_t whole = network_.max_message(address, bytes);
        const std::uint32_t least = sizeof(std::uint64_t) + sizeof(layout::relay_message_header) +
                                    sizeof(layout::relay_message_item);
        if (whole >= least) { // small datagrams hold less than a full batch
            n.batch = std::min<std::uint32_t>(layout::relay_batch,
                                              1 + (whole - least) / sizeof(layout::relay_message_item));
            n.connection = network_.connect(address, bytes);
        }
    }
    n.broken = nullptr == n.connection;
    if (!n.broken && 0 != here_) {
        n.announce = true;
        ++waiting_;
    }
    return n.broken ? nullptr : &n;
}

unsigned relay::push() {
    unsigned events = 0;
    relay_item item;
    while (relay_take(board_.relay(), item)) {
        ++events;
        if (!is_open() || item.node >= layout::max_nodes) {
            continue;
        }
        node *n = find(item.node);
        if (nullptr == n) {
            continue;
        }
        if (n->items.size() >= backlog_limit) {
            n->items.erase(n->items.begin());
            --waiting_;
        }
        n->items.push_back({item.slot, 0, item.k.hi, item.k.lo, item.source_seq});
        ++waiting_;
    }
    if (waiting_ > 0) {
        for (auto &[index, n] : nodes_) {
            events += flush(n);
        }
    }
    return events;
}

unsigned relay::flush(node &n) {
    unsigned done = 0;
    if (n.announce) {
        switch (send_moved(n)) {
        case network::result::again:
            return 0;
        case network::result::broken:
            close(n);
            n.broken = true;
            return 0;
        case network::result::done:
            n.announce = false;
            --waiting_;
            ++done;
        }
    }
    while (!n.items.empty()) {
        const auto count =
            static_cast<std::uint32_t>(std::min<std::size_t>(n.items.size(), n.batch));
        const std::uint32_t payload = count * sizeof(layout::relay_message_item);
        layout::relay_message_header h{};
        h.magic = static_cast<std::uint32_t>(layout::magic);
        h.version = layout::version;
        h.count = static_cast<std::uint16_t>(count);
        h.job = board_.header().job;
        h.secret_hi = n.secret_hi;
        h.secret_lo = n.secret_lo;
        const auto r =
            network_.send(n.connection, ring_word::pack(sizeof(h) + payload, 0, relay_type), &h,
                          sizeof(h), n.items.data(), payload);
        if (network::result::again == r) {
            break;
        }
        if (network::result::broken == r) {
            close(n);
            n.broken = true;
            break;
        }
        n.items.erase(n.items.begin(), n.items.begin() + count);
        waiting_ -= count;
        sent_ += count;
        done += count;
    }
    return done;
}

} // namespace smartint::daemon
