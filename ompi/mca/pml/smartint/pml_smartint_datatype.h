// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Where a message's bytes are: one contiguous piece for the engine, or a convertor that
// packs and unpacks pieces at any packed offset.
#pragma once

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

class layout_convertor {
public:
    void prepare_send(const void *buf, std::size_t count, ompi_datatype_t *datatype);
    void prepare_receive(void *buf, std::size_t count, ompi_datatype_t *datatype);
    ~layout_convertor() { release(); }
    void release();
    // Packed bytes [at, at + bytes) out of or into the user's buffer.
    // pack returns how many: it does not split a basic element.
    std::uint64_t pack(std::uint64_t at, void *to, std::uint64_t bytes);
    void unpack(std::uint64_t at, const void *from, std::uint64_t bytes);

private:
    void prepare(ompi_datatype_t *datatype);

    bool ready_ = false;                  // beside the request's own fields: all that most messages look at
    ompi_datatype_t *datatype_ = nullptr; // held: another thread may free its handle during a blocking call
    opal_convertor_t convertor_;
};

} // namespace smartint::pml
