// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "harness.h"

#include <dirent.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace smartint::test {
namespace {

void out_of_time(int) {
    // The process is stuck: what this calls may be what it is stuck in, so first the sure part.
    static constexpr char text[] = "watchdog: the test hangs: ";
    (void) !write(2, text, sizeof(text) - 1);
    const auto *test = ::testing::UnitTest::GetInstance()->current_test_info();
    if (nullptr != test) {
        (void) !write(2, test->name(), std::strlen(test->name()));
    }
    (void) !write(2, "\n", 1);
    _exit(124);
}

std::vector<std::string> names_in(const std::string &path) {
    std::vector<std::string> v;
    DIR *d = opendir(path.c_str());
    if (nullptr == d) {
        return v;
    }
    while (const dirent *e = readdir(d)) {
        const std::string name = e->d_name;
        if ("." != name && ".." != name) {
            v.push_back(name);
        }
    }
    closedir(d);
    return v;
}

std::uint64_t word_at(std::uint64_t seed, std::uint64_t i) {
    std::uint64_t x = seed + i * 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    return x ^ (x >> 31);
}

constexpr std::size_t chunk = 4096;

// One chunk of the pattern. Not watched by sanitizers, which only make it slow: it touches
// nothing but the caller's own array.
__attribute__((no_sanitize("thread", "address", "undefined"))) void
make_chunk(std::byte (&out)[chunk], std::uint64_t seed, std::uint64_t first_byte) {
    for (std::uint64_t i = 0; i < chunk / 8; ++i) {
        const std::uint64_t w = word_at(seed, first_byte / 8 + i);
        __builtin_memcpy(out + i * 8, &w, 8);
    }
}

// Every test has its own time: what hangs is named.
class rearm : public ::testing::EmptyTestEventListener {
    void OnTestStart(const ::testing::TestInfo &) override { alarm(limit); }

public:
    static unsigned limit;
};
unsigned rearm::limit = 120;

} // namespace

// UCX replaces memory calls that the C library makes in a thread which TSAN has seen end
// already, and the process crashes. It reads its settings when it is loaded, so: once again,
// without.
void start_again_for_tsan() {
#ifdef __SANITIZE_THREAD__
    if (nullptr == std::getenv("UCX_MEM_EVENTS")) {
        setenv("UCX_MEM_EVENTS", "no", 1);
        std::vector<std::string> words(1);
        std::FILE *f = std::fopen("/proc/self/cmdline", "r");
        for (int c = 0; nullptr != f && EOF != (c = std::fgetc(f));) {
            if (0 == c) {
                words.emplace_back();
            } else {
                words.back().push_back(static_cast<char>(c));
            }
        }
        if (nullptr != f) {
            std::fclose(f);
        }
        words.pop_back();
        std::vector<char *> argv;
        for (auto &w : words) {
            argv.push_back(w.data());
        }
        argv.push_back(nullptr);
        execv("/proc/self/exe", argv.data());
    }
#endif
}

void start_watchdog(unsigned seconds) {
    start_again_for_tsan();
    struct sigaction a {};
    a.sa_handler = out_of_time;
    sigaction(SIGALRM, &a, nullptr);
    std::setvbuf(stdout, nullptr, _IOLBF, 4096); // what was said before a hang is seen
    alarm(seconds);
    static bool once = false;
    rearm::limit = seconds;
    if (!once) {
        once = true;
        ::testing::UnitTest::GetInstance()->listeners().Append(new rearm);
    }
}

child::child(const std::function<void()> &body) {
    std::fflush(nullptr);
    pid_ = fork();
    if (0 != pid_) {
        return;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    start_watchdog(100);
    body();
    std::fflush(nullptr);
    _exit(::testing::Test::HasFailure() ? 1 : 0);
}

child::~child() {
    if (!joined_ && pid_ > 0) {
        kill();
        join();
    }
}

void child::kill() {
    if (!joined_ && pid_ > 0) {
        ::kill(pid_, SIGKILL);
    }
}

int child::join() {
    if (joined_) {
        return status_;
    }
    joined_ = true;
    int s = 0;
    while (pid_ != waitpid(pid_, &s, 0)) {
        if (EINTR != errno) {
            return status_ = 255;
        }
    }
    return status_ = WIFEXITED(s) ? WEXITSTATUS(s) : -WTERMSIG(s);
}

void *map_shared(std::size_t bytes) {
    void *p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (MAP_FAILED == p) {
        std::abort();
    }
    return p;
}

void unmap_shared(void *p, std::size_t bytes) { munmap(p, bytes); }

scratch_directory::scratch_directory() {
    std::string name = 0 == access("/dev/shm", W_OK) ? "/dev/shm/sunit.XXXXXX" : "/tmp/sunit.XXXXXX";
    if (nullptr == mkdtemp(name.data())) {
        std::abort();
    }
    path_ = name;
}

scratch_directory::~scratch_directory() {
    for (const auto &name : left()) {
        unlink((path_ + "/" + name).c_str());
    }
    rmdir(path_.c_str());
}

std::vector<std::string> scratch_directory::left() const { return names_in(path_); }

void fill(void *p, std::size_t bytes, std::uint64_t seed) {
    auto *b = static_cast<std::byte *>(p);
    std::byte want[chunk];
    for (std::size_t at = 0; at < bytes; at += chunk) {
        make_chunk(want, seed, at);
        std::memcpy(b + at, want, std::min(chunk, bytes - at));
    }
}

std::ptrdiff_t differs(const void *p, std::size_t bytes, std::uint64_t seed) {
    const auto *b = static_cast<const std::byte *>(p);
    std::byte want[chunk];
    for (std::size_t at = 0; at < bytes; at += chunk) {
        make_chunk(want, seed, at);
        const std::size_t n = std::min(chunk, bytes - at);
        if (0 != std::memcmp(b + at, want, n)) {
            std::size_t i = 0;
            while (b[at + i] == want[i]) {
                ++i;
            }
            return static_cast<std::ptrdiff_t>(at + i);
        }
    }
    return -1;
}

std::uint64_t thread_cpu_ns() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<std::uint64_t>(t.tv_sec) * 1000000000ULL + static_cast<std::uint64_t>(t.tv_nsec);
}

unsigned open_descriptors() { return static_cast<unsigned>(names_in("/proc/self/fd").size()) - 1; }

} // namespace smartint::test
