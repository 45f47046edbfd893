// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// What the parts of the messages benchmark share: who talks to whom, and the data, whose every byte
// says which message and which place it belongs to.

#ifndef SMARTINT_BENCH_MESSAGES_PAIR_H
#define SMARTINT_BENCH_MESSAGES_PAIR_H

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <mpi.h>
#include <vector>

namespace bench {

constexpr int tag_data = 11;
constexpr int tag_ack = 12;

struct pair_of_ranks {
    int rank = 0, size = 1, peer = 0;
    bool lower = true; // the lower half of the ranks sends where only one side does
    std::uint64_t wrong = 0;

    pair_of_ranks() {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        const int half = size / 2;
        lower = rank < half;
        peer = lower ? rank + half : rank - half;
    }

    void complain(const char *what, std::size_t bytes) {
        if (0 == wrong++) {
            std::fprintf(stderr, "messages: rank %d: wrong data: %s, %zu bytes\n", rank, what, bytes);
        }
    }
};

// Message number k of a window is sent from `step` bytes after message k - 1, so that neighbours
// differ, and lands in a buffer of its own: MPI allows the first to overlap, not the second.
class message_data {
public:
    message_data(std::size_t bytes, int window) : bytes_(bytes), window_(window) {
        const auto n = static_cast<std::size_t>(window);
        source_.resize(bytes + step * n);
        landing_.resize(distance() * n);
        for (std::size_t i = 0; i < source_.size(); ++i) {
            source_[i] = byte_at(i);
        }
        wipe();
    }

    const void *source(int k) const { return source_.data() + step * static_cast<std::size_t>(k); }
    void *landing(int k) { return landing_.data() + distance() * static_cast<std::size_t>(k); }

    // Nothing that was there before passes for what is to come.
    void wipe() { std::fill(landing_.begin(), landing_.end(), std::uint8_t{0xff}); }

    bool all_right(int count) {
        bool good = true;
        for (int k = 0; k < count; ++k) {
            const auto *at = static_cast<const std::uint8_t *>(landing(k));
            const auto *expected = static_cast<const std::uint8_t *>(source(k));
            good &= std::equal(at, at + bytes_, expected);
        }
        return good;
    }
    bool all_right() { return all_right(window_); }

private:
    static constexpr std::size_t step = 64;

    // 0xff never occurs; the period is longer than all of a window's steps
    static std::uint8_t byte_at(std::size_t i) {
        return static_cast<std::uint8_t>((i * 7 + i / 251 * 13 + i / 65521) % 255);
    }
    std::size_t distance() const { return (bytes_ + step - 1) / step * step + step; }

    std::size_t bytes_;
    int window_;
    std::vector<std::uint8_t> source_, landing_;
};

} // namespace bench

#endif
