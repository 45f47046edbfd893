// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Put and get, and what all operations have in common.
#include "osc_smartint.h"

namespace smartint::osc {

int mpi_error(rma_error error) {
    switch (error) {
    case rma_error::none:
        return MPI_SUCCESS;
    case rma_error::range:
        return MPI_ERR_RMA_RANGE;
    case rma_error::lost:
        break;
    }
    return MPI_ERR_OTHER;
}

int report(module &m, rma_error error) {
    const inside here;
    const rma_error found = engine::instance().one_sided().take_error(m.window);
    return mpi_error(rma_error::none != found ? found : error);
}

int open_towards(module &m, int target) {
    if (m.started) {
        return m.access.contains(target) ? MPI_SUCCESS : MPI_ERR_RMA_SYNC;
    }
    if (m.all_locked) {
        if (!m.all_unchecked && m.all_taken.insert(target)) {
            rma &r = engine::instance().one_sided();
            r.lock_of_all(r.peer(m.window, target), nullptr);
        }
        return MPI_SUCCESS;
    }
    if (!m.locks.empty()) {
        return m.locks.contains(target) ? MPI_SUCCESS : MPI_ERR_RMA_SYNC;
    }
    return m.fence_open ? MPI_SUCCESS : MPI_ERR_RMA_SYNC;
}

int aim(module &m, rma_item *i, int target, std::ptrdiff_t displacement, std::size_t count,
        const ompi_datatype_t *type) {
    i->target_layout = layout_of(type, count);
    std::int64_t low = 0;
    std::int64_t high = 0;
    std::int64_t at = 0;
    if (!i->target_layout.bounds(&low, &high) ||
        __builtin_mul_overflow(displacement, m.units[static_cast<std::size_t>(target)], &at) ||
        __builtin_add_overflow(low, at, &low) || __builtin_add_overflow(high, at, &high)) {
        return MPI_ERR_RMA_RANGE;
    }
    if (m.window->dynamic) { // an address; the target looks whether it is attached
        i->target = static_cast<std::uint64_t>(at);
        return 0 == i->target_layout.bytes() || low >= 0 ? MPI_SUCCESS : MPI_ERR_RMA_RANGE;
    }
    const rma_member &member = m.window->members[static_cast<std::size_t>(target)];
    if (0 != i->target_layout.bytes() && (low < 0 || static_cast<std::uint64_t>(high) > member.bytes)) {
        return MPI_ERR_RMA_RANGE;
    }
    i->target = member.base + static_cast<std::uint64_t>(at);
    return MPI_SUCCESS;
}

int submit(module &m, int target, rma_item *i, ompi_request_t **wanted) {
    rma &r = engine::instance().one_sided();
    request *q = nullptr;
    if (nullptr != wanted) {
        q = new_request(m.win);
        if (nullptr == q) {
            delete i;
            return MPI_ERR_NO_MEM;
        }
        i->sync = &q->sync;
        *wanted = &q->super;
    }
    m.note_operation();
    r.submit(r.peer(m.window, target), i);
    if (nullptr != q) {
        begun(q);
        r.finish(); // what is done already is done for MPI_Test too
    }
    return MPI_SUCCESS;
}

int fit(std::uint64_t bytes, rma_layout *buffer) {
    if (bytes < buffer->bytes()) {
        *buffer = buffer->front(bytes);
    }
    return bytes == buffer->bytes() ? MPI_SUCCESS : MPI_ERR_TRUNCATE;
}

std::byte *short_way(module &m, const void *mine, std::size_t count, const ompi_datatype_t *type, int target,
                     std::ptrdiff_t displacement, std::size_t target_count, const ompi_datatype_t *target_type,
                     place *there) {
    const opal_datatype_t &here = type->super;
    const opal_datatype_t &theirs = target_type->super;
    const rma_member &member = m.window->members[static_cast<std::size_t>(target)];
    const std::uint64_t bytes = here.size * count;
    if (m.window->dynamic || 0 == bytes || bytes != theirs.size * target_count ||
        !opal_datatype_is_contiguous_memory_layout(&here, static_cast<int>(count)) ||
        !opal_datatype_is_contiguous_memory_layout(&theirs, static_cast<int>(target_count))) {
        return nullptr;
    }
    std::int64_t at = 0;
    if (__builtin_mul_overflow(displacement, m.units[static_cast<std::size_t>(target)], &at) ||
        __builtin_add_overflow(at, theirs.true_lb, &at) || at < 0 || bytes > member.bytes ||
        static_cast<std::uint64_t>(at) > member.bytes - bytes) {
        return nullptr; // the long way says what is wrong
    }
    *there = {engine::instance().one_sided().peer(m.window, target), member.base + static_cast<std::uint64_t>(at),
              bytes};
    return static_cast<std::byte *>(const_cast<void *>(mine)) + here.true_lb;
}

rma_item *make_item(rma_item::what kind, rma_begun begun) {
    rma_item *i = rma::make(kind);
    i->chosen = rma_begun::no != begun;
    i->by_message = rma_begun::message == begun;
    return i;
}

namespace {

// A put or get without an item, if it can be done so.
rma_begun at_once(const place &there, std::byte *mine, bool get) {
    rma &r = engine::instance().one_sided();
    if (r.try_mapped(there.peer, mine, there.address, there.bytes, get) ||
        (!get && r.try_bundled(there.peer, wire::rma_kind::put, rma_operator::replace, rma_type::bytes, mine,
                               there.address, there.bytes))) {
        return rma_begun::done;
    }
    return r.try_small(there.peer,
                       {get ? wire::rma_kind::get : wire::rma_kind::put, rma_operator::replace, rma_type::bytes,
                        get ? nullptr : mine, get ? mine : nullptr, there.address, there.bytes});
}

// Put and get alike: mine is the origin's memory.
int transfer(rma_item::what kind, void *mine, int count, ompi_datatype_t *type, int target, std::ptrdiff_t displacement,
             int target_count, ompi_datatype_t *target_type, ompi_win_t *win, ompi_request_t **wanted) {
    module &m = of(win);
    const inside here;
    if (const int error = open_towards(m, target); MPI_SUCCESS != error) {
        return error;
    }
    rma_begun begun = rma_begun::no;
    if (place there; nullptr == wanted) {
        std::byte *at = short_way(m, mine, static_cast<std::size_t>(count), type, target, displacement,
                                  static_cast<std::size_t>(target_count), target_type, &there);
        begun = nullptr == at ? rma_begun::no : at_once(there, at, rma_item::what::get == kind);
        if (rma_begun::done == begun) {
            m.note_operation();
            return MPI_SUCCESS;
        }
    }
    rma_item *i = make_item(kind, begun);
    int error = aim(m, i, target, displacement, static_cast<std::size_t>(target_count), target_type);
    rma_layout layout = layout_of(type, static_cast<std::size_t>(count));
    if (MPI_SUCCESS == error) {
        error = rma_item::what::get == kind ? fit(i->target_layout.bytes(), &layout)
                                            : fit(layout.bytes(), &i->target_layout);
    }
    if (MPI_SUCCESS != error) {
        delete i;
        return error;
    }
    if (rma_item::what::get == kind) {
        i->result = static_cast<std::byte *>(mine);
        i->result_layout = std::move(layout);
    } else {
        i->origin = static_cast<std::byte *>(mine);
        i->origin_layout = std::move(layout);
    }
    return submit(m, target, i, wanted);
}

} // namespace

extern "C" {

int osc_smartint_put(const void *origin, int count, ompi_datatype_t *type, int target, std::ptrdiff_t displacement,
                     int target_count, ompi_datatype_t *target_type, ompi_win_t *win) noexcept {
    return transfer(rma_item::what::put, const_cast<void *>(origin), count, type, target, displacement, target_count,
                    target_type, win, nullptr);
}

int osc_smartint_get(void *origin, int count, ompi_datatype_t *type, int target, std::ptrdiff_t displacement,
                     int target_count, ompi_datatype_t *target_type, ompi_win_t *win) noexcept {
    return transfer(rma_item::what::get, origin, count, type, target, displacement, target_count, target_type, win,
                    nullptr);
}

int osc_smartint_rput(const void *origin, int count, ompi_datatype_t *type, int target, std::ptrdiff_t displacement,
                      int target_count, ompi_datatype_t *target_type, ompi_win_t *win,
                      ompi_request_t **wanted) noexcept {
    return transfer(rma_item::what::put, const_cast<void *>(origin), count, type, target, displacement, target_count,
                    target_type, win, wanted);
}

int osc_smartint_rget(void *origin, int count, ompi_datatype_t *type, int target, std::ptrdiff_t displacement,
                      int target_count, ompi_datatype_t *target_type, ompi_win_t *win,
                      ompi_request_t **wanted) noexcept {
    return transfer(rma_item::what::get, origin, count, type, target, displacement, target_count, target_type, win,
                    wanted);
}

} // extern "C"
} // namespace smartint::osc
