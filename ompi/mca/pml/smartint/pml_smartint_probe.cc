// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "pml_smartint.h"

namespace smartint::pml {
namespace {

// The message a receive would get, or nullptr. take: remove it for a matched receive. The
// status must be filled before somebody else can take the message, so it happens here.
unexpected *look(int src, int tag, ompi_communicator_t *comm, bool take,
                 ompi_status_public_t *status) {
    engine &e = engine::instance();
    e.enter();
    unexpected *u = e.peek_unexpected(comm->c_contextid, engine_source(src), engine_tag(tag));
    if (nullptr == u) {
        e.pass(false);
        u = e.peek_unexpected(comm->c_contextid, engine_source(src), engine_tag(tag));
    }
    if (nullptr != u) {
        if (take) {
            e.take_unexpected(u);
        }
        if (nullptr != status && MPI_STATUS_IGNORE != status) {
            status->MPI_SOURCE = u->key.source;
            status->MPI_TAG = u->key.tag;
            status->_ucount = u->length;
            status->_cancelled = 0;
        }
    }
    e.finish_operations();
    e.leave();
    return u;
}

// The message keeps the communicator until it is received: the program may free its handle before.
ompi_message_t *fill(ompi_message_t *m, unexpected *u, ompi_communicator_t *comm) {
    OBJ_RETAIN(comm);
    m->comm = comm;
    m->req_ptr = u;
    m->peer = u->key.source;
    m->count = u->length;
    return m;
}

} // namespace

extern "C" {

int pml_smartint_iprobe(int src, int tag, ompi_communicator_t *comm, int *matched,
                        ompi_status_public_t *status) noexcept {
    *matched = nullptr != look(src, tag, comm, false, status);
    if (0 == *matched) {
        opal_progress();
    }
    return OMPI_SUCCESS;
}

int pml_smartint_probe(int src, int tag, ompi_communicator_t *comm,
                       ompi_status_public_t *status) noexcept {
    block([](engine &) {}, [&] { return nullptr != look(src, tag, comm, false, status); });
    return OMPI_SUCCESS;
}

int pml_smartint_improbe(int src, int tag, ompi_communicator_t *comm, int *matched,
                         ompi_message_t **message, ompi_status_public_t *status) noexcept {
    ompi_message_t *m = ompi_message_alloc(); // first: a message taken must not be lost
    if (nullptr == m) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    unexpected *u = look(src, tag, comm, true, status);
    *matched = nullptr != u;
    if (nullptr == u) {
        ompi_message_return(m);
        opal_progress();
        return OMPI_SUCCESS;
    }
    *message = fill(m, u, comm);
    return OMPI_SUCCESS;
}

int pml_smartint_mprobe(int src, int tag, ompi_communicator_t *comm, ompi_message_t **message,
                        ompi_status_public_t *status) noexcept {
    unexpected *u = nullptr;
    ompi_message_t *m = ompi_message_alloc();
    if (nullptr == m) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    block([](engine &) {},
          [&] { return nullptr != u || nullptr != (u = look(src, tag, comm, true, status)); });
    *message = fill(m, u, comm);
    return OMPI_SUCCESS;
}

} // extern "C"
} // namespace smartint::pml
