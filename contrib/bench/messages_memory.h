// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// The memory of a process as the kernel and the C library account for it.

#ifndef SMARTINT_BENCH_MESSAGES_MEMORY_H
#define SMARTINT_BENCH_MESSAGES_MEMORY_H

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <malloc.h>
#include <mpi.h>
#include <string>
#include <vector>

namespace bench {

// KiB. rss: all that is present, shared pages counted fully in each process. pss: shared pages
// divided by the number of processes that have them. anonymous: this process's own data. shared
// memory: segments, whoever else has them. malloc: what is allocated, touched or not. With smartint
// also, board: pages of the node's board this rank has touched; thread_stack: of its interrupt
// thread.
struct memory {
    static constexpr std::array<const char *, 7> names{"rss",    "pss",   "anonymous",   "shared_memory",
                                                       "malloc", "board", "thread_stack"};
    std::array<double, 7> kib{};

    static memory now() {
        memory m;
        m.kib[0] = field("/proc/self/status", "VmRSS:");
        m.kib[1] = field("/proc/self/smaps_rollup", "Pss:");
        m.kib[2] = field("/proc/self/status", "RssAnon:");
        m.kib[3] = field("/proc/self/status", "RssShmem:");
        const struct mallinfo2 heap = mallinfo2();
        m.kib[4] = static_cast<double>(heap.uordblks + heap.hblkhd) / 1024;
        m.add_mappings();
        return m;
    }

private:
    // Where the thread of this name stands in its stack; 0: there is none, or it runs.
    static std::uintptr_t stack_of(const std::string &thread) {
        std::error_code error;
        for (const auto &task : std::filesystem::directory_iterator("/proc/self/task", error)) {
            std::string name, line;
            std::getline(std::ifstream(task.path() / "comm"), name);
            std::getline(std::ifstream(task.path() / "syscall"), line);
            // number, six arguments, stack pointer, program counter
            std::uintptr_t sp = 0;
            if (name == thread && 1 == std::sscanf(line.c_str(), "%*d %*x %*x %*x %*x %*x %*x %lx", &sp)) {
                return sp;
            }
        }
        return 0;
    }

    void add_mappings() {
        const std::uintptr_t sp = stack_of("smartint");
        std::ifstream file("/proc/self/smaps");
        bool board = false, stack = false;
        for (std::string line; std::getline(file, line);) {
            std::uintptr_t from = 0, to = 0;
            double rss = 0;
            if (2 == std::sscanf(line.c_str(), "%lx-%lx ", &from, &to)) {
                board = std::string::npos != line.find("/smartint-");
                stack = from <= sp && sp < to;
            } else if (1 == std::sscanf(line.c_str(), "Rss: %lf", &rss)) {
                kib[5] += board ? rss : 0;
                kib[6] += stack ? rss : 0;
            }
        }
    }

    static double field(const char *path, const std::string &name) {
        std::ifstream file(path);
        for (std::string word; file >> word;) {
            if (word == name) {
                double value = 0;
                file >> value;
                return value;
            }
        }
        return 0;
    }
};

// One message of each size to every other rank, and one from it; wrong ones are counted.
inline std::uint64_t talk_to_all(const std::vector<std::size_t> &sizes) {
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    std::uint64_t wrong = 0;
    for (const std::size_t bytes : sizes) {
        std::vector<char> out(bytes), in(bytes);
        for (int distance = 1; distance < size; ++distance) {
            const int to = (rank + distance) % size, from = (rank + size - distance) % size;
            std::fill(out.begin(), out.end(), static_cast<char>(rank + distance));
            std::fill(in.begin(), in.end(), static_cast<char>(from + distance + 1));
            MPI_Sendrecv(out.data(), static_cast<int>(bytes), MPI_BYTE, to, 13, in.data(), static_cast<int>(bytes),
                         MPI_BYTE, from, 13, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (const char c : in) {
                wrong += static_cast<char>(from + distance) != c ? 1 : 0;
            }
        }
    }
    return wrong;
}

} // namespace bench

#endif
