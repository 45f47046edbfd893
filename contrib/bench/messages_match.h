// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// What finding a message's receive costs when many are posted, and finding a receive's message when
// many are there. Of `depth` of them only some are timed, the rest is cleared away in order.

#ifndef SMARTINT_BENCH_MESSAGES_MATCH_H
#define SMARTINT_BENCH_MESSAGES_MATCH_H

#include "bench_work.h"
#include "messages_pair.h"

#include <algorithm>
#include <cstdint>
#include <mpi.h>
#include <vector>

namespace bench {

enum class taken { oldest, newest, newest_of_any };

inline const char *name_of(taken t) {
    constexpr const char *names[] = {"oldest", "newest", "newest_of_any"};
    return names[static_cast<int>(t)];
}

class matching {
public:
    matching(pair_of_ranks &pair, int depth)
        : pair_(pair), depth_(depth), timed_(std::min(depth, 100)), values_(static_cast<std::size_t>(depth)) {
        // of this pair alone: only its two ranks send to each other here
        MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
    }
    ~matching() { MPI_Comm_free(&comm_); }
    matching(const matching &) = delete;
    matching &operator=(const matching &) = delete;

    // Whether as many tags exist.
    static bool possible(int depth) {
        int *highest = nullptr, found = 0;
        MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &highest, &found);
        return 0 != found && depth <= *highest;
    }

    // us per message with `depth` receives posted: sent, matched, completed.
    double posted(taken which) {
        double took = 0;
        if (pair_.lower) {
            char ready;
            MPI_Recv(&ready, 1, MPI_CHAR, pair_.peer, tag_ack, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            const double begin = now_us();
            for (int i = 0; i < timed_; ++i) {
                send(tag_of(which, i));
            }
            MPI_Recv(&ready, 1, MPI_CHAR, pair_.peer, tag_ack, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            took = now_us() - begin;
            for_the_rest(which, [this](int tag) { send(tag); });
        } else {
            clear();
            std::vector<MPI_Request> requests(values_.size()), timed;
            for (int tag = 0; tag < depth_; ++tag) {
                MPI_Irecv(&value(tag), 1, MPI_UINT64_T, source(which), tag, comm_,
                          &requests[static_cast<std::size_t>(tag)]);
            }
            for (int i = 0; i < timed_; ++i) {
                std::swap(timed.emplace_back(MPI_REQUEST_NULL), requests[static_cast<std::size_t>(tag_of(which, i))]);
            }
            const char ready = 1;
            MPI_Send(&ready, 1, MPI_CHAR, pair_.peer, tag_ack, MPI_COMM_WORLD);
            MPI_Waitall(timed_, timed.data(), MPI_STATUSES_IGNORE);
            MPI_Send(&ready, 1, MPI_CHAR, pair_.peer, tag_ack, MPI_COMM_WORLD);
            MPI_Waitall(depth_, requests.data(), MPI_STATUSES_IGNORE);
            check("posted receives");
        }
        return took / timed_;
    }

    // us per receive with `depth` messages there; the receiver's figure, on both sides.
    double unexpected(taken which) {
        double took = 0;
        if (pair_.lower) {
            for (int tag = 0; tag < depth_; ++tag) {
                send(tag);
            }
            // what was sent before is there when this is: the queue is full before the clock starts
            send(depth_);
            MPI_Recv(&took, 1, MPI_DOUBLE, pair_.peer, tag_ack, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            clear();
            std::uint64_t last = 0;
            MPI_Recv(&last, 1, MPI_UINT64_T, pair_.peer, depth_, comm_, MPI_STATUS_IGNORE);
            const double begin = now_us();
            for (int i = 0; i < timed_; ++i) {
                receive(tag_of(which, i), source(which));
            }
            took = now_us() - begin;
            for_the_rest(which, [&](int tag) { receive(tag, source(which)); });
            check("unexpected messages");
            MPI_Send(&took, 1, MPI_DOUBLE, pair_.peer, tag_ack, MPI_COMM_WORLD);
        }
        return took / timed_;
    }

private:
    int tag_of(taken which, int i) const { return taken::oldest == which ? i : depth_ - 1 - i; }

    template <typename F> void for_the_rest(taken which, F f) const {
        const int from = taken::oldest == which ? timed_ : 0;
        for (int tag = from; tag < from + depth_ - timed_; ++tag) {
            f(tag);
        }
    }

    int source(taken which) const { return taken::newest_of_any == which ? MPI_ANY_SOURCE : pair_.peer; }
    std::uint64_t &value(int tag) { return values_[static_cast<std::size_t>(tag)]; }

    void send(int tag) {
        const auto word = static_cast<std::uint64_t>(tag) * 0x9e3779b97f4a7c15u + 1;
        MPI_Send(&word, 1, MPI_UINT64_T, pair_.peer, tag, comm_);
    }
    void receive(int tag, int from) { MPI_Recv(&value(tag), 1, MPI_UINT64_T, from, tag, comm_, MPI_STATUS_IGNORE); }

    void clear() { std::fill(values_.begin(), values_.end(), 0u); }
    void check(const char *what) {
        for (int tag = 0; tag < depth_; ++tag) {
            if (static_cast<std::uint64_t>(tag) * 0x9e3779b97f4a7c15u + 1 != value(tag)) {
                pair_.complain(what, sizeof(std::uint64_t));
            }
        }
    }

    pair_of_ranks &pair_;
    const int depth_, timed_;
    std::vector<std::uint64_t> values_;
    MPI_Comm comm_ = MPI_COMM_NULL;
};

} // namespace bench

#endif
