// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// btl/smartint: a BTL of two modules over the engine, one for ranks of this node (rings and
// direct copies), one for the others (UCT). pml/smartint finds its endpoints here and then
// talks to the engine; any other user (ob1, osc/rdma) gets a full BTL without interrupt
// thread. All functions run in application threads.
#pragma once

#include <smartint/ompi_glue.h>

extern "C" {
#include "opal/class/opal_bitmap.h"
#include "opal/datatype/opal_convertor.h"
#include "opal/mca/btl/base/base.h"
#include "opal/mca/btl/base/btl_base_error.h"
#include "opal/mca/btl/btl.h"
#include "opal/mca/pmix/pmix.h"
#include "opal/util/proc.h"
}

#include "common_smartint_mca.h"

namespace smartint::btl {

// An endpoint is the engine's, under the name Open MPI has for it.
inline endpoint *peer_of(mca_btl_base_endpoint_t *e) { return reinterpret_cast<endpoint *>(e); }
inline mca_btl_base_endpoint_t *as_btl(endpoint *e) { return reinterpret_cast<mca_btl_base_endpoint_t *>(e); }

struct module {
    mca_btl_base_module_t super;
    bool shared; // ranks of this node
};

// A descriptor with its data behind it, or beside it in the user's buffer.
struct fragment {
    mca_btl_base_descriptor_t super;
    mca_btl_base_segment_t segments[2];
    module *owner;
    mca_btl_base_endpoint_t *peer;
    std::size_t room; // bytes at data()
    wire::am_header head;
    std::byte *data() { return reinterpret_cast<std::byte *>(this + 1); }
};

void fill_modules();                                // attributes and function tables, from the engine's limits
void lower_limits(module &m, const endpoint &peer); // to what a peer takes; under the gate
extern module the_shared;
extern module the_network;

// btl_smartint_procs.cc
int add_procs(mca_btl_base_module_t *btl, std::size_t count, opal_proc_t **procs, mca_btl_base_endpoint_t **endpoints,
              opal_bitmap_t *reachable) noexcept;
int del_procs(mca_btl_base_module_t *btl, std::size_t count, opal_proc_t **procs,
              mca_btl_base_endpoint_t **endpoints) noexcept;

// btl_smartint_send.cc
mca_btl_base_descriptor_t *alloc(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *peer, std::uint8_t order,
                                 std::size_t size, std::uint32_t flags) noexcept;
int free_descriptor(mca_btl_base_module_t *btl, mca_btl_base_descriptor_t *descriptor) noexcept;
mca_btl_base_descriptor_t *prepare_src(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *peer,
                                       opal_convertor_t *convertor, std::uint8_t order, std::size_t reserve,
                                       std::size_t *size, std::uint32_t flags) noexcept;
int send(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *peer, mca_btl_base_descriptor_t *descriptor,
         mca_btl_base_tag_t tag) noexcept;
int sendi(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *peer, opal_convertor_t *convertor, void *header,
          std::size_t header_size, std::size_t payload_size, std::uint8_t order, std::uint32_t flags,
          mca_btl_base_tag_t tag, mca_btl_base_descriptor_t **descriptor) noexcept;
void on_message(endpoint *from, std::uint32_t type, const std::byte *data, std::uint32_t bytes) noexcept;

// btl_smartint_rdma.cc
int put(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *peer, void *local, std::uint64_t remote,
        mca_btl_base_registration_handle_t *local_handle, mca_btl_base_registration_handle_t *remote_handle,
        std::size_t size, int flags, int order, mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext,
        void *cbdata) noexcept;
int get(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *peer, void *local, std::uint64_t remote,
        mca_btl_base_registration_handle_t *local_handle, mca_btl_base_registration_handle_t *remote_handle,
        std::size_t size, int flags, int order, mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext,
        void *cbdata) noexcept;
int flush(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *peer) noexcept;

// btl_smartint_atomic.cc
int atomic_op(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *peer, std::uint64_t remote,
              mca_btl_base_registration_handle_t *remote_handle, mca_btl_base_atomic_op_t op, std::uint64_t operand,
              int flags, int order, mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext, void *cbdata) noexcept;
int atomic_fop(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *peer, void *local, std::uint64_t remote,
               mca_btl_base_registration_handle_t *local_handle, mca_btl_base_registration_handle_t *remote_handle,
               mca_btl_base_atomic_op_t op, std::uint64_t operand, int flags, int order,
               mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext, void *cbdata) noexcept;
int atomic_cswap(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *peer, void *local, std::uint64_t remote,
                 mca_btl_base_registration_handle_t *local_handle, mca_btl_base_registration_handle_t *remote_handle,
                 std::uint64_t compare, std::uint64_t value, int flags, int order,
                 mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext, void *cbdata) noexcept;
void serve_atomic(endpoint *from, const std::byte *data, std::uint32_t bytes);
void finish_atomic(const std::byte *data, std::uint32_t bytes);

} // namespace smartint::btl
