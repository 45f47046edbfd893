// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// What the unit and race tests share: a watchdog in every program, child processes whose
// failures count, shared memory, scratch directories, patterns of bytes.
#pragma once

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>
#include <string>
#include <vector>

namespace smartint::test {

// Ends the process with a message when it has not ended by itself. A backstop against
// hanging, no measurement.
void start_watchdog(unsigned seconds);
inline const bool watchdog_runs = (start_watchdog(120), true);

// A child process. What fails in it fails the test that joins it.
class child {
public:
    explicit child(const std::function<void()> &body);
    ~child();
    child(const child &) = delete;
    child &operator=(const child &) = delete;
    int pid() const { return pid_; }
    void kill();
    int join(); // exit status; -signal where it was killed

private:
    int pid_ = -1;
    bool joined_ = false;
    int status_ = 0;
};

// Anonymous memory that children made later share, zeroed.
void *map_shared(std::size_t bytes);
void unmap_shared(void *p, std::size_t bytes);

template <class T> class shared_object {
public:
    explicit shared_object(std::size_t count = 1) : count_(count) {
        p_ = static_cast<T *>(map_shared(sizeof(T) * count));
        for (std::size_t i = 0; i < count; ++i) {
            new (p_ + i) T{};
        }
    }
    ~shared_object() { unmap_shared(p_, sizeof(T) * count_); }
    shared_object(const shared_object &) = delete;
    shared_object &operator=(const shared_object &) = delete;
    T *operator->() const { return p_; }
    T &operator*() const { return *p_; }
    T &operator[](std::size_t i) const { return p_[i]; }

private:
    T *p_ = nullptr;
    std::size_t count_;
};

// A directory of our own in shared memory, gone afterwards. left(): names still in it.
class scratch_directory {
public:
    scratch_directory();
    ~scratch_directory();
    const std::string &path() const { return path_; }
    std::vector<std::string> left() const;

private:
    std::string path_;
};

// Explicit step points: one side says a number is reached, the other waits for it.
class steps {
public:
    void reach(std::uint32_t n) { at_.store(n, std::memory_order_release); }
    void await(std::uint32_t n) const {
        while (at_.load(std::memory_order_acquire) < n) {
            sched_yield();
        }
    }

private:
    std::atomic<std::uint32_t> at_{0};
};

// Wait for a condition that must come; `what` names it if it does not. The limit only turns
// a hang into a message.
template <class F> bool wait_until(const char *what, F f) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!f()) {
        if (std::chrono::steady_clock::now() > end) {
            ADD_FAILURE() << "never came: " << what;
            return false;
        }
        sched_yield();
    }
    return true;
}

// Small generator, the same numbers everywhere.
class generator {
public:
    explicit generator(std::uint64_t seed) : x_(seed * 0x9e3779b97f4a7c15ULL + 0x1234567ULL) {}
    std::uint64_t next() {
        x_ ^= x_ << 13;
        x_ ^= x_ >> 7;
        x_ ^= x_ << 17;
        return x_ * 0x2545f4914f6cdd1dULL;
    }
    std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>((next() >> 33) % n); }

private:
    std::uint64_t x_;
};

void fill(void *p, std::size_t bytes, std::uint64_t seed);
// Index of the first byte that is not as filled, -1: all are.
std::ptrdiff_t differs(const void *p, std::size_t bytes, std::uint64_t seed);

// CPU time of this thread, nanoseconds.
std::uint64_t thread_cpu_ns();

// Number of open descriptors of this process.
unsigned open_descriptors();

} // namespace smartint::test
