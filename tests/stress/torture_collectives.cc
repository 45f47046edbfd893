// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Collective calls amid the messages, nonblocking or not; every byte of the result is known.

#include "torture.h"

namespace torture {
namespace {

using bytes = std::vector<std::byte>;

std::uint64_t between(std::uint64_t key, int from, int to) {
    return mix(mix(key ^ static_cast<std::uint64_t>(from)) + static_cast<std::uint64_t>(to));
}

std::uint64_t term(std::uint64_t key, int rank, std::size_t i) {
    return mix(key + static_cast<std::uint64_t>(rank)) + i;
}

class call_under_way final : public operation {
public:
    call_under_way(const collective_call &call, const communicator &comm) : call_(call), name_(comm.comm) {
        MPI(MPI_Comm_rank(comm.comm, &rank_));
        MPI(MPI_Comm_size(comm.comm, &size_));
        root_ = static_cast<int>(call.root % static_cast<unsigned>(size_));
        one_ = static_cast<int>(call.bytes);
        words_ = one_ / 8;
        begin();
    }

    void finish(const MPI_Status &) override {
        switch (call_.what) {
        case collective::barrier:
            return;
        case collective::bcast:
            return check(into_.data(), call_.key, one_, "a broadcast");
        case collective::allreduce:
            return check_sum(0, size_);
        case collective::reduce:
            return rank_ == root_ ? check_sum(0, size_) : void();
        case collective::scan:
            return check_sum(0, rank_ + 1);
        case collective::allgather:
            return check_parts(-1);
        case collective::gather:
            return rank_ == root_ ? check_parts(-1) : void();
        case collective::scatter:
            return check(into_.data(), between(call_.key, root_, rank_), one_, "a scattered part");
        case collective::alltoall:
        case collective::alltoallv:
            return check_parts(rank_);
        }
    }

private:
    int length(int from, int to) const {
        return collective::alltoallv == call_.what ? static_cast<int>(between(call_.key, to, from) % (call_.bytes + 1))
                                                   : one_;
    }

    void check(const std::byte *got, std::uint64_t key, int n, const char *what) const {
        bytes want(static_cast<std::size_t>(n));
        pattern(want.data(), want.size(), key, 0);
        for (std::size_t i = 0; i < want.size(); ++i) {
            if (want[i] != got[i]) {
                fail("%s: byte %zu of %d is %02x, expected %02x", what, i, n, static_cast<unsigned>(got[i]),
                     static_cast<unsigned>(want[i]));
            }
        }
    }

    void check_parts(int to) const { // one of each rank, side by side
        const std::byte *p = into_.data();
        for (int from = 0; from < size_; ++from) {
            const int n = length(from, to);
            check(p, between(call_.key, from, to), n, "a part of a collective call");
            p += n;
        }
    }

    void check_sum(int first, int end) const {
        for (std::size_t i = 0; i < sums_.size(); ++i) {
            std::uint64_t want = 0;
            for (int r = first; r < end; ++r) {
                want += term(call_.key, r, i);
            }
            if (sums_[i] != want) {
                fail("sum %zu of %zu is %llx, expected %llx", i, sums_.size(),
                     static_cast<unsigned long long>(sums_[i]), static_cast<unsigned long long>(want));
            }
        }
    }

    void begin() {
        const auto all = static_cast<std::size_t>(size_) * call_.bytes;
        switch (call_.what) {
        case collective::barrier:
            break;
        case collective::bcast:
            into_.resize(call_.bytes);
            if (rank_ == root_) {
                pattern(into_.data(), into_.size(), call_.key, 0);
            }
            break;
        case collective::allreduce:
        case collective::reduce:
        case collective::scan:
            for (int i = 0; i < words_; ++i) {
                terms_.push_back(term(call_.key, rank_, static_cast<std::size_t>(i)));
            }
            sums_.resize(terms_.size());
            break;
        case collective::scatter:
            into_.resize(call_.bytes);
            if (rank_ == root_) {
                prepare(rank_);
            }
            break;
        case collective::allgather:
        case collective::gather:
            from_.resize(call_.bytes);
            pattern(from_.data(), from_.size(), between(call_.key, rank_, -1), 0);
            into_.resize(all);
            break;
        case collective::alltoall:
        case collective::alltoallv:
            into_.resize(all);
            prepare(rank_);
            break;
        }
        if (call_.blocking) {
            start_blocking();
            finish(MPI_Status{});
        } else {
            start();
        }
    }

