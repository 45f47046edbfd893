// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
// Sizes and offsets of what processes share. A failure here means: bump layout::version and
// docs/layout.md, then these numbers.
#include "common_smartint_layout.h"

#include <cstring>

#include "common_smartint_wire.h"
#include "harness.h"

namespace smartint {
namespace {

using namespace layout;

TEST(layout, its_version_goes_with_these_numbers) {
    EXPECT_EQ(15U, version);
    EXPECT_EQ(0x31746e6974726d73ULL, magic);
    EXPECT_EQ(0, std::memcmp(&magic, "smrtint1", 8));
    EXPECT_EQ(64U, line);
    EXPECT_EQ(4096U, max_slots);
    EXPECT_EQ(64U, request_entries);
    EXPECT_EQ(64U, notice_entries);
    EXPECT_EQ(64U, seen_entries);
    EXPECT_EQ(64U, copy_entries);
    EXPECT_EQ(1024U, max_nodes);
    EXPECT_EQ(256U, relay_entries);
    EXPECT_EQ(96U, node_address_bytes);
    EXPECT_EQ(16U, max_helpers);
    EXPECT_EQ(32U, relay_batch);
}

TEST(layout, sizes_are_pinned) {
    EXPECT_EQ(128U, sizeof(segment_header));
    EXPECT_EQ(192U, sizeof(helper_line));
    EXPECT_EQ(448U, sizeof(slot_control));
    EXPECT_EQ(64U, sizeof(request_entry));
    EXPECT_EQ(32U, sizeof(notice_entry));
    EXPECT_EQ(16U, sizeof(shared_copy));
    EXPECT_EQ(192U, sizeof(ring_control));
    EXPECT_EQ(448U + 64 * 64 + 64 * 32 + 64 * 8 + 64 * 16 + 192, sizeof(slot));
    EXPECT_EQ(104U, sizeof(address_cell));
    EXPECT_EQ(128U, sizeof(node_entry));
    EXPECT_EQ(160U, sizeof(relay_message_moved));
    EXPECT_EQ(64U, sizeof(relay_entry));
    EXPECT_EQ(128U + 256 * 64, sizeof(relay_queue));
    EXPECT_EQ(32U, sizeof(relay_message_header));
    EXPECT_EQ(32U, sizeof(relay_message_item));
}

TEST(layout, offsets_of_the_segment_are_pinned) {
    EXPECT_EQ(0U, offsetof(segment_header, magic));
    EXPECT_EQ(8U, offsetof(segment_header, version));
    EXPECT_EQ(12U, offsetof(segment_header, slots));
    EXPECT_EQ(16U, offsetof(segment_header, total_bytes));
    EXPECT_EQ(24U, offsetof(segment_header, secret_hi));
    EXPECT_EQ(40U, offsetof(segment_header, slot_stride));
    EXPECT_EQ(56U, offsetof(segment_header, ring_bytes));
    EXPECT_EQ(60U, offsetof(segment_header, uid));
    EXPECT_EQ(64U, offsetof(segment_header, nodes_offset));
    EXPECT_EQ(88U, offsetof(segment_header, job));
    EXPECT_EQ(92U, offsetof(segment_header, layout_sum));
    EXPECT_EQ(96U, offsetof(segment_header, ready));
    EXPECT_EQ(12U, offsetof(helper_line, network_error));
    EXPECT_EQ(64U, offsetof(helper_line, address));
    EXPECT_EQ(104U, offsetof(segment_header, node));
    EXPECT_EQ(112U, offsetof(segment_header, nodes));
    EXPECT_EQ(168U, offsetof(helper_line, cpu));
    EXPECT_EQ(176U, offsetof(helper_line, start_time));
}

TEST(layout, offsets_of_a_slot_are_pinned) {
    EXPECT_EQ(0U, offsetof(slot_control, attached));
    EXPECT_EQ(16U, offsetof(slot_control, start_time));
    EXPECT_EQ(24U, offsetof(slot_control, stopped));
    EXPECT_EQ(32U, offsetof(slot_control, pid_namespace));
    EXPECT_EQ(448U, offsetof(slot, requests));
    EXPECT_EQ(448U + 4096, offsetof(slot, notices));
    EXPECT_EQ(448U + 4096 + 2048, offsetof(slot, seen));
    EXPECT_EQ(448U + 4096 + 2048 + 512, offsetof(slot, copies));
    EXPECT_EQ(448U + 4096 + 2048 + 512 + 1024, offsetof(slot, ring));
    // The last of a slot, before the ring; tests/fault/broken_ring.c knows these, too.
    EXPECT_EQ(sizeof(slot), offsetof(slot, ring) + 192);
    EXPECT_EQ(0U, offsetof(ring_control, tail));
    EXPECT_EQ(64U, offsetof(ring_control, head));
    EXPECT_EQ(128U, offsetof(ring_control, asked));
    EXPECT_EQ(136U, offsetof(ring_control, visited));
}

TEST(layout, words_with_different_writers_have_lines_of_their_own) {
    const std::size_t lines[] = {offsetof(slot_control, attached) / line,       offsetof(slot_control, progress) / line,
                                 offsetof(slot_control, wanted) / line,         offsetof(slot_control, armed) / line,
                                 offsetof(slot_control, notices_posted) / line, offsetof(slot_control, cpus) / line};
    for (std::size_t i = 0; i < std::size(lines); ++i) {
        EXPECT_EQ(i, lines[i]);
    }
    EXPECT_NE(offsetof(ring_control, tail) / line, offsetof(ring_control, head) / line);
    EXPECT_NE(offsetof(ring_control, tail) / line, offsetof(ring_control, asked) / line);
    EXPECT_NE(offsetof(ring_control, head) / line, offsetof(ring_control, asked) / line);
    EXPECT_NE(offsetof(relay_queue, posted) / line, offsetof(relay_queue, taken) / line);
    EXPECT_EQ(0U, offsetof(relay_queue, entries) % line);
}

TEST(layout, zero_is_the_initial_state_of_everything) {
    EXPECT_EQ(0U, static_cast<std::uint32_t>(helper_absent));
    EXPECT_EQ(0U, static_cast<std::uint32_t>(rank_outside));
    EXPECT_EQ(0U, static_cast<std::uint64_t>(request_free));
}

TEST(layout, its_sum_changes_only_with_its_version) { EXPECT_EQ(1217984U, layout_sum); }

TEST(wire, headers_are_pinned) {
    EXPECT_EQ(12U, sizeof(wire::match));
    EXPECT_EQ(32U, sizeof(wire::match_sync));
    EXPECT_EQ(56U, sizeof(wire::rendezvous));
    EXPECT_EQ(56U, sizeof(wire::answer));
    EXPECT_EQ(16U, sizeof(wire::fragment));
    EXPECT_EQ(16U, sizeof(wire::credit_msg));
    EXPECT_EQ(16U, sizeof(wire::finish));
    EXPECT_EQ(16U, sizeof(wire::am_header));
    EXPECT_EQ(48U, sizeof(wire::atomic_request));
    EXPECT_EQ(24U, sizeof(wire::atomic_result));
    EXPECT_EQ(16U, offsetof(wire::rendezvous, name));
    EXPECT_EQ(40U, offsetof(wire::rendezvous, address));
    EXPECT_EQ(40U, offsetof(wire::answer, how));
}

} // namespace
} // namespace smartint
