// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Probes, and the messages that matched probes hand out.
#include "pml_smartint.h"

namespace smartint::pml {
namespace {

struct finding {
    unexpected *message = nullptr; // the one a receive would get
    bool gone = false;             // none, and the only sender asked for is lost: none will come
};

// take: remove the message for a matched receive. The status must be filled before somebody else
// can take the message, so it happens here.
finding look(int src, int tag, ompi_communicator_t *comm, bool take, ompi_status_public_t *status) {
    engine &e = engine::instance();
    e.enter();
    endpoint *from = src >= 0 ? known_endpoint(comm, src) : nullptr;
    const bool lost = nullptr != from && e.is_lost(from); // asked first: what came in time is found
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
    return {u, lost && nullptr == u};
}

// One that was not met on this communicator may be known to be lost. Not under the gate, as look_up_endpoint.
void meet(ompi_communicator_t *comm, int src) {
    if (src >= 0 && nullptr == known_endpoint(comm, src)) {
        look_up_endpoint(comm, src);
    }
}

finding await(int src, int tag, ompi_communicator_t *comm, bool take, ompi_status_public_t *status) {
    finding f;
    meet(comm, src);
    const auto over = [&] { return nullptr != f.message || f.gone; };
    block([](engine &) {},
          [&] {
              if (!over()) {
                  f = look(src, tag, comm, take, status);
              }
              return over();
          });
    return f;
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
    meet(comm, src);
    const finding f = look(src, tag, comm, false, status);
    *matched = nullptr != f.message;
    if (nullptr == f.message) {
        opal_progress();
    }
    return f.gone ? MPI_ERR_OTHER : MPI_SUCCESS;
}

int pml_smartint_probe(int src, int tag, ompi_communicator_t *comm, ompi_status_public_t *status) noexcept {
    return holding(comm, [&] { return await(src, tag, comm, false, status).gone ? MPI_ERR_OTHER : MPI_SUCCESS; });
}

int pml_smartint_improbe(int src, int tag, ompi_communicator_t *comm, int *matched, ompi_message_t **message,
                         ompi_status_public_t *status) noexcept {
    ompi_message_t *m = ompi_message_alloc(); // first: a message taken must not be lost
    if (nullptr == m) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    meet(comm, src);
    const finding f = look(src, tag, comm, true, status);
    *matched = nullptr != f.message;
    if (nullptr == f.message) {
        ompi_message_return(m);
        opal_progress();
        return f.gone ? MPI_ERR_OTHER : MPI_SUCCESS;
    }
    *message = fill(m, f.message, comm);
    return MPI_SUCCESS;
}

int pml_smartint_mprobe(int src, int tag, ompi_communicator_t *comm, ompi_message_t **message,
                        ompi_status_public_t *status) noexcept {
    ompi_message_t *m = ompi_message_alloc();
    if (nullptr == m) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    return holding(comm, [&] {
        const finding f = await(src, tag, comm, true, status);
        if (f.gone) {
            ompi_message_return(m);
            return MPI_ERR_OTHER;
        }
        *message = fill(m, f.message, comm);
        return MPI_SUCCESS;
    });
}

} // extern "C"
} // namespace smartint::pml
