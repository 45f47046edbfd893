// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Two networks of one process that talk to each other.
#pragma once

#include "common_smartint_network.h"

#include <algorithm>
#include <cstring>
#include <deque>

#include "harness.h"

namespace smartint {

using message = std::vector<std::byte>;

struct station {
    network net;
    network_config limits; // what open() sets nothing of
    std::deque<message> got;

    static void take(void *self, const std::byte *m, std::uint32_t bytes) {
        static_cast<station *>(self)->got.emplace_back(m, m + bytes);
    }
    int open(std::uint32_t message_bytes = 0, const char *transport = "tcp", const char *device = "lo",
             bool by_endpoint = false, unsigned most_passive = 65536) {
        network_config cfg = limits;
        cfg.most_passive = most_passive;
        cfg.by_endpoint = by_endpoint;
        cfg.transport = transport;
        cfg.device = device;
        cfg.message_bytes = message_bytes;
        return net.open(cfg, take, this);
    }
};

inline message expected(std::uint64_t word, const message &header, const message &payload) {
    message m(8 + header.size() + payload.size());
    std::memcpy(m.data(), &word, 8);
    const auto behind = std::copy(header.begin(), header.end(), m.begin() + 8);
    std::copy(payload.begin(), payload.end(), behind);
    return m;
}

inline message pattern(std::size_t bytes, std::uint64_t seed) {
    message m(bytes);
    test::fill(m.data(), bytes, seed);
    return m;
}

// By the peer's interface, or joined endpoint to endpoint.
struct networks : testing::TestWithParam<bool> {
    void SetUp() override {
        ASSERT_EQ(0, a.open(size, "tcp", "lo", GetParam())) << a.net.why();
        ASSERT_EQ(0, b.open(size, "tcp", "lo", GetParam())) << b.net.why();
        to_b = a.net.connect(b.net.address().data(), b.net.address().size());
        to_a = b.net.connect(a.net.address().data(), a.net.address().size());
        ASSERT_NE(nullptr, to_b);
        ASSERT_NE(nullptr, to_a);
    }
    void TearDown() override {
        a.net.disconnect(to_b);
        b.net.disconnect(to_a);
    }
    void turn() {
        a.net.progress();
        b.net.progress();
    }
    void send(station &from, void *connection, std::uint64_t word, const message &header, const message &payload) {
        test::wait_until("room in the transport", [&] {
            turn();
            const auto r =
                from.net.send(connection, word, header.empty() ? static_cast<const void *>("") : header.data(),
                              static_cast<std::uint32_t>(header.size()), payload.empty() ? nullptr : payload.data(),
                              static_cast<std::uint32_t>(payload.size()));
            EXPECT_NE(network::result::broken, r);
            return network::result::again != r;
        });
    }
    void expect(station &at, const message &m) {
        test::wait_until("the message", [&] {
            turn();
            return !at.got.empty();
        });
        if (!at.got.empty()) {
            EXPECT_EQ(m.size(), at.got.front().size());
            EXPECT_TRUE(m == at.got.front());
            at.got.pop_front();
        }
    }

    static constexpr std::uint32_t size = 66000;
    station a, b;
    void *to_b = nullptr;
    void *to_a = nullptr;
};

} // namespace smartint
