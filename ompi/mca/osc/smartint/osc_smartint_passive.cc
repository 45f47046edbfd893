// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Locks and flushes. A lock is asked for, and the call returns: what follows waits for the grant
// in the origin's queue. Only where the memory can be reached without a call, the process's own
// and what a node shares, the lock is waited for.
#include "osc_smartint.h"

#include <atomic>

namespace smartint::osc {
namespace {

rma &one_sided() { return engine::instance().one_sided(); }

// Of the application's threads, from 1 on. One for all that call one after the other: their calls have one order.
std::uint32_t this_thread() {
    if (!engine::instance().identity().threads) {
        return 1;
    }
    static std::atomic<std::uint32_t> last{0}; // relaxed: it makes numbers and orders nothing
    static thread_local const std::uint32_t number = last.fetch_add(1, std::memory_order_relaxed) + 1;
    return number;
}

// Every member that this process has dealt with.
template <class F> void each_peer(module &m, F f) {
    for (auto &p : m.window->peers) {
        if (p) {
            f(p.get());
        }
    }
}

// Open MPI looks at the rank of every call but these.
template <class F> int flush_towards(int target, ompi_win_t *win, F begin) {
    return MPI_PROC_NULL == target              ? MPI_SUCCESS
           : ompi_win_peer_invalid(win, target) ? MPI_ERR_RANK
                                                : blocking(of(win), begin);
}

void flush_one(rma_peer *p, rma_sync *sync) {
    if (rma::quiet(p)) {
        one_sided().found_quiet(p);
        std::atomic_thread_fence(std::memory_order_seq_cst); // loads behind it are not from before
    } else {
        one_sided().flush(p, sync);
    }
}

} // namespace

int begin_lock(module &m, int type, int target, int assertion, rma_sync *sync, bool requested) {
    m.forget_hand();
    if (m.all_locked || m.started || m.locks.contains(target) || (m.fence_open && m.fence_used)) {
        return MPI_ERR_RMA_SYNC;
    }
    m.fence_open = false;
    const bool unchecked = 0 != (assertion & MPI_MODE_NOCHECK);
    m.locks.insert(target, unchecked);
    rma_peer *p = one_sided().peer(m.window, target);
    const bool exclusive = MPI_LOCK_EXCLUSIVE == type;
    // A lock with a request is taken when it can be had, whatever others are waited for.
    const std::uint32_t thread = requested ? 0 : this_thread();
    if (!unchecked && !one_sided().try_take(p, exclusive, thread)) {
        const bool here_too = target == m.rank() || m.shared();
        one_sided().lock(p, exclusive, here_too || requested ? sync : nullptr, thread);
    }
    return MPI_SUCCESS;
}

int begin_unlock(module &m, int target, rma_sync *sync) {
    m.forget_hand();
    m.mend_handle();
    if (!m.locks.contains(target)) {
        return MPI_ERR_RMA_SYNC;
    }
    rma_peer *p = one_sided().peer(m.window, target);
    if (m.locks.unchecked(target)) {
        one_sided().flush(p, sync);
    } else if (!one_sided().try_drop(p)) {
        one_sided().unlock(p, sync);
    }
    m.locks.erase(target);
    return MPI_SUCCESS;
}

int begin_lock_all(module &m, int assertion, rma_sync *sync) {
    m.forget_hand();
    if (m.passive() || m.started || (m.fence_open && m.fence_used)) {
        return MPI_ERR_RMA_SYNC;
    }
    m.fence_open = false;
    m.all_locked = true;
    m.all_unchecked = 0 != (assertion & MPI_MODE_NOCHECK);
    // The others are asked at the first operation to each.
    for (int i = 0; !m.all_unchecked && i < m.window->size(); ++i) {
        if (i == m.rank() || m.shared()) {
            m.all_taken.insert(i);
            one_sided().lock_of_all(one_sided().peer(m.window, i), sync);
        }
    }
    return MPI_SUCCESS;
}

int begin_unlock_all(module &m, rma_sync *sync) {
    m.forget_hand();
    m.mend_handle();
    if (!m.all_locked) {
        return MPI_ERR_RMA_SYNC;
    }
    if (m.all_unchecked) {
        each_peer(m, [&](rma_peer *p) { flush_one(p, sync); });
    }
    m.all_taken.take([&](int target) {
        rma_peer *p = one_sided().peer(m.window, target);
        if (!one_sided().try_drop(p)) {
            one_sided().unlock(p, sync);
        }
    });
    m.all_locked = false;
    return MPI_SUCCESS;
}

int begin_flush(module &m, int target, rma_sync *sync) {
    if (!m.all_locked && !m.locks.contains(target)) {
        return MPI_ERR_RMA_SYNC;
    }
    m.count_copied();
    flush_one(one_sided().peer(m.window, target), sync);
    return MPI_SUCCESS;
}

extern "C" {

int osc_smartint_lock(int type, int target, int assertion, ompi_win_t *win) noexcept {
    return open_and_wait(of(win),
                         [&](module &m, rma_sync *s) { return begin_lock(m, type, target, assertion, s, false); });
}

int osc_smartint_unlock(int target, ompi_win_t *win) noexcept {
    return blocking(of(win), [&](module &m, rma_sync *s) { return begin_unlock(m, target, s); });
}

// Behind the locks that this thread has asked for and not been granted: with all calls in one order in all processes
// nobody waits for ever, and what follows this one may take locks without a call of its own.
int osc_smartint_lock_all(int assertion, ompi_win_t *win) noexcept {
    const std::uint32_t thread = this_thread();
    wait_until([&] { return !one_sided().asks_for_locks(thread); });
    return open_and_wait(of(win), [&](module &m, rma_sync *s) { return begin_lock_all(m, assertion, s); });
}

int osc_smartint_unlock_all(ompi_win_t *win) noexcept {
    return blocking(of(win), [](module &m, rma_sync *s) { return begin_unlock_all(m, s); });
}

// Outside all epochs it is no error either: osc/sm allows it, and programs that share memory between fences count on
// that.
int osc_smartint_sync(ompi_win_t *) noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    engine::instance().progress();
    return MPI_SUCCESS;
}

int osc_smartint_flush(int target, ompi_win_t *win) noexcept {
    return flush_towards(target, win, [&](module &m, rma_sync *s) { return begin_flush(m, target, s); });
}

int osc_smartint_flush_local(int target, ompi_win_t *win) noexcept {
    return flush_towards(target, win, [&](module &m, rma_sync *s) {
        if (!m.all_locked && !m.locks.contains(target)) {
            return MPI_ERR_RMA_SYNC;
        }
        one_sided().flush_local(one_sided().peer(m.window, target), s);
        return MPI_SUCCESS;
    });
}

int osc_smartint_flush_all(ompi_win_t *win) noexcept {
    return blocking(of(win), [](module &m, rma_sync *s) {
        if (!m.passive()) {
            return MPI_ERR_RMA_SYNC;
        }
        m.count_copied();
        each_peer(m, [&](rma_peer *p) { flush_one(p, s); });
        return MPI_SUCCESS;
    });
}

int osc_smartint_flush_local_all(ompi_win_t *win) noexcept {
    return blocking(of(win), [](module &m, rma_sync *s) {
        if (!m.passive()) {
            return MPI_ERR_RMA_SYNC;
        }
        each_peer(m, [&](rma_peer *p) { one_sided().flush_local(p, s); });
        return MPI_SUCCESS;
    });
}

} // extern "C"
} // namespace smartint::osc