    void prepare(int from) { // a part for each rank
        int out = 0;
        int in = 0;
        from_.resize(static_cast<std::size_t>(size_) * call_.bytes);
        for (int r = 0; r < size_; ++r) {
            out_counts_.push_back(length(from, r));
            in_counts_.push_back(length(r, from));
            out_places_.push_back(out);
            in_places_.push_back(in);
            pattern(from_.data() + out, static_cast<std::size_t>(out_counts_.back()), between(call_.key, from, r), 0);
            out += out_counts_.back();
            in += in_counts_.back();
        }
    }

    void start() {
        const MPI_Datatype b = MPI_BYTE;
        const MPI_Datatype u = MPI_UINT64_T;
        void *from = from_.data();
        void *into = into_.data();
        const MPI_Comm c = name_;
        MPI_Request *q = &request;
        switch (call_.what) {
        case collective::barrier:
            MPI(MPI_Ibarrier(c, q));
            break;
        case collective::bcast:
            MPI(MPI_Ibcast(into, one_, b, root_, c, q));
            break;
        case collective::allreduce:
            MPI(MPI_Iallreduce(terms_.data(), sums_.data(), words_, u, MPI_SUM, c, q));
            break;
        case collective::reduce:
            MPI(MPI_Ireduce(terms_.data(), sums_.data(), words_, u, MPI_SUM, root_, c, q));
            break;
        case collective::scan:
            MPI(MPI_Iscan(terms_.data(), sums_.data(), words_, u, MPI_SUM, c, q));
            break;
        case collective::allgather:
            MPI(MPI_Iallgather(from, one_, b, into, one_, b, c, q));
            break;
        case collective::gather:
            MPI(MPI_Igather(from, one_, b, into, one_, b, root_, c, q));
            break;
        case collective::scatter:
            MPI(MPI_Iscatter(from, one_, b, into, one_, b, root_, c, q));
            break;
        case collective::alltoall:
            MPI(MPI_Ialltoall(from, one_, b, into, one_, b, c, q));
            break;
        case collective::alltoallv:
            MPI(MPI_Ialltoallv(from, out_counts_.data(), out_places_.data(), b, into, in_counts_.data(),
                               in_places_.data(), b, c, q));
            break;
        }
    }

    void start_blocking() {
        const MPI_Datatype b = MPI_BYTE;
        const MPI_Datatype u = MPI_UINT64_T;
        void *from = from_.data();
        void *into = into_.data();
        const MPI_Comm c = name_;
        switch (call_.what) {
        case collective::barrier:
            MPI(MPI_Barrier(c));
            break;
        case collective::bcast:
            MPI(MPI_Bcast(into, one_, b, root_, c));
            break;
        case collective::allreduce:
            MPI(MPI_Allreduce(terms_.data(), sums_.data(), words_, u, MPI_SUM, c));
            break;
        case collective::reduce:
            MPI(MPI_Reduce(terms_.data(), sums_.data(), words_, u, MPI_SUM, root_, c));
            break;
        case collective::scan:
            MPI(MPI_Scan(terms_.data(), sums_.data(), words_, u, MPI_SUM, c));
            break;
        case collective::allgather:
            MPI(MPI_Allgather(from, one_, b, into, one_, b, c));
            break;
        case collective::gather:
            MPI(MPI_Gather(from, one_, b, into, one_, b, root_, c));
            break;
        case collective::scatter:
            MPI(MPI_Scatter(from, one_, b, into, one_, b, root_, c));
            break;
        case collective::alltoall:
            MPI(MPI_Alltoall(from, one_, b, into, one_, b, c));
            break;
        case collective::alltoallv:
            MPI(MPI_Alltoallv(from, out_counts_.data(), out_places_.data(), b, into, in_counts_.data(),
                              in_places_.data(), b, c));
            break;
        }
    }

    collective_call call_;
    MPI_Comm name_;
    int rank_ = 0;
    int size_ = 0;
    int root_ = 0;
    int one_ = 0;   // bytes of a part
    int words_ = 0; // of a sum
    bytes from_;
    bytes into_;
    std::vector<std::uint64_t> terms_;
    std::vector<std::uint64_t> sums_;
    std::vector<int> out_counts_;
    std::vector<int> in_counts_;
    std::vector<int> out_places_;
    std::vector<int> in_places_;
};

} // namespace

// A blocking one is over on return, and there is nothing under way.
std::unique_ptr<operation> begin_collective(const collective_call &call, const communicator &comm, unsigned index) {
    auto o = std::make_unique<call_under_way>(call, comm);
    o->index = index;
    return call.blocking ? nullptr : std::move(o);
}

} // namespace torture
