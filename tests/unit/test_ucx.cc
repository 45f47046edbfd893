// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "common_smartint_ucx.h"

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
