// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// The node's shared segment: created by the local leader, mapped by the other ranks and the
// helper, its name taken away by the last rank that maps it. A peer's mapping is validated against values
// derived locally before anything in it is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "common_smartint_layout.h"

namespace smartint {

// What a rank must know to map the board; travels in the modex.
struct segment_ticket {
    std::uint64_t secret_hi = 0;
    std::uint64_t secret_lo = 0;
    std::uint32_t slots = 0;
    std::uint32_t ring_bytes = 0;
    std::uint32_t job = 0;
    char name[64] = {};       // file name below the directory, no slash
    char directory[128] = {}; // where the leader could make it
    std::uint32_t pad = 0;    // it travels whole, and nothing of this process's memory with it
};
static_assert(sizeof(segment_ticket) == 224 && std::has_unique_object_representations_v<segment_ticket>);

// What one is made for.
struct segment_shape {
    std::uint32_t job = 0;
    std::uint32_t slots = 0;      // 1..max_slots
    std::uint32_t ring_bytes = 0; // a power of two, 16 KiB..64 MiB
    std::uint32_t helpers = 1;
    std::uint64_t node = 0;                  // hash of this node's identity, for its helper to tell others
    std::uint32_t nodes = layout::max_nodes; // other nodes there is room for, 1..max_nodes
};

class segment {
public:
    segment() = default;
    ~segment() { close(); }
    segment(const segment &) = delete;
    segment &operator=(const segment &) = delete;

    // Create, size (the space is reserved now: a full file system is an error here, not a
    // SIGBUS later), initialise and publish. 0, or an errno with `why()` set.
    // named: called as soon as there is a file of ours by that path, which takes milliseconds to become a segment.
    int create(const char *directory, const segment_shape &shape, void (*named)(const char *path) = nullptr);
    // Map what somebody else created. Refuses another owner, version, layout, size, secret.
    int open(const char *directory, const segment_ticket &ticket);
    // As open, for a process that inherited the descriptor (the helper). Closes fd.
    int adopt(int fd);

    void unlink(); // by whoever has it mapped; harmless twice
    void close();

    bool mapped() const { return nullptr != base_; }
    int fd() const { return fd_; } // creator only, for the helper to inherit; -1 otherwise
    void close_fd();
    const std::string &why() const { return why_; }
    const segment_ticket &ticket() const { return ticket_; }

    layout::segment_header &header() const { return *at<layout::segment_header>(0); }
    layout::helper_line &helper(unsigned i) const { return at<layout::helper_line>(sizeof(layout::segment_header))[i]; }
    layout::slot &slot(unsigned i) const { // i < header().slots, checked by the caller
        return *at<layout::slot>(slots_offset_ + i * stride_);
    }
    std::byte *ring(unsigned i) const { return reinterpret_cast<std::byte *>(&slot(i)) + sizeof(layout::slot); }
    layout::node_entry &node(std::uint32_t i) const { // i < nodes(), checked by the caller
        return at<layout::node_entry>(nodes_offset_)[i];
    }
    layout::relay_queue &relay() const { return *at<layout::relay_queue>(relay_offset_); }
    std::uint32_t slots() const { return slots_; }
    std::uint32_t nodes() const { return nodes_; }
    std::uint32_t ring_bytes() const { return ring_bytes_; }

private:
    template <class T> T *at(std::uint64_t offset) const { return reinterpret_cast<T *>(base_ + offset); }
    int fail(int error, const std::string &why);
    int map(int fd, std::uint64_t bytes);
    int reserve(std::uint64_t bytes);
    void settle(const segment_shape &shape);
    int validate(std::uint64_t bytes);

    std::byte *base_ = nullptr;
    std::uint64_t bytes_ = 0;
    // by settle()
    std::uint64_t slots_offset_ = 0;
    std::uint64_t stride_ = 0;
    std::uint64_t nodes_offset_ = 0;
    std::uint64_t relay_offset_ = 0;
    std::uint32_t slots_ = 0;
    std::uint32_t nodes_ = 0;
    std::uint32_t ring_bytes_ = 0;
    int fd_ = -1;
    bool owner_ = false;
    std::string path_;
    std::string why_;
    segment_ticket ticket_;
};

} // namespace smartint
