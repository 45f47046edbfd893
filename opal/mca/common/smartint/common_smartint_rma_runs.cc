// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "common_smartint_rma_runs.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace smartint {

void rma_layout::append(std::int64_t offset, std::uint64_t length) {
    if (0 != length) {
        append(rma_run{offset, length, 0, 1});
    }
}

void rma_layout::append(const rma_run &run) {
    element_bytes_ += run.bytes();
    if (0 != entries_ && 1 == run.count) {
        rma_run &last = 1 == entries_ ? only_ : several_.back();
        const std::int64_t end = last.offset + last.stride * static_cast<std::int64_t>(last.count - 1);
        if (1 == last.count && end + static_cast<std::int64_t>(last.length) == run.offset) {
            last.length += run.length;
            return;
        }
        if (last.length == run.length && (1 == last.count || end + last.stride == run.offset)) {
            last.stride = run.offset - end;
            ++last.count;
            return;
        }
    }
    if (0 == entries_) {
        only_ = run;
    } else {
        if (1 == entries_) {
            several_.push_back(only_);
        }
        several_.push_back(run);
    }
    ++entries_;
}

void rma_layout::fold() {
    if (entries_ < 2 || 1 != repeat_) {
        return;
    }
    const auto apart = [&](std::size_t i, std::size_t period) {
        return several_[i + period].offset - several_[i].offset;
    };
    // the run a period later is the same, `distance` further
    const auto again = [&](std::size_t i, std::size_t period, std::int64_t distance) {
        const rma_run &a = several_[i];
        const rma_run &b = several_[i + period];
        return a.length == b.length && a.stride == b.stride && a.count == b.count && apart(i, period) == distance;
    };
    unsigned tries = 8; // runs without any order are not gone through for each period there might be
    for (std::size_t period = 1; period <= entries_ / 2 && 0 != tries; ++period) {
        const std::int64_t distance = apart(0, period);
        if (0 != entries_ % period || !again(0, period, distance)) {
            continue;
        }
        std::size_t i = 1;
        while (i + period < entries_ && again(i, period, distance)) {
            ++i;
        }
        if (i + period < entries_) {
            --tries;
            continue;
        }
        repeat_ = entries_ / period;
        extent_ = distance;
        element_bytes_ /= repeat_;
        entries_ = period;
        only_ = several_.front();
        several_.resize(1 == period ? 0 : period);
        several_.shrink_to_fit();
        return;
    }
}

void rma_layout::unfold() {
    rma_layout flat;
    for (std::uint64_t turn = 0; turn < repeat_; ++turn) {
        for (rma_run run : runs()) {
            run.offset += static_cast<std::int64_t>(turn) * extent_;
            flat.append(run);
        }
    }
    *this = std::move(flat);
}

void rma_layout::repeat(std::uint64_t times, std::int64_t extent) {
    if (repeat_ > 1 && 0 != times) { // folded
        if (1 == times) {
            return;
        }
        if (extent == extent_ * static_cast<std::int64_t>(repeat_)) {
            repeat_ *= times;
            return;
        }
        unfold();
    }
    repeat_ = times;
    extent_ = extent;
    if (0 == times) {
        several_.clear();
        entries_ = 0;
        element_bytes_ = 0;
        repeat_ = 1;
        return;
    }
    if (1 == times || 1 != entries_) {
        return;
    }
    // One run goes on into the next element: one longer run in place of many.
    const auto length = static_cast<std::int64_t>(only_.length);
    if (1 == only_.count && extent == length) {
        only_.length *= times;
    } else if (1 == only_.count) {
        only_.stride = extent;
        only_.count = times;
    } else if (extent == only_.stride * static_cast<std::int64_t>(only_.count)) {
        only_.count *= times;
    } else {
        return;
    }
    element_bytes_ *= times;
    repeat_ = 1;
}

std::uint64_t rma_layout::element_pieces() const {
    std::uint64_t n = 0;
    for (const rma_run &run : runs()) {
        n += run.count;
    }
    return n;
}

std::uint64_t rma_layout::pieces() const { return element_pieces() * repeat_; }

bool rma_bounds(const rma_run &run, std::int64_t *low, std::int64_t *high) {
    *low = *high = run.offset;
    if (0 == run.count || 0 == run.length) {
        return true;
    }
    std::int64_t span = 0;
    std::int64_t last = 0;
    const std::uint64_t steps = run.count - 1;
    if (steps > INT64_MAX || run.length > INT64_MAX ||
        __builtin_mul_overflow(run.stride, static_cast<std::int64_t>(steps), &span) ||
        __builtin_add_overflow(run.offset, span, &last)) {
        return false;
    }
    *low = std::min(run.offset, last);
    return !__builtin_add_overflow(std::max(run.offset, last), static_cast<std::int64_t>(run.length), high);
}

