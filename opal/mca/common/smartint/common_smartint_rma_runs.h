// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Where the bytes of a one-sided operation lie: runs of equal pieces at equal distances, repeated.
// Plain numbers, so that any thread may walk them and a message may carry them: no datatype of
// MPI is looked at after the call that named it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

namespace smartint {

// base + offset, as numbers: base may be nullptr, MPI_BOTTOM, and nothing of an object's there.
template <class B> B *place_at(B *base, std::int64_t offset) {
    return reinterpret_cast<B *>(reinterpret_cast<std::uintptr_t>(base) + static_cast<std::uintptr_t>(offset));
}

// `count` pieces of `length` bytes each, the first at `offset`, the next `stride` further.
struct rma_run {
    std::int64_t offset = 0;
    std::uint64_t length = 0;
    std::int64_t stride = 0;
    std::uint64_t count = 0;

    std::uint64_t bytes() const { return length * count; }
};
static_assert(sizeof(rma_run) == 32 && std::is_trivially_copyable_v<rma_run>);

// `repeat` times the runs, each time `extent` further.
class rma_layout {
public:
    rma_layout() = default;
    // One piece.
    explicit rma_layout(std::uint64_t bytes) { append(0, bytes); }

    // Behind what is there already; pieces that continue a run join it.
    void append(std::int64_t offset, std::uint64_t length);
    void append(const rma_run &run);
    // Its first bytes, in packed order. What repeats is not unrolled, however many bytes.
    rma_layout front(std::uint64_t bytes) const;
    // Runs that come again and again, at one distance, become one element and its repeats.
    void fold();
    // What is there so far is one element: repeat it.
    void repeat(std::uint64_t times, std::int64_t extent);
    // Whether its runs would be more than so many then: what was folded is unrolled where its turns do not go on.
    bool unrolls_beyond(std::uint64_t most, std::uint64_t times, std::int64_t extent) const {
        return repeat_ > 1 && times > 1 && extent != extent_ * static_cast<std::int64_t>(repeat_) &&
               repeat_ > most / entries_;
    }

    bool contiguous() const { return 0 == entries_ || (1 == entries_ && 1 == repeat_ && 1 == only_.count); }
    std::uint64_t bytes() const { return element_bytes_ * repeat_ - cut_; }
    std::uint64_t element_bytes() const { return element_bytes_; }
    std::uint64_t element_pieces() const;
    std::uint64_t pieces() const; // of a front perhaps less than an element too many
    // From where to where, relative to the base; of a front as if its last element were whole. False: it does not fit
    // into 63 bits.
    bool bounds(std::int64_t *low, std::int64_t *high) const;

    std::span<const rma_run> runs() const { return {1 == entries_ ? &only_ : several_.data(), entries_}; }
    std::int64_t extent() const { return extent_; }

private:
    void unfold();

    rma_run only_; // most have one, which takes no memory beside; else all are in several_
    std::vector<rma_run> several_;
    std::size_t entries_ = 0;
    std::uint64_t element_bytes_ = 0;
    std::uint64_t repeat_ = 1;
    std::uint64_t cut_ = 0; // bytes of the last element that do not belong to it; less than it has
    std::int64_t extent_ = 0;
};

// From where to where runs reach. False: overflow.
bool rma_bounds(const rma_run &run, std::int64_t *low, std::int64_t *high);

// A walk through a layout in packed order. The layout must outlive it.
class rma_cursor {
public:
    rma_cursor() = default;
    explicit rma_cursor(const rma_layout *layout) : layout_(layout) {}

    std::uint64_t done() const { return done_; }
    std::uint64_t left() const { return nullptr == layout_ ? 0 : layout_->bytes() - done_; }
    // The next piece, at most `most` bytes of it, which are left: neither it nor strip() looks where a front ends.
    struct piece {
        std::int64_t offset;
        std::uint64_t bytes;
    };
    piece look(std::uint64_t most) const;
    void advance(std::uint64_t bytes); // within the piece looked at
    void skip(std::uint64_t bytes);
    // Whole pieces of one run, as many as `most` bytes hold, or one part of a piece; and past `count` of them.
    rma_run strip(std::uint64_t most) const;
    void pass(const rma_run &strip, std::uint64_t count);
    // How many whole elements of a few pieces `most` bytes hold from here on; 0 within one, or if its runs are long
    // enough to be copied one by one. And past so many.
    std::uint64_t elements(std::uint64_t most) const;
    void pass_elements(std::uint64_t count);
    const rma_layout &layout() const { return *layout_; }
    std::int64_t element_offset() const { return static_cast<std::int64_t>(turn_) * layout_->extent(); }
    // Appends runs that cover the next bytes: at most `most` bytes, a multiple of `unit`, in at most entries + 1 runs,
    // which must suffice for one unit. Advances; returns the bytes.
    std::uint64_t take(std::uint64_t most, unsigned entries, std::uint64_t unit, std::vector<rma_run> *out);

private:
    void step();

    const rma_layout *layout_ = nullptr;
    std::uint64_t done_ = 0;
    std::uint64_t turn_ = 0;  // of the repeats
    std::size_t run_ = 0;     // in the element
    std::uint64_t piece_ = 0; // in the run
    std::uint64_t in_ = 0;    // bytes in the piece
};

// Packed bytes out of or into memory; both cursors advance by `bytes`.
void rma_gather(const std::byte *base, rma_cursor &from, std::byte *to, std::uint64_t bytes);
void rma_scatter(std::byte *base, rma_cursor &to, const std::byte *from, std::uint64_t bytes);
void rma_copy(std::byte *to_base, rma_cursor &to, const std::byte *from_base, rma_cursor &from, std::uint64_t bytes);

} // namespace smartint
