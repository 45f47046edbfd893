// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Which way the data of a rendezvous goes inside a node. Reading is a direct copy by the kernel, paid by whoever
// calls. So where the receiver computes and the sender sits in MPI, the receiver's thread is woken briefly to answer
// with a CTS, and the sender, which has nothing better to do, writes. Where both wait either may move it, or both do,
// through the ring.
//
// All under the gate.
#include <algorithm>

#include "common_smartint_engine.h"

namespace smartint {
namespace {

bursts::preference preference_in(std::uint16_t rts_flags) {
    return 0 != (rts_flags & wire::rts_by_ring)     ? bursts::preference::ring
           : 0 != (rts_flags & wire::rts_in_pieces) ? bursts::preference::pieces
                                                    : bursts::preference::nothing;
}

} // namespace

enum class engine::near_way : std::uint8_t {
    fragments, // the sender's, through its ring: no direct copy is possible
    streamed,  // the same, as both sides wait
    pushed,    // a direct copy by the sender, which waits; this side helps where it comes to wait
    postponed, // a copy by whichever application comes first, as both compute and no core is idle
    read,      // a direct copy by this side
};

void engine::start_inside_node(recv_op *op) {
    if (!may_copy(op->peer) || 0 == (op->rts_flags & wire::rts_readable) || nullptr == op->buffer ||
        op->received >= copy_job::offset_mask) {
        start_by(op, near_way::fragments);
        return;
    }
    if (rendezvous_kind::automatic != rendezvous_) {
        start_by(op, rendezvous_kind::write == rendezvous_ ? near_way::pushed : near_way::read);
        return;
    }
    if (op->blocking || (!by_thread_ && application_waits())) {
        start_by(op, choose_in_wait(op));
        return;
    }
    const near_way way = choose_outside_wait(op);
    const bool again = may_choose_again(op, way);
    if (!again) {
        bursts_.met(op, bursts::met_in::call);
    }
    start_by(op, way);
    if (again && op->job.listed) {
        op->job.undecided = true;
        count_undecided(1);
    } else if (again) {
        bursts_.spoil(); // the sender's alone
    }
}

void engine::start_by(recv_op *op, near_way way) {
    switch (way) {
    case near_way::fragments:
        fly(op);
        // a sender that was to be read is not armed
        answer(op, wire::mode::copy, 0 != (op->rts_flags & wire::rts_readable));
        break;
    case near_way::streamed:
        op->streamed = true;
        ++op->peer->streams; // it is busy now, but with what this side waits for
        fly(op);
        answer(op, wire::mode::copy, true);
        break;
    case near_way::pushed:
    case near_way::postponed:
        ask_for_push(op, near_way::postponed == way);
        break;
    case near_way::read:
        read_by_copy(op);
        break;
    }
}

// This side waits. Once for each message, as the receives of a burst are counted here.
//
// Where both wait, the one copies into the ring and the other out of it, through their caches: half of a copy by the
// kernel goes into finding the pages. They have to run at the same time, though, so what is large goes in pieces that
// either takes (do_copies hands it over), unless that was found to be slower.
engine::near_way engine::choose_in_wait(recv_op *op) {
    const endpoint *from = op->peer;
    bool by_ring = false;
    if (of_exchange(op)) {
        // The ring takes the time of both, so the two directions go the same way: as the rank of the lower slot would.
        by_ring = bursts_.met(op, bursts::met_in::exchange,
                              from->slot < me_.slot ? preference_in(op->rts_flags) : bursts_.prefers(op->received));
    } else {
        const bool both_wait = 0 != from->streams || board_slot(&segment_.slot(from->slot)).waiting();
        by_ring = bursts_.met(op, both_wait ? bursts::met_in::wait_of_both : bursts::met_in::wait);
    }
    return by_ring ? near_way::streamed : near_way::read;
}

// This side waits, the sender too, and both send.
bool engine::of_exchange(const recv_op *op) const {
    return 0 != (op->rts_flags & wire::rts_exchange) && (0 != open_sends_ || bursts_.in_exchange()) &&
           board_slot(&segment_.slot(op->peer->slot)).stays();
}

// Whether cores are idle is found out here.
engine::near_way engine::choose_outside_wait(const recv_op *op) {
    const endpoint *from = op->peer;
    if (board_slot(&segment_.slot(from->slot)).waiting()) {
        // It only waits: let it write. Little is read by whoever is here: an answer and a finish take as long.
        return by_thread_ || op->received >= share_from ? near_way::pushed : near_way::read;
    }
    // It computes, or is about to go back to it, and is left alone. So is this side's thread, for a time, where no core
    // is idle.
    const bool worth_postponing =
        !by_thread_ && op->received >= std::max(share_from, arming_floor(from) + 1) && ~0ULL != shared_copies_;
    return worth_postponing && crowded() ? near_way::postponed : near_way::read;
}

// Of one of an exchange that is met in a call that does not wait: when this rank comes to wait another way may be the
// better one, and nobody will have begun with it. That is so where this rank's thread leaves it alone, or its sender
// was asked to write, which it does a moment later. What would have been sent whole is read at once.
bool engine::may_choose_again(const recv_op *op, near_way way) const {
    return !by_thread_ && 0 != (op->rts_flags & wire::rts_exchange) &&
           (near_way::read != way ||
            (op->received > op->peer->eager_if_room && op->received <= arming_floor(op->peer)));
}

// By the application, before it moves copies.
void engine::choose_again() {
    for (copy_job *job = copies_; nullptr != job && 0 != undecided();) {
        copy_job *next = job->link;
        if (job->undecided) {
            job->undecided = false;
            count_undecided(-1);
            choose_again(job);
        }
        job = next;
    }
}

void engine::choose_again(copy_job *job) {
    recv_op *op = job->receive;
    if (!application_waits() || !of_exchange(op) || job->is_begun()) {
        bursts_.met(op, bursts::met_in::call);
        return;
    }
    if (near_way::streamed != choose_in_wait(op)) {
        return;
    }
    if (!job->take_back()) {
        bursts_.spoil(); // somebody has begun just now
        return;
    }
    unlist(job);
    start_by(op, near_way::streamed);
}

// The sender writes, and this side's application takes pieces when it waits. postponed: so does the sender's, and
// nobody is woken.
void engine::ask_for_push(recv_op *op, bool postponed) {
    stats_.add(stat::pushes_requested);
    op->job.receive = op;
    begin_copy(op->job, op->peer, op->buffer, op->remote_address, op->received, false);
    op->job.waiter_only = true;
    if (!share_copy(op->job, 0)) {
        op->job.receive = nullptr; // the sender's alone
    } else {
        list(&op->job);
        if (postponed) {
            postpone_copy(&op->job);
        }
    }
    answer(op, wire::mode::copy_into, !postponed);
}

void engine::read_by_copy(recv_op *op) {
    op->job.receive = op;
    begin_copy(op->job, op->peer, op->buffer, op->remote_address, op->received, false);
    // not worth a wake: kept for the wait
    op->job.waiter_only |= !by_thread_ && op->received <= arming_floor(op->peer);
    list(&op->job);
    // To one that computes it would have been sent whole: its sender is not kept waiting for this rank's next call. Nor
    // in a wait, which may end before it looks at its copies.
    if (!by_thread_ && op->received <= op->peer->eager_if_room) {
        while (copy_step(view_of(&op->job), false)) {}
        collect_finished_copies();
    }
}

} // namespace smartint
