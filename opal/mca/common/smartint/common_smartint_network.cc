// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Life of the network: which transport, its address, progress.
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <tuple>
#include <utility>

#include "common_smartint_devices.h"
#include "common_smartint_network_impl.h"
#include "common_smartint_signals.h"
#include "common_smartint_ucx.h"

namespace smartint {

ucs_status_t network::impl::am(void *arg, void *data, std::size_t bytes, unsigned) {
    auto *self = static_cast<impl *>(arg);
    self->on_message(self->arg, static_cast<const std::byte *>(data), static_cast<std::uint32_t>(bytes));
    return UCS_OK;
}

ucs_status_t network::impl::lost(void *arg, uct_ep_h ep, ucs_status_t) {
    auto *self = static_cast<impl *>(arg);
    const std::lock_guard<std::mutex> hold(self->lost_lock);
    self->lost_endpoints.push_back(ep);
    self->any_lost.store(true, std::memory_order_release); // X1, pairs with X2
    return UCS_OK;
}

network::impl::~impl() {
    if (epoll >= 0) {
        ::close(epoll);
    }
    for (network_connection *c : connections) {
        uct.ep_destroy(c->ep);
        delete c;
    }
    for (auto &[address, ep] : boot_endpoints) {
        uct.ep_destroy(ep);
    }
    for (uct_iface_h i : {iface, boot}) {
        if (nullptr != i) {
            uct.iface_close(i);
        }
    }
    if (nullptr != md) {
        uct.md_close(md);
    }
    if (nullptr != worker) {
        uct.worker_destroy(worker);
    }
    if (nullptr != async) {
        uct.async_context_destroy(async);
    }
}

bool network::impl::open_iface(const uct_tl_resource_desc_t &r, const network_config &cfg, uct_iface_h *out,
                               uct_iface_attr_t *out_attr) {
    uct_iface_config_t *config = nullptr;
    if (UCS_OK != uct.md_iface_config_read(md, r.tl_name, nullptr, nullptr, &config)) {
        return false;
    }
    if (0 != cfg.message_bytes) { // transports without these settings say so and keep theirs
        const std::string bytes = std::to_string(cfg.message_bytes);
        (void) uct.config_modify(config, "TX_SEG_SIZE", bytes.c_str());
        (void) uct.config_modify(config, "RX_SEG_SIZE", bytes.c_str());
    }
    // tcp: else it waits for the peer's host to accept a connection, a minute and more where that does not answer,
    // and the caller holds the gate.
    (void) uct.config_modify(config, "CONN_NB", "y");
    // tcp: an idle connection would be given up after 16 seconds in which the network, or the peer's machine, is away.
    // Who ends, with its machine up, closes it.
    if (nullptr == std::getenv("UCX_TCP_KEEPIDLE")) {
        (void) uct.config_modify(config, "KEEPIDLE", "300s");
    }
    uct_iface_params_t p{};
    p.field_mask = UCT_IFACE_PARAM_FIELD_OPEN_MODE | UCT_IFACE_PARAM_FIELD_DEVICE | UCT_IFACE_PARAM_FIELD_RX_HEADROOM |
                   UCT_IFACE_PARAM_FIELD_ERR_HANDLER | UCT_IFACE_PARAM_FIELD_ERR_HANDLER_ARG |
                   UCT_IFACE_PARAM_FIELD_ERR_HANDLER_FLAGS;
    p.open_mode = UCT_IFACE_OPEN_MODE_DEVICE;
    p.mode.device.tl_name = r.tl_name;
    p.mode.device.dev_name = r.dev_name;
    p.err_handler = lost;
    p.err_handler_arg = this;
    const ucs_status_t status = uct.iface_open(md, worker, &p, config, out);
    uct.config_release(config);
    if (UCS_OK != status) {
        *out = nullptr;
        return false;
    }
    if (UCS_OK != uct.iface_query(*out, out_attr) || 0 == (out_attr->cap.flags & UCT_IFACE_FLAG_AM_BCOPY)) {
        uct.iface_close(*out);
        *out = nullptr;
        return false;
    }
    return true;
}

// Verbs' interfaces fill their receive queues when they are opened and later on. Where the kernel refuses them the
// memory, UCX tries again for ever and the job hangs: so it is asked for before, and only where there is a limit at
// all.
bool network::impl::may_pin(const uct_tl_resource_desc_t &r) {
    // UCX 1.13's defaults: 36 MiB for rc's receives, 20 for those of ud, beside it or alone, and what is sent
    const std::size_t needed = (0 == std::strncmp(r.tl_name, "ud", 2) ? 24 : 64) << 20;
    rlimit now{};
    uct_md_attr_t of_md{};
    if (0 != getrlimit(RLIMIT_MEMLOCK, &now) || RLIM_INFINITY == now.rlim_cur || UCS_OK != uct.md_query(md, &of_md) ||
        0 == (of_md.cap.flags & UCT_MD_FLAG_NEED_MEMH)) {
        return true;
    }
    void *memory = mmap(nullptr, needed, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (MAP_FAILED == memory) {
        return true; // no question of that limit
    }
    const auto registers = [&](std::size_t bytes) {
        uct_mem_h handle = nullptr;
        const bool done =
            UCS_OK == uct.md_mem_reg(md, memory, bytes, UCT_MD_MEM_ACCESS_RMA | UCT_MD_MEM_FLAG_HIDE_ERRORS, &handle);
        if (done) {
            uct.md_mem_dereg(md, handle);
        }
        return done;
    };
    errno = 0;
    const bool may = registers(needed) || (ENOMEM != errno && EAGAIN != errno && EPERM != errno);
    if (!may) {
        limit = std::string(r.tl_name) + " needs " + std::to_string(needed >> 20) +
                " MiB of locked memory, the limit is " + std::to_string(now.rlim_cur >> 10) +
                " KiB (ulimit -l unlimited)";
    }
    // UCX keeps what was registered, unmapped or not, until it looks again: at the next page.
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    munmap(static_cast<std::byte *>(memory) + page, needed - page);
    registers(page);
    munmap(memory, page);
    return may;
}

// The interface over which endpoints' addresses travel: of the same device.
bool network::impl::open_bootstrap(const uct_tl_resource_desc_t *list, unsigned count,
                                   const uct_tl_resource_desc_t &main, const network_config &cfg) {
    for (unsigned i = 0; i < count; ++i) {
        if (bootstrap != list[i].tl_name || 0 != std::strcmp(list[i].dev_name, main.dev_name) ||
            !open_iface(list[i], cfg, &boot, &boot_attr)) {
            continue;
        }
        if (0 != (boot_attr.cap.flags & UCT_IFACE_FLAG_CONNECT_TO_IFACE)) {
            return true;
        }
        uct.iface_close(boot);
        boot = nullptr;
    }
    return false;
}

// Devices of the transport that may be used, the best first: fast ones, of those the one with the default route. What
// the kernel bridges inside this host (containers, guests) nobody may be able to reach, the loopback nobody: they come
// last.
std::vector<unsigned> network::impl::devices(const uct_tl_resource_desc_t *list, unsigned count,
                                             const network_config &cfg) {
    struct device {
        bool loopback, bridge;
        double slowness;
        unsigned priority, index;
        auto rank() const { return std::tie(loopback, bridge, slowness, priority, index); }
    };
    std::vector<device> found;
    device_list allowed;
    if (!allowed.parse(cfg.device)) {
        return {};
    }
    for (unsigned i = 0; i < count; ++i) {
        if (transport == list[i].tl_name && allowed.allows(list[i].dev_name)) {
            const std::string of_bridge = std::string("/sys/class/net/") + list[i].dev_name + "/bridge";
            found.push_back({0 == std::strcmp(list[i].dev_name, "lo"), 0 == access(of_bridge.c_str(), F_OK), 0, 0, i});
        }
    }
    const auto unknown = [](const device &d) { return !d.loopback && !d.bridge; };
    if (std::count_if(found.begin(), found.end(), unknown) > 1) {
        for (device &d : found) {
            uct_iface_h opened = nullptr;
            uct_iface_attr_t of_it{};
            if (unknown(d) && may_pin(list[d.index]) && open_iface(list[d.index], cfg, &opened, &of_it)) {
                d.slowness = -(of_it.bandwidth.dedicated + of_it.bandwidth.shared);
                d.priority = of_it.priority;
                uct.iface_close(opened);
            }
        }
    }
    std::sort(found.begin(), found.end(), [](const device &a, const device &b) { return a.rank() < b.rank(); });
    std::vector<unsigned> order;
    for (const device &d : found) {
        order.push_back(d.index);
    }
    return order;
}

bool network::impl::try_md(uct_component_h from, const char *md_name, const network_config &cfg) {
    uct_md_config_t *config = nullptr;
    if (UCS_OK != uct.md_config_read(from, nullptr, nullptr, &config)) {
        return false;
    }
    // InfiniBand: that a transfer is over says that its data is there only where the adapter's writes keep their order.
    // UCX lets them pass each other where it takes the processor for one that gains by it.
    // A number: UCX's versions have different words for it. Others have no such setting.
    (void) uct.config_modify(config, "PCI_RELAXED_ORDERING", "0");
    const ucs_status_t status = uct.md_open(from, md_name, config, &md);
    uct.config_release(config);
    if (UCS_OK != status) {
        md = nullptr;
        return false;
    }
    uct_tl_resource_desc_t *list = nullptr;
    unsigned count = 0;
    bool ok = false;
    if (UCS_OK == uct.md_query_tl_resources(md, &list, &count)) {
        for (unsigned i = 0; i < count; ++i) {
            seen += std::string(seen.empty() ? "" : ", ") + list[i].tl_name + "/" + list[i].dev_name;
        }
        for (const unsigned i : devices(list, count, cfg)) {
            if (!may_pin(list[i]) || !open_iface(list[i], cfg, &iface, &attr)) {
                continue;
            }
            by_endpoint = cfg.by_endpoint || 0 == (attr.cap.flags & UCT_IFACE_FLAG_CONNECT_TO_IFACE);
            ok = !by_endpoint ||
                 (0 != (attr.cap.flags & UCT_IFACE_FLAG_CONNECT_TO_EP) && open_bootstrap(list, count, list[i], cfg));
            if (ok) {
                break;
            }
            uct.iface_close(iface);
            iface = nullptr;
        }
        uct.release_tl_resource_list(list);
    }
    if (!ok) {
        uct.md_close(md);
        md = nullptr;
    } else {
        component = from;
    }
    return ok;
}

bool network::impl::find(const network_config &cfg) {
    uct_component_h *components = nullptr;
    unsigned count = 0;
    if (UCS_OK != uct.query_components(&components, &count)) {
        return false;
    }
    bool ok = false;
    for (unsigned i = 0; i < count && !ok; ++i) {
        uct_component_attr_t a{};
        a.field_mask = UCT_COMPONENT_ATTR_FIELD_NAME | UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT;
        if (UCS_OK != uct.component_query(components[i], &a)) {
            continue;
        }
        std::vector<uct_md_resource_desc_t> mds(a.md_resource_count);
        a.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES;
        a.md_resources = mds.data();
        if (UCS_OK != uct.component_query(components[i], &a)) {
            continue;
        }
        for (unsigned m = 0; m < mds.size() && !ok; ++m) {
            ok = try_md(components[i], mds[m].md_name, cfg);
        }
    }
    uct.release_component_list(components);
    return ok;
}

int network::open(const network_config &cfg, handler h, void *arg) {
    const signals_blocked inherited; // by the transport's threads: signals are for the application's
    why_ = load_uct();
    if (why_.empty()) {
        why_ = ucx_problem();
    }
    if (!why_.empty()) {
        return ELIBBAD;
    }
    auto *n = new impl;
    n->on_message = h;
    n->arg = arg;
    n->most_passive = cfg.most_passive;
    n->most_boot_endpoints = cfg.most_boot_endpoints;
    n->most_outgoing = cfg.most_outgoing;
    const bool rc = "rc" == cfg.transport || 0 == cfg.transport.rfind("rc_", 0);
    n->transport = "ud" == cfg.transport ? "ud_verbs" : "rc" == cfg.transport ? "rc_verbs" : cfg.transport;
    n->bootstrap = rc ? "ud_verbs" : n->transport;
    // Connections are accepted by a thread of the transport's: a signal would interrupt the application. What a peer
    // says first is answered in progress() only.
    if (UCS_OK != uct.async_context_create(UCS_ASYNC_MODE_THREAD_SPINLOCK, &n->async) ||
        UCS_OK != uct.worker_create(n->async, UCS_THREAD_MODE_SERIALIZED, &n->worker)) {
        why_ = "UCX could not start";
        delete n;
        return ENOMEM;
    }
    if (!is_laid_out_alike(n->worker->progress_q)) {
        why_ =
            "this UCX is newer than the one that smartint was built with, and keeps its work otherwise: build smartint "
            "with the UCX of this host";
        delete n;
        return ENODEV;
    }
    if (!n->find(cfg)) {
        why_ = !n->limit.empty() ? n->limit : n->seen.empty() ? "UCX finds no transport at all" : "UCX has: " + n->seen;
        delete n;
        return ENODEV;
    }
    impl_ = n;
    n->stream = "tcp" == n->transport;
    if (!make_address() || UCS_OK != uct.iface_set_am_handler(n->iface, impl::am_id, impl::am, n, 0) ||
        (nullptr != n->boot && UCS_OK != uct.iface_set_am_handler(n->boot, impl::boot_id, impl::boot_am, n, 0))) {
        why_ = "the transport gives no address";
        close();
        return EIO;
    }
    if (address_.size() > cfg.most_address) {
        why_ = "its address has " + std::to_string(address_.size()) + " bytes, " + std::to_string(cfg.most_address) +
               " at most fit";
        close();
        return EMSGSIZE;
    }
    for (uct_iface_h i : {n->iface, n->boot}) {
        if (nullptr != i) {
            uct_iface_progress_enable(i, UCT_PROGRESS_SEND | UCT_PROGRESS_RECV);
        }
    }
    learn_capabilities(cfg);
    return 0;
}

void network::learn_capabilities(const network_config &cfg) {
    const impl &n = *impl_;
    caps_ = capabilities{};
    caps_.registers =
        UCS_OK != uct.md_query(n.md, &impl_->md_attr) || 0 != (n.md_attr.cap.flags & UCT_MD_FLAG_NEED_MEMH);
    const bool keys = !caps_.registers || (0 != (n.md_attr.cap.flags & UCT_MD_FLAG_NEED_RKEY) &&
                                           n.md_attr.rkey_packed_size <= network_memory::max_key);
    // tcp offers writes too, but a receiver (UCX 1.13) that makes an endpoint of its own in the middle of one loses
    // where it goes, and crashes (architecture.md, decision 2): messages instead.
    caps_.write = cfg.allow_write && "tcp" != n.transport && keys && 0 != (n.attr.cap.flags & UCT_IFACE_FLAG_PUT_ZCOPY);
    caps_.read = cfg.allow_read && keys && 0 != (n.attr.cap.flags & UCT_IFACE_FLAG_GET_ZCOPY);
    constexpr std::size_t in_front = sizeof(std::uint64_t) + most_header;
    if (!caps_.registers && 0 != (n.attr.cap.flags & UCT_IFACE_FLAG_AM_ZCOPY) && n.attr.cap.am.max_hdr >= in_front) {
        caps_.max_in_place =
            static_cast<std::uint32_t>(n.attr.cap.am.max_zcopy > in_front ? n.attr.cap.am.max_zcopy - in_front : 0);
    }
    caps_.max_message = static_cast<std::uint32_t>(n.attr.cap.am.max_bcopy);
    caps_.min_write = n.attr.cap.put.min_zcopy;
    caps_.max_write = n.attr.cap.put.max_zcopy;
    caps_.min_read = n.attr.cap.get.min_zcopy;
    caps_.max_read = n.attr.cap.get.max_zcopy;
    if (0 != (n.attr.cap.event_flags & UCT_IFACE_FLAG_EVENT_FD) &&
        UCS_OK == uct.iface_event_fd_get(n.iface, &event_fd_) && nullptr != n.boot) {
        event_fd_ = impl_->both_descriptors(event_fd_);
    }
}

// One descriptor that is ready when either interface's is; -1: not to be had.
int network::impl::both_descriptors(int main) {
    int other = -1;
    if (0 == (boot_attr.cap.event_flags & UCT_IFACE_FLAG_EVENT_FD) || UCS_OK != uct.iface_event_fd_get(boot, &other)) {
        return -1;
    }
    epoll = epoll_create1(EPOLL_CLOEXEC);
    for (const int fd : {main, other}) {
        epoll_event e{};
        e.events = EPOLLIN;
        if (epoll < 0 || 0 != epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e)) {
            return -1;
        }
    }
    return epoll;
}

void network::close() {
    delete impl_;
    impl_ = nullptr;
    event_fd_ = -1;
}

bool network::holds_tail() const {
    return impl_->stream && UCS_INPROGRESS == uct_iface_flush(impl_->iface, 0, nullptr);
}

unsigned network::progress() {
    unsigned events = uct_worker_progress(impl_->worker);
    if (nullptr != impl_->boot) {
        events += handle_boot();
    }
    return events;
}

std::vector<void *> network::take_lost() {
    if (!impl_->any_lost.load(std::memory_order_acquire)) { // X2, pairs with X1
        return {};
    }
    std::vector<uct_ep_h> endpoints;
    {
        const std::lock_guard<std::mutex> hold(impl_->lost_lock);
        impl_->any_lost.store(false, std::memory_order_relaxed); // ordered by the lock
        endpoints = std::exchange(impl_->lost_endpoints, {});
    }
    std::vector<void *> out;
    for (uct_ep_h ep : endpoints) {
        const auto broken = std::find_if(impl_->connections.begin(), impl_->connections.end(),
                                         [ep](const network_connection *c) { return !c->adopted && ep == c->ep; });
        if (impl_->connections.end() != broken) { // of no use to whoever would adopt it, and nobody else has it
            impl_->drop(*broken);
            continue;
        }
        for (network_connection *c : impl_->connections) {
            // over whose endpoint the peer was asked for its own: the answer won't come
            if (ep == c->ep || (!c->ready && ep == c->asked)) {
                out.push_back(c);
            }
        }
    }
    return out;
}

bool network::arm() {
    for (uct_iface_h i : {impl_->iface, impl_->boot}) {
        const ucs_status_t status =
            nullptr == i ? UCS_OK : uct.iface_event_arm(i, UCT_EVENT_SEND_COMP | UCT_EVENT_RECV);
        if (UCS_OK != status) {
            event_fd_ = UCS_ERR_BUSY == status ? event_fd_ : -1; // or who asks until it may sleep would ask for ever
            return false;
        }
    }
    return true;
}

} // namespace smartint
