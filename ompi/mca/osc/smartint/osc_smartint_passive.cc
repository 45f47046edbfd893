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

int wait_for(module &m, const rma_sync &sync) {
    wait_until([&] { return sync.done(); });
    return report(m, sync.error);
}

// Every target with something under way.
template <class F> void each_peer(module &m, F f) {
    for (auto &p : m.window->peers) {
        if (p) {
            f(p.get());
        }
    }
}

} // namespace

extern "C" {

int osc_smartint_lock(int type, int target, int assert, ompi_win_t *win) noexcept {
    module &m = of(win);
    rma_sync sync;
    {
        const inside here;
        if (m.all_locked || m.started || m.locks.contains(target) ||
            (m.fence_open && m.fence_used)) {
            return MPI_ERR_RMA_SYNC;
        }
        m.fence_open = false;
        const bool unchecked = 0 != (assert & MPI_MODE_NOCHECK);
        m.locks[target] = {unchecked};
        if (!unchecked) {
            const bool here_too = target == m.rank() || m.shared();
            one_sided().lock(one_sided().peer(m.window, target), MPI_LOCK_EXCLUSIVE == type,
                             here_too ? &sync : nullptr);
        }
    }
    wait_until([&] { return sync.done(); });
    return MPI_SUCCESS;
}

int osc_smartint_unlock(int target, ompi_win_t *win) noexcept {
    module &m = of(win);
    rma_sync sync;
    {
        const inside here;
        const auto held = m.locks.find(target);
        if (held == m.locks.end()) {
            return MPI_ERR_RMA_SYNC;
        }
        rma_peer *p = one_sided().peer(m.window, target);
        if (held->second.unchecked) {
            one_sided().flush(p, &sync);
        } else {
            one_sided().unlock(p, &sync);
        }
        m.locks.erase(held);
    }
    return wait_for(m, sync);
}

int osc_smartint_lock_all(int assert, ompi_win_t *win) noexcept {
    module &m = of(win);
    rma_sync sync;
    {
        const inside here;
        if (m.passive() || m.started || (m.fence_open && m.fence_used)) {
            return MPI_ERR_RMA_SYNC;
        }
        m.fence_open = false;
        m.all_locked = true;
        m.all_unchecked = 0 != (assert & MPI_MODE_NOCHECK);
        m.all_taken.clear();
        // The others are asked at the first operation to each.
        for (int i = 0; !m.all_unchecked && i < m.window->size(); ++i) {
            if (i == m.rank() || m.shared()) {
                m.all_taken[i] = {};
                one_sided().lock(one_sided().peer(m.window, i), false, &sync);
            }
        }
    }
    wait_until([&] { return sync.done(); });
    return MPI_SUCCESS;
}

int osc_smartint_unlock_all(ompi_win_t *win) noexcept {
    module &m = of(win);
    rma_sync sync;
    {
        const inside here;
        if (!m.all_locked) {
            return MPI_ERR_RMA_SYNC;
        }
        if (m.all_unchecked) {
            each_peer(m, [&](rma_peer *p) { one_sided().flush(p, &sync); });
        }
        for (const auto &[target, mark] : m.all_taken) {
            one_sided().unlock(one_sided().peer(m.window, target), &sync);
        }
        m.all_locked = false;
        m.all_taken.clear();
    }
    return wait_for(m, sync);
}

int osc_smartint_sync(ompi_win_t *win) noexcept {
    module &m = of(win);
    {
        const inside here;
        if (!m.passive()) {
            return MPI_ERR_RMA_SYNC;
        }
    }
    std::atomic_thread_fence(std::memory_order_seq_cst);
    engine::instance().progress();
    return MPI_SUCCESS;
}

int osc_smartint_flush(int target, ompi_win_t *win) noexcept {
    module &m = of(win);
    rma_sync sync;
    {
        const inside here;
        if (!m.all_locked && !m.locks.contains(target)) {
            return MPI_ERR_RMA_SYNC;
        }
        one_sided().flush(one_sided().peer(m.window, target), &sync);
    }
    return wait_for(m, sync);
}

int osc_smartint_flush_local(int target, ompi_win_t *win) noexcept {
    module &m = of(win);
    rma_sync sync;
    {
        const inside here;
        if (!m.all_locked && !m.locks.contains(target)) {
            return MPI_ERR_RMA_SYNC;
        }
        one_sided().flush_local(one_sided().peer(m.window, target), &sync);
    }
    return wait_for(m, sync);
}

int osc_smartint_flush_all(ompi_win_t *win) noexcept {
    module &m = of(win);
    rma_sync sync;
    {
        const inside here;
        if (!m.passive()) {
            return MPI_ERR_RMA_SYNC;
        }
        each_peer(m, [&](rma_peer *p) { one_sided().flush(p, &sync); });
    }
    return wait_for(m, sync);
}

int osc_smartint_flush_local_all(ompi_win_t *win) noexcept {
    module &m = of(win);
    rma_sync sync;
    {
        const inside here;
        if (!m.passive()) {
            return MPI_ERR_RMA_SYNC;
        }
        each_peer(m, [&](rma_peer *p) { one_sided().flush_local(p, &sync); });
    }
    return wait_for(m, sync);
}

} // extern "C"
} // namespace smartint::osc
