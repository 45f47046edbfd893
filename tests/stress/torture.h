// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// What the files of torture share: options, random numbers, patterns, failure, the plan of a round,
// datatypes, communicators and operations under way. Head of torture.cc: what the program does.
#pragma once

#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace torture {

// ---- options and who we are
// ------------------------------------------------------------------------

struct options {
    std::uint64_t seed = 0;
    double seconds = 5;
    std::uint64_t first = 0;  // round to begin with
    std::uint64_t rounds = 0; // 0: until the time is over
    unsigned threads = 1;
    unsigned messages = 120; // at most, in a round of one thread
    std::size_t max_size = 64 << 20;
    std::size_t budget = 24 << 20; // bytes of a round of one thread, all ranks together; one message may exceed it
    unsigned busy_us = 300;        // usual upper end of a computation between calls
    bool lenient = false;          // leave out what stock Open MPI 4.1.4 is known to fail at
    bool verbose = false;          // tell of every round; of one round alone, its plan
};

extern options opt;
extern int my_rank;
extern int n_ranks;
extern std::atomic<std::size_t> largest; // bytes, of the messages planned so far

// ---- random numbers
// ----------------------------------------------------------------------------------

std::uint64_t mix(std::uint64_t x);

class random {
public:
    template <typename... Parts> explicit random(Parts... parts) {
        ((state_ = mix(state_ ^ static_cast<std::uint64_t>(parts))), ...);
    }
    std::uint64_t next() { return mix(state_ += 0x9e3779b97f4a7c15U); }
    std::uint64_t below(std::uint64_t limit) { return next() % limit; }
    bool one_in(unsigned n) { return 0 == below(n); }
    std::uint64_t from_to(std::uint64_t low, std::uint64_t high) { return low + below(high - low + 1); }

private:
    std::uint64_t state_ = 0x243f6a8885a308d3U;
};

// ---- patterns
// ----------------------------------------------------------------------------------------

// Each message has a key and each byte of it depends on the key and on where it belongs.
void pattern(std::byte *to, std::size_t bytes, std::uint64_t key, std::size_t offset);
constexpr std::byte blank{0x5c}; // what nobody may write to

// ---- failure
// -----------------------------------------------------------------------------------------

// What this thread is doing; printed when something is wrong and when the program is told to end.
void set_note(unsigned thread, const char *format, ...) __attribute__((format(printf, 2, 3)));
[[noreturn]] void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
void watch_signals();
void mpi_check(int rc, const char *call);
#define MPI(call) ::torture::mpi_check((call), #call)

// ---- the plan of a round
// -----------------------------------------------------------------------------

enum class send_mode { standard, synchronous, buffered, ready };

// Which receives may take a message. All messages of one receiver and communicator that may meet
// the same receives form a class; there are as many receives of the class as messages, so none is
// left over whatever the order.
enum class kind {
    exact,      // source and tag
    any_source, // MPI_ANY_SOURCE and the tag
    any_tag,    // the source and MPI_ANY_TAG
    any,        // both
    shuffled    // the receiver's only sender: receives of all forms in any order; the result is still
                // determined
};

struct message {
    int from = 0; // ranks of the world
    int to = 0;
    int tag = 0;
    unsigned comm = 0;
    kind how = kind::exact;
    send_mode mode = send_mode::standard;
    bool persistent_send = false;
    bool persistent_recv = false;
    bool blocking_send = false;
    unsigned times = 1; // persistent ones may be started again
    bool typed = false; // of several basic types, not of bytes alone
    std::size_t size = 0;
    std::size_t unit_out = 0; // bytes of one element of the datatypes; 0: plain bytes
    std::size_t unit_in = 0;
    std::uint64_t key = 0;
    // The receive that its receiver posts in the plan's order at this place. It is for this very
    // message but where wildcards or a shuffle have it otherwise.
    bool wild_source = false;
    bool wild_tag = false;
    unsigned pattern_of = 0; // message whose source and tag the receive names
    int expects = -1;        // message it will get, where that is determined
    std::size_t capacity = 0;
};

enum class collective { barrier, bcast, allreduce, reduce, allgather, alltoall, alltoallv, gather, scatter, scan };
constexpr unsigned collectives = 10;

