// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
// Puts and gets that the network carries out in the window's memory, and a send. Not over tcp, so most of it is skipped
// unless SMARTINT_TEST_TRANSPORT and SMARTINT_TEST_DEVICE name something better, as in the virtual machine with verbs.
#include <gtest/gtest.h>

#include <linux/capability.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common_smartint_log.h"
#include "common_smartint_uct.h"
#include "harness_exchange.h"

namespace smartint {
namespace {

using namespace test;
using std::byte;

constexpr std::uint32_t window_id = 7;
constexpr std::size_t exposed = 4 << 20;
constexpr std::size_t large = 3 << 20; // many writes

params on_named_transport(params x) {
    if (const char *transport = std::getenv("SMARTINT_TEST_TRANSPORT"); nullptr != transport) {
        x.transport = transport;
        x.device = std::getenv("SMARTINT_TEST_DEVICE");
    }
    return x;
}

class windows_of_two_nodes {
public:
    explicit windows_of_two_nodes(unsigned rdma = 8192, bool dynamic = false) : n(parameters(rdma)) {
        for (std::size_t k = 0; k < exposed; ++k) {
            source[k] = static_cast<byte>(k * 7 + k / 4096);
        }
        zero = make_window(n.a, window_id, 0, {member_of(n.a.add_self(), own), member_of(n.to_b, target)}, dynamic);
        one = make_window(n.b, window_id, 1, {member_of(n.to_a, own), member_of(n.b.add_self(), target)}, dynamic);
        n.a.enter();
        p = n.a.one_sided().peer(zero, 1);
        n.a.leave();
    }
    ~windows_of_two_nodes() {
        destroy_window(n.a, zero);
        if (nullptr != one) {
            destroy_window(n.b, one);
        }
    }

    void submit(rma_item::what kind, std::size_t at, const rma_layout &layout, rma_sync *sync = nullptr) {
        byte *const here = (rma_item::what::get == kind ? fetched : source).data() + at;
        test::submit(n.a, p, kind, here, target.data() + at, layout, sync);
    }
    void put(std::size_t at, std::size_t bytes, rma_sync *sync = nullptr) {
        submit(rma_item::what::put, at, rma_layout(bytes), sync);
    }
    std::unique_ptr<rma_sync> flush() { return begin_flush(n.a, p); }
    void flushed() { test::flushed(n, p); }
    bool can() { return n.a.net().caps().write && n.a.net().caps().read; }
    // The first large one goes by message, and the key comes.
    void meet() {
        put(0, large);
        flushed();
        EXPECT_EQ(0U, by_network());
        n.drive("the key", [&] { return rma_peer::reach::asked != p->reached; });
    }
    bool same(std::size_t at, std::size_t bytes) {
        return 0 == std::memcmp(target.data() + at, source.data() + at, bytes);
    }
    void wipe() { std::fill(target.begin(), target.end(), byte{0}); }
    std::uint64_t by_network() { return count(n.a, stat::rma_remote); }

