// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// The engine: endpoints, matching and rendezvous over rings, direct copies and the network, driven by the application
// thread and, where the strategy says so, by an interrupt thread. One per process (the components share it). Everything
// here is touched under the gate; exceptions say so. What the interrupt thread may not do (call back into the
// components, pack or unpack derived data) is left in lists that the application thread empties.
//
// Sources: engine.cc life, engine_peers.cc, engine_send.cc, engine_recv.cc, engine_self.cc messages to oneself,
// engine_rndv.cc the rendezvous (SI 4.2.1), engine_near.cc which way its data goes inside a node, engine_fragments.cc,
// engine_copy.cc direct copies and engine_rdma.cc reads and writes by the network how it moves, engine_progress.cc the
// passes, engine_board.cc arming and leaving, engine_listen.cc the thread at the transport's descriptor,
// engine_crowded.cc whether cores are idle. One-sided communication is in class rma.
#pragma once

#include <deque>
#include <memory>
#include <thread>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "common_smartint_board.h"
#include "common_smartint_bursts.h"
#include "common_smartint_copy.h"
#include "common_smartint_deferred.h"
#include "common_smartint_endpoint.h"
#include "common_smartint_gate.h"
#include "common_smartint_held.h"
#include "common_smartint_helper_bells.h"
#include "common_smartint_hooks.h"
#include "common_smartint_ids.h"
#include "common_smartint_match.h"
#include "common_smartint_network.h"
#include "common_smartint_nodes.h"
#include "common_smartint_ops.h"
#include "common_smartint_params.h"
#include "common_smartint_put_off.h"
#include "common_smartint_ring.h"
#include "common_smartint_rma.h"
#include "common_smartint_segment.h"
#include "common_smartint_stats.h"
#include "common_smartint_strategy.h"
#include "common_smartint_thread_view.h"
#include "common_smartint_wake.h"
#include "common_smartint_wire.h"

namespace smartint {

class interrupt_thread;

class engine {
public:
    static engine &instance() {
        engine *const known = the_engine.load(std::memory_order_acquire); // pairs with make()'s release
        return nullptr != known ? *known : make();
    }
    engine();
    ~engine();
    engine(const engine &) = delete;
    engine &operator=(const engine &) = delete;

    // ---- life (engine.cc); application thread, not under the gate
    // Parameters must have passed check_params. 0 or an errno; reported, and not flushed.
    int start(const params &p, const engine_identity &me, bool with_network);
    // Under the gate: open the transport of an engine that was started without. 0, also when it is open or the
    // parameters want none, or an errno; reported.
    int open_network();
    // Create (leader) or map the node's board. 0, or an errno; not made: the caller goes without; not mapped: it ends
    // the process, or makes one. slots: the job's ranks here. second_directory: where to try if the parameters' will
    // not do, or nullptr. named: see segment::create. nodes: others that this job may have, see segment_shape.
    int create_board(std::uint32_t slots, const char *second_directory = nullptr,
                     void (*named)(const char *path) = nullptr, std::uint32_t nodes = layout::max_nodes);
    int open_board(const segment_ticket &ticket);
    // The leader's: this helper was there and has ended, and no other has taken its place.
    bool helper_gone(unsigned index) const { return bells_.gone(index); }
    // The strategy's thread. Does nothing for `none`, or with neither board nor network.
    void start_thread();
    void stop_thread(); // idempotent; no interrupt thread runs afterwards
    // The application makes no more calls, MPI_Finalize does: no thread, the counters go to smartint_stats_file, once,
    // and peers that go away are not missed. What is under way still moves with each pass. Waits until what was sent to
    // other jobs is out; those of this one have waited for each other.
    void finish();
    // Of that: who goes away is not missed from here on, and the waiting. Not under the gate; idempotent.
    void see_out();
    // From here on messages still go out, but nobody is called back for any.
    void forget_callers();
    void stop(); // everything; idempotent. It may be started again if no operation was open
    bool started() const { return started_; }

    segment &board_segment() { return segment_; }
    network &net() { return network_; }
    stats &counters() { return stats_; }
    const params &settings() const { return params_; }
    engine_hooks &hooks() { return hooks_; }
    const engine_identity &identity() const { return me_; }
    strategy *progress_strategy() { return strategy_.get(); }

