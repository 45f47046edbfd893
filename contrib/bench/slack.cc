// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// slack: an epoch with a put to another node and a larger one inside the node, which comes first (Zounmevo and
// Afsahi's case, SI 2.4.3). Whoever copies before the network has its work keeps it waiting; the copy fits
// into the time of the transfer. Plain MPI-3.1, for any MPI library:
//
//     mpicxx -O2 -std=c++20 -o slack slack.cc && mpirun -np 4 --map-by ppr:2:node ./slack --help
//
// T_lat is the duration of an epoch between two fences, until all ranks are through with it: of the remote put, of the
// local one, and of both. Nobody computes.

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1

#include "bench_hide.h"

#include <tuple>

namespace bench {
namespace {

struct options : program_options, hide_options {
    std::vector<std::size_t> sizes{256 << 10, 1 << 20};
    unsigned factor = 32;
};

options parse(int argc, char **argv) {
    options o;
    arguments a(
        "slack - puts inside the node and to another one, in one epoch\n\n"
        "  mpirun -np 4 --map-by ppr:2:node ./slack [options]\n\n"
        "Every rank puts to the next one of its node, and to the one of another node that has its place there.\n"
        "Data is checked after every epoch.\n");
    a.sizes('s', "sizes", "bytes of the remote put, default 256K,1M", o.sizes);
    a.value('f', "factor", "N", "the local put has N times as many (32)", o.factor, 1U, 1024U);
    o.hide_options::add_to(a);
    o.program_options::add_to(a);
    a.parse(argc, argv);
    return o;
}

// Who is where: the next rank on this node, and the one with this place on the next node.
struct neighbours {
    int local = 0, before = 0;       // whom this rank puts to inside the node, and who to it
    int remote = 0, remote_from = 0; // the same between nodes
    bool usable = false;

    explicit neighbours(int rank, int size) {
        MPI_Comm node;
        MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
        int place = 0, here = 0, first = rank;
        MPI_Comm_rank(node, &place);
        MPI_Comm_size(node, &here);
        MPI_Bcast(&first, 1, MPI_INT, 0, node);
        std::vector<int> mine{place, here, first}, all(3 * static_cast<std::size_t>(size));
        MPI_Allgather(mine.data(), 3, MPI_INT, all.data(), 3, MPI_INT, MPI_COMM_WORLD);
        std::vector<int> firsts, in_node;
        usable = true;
        for (int r = 0; r < size; ++r) {
            const int *const of = &all[3 * static_cast<std::size_t>(r)];
            usable = usable && of[1] == here; // as many everywhere
            if (0 == of[0]) {
                firsts.push_back(of[2]);
            }
            if (of[2] == first) {
                in_node.push_back(r);
            }
        }
        usable = usable && here > 1 && firsts.size() > 1;
        if (usable) {
            const auto n = static_cast<int>(firsts.size());
            const auto own = static_cast<int>(std::find(firsts.begin(), firsts.end(), first) - firsts.begin());
            local = in_node[static_cast<std::size_t>((place + 1) % here)];
            before = in_node[static_cast<std::size_t>((place + here - 1) % here)];
            const auto at = [&](int node_number) {
                for (int r = 0; r < size; ++r) {
                    const int *const of = &all[3 * static_cast<std::size_t>(r)];
                    if (of[2] == firsts[static_cast<std::size_t>(node_number)] && of[0] == place) {
                        return r;
                    }
                }
                return rank;
            };
            remote = at((own + 1) % n);
            remote_from = at((own + n - 1) % n);
        }
        MPI_Comm_free(&node);
    }
};

class epoch : public communication {
public:
    epoch(const program &p, const neighbours &to, std::size_t local, std::size_t remote)
        : rank_(p.rank()), to_(to), local_(local), remote_(remote), from_(local + remote), memory_(local + remote) {
        MPI_Win_create(memory_.data(), static_cast<MPI_Aint>(memory_.size()), 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                       &window_);
    }
    ~epoch() override { MPI_Win_free(&window_); }

    void prepare(std::uint64_t repetition) override {
        repetition_ = repetition;
        fill(from_.data(), local_, seed_of(repetition, rank_, to_.local));
        fill(from_.data() + local_, remote_, seed_of(repetition, rank_, to_.remote));
    }
    void post(std::vector<MPI_Request> &) override {
        MPI_Win_fence(MPI_MODE_NOPRECEDE, window_);
        put(from_.data(), local_, to_.local, 0);
        put(from_.data() + local_, remote_, to_.remote, local_);
    }
    void finish(std::vector<MPI_Request> &) override { MPI_Win_fence(MPI_MODE_NOSUCCEED, window_); }
    std::uint64_t wrong() override {
        const bool good = filled(memory_.data(), local_, seed_of(repetition_, to_.before, rank_)) &&
                          filled(memory_.data() + local_, remote_, seed_of(repetition_, to_.remote_from, rank_));
        MPI_Barrier(MPI_COMM_WORLD); // before anybody puts again
        return good ? 0 : 1;
    }
    bool latency_of_all() const override { return true; }

private:
    void put(const char *data, std::size_t bytes, int rank, std::size_t at) {
        if (0 != bytes) {
            const int count = static_cast<int>(bytes);
            MPI_Put(data, count, MPI_BYTE, rank, static_cast<MPI_Aint>(at), count, MPI_BYTE, window_);
        }
    }

    int rank_;
    neighbours to_;
    std::size_t local_, remote_;
    std::vector<char> from_, memory_;
    std::uint64_t repetition_ = 0;
    MPI_Win window_;
};

int main_program(int argc, char **argv) {
    const options o = parse(argc, argv);
    program p(argc, argv, o);
    const neighbours to(p.rank(), p.size());
    if (!to.usable) {
        p.refuse("several nodes with the same number of ranks, at least two");
    }
    hiding h(p, o);
    h.title("epoch");
    for (const std::size_t bytes : o.sizes) {
        const std::size_t local = bytes * o.factor;
        for (const auto &[name, here, there] :
             {std::tuple{"remote", std::size_t{0}, bytes}, std::tuple{"local", local, std::size_t{0}},
              std::tuple{"both", local, bytes}}) {
            epoch e(p, to, here, there);
            h.measure(e, std::string("slack_") + name, bytes, {});
        }
    }
    h.close();
    return p.end(h.wrong());
}

} // namespace
} // namespace bench

int main(int argc, char **argv) { return bench::main_program(argc, argv); }
