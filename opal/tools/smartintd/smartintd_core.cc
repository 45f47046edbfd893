// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "smartintd_core.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "common_smartint_board.h"
#include "common_smartint_nodes.h"
#include "smartintd_place.h"

namespace smartint::daemon {
namespace {

enum : std::uint64_t { tag_doorbell = ~0ULL, tag_network = ~0ULL - 1 }; // else: a slot

// For ranks that are still to come: within MPI_Init, or with the first window, which some may never have.
constexpr int attach_look_ms = 20, late_look_ms = 1000;
constexpr int unwatched_look_ms = 1000;            // whether ranks live that no descriptor tells of
constexpr int unheard_look_ms = 10;                // at a network that no descriptor tells of
constexpr std::chrono::seconds place_look{1};      // at what the ranks' threads are bound to
constexpr std::chrono::milliseconds busy_look{10}; // at what descriptors tell, where there is no sleep between

// In the place of a rank's descriptor.
enum : int { not_seen = -1, ended = -2, unwatched = -3 };

// It lives, as far as can be seen.
bool same_process(std::uint32_t pid, std::uint64_t start_time) {
    const std::uint64_t started = process_start_time(pid);
    if (0 != started && 0 != start_time) {
        return started == start_time;
    }
    // There is no descriptor left to look with, or it had none when it said who it is.
    return 0 != pid && (0 == kill(static_cast<pid_t>(pid), 0) || EPERM == errno);
}

} // namespace

core::~core() {
    if (board_.mapped()) {
        // One that never came up is not missed: the rank that started it says so, and nobody else.
        line().state.store(started_ ? layout::helper_gone : layout::helper_absent, std::memory_order_release);
    }
    for (int fd : pidfds_) {
        if (fd >= 0) {
            ::close(fd);
        }
    }
    for (int fd : {epoll_, doorbell_}) {
        if (fd >= 0) {
            ::close(fd);
        }
    }
    if (started_ && !unlinked_ && !options_.board.empty()) {
        ::unlink(options_.board.c_str());
    }
}

bool core::watch(int fd, std::uint64_t tag) {
    epoll_event e{};
    e.events = EPOLLIN;
    e.data.u64 = tag;
    return 0 == epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &e);
}

bool core::start(int board_fd) {
    if (0 != board_.adopt(board_fd)) {
        why_ = board_.why();
        return false;
    }
    if (options_.index >= layout::max_helpers) {
        why_ = "helper number out of range";
        return false;
    }
    epoll_ = epoll_create1(EPOLL_CLOEXEC);
    const wake_identity who = identity_of(board_.header());
    doorbell_ = wake_descriptor(options_.wake, who, helper_number(options_.index));
    if (epoll_ < 0 || doorbell_ < 0 || !watch(doorbell_, tag_doorbell)) {
        why_ = std::strerror(errno);
        return false;
    }
    pidfds_.assign(board_.slots(), not_seen);
    woken_.assign(board_.slots(), false);
    waker_.resize(board_.slots());
    waker_.use_module(options_.wake, who);
    leave_binding(options_);
    layout::helper_line &l = line();
    // Only the first helper relays; the others watch their share of the ranks.
    if (0 == options_.index &&
        relay_.open(options_, [this](std::uint32_t s, const key &k, std::uint64_t q) { deliver(s, k, q); })) {
        // relaxed: of one that has ended
        const bool another = 0 != l.address.generation.load(std::memory_order_relaxed);
        const auto &a = relay_.net().address();
        write_address(l.address, a.data(), std::min<std::size_t>(a.size(), layout::node_address_bytes));
        watches_network_ = relay_.net().event_fd() >= 0 && watch(relay_.net().event_fd(), tag_network);
        if (another) {
            relay_.announce();
        }
    }
    watch_ranks(); // which may bind us: after the network, whose thread is to be where there is room
    attach_look_ = attach_look_ms;
    l.network_error.store(static_cast<std::uint32_t>(relay_.error()), std::memory_order_relaxed); // H4, below
    if (unit_ < 0) {
        l.cpu.store(-1, std::memory_order_relaxed);
    }
    l.pid.store(static_cast<std::uint32_t>(getpid()), std::memory_order_relaxed);
    l.doorbell_fd.store(doorbell_, std::memory_order_relaxed);
    // last: with it goes the descriptor's number
    l.start_time.store(process_start_time(static_cast<std::uint32_t>(getpid())), std::memory_order_release); // H5
    started_ = true;
    l.state.store(layout::helper_sleeping, std::memory_order_release); // H4, pairs with H3
    return true;
}

