// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Messages between nodes over UCT. One interface of one transport per process, connected to the
// peer's interface (tcp, ud) or, where a transport joins endpoints only (rc), endpoint to
// endpoint: their addresses then travel over a second interface that connects by itself. What the
// engine needs of a transport is told by caps(). Not thread-safe: under the gate.
//
// Sources: network.cc life and progress, network_connect.cc connections, network_move.cc messages,
// reads, writes and the registration of memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common_smartint_wire.h"

struct uct_ep; // UCT's

namespace smartint {

struct network_config {
    // As ucx_info -d names them. "ud" means ud_verbs, "rc" rc_verbs.
    std::string transport = "tcp";
    bool by_endpoint = false; // as rc also where the transport could do without (tests)
    // What those who ask may have this side make and keep. A connection has to fit for each that a peer of the job
    // makes.
    std::size_t most_passive = 65536;         // connections that peers asked for and this side does not use
    std::size_t most_boot_endpoints = 131072; // to be answered by, one for each that asks
    std::size_t most_outgoing = 65536;        // answers that found no room yet; and 65536 refusals more
    // So that two connections of each process of a job fit, control and bulk.
    void make_room_for(std::size_t processes) {
        most_passive = std::max(most_passive, 2 * processes);
        most_boot_endpoints = std::max(most_boot_endpoints, 2 * most_passive);
        most_outgoing = std::max(most_outgoing, most_passive);
    }
    std::string device = "any";      // of those that it allows (devices.h) the fastest that is up, bridges and the
                                     // loopback last
    std::uint32_t message_bytes = 0; // largest active message wanted, 0: the transport's own
    bool allow_write = true;         // use RDMA-Write where the transport has it
    bool allow_read = true;          // and RDMA-Read
    std::size_t most_address = wire::max_network_address; // of this process: room for it is in what peers exchange
};

// Memory a transport may read from and write to, if it wants it registered: held from pin() to
// unpin(), under the gate. key is what a peer needs to reach it.
struct network_memory {
    static constexpr std::uint32_t max_key = 40;
    void *handle = nullptr;
    std::uint32_t key_bytes = 0;
    std::byte key[max_key];
};

// A peer's key, unpacked: from unpack() to release().
struct network_key {
    alignas(8) std::byte storage[24];
    bool valid = false;
};

// Completion of a read or write: done(arg, ok) from within progress().
struct network_completion;

class network {
public:
    using handler = void (*)(void *arg, const std::byte *message, std::uint32_t bytes);
    // done: with the transport; again: no room now, progress() makes some; broken: the connection is lost.
    enum class result { done, again, broken };

    struct capabilities {
        bool write = false;             // put_zcopy
        bool read = false;              // get_zcopy
        bool registers = false;         // reads and writes need pinned memory and keys
        std::uint32_t max_message = 0;  // header and payload of one active message
        std::uint32_t max_in_place = 0; // payload of send_in_place, 0: not offered
        std::uint64_t min_write = 0;
        std::uint64_t max_write = 0;
        std::uint64_t min_read = 0;
        std::uint64_t max_read = 0;
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
    // Endpoint to endpoint, and over tcp, the peer must make progress meanwhile: until then, sends say again.
    void *connect(const std::byte *address, std::size_t bytes);
    bool connecting(const void *connection) const; // endpoint to endpoint, and the peer has not answered
    bool unused(const void *connection) const;     // nothing went out yet: the peer may have to answer first
    void disconnect(void *connection);

    // False: the system refuses (locked memory, no range of this process).
    bool pin(const void *address, std::uint64_t bytes, network_memory *out);
    void unpin(network_memory *m); // idempotent
    // What a peer sent as the key of its memory. False: it cannot be one.
    bool unpack(const std::byte *key, std::uint32_t bytes, network_key *out);
    void release(network_key *k); // idempotent

    // word, header and payload as one message. Payload may be nullptr when empty.
    result send(void *connection, std::uint64_t word, const void *header, std::uint32_t header_bytes,
                const void *payload, std::uint32_t payload_bytes);
    // As send, the payload straight from where it is; the header has at most most_header bytes. done with *queued: in
    // use until the completion is called back.
    static constexpr std::uint32_t most_header = 96;
    result send_in_place(void *connection, std::uint64_t word, const void *header, std::uint32_t header_bytes,
                         const std::byte *payload, std::uint32_t payload_bytes, network_completion *c, bool *queued);
    // Write to the peer's memory, read from it. done without *queued: it is over, and the callback
    // is not called. m and k may be nullptr where the transport does not register.
    result write(void *connection, const std::byte *local, const network_memory *m, std::uint64_t bytes,
                 std::uint64_t remote, const network_key *k, network_completion *c, bool *queued);
    result read(void *connection, std::byte *local, const network_memory *m, std::uint64_t bytes, std::uint64_t remote,
                const network_key *k, network_completion *c, bool *queued);

    // All that was written over this connection is in the peer's memory: done, or when the completion is called back.
    // UCX 1.13 promises that for rc alone, where it is the peer's adapter that acknowledges.
    result flush(void *connection, network_completion *c, bool *queued);

    unsigned progress();
    // Something that was reported done is not all with the system yet and goes out in progress(): the end of a message,
    // or of a transfer; or a connection is being made. Of a byte stream (tcp) only: other transports go on by
    // themselves.
    bool holds_tail() const;
    // Something sent over this connection is not all with the system yet; where adapters know, not all with the peer's.
    bool unsent(void *connection) const;
    // Connections that broke since the last call. Not to be used any more, only disconnected.
    std::vector<void *> take_lost();
    int event_fd() const { return event_fd_; }
    // Ready to sleep on the descriptor; false: something is there, progress first, or the transport can't any more, and
    // there is no descriptor from here on.
    bool arm();

private:
    struct impl;
    bool make_address();
    void learn_capabilities(const network_config &cfg);
    bool parse(const std::byte *address, std::size_t bytes, struct network_address *out) const;
    struct uct_ep *boot_endpoint(const std::byte *address, std::size_t bytes);
    unsigned handle_boot();
    void finish_join(struct network_connection *c, const std::byte *endpoint);
    void serve_request(std::uint64_t id, const std::byte *endpoint, const std::byte *address, std::size_t bytes);

    impl *impl_ = nullptr;
    int event_fd_ = -1;
    capabilities caps_;
    std::vector<std::byte> address_;
    std::string why_;
};

// How many of `left` bytes to read or write next, so that the transport's least remains for the last.
constexpr std::uint64_t next_piece(std::uint64_t left, std::uint64_t least, std::uint64_t most) {
    return left <= most ? left : left - most < least ? most - least : most;
}

struct network_completion {
    // opaque storage for the transport's own completion; checked in the source
    alignas(8) std::byte storage[32];
    void (*done)(void *arg, bool ok) = nullptr;
    void *arg = nullptr;
};

} // namespace smartint
