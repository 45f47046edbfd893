// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// One-sided communication: windows, epochs, operations. Everything under the engine's gate; the
// interrupt thread runs the same code as the application's. docs/onesided.md explains it.
//
// An origin keeps one queue per (window, target). Operations stand in it in the order of the
// calls, between the items of their epochs: "wait for the target's post", "ask for the lock, wait
// for the grant", "say that I am done". Whoever runs the engine takes items from the head, as far
// as it gets. So a call never waits for its epoch to open, and epochs that are begun before the
// last one ended simply stand further back.
//
// What it keeps is in rma_state.h. Sources: rma.cc life and windows, rma_origin.cc the queue, rma_send.cc its messages,
// rma_bundle.cc several in one, rma_small.cc without an item, rma_wake.cc the target's attention, rma_direct.cc copies
// inside a node, rma_bursts.cc whether messages are quicker, rma_network.cc the network's own reads and writes,
// rma_arrive.cc messages, rma_target.cc what a target does, rma_epoch.cc fence and post, rma_lock.cc locks.
#pragma once

#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "common_smartint_held.h"
#include "common_smartint_ids.h"
#include "common_smartint_key.h"
#include "common_smartint_rma_bursts.h"
#include "common_smartint_rma_state.h"

namespace smartint {

class engine;

class rma {
public:
    explicit rma(engine &e);
    ~rma();
    rma(const rma &) = delete;
    rma &operator=(const rma &) = delete;

    // ---- windows (rma.cc). members[rank] is this process.
    rma_window *create(std::uint32_t id, int rank, std::vector<rma_member> members, bool dynamic);
    void destroy(rma_window *w); // all is done in it, here and elsewhere
    // Nothing of this process is under way in it.
    bool idle(const rma_window *w) const;
    bool attach(rma_window *w, std::uint64_t base, std::uint64_t bytes);
    bool detach(rma_window *w, std::uint64_t base);
    rma_peer *peer(rma_window *w, int rank);

    // ---- operations: the item becomes the engine's
    static rma_item *make(rma_item::what kind, rma_sync *sync = nullptr) {
        auto *i = new rma_item;
        i->kind = kind;
        i->sync = sync;
        return i;
    }
    void submit(rma_peer *p, rma_item *op);
    // One piece put or got in memory that is mapped here, where nothing stands before it: done at
    // once. False: nothing happened, submit it.
    bool try_mapped(rma_peer *p, std::byte *mine, std::uint64_t target, std::uint64_t bytes, bool get);
    void count_mapped(unsigned operations); // done by the caller alone, after one that was true
    // The same for elements that are combined with the target's, and fetched before if result is not nullptr.
    bool try_combined(rma_peer *p, rma_operator op, rma_type type, const std::byte *operand, std::byte *result,
                      std::uint64_t target, std::uint64_t bytes);

    // And where a small store goes to another node with others, and nothing stands before it (rma_bundle.cc). operand:
    // copied. op and type: of an accumulate; a put is one that replaces bytes.
    bool try_bundled(rma_peer *p, wire::rma_kind kind, rma_operator op, rma_type type, const std::byte *operand,
                     std::uint64_t target, std::uint64_t bytes);

    // Inside a node, to a target that waits, where nothing stands before it: as a message, without a place in the queue
    // (rma_small.cc).
    rma_begun try_small(rma_peer *p, const rma_small &o);

