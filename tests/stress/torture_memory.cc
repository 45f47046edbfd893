// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Patterns, and buffers in which every byte is known: those of a datatype's data and those between
// them.
#include <algorithm>
#include <cstring>

#include "torture.h"

namespace torture {
namespace {

constexpr std::size_t margin = 64;

std::uint64_t word(std::uint64_t key, std::size_t index) {
    std::uint64_t x = key + index * 0xd1342543de82ef95U;
    x ^= x >> 32;
    x *= 0x94d049bb133111ebU;
    return x ^ (x >> 29);
}

// What a buffer should look like is drawn here and compared with it.
std::byte *scratch(std::size_t bytes) {
    thread_local std::unique_ptr<std::byte[]> space;
    thread_local std::size_t size = 0;
    if (size < bytes) {
        space = std::make_unique_for_overwrite<std::byte[]>(bytes);
        size = bytes;
    }
    return space.get();
}

} // namespace

void pattern(std::byte *to, std::size_t bytes, std::uint64_t key, std::size_t offset) {
    while (bytes > 0) {
        const std::size_t skip = offset % 8;
        const std::uint64_t w = word(key, offset / 8);
        const std::size_t n = std::min(bytes, 8 - skip);
        if (8 == n) {
            std::memcpy(to, &w, 8);
        } else {
            std::memcpy(to, reinterpret_cast<const std::byte *>(&w) + skip, n);
        }
        to += n;
        offset += n;
        bytes -= n;
    }
}

memory::memory(random geometry, std::size_t bytes, std::size_t unit, bool typed) {
    random &r = geometry;
    std::size_t lower = 0; // of the element, below its first block
    if (0 == unit || 0 == bytes) {
        count_ = static_cast<int>(bytes);
    } else {
        unit_ = unit;
        count_ = static_cast<int>((bytes + unit - 1) / unit);
        own_type_ = true;
        std::vector<int> lengths;
        std::vector<MPI_Aint> places;
        std::vector<MPI_Datatype> types;
        const std::size_t most_gap = r.one_in(3) ? 8 : std::min<std::size_t>(unit, 64);
        if (typed) { // the fields of a C struct, moved about
            const std::size_t fields[] = {8, 8, 4, 4};
            const MPI_Datatype basic[] = {MPI_INT64_T, MPI_BYTE, MPI_INT32_T, MPI_FLOAT};
            const int counts[] = {1, 8, 1, 1};
            std::size_t at = 0;
            for (int i = 0; i < 4; ++i) {
                at += 8 * r.below(3);
                blocks_.push_back({at, fields[i]});
                lengths.push_back(counts[i]);
                types.push_back(basic[i]);
                at += 8;
            }
        } else {
            // cut points; equal blocks for a vector
            const bool vector = r.one_in(3);
            std::size_t pieces = r.from_to(1, std::min<std::size_t>(8, unit));
            if (vector) {
                while (0 != unit % pieces) {
                    --pieces;
                }
            }
            std::vector<std::size_t> cuts{0, unit};
            for (std::size_t i = 1; i < pieces; ++i) {
                cuts.push_back(vector ? i * (unit / pieces) : r.from_to(1, unit - 1));
            }
            std::sort(cuts.begin(), cuts.end());
            cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
            std::size_t at = r.one_in(2) ? 0 : r.below(most_gap + 1);
            const std::size_t gap = r.below(most_gap + 1);
            for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
                blocks_.push_back({at, cuts[i + 1] - cuts[i]});
                at += blocks_.back().bytes + (vector ? gap : r.below(most_gap + 1));
                lengths.push_back(static_cast<int>(blocks_.back().bytes));
                types.push_back(MPI_BYTE);
            }
        }
        if (r.one_in(3)) { // data that does not come in the order of addresses
            for (std::size_t i = blocks_.size() - 1; i > 0; --i) {
                const std::size_t j = r.below(i + 1);
                if (typed) { // each has room for 8 bytes; the order of the types has to stay
                    std::swap(blocks_[i].offset, blocks_[j].offset);
                } else {
                    std::swap(blocks_[i], blocks_[j]);
                    std::swap(lengths[i], lengths[j]);
                }
            }
        }
        lower = blocks_[0].offset;
        std::size_t upper = 0;
        for (const block &b : blocks_) {
            places.push_back(static_cast<MPI_Aint>(b.offset));
            lower = std::min(lower, b.offset);
            upper = std::max(upper, b.offset + b.bytes);
        }
        MPI_Datatype bare = MPI_DATATYPE_NULL;
        const int n = static_cast<int>(lengths.size());
        if (typed || r.one_in(2)) {
            MPI(MPI_Type_create_struct(n, lengths.data(), places.data(), types.data(), &bare));
        } else if (1 == n && 0 == places[0]) {
            MPI(MPI_Type_contiguous(lengths[0], MPI_BYTE, &bare));
        } else {
            MPI(MPI_Type_create_hindexed(n, lengths.data(), places.data(), MPI_BYTE, &bare));
        }
        // Elements may begin before their first byte and end behind their last one, or lie side by
        // side.
        const MPI_Aint begin = r.one_in(2) ? 0 : static_cast<MPI_Aint>(lower);
        extent_ = upper - static_cast<std::size_t>(begin) + (r.one_in(2) ? 0 : 8 * r.below(9));
        if (typed) {
            extent_ = (extent_ + 7) / 8 * 8;
        }
        MPI(MPI_Type_create_resized(bare, begin, static_cast<MPI_Aint>(extent_), &type_));
        MPI(MPI_Type_commit(&type_));
        MPI(MPI_Type_free(&bare));
        size_ = upper;
    }
    const std::size_t shift = typed ? 0 : (r.one_in(2) ? 0 : r.below(64));
    start_ = margin + shift;
    size_ += start_ + (count_ > 0 ? static_cast<std::size_t>(count_ - (own_type_ ? 1 : 0)) * extent_ : 0) + margin;
    data_ = std::make_unique_for_overwrite<std::byte[]>(size_);
    clear();
}

