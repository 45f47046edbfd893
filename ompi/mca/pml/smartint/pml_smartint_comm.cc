// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Processes and communicators.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "pml_smartint.h"

extern "C" {
#include "ompi/mca/bml/base/base.h"
#include "ompi/mca/bml/bml.h"
#include "opal/util/proc.h"
#include "opal/util/show_help.h"
}

namespace smartint::pml {
namespace {

// Our BTL's endpoint for this process among those the BML lists: chosen by component, for
// others enter these lists whatever their rank.
endpoint *endpoint_of(ompi_proc_t *proc) {
    if (ompi_proc_local() == proc) {
        engine &e = engine::instance();
        e.enter();
        endpoint *self = e.add_self();
        e.leave();
        return self;
    }
    mca_bml_base_endpoint_t *bml = mca_bml_base_get_endpoint(proc);
    if (nullptr == bml) {
        return nullptr;
    }
    mca_bml_base_btl_array_t *lists[] = {&bml->btl_send, &bml->btl_eager, &bml->btl_rdma};
    for (auto *list : lists) {
        for (std::size_t i = 0; i < mca_bml_base_btl_array_get_size(list); ++i) {
            mca_bml_base_btl_t *b = mca_bml_base_btl_array_get_index(list, i);
            if (0 == std::strcmp(b->btl->btl_component->btl_version.mca_component_name, "smartint")) {
                return reinterpret_cast<endpoint *>(b->btl_endpoint);
            }
        }
    }
    return nullptr;
}

void unreachable(ompi_proc_t *proc) {
    opal_show_help("help-pml-smartint.txt", "unreachable", true, this_node(), OPAL_NAME_PRINT(proc->super.proc_name),
                   nullptr == proc->super.proc_hostname ? "unknown" : proc->super.proc_hostname);
}

// So many errors of other threads a communicator outlives: their calls have long come to the handler.
constexpr unsigned most_kept = 64;
std::atomic<ompi_communicator_t *> kept[most_kept];

void keep_instead(unsigned at, ompi_communicator_t *comm) {
    // acquire and release: whoever takes it out destroys what the other one has written
    ompi_communicator_t *before = kept[at].exchange(comm, std::memory_order_acq_rel);
    if (nullptr != before) {
        OBJ_RELEASE(before);
    }
}

} // namespace

endpoint *look_up_endpoint(ompi_communicator_t *comm, int rank) {
    // Not under the gate: others of Open MPI hold the BML's lock when they come to our add_procs, which takes the
    // gate.
    ompi_proc_t *proc = ompi_comm_peer_lookup(comm, rank);
    endpoint *ep = endpoint_of(proc);
    if (nullptr == ep) { // the user's list of BTLs has not ours: a way all the same
        engine &e = engine::instance();
        e.enter();
        ep = glue_endpoint(&proc->super);
        e.leave();
    }
    if (nullptr != ep) {
        auto *data = reinterpret_cast<communicator_data *>(comm->c_pml_comm);
        // pairs with known_endpoint, outside the gate
        std::atomic_ref(data->peers[static_cast<std::size_t>(rank)]).store(ep, std::memory_order_release);
    }
    return ep;
}

endpoint *find_endpoint(ompi_communicator_t *comm, int rank) {
    endpoint *ep = look_up_endpoint(comm, rank);
    if (nullptr == ep) {
        unreachable(ompi_comm_peer_lookup(comm, rank));
    }
    return ep;
}

void release_later(ompi_communicator_t *comm) {
    static std::atomic<unsigned> errors{0}; // relaxed: it makes numbers and orders nothing
    keep_instead(errors.fetch_add(1, std::memory_order_relaxed) % most_kept, comm);
}

extern "C" {

int pml_smartint_add_procs(ompi_proc_t **procs, std::size_t count) noexcept {
    if (0 == count) {
        return OMPI_SUCCESS;
    }
    // All ranks must have chosen this pml: another one would not understand us.
    int rc = mca_pml_base_pml_check_selected("smartint", procs, count);
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    engine &e = engine::instance();
    e.enter();
    glue_provide_ways(reinterpret_cast<opal_proc_t **>(procs), count);
    e.leave();
    opal_bitmap_t reachable;
    OBJ_CONSTRUCT(&reachable, opal_bitmap_t);
    rc = opal_bitmap_init(&reachable, static_cast<int>(count));
    if (OMPI_SUCCESS == rc) {
        rc = mca_bml.bml_add_procs(count, procs, &reachable);
    }
    OBJ_DESTRUCT(&reachable);
    if (OMPI_SUCCESS == rc) {
        glue_start_thread();
    }
    return rc;
}

int pml_smartint_del_procs(ompi_proc_t **procs, std::size_t count) noexcept {
    return mca_bml.bml_del_procs(count, procs);
}

int pml_smartint_add_comm(ompi_communicator_t *comm) noexcept {
    auto *data = new (std::nothrow) communicator_data;
    if (nullptr == data) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    const auto size = static_cast<std::size_t>(comm->c_remote_group->grp_proc_count);
    // one more: of nobody calloc may give nothing
    data->peers.reset(static_cast<endpoint **>(std::calloc(size + 1, sizeof(endpoint *))));
    if (!data->peers) {
        delete data;
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    comm->c_pml_comm = reinterpret_cast<mca_pml_comm_t *>(data);
    return OMPI_SUCCESS;
}

int pml_smartint_del_comm(ompi_communicator_t *comm) noexcept {
    engine &e = engine::instance();
    if (MPI_COMM_SELF == comm) { // the first that MPI_Finalize takes away: requests under way need theirs
        e.see_out();
        // No handler runs any more, and MPI_Finalize takes communicators with other jobs for connected: it would wait
        // for processes that have parted from this one.
        for (unsigned i = 0; i < most_kept; ++i) {
            keep_instead(i, nullptr);
        }
    }
    e.enter();
    e.drop_context(comm->c_contextid); // the number will be used again
    e.leave();
    delete reinterpret_cast<communicator_data *>(comm->c_pml_comm);
    comm->c_pml_comm = nullptr;
    return OMPI_SUCCESS;
}

int pml_smartint_dump(ompi_communicator_t *comm, int) noexcept {
    const stats &s = engine::instance().counters();
    std::fprintf(stderr, "smartint: communicator %s, context %u\n", comm->c_name, comm->c_contextid);
    for (unsigned i = 0; i < static_cast<unsigned>(stat::count_); ++i) {
        const auto what = static_cast<stat>(i);
        std::fprintf(stderr, "  %-20s %llu\n", stat_name(what), static_cast<unsigned long long>(s.get(what)));
    }
    return OMPI_SUCCESS;
}

} // extern "C"
} // namespace smartint::pml
