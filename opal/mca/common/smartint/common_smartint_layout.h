// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Every byte that two processes share. Data only, no code: the board code reads and
// writes it, docs/layout.md draws it. Offsets, never pointers: each process maps the
// segment where it likes. Any change of a size, a field or a meaning bumps `version`.
//
// Segment:   header | helper lines | slot[0] .. slot[n-1] | node table | relay queue
// Slot:      control | requests | notices | seen | shared copies | ring
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace smartint::layout {

inline constexpr std::uint64_t magic = 0x31746e6974726d73ULL; // "smrtint1", little endian
inline constexpr std::uint32_t version = 15;
inline constexpr std::size_t line = 64;

inline constexpr std::uint32_t max_slots = 4096;     // ranks of one job on one node
inline constexpr std::uint32_t request_entries = 64; // one bit each in slot_control::armed
inline constexpr std::uint32_t notice_entries = 64;  // power of two; the oldest is overwritten
inline constexpr std::uint32_t seen_entries = 64;    // power of two; direct mapped
inline constexpr std::uint32_t copy_entries = 64;    // direct copies two ranks share
// other nodes the relay can reach; entries of the table: segment_header::nodes
inline constexpr std::uint32_t max_nodes = 1024;
inline constexpr std::uint32_t relay_entries = 256; // power of two
inline constexpr std::uint32_t node_address_bytes = 96;
inline constexpr std::uint32_t cpu_mask_words = 16; // 1024 processing units

// As /proc tells it: helpers know interrupt threads by it.
inline constexpr const char *thread_name = "smartint";

template <class T> using shared = std::atomic<T>;
static_assert(shared<std::uint64_t>::is_always_lock_free, "shared words must not hide a lock");
static_assert(shared<std::uint32_t>::is_always_lock_free, "shared words must not hide a lock");

// A hint's subject. Kind, context and so on are packed by common_smartint_key.h.
struct key {
    std::uint64_t hi;
    std::uint64_t lo;
};

// Written once by the local leader before `ready`; read-only afterwards.
struct alignas(line) segment_header {
    std::uint64_t magic;
    std::uint32_t version;
    std::uint32_t slots; // 1..max_slots
    std::uint64_t total_bytes;
    std::uint64_t secret_hi; // carried by every relayed hint; never leaves the job
    std::uint64_t secret_lo;
    std::uint64_t slot_stride;
    std::uint64_t slots_offset;
    std::uint32_t ring_bytes; // power of two
    std::uint32_t uid;
    // line 2
    std::uint64_t nodes_offset;
    std::uint64_t relay_offset;
    std::uint64_t helper_offset;
    std::uint32_t job;
    std::uint32_t layout_sum; // sizes of the structs below, folded: drift is refused, not read
    shared<std::uint32_t> ready;
    std::uint32_t helpers; // helpers this job was asked to run on this node
    std::uint64_t node;    // hash of this node's identity, not 0 where there are others
    std::uint32_t nodes;   // entries of the node table, 1..max_nodes
    std::uint32_t pad[3];
};
static_assert(sizeof(segment_header) == 2 * line);

// Where a helper is reached by network. An even generation says that it is whole.
struct address_cell {
    shared<std::uint32_t> generation; // 0: nothing yet; odd: being written
    shared<std::uint32_t> bytes;
    shared<std::uint64_t> words[node_address_bytes / sizeof(std::uint64_t)];
};
inline constexpr std::uint32_t first_address = 2; // its generation
static_assert(sizeof(address_cell) == 104 && 0 == node_address_bytes % sizeof(std::uint64_t));

enum helper_state : std::uint32_t {
    helper_absent = 0,
    helper_starting = 1,
    helper_sleeping = 2, // a doorbell (system call) is needed
    helper_polling = 3,  // it looks by itself
    helper_gone = 4,     // it said goodbye, or somebody found it dead
};

// One per helper. The helper writes it (its state: the leader too, when it starts it or finds it gone).
// Another process may take its place: pid, doorbell and start time are then other ones.
struct alignas(line) helper_line {
    shared<std::uint32_t> state; // helper_state
    shared<std::uint32_t> pid;
    shared<std::int32_t> doorbell_fd; // an eventfd of the helper, taken with pidfd_getfd
    // the errno that kept its network shut, before the state; 0: open, or not asked for
    shared<std::uint32_t> network_error;
    shared<std::uint64_t> scans;
    shared<std::uint64_t> relayed;
    shared<std::uint64_t> delivered;
    shared<std::uint64_t> rejected; // wrong secret, version or range
    shared<std::uint64_t> wakes;
    shared<std::uint64_t> sleeps;
    // line 2 and 3; the address: where other nodes' helpers reach this one, written before the state
    address_cell address;
    shared<std::int32_t> cpu; // the processing unit it is bound to, -1 if it has none of its own
    std::uint32_t pad2;
    shared<std::uint64_t> start_time; // of the process: a recycled pid is not rung
    std::uint64_t pad3;
};
static_assert(sizeof(helper_line) == 3 * line);

inline constexpr std::uint32_t max_helpers = 16;

enum rank_state : std::uint32_t {
    rank_outside = 0, // computes, nobody looks: wake it
    rank_inside = 1,  // the application is in the engine, and may leave any moment
    rank_thread = 2,  // it computes, and its interrupt thread is at work
    rank_waiting = 3, // the application waits in MPI: it has time for a copy
    rank_busy = 4,    // the application waits in MPI, and is busy with its own messages
    rank_idle = 5,    // it waits as in 3, but with nothing outstanding it leaves without a look: wake it, too
};

enum wanted_state : std::uint32_t {
    wanted_nothing = 0,
    wanted_look = 1, // a request was matched and nobody may have acted yet
    wanted_rung = 2, // and the rank's descriptor is being rung
};

// A rank's own words. Who writes what stands at each line.
struct alignas(line) slot_control {
    // line 1: identity, written once by the rank at attach
    shared<std::uint32_t> attached; // 1 once the line is valid
    shared<std::uint32_t> pid;
    shared<std::int32_t> wake_fd; // an eventfd of the rank (or the kernel module's), taken with pidfd_getfd
    std::uint32_t vpid;
    std::uint64_t start_time;      // process_start_time(): a recycled pid is not woken
    shared<std::uint32_t> stopped; // 1 once the rank has left: never woken again
    std::uint32_t pad0;
    std::uint64_t pid_namespace; // whose numbers pid is one of
    std::uint64_t pad1[3];
    // line 2: written by the rank at enter/leave while it has something outstanding
    shared<std::uint32_t> progress; // rank_state
    std::uint32_t pad2[15];
    // line 3: written by whoever matches; cleared by the rank
    shared<std::uint32_t> wanted; // wanted_state
    std::uint32_t pad3[15];
    // line 4: written by the rank
    shared<std::uint64_t> armed; // bit i: request i is armed (a hint for scanners)
    std::uint64_t pad4[7];
    // line 5: fetch_add by posters
    shared<std::uint64_t> notices_posted; // ticket; entry is ticket % notice_entries
    std::uint64_t pad5[7];
    // lines 6..7: the rank's binding, for the helper's choice of a core
    std::uint64_t cpus[cpu_mask_words];
};
static_assert(sizeof(slot_control) == 7 * line);

// state: generation << 2 | request_state. Armed and freed by the owner, matched by anyone.
enum request_state : std::uint64_t { request_free = 0, request_armed = 1, request_matched = 2 };

struct alignas(line) request_entry {
    shared<std::uint64_t> state;
    shared<std::uint64_t> key_hi, key_lo;
    shared<std::uint64_t> mask_hi, mask_lo;
    shared<std::uint64_t> match_seq; // source << 32 | sequence of the notice that matched
    std::uint64_t pad[2];
};
static_assert(sizeof(request_entry) == line);

// stamp: 2 * ticket + 1 while written, 2 * ticket + 2 when whole, 0 never written.
struct notice_entry {
    shared<std::uint64_t> stamp;
    shared<std::uint64_t> key_hi, key_lo;
    shared<std::uint64_t> source_seq; // source (process) << 32 | sequence
};
static_assert(sizeof(notice_entry) == 32);

// Message ring of a rank: any local rank produces, the owner consumes (common_smartint_ring.h).
struct alignas(line) ring_control {
    shared<std::uint64_t> tail; // producers, compare-exchange; the consumer of an empty ring too
    std::uint64_t pad1[7];
    shared<std::uint64_t> head;   // consumer
    shared<std::uint64_t> wanted; // 1: a record of several lines found no room. Producers; the consumer takes it back
    std::uint64_t pad2[6];
    // Behind the last record whose producer counts on the consumer to find it before it leaves; producers, the maximum.
    // The consumer reads it whenever it leaves: in a line that messages leave alone.
    shared<std::uint64_t> asked;
    // 1: one of its windows is of interest to somebody, to whom the consumer does not say whether it waits. A hint, by
    // origins of one-sided operations; the consumer takes it back.
    shared<std::uint64_t> visited;
    std::uint64_t pad3[6];
};
static_assert(sizeof(ring_control) == 3 * line);

// A direct copy that both ranks work on, in the receiver's slot. Each takes pieces off next
// and adds them to done when they are in place. Set up by the receiver before it answers.
struct shared_copy {
    shared<std::uint64_t> next; // generation << 40 | bytes handed out
    shared<std::uint64_t> done; // bytes moved; bit 63: somebody failed, bit 62: and not for the memory's sake
};
static_assert(sizeof(shared_copy) == 16);

struct alignas(line) slot {
    slot_control control;
    request_entry requests[request_entries];
    notice_entry notices[notice_entries];
    shared<std::uint64_t> seen[seen_entries]; // source << 32 | sequence handled, by the rank
    shared_copy copies[copy_entries];         // entries taken and freed by the rank
    ring_control ring;                        // ring_bytes of records follow
};
static_assert(sizeof(slot) % line == 0);
static_assert(offsetof(slot, requests) == 7 * line);

// Another node. Taken by the first who learns of it, a rank that meets it or whoever is told that its helper moved
// (this node's helper or a rank), and written by that one or another; the address again by whoever is told so later.
struct alignas(line) node_entry {
    address_cell helper;        // its helper's
    shared<std::uint64_t> node; // hash of its identity, 0: nobody has the entry; compare-exchange, once
    // of that node's board: its helper asks for them. Written once, before generation 2
    std::uint64_t secret_hi, secret_lo;
};
static_assert(sizeof(node_entry) == 2 * line);

// A notice on its way to another node. Ranks produce, the helper consumes.
struct relay_entry {
    shared<std::uint64_t> stamp;  // ticket + 1 when whole
    shared<std::uint64_t> target; // node index << 32 | slot on that node
    shared<std::uint64_t> key_hi, key_lo;
    shared<std::uint64_t> source_seq;
    std::uint64_t pad[3];
};
static_assert(sizeof(relay_entry) == line);

struct alignas(line) relay_queue {
    shared<std::uint64_t> posted; // ticket, compare-exchange by ranks
    std::uint64_t pad1[7];
    shared<std::uint64_t> taken; // helper
    std::uint64_t pad2[7];
    relay_entry entries[relay_entries];
};

// What two helpers send each other (one active message carries 1..relay_batch of them).
struct relay_message_header {
    std::uint32_t magic; // low half of layout::magic
    std::uint16_t version;
    std::uint16_t count;
    std::uint32_t job;
    std::uint32_t pad;
    std::uint64_t secret_hi, secret_lo;
};
struct relay_message_item {
    std::uint32_t slot;
    std::uint32_t reserved;
    std::uint64_t key_hi, key_lo, source_seq;
};
// That a helper took the place of another: the helper tells other nodes' helpers, its node's ranks tell other
// nodes' ranks. The count is 0.
struct relay_message_moved {
    relay_message_header head;
    std::uint64_t node; // whose helper it is
    std::uint32_t address_bytes;
    std::uint32_t generation; // of the address on its own board: the larger one is the later
    std::uint8_t address[node_address_bytes];
    std::uint64_t secret_hi, secret_lo; // of that node's board, for whoever has not met it yet
};
static_assert(sizeof(relay_message_moved) == 160);
static_assert(sizeof(relay_message_header) == 32 && sizeof(relay_message_item) == 32);
inline constexpr std::uint32_t relay_batch = 32;

// One per member of a window on a node, at the beginning of the memory that the window's members there
// share: a file of its own, without a name (common_smartint_rma_lock.h). All of them write it.
struct alignas(line) window_words {
    shared<std::uint64_t> lock;      // of the member's window: flags below, and how many share it
    shared<std::uint32_t> combining; // pid of who accumulates in the member's memory, 0: nobody
    std::uint32_t pad1;
    std::uint64_t pad2[6];
};
inline constexpr std::uint64_t window_exclusive = 1ULL << 63;
inline constexpr std::uint64_t window_queued = 1ULL << 62; // some wait in the member's queue: stand in it
static_assert(sizeof(window_words) == line && std::is_standard_layout_v<window_words>);

static_assert(std::is_standard_layout_v<segment_header> && std::is_standard_layout_v<slot> &&
              std::is_standard_layout_v<relay_queue> && std::is_standard_layout_v<node_entry>);

inline constexpr std::uint32_t layout_sum =
    static_cast<std::uint32_t>(sizeof(segment_header) * 31 + sizeof(helper_line) * 37 + sizeof(slot) * 41 +
                               sizeof(node_entry) * 43 + sizeof(relay_queue) * 47 + request_entries * 53 +
                               notice_entries * 59 + seen_entries * 61 + copy_entries * 71 + max_nodes * 67);

} // namespace smartint::layout