    // ---- peers (engine_peers.cc)
    bool of_another_job(const endpoint *ep) const { return ep->name >> 32 != me_.name >> 32; }
    // Of this job on another node, and no notice reaches it.
    bool lacks_helper(const endpoint *ep) const {
        return route::network == ep->way && ep->node < 0 && !ep->here && !of_another_job(ep);
    }
    endpoint *add_self();
    endpoint *add_shared(std::uint64_t name, std::uint32_t slot);
    // node: where the peer's helper is, or nullptr
    endpoint *add_network(std::uint64_t name, const std::byte *address, std::size_t bytes, const remote_node *node,
                          std::uint32_t relay_slot);
    endpoint *find_peer(std::uint64_t name); // nullptr: not known here
    // Under the gate, where something of it is waited for: from here on its end is seen. True: nothing comes from it
    // any more nor reaches it; reported, once.
    bool is_lost(endpoint *ep);

    // ---- gate (engine_board.cc)
    void enter() {
        gate_.enter();
        note_entered();
    }
    void leave() {
        if (1 != depth()) {
            gate_.leave();
        } else if (0 != outstanding_) {
            leave_slow();
        } else {
            leave_quietly();
        }
    }
    // Around a call that is done at once: the board does not say that this rank is in, so nobody counts on it to look
    // before it leaves, and the full fence of that is spared (P3). Not while others ask this rank for something.
    void enter_briefly();
    void leave_briefly();
    bool was_asked() const { return 0 != seen_for_; } // of late, so that calls are not brief; under the gate
    // Around a wait of the application: nothing to overlap, so nobody wakes this rank.
    void begin_wait();
    void end_wait();
    void refuse(); // count a message that can't be right: also one of a component's
    // For an application that waits, outside the gate. If it found nothing and several threads of this process wait, it
    // yields now and then: each looks for all, and with fewer cores than threads would keep a useful one from running.
    void progress_in_wait() {
        if (0 == progress() && waiting_.load(std::memory_order_relaxed) > 1) { // 0 but with MPI_THREAD_MULTIPLE
            give_way_to_others();
        }
    }
    gate &the_gate() { return gate_; }

    // ---- operations (engine_send.cc, engine_recv.cc); under the gate. An operation belongs to the engine from here
    // until hooks().send_done or receive_done is called with it, or, if it is a blocking one, until its state says
    // done.

    // Send without an operation. False: no room or too large, use send().
    bool try_eager(endpoint *ep, const wire::match &m, const void *data, std::uint32_t bytes);
    void send(send_op *op);
    void receive(recv_op *op);
    void receive_matched(recv_op *op, unexpected *u); // from take_unexpected
    bool cancel_receive(recv_op *op);                 // false: it is matched already, and goes on
    void leave_behind(send_op *op);                   // nobody will wait for it
    // The oldest that fits and is not taken, or nullptr. Valid until it is taken, or the gate opens.
    unexpected *peek_unexpected(std::uint32_t context, std::int32_t source, std::int32_t tag);
    void take_unexpected(unexpected *u) { matcher_.take(u); }
    void drop_context(std::uint32_t context) { matcher_.drop_context(context); }

    enum class am_result { sent, full, broken };
    am_result active_message(endpoint *ep, const message &m);
    // Inside a node. False: there is no room.
    bool send_short(endpoint *ep, const wire::rma_short_head &h, const std::byte *data, std::uint32_t bytes);
    // In order behind what waits already; sent(arg, true) once out, (arg, false) if its peer is lost. The payload must
    // live until then, unless it copies.
    void queue_message(endpoint *ep, const message &m, void (*sent)(void *, bool), void *arg, bool copies = false);
    // Direct copy between this process and a local peer's memory, all of it, now; not under the gate, which it
    // takes for a moment. 0 or an errno.
    int direct_copy(endpoint *ep, void *local, std::uint64_t remote, std::uint64_t bytes, bool write);

    rma &one_sided() { return rma_ ? *rma_ : make_one_sided(); } // made at the first call
    // Somebody has matched a request of this rank, and nobody has looked since. Also not under the gate.
    bool called_for() const { return board_.attached() && board_.wanted(); }

