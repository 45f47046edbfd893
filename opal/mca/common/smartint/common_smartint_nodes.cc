// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "common_smartint_nodes.h"

#include <algorithm>
#include <cstring>

namespace smartint {
namespace {

constexpr int write_spins = 10000; // for one that writes the entry we look at; it may stand still, or have been killed

constexpr std::size_t word_bytes = sizeof(std::uint64_t);

bool whole(std::uint32_t generation) { return 0 != generation && 0 == generation % 2; }

// To write what has the even generation `found`. False: another process was first.
bool claim(layout::address_cell &cell, std::uint32_t *found) {
    return cell.generation.compare_exchange_strong(*found, *found + 1, std::memory_order_acquire); // N2
}

// By whoever claimed it; an even generation.
void fill(layout::address_cell &cell, std::uint32_t generation, const std::byte *address, std::size_t bytes) {
    std::atomic_thread_fence(std::memory_order_release); // N3, pairs with N4
    cell.bytes.store(static_cast<std::uint32_t>(bytes), std::memory_order_relaxed);
    for (std::size_t at = 0; at < bytes; at += word_bytes) {
        std::uint64_t word = 0;
        std::memcpy(&word, address + at, std::min(word_bytes, bytes - at));
        cell.words[at / word_bytes].store(word, std::memory_order_relaxed);
    }
    cell.generation.store(generation, std::memory_order_release); // N1, pairs with N2
}

// A node's entry, taken by whoever names it first; -1: the table is full. No entry is ever freed and all are searched
// in one order, so that two who enter the same node meet at the same word, however long either stands still.
std::int32_t enter(segment &board, std::uint64_t identity) {
    const std::uint32_t n = board.nodes();
    for (std::uint32_t probe = 0; probe < n; ++probe) {
        const auto i = static_cast<std::uint32_t>((identity % n + probe) % n);
        // relaxed: nothing is read behind it; what the entry says has edges of its own (N1, N2). Never another again.
        std::uint64_t found = board.node(i).node.load(std::memory_order_relaxed);
        if ((0 == found && board.node(i).node.compare_exchange_strong(found, identity, std::memory_order_relaxed)) ||
            identity == found) {
            return static_cast<std::int32_t>(i);
        }
    }
    return -1;
}

// The address in an entry, if it is later than what is there; the first one with the secrets, which stay as they are.
// By any of those who know them, whoever took the entry: it may have been killed since. What somebody else is writing
// may be older, so it is waited for.
void renew(layout::node_entry &e, const remote_node &node, std::uint32_t generation) {
    for (int spin = 0; spin < write_spins; ++spin) {
        std::uint32_t found = e.helper.generation.load(std::memory_order_acquire); // N2, pairs with N1
        if (whole(found) && generation <= found) {
            return;
        }
        const bool first = 0 == found;
        if (0 != found % 2 || !claim(e.helper, &found)) {
            continue;
        }
        if (first) {
            e.secret_hi = node.secret_hi;
            e.secret_lo = node.secret_lo;
        }
        fill(e.helper, generation, node.helper, node.helper_bytes);
        return;
    }
}

} // namespace

bool read_address(const layout::address_cell &cell, helper_address *out) {
    const std::uint32_t generation = cell.generation.load(std::memory_order_acquire); // N2, pairs with N1
    const std::uint32_t bytes = cell.bytes.load(std::memory_order_relaxed);
    if (!whole(generation) || 0 == bytes || bytes > layout::node_address_bytes) {
        return false;
    }
    out->bytes.resize(bytes);
    for (std::size_t at = 0; at < bytes; at += word_bytes) {
        const std::uint64_t word = cell.words[at / word_bytes].load(std::memory_order_relaxed);
        std::memcpy(out->bytes.data() + at, &word, std::min(word_bytes, bytes - at));
    }
    std::atomic_thread_fence(std::memory_order_acquire); // N4, pairs with N3
    out->generation = generation;
    return generation == cell.generation.load(std::memory_order_relaxed);
}

void write_address(layout::address_cell &cell, const std::byte *address, std::size_t bytes) {
    // relaxed: nobody else writes it
    const std::uint32_t found = cell.generation.load(std::memory_order_relaxed);
    const std::uint32_t even = found + found % 2;
    cell.generation.store(even + 1, std::memory_order_relaxed);
    fill(cell, even + 2, address, bytes);
}

std::int32_t publish_node(segment &board, const remote_node &node) {
    if (0 == node.identity) {
        return -1;
    }
    const std::int32_t index = enter(board, node.identity);
    if (index >= 0) {
        renew(board.node(static_cast<std::uint32_t>(index)), node, layout::first_address);
    }
    return index;
}

bool is_published(const segment &board, std::uint32_t index) {
    // N2, pairs with N1
    return board.node(index).helper.generation.load(std::memory_order_acquire) >= layout::first_address;
}

layout::relay_message_moved compose_moved(const segment &board, std::uint32_t index, const helper_address &address) {
    const layout::node_entry &to = board.node(index);
    layout::relay_message_moved m{};
    m.head = relay_header(board, 0, to.secret_hi, to.secret_lo);
    m.node = board.header().node;
    m.address_bytes = static_cast<std::uint32_t>(address.bytes.size());
    m.generation = address.generation;
    std::copy(address.bytes.begin(), address.bytes.end(), reinterpret_cast<std::byte *>(m.address));
    m.secret_hi = board.header().secret_hi;
    m.secret_lo = board.header().secret_lo;
    return m;
}

bool take_moved(segment &board, const layout::relay_message_moved &m, std::int32_t *index) {
    *index = -1;
    if (!addressed_here(board, m.head) || 0 != m.head.count || 0 == m.node || 0 == m.address_bytes ||
        m.address_bytes > layout::node_address_bytes || !whole(m.generation)) {
        return false;
    }
    // Who told us will not do so again. Where no rank here has met that node the news would be lost, and the first one
    // to enter it would do so with the address that it began with: so we enter it.
    *index = enter(board, m.node);
    if (*index >= 0) {
        // News may overtake each other, and every rank tells. Two helpers that both took another's place tell each
        // other at every new connection: if that were news, they would make new ones for ever.
        renew(board.node(static_cast<std::uint32_t>(*index)),
              {m.node, reinterpret_cast<const std::byte *>(m.address), m.address_bytes, m.secret_hi, m.secret_lo},
              m.generation);
    }
    return true;
}

layout::relay_message_header relay_header(const segment &board, std::uint32_t count, std::uint64_t secret_hi,
                                          std::uint64_t secret_lo) {
    layout::relay_message_header h{};
    h.magic = static_cast<std::uint32_t>(layout::magic);
    h.version = layout::version;
    h.count = static_cast<std::uint16_t>(count);
    h.job = board.header().job;
    h.secret_hi = secret_hi;
    h.secret_lo = secret_lo;
    return h;
}

bool addressed_here(const segment &board, const layout::relay_message_header &h) {
    const layout::segment_header &mine = board.header();
    return static_cast<std::uint32_t>(layout::magic) == h.magic && layout::version == h.version && mine.job == h.job &&
           mine.secret_hi == h.secret_hi && mine.secret_lo == h.secret_lo;
}

} // namespace smartint
