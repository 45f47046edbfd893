// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "common_smartint_wake.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>

#include "common_smartint_helper_bells.h"
#include "common_smartint_log.h"
#include "harness.h"

namespace smartint {
namespace {

using test::child;

struct meeting {
    std::atomic<int> fd{-1};
    std::atomic<std::uint64_t> start_time{0};
    std::atomic<std::uint32_t> step{0};
};

void await(const std::atomic<std::uint32_t> &word, std::uint32_t value) {
    while (word.load() < value) {
        sched_yield();
    }
}

TEST(descriptors, an_eventfd_rung_many_times_is_emptied_at_once) {
    const int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    EXPECT_FALSE(drain_eventfd(fd));
    EXPECT_TRUE(ring_eventfd(fd));
    EXPECT_TRUE(ring_eventfd(fd));
    EXPECT_TRUE(drain_eventfd(fd));
    EXPECT_FALSE(drain_eventfd(fd));
    close(fd);
    EXPECT_FALSE(ring_eventfd(fd));
}

TEST(descriptors, a_full_eventfd_counts_as_rung) {
    const int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    const std::uint64_t most = ~0ULL - 1;
    ASSERT_EQ(8, write(fd, &most, 8));
    EXPECT_TRUE(ring_eventfd(fd));
    close(fd);
}

TEST(start_time, is_known_for_live_processes_only) {
    EXPECT_NE(0U, process_start_time(static_cast<std::uint32_t>(getpid())));
    EXPECT_EQ(process_start_time(static_cast<std::uint32_t>(getpid())),
              process_start_time(static_cast<std::uint32_t>(getpid())));
    EXPECT_EQ(0U, process_start_time(0x7ffffff0U));
    EXPECT_EQ(0U, process_start_time(0));
    int pid = 0;
    {
        child c([] {});
        pid = c.pid();
        EXPECT_EQ(0, c.join());
    }
    EXPECT_EQ(0U, process_start_time(static_cast<std::uint32_t>(pid)));
}

TEST(start_time, of_one_that_ended_and_was_not_waited_for_is_not_what_it_was) {
    struct meeting {
        std::atomic<bool> go{false};
    };
    test::shared_object<meeting> m;
    child c([&] { test::wait_until("go", [&] { return m->go.load(); }); });
    const auto pid = static_cast<std::uint32_t>(c.pid());
    EXPECT_GT(process_start_time(pid), ended_start_time);
    m->go = true;
    test::wait_until("it has ended", [&] { return ended_start_time == process_start_time(pid); });
    EXPECT_EQ(0, c.join());
    EXPECT_EQ(0U, process_start_time(pid));
}

TEST(start_time, does_not_depend_on_the_name_of_the_process) {
    const std::uint64_t before = process_start_time(static_cast<std::uint32_t>(getpid()));
    char name[16] = {};
    prctl(PR_GET_NAME, name);
    for (const char *odd : {") 1 2 3 (", "a b c", "))))", "(x) S 1", "1 2 3 4 5 6 7"}) {
        prctl(PR_SET_NAME, odd);
        EXPECT_EQ(before, process_start_time(static_cast<std::uint32_t>(getpid()))) << odd;
    }
    prctl(PR_SET_NAME, name);
}

TEST(taking, a_descriptor_of_another_process_rings_there) {
    test::shared_object<meeting> m;
    child c([&] {
        const int fd = eventfd(0, EFD_CLOEXEC);
        m->start_time = process_start_time(static_cast<std::uint32_t>(getpid()));
        m->fd = fd;
        m->step = 1;
        std::uint64_t n = 0; // sleeps until rung
        EXPECT_EQ(8, read(fd, &n, 8));
        EXPECT_EQ(1U, n);
    });
    await(m->step, 1);
    const int fd = take_descriptor(static_cast<std::uint32_t>(c.pid()), m->start_time, m->fd);
    ASSERT_GE(fd, 0);
    EXPECT_TRUE(ring_eventfd(fd));
    EXPECT_EQ(0, c.join());
    close(fd);
}

TEST(taking, a_recycled_pid_is_refused_by_its_start_time) {
    test::shared_object<meeting> m;
    child c([&] {
        m->fd = eventfd(0, EFD_CLOEXEC);
        m->start_time = process_start_time(static_cast<std::uint32_t>(getpid()));
        m->step = 1;
        await(m->step, 2);
    });
    await(m->step, 1);
    const auto pid = static_cast<std::uint32_t>(c.pid());
    EXPECT_EQ(-ESRCH, take_descriptor(pid, m->start_time + 1, m->fd));
    EXPECT_EQ(-ESRCH, take_descriptor(pid, 0, m->fd)) << "a process that was not there";
    const int fd = take_descriptor(pid, m->start_time, m->fd);
    EXPECT_GE(fd, 0);
    close(fd);
    m->step = 2;
    EXPECT_EQ(0, c.join());
    EXPECT_GT(0, take_descriptor(pid, m->start_time, m->fd)) << "gone";
}

TEST(taking, a_file_is_one_of_that_length_and_nothing_else) {
    test::shared_object<meeting> m;
    child c([&] {
        m->fd = memfd_create("theirs", MFD_CLOEXEC);
        EXPECT_EQ(0, ftruncate(m->fd, 8192));
        m->start_time = process_start_time(static_cast<std::uint32_t>(getpid()));
        m->step = 1;
        await(m->step, 2);
        EXPECT_EQ(m->fd.load(), dup2(eventfd(0, EFD_CLOEXEC), m->fd)); // it has closed it, and opened something else
        m->step = 3;
        await(m->step, 4);
    });
    await(m->step, 1);
    const unsigned before = test::open_descriptors();
    const auto pid = static_cast<std::uint32_t>(c.pid());
    const int fd = take_file(pid, m->start_time, m->fd, 8192);
    EXPECT_GE(fd, 0);
    close(fd);
    EXPECT_EQ(-EINVAL, take_file(pid, m->start_time, m->fd, 4096));
    m->step = 2;
    await(m->step, 3);
    EXPECT_EQ(-EINVAL, take_file(pid, m->start_time, m->fd, 8192));
    m->step = 4;
    EXPECT_EQ(0, c.join());
    EXPECT_EQ(before, test::open_descriptors());
}

TEST(taking, nonsense_is_refused_and_nothing_stays_open) {
    const unsigned before = test::open_descriptors();
    const auto pid = static_cast<std::uint32_t>(getpid());
    EXPECT_EQ(-EINVAL, take_descriptor(0, 1, 3));
    EXPECT_EQ(-EINVAL, take_descriptor(pid, process_start_time(pid), -1));
    EXPECT_EQ(-EBADF, take_descriptor(pid, process_start_time(pid), 9999));
    EXPECT_GT(0, take_descriptor(0x7ffffff0U, 1, 3));
    EXPECT_EQ(before, test::open_descriptors());
}

struct waking : testing::Test {
    waking() {
        fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        auto &c = slot->control;
        c.pid = static_cast<std::uint32_t>(getpid());
        c.start_time = process_start_time(c.pid);
        c.wake_fd = fd;
        c.attached = 1;
        w.resize(2);
    }
    ~waking() override { close(fd); }
    std::unique_ptr<layout::slot> slot = std::make_unique<layout::slot>();
    waker w;
    int fd = -1;
};

TEST_F(waking, rings_a_rank_and_takes_its_descriptor_once) {
    const unsigned before = test::open_descriptors();
    EXPECT_TRUE(w.wake(0, *slot));
    EXPECT_TRUE(drain_eventfd(fd));
    EXPECT_EQ(before + 1, test::open_descriptors());
    slot->control.pid = 0x7ffffff0U; // were it looked at again, it would fail
    for (int i = 0; i < 100; ++i) {
        EXPECT_TRUE(w.wake(0, *slot));
    }
    EXPECT_TRUE(drain_eventfd(fd));
    EXPECT_EQ(before + 1, test::open_descriptors());
    w.close();
    EXPECT_EQ(before, test::open_descriptors());
}

TEST_F(waking, a_rank_that_has_not_attached_or_has_stopped_is_left_alone) {
    slot->control.attached = 0;
    EXPECT_FALSE(w.wake(0, *slot));
    slot->control.attached = 1;
    slot->control.stopped = 1;
    EXPECT_FALSE(w.wake(0, *slot));
    slot->control.stopped = 0;
    EXPECT_TRUE(w.wake(0, *slot)) << "an early look is not held against it";
    slot->control.stopped = 1;
    EXPECT_FALSE(w.wake(0, *slot));
    EXPECT_TRUE(drain_eventfd(fd));
    EXPECT_FALSE(drain_eventfd(fd));
}

TEST_F(waking, a_slot_out_of_range_is_refused) {
    EXPECT_FALSE(w.wake(2, *slot));
    EXPECT_FALSE(w.wake(0xffffffffU, *slot));
}

TEST_F(waking, a_rank_that_is_gone_is_tried_once_and_not_reported) {
    slot->control.start_time = slot->control.start_time + 1;
    EXPECT_FALSE(w.wake(0, *slot));
    slot->control.start_time = slot->control.start_time - 1;
    EXPECT_FALSE(w.wake(0, *slot)) << "no second try";
    EXPECT_FALSE(reports_pending());
}

TEST_F(waking, a_device_other_than_the_modules_is_no_bell) {
    const unsigned before = test::open_descriptors();
    const int pty = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    ASSERT_GE(pty, 0);
    EXPECT_EQ(-EBADF, w.take(slot->control.pid, slot->control.start_time, pty));
    close(pty);
    EXPECT_EQ(before, test::open_descriptors());
}

TEST_F(waking, a_rank_is_woken_again_when_there_are_descriptors_again) {
    const unsigned before = test::open_descriptors();
    // Named here: UBSAN looks at the type of *this with a pipe, and takes an object for a wrong one when it gets none.
    waker &mine = w;
    auto &there = *slot;
    const int bell = fd;
    rlimit all{};
    ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &all));
    const rlimit none{0, all.rlim_max};
    ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &none));
    EXPECT_FALSE(mine.wake(0, there));
    for (int i = 0; i < 1000; ++i) {
        EXPECT_FALSE(mine.wake(0, there));
    }
    const int taken = mine.take(there.control.pid, there.control.start_time, bell);
    ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &all));
    EXPECT_TRUE(-EAGAIN == taken || -EMFILE == taken) << taken;
    EXPECT_TRUE(waker::may_pass(taken));
    EXPECT_EQ(before, test::open_descriptors());
    test::wait_until("it is woken", [&] { return w.wake(0, *slot); });
    EXPECT_TRUE(drain_eventfd(fd));
    EXPECT_EQ(before + 1, test::open_descriptors());
    EXPECT_FALSE(waker::may_pass(-EPERM));
    EXPECT_FALSE(waker::may_pass(-ESRCH));
    testing::internal::CaptureStderr();
    flush_reports();
    EXPECT_NE(std::string::npos, testing::internal::GetCapturedStderr().find("Too many open files"));
}