    // ---- epochs (rma_epoch.cc, rma_lock.cc); sync: gains a part per thing to wait for, or nullptr
    void fence(rma_window *w, rma_sync *sync);
    void post(rma_window *w, std::vector<int> origins, bool silent, bool nonblocking);
    void wait(rma_window *w, rma_sync *sync);     // for the last exposure that was posted
    bool test(rma_window *w);                     // the same, without waiting; true: it has ended
    void await_post(rma_peer *p, rma_sync *sync); // sync: or nullptr, what follows waits by itself
    void complete(rma_peer *p, rma_sync *sync);
    // thread: of the application, which takes its locks one after the other, whatever the windows, so that those who
    // take several in the same order do not wait for each other; 0: this one in any order.
    void lock(rma_peer *p, bool exclusive, rma_sync *sync, std::uint32_t thread = 0);
    // One target's part of a lock of all, which is asked for when it is needed.
    void lock_of_all(rma_peer *p, rma_sync *sync);
    bool asks_for_locks(std::uint32_t thread) const { return nullptr != first_lock(thread); }
    void unlock(rma_peer *p, rma_sync *sync);
    // A lock that is free and shared, one held so with nothing under way: at once. False: nothing happened.
    bool try_take(rma_peer *p, bool exclusive, std::uint32_t thread = 0);
    bool try_drop(rma_peer *p);
    // All that was sent there is done; and nothing stands in the queue either: a flush has nothing to wait for.
    static bool settled(const rma_peer *p) {
        return !p->unacked && p->acks.empty() && p->gets_done == p->gets_begun && 0 == p->transfers &&
               p->under_way.empty() && !p->unflushed;
    }
    static bool quiet(const rma_peer *p) { return nullptr == p->head && nullptr == p->asked && settled(p); }
    void flush(rma_peer *p, rma_sync *sync);
    // A flush, fence or unlock that finds the target quiet ends no item; what came before it was timed all the same.
    void found_quiet(const rma_peer *p) { bursts_.all_done(p); }
    void flush_local(rma_peer *p, rma_sync *sync);
    rma_error take_error(rma_window *w);
    // One part of it less: whoever counted one in to keep it open lets go.
    void release(rma_sync *sync) { part_done(sync, rma_error::none); }

    // Windows that nobody deals with are as good as none: calls of other kinds do not say that this process is in. They
    // are in use from the first operation that takes the engine, message or visitor on, or when anything else becomes
    // outstanding, until many calls and some time have gone by without.
    void use() {
        used_ = true;
        if (0 == used_for_) {
            begin_use();
        }
    }

    // ---- from the engine
    bool unused() const { return 0 == used_for_ && !windows_.empty(); }
    void call_ends(); // in which the engine had something under way, the use of windows or else
    void arrive(endpoint *from, const std::byte *data, std::uint32_t bytes);
    void arrive_short(endpoint *from, const std::byte *data, std::uint32_t bytes);
    bool active() const { return !active_.empty() || !losing_.empty(); }
    unsigned progress(bool by_thread);
    void take_what_is_postponed();                          // the interrupt thread's, after a pass
    std::uint64_t coming() const { return coming_; }        // bytes of bulk transfers that are on their way here
    bool more() const { return more_ && !active_.empty(); } // the interrupt thread left something for its next pass
    void finish();                                          // application thread: hooks().rma_done
    bool unasked() const { return !unasked_peers_.empty() || !unasked_windows_.empty(); }
    void wait_is_over(); // of the application: what it waited beside may need somebody to come for it now
    // Of a notice that is held back (held.h): is it of use still; it is not held any more.
    static bool unanswered(const rma_peer *p);
    void no_more_held(rma_peer *p, std::uint32_t sequence);
    unsigned lost(endpoint *ep); // how many items and waits it ends, now or in the next pass

private:
    // done: the item has left the queue, or the message is out. blocked: something that will come lists the peer again.
    // full: no room in the transport, or not by this way. again: this pass's share is used up.
    enum class step { done, blocked, full, again };
    // Bytes under way to this process that are worth an interrupt by themselves, there and here.
    static constexpr std::uint64_t worthwhile = 4096;
    static constexpr std::uint64_t worthwhile_near = 131072; // inside a node: copied in less time than a wake takes

    // rma.cc
    void activate(rma_peer *p);
    void settle_state(rma_peer *p);              // after changes: flying
    void fly(rma_peer *p, rma_peer::flight now); // with what is due of it
    void end(rma_item *i, rma_error error = rma_error::none);
    void discard(rma_item *i);
    void part_done(rma_sync *sync, rma_error error);
    void note_error(rma_window *w, rma_error error);
    void note_error(rma_item *i, rma_error error);
    rma_window *find(std::uint32_t id) const;
    rma_peer *peer_of(rma_window *w, const endpoint *ep);
    bool may_arm(rma_peer *p) { return may_arm(p, &unasked_peers_); }
    bool may_arm(rma_window *w) { return may_arm(w, &unasked_windows_); }
    template <class W> bool may_arm(W *whose, std::vector<W *> *unasked);
    void arm(rma_peer *p, rma_epoch_kind kind);
    static bool somebody_waits(const rma_item *i); // for its ack, while the application computes
    void arm_flush(rma_peer *p);
    void disarm(int *index);

