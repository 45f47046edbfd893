// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// instructions: MPI_Send and MPI_Recv for callgrind to count, without their waits: the ranks take
// turns by a word in shared memory, outside MPI, so that a receive's message is always there. Run
// by the script of this name. Plain MPI-3.1, two ranks on one node.

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1

#include "bench_parse.h"

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <mpi.h>
#include <sched.h>
#include <string>
#include <vector>

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#error "valgrind's headers are needed"
#endif

namespace {

constexpr int batch = 2; // messages between turns: more of 1 KiB, and ob1 waits for the receiver
constexpr int tag = 7;

// What is between these is counted: the script names them to callgrind.
extern "C" [[gnu::noinline]] void counted_send(const void *data, int bytes) {
    MPI_Send(data, bytes, MPI_BYTE, 1, tag, MPI_COMM_WORLD);
}

extern "C" [[gnu::noinline]] void counted_recv(void *data, int bytes) {
    MPI_Recv(data, bytes, MPI_BYTE, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// Whose turn it is, in memory that both map.
class turns {
public:
    explicit turns(int rank) : rank_(rank) {
        MPI_Comm node;
        MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
        MPI_Win_allocate_shared(0 == rank ? sizeof(word_type) : 0, 1, MPI_INFO_NULL, node, &word_, &window_);
        MPI_Aint size;
        int unit;
        MPI_Win_shared_query(window_, 0, &size, &unit, &word_);
        if (0 == rank) {
            word_->store(0);
        }
        MPI_Barrier(node);
        MPI_Comm_free(&node);
    }
    void end() { MPI_Win_free(&window_); }

    void wait() const {
        while (rank_ != static_cast<int>(word_->load() % 2)) {
            // a sender's progress may have to hand on what its queue had no room for
            int flag;
            if (0 == rank_) {
                MPI_Iprobe(1, tag, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
            }
            sched_yield();
        }
    }
    void pass_on() const { word_->fetch_add(1); }

private:
    using word_type = std::atomic<std::uint32_t>;
    int rank_;
    word_type *word_ = nullptr;
    MPI_Win window_ = MPI_WIN_NULL;
};

// `count` messages; returns how many arrived wrong.
int exchange(int rank, const turns &t, int bytes, int count) {
    std::vector<unsigned char> data(static_cast<std::size_t>(bytes));
    int wrong = 0;
    for (int done = 0; done < count; done += batch) {
        t.wait();
        for (int k = 0; k < batch; ++k) {
            const int filler = (done + k) % 251;
            if (0 == rank) {
                std::memset(data.data(), filler, data.size());
                counted_send(data.data(), bytes);
            } else {
                std::memset(data.data(), 255, data.size());
                counted_recv(data.data(), bytes);
                for (const unsigned char c : data) {
                    wrong += filler != c ? 1 : 0;
                }
            }
        }
        // what a library clears up in its progress, it does here, uncounted
        int flag;
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        t.pass_on();
    }
    return wrong;
}

} // namespace

int main(int argc, char **argv) {
    if (argc < 3) {
        std::fputs("instructions MESSAGES SIZE...: run by the script of this name\n", stderr);
        return 2;
    }
    const int messages = bench::number("messages", argv[1], 1, 1'000'000) / batch * batch;
    MPI_Init(&argc, &argv);
    int rank, size, wrong = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (2 != size) {
        std::fputs("instructions: needs two ranks\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    turns t(rank);
    for (int i = 2; i < argc; ++i) {
        const int bytes = static_cast<int>(bench::bytes("size", argv[i], 0));
        wrong += exchange(rank, t, bytes, 4 * messages); // the first ones are special
        // lengths N and 2 N: what is not per message is in both, and cancels
        for (int length = 1; length <= 2; ++length) {
            CALLGRIND_ZERO_STATS;
            wrong += exchange(rank, t, bytes, length * messages);
            const std::string name =
                (0 == rank ? "send " : "recv ") + std::to_string(bytes) + " " + std::to_string(length * messages);
            CALLGRIND_DUMP_STATS_AT(name.c_str());
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    t.wait(); // the last turn was passed on to rank 0
    t.pass_on();
    t.end();
    MPI_Finalize();
    if (0 != wrong) {
        std::fprintf(stderr, "instructions: rank %d: wrong data\n", rank);
    }
    return 0 == wrong ? 0 : 1;
}