    // ---- progress (engine_progress.cc)
    int progress(); // application thread; number of events
    // Under the gate. copies: move direct copies too, to their end (the application only, of one thread; of several
    // progress() moves them).
    unsigned pass(bool by_thread, bool copies = true);
    void finish_operations() { // application thread: deliver completions
        if (!done_receives_.empty() || !done_sends_.empty() || rma_ || !sent_calls_.empty()) {
            deliver_completions();
        }
    }

    // For a call that begins an operation: delivers that one's completion, if it is over and no other's stands before
    // it. Others' are left to progress(): their callbacks may need a lock that the caller holds, or the caller may be
    // in a callback itself, and not all of coll/adapt's bear that.
    void finish_operation(recv_op *op) { finish_alone(done_receives_, op, hooks_.receive_done); }
    void finish_operation(send_op *op) { finish_alone(done_sends_, op, hooks_.send_done); }

    // ---- interrupt thread's side (look: engine_progress.cc; the others where their subject is)
    thread_view look(); // under the gate; re-arms settled requests, hands copies to senders that came to wait
    // Calls of the application that ended while something was under way, since ever. A hint.
    std::uint32_t calls() const { return calls_.load(std::memory_order_relaxed); }
    // Around a pass, under the gate: while the thread is at it nobody need wake this rank.
    void thread_begins();
    void thread_ends();
    bool wanted_again(); // the gate is open again: something was matched meanwhile, pass once more
    // What was postponed until the applications come has waited long enough: under the gate; or they are in.
    void take_what_is_postponed();
    void note_timer_missed(bool missed) { put_off_.missed.store(missed, std::memory_order_relaxed); } // ordered by P1
    bool timer_missed() const { return put_off_.missed.load(std::memory_order_relaxed); }
    bool work_on_copies(); // not under the gate; true if it moved anything
    // Under the gate: messages did not come, arm again. True: something else matched at once.
    bool give_up_matches();
    bool arm_network(); // under the gate: the transport tells of what comes; false: there is something, look first
    int wake_descriptor() const { return wake_fd_; }
    bool wakes_others_by(int fd); // not under the gate
    void give_way(); // the thread parks, unless it sees now that the application has left: else that sees it
    // How the interrupt thread sleeps: not or until a timer, on the transport's descriptor alone, on the other alone.
    enum class sleep : std::uint32_t { short_or_none, listens, parked };
    void note_sleep(sleep how);
    void note_woken(bool by_others) { woken_ = by_others; } // why it runs
    // Of `rings` of the descriptor, how many the application gave itself.
    std::uint64_t take_self_rings(std::uint64_t rings);

private:
    friend class engine_access; // tests
    friend class rma;           // the rest of the engine, for windows
    friend class held_notices;  // and for notices to other nodes

    // ---- engine.cc
    static std::atomic<engine *> the_engine;
    static engine &make();
    rma &make_one_sided();
    void attach_slot();
    void unlink_when_complete();

    // ---- board and leaving (engine_board.cc)
    std::uint32_t depth() const {
        return gate::mode::locked == gate_.current_mode() ? (gate_.nested() ? 2 : 1) : gate_.depth();
    }
    bool application_waits() const { return 0 != waits_ || 0 != waiting_.load(std::memory_order_relaxed); }
    void publish_inside();
    void hide_wait();
    void leave_slow(bool may_look = true);
    bool leaves_nothing() const;
    bool leaves_without_a_look() const { return gate_.asymmetric() && 0 == outstanding_; }
    bool may_be_brief() const;
    bool leave_quietly() { // false: not so quietly
        gate_.leave();
        std::atomic_signal_fence(std::memory_order_seq_cst); // P3, pairs with P4: made real by membarrier there
        return __builtin_expect(!gave_way_.load(std::memory_order_relaxed), 1) || leave_again();
    }
    bool leave_again(); // with all that leave_slow() looks at; false
    void look_again();
    static void give_way_to_others();
    void note_asked();
    void ask_for_windows();
    void note_entered() {
        if (0 != outstanding_ && 1 == depth()) {
            publish_inside();
        }
    }
    // One more or one less thing under way that the board or the thread may have to do with.
    void hold() {
        if (1 == ++outstanding_) {
            hold_first();
        }
    }
    void hold_first();
    void unhold() { --outstanding_; }
    // The same of a rendezvous. O: recv_op or send_op.
    template <class O> void track(O *op) {
        if (!op->tracked) {
            op->tracked = true;
            hold();
        }
    }
    template <class O> void untrack(O *op) {
        if (not_armed != op->board_index) {
            disarm_request(&op->board_index);
        }
        if (op->tracked) {
            op->tracked = false;
            unhold();
        }
        if (op->in_flight) {
            op->in_flight = false;
            --in_flight_;
            near_ -= route::shared == op->peer->way ? 1 : 0;
        }
        if constexpr (std::is_same_v<O, recv_op>) {
            if (op->streamed) {
                --op->peer->streams;
                op->streamed = false;
            }
        }
    }
    template <class O> void fly(O *op) {
        if (!op->in_flight) {
            op->in_flight = true;
            ++in_flight_;
            near_ += route::shared == op->peer->way ? 1 : 0;
        }
    }
    bool can_arm() const;
    void arm_request(const key_pattern &p, int *index);
    void disarm_request(int *index);
    void check_matched();
    // kind: what it is, in the upper bits of a notice's source.
    void note_arrival(std::uint64_t name, std::uint32_t kind, std::uint32_t sequence);
    bool chance(std::uint32_t percent);
    void post_notice(endpoint *ep, const key &k, std::uint32_t source, std::uint32_t sequence);
    void tell_of_other_helper(endpoint *ep);
    void on_helper_at(const std::byte *data, std::uint32_t bytes);
    void ring_self();