    // rma_wake.cc
    void wake_target(rma_peer *p, bool may_hold = false);
    bool finds_it(rma_peer *p);
    void wake_beforehand(rma_peer *p);
    void wake_sooner_or_later(rma_peer *p, bool requested, std::uint64_t bytes);
    void wake_for(rma_peer *p, std::uint32_t sequence, bool may_hold);
    held_notice serve_notice(rma_peer *p, std::uint32_t sequence) const;
    static bool is_prompt(const rma_peer *p);
    void learn(rma_peer *p, bool was_woken);
    static void give_up_answer(rma_peer *p);
    void note_listening(rma_peer *p, bool listens);
    void look_after_wake(rma_peer *p);

    // rma_origin.cc
    bool push(rma_peer *p, rma_item *i);
    void take_head(rma_peer *p);
    void pump(rma_peer *p);
    void go_on(rma_peer *p); // the same outside a pass: state and list, too
    step run(rma_peer *p, rma_item *i);
    step run_operation(rma_peer *p, rma_item *i);
    step run_await_post(rma_peer *p, rma_item *i);
    step run_lock(rma_peer *p, rma_item *i);
    step run_flush(rma_peer *p, rma_item *i);
    static bool answers_do(const rma_peer *p, const rma_item *i);
    step run_complete(rma_peer *p, rma_item *i);
    step run_local(rma_peer *p, rma_item *i);
    step over(rma_peer *p, rma_item *i);
    bool postpone_to_calls(rma_peer *p);
    void forget_queue(rma_peer *p);
    bool allowed(rma_peer *p, const rma_item *i);
    bool may_go_ahead(rma_peer *p, std::size_t bytes);
    void note_ahead(rma_peer *p, std::size_t bytes);
    step after_messages(rma_peer *p);
    bool unposted(rma_peer *p);
    void local_step(rma_peer *p);

    // rma_send.cc
    step send_stores(rma_peer *p, rma_item *i);
    step send_get(rma_peer *p, rma_item *i);
    step send_mark(rma_peer *p, const rma_item *i, wire::rma_kind kind, std::uint8_t flags = 0, bool stays = false);
    // One message, in order behind those before it.
    step transmit(rma_peer *p, wire::rma_head &head, const std::vector<rma_run> &runs, const std::byte *data,
                  std::uint32_t bytes, bool stays = false);
    step send_message(rma_peer *p, wire::rma_head &head, const rma_run *runs, std::size_t count, const std::byte *data,
                      std::uint32_t bytes);
    std::uint64_t in_place(const rma_peer *p, std::uint64_t bytes, bool finely) const;
    std::uint64_t store_in_place(const rma_peer *p, const rma_item *i, std::uint64_t unit) const;
    step transmit_in_place(rma_peer *p, rma_item *i, wire::rma_head &head, const std::vector<rma_run> &runs,
                           const std::byte *data, std::uint32_t bytes);
    // Small ones that stand outside the queue: sent or kept, never refused.
    void send_now(rma_peer *p, wire::rma_kind kind, std::uint8_t flags, std::uint64_t id, std::uint64_t at,
                  rma_epoch_kind notice);
    std::uint8_t answer_flags(const rma_peer *p) const; // of a target

    // rma_bundle.cc
    void send_other_bundles(const rma_peer *p);
    void open_for_others(rma_peer *p);
    step send_in_order(rma_peer *p, wire::rma_head &head, const std::vector<rma_run> &runs, const std::byte *data,
                       std::uint32_t bytes, bool stays);
    step send_bundle(rma_peer *p);
    void hurry_bundle(rma_peer *p);
    void forget_bundle(rma_peer *p);
    std::uint64_t open_part(rma_peer *p, const wire::rma_part &part, const std::byte *data, std::uint32_t bytes);
    void open_bundle(rma_peer *p, wire::rma_kind whole, const std::byte *data, std::uint32_t bytes);
    void keep_rest(rma_peer *p, const std::byte *data, std::uint32_t bytes);
    static bool others_are_asked(const rma_peer *p, const rma_item *i);
    step bundle_answers(rma_peer *p);

