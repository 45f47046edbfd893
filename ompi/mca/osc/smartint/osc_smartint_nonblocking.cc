// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Epochs that return requests, for libmpix_smartint. The same halves of calls as the blocking ones.
#include "common_smartint_mca_mpix.h"
#include "osc_smartint.h"

namespace smartint::osc {
namespace {

// What MPI's own calls check before they come to a component.
bool asserts(int given, int known) { return 0 == (given & ~known); }
bool locks(MPI_Win win) { return 0 == (win->w_flags & OMPI_WIN_NO_LOCKS); }

enum class epoch { begins, ends };

// An end takes along what went wrong in the window.
template <class F> int nonblocking(MPI_Win win, MPI_Request *wanted, epoch which, F begin) {
    if (ompi_win_invalid(win)) {
        return MPI_ERR_WIN;
    }
    if (osc_smartint_free != win->w_osc_module->osc_free) {
        return MPI_ERR_UNSUPPORTED_OPERATION;
    }
    module &m = of(win);
    const inside here;
    request *r = new_request(m.win, epoch::ends == which ? &m : nullptr);
    if (nullptr == r) {
        return MPI_ERR_NO_MEM;
    }
    const int error = begin(m, &r->sync);
    if (MPI_SUCCESS != error) {
        r->owner = nullptr;
        r->freed = true; // and gone with its end
        begun(r);
        engine::instance().one_sided().finish();
        return error;
    }
    *wanted = &r->super;
    begun(r);
    engine::instance().one_sided().finish();
    return MPI_SUCCESS;
}

// The same towards one member. To nobody there is nothing to do, nor an error of others' to take along.
template <class F> int nonblocking_towards(int target, MPI_Win win, MPI_Request *wanted, epoch which, F begin) {
    const bool valid = !ompi_win_invalid(win);
    if (valid && MPI_PROC_NULL == target && osc_smartint_free == win->w_osc_module->osc_free) {
        *wanted = &ompi_request_empty;
        return MPI_SUCCESS;
    }
    if (valid && MPI_PROC_NULL != target && ompi_win_peer_invalid(win, target)) {
        return MPI_ERR_RANK;
    }
    return nonblocking(win, wanted, which, begin);
}

int ifence(int assertion, MPI_Win win, MPI_Request *request) noexcept {
    return nonblocking(win, request, epoch::ends, [&](module &m, rma_sync *s) {
        constexpr int known = MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED;
        return asserts(assertion, known) ? begin_fence(m, assertion, s, true) : MPI_ERR_ASSERT;
    });
}

int istart(MPI_Group group, int assertion, MPI_Win win, MPI_Request *request) noexcept {
    return nonblocking(win, request, epoch::begins, [&](module &m, rma_sync *s) {
        return asserts(assertion, MPI_MODE_NOCHECK) ? begin_start(m, group, assertion, s) : MPI_ERR_ASSERT;
    });
}

int icomplete(MPI_Win win, MPI_Request *request) noexcept {
    return nonblocking(win, request, epoch::ends, [](module &m, rma_sync *s) { return begin_complete(m, s); });
}

int ipost(MPI_Group group, int assertion, MPI_Win win, MPI_Request *request) noexcept {
    return nonblocking(win, request, epoch::begins, [&](module &m, rma_sync *) {
        constexpr int known = MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT;
        return asserts(assertion, known) ? begin_post(m, group, assertion, true) : MPI_ERR_ASSERT;
    });
}

int iwait(MPI_Win win, MPI_Request *request) noexcept {
    return nonblocking(win, request, epoch::ends, [](module &m, rma_sync *s) { return begin_wait(m, s); });
}

int ilock(int type, int target, int assertion, MPI_Win win, MPI_Request *request) noexcept {
    return nonblocking_towards(target, win, request, epoch::begins, [&](module &m, rma_sync *s) {
        return MPI_LOCK_SHARED != type && MPI_LOCK_EXCLUSIVE != type ? MPI_ERR_LOCKTYPE
               : !asserts(assertion, MPI_MODE_NOCHECK)               ? MPI_ERR_ASSERT
               : !locks(win)                                         ? MPI_ERR_RMA_SYNC
                                                                     : begin_lock(m, type, target, assertion, s, true);
    });
}

int iunlock(int target, MPI_Win win, MPI_Request *request) noexcept {
    return nonblocking_towards(target, win, request, epoch::ends,
                               [&](module &m, rma_sync *s) { return begin_unlock(m, target, s); });
}

int ilock_all(int assertion, MPI_Win win, MPI_Request *request) noexcept {
    return nonblocking(win, request, epoch::begins, [&](module &m, rma_sync *s) {
        return !asserts(assertion, MPI_MODE_NOCHECK) ? MPI_ERR_ASSERT
               : !locks(win)                         ? MPI_ERR_RMA_SYNC
                                                     : begin_lock_all(m, assertion, s);
    });
}

int iunlock_all(MPI_Win win, MPI_Request *request) noexcept {
    return nonblocking(win, request, epoch::ends, [](module &m, rma_sync *s) { return begin_unlock_all(m, s); });
}

int iflush(int target, MPI_Win win, MPI_Request *request) noexcept {
    return nonblocking_towards(target, win, request, epoch::ends,
                               [&](module &m, rma_sync *s) { return begin_flush(m, target, s); });
}

constexpr smartint_nonblocking_calls the_calls = {ifence, istart,  icomplete, ipost,       iwait,
                                                  ilock,  iunlock, ilock_all, iunlock_all, iflush};

} // namespace

void offer_nonblocking(bool offered) { smartint_nonblocking = offered ? &the_calls : nullptr; }

} // namespace smartint::osc
