// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Sends of every mode. First the inline attempt (small, contiguous, no request), then a
// request.
#include <cstring>

#include "common_smartint_log.h"
#include "pml_smartint_request.h"

namespace smartint::pml {
namespace {

bool plain(mca_pml_base_send_mode_t mode) {
    return MCA_PML_BASE_SEND_STANDARD == mode || MCA_PML_BASE_SEND_READY == mode;
}

bool try_inline(endpoint *ep, const void *buf, std::size_t count, ompi_datatype_t *datatype, int tag,
                ompi_communicator_t *comm) {
    std::byte *base = nullptr;
    std::uint64_t bytes = 0;
    if (!contiguous_piece(buf, count, datatype, &base, &bytes) || bytes > ep->eager_limit) {
        return false;
    }
    const wire::match m{comm->c_contextid, comm->c_my_rank, tag};
    engine &e = engine::instance();
    e.enter();
    const bool sent = e.try_eager(ep, m, base, static_cast<std::uint32_t>(bytes));
    finish_own(e, ep, tag);
    e.leave();
    return sent;
}

send_request *make(const void *buf, std::size_t count, ompi_datatype_t *datatype, int dst, int tag,
                   mca_pml_base_send_mode_t mode, ompi_communicator_t *comm, bool persistent) {
    send_request *r = obtain_send();
    if (nullptr != r) {
        set_up(r, buf, count, datatype, tag, comm, persistent);
        r->dst = dst;
        r->mode = mode;
        r->bsend_buffer = nullptr;
    }
    return r;
}

void set_route(send_op *op, ompi_communicator_t *comm, endpoint *ep, int tag, bool synchronous) {
    op->peer = ep;
    op->context = comm->c_contextid;
    op->source = comm->c_my_rank;
    op->tag = tag;
    op->synchronous = synchronous;
    op->failed = false;
}

// A buffered send: the data goes into the user's attached buffer and a request of our own
// carries it from there, so that the user's is complete at once.
int send_buffered(const void *buf, std::size_t count, ompi_datatype_t *datatype, int dst, int tag,
                  ompi_communicator_t *comm) {
    endpoint *ep = peer_endpoint(comm, dst);
    if (nullptr == ep) {
        return OMPI_ERR_UNREACH;
    }
    send_op probe;
    layout_convertor convertor;
    aim(&probe, &convertor, buf, count, datatype);
    send_request *r = make(buf, count, datatype, dst, tag, MCA_PML_BASE_SEND_STANDARD, comm, false);
    if (nullptr == r) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    void *kept = nullptr;
    if (0 != probe.length) {
        kept = mca_pml_base_bsend_request_alloc_buf(probe.length);
        if (nullptr == kept) {
            // What is in the way may be done, and not delivered: it has called opal_progress(), which may have found
            // the gate closed.
            engine &e = engine::instance();
            e.enter();
            e.pass(false);
            e.finish_operations();
            e.leave();
            kept = mca_pml_base_bsend_request_alloc_buf(probe.length);
        }
        if (nullptr == kept) {
            give_back(r);
            return OMPI_ERR_BUFFER;
        }
        if (nullptr != probe.buffer) {
            std::memcpy(kept, probe.buffer, probe.length);
        } else {
            convertor.pack(0, kept, probe.length);
        }
    }
    r->bsend_buffer = kept;
    r->op.buffer = nullptr != kept ? static_cast<std::byte *>(kept) : probe.buffer;
    r->op.length = probe.length;
    r->op.gather = nullptr;
    r->op.blocking = false;
    set_route(&r->op, comm, ep, tag, false);
    show_active(r->super);
    r->active = true;
    r->freed = true; // nobody else will
    engine &e = engine::instance();
    e.enter();
    e.send(&r->op);
    e.leave_behind(&r->op);
    e.finish_operation(&r->op);
    finish_own(e, ep, tag);
    e.leave();
    return OMPI_SUCCESS;
}

} // namespace

// An error leaves the request as it was: one that was not started can be waited for.
int begin_send(send_request *r) {
    if (MCA_PML_BASE_SEND_BUFFERED == r->mode) {
        const int rc = send_buffered(r->buf, r->count, r->datatype, r->dst, r->tag, r->comm);
        if (OMPI_SUCCESS != rc) {
            return rc;
        }
        show_active(r->super);
        ompi_request_complete(&r->super, true);
        return OMPI_SUCCESS;
    }
    endpoint *ep = peer_endpoint(r->comm, r->dst);
    if (nullptr == ep) {
        return OMPI_ERR_UNREACH;
    }
    show_active(r->super);
    set_route(&r->op, r->comm, ep, r->tag, MCA_PML_BASE_SEND_SYNCHRONOUS == r->mode);
    aim(&r->op, &r->convertor, r->buf, r->count, r->datatype);
    r->op.blocking = false;
    r->active = true;
    const int tag = r->tag; // where it has ended others may have the request
    engine &e = engine::instance();
    e.enter();
    e.send(&r->op);
    e.finish_operation(&r->op);
    finish_own(e, ep, tag);
    e.leave();
    return OMPI_SUCCESS;
}

extern "C" {

int pml_smartint_isend_init(const void *buf, std::size_t count, ompi_datatype_t *datatype, int dst, int tag,
                            mca_pml_base_send_mode_t mode, ompi_communicator_t *comm,
                            ompi_request_t **request) noexcept {
    send_request *r = make(buf, count, datatype, dst, tag, mode, comm, true);
    if (nullptr == r) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    *request = &r->super;
    return OMPI_SUCCESS;
}

int pml_smartint_isend(const void *buf, std::size_t count, ompi_datatype_t *datatype, int dst, int tag,
                       mca_pml_base_send_mode_t mode, ompi_communicator_t *comm, ompi_request_t **request) noexcept {
    endpoint *ep = peer_endpoint(comm, dst);
    if (nullptr == ep) {
        return OMPI_ERR_UNREACH;
    }
    // Collectives (tags below 0) may have themselves called back, and write into the request for that: not for several
    // threads into the one that all share.
    const bool shares = tag >= 0 || !engine::instance().identity().threads;
    if (plain(mode) && shares && try_inline(ep, buf, count, datatype, tag, comm)) {
        *request = &ompi_request_empty;
        return OMPI_SUCCESS;
    }
    if (MCA_PML_BASE_SEND_BUFFERED == mode) {
        *request = &ompi_request_empty;
        return send_buffered(buf, count, datatype, dst, tag, comm);
    }
    send_request *r = make(buf, count, datatype, dst, tag, mode, comm, false);
    if (nullptr == r) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    const int rc = begin_send(r);
    if (OMPI_SUCCESS != rc) {
        give_back(r);
        return rc;
    }
    *request = &r->super;
    return OMPI_SUCCESS;
}

int pml_smartint_send(const void *buf, std::size_t count, ompi_datatype_t *datatype, int dst, int tag,
                      mca_pml_base_send_mode_t mode, ompi_communicator_t *comm) noexcept {
    endpoint *ep = peer_endpoint(comm, dst);
    if (nullptr == ep) {
        return OMPI_ERR_UNREACH;
    }
    if (plain(mode) && try_inline(ep, buf, count, datatype, tag, comm)) {
        return OMPI_SUCCESS;
    }
    if (MCA_PML_BASE_SEND_BUFFERED == mode) {
        return send_buffered(buf, count, datatype, dst, tag, comm);
    }
    return holding(comm, [&] {
        send_op op;
        layout_convertor convertor;
        set_route(&op, comm, ep, tag, MCA_PML_BASE_SEND_SYNCHRONOUS == mode);
        aim(&op, &convertor, buf, count, datatype);
        op.blocking = true;
        block([&](engine &e) { e.send(&op); }, [&] { return op_state::done == op.state.seen(); });
        if (op.failed) {
            flush_reports();
            return OMPI_ERROR;
        }
        return OMPI_SUCCESS;
    });
}

} // extern "C"
} // namespace smartint::pml