    // ---- the thread at the transport's descriptor (engine_listen.cc); under the gate
    void listen_on(); // by the thread: it has answered somebody, and may be asked again
    bool may_listen() const { return 0 != listening_.until || listening_.always; }
    bool listens(); // as may_listen(), and the time is not over
    bool listens_for_long() const;
    void hush(); // the application waits
    // When the thread must be rung, with the gate open: not for this; if it has parked and does not hear; if it does
    // not hear; in any case.
    enum class ring_it { never, if_parked, if_deaf, always };
    ring_it listen_again(); // the application leaves
    bool hears() const;     // the descriptor wakes the thread; any time

    // ---- a node without an idle core (engine_crowded.cc)
    bool crowded();
    bool count_units(std::uint32_t *count, bool *all_there);
    bool look_for_idle_cores();
    bool a_unit_each();
    bool may_postpone(const send_op &op);
    void keep_notice(send_op *op);
    void postpone_copy(copy_job *job);
    void forget_postponed(copy_job *job);
    void note_postponed(std::uint64_t now);
    void forget_known();
    bool postpone_to_calls();
    void post_kept_notices();
    void post_notices_now();

    // ---- peers (engine_peers.cc)
    endpoint *keep(std::unique_ptr<endpoint> ep);
    void set_relay_route(endpoint *ep, const remote_node *node, std::uint32_t relay_slot);
    void introduce(endpoint *ep);
    bool connect(endpoint *ep, bool bulk);
    void lose(endpoint *ep, bool owed);
    void lose(endpoint *ep) { lose(ep, owes(ep)); }
    void look_for_lost();
    void lost_connection(void *connection);
    void orphan(recv_op *op);
    void see_off();
    void watch(endpoint *ep);
    void note_lost(endpoint *ep);
    unsigned fail_peer_operations(endpoint *ep); // how many
    static bool owes(const endpoint *ep);
    bool owes_other_jobs();

    // ---- messages that go out (engine_send.cc)
    // out: with the transport. queued: behind others of the endpoint, in order. broken: the peer cannot be reached.
    enum class sent { out, queued, broken };
    bool goes_whole(send_op *op);
    static answers &answers_of(const send_op *op);
    static void note_answer(const send_op *op, bool by_ring);
    void give_id(send_op *op); // it will be answered
    void send_whole(send_op *op);
    void send_rts(send_op *op);
    wire::rendezvous compose_rts(send_op *op, std::byte *behind);
    // bulk: over the connection for the data of large messages, where it goes by the network
    network::result transmit(endpoint *ep, const message &m, bool bulk = false);
    network::result transmit_by_network(endpoint *ep, const message &m, bool bulk);
    sent send_or_queue(endpoint *ep, const message &m, send_op *op = nullptr);
    void enqueue(endpoint *ep, pending_message *m);
    pending_message *dequeue(endpoint *ep);
    bool flush_pending();
    bool flush_queue(endpoint *ep);
    void after_sent(std::uint8_t type, send_op *op);
    void go_on_before_it_is_out(send_op *op);
    void post_rts_notice(send_op *op, bool may_hold = false);
    void send_finish(endpoint *ep, std::uint64_t operation, bool to_sender, wire::outcome result);
    void complete(send_op *op);

