// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Messages between nodes over UCT. One interface of one transport per process; connects to
// the peer's interface address (tcp, ud). What the engine needs of a transport is told by
// caps(), so that rc and dc fit behind the same class. Not thread-safe: under the gate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace smartint {

struct network_config {
    std::string transport = "tcp";     // as ucx_info -d names them; "ud" means ud_verbs
    std::string device = "any";        // "any": the first that is up and not the loopback
    std::uint32_t message_bytes = 0;   // largest active message wanted, 0: the transport's own
    bool allow_write = true;           // use RDMA-Write where the transport has it
};

// Completion of a write: done(arg, ok) from within progress().
struct network_completion;

class network {
public:
    using handler = void (*)(void *arg, const std::byte *message, std::uint32_t bytes);
    enum class result { done, again, broken };

    struct capabilities {
        bool write = false;              // put_zcopy
        bool event_fd = false;           // sleeps on a descriptor
        std::uint32_t max_message = 0;   // header and payload of one active message
        std::uint32_t max_in_place = 0;  // payload of send_in_place, 0: not offered
        std::uint64_t max_write = 0;
    };

    network() = default;
    ~network() { close(); }
    network(const network &) = delete;
    network &operator=(const network &) = delete;

    // 0 or an errno with why() set. Handler runs inside progress().
    int open(const network_config &cfg, handler h, void *arg);
    void close();
    bool is_open() const { return nullptr != impl_; }
    const std::string &why() const { return why_; }
    const capabilities &caps() const { return caps_; }
    const std::vector<std::byte> &address() const { return address_; } // for peers

    // Bytes of a message that both this process and one with this address can take; 0: malformed.
    std::uint32_t max_message(const std::byte *address, std::size_t bytes) const;
    // A connection, made lazily by the transport at first use; nullptr: unreachable or malformed.
    void *connect(const std::byte *address, std::size_t bytes);
    void disconnect(void *connection);

    // word, header and payload as one message. Payload may be nullptr when empty.
    result send(void *connection, std::uint64_t word, const void *header,
                std::uint32_t header_bytes, const void *payload, std::uint32_t payload_bytes);
    // As send, the payload straight from where it is. done with *queued: in use until the
    // completion is called back.
    result send_in_place(void *connection, std::uint64_t word, const void *header,
                         std::uint32_t header_bytes, const std::byte *payload,
                         std::uint32_t payload_bytes, network_completion *c, bool *queued);
    // Write to the peer's memory. done: all accepted by the transport, callback not called.
    result write(void *connection, const std::byte *local, std::uint64_t bytes,
                 std::uint64_t remote, network_completion *c, bool *queued);

    unsigned progress();
    // Connections that broke since the last call. Not to be used any more, only disconnected.
    std::vector<void *> take_lost();
    int event_fd() const { return event_fd_; }
    // Ready to sleep on the descriptor; false: something is there, progress first.
    bool arm();

private:
    struct impl;
    impl *impl_ = nullptr;
    int event_fd_ = -1;
    capabilities caps_;
    std::vector<std::byte> address_;
    std::string why_;
};

struct network_completion {
    // opaque storage for the transport's own completion; checked in the source
    alignas(8) std::byte storage[32];
    void (*done)(void *arg, bool ok) = nullptr;
    void *arg = nullptr;
};

} // namespace smartint
