// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Direct copies between two processes of a node, in pieces: the kernel copies, whoever calls
// pays. The application's thread takes pieces under the gate, which is open while it moves one where it is one of
// several; the interrupt thread takes them outside it, the other process too where both sides work on one copy.
#include <sched.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "common_smartint_clock.h"
#include "common_smartint_engine.h"
#include "common_smartint_log.h"

namespace smartint {
namespace {

constexpr std::uint32_t smallest_step = 32768;
constexpr std::uint64_t receivers_moment_ns = 5000;
constexpr std::uint64_t largest_step = 16777216; // a millisecond or two
// After so much the thread looks at all else, as its timer and the transport do not reach it while it copies.
constexpr std::uint64_t thread_look = 4194304;

} // namespace

inline void engine::count_reads(const copy_job *job, int by) {
    if (nullptr != job->receive && job->entry < 0) {
        reads_.store(reads() + static_cast<unsigned>(by), std::memory_order_relaxed);
    }
}

copy_view engine::view_of(copy_job *job) const {
    // Where two sides share, pieces small enough for both to get some.
    const auto step = job->entry < 0
                          ? params_.copy_bytes
                          : static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
                                job->length / 4, smallest_step, std::max(params_.copy_bytes, smallest_step)));
    layout::slot *sender = nullptr;
    if (nullptr != job->receive && job->entry < 0 && rendezvous_kind::automatic == rendezvous_) {
        sender = &segment_.slot(job->receive->peer->slot);
    }
    return {job,         job->next, job->done, job->generation, job->remote, job->local,
            job->length, job->pid,  step,      job->write,      sender};
}

// Of a process on this node; it may have attached after its endpoint was made. 0: not yet, or its number would be
// another process here, as where each rank is in a container of its own.
std::uint32_t engine::pid_of(endpoint *ep) {
    if (0 == ep->pid && !ep->elsewhere) {
        const auto &c = segment_.slot(ep->slot).control;
        if (1 == c.attached.load(std::memory_order_acquire)) {                          // A1
            ep->elsewhere = 0 == pid_namespace() || c.pid_namespace != pid_namespace(); // 0: not to be found out
            ep->pid = ep->elsewhere ? 0 : c.pid.load(std::memory_order_relaxed);
        }
        if (ep->elsewhere && ep->direct) {
            ep->direct = false;
            tell(topic::no_direct_copy, "process_vm_readv", "the processes are in different PID namespaces");
        }
    }
    return ep->pid;
}

bool engine::may_copy(endpoint *ep) {
    if (ep->direct && 0 == ep->pid) {
        pid_of(ep);
    }
    return ep->direct;
}

// From now on without the kernel's copies. ESRCH: the peer has ended, its number being one of our own namespace. That
// is no refusal with a remedy, and what follows from it the runtime says. error 0: it was the other side's copy.
void engine::no_copy_to(endpoint *ep, const char *call, int error) {
    ep->direct = false;
    stats_.add(stat::fallbacks);
    if (ESRCH != error) {
        tell(topic::no_direct_copy, call, 0 != error ? std::strerror(error) : "the other process was refused");
    }
}

void engine::begin_copy(copy_job &job, endpoint *ep, std::byte *local, std::uint64_t remote, std::uint64_t length,
                        bool write) {
    job.remote = remote;
    job.local = local;
    job.length = length;
    job.pid = pid_of(ep);
    job.write = write;
    job.waiter_only = nullptr != job.receive ? job.receive->blocking : job.send->blocking;
    job.entry = -1;
    job.error.store(0, std::memory_order_relaxed);
    job.by_thread.store(false, std::memory_order_relaxed);
    job.next = &job.own_next;
    job.done = &job.own_done;
    copy_generation_ = (copy_generation_ + 1) & copy_job::generation_mask;
    job.generation = copy_generation_; // of all jobs together: memory is used again
    job.own_done.store(0, std::memory_order_relaxed);
    job.own_next.store(static_cast<std::uint64_t>(job.generation) << copy_job::generation_shift,
                       std::memory_order_release); // J1
}