    // ---- to oneself (engine_self.cc)
    void send_self(send_op *op);
    void receive_self(recv_op *op, send_op *from);

    // ---- messages that come in (engine_progress.cc takes them, engine_recv.cc matches them)
    void deliver_completions();
    template <class O, class F> static void finish_alone(done_list<O> &done, O *op, F tell) {
        if (done.is_all(op)) {
            done.take();
            tell(op);
        }
    }
    inline unsigned look_at_ring(bool by_thread);
    bool network_is_due();
    unsigned look_at_network();
    inline unsigned look_at_copies(bool moves);
    unsigned poll_ring();
    static void network_message(void *self, const std::byte *message, std::uint32_t bytes);
    void take_message(const std::byte *message, std::uint32_t bytes);
    void dispatch(endpoint *from, std::uint8_t type, const std::byte *data, std::uint32_t bytes);
    void on_eager(endpoint *from, const std::byte *data, std::uint32_t bytes);
    void on_eager_sync(endpoint *from, const std::byte *data, std::uint32_t bytes);
    void on_rts(endpoint *from, const std::byte *data, std::uint32_t bytes);
    void on_active_message(endpoint *from, std::uint8_t type, const std::byte *data, std::uint32_t bytes);
    recv_op *meet_receive(const match_key &k);
    std::uint64_t arming_floor(const endpoint *peer) const;
    void expect(recv_op *op);
    void expect_no_more(recv_op *op);
    void deliver_eager(recv_op *op, endpoint *from, const std::byte *data, std::uint32_t bytes);
    void keep_unexpected(endpoint *from, std::uint8_t type, const match_key &k, std::uint64_t length,
                         std::uint64_t sender, const std::byte *data, std::uint32_t bytes);
    static void fail_posted(recv_op *op);
    void complete(recv_op *op);
    void defer(deferred d, const std::byte *bytes = nullptr, std::uint64_t count = 0);
    void run_deferred();

    // ---- rendezvous (engine_rndv.cc)
    static constexpr std::uint64_t share_from = 131072; // below, the answer costs too much
    void start_rendezvous(recv_op *op, endpoint *from, const wire::rendezvous &r, const std::byte *key); // r.key_bytes
    void meet(recv_op *op, endpoint *from, const wire::rendezvous &r) const;
    void write_by_copy(send_op *op, std::uint32_t shared);
    void start_by_network(recv_op *op, const wire::rendezvous &r, const std::byte *key);
    void answer(recv_op *op, wire::mode how, bool wake_sender = false);
    bool wake_if_gone(endpoint *ep);
    void wake_those_gone();
    bool fits(const send_op &op, const endpoint *from, const wire::answer &a) const;
    void on_cts(const endpoint *from, const std::byte *data, std::uint32_t bytes);
    void on_finish(const endpoint *from, const std::byte *data, std::uint32_t bytes);

    // ---- inside the node (engine_near.cc)
    enum class near_way : std::uint8_t; // of a message, as its RTS meets its receive
    void start_inside_node(recv_op *op);
    void start_by(recv_op *op, near_way way);
    near_way choose_in_wait(recv_op *op);
    near_way choose_outside_wait(const recv_op *op);
    bool may_choose_again(const recv_op *op, near_way way) const;
    bool of_exchange(const recv_op *op) const;
    void choose_again();
    void choose_again(copy_job *job);
    void ask_for_push(recv_op *op, bool postponed);
    void read_by_copy(recv_op *op);

    // ---- fragments (engine_fragments.cc)
    void activate(send_op *op);
    void deactivate(send_op *op);
    unsigned pump_sends();
    bool pump_fragments(send_op *op);
    bool lingers(send_op *op);
    bool has_room(const send_op *op) const;
    network::result send_fragment(send_op *op, std::uint32_t *bytes);
    network::result send_fragment_in_place(send_op *op, std::uint32_t bytes);
    std::uint64_t pack(send_op *op, std::uint64_t at, std::uint64_t bytes, std::uint64_t wanted);
    void on_data(const endpoint *from, const std::byte *data, std::uint32_t bytes);
    void consumed(recv_op *op, std::uint64_t bytes);
    void on_credit(const endpoint *from, const std::byte *data, std::uint32_t bytes);

