// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Operations that combine: by this process where it shares what makes them atomic with the target, else
// by the target's engine, one after the other.
#include <cstring>

#include "osc_smartint.h"

namespace smartint::osc {
namespace {

struct buffer {
    void *base;
    std::size_t count;
    const ompi_datatype_t *type;
};

// Without an item, if it can be done so. operand: of a compare-and-swap both values; to: nullptr for an accumulate.
rma_begun combine_at_once(const place &there, rma_operator op, rma_type type, const std::byte *operand, std::byte *to) {
    rma &r = engine::instance().one_sided();
    if (r.try_combined(there.peer, op, type, operand, to, there.address, there.bytes) ||
        (nullptr == to &&
         r.try_bundled(there.peer, wire::rma_kind::accumulate, op, type, operand, there.address, there.bytes))) {
        return rma_begun::done;
    }
    const wire::rma_kind kind = nullptr == to ? wire::rma_kind::accumulate : wire::rma_kind::fetch;
    return r.try_small(there.peer, {kind, op, type, operand, to, there.address, there.bytes});
}

// The same where both sides are one piece. result: nullptr for an accumulate.
rma_begun combine_at_once(module &m, const buffer &origin, const buffer *result, int target,
                          std::ptrdiff_t displacement, std::size_t target_count, const ompi_datatype_t *target_type,
                          rma_operator op, rma_type type) {
    place there;
    const bool operand = rma_operator::no_op != op;
    std::byte *from = nullptr;
    std::byte *to = nullptr;
    if (operand) {
        from = short_way(m, origin.base, origin.count, origin.type, target, displacement, target_count, target_type,
                         &there);
    }
    if (nullptr != result) {
        to = short_way(m, result->base, result->count, result->type, target, displacement, target_count, target_type,
                       &there);
    }
    if ((nullptr == from && operand) || (nullptr == to && nullptr != result) || nullptr == there.peer) {
        return rma_begun::no;
    }
    return combine_at_once(there, op, type, from, to);
}

// result: of get_accumulate and fetch_and_op, or nullptr.
int combine(const buffer &origin, const buffer *result, int target, std::ptrdiff_t displacement,
            std::size_t target_count, const ompi_datatype_t *target_type, const ompi_op_t *op, ompi_win_t *win,
            ompi_request_t **wanted) {
    module &m = of(win);
    const briefly_inside here;
    if (const int error = open_towards(m, target); MPI_SUCCESS != error) {
        return error;
    }
    const rma_operator o = operator_of(op);
    rma_type t = basic_type(target_type);
    if (rma_type::none == t && (rma_operator::replace == o || rma_operator::no_op == o)) {
        t = rma_type::bytes; // moved as they are
    }
    if (rma_type::none == t) {
        return MPI_ERR_TYPE;
    }
    if (rma_operator::none == o || !rma_defined(o, t)) {
        return MPI_ERR_OP;
    }
    rma_begun begun = rma_begun::no;
    if (nullptr == wanted) {
        begun = combine_at_once(m, origin, result, target, displacement, target_count, target_type, o, t);
        if (rma_begun::done == begun) {
            m.note_operation();
            return MPI_SUCCESS;
        }
    }
    rma_item *i = make_item(nullptr == result ? rma_item::what::accumulate : rma_item::what::fetch, begun);
    i->op = o;
    i->type = t;
    int error = aim(m, i, target, displacement, target_count, target_type);
    if (rma_operator::no_op != o) {
        i->origin = static_cast<std::byte *>(origin.base);
        i->origin_layout = layout_of(origin.type, origin.count);
        error = MPI_SUCCESS == error ? fit(i->origin_layout.bytes(), &i->target_layout) : error;
        if (MPI_SUCCESS == error && 0 != i->target_layout.bytes() % rma_type_bytes(t)) {
            error = MPI_ERR_TYPE; // part of an element
        }
    }
    if (nullptr != result) {
        i->result = static_cast<std::byte *>(result->base);
        i->result_layout = layout_of(result->type, result->count);
        error = MPI_SUCCESS == error ? fit(i->target_layout.bytes(), &i->result_layout) : error;
    } else if (rma_operator::no_op == o) {
        i->target_layout = rma_layout(); // nothing to do, at no target
    }
    if (MPI_SUCCESS != error) {
        delete i;
        return error;
    }
    return submit(m, target, i, wanted);
}

// A fence that ends nothing has returned, and what follows it waits for all to be in. But of a fetch from memory of
// their own programs believe that it is done when its call returns, and give the buffers back (mpi4py's tests do):
// wherever fences are barriers it is. So this call waits where the fence might have.
void await_own(module &m, int target) {
    if (target == m.rank()) {
        wait_until([&] { return !m.fence_ahead || !m.fence_open || m.window->fences.empty(); });
    }
}

} // namespace

extern "C" {

int osc_smartint_accumulate(const void *origin, int count, ompi_datatype_t *type, int target,
                            std::ptrdiff_t displacement, int target_count, ompi_datatype_t *target_type, ompi_op_t *op,
                            ompi_win_t *win) noexcept {
    return combine({const_cast<void *>(origin), static_cast<std::size_t>(count), type}, nullptr, target, displacement,
                   static_cast<std::size_t>(target_count), target_type, op, win, nullptr);
}

int osc_smartint_raccumulate(const void *origin, int count, ompi_datatype_t *type, int target,
                             std::ptrdiff_t displacement, int target_count, ompi_datatype_t *target_type, ompi_op_t *op,
                             ompi_win_t *win, ompi_request_t **wanted) noexcept {
    return combine({const_cast<void *>(origin), static_cast<std::size_t>(count), type}, nullptr, target, displacement,
                   static_cast<std::size_t>(target_count), target_type, op, win, wanted);
}

int osc_smartint_get_accumulate(const void *origin, int count, ompi_datatype_t *type, void *result, int result_count,
                                ompi_datatype_t *result_type, int target, std::ptrdiff_t displacement, int target_count,
                                ompi_datatype_t *target_type, ompi_op_t *op, ompi_win_t *win) noexcept {
    const buffer to{result, static_cast<std::size_t>(result_count), result_type};
    return combine({const_cast<void *>(origin), static_cast<std::size_t>(count), type}, &to, target, displacement,
                   static_cast<std::size_t>(target_count), target_type, op, win, nullptr);
}

int osc_smartint_rget_accumulate(const void *origin, int count, ompi_datatype_t *type, void *result, int result_count,
                                 ompi_datatype_t *result_type, int target, std::ptrdiff_t displacement,
                                 int target_count, ompi_datatype_t *target_type, ompi_op_t *op, ompi_win_t *win,
                                 ompi_request_t **wanted) noexcept {
    const buffer to{result, static_cast<std::size_t>(result_count), result_type};
    return combine({const_cast<void *>(origin), static_cast<std::size_t>(count), type}, &to, target, displacement,
                   static_cast<std::size_t>(target_count), target_type, op, win, wanted);
}

int osc_smartint_fetch_and_op(const void *origin, void *result, ompi_datatype_t *type, int target,
                              std::ptrdiff_t displacement, ompi_op_t *op, ompi_win_t *win) noexcept {
    const buffer to{result, 1, type};
    await_own(of(win), target);
    return combine({const_cast<void *>(origin), 1, type}, &to, target, displacement, 1, type, op, win, nullptr);
}

int osc_smartint_compare_and_swap(const void *origin, const void *compare, void *result, ompi_datatype_t *type,
                                  int target, std::ptrdiff_t displacement, ompi_win_t *win) noexcept {
    module &m = of(win);
    await_own(m, target);
    const briefly_inside here;
    if (const int error = open_towards(m, target); MPI_SUCCESS != error) {
        return error;
    }
    const rma_type t = basic_type(type);
    const std::uint32_t bytes = rma_type_bytes(t);
    // of several: none of MPI's own
    if (0 == bytes || bytes > sizeof(rma_item::operands) / 2 || bytes != type->super.size) {
        return MPI_ERR_TYPE;
    }
    std::byte operands[sizeof(rma_item::operands)];
    std::memcpy(operands, origin, bytes);
    std::memcpy(operands + bytes, compare, bytes);
    place there;
    rma_begun begun = rma_begun::no;
    if (std::byte *to = short_way(m, result, 1, type, target, displacement, 1, type, &there);
        nullptr != to && bytes == there.bytes) {
        begun = combine_at_once(there, rma_operator::swap_if_equal, t, operands, to);
        if (rma_begun::done == begun) {
            m.note_operation();
            return MPI_SUCCESS;
        }
    }
    rma_item *i = make_item(rma_item::what::fetch, begun);
    i->op = rma_operator::swap_if_equal;
    i->type = t;
    std::memcpy(i->operands, operands, 2 * bytes);
    i->result = static_cast<std::byte *>(result);
    i->result_layout = layout_of(type, 1);
    if (const int error = aim(m, i, target, displacement, 1, type); MPI_SUCCESS != error) {
        delete i;
        return error;
    }
    return submit(m, target, i, nullptr);
}

} // extern "C"
} // namespace smartint::osc