// An entry of our slot for this job, so that the sender can take pieces too, from offset `from`
// on. False: none free.
bool engine::share_copy(copy_job &job, std::uint64_t from) {
    if (~0ULL == shared_copies_) {
        return false;
    }
    const int i = __builtin_ctzll(~shared_copies_);
    shared_copies_ |= 1ULL << i;
    layout::shared_copy &c = segment_.slot(me_.slot).copies[i];
    // the entry's own generation: another job than the last to use it
    const std::uint64_t generation =
        ((c.next.load(std::memory_order_relaxed) >> copy_job::generation_shift) + 1) & copy_job::generation_mask;
    job.entry = i;
    job.generation = static_cast<std::uint32_t>(generation);
    job.next = &c.next;
    job.done = &c.done;
    c.done.store(from, std::memory_order_relaxed);
    c.next.store(generation << copy_job::generation_shift | from, std::memory_order_release); // J1
    return true;
}

// A sender that was not idle when we began to read may have come to wait since.
bool engine::sender_waits(const copy_job &job) const {
    return nullptr != job.receive && job.entry < 0 && rendezvous_kind::automatic == rendezvous_ &&
           board_slot(&segment_.slot(job.receive->peer->slot)).waiting();
}

// What is left of a copy that this side reads alone, to the sender. Under the gate. False: not
// worth it, or not possible now.
bool engine::hand_over(copy_job &job) {
    if (!sender_waits(job) || ~0ULL == shared_copies_) {
        return false;
    }
    std::uint64_t next = job.own_next.load(std::memory_order_relaxed);
    const std::uint64_t at = next & copy_job::offset_mask;
    // Acquire: the pieces so far are in place, as done counts what has been moved and next what
    // was taken. Where they agree nobody is in the middle of a piece, and the exchange leaves
    // none to take to an interrupt thread that still looks at these words.
    if (job.length - at < share_from || at != job.own_done.load(std::memory_order_acquire) || // J2
        !job.own_next.compare_exchange_strong(next, next - at + job.length, std::memory_order_acq_rel)) {
        return false;
    }
    count_reads(&job, -1); // while it has no entry
    share_copy(job, at);
    own_copies_ -= job.waiter_only ? 0 : 1;
    job.waiter_only = true;
    stats_.add(stat::pushes_requested);
    answer(job.receive, wire::mode::copy_into, true);
    return true;
}

// shared: as in the answer, entry checked.
void engine::join_copy(copy_job &job, endpoint *ep, std::uint32_t shared) {
    const std::uint32_t entry = (shared >> 24) - 1;
    layout::shared_copy &c = segment_.slot(ep->slot).copies[entry];
    job.entry = static_cast<int>(entry);
    job.generation = shared & static_cast<std::uint32_t>(copy_job::generation_mask);
    job.next = &c.next;
    job.done = &c.done;
}

// In order of arrival, but what the sender moves too stands in front, the newest first: it
// begins with the oldest, and so the two seldom work on the same one.
void engine::list(copy_job *job) {
    if (nullptr != job->receive && job->entry >= 0 && nullptr != copies_) {
        job->link = copies_;
        copies_ = job;
    } else {
        job->link = nullptr;
        *copies_tail_ = job;
        copies_tail_ = &job->link;
    }
    job->listed = true;
    own_copies_ += job->waiter_only ? 0 : 1;
    count_reads(job, 1);
}

int engine::move_bytes(const copy_view &v, std::uint64_t at, std::uint64_t bytes) {
    while (bytes > 0) {
        iovec mine{v.local + at, bytes};
        iovec theirs{reinterpret_cast<void *>(v.remote + at), bytes};
        const auto pid = static_cast<pid_t>(v.pid);
        const ssize_t n =
            v.write ? process_vm_writev(pid, &mine, 1, &theirs, 1, 0) : process_vm_readv(pid, &mine, 1, &theirs, 1, 0);
        if (n <= 0) {
            if (n < 0 && EINTR == errno) {
                continue;
            }
            return n < 0 ? errno : EFAULT;
        }
        at += static_cast<std::uint64_t>(n);
        bytes -= static_cast<std::uint64_t>(n);
    }
    return 0;
}

copy_piece engine::take_piece(const copy_view &v) {
    std::uint64_t next = v.next->load(std::memory_order_acquire); // pairs with J1
    copy_piece p;
    do {
        p.at = next & copy_job::offset_mask;
        if (next >> copy_job::generation_shift != v.generation || p.at >= v.length) {
            return {};
        }
        p.bytes = std::min<std::uint64_t>(v.step, v.length - p.at);
        // on failure the word is looked at again; success takes [at, at + bytes) for us alone
    } while (!v.next->compare_exchange_weak(next, next + p.bytes, std::memory_order_acquire));
    return p;
}