    // rma_small.cc
    step send_small(rma_peer *p, const rma_small &o);
    rma_item *make_small(rma_peer *p, const rma_small &o);
    void postpone_gets(rma_peer *p);
    void hurry_gets(rma_peer *p); // or there are none any more
    step send_short(rma_peer *p, wire::rma_short_head &head, const std::byte *data, std::uint64_t bytes);
    bool serve_short(rma_peer *p, const wire::rma_short_head &head, const std::byte *data, std::uint32_t bytes);
    void take_as_long(rma_peer *p, const wire::rma_short_head &head, const std::byte *data, std::uint32_t bytes);

    // rma_direct.cc
    bool target_has_time(const rma_peer *p) const;
    static bool target_is_ours(const rma_peer *p);
    bool direct_possible(const rma_peer *p, const rma_item *i) const;
    bool better_by_message(const rma_peer *p, const rma_item *i);
    static bool for_slack(const rma_peer *p, std::uint64_t bytes);
    bool read_span(rma_peer *p, rma_item *i, std::uint64_t most);
    step run_direct(rma_peer *p, rma_item *i);
    step copy_between_processes(rma_peer *p, rma_item *i);
    bool at_hand(rma_peer *p);
    void serve_now_and_then();
    static std::byte *address_of(const rma_peer *p, std::uint64_t target);
    step refused_by_kernel(rma_peer *p, const char *call);
    step combine_direct(rma_peer *p, rma_item *i);
    const std::byte *operand_of(rma_item *i, std::uint64_t bytes);
    step combine_between_processes(rma_peer *p, rma_item *i, std::uint64_t *bytes);

    // rma_network.cc
    rma_transfer *take_transfer(rma_peer *p, rma_item *i);
    void give_back(rma_transfer *t);
    static void transfer_done(void *arg, bool ok);
    step posted(rma_transfer *t, network::result r, bool queued);
    bool network_reaches(bool put) const;
    std::uint64_t least_by_network(bool put) const;
    bool by_network(rma_peer *p, rma_item *i);
    step run_by_network(rma_peer *p, rma_item *i);
    bool target_makes_room(const rma_peer *p, const rma_item *i) const;
    void end_transfers(rma_peer *p);
    step at_rest(rma_peer *p);
    step send_key(rma_peer *p);
    void on_key(rma_peer *p, const wire::rma_head &head, const std::byte *data, std::uint32_t bytes);
    void forget_keys(rma_window *w);

    // rma_arrive.cc
    rma_peer *addressed(const endpoint *from, std::uint32_t window, std::uint32_t sequence);
    void keep_or_take_in(rma_peer *p, wire::rma_kind kind, const std::byte *message, std::uint32_t bytes);
    void count_served(const rma_peer *p, wire::rma_kind kind);
    void note_answer(rma_peer *p, std::uint8_t flags);
    static bool looks_on(const rma_peer *p, wire::rma_kind kind);
    void carry_out(rma_peer *p, const wire::rma_head &head, const std::vector<rma_run> &runs, const std::byte *data,
                   std::uint32_t bytes);
    void handle(rma_peer *p, const wire::rma_head &head, const std::vector<rma_run> &runs, const std::byte *data,
                std::uint32_t bytes);
    void on_data(rma_peer *p, const wire::rma_head &head, const std::byte *data, std::uint32_t bytes);
    rma_item *asked_for(const rma_peer *p, std::uint64_t id);
    void data_came(rma_item *i, std::uint64_t at, const std::byte *data, std::uint32_t bytes);
    void less_awaited(rma_item *i, std::uint64_t bytes);
    void on_ack(rma_peer *p);
    void on_grant(rma_peer *p);
    void take_in(rma_peer *p, const std::byte *message, std::uint32_t bytes);
    void take_kept(rma_peer *p);

