// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Where helpers are reached: this node's says so on its line, those of other nodes stand in the node
// table. An address changes when another helper takes the place of one that ended; whoever reads one
// gets it whole or not at all. Any process of the node, any thread. Hints only, as all on the board: a
// wrong address costs overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common_smartint_layout.h"
#include "common_smartint_segment.h"

namespace smartint {

// Another node, as the helper must know it to relay there.
struct remote_node {
    std::uint64_t identity = 0;        // 0: none
    const std::byte *helper = nullptr; // its network address
    std::size_t helper_bytes = 0;      // 1..node_address_bytes
    std::uint64_t secret_hi = 0;       // of that node's board
    std::uint64_t secret_lo = 0;
};

struct helper_address {
    std::uint32_t generation = 0; // of the cell it was read from: another one, another address
    std::vector<std::byte> bytes;
};

// False: there is none, it is being written, or its length cannot be.
bool read_address(const layout::address_cell &cell, helper_address *out);
// By the cell's only writer: a helper, about itself. What one wrote that was killed meanwhile is
// written over. address: of 1..node_address_bytes bytes.
void write_address(layout::address_cell &cell, const std::byte *address, std::size_t bytes);

// The node's index in the table, of an entry that is written if there is none; -1: the table is full, or it is no node.
// Once per node, by however many: where another one writes the entry and stands still, it may not be whole yet.
std::int32_t publish_node(segment &board, const remote_node &node);
// It is: its secrets and an address were written. index: below board.nodes().
bool is_published(const segment &board, std::uint32_t index);

// Of a message to the helper of a node whose board has this secret: `count` notices follow, at most
// relay_batch, or 0 for messages of other kinds.
layout::relay_message_header relay_header(const segment &board, std::uint32_t count, std::uint64_t secret_hi,
                                          std::uint64_t secret_lo);
// It is from this job and for this node.
bool addressed_here(const segment &board, const layout::relay_message_header &h);

// To node `index` of the table, which is_published(): this node's helper is at `address` now.
layout::relay_message_moved compose_moved(const segment &board, std::uint32_t index, const helper_address &address);
// Such a message, from a helper or a rank: a new address goes into the table, and so does a node that nobody
// here has met. False: it is wrong or not for this node. *index: whose address it is, -1: the table is full.
bool take_moved(segment &board, const layout::relay_message_moved &m, std::int32_t *index);

} // namespace smartint