    network_pair n;
    std::vector<byte> source = std::vector<byte>(exposed);
    std::vector<byte> fetched = std::vector<byte>(exposed);
    std::vector<byte> own = std::vector<byte>(64);
    std::vector<byte> target = std::vector<byte>(exposed);
    rma_window *zero = nullptr;
    rma_window *one = nullptr;
    rma_peer *p = nullptr;

private:
    static params parameters(unsigned rdma) {
        params x = on_named_transport(test_params("none"));
        x.window_rdma = rdma;
        return x;
    }
};

TEST(windows_by_network, a_put_is_written_once_the_key_is_there_and_a_flush_needs_nobody) {
    windows_of_two_nodes t;
    if (!t.can()) {
        GTEST_SKIP() << "a transport that neither writes nor reads";
    }
    t.meet();
    ASSERT_EQ(rma_peer::reach::known, t.p->reached);
    const std::uint64_t served = count(t.n.b, stat::rma_served);
    std::uint64_t puts = 0;
    for (const std::size_t bytes :
         {std::size_t{8192}, std::size_t{8193}, std::size_t{262144}, std::size_t{262145}, large}) {
        t.wipe();
        t.put(17, bytes);
        t.flushed();
        EXPECT_TRUE(t.same(17, bytes)) << bytes;
        EXPECT_EQ(byte{0}, t.target[16]);
        EXPECT_EQ(byte{0}, t.target[17 + bytes]);
        EXPECT_EQ(++puts, t.by_network()) << bytes;
    }
    EXPECT_EQ(served, count(t.n.b, stat::rma_served)) << "the target's engine has seen none of them";
    EXPECT_TRUE(t.n.a.one_sided().idle(t.zero));
}

TEST(windows_by_network, many_at_once_and_what_is_small_or_in_pieces_or_fetched_beside_them) {
    windows_of_two_nodes t;
    if (!t.can()) {
        GTEST_SKIP() << "a transport that neither writes nor reads";
    }
    t.meet();
    t.wipe();
    rma_layout pieces;
    for (std::int64_t k = 0; k < 16; ++k) {
        pieces.append({k * 2048, 1024, 0, 1});
    }
    rma_sync request;
    for (std::size_t k = 0; k < 40; ++k) {
        t.put(k * 65536, 65536, 39 == k ? &request : nullptr);
        t.put(exposed - 100, 100);
    }
    t.submit(rma_item::what::put, 41 * 65536, pieces);
    t.n.drive("the request", [&] { return request.done(); });
    t.flushed();
    EXPECT_TRUE(t.same(0, 40 * 65536));
    EXPECT_TRUE(t.same(exposed - 100, 100));
    for (std::size_t k = 0; k < 16; ++k) {
        EXPECT_TRUE(t.same(41 * 65536 + k * 2048, 1024));
        EXPECT_EQ(byte{0}, t.target[41 * 65536 + k * 2048 + 1024]);
    }
    EXPECT_EQ(40U, t.by_network());
    EXPECT_TRUE(t.n.a.one_sided().idle(t.zero));
}

TEST(windows_by_network, a_get_is_read) {
    windows_of_two_nodes t;
    if (!t.can()) {
        GTEST_SKIP() << "a transport that neither writes nor reads";
    }
    t.meet();
    t.target = t.source;
    const std::uint64_t served = count(t.n.b, stat::rma_served);
    std::uint64_t gets = 0;
    for (const std::size_t bytes : {std::size_t{8192}, std::size_t{8193}, std::size_t{262145}, large}) {
        std::fill(t.fetched.begin(), t.fetched.end(), byte{0});
        t.submit(rma_item::what::get, 17, rma_layout(bytes));
        t.flushed();
        EXPECT_EQ(0, std::memcmp(t.fetched.data() + 17, t.source.data() + 17, bytes)) << bytes;
        EXPECT_EQ(byte{0}, t.fetched[16]);
        EXPECT_EQ(byte{0}, t.fetched[17 + bytes]);
        EXPECT_EQ(++gets, t.by_network()) << bytes;
        t.put(0, large); // what the next one reads
        t.flushed();
        ++gets;
    }
    EXPECT_EQ(served, count(t.n.b, stat::rma_served)) << "the target's engine has seen none of them";
}

TEST(windows_by_network, an_epochs_end_waits_for_what_is_written) {
    windows_of_two_nodes t;
    if (!t.can()) {
        GTEST_SKIP() << "a transport that neither writes nor reads";
    }
    t.meet();
    for (int round = 0; round < 20; ++round) {
        t.wipe();
        rma_sync done;
        rma_sync waited;
        t.n.b.enter();
        t.n.b.one_sided().post(t.one, {0}, false, false);
        t.n.b.leave();
        t.n.a.enter();
        t.n.a.one_sided().await_post(t.p, nullptr);
        t.n.a.leave();
        t.put(0, large);
        t.n.a.enter();
        t.n.a.one_sided().complete(t.p, &done);
        t.n.a.leave();
        t.n.b.enter();
        t.n.b.one_sided().wait(t.one, &waited);
        t.n.b.leave();
        t.n.drive("the exposure", [&] { return waited.done(); });
        EXPECT_TRUE(t.same(0, large)) << "the target was told too early";
        t.n.drive("the epoch", [&] { return done.done(); });
    }
    EXPECT_EQ(20U, t.by_network());
}

TEST(windows_by_network, nothing_is_written_before_the_lock_is_granted) {
    windows_of_two_nodes t;
    if (!t.can()) {
        GTEST_SKIP() << "a transport that neither writes nor reads";
    }
    t.meet();
    t.wipe();
    // The target holds its own lock.
    rma_sync held;
    t.n.b.enter();
    rma_peer *self = t.n.b.one_sided().peer(t.one, 1);
    t.n.b.one_sided().lock(self, true, &held);
    t.n.b.leave();
    ASSERT_TRUE(held.done());
    rma_sync done;
    t.n.a.enter();
    t.n.a.one_sided().lock(t.p, true, nullptr);
    t.n.a.leave();
    t.put(0, large);
    t.n.a.enter();
    t.n.a.one_sided().unlock(t.p, &done);
    t.n.a.leave();
    for (int k = 0; k < 3000; ++k) {
        t.n.a.progress();
        t.n.b.progress();
    }
    EXPECT_EQ(byte{0}, t.target[1]);
    EXPECT_FALSE(done.done());
    rma_sync released;
    t.n.b.enter();
    t.n.b.one_sided().unlock(self, &released);
    t.n.b.leave();
    t.n.drive("the lock and all behind it", [&] { return done.done() && released.done(); });
    EXPECT_TRUE(t.same(0, large));
    EXPECT_EQ(1U, t.by_network());
}

TEST(windows_by_network, a_fence_waits_for_it_too) {
    windows_of_two_nodes t;
    if (!t.can()) {
        GTEST_SKIP() << "a transport that neither writes nor reads";
    }
    t.meet();
    for (int round = 0; round < 10; ++round) {
        t.wipe();
        t.put(0, large);
        rma_sync mine;
        rma_sync theirs;
        t.n.a.enter();
        t.n.a.one_sided().fence(t.zero, &mine);
        t.n.a.leave();
        t.n.b.enter();
        t.n.b.one_sided().fence(t.one, &theirs);
        t.n.b.leave();
        t.n.drive("the target's fence", [&] { return theirs.done(); });
        EXPECT_TRUE(t.same(0, large));
        t.n.drive("the origin's", [&] { return mine.done(); });
    }
}

TEST(windows_by_network, not_where_the_parameter_says_no_nor_in_dynamic_windows) {
    {
        windows_of_two_nodes t(0);
        for (int k = 0; k < 3; ++k) {
            t.wipe();
            t.put(0, large);
            t.flushed();
            EXPECT_TRUE(t.same(0, large));
        }
        EXPECT_EQ(0U, t.by_network());
        EXPECT_EQ(rma_peer::reach::unknown, t.p->reached);
    }
    windows_of_two_nodes t(8192, true);
    t.n.b.enter();
    t.n.b.one_sided().attach(t.one, reinterpret_cast<std::uint64_t>(t.target.data()), exposed);
    t.n.b.leave();
    for (int k = 0; k < 3; ++k) {
        t.put(0, large);
        t.flushed();
        EXPECT_TRUE(t.same(0, large));
    }
    EXPECT_EQ(0U, t.by_network());
}

TEST(windows_by_network, what_lies_outside_is_refused_by_its_target) {
    windows_of_two_nodes t;
    if (!t.can()) {
        GTEST_SKIP() << "a transport that neither writes nor reads";
    }
    t.meet();
    for (const std::size_t at : {exposed - 8191, exposed, exposed + 65536}) {
        t.n.a.enter();
        rma_item *i = rma::make(rma_item::what::put);
        i->target = reinterpret_cast<std::uint64_t>(t.target.data()) + at;
        i->target_layout = i->origin_layout = rma_layout(8192);
        i->origin = t.source.data();
        t.n.a.one_sided().submit(t.p, i);
        t.n.a.leave();
        t.flushed();
        t.n.a.enter();
        EXPECT_EQ(rma_error::range, t.n.a.one_sided().take_error(t.zero)) << at;
        t.n.a.leave();
    }
    EXPECT_EQ(0U, t.by_network());
    EXPECT_LE(3U, count(t.n.b, stat::rma_refused)); // each of its messages
}

// Not even root may pin more memory than the limit says. To be made before a device is opened: verbs take no calls from
// other credentials than those it was opened with.
class no_privilege {
public:
    no_privilege() {
        EXPECT_EQ(0, syscall(SYS_capget, &head_, caps_));
        __user_cap_data_struct fewer[2] = {caps_[0], caps_[1]};
        fewer[0].effective &= ~(1U << CAP_IPC_LOCK);
        EXPECT_EQ(0, syscall(SYS_capset, &head_, fewer));
    }
    ~no_privilege() { EXPECT_EQ(0, syscall(SYS_capset, &head_, caps_)); }

private:
    __user_cap_header_struct head_{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct caps_[2]{};
};

class no_more_memory {
public:
    no_more_memory() {
        EXPECT_EQ(0, getrlimit(RLIMIT_MEMLOCK, &limit_));
        const rlimit little{65536, limit_.rlim_max};
        EXPECT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &little));
    }
    ~no_more_memory() { EXPECT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &limit_)); }

