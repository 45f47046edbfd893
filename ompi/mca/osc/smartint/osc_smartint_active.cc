// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Fence, and post, start, complete, wait.
#include "osc_smartint.h"

namespace smartint::osc {
namespace {

// The ranks of a group in the window.
std::vector<int> ranks_of(module &m, ompi_group_t *group) {
    const int n = ompi_group_size(group);
    std::vector<int> theirs(static_cast<std::size_t>(n));
    std::vector<int> ours(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) {
        theirs[static_cast<std::size_t>(i)] = i;
    }
    if (n > 0) {
        ompi_group_translate_ranks(group, n, theirs.data(), m.comm->c_local_group, ours.data());
    }
    return ours;
}

bool all_members(const std::vector<int> &ranks) {
    for (const int rank : ranks) {
        if (rank < 0) {
            return false;
        }
    }
    return true;
}

} // namespace

int begin_fence(module &m, int assertion, rma_sync *sync, bool requested) {
    m.forget_hand();
    if (m.passive() || m.started || 0 != m.exposures) {
        return MPI_ERR_RMA_SYNC;
    }
    // A fence that ends nothing need not be waited for: what follows it is put off until all are in. Into memory they
    // share processes may store without a call. And what others did in a window that may be locked, before they come to
    // this fence, is to be seen behind it; only the program knows that there was nothing.
    const bool may_end = m.fence_exposes || 0 == (m.win->w_flags & OMPI_WIN_NO_LOCKS);
    const bool ends = may_end && 0 == (assertion & MPI_MODE_NOPRECEDE);
    const bool awaited = ends || m.shared() || requested;
    engine::instance().one_sided().fence(m.window, awaited ? sync : nullptr);
    m.fence_ahead = !awaited && 0 == (assertion & MPI_MODE_NOPRECEDE);
    m.fence_open = m.fence_exposes = 0 == (assertion & MPI_MODE_NOSUCCEED);
    m.fence_used = false;
    return MPI_SUCCESS;
}

int begin_start(module &m, ompi_group_t *group, int assertion, rma_sync *sync) {
    m.forget_hand();
    if (m.passive() || m.started || (m.fence_open && m.fence_used)) {
        return MPI_ERR_RMA_SYNC;
    }
    if (MPI_GROUP_NULL == group) { // MPI looks at the window alone
        return MPI_ERR_GROUP;
    }
    const std::vector<int> ranks = ranks_of(m, group);
    if (!all_members(ranks)) {
        return MPI_ERR_GROUP;
    }
    m.fence_open = false;
    m.started = true;
    // Operations wait for the post by themselves. What is loaded and stored without a call does not.
    rma_sync *const until_posted = m.shared() ? sync : nullptr;
    rma &r = engine::instance().one_sided();
    for (const int rank : ranks) {
        m.access.insert(rank);
        if (0 == (assertion & MPI_MODE_NOCHECK)) {
            r.await_post(r.peer(m.window, rank), until_posted);
        }
    }
    return MPI_SUCCESS;
}

int begin_complete(module &m, rma_sync *sync) {
    m.forget_hand();
    m.mend_handle();
    if (!m.started) {
        return MPI_ERR_RMA_SYNC;
    }
    rma &r = engine::instance().one_sided();
    m.access.take([&](int rank) { r.complete(r.peer(m.window, rank), sync); });
    m.started = false;
    return MPI_SUCCESS;
}

int begin_post(module &m, ompi_group_t *group, int assertion, bool nonblocking) {
    m.forget_hand();
    if (0 != m.exposures || (m.fence_open && m.fence_used)) {
        return MPI_ERR_RMA_SYNC;
    }
    if (MPI_GROUP_NULL == group) {
        return MPI_ERR_GROUP;
    }
    std::vector<int> ranks = ranks_of(m, group);
    if (!all_members(ranks)) {
        return MPI_ERR_GROUP;
    }
    m.fence_open = false;
    ++m.exposures;
    engine::instance().one_sided().post(m.window, std::move(ranks), 0 != (assertion & MPI_MODE_NOCHECK), nonblocking);
    return MPI_SUCCESS;
}

int begin_wait(module &m, rma_sync *sync) {
    m.mend_handle();
    if (0 == m.exposures) {
        return MPI_ERR_RMA_SYNC;
    }
    --m.exposures;
    engine::instance().one_sided().wait(m.window, sync);
    return MPI_SUCCESS;
}

extern "C" {

int osc_smartint_fence(int assertion, ompi_win_t *win) noexcept {
    return blocking(of(win), [&](module &m, rma_sync *sync) { return begin_fence(m, assertion, sync, false); });
}

int osc_smartint_start(ompi_group_t *group, int assertion, ompi_win_t *win) noexcept {
    return open_and_wait(of(win), [&](module &m, rma_sync *sync) { return begin_start(m, group, assertion, sync); });
}

int osc_smartint_complete(ompi_win_t *win) noexcept {
    engine &e = engine::instance();
    e.begin_wait(); // nobody need wake this process for what it waits for here
    const int error = blocking(of(win), [](module &m, rma_sync *sync) { return begin_complete(m, sync); });
    e.end_wait();
    return error;
}

int osc_smartint_post(ompi_group_t *group, int assertion, ompi_win_t *win) noexcept {
    const inside here;
    return begin_post(of(win), group, assertion, false);
}

int osc_smartint_wait(ompi_win_t *win) noexcept {
    return blocking(of(win), [](module &m, rma_sync *sync) { return begin_wait(m, sync); });
}

int osc_smartint_test(ompi_win_t *win, int *flag) noexcept {
    module &m = of(win);
    engine &e = engine::instance();
    *flag = 0;
    {
        const inside here;
        if (0 == m.exposures) {
            return MPI_ERR_RMA_SYNC;
        }
        m.mend_handle();
    }
    e.progress();
    {
        const inside here;
        if (0 != m.exposures && e.one_sided().test(m.window)) { // another thread may have waited meanwhile
            --m.exposures;
            *flag = 1;
        }
    }
    if (0 == *flag) {
        opal_progress();
        return MPI_SUCCESS;
    }
    return report(m);
}

} // extern "C"
} // namespace smartint::osc