// A descriptor per rank that becomes readable when the process ends, however it ends.
void core::watch_ranks() {
    for (unsigned i = 0; i < pidfds_.size(); ++i) {
        const auto &c = board_.slot(i).control;
        if (not_seen != pidfds_[i] || 1 != c.attached.load(std::memory_order_acquire)) { // A1
            continue;
        }
        ++seen_;
        const std::uint32_t pid = c.pid.load(std::memory_order_relaxed);
        const int fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
        if (fd < 0 || !same_process(pid, c.start_time) || !watch(fd, i)) {
            if (fd >= 0) {
                ::close(fd);
            }
            pidfds_[i] = ended;
            if (same_process(pid, c.start_time)) { // refused, or out of descriptors
                pidfds_[i] = unwatched;
                ++unwatched_;
                ++alive_;
            }
            continue;
        }
        pidfds_[i] = fd;
        ++alive_;
    }
    if (seen_ == pidfds_.size() && !unlinked_) {
        ::unlink(options_.board.c_str());
        unlinked_ = true;
        find_a_unit(); // only now it is known which units the ranks are bound to
    }
}

void core::find_a_unit() {
    std::vector<std::uint32_t> pids;
    for (unsigned i = 0; i < pidfds_.size(); ++i) {
        if (pidfds_[i] >= 0 || unwatched == pidfds_[i]) {
            pids.push_back(board_.slot(i).control.pid.load(std::memory_order_relaxed));
        }
    }
    unit_ = place_.choose(board_, pids, options_);
    had_unit_ = had_unit_ || unit_ >= 0;
    line().cpu.store(unit_, std::memory_order_relaxed);
    placed_ = clock::now();
}

void core::rank_gone(unsigned slot) {
    if (slot < pidfds_.size() && pidfds_[slot] >= 0) {
        ::close(pidfds_[slot]);
        pidfds_[slot] = ended;
        --alive_;
    }
}

// Those that no descriptor tells of.
void core::look_after_unwatched() {
    for (unsigned i = 0; i < pidfds_.size() && unwatched_ > 0; ++i) {
        const auto &c = board_.slot(i).control;
        if (unwatched == pidfds_[i] && !same_process(c.pid.load(std::memory_order_relaxed), c.start_time)) {
            pidfds_[i] = ended;
            --unwatched_;
            --alive_;
        }
    }
}

// A notice from another node: onto the board here, and whoever waits for it is woken if it
// is not in its engine. What nobody waits for stays on the board for whoever posts later.
void core::deliver(std::uint32_t slot, const key &k, std::uint64_t source_seq) {
    layout::slot &s = board_.slot(slot);
    const auto o =
        board_slot(&s).post(k, static_cast<std::uint32_t>(source_seq >> 32), static_cast<std::uint32_t>(source_seq));
    line().delivered.fetch_add(1, std::memory_order_relaxed);
    if (o.wake) {
        to_wake_.push_back(slot);
        woken_[slot] = true;
    }
}

// The backstop of a polling helper: a rank that was matched and left its engine before
// anybody could act is woken here; its state is looked at once more just before (SI 4.2).
unsigned core::scan() {
    unsigned wakes = 0;
    const unsigned helpers = board_.header().helpers; // read once: others may write it
    const unsigned step = std::max(1U, std::min(helpers, layout::max_helpers));
    for (unsigned i = options_.index; i < board_.slots(); i += step) {
        layout::slot &s = board_.slot(i);
        if (0 == s.control.wanted.load(std::memory_order_acquire)) { // B13
            woken_[i] = false;
            continue;
        }
        if (woken_[i] || board_slot(&s).active()) {
            continue;
        }
        board_slot(&s).note_ring();
        if (waker_.wake(i, s)) {
            woken_[i] = true;
            line().wakes.fetch_add(1, std::memory_order_relaxed);
            ++wakes;
        } else {
            board_slot(&s).ring_failed();
        }
    }
    line().scans.fetch_add(1, std::memory_order_relaxed);
    return wakes;
}

// It has a unit of its own and may poll while requests are armed.
bool core::watches() const { return unit_ >= 0 && options_.poll_us > 0; }

bool core::anything_armed() const {
    for (unsigned i = 0; i < board_.slots(); ++i) {
        if (0 != board_.slot(i).control.armed.load(std::memory_order_relaxed)) {
            return true;
        }
    }
    return false;
}

unsigned core::pass() {
    unsigned events = relay_.progress();
    if (!to_wake_.empty()) {
        line().wakes.fetch_add(waker_.wake_all(&to_wake_, board_), std::memory_order_relaxed);
        for (const std::uint32_t slot : to_wake_) {
            woken_[slot] = false; // a scan tries again, and whoever posts next
            board_slot(&board_.slot(slot)).ring_failed();
        }
        to_wake_.clear();
    }
    if (0 == options_.index) {
        events += relay_.push();
    }
    line().relayed.store(relay_.sent(), std::memory_order_relaxed);
    line().rejected.store(relay_.rejected(), std::memory_order_relaxed);
    return events;
}

