// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
// The helper inside this process: its core runs in a thread, its ranks are this process or
// children.
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>

#include "common_smartint_helper_client.h"
#include "common_smartint_nodes.h"
#include "common_smartint_ring.h"
#include "harness.h"
#include "smartintd_core.h"
#include "smartintd_place.h"

namespace smartint::daemon {
namespace {

using namespace test;

TEST(placement, a_unit_nobody_has_taken_is_chosen_near_ones_first) {
    using list = std::vector<unsigned>;
    const struct {
        list allowed, taken, near;
        unsigned index;
        int expected;
    } table[] = {
        {{}, {}, {}, 0, -1},
        {{0}, {}, {}, 0, 0},
        {{0}, {0}, {}, 0, -1},
        {{0, 1}, {0}, {}, 0, 1},
        {{0, 1}, {0, 1}, {0, 1}, 0, -1},
        {{0, 1, 2, 3}, {0}, {0, 1}, 0, 1},
        {{0, 1, 2, 3}, {0}, {2, 3}, 0, 2},
        {{0, 1, 2, 3}, {0}, {2, 3}, 1, 3},
        {{0, 1, 2, 3}, {0}, {2, 3}, 2, 1},
        {{0, 1, 2, 3}, {0}, {2, 3}, 3, -1},
        {{0, 1, 2, 3}, {}, {}, 3, 3},
        {{0, 1, 2, 3}, {}, {}, 4, -1},
        {{3, 1, 2}, {}, {}, 0, 3},
        {{5}, {0, 1}, {9}, 0, 5},
        {{1, 2}, {7, 8}, {1, 2}, 1, 2},
    };
    for (const auto &t : table) {
        EXPECT_EQ(t.expected, choose_unit(t.allowed, t.taken, t.near, t.index)) << (&t - table);
    }
}

bool parse(std::vector<const char *> args, options *o, std::string *problem) {
    args.insert(args.begin(), "smartintd");
    std::vector<char *> argv;
    for (const char *a : args) {
        argv.push_back(const_cast<char *>(a));
    }
    return parse_options(static_cast<int>(argv.size()), argv.data(), o, problem);
}

TEST(command_line, every_option_is_read) {
    options o;
    std::string problem;
    ASSERT_TRUE(parse({"--index=3", "--poll-us=77", "--launcher=4711", "--cores=1,2", "--transport=ud",
                       "--device=eth0", "--board=/dev/shm/x"},
                      &o, &problem));
    EXPECT_EQ(3U, o.index);
    EXPECT_EQ(77U, o.poll_us);
    EXPECT_EQ(4711U, o.launcher);
    EXPECT_EQ("1,2", o.cores);
    EXPECT_EQ("ud", o.transport);
    EXPECT_EQ("eth0", o.device);
    EXPECT_EQ("/dev/shm/x", o.board);
    options d;
    EXPECT_TRUE(parse({}, &d, &problem));
    EXPECT_EQ(0U, d.index);
}

TEST(command_line, what_it_does_not_know_or_is_out_of_range_is_named) {
    for (const char *bad : {"--index=16", "--index=", "--index=-1", "--index=1x", "--index", "-h", "x",
                            "--poll-us=1000001", "--poll-us=99999999999999999999", "--launcher=99999999999",
                            "--cores", "--what=1", "", "--index=4294967297", "--moved-node=1"}) {
        options o;
        std::string problem;
        EXPECT_FALSE(parse({"--poll-us=5", bad}, &o, &problem)) << bad;
        EXPECT_EQ(bad, problem);
    }
}

// A board whose ranks all are this process, and a helper for it.
class node {
public:
    explicit node(unsigned slots = 2, std::uint32_t job = 9, std::uint64_t identity = 0) {
        EXPECT_EQ(0, board.create(directory.path().c_str(), job, slots, 16384, 1, identity));
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

// Enter b into a's table of nodes, as a rank of a would.
void introduce(node &a, std::uint32_t index, node &b) {
    layout::node_entry &e = a.board.nodes()[index];
    helper_address there;
    ASSERT_TRUE(read_address(b.line().address, &there));
    e.node = b.board.header().node;
    e.secret_hi = b.board.header().secret_hi;
    e.secret_lo = b.board.header().secret_lo;
    write_address(e.helper, there.bytes.data(), there.bytes.size());
}

TEST(helper, says_hello_on_its_line_and_goodbye_at_the_end) {
    node n;
    n.attach_all();
    ASSERT_TRUE(n.make(n.standard())) << n.helper->why();
    EXPECT_EQ(layout::helper_sleeping, n.line().state.load());
    EXPECT_EQ(static_cast<std::uint32_t>(getpid()), n.line().pid.load());
    EXPECT_GE(n.line().doorbell_fd.load(), 0);
    helper_address a;
    EXPECT_TRUE(read_address(n.line().address, &a));
    EXPECT_GT(a.bytes.size(), 4U);
    EXPECT_EQ(layout::first_address, a.generation);
    n.run();
    n.finish();
    EXPECT_EQ(layout::helper_gone, n.line().state.load());
}

TEST(helper, that_its_network_cannot_be_opened_stands_on_its_line_and_it_runs) {
    node n;
    n.attach_all();
    options o = n.standard();
    o.device = "nosuch0";
    ASSERT_TRUE(n.make(o)) << n.helper->why();
    EXPECT_EQ(static_cast<std::uint32_t>(ENODEV), n.line().network_error.load());
    EXPECT_NE(std::string::npos, helper_client::network_problem(n.board).find("device"));
    bool late = false;
    helper_client client;
    EXPECT_TRUE(client.address(n.board, 10000, &late).empty());
    EXPECT_FALSE(late);
    n.line().network_error = 0xfffffff0U; // anybody here may write it
    EXPECT_FALSE(helper_client::network_problem(n.board).empty());
    for (const auto state : {layout::helper_absent, layout::helper_starting, layout::helper_gone}) {
        n.line().state = state;
        EXPECT_EQ("", helper_client::network_problem(n.board)) << state;
    }
    for (const bool network : {true, false}) { // in its place: one that has it, one that needs none
        o = n.standard();
        o.transport = network ? o.transport : "none";
        n.helper.reset();
        ASSERT_TRUE(n.make(o)) << n.helper->why();
        EXPECT_EQ(0U, n.line().network_error.load());
        EXPECT_EQ("", helper_client::network_problem(n.board));
    }
}

TEST(helper, takes_the_boards_name_away_once_all_ranks_are_in) {
    node n;
    n.attach(0);
    ASSERT_TRUE(n.make(n.standard()));
    EXPECT_EQ(1U, n.directory.left().size());
    n.run();
    EXPECT_EQ(1U, n.directory.left().size());
    n.attach(1);
    wait_until("the name goes", [&] { return n.directory.left().empty(); });
}

TEST(helper, refuses_a_board_that_is_none_and_leaves_its_name_alone) {
    node n;
    n.attach_all();
    n.board.header().version = 99;
    EXPECT_FALSE(n.make(n.standard()));
    EXPECT_NE(std::string::npos, n.helper->why().find("99")) << n.helper->why();
    n.helper.reset();
    EXPECT_EQ(1U, n.directory.left().size()) << "ranks of the right version may still come";
    n.board.header().version = layout::version;
    options o = n.standard();
    o.index = layout::max_helpers;
    EXPECT_FALSE(n.make(o));
    n.helper.reset();
    core nothing{options{}};
    EXPECT_FALSE(nothing.start(-1));
    EXPECT_FALSE(nothing.start(open("/dev/null", O_RDWR)));
}

TEST(helper, leaves_no_descriptor_open) {
    {
        node warm;
        warm.attach_all();
        ASSERT_TRUE(warm.make(warm.standard()));
    }
    const unsigned before = open_descriptors();
    {
        node n;
        n.attach_all();
        ASSERT_TRUE(n.make(n.standard()));
        n.run();
    }
    EXPECT_EQ(before, open_descriptors());
}

TEST(helper, sleeps_when_nothing_is_armed) {
    node n;
    n.attach_all();
    ASSERT_TRUE(n.make(n.standard()));
    n.run();
    // Up once for each bell and never without one: the counters tell, however long it takes.
    pollfd bell{n.line().doorbell_fd, POLLIN, 0};
    for (std::uint64_t rings = 0; rings < 50; ++rings) {
        EXPECT_EQ(rings, n.line().sleeps.load());
        ring_eventfd(bell.fd);
        wait_until("the bell gets it up", [&] { return rings < n.line().sleeps; });
        wait_until("it has heard it", [&] { return 0 == poll(&bell, 1, 0); });
    }
    wait_until("it sleeps", [&] { return layout::helper_sleeping == n.line().state; });
    EXPECT_EQ(50U, n.line().sleeps.load());
    EXPECT_EQ(0U, n.line().scans.load());
    n.finish();
}

TEST(helper, without_a_unit_of_its_own_it_sleeps_even_when_something_is_armed) {
    node n;
    n.attach_all();
    bool matched = false;
    n.owner[0].arm(rts_pattern(1, 2, 3, false, false), &matched);
    ASSERT_TRUE(n.make(n.standard()));
    n.run();
    wait_until("it sleeps", [&] { return layout::helper_sleeping == n.line().state; });
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EXPECT_EQ(-1, n.line().cpu.load());
    EXPECT_EQ(layout::helper_sleeping, n.line().state.load());
    EXPECT_LE(n.line().scans.load(), 1U);
}

TEST(helper, takes_the_first_unit_of_its_list_that_it_may_use) {
    cpu_set_t before;
    ASSERT_EQ(0, sched_getaffinity(0, sizeof(before), &before));
    int usable = 0;
    while (!CPU_ISSET(usable, &before)) {
        ++usable;
    }
    {
        node n;
        n.attach_all();
        options o = n.standard();
        o.cores = "1023," + std::to_string(usable); // in nobody's reach, and a rank's
        ASSERT_TRUE(n.make(o)) << n.helper->why();
        EXPECT_EQ(usable, n.line().cpu.load());
    }
    sched_setaffinity(0, sizeof(before), &before); // the helper was this thread
    {
        node n;
        n.attach_all();
        options o = n.standard();
        o.cores = "1022,1023";
        ASSERT_TRUE(n.make(o)) << n.helper->why();
        EXPECT_EQ(-1, n.line().cpu.load());
    }
    cpu_set_t after;
    ASSERT_EQ(0, sched_getaffinity(0, sizeof(after), &after));
    EXPECT_TRUE(CPU_EQUAL(&before, &after)) << "it is bound to nothing";
}

TEST(helper, ends_when_its_ranks_are_gone) {
    node n(2);
    struct meeting {
        std::atomic<bool> go{false};
    };
    shared_object<meeting> m;
    child one([&] { wait_until("go", [&] { return m->go.load(); }); });
    child two([&] { wait_until("go", [&] { return m->go.load(); }); });
    n.attach(0, static_cast<std::uint32_t>(one.pid()));
    n.attach(1, static_cast<std::uint32_t>(two.pid()));
    ASSERT_TRUE(n.make(n.standard()));
    n.run();
    one.kill();
    one.join();
    EXPECT_FALSE(n.over);
    m->go = true;
    EXPECT_EQ(0, two.join());
    wait_until("it ends by itself", [&] { return n.over.load(); });
}

TEST(helper, ends_with_its_last_rank_while_there_is_more_to_do_all_the_time) {
    node n(1);
    child one([] { pause(); });
    n.attach(0, static_cast<std::uint32_t>(one.pid()));
    ASSERT_TRUE(n.make(n.standard()));
    n.run();
    std::atomic<bool> enough{false};
    std::thread flood([&] {
        for (std::uint32_t sequence = 1; !enough; ++sequence) {
            relay_post(n.board.relay(), 900, 1, make_rts_key(5, 6, 7), 70, sequence); // to a node that nobody knows
        }
    });
    one.kill();
    one.join();
    wait_until("it ends by itself", [&] { return n.over.load(); });
    enough = true;
    flood.join();
}

TEST(helper, ends_when_its_ranks_were_gone_before_it_looked) {
    node n(2);
    child one([] {});
    const auto pid = static_cast<std::uint32_t>(one.pid());
    const std::uint64_t start = process_start_time(pid);
    one.join();
    for (unsigned i = 0; i < 2; ++i) {
        n.attach(i, pid);
        n.board.slot(i).control.start_time = 0 == start ? 1 : start;
    }
    ASSERT_TRUE(n.make(n.standard()));
    n.run();
    wait_until("it ends by itself", [&] { return n.over.load(); });
    EXPECT_TRUE(n.directory.left().empty());
}

TEST(helper, a_rank_whose_pid_belongs_to_somebody_else_by_now_does_not_keep_it) {
    node n(1);
    n.attach(0);
    n.board.slot(0).control.start_time = n.board.slot(0).control.start_time + 1;
    ASSERT_TRUE(n.make(n.standard()));
    n.run();
    wait_until("it ends by itself", [&] { return n.over.load(); });
}

TEST(helper, a_rank_that_comes_later_is_watched_too) {
    node n(2);
    struct meeting {
        std::atomic<bool> go{false};
    };
    shared_object<meeting> m;
    child one([&] { wait_until("go", [&] { return m->go.load(); }); });
    n.attach(0, static_cast<std::uint32_t>(one.pid()));
    ASSERT_TRUE(n.make(n.standard()));
    n.run();
    n.attach(1);
    wait_until("it has seen both", [&] { return n.directory.left().empty(); });
    m->go = true;
    one.join();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(n.over) << "this process lives";
}

TEST(helper, a_notice_goes_from_one_nodes_helper_to_the_others_board_and_wakes_the_rank) {
    node a(2, 9), b(2, 9);
    a.attach_all();
    b.attach_all();
    bool matched = true;
    const int request = b.owner[1].arm(rts_pattern(5, 0, 7, true, false), &matched);
    ASSERT_FALSE(matched);
    ASSERT_TRUE(a.make(a.standard())) << a.helper->why();
    ASSERT_TRUE(b.make(b.standard())) << b.helper->why();
    introduce(a, 3, b);
    a.run();
    b.run();
    ASSERT_TRUE(relay_post(a.board.relay(), 3, 1, make_rts_key(5, 6, 7), 70, 1));
    wait_until("a bell where it sleeps", [&] {
        ring_eventfd(a.line().doorbell_fd);
        return 1 == b.line().delivered;
    });
    wait_until("the rank is woken", [&] { return b.rung(1); });
    EXPECT_FALSE(b.rung(0));
    EXPECT_TRUE(b.owner[1].is_matched(request));
    EXPECT_EQ(1U, b.line().wakes.load());
    EXPECT_EQ(0U, b.line().rejected.load());
    wait_until("it is counted", [&] { return 1 == a.line().relayed; });
    // inside: matched, and not woken
    b.owner[0].set_progress(layout::rank_inside);
    const int other = b.owner[0].arm(rts_pattern(5, 0, 8, true, false), &matched);
    ASSERT_TRUE(relay_post(a.board.relay(), 3, 0, make_rts_key(5, 6, 8), 70, 2));
    wait_until("the second", [&] {
        ring_eventfd(a.line().doorbell_fd);
        return 2 == b.line().delivered;
    });
    EXPECT_TRUE(b.owner[0].is_matched(other));
    EXPECT_FALSE(b.rung(0));
    EXPECT_EQ(1U, b.line().wakes.load());
}

TEST(helper, a_rung_doorbell_wakes_it_from_its_sleep) {
    node a(1), b(1);
    a.attach_all();
    b.attach_all();
    ASSERT_TRUE(a.make(a.standard()));
    ASSERT_TRUE(b.make(b.standard()));
    introduce(a, 0, b);
    a.run();
    b.run();
    wait_until("both sleep", [&] {
        return layout::helper_sleeping == a.line().state && layout::helper_sleeping == b.line().state;
    });
    for (std::uint32_t i = 1; i <= 300; ++i) {
        wait_until("room", [&] { return relay_post(a.board.relay(), 0, 0, make_rts_key(1, 2, 3), 4, i); });
        std::atomic_thread_fence(std::memory_order_seq_cst); // D1
        if (layout::helper_sleeping == a.line().state) {
            ring_eventfd(a.line().doorbell_fd);
        }
    }
    wait_until("all are there", [&] { return 300 == b.line().delivered; });
    EXPECT_EQ(300U, b.board.slot(0).control.notices_posted.load());
    EXPECT_EQ(0U, b.line().rejected.load());
}

TEST(helper, a_node_that_is_not_in_the_table_or_has_a_broken_address_costs_nothing) {
    node a(1);
    a.attach_all();
    ASSERT_TRUE(a.make(a.standard()));
    layout::node_entry &broken = a.board.nodes()[4];
    const std::vector<std::byte> nonsense(20, std::byte{0x55});
    write_address(broken.helper, nonsense.data(), nonsense.size());
    a.board.nodes()[5].helper.bytes = 4000;
    a.board.nodes()[5].helper.generation = 2;
    a.board.nodes()[6].helper.generation = 3; // of a writer that was killed
    for (const std::uint32_t index : {0U, 4U, 5U, 6U, 1023U, 1024U, 0xffffffffU}) {
        for (std::uint32_t i = 1; i < 10; ++i) {
            relay_post(a.board.relay(), index, 0, make_rts_key(1, 2, 3), 1, i);
        }
    }
    for (int i = 0; i < 10; ++i) {
        a.helper->pass();
    }
    EXPECT_TRUE(relay_empty(a.board.relay()));
    EXPECT_EQ(0U, a.line().relayed.load());
}

TEST(helper, wrong_notices_from_another_node_are_counted_on_its_line) {
    node a(1, 9), b(1, 9);
    a.attach_all();
    b.attach_all();
    ASSERT_TRUE(a.make(a.standard()));
    ASSERT_TRUE(b.make(b.standard()));
    introduce(a, 0, b);
    a.board.nodes()[0].secret_lo ^= 1;
    ASSERT_TRUE(relay_post(a.board.relay(), 0, 0, make_rts_key(1, 2, 3), 1, 1));
    wait_until("the rejection", [&] {
        a.helper->pass();
        b.helper->pass();
        return 1 == b.line().rejected;
    });
    EXPECT_EQ(0U, b.line().delivered.load());
    EXPECT_EQ(0U, b.board.slot(0).control.notices_posted.load());
}

TEST(helper, many_notices_at_once_travel_in_batches_and_none_is_lost) {
    node a(1), b(4);
    a.attach_all();
    b.attach_all();
    ASSERT_TRUE(a.make(a.standard()));
    ASSERT_TRUE(b.make(b.standard()));
    introduce(a, 0, b);
    for (std::uint32_t i = 0; i < layout::relay_entries; ++i) {
        ASSERT_TRUE(relay_post(a.board.relay(), 0, i % 4, make_rts_key(1, 2, 3), 1, i + 1));
    }
    wait_until("all", [&] {
        a.helper->pass();
        b.helper->pass();
        return layout::relay_entries == b.line().delivered;
    });
    for (unsigned i = 0; i < 4; ++i) {
        EXPECT_EQ(layout::relay_entries / 4, b.board.slot(i).control.notices_posted.load());
    }
}

TEST(patience, grows_while_nothing_moves_and_begins_again_when_something_does) {
    patience p;
    EXPECT_EQ(1, p.next_ms(0));
    EXPECT_EQ(1, p.next_ms(0)) << "something else woke it";
    int before = 1;
    for (int i = 0; i < 20; ++i) {
        p.slept_in_vain();
        EXPECT_EQ(std::min(2 * before, 32), p.next_ms(0));
        before = p.next_ms(0);
    }
    EXPECT_EQ(32, before);
    EXPECT_EQ(1, p.next_ms(1));
    p.slept_in_vain();
    EXPECT_EQ(2, p.next_ms(1));
}

TEST(helper, does_not_look_a_thousand_times_a_second_whether_one_that_stands_still_goes_on) {
    node a(1), b(1);
    a.attach_all();
    b.attach_all();
    ASSERT_TRUE(a.make(a.standard()));
    ASSERT_TRUE(b.make(b.standard())); // and does nothing: it does not even say who it is
    introduce(a, 0, b);
    ASSERT_TRUE(relay_post(a.board.relay(), 0, 0, make_rts_key(1, 2, 3), 1, 1));
    a.run();
    wait_until("it has tried", [&] { return 4 <= a.line().sleeps; });
    using clock = std::chrono::steady_clock;
    const std::uint64_t sleeps = a.line().sleeps;
    const auto begin = clock::now();
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    const std::uint64_t more = a.line().sleeps - sleeps;
    // of so many milliseconds, however many that were; 1 to 32 first
    EXPECT_LE(more, 6 + (clock::now() - begin) / std::chrono::milliseconds(16));
    b.run();
    wait_until("it goes on, and has it", [&] { return 1 == b.line().delivered; });
}

// One notice from each to the other, by their helpers.
void notice_each_way(node &a, node &b, std::uint32_t sequence) {
    const auto before = [](node &n) { return n.board.slot(0).control.notices_posted.load(); };
    const std::uint64_t at_a = before(a);
    const std::uint64_t at_b = before(b);
    ASSERT_TRUE(relay_post(a.board.relay(), 0, 0, make_rts_key(1, 2, 3), 1, sequence));
    ASSERT_TRUE(relay_post(b.board.relay(), 0, 0, make_rts_key(1, 2, 3), 1, sequence));
    wait_until("both notices", [&] {
        a.helper->pass();
        b.helper->pass();
        return at_a < before(a) && at_b < before(b);
    });
}

// Two nodes, each with entry 0 of the other's table by its identity, whose helpers have exchanged notices.
void know_each_other(node &a, node &b) {
    for (node *n : {&a, &b}) {
        n->attach_all();
        ASSERT_TRUE(n->make(n->standard())) << n->helper->why();
    }
    introduce(a, 0, b);
    introduce(b, 0, a);
    notice_each_way(a, b, 1);
}

// What a rank there is told by one of n.
void tell(node &there, node &n) {
    helper_address address;
    ASSERT_TRUE(read_address(n.line().address, &address));
    std::int32_t index = -1;
    ASSERT_TRUE(take_moved(there.board, compose_moved(n.board, 0, address), &index));
    ASSERT_EQ(0, index);
}

TEST(helper, one_in_anothers_place_tells_the_others_helpers_where_it_is) {
    node a(1, 9, layout::max_nodes), b(1, 9, 2 * layout::max_nodes);
    know_each_other(a, b);
    a.helper.reset();
    ASSERT_TRUE(a.make(a.standard()));
    wait_until("it is told", [&] {
        a.helper->pass();
        b.helper->pass();
        return layout::first_address < b.board.nodes()[0].helper.generation;
    });
    notice_each_way(a, b, 2);
    EXPECT_EQ(0U, a.line().rejected + b.line().rejected);
}

TEST(helper, one_in_anothers_place_is_found_by_a_node_that_none_of_its_ranks_had_met) {
    node a(1, 9, layout::max_nodes), b(1, 9, 2 * layout::max_nodes);
    for (node *n : {&a, &b}) {
        n->attach_all();
        ASSERT_TRUE(n->make(n->standard())) << n->helper->why();
    }
    introduce(a, 0, b);
    helper_address before; // which the modex has
    ASSERT_TRUE(read_address(a.line().address, &before));
    a.helper.reset();
    ASSERT_TRUE(a.make(a.standard()));
    wait_until("the other is told", [&] {
        a.helper->pass();
        b.helper->pass();
        return is_published(b.board, 0);
    });
    const auto &h = a.board.header();
    ASSERT_EQ(0, publish_node(b.board, {h.node, before.bytes.data(), before.bytes.size(), h.secret_hi, h.secret_lo}));
    notice_each_way(a, b, 1);
    EXPECT_EQ(0U, a.line().rejected + b.line().rejected);
}

TEST(helper, two_in_others_places_at_once_find_each_other_when_ranks_are_told) {
    node a(1, 9, layout::max_nodes), b(1, 9, 2 * layout::max_nodes);
    know_each_other(a, b);
    a.helper.reset();
    b.helper.reset();
    ASSERT_TRUE(a.make(a.standard()));
    for (int i = 0; i < 100; ++i) {
        a.helper->pass(); // nobody is there
    }
    ASSERT_TRUE(b.make(b.standard()));
    tell(a, b);
    tell(b, a);
    notice_each_way(a, b, 2);
    tell(a, b); // once more, as every rank of a node does
    tell(b, a);
    notice_each_way(a, b, 3);
    EXPECT_EQ(0U, a.line().rejected + b.line().rejected);
}

} // namespace
} // namespace smartint::daemon
