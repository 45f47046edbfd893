// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// What accumulates do to bytes: every operation of MPI on every basic type it is defined on,
// without Open MPI, so that the interrupt thread may do it. Pairs (value and index) are as a
// datatype packs them, without the gap a struct may have.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common_smartint_rma_runs.h"

namespace smartint {

enum class rma_type : std::uint8_t {
    none,
    i8,
    u8,
    i16,
    u16,
    i32,
    u32,
    i64,
    u64,
    f32,
    f64,
    f80, // float, double, long double
    c32,
    c64,
    c80,       // complex of these
    boolean,   // C's and C++'s, one byte
    bytes,     // 1 byte: bitwise and replace only
    logical32, // Fortran's, 4 bytes: 0 or not
    pair_f32,
    pair_f64,
    pair_f80,
    pair_i16,
    pair_i32,
    pair_i64, // (value, int)
    pair_2f32,
    pair_2f64, // (value, index), both of the value's type
    count_
};

enum class rma_operator : std::uint8_t {
    none,
    replace,
    no_op,
    sum,
    prod,
    max,
    min,
    land,
    lor,
    lxor,
    band,
    bor,
    bxor,
    maxloc,
    minloc,
    swap_if_equal, // compare_and_swap
    count_
};

// Packed bytes of one element, 0: no such type.
std::uint32_t rma_type_bytes(rma_type type);
bool rma_defined(rma_operator op, rma_type type);
// Of the operand for `bytes` at the target: none, as many, or two of them.
inline std::uint64_t rma_operand_bytes(rma_operator op, bool has_operand, std::uint64_t bytes) {
    return !has_operand ? 0 : rma_operator::swap_if_equal == op ? 2 * bytes : bytes;
}

// target[i] = target[i] op operand[i], packed, `count` elements, any alignment.
// Only where rma_defined(op, type).
void rma_apply(rma_operator op, rma_type type, std::byte *target, const std::byte *operand, std::uint64_t count);

// The same where the elements lie in pieces: `bytes` of them from `at` on, which advances. Every
// element has `operand_step` bytes of operand.
void rma_apply_at(rma_operator op, rma_type type, std::byte *base, rma_cursor &at, std::uint64_t bytes,
                  const std::byte *operand, std::uint64_t operand_step);

} // namespace smartint
