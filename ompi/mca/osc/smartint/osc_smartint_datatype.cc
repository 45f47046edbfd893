// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// What the engine needs to know of MPI's datatypes and operations.
#include "osc_smartint.h"

#include <array>
#include <cstring>
#include <vector>

extern "C" {
#include "ompi/datatype/ompi_datatype_internal.h"
#include "ompi/proc/proc.h"
#include "opal/datatype/opal_convertor.h"
}

namespace smartint::osc {
namespace {

// The pieces of one element, in the order in which it is packed.
void append_pieces(rma_layout &layout, const ompi_datatype_t *type) {
    // Any address will do: nothing is read. Far enough from both ends for any displacement.
    auto *const base = reinterpret_cast<std::byte *>(std::uintptr_t{1} << 46);
    opal_convertor_t convertor;
    OBJ_CONSTRUCT(&convertor, opal_convertor_t);
    opal_convertor_copy_and_prepare_for_send(ompi_proc_local()->super.proc_convertor, &type->super, 1, base, 0,
                                             &convertor);
    constexpr std::uint32_t most = 64;
    bool complete = false;
    while (!complete) {
        iovec pieces[most];
        std::uint32_t count = most;
        std::size_t bytes = 0;
        complete = 0 != opal_convertor_raw(&convertor, pieces, &count, &bytes);
        for (std::uint32_t i = 0; i < count; ++i) {
            layout.append(static_cast<std::byte *>(pieces[i].iov_base) - base, pieces[i].iov_len);
        }
        complete = complete || 0 == count;
    }
    opal_convertor_cleanup(&convertor);
    OBJ_DESTRUCT(&convertor);
}

// What the last types come to, as a program names the same few again and again, and to walk through a type's pieces
// takes longer than to copy them. Known by the whole of their descriptions: a type's address is another type's after
// MPI_Type_free, and a description says all that append_pieces() asks for. Under the gate.
class known_layouts {
public:
    // One element's pieces.
    rma_layout of(const ompi_datatype_t *type) {
        const auto &description = type->super.desc;
        const auto *words = reinterpret_cast<const std::byte *>(description.desc);
        const std::size_t bytes = description.used * sizeof(*description.desc);
        for (const known &k : known_) {
            if (k.description.size() == bytes && 0 != bytes && 0 == std::memcmp(k.description.data(), words, bytes)) {
                return k.layout;
            }
        }
        rma_layout layout;
        append_pieces(layout, type);
        layout.fold();
        if (bytes <= most_description && layout.runs().size() <= most_runs) {
            known &oldest = known_[next_++ % known_.size()];
            oldest.description.assign(words, words + bytes);
            oldest.layout = layout;
        }
        return layout;
    }

private:
    // Most take some hundred bytes each; types of so many pieces in no order as much as Open MPI has of them.
    static constexpr std::size_t most_description = 65536;
    static constexpr std::size_t most_runs = 2048;