// While something waits for a node: UCX's tcp leaves a connection that the peer has not answered (its helper stands
// still, or is busy) in its set as one to write to, so that its descriptor is ready all the time and we would not sleep
// at all. Heard by edges it tells of what happens from here on, once.
void core::watch_network_by_edges(bool yes) {
    if (yes == network_by_edges_ || !relay_.is_open() || relay_.net().event_fd() < 0) {
        return;
    }
    epoll_event e{};
    e.events = yes ? EPOLLIN | EPOLLET : EPOLLIN;
    e.data.u64 = tag_network;
    if (0 == epoll_ctl(epoll_, EPOLL_CTL_MOD, relay_.net().event_fd(), &e)) {
        network_by_edges_ = yes;
    }
}

bool core::sleep() {
    layout::helper_line &l = line();
    l.state.store(layout::helper_sleeping, std::memory_order_release);
    std::atomic_thread_fence(std::memory_order_seq_cst);            // D2, pairs with D1 of the poster
    const bool to_watch = !armed_ && watches() && anything_armed(); // who armed before D2 rang nobody
    if (to_watch || (0 == options_.index && !relay_empty(board_.relay())) ||
        (relay_.is_open() && !relay_.net().arm())) {
        l.state.store(layout::helper_polling, std::memory_order_release); // no bell is needed
        return false;
    }
    int timeout = -1;
    const auto at_most = [&timeout](int ms) { timeout = timeout < 0 ? ms : std::min(timeout, ms); };
    if (seen_ < pidfds_.size()) {
        at_most(attach_look_);
    }
    if (unwatched_ > 0) {
        at_most(unwatched_look_ms);
    }
    if (relay_.is_open() && !watches_network_) {
        at_most(unheard_look_ms);
    }
    const bool full = relay_.backlog();
    watch_network_by_edges(full);
    if (full) {
        at_most(backlog_patience_.next_ms(relay_.moves()));
    }
    const int told = look(timeout);
    l.sleeps.fetch_add(1, std::memory_order_relaxed);
    l.state.store(layout::helper_polling, std::memory_order_release); // awake: no bell is needed
    if (full && 0 == told) {
        backlog_patience_.slept_in_vain();
    }
    return true;
}

// For what descriptors tell: the doorbell, the network, the end of a rank. How many did.
int core::look(int milliseconds) {
    epoll_event events[16];
    const int n = epoll_wait(epoll_, events, 16, milliseconds);
    for (int i = 0; i < n; ++i) {
        const std::uint64_t tag = events[i].data.u64;
        if (tag_doorbell == tag) {
            drain_eventfd(doorbell_);
        } else if (tag_network != tag) {
            rank_gone(static_cast<unsigned>(tag));
        }
    }
    if (const unsigned before = seen_; seen_ < pidfds_.size()) {
        watch_ranks();
        if (seen_ > before) {
            attach_look_ = attach_look_ms;
        } else if (0 == n && 0 != milliseconds) { // the time was over
            attach_look_ = std::min(2 * attach_look_, late_look_ms);
        }
    }
    if (unwatched_ > 0) {
        look_after_unwatched();
    }
    return n;
}

void core::run() {
    auto last_event = clock::now();
    auto last_look = last_event;
    while (!stop_.load(std::memory_order_relaxed)) {
        const bool busy = pass() > 0;
        const auto now = clock::now();
        // Where there was none to begin with there will hardly be one; it may be back after a thread that was unbound.
        if (had_unit_ && options_.cores.empty() && now - placed_ >= place_look) {
            find_a_unit();
        }
        // With a unit of our own and somebody waiting, look again for a while; else sleep.
        armed_ = !busy && watches() && anything_armed();
        if (busy || (armed_ && scan() > 0)) {
            last_event = now;
        }
        const bool again = busy || (armed_ && now - last_event < std::chrono::microseconds(options_.poll_us));
        if (!again && 0 == alive_) {
            break; // the job is over on this node, however it ended
        }
        const bool slept = !again && sleep();
        if (!again) {
            last_event = clock::now(); // what it is awake for, also where it did not fall asleep
        }
        if (slept) {
            last_look = last_event;
        } else if (now - last_look >= busy_look) {
            // What keeps us from sleeping may do so for ever, and the ranks may be gone meanwhile.
            look(0);
            last_look = now;
            if (0 == alive_) {
                break;
            }
        }
    }
}

void core::stop() {
    stop_.store(true, std::memory_order_relaxed);
    ring_eventfd(doorbell_);
}

} // namespace smartint::daemon
