// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// epochs: one-sided epochs with one put or get for each target, and a computation of origin or target inside
// them (SI Figures 5.4 to 5.13). Plain MPI-3.1, for any MPI library:
//
//     mpicxx -O2 -std=c++20 -o epochs epochs.cc && mpirun -np 2 ./epochs --help
//
// T_lat is the epoch's duration while nobody computes: until all ranks are through with it.

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1

#include "bench_hide.h"

namespace bench {
namespace {

enum class kind { fence, start, lock };

const std::vector<std::string> kinds{"fence", "start", "lock"};

struct options : program_options, hide_options {
    std::vector<std::string> names = kinds;
    std::vector<std::size_t> sizes{64 << 10, 256 << 10, 1 << 20};
    bool gets = true, puts = true, allocates = false, many = false, late = false;
};

options parse(int argc, char **argv) {
    options o;
    arguments a("epochs - one-sided epochs, and computation inside them\n\n"
                "  mpirun -np 2 ./epochs [options]\n\n"
                "The first half of the ranks are origins, each of the one in the second half that has its "
                "place,\nor of all of that half. fence: MPI_Win_fence; start: MPI_Win_start and complete, post and "
                "wait; lock: an "
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
    a.flag(0, "many",
           "one-to-many: each origin has a window with all targets (SI Figure 5.4(b)), and reaches all "
           "of them in an epoch",
           o.many);
    a.flag(0, "late",
           "also: an origin computes, and what it waits for comes a quarter of T_ref late: targets' epochs "
           "open then, or who has the lock lets go (SI Figures 5.7 and 5.12); T_syn is as much longer",
           o.late);
    a.sizes('s', "sizes", "bytes, default 64K,256K,1M", o.sizes);
    o.hide_options::add_to(a);
    o.program_options::add_to(a);
    a.parse(argc, argv);
    return o;
}

// A window, as one of its ranks sees it.
struct exposure {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Win window = MPI_WIN_NULL;
    MPI_Group group = MPI_GROUP_NULL; // of the others
    int number = 0;                   // of its origin, where each has one
    int rank = 0;                     // this one's in it
    std::vector<int> others;          // theirs
    std::vector<std::uint64_t> seeds; // of the data between this one and each of them
    std::vector<char> own;
    char *memory = nullptr; // of an origin: not used
};

class epoch : public communication {
public:
    epoch(const program &p, kind how, bool get, bool many, bool allocates, std::size_t bytes)
        : kind_(how), get_(get), bytes_(bytes), rank_(p.rank()) {
        const int half = p.size() / 2;
        origin_ = rank_ < half;
        for (int i = 0; i < (many ? half : 1); ++i) { // many: i is the origin
            const bool mine = !many || !origin_ || i == rank_;
            exposure x;
            x.number = i;
            MPI_Comm_split(MPI_COMM_WORLD, mine ? 0 : MPI_UNDEFINED, rank_, &x.comm);
            if (!mine) {
                continue;
            }
            MPI_Comm_rank(x.comm, &x.rank);
            if (many && origin_) {
                for (int target = 1; target <= half; ++target) {
                    x.others.push_back(target);
                }
            } else {
                x.others.push_back(many ? 0 : origin_ ? rank_ + half : rank_ - half);
            }
            open(x, allocates);
            exposures_.push_back(std::move(x));
        }
        buffer_.resize(bytes * exposures_.front().others.size());
    }
    ~epoch() override {
        for (exposure &x : exposures_) {
            MPI_Group_free(&x.group);
            MPI_Win_free(&x.window);
            MPI_Comm_free(&x.comm);
        }
    }

    void some_are_late(bool late) override { late_ = late; }

    void prepare(std::uint64_t repetition) override {
        for (exposure &x : exposures_) {
            x.seeds.clear();
            for (std::size_t k = 0; k < x.others.size(); ++k) {
                x.seeds.push_back(seed_of(repetition, x.number, x.rank + x.others[k]));
                if (origin_ != get_) {
                    fill(place(x, k), bytes_, x.seeds[k]);
                }
            }
            if (late_ && kind::lock == kind_ && !origin_) {
                MPI_Win_lock(MPI_LOCK_EXCLUSIVE, x.rank, 0, x.window);
            }
        }
        MPI_Barrier(MPI_COMM_WORLD); // a target that is read need not be in the epoch
    }

    void post(std::vector<MPI_Request> &) override {
        for (exposure &x : exposures_) {
            if (kind::fence == kind_) {
                MPI_Win_fence(MPI_MODE_NOPRECEDE, x.window);
            } else if (kind::start == kind_) {
                origin_ ? MPI_Win_start(x.group, 0, x.window) : MPI_Win_post(x.group, 0, x.window);
            } else if (late_ && !origin_) {
                MPI_Win_unlock(x.rank, x.window);
            }
            for (std::size_t k = 0; origin_ && k < x.others.size(); ++k) {
                operate(x, k);
            }
        }
    }

    void finish(std::vector<MPI_Request> &) override {
        for (exposure &x : exposures_) {
            if (kind::fence == kind_) {
                MPI_Win_fence(MPI_MODE_NOSUCCEED, x.window);
            } else if (kind::start == kind_) {
                origin_ ? MPI_Win_complete(x.window) : MPI_Win_wait(x.window);
            } else if (origin_) {
                for (const int target : x.others) {
                    MPI_Win_unlock(target, x.window);
                }
            }
        }
    }

    std::uint64_t wrong() override {
        MPI_Barrier(MPI_COMM_WORLD); // a target knows nothing of the end of a lock's epoch
        return receives() ? count([this](const exposure &x, std::size_t k) {
            return !filled(place(x, k), bytes_, x.seeds[k]);
        })
                          : 0;
    }

    bool there() override {
        return 0 ==
               count([this](const exposure &x, std::size_t k) { return !arrived(place(x, k), bytes_, x.seeds[k]); });
    }
    bool receives() const override { return origin_ == get_; }
    bool latency_of_all() const override { return true; }
    bool origin() const { return origin_; }

private:
    // Its window, of as many bytes as an epoch moves to or from each target.
    void open(exposure &x, bool allocates) const {
        const auto size = static_cast<MPI_Aint>(bytes_);
        if (allocates) {
            MPI_Win_allocate(size, 1, MPI_INFO_NULL, x.comm, &x.memory, &x.window);
        } else {
            x.own.resize(bytes_);
            x.memory = x.own.data();
            MPI_Win_create(x.memory, size, 1, MPI_INFO_NULL, x.comm, &x.window);
        }
        MPI_Group all;
        MPI_Comm_group(x.comm, &all);
        MPI_Group_incl(all, static_cast<int>(x.others.size()), x.others.data(), &x.group);
        MPI_Group_free(&all);
    }

    void operate(exposure &x, std::size_t k) {
        const int target = x.others[k];
        const int count = static_cast<int>(bytes_);
        char *here = buffer_.data() + k * bytes_;
        if (kind::lock == kind_) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, x.window);
        }
        if (get_) {
            MPI_Get(here, count, MPI_BYTE, target, 0, count, MPI_BYTE, x.window);
        } else {
            MPI_Put(here, count, MPI_BYTE, target, 0, count, MPI_BYTE, x.window);
        }
    }