memory::~memory() {
    if (own_type_) {
        MPI_Type_free(&type_);
    }
}

void memory::clear() { std::memset(data_.get(), static_cast<int>(blank), size_); }

void memory::spoil() { std::memset(data_.get(), 0xee, size_); }

void memory::render(std::byte *image, std::uint64_t key, std::size_t bytes) const {
    std::memset(image, static_cast<int>(blank), size_);
    std::byte *p = image + start_;
    if (blocks_.empty()) {
        pattern(p, bytes, key, 0);
        return;
    }
    for (std::size_t done = 0; done < bytes; p += extent_) {
        for (const block &b : blocks_) {
            const std::size_t n = std::min(b.bytes, bytes - done);
            pattern(p + b.offset, n, key, done);
            done += n;
        }
    }
}

void memory::put(std::uint64_t key, std::size_t bytes) { render(data_.get(), key, bytes); }

bool memory::holds(std::uint64_t key, std::size_t bytes) const {
    // most others differ in the first bytes already
    std::byte begin[8];
    if (const std::size_t n = std::min<std::size_t>({8, bytes, blocks_.empty() ? 8 : blocks_[0].bytes}); n > 0) {
        pattern(begin, n, key, 0);
        if (0 != std::memcmp(begin, data_.get() + start_ + (blocks_.empty() ? 0 : blocks_[0].offset), n)) {
            return false;
        }
    }
    std::byte *want = scratch(size_);
    render(want, key, bytes);
    return 0 == std::memcmp(want, data_.get(), size_);
}

void memory::expect(std::uint64_t key, std::size_t bytes, const char *what) const {
    std::byte *want = scratch(size_);
    render(want, key, bytes);
    if (0 == std::memcmp(want, data_.get(), size_)) {
        return;
    }
    std::size_t wrong = 0;
    std::size_t first = size_;
    std::size_t last = 0;
    for (std::size_t i = 0; i < size_; ++i) {
        if (want[i] != data_[i]) {
            ++wrong;
            first = std::min(first, i);
            last = i;
        }
    }
    fail("%s of %zu bytes (elements of %zu, extent %zu, %zu blocks): %zu bytes differ, from %td to "
         "%td of the buffer; the "
         "first is %02x, expected %02x",
         what, bytes, unit_, extent_, blocks_.size(), wrong, static_cast<std::ptrdiff_t>(first - start_),
         static_cast<std::ptrdiff_t>(last - start_), static_cast<unsigned>(data_[first]),
         static_cast<unsigned>(want[first]));
}

} // namespace torture
