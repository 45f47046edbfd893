// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Life of the engine.
#include "common_smartint_engine.h"

#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>

#include "common_smartint_log.h"
#include "common_smartint_thread.h"

namespace smartint {
namespace {

// Bytes of what a receiver may have to keep, when all of a job send to it: of each sender's message the fragment that
// is not whole yet.
constexpr std::uint32_t most_fragments = 12U << 20;

} // namespace

std::atomic<engine *> engine::the_engine{nullptr};

engine &engine::make() {
    // Never destroyed: the interrupt thread is joined in stop(), and the library stays
    // loaded (-z nodelete), so that no destructor order at exit matters.
    static engine *const made = new engine;
    the_engine.store(made, std::memory_order_release); // pairs with instance()
    return *made;
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
    listening_.always = strategy_->listens();
    gate_.set_mode(me.threads                  ? gate::mode::locked
                   : strategy_->claims_often() ? gate::mode::fenced
                                               : gate::mode::asymmetric);
    if (with_network) {
        if (int error = open_network(); 0 != error) {
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
    cfg.allow_write = rendezvous_kind::copy != rendezvous_ && rendezvous_kind::read != rendezvous_;
    cfg.allow_read = rendezvous_kind::copy != rendezvous_ && rendezvous_kind::write != rendezvous_;
    cfg.make_room_for(me_.job_size);
    const std::uint32_t fragment = std::min(params_.fragment_bytes, most_fragments / std::max(1U, me_.job_size));
    const std::uint32_t largest = std::max(params_.network_eager_limit, fragment);
    cfg.message_bytes = std::max(largest + wire::max_header + 64, smallest_network_message);
    const int error = network_.open(cfg, network_message, this);
    if (0 != error) {
        const std::string value = params_.transport + "/" + params_.device;
        tell(topic::no_transport, value.c_str(), network_.why().c_str());
    }
    return error;
}

int engine::create_board(std::uint32_t slots, const char *second_directory, void (*named)(const char *path),
                         std::uint32_t nodes) {
    const segment_shape shape{
        static_cast<std::uint32_t>(me_.name >> 32), slots, params_.ring_bytes, params_.helpers, me_.node, nodes};
    int error = segment_.create(params_.directory.c_str(), shape, named);
    if (0 != error) {
        tell(topic::no_segment, params_.directory.c_str(), segment_.why().c_str());
        error = nullptr == second_directory ? error : segment_.create(second_directory, shape, named);
    }
    if (0 != error) {
        return error;
    }
    made_board_ = true;
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
    ring_.attach(&s.ring, segment_.ring(me_.slot), segment_.ring_bytes(), rings_are_reused(params_));
    board_.attach(&s);
    by_slot_.assign(segment_.slots(), nullptr);
    waker_.resize(segment_.slots());
    waker_.use_module(how, who, &stats_);
    c.attached.store(1, std::memory_order_release);      // A1, pairs with A1 of the readers
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
    // By two application threads at once, where each meets the first process of another job.
    static std::mutex starting;
    const std::lock_guard one(starting);
    if (thread_ || !strategy_ || !strategy_->needs_thread() || (!board_.attached() && !network_.is_open())) {
        return;
    }
    // What is on the board cannot be changed any more, and nobody would wake this one.
    if (board_.attached() && wake_fd_ < 0) {
        tell(topic::no_thread, "descriptors", "none was left when this process joined the node's board");
        return;
    }
    if (board_.attached() && 0 == segment_.slot(me_.slot).control.start_time) {
        tell(topic::no_thread, "/proc/self/stat", "it could not be read when this process joined the node's board");
        return;
    }
    if (wake_fd_ < 0) {
        wake_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    }
    auto t = std::make_unique<interrupt_thread>(*this);
    if (!t->start()) {
        return;
    }
    const bool others = gate::mode::locked == gate_.current_mode(); // who read it, under the gate
    if (others) {
        gate_.enter();
    }
    thread_ = std::move(t);
    if (others) {
        gate_.leave();
    }
}

void engine::stop_thread() {
    if (board_.attached()) {
        segment_.slot(me_.slot).control.stopped.store(1, std::memory_order_release); // A2: wake_fd_ is closed later
    }
    if (thread_) {
        if (thread_->stop()) {
            thread_.reset();
        } else {
            (void) thread_.release();
        }
        put_off_.cores = put_off::occupation::unknown; // another one has no timer yet
        put_off_.timer_set = false;
        note_timer_missed(false);
    }
}

bool engine::wakes_others_by(int fd) {
    gate_.enter();
    const bool theirs = waker_.holds(fd) || bells_.holds(fd);
    gate_.leave();
    return theirs;
}

void engine::finish() {
    see_out();
    stop_thread();
    const bool first = started_ && !std::exchange(counted_, true);
    const std::string &path = params_.stats_file;
    if (first && !path.empty() && !write_stats(stats_, path.c_str(), static_cast<int>(me_.name & 0x7fffffff))) {
        const std::string remedy = std::string("it cannot be written (") + std::strerror(errno) +
                                   "); name a directory that exists on every node";
        tell(topic::bad_parameter, ("smartint_stats_file = " + path).c_str(), remedy.c_str());
    }
}

void engine::forget_callers() {
    if (!started_) {
        return;
    }
    enter();
    hooks_.active_message = nullptr;
    sent_calls_.clear();
    for (const auto &ep : endpoints_) {
        for (pending_message *m = ep->pending_head; nullptr != m; m = m->next) {
            m->sent = nullptr;
        }
    }
    leave();
}

void engine::stop() {
    if (!started_) {
        return;
    }
    finish();
    flush_reports();
    for (auto &ep : endpoints_) {
        while (nullptr != ep->pending_head) {
            pending_message *m = dequeue(ep.get());
            delete m;
        }
        network_.disconnect(ep->control);
        network_.disconnect(ep->bulk);
    }
    held_.forget_all();
    put_off_.notices = false;
    rma_.reset();
    active_head_ = nullptr;
    active_tail_ = &active_head_;
    endpoints_.clear();
    by_name_.clear();
    by_slot_.clear();
    pending_.clear();
    deferred_.clear();
    in_calls_.clear();
    network_.close();
    waker_.close();
    bells_.close();
    made_board_ = ring_broken_ = false;
    fatal_ = nullptr;
    put_off_.units = put_off::seats::unknown;
    put_off_.missing = 0; // a slot of that board
    at_end_ = counted_ = false;
    told_.clear();
    parting_ = parting{};
    board_ = board_owner{};
    segment_.close();
    if (wake_fd_ >= 0) {
        ::close(wake_fd_);
        wake_fd_ = -1;
    }
    started_ = false;
}

rma &engine::make_one_sided() {
    rma_ = std::make_unique<rma>(*this);
    return *rma_;
}

void engine::refuse() { stats_.add(stat::refused_messages); }

} // namespace smartint
