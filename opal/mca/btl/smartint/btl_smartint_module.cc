// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// What the two modules can do, told to Open MPI.
#include <algorithm>
#include <cstring>

#include "btl_smartint.h"

extern "C" mca_btl_base_component_3_0_0_t mca_btl_smartint_component;

namespace smartint::btl {
namespace {

extern "C" int btl_smartint_finalize(mca_btl_base_module_t *) noexcept {
    engine::instance().stop_thread();
    return OPAL_SUCCESS;
}

extern "C" int btl_smartint_register_error(mca_btl_base_module_t *, mca_btl_base_module_error_cb_fn_t) noexcept {
    return OPAL_SUCCESS; // lost peers fail their own operations
}

void common_table(module &m) {
    auto &b = m.super;
    std::memset(&b, 0, sizeof(b));
    b.btl_component = &mca_btl_smartint_component;
    b.btl_add_procs = boundary(add_procs);
    b.btl_del_procs = boundary(del_procs);
    b.btl_finalize = boundary(btl_smartint_finalize);
    b.btl_alloc = boundary(alloc);
    b.btl_free = boundary(free_descriptor);
    b.btl_prepare_src = boundary(prepare_src);
    b.btl_send = boundary(send);
    b.btl_sendi = boundary(sendi);
    b.btl_register_error = boundary(btl_smartint_register_error);
    b.btl_atomic_op = boundary(atomic_op);
    b.btl_atomic_fop = boundary(atomic_fop);
    b.btl_atomic_cswap = boundary(atomic_cswap);
    b.btl_flush = boundary(flush);
    b.btl_atomic_flags = MCA_BTL_ATOMIC_SUPPORTS_ADD | MCA_BTL_ATOMIC_SUPPORTS_AND | MCA_BTL_ATOMIC_SUPPORTS_OR |
                         MCA_BTL_ATOMIC_SUPPORTS_XOR | MCA_BTL_ATOMIC_SUPPORTS_SWAP | MCA_BTL_ATOMIC_SUPPORTS_32BIT |
                         MCA_BTL_ATOMIC_SUPPORTS_CSWAP | MCA_BTL_ATOMIC_SUPPORTS_GLOB;
    b.btl_get_limit = SIZE_MAX;
    b.btl_put_limit = SIZE_MAX;
    b.btl_get_alignment = 0;
    b.btl_put_alignment = 0;
    b.btl_rdma_pipeline_frag_size = SIZE_MAX;
    b.btl_min_rdma_pipeline_size = SIZE_MAX;
}

// Largest active message of a ring, with its header in front of the user's bytes.
std::size_t largest_in(std::size_t ring_bytes) { return (ring_bytes / 4 - layout::line - sizeof(wire::am_header)) / 2; }

void limit(mca_btl_base_module_t &m, std::size_t largest, std::size_t eager) {
    m.btl_max_send_size = largest;
    m.btl_eager_limit = std::min(eager, largest);
    m.btl_rndv_eager_limit = m.btl_eager_limit;
}

} // namespace

// The board is another rank's, and a peer's receive buffers are its own: both follow their parameters, not ours. Open
// MPI looks at the limits behind add_procs.
void lower_limits(module &m, const endpoint &peer) {
    engine &e = engine::instance();
    const std::size_t largest = m.shared ? largest_in(e.board_segment().ring_bytes()) : peer.max_payload;
    if (largest < m.super.btl_max_send_size) {
        limit(m.super, largest, m.super.btl_eager_limit);
        m.super.btl_rdma_pipeline_send_length = std::min(m.super.btl_rdma_pipeline_send_length, largest);
    }
}

void fill_modules() {
    const params &p = engine::instance().settings();
    const bool ours = glue_named("pml");
    constexpr std::size_t head = 64; // ob1's own headers travel inside our limits

    module &s = the_shared;
    common_table(s);
    s.shared = true;
    // Above vader and self (64K) only where our pml is chosen.
    s.super.btl_exclusivity = MCA_BTL_EXCLUSIVITY_HIGH + (ours ? 1024 : 0);
    s.super.btl_latency = 1;
    s.super.btl_bandwidth = 10000;
    s.super.btl_flags =
        MCA_BTL_FLAGS_SEND | MCA_BTL_FLAGS_SEND_INPLACE | MCA_BTL_FLAGS_ATOMIC_OPS | MCA_BTL_FLAGS_ATOMIC_FOPS;
    if ("copy" != p.rendezvous) {
        s.super.btl_flags |= MCA_BTL_FLAGS_RDMA;
        s.super.btl_put = boundary(put);
        s.super.btl_get = boundary(get);
    }
    limit(s.super, std::min<std::size_t>(32768, largest_in(p.ring_bytes)), 4096);
    s.super.btl_rdma_pipeline_send_length = s.super.btl_eager_limit;

    module &n = the_network;
    common_table(n);
    n.shared = false;
    n.super.btl_exclusivity = ours ? MCA_BTL_EXCLUSIVITY_HIGH + 512 : MCA_BTL_EXCLUSIVITY_LOW + 512;
    n.super.btl_latency = 100;
    n.super.btl_bandwidth = 100;
    // a target may not have met its origin: no atomics
    n.super.btl_flags = MCA_BTL_FLAGS_SEND | MCA_BTL_FLAGS_SEND_INPLACE;
    const auto message = engine::instance().net().is_open() ? engine::instance().net().caps().max_message : 8192U;
    limit(n.super, message - head - sizeof(wire::am_header), 65536);
    n.super.btl_rdma_pipeline_send_length = n.super.btl_max_send_size;
}

} // namespace smartint::btl
