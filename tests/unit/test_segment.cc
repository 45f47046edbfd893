// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "common_smartint_segment.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "harness.h"

namespace smartint {
namespace {

constexpr std::uint32_t ring = 16384;

struct segments : testing::Test {
    std::string file() const { return directory.path() + "/" + mine.ticket().name; }
    int make(std::uint32_t slots = 3) { return mine.create(directory.path().c_str(), {9, slots, ring, 1}); }
    int theirs_opens(const segment_ticket &t) { return theirs.open(directory.path().c_str(), t); }

    test::scratch_directory directory;
    segment mine, theirs;
};

TEST_F(segments, what_one_writes_the_other_reads) {
    ASSERT_EQ(0, make()) << mine.why();
    ASSERT_EQ(0, theirs_opens(mine.ticket())) << theirs.why();
    EXPECT_EQ(3U, theirs.slots());
    EXPECT_EQ(ring, theirs.ring_bytes());
    for (unsigned i = 0; i < 3; ++i) {
        EXPECT_NE(&mine.slot(i), &theirs.slot(i));
        mine.slot(i).control.vpid = 100 + i;
        std::memset(mine.ring(i), static_cast<int>(i + 1), ring);
    }
    mine.helper(15).pid = 77;
    mine.node(layout::max_nodes - 1).node = 5;
    mine.relay().entries[layout::relay_entries - 1].source_seq = 6;
    for (unsigned i = 0; i < 3; ++i) {
        EXPECT_EQ(100 + i, theirs.slot(i).control.vpid);
        EXPECT_EQ(std::byte(i + 1), theirs.ring(i)[0]);
        EXPECT_EQ(std::byte(i + 1), theirs.ring(i)[ring - 1]);
    }
    EXPECT_EQ(77U, theirs.helper(15).pid.load());
    EXPECT_EQ(5U, theirs.node(layout::max_nodes - 1).node);
    EXPECT_EQ(6U, theirs.relay().entries[layout::relay_entries - 1].source_seq.load());
}

TEST_F(segments, one_for_few_nodes_is_smaller_by_their_entries) {
    ASSERT_EQ(0, make());
    for (const std::uint32_t nodes : {1U, 65U}) {
        segment small, seen;
        ASSERT_EQ(0, small.create(directory.path().c_str(), {9, 3, ring, 1, 0, nodes})) << small.why();
        const std::uint64_t less = (layout::max_nodes - nodes) * sizeof(layout::node_entry);
        EXPECT_NEAR(static_cast<double>(mine.header().total_bytes - less),
                    static_cast<double>(small.header().total_bytes), 4096);
        ASSERT_EQ(0, seen.open(directory.path().c_str(), small.ticket())) << seen.why();
        EXPECT_EQ(nodes, seen.nodes());
        small.node(nodes - 1).secret_lo = 7;
        small.relay().posted = 8;
        small.relay().entries[layout::relay_entries - 1].source_seq = 6;
        EXPECT_EQ(7U, seen.node(nodes - 1).secret_lo);
        EXPECT_EQ(8U, seen.relay().posted.load());
        EXPECT_EQ(6U, seen.relay().entries[layout::relay_entries - 1].source_seq.load());
    }
}

TEST_F(segments, a_fresh_one_is_all_zero_behind_its_header) {
    ASSERT_EQ(0, make());
    const auto *p = reinterpret_cast<const unsigned char *>(&mine.header());
    std::uint64_t sum = 0;
    for (std::uint64_t i = sizeof(layout::segment_header); i < mine.header().total_bytes; ++i) {
        sum += p[i];
    }
    EXPECT_EQ(0U, sum);
    EXPECT_EQ(0U, reinterpret_cast<std::uintptr_t>(&mine.slot(1)) % layout::line);
    EXPECT_EQ(0U, reinterpret_cast<std::uintptr_t>(mine.ring(2)) % layout::line);
    EXPECT_EQ(0U, reinterpret_cast<std::uintptr_t>(&mine.relay()) % layout::line);
}

// And this user's processes may write it, whatever the program's umask takes.
TEST_F(segments, nobody_else_may_read_the_file) {
    const mode_t before = umask(0222);
    const int error = make();
    umask(before);
    ASSERT_EQ(0, error);
    struct stat st {};
    ASSERT_EQ(0, stat(file().c_str(), &st));
    EXPECT_EQ(0600U, st.st_mode & 07777);
    EXPECT_EQ(geteuid(), st.st_uid);
    EXPECT_EQ(mine.header().total_bytes, static_cast<std::uint64_t>(st.st_size));
    EXPECT_GE(static_cast<std::uint64_t>(st.st_blocks) * 512, mine.header().total_bytes) << "the space is reserved";
}

TEST_F(segments, two_of_one_job_have_different_names_and_secrets) {
    segment other;
    ASSERT_EQ(0, make());
    ASSERT_EQ(0, other.create(directory.path().c_str(), {9, 3, ring, 1}));
    EXPECT_STRNE(mine.ticket().name, other.ticket().name);
    EXPECT_NE(mine.ticket().secret_hi, other.ticket().secret_hi);
    EXPECT_NE(mine.ticket().secret_lo, other.ticket().secret_lo);
}

TEST_F(segments, impossible_geometry_is_refused_and_leaves_nothing) {
    const segment_shape bad[] = {{9, 0, ring},
                                 {9, layout::max_slots + 1, ring},
                                 {9, 1, 0},
                                 {9, 1, 8192},
                                 {9, 1, 20000},
                                 {9, 1, 128U << 20},
                                 {9, 1, ~0U},
                                 {9, 1, ring, 1, 0, 0},
                                 {9, 1, ring, 1, 0, layout::max_nodes + 1}};
    for (const segment_shape &b : bad) {
        EXPECT_EQ(EINVAL, mine.create(directory.path().c_str(), b));
        EXPECT_FALSE(mine.why().empty());
        EXPECT_FALSE(mine.mapped());
    }
    EXPECT_TRUE(directory.left().empty());
}

TEST_F(segments, a_missing_directory_is_an_error_with_its_reason) {
    EXPECT_EQ(ENOENT, mine.create("/nonexistent/here", {9, 1, ring, 1}));
    EXPECT_FALSE(mine.why().empty());
    EXPECT_EQ(-1, mine.fd());
}

// Whoever is told has it removed should this process end on the way, so it must be this process's, and told early.
TEST_F(segments, its_name_is_told_once_the_file_is_there_and_before_its_space_is_reserved) {
    static std::string told;
    static off_t size_then;
    told.clear();
    const auto named = [](const char *path) {
        struct stat st {};
        told = path;
        size_then = 0 == stat(path, &st) ? st.st_size : -1;
    };
    EXPECT_EQ(ENOENT, mine.create("/nonexistent/here", {9, 1, ring}, named));
    EXPECT_EQ("", told);
    ASSERT_EQ(0, mine.create(directory.path().c_str(), {9, 3, ring}, named));
    EXPECT_EQ(std::string(mine.ticket().directory) + "/" + mine.ticket().name, told);
    EXPECT_EQ(0, size_then);
}

TEST_F(segments, a_directory_too_long_for_the_ticket_is_an_error) {
    const std::string deep = "/" + std::string(200, 'd');
    EXPECT_EQ(ENAMETOOLONG, mine.create(deep.c_str(), {9, 1, ring, 1}));
    EXPECT_FALSE(mine.mapped());
}

TEST_F(segments, the_ticket_tells_where_the_file_is) {
    ASSERT_EQ(0, make());
    EXPECT_EQ(directory.path(), mine.ticket().directory);
}

TEST_F(segments, one_that_could_not_be_made_can_be_made_elsewhere) {
    EXPECT_EQ(ENOENT, mine.create("/nonexistent/here", {9, 1, ring, 1}));
    EXPECT_EQ(0, make()) << mine.why();
    EXPECT_EQ(0, theirs_opens(mine.ticket()));
}

TEST_F(segments, the_name_goes_with_unlink_and_the_mapping_stays) {
    ASSERT_EQ(0, make());
    ASSERT_EQ(0, theirs_opens(mine.ticket()));
    mine.unlink();
    EXPECT_TRUE(directory.left().empty());
    mine.unlink();
    mine.slot(0).control.vpid = 4;
    EXPECT_EQ(4U, theirs.slot(0).control.vpid);
    segment late;
    EXPECT_EQ(ENOENT, late.open(directory.path().c_str(), mine.ticket()));
}

TEST_F(segments, the_creator_takes_the_name_along_and_a_guest_does_not) {
    ASSERT_EQ(0, make());
    ASSERT_EQ(0, theirs_opens(mine.ticket()));
    theirs.close();
    EXPECT_EQ(1U, directory.left().size());
    mine.close();
    EXPECT_TRUE(directory.left().empty());
    EXPECT_FALSE(mine.mapped());
    mine.close();
}

// Its creator, and all who would remove it, were killed.
TEST_F(segments, one_that_was_left_behind_goes_with_the_next_and_one_in_use_does_not) {
    ASSERT_EQ(0, make());
    mine.close_fd(); // no helper is to inherit it
    EXPECT_EQ(-1, mine.fd());
    const pid_t child = fork();
    if (0 == child) {
        segment lost;
        const int error = lost.create(directory.path().c_str(), {9, 3, ring, 1});
        lost.close_fd();
        raise(0 == error ? SIGKILL : SIGABRT);
    }
    int status = 0;
    ASSERT_EQ(child, waitpid(child, &status, 0));
    ASSERT_TRUE(WIFSIGNALED(status) && SIGKILL == WTERMSIG(status));
    EXPECT_EQ(2U, directory.left().size());
    segment next;
    ASSERT_EQ(0, next.create(directory.path().c_str(), {10, 3, ring, 1}));
    EXPECT_EQ(2U, directory.left().size());
    EXPECT_EQ(0, theirs_opens(mine.ticket())) << "it is there still";
    mine.close_fd(); // harmless twice
    segment last;
    ASSERT_EQ(0, last.create(directory.path().c_str(), {11, 3, ring, 1}));
    EXPECT_EQ(3U, directory.left().size());
}

TEST_F(segments, no_descriptor_is_left_open) {
    const unsigned before = test::open_descriptors();
    {
        segment a, b;
        ASSERT_EQ(0, a.create(directory.path().c_str(), {9, 1, ring, 1}));
        ASSERT_EQ(0, b.open(directory.path().c_str(), a.ticket()));
        EXPECT_EQ(-1, b.fd());
        segment_ticket wrong = a.ticket();
        ++wrong.slots;
        segment c;
        EXPECT_NE(0, c.open(directory.path().c_str(), wrong));
    }
    EXPECT_EQ(before, test::open_descriptors());
}

TEST_F(segments, a_segment_of_a_file_unlinked_already_is_adopted_through_its_descriptor) {
    ASSERT_EQ(0, make());
    const int fd = dup(mine.fd());
    mine.unlink();
    ASSERT_EQ(0, theirs.adopt(fd)) << theirs.why();
    EXPECT_EQ(-1, fcntl(fd, F_GETFD)) << "closed";
    EXPECT_EQ(mine.header().secret_hi, theirs.header().secret_hi);
    EXPECT_EQ(EBADF, segment().adopt(-1));
}

TEST_F(segments, a_malformed_name_is_refused) {
    ASSERT_EQ(0, make());
    segment_ticket t = mine.ticket();
    t.name[0] = 0;
    EXPECT_EQ(EINVAL, theirs_opens(t));
    t = mine.ticket();
    std::strcpy(t.name, "../x");
    EXPECT_EQ(EINVAL, theirs_opens(t));
    std::memset(t.name, 'a', sizeof(t.name));
    EXPECT_EQ(EINVAL, theirs_opens(t));
}

TEST_F(segments, a_symbolic_link_is_not_followed) {
    ASSERT_EQ(0, make());
    segment_ticket t = mine.ticket();
    std::strcpy(t.name, "link");
    ASSERT_EQ(0, symlink(file().c_str(), (directory.path() + "/link").c_str()));
    EXPECT_EQ(ELOOP, theirs_opens(t));
}

TEST_F(segments, a_ticket_of_another_job_is_refused) {
    ASSERT_EQ(0, make());
    for (int field = 0; field < 5; ++field) {
        segment_ticket t = mine.ticket();
        t.secret_hi ^= 0 == field ? 1 : 0;
        t.secret_lo ^= 1 == field ? 1 : 0;
        t.slots += 2 == field ? 1 : 0;
        t.ring_bytes *= 3 == field ? 2 : 1;
        t.job += 4 == field ? 1 : 0;
        EXPECT_EQ(EPROTO, theirs_opens(t)) << "field " << field;
        EXPECT_FALSE(theirs.mapped());
        EXPECT_FALSE(theirs.why().empty());
    }
    EXPECT_EQ(0, theirs_opens(mine.ticket()));
}

TEST_F(segments, every_wrong_field_of_the_header_is_refused) {
    ASSERT_EQ(0, make());
    auto &h = mine.header();
    const auto refused = [&](const char *what, auto &field, auto wrong, int error) {
        const auto right = static_cast<std::remove_reference_t<decltype(wrong)>>(field);
        field = wrong;
        EXPECT_EQ(error, theirs_opens(mine.ticket())) << what;
        EXPECT_FALSE(theirs.mapped()) << what;
        EXPECT_FALSE(theirs.why().empty()) << what;
        field = right;
    };
    refused("magic", h.magic, h.magic ^ 1, EPROTO);
    refused("version", h.version, layout::version + 1, EPROTO);
    refused("layout sum", h.layout_sum, h.layout_sum + 1, EPROTO);
    refused("owner", h.uid, h.uid + 1, EPERM);
    refused("ready", h.ready, 0U, EPROTO);
    refused("ready", h.ready, 2U, EPROTO);
    refused("slots", h.slots, 0U, EPROTO);
    refused("slots", h.slots, 2U, EPROTO);
    refused("slots", h.slots, 4U, EPROTO);
    refused("slots", h.slots, ~0U, EPROTO);
    refused("nodes", h.nodes, 0U, EPROTO);
    refused("nodes", h.nodes, layout::max_nodes - 1, EPROTO);
    refused("nodes", h.nodes, layout::max_nodes + 1, EPROTO);
    refused("ring", h.ring_bytes, ring * 2, EPROTO);
    refused("ring", h.ring_bytes, ring + 64, EPROTO);
    refused("total", h.total_bytes, h.total_bytes + 4096, EPROTO);
    refused("stride", h.slot_stride, h.slot_stride + 64, EPROTO);
    refused("slots offset", h.slots_offset, h.slots_offset + 64, EPROTO);
    refused("nodes offset", h.nodes_offset, h.nodes_offset + 64, EPROTO);
    refused("relay offset", h.relay_offset, ~0ULL - 63, EPROTO);
    refused("helper offset", h.helper_offset, h.helper_offset + 64, EPROTO);
    refused("job", h.job, h.job + 1, EPROTO);
    EXPECT_EQ(0, theirs_opens(mine.ticket()));
}

TEST_F(segments, a_wrong_version_says_which) {
    ASSERT_EQ(0, make());
    mine.header().version = 4242;
    EXPECT_EQ(EPROTO, theirs_opens(mine.ticket()));
    EXPECT_NE(std::string::npos, theirs.why().find("4242")) << theirs.why();
}

TEST_F(segments, a_truncated_file_is_refused_before_anything_in_it_is_read) {
    ASSERT_EQ(0, make());
    const auto whole = static_cast<off_t>(mine.header().total_bytes);
    for (const off_t bytes : {off_t{0}, off_t{1}, off_t{127}, off_t{128}, off_t{4096}, whole - 1, whole - 4096}) {
        segment copy; // a file of its own, for this mapping must stay whole
        segment_ticket t = mine.ticket();
        std::snprintf(t.name, sizeof(t.name), "short-%ld", static_cast<long>(bytes));
        const std::string path = directory.path() + "/" + t.name;
        const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
        ASSERT_GE(fd, 0);
        const auto part = static_cast<std::size_t>(bytes);
        ASSERT_EQ(bytes, write(fd, &mine.header(), part));
        close(fd);
        EXPECT_EQ(EPROTO, copy.open(directory.path().c_str(), t)) << bytes;
        EXPECT_FALSE(copy.mapped());
    }
}

TEST_F(segments, what_is_no_regular_file_is_refused) {
    ASSERT_EQ(0, make());
    segment_ticket t = mine.ticket();
    std::strcpy(t.name, "pipe");
    ASSERT_EQ(0, mkfifo((directory.path() + "/pipe").c_str(), 0600));
    EXPECT_EQ(EPERM, theirs_opens(t));
}

TEST_F(segments, a_file_of_another_user_is_refused) {
    if (0 != geteuid()) {
        GTEST_SKIP() << "needs root";
    }
    ASSERT_EQ(0, make());
    ASSERT_EQ(0, chown(file().c_str(), 12345, 0));
    EXPECT_EQ(EPERM, theirs_opens(mine.ticket()));
}

TEST_F(segments, what_is_written_over_the_header_later_moves_nothing) {
    ASSERT_EQ(0, make());
    ASSERT_EQ(0, theirs_opens(mine.ticket()));
    const auto *helper = &theirs.helper(3);
    const auto *node = &theirs.node(1);
    const auto *relay = &theirs.relay();
    const auto *slot = &theirs.slot(2);
    std::memset(static_cast<void *>(&mine.header()), 0xff, sizeof(layout::segment_header));
    for (segment *s : {&mine, &theirs}) {
        EXPECT_EQ(3U, s->slots());
        EXPECT_EQ(ring, s->ring_bytes());
        EXPECT_EQ(layout::max_nodes, s->nodes());
    }
    EXPECT_EQ(helper, &theirs.helper(3));
    EXPECT_EQ(node, &theirs.node(1));
    EXPECT_EQ(relay, &theirs.relay());
    EXPECT_EQ(slot, &theirs.slot(2));
}

TEST_F(segments, a_full_directory_is_an_error_and_not_a_fault_later) {
    const std::string mount_point = directory.path() + "-full";
    ASSERT_EQ(0, mkdir(mount_point.c_str(), 0700));
    if (0 != mount("none", mount_point.c_str(), "tmpfs", 0, "size=256k")) {
        const int error = errno;
        rmdir(mount_point.c_str());
        GTEST_SKIP() << "no file system can be mounted here: " << std::strerror(error);
    }
    EXPECT_EQ(ENOSPC, mine.create(mount_point.c_str(), {9, 64, 65536, 1}));
    EXPECT_NE(std::string::npos, mine.why().find("KiB")) << mine.why();
    EXPECT_FALSE(mine.mapped());
    EXPECT_EQ(-1, mine.fd());
    EXPECT_EQ(0, umount(mount_point.c_str())) << "nothing is open in it";
    EXPECT_EQ(0, rmdir(mount_point.c_str())) << "and nothing is left in it";
}

void nothing(int) {}

TEST_F(segments, signals_that_keep_coming_do_not_keep_one_from_being_made) {
    // an application with a profiling timer; fallocate gives up at a signal
    struct sigaction a {
    }, before{};
    a.sa_handler = nothing;
    a.sa_flags = SA_RESTART;
    sigaction(SIGPROF, &a, &before);
    const pid_t me = getpid();
    test::child storm([me] {
        for (int i = 0; i < 20000; ++i) {
            kill(me, SIGPROF);
            timespec t{0, 50000};
            nanosleep(&t, nullptr);
        }
    });
    for (int i = 0; i < 20; ++i) {
        segment s;
        EXPECT_EQ(0, s.create(directory.path().c_str(), {9, 64, 262144, 1})) << s.why();
        if (HasFailure()) {
            break;
        }
    }
    storm.kill();
    storm.join();
    sigaction(SIGPROF, &before, nullptr);
}

} // namespace
} // namespace smartint