// As long as the piece is not done the job is not over, and its memory the engine's.
void engine::move_piece(const copy_view &v, const copy_piece &p) {
    if (int error = move_bytes(v, p.at, p.bytes); 0 != error) {
        v.job->error.store(error, std::memory_order_relaxed);
        const std::uint64_t refused = EFAULT == error ? 0 : copy_job::refused_bit;
        v.done->fetch_or(copy_job::failed_bit | refused, std::memory_order_relaxed); // ordered by J2
    }
    // J2: release what we moved; the finisher acquires everybody's pieces
    const std::uint64_t done = v.done->fetch_add(p.bytes, std::memory_order_acq_rel) + p.bytes;
    if ((done & copy_job::done_mask) == v.length) {
        copy_job *head = finished_.load(std::memory_order_relaxed);
        do {
            v.job->finished_link = head;
        } while (!finished_.compare_exchange_weak(head, v.job, std::memory_order_release,
                                                  std::memory_order_relaxed)); // J3
    }
}

bool engine::copy_step(const copy_view &v, bool by_thread) {
    const copy_piece p = take_piece(v);
    if (0 == p.bytes) {
        return false;
    }
    if (by_thread) {
        v.job->by_thread.store(true, std::memory_order_relaxed);
    }
    move_piece(v, p);
    return true;
}

// For the application: where it reads alone nobody is kept waiting by a larger piece, as by the thread's.
copy_view engine::large_view_of(copy_job *job) const {
    copy_view v = view_of(job);
    if (job->entry < 0) {
        const std::uint64_t most = std::max<std::uint64_t>(largest_step, v.step);
        v.step = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(job->length / 4, v.step, most));
    }
    return v;
}

// A copy that we were asked to write, and that its receiver moves as well when it waits. Often it does at once, as
// behind MPI_Irecv, MPI_Isend and MPI_Waitall: so it is given a moment. And where it does, what we receive ourselves
// comes first, which nobody else may be at. Besides, to write takes up to twice as long as to read: it ends in another
// core's cache.
bool engine::leaves_to_receiver(const copy_job *job) const {
    if (nullptr == job->send || job->entry < 0 || !application_waits()) {
        return false;
    }
    const bool there = board_slot(&segment_.slot(job->send->peer->slot)).waiting();
    return there ? 0 != reads() : now_ns() < job->asked_ns + receivers_moment_ns;
}

// Application thread, under the gate: it is in an MPI call, so it copies till the end. In the
// order in which messages came, and each sender hears of its end at once.
unsigned engine::do_copies() {
    unsigned events = 0;
    for (copy_job *job = copies_; nullptr != job;) {
        if (leaves_to_receiver(job)) {
            job = job->link;
            continue;
        }
        if (application_waits() && job->length > params_.copy_bytes) {
            hand_over(*job); // both wait: both copy
        }
        const copy_view v = large_view_of(job);
        while (copy_step(v, false)) {
            ++events;
            const bool look = nullptr != job->send         ? ring_.anything() // it may be something to receive
                              : job->length > largest_step ? somebody_asks()
                                                           : 0 != ring_.asked();
            if (look && application_waits()) {
                return events;
            }
        }
        if (job->by_thread.load(std::memory_order_relaxed) &&
            (job->done->load(std::memory_order_relaxed) & copy_job::done_mask) < job->length) {
            // The rest is in the interrupt thread's hands, which may want this very core.
            sched_yield();
        }
        if (nullptr != finished_.load(std::memory_order_relaxed)) {
            events += collect_finished_copies();
            job = copies_; // the next one may have been among them
        } else {
            job = job->link;
        }
    }
    return events;
}

// MPI_THREAD_MULTIPLE: the copy of one thread keeps no other out, and those that wait may each move a piece.
unsigned engine::copy_a_piece() {
    if (in_pass_) {
        return 0;
    }
    for (copy_job *job = copies_; nullptr != job; job = job->link) {
        if (application_waits()) {
            hand_over(*job);
        }
        const copy_view v = large_view_of(job);
        const copy_piece p = take_piece(v);
        if (0 == p.bytes) {
            continue; // the rest is in others' hands
        }
        {
            const gate::opened meanwhile(gate_);
            move_piece(v, p);
        }
        const bool reading = 0 != reads();
        if (nullptr != finished_.load(std::memory_order_relaxed)) {
            collect_finished_copies();
        }
        if (reading && 0 == reads()) {
            publish_inside();
        }
        return 1; // the list may be another by now
    }
    return 0;
}

