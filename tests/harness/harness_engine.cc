// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "harness_engine.h"

#include <sys/syscall.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

namespace smartint::test {

bool interrupt_threads_sleep() {
    namespace fs = std::filesystem;
    std::error_code error;
    for (fs::directory_iterator task("/proc/self/task", error); !error && task != fs::directory_iterator();
         task.increment(error)) {
        std::string name, call;
        std::getline(std::ifstream(task->path() / "comm"), name);
        if ("smartint" != name) {
            continue;
        }
        std::ifstream(task->path() / "syscall") >> call; // "running", or the call's number
        bool waits = call == std::to_string(SYS_epoll_pwait);
#ifdef SYS_epoll_wait
        waits = waits || call == std::to_string(SYS_epoll_wait);
#endif
        if (!waits && !call.empty()) { // empty where the kernel does not tell
            return false;
        }
    }
    return true;
}

namespace {

// Byte by byte: what the sanitizers would see is the copies' ends only.
#define UNWATCHED __attribute__((no_sanitize("thread", "address")))

UNWATCHED void copy_strided(std::byte *to, unsigned to_step, const std::byte *from, unsigned from_step,
                            std::uint64_t bytes) {
    for (std::uint64_t i = 0; i < bytes; ++i) {
        to[i * to_step] = from[i * from_step];
    }
}

UNWATCHED void scatter(recv_op *op, std::uint64_t at, const void *data, std::uint64_t bytes) {
    auto *r = static_cast<test_recv *>(op);
    const auto *from = static_cast<const std::byte *>(data);
    if (at + bytes > r->capacity) {
        r->overrun = true;
        return;
    }
    copy_strided(r->data.data() + at * r->step, r->step, from, 1, bytes);
}

// A basic element has 8 bytes: none is split but at the end.
UNWATCHED std::uint64_t gather(send_op *op, std::uint64_t at, void *data, std::uint64_t bytes) {
    auto *s = static_cast<test_send *>(op);
    bytes = std::min(bytes, s->length - at);
    if (at + bytes < s->length) {
        bytes &= ~7ULL;
    }
    copy_strided(static_cast<std::byte *>(data), 1, s->data.data() + at * s->step, s->step, bytes);
    return bytes;
}

void receive_done(recv_op *op) { ++static_cast<test_recv *>(op)->delivered; }
void send_done(send_op *op) { ++static_cast<test_send *>(op)->delivered; }
void active_message(endpoint *from, std::uint32_t type, const std::byte *data, std::uint32_t bytes) {
    active_messages().push_back({from, type, {data, data + bytes}});
}
void fatal(const char *) { ++fatal_calls(); }

} // namespace

void test_recv::aim(std::uint64_t bytes, std::uint32_t ctx, std::int32_t src, std::int32_t t, unsigned stride) {
    step = stride;
    data.assign(std::max<std::uint64_t>(1, bytes * stride), std::byte{0xee});
    context = ctx;
    source = src;
    tag = t;
    capacity = bytes;
    delivered = 0;
    if (1 == stride) {
        buffer = data.data();
    } else {
        buffer = nullptr;
        recv_op::scatter = test::scatter;
    }
}

std::ptrdiff_t test_recv::differs(std::size_t bytes, std::uint64_t seed) const {
    if (1 == step) {
        return test::differs(data.data(), bytes, seed);
    }
    std::vector<std::byte> packed(bytes);
    copy_strided(packed.data(), 1, data.data(), step, bytes);
    return test::differs(packed.data(), bytes, seed);
}

void test_send::aim(endpoint *to, std::uint64_t bytes, std::uint64_t seed, std::uint32_t ctx, std::int32_t src,
                    std::int32_t t, unsigned stride) {
    step = stride;
    peer = to;
    context = ctx;
    source = src;
    tag = t;
    length = bytes;
    delivered = 0;
    if (1 ==
        stride) { // where one is aimed again its memory is used again: to map it costs a sanitizer more than all else
        data.resize(std::max<std::uint64_t>(1, bytes));
        fill(data.data(), bytes, seed);
        buffer = data.data();
    } else {
        std::vector<std::byte> packed(bytes);
        fill(packed.data(), bytes, seed);
        data.assign(std::max<std::uint64_t>(1, bytes * stride), std::byte{0});
        copy_strided(data.data(), stride, packed.data(), 1, bytes);
        buffer = nullptr;
        send_op::gather = test::gather;
    }
}

void set_hooks(engine &e) {
    e.hooks().receive_done = receive_done;
    e.hooks().send_done = send_done;
    e.hooks().active_message = active_message;
    e.hooks().fatal = fatal;
}

std::vector<active_message_seen> &active_messages() {
    static std::vector<active_message_seen> v;
    return v;
}

unsigned &fatal_calls() {
    static unsigned n = 0;
    return n;
}

params test_params(const char *progress) {
    params p;
    p.progress = progress;
    p.device = "lo";
    p.idle_cores = "yes"; // whatever this machine has
    return p;
}

node_pair::node_pair(const params &given, bool threads) {
    params p = given;
    p.directory = directory.path();
    set_hooks(a);
    set_hooks(b);
    EXPECT_EQ(0, a.start(p, {name_of(0), 0, threads}, false));
    EXPECT_EQ(0, a.create_board(2, nullptr));
    EXPECT_EQ(0, b.start(p, {name_of(1), 1, threads}, false));
    EXPECT_EQ(0, b.open_board(a.board_segment().ticket()));
    to_b = a.add_shared(name_of(1), 1);
    to_a = b.add_shared(name_of(0), 0);
    EXPECT_NE(nullptr, to_b);
    EXPECT_NE(nullptr, to_a);
}

node_pair::~node_pair() {
    a.stop_thread();
    b.stop_thread();
    a.stop();
    b.stop();
    EXPECT_TRUE(directory.left().empty());
}

void node_pair::start_threads() {
    a.start_thread();
    b.start_thread();
}

void node_pair::drive(const char *what, const std::function<bool()> &until) {
    wait_until(what, [&] {
        a.progress();
        b.progress();
        return until();
    });
}

network_pair::network_pair(const params &p, bool threads, std::uint64_t name_of_b) {
    set_hooks(a);
    set_hooks(b);
    EXPECT_EQ(0, a.start(p, {name_of(0), 0, threads}, true)) << a.net().why();
    EXPECT_EQ(0, b.start(p, {name_of_b, 0, threads}, true)) << b.net().why();
    to_b = a.add_network(name_of_b, b.net().address().data(), b.net().address().size(), nullptr, 0);
    to_a = b.add_network(name_of(0), a.net().address().data(), a.net().address().size(), nullptr, 0);
    EXPECT_NE(nullptr, to_b);
    EXPECT_NE(nullptr, to_a);
}

void network_pair::drive(const char *what, const std::function<bool()> &until) {
    wait_until(what, [&] {
        a.progress();
        b.progress();
        return until();
    });
}

} // namespace smartint::test
