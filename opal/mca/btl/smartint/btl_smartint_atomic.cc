// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// CPU atomics: the request travels as a message and the target's processor carries it out,
// atomically towards its own threads too (MCA_BTL_ATOMIC_SUPPORTS_GLOB).
#include <atomic>
#include <cstring>

#include "btl_smartint.h"
#include "common_smartint_ids.h"

namespace smartint::btl {
namespace {

struct pending {
    mca_btl_base_module_t *btl;
    mca_btl_base_endpoint_t *peer;
    void *local;
    mca_btl_base_registration_handle_t *handle;
    mca_btl_base_rdma_completion_fn_t done;
    void *context;
    void *data;
    wire::atomic_request request;
};

auto &waiting = *new id_table<pending>; // under the gate; never destroyed, as `spare` of sends

bool translate(mca_btl_base_atomic_op_t op, wire::atomic_op *out) {
    switch (op) {
    case MCA_BTL_ATOMIC_ADD:
        *out = wire::atomic_op::add;
        return true;
    case MCA_BTL_ATOMIC_AND:
        *out = wire::atomic_op::band;
        return true;
    case MCA_BTL_ATOMIC_OR:
        *out = wire::atomic_op::bor;
        return true;
    case MCA_BTL_ATOMIC_XOR:
        *out = wire::atomic_op::bxor;
        return true;
    case MCA_BTL_ATOMIC_SWAP:
        *out = wire::atomic_op::swap;
        return true;
    default: // among them min and max: the interface does not say whether the integers have a sign
        return false;
    }
}

template <class T> T apply(wire::atomic_op op, T old, T operand) {
    switch (op) {
    case wire::atomic_op::add:
        return static_cast<T>(static_cast<std::make_unsigned_t<T>>(old) +
                              static_cast<std::make_unsigned_t<T>>(operand));
    case wire::atomic_op::band:
        return old & operand;
    case wire::atomic_op::bor:
        return old | operand;
    case wire::atomic_op::bxor:
        return old ^ operand;
    case wire::atomic_op::swap:
    case wire::atomic_op::cas: // perform() does it
        break;
    }
    return operand;
}

template <class T> std::uint64_t perform(const wire::atomic_request &r) {
    std::atomic_ref<T> target(*reinterpret_cast<T *>(r.address));
    T old = target.load(std::memory_order_relaxed);
    if (wire::atomic_op::cas == r.op) {
        old = static_cast<T>(r.compare);
        target.compare_exchange_strong(old, static_cast<T>(r.operand));
        return static_cast<std::uint64_t>(old);
    }
    while (!target.compare_exchange_weak(old, apply<T>(r.op, old, static_cast<T>(r.operand)))) {}
    return static_cast<std::uint64_t>(old);
}

// What can't be carried out is said here, where the caller can go another way: osc/rdma reads and writes instead, under
// a lock of its own. It takes this one code for that, and tries for ever where it gets another.
int start(pending *p) {
    if (0 != p->request.address % p->request.bytes) {
        delete p;
        return OPAL_ERR_NOT_SUPPORTED;
    }
    engine &e = engine::instance();
    e.enter();
    p->request.id = waiting.add(p);
    p->request.name = e.identity().name;
    endpoint *ep = peer_of(p->peer);
    auto r = e.active_message(ep, {wire::atomic, p->request});
    if (engine::am_result::full == r) {
        e.queue_message(ep, {wire::atomic, p->request}, nullptr, nullptr);
        r = engine::am_result::sent;
    }
    if (engine::am_result::broken == r) {
        waiting.remove(p->request.id);
        delete p;
    }
    e.leave();
    return engine::am_result::broken == r ? OPAL_ERR_UNREACH : OPAL_SUCCESS;
}

std::uint32_t width(int flags) { return 0 != (flags & MCA_BTL_ATOMIC_FLAG_32BIT) ? 4 : 8; }

} // namespace

int atomic_op(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *peer, std::uint64_t remote,
              mca_btl_base_registration_handle_t *, mca_btl_base_atomic_op_t op, std::uint64_t operand, int flags,
              int order, mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext, void *cbdata) noexcept {
    return atomic_fop(btl, peer, nullptr, remote, nullptr, nullptr, op, operand, flags, order, cbfunc, cbcontext,
                      cbdata);
}

int atomic_fop(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *peer, void *local, std::uint64_t remote,
               mca_btl_base_registration_handle_t *local_handle, mca_btl_base_registration_handle_t *,
               mca_btl_base_atomic_op_t op, std::uint64_t operand, int flags, int,
               mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext, void *cbdata) noexcept {
    wire::atomic_op what{};
    if (!translate(op, &what)) {
        return OPAL_ERR_NOT_SUPPORTED;
    }
    return start(new pending{
        btl, peer, local, local_handle, cbfunc, cbcontext, cbdata, {0, 0, remote, operand, 0, what, width(flags)}});
}

int atomic_cswap(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *peer, void *local, std::uint64_t remote,
                 mca_btl_base_registration_handle_t *local_handle, mca_btl_base_registration_handle_t *,
                 std::uint64_t compare, std::uint64_t value, int flags, int, mca_btl_base_rdma_completion_fn_t cbfunc,
                 void *cbcontext, void *cbdata) noexcept {
    return start(new pending{btl,
                             peer,
                             local,
                             local_handle,
                             cbfunc,
                             cbcontext,
                             cbdata,
                             {0, 0, remote, value, compare, wire::atomic_op::cas, width(flags)}});
}

// At the target. A job's processes may write each other's memory anyway (direct copies), so
// the address is theirs to choose; alignment and width are checked, they would fault here. Who asks waits: it gets an
// answer, whatever it asked.
void serve_atomic(endpoint *from, const std::byte *data, std::uint32_t bytes) {
    engine &e = engine::instance();
    wire::atomic_request r{};
    if (bytes < sizeof(r)) {
        e.refuse();
        return;
    }
    std::memcpy(&r, data, sizeof(r));
    if (nullptr == from) {
        from = e.find_peer(r.name);
    }
    if (nullptr == from) {
        e.refuse(); // nobody to answer; who writes into a ring is known
        return;
    }
    wire::atomic_result a{r.id, 0, wire::outcome::bad_memory, 0};
    if (0 == r.address || (4 != r.bytes && 8 != r.bytes) || 0 != r.address % r.bytes || r.op > wire::atomic_op::cas) {
        e.refuse();
    } else {
        a.value = 4 == r.bytes ? perform<std::int32_t>(r) : perform<std::int64_t>(r);
        a.result = wire::outcome::ok;
    }
    if (engine::am_result::full == e.active_message(from, {wire::atomic_answer, a})) {
        e.queue_message(from, {wire::atomic_answer, a}, nullptr, nullptr);
    }
}

void finish_atomic(const std::byte *data, std::uint32_t bytes) {
    wire::atomic_result a{};
    pending *p = nullptr;
    if (bytes >= sizeof(a)) {
        std::memcpy(&a, data, sizeof(a));
        p = waiting.find(a.id);
    }
    if (nullptr == p) {
        engine::instance().refuse();
        return;
    }
    waiting.remove(a.id);
    const bool ok = wire::outcome::ok == a.result;
    if (ok && nullptr != p->local) {
        if (4 == p->request.bytes) {
            const auto value = static_cast<std::uint32_t>(a.value);
            std::memcpy(p->local, &value, sizeof(value));
        } else {
            std::memcpy(p->local, &a.value, sizeof(a.value));
        }
    }
    if (nullptr != p->done) {
        const gate::opened meanwhile(engine::instance().the_gate());
        p->done(p->btl, p->peer, p->local, p->handle, p->context, p->data, ok ? OPAL_SUCCESS : OPAL_ERROR);
    }
    delete p;
}

} // namespace smartint::btl