private:
    rlimit limit_{};
};

std::vector<std::string> told;

TEST(windows_by_network, memory_that_may_not_be_registered_goes_by_message_and_that_is_told) {
    const no_privilege not_even_root;
    windows_of_two_nodes t;
    if (!t.can()) {
        GTEST_SKIP() << "a transport that neither writes nor reads";
    }
    constexpr std::size_t bytes = 262144;
    t.meet();
    t.wipe();
    told.clear();
    set_reporter(
        [](const report &r) { told.push_back(std::string(topic_name(r.what)) + " " + r.value + " " + r.detail); });
    {
        const no_more_memory here;
        t.put(17, bytes);
        t.flushed();
        EXPECT_TRUE(t.same(17, bytes));
        EXPECT_EQ(0U, t.by_network());
        EXPECT_EQ(1U, count(t.n.a, stat::fallbacks));
        // so do large messages
        test_send s;
        test_recv r;
        s.aim(t.n.to_b, big, 5, ctx, 0, tag);
        r.aim(big, ctx, 0, tag);
        t.n.receive(t.n.b, r);
        t.n.send(t.n.a, s);
        t.n.drive("a message", [&] { return 1 == s.delivered && 1 == r.delivered; });
        EXPECT_EQ(-1, r.differs(big, 5));
        EXPECT_EQ(1U, count(t.n.b, stat::copies));
    }
    flush_reports();
    set_reporter(nullptr);
    EXPECT_EQ(std::vector<std::string>{"not-registered 262144 Cannot allocate memory"}, told);
    t.put(17, bytes);
    t.flushed();
    EXPECT_EQ(1U, t.by_network());
}

