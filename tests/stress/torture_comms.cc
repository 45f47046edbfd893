// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Random communicators of one thread: duplicates, splits, subsets and an intercommunicator, made
// anew every some rounds. All ranks draw the same ones from the seed.
#include <algorithm>

#include "torture.h"

namespace torture {
namespace {

int find(const std::vector<int> &group, int world) {
    const auto i = std::find(group.begin(), group.end(), world);
    return i == group.end() ? -1 : static_cast<int>(i - group.begin());
}

std::vector<int> everybody() {
    std::vector<int> all(static_cast<std::size_t>(n_ranks));
    for (int i = 0; i < n_ranks; ++i) {
        all[static_cast<std::size_t>(i)] = i;
    }
    return all;
}

// Members of a colour in the order of their keys.
std::vector<int> members(const std::vector<int> &colours, const std::vector<int> &keys, int colour) {
    std::vector<int> group;
    for (const int r : everybody()) {
        if (colours[static_cast<std::size_t>(r)] == colour) {
            group.push_back(r);
        }
    }
    std::stable_sort(group.begin(), group.end(), [&keys](int a, int b) {
        return keys[static_cast<std::size_t>(a)] < keys[static_cast<std::size_t>(b)];
    });
    return group;
}

} // namespace

bool communicator::has(int world) const { return find(group, world) >= 0 || find(other, world) >= 0; }

bool communicator::pair(int from, int to) const {
    if (!inter) {
        return find(group, from) >= 0 && find(group, to) >= 0;
    }
    return (find(group, from) >= 0 && find(other, to) >= 0) || (find(other, from) >= 0 && find(group, to) >= 0);
}

int communicator::rank_of(int from, int to) const {
    return inter && find(group, from) >= 0 ? find(other, to) : find(group, to);
}

int communicator::world_of(int at, int rank) const {
    const std::vector<int> &seen = inter && find(group, at) >= 0 ? other : group;
    if (rank < 0 || static_cast<std::size_t>(rank) >= seen.size()) {
        fail("a status names rank %d of a communicator of %zu", rank, seen.size());
    }
    return seen[static_cast<std::size_t>(rank)];
}

void communicator_set::make(MPI_Comm base, MPI_Comm shared, unsigned thread, std::uint64_t epoch, unsigned parity) {
    random r(opt.seed, 0xc0113, thread, epoch, parity);
    const std::size_t me = static_cast<std::size_t>(my_rank);
    comms.clear();

    communicator whole;
    whole.group = everybody();
    MPI(MPI_Comm_dup(base, &whole.comm));
    comms.push_back(whole);

    // Two or three parts, ranks in a random order. Each is a communicator of its own that only its
    // members see.
    std::vector<int> colours;
    std::vector<int> keys;
    const unsigned parts = n_ranks < 4 ? 1 : static_cast<unsigned>(r.from_to(2, 3));
    for (int i = 0; i < n_ranks; ++i) {
        colours.push_back(static_cast<int>(r.below(parts)));
        keys.push_back(static_cast<int>(r.below(100)));
    }
    MPI_Comm mine = MPI_COMM_NULL;
    MPI(MPI_Comm_split(base, colours[me], keys[me], &mine));
    for (unsigned part = 0; part < parts; ++part) {
        communicator c;
        c.group = members(colours, keys, static_cast<int>(part));
        c.comm = colours[me] == static_cast<int>(part) ? mine : MPI_COMM_NULL;
        if (!c.group.empty()) {
            comms.push_back(c);
        }
    }

    // Two sides, nobody is left out.
    std::vector<int> sides;
    for (int i = 0; i < n_ranks; ++i) {
        sides.push_back(static_cast<int>(r.below(2)));
    }
    sides[static_cast<std::size_t>(r.below(static_cast<std::uint64_t>(n_ranks)))] ^= 1;
    if (n_ranks > 1) {
        if (std::count(sides.begin(), sides.end(), 0) % n_ranks == 0) {
            sides[0] ^= 1;
        }
        communicator c;
        c.inter = true;
        c.group = members(sides, keys, 0);
        c.other = members(sides, keys, 1);
        MPI_Comm local = MPI_COMM_NULL;
        MPI(MPI_Comm_split(base, sides[me], keys[me], &local));
        const int leader = 0 == sides[me] ? c.other[0] : c.group[0];
        MPI(MPI_Intercomm_create(local, 0, base, leader, 17, &c.comm));
        MPI(MPI_Comm_free(&local));
        comms.push_back(c);
    }

    // A few of them, by a group; the others get none.
    communicator few;
    for (const int i : everybody()) {
        if (r.one_in(2) || (few.group.size() < 2 && i >= n_ranks - 2)) {
            few.group.push_back(i);
        }
    }
    MPI_Group all = MPI_GROUP_NULL;
    MPI_Group some = MPI_GROUP_NULL;
    MPI(MPI_Comm_group(base, &all));
    MPI(MPI_Group_incl(all, static_cast<int>(few.group.size()), few.group.data(), &some));
    MPI(MPI_Comm_create(base, some, &few.comm));
    MPI(MPI_Group_free(&all));
    MPI(MPI_Group_free(&some));
    comms.push_back(few);

    // One that all threads of the job use at once, each with tags of its own.
    communicator common;
    common.group = everybody();
    common.comm = shared;
    common.tags_wild = false; // a rank ahead of us may send for the next round already
    common.tag_base = static_cast<int>(1000 + (thread * 2 + parity) * 100);
    comms.push_back(common);

    MPI(MPI_Comm_dup(base, &tokens));
}

void communicator_set::free() {
    for (communicator &c : comms) {
        if (MPI_COMM_NULL != c.comm && &c != &comms.back()) { // the last one is not ours
            MPI(MPI_Comm_free(&c.comm));
        }
    }
    comms.clear();
    MPI(MPI_Comm_free(&tokens));
}

} // namespace torture
