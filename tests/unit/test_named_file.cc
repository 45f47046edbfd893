// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "common_smartint_named_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "harness.h"

namespace smartint {
namespace {

constexpr std::uint64_t bytes = 12288;

struct named_files : testing::Test {
    test::scratch_directory d;
    std::uint64_t name = 0;

    int create() { return create_named_file(d.path().c_str(), bytes, &name); }
    int open(std::uint64_t of_bytes = bytes) { return open_named_file(d.path().c_str(), name, of_bytes); }
    std::string path() { return std::filesystem::directory_iterator(d.path())->path(); }
    bool empty() { return std::filesystem::is_empty(d.path()); }
};

TEST_F(named_files, what_one_writes_the_other_reads) {
    const unsigned before = test::open_descriptors();
    const int mine = create();
    ASSERT_LE(0, mine);
    const int theirs = open();
    ASSERT_LE(0, theirs);
    void *a = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, mine, 0);
    void *b = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, theirs, 0);
    ASSERT_NE(MAP_FAILED, a);
    ASSERT_NE(MAP_FAILED, b);
    std::strcpy(static_cast<char *>(a) + bytes - 8, "there");
    EXPECT_STREQ("there", static_cast<char *>(b) + bytes - 8);
    munmap(a, bytes);
    munmap(b, bytes);
    close(mine);
    close(theirs);
    EXPECT_EQ(before, test::open_descriptors());
    remove_named_file(d.path().c_str(), name);
    EXPECT_TRUE(empty());
    remove_named_file(d.path().c_str(), name);
    EXPECT_EQ(-ENOENT, open());
}

TEST_F(named_files, none_is_like_another_and_only_its_user_may_open_it) {
    const int first = create();
    const std::uint64_t its = name;
    const int second = create();
    ASSERT_LE(0, first);
    ASSERT_LE(0, second);
    EXPECT_NE(its, name);
    struct stat s {};
    ASSERT_EQ(0, fstat(first, &s));
    EXPECT_EQ(0600U, s.st_mode & 07777);
    close(first);
    close(second);
    remove_named_file(d.path().c_str(), its);
    remove_named_file(d.path().c_str(), name);
}

// As where all of a node is killed at once.
TEST_F(named_files, what_nobody_holds_is_removed_and_nothing_else) {
    const unsigned before = test::open_descriptors();
    const int held = create();
    const std::uint64_t its = name;
    close(create());
    const std::string user = std::to_string(geteuid());
    const auto make = [&](const std::string &file) {
        close(::open((d.path() + "/" + file).c_str(), O_RDWR | O_CREAT | O_EXCL, 0600));
    };
    const std::string board = "smartint-" + user + "-6f3f0001-cb4ff47191ca5a90";
    make(board);
    const std::vector<std::string> others{
        "smartint-" + user + "-6f3f0001-cb4ff47191ca5a9",  "smartint-" + user + "-6f3f0001-cb4ff47191ca5a900",
        "smartint-" + user + "-6f3f0001-cb4ff47191ca5a9g", "smartint-" + user + "-6f3f00012cb4ff47191ca5a90",
        "smartint-" + user + "-1866399745-0-met",          "smartint-" + user + "1-6f3f0001-cb4ff47191ca5a90",
        "smartint-window-" + user + "-cb4ff47191ca5a9",    "vader_segment.vm.0.6f3f0001.0",
        "smartint-window-" + user + "1-cb4ff47191ca5a90",  "smartint-window-" + user + "-cb4ff47191ca5a9-"};
    for (const std::string &file : others) {
        make(file);
    }
    const std::string link = "smartint-" + user + "-00000001-cb4ff47191ca5a90";
    ASSERT_EQ(0, symlink((d.path() + "/" + others[0]).c_str(), (d.path() + "/" + link).c_str()));
    const std::string pipe = "smartint-" + user + "-00000002-cb4ff47191ca5a90";
    ASSERT_EQ(0, mkfifo((d.path() + "/" + pipe).c_str(), 0600));
    const std::string stranger = "smartint-" + user + "-00000003-cb4ff47191ca5a90";
    if (0 == geteuid()) {
        make(stranger);
        ASSERT_EQ(0, chown((d.path() + "/" + stranger).c_str(), 12345, 0));
    }

    remove_left_behind(d.path().c_str());
    EXPECT_FALSE(std::filesystem::exists(d.path() + "/" + board));
    EXPECT_EQ(-ENOENT, open()) << "nobody held that window's";
    for (const std::string &file : others) {
        EXPECT_TRUE(std::filesystem::exists(d.path() + "/" + file)) << file;
    }
    for (const std::string &file : {link, pipe}) {
        EXPECT_TRUE(std::filesystem::exists(std::filesystem::symlink_status(d.path() + "/" + file))) << file;
    }
    EXPECT_EQ(0 == geteuid(), std::filesystem::exists(d.path() + "/" + stranger));
    name = its;
    const int again = open();
    EXPECT_LE(0, again) << "held";
    close(held);
    close(again);
    remove_left_behind(d.path().c_str());
    EXPECT_EQ(-ENOENT, open());
    EXPECT_EQ(before, test::open_descriptors());
    remove_left_behind("/nonexistent/here");
}

