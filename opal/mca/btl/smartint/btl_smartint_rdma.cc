// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// put and get inside a node: direct copies by the kernel, done when the call returns. The
// completion callback is made all the same: some users lose messages without it. osc/rdma gives none where it counts
// on btl_flush.
#include "btl_smartint.h"

namespace smartint::btl {
namespace {

int move(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *peer, void *local, std::uint64_t remote, std::size_t size,
         bool write, mca_btl_base_registration_handle_t *handle, mca_btl_base_rdma_completion_fn_t cbfunc,
         void *cbcontext, void *cbdata) {
    const int error = engine::instance().direct_copy(peer_of(peer), local, remote, size, write);
    if (0 != error) {
        return OPAL_ERR_NOT_AVAILABLE; // the caller takes its copying path
    }
    if (nullptr != cbfunc) {
        cbfunc(btl, peer, local, handle, cbcontext, cbdata, OPAL_SUCCESS);
    }
    return OPAL_SUCCESS;
}

} // namespace

int put(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *peer, void *local, std::uint64_t remote,
        mca_btl_base_registration_handle_t *local_handle, mca_btl_base_registration_handle_t *, std::size_t size, int,
        int, mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext, void *cbdata) noexcept {
    return move(btl, peer, local, remote, size, true, local_handle, cbfunc, cbcontext, cbdata);
}

int get(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *peer, void *local, std::uint64_t remote,
        mca_btl_base_registration_handle_t *local_handle, mca_btl_base_registration_handle_t *, std::size_t size, int,
        int, mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext, void *cbdata) noexcept {
    return move(btl, peer, local, remote, size, false, local_handle, cbfunc, cbcontext, cbdata);
}

// Puts and gets are done when they return; atomics are waited for by their own callbacks.
int flush(mca_btl_base_module_t *, mca_btl_base_endpoint_t *) noexcept { return OPAL_SUCCESS; }

} // namespace smartint::btl