    struct known {
        std::vector<std::byte> description;
        rma_layout layout;
    };
    std::array<known, 8> known_;
    unsigned next_ = 0;
};

rma_type type_by_id(const ompi_datatype_t *t) {
    const auto by_size = [&](rma_type two, rma_type four, rma_type eight) {
        return 2 == t->super.size ? two : 4 == t->super.size ? four : 8 == t->super.size ? eight : rma_type::none;
    };
    switch (t->id) {
    case OMPI_DATATYPE_MPI_INT8_T:
        return rma_type::i8;
    case OMPI_DATATYPE_MPI_UINT8_T:
    case OMPI_DATATYPE_MPI_CHARACTER:
        return rma_type::u8;
    case OMPI_DATATYPE_MPI_INT16_T:
        return rma_type::i16;
    case OMPI_DATATYPE_MPI_UINT16_T:
        return rma_type::u16;
    case OMPI_DATATYPE_MPI_INT32_T:
    case OMPI_DATATYPE_MPI_WCHAR:
        return rma_type::i32;
    case OMPI_DATATYPE_MPI_UINT32_T:
        return rma_type::u32;
    case OMPI_DATATYPE_MPI_INT64_T:
    case OMPI_DATATYPE_MPI_AINT:
    case OMPI_DATATYPE_MPI_OFFSET:
    case OMPI_DATATYPE_MPI_COUNT:
    case OMPI_DATATYPE_MPI_LONG:
        return rma_type::i64;
    case OMPI_DATATYPE_MPI_UINT64_T:
    case OMPI_DATATYPE_MPI_UNSIGNED_LONG:
        return rma_type::u64;
    case OMPI_DATATYPE_MPI_FLOAT:
    case OMPI_DATATYPE_MPI_REAL:
        return rma_type::f32;
    case OMPI_DATATYPE_MPI_DOUBLE:
    case OMPI_DATATYPE_MPI_DOUBLE_PRECISION:
        return rma_type::f64;
    case OMPI_DATATYPE_MPI_LONG_DOUBLE:
        return rma_type::f80;
    case OMPI_DATATYPE_MPI_COMPLEX8:
    case OMPI_DATATYPE_MPI_COMPLEX:
    case OMPI_DATATYPE_MPI_C_COMPLEX:
    case OMPI_DATATYPE_MPI_C_FLOAT_COMPLEX:
        return rma_type::c32;
    case OMPI_DATATYPE_MPI_COMPLEX16:
    case OMPI_DATATYPE_MPI_DOUBLE_COMPLEX:
    case OMPI_DATATYPE_MPI_C_DOUBLE_COMPLEX:
        return rma_type::c64;
    case OMPI_DATATYPE_MPI_LONG_DOUBLE_COMPLEX:
    case OMPI_DATATYPE_MPI_C_LONG_DOUBLE_COMPLEX:
    case OMPI_DATATYPE_MPI_COMPLEX32: // as Open MPI's own kernels take it, and MPI_REAL16 for a long double
        return rma_type::c80;
    case OMPI_DATATYPE_MPI_BOOL:
    case OMPI_DATATYPE_MPI_C_BOOL:
        return rma_type::boolean;
    case OMPI_DATATYPE_MPI_PACKED:
        return rma_type::bytes;
    case OMPI_DATATYPE_MPI_LOGICAL:
        return by_size(rma_type::none, rma_type::logical32, rma_type::none);
    case OMPI_DATATYPE_MPI_INTEGER:
        return by_size(rma_type::i16, rma_type::i32, rma_type::i64);
    case OMPI_DATATYPE_MPI_FLOAT_INT:
        return rma_type::pair_f32;
    case OMPI_DATATYPE_MPI_DOUBLE_INT:
        return rma_type::pair_f64;
    case OMPI_DATATYPE_MPI_LONG_DOUBLE_INT:
        return rma_type::pair_f80;
    case OMPI_DATATYPE_MPI_LONG_INT:
        return rma_type::pair_i64;
    case OMPI_DATATYPE_MPI_SHORT_INT:
        return rma_type::pair_i16;
    case OMPI_DATATYPE_MPI_2INT:
    case OMPI_DATATYPE_MPI_2INTEGER:
        return rma_type::pair_i32;
    case OMPI_DATATYPE_MPI_2REAL:
        return rma_type::pair_2f32;
    case OMPI_DATATYPE_MPI_2DBLPREC:
        return rma_type::pair_2f64;
    default:
        return rma_type::none;
    }
}

} // namespace

rma_layout layout_of(const ompi_datatype_t *type, std::size_t count) {
    static known_layouts known;
    const opal_datatype_t &t = type->super;
    rma_layout layout;
    if (0 == count || 0 == t.size) {
        return layout;
    }
    if (opal_datatype_is_contiguous_memory_layout(&t, 1)) {
        layout.append(t.true_lb, t.size);
    } else {
        layout = known.of(type);
    }
    layout.repeat(count, t.ub - t.lb);
    return layout;
}

rma_type basic_type(const ompi_datatype_t *type) {
    auto *t = const_cast<ompi_datatype_t *>(type);
    if (!ompi_datatype_is_predefined(t)) {
        t = ompi_datatype_get_single_predefined_type_from_args(t);
    }
    if (nullptr == t) {
        return rma_type::none;
    }
    // An Open MPI whose Fortran has other default sizes (-fdefault-real-8) has the same name for more bytes.
    const rma_type found = type_by_id(t);
    return rma_type::none != found && rma_type_bytes(found) == t->super.size ? found : rma_type::none;
}

// By their handles: Open MPI's own description of operations is not among its installed headers.
rma_operator operator_of(const ompi_op_t *op) {
    const struct {
        MPI_Op handle;
        rma_operator op;
    } known[] = {
        {MPI_REPLACE, rma_operator::replace}, {MPI_SUM, rma_operator::sum},       {MPI_NO_OP, rma_operator::no_op},
        {MPI_MAX, rma_operator::max},         {MPI_MIN, rma_operator::min},       {MPI_PROD, rma_operator::prod},
        {MPI_BAND, rma_operator::band},       {MPI_BOR, rma_operator::bor},       {MPI_BXOR, rma_operator::bxor},
        {MPI_LAND, rma_operator::land},       {MPI_LOR, rma_operator::lor},       {MPI_LXOR, rma_operator::lxor},
        {MPI_MAXLOC, rma_operator::maxloc},   {MPI_MINLOC, rma_operator::minloc},
    };
    for (const auto &k : known) {
        if (k.handle == op) {
            return k.op;
        }
    }
    return rma_operator::none;
}

} // namespace smartint::osc
