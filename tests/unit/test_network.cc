// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "network_stations.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <memory>

#include "common_smartint_uct.h"

namespace smartint {
namespace {

TEST_P(networks, messages_of_all_sizes_arrive_whole_in_both_directions) {
    ASSERT_GE(a.net.caps().max_message, size - 64);
    const std::size_t most = a.net.caps().max_message - 8 - 12;
    for (std::size_t bytes = 0; bytes <= most; bytes = bytes < 200 ? bytes + 1 : bytes * 5 / 4 + 13) {
        const message header = pattern(12, bytes);
        const message payload = pattern(bytes, bytes + 1);
        send(a, to_b, bytes, header, payload);
        expect(b, expected(bytes, header, payload));
        send(b, to_a, bytes + 7, header, payload);
        expect(a, expected(bytes + 7, header, payload));
    }
    const message payload = pattern(most, 5);
    send(a, to_b, 1, pattern(12, 5), payload);
    expect(b, expected(1, pattern(12, 5), payload));
}

TEST_P(networks, many_messages_keep_their_order) {
    constexpr std::uint64_t many = 3000;
    std::uint64_t next = 0;
    for (std::uint64_t i = 0; i < many; ++i) {
        send(a, to_b, i, {}, pattern(i % 700, i));
        while (!b.got.empty()) {
            EXPECT_TRUE(expected(next, {}, pattern(next % 700, next)) == b.got.front());
            b.got.pop_front();
            ++next;
        }
    }
    while (next < many && !HasFailure()) {
        expect(b, expected(next, {}, pattern(next % 700, next)));
        ++next;
    }
}

struct done_flag {
    bool done = false;
    bool ok = false;
    static void set(void *arg, bool ok) {
        static_cast<done_flag *>(arg)->done = true;
        static_cast<done_flag *>(arg)->ok = ok;
    }
};

TEST_P(networks, a_payload_is_sent_from_where_it_is) {
    const std::uint32_t most = a.net.caps().max_in_place;
    ASSERT_GT(most, 0U) << "tcp offers it";
    // the header and the word count as well
    for (const std::uint32_t bytes : {1U, 100U, 4096U, 30000U, std::min(most, size - 200)}) {
        const message header = pattern(16, bytes);
        const message payload = pattern(bytes, bytes);
        network_completion c;
        done_flag flag;
        c.done = done_flag::set;
        c.arg = &flag;
        bool queued = false;
        test::wait_until("room", [&] {
            turn();
            const auto r = a.net.send_in_place(to_b, 77, header.data(), 16, payload.data(), bytes, &c, &queued);
            EXPECT_NE(network::result::broken, r);
            return network::result::again != r;
        });
        expect(b, expected(77, header, payload));
        if (queued) {
            test::wait_until("the completion", [&] {
                turn();
                return flag.done;
            });
            EXPECT_TRUE(flag.ok);
        } else {
            EXPECT_FALSE(flag.done) << "not called back where nothing was queued";
        }
    }
}

// UCX 1.13 tells of it twice where a write finds that out, and ends the process if the first was the last.
TEST_P(networks, of_one_that_is_half_out_when_the_connection_breaks_is_told_once) {
    unsigned told[2] = {}; // broken, well
    network_completion c;
    c.done = [](void *arg, bool ok) { ++static_cast<unsigned *>(arg)[ok ? 1 : 0]; };
    c.arg = told;
    const message header(16);
    const message payload(std::min(a.net.caps().max_in_place, size - 200));
    bool queued = false;
    for (int looks = 0; looks < 100;) { // in which nothing went on: the sockets are full, and b takes none of it
        looks = queued ? looks + 1 : 0;
        if (queued) {
            a.net.progress();
            queued = 0 == std::exchange(told[1], 0);
        } else if (network::result::again == a.net.send_in_place(to_b, 1, header.data(), 16, payload.data(),
                                                                 static_cast<std::uint32_t>(payload.size()), &c,
                                                                 &queued)) {
            turn(); // it is being connected
        }
    }
    b.net.close();
    test::wait_until("it is told", [&] { return 0 == a.net.progress() && 0 != told[0] + told[1]; });
    for (int i = 0; i < 1000; ++i) {
        a.net.progress();
    }
    EXPECT_EQ(1U, told[0]);
    EXPECT_EQ(0U, told[1]);
}

TEST_P(networks, in_place_a_header_that_is_too_long_is_refused) {
    const message header(100);
    const message payload(10);
    network_completion c;
    bool queued = true;
    EXPECT_EQ(network::result::broken,
              a.net.send_in_place(to_b, 1, header.data(), 100, payload.data(), 10, &c, &queued));
}

TEST_P(networks, malformed_addresses_are_refused) {
    const auto &good = b.net.address();
    EXPECT_EQ(nullptr, a.net.connect(nullptr, 0));
    for (std::size_t bytes = 0; bytes < good.size(); ++bytes) {
        const message cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(bytes));
        EXPECT_EQ(nullptr, a.net.connect(cut.data(), cut.size())) << bytes;
    }
    for (std::size_t field = 0; field < 6; ++field) {
        for (int delta : {1, 7, 128, 255}) {
            message wrong = good;
            wrong[field] = std::byte(static_cast<int>(wrong[field]) + delta);
            EXPECT_EQ(nullptr, a.net.connect(wrong.data(), wrong.size())) << field;
        }
    }
}

TEST_P(networks, random_addresses_of_the_right_shape_never_crash_it) {
    test::generator g(5);
    for (int i = 0; i < 200; ++i) {
        message wrong = b.net.address();
        for (std::size_t k = 6; k < wrong.size(); ++k) {
            wrong[k] = std::byte(g.below(256));
        }
        // the bytes after the head are the transport's own: it may refuse them now or when used
        a.net.disconnect(a.net.connect(wrong.data(), wrong.size()));
    }
    send(a, to_b, 3, {}, pattern(10, 1));
    expect(b, expected(3, {}, pattern(10, 1)));
}

TEST_P(networks, a_sleeper_is_woken_by_its_descriptor) {
    ASSERT_GE(b.net.event_fd(), 0) << "tcp has one";
    send(a, to_b, 1, {}, pattern(10, 1)); // connects
    expect(b, expected(1, {}, pattern(10, 1)));
    test::wait_until("b may sleep", [&] {
        while (0 != b.net.progress()) {}
        return b.net.arm();
    });
    EXPECT_TRUE(b.got.empty());
    EXPECT_EQ(network::result::done, a.net.send(to_b, 2, "", 0, nullptr, 0));
    pollfd p{b.net.event_fd(), POLLIN, 0};
    bool there = false;
    test::wait_until("the descriptor", [&] {
        a.net.progress();
        there = 1 == poll(&p, 1, 10);
        return there;
    });
    EXPECT_TRUE(there);
    expect(b, expected(2, {}, {}));
}

// Or whoever asks until it may sleep would ask for ever.
TEST_P(networks, one_that_cannot_wake_anybody_any_more_has_no_descriptor) {
    ASSERT_GE(a.net.event_fd(), 0);
    const auto arm = uct.iface_event_arm;
    uct.iface_event_arm = [](uct_iface_h, unsigned) { return UCS_ERR_BUSY; };
    EXPECT_FALSE(a.net.arm());
    EXPECT_GE(a.net.event_fd(), 0) << "there is something, no more";
    uct.iface_event_arm = [](uct_iface_h, unsigned) { return UCS_ERR_IO_ERROR; };
    EXPECT_FALSE(a.net.arm());
    EXPECT_EQ(-1, a.net.event_fd());
    uct.iface_event_arm = arm;
    send(a, to_b, 5, pattern(12, 1), pattern(100, 2));
    expect(b, expected(5, pattern(12, 1), pattern(100, 2)));
}

INSTANTIATE_TEST_SUITE_P(tcp, networks, testing::Bool(),
                         [](const auto &i) { return i.param ? "endpoint_to_endpoint" : "to_the_interface"; });

TEST(network_openings, an_address_for_which_peers_have_no_room_is_an_error_that_says_so) {
    station s;
    s.limits.most_address = 15;
    EXPECT_EQ(EMSGSIZE, s.open());
    EXPECT_FALSE(s.net.is_open());
    EXPECT_NE(std::string::npos, s.net.why().find("15")) << s.net.why();
    s.limits.most_address = wire::max_network_address;
    EXPECT_EQ(0, s.open());
}

TEST(network_openings, one_that_joins_does_not_talk_to_one_that_does_not) {
    station s, t;
    ASSERT_EQ(0, s.open(0, "tcp", "lo", false));
    ASSERT_EQ(0, t.open(0, "tcp", "lo", true));
    EXPECT_EQ(nullptr, s.net.connect(t.net.address().data(), t.net.address().size()));
    EXPECT_EQ(nullptr, t.net.connect(s.net.address().data(), s.net.address().size()));
}

TEST(network_openings, a_transport_nobody_has_is_refused_with_what_there_is) {
    station s;
    EXPECT_EQ(ENODEV, s.open(0, "carrier_pigeon"));
    EXPECT_FALSE(s.net.is_open());
    EXPECT_NE(std::string::npos, s.net.why().find("tcp/lo")) << s.net.why();
    EXPECT_TRUE(s.net.address().empty());
}

TEST(network_openings, a_device_nobody_has_is_refused) {
    station s;
    EXPECT_EQ(ENODEV, s.open(0, "tcp", "eth4711"));
    EXPECT_FALSE(s.net.why().empty());
}

TEST(network_openings, one_can_be_closed_and_opened_again) {
    station s;
    for (int i = 0; i < 3; ++i) {
        ASSERT_EQ(0, s.open());
        EXPECT_TRUE(s.net.is_open());
        s.net.close();
        EXPECT_FALSE(s.net.is_open());
        s.net.close();
    }
}

TEST(network_openings, no_descriptor_is_left_open) {
    {
        station warm; // what UCX keeps for the process
        ASSERT_EQ(0, warm.open());
    }
    const unsigned before = test::open_descriptors();
    for (int i = 0; i < 3; ++i) {
        station s;
        ASSERT_EQ(0, s.open());
    }
    EXPECT_EQ(before, test::open_descriptors());
}

// Where the only network open in this process listens.
sockaddr_in listens_at() {
    for (int fd = 3; fd < 1024; ++fd) {
        int listens = 0;
        socklen_t bytes = sizeof(listens);
        sockaddr_in at{};
        socklen_t at_bytes = sizeof(at);
        if (0 == getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &bytes) && 0 != listens &&
            0 == getsockname(fd, reinterpret_cast<sockaddr *>(&at), &at_bytes) && AF_INET == at.sin_family) {
            return at;
        }
    }
    ADD_FAILURE() << "nothing listens";
    return {};
}