// Small messages behind a write need the target's processor as any do.
TEST(windows_by_network, a_target_is_told_where_messages_behind_a_write_find_no_room) {
    windows_of_two_nodes t;
    if (!t.can()) {
        GTEST_SKIP() << "a transport that neither writes nor reads";
    }
    t.meet();
    t.put(0, large); // connects
    t.flushed();
    t.put(0, large);
    t.n.drive("a write", [&] { return nullptr == t.p->head && 0 == t.p->transfers; });
    EXPECT_EQ(2U, t.by_network());
    EXPECT_TRUE(t.p->unflushed);
    for (unsigned k = 0; k < 20000 && !t.p->stuck; ++k) {
        t.put(exposed - 100, 100);
        t.n.a.progress();
    }
    ASSERT_TRUE(t.p->stuck);
    EXPECT_EQ(t.p->ep->rma_out + 1, t.p->told);
    t.flushed();
    EXPECT_TRUE(t.same(0, large));
    EXPECT_TRUE(t.same(exposed - 100, 100));
}

TEST(windows_by_network, a_lost_target_ends_all_of_it_and_the_buffers_are_free) {
    windows_of_two_nodes t;
    if (!t.can()) {
        GTEST_SKIP() << "a transport that neither writes nor reads";
    }
    t.meet();
    for (int k = 0; k < 4; ++k) {
        t.put(0, large);
    }
    const auto sync = t.flush();
    EXPECT_FALSE(sync->done());
    t.n.b.stop(); // its connections go, and its window
    t.one = nullptr;
    const auto ended = [&] {
        t.n.a.progress();
        return sync->done() && t.n.a.one_sided().idle(t.zero);
    };
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(120);
    while (!ended() && std::chrono::steady_clock::now() < limit) { // the transport tries for half a minute
        sched_yield();
    }
    ASSERT_TRUE(ended());
    EXPECT_EQ(rma_error::lost, sync->error);
    t.put(0, large); // and the next one
    const auto again = t.flush();
    EXPECT_TRUE(again->done());
}

