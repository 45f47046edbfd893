// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// pml/smartint: MPI's point-to-point semantics over the engine. This file is the module's
// table of contents. Application threads only; the interrupt thread never comes here.
#pragma once

#include <smartint/ompi_glue.h>

#include <atomic>
#include <cstdlib>
#include <memory>

extern "C" {
#include "ompi_config.h"
#include "ompi/communicator/communicator.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/mca/pml/base/base.h"
#include "ompi/mca/pml/base/pml_base_bsend.h"
#include "ompi/mca/pml/pml.h"
#include "ompi/message/message.h"
#include "ompi/proc/proc.h"
#include "ompi/request/request.h"
#include "opal/datatype/opal_convertor.h"
#include "opal/runtime/opal_progress.h"
#include "opal/util/proc.h"
}

#include "common_smartint_mca.h"

namespace smartint::pml {

extern mca_pml_base_module_t the_module;

// pml_smartint_comm.cc: what hangs at c_pml_comm
struct communicator_data {
    struct release {
        void operator()(endpoint **p) const { std::free(p); }
    };
    // By rank in the remote group, found at first use. From calloc: of a large communicator's only
    // those pages become memory in which somebody was met.
    std::unique_ptr<endpoint *[], release> peers;
};
endpoint *look_up_endpoint(ompi_communicator_t *comm, int rank);       // nullptr: no way to it
endpoint *find_endpoint(ompi_communicator_t *comm, int rank);          // says so
inline endpoint *known_endpoint(ompi_communicator_t *comm, int rank) { // nullptr: not met yet
    auto *data = reinterpret_cast<communicator_data *>(comm->c_pml_comm);
    // Outside the gate: acquire, so that the endpoint is seen as it was made (pairs with look_up_endpoint).
    return std::atomic_ref(data->peers[static_cast<std::size_t>(rank)]).load(std::memory_order_acquire);
}
inline endpoint *peer_endpoint(ompi_communicator_t *comm, int rank) {
    endpoint *ep = known_endpoint(comm, rank);
    return __builtin_expect(nullptr != ep, 1) ? ep : find_endpoint(comm, rank);
}

extern "C" {
int pml_smartint_add_procs(ompi_proc_t **procs, std::size_t count) noexcept;
int pml_smartint_del_procs(ompi_proc_t **procs, std::size_t count) noexcept;
int pml_smartint_add_comm(ompi_communicator_t *comm) noexcept;
int pml_smartint_del_comm(ompi_communicator_t *comm) noexcept;
int pml_smartint_enable(bool enable) noexcept;
int pml_smartint_progress() noexcept;

int pml_smartint_isend_init(const void *buf, std::size_t count, ompi_datatype_t *datatype, int dst, int tag,
                            mca_pml_base_send_mode_t mode, ompi_communicator_t *comm,
                            ompi_request_t **request) noexcept;
int pml_smartint_isend(const void *buf, std::size_t count, ompi_datatype_t *datatype, int dst, int tag,
                       mca_pml_base_send_mode_t mode, ompi_communicator_t *comm, ompi_request_t **request) noexcept;
int pml_smartint_send(const void *buf, std::size_t count, ompi_datatype_t *datatype, int dst, int tag,
                      mca_pml_base_send_mode_t mode, ompi_communicator_t *comm) noexcept;
int pml_smartint_irecv_init(void *buf, std::size_t count, ompi_datatype_t *datatype, int src, int tag,
                            ompi_communicator_t *comm, ompi_request_t **request) noexcept;
int pml_smartint_irecv(void *buf, std::size_t count, ompi_datatype_t *datatype, int src, int tag,
                       ompi_communicator_t *comm, ompi_request_t **request) noexcept;
int pml_smartint_recv(void *buf, std::size_t count, ompi_datatype_t *datatype, int src, int tag,
                      ompi_communicator_t *comm, ompi_status_public_t *status) noexcept;
int pml_smartint_iprobe(int src, int tag, ompi_communicator_t *comm, int *matched,
                        ompi_status_public_t *status) noexcept;
int pml_smartint_probe(int src, int tag, ompi_communicator_t *comm, ompi_status_public_t *status) noexcept;
int pml_smartint_improbe(int src, int tag, ompi_communicator_t *comm, int *matched, ompi_message_t **message,
                         ompi_status_public_t *status) noexcept;
int pml_smartint_mprobe(int src, int tag, ompi_communicator_t *comm, ompi_message_t **message,
                        ompi_status_public_t *status) noexcept;
int pml_smartint_imrecv(void *buf, std::size_t count, ompi_datatype_t *datatype, ompi_message_t **message,
                        ompi_request_t **request) noexcept;
int pml_smartint_mrecv(void *buf, std::size_t count, ompi_datatype_t *datatype, ompi_message_t **message,
                       ompi_status_public_t *status) noexcept;
int pml_smartint_start(std::size_t count, ompi_request_t **requests) noexcept;
int pml_smartint_start_request(std::size_t count, ompi_request_t **requests) noexcept;
int pml_smartint_dump(ompi_communicator_t *comm, int verbose) noexcept;
}

// pml_smartint_wait.cc: the application's waits, so that nobody wakes a rank that sits in one
void hook_waits();
void unhook_waits();

// Spin until done() holds. Inside the gate; opal_progress now and then, for everybody else's
// callbacks and for yielding the processor where ranks are oversubscribed.
template <class F> inline void spin_until(F done) {
    engine &e = engine::instance();
    while (!done()) {
        for (int i = 0; i < 32 && !done(); ++i) {
            e.progress_in_wait();
        }
        if (!done()) {
            opal_progress();
        }
    }
}

// A blocking call: begin() starts it in the engine, done() tells its end. All of it is a
// wait, so that nobody takes the step between the two for going away to compute.
template <class B, class F> inline void block(B begin, F done) {
    engine &e = engine::instance();
    e.begin_wait();
    e.enter();
    begin(e);
    if (done()) {
        e.finish_operations(); // of the other side, where that is this process too
    }
    e.leave();
    spin_until(done);
    e.end_wait();
}

// An error goes to the communicator's handler, and who hands it on may have no reference to it while the program has
// freed its own: so it stays, until there have been many more errors.
void release_later(ompi_communicator_t *comm);

// A blocking call: another thread may free the communicator's handle meanwhile, whose number would be given to the next
// one while this call waits for what has it, and Open MPI looks there for the handler of this call's error.
template <class F> inline int holding(ompi_communicator_t *comm, F call) {
    if (!engine::instance().identity().threads) {
        return call();
    }
    OBJ_RETAIN(comm);
    const int rc = call();
    if (MPI_SUCCESS == rc) {
        OBJ_RELEASE(comm);
    } else {
        release_later(comm);
    }
    return rc;
}

// As reports name it.
inline const char *this_node() {
    return nullptr == opal_process_info.nodename ? "unknown" : opal_process_info.nodename;
}

inline std::int32_t engine_source(int src) { return MPI_ANY_SOURCE == src ? any_source : src; }
inline std::int32_t engine_tag(int tag) { return MPI_ANY_TAG == tag ? any_tag : tag; }

} // namespace smartint::pml
