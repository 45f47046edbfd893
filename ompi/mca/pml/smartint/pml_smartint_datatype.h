// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Where a message's bytes are: one contiguous piece for the engine, or what packs and unpacks
// pieces at any packed offset.
#pragma once

#include "common_smartint_rma_runs.h"
#include "pml_smartint.h"

namespace smartint::pml {

// The contiguous piece of (buf, count, datatype), or false.
inline bool contiguous_piece(const void *buf, std::size_t count, const ompi_datatype_t *datatype, std::byte **base,
                             std::uint64_t *bytes) {
    const opal_datatype_t &t = datatype->super;
    *bytes = static_cast<std::uint64_t>(t.size) * count;
    // the count of the test is an int; only 0, 1 and many matter to it
    const auto few = static_cast<std::int32_t>(count > 2 ? 2 : count);
    if (0 != *bytes && !opal_datatype_is_contiguous_memory_layout(&t, few)) {
        return false;
    }
    static std::byte empty;
    *base = 0 == *bytes ? &empty : place_at(static_cast<std::byte *>(const_cast<void *>(buf)), t.true_lb);
    return true;
}

// Data that does not lie together. What comes to few runs of bytes is walked through by whichever thread moves the
// message; else Open MPI's convertor packs and unpacks, in the application's.
class layout_convertor {
public:
    layout_convertor() {} // nothing: most messages do without
    layout_convertor(const layout_convertor &) = delete;
    layout_convertor &operator=(const layout_convertor &) = delete;
    ~layout_convertor() {
        if (by::nothing != by_) {
            release();
        }
    }
    // Whether any thread may pack or unpack.
    bool prepare_send(const void *buf, std::size_t count, ompi_datatype_t *datatype);
    bool prepare_receive(void *buf, std::size_t count, ompi_datatype_t *datatype);
    void release();
    // Packed bytes [at, at + bytes) out of or into the user's buffer. One thread at a time.
    // pack returns how many: a convertor does not split a basic element.
    std::uint64_t pack(std::uint64_t at, void *to, std::uint64_t bytes);
    void unpack(std::uint64_t at, const void *from, std::uint64_t bytes);

private:
    struct plain {
        rma_layout layout;
        rma_cursor cursor; // behind the last piece, as they come one after the other
        rma_cursor before; // where that began, as it is asked for again where there was no room for it
        std::byte *base = nullptr;
    };
    bool prepare_plain(const void *buf, std::size_t count, const ompi_datatype_t *datatype);
    void hold(ompi_datatype_t *datatype);
    rma_cursor &move_to(std::uint64_t at);

    enum class by : std::uint8_t { nothing, runs, convertor };
    by by_ = by::nothing;                 // beside the request's own fields: all that most messages look at
    ompi_datatype_t *datatype_ = nullptr; // held: another thread may free its handle during a blocking call
    union {                               // which of both, says by_
        plain plain_;
        opal_convertor_t convertor_;
    };
};

} // namespace smartint::pml
