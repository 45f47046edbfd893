// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// epochs: one-sided epochs with one put or get, and a computation of origin or target inside them (SI
// Figures 5.6 to 5.13). Plain MPI-3.1, for any MPI library:
//
//     mpicxx -O2 -std=c++20 -o epochs epochs.cc && mpirun -np 2 ./epochs --help
//
// T_lat is the epoch's duration while nobody computes: until all ranks are through with it.

#define OMPI_SKIP_MPICXX  1
#define MPICH_SKIP_MPICXX 1

#include "bench_hide.h"

namespace bench {
namespace {

enum class kind { fence, start, lock };

const std::vector<std::string> kinds{"fence", "start", "lock"};

struct options : program_options, hide_options {
    std::vector<std::string> names = kinds;
    std::vector<std::size_t> sizes{64 << 10, 256 << 10, 1 << 20};
    bool gets = true, puts = true, allocates = false;
};

options parse(int argc, char **argv)
{
    options o;
    arguments a("epochs - one-sided epochs, and computation inside them\n\n"
                "  mpirun -np 2 ./epochs [options]\n\n"
                "The first half of the ranks are origins, each of the one in the second half that has its "
                "place.\nfence: MPI_Win_fence; start: MPI_Win_start and complete, post and wait; lock: an "
                "exclusive one.\nData is checked after every epoch.\n");
    a.add('o', "only", "LIST", "of fence, start, lock (default: all)", [&o](const char *text) {
        o.names.clear();
        for (const auto part : split(text)) {
            if (kinds.end() == std::find(kinds.begin(), kinds.end(), part)) {
                bad_value("only", part);
            }
            o.names.emplace_back(part);
        }
    });
    a.add(0, "operation", "LIST", "of put, get (default: both)", [&o](const char *text) {
        o.puts = o.gets = false;
        for (const auto part : split(text)) {
            if ("put" != part && "get" != part) {
                bad_value("operation", part);
            }
            ("put" == part ? o.puts : o.gets) = true;
        }
    });
    a.flag(0, "allocate", "windows by MPI_Win_allocate, not of the program's own memory", o.allocates);
    a.sizes('s', "sizes", "bytes, default 64K,256K,1M", o.sizes);
    o.hide_options::add_to(a);
    o.program_options::add_to(a);
    a.parse(argc, argv);
    return o;
}

class epoch : public communication {
public:
    epoch(const program &p, kind how, bool get, bool allocates, std::size_t bytes)
        : kind_(how), get_(get), bytes_(bytes), rank_(p.rank()), buffer_(bytes)
    {
        const int half = p.size() / 2;
        origin_ = rank_ < half;
        other_ = origin_ ? rank_ + half : rank_ - half;
        const auto size = static_cast<MPI_Aint>(bytes);
        if (allocates) {
            MPI_Win_allocate(size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory_, &window_);
        } else {
            own_.resize(bytes);
            memory_ = own_.data();
            MPI_Win_create(memory_, size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window_);
        }
        MPI_Group world;
        MPI_Comm_group(MPI_COMM_WORLD, &world);
        MPI_Group_incl(world, 1, &other_, &group_);
        MPI_Group_free(&world);
    }
    ~epoch() override
    {
        MPI_Group_free(&group_);
        MPI_Win_free(&window_);
    }

    void prepare(std::uint64_t repetition) override
    {
        seed_ = seed_of(repetition, std::min(rank_, other_), std::max(rank_, other_));
        if (origin_ != get_) {
            fill(source(), bytes_, seed_);
        }
        MPI_Barrier(MPI_COMM_WORLD); // a target that is read need not be in the epoch
    }

    void post(std::vector<MPI_Request> &) override
    {
        if (kind::fence == kind_) {
            MPI_Win_fence(MPI_MODE_NOPRECEDE, window_);
        } else if (kind::start == kind_ && !origin_) {
            MPI_Win_post(group_, 0, window_);
        } else if (kind::start == kind_) {
            MPI_Win_start(group_, 0, window_);
        } else if (origin_) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, other_, 0, window_);
        }
        if (!origin_) {
            return;
        }
        const int count = static_cast<int>(bytes_);
        if (get_) {
            MPI_Get(buffer_.data(), count, MPI_BYTE, other_, 0, count, MPI_BYTE, window_);
        } else {
            MPI_Put(buffer_.data(), count, MPI_BYTE, other_, 0, count, MPI_BYTE, window_);
        }
    }

    void finish(std::vector<MPI_Request> &) override
    {
        if (kind::fence == kind_) {
            MPI_Win_fence(MPI_MODE_NOSUCCEED, window_);
        } else if (kind::start == kind_) {
            origin_ ? MPI_Win_complete(window_) : MPI_Win_wait(window_);
        } else if (origin_) {
            MPI_Win_unlock(other_, window_);
        }
    }

    std::uint64_t wrong() override
    {
        MPI_Barrier(MPI_COMM_WORLD); // a target knows nothing of the end of a lock's epoch
        return receives() && !filled(sink(), bytes_, seed_) ? 1 : 0;
    }

    bool there() override { return arrived(sink(), bytes_, seed_); }
    bool receives() const override { return origin_ == get_; }
    bool latency_of_all() const override { return true; }
    bool origin() const { return origin_; }

private:
    char *source() { return get_ ? memory_ : buffer_.data(); }
    char *sink() { return get_ ? buffer_.data() : memory_; }

    kind kind_;
    bool get_;
    std::size_t bytes_;
    int rank_, other_ = 0;
    bool origin_ = false;
    std::vector<char> buffer_, own_;
    char *memory_ = nullptr;
    std::uint64_t seed_ = 0;
    MPI_Win window_;
    MPI_Group group_;
};

int main_program(int argc, char **argv)
{
    const options o = parse(argc, argv);
    program p(argc, argv, o);
    if (p.size() < 2 || 0 != p.size() % 2) {
        p.refuse("an even number of ranks");
    }
    hiding h(p, o);
    h.title("epoch");
    for (const std::string &name : o.names) {
        const auto how = static_cast<kind>(std::find(kinds.begin(), kinds.end(), name) - kinds.begin());
        for (const bool get : {false, true}) {
            for (const std::size_t bytes : o.sizes) {
                if (get ? !o.gets : !o.puts) {
                    continue;
                }
                epoch e(p, how, get, o.allocates, bytes);
                const std::string full = name + (get ? "_get" : "_put");
                h.measure(e, full, bytes,
                          {{full + "_origin", e.origin(), false}, {full + "_target", !e.origin(), false}});
            }
        }
    }
    h.close();
    return p.end(h.wrong());
}

} // namespace
} // namespace bench

int main(int argc, char **argv)
{
    return bench::main_program(argc, argv);
}