bool rma_layout::bounds(std::int64_t *low, std::int64_t *high) const {
    *low = *high = 0;
    bool first = true;
    for (const rma_run &run : runs()) {
        std::int64_t from = 0;
        std::int64_t to = 0;
        if (!rma_bounds(run, &from, &to)) {
            return false;
        }
        *low = first ? from : std::min(*low, from);
        *high = first ? to : std::max(*high, to);
        first = false;
    }
    std::int64_t span = 0;
    if (repeat_ - 1 > INT64_MAX || __builtin_mul_overflow(extent_, static_cast<std::int64_t>(repeat_ - 1), &span)) {
        return false;
    }
    return span >= 0 ? !__builtin_add_overflow(*high, span, high) : !__builtin_add_overflow(*low, span, low);
}

rma_cursor::piece rma_cursor::look(std::uint64_t most) const {
    const rma_run &run = layout_->runs()[run_];
    const std::int64_t offset = static_cast<std::int64_t>(turn_) * layout_->extent() + run.offset +
                                static_cast<std::int64_t>(piece_) * run.stride + static_cast<std::int64_t>(in_);
    return {offset, std::min(most, run.length - in_)};
}

void rma_cursor::advance(std::uint64_t bytes) {
    done_ += bytes;
    in_ += bytes;
    if (in_ == layout_->runs()[run_].length) {
        in_ = 0;
        ++piece_;
        step();
    }
}

void rma_cursor::skip(std::uint64_t bytes) {
    if (0 == run_ && 0 == piece_ && 0 == in_ && 0 != bytes) {
        const std::uint64_t n = bytes / layout_->element_bytes();
        pass_elements(n);
        bytes -= n * layout_->element_bytes();
    }
    while (bytes > 0) {
        const rma_run s = strip(bytes);
        pass(s, s.count);
        bytes -= s.bytes();
    }
}

// To the next run where this one is through.
void rma_cursor::step() {
    if (piece_ < layout_->runs()[run_].count) {
        return;
    }
    piece_ = 0;
    if (++run_ == layout_->runs().size()) {
        run_ = 0;
        ++turn_;
    }
}

rma_layout rma_layout::front(std::uint64_t bytes) const {
    rma_layout part;
    if (bytes > element_bytes_) {
        part = *this;
        part.repeat_ = bytes / element_bytes_ + (0 != bytes % element_bytes_ ? 1 : 0);
        part.cut_ = element_bytes_ * part.repeat_ - bytes;
        return part;
    }
    std::vector<rma_run> runs;
    for (rma_cursor at(this); at.done() < bytes;) {
        runs.clear();
        at.take(bytes - at.done(), 1, 1, &runs);
        part.append(runs.front());
    }
    return part;
}

std::uint64_t rma_cursor::take(std::uint64_t most, unsigned entries, std::uint64_t unit, std::vector<rma_run> *out) {
    most = std::min(most, left()); // a front's last element may be longer
    const rma_cursor start = *this;
    const std::size_t before = out->size();
    std::uint64_t taken = 0;
    while (0 != left() && taken < most && out->size() < entries) {
        const rma_run &run = layout_->runs()[run_];
        const std::uint64_t room = most - taken;
        const piece p = look(room);
        if (0 == in_ && run.length <= room) {
            const std::uint64_t n = std::min(run.count - piece_, room / run.length);
            out->push_back({p.offset, run.length, run.stride, n});
            taken += n * run.length;
            done_ += n * run.length;
            piece_ += n;
            step();
        } else {
            out->push_back({p.offset, p.bytes, 0, 1});
            taken += p.bytes;
            advance(p.bytes);
        }
    }
    if (const std::uint64_t excess = taken % unit; 0 != excess) {
        // the run that is cut becomes two
        *this = start;
        out->resize(before);
        return take(taken - excess, entries + 1, 1, out);
    }
    return taken;
}

rma_run rma_cursor::strip(std::uint64_t most) const {
    const rma_run &run = layout_->runs()[run_];
    const piece p = look(most);
    if (0 != in_ || p.bytes < run.length) {
        return {p.offset, p.bytes, 0, 1};
    }
    return {p.offset, run.length, run.stride, std::min(run.count - piece_, most / run.length)};
}

