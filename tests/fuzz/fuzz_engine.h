// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// An engine for fuzz targets: rank 1 of a node of three whose other ranks are the input. It has
// receives and sends in whatever state the input brings them to.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <memory>
#include <vector>

#include "common_smartint_engine.h"
#include "common_smartint_log.h"
#include "common_smartint_thread.h"
#include "fuzz_input.h"
#include "fuzz_system.h"

namespace smartint {

// The friend the engine names.
class engine_access {
public:
    static void dispatch(engine &e, endpoint *from, std::uint8_t type, const void *data, std::uint32_t bytes,
                         bool by_thread) {
        e.by_thread_ = by_thread;
        e.dispatch(from, type, static_cast<const std::byte *>(data), bytes);
        e.by_thread_ = false;
    }
    // So that requests are armed: a thread that is there and never runs.
    static void pretend_thread(engine &e) { e.thread_ = std::make_unique<interrupt_thread>(e); }
    static void lose(engine &e, endpoint *ep) { e.lose(ep); }
    static std::uint64_t unexpected_messages(const engine &e) { return e.matcher_.unexpected_count(); }
    static std::uint64_t posted(const engine &e) { return e.matcher_.posted_count(); }
    static std::size_t peers(const engine &e) { return e.endpoints_.size(); }
    static std::size_t deferred(const engine &e) { return e.deferred_.size(); }
    static bool fatal(const engine &e) { return nullptr != e.fatal_; }
    static std::size_t pending(const engine &e) {
        std::size_t n = 0;
        for (const auto &ep : e.endpoints_) {
            for (auto *m = ep->pending_head; nullptr != m; m = m->next) {
                ++n;
            }
        }
        return n;
    }
    static std::uint32_t outstanding(const engine &e) { return e.outstanding_; }
    static void post_notice(engine &e, endpoint *ep, const key &k, std::uint32_t source, std::uint32_t sequence) {
        e.post_notice(ep, k, source, sequence);
    }
};

} // namespace smartint

namespace smartint::fuzz {

constexpr std::uint32_t job = 7;
constexpr std::uint64_t name_of(std::uint32_t process) { return static_cast<std::uint64_t>(job) << 32 | process; }
constexpr std::uint32_t slots = 3;
constexpr std::uint32_t own_slot = 1;

struct fuzz_recv : recv_op {
    std::unique_ptr<std::byte[]> data; // of exactly `capacity` bytes
    unsigned delivered = 0;
    bool begun = false;
};
struct fuzz_send : send_op {
    std::unique_ptr<std::byte[]> data; // of exactly `length` bytes
    unsigned delivered = 0;
    bool begun = false;
};

class victim {
public:
    // Its settings come from the input.
    explicit victim(input &in);
    ~victim();
    victim(const victim &) = delete;
    victim &operator=(const victim &) = delete;

    // One thing that an application, its interrupt thread or the clock does.
    void step(input &in);
    // A whole message, from a peer of this node, over the network, or into the ring.
    void deliver(input &in);
    // What must hold after every step.
    void check() const;

    engine e;
    std::vector<endpoint *> peers; // self, shared, network
    std::vector<std::unique_ptr<fuzz_recv>> receives;
    std::vector<std::unique_ptr<fuzz_send>> sends;
    std::uint64_t messages = 0; // delivered so far

private:
    void post_receive(input &in);
    void post_send(input &in);
    void cancel(input &in);
    void probe(input &in);
    std::uint64_t some_id(input &in) const;
    std::vector<std::byte> message(input &in, std::uint8_t type);
    void into_ring(input &in);
    std::uint64_t steps_ = 0;
};

} // namespace smartint::fuzz
