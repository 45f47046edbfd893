// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Operations inside a node without the target: in mapped memory, or by the kernel's copies between
// processes. Those that combine hold the target's words meanwhile, and so does its engine.
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "common_smartint_engine.h"
#include "common_smartint_rma.h"
#include "common_smartint_rma_lock.h"

namespace smartint {
namespace {

constexpr std::size_t most_pieces = 256;      // of one call; the kernel takes 1024
constexpr std::uint64_t alone_bytes = 65536;  // combined at a time: others wait so long
constexpr std::uint64_t span_bytes = 262144;  // read with the gaps, to be picked apart here
constexpr std::uint64_t span_piece = 4096;    // if they are no larger: those are worth a piece of their own
constexpr std::uint64_t small_gap = 1024;     // read in less time than the kernel takes for one more piece
constexpr std::uint64_t small_piece = 8192;   // below that messages are faster than the kernel's copies, if there are
constexpr std::uint64_t many_pieces = 32;     // so many
constexpr std::uint64_t busy_ring = 32768;    // bytes of others that a target has not taken in yet
constexpr unsigned served_every = 64;         // operations that need no pass of the engine
constexpr std::uint64_t slack_from = 262144;  // a copy that keeps the network waiting for some 50 us
constexpr std::uint64_t slack_piece = 524288; // of one pass of the application: less than the network has to send

// Pieces of memory for one side of a call: at most `bytes`. How many bytes.
std::uint64_t list_pieces(std::uint64_t base, rma_cursor cursor, std::uint64_t bytes, iovec *out, std::size_t *count) {
    std::uint64_t listed = 0;
    *count = 0;
    while (listed < bytes && *count < most_pieces) {
        const auto p = cursor.look(bytes - listed);
        out[(*count)++] = {reinterpret_cast<void *>(base + static_cast<std::uint64_t>(p.offset)), p.bytes};
        cursor.advance(p.bytes);
        listed += p.bytes;
    }
    return listed;
}

} // namespace

bool rma::direct_possible(const rma_peer *p, const rma_item *i) const {
    const bool stores = rma_item::what::put == i->kind || rma_item::what::get == i->kind;
    if ((!stores && nullptr == p->words) || p->window->dynamic || 0 != i->id) {
        return false;
    }
    return nullptr != p->mapped || route::self == p->ep->way || (route::shared == p->ep->way && e_.may_copy(p->ep));
}

// It waits in MPI, on a processor of its own; and if it comes to compute, its thread goes on.
bool rma::target_has_time(const rma_peer *p) const {
    if (!e_.can_arm() || !e_.a_unit_each()) {
        return false;
    }
    const bool waits = board_slot(&e_.segment_.slot(p->ep->slot)).waiting();
    if (!waits) {
        p->ep->ring.visit(); // or does not say so
    }
    return waits;
}

// The target copies for one origin; another one that comes meanwhile has a core of its own for it.
bool rma::target_is_ours(const rma_peer *p) {
    return p->unacked || p->fetching + p->getting > 0 || !p->ep->ring.holds_more_than(busy_ring);
}

// To or from a target that does nothing else: one side gathers a message while the other one scatters the last (AR
// chapter 3), and what is small costs no system call. One piece goes either way, whichever is quicker here. A target
// that computes is left alone, though the kernel's copies are slower; so is one that may be waiting for a processor,
// where ranks outnumber them.
bool rma::better_by_message(const rma_peer *p, const rma_item *i) {
    if (i->chosen || nullptr != p->mapped || route::shared != p->ep->way || 0 != i->target_at.done()) {
        return false;
    }
    const std::uint64_t pieces = i->target_layout.pieces();
    const bool small_pieces = pieces >= many_pieces && i->target_layout.bytes() < pieces * small_piece;
    if ((!small_pieces && !target_is_ours(p)) || !target_has_time(p)) {
        return false;
    }
    return !i->one_piece() || !direct_possible(p, i) || bursts_.by_message(p, i, !settled(p));
}

// A large copy inside the node, in a window that has members on other nodes: what comes behind it may be theirs. It
// is left to the passes, so that the network has its work first, and is made in pieces while the network transfers
// (Zounmevo and Afsahi's slack, SI 2.4.3): by the application where it waits, by its thread while it computes.
bool rma::for_slack(const rma_peer *p, std::uint64_t bytes) {
    return p->window->far && bytes >= slack_from && route::shared == p->ep->way;
}

// A program of nothing but operations that are done when they return would serve nobody: the thread, which is never
// left alone for long enough, would only be rung at every call.
void rma::serve_now_and_then() {
    if (e_.called_for() || ++since_pass_ >= served_every) {
        since_pass_ = 0;
        in_operation_ = true; // others may follow it
        e_.pass(false, false);
        in_operation_ = false;
    }
}

// Nothing stands before it, and the memory is in this process; with its words, so that nothing goes there by message,
// which might be on its way still.
bool rma::at_hand(rma_peer *p) {
    const rma_window *w = p->window;
    const bool here = nullptr != p->mapped && nullptr != p->words;
    if (here && nullptr != p->head) {
        e_.pass(false, false); // what the queue waits for may be here
    } else if (here) {
        serve_now_and_then();
    }
    return here && nullptr == p->head && w->fences_done >= w->fences_begun;
}

// Of the target's memory here, or nullptr: it takes the kernel.
std::byte *rma::address_of(const rma_peer *p, std::uint64_t target) {
    if (nullptr != p->mapped) {
        return p->mapped + static_cast<std::ptrdiff_t>(target - p->base); // the first byte may be before that
    }
    return route::self == p->ep->way ? reinterpret_cast<std::byte *>(target) : nullptr;
}

// Not permitted between these two, or the target has ended: everything goes by message.
rma::step rma::refused_by_kernel(rma_peer *p, const char *call) {
    e_.no_copy_to(p->ep, call, errno);
    bursts_.spoil();
    return step::full;
}

bool rma::try_mapped(rma_peer *p, std::byte *mine, std::uint64_t target, std::uint64_t bytes, bool get) {
    if (for_slack(p, bytes) || !at_hand(p)) {
        return false;
    }
    std::byte *theirs = address_of(p, target);
    std::memmove(get ? mine : theirs, get ? theirs : mine, bytes);
    e_.stats_.add(stat::rma_operations);
    e_.stats_.add(stat::rma_direct);
    return true;
}

void rma::count_mapped(unsigned operations) {
    since_pass_ += operations;
    e_.stats_.add(stat::rma_operations, operations);
    e_.stats_.add(stat::rma_direct, operations);
}

bool rma::try_combined(rma_peer *p, rma_operator op, rma_type type, const std::byte *operand, std::byte *result,
                       std::uint64_t target, std::uint64_t bytes) {
    if (bytes > alone_bytes || !at_hand(p)) {
        return false;
    }
    std::byte *theirs = address_of(p, target);
    const combining_guard here(*p->words, pid_);
    if (nullptr != result) {
        std::memcpy(result, theirs, bytes);
    }
    if (rma_operator::no_op != op) {
        rma_apply(op, type, theirs, operand, bytes / rma_type_bytes(type));
    }
    e_.stats_.add(stat::rma_operations);
    e_.stats_.add(stat::rma_direct);
    return true;
}

// done, again (the thread's share of this pass is used up), or full: not by this way.
rma::step rma::run_direct(rma_peer *p, rma_item *i) {
    if (rma_item::what::accumulate == i->kind || rma_item::what::fetch == i->kind) {
        return combine_direct(p, i);
    }
    const bool get = rma_item::what::get == i->kind;
    rma_cursor &mine = get ? i->result_at : i->origin_at;
    std::byte *const base = get ? i->result : i->origin;
    std::byte *const theirs = address_of(p, i->target);
    if (i->slack && !by_thread_) {
        budget_ = std::min(budget_, slack_piece);
    }
    if (nullptr == theirs && 0 != i->target_at.left()) { // a window of nothing may begin there
        if (const step s = copy_between_processes(p, i); step::done != s) {
            return s;
        }
    } else {
        while (0 != i->target_at.left()) {
            const std::uint64_t bytes = std::min(budget_, i->target_at.left());
            if (0 == bytes) {
                return step::again;
            }
            if (get) {
                rma_copy(base, mine, theirs, i->target_at, bytes);
            } else {
                rma_copy(theirs, i->target_at, base, mine, bytes);
            }
            budget_ -= bytes;
        }
    }
    e_.stats_.add(stat::rma_direct);
    take_head(p);
    end(i, i->failed);
    return step::done;
}

rma::step rma::copy_between_processes(rma_peer *p, rma_item *i) {
    const bool get = rma_item::what::get == i->kind;
    rma_cursor &mine = get ? i->result_at : i->origin_at;
    const auto base = reinterpret_cast<std::uint64_t>(get ? i->result : i->origin);
    const auto pid = static_cast<pid_t>(e_.pid_of(p->ep));
    iovec local[most_pieces];
    iovec remote[most_pieces];
    while (0 != i->target_at.left()) {
        std::uint64_t bytes = std::min(budget_, i->target_at.left());
        if (0 == bytes) {
            return step::again;
        }
        if (get && read_span(p, i, bytes)) {
            continue;
        }
        std::size_t locals = 0;
        std::size_t remotes = 0;
        bytes = list_pieces(i->target, i->target_at, bytes, remote, &remotes);
        const std::uint64_t here = list_pieces(base, mine, bytes, local, &locals);
        if (here < bytes) { // the remote side must not be longer than the local one
            bytes = list_pieces(i->target, i->target_at, here, remote, &remotes);
        }
        const ssize_t n = get ? process_vm_readv(pid, local, locals, remote, remotes, 0)
                              : process_vm_writev(pid, local, locals, remote, remotes, 0);
        if (n < 0 && EINTR == errno) {
            continue;
        }
        if (n < 0 && EFAULT != errno) {
            return refused_by_kernel(p, get ? "process_vm_readv" : "process_vm_writev");
        }
        if (n <= 0) {
            // Memory that was a window's and is not there any more, or the origin's own.
            note_error(i, rma_error::range);
            break;
        }
        const auto moved = static_cast<std::uint64_t>(n);
        mine.skip(moved);
        i->target_at.skip(moved);
        budget_ -= moved;
    }
    return step::done;
}

// Pieces with small gaps between them are read in one, and those that are wanted picked out: at most `most` bytes.
// False: nothing happened.
bool rma::read_span(rma_peer *p, rma_item *i, std::uint64_t most) {
    rma_run run = i->target_at.strip(most);
    const auto stride = static_cast<std::uint64_t>(run.stride);
    if (run.count < 2 || run.length > span_piece || run.stride < 0 || stride < run.length ||
        stride - run.length > small_gap) {
        return false;
    }
    run.count = std::min(run.count, std::max<std::uint64_t>(span_bytes / stride, 1));
    const std::uint64_t bytes = (run.count - 1) * stride + run.length;
    packed_.resize(std::max<std::size_t>(packed_.size(), bytes));
    const iovec local{packed_.data(), bytes};
    const iovec remote{reinterpret_cast<void *>(i->target + static_cast<std::uint64_t>(run.offset)), bytes};
    if (static_cast<ssize_t>(bytes) !=
        process_vm_readv(static_cast<pid_t>(e_.pid_of(p->ep)), &local, 1, &remote, 1, 0)) {
        return false; // the pieces themselves will tell why
    }
    rma_layout wanted;
    wanted.append({0, run.length, run.stride, run.count});
    rma_cursor from(&wanted);
    rma_copy(i->result, i->result_at, packed_.data(), from, run.bytes());
    i->target_at.pass(run, run.count);
    budget_ -= run.bytes();
    return true;
}

// The next `bytes` of the operand in one piece.
const std::byte *rma::operand_of(rma_item *i, std::uint64_t bytes) {
    if (rma_operator::swap_if_equal == i->op) {
        return i->operands;
    }
    if (rma_operator::no_op == i->op) {
        return nullptr;
    }
    if (const auto piece = i->origin_at.look(bytes); piece.bytes == bytes) {
        i->origin_at.advance(bytes);
        return place_at(i->origin, piece.offset);
    }
    packed_.resize(std::max<std::size_t>(packed_.size(), bytes));
    rma_gather(i->origin, i->origin_at, packed_.data(), bytes);
    return packed_.data();
}

// Accumulate and fetch; returns what run_direct does.
rma::step rma::combine_direct(rma_peer *p, rma_item *i) {
    const std::uint64_t unit = rma_type_bytes(i->type);
    std::byte *const theirs = address_of(p, i->target);
    const bool fetches = rma_item::what::fetch == i->kind;
    while (0 != i->target_at.left()) {
        // whole elements: a packed pair has 6, 12 or 20 bytes
        std::uint64_t bytes = std::min({i->target_at.left(), alone_bytes / unit * unit, budget_ / unit * unit});
        if (0 == bytes) {
            return step::again;
        }
        if (nullptr == theirs) {
            if (const step s = combine_between_processes(p, i, &bytes); step::full == s) {
                return s;
            } else if (step::blocked == s) {
                break;
            }
        } else {
            fetched_.resize(std::max<std::size_t>(fetched_.size(), bytes));
            const std::byte *operand = operand_of(i, bytes);
            const combining_guard here(*p->words, pid_);
            if (fetches) {
                rma_cursor from = i->target_at;
                rma_gather(theirs, from, fetched_.data(), bytes);
            }
            if (nullptr != operand) {
                rma_apply_at(i->op, i->type, theirs, i->target_at, bytes, operand, unit);
            } else {
                i->target_at.skip(bytes);
            }
        }
        if (fetches) {
            rma_scatter(i->result, i->result_at, fetched_.data(), bytes);
        }
        budget_ -= bytes;
    }
    e_.stats_.add(stat::rma_direct);
    take_head(p);
    end(i, i->failed);
    return step::done;
}

// At most *bytes, and how many it was; what was there into fetched_. full: not permitted; blocked:
// the memory is not there.
rma::step rma::combine_between_processes(rma_peer *p, rma_item *i, std::uint64_t *bytes) {
    const std::uint64_t unit = rma_type_bytes(i->type);
    const auto pid = static_cast<pid_t>(e_.pid_of(p->ep));
    iovec remote[most_pieces];
    std::size_t remotes = 0;
    std::uint64_t n = list_pieces(i->target, i->target_at, *bytes, remote, &remotes);
    if (0 != n % unit) {
        n = list_pieces(i->target, i->target_at, n - n % unit, remote, &remotes);
    }
    *bytes = n;
    fetched_.resize(std::max<std::size_t>(fetched_.size(), n));
    const iovec fetched{fetched_.data(), n};
    const rma_cursor operand_before = i->origin_at;
    const std::byte *operand = operand_of(i, n);
    const combining_guard here(*p->words, pid_);
    const ssize_t got = process_vm_readv(pid, &fetched, 1, remote, remotes, 0);
    if (got < 0 && EFAULT != errno) {
        i->origin_at = operand_before;
        return refused_by_kernel(p, "process_vm_readv");
    }
    ssize_t put = got;
    if (static_cast<ssize_t>(n) == got && nullptr != operand) {
        combined_.assign(fetched_.begin(), fetched_.begin() + got);
        rma_apply(i->op, i->type, combined_.data(), operand, n / unit);
        const iovec combined{combined_.data(), n};
        put = process_vm_writev(pid, &combined, 1, remote, remotes, 0);
    }
    if (static_cast<ssize_t>(n) != put) {
        note_error(i, rma_error::range); // memory that was a window's, and is no more
        return step::blocked;
    }
    i->target_at.skip(n);
    return step::done;
}

} // namespace smartint
