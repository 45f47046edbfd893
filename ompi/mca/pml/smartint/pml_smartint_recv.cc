// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Receives: blocking, nonblocking, persistent, and of a message that was probed.
#include "pml_smartint_request.h"

namespace smartint::pml {
namespace {

receive_request *make(void *buf, std::size_t count, ompi_datatype_t *datatype, int src, int tag,
                      ompi_communicator_t *comm, bool persistent) {
    receive_request *r = obtain_receive();
    if (nullptr != r) {
        set_up(r, buf, count, datatype, tag, comm, persistent);
        r->src = src;
    }
    return r;
}

void set_selection(recv_op *op, ompi_communicator_t *comm, int src, int tag) {
    op->context = comm->c_contextid;
    op->source = engine_source(src);
    op->tag = engine_tag(tag);
    op->failed = false;
    // So that it is armed by what its sender can do, and fails when that is lost.
    endpoint *ep = src >= 0 ? known_endpoint(comm, src) : nullptr;
    op->peer = src >= 0 && nullptr == ep ? look_up_endpoint(comm, src) : ep;
}

} // namespace

int begin_receive(receive_request *r) {
    show_active(r->super);
    set_selection(&r->op, r->comm, r->src, r->tag);
    aim(&r->op, &r->convertor, r->buf, r->count, r->datatype);
    r->op.blocking = false;
    r->active = true;
    const endpoint *peer = r->op.peer; // where it has ended others may have the request
    const int tag = r->tag;
    engine &e = engine::instance();
    e.enter();
    e.receive(&r->op);
    e.finish_operation(&r->op);
    finish_own(e, peer, tag);
    e.leave();
    return OMPI_SUCCESS;
}

extern "C" {

int pml_smartint_irecv_init(void *buf, std::size_t count, ompi_datatype_t *datatype, int src, int tag,
                            ompi_communicator_t *comm, ompi_request_t **request) noexcept {
    receive_request *r = make(buf, count, datatype, src, tag, comm, true);
    if (nullptr == r) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    *request = &r->super;
    return OMPI_SUCCESS;
}

int pml_smartint_irecv(void *buf, std::size_t count, ompi_datatype_t *datatype, int src, int tag,
                       ompi_communicator_t *comm, ompi_request_t **request) noexcept {
    receive_request *r = make(buf, count, datatype, src, tag, comm, false);
    if (nullptr == r) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    *request = &r->super;
    return begin_receive(r);
}

int pml_smartint_recv(void *buf, std::size_t count, ompi_datatype_t *datatype, int src, int tag,
                      ompi_communicator_t *comm, ompi_status_public_t *status) noexcept {
    return holding(comm, [&] {
        recv_op op;
        layout_convertor convertor;
        set_selection(&op, comm, src, tag);
        aim(&op, &convertor, buf, count, datatype);
        op.blocking = true;
        block([&](engine &e) { e.receive(&op); }, [&] { return op_state::done == op.state.seen(); });
        return fill_status(op, status);
    });
}

int pml_smartint_imrecv(void *buf, std::size_t count, ompi_datatype_t *datatype, ompi_message_t **message,
                        ompi_request_t **request) noexcept {
    auto *u = static_cast<unexpected *>((*message)->req_ptr);
    ompi_communicator_t *comm = (*message)->comm;
    receive_request *r = make(buf, count, datatype, u->key.source, u->key.tag, comm, false);
    if (nullptr == r) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    ompi_message_return(*message);
    *message = MPI_MESSAGE_NULL;
    OBJ_RELEASE(comm); // the request has its own
    show_active(r->super);
    set_selection(&r->op, comm, r->src, r->tag);
    aim(&r->op, &r->convertor, buf, count, datatype);
    r->op.blocking = false;
    r->active = true;
    *request = &r->super;
    engine &e = engine::instance();
    e.enter();
    e.receive_matched(&r->op, u);
    e.finish_operation(&r->op);
    e.leave();
    return OMPI_SUCCESS;
}

int pml_smartint_mrecv(void *buf, std::size_t count, ompi_datatype_t *datatype, ompi_message_t **message,
                       ompi_status_public_t *status) noexcept {
    auto *u = static_cast<unexpected *>((*message)->req_ptr);
    ompi_communicator_t *comm = (*message)->comm;
    recv_op op;
    layout_convertor convertor;
    set_selection(&op, comm, u->key.source, u->key.tag);
    ompi_message_return(*message);
    *message = MPI_MESSAGE_NULL;
    aim(&op, &convertor, buf, count, datatype);
    op.blocking = true;
    block([&](engine &e) { e.receive_matched(&op, u); }, [&] { return op_state::done == op.state.seen(); });
    const int rc = fill_status(op, status);
    if (MPI_SUCCESS == rc) {
        OBJ_RELEASE(comm);
    } else {
        release_later(comm);
    }
    return rc;
}

} // extern "C"
} // namespace smartint::pml