// A peer's host that does not answer: its queue of connections is full, and the kernel drops what asks for more.
TEST(network_openings, nobody_waits_for_a_host_that_does_not_accept) {
    message address;
    sockaddr_in at{};
    std::vector<int> crowd;
    const auto one_more = [&] {
        crowd.push_back(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
        return crowd.back();
    };
    const int yes = 1;
    const int deaf = one_more();
    setsockopt(deaf, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    int bound = -1;
    for (int i = 0; i < 10 && 0 != bound; ++i) { // somebody else may have the port by now
        station gone;
        ASSERT_EQ(0, gone.open());
        address = gone.net.address();
        at = listens_at();
        gone.net.close();
        bound = bind(deaf, reinterpret_cast<sockaddr *>(&at), sizeof(at));
    }
    ASSERT_EQ(0, bound) << std::strerror(errno);
    ASSERT_EQ(0, listen(deaf, 0));
    for (int i = 0; i < 4; ++i) {
        (void) connect(one_more(), reinterpret_cast<sockaddr *>(&at), sizeof(at));
    }
    {
        test::child c([&] {
            station s;
            ASSERT_EQ(0, s.open());
            void *to = s.net.connect(address.data(), address.size());
            ASSERT_NE(nullptr, to); // at all: blocked, it would end after minutes
            EXPECT_EQ(network::result::again, s.net.send(to, 1, "", 0, nullptr, 0));
            for (int i = 0; i < 100; ++i) {
                s.net.progress();
            }
            EXPECT_TRUE(s.net.take_lost().empty());
            s.net.disconnect(to);
        });
        EXPECT_EQ(0, c.join());
    }
    for (const int fd : crowd) {
        close(fd);
    }
}

// Among a bridge, the loopback and two other devices, of which one has the default route.
TEST(network_openings, of_any_devices_the_one_is_taken_that_others_reach) {
    test::child c([] {
        const char *setup =
            "pair() { ip link add $1 type veth peer name x$1 && ip link set $1 up && ip link set x$1 up; } && "
            "ip link set lo up && ip link add aa0 type bridge && pair port && ip link set port master aa0 && "
            "ip link set aa0 up && ip address add 10.1.0.1/16 dev aa0 && "
            "pair bb0 && ip address add 10.2.0.1/16 dev bb0 && "
            "pair cc0 && ip address add 10.3.0.1/16 dev cc0";
        if (0 != unshare(CLONE_NEWNET | CLONE_NEWNS) ||
            0 != mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) ||
            0 != mount("sysfs", "/sys", "sysfs", 0, nullptr) || 0 != system(setup)) {
            std::puts("# not permitted here, not tried");
            return;
        }
        for (const char *route : {"bb0", "cc0"}) {
            ASSERT_EQ(0, system((std::string("ip route replace default dev ") + route).c_str()));
            station s;
            ASSERT_EQ(0, s.open(0, "tcp", "any"));
            char text[INET_ADDRSTRLEN] = "";
            const sockaddr_in at = listens_at();
            inet_ntop(AF_INET, &at.sin_addr, text, sizeof(text));
            EXPECT_STREQ("bb0" == std::string(route) ? "10.2.0.1" : "10.3.0.1", text);
        }
        ASSERT_EQ(0, system("ip link delete bb0 && ip link delete cc0"));
        station bridged;
        ASSERT_EQ(0, bridged.open(0, "tcp", "any"));
        EXPECT_EQ(htonl(0x0a010001), listens_at().sin_addr.s_addr) << "the bridge, before the loopback";
        bridged.net.close();
        ASSERT_EQ(0, system("ip link delete aa0"));
        station alone;
        ASSERT_EQ(0, alone.open(0, "tcp", "any"));
        EXPECT_EQ(htonl(INADDR_LOOPBACK), listens_at().sin_addr.s_addr);
    });
    EXPECT_EQ(0, c.join());
}

TEST(network_processes, two_processes_talk) {
    struct meeting {
        std::byte address[128];
        std::atomic<std::size_t> bytes;
        std::atomic<bool> over;
    };
    test::shared_object<meeting> m;
    test::child c([&] {
        station s;
        ASSERT_EQ(0, s.open());
        std::memcpy(m->address, s.net.address().data(), s.net.address().size());
        m->bytes = s.net.address().size();
        test::wait_until("500 messages", [&] {
            s.net.progress();
            return 500 == s.got.size();
        });
        for (std::size_t i = 0; i < s.got.size(); ++i) {
            EXPECT_TRUE(expected(i, {}, pattern(i, i)) == s.got[i]);
        }
        m->over = true;
    });
    test::wait_until("the address", [&] { return 0 != m->bytes; });
    station s;
    ASSERT_EQ(0, s.open());
    void *to = s.net.connect(m->address, m->bytes);
    ASSERT_NE(nullptr, to);
    for (std::size_t i = 0; i < 500; ++i) {
        const message payload = pattern(i, i);
        test::wait_until("room", [&] {
            s.net.progress();
            return network::result::again != s.net.send(to, i, "", 0, payload.data(), static_cast<std::uint32_t>(i));
        });
    }
    test::wait_until("the other side", [&] {
        s.net.progress();
        return m->over.load();
    });
    s.net.disconnect(to);
    EXPECT_EQ(0, c.join());
}

} // namespace
} // namespace smartint