// The module's file of a helper lives, and has the helper's number, as long as somebody has a copy.
TEST(doorbells, the_copy_of_one_whose_helper_has_ended_is_closed) {
    test::scratch_directory d;
    test::shared_object<meeting> m;
    segment board;
    ASSERT_EQ(0, board.create(d.path().c_str(), {9, 1, 16384, 1}));
    layout::helper_line &line = board.helper(0);
    child helper([&] {
        line.doorbell_fd = eventfd(0, EFD_CLOEXEC);
        line.pid = static_cast<std::uint32_t>(getpid());
        line.start_time = process_start_time(line.pid);
        line.state = layout::helper_sleeping;
        m->step = 1;
        await(m->step, 2);
    });
    await(m->step, 1);
    waker w;
    const unsigned before = test::open_descriptors();
    helper_bells leader(board, w), other(board, w);
    leader.ring(0);
    other.ring(0);
    EXPECT_EQ(before + 2, test::open_descriptors());
    m->step = 2;
    EXPECT_EQ(0, helper.join());
    leader.look_after(1);
    EXPECT_TRUE(leader.gone(0));
    EXPECT_EQ(before + 1, test::open_descriptors());
    other.ring(0);
    EXPECT_EQ(before, test::open_descriptors());
    board.unlink();
}

} // namespace
} // namespace smartint