void rma_cursor::pass(const rma_run &strip, std::uint64_t count) {
    if (0 != in_ || strip.length < layout_->runs()[run_].length) {
        advance(strip.length);
        return;
    }
    done_ += count * strip.length;
    piece_ += count;
    step();
}

std::uint64_t rma_cursor::elements(std::uint64_t most) const {
    constexpr std::uint64_t few = 16; // pieces
    if (0 != run_ || 0 != piece_ || 0 != in_ || layout_->runs().size() > few) {
        return 0;
    }
    most = std::min(most, left());
    return most >= 2 * layout_->element_bytes() && layout_->element_pieces() <= few ? most / layout_->element_bytes()
                                                                                    : 0;
}

void rma_cursor::pass_elements(std::uint64_t count) {
    done_ += count * layout_->element_bytes();
    turn_ += count;
}

namespace {

template <std::size_t Length>
void copy_small(std::byte *to, std::int64_t to_stride, const std::byte *from, std::int64_t from_stride,
                std::uint64_t count) {
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(count); ++i) {
        std::byte kept[Length]; // in a register: both may overlap
        std::memcpy(kept, from + i * from_stride, Length);
        std::memcpy(to + i * to_stride, kept, Length);
    }
}

// memmove: a put may name its own process, and overlap.
void copy_pieces(std::byte *to, std::int64_t to_stride, const std::byte *from, std::int64_t from_stride,
                 std::uint64_t length, std::uint64_t count) {
    switch (length) {
    case 4:
        return copy_small<4>(to, to_stride, from, from_stride, count);
    case 8:
        return copy_small<8>(to, to_stride, from, from_stride, count);
    case 16:
        return copy_small<16>(to, to_stride, from, from_stride, count);
    case 32:
        return copy_small<32>(to, to_stride, from, from_stride, count);
    case 64:
        return copy_small<64>(to, to_stride, from, from_stride, count);
    default:
        for (std::int64_t i = 0; i < static_cast<std::int64_t>(count); ++i) {
            std::memmove(to + i * to_stride, from + i * from_stride, length);
        }
    }
}

// Elements of a few pieces: where the first one is, and how far it is to the next. Without runs they are packed.
struct elements_at {
    std::byte *first;
    std::int64_t extent;
    std::span<const rma_run> runs;

    std::byte *piece(std::uint64_t element, std::size_t run, std::uint64_t piece, std::int64_t packed) const {
        return place_at(
            first,
            static_cast<std::int64_t>(element) * extent +
                (runs.empty() ? packed : runs[run].offset + static_cast<std::int64_t>(piece) * runs[run].stride));
    }
};

elements_at elements_of(const std::byte *base, const rma_cursor &c) {
    return {place_at(const_cast<std::byte *>(base), c.element_offset()), c.layout().extent(), c.layout().runs()};
}

elements_at packed_elements(const std::byte *at, const rma_layout &layout) {
    return {const_cast<std::byte *>(at), static_cast<std::int64_t>(layout.element_bytes()), {}};
}

// Each piece of the element in all the elements before the next piece, as that goes on in equal steps; so many elements
// at a time that all of their pieces are in a near cache.
void copy_elements(const elements_at &to, const elements_at &from, std::uint64_t count) {
    constexpr std::uint64_t near = 8192; // bytes
    const auto size = [](std::int64_t extent) {
        const auto bytes = static_cast<std::uint64_t>(extent);
        return extent < 0 ? 0 - bytes : bytes;
    };
    const std::uint64_t block =
        std::max<std::uint64_t>(1, near / std::max<std::uint64_t>({1, size(to.extent), size(from.extent)}));
    const std::span<const rma_run> shape = to.runs.empty() ? from.runs : to.runs;
    for (std::uint64_t element = 0; element < count; element += block) {
        std::int64_t packed = 0;
        for (std::size_t run = 0; run < shape.size(); ++run) {
            for (std::uint64_t piece = 0; piece < shape[run].count; ++piece) {
                copy_pieces(to.piece(element, run, piece, packed), to.extent, from.piece(element, run, piece, packed),
                            from.extent, shape[run].length, std::min(block, count - element));
                packed += static_cast<std::int64_t>(shape[run].length);
            }
        }
    }
}

bool same_shape(const rma_layout &a, const rma_layout &b) {
    return std::ranges::equal(a.runs(), b.runs(), [](const rma_run &x, const rma_run &y) {
        return x.length == y.length && x.count == y.count;
    });
}

