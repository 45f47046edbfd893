// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// One pass of the engine, for whoever holds the gate, and what only the application does.
#include <cstring>
#include <thread>
#include <utility>

#include "common_smartint_clock.h"
#include "common_smartint_engine.h"
#include "common_smartint_log.h"

namespace smartint {
namespace {

constexpr unsigned ring_batch = 32; // records of one pass
// Of them fragments, where the application sends some too, and waits: neither direction runs far ahead of the other.
constexpr unsigned fragments_of_sender = 4;
constexpr unsigned network_every = 16; // passes between looks at a quiet network: a look is a
                                       // system call (110 ns), a pass without it a few ns
constexpr unsigned chores_every = 1024;
// After so much the thread gives the application a turn.
constexpr std::uint64_t thread_turn = 524288; // bytes of messages
constexpr unsigned thread_turn_events = 1024; // messages of no bytes

} // namespace

int engine::progress() {
    if (!gate_.try_enter()) {
        return 0;
    }
    note_entered();
    unsigned events = pass(false);
    if (me_.threads && nullptr != copies_) {
        events += copy_a_piece();
    }
    finish_operations();
    if (__builtin_expect(nullptr != fatal_, 0) && nullptr != hooks_.fatal) {
        flush_reports();
        hooks_.fatal(fatal_);
    }
    if (__builtin_expect(0 == ++passes_ % chores_every, 0)) {
        if (made_board_) {
            bells_.look_after(params_.helpers);
        }
        if (reports_pending()) {
            flush_reports();
        }
        if (nullptr != hooks_.chores) {
            hooks_.chores();
        }
    }
    leave();
    return static_cast<int>(events);
}

// The ring and the network first: what they bring is moved on in the same pass.
unsigned engine::pass(bool by_thread, bool copies) {
    if (in_pass_) {
        return 0; // called back from inside: the outer pass goes on
    }
    in_pass_ = true;
    by_thread_ = by_thread;
    unsigned events = 0;
    if (!by_thread && !looks_again_ && !deferred_.empty()) {
        run_deferred();
        ++events;
    }
    if (rma_ && rma_->unused() && board_.attached() && (ring_.visited() || board_.wanted())) {
        rma_->use();
    }
    if (0 != outstanding_ || by_thread) { // else this call may leave quietly, and what is taken here would be lost
        check_matched();
    }
    if (board_.attached()) {
        events += look_at_ring(by_thread);
    }
    if (network_.is_open() && (by_thread || network_is_due())) {
        events += look_at_network();
        if (!by_thread && !looks_again_ && !deferred_.empty()) {
            run_deferred();
        }
    }
    if (!pending_.empty() && flush_pending()) {
        ++events;
    }
    if (!in_calls_.empty()) {
        wake_those_gone();
    }
    if (held_.any()) {
        held_.look();
    }
    if (!put_off_.unnoticed.empty() && copies && !by_thread) {
        post_kept_notices();
    }
    events += look_at_copies(copies && !by_thread);
    if (nullptr != active_head_) {
        events += pump_sends();
    }
    if (!network_reads_.empty()) {
        events += pump_reads();
    }
    if (rma_ && rma_->active()) {
        events += rma_->progress(by_thread);
    }
    in_pass_ = false;
    by_thread_ = false;
    if (by_thread) {
        stats_.add(stat::thread_events, events);
    }
    return events;
}

// Where nobody waits, a pass may be the only one for long: of a program that calls MPI_Test once for each of its steps.
inline bool engine::network_is_due() {
    if (near_ != in_flight_ + awaited_ || ++network_tick_ >= network_every) {
        return true;
    }
    if (application_waits()) {
        return false;
    }
    const std::uint64_t before = std::exchange(network_time_, tick_ns());
    return before != network_time_;
}

// The thread takes what has come, here and from the network: it is not rung for what follows a message that it was rung
// for.
inline unsigned engine::look_at_ring(bool by_thread) {
    const std::uint64_t before = traffic_.both();
    if (by_thread) {
        relied_on_ = ring_.asked(); // what is asked for behind this look is none of it, see wanted_again()
    }
    unsigned n = poll_ring();
    unsigned events = n;
    while (by_thread && n >= ring_batch && traffic_.both() - before < thread_turn && events < thread_turn_events) {
        n = poll_ring();
        events += n;
    }
    ring_goes_on_ = by_thread && n >= ring_batch;
    return events;
}

unsigned engine::look_at_network() {
    unsigned n = network_.progress();
    listening_.refused = false;
    if (by_thread_) {
        // A socket gives one message's worth per call; the thread takes what has come since its last look.
        const std::uint64_t before = traffic_.both();
        for (unsigned more = n; 0 != more && traffic_.both() - before < thread_turn && n < thread_turn_events;
             n += more) {
            more = network_.progress();
        }
    }
    look_for_lost();
    if (parting_.any()) {
        parting_.heard_us = 0 != n ? now_us() : parting_.heard_us;
        see_off();
    }
    if (tail_ && !network_.holds_tail()) {
        tail_ = false;
        --queued_;
        unhold();
    }
    // stay close while something moves
    network_tick_ = 0 != n ? network_every : 0;
    return n;
}

// moves: the caller's are moved too, to their end. While it reads alone it has no time for others' (publish_inside).
inline unsigned engine::look_at_copies(bool moves) {
    unsigned events = 0;
    if (0 != undecided() && moves) {
        choose_again();
        publish_inside();
    }
    const bool reading = 0 != reads() && moves;
    if (reading) {
        publish_inside();
    }
    if (nullptr != copies_ && moves && !me_.threads) {
        events += do_copies();
    }
    if (nullptr != finished_.load(std::memory_order_relaxed)) {
        events += collect_finished_copies();
    }
    if (reading && 0 == reads()) {
        publish_inside();
    }
    return events;
}

unsigned engine::poll_ring() {
    unsigned n = 0;
    if (ring_.keeps_off() && !by_thread_ && application_waits()) {
        return 0;
    }
    // Up to the end of a caller's blocking receive: what comes behind may be for its next one, and
    // would be kept as unexpected.
    caller_done_ = false;
    // A send inside the node whose data moves: it has its turn as soon as it may begin, and after some fragments.
    const auto sends = [this] {
        return nullptr != active_head_ && route::shared == active_head_->peer->way && 0 == active_head_->lingers_since;
    };
    bool turn = false;
    unsigned fragments = 0;
    for (; n < ring_batch && !caller_done_ && !turn; ++n) {
        std::uint64_t word = 0;
        const std::byte *payload = nullptr;
        const auto r = ring_broken_ ? ring_consumer::result::empty : ring_.peek(word, payload);
        if (ring_consumer::result::empty == r) {
            if (0 != n && ring_.distance().in_a_row()) {
                ring_.distance().keep(now_ns());
            }
            break;
        }
        if (ring_consumer::result::broken == r) {
            ring_broken_ = true;
            const std::string rank = "rank " + std::to_string(static_cast<std::uint32_t>(me_.name));
            tell(topic::broken_ring, rank.c_str(), "a record in its ring has a mark or a length that cannot be");
            fatal_ = ""; // told
            break;
        }
        const std::uint16_t source = ring_word::source(word);
        if (source >= by_slot_.size() || source == me_.slot) {
            refuse();
        } else {
            endpoint *from = by_slot_[source];
            if (nullptr == from) { // it met us before we met it
                from = add_shared(me_.name >> 32 << 32 | segment_.slot(source).control.vpid, source);
            }
            if (wire::eager == ring_word::type(word)) { // the most frequent, by far
                on_eager(from, payload, ring_word::bytes(word));
            } else {
                const bool sent_before = sends();
                dispatch(from, ring_word::type(word), payload, ring_word::bytes(word));
                fragments += wire::data == ring_word::type(word) ? 1 : 0;
                turn =
                    (fragments >= fragments_of_sender || !sent_before) && sends() && !by_thread_ && application_waits();
            }
        }
        ring_.release();
    }
    return n;
}

void engine::network_message(void *self, const std::byte *message, std::uint32_t bytes) {
    auto *e = static_cast<engine *>(self);
    e->in_network_ = true;
    e->take_message(message, bytes);
    e->in_network_ = false;
}

void engine::take_message(const std::byte *message, std::uint32_t bytes) {
    std::uint64_t word = 0;
    if (bytes < sizeof(word)) {
        refuse();
        return;
    }
    std::memcpy(&word, message, sizeof(word));
    if (!ring_word::sound(word) || ring_word::bytes(word) != bytes - sizeof(word)) {
        refuse();
        return;
    }
    dispatch(nullptr, ring_word::type(word), message + sizeof(word), ring_word::bytes(word));
}

// Completions to the components. Each may start new operations or come back into progress(). One may open the gate: one
// thread at a time delivers all the same, as those who are called back count on. It finds what others add.
void engine::deliver_completions() {
    std::thread::id before;
    if (me_.threads) {
        if (std::thread::id() != delivers_ && std::this_thread::get_id() != delivers_) {
            return;
        }
        before = std::exchange(delivers_, std::this_thread::get_id());
    }
    while (!done_receives_.empty()) {
        hooks_.receive_done(done_receives_.take());
    }
    while (!done_sends_.empty()) {
        hooks_.send_done(done_sends_.take());
    }
    if (rma_) {
        rma_->finish();
    }
    while (!sent_calls_.empty()) {
        auto calls = std::move(sent_calls_);
        sent_calls_.clear();
        for (const sent_call &c : calls) {
            c.call(c.arg, c.ok);
        }
    }
    delivers_ = before;
}

thread_view engine::look() {
    thread_view v;
    v.moved = traffic_;
    if (board_.attached()) {
        matched_hint_ = board_.settle() || matched_hint_;
        v.matched = board_.any_matched();
    }
    v.transport = network_.event_fd();
    v.listens = v.transport >= 0 && 0 != outstanding_ && listens();
    thread_copy_ = copy_view{};
    for (copy_job *job = copies_; nullptr != job; job = job->link) {
        if (job->waiter_only || hand_over(*job)) {
            continue;
        }
        const std::uint64_t next = job->next->load(std::memory_order_relaxed);
        if (next >> copy_job::generation_shift == job->generation && (next & copy_job::offset_mask) < job->length) {
            thread_copy_ = view_of(job);
            v.copies = true;
            break;
        }
        v.network = true; // the rest of it is being moved by somebody: look again soon
    }
    v.more = ring_goes_on_ || (rma_ && rma_->more());
    v.awaited = 0 != awaited_;
    v.due = 1 == awaited_ ? due_ : 0;
    if (const recv_op *op = receives_.find(arriving_); nullptr != op && op->in_flight) {
        v.coming = op->received - op->moved;
    } else if (rma_) {
        v.coming = rma_->coming();
    }
    v.expects = expects_;
    // Handing over may have queued. And a record that somebody counts on may stand behind one that is being written.
    const bool relied_on = board_.attached() && !ring_broken_ && 0 != ring_.asked();
    v.network = v.network || 0 != in_flight_ || 0 != queued_ || relied_on;
    return v;
}

} // namespace smartint
