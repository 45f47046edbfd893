// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "common_smartint_params.h"

#include <unistd.h>

#include "harness.h"

namespace smartint {
namespace {

struct verdict {
    bool ok;
    std::string name, value, remedy;
};

verdict check(const params &p) {
    verdict v{};
    v.ok = check_params(p, &v.name, &v.value, &v.remedy);
    return v;
}

template <class F> void expect_refused(const char *name, const char *value, F change) {
    params p;
    change(p);
    const verdict v = check(p);
    EXPECT_FALSE(v.ok) << name << " = " << value;
    EXPECT_EQ(name, v.name);
    EXPECT_EQ(value, v.value);
    EXPECT_FALSE(v.remedy.empty()) << name;
}

TEST(parameters, the_defaults_are_good) {
    const verdict v = check(params{});
    EXPECT_TRUE(v.ok) << v.name << " " << v.remedy;
}

TEST(parameters, a_number_is_one_to_its_end_and_has_no_sign) {
    for (const char *good : {"0", "1", "10", "0x10", "1k", "4K"}) {
        EXPECT_TRUE(number_within(good, 0, 4096)) << good;
    }
    for (const char *bad : {"", " ", "yes", "-1", "+1", "1e3", "1kB", "1 ", "4097", "5k", "1m", "1g", "k",
                            "99999999999999999999", "17592186044416m"}) {
        EXPECT_FALSE(number_within(bad, 0, 4096)) << bad;
    }
    EXPECT_TRUE(number_within("1g", 0, 1073741824));
    EXPECT_FALSE(number_within("1", 2, 4));
}

TEST(parameters, every_number_is_accepted_at_its_bounds_and_refused_beyond) {
    struct number {
        const char *name;
        std::uint32_t params::*field;
        std::uint64_t lowest, highest;
    };
    const number numbers[] = {
#define SMARTINT_STRING(n, def, level, help)
#define SMARTINT_NUMBER(n, def, lowest, highest, level, help) {#n, &params::n, lowest, highest},
#include "common_smartint_params.def"
#undef SMARTINT_STRING
#undef SMARTINT_NUMBER
    };
    for (const number &n : numbers) {
        params p;
        for (const std::uint64_t good : {n.lowest, n.highest}) {
            p.*n.field = static_cast<std::uint32_t>(good);
            const verdict v = check(p);
            EXPECT_TRUE(v.ok) << n.name << " = " << good << ": " << v.name << " " << v.remedy;
        }
        std::vector<std::uint64_t> bad = {n.highest + 1, 0xffffffffU};
        if (n.lowest > 0) {
            bad.push_back(n.lowest - 1);
        }
        for (const std::uint64_t b : bad) {
            p.*n.field = static_cast<std::uint32_t>(b);
            const verdict v = check(p);
            EXPECT_FALSE(v.ok) << n.name << " = " << b;
            EXPECT_EQ(n.name, v.name);
            EXPECT_EQ(std::to_string(b), v.value);
            EXPECT_NE(std::string::npos, v.remedy.find(std::to_string(n.lowest))) << v.remedy;
            EXPECT_NE(std::string::npos, v.remedy.find(std::to_string(n.highest))) << v.remedy;
        }
    }
}

TEST(parameters, words_nobody_knows_are_refused_with_the_known_ones) {
    for (const char *bad : {"", "Helper", "helper ", "helpers", "spin"}) {
        expect_refused("progress", bad, [&](params &p) { p.progress = bad; });
        expect_refused("rendezvous", bad, [&](params &p) { p.rendezvous = bad; });
        expect_refused("network", bad, [&](params &p) { p.network = bad; });
        expect_refused("ring_reuse", bad, [&](params &p) { p.ring_reuse = bad; });
    }
    params p;
    p.progress = "x";
    EXPECT_NE(std::string::npos, check(p).remedy.find("none, poll, interrupt or helper"));
}

TEST(parameters, whether_rings_are_reused_is_as_asked) {
    params p;
    p.ring_reuse = "yes";
    EXPECT_TRUE(rings_are_reused(p));
    p.ring_reuse = "no";
    EXPECT_FALSE(rings_are_reused(p));
}

TEST(parameters, transports_and_directories_that_cannot_be_are_refused) {
    for (const char *bad : {"", "TCP", "rc_verbs", "carrier_pigeon"}) {
        expect_refused("transport", bad, [&](params &p) { p.transport = bad; });
    }
    for (const char *bad : {"", "tmp", "./x"}) {
        expect_refused("directory", bad, [&](params &p) { p.directory = bad; });
    }
    for (const char *bad : {"", "^", "eth0,,ib0", "eth0, ib0", "10.0.0.0/33"}) {
        expect_refused("device", bad, [&](params &p) { p.device = bad; });
    }
    for (const char *good : {"tcp", "rc", "ud", "none"}) {
        params p;
        p.transport = good;
        EXPECT_TRUE(check(p).ok) << good;
    }
}

TEST(parameters, known_words_are_told_apart) {
    strategy_kind s{};
    EXPECT_TRUE(parse_strategy("none", &s) && strategy_kind::none == s);
    EXPECT_TRUE(parse_strategy("poll", &s) && strategy_kind::poll == s);
    EXPECT_TRUE(parse_strategy("helper", &s) && strategy_kind::helper == s);
    EXPECT_FALSE(parse_strategy("", &s));
    rendezvous_kind r{};
    EXPECT_TRUE(parse_rendezvous("auto", &r) && rendezvous_kind::automatic == r);
    EXPECT_TRUE(parse_rendezvous("read", &r) && rendezvous_kind::read == r);
    EXPECT_TRUE(parse_rendezvous("write", &r) && rendezvous_kind::write == r);
    EXPECT_TRUE(parse_rendezvous("copy", &r) && rendezvous_kind::copy == r);
    EXPECT_FALSE(parse_rendezvous("automatic", &r));
}

TEST(parameters, a_ring_size_must_be_a_power_of_two) {
    expect_refused("ring_bytes", "100000", [](params &p) { p.ring_bytes = 100000; });
    params p;
    p.ring_bytes = 65536;
    EXPECT_TRUE(check(p).ok);
}

TEST(parameters, lists_of_processing_units_are_read) {
    std::vector<unsigned> v;
    EXPECT_TRUE(parse_cpu_list("", &v));
    EXPECT_TRUE(v.empty());
    EXPECT_TRUE(parse_cpu_list("3", &v));
    EXPECT_EQ((std::vector<unsigned>{3}), v);
    EXPECT_TRUE(parse_cpu_list("3,7", &v));
    EXPECT_EQ((std::vector<unsigned>{3, 7}), v);
    EXPECT_TRUE(parse_cpu_list("8-11", &v));
    EXPECT_EQ((std::vector<unsigned>{8, 9, 10, 11}), v);
    EXPECT_TRUE(parse_cpu_list("0,2-4,9", &v));
    EXPECT_EQ((std::vector<unsigned>{0, 2, 3, 4, 9}), v);
    EXPECT_TRUE(parse_cpu_list("5-5", &v));
    EXPECT_EQ((std::vector<unsigned>{5}), v);
    EXPECT_TRUE(parse_cpu_list("1023", &v));
}

TEST(parameters, malformed_lists_are_refused) {
    std::vector<unsigned> v;
    for (const char *bad : {",", "1,", ",1", "1,,2", "-1", "1-", "4-3", "a", "1a", "1 2", " 1", "1;2", "0x1", "1024",
                            "0-1024", "99999999999999999999", "1-2-3", "+1", "18446744073709551617"}) {
        EXPECT_FALSE(parse_cpu_list(bad, &v)) << bad;
        expect_refused("cores", bad, [&](params &p) { p.cores = bad; });
        expect_refused("helper_cores", bad, [&](params &p) { p.helper_cores = bad; });
    }
}

TEST(parameters, a_list_without_a_unit_of_this_node_is_refused_and_the_remedy_names_them) {
    const long count = sysconf(_SC_NPROCESSORS_CONF);
    if (count >= 1023) {
        GTEST_SKIP() << "a node with every unit there is";
    }
    params p;
    p.cores = std::to_string(count);
    const verdict v = check(p);
    EXPECT_FALSE(v.ok);
    EXPECT_EQ("cores", v.name);
    EXPECT_NE(std::string::npos, v.remedy.find("0 to " + std::to_string(count - 1))) << v.remedy;
    p.cores = "0";
    EXPECT_TRUE(check(p).ok);
}

} // namespace
} // namespace smartint
