// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "common_smartint_devices.h"

#include "common_smartint_network.h"
#include "harness.h"

namespace smartint {
namespace {

bool allows(const std::string &list, const std::string &device) {
    device_list d;
    EXPECT_TRUE(d.parse(list)) << list;
    return d.allows(device);
}

TEST(devices, any_are_all_and_names_are_those) {
    EXPECT_TRUE(allows("any", "eth0"));
    EXPECT_TRUE(allows("eth0", "eth0"));
    EXPECT_FALSE(allows("eth0", "eth01"));
    EXPECT_FALSE(allows("eth01", "eth0"));
    EXPECT_TRUE(allows("ib0,eth0", "eth0"));
    EXPECT_TRUE(allows("ib0,eth0", "ib0"));
    EXPECT_FALSE(allows("ib0,eth0", "lo"));
}

TEST(devices, those_of_verbs_are_named_with_or_without_their_port) {
    EXPECT_TRUE(allows("mlx5_0", "mlx5_0:1"));
    EXPECT_TRUE(allows("mlx5_0:1", "mlx5_0:1"));
    EXPECT_FALSE(allows("mlx5_0:2", "mlx5_0:1"));
    EXPECT_FALSE(allows("mlx5_0", "mlx5_1:1"));
}

TEST(devices, with_a_caret_in_front_all_others) {
    EXPECT_FALSE(allows("^docker0,lo", "docker0"));
    EXPECT_FALSE(allows("^docker0,lo", "lo"));
    EXPECT_TRUE(allows("^docker0,lo", "eth0"));
    EXPECT_FALSE(allows("^127.0.0.0/8", "lo"));
    EXPECT_TRUE(allows("^127.0.0.0/8", "no_such_device"));
}

// The loopback has 127.0.0.1 on every host.
TEST(devices, a_subnet_is_by_its_first_bits) {
    for (const char *has :
         {"127.0.0.0/8", "127.0.0.1/32", "126.0.0.0/7", "0.0.0.0/0", "127.9.9.9/8", "eth7,127.0.0.0/8"}) {
        EXPECT_TRUE(allows(has, "lo")) << has;
    }
    for (const char *without :
         {"128.0.0.0/1", "127.0.0.2/32", "124.0.0.0/7", "10.0.0.0/8", "2001:db8::/32", "7f00::/8"}) {
        EXPECT_FALSE(allows(without, "lo")) << without;
    }
    EXPECT_FALSE(allows("127.0.0.0/8", "no_such_device"));
    EXPECT_FALSE(allows("127.0.0.0/8", "no_such_device:1"));
}

TEST(devices, what_is_malformed_allows_nothing) {
    for (const char *bad :
         {"",          "^",    ",",        "eth0,",       ",eth0",       "eth0,,lo", "^any",        "eth0,any",
          "^eth0,^lo", "^^lo", "eth0, lo", "10.0.0.0/",   "10.0.0.0/33", "10.0.0/8", "10.0.0.0/8x", "10.0.0.0/-1",
          "::/129",    "/8",   "eth0/8",   "10.0.0.0/8/8"}) {
        device_list d;
        EXPECT_FALSE(d.parse(bad)) << bad;
        EXPECT_FALSE(d.allows("lo")) << bad;
    }
}

TEST(devices, a_network_opens_what_is_allowed) {
    const auto open = [](const char *device) {
        network_config cfg;
        cfg.device = device;
        network n;
        return n.open(
            cfg, [](void *, const std::byte *, std::uint32_t) {}, nullptr);
    };
    EXPECT_EQ(0, open("127.0.0.0/8"));
    EXPECT_EQ(0, open("no_such_device,lo"));
    EXPECT_NE(0, open("240.0.0.0/4")); // no host has an address of these
    EXPECT_NE(0, open("127.0.0.0/8,"));
}

} // namespace
} // namespace smartint
