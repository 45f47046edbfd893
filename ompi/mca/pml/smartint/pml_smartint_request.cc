// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Requests: Open MPI's free lists of them, their buffers and datatypes as the engine takes them, their starts and their
// ends.
#include "pml_smartint_request.h"

#include <atomic>
#include <cstddef>
#include <new>

#include "common_smartint_log.h"

extern "C" {
#include "ompi/errhandler/errcode-internal.h"
}

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
extern "C" {
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
}
#endif

namespace smartint::pml {
namespace {

// Open MPI's lists order what one thread wrote into an item before what the next one reads, by means that the thread
// sanitizer does not see.
inline void leaves_us([[maybe_unused]] void *item) {
#ifdef __SANITIZE_THREAD__
    __tsan_release(item);
#endif
}
inline void comes_to_us([[maybe_unused]] void *item) {
#ifdef __SANITIZE_THREAD__
    __tsan_acquire(item);
#endif
}

// Open MPI publishes by an exchange that acquires alone: what the one who sees it reads is written before. How a thread
// that waits gets to know is between the call's two halves; one of them lies in Open MPI, which the sanitizer did not
// build.
inline void signal_complete(ompi_request_t *r) {
#ifdef __SANITIZE_THREAD__
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
#endif
    std::atomic_thread_fence(std::memory_order_release); // Q1
    ompi_request_complete(r, true);
#ifdef __SANITIZE_THREAD__
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
#endif
}

// Once complete the request is the application's: nothing of it is touched after that. Who is called back may take a
// lock that another thread holds while it sends, as coll/adapt does. Only the callback frees such a request;
// free_request() of any other comes under the gate.
inline void complete(ompi_request_t *r) {
    const bool called_back = nullptr != r->req_complete_cb;
    leaves_us(r);
    if (__builtin_expect(called_back, 0)) {
        const gate::opened meanwhile(engine::instance().the_gate());
        signal_complete(r);
    } else {
        signal_complete(r);
    }
}

template <class R, class O> R *request_of(O *op) {
    return reinterpret_cast<R *>(reinterpret_cast<std::byte *>(op) - offsetof(R, op));
}

// The convertor stands behind the operation in both requests.
std::uint64_t gather(send_op *op, std::uint64_t at, void *data, std::uint64_t bytes) {
    return static_cast<layout_convertor *>(op->user)->pack(at, data, bytes);
}

void scatter(recv_op *op, std::uint64_t at, const void *data, std::uint64_t bytes) {
    static_cast<layout_convertor *>(op->user)->unpack(at, data, bytes);
}

// The engine has nothing of it any more: receive_done and send_done say last that it is complete.
bool is_over(ompi_request_t *r) {
    return REQUEST_COMPLETED == __atomic_load_n(&r->req_complete, __ATOMIC_ACQUIRE); // pairs with Q1
}

void leave_behind(engine &e, send_op *op) { e.leave_behind(op); }
void leave_behind(engine &, recv_op *) {}

template <class R> int free_request(ompi_request_t **request) {
    auto *r = reinterpret_cast<R *>(*request);
    *request = MPI_REQUEST_NULL;
    if (is_over(&r->super)) {
        comes_to_us(r);
        give_back(r);
        return OMPI_SUCCESS;
    }
    engine &e = engine::instance();
    e.enter();
    if (r->active) {
        r->freed = true;
        leave_behind(e, &r->op);
    } else {
        give_back(r);
    }
    e.leave();
    return OMPI_SUCCESS;
}

int free_send(ompi_request_t **request) noexcept { return free_request<send_request>(request); }
int free_receive(ompi_request_t **request) noexcept { return free_request<receive_request>(request); }

// A send on its way is not called back: the standard lets a cancel fail.
int cancel_send(ompi_request_t *, int) noexcept { return OMPI_SUCCESS; }

int cancel_receive(ompi_request_t *request, int) noexcept {
    auto *r = reinterpret_cast<receive_request *>(request);
    engine &e = engine::instance();
    e.enter();
    const bool taken = r->active && e.cancel_receive(&r->op);
    if (taken) {
        r->active = false;
        r->super.req_status._cancelled = true;
        r->super.req_status.MPI_SOURCE = MPI_ANY_SOURCE;
        r->super.req_status.MPI_TAG = MPI_ANY_TAG;
        r->super.req_status._ucount = 0;
        r->super.req_status.MPI_ERROR = MPI_SUCCESS; // not that of the start before
        complete(&r->super);
    }
    e.leave();
    return OMPI_SUCCESS;
}

void construct_send(send_request *r) noexcept {
    new (&r->op) send_op{};
    new (&r->convertor) layout_convertor;
    r->super.req_type = OMPI_REQUEST_PML;
    r->super.req_start = boundary(pml_smartint_start_request);
    r->super.req_free = boundary(free_send);
    r->super.req_cancel = boundary(cancel_send);
    r->active = r->freed = false;
    r->bsend_buffer = nullptr;
}

void destruct_send(send_request *r) noexcept { r->convertor.~layout_convertor(); }

void construct_receive(receive_request *r) noexcept {
    new (&r->op) recv_op{};
    new (&r->convertor) layout_convertor;
    r->super.req_type = OMPI_REQUEST_PML;
    r->super.req_start = boundary(pml_smartint_start_request);
    r->super.req_free = boundary(free_receive);
    r->super.req_cancel = boundary(cancel_receive);
    r->active = r->freed = false;
}

void destruct_receive(receive_request *r) noexcept { r->convertor.~layout_convertor(); }

opal_free_list_t send_list;
opal_free_list_t receive_list;
bool lists_made = false;

// Is the convertor in use, which has cache lines of its own?
bool converts(const send_op &op) { return nullptr != op.gather; }
bool converts(const recv_op &op) { return nullptr != op.scatter; }

template <class R> void release(R *r, opal_free_list_t *list) {
    if (converts(r->op)) {
        r->convertor.release();
    }
    if (nullptr != r->datatype) {
        OMPI_DATATYPE_RELEASE(r->datatype);
    }
    if (MPI_SUCCESS == r->super.req_status.MPI_ERROR) {
        OBJ_RELEASE(r->comm);
    } else { // MPI_Wait and its like free the request before they look for the communicator's handler
        release_later(r->comm);
    }
    OMPI_REQUEST_FINI(&r->super);
    leaves_us(r);
    opal_free_list_return(list, &r->super.super);
}

template <class R> R *taken_from(opal_free_list_t *list) {
    auto *r = reinterpret_cast<R *>(opal_free_list_get(list));
    comes_to_us(r);
    return r;
}

// All of them, also behind one that cannot be started. The first error.
template <class F> int start_all(std::size_t count, ompi_request_t **requests, F on_error) {
    int error = OMPI_SUCCESS;
    for (std::size_t i = 0; i < count; ++i) {
        ompi_request_t *q = requests[i];
        if (nullptr == q || OMPI_REQUEST_PML != q->req_type) {
            continue;
        }
        const bool sends = is_send(q);
        ompi_communicator_t *comm =
            sends ? reinterpret_cast<send_request *>(q)->comm : reinterpret_cast<receive_request *>(q)->comm;
        const int rc = sends ? begin_send(reinterpret_cast<send_request *>(q))
                             : begin_receive(reinterpret_cast<receive_request *>(q));
        if (OMPI_SUCCESS != rc) {
            const int code = ompi_errcode_get_mpi_code(rc);
            error = OMPI_SUCCESS == error ? code : error;
            on_error(comm, code);
        }
    }
    return error;
}

} // namespace

static OBJ_CLASS_INSTANCE(send_request, ompi_request_t, construct_send, destruct_send);
static OBJ_CLASS_INSTANCE(receive_request, ompi_request_t, construct_receive, destruct_receive);

bool is_send(const ompi_request_t *r) { return free_send == r->req_free; }

void make_request_lists() {
    if (lists_made) {
        return;
    }
    // 0.8 KB each: few until they are asked for
    constexpr int first = 16;
    constexpr int step = 64;
    OBJ_CONSTRUCT(&send_list, opal_free_list_t);
    OBJ_CONSTRUCT(&receive_list, opal_free_list_t);
    opal_free_list_init(&send_list, sizeof(send_request), opal_cache_line_size, OBJ_CLASS(send_request), 0,
                        opal_cache_line_size, first, -1, step, nullptr, 0, nullptr, nullptr, nullptr);
    opal_free_list_init(&receive_list, sizeof(receive_request), opal_cache_line_size, OBJ_CLASS(receive_request), 0,
                        opal_cache_line_size, first, -1, step, nullptr, 0, nullptr, nullptr, nullptr);
    lists_made = true;
}

void destroy_request_lists() {
    if (lists_made) {
        OBJ_DESTRUCT(&send_list);
        OBJ_DESTRUCT(&receive_list);
        lists_made = false;
    }
}

send_request *obtain_send() { return taken_from<send_request>(&send_list); }

receive_request *obtain_receive() { return taken_from<receive_request>(&receive_list); }

void give_back(send_request *r) { release(r, &send_list); }
void give_back(receive_request *r) { release(r, &receive_list); }

void aim(send_op *op, layout_convertor *convertor, const void *buf, std::size_t count, ompi_datatype_t *datatype) {
    std::byte *base = nullptr;
    if (contiguous_piece(buf, count, datatype, &base, &op->length)) {
        op->buffer = base;
        op->gather = nullptr;
        return;
    }
    op->anywhere = convertor->prepare_send(buf, count, datatype);
    op->buffer = nullptr;
    op->user = convertor;
    op->gather = gather;
}

void aim(recv_op *op, layout_convertor *convertor, void *buf, std::size_t count, ompi_datatype_t *datatype) {
    std::byte *base = nullptr;
    if (contiguous_piece(buf, count, datatype, &base, &op->capacity)) {
        op->buffer = base;
        op->scatter = nullptr;
        return;
    }
    op->anywhere = convertor->prepare_receive(buf, count, datatype);
    op->buffer = nullptr;
    op->user = convertor;
    op->scatter = scatter;
}

int fill_status(const recv_op &op, ompi_status_public_t *status) {
    int error = MPI_SUCCESS;
    if (op.failed) {
        flush_reports(); // before the program's handler of errors ends the job
        error = MPI_ERR_OTHER;
    } else if (op.truncated()) {
        error = MPI_ERR_TRUNCATE;
    }
    if (nullptr != status && MPI_STATUS_IGNORE != status) {
        status->MPI_SOURCE = op.got_source;
        status->MPI_TAG = op.got_tag;
        status->_ucount = op.received;
        status->_cancelled = 0;
    }
    return error;
}

void receive_done(recv_op *op) {
    auto *r = request_of<receive_request>(op);
    r->active = false;
    r->super.req_status.MPI_ERROR = fill_status(*op, &r->super.req_status);
    if (converts(*op)) {
        r->convertor.release();
    }
    const bool freed = r->freed;
    complete(&r->super);
    if (freed) {
        give_back(r);
    }
}

void send_done(send_op *op) {
    auto *r = request_of<send_request>(op);
    r->active = false;
    if (converts(*op)) {
        r->convertor.release();
    }
    if (nullptr != r->bsend_buffer) {
        mca_pml_base_bsend_request_free(r->bsend_buffer);
        r->bsend_buffer = nullptr;
    }
    if (op->failed) {
        flush_reports();
    }
    r->super.req_status.MPI_SOURCE = r->comm->c_my_rank;
    r->super.req_status.MPI_TAG = r->tag;
    r->super.req_status.MPI_ERROR = op->failed ? MPI_ERR_OTHER : MPI_SUCCESS;
    r->super.req_status._ucount = op->length;
    r->super.req_status._cancelled = 0;
    const bool freed = r->freed;
    complete(&r->super);
    if (freed) {
        give_back(r);
    }
}

extern "C" {

// Components' starts: they hand an error on to the handler themselves.
int pml_smartint_start(std::size_t count, ompi_request_t **requests) noexcept {
    return start_all(count, requests, [](ompi_communicator_t *, int) {});
}

// The program's. MPI_Startall takes no notice of what this returns, and neither it nor MPI_Start calls a handler.
int pml_smartint_start_request(std::size_t count, ompi_request_t **requests) noexcept {
    return start_all(count, requests, [](ompi_communicator_t *comm, int code) {
        ompi_errhandler_invoke(comm->error_handler, comm, comm->errhandler_type, code, "MPI_Start");
    });
}

} // extern "C"
} // namespace smartint::pml
