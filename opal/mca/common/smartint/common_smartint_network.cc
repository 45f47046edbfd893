// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "common_smartint_network.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>

extern "C" {
#include <uct/api/uct.h>
// exported by libucs, but its header is not installed by distributions
ucs_status_t ucs_async_context_create(ucs_async_mode_t mode, ucs_async_context_t **async_p);
void ucs_async_context_destroy(ucs_async_context_t *async);
}

namespace smartint {
namespace {

constexpr std::uint8_t am_id = 1;

struct address_head { // of what peers exchange
    std::uint8_t version;
    std::uint8_t device_bytes;
    std::uint8_t iface_bytes;
    std::uint8_t transport; // sum of the transport's name: tcp does not talk to ud
    std::uint32_t max_message; // bytes it can receive: its receive buffers follow its parameters
};
constexpr std::uint8_t address_version = 2;

std::uint8_t name_sum(const std::string &s) {
    std::uint8_t sum = 17;
    for (const char c : s) {
        sum = static_cast<std::uint8_t>(sum * 31 + static_cast<std::uint8_t>(c));
    }
    return sum;
}

struct packed {
    std::uint64_t word;
    const void *header;
    const void *payload;
    std::uint32_t header_bytes;
    std::uint32_t payload_bytes;
};

std::size_t pack_message(void *dest, void *arg) {
    const auto *p = static_cast<const packed *>(arg);
    auto *d = static_cast<std::byte *>(dest);
    std::memcpy(d, &p->word, sizeof(p->word));
    std::memcpy(d + sizeof(p->word), p->header, p->header_bytes);
    if (0 != p->payload_bytes) {
        std::memcpy(d + sizeof(p->word) + p->header_bytes, p->payload, p->payload_bytes);
    }
    return sizeof(p->word) + p->header_bytes + p->payload_bytes;
}

void write_done(uct_completion_t *self) {
    auto *c = reinterpret_cast<network_completion *>(self);
    c->done(c->arg, UCS_OK == self->status);
}

uct_completion_t *make_completion(network_completion *c) {
    static_assert(sizeof(c->storage) >= sizeof(uct_completion_t) &&
                      0 == offsetof(network_completion, storage),
                  "write_done casts between the two");
    auto *completion = new (c->storage) uct_completion_t{};
    completion->func = write_done;
    completion->count = 1;
    completion->status = UCS_OK;
    return completion;
}

network::result posted(ucs_status_t status, bool *queued) {
    *queued = UCS_INPROGRESS == status;
    if (UCS_OK == status || UCS_INPROGRESS == status) {
        return network::result::done;
    }
    return UCS_ERR_NO_RESOURCE == status ? network::result::again : network::result::broken;
}

} // namespace

struct network::impl {
    ucs_async_context_t *async = nullptr;
    uct_worker_h worker = nullptr;
    uct_md_h md = nullptr;
    uct_iface_h iface = nullptr;
    uct_iface_attr_t attr{};
    handler on_message = nullptr;
    void *arg = nullptr;
    std::string transport;

    static ucs_status_t am(void *arg, void *data, std::size_t bytes, unsigned) {
        auto *self = static_cast<impl *>(arg);
        self->on_message(self->arg, static_cast<const std::byte *>(data),
                         static_cast<std::uint32_t>(bytes));
        return UCS_OK;
    }
    // A connection broke. The transport may tell from its own thread: noted, for take_lost.
    static ucs_status_t lost(void *arg, uct_ep_h ep, ucs_status_t) {
        auto *self = static_cast<impl *>(arg);
        const std::lock_guard<std::mutex> hold(self->lost_lock);
        self->lost_connections.push_back(ep);
        self->any_lost.store(true, std::memory_order_release); // X1, pairs with X2
        return UCS_OK;
    }
    std::mutex lost_lock;
    std::vector<void *> lost_connections;
    std::atomic<bool> any_lost{false};

    std::string seen; // transports found, for the message