// A peer of the same job is not trusted with what it sends as a key.
TEST(windows_by_network, a_key_that_nobody_asked_for_or_that_cannot_be_is_refused) {
    windows_of_two_nodes t;
    wire::rma_head h{};
    h.name = name_of(1);
    h.window = window_id;
    h.kind = wire::rma_kind::key;
    h.at = reinterpret_cast<std::uint64_t>(t.target.data());
    h.more = exposed;
    byte message[sizeof(h) + 64] = {};
    const auto arrive = [&](std::uint32_t key_bytes) {
        std::memcpy(message, &h, sizeof(h));
        t.n.a.enter();
        engine_access::dispatch(t.n.a, t.n.to_b, wire::rma, message, static_cast<std::uint32_t>(sizeof(h)) + key_bytes);
        t.n.a.leave();
    };
    arrive(0);
    EXPECT_EQ(1U, count(t.n.a, stat::refused_messages)) << "nobody asked";
    EXPECT_EQ(rma_peer::reach::unknown, t.p->reached);
    std::uint64_t refused = 1;
    const auto bad = [&](std::uint32_t key_bytes) {
        t.p->reached = rma_peer::reach::asked;
        arrive(key_bytes);
        EXPECT_EQ(++refused, count(t.n.a, stat::refused_messages)) << key_bytes;
        EXPECT_EQ(rma_peer::reach::none, t.p->reached);
    };
    bad(1); // of no transport
    bad(64);
    h.more = exposed + 1;
    bad(0);
    h.more = exposed;
    h.at += 8;
    bad(0);
    t.put(0, large); // by message
    t.flushed();
    EXPECT_TRUE(t.same(0, large));
}

// As where its UCX is another one. The receiver, which would wait for the write for ever, asks for messages.
TEST(sends_by_network, who_cannot_use_the_receivers_key_sends_by_message) {
    network_pair n(on_named_transport(with("write")));
    if (!n.a.net().caps().write || !n.a.net().caps().registers) {
        GTEST_SKIP() << "a transport that does not write, or without keys";
    }
    exchange(n, large, large, true);
    EXPECT_EQ(0U, count(n.b, stat::copies));
    const auto unpack = std::exchange(
        uct.rkey_unpack, [](uct_component_h, const void *, uct_rkey_bundle_t *) { return UCS_ERR_UNREACHABLE; });
    exchange(n, large, large, true);
    EXPECT_EQ(1U, count(n.b, stat::copies));
    uct.rkey_unpack = unpack;
    exchange(n, large, large, true);
    EXPECT_EQ(2U, count(n.b, stat::copies)) << "it is not tried again";
    EXPECT_EQ(0U, count(n.a, stat::refused_messages) + count(n.b, stat::refused_messages));
}

} // namespace
} // namespace smartint
