// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Life of the engine and its peers.
#include "common_smartint_engine.h"

#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "common_smartint_log.h"
#include "common_smartint_thread.h"

namespace smartint {
namespace {

constexpr std::uint32_t smallest_network_message = 8192; // what transports offer anyway
constexpr std::uint32_t fragment_bytes = 16384;          // of a copy pipeline inside a node
constexpr std::uint32_t room_factor = 4;                 // see goes_whole; parameters.md names it

} // namespace

engine &engine::instance() {
    // Never destroyed: the interrupt thread is joined in stop(), and the library stays
    // loaded (-z nodelete), so that no destructor order at exit matters.
    static engine *the_engine = new engine;
    return *the_engine;
}

engine::engine() = default;

engine::~engine() { stop(); }

int engine::start(const params &p, const engine_identity &me, bool with_network) {
    if (started_) {
        return 0;
    }
    params_ = p;
    me_ = me;
    random_ = me.name * 0x9e3779b97f4a7c15ULL + 1;
    strategy_kind kind{};
    parse_strategy(p.progress, &kind);
    parse_rendezvous(p.rendezvous, &rendezvous_);
    strategy_ = make_strategy(kind);
    always_listens_ = strategy_->listens();
    gate_.set_mode(me.threads                   ? gate::mode::locked
                   : strategy_->claims_often() ? gate::mode::fenced
                                                : gate::mode::asymmetric);
    if (with_network) {
        if (int error = open_network(); 0 != error) {
            flush_reports();
            return error;
        }
    }
    started_ = true;
    return 0;
}

int engine::open_network() {
    if (network_.is_open() || "none" == params_.transport) {
        return 0;
    }
    network_config cfg;
    cfg.transport = params_.transport;
    cfg.device = params_.device;
    cfg.allow_write =
        rendezvous_kind::copy != rendezvous_ && rendezvous_kind::read != rendezvous_;
    cfg.allow_read =
        rendezvous_kind::copy != rendezvous_ && rendezvous_kind::write != rendezvous_;
    const std::uint32_t wanted = params_.network_eager_limit + wire::max_header + 64;
    cfg.message_bytes = std::max(wanted, smallest_network_message);
    const int error = network_.open(cfg, network_message, this);
    if (0 != error) {
        const std::string value = params_.transport + "/" + params_.device;
        tell(topic::no_transport, value.c_str(), network_.why().c_str());
    }
    return error;
}

int engine::create_board(std::uint32_t slots, const char *second_directory, void (*named)(const char *path)) {
    const auto job = static_cast<std::uint32_t>(me_.name >> 32);
    const auto create = [&](const char *directory) {
        return segment_.create(directory, job, slots, params_.ring_bytes, params_.helpers, me_.node, named);
    };
    int error = create(params_.directory.c_str());
    if (0 != error) {
        tell(topic::no_segment, params_.directory.c_str(), segment_.why().c_str());
        error = nullptr == second_directory ? error : create(second_directory);
    }
    if (0 != error) {
        return error;
    }
    attach_slot();
    return 0;
}

int engine::open_board(const segment_ticket &ticket) {
    if (segment_.mapped()) {
        return 0;
    }
    if (nullptr == std::memchr(ticket.directory, 0, sizeof(ticket.directory))) {
        return EINVAL;
    }
    const int error = segment_.open(ticket.directory, ticket);
    if (0 == error && me_.slot >= segment_.slots()) {
        segment_.close();
        tell(topic::bad_segment, ticket.name, "fewer ranks than expected");
        return EPROTO;
    }
    if (0 != error) {
        tell(topic::bad_segment, ticket.name, segment_.why().c_str());
        return error;
    }
    attach_slot();
    return 0;
}

void engine::attach_slot() {
    permit_access(); // before anybody finds this process on the board
    layout::slot &s = segment_.slot(me_.slot);
    auto &c = s.control;
    wake_kind how = wake_kind::automatic;
    parse_wake(params_.wake, &how); // checked at the start
    const wake_identity who = identity_of(segment_.header());
    wake_fd_ = smartint::wake_descriptor(how, who, me_.slot);
    const auto pid = static_cast<std::uint32_t>(getpid());
    c.pid.store(pid, std::memory_order_relaxed);
    c.wake_fd.store(wake_fd_, std::memory_order_relaxed);
    c.vpid = static_cast<std::uint32_t>(me_.name);
    c.start_time = process_start_time(pid);
    c.pid_namespace = pid_namespace();
    cpu_set_t set;
    if (0 == sched_getaffinity(0, sizeof(set), &set)) {
        for (unsigned i = 0; i < layout::cpu_mask_words * 64 && i < CPU_SETSIZE; ++i) {
            if (CPU_ISSET(i, &set)) {
                c.cpus[i / 64] |= 1ULL << (i % 64);
            }
        }
    }
    ring_.attach(&s.ring, segment_.ring(me_.slot), segment_.ring_bytes());
    board_.attach(&s);
    by_slot_.assign(segment_.slots(), nullptr);
    waker_.resize(segment_.slots());
    waker_.use_module(how, who, &stats_);
    c.attached.store(1, std::memory_order_release); // A1, pairs with A1 of the readers
    std::atomic_thread_fence(std::memory_order_seq_cst); // A3, pairs with A3 of the other ranks
    unlink_when_complete();
}

// The last rank of the node to come takes the name away: of those who come at the same time one sees all the others.
void engine::unlink_when_complete() {
    for (std::uint32_t i = 0; i < segment_.slots(); ++i) {
        if (1 != segment_.slot(i).control.attached.load(std::memory_order_acquire)) { // A1
            return;
        }
    }
    segment_.unlink();
}

void engine::start_thread() {
    if (thread_ || !strategy_ || !strategy_->needs_thread() ||
        (!board_.attached() && !network_.is_open())) {
        return;
    }
    if (wake_fd_ < 0) {
        wake_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    }
    auto t = std::make_unique<interrupt_thread>(*this);
    if (t->start()) {
        thread_ = std::move(t);
    }
}

void engine::stop_thread() {
    if (board_.attached()) {
        segment_.slot(me_.slot).control.stopped.store(1, std::memory_order_release); // A2: wake_fd_ is closed later
    }
    if (thread_) {
        thread_->stop();
        thread_.reset();
        cores_ = occupation::unknown; // another one has no timer yet
        late_ = false;
        note_late(false);
    }
}

void engine::save_stats() {
    const std::string &path = params_.stats_file;
    if (started_ && !path.empty() && !stats_saved_ &&
        !write_stats(stats_, path.c_str(), static_cast<int>(me_.name & 0x7fffffff))) {
        const std::string remedy = std::string("it cannot be written (") + std::strerror(errno) +
                                   "); name a directory that exists on every node";
        tell(topic::bad_parameter, ("smartint_stats_file = " + path).c_str(), remedy.c_str());
    }
    stats_saved_ = true;
}

void engine::stop() {
    if (!started_) {
        return;
    }
    stop_thread();
    save_stats();
    flush_reports();
    for (auto &ep : endpoints_) {
        while (nullptr != ep->pending_head) {
            pending_message *m = dequeue(ep.get());
            delete m;
        }
        network_.disconnect(ep->control);
        network_.disconnect(ep->bulk);
    }
    rma_.reset();
    endpoints_.clear();
    by_name_.clear();
    by_slot_.clear();
    pending_.clear();
    deferred_.clear();
    network_.close();
    waker_.close();
    bells_.close();
    board_ = board_owner{};
    segment_.close();
    if (wake_fd_ >= 0) {
        ::close(wake_fd_);
        wake_fd_ = -1;
    }
    started_ = false;
}

rma &engine::one_sided() {
    if (!rma_) {
        rma_ = std::make_unique<rma>(*this);
    }
    return *rma_;
}

endpoint *engine::find_peer(std::uint64_t name) {
    const auto it = by_name_.find(name);
    return it == by_name_.end() ? nullptr : it->second;
}

endpoint *engine::add_self() {
    if (endpoint *known = find_peer(me_.name); nullptr != known) {
        return known;
    }
    auto ep = std::make_unique<endpoint>();
    ep->name = me_.name;
    ep->way = route::self;
    ep->eager_limit = ep->eager_if_room = params_.network_eager_limit;
    ep->max_payload = fragment_bytes;
    by_name_[ep->name] = ep.get();
    endpoints_.push_back(std::move(ep));
    return endpoints_.back().get();
}

endpoint *engine::add_shared(std::uint64_t name, std::uint32_t slot) {
    if (!segment_.mapped() || slot >= segment_.slots()) {
        return nullptr;
    }
    if (endpoint *known = find_peer(name); nullptr != known) {
        return known;
    }
    auto ep = std::make_unique<endpoint>();
    ep->name = name;
    ep->way = route::shared;
    ep->slot = static_cast<std::uint16_t>(slot);
    ep->ring.attach(&segment_.slot(slot).ring, segment_.ring(slot), segment_.ring_bytes());
    const std::uint32_t quarter = segment_.ring_bytes() / 4 - layout::line;
    ep->eager_limit = std::min<std::uint32_t>(params_.eager_limit, quarter - wire::max_header);
    ep->eager_if_room = std::min<std::uint32_t>(room_factor * ep->eager_limit, quarter - wire::max_header);
    ep->max_payload = std::min(fragment_bytes, quarter / 2);
    ep->direct = rendezvous_kind::copy != rendezvous_;
    by_name_[name] = ep.get();
    by_slot_[slot] = ep.get();
    endpoints_.push_back(std::move(ep));
    return endpoints_.back().get();
}

endpoint *engine::add_network(std::uint64_t name, const std::byte *address, std::size_t bytes,
                              const remote_node *node, std::uint32_t relay_slot) {
    if (!network_.is_open() || 0 == bytes || bytes > wire::max_network_address) {
        return nullptr;
    }
    if (endpoint *known = find_peer(name); nullptr != known) {
        // first met by its RTS, which does not say where its helper is
        if (route::network == known->way && known->node < 0) {
            find_helper(known, node, relay_slot);
        }
        return known;
    }
    auto ep = std::make_unique<endpoint>();
    ep->name = name;
    ep->way = route::network;
    ep->address.assign(address, address + bytes);
    // what both can take, less our own words
    constexpr std::uint32_t own = sizeof(std::uint64_t) + wire::max_header;
    const std::uint32_t whole = network_.max_message(address, bytes);
    if (whole < own + least_payload) {
        return nullptr;
    }
    const std::uint32_t room = whole - own;
    ep->eager_limit = ep->eager_if_room = std::min<std::uint32_t>(params_.network_eager_limit, room);
    ep->max_payload = room;
    ep->direct = false;
    find_helper(ep.get(), node, relay_slot);
    by_name_[name] = ep.get();
    endpoints_.push_back(std::move(ep));
    return endpoints_.back().get();
}

void engine::find_helper(endpoint *ep, const remote_node *node, std::uint32_t relay_slot) {
    ep->relay_slot = relay_slot;
    if (board_.attached() && nullptr != node && node->helper_bytes > 0 &&
        node->helper_bytes <= layout::node_address_bytes) {
        ep->node = publish_node(segment_, *node);
    }
}

bool engine::connect(endpoint *ep, bool bulk) {
    void *&c = bulk ? ep->bulk : ep->control;
    if (nullptr == c) {
        c = network_.connect(ep->address.data(), ep->address.size());
        if (nullptr == c) {
            lose(ep);
            return false;
        }
    }
    return true;
}

// The peer can't be reached any more: its operations fail, once, with one message.
void engine::lose(endpoint *ep) {
    ep->lost = true;
    if (!ep->told) {
        ep->told = true;
        std::string who = "process " + std::to_string(static_cast<std::uint32_t>(ep->name));
        if (const std::uint64_t job = ep->name >> 32; job != me_.name >> 32) {
            who += " of job " + std::to_string(job) + ", not this one"; // spawned, or connected to
        }
        tell(topic::lost_peer, who.c_str(), "the connection is broken");
    }
    fail_peer_operations(ep); // also those that were begun after it was lost
}

bool engine::is_lost(endpoint *ep) {
    if (ep->lost) {
        lose(ep);
    }
    return ep->lost;
}

// The transport says so. At the end of a job this is how peers go: it is worth a word only if
// something still depends on them.
void engine::lost_connection(void *connection) {
    for (const auto &ep : endpoints_) {
        if (connection == ep->control || connection == ep->bulk) {
            ep->lost = true;
            if (fail_peer_operations(ep.get()) > 0) {
                lose(ep.get());
            }
            return;
        }
    }
}

void engine::refuse() { stats_.add(stat::refused_messages); }

} // namespace smartint
