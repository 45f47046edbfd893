// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Addresses and connections.
//
// Where a transport joins endpoints, the side that connects makes one, sends its address over the
// bootstrap interface, and gets the peer's in the answer:
//   request  id, endpoint, address of the sender     ->  the peer makes an endpoint, joins it
//   answer   id, endpoint                            <-  the sender joins its own
//   joined   id, address of the sender               ->  from here on the peer may send on its own
//   refusal  id                                      <-  it can make none: the connection is lost
// The peer's endpoint is kept for the day when the peer connects in its turn: it then takes that one
// and asks nobody. Not before it is joined on both sides: what comes for an endpoint that knows of no other yet an
// adapter (rc) drops, and the sender's tries again after a time-out, and not for ever.
// Who both ask at once have two connections, each its own to send on.
// What arrives is checked and bounded: anybody who reaches the device may send it.
#include <cstring>
#include <memory>
#include <unordered_set>

#include "common_smartint_network_impl.h"

namespace smartint {
namespace {

constexpr std::size_t most_bytes = 512;      // of a bootstrap message
constexpr std::size_t most_refusals = 65536; // that found no room yet, behind as many answers as may wait

struct address_head { // of what peers exchange; device, iface and, if any, those of the bootstrap
    std::uint8_t version;
    std::uint8_t transport; // sum of the transport's name: tcp does not talk to ud
    std::uint8_t device_bytes;
    std::uint8_t iface_bytes;
    std::uint8_t boot_device_bytes;
    std::uint8_t boot_iface_bytes;
    std::uint16_t pad;
    std::uint32_t max_message; // bytes it can receive: its receive buffers follow its parameters
};
static_assert(sizeof(address_head) == 12);
constexpr std::uint8_t address_version = 4;

enum class boot_kind : std::uint32_t { request = 1, answer = 2, refusal = 3, joined = 4 };

struct boot_head { // behind it, in a request or an answer, endpoint, and in a request or joined, address
    boot_kind kind;
    std::uint16_t endpoint_bytes;
    std::uint16_t address_bytes;
    std::uint64_t id; // of the connection of the side that asked
};
static_assert(sizeof(boot_head) == 16);

std::uint8_t name_sum(const std::string &s, bool by_endpoint) {
    std::uint8_t sum = by_endpoint ? 18 : 17;
    for (const char c : s) {
        sum = static_cast<std::uint8_t>(sum * 31 + static_cast<std::uint8_t>(c));
    }
    return sum;
}

std::size_t copy_out(void *dest, void *arg) {
    const auto *m = static_cast<const std::vector<std::byte> *>(arg);
    std::memcpy(dest, m->data(), m->size());
    return m->size();
}

} // namespace

bool network::make_address() {
    impl &n = *impl_;
    address_head head{};
    head.version = address_version;
    head.transport = name_sum(n.transport, n.by_endpoint);
    head.device_bytes = static_cast<std::uint8_t>(n.attr.device_addr_len);
    head.iface_bytes = static_cast<std::uint8_t>(n.attr.iface_addr_len);
    head.max_message = static_cast<std::uint32_t>(n.attr.cap.am.max_bcopy);
    if (nullptr != n.boot) {
        head.boot_device_bytes = static_cast<std::uint8_t>(n.boot_attr.device_addr_len);
        head.boot_iface_bytes = static_cast<std::uint8_t>(n.boot_attr.iface_addr_len);
    }
    address_.resize(sizeof(head) + head.device_bytes + head.iface_bytes + head.boot_device_bytes +
                    head.boot_iface_bytes);
    std::byte *at = address_.data();
    std::memcpy(at, &head, sizeof(head));
    at += sizeof(head);
    const auto take = [&at](uct_iface_h iface, std::size_t device_bytes, std::size_t bytes) {
        const bool ok = UCS_OK == uct.iface_get_device_address(iface, reinterpret_cast<uct_device_addr_t *>(at)) &&
                        (0 == bytes || UCS_OK == uct.iface_get_address(
                                                     iface, reinterpret_cast<uct_iface_addr_t *>(at + device_bytes)));
        at += device_bytes + bytes;
        return ok;
    };
    return take(n.iface, head.device_bytes, head.iface_bytes) &&
           (nullptr == n.boot || take(n.boot, head.boot_device_bytes, head.boot_iface_bytes));
}

bool network::parse(const std::byte *address, std::size_t bytes, network_address *out) const {
    address_head head{};
    if (bytes < sizeof(head)) {
        return false;
    }
    const impl &n = *impl_;
    std::memcpy(&head, address, sizeof(head));
    const bool boot = nullptr != n.boot;
    if (address_version != head.version || name_sum(n.transport, n.by_endpoint) != head.transport ||
        head.device_bytes != n.attr.device_addr_len || head.iface_bytes != n.attr.iface_addr_len ||
        head.boot_device_bytes != (boot ? n.boot_attr.device_addr_len : 0) ||
        head.boot_iface_bytes != (boot ? n.boot_attr.iface_addr_len : 0) ||
        bytes < sizeof(head) + head.device_bytes + head.iface_bytes + head.boot_device_bytes + head.boot_iface_bytes) {
        return false;
    }
    const std::byte *at = address + sizeof(head);
    out->device = reinterpret_cast<const uct_device_addr_t *>(at);
    out->iface = reinterpret_cast<const uct_iface_addr_t *>(at += head.device_bytes);
    out->boot_device = reinterpret_cast<const uct_device_addr_t *>(at += head.iface_bytes);
    out->boot_iface = reinterpret_cast<const uct_iface_addr_t *>(at += head.boot_device_bytes);
    return true;
}

std::uint32_t network::max_message(const std::byte *address, std::size_t bytes) const {
    address_head head{};
    if (bytes < sizeof(head)) {
        return 0;
    }
    std::memcpy(&head, address, sizeof(head));
    return std::min(caps_.max_message, head.max_message);
}

uct_ep_h network::impl::make_endpoint(uct_iface_h on, const uct_device_addr_t *device,
                                      const uct_iface_addr_t *address) {
    uct_ep_params_t p{};
    p.field_mask = UCT_EP_PARAM_FIELD_IFACE;
    p.iface = on;
    if (nullptr != device) {
        if (!uct.iface_is_reachable(on, device, address)) {
            return nullptr;
        }
        p.field_mask |= UCT_EP_PARAM_FIELD_DEV_ADDR | UCT_EP_PARAM_FIELD_IFACE_ADDR;
        p.dev_addr = device;
        p.iface_addr = address;
    }
    uct_ep_h ep = nullptr;
    return UCS_OK == uct.ep_create(&p, &ep) ? ep : nullptr;
}

void *network::connect(const std::byte *address, std::size_t bytes) {
    network_address a;
    impl &n = *impl_;
    if (!parse(address, bytes, &a)) {
        return nullptr;
    }
    auto c = std::make_unique<network_connection>();
    if (!n.by_endpoint) {
        c->ep = n.make_endpoint(n.iface, a.device, a.iface);
        if (nullptr == c->ep) {
            return nullptr;
        }
        n.connections.push_back(c.get());
        return c.release();
    }
    for (network_connection *known : n.connections) {
        if (!known->adopted && known->joined && known->is_of(address, bytes)) {
            known->adopted = true;
            --n.passive;
            return known;
        }
    }
    uct_ep_h boot = uct.iface_is_reachable(n.iface, a.device, a.iface) ? boot_endpoint(address, bytes) : nullptr;
    if (nullptr == boot || nullptr == (c->ep = n.make_endpoint(n.iface, nullptr, nullptr))) {
        return nullptr;
    }
    c->ready = false;
    c->asked = boot;
    c->peer.assign(address, address + bytes);
    c->id = n.waiting.add(c.get());
    boot_head head{boot_kind::request, static_cast<std::uint16_t>(n.attr.ep_addr_len),
                   static_cast<std::uint16_t>(address_.size()), c->id};
    std::vector<std::byte> m(sizeof(head) + n.attr.ep_addr_len + address_.size());
    std::memcpy(m.data(), &head, sizeof(head));
    n.connections.push_back(c.get());
    if (UCS_OK != uct.ep_get_address(c->ep, reinterpret_cast<uct_ep_addr_t *>(m.data() + sizeof(head)))) {
        n.drop(c.release());
        return nullptr;
    }
    std::copy(address_.begin(), address_.end(), m.begin() + sizeof(head) + n.attr.ep_addr_len);
    n.post(boot, std::move(m));
    return c.release();
}

bool network::connecting(const void *connection) const {
    return nullptr != connection && !static_cast<const network_connection *>(connection)->ready;
}

bool network::unused(const void *connection) const {
    return nullptr != connection && !static_cast<const network_connection *>(connection)->used;
}

void network::disconnect(void *connection) {
    if (nullptr != connection && nullptr != impl_) {
        impl_->drop(static_cast<network_connection *>(connection));
    }
}

void network::impl::drop(network_connection *c) {
    if (!c->ready) {
        waiting.remove(c->id);
    }
    if (!c->adopted) {
        --passive;
    }
    std::erase(connections, c);
    uct.ep_destroy(c->ep);
    delete c;
}

// One endpoint of the bootstrap interface per peer, kept.
uct_ep_h network::boot_endpoint(const std::byte *address, std::size_t bytes) {
    network_address a;
    if (!parse(address, bytes, &a)) {
        return nullptr;
    }
    impl &n = *impl_;
    std::vector<std::byte> key(address, address + bytes);
    if (const auto it = n.boot_endpoints.find(key); it != n.boot_endpoints.end()) {
        return it->second;
    }
    uct_ep_h ep = n.make_endpoint(n.boot, a.boot_device, a.boot_iface);
    if (nullptr != ep) {
        n.boot_endpoints.emplace(std::move(key), ep);
    }
    return ep;
}

void network::impl::post(uct_ep_h ep, std::vector<std::byte> message) { outbox.push_back({ep, std::move(message)}); }

// Inside the transport's callback, where no endpoint is made: kept for the next look.
ucs_status_t network::impl::boot_am(void *arg, void *data, std::size_t bytes, unsigned) {
    auto *self = static_cast<impl *>(arg);
    if (bytes >= sizeof(boot_head) && bytes <= most_bytes) {
        const auto *at = static_cast<const std::byte *>(data);
        self->inbox.emplace_back(at, at + bytes);
    }
    return UCS_OK;
}

unsigned network::handle_boot() {
    impl &n = *impl_;
    unsigned events = 0;
    for (; !n.inbox.empty(); ++events) {
        const std::vector<std::byte> m = std::move(n.inbox.front());
        n.inbox.pop_front();
        boot_head head{};
        std::memcpy(&head, m.data(), sizeof(head)); // boot_am saw to its length
        const std::byte *endpoint = m.data() + sizeof(head);
        const bool has_endpoint = boot_kind::request == head.kind || boot_kind::answer == head.kind;
        if (head.endpoint_bytes != (has_endpoint ? n.attr.ep_addr_len : 0) ||
            m.size() != sizeof(head) + head.endpoint_bytes + head.address_bytes) {
            continue;
        }
        if (boot_kind::request == head.kind) {
            serve_request(head.id, endpoint, endpoint + head.endpoint_bytes, head.address_bytes);
        } else if (boot_kind::joined == head.kind) {
            n.note_joined(head.id, endpoint, head.address_bytes);
        } else if (network_connection *c = n.waiting.find(head.id); nullptr == c) {
            continue; // given up meanwhile
        } else if (boot_kind::answer == head.kind) {
            finish_join(c, endpoint);
        } else if (boot_kind::refusal == head.kind) {
            impl::lost(&n, c->ep, UCS_ERR_REJECTED);
        }
    }
    // A peer that does not answer takes nothing (ud's first message waits for it): the others' messages go past its.
    std::unordered_set<uct_ep_h> full;
    for (std::size_t left = n.outbox.size(); left > 0; --left) {
        impl::outgoing o = std::move(n.outbox.front());
        n.outbox.pop_front();
        ssize_t sent = UCS_ERR_NO_RESOURCE;
        if (!full.contains(o.ep)) {
            sent = uct_ep_am_bcopy(o.ep, impl::boot_id, copy_out, &o.bytes, 0);
        }
        if (UCS_ERR_NO_RESOURCE == sent) {
            full.insert(o.ep);
            n.outbox.push_back(std::move(o)); // again at the next look; in order among its own
            continue;
        }
        if (sent < 0) {
            impl::lost(&n, o.ep, static_cast<ucs_status_t>(sent)); // who asked over it gets no answer
        }
        ++events;
    }
    return events;
}

// The peer's endpoint: joined with the one that was made for it.
void network::finish_join(network_connection *c, const std::byte *endpoint) {
    impl &n = *impl_;
    network_address a;
    n.waiting.remove(c->id);
    c->ready = true;
    if (!parse(c->peer.data(), c->peer.size(), &a) ||
        UCS_OK != uct.ep_connect_to_ep(c->ep, a.device, reinterpret_cast<const uct_ep_addr_t *>(endpoint))) {
        impl::lost(&n, c->ep, UCS_ERR_UNREACHABLE);
        return;
    }
    boot_head head{boot_kind::joined, 0, static_cast<std::uint16_t>(address_.size()), c->id};
    std::vector<std::byte> m(sizeof(head) + address_.size());
    std::memcpy(m.data(), &head, sizeof(head));
    std::copy(address_.begin(), address_.end(), m.begin() + sizeof(head));
    n.post(c->asked, std::move(m));
}

void network::impl::note_joined(std::uint64_t id, const std::byte *address, std::size_t bytes) {
    for (network_connection *c : connections) {
        c->joined = c->joined || (c->id == id && c->is_of(address, bytes));
    }
}

void network::serve_request(std::uint64_t id, const std::byte *endpoint, const std::byte *address, std::size_t bytes) {
    impl &n = *impl_;
    network_address a;
    uct_ep_h boot = nullptr;
    // Whoever asks makes an endpoint to be answered by and an answer: not without bound. But who has an endpoint gets
    // an answer, or it would wait for one for ever.
    if (!parse(address, bytes, &a) || n.outbox.size() >= n.most_outgoing + most_refusals ||
        (n.boot_endpoints.size() >= n.most_boot_endpoints && !n.boot_endpoints.contains({address, address + bytes})) ||
        nullptr == (boot = boot_endpoint(address, bytes))) {
        return; // nobody to be answered
    }
    const auto refuse = [&] {
        const boot_head head{boot_kind::refusal, 0, 0, id};
        std::vector<std::byte> m(sizeof(head));
        std::memcpy(m.data(), &head, sizeof(head));
        n.post(boot, std::move(m));
    };
    auto c = std::make_unique<network_connection>();
    if (n.outbox.size() >= n.most_outgoing || n.passive >= n.most_passive ||
        nullptr == (c->ep = n.make_endpoint(n.iface, nullptr, nullptr))) {
        refuse();
        return;
    }
    c->adopted = c->joined = false;
    c->id = id;
    c->peer.assign(address, address + bytes);
    ++n.passive;
    n.connections.push_back(c.get());
    boot_head head{boot_kind::answer, static_cast<std::uint16_t>(n.attr.ep_addr_len), 0, id};
    std::vector<std::byte> m(sizeof(head) + n.attr.ep_addr_len);
    std::memcpy(m.data(), &head, sizeof(head));
    if (UCS_OK != uct.ep_get_address(c->ep, reinterpret_cast<uct_ep_addr_t *>(m.data() + sizeof(head))) ||
        UCS_OK != uct.ep_connect_to_ep(c->ep, a.device, reinterpret_cast<const uct_ep_addr_t *>(endpoint))) {
        n.drop(c.release());
        refuse();
        return;
    }
    c.release();
    n.post(boot, std::move(m));
}

} // namespace smartint
