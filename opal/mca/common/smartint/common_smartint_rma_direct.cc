// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Put and get inside a node without the target: in mapped memory, or by the kernel's copies
// between processes. Accumulates stay messages: they must be atomic towards each other.
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "common_smartint_engine.h"
#include "common_smartint_log.h"
#include "common_smartint_rma.h"

namespace smartint {
namespace {

constexpr std::size_t most_pieces = 256; // of one call; the kernel takes 1024

// Pieces of memory for one side of a call: at most `bytes`. How many bytes.
std::uint64_t list_pieces(std::uint64_t base, rma_cursor cursor, std::uint64_t bytes, iovec *out,
                          std::size_t *count) {
    std::uint64_t listed = 0;
    *count = 0;
    while (listed < bytes && *count < most_pieces) {
        const auto p = cursor.look(bytes - listed);
        out[(*count)++] = {reinterpret_cast<void *>(base + static_cast<std::uint64_t>(p.offset)),
                           p.bytes};
        cursor.advance(p.bytes);
        listed += p.bytes;
    }
    return listed;
}

void skip(rma_cursor &cursor, std::uint64_t bytes) {
    while (bytes > 0) {
        const auto p = cursor.look(bytes);
        cursor.advance(p.bytes);
        bytes -= p.bytes;
    }
}

} // namespace

bool rma::direct_possible(const rma_peer *p, const rma_item *i) const {
    if ((rma_item::what::put != i->kind && rma_item::what::get != i->kind) ||
        p->window->dynamic || 0 != i->id) {
        return false;
    }
    return nullptr != p->mapped || route::self == p->ep->way ||
           (route::shared == p->ep->way && p->ep->direct);
}

bool rma::try_mapped(rma_peer *p, std::byte *mine, std::uint64_t target, std::uint64_t bytes,
                     bool get) {
    const rma_window *w = p->window;
    if (nullptr != p->mapped && nullptr != p->head) {
        e_.pass(false, false); // what the queue waits for may be here
    }
    if (nullptr == p->mapped || nullptr != p->head || w->fences_done < w->fences_begun) {
        return false;
    }
    std::byte *theirs = p->mapped + (target - p->base);
    std::memmove(get ? mine : theirs, get ? theirs : mine, bytes);
    e_.stats_.add(stat::rma_operations);
    e_.stats_.add(stat::rma_direct);
    return true;
}

// done, again (the thread's share of this pass is used up), or full: not by this way.
rma::step rma::run_direct(rma_peer *p, rma_item *i) {
    const bool get = rma_item::what::get == i->kind;
    rma_cursor &mine = get ? i->result_at : i->origin_at;
    std::byte *const base = get ? i->result : i->origin;
    if (nullptr == p->mapped && route::self != p->ep->way) {
        if (const step s = copy_between_processes(p, i); step::done != s) {
            return s;
        }
    } else {
        std::byte *theirs = nullptr == p->mapped ? reinterpret_cast<std::byte *>(i->target)
                                                 : p->mapped + (i->target - p->base);
        while (0 != i->target_at.left()) {
            const std::uint64_t bytes =
                by_thread_ ? std::min(budget_, i->target_at.left()) : i->target_at.left();
            if (0 == bytes) {
                return step::again;
            }
            if (get) {
                rma_copy(base, mine, theirs, i->target_at, bytes);
            } else {
                rma_copy(theirs, i->target_at, base, mine, bytes);
            }
            budget_ -= by_thread_ ? bytes : 0;
        }
    }
    e_.stats_.add(stat::rma_direct);
    take_head(p);
    end(i);
    return step::done;
}

rma::step rma::copy_between_processes(rma_peer *p, rma_item *i) {
    const bool get = rma_item::what::get == i->kind;
    rma_cursor &mine = get ? i->result_at : i->origin_at;
    const auto base = reinterpret_cast<std::uint64_t>(get ? i->result : i->origin);
    endpoint *ep = p->ep;
    if (0 == ep->pid) {
        ep->pid = e_.segment_.slot(ep->slot).control.pid.load(std::memory_order_relaxed);
    }
    iovec local[most_pieces];
    iovec remote[most_pieces];
    while (0 != i->target_at.left()) {
        std::uint64_t bytes =
            by_thread_ ? std::min(budget_, i->target_at.left()) : i->target_at.left();
        if (0 == bytes) {
            return step::again;
        }
        std::size_t locals = 0;
        std::size_t remotes = 0;
        bytes = list_pieces(i->target, i->target_at, bytes, remote, &remotes);
        const std::uint64_t here = list_pieces(base, mine, bytes, local, &locals);
        if (here < bytes) { // the remote side must not be longer than the local one
            bytes = list_pieces(i->target, i->target_at, here, remote, &remotes);
        }
        const auto pid = static_cast<pid_t>(ep->pid);
        const ssize_t n = get ? process_vm_readv(pid, local, locals, remote, remotes, 0)
                              : process_vm_writev(pid, local, locals, remote, remotes, 0);
        if (n < 0 && EINTR == errno) {
            continue;
        }
        if (n < 0 && EFAULT != errno) {
            // Not permitted between these two: once told, everything goes by message.
            ep->direct = false;
            e_.stats_.add(stat::fallbacks);
            tell(topic::no_direct_copy, get ? "process_vm_readv" : "process_vm_writev",
                 std::strerror(errno));
            return step::full;
        }
        if (n <= 0) {
            // Memory that was a window's and is not there any more, or the origin's own.
            note_error(p->window, rma_error::range);
            break;
        }
        const auto moved = static_cast<std::uint64_t>(n);
        skip(mine, moved);
        skip(i->target_at, moved);
        budget_ -= by_thread_ ? moved : 0;
    }
    return step::done;
}

} // namespace smartint
