// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
// An engine's start and end, and the board it makes or finds.
#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "common_smartint_log.h"
#include "harness_exchange.h"

namespace smartint {
namespace {

using namespace test;

TEST(engine_life, it_can_be_stopped_twice_and_started_again) {
    scratch_directory d;
    params p = with("auto", "helper");
    p.directory = d.path();
    const unsigned before = open_descriptors();
    engine e;
    for (int i = 0; i < 3; ++i) {
        set_hooks(e);
        ASSERT_EQ(0, e.start(p, {name_of(0), 0, false}, false));
        EXPECT_EQ(0, e.start(p, {name_of(0), 0, false}, false)) << "a second component";
        ASSERT_EQ(0, e.create_board(1, nullptr));
        e.start_thread();
        EXPECT_TRUE(engine_access::has_thread(e));
        e.start_thread();
        e.stop_thread();
        e.stop_thread();
        EXPECT_FALSE(engine_access::has_thread(e));
        e.stop();
        e.stop();
        EXPECT_FALSE(e.started());
        EXPECT_TRUE(d.left().empty());
    }
    EXPECT_EQ(before, open_descriptors());
}

TEST(engine_life, its_counters_are_written_at_the_end) {
    scratch_directory d;
    params p = with("auto");
    p.directory = d.path();
    p.stats_file = d.path() + "/stats.%r";
    engine e;
    ASSERT_EQ(0, e.start(p, {name_of(12), 0, false}, false));
    e.stop();
    EXPECT_EQ((std::vector<std::string>{"stats.12"}), d.left());
}

TEST(engine_life, a_board_is_made_in_the_second_directory_where_the_first_will_not_do) {
    scratch_directory d;
    params p = with("auto");
    p.directory = "/nonexistent/here";
    engine a, b;
    ASSERT_EQ(0, a.start(p, {name_of(0), 0, false}, false));
    ASSERT_EQ(0, b.start(p, {name_of(1), 1, false}, false));
    ASSERT_EQ(0, a.create_board(2, d.path().c_str()));
    EXPECT_EQ(1U, d.left().size());
    EXPECT_EQ(0, b.open_board(a.board_segment().ticket()));
    EXPECT_TRUE(d.left().empty());
}

TEST(engine_life, the_name_of_the_board_goes_with_the_last_rank_that_maps_it) {
    scratch_directory d;
    params p = with("auto");
    p.directory = d.path();
    engine all[3];
    for (std::uint32_t i = 0; i < 3; ++i) {
        ASSERT_EQ(0, all[i].start(p, {name_of(i), i, false}, false));
        ASSERT_EQ(0, 0 == i ? all[0].create_board(3) : all[i].open_board(all[0].board_segment().ticket()));
        EXPECT_EQ(i < 2 ? 1U : 0U, d.left().size()) << i;
    }
}

TEST(engine_life, the_name_of_the_board_goes_with_a_leader_that_stops_before_all_have_mapped_it) {
    scratch_directory d;
    params p = with("auto");
    p.directory = d.path();
    engine a, b;
    ASSERT_EQ(0, a.start(p, {name_of(0), 0, false}, false));
    ASSERT_EQ(0, b.start(p, {name_of(1), 1, false}, false));
    ASSERT_EQ(0, a.create_board(3));
    ASSERT_EQ(0, b.open_board(a.board_segment().ticket()));
    b.stop();
    EXPECT_EQ(1U, d.left().size());
    a.stop();
    EXPECT_TRUE(d.left().empty());
}

// Beside another pml that is whoever had the first window, of whatever place on the node.
TEST(engine_life, who_made_the_board_sees_that_its_helper_has_ended) {
    scratch_directory d;
    params p = with("auto");
    p.directory = d.path();
    engine maker, other;
    ASSERT_EQ(0, maker.start(p, {name_of(1), 1, false}, false));
    ASSERT_EQ(0, other.start(p, {name_of(0), 0, false}, false));
    ASSERT_EQ(0, maker.create_board(2));
    ASSERT_EQ(0, other.open_board(maker.board_segment().ticket()));
    layout::helper_line &line = maker.board_segment().helper(0);
    {
        child helper([] {});
        line.pid = static_cast<std::uint32_t>(helper.pid());
        helper.join();
    }
    line.state = layout::helper_sleeping;
    const auto look = [](engine &e) {
        for (int i = 0; i < 4096; ++i) {
            e.progress();
        }
    };
    look(other);
    EXPECT_EQ(layout::helper_sleeping, line.state.load());
    EXPECT_FALSE(other.helper_gone(0));
    look(maker);
    EXPECT_EQ(layout::helper_gone, line.state.load());
    EXPECT_TRUE(maker.helper_gone(0));
}

TEST(engine_life, a_process_that_has_a_helpers_number_is_not_taken_for_it) {
    scratch_directory d;
    params p = with("auto");
    p.directory = d.path();
    for (const auto expected : {layout::helper_sleeping, layout::helper_gone}) {
        engine maker;
        ASSERT_EQ(0, maker.start(p, {name_of(0), 0, false}, false));
        ASSERT_EQ(0, maker.create_board(2));
        layout::helper_line &line = maker.board_segment().helper(0);
        line.pid = static_cast<std::uint32_t>(getpid());
        line.start_time = process_start_time(line.pid) + (layout::helper_gone == expected ? 1 : 0);
        line.state = layout::helper_sleeping;
        for (int i = 0; i < 4096; ++i) {
            maker.progress();
        }
        EXPECT_EQ(expected, line.state.load());
        EXPECT_EQ(layout::helper_gone == expected, maker.helper_gone(0));
    }
}

TEST(engine_life, a_ticket_with_too_few_ranks_is_refused) {
    scratch_directory d;
    params p = with("auto");
    p.directory = d.path();
    engine a, b;
    ASSERT_EQ(0, a.start(p, {name_of(0), 0, false}, false));
    ASSERT_EQ(0, a.create_board(2, nullptr));
    ASSERT_EQ(0, b.start(p, {name_of(2), 2, false}, false));
    EXPECT_EQ(EPROTO, b.open_board(a.board_segment().ticket()));
    EXPECT_FALSE(b.board_segment().mapped());
    EXPECT_EQ(nullptr, b.add_shared(name_of(0), 0));
    EXPECT_EQ(nullptr, a.add_shared(name_of(2), 2));
}

// Threads of the engine in this process.
unsigned interrupt_threads() {
    unsigned n = 0;
    for (const auto &task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::string name;
        std::getline(std::ifstream(task.path() / "comm"), name);
        n += "smartint" == name ? 1 : 0;
    }
    return n;
}

// One with its thread, which sleeps; at the end both are stopped.
struct lone_engine {
    lone_engine() {
        params p = with("auto", "helper");
        p.directory = d.path();
        set_hooks(e);
        EXPECT_EQ(0, e.start(p, {name_of(0), 0, false}, false));
        EXPECT_EQ(0, e.create_board(1, nullptr));
        e.start_thread();
        wait_until("its sleep", [] { return 1 == interrupt_threads() && interrupt_threads_sleep(); });
    }
    ~lone_engine() {
        e.stop_thread();
        EXPECT_FALSE(engine_access::has_thread(e));
        e.stop();
    }
    scratch_directory d;
    engine e;
};

// As a daemon does. The thread sleeps on what is not there any more, and nothing can wake it.
TEST(engine_life, a_program_that_closes_every_descriptor_comes_to_its_end) {
    child c([] {
        lone_engine l;
        EXPECT_EQ(0, close_range(3, ~0U, 0));
    });
    EXPECT_EQ(0, c.join());
}

// The copy of another's descriptor, or the file that the module wakes by, may have the number since.
TEST(engine_life, what_wakes_another_is_not_taken_for_what_wakes_this_one) {
    child c([] {
        lone_engine l;
        const int number = l.e.wake_descriptor();
        EXPECT_EQ(0, close_range(3, ~0U, 0));
        const int another = fcntl(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), F_DUPFD_CLOEXEC, number + 100);
        while (open("/dev/null", O_RDONLY) < number) {}
        close(number - 1); // for what it looks at the process by
        close(number);
        const auto s = std::make_unique<layout::slot>();
        s->control.pid = static_cast<std::uint32_t>(getpid());
        s->control.start_time = process_start_time(s->control.pid);
        s->control.wake_fd = another;
        s->control.attached = 1;
        EXPECT_TRUE(engine_access::bell(l.e).wake(0, *s));
        EXPECT_EQ(1U, drain_eventfd(number)) << "the copy has another number";
    });
    EXPECT_EQ(0, c.join());
}

TEST(engine_life, a_thread_that_has_nothing_to_sleep_on_ends_and_says_so) {
    static unsigned told;
    child c([] {
        set_reporter([](const report &r) {
            told += topic::no_thread == r.what && std::string("epoll_wait") == r.value ? 1 : 0;
        });
        lone_engine l;
        const int null = open("/dev/null", O_RDWR);
        for (const auto &fd : std::filesystem::directory_iterator("/proc/self/fd")) {
            std::error_code gone;
            if ("anon_inode:[eventpoll]" == std::filesystem::read_symlink(fd.path(), gone).string()) {
                dup2(null, std::stoi(fd.path().filename().string()));
            }
        }
        ring_eventfd(l.e.wake_descriptor()); // it sleeps on the set still: of the next time
        wait_until("its end", [] { return 0 == interrupt_threads(); });
        flush_reports();
        EXPECT_EQ(1U, told);
    });
    EXPECT_EQ(0, c.join());
}

} // namespace
} // namespace smartint
