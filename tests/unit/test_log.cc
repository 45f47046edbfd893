// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
// What was told stays told for a process, so each test has one of its own.
#include "common_smartint_log.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <thread>

#include "harness.h"

namespace smartint {
namespace {

struct heard {
    topic what;
    std::string value, detail;
};
std::vector<heard> said;
void listen(const report &r) { said.push_back({r.what, r.value, r.detail}); }

void in_a_process(const std::function<void()> &body) {
    test::child c([&] {
        said.clear();
        set_reporter(listen);
        body();
    });
    EXPECT_EQ(0, c.join());
}

TEST(reports, every_topic_is_a_section_of_the_help_file) {
    const char *top = std::getenv("top_srcdir");
    std::ifstream f(std::string(nullptr == top ? "." : top) + "/opal/mca/common/smartint/help-common-smartint.txt");
    if (!f) {
        GTEST_SKIP() << "top_srcdir is not set";
    }
    std::set<std::string> sections;
    for (std::string text; std::getline(f, text);) {
        if (!text.empty() && '[' == text[0]) {
            sections.insert(text.substr(1, text.find(']') - 1));
        }
    }
    for (unsigned i = 1; i < static_cast<unsigned>(topic::count_); ++i) {
        EXPECT_TRUE(sections.count(topic_name(static_cast<topic>(i)))) << topic_name(static_cast<topic>(i));
    }
}

TEST(reports, what_is_told_is_kept_until_flushed_and_told_once) {
    in_a_process([] {
        EXPECT_FALSE(reports_pending());
        tell(topic::no_wake, "value", "detail");
        tell(topic::no_wake, "another", "x");
        EXPECT_TRUE(said.empty());
        EXPECT_TRUE(reports_pending());
        flush_reports();
        EXPECT_FALSE(reports_pending());
        ASSERT_EQ(1U, said.size());
        EXPECT_EQ(topic::no_wake, said[0].what);
        EXPECT_EQ("value", said[0].value);
        EXPECT_EQ("detail", said[0].detail);
        tell(topic::no_wake, "again", "x");
        flush_reports();
        EXPECT_EQ(1U, said.size());
    });
}

TEST(reports, texts_are_copied) {
    in_a_process([] {
        {
            std::string temporary = "short lived";
            tell(topic::no_thread, temporary.c_str(), temporary.c_str());
            std::fill(temporary.begin(), temporary.end(), 'x');
        }
        flush_reports();
        ASSERT_EQ(1U, said.size());
        EXPECT_EQ("short lived", said[0].value);
        EXPECT_EQ("short lived", said[0].detail);
    });
}

TEST(reports, each_topic_speaks_for_itself) {
    in_a_process([] {
        for (unsigned i = 1; i < static_cast<unsigned>(topic::count_); ++i) {
            tell(static_cast<topic>(i), "v", "d");
        }
        flush_reports();
        EXPECT_EQ(static_cast<std::size_t>(topic::count_) - 1, said.size());
    });
}

TEST(reports, a_reporter_may_tell_something_itself_and_it_stays_pending) {
    in_a_process([] {
        set_reporter([](const report &r) {
            listen(r);
            tell(topic::no_segment, "told", "while telling"); // a lower topic
        });
        tell(topic::lost_peer, "v", "d");
        tell(topic::bad_parameter, "v", "d");
        flush_reports();
        if (3 != said.size()) {
            EXPECT_TRUE(reports_pending()) << "kept and not pending: nobody would flush it";
        }
        flush_reports();
        EXPECT_EQ(3U, said.size());
    });
}

TEST(reports, many_threads_may_tell) {
    in_a_process([] {
        std::vector<std::thread> threads;
        for (int t = 0; t < 4; ++t) {
            threads.emplace_back([] {
                for (unsigned i = 1; i < static_cast<unsigned>(topic::count_); ++i) {
                    tell(static_cast<topic>(i), "v", "d");
                }
            });
        }
        for (int i = 0; i < 100; ++i) {
            flush_reports();
        }
        for (auto &t : threads) {
            t.join();
        }
        flush_reports();
        EXPECT_EQ(static_cast<std::size_t>(topic::count_) - 1, said.size());
    });
}

TEST(reports, without_a_reporter_they_go_to_standard_error) {
    test::child c([] {
        set_reporter(nullptr);
        testing::internal::CaptureStderr();
        tell(topic::no_helper, "the program", "the reason");
        flush_reports();
        EXPECT_EQ("smartint: no-helper: the program the reason\n", testing::internal::GetCapturedStderr());
    });
    EXPECT_EQ(0, c.join());
}

} // namespace
} // namespace smartint
