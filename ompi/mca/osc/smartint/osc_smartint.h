// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// osc/smartint: MPI's one-sided semantics over the engine. This file is the module's table of
// contents. Application threads only; the interrupt thread never comes here.
#pragma once

#include <smartint/ompi_glue.h>

#include <atomic>
#include <utility>
#include <vector>

extern "C" {
#include "ompi_config.h"
#include "ompi/communicator/communicator.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/group/group.h"
#include "ompi/mca/osc/base/base.h"
#include "ompi/mca/osc/osc.h"
#include "ompi/request/request.h"
#include "ompi/win/win.h"
#include "opal/runtime/opal_progress.h"
}

#include "common_smartint_mca.h"

namespace smartint::osc {

// Memory of a window that the processes of a node share.
struct shared_memory {
    std::byte *base = nullptr;
    std::size_t bytes = 0;
    int fd = -1; // until all have mapped it

    ~shared_memory() { release(); }
    void release();
};

// Targets of a window: a byte for each member, as every operation asks.
class target_set {
public:
    void resize(int members) { marks_.resize(static_cast<std::size_t>(members)); }
    bool empty() const { return 0 == count_; }
    bool contains(int target) const { return 0 != at(target); }
    bool unchecked(int target) const { return 2 == at(target); }
    // False: it was there.
    bool insert(int target, bool unchecked = false) {
        if (contains(target)) {
            return false;
        }
        marks_[static_cast<std::size_t>(target)] = unchecked ? 2 : 1;
        ++count_;
        return true;
    }
    void erase(int target) {
        marks_[static_cast<std::size_t>(target)] = 0;
        --count_;
    }
    // Takes all out, each of them to f.
    template <class F> void take(F f) {
        for (int i = 0; count_ > 0; ++i) {
            if (contains(i)) {
                erase(i);
                f(i);
            }
        }
    }

private:
    std::uint8_t at(int target) const { return marks_[static_cast<std::size_t>(target)]; }

    std::vector<std::uint8_t> marks_; // 0: not, 1: it is, 2: with MPI_MODE_NOCHECK
    int count_ = 0;
};

// A target whose memory is in this process, since a put or get to it was copied in its call. As long as no epoch begins
// or ends, and nothing is put into a queue, the next ones need not ask again, nor enter the engine. But one in so many
// does: a program of nothing else would serve nobody. Not while others ask this process for something, who would wake
// its thread each time. Only where one thread calls: it is that thread's, not under the gate.
struct at_hand {
    static constexpr unsigned most = 63;           // operations
    static constexpr std::uint64_t bytes = 131072; // of one; larger ones may have to wait for the network's (slack)
    rma_peer *peer = nullptr;                      // nullptr: none
    int target = -1;
    unsigned copied = 0; // operations that the counters do not have yet
};

// A window. Open MPI keeps a pointer to the first member. All of it under the gate, but for `hand` and what never
// changes.
struct module {
    ompi_osc_base_module_t super;
    ompi_win_t *win = nullptr;
    ompi_communicator_t *comm = nullptr; // a duplicate of the user's
    rma_window *window = nullptr;
    int flavor = 0;
    std::vector<std::int64_t> units; // displacement unit of each process
    shared_memory memory;            // that members of this node share
    bool shares_words = false;       // each other's locks are in it
    void *own = nullptr;             // or, where it can't be shared, from malloc

    // epochs, as the calls of this process have left them
    bool fence_open = false;    // operations are allowed since the last fence
    bool fence_used = false;    // and there were some
    bool fence_exposes = false; // others' operations are allowed since the last fence: the next one awaits them
    bool fence_ahead = false;   // the last one was not waited for, though it might have been
    bool started = false;
    target_set access;           // started: the group
    std::uint32_t exposures = 0; // posted and not waited for
    target_set locks;
    bool all_locked = false;
    bool all_unchecked = false; // lock_all with MPI_MODE_NOCHECK
    target_set all_taken;       // whose lock lock_all has asked for
    at_hand hand;
    unsigned short_calls = 0; // that had nothing to wait for, since the last that looked at the network
    int fortran_number = -1;  // the handle's, while a refused MPI_Win_free has it put by