    bool try_md(uct_component_h component, const char *md_name, const network_config &cfg);
    bool find(const network_config &cfg);
    bool open_iface(const uct_tl_resource_desc_t &r, const network_config &cfg);
    ~impl() {
        if (nullptr != iface) {
            uct_iface_close(iface);
        }
        if (nullptr != md) {
            uct_md_close(md);
        }
        if (nullptr != worker) {
            uct_worker_destroy(worker);
        }
        if (nullptr != async) {
            ucs_async_context_destroy(async);
        }
    }
};

bool network::impl::open_iface(const uct_tl_resource_desc_t &r, const network_config &cfg) {
    uct_iface_config_t *config = nullptr;
    if (UCS_OK != uct_md_iface_config_read(md, r.tl_name, nullptr, nullptr, &config)) {
        return false;
    }
    if (0 != cfg.message_bytes) { // transports without these settings say so and keep theirs
        const std::string bytes = std::to_string(cfg.message_bytes);
        (void) uct_config_modify(config, "TX_SEG_SIZE", bytes.c_str());
        (void) uct_config_modify(config, "RX_SEG_SIZE", bytes.c_str());
    }
    uct_iface_params_t p{};
    p.field_mask = UCT_IFACE_PARAM_FIELD_OPEN_MODE | UCT_IFACE_PARAM_FIELD_DEVICE |
                   UCT_IFACE_PARAM_FIELD_RX_HEADROOM | UCT_IFACE_PARAM_FIELD_ERR_HANDLER |
                   UCT_IFACE_PARAM_FIELD_ERR_HANDLER_ARG | UCT_IFACE_PARAM_FIELD_ERR_HANDLER_FLAGS;
    p.open_mode = UCT_IFACE_OPEN_MODE_DEVICE;
    p.mode.device.tl_name = r.tl_name;
    p.mode.device.dev_name = r.dev_name;
    p.err_handler = lost;
    p.err_handler_arg = this;
    const ucs_status_t status = uct_iface_open(md, worker, &p, config, &iface);
    uct_config_release(config);
    if (UCS_OK != status) {
        iface = nullptr;
        return false;
    }
    if (UCS_OK != uct_iface_query(iface, &attr) ||
        0 == (attr.cap.flags & UCT_IFACE_FLAG_CONNECT_TO_IFACE) ||
        0 == (attr.cap.flags & UCT_IFACE_FLAG_AM_BCOPY)) {
        uct_iface_close(iface);
        iface = nullptr;
        return false;
    }
    return true;
}

bool network::impl::try_md(uct_component_h component, const char *md_name,
                           const network_config &cfg) {
    uct_md_config_t *config = nullptr;
    if (UCS_OK != uct_md_config_read(component, nullptr, nullptr, &config)) {
        return false;
    }
    const ucs_status_t status = uct_md_open(component, md_name, config, &md);
    uct_config_release(config);
    if (UCS_OK != status) {
        md = nullptr;
        return false;
    }
    uct_tl_resource_desc_t *list = nullptr;
    unsigned count = 0;
    bool ok = false;
    if (UCS_OK == uct_md_query_tl_resources(md, &list, &count)) {
        // the loopback only where it is all there is or it was asked for
        for (int pass = 0; pass < 2 && !ok; ++pass) {
            for (unsigned i = 0; i < count && !ok; ++i) {
                if (0 == pass) {
                    seen += std::string(seen.empty() ? "" : ", ") + list[i].tl_name + "/" +
                            list[i].dev_name;
                }
                const bool named = cfg.device == list[i].dev_name;
                const bool loopback = 0 == std::strcmp(list[i].dev_name, "lo");
                if (transport != list[i].tl_name || ("any" != cfg.device && !named) ||
                    (loopback && !named && 0 == pass)) {
                    continue;
                }
                ok = open_iface(list[i], cfg);
            }
        }
        uct_release_tl_resource_list(list);
    }
    if (!ok) {
        uct_md_close(md);
        md = nullptr;
    }
    return ok;
}

bool network::impl::find(const network_config &cfg) {
    uct_component_h *components = nullptr;
    unsigned count = 0;
    if (UCS_OK != uct_query_components(&components, &count)) {
        return false;
    }
    bool ok = false;
    for (unsigned i = 0; i < count && !ok; ++i) {
        uct_component_attr_t a{};
        a.field_mask = UCT_COMPONENT_ATTR_FIELD_NAME | UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT;
        if (UCS_OK != uct_component_query(components[i], &a)) {
            continue;
        }
        std::vector<uct_md_resource_desc_t> mds(a.md_resource_count);
        a.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES;
        a.md_resources = mds.data();
        if (UCS_OK != uct_component_query(components[i], &a)) {
            continue;
        }
        for (unsigned m = 0; m < mds.size() && !ok; ++m) {
            ok = try_md(components[i], mds[m].md_name, cfg);
        }
    }
    uct_release_component_list(components);
    return ok;
}

int network::open(const network_config &cfg, handler h, void *arg) {
    auto *n = new impl;
    n->on_message = h;
    n->arg = arg;
    n->transport = "ud" == cfg.transport ? "ud_verbs" : cfg.transport;
    // The transport accepts connections from its own thread: a rank that computes must not
    // keep a peer's first message waiting. A signal would interrupt the application.
    if (UCS_OK != ucs_async_context_create(UCS_ASYNC_MODE_THREAD_SPINLOCK, &n->async) ||
        UCS_OK != uct_worker_create(n->async, UCS_THREAD_MODE_SERIALIZED, &n->worker)) {
        why_ = "UCX could not start";
        delete n;
        return ENOMEM;
    }
    if (!n->find(cfg)) {
        why_ = n->seen.empty() ? "UCX finds no transport at all" : "UCX has: " + n->seen;
        delete n;
        return ENODEV;
    }
    uct_iface_progress_enable(n->iface, UCT_PROGRESS_SEND | UCT_PROGRESS_RECV);
    address_head head{address_version, static_cast<std::uint8_t>(n->attr.device_addr_len),
                      static_cast<std::uint8_t>(n->attr.iface_addr_len), name_sum(n->transport),
                      static_cast<std::uint32_t>(n->attr.cap.am.max_bcopy)};
    address_.resize(sizeof(head) + n->attr.device_addr_len + n->attr.iface_addr_len);
    std::memcpy(address_.data(), &head, sizeof(head));
    auto *device = reinterpret_cast<uct_device_addr_t *>(address_.data() + sizeof(head));
    auto *iface =
        reinterpret_cast<uct_iface_addr_t *>(address_.data() + sizeof(head) + head.device_bytes);
    if (UCS_OK != uct_iface_get_device_address(n->iface, device) ||
        UCS_OK != uct_iface_get_address(n->iface, iface) ||
        UCS_OK != uct_iface_set_am_handler(n->iface, am_id, impl::am, n, 0)) {
        why_ = "the transport gives no address";
        delete n;
        return EIO;
    }
    // tcp offers writes too, but its receiver (UCX 1.13) drops its state when a read finds
    // nothing in the middle of one, and the process crashes at the next: messages instead.
    uct_md_attr_t md{};
    const bool registers = UCS_OK != uct_md_query(n->md, &md) ||
                           0 != (md.cap.flags & UCT_MD_FLAG_NEED_MEMH);
    caps_.write = cfg.allow_write && "tcp" != n->transport && !registers &&
                  0 != (n->attr.cap.flags & UCT_IFACE_FLAG_PUT_ZCOPY);
    if (!registers && 0 != (n->attr.cap.flags & UCT_IFACE_FLAG_AM_ZCOPY)
        && n->attr.cap.am.max_hdr >= 64) {
        caps_.max_in_place = static_cast<std::uint32_t>(
            n->attr.cap.am.max_zcopy > 64 ? n->attr.cap.am.max_zcopy - 64 : 0);
    }
    caps_.max_message = static_cast<std::uint32_t>(n->attr.cap.am.max_bcopy);
    caps_.max_write = n->attr.cap.put.max_zcopy;
    if (0 != (n->attr.cap.event_flags & UCT_IFACE_FLAG_EVENT_FD) &&
        UCS_OK == uct_iface_event_fd_get(n->iface, &event_fd_)) {
        caps_.event_fd = true;
    }
    impl_ = n;
    return 0;
}

void network::close() {
    delete impl_;
    impl_ = nullptr;
    event_fd_ = -1;
}

std::uint32_t network::max_message(const std::byte *address, std::size_t bytes) const {
    address_head head{};
    if (bytes < sizeof(head)) {
        return 0;
    }
    std::memcpy(&head, address, sizeof(head));
    return std::min(caps_.max_message, head.max_message);
}

void *network::connect(const std::byte *address, std::size_t bytes) {
    address_head head{};
    if (bytes < sizeof(head)) {
        return nullptr;
    }
    std::memcpy(&head, address, sizeof(head));
    if (address_version != head.version || name_sum(impl_->transport) != head.transport ||
        head.device_bytes != impl_->attr.device_addr_len ||
        head.iface_bytes != impl_->attr.iface_addr_len ||
        bytes < sizeof(head) + head.device_bytes + head.iface_bytes) {
        return nullptr;
    }
    const auto *device = reinterpret_cast<const uct_device_addr_t *>(address + sizeof(head));
    const auto *iface =
        reinterpret_cast<const uct_iface_addr_t *>(address + sizeof(head) + head.device_bytes);
    if (!uct_iface_is_reachable(impl_->iface, device, iface)) {
        return nullptr;
    }
    uct_ep_params_t p{};
    p.field_mask = UCT_EP_PARAM_FIELD_IFACE | UCT_EP_PARAM_FIELD_DEV_ADDR |
                   UCT_EP_PARAM_FIELD_IFACE_ADDR;
    p.iface = impl_->iface;
    p.dev_addr = device;
    p.iface_addr = iface;
    uct_ep_h ep = nullptr;
    return UCS_OK == uct_ep_create(&p, &ep) ? ep : nullptr;
}

void network::disconnect(void *connection) {
    if (nullptr != connection) {
        uct_ep_destroy(static_cast<uct_ep_h>(connection));
    }
}

network::result network::send(void *connection, std::uint64_t word, const void *header,
                              std::uint32_t header_bytes, const void *payload,
                              std::uint32_t payload_bytes) {
    packed p{word, header, payload, header_bytes, payload_bytes};
    const ssize_t n =
        uct_ep_am_bcopy(static_cast<uct_ep_h>(connection), am_id, pack_message, &p, 0);
    if (n >= 0) {
        return result::done;
    }
    return UCS_ERR_NO_RESOURCE == n ? result::again : result::broken;
}

network::result network::send_in_place(void *connection, std::uint64_t word, const void *header,
                                       std::uint32_t header_bytes, const std::byte *payload,
                                       std::uint32_t payload_bytes, network_completion *c,
                                       bool *queued) {
    std::byte whole[sizeof(word) + 64];
    const std::uint32_t whole_bytes = static_cast<std::uint32_t>(sizeof(word)) + header_bytes;
    if (whole_bytes > sizeof(whole)) {
        return result::broken;
    }
    std::memcpy(whole, &word, sizeof(word));
    std::memcpy(whole + sizeof(word), header, header_bytes);
    uct_iov_t iov{};
    iov.buffer = const_cast<std::byte *>(payload);
    iov.length = payload_bytes;
    iov.count = 1;
    iov.memh = UCT_MEM_HANDLE_NULL;
    const ucs_status_t status =
        uct_ep_am_zcopy(static_cast<uct_ep_h>(connection), am_id, whole, whole_bytes, &iov, 1, 0,
                        make_completion(c));
    return posted(status, queued);
}

network::result network::write(void *connection, const std::byte *local, std::uint64_t bytes,
                               std::uint64_t remote, network_completion *c, bool *queued) {
    uct_iov_t iov{};
    iov.buffer = const_cast<std::byte *>(local);
    iov.length = bytes;
    iov.count = 1;
    iov.memh = UCT_MEM_HANDLE_NULL;
    const ucs_status_t status =
        uct_ep_put_zcopy(static_cast<uct_ep_h>(connection), &iov, 1, remote, 0, make_completion(c));
    return posted(status, queued);
}

unsigned network::progress() { return uct_worker_progress(impl_->worker); }

std::vector<void *> network::take_lost() {
    if (!impl_->any_lost.load(std::memory_order_acquire)) { // X2, pairs with X1
        return {};
    }
    const std::lock_guard<std::mutex> hold(impl_->lost_lock);
    impl_->any_lost.store(false, std::memory_order_relaxed); // ordered by the lock
    return std::exchange(impl_->lost_connections, {});
}

bool network::arm() {
    return UCS_OK ==
           uct_iface_event_arm(impl_->iface, UCT_EVENT_SEND_COMP | UCT_EVENT_RECV);
}

} // namespace smartint
