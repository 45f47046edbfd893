// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "common_smartint_segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

#include "common_smartint_named_file.h"

namespace smartint {
namespace {

struct plan {
    std::uint64_t helper_offset, slots_offset, stride, nodes_offset, relay_offset, total;
};

plan make_plan(const segment_shape &shape) {
    plan p{};
    p.helper_offset = sizeof(layout::segment_header);
    p.slots_offset = p.helper_offset + layout::max_helpers * sizeof(layout::helper_line);
    p.stride = sizeof(layout::slot) + shape.ring_bytes;
    p.nodes_offset = p.slots_offset + static_cast<std::uint64_t>(shape.slots) * p.stride;
    p.relay_offset = p.nodes_offset + shape.nodes * sizeof(layout::node_entry);
    p.total = p.relay_offset + sizeof(layout::relay_queue);
    p.total = (p.total + 4095) & ~4095ULL;
    return p;
}

bool sane(const segment_shape &shape) {
    return shape.slots >= 1 && shape.slots <= layout::max_slots && shape.nodes >= 1 &&
           shape.nodes <= layout::max_nodes && shape.ring_bytes >= 16384 && shape.ring_bytes <= (64U << 20) &&
           0 == (shape.ring_bytes & (shape.ring_bytes - 1));
}

} // namespace

int segment::fail(int error, const std::string &why) {
    why_ = why;
    close();
    return 0 == error ? EINVAL : error;
}

int segment::map(int fd, std::uint64_t bytes) {
    void *p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (MAP_FAILED == p) {
        return fail(errno, std::string("mmap: ") + std::strerror(errno));
    }
    base_ = static_cast<std::byte *>(p);
    bytes_ = bytes;
    return 0;
}

// All of it is memory from now on.
int segment::reserve(std::uint64_t bytes) {
    const int rc = reserve_memory(fd_, bytes);
    return 0 == rc ? 0 : fail(rc, std::string(std::strerror(rc)) + " (" + std::to_string(bytes >> 10) + " KiB needed)");
}

// Private copies: what decides where we read must not change under us.
void segment::settle(const segment_shape &shape) {
    const plan p = make_plan(shape);
    slots_offset_ = p.slots_offset;
    stride_ = p.stride;
    nodes_offset_ = p.nodes_offset;
    relay_offset_ = p.relay_offset;
    slots_ = shape.slots;
    nodes_ = shape.nodes;
    ring_bytes_ = shape.ring_bytes;
}

int segment::create(const char *directory, const segment_shape &shape, void (*named)(const char *path)) {
    if (!sane(shape)) {
        return fail(EINVAL, "number of ranks or nodes or ring size out of range");
    }
    if (std::strlen(directory) >= sizeof(ticket_.directory)) {
        return fail(ENAMETOOLONG, std::strerror(ENAMETOOLONG));
    }
    std::strncpy(ticket_.directory, directory, sizeof(ticket_.directory) - 1);
    remove_left_behind(directory);
    std::uint64_t secret[3];
    for (bool held = false; !held; held = hold_name(fd_)) {
        close_fd(); // of one that another job has removed before it was held
        if (sizeof(secret) != getrandom(secret, sizeof(secret), 0)) {
            return fail(errno, "no random bytes to be had");
        }
        std::snprintf(ticket_.name, sizeof(ticket_.name), "smartint-%u-%08x-%016llx", static_cast<unsigned>(geteuid()),
                      shape.job, static_cast<unsigned long long>(secret[2]));
        path_ = std::string(directory) + "/" + ticket_.name;
        fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd_ < 0) {
            return fail(errno, std::strerror(errno));
        }
    }
    owner_ = true;
    (void) ::fchmod(fd_, 0600); // the others of the node open it, whatever the program's umask takes
    if (nullptr != named) {
        named(path_.c_str());
    }
    const plan p = make_plan(shape);
    if (int error = reserve(p.total); 0 != error) {
        return error;
    }
    if (int error = map(fd_, p.total); 0 != error) {
        return error;
    }
    // The file is zeroes; every shared word's zero is its initial state.
    auto *h = new (base_) layout::segment_header{};
    h->magic = layout::magic;
    h->version = layout::version;
    h->slots = shape.slots;
    h->total_bytes = p.total;
    h->secret_hi = secret[0];
    h->secret_lo = secret[1];
    h->slot_stride = p.stride;
    h->slots_offset = p.slots_offset;
    h->ring_bytes = shape.ring_bytes;
    h->uid = geteuid();
    h->node = shape.node;
    h->nodes = shape.nodes;
    h->nodes_offset = p.nodes_offset;
    h->relay_offset = p.relay_offset;
    h->helper_offset = p.helper_offset;
    h->job = shape.job;
    h->layout_sum = layout::layout_sum;
    h->helpers = shape.helpers;
    settle(shape);
    h->ready.store(1, std::memory_order_release); // S1, pairs with S2
    ticket_.secret_hi = secret[0];
    ticket_.secret_lo = secret[1];
    ticket_.slots = shape.slots;
    ticket_.ring_bytes = shape.ring_bytes;
    ticket_.job = shape.job;
    return 0;
}