struct collective_call {
    collective what = collective::barrier;
    unsigned comm = 0;
    unsigned root = 0; // rank in the communicator, modulo its size
    bool blocking = false;
    std::size_t bytes = 0;
    std::uint64_t key = 0;
};

enum class order { as_planned, receives_first, sends_first };

struct place { // one entry of the plan: a message or a collective call
    bool is_collective = false;
    message m;
    collective_call c;
};

struct round_plan {
    std::vector<place> places;
    std::vector<order> orders; // of each rank; those that are not as_planned call nothing that blocks
};

// ---- communicators
// -----------------------------------------------------------------------------------

struct communicator {
    MPI_Comm comm = MPI_COMM_NULL;
    bool inter = false;
    int tag_base = 0;
    bool tags_wild = true;  // false: others use it at once, so no MPI_ANY_TAG
    std::vector<int> group; // world ranks of each member, by rank; of an intercommunicator: side 0
    std::vector<int> other; // side 1
    bool has(int world) const;
    bool pair(int from, int to) const;    // may `from` send to `to`
    int rank_of(int from, int to) const;  // how `from` names `to`
    int world_of(int at, int rank) const; // who is meant by the rank that `at` sees
};

struct communicator_set {
    std::vector<communicator> comms;
    MPI_Comm tokens = MPI_COMM_NULL; // "the receive is posted", for ready sends
    void make(MPI_Comm base, MPI_Comm shared, unsigned thread, std::uint64_t epoch, unsigned parity);
    void free();
};

void draw_plan(round_plan *plan, const communicator_set &set, unsigned thread, std::uint64_t round);
void show_plan(const round_plan &plan);

// ---- datatypes and buffers
// ---------------------------------------------------------------------------

class memory { // a buffer with its datatype, and margins nobody may touch
public:
    // unit 0: plain bytes. A receiver's last element may be filled in part only: the rest stays
    // blank.
    memory(random geometry, std::size_t bytes, std::size_t unit, bool typed);
    ~memory();
    memory(const memory &) = delete;
    memory &operator=(const memory &) = delete;
    void *address() const { return data_.get() + start_; }
    MPI_Datatype type() const { return type_; }
    int count() const { return count_; }
    void clear();
    void put(std::uint64_t key, std::size_t bytes);
    // Exactly these bytes where they belong, and all others blank?
    bool holds(std::uint64_t key, std::size_t bytes) const;
    // The same, and says what differs.
    void expect(std::uint64_t key, std::size_t bytes, const char *what) const;
    void spoil(); // whoever reads it from now on gets nonsense

private:
    struct block {
        std::size_t offset;
        std::size_t bytes;
    };
    void render(std::byte *image, std::uint64_t key, std::size_t bytes) const;
    std::unique_ptr<std::byte[]> data_;
    std::size_t size_ = 0;  // of data_
    std::size_t start_ = 0; // first byte of the first element
    std::size_t extent_ = 1;
    std::size_t unit_ = 1;
    std::vector<block> blocks_; // of one element, in the order of its data; empty: all of it
    MPI_Datatype type_ = MPI_BYTE;
    bool own_type_ = false;
    int count_ = 0;
};

// ---- operations under way
// ----------------------------------------------------------------------------

class operation {
public:
    virtual ~operation() = default;
    virtual void finish(const MPI_Status &status) = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    bool persistent = false;
    bool may_wait = true; // in the middle of the plan
    unsigned index = 0;
};

using operations = std::vector<operation *>;

// Tests or waits for some of them in one of MPI's forms; finished ones are taken out.
void complete_some(operations *active, random *r, bool wait);

std::unique_ptr<operation> begin_collective(const collective_call &call, const communicator &comm, unsigned index);

// A receive that was posted, or a message that a matched probe took, and what it got.
struct receipt {
    unsigned index = 0;       // place whose receive this is
    std::uint64_t posted = 0; // counts up in the order of matching calls
    int from = -1;            // world
    int tag = 0;
    std::size_t bytes = 0;
    const memory *data = nullptr;
};

// Who got what, after the round: order and content.
void judge(const round_plan &plan, const std::vector<receipt> &receipts);

// ---- one thread
// --------------------------------------------------------------------------------------

void busy(random *r);
void run_round(const round_plan &plan, const communicator_set &set, unsigned thread, std::uint64_t round);
std::uint64_t run_thread(unsigned thread, MPI_Comm base, MPI_Comm shared); // rounds done

} // namespace torture
