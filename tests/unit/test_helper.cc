// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
// The helper on its own node: its command line, its start and end, when it sleeps, and whom it watches.
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
#include "helper_node.h"
#include "smartintd_place.h"

namespace smartint::daemon {
namespace {

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
    ASSERT_TRUE(parse({"--index=3", "--poll-us=77", "--launcher=4711", "--cores=1,2", "--transport=ud", "--device=eth0",
                       "--board=/dev/shm/x"},
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
                            "--poll-us=1000001", "--poll-us=99999999999999999999", "--launcher=99999999999", "--cores",
                            "--what=1", "", "--index=4294967297", "--moved-node=1"}) {
        options o;
        std::string problem;
        EXPECT_FALSE(parse({"--poll-us=5", bad}, &o, &problem)) << bad;
        EXPECT_EQ(bad, problem);
    }
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

cpu_set_t own_units() {
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof(set), &set);
    return set;
}

unsigned first_of(const cpu_set_t &set) {
    unsigned i = 0;
    while (!CPU_ISSET(i, &set)) {
        ++i;
    }
    return i;
}

TEST(helper, with_one_it_does_not_fall_asleep_beside_what_was_armed_meanwhile) {
    node n;
    n.attach_all();
    options o = n.standard();
    o.cores = std::to_string(first_of(own_units()));
    const cpu_set_t before = own_units();
    ASSERT_TRUE(n.make(o)) << n.helper->why();
    EXPECT_EQ(std::stoi(o.cores), n.line().cpu);
    bool matched = false;
    const int request = n.owner[1].arm(rts_pattern(1, 0, 2, true, false), &matched);
    EXPECT_FALSE(core_access::sleeps(*n.helper));
    EXPECT_EQ(layout::helper_polling, n.line().state);
    n.owner[1].disarm(request);
    ring_eventfd(n.line().doorbell_fd);
    EXPECT_TRUE(core_access::sleeps(*n.helper));
    sched_setaffinity(0, sizeof(before), &before); // the helper was this thread
}

TEST(helper, takes_the_first_unit_of_its_list_that_it_may_use) {
    const cpu_set_t before = own_units();
    const auto usable = static_cast<int>(first_of(before));
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
    const cpu_set_t after = own_units();
    EXPECT_TRUE(CPU_EQUAL(&before, &after)) << "it is bound to nothing";
}

// A rank bound to the first unit that starts a thread on all the others, as OpenMP does.
class spreading_rank {
public:
    explicit spreading_rank(const char *name) : name_(name) {}
    void attach(node &n) {
        n.attach(0, pid());
        n.board.slot(0).control.cpus[0] = 1ULL << first_;
        wait_until("it is bound", [&] { return 1 == m_->step; });
    }
    void spread() {
        m_->step = 2;
        wait_until("its threads are", [&] { return 3 == m_->step; });
    }
    std::uint32_t pid() const { return static_cast<std::uint32_t>(process_.pid()); }

private:
    struct meeting {
        std::atomic<int> step{0};
    };
    void run() {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(first_, &set);
        sched_setaffinity(0, sizeof(set), &set);
        m_->step = 1;
        wait_until("spread", [&] { return 2 == m_->step; });
        std::thread other([&] {
            cpu_set_t rest = all_;
            CPU_CLR(first_, &rest);
            sched_setaffinity(0, sizeof(rest), &rest);
            pthread_setname_np(pthread_self(), name_);
            m_->step = 3;
            pause(); // killed
        });
        other.join();
    }
    const char *name_;
    cpu_set_t all_ = own_units();
    unsigned first_ = first_of(all_);
    shared_object<meeting> m_;
    child process_{[this] { run(); }};
};

// Beside one the helper has a unit, before that one spreads.
struct beside_one_bound_rank : testing::Test {
    void SetUp() override {
        if (CPU_COUNT(&before) < 2 || first_of(before) >= 64) {
            GTEST_SKIP() << "there is one unit";
        }
    }
    void TearDown() override { sched_setaffinity(0, sizeof(before), &before); } // the helper was this thread
    void start(const char *name) {
        rank = std::make_unique<spreading_rank>(name);
        rank->attach(n);
        unit = choose();
    }
    int choose() { return place.choose(n.board, {rank->pid()}, n.standard()); }
    const cpu_set_t before = own_units();
    node n{1};
    std::unique_ptr<spreading_rank> rank;
    placement place{unit_load("/nonexistent")}; // whatever else runs here
    int unit = -1;
};

TEST_F(beside_one_bound_rank, no_unit_of_its_other_threads_is_chosen) {
    start("worker");
    if (unit < 0) {
        GTEST_SKIP() << "all units are one core's";
    }
    const cpu_set_t bound = own_units();
    EXPECT_EQ(1, CPU_COUNT(&bound));
    rank->spread();
    EXPECT_EQ(unit, place.choose(n.board, {}, n.standard())) << "of ranks not seen it knows what the board says";
    EXPECT_EQ(-1, choose());
    const cpu_set_t after = own_units();
    EXPECT_TRUE(CPU_EQUAL(&before, &after)) << "it is bound to nothing";
}

TEST_F(beside_one_bound_rank, the_unit_of_an_interrupt_thread_may_be_chosen) {
    start(layout::thread_name);
    if (unit < 0) {
        GTEST_SKIP() << "all units are one core's";
    }
    rank->spread();
    EXPECT_EQ(unit, choose());
}

TEST_F(beside_one_bound_rank, the_helper_leaves_its_unit_when_threads_start_there) {
    start("worker");
    sched_setaffinity(0, sizeof(before), &before);
    ASSERT_TRUE(n.make(n.standard())) << n.helper->why();
    EXPECT_EQ(unit, n.line().cpu);
    if (unit < 0) {
        GTEST_SKIP() << "all units are one core's";
    }
    rank->spread();
    n.run();
    const int bell = n.line().doorbell_fd;
    wait_until("it is up again and looks", [&] {
        ring_eventfd(bell);
        return -1 == n.line().cpu;
    });
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

// A process that lives until it is told.
class other_rank {
public:
    std::uint32_t pid() const { return static_cast<std::uint32_t>(process_.pid()); }
    void end() {
        meeting_->go = true;
        process_.join();
    }

private:
    struct meeting {
        std::atomic<bool> go{false};
    };
    shared_object<meeting> meeting_;
    child process_{[this] { wait_until("go", [this] { return meeting_->go.load(); }); }};
};

// It had no descriptor left to read its own when it attached.
TEST(helper, a_rank_that_could_not_say_when_it_started_is_watched_too) {
    node n(1);
    other_rank one;
    n.attach(0, one.pid());
    n.board.slot(0).control.start_time = 0;
    ASSERT_TRUE(n.make(n.standard()));
    n.run();
    wait_until("it has seen all", [&] { return n.directory.left().empty(); });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(n.over.load());
    one.end();
    wait_until("it ends by itself", [&] { return n.over.load(); });
}

TEST(helper, a_rank_that_comes_later_is_watched_too) {
    node n(2);
    other_rank one;
    n.attach(0, one.pid());
    ASSERT_TRUE(n.make(n.standard()));
    n.run();
    n.attach(1);
    wait_until("it has seen both", [&] { return n.directory.left().empty(); });
    one.end();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(n.over) << "this process lives";
}

} // namespace
} // namespace smartint::daemon
