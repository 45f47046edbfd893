// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// What the sources of class network share: UCT's objects and the connections.
#pragma once

#include "common_smartint_network.h"

#include <atomic>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>

#include "common_smartint_ids.h"
#include "common_smartint_uct.h"

namespace smartint {

struct network_connection {
    uct_ep_h ep = nullptr;
    bool ready = true;           // false: the peer's endpoint is not known yet
    bool used = false;           // a message went out
    bool adopted = true;         // false: the peer asked for it, and nobody here uses it
    bool joined = true;          // false: it did, and its endpoint may not know of ours yet
    std::uint64_t id = 0;        // while it is not ready: its name in the peer's answer; not adopted: the peer's for it
    uct_ep_h asked = nullptr;    // over which endpoint the peer was asked
    std::vector<std::byte> peer; // its address, where endpoints are joined

    bool is_of(const std::byte *address, std::size_t bytes) const {
        return bytes == peer.size() && 0 == std::memcmp(address, peer.data(), bytes);
    }
};

struct network::impl {
    static constexpr std::uint8_t am_id = 1;   // a message
    static constexpr std::uint8_t boot_id = 2; // of the bootstrap interface

    ucs_async_context_t *async = nullptr;
    uct_worker_h worker = nullptr;
    uct_component_h component = nullptr;
    uct_md_h md = nullptr;
    uct_md_attr_t md_attr{};
    uct_iface_h iface = nullptr;
    uct_iface_attr_t attr{};
    handler on_message = nullptr;
    void *arg = nullptr;
    std::string transport;
    std::string bootstrap;
    bool by_endpoint = false;
    bool stream = false; // tcp

    // A connection broke. The transport may tell from its own thread: noted, for take_lost.
    std::mutex lost_lock;
    std::vector<uct_ep_h> lost_endpoints;
    std::atomic<bool> any_lost{false};
    std::vector<network_connection *> connections;

    // joining endpoints (network_connect.cc)
    uct_iface_h boot = nullptr;
    uct_iface_attr_t boot_attr{};
    std::map<std::vector<std::byte>, uct_ep_h> boot_endpoints; // by the peer's address
    id_table<network_connection> waiting;                      // for the peer's answer
    std::deque<std::vector<std::byte>> inbox;                  // arrived, not handled inside the callback
    struct outgoing {
        uct_ep_h ep;
        std::vector<std::byte> bytes;
    };
    std::deque<outgoing> outbox; // found no room
    int epoll = -1;              // of both interfaces' descriptors
    std::size_t passive = 0;     // connections that peers asked for and nobody adopted
    std::size_t most_passive = 0;
    std::size_t most_boot_endpoints = 0;
    std::size_t most_outgoing = 0;

    std::string seen;  // transports found, for the message
    std::string limit; // why the one asked for can't be used, where that is so

    static ucs_status_t am(void *arg, void *data, std::size_t bytes, unsigned);
    static ucs_status_t boot_am(void *arg, void *data, std::size_t bytes, unsigned);
    static ucs_status_t lost(void *arg, uct_ep_h ep, ucs_status_t);

    bool try_md(uct_component_h component, const char *md_name, const network_config &cfg);
    bool find(const network_config &cfg);
    bool may_pin(const uct_tl_resource_desc_t &r);
    std::vector<unsigned> devices(const uct_tl_resource_desc_t *list, unsigned count, const network_config &cfg);
    bool open_iface(const uct_tl_resource_desc_t &r, const network_config &cfg, uct_iface_h *out,
                    uct_iface_attr_t *out_attr);
    bool open_bootstrap(const uct_tl_resource_desc_t *list, unsigned count, const uct_tl_resource_desc_t &main,
                        const network_config &cfg);
    // nullptr: the transport refuses. With nullptr addresses: to be joined.
    uct_ep_h make_endpoint(uct_iface_h on, const uct_device_addr_t *device, const uct_iface_addr_t *address);
    int both_descriptors(int main);
    void post(uct_ep_h ep, std::vector<std::byte> message);
    void note_joined(std::uint64_t id, const std::byte *address, std::size_t bytes);
    void drop(network_connection *c);
    ~impl();
};

// The parts of an address that peers exchange, see network::parse.
struct network_address {
    const uct_device_addr_t *device = nullptr;
    const uct_iface_addr_t *iface = nullptr;
    const uct_device_addr_t *boot_device = nullptr;
    const uct_iface_addr_t *boot_iface = nullptr;
};

} // namespace smartint
