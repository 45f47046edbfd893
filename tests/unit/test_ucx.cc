// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "common_smartint_ucx.h"

#include <signal.h>

#include <fstream>
#include <iterator>

#include "common_smartint_uct.h"
#include "harness.h"

namespace smartint {
namespace {

TEST(ucx, as_old_or_newer_of_the_same_major_version_serves) {
    const struct {
        ucx_version built, running;
        bool serves;
    } table[] = {
        {{1, 13}, {1, 13}, true},  {{1, 13}, {1, 14}, true}, {{1, 13}, {1, 100}, true}, {{1, 13}, {1, 12}, false},
        {{1, 13}, {1, 0}, false},  {{1, 13}, {2, 0}, false}, {{1, 13}, {2, 13}, false}, {{2, 0}, {1, 20}, false},
        {{1, 13}, {0, 99}, false}, {{1, 13}, {0, 0}, false},
    };
    for (const auto &t : table) {
        EXPECT_EQ(t.serves, ucx_serves(t.built, t.running)) << (&t - table);
        EXPECT_EQ(t.serves, ucx_problem(t.built, t.running).empty()) << (&t - table);
    }
}

TEST(ucx, one_that_does_not_serve_is_named_with_both_versions_and_a_remedy) {
    const std::string older = ucx_problem({1, 13}, {1, 11});
    EXPECT_EQ("UCX 1.11 is found here, and smartint was built with 1.13: install that or a newer one on this host, "
              "or build smartint with this one",
              older);
    EXPECT_NE(std::string::npos, ucx_problem({1, 13}, {2, 1}).find("same major version"));
}

// In a newer UCX 1.x the elements of a worker's queue have a callback and an argument only, and an empty one's argument
// is the queue's own address: seen through the older headers a callback.
TEST(ucx, a_queue_that_is_laid_out_otherwise_is_seen) {
    ucs_callbackq_t queue{};
    EXPECT_TRUE(is_laid_out_alike(queue));
    auto *words = reinterpret_cast<void **>(queue.fast_elems);
    for (std::size_t i = 1; i < sizeof(queue.fast_elems) / sizeof(*words); i += 2) {
        words[i] = &queue;
    }
    EXPECT_FALSE(is_laid_out_alike(queue));
}

bool is_mapped(const char *library) {
    std::ifstream maps("/proc/self/maps");
    const std::string all((std::istreambuf_iterator<char>(maps)), std::istreambuf_iterator<char>());
    return std::string::npos != all.find(library);
}

TEST(ucx, is_not_there_before_it_is_loaded_and_where_it_is_not_found_that_is_said) {
    ASSERT_FALSE(is_mapped("/libuct.")) << "this test is to come before those that load it";
    uct_functions f;
    const std::string why = load_uct("libuct-nowhere.so.0", "/no/such/directory/libuct.so.0", &f);
    EXPECT_NE(std::string::npos, why.find("libuct-nowhere.so.0")) << why;
    EXPECT_NE(std::string::npos, why.find("install it on this host")) << why;
    EXPECT_EQ(nullptr, f.md_open);
    // a library, but not that one
    const std::string lacks = load_uct("libuct-nowhere.so.0", "libm.so.6", &f);
    EXPECT_NE(std::string::npos, lacks.find("has no uct_component_query")) << lacks;
    EXPECT_FALSE(is_mapped("/libuct."));
}

void the_applications(int /*signal*/) {}

TEST(ucx, leaves_the_applications_handlers_of_signals_as_they_are) {
    constexpr int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGHUP};
    struct sigaction mine {};
    struct sigaction before[std::size(signals)];
    mine.sa_handler = the_applications;
    for (std::size_t i = 0; i < std::size(signals); ++i) {
        ASSERT_EQ(0, sigaction(signals[i], &mine, &before[i]));
    }
    EXPECT_EQ("", load_uct());
    EXPECT_NE(nullptr, uct.md_open);
    EXPECT_NE(nullptr, uct.async_context_destroy);
    EXPECT_TRUE(is_mapped("/libuct."));
    for (std::size_t i = 0; i < std::size(signals); ++i) {
        struct sigaction now {};
        ASSERT_EQ(0, sigaction(signals[i], &before[i], &now));
        EXPECT_EQ(the_applications, now.sa_handler) << signals[i];
    }
}

TEST(ucx, the_one_of_this_build_serves_and_stays_loaded_once) {
    ucx_version v;
    if (!running_ucx(&v)) {
        GTEST_SKIP() << "this UCX comes without libucp";
    }
    EXPECT_GE(v.major, 1U);
    EXPECT_EQ("", ucx_problem());
    const unsigned before = test::open_descriptors();
    EXPECT_EQ("", ucx_problem());
    EXPECT_EQ(before, test::open_descriptors());
}

} // namespace
} // namespace smartint
