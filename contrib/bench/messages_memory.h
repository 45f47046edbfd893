// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// The memory of a process as the kernel accounts for it.

#ifndef SMARTINT_BENCH_MESSAGES_MEMORY_H
#define SMARTINT_BENCH_MESSAGES_MEMORY_H

#include <array>
#include <cstdint>
#include <fstream>
#include <mpi.h>
#include <string>
#include <vector>

namespace bench {

// KiB. rss: all that is present, shared pages counted fully in each process. pss: shared pages
// divided by the number of processes that have them. anonymous: this process's own data. shared
// memory: segments, whoever else has them.
struct memory {
    static constexpr std::array<const char *, 4> names{"rss", "pss", "anonymous", "shared_memory"};
    std::array<double, 4> kib{};

    static memory now()
    {
        memory m;
        m.kib[0] = field("/proc/self/status", "VmRSS:");
        m.kib[1] = field("/proc/self/smaps_rollup", "Pss:");
        m.kib[2] = field("/proc/self/status", "RssAnon:");
        m.kib[3] = field("/proc/self/status", "RssShmem:");
        return m;
    }

private:
    static double field(const char *path, const std::string &name)
    {
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
inline std::uint64_t talk_to_all(const std::vector<std::size_t> &sizes)
{
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
            MPI_Sendrecv(out.data(), static_cast<int>(bytes), MPI_BYTE, to, 13, in.data(),
                         static_cast<int>(bytes), MPI_BYTE, from, 13, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
            for (const char c : in) {
                wrong += static_cast<char>(from + distance) != c ? 1 : 0;
            }
        }
    }
    return wrong;
}

} // namespace bench

#endif