    // rma_target.cc
    static const rma_region *region_of(const rma_window *w, std::uint64_t at);
    static bool inside(const rma_window *w, std::uint64_t base, std::uint64_t bytes);
    static bool pieces_inside(const rma_window *w, const rma_run &run);
    bool runs_inside(const rma_window *w, const std::vector<rma_run> &runs, std::uint64_t *bytes) const;
    void store(rma_peer *p, const wire::rma_head &head, const std::vector<rma_run> &runs, const std::byte *data,
               std::uint32_t bytes);
    void combine(rma_peer *p, const wire::rma_head &h, std::byte *base, const rma_layout &layout, const std::byte *data,
                 std::uint32_t bytes);
    void refuse(rma_peer *p, const wire::rma_head &head);
    static bool answers_at_once(const rma_peer *p);
    step answer(rma_peer *p, std::uint64_t id, std::uint64_t at, const std::byte *data, std::uint64_t bytes);
    step acknowledge(rma_peer *p, wire::rma_kind kind, bool waited);
    step reply(rma_peer *p);
    step send_data(rma_peer *p, rma_reply &r);

    // rma_epoch.cc
    static bool follows_messages(const rma_peer *p, const rma_item *i);
    void arm_fence(rma_window *w);
    void postpone_fence(rma_window *w);
    void forget_fence(rma_window *w);
    static bool moves(const rma_window *w);
    void drive_epochs(rma_window *w);
    bool end_fences(rma_window *w);
    bool end_exposures(rma_window *w);
    void on_barrier(rma_window *w, std::uint64_t number, std::uint64_t round);
    void on_complete(rma_peer *p);

    // rma_lock.cc
    bool try_lock(rma_peer *p, bool exclusive);
    step take_lock_item(rma_peer *p, rma_item *i);
    rma_item *first_lock(std::uint32_t thread) const;
    bool others_follow(const rma_item *lock) const;
    void leave_order(const rma_item *i);
    void let_go(rma_peer *p, bool exclusive);
    void forget_locks(rma_peer *p);
    void ask_lock(rma_peer *p, bool exclusive);
    void let_pass(rma_peer *p);
    void look_after_lock(rma_peer *p);
    void release_lock(rma_peer *p);
    void grant_waiters(rma_window *w, const rma_peer *asking = nullptr);
    // Neither its lock nor its memory can be reached from here but by messages of the network.
    static bool only_by_message(const rma_peer *p);

    static constexpr unsigned used_calls = 4096;               // between looks whether they are
    static constexpr std::uint64_t unused_after_ns = 20000000; // some turns of a processor: others may have it
    void begin_use();
    bool rests() const;

    engine &e_;
    const std::uint32_t pid_; // of this process
    unsigned used_for_ = 0;   // calls, up to the next look; 0: windows are not in use
    bool used_ = false;       // since the last look
    std::uint64_t unused_since_ = 0;
    std::unordered_map<std::uint32_t, std::unique_ptr<rma_window>> windows_;
    std::deque<rma_transfer> transfers_; // as many as ever were under way at once
    rma_transfer *free_transfers_ = nullptr;
    id_table<rma_item> gets_;       // and fetches: waiting for data
    std::vector<rma_item *> spare_; // of small ones
    rma_peer *last_ = nullptr;      // whose message came last: likely whose comes next
    std::vector<rma_peer *> active_;
    std::vector<rma_item *> locks_;         // of threads, in the order of the calls, until they are held
    std::vector<rma_peer *> unasked_peers_; // see may_arm
    std::vector<rma_window *> unasked_windows_;
    rma_sync *done_ = nullptr, **done_tail_ = &done_;
    bool sending_ = false;           // a message: what a loss would end is in use
    std::vector<endpoint *> losing_; // meanwhile
    int serving_ = not_armed;        // the request on the board for what only this process can do
    bool by_thread_ = false;
    bool in_progress_ = false;
    bool in_operation_ = false; // this pass is one that a call makes which begins one
    bool more_ = false;
    unsigned since_pass_ = 0; // operations
    std::uint64_t coming_ = 0;
    std::uint64_t budget_ = UINT64_MAX; // bytes that may still be copied inside the node in this pass
    rma_bursts bursts_;
    std::vector<std::byte> packed_;   // data of a message, gathered
    std::vector<std::byte> fetched_;  // what was at the target
    std::vector<std::byte> combined_; // what is to be there
    std::vector<std::byte> joined_;   // runs and data of a message
    std::vector<std::vector<std::byte>> spare_bundles_;
    unsigned open_bundles_ = 0;      // that are not empty
    std::vector<std::byte> answers_; // several that go in one message
    std::vector<rma_run> runs_;      // of the message being sent
    std::vector<rma_run> arrived_;   // of the one being taken in
};

} // namespace smartint
