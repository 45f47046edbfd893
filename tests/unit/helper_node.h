// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// The helper inside a test's process: its core runs in a thread, its ranks are this process or children.
#pragma once

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "common_smartint_ring.h"
#include "harness.h"
#include "smartintd_core.h"

namespace smartint::daemon {

using namespace test;

class core_access {
public:
    // As where the system refuses to watch the network's descriptor.
    static bool deafen(core &c) {
        c.watches_network_ = false;
        return 0 == epoll_ctl(c.epoll_, EPOLL_CTL_DEL, c.relay_.net().event_fd(), nullptr);
    }
    // As if the connection to a node had broken, and as if the time until the next try were over.
    static std::chrono::nanoseconds fail(core &c, std::uint32_t node) {
        relay::node &n = c.relay_.nodes_.at(node);
        c.relay_.fail(n);
        return n.patience;
    }
    static void wait_is_over(core &c, std::uint32_t node) { c.relay_.nodes_.at(node).again = relay::clock::now(); }
    // It has looked, and nothing was armed.
    static bool sleeps(core &c) {
        c.armed_ = false;
        return c.sleep();
    }
};

// A board whose ranks all are this process, and a helper for it.
class node {
public:
    explicit node(unsigned slots = 2, std::uint32_t job = 9, std::uint64_t identity = 0) {
        EXPECT_EQ(0, board.create(directory.path().c_str(), {job, slots, 16384, 1, identity}));
        for (unsigned i = 0; i < slots; ++i) {
            wake.push_back(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
            owner.emplace_back();
            owner[i].attach(&board.slot(i));
        }
    }
    ~node() {
        finish();
        for (const int fd : wake) {
            close(fd);
        }
    }
    void attach(unsigned i, std::uint32_t pid = static_cast<std::uint32_t>(getpid())) {
        auto &c = board.slot(i).control;
        c.pid = pid;
        c.start_time = process_start_time(pid);
        c.wake_fd = wake[i];
        c.cpus[0] = ~0ULL; // every unit is a rank's: the helper has none of its own
        c.attached = 1;
    }
    void attach_all() {
        for (unsigned i = 0; i < board.slots(); ++i) {
            attach(i);
        }
    }
    options standard() const {
        options o;
        o.device = "lo";
        o.board = directory.path() + "/" + board.ticket().name;
        return o;
    }
    bool make(const options &o) {
        helper = std::make_unique<core>(o);
        return helper->start(dup(board.fd()));
    }
    void run() {
        runner = std::thread([this] {
            helper->run();
            cpu_ns = thread_cpu_ns();
            over = true;
        });
    }
    void finish() {
        if (runner.joinable()) {
            helper->stop();
            runner.join();
        }
        helper.reset();
    }
    layout::helper_line &line() { return board.helper(0); }
    bool rung(unsigned i) { return drain_eventfd(wake[i]); }

    scratch_directory directory;
    segment board;
    std::vector<int> wake;
    std::vector<board_owner> owner;
    std::unique_ptr<core> helper;
    std::thread runner;
    std::atomic<bool> over{false};
    std::atomic<std::uint64_t> cpu_ns{0};
};

} // namespace smartint::daemon