    // ---- direct copies (engine_copy.cc)
    std::uint32_t pid_of(endpoint *ep);
    bool may_copy(endpoint *ep);
    void no_copy_to(endpoint *ep, const char *call, int error);
    void begin_copy(copy_job &job, endpoint *ep, std::byte *local, std::uint64_t remote, std::uint64_t length,
                    bool write);
    // Take an entry of our slot for both sides to work on, from offset `from`.
    bool share_copy(copy_job &job, std::uint64_t from);
    bool sender_waits(const copy_job &job) const;
    bool hand_over(copy_job &job);
    void join_copy(copy_job &job, endpoint *ep, std::uint32_t shared); // the sender's side
    void list(copy_job *job);
    void unlist(copy_job *job);
    copy_view view_of(copy_job *job) const;
    copy_view large_view_of(copy_job *job) const;
    static copy_piece take_piece(const copy_view &v);
    void move_piece(const copy_view &v, const copy_piece &p); // the last one to do so lists the job as finished
    bool copy_step(const copy_view &v, bool by_thread);       // both; false: none left
    static int move_bytes(const copy_view &v, std::uint64_t at, std::uint64_t bytes);
    bool leaves_to_receiver(const copy_job *job) const;
    bool somebody_asks() const;
    unsigned do_copies();
    unsigned copy_a_piece(); // under the gate, outside a pass; open while it moves
    unsigned collect_finished_copies();
    void finished_copy(copy_job *job);

    // ---- reads and writes by the network (engine_rdma.cc)
    void offer_memory(send_op *op, wire::rendezvous *r);
    bool start_read(recv_op *op, const wire::rendezvous &r, const std::byte *key);
    unsigned pump_reads();
    bool pump_read(recv_op *op);
    static void read_completed(void *op, bool ok);
    bool pump_writes(send_op *op);
    static void write_completed(void *op, bool ok);

    bool started_ = false, at_end_ = false;
    bool counted_ = false; // the counters are in their file
    parting parting_;
    bool in_pass_ = false, by_thread_ = false; // who is inside it
    bool woken_ = false;                       // the thread's own: it came because somebody rang
    bool is_woken() const { return by_thread_ && woken_; }
    const char *fatal_ = nullptr; // told by the application thread, whoever found it
    bool in_network_ = false;     // inside the transport's callback, see transmit_by_network()
    params params_;
    engine_identity me_;
    engine_hooks hooks_;
    rendezvous_kind rendezvous_ = rendezvous_kind::automatic;

    gate gate_;
    // Rendezvous under way, counted messages in queues, whole messages that are expected, windows in use. Above 0
    // leave() looks at the board.
    std::uint32_t outstanding_ = 0;
    std::thread::id delivers_;              // completions, with MPI_THREAD_MULTIPLE: the others leave theirs to it
    bool ring_goes_on_ = false;             // the last pass was the thread's, and did not come to the ring's end
    std::uint32_t waits_ = 0;               // depth of begin_wait, except in locked mode
    std::atomic<std::uint32_t> waiting_{0}; // application threads in a wait (locked mode)
    std::uint32_t receives_begun_ = 0, shown_receives_ = 0; // shown to senders of this node, while they are waited for