// Whole elements, where both have the same or one has one piece for all of them. The bytes; 0: not so.
std::uint64_t copy_alike(std::byte *to_base, rma_cursor &to, const std::byte *from_base, rma_cursor &from,
                         std::uint64_t bytes) {
    std::uint64_t there = to.elements(bytes);
    std::uint64_t here = from.elements(bytes);
    if (0 == there && 0 == here) {
        return 0;
    }
    if (0 != there && 0 != here) {
        if (same_shape(to.layout(), from.layout())) {
            there = here = std::min(there, here);
        } else { // of the larger one only the piece that comes next
            (to.layout().element_bytes() > from.layout().element_bytes() ? there : here) = 0;
        }
    }
    const rma_layout &shape = 0 != there ? to.layout() : from.layout();
    const auto in_piece = [&](const rma_cursor &c) { return c.look(bytes).bytes / shape.element_bytes(); };
    const std::uint64_t n = 0 == there  ? std::min(here, in_piece(to))
                            : 0 == here ? std::min(there, in_piece(from))
                                        : here;
    if (0 == n) {
        return 0;
    }
    const auto side = [&](const std::byte *base, const rma_cursor &c, bool elements) {
        return elements ? elements_of(base, c) : packed_elements(place_at(base, c.look(bytes).offset), shape);
    };
    copy_elements(side(to_base, to, 0 != there), side(from_base, from, 0 != here), n);
    const std::uint64_t copied = n * shape.element_bytes();
    const auto go_on = [&](rma_cursor &c, bool elements) { elements ? c.pass_elements(n) : c.advance(copied); };
    go_on(to, 0 != there);
    go_on(from, 0 != here);
    return copied;
}

} // namespace

void rma_gather(const std::byte *base, rma_cursor &from, std::byte *to, std::uint64_t bytes) {
    while (bytes > 0) {
        if (const std::uint64_t n = from.elements(bytes); 0 != n) {
            copy_elements(packed_elements(to, from.layout()), elements_of(base, from), n);
            from.pass_elements(n);
            to += n * from.layout().element_bytes();
            bytes -= n * from.layout().element_bytes();
            continue;
        }
        const rma_run s = from.strip(bytes);
        copy_pieces(to, static_cast<std::int64_t>(s.length), place_at(base, s.offset), s.stride, s.length, s.count);
        from.pass(s, s.count);
        to += s.bytes();
        bytes -= s.bytes();
    }
}

void rma_scatter(std::byte *base, rma_cursor &to, const std::byte *from, std::uint64_t bytes) {
    while (bytes > 0) {
        if (const std::uint64_t n = to.elements(bytes); 0 != n) {
            copy_elements(elements_of(base, to), packed_elements(from, to.layout()), n);
            to.pass_elements(n);
            from += n * to.layout().element_bytes();
            bytes -= n * to.layout().element_bytes();
            continue;
        }
        const rma_run s = to.strip(bytes);
        copy_pieces(place_at(base, s.offset), s.stride, from, static_cast<std::int64_t>(s.length), s.length, s.count);
        to.pass(s, s.count);
        from += s.bytes();
        bytes -= s.bytes();
    }
}

void rma_copy(std::byte *to_base, rma_cursor &to, const std::byte *from_base, rma_cursor &from, std::uint64_t bytes) {
    while (bytes > 0) {
        if (const std::uint64_t n = copy_alike(to_base, to, from_base, from, bytes); 0 != n) {
            bytes -= n;
            continue;
        }
        const rma_run t = to.strip(bytes);
        const rma_run f = from.strip(bytes);
        std::byte *const there = place_at(to_base, t.offset);
        const std::byte *const here = place_at(from_base, f.offset);
        if (t.length == f.length) {
            const std::uint64_t n = std::min(t.count, f.count);
            copy_pieces(there, t.stride, here, f.stride, t.length, n);
            to.pass(t, n);
            from.pass(f, n);
            bytes -= n * t.length;
        } else if (t.length > f.length) { // several of one side's pieces in one of the other's
            const std::uint64_t n = std::min(f.count, t.length / f.length);
            copy_pieces(there, static_cast<std::int64_t>(f.length), here, f.stride, f.length, n);
            to.advance(n * f.length);
            from.pass(f, n);
            bytes -= n * f.length;
        } else {
            const std::uint64_t n = std::min(t.count, f.length / t.length);
            copy_pieces(there, t.stride, here, static_cast<std::int64_t>(t.length), t.length, n);
            to.pass(t, n);
            from.advance(n * t.length);
            bytes -= n * t.length;
        }
    }
}

} // namespace smartint
