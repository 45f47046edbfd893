// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// What the engine needs to know of MPI's datatypes and operations.
#include "osc_smartint.h"

extern "C" {
#include "ompi/datatype/ompi_datatype_internal.h"
}

#include "common_smartint_mca_types.h"

namespace smartint::osc {
namespace {

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

rma_layout layout_of(const ompi_datatype_t *type, std::size_t count) { return glue_layout_of(type->super, count); }

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