// Others count on this rank to look, as it shows that it is in MPI, or have had a request of it matched. Outside the
// gate too.
bool engine::somebody_asks() const { return called_for() || (board_.attached() && 0 != ring_.asked()); }

bool engine::work_on_copies() {
    bool any = false;
    std::uint64_t moved = 0;
    while (moved < thread_look && !(any && somebody_asks()) && !gate_.application_inside() &&
           copy_step(thread_copy_, true)) {
        any = true;
        moved += thread_copy_.step;
        layout::slot *sender = thread_copy_.sender;
        if (nullptr != sender && board_slot(sender).waiting()) {
            break; // look() hands it the rest
        }
    }
    return any;
}

unsigned engine::collect_finished_copies() {
    copy_job *job = finished_.exchange(nullptr, std::memory_order_acquire); // pairs with J3
    unsigned events = 0;
    while (nullptr != job) {
        copy_job *next = job->finished_link;
        finished_copy(job);
        job = next;
        ++events;
    }
    return events;
}

// Harmless for a job that is not listed. Gives a shared entry of ours back.
void engine::unlist(copy_job *job) {
    for (copy_job **p = &copies_; job->listed && nullptr != *p; p = &(*p)->link) {
        if (*p == job) {
            *p = job->link;
            if (nullptr == *p) {
                copies_tail_ = p;
            }
            job->listed = false;
            own_copies_ -= job->waiter_only ? 0 : 1;
            count_reads(job, -1);
            break;
        }
    }
    forget_postponed(job);
    if (job->undecided) {
        job->undecided = false;
        count_undecided(-1);
        bursts_.spoil(); // it was over before
        if (0 == undecided() && !by_thread_) {
            publish_inside(); // it may have time now
        }
    }
    if (nullptr != job->receive && job->entry >= 0) {
        shared_copies_ &= ~(1ULL << job->entry);
        job->entry = -1;
    }
}

void engine::finished_copy(copy_job *job) {
    const std::uint64_t done = job->done->load(std::memory_order_relaxed);
    const bool failed = 0 != (done & copy_job::failed_bit);
    const bool refused = 0 != (done & copy_job::refused_bit);
    const bool thread = job->by_thread.load(std::memory_order_relaxed);
    const int error = job->error.load(std::memory_order_relaxed);
    unlist(job);
    endpoint *ep = nullptr != job->receive ? job->receive->peer : job->send->peer;
    if (failed && !refused) { // its memory was none to be copied, a device's perhaps: another message's may be
        stats_.add(stat::fallbacks);
    } else if (failed) {
        no_copy_to(ep, job->write ? "process_vm_writev" : "process_vm_readv", error);
    }
    if (nullptr != job->receive) {
        recv_op *op = job->receive;
        if (failed) {
            fly(op);
            answer(op, wire::mode::copy);
            return;
        }
        stats_.add(thread ? stat::reads_thread : stat::reads_app);
        send_finish(ep, op->remote_id, true, wire::outcome::ok);
        complete(op);
        return;
    }
    send_op *op = job->send;
    if (failed) {
        op->state = op_state::rts_sent; // the receiver answers again
        send_finish(ep, op->remote_id, false, refused ? wire::outcome::refused : wire::outcome::bad_memory);
        return;
    }
    stats_.add(thread ? stat::writes_thread : stat::writes_app);
    send_finish(ep, op->remote_id, false, wire::outcome::ok);
    complete(op);
}

int engine::direct_copy(endpoint *ep, void *local, std::uint64_t remote, std::uint64_t bytes, bool write) {
    copy_view v;
    v.local = static_cast<std::byte *>(local);
    v.remote = remote;
    v.write = write;
    enter(); // both may note what they find out about the peer
    const bool may = may_copy(ep);
    v.pid = pid_of(ep);
    leave();
    if (!may) {
        return EPERM;
    }
    return move_bytes(v, 0, bytes);
}

} // namespace smartint
