// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Direct copies between two processes of a node, as those see them who move their pieces (engine_copy.cc).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace smartint {

namespace layout {
struct slot;
}
struct recv_op;
struct send_op;

// A large copy between two processes, cut in pieces that any thread of this process, or of
// the other one where both sides have time, may take. next: generation << 40 | bytes handed
// out, so that a thread which looks at a job that was finished and used again cannot take a
// piece of the new one. done: bytes moved, bit 63 set when a piece failed, and
// bit 62 when that was not for its memory's sake. Who brings done to length finishes the job;
// nobody else touches it after its last piece.
struct copy_job {
    static constexpr unsigned generation_shift = 40; // a job moves less than 1 TiB
    static constexpr std::uint64_t offset_mask = (1ULL << generation_shift) - 1;
    static constexpr std::uint64_t generation_mask = 0xffffff;
    static constexpr std::uint64_t failed_bit = 1ULL << 63;
    static constexpr std::uint64_t refused_bit = 1ULL << 62;
    static constexpr std::uint64_t done_mask = refused_bit - 1;

    std::uint64_t remote = 0;
    std::byte *local = nullptr;
    std::uint64_t length = 0;
    std::uint64_t asked_ns = 0; // a sender's: when its receiver asked for it
    std::uint32_t pid = 0;
    std::uint32_t generation = 0;
    bool write = false;
    // Not for the interrupt thread: the other side idles and moves it, or the operation is a
    // blocking one, whose memory ends with the call. The application moves it when it waits.
    bool waiter_only = false;
    bool undecided = false; // of a receive that goes another way, perhaps, when this rank comes to wait
    bool postponed = false; // until either application comes, or for a time
    int entry = -1;         // of the receiver's shared copies, -1: the words below
    std::atomic<std::uint64_t> own_next{0};
    std::atomic<std::uint64_t> own_done{0};
    std::atomic<std::uint64_t> *next = &own_next;
    std::atomic<std::uint64_t> *done = &own_done;
    std::atomic<int> error{0};
    std::atomic<bool> by_thread{false}; // the interrupt thread moved part of it
    bool listed = false;
    recv_op *receive = nullptr; // exactly one of the two
    send_op *send = nullptr;
    copy_job *link = nullptr;          // engine's list of open jobs
    copy_job *finished_link = nullptr; // lock-free list of finished ones

    // A piece of it was taken. Of one that is set up.
    bool is_begun() const { return next->load(std::memory_order_relaxed) != untouched(); }
    // All of it at once, from all who might take pieces: they find none any more. A sender that was asked to write gets
    // a second answer. False: somebody has begun. Relaxed: nothing was moved, so nothing is ordered.
    bool take_back() {
        std::uint64_t word = untouched();
        return next->compare_exchange_strong(word, word + length, std::memory_order_relaxed);
    }
    std::uint64_t untouched() const { return static_cast<std::uint64_t>(generation) << generation_shift; }
};

// What a thread needs to take pieces of a job, captured under the gate.
struct copy_view {
    copy_job *job = nullptr;
    std::atomic<std::uint64_t> *next = nullptr;
    std::atomic<std::uint64_t> *done = nullptr;
    std::uint64_t generation = 0;
    std::uint64_t remote = 0;
    std::byte *local = nullptr;
    std::uint64_t length = 0;
    std::uint32_t pid = 0;
    std::uint32_t step = 0;
    bool write = false;
    layout::slot *sender = nullptr; // to look whether it has come to wait, or nullptr
};

struct copy_piece {
    std::uint64_t at = 0;
    std::uint64_t bytes = 0; // 0: none left
};

} // namespace smartint
