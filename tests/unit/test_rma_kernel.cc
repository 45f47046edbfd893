// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "common_smartint_rma_kernel.h"

#include <algorithm>
#include <complex>
#include <cstring>
#include <limits>
#include <vector>

#include "harness.h"

namespace smartint {
namespace {

using o = rma_operator;
using t = rma_type;

// One element through the kernel, at an odd address.
template <class T> T apply(o op, t type, T target, T operand) {
    std::byte memory[2 * sizeof(T) + 2];
    std::memcpy(memory + 1, &target, sizeof(T));
    std::memcpy(memory + sizeof(T) + 2, &operand, sizeof(T));
    rma_apply(op, type, memory + 1, memory + sizeof(T) + 2, 1);
    std::memcpy(&target, memory + 1, sizeof(T));
    return target;
}

TEST(rma_kernel, integers_of_every_width) {
    EXPECT_EQ(7, apply<std::int8_t>(o::sum, t::i8, 3, 4));
    EXPECT_EQ(-128, apply<std::int8_t>(o::sum, t::i8, 127, 1)) << "wraps";
    EXPECT_EQ(1, apply<std::uint16_t>(o::prod, t::u16, 65535, 65535)) << "wraps, as unsigned";
    EXPECT_EQ(-2, apply<std::int32_t>(o::min, t::i32, 5, -2));
    EXPECT_EQ(4000000000U, apply<std::uint32_t>(o::max, t::u32, 1, 4000000000U));
    EXPECT_EQ(-2, apply<std::int64_t>(o::max, t::i64, -3, -2));
    EXPECT_EQ(std::numeric_limits<std::int64_t>::min(),
              apply<std::int64_t>(o::sum, t::i64, std::numeric_limits<std::int64_t>::max(), 1));
    EXPECT_EQ(0x30U, apply<std::uint64_t>(o::band, t::u64, 0xf0, 0x3c));
    EXPECT_EQ(0xfc, apply<std::int16_t>(o::bor, t::i16, 0xf0, 0x3c));
    EXPECT_EQ(0xcc, apply<std::int32_t>(o::bxor, t::i32, 0xf0, 0x3c));
    EXPECT_EQ(1, apply<std::int32_t>(o::land, t::i32, 4, 2));
    EXPECT_EQ(1, apply<std::int32_t>(o::lor, t::i32, 0, 2));
    EXPECT_EQ(0, apply<std::int32_t>(o::lxor, t::i32, 4, 2));
    EXPECT_EQ(9, apply<std::int32_t>(o::replace, t::i32, 4, 9));
    EXPECT_EQ(4, apply<std::int32_t>(o::no_op, t::i32, 4, 9));
}

TEST(rma_kernel, floating_and_complex_numbers) {
    EXPECT_EQ(3.5F, apply<float>(o::sum, t::f32, 1, 2.5F));
    EXPECT_EQ(-6.0, apply<double>(o::prod, t::f64, 2, -3));
    EXPECT_EQ(2.0L, apply<long double>(o::max, t::f80, 2, -3));
    const std::complex<double> i(0, 1);
    EXPECT_EQ(std::complex<double>(-1, 0), apply(o::prod, t::c64, i, i));
    EXPECT_EQ(std::complex<double>(0, 2), apply(o::sum, t::c64, i, i));
}

struct __attribute__((packed)) short_pair {
    short value;
    int index;
    bool operator==(const short_pair &) const = default;
};

TEST(rma_kernel, pairs_are_packed_and_equal_values_take_the_lower_index) {
    EXPECT_EQ(6U, rma_type_bytes(t::pair_i16));
    EXPECT_EQ(12U, rma_type_bytes(t::pair_f64));
    EXPECT_EQ((short_pair{5, 2}), apply(o::maxloc, t::pair_i16, short_pair{5, 3}, short_pair{5, 2}));
    EXPECT_EQ((short_pair{5, 2}), apply(o::minloc, t::pair_i16, short_pair{5, 2}, short_pair{5, 3}));
    EXPECT_EQ((short_pair{6, 9}), apply(o::maxloc, t::pair_i16, short_pair{5, 2}, short_pair{6, 9}));
    EXPECT_EQ((short_pair{5, 2}), apply(o::minloc, t::pair_i16, short_pair{5, 2}, short_pair{6, 1}));
}

TEST(rma_kernel, compare_and_swap_swaps_if_all_bytes_are_equal) {
    std::int32_t target = 7;
    std::int32_t operands[2] = {9, 6}; // new value, value to compare with
    rma_apply(o::swap_if_equal, t::i32, reinterpret_cast<std::byte *>(&target),
              reinterpret_cast<const std::byte *>(operands), 1);
    EXPECT_EQ(7, target);
    operands[1] = 7;
    rma_apply(o::swap_if_equal, t::i32, reinterpret_cast<std::byte *>(&target),
              reinterpret_cast<const std::byte *>(operands), 1);
    EXPECT_EQ(9, target);
}

TEST(rma_kernel, what_mpi_does_not_define_is_not_defined) {
    EXPECT_FALSE(rma_defined(o::band, t::f64));
    EXPECT_FALSE(rma_defined(o::max, t::c32));
    EXPECT_FALSE(rma_defined(o::maxloc, t::i32));
    EXPECT_FALSE(rma_defined(o::sum, t::pair_f64));
    EXPECT_FALSE(rma_defined(o::land, t::f32));
    EXPECT_FALSE(rma_defined(o::sum, t::boolean));
    EXPECT_FALSE(rma_defined(o::sum, t::none));
    EXPECT_FALSE(rma_defined(o::none, t::i32));
    EXPECT_FALSE(rma_defined(static_cast<o>(200), t::i32));
    EXPECT_FALSE(rma_defined(o::sum, static_cast<t>(200)));
    EXPECT_TRUE(rma_defined(o::lxor, t::logical32));
    EXPECT_TRUE(rma_defined(o::bxor, t::bytes));
    EXPECT_TRUE(rma_defined(o::replace, t::pair_f80));
}

TEST(rma_kernel, what_is_defined_can_be_applied_to_many_and_touches_no_byte_beside) {
    for (unsigned type = 0; type < static_cast<unsigned>(t::count_); ++type) {
        for (unsigned op = 0; op < static_cast<unsigned>(o::count_); ++op) {
            const auto which = static_cast<t>(type);
            const auto what = static_cast<o>(op);
            if (!rma_defined(what, which) || o::swap_if_equal == what) {
                continue;
            }
            const std::size_t bytes = rma_type_bytes(which) * 5;
            std::vector<std::byte> target(bytes + 2, std::byte{0x5a});
            const std::vector<std::byte> operand(bytes, std::byte{0});
            std::fill_n(target.begin() + 1, bytes, std::byte{0});
            rma_apply(what, which, target.data() + 1, operand.data(), 5);
            EXPECT_EQ(std::byte{0x5a}, target.front());
            EXPECT_EQ(std::byte{0x5a}, target.back());
            if (t::f80 == which || t::c80 == which || t::pair_f80 == which) {
                continue; // bytes of a long double that mean nothing have any value
            }
            for (std::size_t i = 1; i <= bytes; ++i) {
                ASSERT_EQ(std::byte{0}, target[i]) << "type " << type << " operator " << op;
            }
        }
    }
}

} // namespace
} // namespace smartint