    // Of what goes to or comes from each of the others.
    template <class F> std::uint64_t count(F is) const {
        std::uint64_t n = 0;
        for (const exposure &x : exposures_) {
            for (std::size_t k = 0; k < x.others.size(); ++k) {
                n += is(x, k) ? 1 : 0;
            }
        }
        return n;
    }

    // Data is in the window's memory at the target, in its part of the buffer at the origin.
    char *place(const exposure &x, std::size_t k) { return origin_ ? buffer_.data() + k * bytes_ : x.memory; }

    kind kind_;
    bool get_;
    std::size_t bytes_;
    int rank_;
    bool origin_ = false;
    bool late_ = false;
    std::vector<exposure> exposures_; // of a target: one for each origin
    std::vector<char> buffer_;        // of an origin
};

int main_program(int argc, char **argv) {
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
                epoch e(p, how, get, o.many, o.allocates, bytes);
                const std::string full = name + (get ? "_get" : "_put");
                std::vector<hidden_by> ways{{full + "_origin", e.origin(), false},
                                            {full + "_target", !e.origin(), false}};
                if (o.late) {
                    ways.push_back({full + "_late", e.origin(), false, false, .25, !e.origin()});
                }
                h.measure(e, full, bytes, ways);
            }
        }
    }
    h.close();
    return p.end(h.wrong());
}

} // namespace
} // namespace bench

int main(int argc, char **argv) { return bench::main_program(argc, argv); }
