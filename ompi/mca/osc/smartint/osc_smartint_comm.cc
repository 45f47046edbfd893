// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Put and get, and what all operations have in common.
#include <cstring>

#include "common_smartint_log.h"
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
    const rma_error told = rma_error::none != found ? found : error;
    if (rma_error::none != told) {
        flush_reports(); // before the program's handler of errors ends the job
    }
    return mpi_error(told);
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
    m.forget_hand();
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

namespace {

// Of two buffers of one piece each, and as long: how many bytes. 0: they are not that.
std::uint64_t plain_bytes(std::size_t count, const ompi_datatype_t *type, std::size_t target_count,
                          const ompi_datatype_t *target_type) {
    const opal_datatype_t &here = type->super;
    const opal_datatype_t &theirs = target_type->super;
    const std::uint64_t bytes = here.size * count;
    const bool same = type == target_type && count == target_count;
    return opal_datatype_is_contiguous_memory_layout(&here, static_cast<int>(count)) &&
                   (same || (bytes == theirs.size * target_count &&
                             opal_datatype_is_contiguous_memory_layout(&theirs, static_cast<int>(target_count))))
               ? bytes
               : 0;
}

// Where those bytes begin in the target's memory, of `size` bytes, or -1: not inside it.
std::int64_t place_in(std::uint64_t size, std::ptrdiff_t displacement, std::int64_t unit,
                      const ompi_datatype_t *target_type, std::uint64_t bytes) {
    std::int64_t at = 0;
    return __builtin_mul_overflow(displacement, unit, &at) ||
                   __builtin_add_overflow(at, target_type->super.true_lb, &at) || at < 0 || bytes > size ||
                   static_cast<std::uint64_t>(at) > size - bytes
               ? -1
               : at;
}

std::byte *begin_of(const void *buffer, const ompi_datatype_t *type) {
    return place_at(static_cast<std::byte *>(const_cast<void *>(buffer)), type->super.true_lb);
}

} // namespace

std::byte *short_way(module &m, const void *mine, std::size_t count, const ompi_datatype_t *type, int target,
                     std::ptrdiff_t displacement, std::size_t target_count, const ompi_datatype_t *target_type,
                     place *there) {
    const rma_member &member = m.window->members[static_cast<std::size_t>(target)];
    const std::uint64_t bytes = m.window->dynamic ? 0 : plain_bytes(count, type, target_count, target_type);
    if (0 == bytes) {
        return nullptr;
    }
    const std::int64_t at =
        place_in(member.bytes, displacement, m.units[static_cast<std::size_t>(target)], target_type, bytes);
    if (at < 0) {
        return nullptr; // the long way says what is wrong
    }
    *there = {engine::instance().one_sided().peer(m.window, target), member.base + static_cast<std::uint64_t>(at),
              bytes};
    return begin_of(mine, type);
}

rma_item *make_item(rma_item::what kind, rma_begun begun) {
    rma_item *i = rma::make(kind);
    i->chosen = rma_begun::no != begun;
    i->by_message = rma_begun::message == begun;
    return i;
}

namespace {

// Of memory at hand, see there. False: nothing happened.
bool copy_at_hand(module &m, void *mine, std::size_t count, const ompi_datatype_t *type, int target,
                  std::ptrdiff_t displacement, std::size_t target_count, const ompi_datatype_t *target_type, bool get) {
    at_hand &hand = m.hand;
    if (target != hand.target || hand.copied >= at_hand::most || engine::instance().called_for()) {
        return false;
    }
    const std::uint64_t bytes = plain_bytes(count, type, target_count, target_type);
    const std::int64_t at =
        place_in(hand.peer->bytes, displacement, m.units[static_cast<std::size_t>(target)], target_type, bytes);
    if (0 == bytes || bytes > at_hand::bytes || at < 0) {
        return false;
    }
    std::byte *const here = begin_of(mine, type);
    std::byte *const theirs = hand.peer->mapped + at;
    std::memmove(get ? here : theirs, get ? theirs : here, bytes);
    ++hand.copied;
    return true;
}

// A put or get without an item, if it can be done so.
rma_begun at_once(module &m, int target, const place &there, std::byte *mine, bool get) {
    engine &e = engine::instance();
    rma &r = e.one_sided();
    if (r.try_mapped(there.peer, mine, there.address, there.bytes, get)) {
        if (!e.identity().threads) {
            m.hand = e.was_asked() ? at_hand{} : at_hand{there.peer, target, 0};
        }
        return rma_begun::done;
    }
    if (!get && r.try_bundled(there.peer, wire::rma_kind::put, rma_operator::replace, rma_type::bytes, mine,
                              there.address, there.bytes)) {
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
    const bool get = rma_item::what::get == kind;
    if (nullptr == wanted && copy_at_hand(m, mine, static_cast<std::size_t>(count), type, target, displacement,
                                          static_cast<std::size_t>(target_count), target_type, get)) {
        return MPI_SUCCESS;
    }
    const briefly_inside here;
    m.count_copied();
    if (const int error = open_towards(m, target); MPI_SUCCESS != error) {
        return error;
    }
    rma_begun begun = rma_begun::no;
    if (place there; nullptr == wanted) {
        std::byte *at = short_way(m, mine, static_cast<std::size_t>(count), type, target, displacement,
                                  static_cast<std::size_t>(target_count), target_type, &there);
        begun = nullptr == at ? rma_begun::no : at_once(m, target, there, at, get);
        if (rma_begun::done == begun) {
            m.note_operation();
            return MPI_SUCCESS;
        }
    }
    rma_item *i = make_item(kind, begun);
    int error = aim(m, i, target, displacement, static_cast<std::size_t>(target_count), target_type);
    rma_layout layout = layout_of(type, static_cast<std::size_t>(count));
    if (MPI_SUCCESS == error) {
        error = get ? fit(i->target_layout.bytes(), &layout) : fit(layout.bytes(), &i->target_layout);
    }
    if (MPI_SUCCESS != error) {
        delete i;
        return error;
    }
    if (get) {
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
