// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Another process as the engine knows it: how it is reached, what it is called there, and the messages that
// wait for room on the way. Made when it is first heard of and kept as long as the engine (Open MPI's names of
// processes are never used twice in a job). All fields are touched under the gate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>
#include <vector>

#include "common_smartint_answers.h"
#include "common_smartint_ring.h"
#include "common_smartint_wire.h"

namespace smartint {

struct send_op;

// A message that is to go out, where its parts lie. Whoever takes one needs them during the call only, or says so.
struct message {
    std::uint8_t type; // of wire::type
    const void *header;
    std::uint32_t header_bytes;
    const void *payload;
    std::uint32_t payload_bytes;

    message(std::uint8_t t, const void *head, std::uint32_t head_bytes, const void *data, std::uint32_t bytes)
        : type(t), header(head), header_bytes(head_bytes), payload(data), payload_bytes(bytes) {}
    // H: the header that the type has.
    template <class H>
    message(std::uint8_t t, const H &head, const void *data = nullptr, std::uint32_t bytes = 0)
        : message(t, &head, sizeof(H), data, bytes) {
        static_assert(std::is_class_v<H> && std::is_trivially_copyable_v<H>);
    }

    std::uint32_t bytes() const { return header_bytes + payload_bytes; }
};

// One that found no room, in order behind those before it.
struct pending_message {
    explicit pending_message(const message &m)
        : type(m.type), header_bytes(m.header_bytes), payload_bytes(m.payload_bytes),
          payload(static_cast<const std::byte *>(m.payload)) {
        std::memcpy(header, m.header, m.header_bytes);
    }
    message whole() const { return {type, header, header_bytes, payload, payload_bytes}; }
    void own_payload() { // so that it lives as long as the message
        if (!owned && 0 != payload_bytes) {
            owned = std::make_unique<std::byte[]>(payload_bytes);
            std::memcpy(owned.get(), payload, payload_bytes);
            payload = owned.get();
        }
    }

    pending_message *next = nullptr;
    std::uint8_t type = 0;
    bool bulk = false;
    bool counted = false; // as outstanding: it must not wait for the next MPI call
    bool early = false;   // its sender went on
    std::uint32_t header_bytes = 0;
    std::uint32_t payload_bytes = 0;
    std::byte header[wire::max_header];
    const std::byte *payload = nullptr; // must live until sent, or `owned` holds it
    std::unique_ptr<std::byte[]> owned;
    send_op *op = nullptr;                      // told when the message is out
    void (*sent)(void *arg, bool ok) = nullptr; // application thread only; not ok: lost with its peer
    void *arg = nullptr;
};

enum class route : std::uint8_t { self, shared, network };

// No endpoint has less room in a message: one-sided ones hold a few runs and an element.
inline constexpr std::uint32_t least_payload = 256;
inline constexpr std::uint32_t smallest_network_message = 8192; // what transports offer anyway

struct endpoint {
    std::uint64_t name = 0;       // job << 32 | process
    std::uint32_t full_round = 0; // of the engine's rounds through its sends: the one in which it took no more
    std::uint32_t open_sends = 0; // that wait for an answer of it, or move; begun before MPI_Finalize
    route way = route::network;
    std::uint16_t slot = 0; // on this node, for route::shared
    std::uint32_t pid = 0;
    ring_producer ring;
    std::vector<std::byte> address; // network address of the peer
    void *control = nullptr;        // connections, made at first use
    void *bulk = nullptr;
    bool lost = false;
    bool told = false;      // that it is lost
    bool asked = false;     // where its helper is: what it published was looked at
    bool direct = true;     // direct copies work (found out at the first)
    bool writes = true;     // it can use this rank's keys (the same)
    bool elsewhere = false; // in another PID namespace: its pid is no pid here
    std::uint32_t eager_limit = 0;
    std::uint32_t eager_if_room = 0;     // the same, where there is much room; see goes_whole
    std::uint32_t asked_at = UINT32_MAX; // engine::receives_begun_ at the last RTS
    answers asked_for[2];                // up to twice eager_limit, and above
    std::uint32_t max_payload = 0;       // of one message, beside its header
    std::uint32_t max_fragment = 0;      // the same, of one that leaves from where its data is
    std::uint32_t rts_out = 0;           // sequence of the last RTS sent to it, see next_sequence
    std::uint32_t cts_out = 0;
    std::uint32_t rma_out = 0;    // of the last one-sided message
    std::int32_t node = -1;       // index in the node table, -1: no relay to it
    bool here = false;            // by network, but on this node's board: notices go to its slot
    std::uint32_t relay_slot = 0; // its slot on its own node
    pending_message *pending_head = nullptr;
    pending_message *pending_tail = nullptr;
    bool listed = false;        // in the engine's list of endpoints with pending messages
    unsigned streams = 0;       // receives that it sends through the ring, as both waited; see engine::choose_in_wait
    bool parting = false;       // it is lost, and what it sent before may come still
    std::uint64_t lost_us = 0;  // when, where it was parting
    std::uint64_t heard_ns = 0; // by network: when it answered, or data of it came

    bool relayed() const { return route::network == way && !here && node >= 0; } // notices to it, by helpers
};

// Who an operation was begun with answers, and nobody else of the node. By the network, where from is nullptr, the
// operation's id is all there is to know the sender by; so may one of the node who was told to use no rings.
inline bool may_answer(const endpoint *from, const endpoint *peer) { return nullptr == from || from == peer; }

// Of peers that are lost: what waits for something that may be on its way (engine_peers.cc).
struct parting {
    unsigned receives = 0;         // whose data comes over a connection of its own
    std::vector<endpoint *> peers; // of other jobs
    std::uint64_t heard_us = 0;    // something came by the network, or the last of them was lost
    std::uint64_t looked_us = 0;   // when it was last looked whether anything came

    bool any() const { return 0 != receives || !peers.empty(); }
};

} // namespace smartint
