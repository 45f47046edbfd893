// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// MPI requests around the engine's operations. They come from Open MPI's free lists and are
// touched by application threads only.
#pragma once

#include "pml_smartint_datatype.h"

namespace smartint::pml {

// What every message touches stands together: of a window of 64 requests each line counts.
struct send_request {
    ompi_request_t super;
    const void *buf;
    std::size_t count;
    ompi_datatype_t *datatype;
    ompi_communicator_t *comm;
    int dst;
    int tag;
    mca_pml_base_send_mode_t mode;
    bool active;        // the engine has it
    bool freed;         // MPI_Request_free while active
    void *bsend_buffer; // of the internal request that carries a buffered send
    send_op op;
    layout_convertor convertor;
};

struct receive_request {
    ompi_request_t super;
    void *buf;
    std::size_t count;
    ompi_datatype_t *datatype;
    ompi_communicator_t *comm;
    int src;
    int tag;
    bool active;
    bool freed;
    recv_op op;
    layout_convertor convertor;
};

void make_request_lists();
void destroy_request_lists();
send_request *obtain_send();       // nullptr: out of memory
receive_request *obtain_receive(); // nullptr: out of memory
void give_back(send_request *r);
void give_back(receive_request *r);

// What both have of the call that makes them; they hold communicator and datatype until they are given back.
template <class R, class B>
void set_up(R *r, B *buf, std::size_t count, ompi_datatype_t *datatype, int tag, ompi_communicator_t *comm,
            bool persistent) {
    OMPI_REQUEST_INIT(&r->super, persistent);
    r->super.req_mpi_object.comm = comm;
    r->super.req_status._cancelled = 0;
    r->super.req_status.MPI_ERROR = MPI_SUCCESS;
    r->buf = buf;
    r->count = count;
    r->datatype = datatype;
    r->comm = comm;
    r->tag = tag;
    r->active = r->freed = false;
    OBJ_RETAIN(comm);
    OMPI_DATATYPE_RETAIN(datatype);
}

inline void show_active(ompi_request_t &r) {
    r.req_state = OMPI_REQUEST_ACTIVE;
    r.req_complete = REQUEST_PENDING;
    r.req_status.MPI_ERROR = MPI_SUCCESS; // Open MPI frees what has an error, active or not
}

// Ready the operation inside: buffer or convertor, length, functions.
void aim(send_op *op, layout_convertor *convertor, const void *buf, std::size_t count, ompi_datatype_t *datatype);
void aim(recv_op *op, layout_convertor *convertor, void *buf, std::size_t count, ompi_datatype_t *datatype);

// MPI status of a finished receive, but its MPI_ERROR: that is returned, as calls that complete one operation leave the
// field alone.
int fill_status(const recv_op &op, ompi_status_public_t *status);

// From the engine.
void receive_done(recv_op *op);
void send_done(send_op *op);

bool is_send(const ompi_request_t *r);

// In a call of the program that begins an operation, inside the gate: a message to this process itself has ended on
// both sides, and a test that comes next finds it so, as over other pmls. Not for those of nonblocking collectives,
// which have tags below 0: what others wait for may call them back.
inline void finish_own(engine &e, const endpoint *peer, int tag) {
    if (nullptr != peer && route::self == peer->way && (tag >= 0 || MPI_ANY_TAG == tag)) {
        e.finish_operations();
    }
}

// The engine's operation begins; under no lock. Used by isend, irecv and start.
int begin_send(send_request *r);
int begin_receive(receive_request *r);

} // namespace smartint::pml