int segment::validate(std::uint64_t bytes) {
    const auto &h = header();
    if (1 != h.ready.load(std::memory_order_acquire)) { // S2, pairs with S1
        return fail(EPROTO, "not initialised");
    }
    if (layout::magic != h.magic || layout::version != h.version || layout::layout_sum != h.layout_sum) {
        return fail(EPROTO, "layout version " + std::to_string(h.version) + ", expected " +
                                std::to_string(layout::version) + ": two different builds of smartint on this node");
    }
    const segment_shape shape{h.job, h.slots, h.ring_bytes, h.helpers, h.node, h.nodes}; // read once
    if (!sane(shape)) {
        return fail(EPROTO, "geometry out of range");
    }
    const plan p = make_plan(shape);
    if (p.total != bytes || p.total != h.total_bytes || p.stride != h.slot_stride || p.slots_offset != h.slots_offset ||
        p.nodes_offset != h.nodes_offset || p.relay_offset != h.relay_offset || p.helper_offset != h.helper_offset) {
        return fail(EPROTO, "sizes or offsets do not add up");
    }
    if (geteuid() != h.uid) {
        return fail(EPERM, "made by another user");
    }
    settle(shape);
    return 0;
}

int segment::adopt(int fd) {
    struct stat st {};
    if (0 != fstat(fd, &st)) {
        const int error = errno;
        ::close(fd);
        return fail(error, std::strerror(error));
    }
    if (st.st_uid != geteuid() || !S_ISREG(st.st_mode)) {
        ::close(fd);
        return fail(EPERM, "owned by another user");
    }
    if (static_cast<std::uint64_t>(st.st_size) < sizeof(layout::segment_header)) {
        ::close(fd);
        return fail(EPROTO, "too small");
    }
    const int error = map(fd, static_cast<std::uint64_t>(st.st_size));
    ::close(fd);
    return 0 != error ? error : validate(static_cast<std::uint64_t>(st.st_size));
}

int segment::open(const char *directory, const segment_ticket &ticket) {
    if (nullptr == std::memchr(ticket.name, 0, sizeof(ticket.name)) || 0 == ticket.name[0] ||
        nullptr != std::strchr(ticket.name, '/')) {
        return fail(EINVAL, "name in the modex is malformed");
    }
    path_ = std::string(directory) + "/" + ticket.name;
    const int fd = ::open(path_.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        return fail(errno, std::strerror(errno));
    }
    if (int error = adopt(fd); 0 != error) {
        return error;
    }
    const auto &h = header();
    if (h.secret_hi != ticket.secret_hi || h.secret_lo != ticket.secret_lo || h.slots != ticket.slots ||
        h.ring_bytes != ticket.ring_bytes || h.job != ticket.job) {
        return fail(EPROTO, "not the segment of this job");
    }
    ticket_ = ticket;
    return 0;
}

void segment::unlink() {
    if (!path_.empty()) {
        ::unlink(path_.c_str());
        path_.clear();
    }
    owner_ = false;
}

// Its name stays held (named_file.h), by the mapping.
void segment::close_fd() {
    if (fd_ >= 0) {
        ::close(fd_);
        fd_ = -1;
    }
}

void segment::close() {
    if (owner_) {
        unlink();
    }
    close_fd();
    if (nullptr != base_) {
        munmap(base_, bytes_);
        base_ = nullptr;
    }
}

} // namespace smartint