    int rank() const { return window->rank; }
    void note_operation() { fence_used = fence_used || fence_open; } // one was accepted
    void count_copied() {
        if (0 != hand.copied) {
            engine::instance().one_sided().count_mapped(std::exchange(hand.copied, 0));
        }
    }
    void forget_hand() {
        if (hand.target >= 0) { // never with several threads, which read it outside the gate
            count_copied();
            hand = at_hand{};
        }
    }
    // What a refused MPI_Win_free has put by. By the calls of which one comes before the next one that succeeds.
    void mend_handle() {
        if (-1 != fortran_number) {
            win->w_f_to_c_index = std::exchange(fortran_number, -1);
        }
    }
    bool passive() const { return all_locked || !locks.empty(); }
    bool allocates() const { return MPI_WIN_FLAVOR_ALLOCATE == flavor || shared(); }
    bool shared() const { return MPI_WIN_FLAVOR_SHARED == flavor; }
};

inline module &of(ompi_win_t *win) { return *reinterpret_cast<module *>(win->w_osc_module); }

extern const ompi_osc_base_module_t module_functions;

// In the engine, for as long as the object lives.
struct inside {
    inside() { engine::instance().enter(); }
    ~inside() { engine::instance().leave(); }
    inside(const inside &) = delete;
    inside &operator=(const inside &) = delete;
};

// The same of a call that begins an operation.
struct briefly_inside {
    briefly_inside() { engine::instance().enter_briefly(); }
    ~briefly_inside() { engine::instance().leave_briefly(); }
    briefly_inside(const briefly_inside &) = delete;
    briefly_inside &operator=(const briefly_inside &) = delete;
};

// Between begin_wait() and end_wait() of the engine: until done() holds, which is asked under the gate.
template <class F> void look_until(F done) {
    engine &e = engine::instance();
    for (;;) {
        for (int i = 0; i < 32; ++i) {
            e.progress_in_wait();
            const inside here;
            if (done()) {
                return;
            }
        }
        opal_progress();
    }
}

// The same, with its wait around it. Not to be called inside.
template <class F> void wait_until(F done) {
    engine &e = engine::instance();
    {
        const inside here;
        if (done()) {
            return;
        }
        e.begin_wait(); // in the same turn in the engine: each that ends looks at the board, with a fence
    }
    look_until(done);
    e.end_wait();
}

// The error of what happened in the window since the last synchronization, then forgotten.
int report(module &m, rma_error error = rma_error::none);
int mpi_error(rma_error error);

// Gets and puts in mapped memory are loads and stores of the calling thread. Those of the program behind a call that
// says that they are over are not before them: flags are waited for in memory that others write.
struct call_is_a_fence {
    ~call_is_a_fence() { std::atomic_thread_fence(std::memory_order_acq_rel); } // E1
};

// A call with its wait: begin(module, sync) inside, then until it is done.
template <class F> int blocking(module &m, F begin) {
    const call_is_a_fence behind;
    engine &e = engine::instance();
    rma_sync sync;
    bool waits = false;
    {
        const inside here;
        const int error = begin(m, &sync);
        if (MPI_SUCCESS != error) {
            return error;
        }
        waits = !sync.done();
        if (waits) {
            e.begin_wait();
        } else if (rma_error::none == m.window->error && 0 != (++m.short_calls & 63)) {
            return mpi_error(sync.error);
        }
    }
    if (!waits) {
        e.progress(); // whoever needs nothing may be needed
        return report(m, sync.error);
    }
    look_until([&] { return sync.done(); });
    const int error = report(m, sync.error);
    e.end_wait();
    return error;
}

// A call that opens an epoch: its wait, and no error of operations before it.
template <class F> int open_and_wait(module &m, F begin) {
    const call_is_a_fence behind;
    engine &e = engine::instance();
    rma_sync sync;
    {
        const inside here;
        const int error = begin(m, &sync);
        if (MPI_SUCCESS != error || sync.done()) {
            return error;
        }
        e.begin_wait();
    }
    look_until([&] { return sync.done(); });
    e.end_wait();
    return MPI_SUCCESS;
}

// osc_smartint_component.cc
// Beside another pml a job without a window has nothing of smartint. All begins with the first one: engine, board and
// helper, unless the btl is named too and has begun them, its progress in waits of others, and its thread. False: it
// can't, and that was told.
bool begin();

// osc_smartint_window.cc
int make_window(ompi_win_t *win, void **base, std::size_t size, int disp_unit, ompi_communicator_t *comm,
                opal_info_t *info, int flavor, int *model);

// osc_smartint_datatype.cc
rma_layout layout_of(const ompi_datatype_t *type, std::size_t count);
rma_type basic_type(const ompi_datatype_t *type); // none: not of one type that is known
rma_operator operator_of(const ompi_op_t *op);

// osc_smartint_comm.cc
// May an operation go to this target now? MPI_SUCCESS or the error; asks for what lock_all left.
int open_towards(module &m, int target);
// Target memory of an operation into its item: address, layout. MPI_SUCCESS or the error.
int aim(module &m, rma_item *i, int target, std::ptrdiff_t displacement, std::size_t count,
        const ompi_datatype_t *type);
// So much is sent into the buffer, which may be larger: it becomes its front. MPI_SUCCESS, or MPI_ERR_TRUNCATE.
int fit(std::uint64_t bytes, rma_layout *buffer);
int submit(module &m, int target, rma_item *i, ompi_request_t **request);
rma_item *make_item(rma_item::what kind, rma_begun begun); // begun: how, before it had an item
// What needs no item: one piece here and at the target, whose memory is in this process. Where the
// piece here begins, and the target's into `there`; nullptr: not this way.
struct place {
    rma_peer *peer = nullptr;
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
};
std::byte *short_way(module &m, const void *mine, std::size_t count, const ompi_datatype_t *type, int target,
                     std::ptrdiff_t displacement, std::size_t target_count, const ompi_datatype_t *target_type,
                     place *there);

// The calls of epochs without their waits: sync is done when the call may return. An MPI error. requested: it returns
// a request instead.
// osc_smartint_active.cc, osc_smartint_passive.cc; inside.
int begin_fence(module &m, int assertion, rma_sync *sync, bool requested);
int begin_start(module &m, ompi_group_t *group, int assertion, rma_sync *sync);
int begin_complete(module &m, rma_sync *sync);
int begin_post(module &m, ompi_group_t *group, int assertion, bool nonblocking);
int begin_wait(module &m, rma_sync *sync);
int begin_lock(module &m, int type, int target, int assertion, rma_sync *sync, bool requested);
int begin_unlock(module &m, int target, rma_sync *sync);
int begin_lock_all(module &m, int assertion, rma_sync *sync);
int begin_unlock_all(module &m, rma_sync *sync);
int begin_flush(module &m, int target, rma_sync *sync);

// osc_smartint_nonblocking.cc
void offer_nonblocking(bool offered);

// osc_smartint_request.cc
struct request {
    ompi_request_t super;
    rma_sync sync;
    module *owner; // an epoch's: takes the window's error along
    bool freed;    // MPI_Request_free while under way
};
request *new_request(ompi_win_t *win, module *owner = nullptr); // its sync has one part until begun() is called
void begun(request *r);
void request_done(void *user, rma_error error); // from the engine

extern "C" {
int osc_smartint_shared_query(ompi_win_t *win, int rank, std::size_t *size, int *disp_unit, void *baseptr) noexcept;
int osc_smartint_attach(ompi_win_t *win, void *base, std::size_t size) noexcept;
int osc_smartint_detach(ompi_win_t *win, const void *base) noexcept;
int osc_smartint_free(ompi_win_t *win) noexcept;

int osc_smartint_put(const void *origin, int count, ompi_datatype_t *type, int target, std::ptrdiff_t displacement,
                     int target_count, ompi_datatype_t *target_type, ompi_win_t *win) noexcept;
int osc_smartint_get(void *origin, int count, ompi_datatype_t *type, int target, std::ptrdiff_t displacement,
                     int target_count, ompi_datatype_t *target_type, ompi_win_t *win) noexcept;
int osc_smartint_rput(const void *origin, int count, ompi_datatype_t *type, int target, std::ptrdiff_t displacement,
                      int target_count, ompi_datatype_t *target_type, ompi_win_t *win,
                      ompi_request_t **request) noexcept;
int osc_smartint_rget(void *origin, int count, ompi_datatype_t *type, int target, std::ptrdiff_t displacement,
                      int target_count, ompi_datatype_t *target_type, ompi_win_t *win,
                      ompi_request_t **request) noexcept;

int osc_smartint_accumulate(const void *origin, int count, ompi_datatype_t *type, int target,
                            std::ptrdiff_t displacement, int target_count, ompi_datatype_t *target_type, ompi_op_t *op,
                            ompi_win_t *win) noexcept;
int osc_smartint_raccumulate(const void *origin, int count, ompi_datatype_t *type, int target,
                             std::ptrdiff_t displacement, int target_count, ompi_datatype_t *target_type, ompi_op_t *op,
                             ompi_win_t *win, ompi_request_t **request) noexcept;
int osc_smartint_get_accumulate(const void *origin, int count, ompi_datatype_t *type, void *result, int result_count,
                                ompi_datatype_t *result_type, int target, std::ptrdiff_t displacement, int target_count,
                                ompi_datatype_t *target_type, ompi_op_t *op, ompi_win_t *win) noexcept;
int osc_smartint_rget_accumulate(const void *origin, int count, ompi_datatype_t *type, void *result, int result_count,
                                 ompi_datatype_t *result_type, int target, std::ptrdiff_t displacement,
                                 int target_count, ompi_datatype_t *target_type, ompi_op_t *op, ompi_win_t *win,
                                 ompi_request_t **request) noexcept;
int osc_smartint_fetch_and_op(const void *origin, void *result, ompi_datatype_t *type, int target,
                              std::ptrdiff_t displacement, ompi_op_t *op, ompi_win_t *win) noexcept;
int osc_smartint_compare_and_swap(const void *origin, const void *compare, void *result, ompi_datatype_t *type,
                                  int target, std::ptrdiff_t displacement, ompi_win_t *win) noexcept;

int osc_smartint_fence(int assertion, ompi_win_t *win) noexcept;
int osc_smartint_start(ompi_group_t *group, int assertion, ompi_win_t *win) noexcept;
int osc_smartint_complete(ompi_win_t *win) noexcept;
int osc_smartint_post(ompi_group_t *group, int assertion, ompi_win_t *win) noexcept;
int osc_smartint_wait(ompi_win_t *win) noexcept;
int osc_smartint_test(ompi_win_t *win, int *flag) noexcept;

int osc_smartint_lock(int type, int target, int assertion, ompi_win_t *win) noexcept;
int osc_smartint_unlock(int target, ompi_win_t *win) noexcept;
int osc_smartint_lock_all(int assertion, ompi_win_t *win) noexcept;
int osc_smartint_unlock_all(ompi_win_t *win) noexcept;
int osc_smartint_sync(ompi_win_t *win) noexcept;
int osc_smartint_flush(int target, ompi_win_t *win) noexcept;
int osc_smartint_flush_all(ompi_win_t *win) noexcept;
int osc_smartint_flush_local(int target, ompi_win_t *win) noexcept;
int osc_smartint_flush_local_all(ompi_win_t *win) noexcept;
}

} // namespace smartint::osc
