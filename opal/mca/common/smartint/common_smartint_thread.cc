// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "common_smartint_thread.h"

#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <system_error>
#include <vector>

#include "common_smartint_log.h"
#include "common_smartint_signals.h"

namespace smartint {
namespace {

enum : std::uint64_t { tag_wake = 1, tag_timer = 2, tag_transport = 3, tag_late = 4 };

void set(int timer, std::uint32_t microseconds) {
    itimerspec t{};
    t.it_value.tv_sec = microseconds / 1000000;
    t.it_value.tv_nsec = static_cast<long>(microseconds % 1000000) * 1000;
    timerfd_settime(timer, 0, &t, nullptr);
}

bool add(int epoll, int fd, std::uint64_t tag, std::uint32_t events) {
    epoll_event e{};
    e.events = events;
    e.data.u64 = tag;
    return 0 == epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e);
}

void place(const std::string &cores) {
    std::vector<unsigned> cpus;
    if (cores.empty() || !parse_cpu_list(cores, &cpus)) {
        return; // inherited: where the rank may run
    }
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const unsigned c : cpus) {
        CPU_SET(c, &set);
    }
    if (int error = pthread_setaffinity_np(pthread_self(), sizeof(set), &set); 0 != error) {
        const std::string remedy =
            std::string("the kernel refused it (") + std::strerror(error) + "); name units this job may use";
        tell(topic::bad_parameter, ("smartint_cores = " + cores).c_str(), remedy.c_str());
    }
}

} // namespace

// Is what it is rung by still behind the number? Of eventfds one is like another, as of the module's files: none of the
// program's own is here but by its doing, and of the engine's only one that others are woken by, opened since.
bool interrupt_thread::is_own_wake() const {
    struct ::stat now {};
    const int fd = engine_.wake_descriptor();
    return 0 == ::fstat(fd, &now) && now.st_dev == wake_file_.st_dev && now.st_ino == wake_file_.st_ino &&
           now.st_rdev == wake_file_.st_rdev && !engine_.wakes_others_by(fd);
}

bool interrupt_thread::start() {
    epoll_ = epoll_create1(EPOLL_CLOEXEC);
    timer_ = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (epoll_ < 0 || timer_ < 0 || engine_.wake_descriptor() < 0 ||
        0 != ::fstat(engine_.wake_descriptor(), &wake_file_) ||
        !add(epoll_, engine_.wake_descriptor(), tag_wake, EPOLLIN) || !add(epoll_, timer_, tag_timer, EPOLLIN)) {
        tell(topic::no_thread, "descriptors", std::strerror(errno));
        stop();
        return false;
    }
    bool ok = true;
    try {
        const signals_blocked inherited; // signals are for the application's threads
        thread_ = std::thread([this] {
            pthread_setname_np(pthread_self(), layout::thread_name);
            place(engine_.settings().cores);
            engine_.progress_strategy()->run(*this);
            over_ = true;
        });
    } catch (const std::system_error &e) {
        tell(topic::no_thread, "pthread_create", e.what());
        ok = false;
    }
    if (!ok) {
        stop();
    }
    return ok;
}

bool interrupt_thread::stop() {
    if (thread_.joinable()) {
        stop_.store(true, std::memory_order_seq_cst); // T1, pairs with T2
        // The program may have closed it, and opened something of its own under the number.
        if (!is_own_wake() || !ring_eventfd(engine_.wake_descriptor())) {
            while (!over_ && !asleep_.load(std::memory_order_seq_cst)) { // T4, pairs with T3
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            }
            if (!over_) {
                tell(topic::no_thread, "descriptors", "the program has closed, or taken, what this thread sleeps on");
                thread_.detach();
                return false;
            }
        }
        thread_.join();
    }
    for (int *fd : {&epoll_, &timer_}) {
        if (*fd >= 0) {
            ::close(*fd);
            *fd = -1;
        }
    }
    if (const int fd = postponed_timer_.exchange(-1, std::memory_order_relaxed); fd >= 0) {
        ::close(fd);
    }
    return true;
}

interrupt_thread::causes interrupt_thread::sleep() {
    causes c;
    epoll_event events[4];
    asleep_.store(true, std::memory_order_seq_cst);
    const int n = epoll_wait(epoll_, events, 4, -1);
    const int error = errno;
    asleep_.store(false, std::memory_order_seq_cst); // T3, pairs with T4
    if (n < 0 && EINTR != error) { // the program has closed what it did not open, or had the kernel refuse the call
        tell(topic::no_thread, "epoll_wait", std::strerror(error));
        c.lost = true;
    }
    for (int i = 0; i < n; ++i) {
        if (tag_wake == events[i].data.u64) {
            c.rings = drain_eventfd(engine_.wake_descriptor());
        } else if (tag_timer == events[i].data.u64) {
            c.timer = 0 != drain_eventfd(timer_); // the same 8-byte counter
        } else if (tag_late == events[i].data.u64) {
            c.postponed =
                0 != drain_eventfd(postponed_timer_.load(std::memory_order_relaxed)); // made before it is in the set
        } else {
            c.transport = true;
            watching_.store(false, std::memory_order_relaxed); // one shot
        }
    }
    return c;
}

// One shot: a level-triggered descriptor (tcp) must not wake us while the application is in the engine and reads
// it itself. Noted before it can wake the thread, which notes then that it did.
void interrupt_thread::watch(bool on) {
    epoll_event e{};
    e.events = on ? EPOLLIN | EPOLLONESHOT : 0;
    e.data.u64 = tag_transport;
    watching_.store(on, std::memory_order_relaxed);
    if (0 != epoll_ctl(epoll_, EPOLL_CTL_MOD, transport_, &e)) {
        watching_.store(false, std::memory_order_relaxed);
    }
}

void interrupt_thread::watch_transport(int fd) {
    if (fd < 0) {
        return;
    }
    const std::lock_guard lock(transport_lock_);
    if (fd != transport_ && add(epoll_, fd, tag_transport, EPOLLONESHOT)) {
        transport_ = fd;
    }
    if (fd == transport_) {
        watch(true);
    }
}

void interrupt_thread::watch_again() {
    const std::lock_guard lock(transport_lock_);
    if (transport_ >= 0) {
        watch(true);
    }
}

bool interrupt_thread::hush() {
    if (!watches()) {
        return false;
    }
    const std::lock_guard lock(transport_lock_);
    const bool did = watches();
    if (did) {
        watch(false);
    }
    return did;
}

void interrupt_thread::set_timer(std::uint32_t microseconds) { set(timer_, microseconds); }

bool interrupt_thread::make_postponed_timer() {
    if (postponed_timer_.load(std::memory_order_relaxed) >= 0) {
        return true;
    }
    const int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (fd < 0) {
        return false;
    }
    postponed_timer_.store(fd, std::memory_order_relaxed);
    if (!add(epoll_, fd, tag_late, EPOLLIN)) {
        postponed_timer_.store(-1, std::memory_order_relaxed);
        ::close(fd);
        return false;
    }
    return true;
}

void interrupt_thread::set_postponed_timer(std::uint32_t microseconds) {
    set(postponed_timer_.load(std::memory_order_relaxed), microseconds);
}

} // namespace smartint