    segment segment_;
    bool made_board_ = false; // by this process, which looks after the helpers
    board_owner board_;
    waker waker_;
    helper_bells bells_{segment_, waker_};
    ring_consumer ring_;
    bool ring_broken_ = false, caller_done_ = false; // a blocking receive was completed since it was looked at
    int wake_fd_ = -1;
    std::atomic<bool> quiet_calls_{false}; // windows: calls may end without a look, and the thread says if it gave way
    unsigned seen_for_ = 0;             // calls that might be brief and are not, as this rank was asked for something
    std::atomic<bool> gave_way_{false}; // the thread, to a call that may leave quietly
    bool matched_hint_ = false;         // a request was matched and has not been looked at
    bool armed_now_ = false, looks_again_ = false; // this call armed a receive; second look at its end: no callbacks
    std::uint64_t relied_on_ = 0;                  // ring_.asked() when the thread last looked there
    put_off put_off_;
    held_notices held_{*this};
    listening listening_;
    // Sends that are left over from a wait, in which their receivers may have seen us: of the open_sends_ rendezvous
    // those numbered up to asked_until_.
    std::uint64_t sends_begun_ = 0, asked_until_ = 0;
    std::uint32_t open_sends_ = 0, asked_sends_ = 0;
    std::vector<std::uint64_t> in_calls_; // receives whose senders were in a call when they were answered
    int catch_all_ = -1;                  // stands in for requests beyond the table
    // what it matches, if it is armed: all there were since, and as little else as a mask can say
    key_pattern caught_{};
    unsigned overflowed_ = 0;
    std::atomic<sleep> sleep_{sleep::short_or_none}; // of the interrupt thread
    std::atomic<std::uint32_t> calls_{0};            // written under the gate
    std::atomic<std::uint64_t> self_rings_{0};       // given and not taken, for the counters
    // By node: the generation of our helper's address that one of its ranks was told. Empty while the first one lives.
    std::unordered_map<std::int32_t, std::uint32_t> told_;

    network network_;
    unsigned passes_ = 0, network_tick_ = 0;
    std::uint64_t network_time_ = 0; // tick_ns() when nobody waited and it was looked at
    traffic traffic_;                // of rendezvous in messages, and one-sided
    std::size_t early_bytes_ = 0;    // of messages whose senders went on before they were out
    unsigned queued_ = 0;            // counted messages that wait for room in a transport, and one for tail_
    bool tail_ = false;              // the network has something of what it took, see holds_tail
    unsigned in_flight_ = 0;         // rendezvous whose data moves in messages or network writes
    std::uint64_t expected_ = 0;     // bytes of whole messages that posted receives may get by the network
    bool expects_ = false;           // they are more than the sockets hold: the thread is at the transport
    unsigned awaited_ = 0;           // one-sided exchanges of little data: their next message is wanted at once
    std::uint64_t due_ = 0;          // bytes of theirs that are known to come
    unsigned near_ = 0;              // of in_flight_ and awaited_: inside the node, so the network has nothing of it

    std::vector<std::unique_ptr<endpoint>> endpoints_;
    std::unordered_map<std::uint64_t, endpoint *> by_name_;
    std::vector<endpoint *> by_slot_, pending_;

    matcher matcher_;
    id_table<recv_op> receives_;
    std::uint64_t arriving_ = 0; // by the network: the one of them whose data came last, or is to come
    id_table<send_op> sends_;
    send_op *active_head_ = nullptr; // sends that move through the pipeline or the network
    send_op **active_tail_ = &active_head_;
    std::atomic<bool> pumps_{false}; // there is one; relaxed: what waits reads it outside the gate, as a hint
    std::vector<recv_op *> network_reads_;
    copy_job *copies_ = nullptr, **copies_tail_ = &copies_; // open direct copies, in order
    bursts bursts_{params_, stats_};
    std::uint32_t copy_generation_ = 0, pump_round_ = 0;
    unsigned own_copies_ = 0; // of copies_, those the interrupt thread may move
    // Of copies_, those this rank reads alone, and those whose way is chosen again when it waits. Written under the
    // gate; relaxed: hints for others, read outside it, too.
    std::atomic<unsigned> reads_{0}, undecided_{0};
    unsigned reads() const { return reads_.load(std::memory_order_relaxed); }
    unsigned undecided() const { return undecided_.load(std::memory_order_relaxed); }
    void count_undecided(int by) { undecided_.store(undecided() + by, std::memory_order_relaxed); }
    void count_reads(const copy_job *job, int by);
    std::uint64_t shared_copies_ = 0; // entries of our slot in use
    std::atomic<copy_job *> finished_{nullptr};
    copy_view thread_copy_;    // what the interrupt thread may work on outside the gate, set by look()
    std::unique_ptr<rma> rma_; // nullptr: no window yet
    done_list<recv_op> done_receives_;
    done_list<send_op> done_sends_;
    std::deque<deferred> deferred_;
    std::vector<sent_call> sent_calls_;
    std::vector<std::byte> scratch_;
    std::uint64_t random_ = 0;

    stats stats_;
    std::unique_ptr<strategy> strategy_;
    std::unique_ptr<interrupt_thread> thread_;
};

} // namespace smartint