TEST_F(named_files, one_that_was_removed_before_it_was_held_is_known) {
    const std::string path = d.path() + "/f";
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
    const int remover = ::open(path.c_str(), O_RDWR);
    ASSERT_LE(0, remover);
    ASSERT_EQ(0, flock(remover, LOCK_EX | LOCK_NB));
    EXPECT_FALSE(hold_name(fd)) << "it is about to be";
    close(remover);
    EXPECT_TRUE(hold_name(fd));
    ::unlink(path.c_str());
    EXPECT_FALSE(hold_name(fd));
    close(fd);
}

TEST_F(named_files, what_is_not_such_a_file_is_refused) {
    const unsigned before = test::open_descriptors();
    close(create());
    EXPECT_EQ(-EINVAL, open(bytes + 4096));
    EXPECT_EQ(-EINVAL, open(bytes - 4096));
    const std::string there = path();
    const std::string elsewhere = there + ".elsewhere";
    ASSERT_EQ(0, rename(there.c_str(), elsewhere.c_str()));
    ASSERT_EQ(0, symlink(elsewhere.c_str(), there.c_str()));
    EXPECT_EQ(-ELOOP, open());
    ASSERT_EQ(0, unlink(there.c_str()));
    ASSERT_EQ(0, mkfifo(there.c_str(), 0600));
    EXPECT_EQ(-EINVAL, open());
    ASSERT_EQ(0, unlink(there.c_str()));
    ASSERT_EQ(0, mkdir(there.c_str(), 0700));
    EXPECT_EQ(-EISDIR, open());
    ASSERT_EQ(0, rmdir(there.c_str()));
    if (0 == geteuid()) { // else nobody's file can be made another's
        ASSERT_EQ(0, rename(elsewhere.c_str(), there.c_str()));
        ASSERT_EQ(0, chown(there.c_str(), 65534, 65534));
        EXPECT_EQ(-EINVAL, open());
    }
    EXPECT_EQ(before, test::open_descriptors());
}

TEST_F(named_files, where_there_is_no_room_nothing_is_left) {
    const unsigned before = test::open_descriptors();
    EXPECT_GT(0, create_named_file(d.path().c_str(), std::uint64_t{1} << 60, &name));
    EXPECT_TRUE(empty());
    EXPECT_EQ(-ENOENT, create_named_file((d.path() + "/no").c_str(), bytes, &name));
    EXPECT_EQ(before, test::open_descriptors());
}

// The kernel would end the process by SIGXFSZ.
TEST_F(named_files, what_is_longer_than_files_may_be_is_an_error_and_no_signal) {
    rlimit before{};
    ASSERT_EQ(0, getrlimit(RLIMIT_FSIZE, &before));
    rlimit small = before;
    small.rlim_cur = 1 << 20;
    const int fd = memfd_create("here", MFD_CLOEXEC);
    ASSERT_EQ(0, setrlimit(RLIMIT_FSIZE, &small));
    const int reserved = reserve_memory(fd, small.rlim_cur + 1);
    const int set = set_length(fd, small.rlim_cur + 1);
    const int named = create_named_file(d.path().c_str(), small.rlim_cur + 1, &name);
    const int fits = set_length(fd, small.rlim_cur);
    ASSERT_EQ(0, setrlimit(RLIMIT_FSIZE, &before));
    EXPECT_EQ(EFBIG, reserved);
    EXPECT_EQ(EFBIG, set);
    EXPECT_EQ(-EFBIG, named);
    EXPECT_EQ(0, fits);
    struct ::stat st {};
    EXPECT_EQ(0, fstat(fd, &st));
    EXPECT_EQ(1 << 20, st.st_size);
    close(fd);
    EXPECT_TRUE(empty());
}

TEST_F(named_files, a_program_that_makes_its_files_readable_only_shares_memory_all_the_same) {
    const mode_t before = umask(0222);
    const int fd = create();
    umask(before);
    ASSERT_LE(0, fd);
    struct ::stat st {};
    ASSERT_EQ(0, fstat(fd, &st));
    EXPECT_EQ(0600U, st.st_mode & 0777U);
    close(fd);
    remove_named_file(d.path().c_str(), name);
}

} // namespace
} // namespace smartint
