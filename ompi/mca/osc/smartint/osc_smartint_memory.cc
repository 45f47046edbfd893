// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Memory that the members of a window on one node share: all of an allocated window's, and the words by which they
// lock each other's.
#include "osc_smartint_memory.h"

#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "common_smartint_named_file.h"

extern "C" {
#include "ompi/mca/coll/coll.h"
}

namespace smartint::osc {
namespace {

constexpr std::uint64_t page = 4096;

constexpr std::uint64_t too_much = UINT64_MAX / 4; // more than there can be: sums stop there

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t to) {
    return bytes > too_much ? too_much / to * to : (bytes + to - 1) / to * to;
}

// A file in memory takes any size, and the process that touches what is not there ends.
std::uint64_t memory_of_node() {
    struct sysinfo i {};
    return 0 == sysinfo(&i) ? (std::uint64_t{i.totalram} + i.totalswap) * i.mem_unit : too_much;
}

const char *directory() { return engine::instance().settings().directory.c_str(); }

void make_file(module &m, found by, std::uint64_t total, announcement *next) {
    if (total > memory_of_node()) {
        next->error = MPI_ERR_NO_MEM;
        return;
    }
    if (found::by_name == by) {
        m.memory.fd = create_named_file(directory(), total, &next->file);
    } else {
        m.memory.fd = memfd_create("smartint-window", MFD_CLOEXEC);
    }
    if (m.memory.fd < 0 || (found::by_descriptor == by && 0 != set_length(m.memory.fd, total))) {
        next->error = MPI_ERR_RMA_SHARED;
    }
    next->fd = m.memory.fd;
}

int open_file(const announcement &owner, found by, std::uint64_t total) {
    if (found::by_name == by) {
        return open_named_file(directory(), owner.file, total);
    }
    return take_file(owner.pid, owner.start_time, owner.fd, total);
}

int open_and_map(module &m, found by, const plan &where, const announcement &mine, std::vector<announcement> &all) {
    const int rank = ompi_comm_rank(m.comm);
    const std::uint64_t total = where.total;
    const announcement &owner = all[static_cast<std::size_t>(where.first)];
    if (where.first != rank && MPI_SUCCESS == owner.error) {
        m.memory.fd = open_file(owner, by, total);
    }
    announcement next = mine;
    if (m.memory.fd >= 0 && MPI_SUCCESS == owner.error) {
        void *p = mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_SHARED, m.memory.fd, 0);
        m.memory.base = MAP_FAILED == p ? nullptr : static_cast<std::byte *>(p);
    }
    if (nullptr == m.memory.base) {
        next.error = MPI_SUCCESS != owner.error ? owner.error : MPI_ERR_RMA_SHARED;
    } else if (m.allocates()) {
        next.base = reinterpret_cast<std::uint64_t>(m.memory.base) + where.memory[static_cast<std::size_t>(rank)];
    }
    return exchange(m.comm, next, &all);
}

} // namespace

int exchange(ompi_communicator_t *comm, const announcement &mine, std::vector<announcement> *all) {
    return comm->c_coll->coll_allgather(&mine, static_cast<int>(sizeof(mine)), MPI_BYTE, all->data(),
                                        static_cast<int>(sizeof(mine)), MPI_BYTE, comm,
                                        comm->c_coll->coll_allgather_module);
}

plan plan_of(const module &m, bool packed, const announcement &mine, const std::vector<announcement> &all) {
    plan p;
    p.memory.resize(all.size());
    p.words.resize(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i].node == mine.node) {
            p.first = p.first < 0 ? static_cast<int>(i) : p.first;
            p.words[i] = p.total;
            p.total += sizeof(layout::window_words);
        }
    }
    p.total = round_up(p.total, page);
    for (std::size_t i = 0; m.allocates() && i < all.size(); ++i) {
        if (all[i].node == mine.node) {
            p.memory[i] = p.total;
            const std::uint64_t bytes = packed ? all[i].bytes : round_up(all[i].bytes, page);
            p.total = std::min(too_much, p.total + std::min(too_much, bytes));
        }
    }
    p.total = round_up(p.total, page);
    return p;
}

int share_memory(module &m, found by, const plan &where, const announcement &mine, std::vector<announcement> &all) {
    const int rank = ompi_comm_rank(m.comm);
    const std::uint64_t total = where.total;
    const int first = where.first;
    announcement next = mine;
    m.memory.bytes = total;
    if (first == rank) {
        make_file(m, by, total, &next);
    }
    const std::uint64_t name = next.file;
    int rc = exchange(m.comm, next, &all);
    if (OMPI_SUCCESS == rc) {
        rc = open_and_map(m, by, where, mine, all);
    }
    if (first == rank && found::by_name == by && m.memory.fd >= 0) {
        remove_named_file(directory(), name);
    }
    return rc;
}

int own_memory(module &m, announcement &mine, std::vector<announcement> &all) {
    m.memory.release();
    if (0 != posix_memalign(&m.own, page, std::max<std::size_t>(mine.bytes, 1))) {
        m.own = nullptr;
        mine.error = MPI_ERR_NO_MEM;
    }
    mine.base = reinterpret_cast<std::uint64_t>(m.own);
    return exchange(m.comm, mine, &all);
}

bool any_error(const std::vector<announcement> &all, int *error) {
    for (const announcement &a : all) {
        if (MPI_SUCCESS != a.error) {
            *error = a.error;
            return true;
        }
    }
    return false;
}

void shared_memory::release() {
    if (nullptr != base) {
        munmap(base, bytes);
        base = nullptr;
    }
    if (fd >= 0) {
        close(fd);
        fd = -1;
    }
}

} // namespace smartint::osc
