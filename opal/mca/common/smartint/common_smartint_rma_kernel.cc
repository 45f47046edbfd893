// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "common_smartint_rma_kernel.h"

#include <complex>
#include <cstring>
#include <type_traits>

namespace smartint {
namespace {

// A value and its index as they lie packed.
template <class V, class I> struct packed_pair {
    V value;
    I index;
};

template <class T> struct stored {
    static constexpr std::uint32_t bytes = sizeof(T);
    static T load(const std::byte *p) {
        T v;
        std::memcpy(&v, p, sizeof(T));
        return v;
    }
    static void store(std::byte *p, const T &v) { std::memcpy(p, &v, sizeof(T)); }
};

template <class V, class I> struct stored<packed_pair<V, I>> {
    static constexpr std::uint32_t bytes = sizeof(V) + sizeof(I);
    static packed_pair<V, I> load(const std::byte *p) { return {stored<V>::load(p), stored<I>::load(p + sizeof(V))}; }
    static void store(std::byte *p, const packed_pair<V, I> &v) {
        stored<V>::store(p, v.value);
        stored<I>::store(p + sizeof(V), v.index);
    }
};

template <class T> struct is_complex : std::false_type {};
template <class T> struct is_complex<std::complex<T>> : std::true_type {};
template <class T> struct is_pair : std::false_type {};
template <class V, class I> struct is_pair<packed_pair<V, I>> : std::true_type {};

// Wrappers that say what may be done with the bits.
struct raw_byte {
    std::uint8_t v;
};
struct fortran_logical {
    std::int32_t v;
};
struct c_bool {
    std::uint8_t v;
};

template <class T> constexpr bool is_integer = std::is_integral_v<T>;
template <class T>
constexpr bool is_logical = is_integer<T> || std::is_same_v<T, fortran_logical> || std::is_same_v<T, c_bool>;

// Integers are summed and multiplied as unsigned ones, wide enough not to be promoted to int: an
// overflow wraps.
template <class T> using wide = std::make_unsigned_t<decltype(T() + 0U)>;

template <class T> bool truth(const T &v) {
    if constexpr (is_integer<T>) {
        return 0 != v;
    } else {
        return 0 != v.v;
    }
}

template <class T> T from_truth(bool b) {
    if constexpr (is_integer<T>) {
        return static_cast<T>(b ? 1 : 0);
    } else {
        return T{static_cast<decltype(T::v)>(b ? 1 : 0)};
    }
}

template <rma_operator op, class T> constexpr bool defined() {
    using o = rma_operator;
    switch (op) {
    case o::replace:
    case o::no_op:
        return true;
    case o::sum:
    case o::prod:
        return is_integer<T> || std::is_floating_point_v<T> || is_complex<T>::value;
    case o::max:
    case o::min:
        return is_integer<T> || std::is_floating_point_v<T>;
    case o::land:
    case o::lor:
    case o::lxor:
        return is_logical<T>;
    case o::band:
    case o::bor:
    case o::bxor:
        return is_integer<T> || std::is_same_v<T, raw_byte>;
    case o::maxloc:
    case o::minloc:
        return is_pair<T>::value;
    default:
        return false;
    }
}

template <rma_operator op, class T> T combine(const T &a, const T &b) {
    using o = rma_operator;
    if constexpr (o::replace == op) {
        return b;
    } else if constexpr (o::sum == op && is_integer<T>) {
        return static_cast<T>(static_cast<wide<T>>(a) + static_cast<wide<T>>(b));
    } else if constexpr (o::prod == op && is_integer<T>) {
        return static_cast<T>(static_cast<wide<T>>(a) * static_cast<wide<T>>(b));
    } else if constexpr (o::sum == op) {
        return a + b;
    } else if constexpr (o::prod == op) {
        return a * b;
    } else if constexpr (o::max == op) {
        return a > b ? a : b;
    } else if constexpr (o::min == op) {
        return a < b ? a : b;
    } else if constexpr (o::land == op) {
        return from_truth<T>(truth(a) && truth(b));
    } else if constexpr (o::lor == op) {
        return from_truth<T>(truth(a) || truth(b));
    } else if constexpr (o::lxor == op) {
        return from_truth<T>(truth(a) != truth(b));
    } else if constexpr (std::is_same_v<T, raw_byte>) {
        return raw_byte{combine<op, std::uint8_t>(a.v, b.v)};
    } else if constexpr (o::band == op) {
        return static_cast<T>(a & b);
    } else if constexpr (o::bor == op) {
        return static_cast<T>(a | b);
    } else if constexpr (o::bxor == op) {
        return static_cast<T>(a ^ b);
    } else if constexpr (o::maxloc == op) {
        return b.value > a.value || (b.value == a.value && b.index < a.index) ? b : a;
    } else {
        return b.value < a.value || (b.value == a.value && b.index < a.index) ? b : a;
    }
}

using kernel = void (*)(std::byte *, const std::byte *, std::uint64_t);

template <rma_operator op, class T> void run(std::byte *target, const std::byte *operand, std::uint64_t count) {
    using s = stored<T>;
    for (; count > 0; --count, target += s::bytes, operand += s::bytes) {
        s::store(target, combine<op, T>(s::load(target), s::load(operand)));
    }
}

template <class T> void replace(std::byte *target, const std::byte *operand, std::uint64_t count) {
    std::memcpy(target, operand, count * stored<T>::bytes);
}

void nothing(std::byte *, const std::byte *, std::uint64_t) {}

template <rma_operator op, class T> constexpr kernel kernel_for() {
    if constexpr (!defined<op, T>()) {
        return nullptr;
    } else if constexpr (rma_operator::replace == op) {
        return replace<T>;
    } else if constexpr (rma_operator::no_op == op) {
        return nothing;
    } else {
        return run<op, T>;
    }
}

struct row {
    std::uint32_t bytes = 0;
    kernel by_operator[static_cast<unsigned>(rma_operator::count_)] = {};
};

template <class T> constexpr row row_for() {
    using o = rma_operator;
    row r;
    r.bytes = stored<T>::bytes;
    const auto set = [&r](o op, kernel k) { r.by_operator[static_cast<unsigned>(op)] = k; };
    set(o::replace, kernel_for<o::replace, T>());
    set(o::no_op, kernel_for<o::no_op, T>());
    set(o::sum, kernel_for<o::sum, T>());
    set(o::prod, kernel_for<o::prod, T>());
    set(o::max, kernel_for<o::max, T>());
    set(o::min, kernel_for<o::min, T>());
    set(o::land, kernel_for<o::land, T>());
    set(o::lor, kernel_for<o::lor, T>());
    set(o::lxor, kernel_for<o::lxor, T>());
    set(o::band, kernel_for<o::band, T>());
    set(o::bor, kernel_for<o::bor, T>());
    set(o::bxor, kernel_for<o::bxor, T>());
    set(o::maxloc, kernel_for<o::maxloc, T>());
    set(o::minloc, kernel_for<o::minloc, T>());
    return r;
}

// In the order of rma_type.
constexpr row table[] = {
    row{},
    row_for<std::int8_t>(),
    row_for<std::uint8_t>(),
    row_for<std::int16_t>(),
    row_for<std::uint16_t>(),
    row_for<std::int32_t>(),
    row_for<std::uint32_t>(),
    row_for<std::int64_t>(),
    row_for<std::uint64_t>(),
    row_for<float>(),
    row_for<double>(),
    row_for<long double>(),
    row_for<std::complex<float>>(),
    row_for<std::complex<double>>(),
    row_for<std::complex<long double>>(),
    row_for<c_bool>(),
    row_for<raw_byte>(),
    row_for<fortran_logical>(),
    row_for<packed_pair<float, int>>(),
    row_for<packed_pair<double, int>>(),
    row_for<packed_pair<long double, int>>(),
    row_for<packed_pair<short, int>>(),
    row_for<packed_pair<int, int>>(),
    row_for<packed_pair<long, int>>(),
    row_for<packed_pair<float, float>>(),
    row_for<packed_pair<double, double>>(),
};
static_assert(sizeof(table) / sizeof(table[0]) == static_cast<unsigned>(rma_type::count_));

// By size alone: equal bytes are equal values for the types MPI allows.
void swap_if_equal(std::uint32_t bytes, std::byte *target, const std::byte *operands) {
    if (0 == std::memcmp(target, operands + bytes, bytes)) {
        std::memcpy(target, operands, bytes);
    }
}

} // namespace

std::uint32_t rma_type_bytes(rma_type type) {
    return type < rma_type::count_ ? table[static_cast<unsigned>(type)].bytes : 0;
}

bool rma_defined(rma_operator op, rma_type type) {
    if (0 == rma_type_bytes(type) || op >= rma_operator::count_) {
        return false;
    }
    return rma_operator::swap_if_equal == op ||
           nullptr != table[static_cast<unsigned>(type)].by_operator[static_cast<unsigned>(op)];
}

void rma_apply(rma_operator op, rma_type type, std::byte *target, const std::byte *operand, std::uint64_t count) {
    const row &r = table[static_cast<unsigned>(type)];
    if (rma_operator::swap_if_equal == op) {
        swap_if_equal(r.bytes, target, operand);
        return;
    }
    r.by_operator[static_cast<unsigned>(op)](target, operand, count);
}

void rma_apply_at(rma_operator op, rma_type type, std::byte *base, rma_cursor &at, std::uint64_t bytes,
                  const std::byte *operand, std::uint64_t operand_step) {
    const std::uint64_t unit = rma_type_bytes(type);
    while (0 != bytes) {
        const auto p = at.look(bytes);
        if (const std::uint64_t whole = p.bytes / unit; 0 != whole) {
            rma_apply(op, type, base + p.offset, operand, whole);
            at.advance(whole * unit);
            operand += whole * operand_step;
            bytes -= whole * unit;
            continue;
        }
        // an element in several pieces: a pair with a gap
        std::byte element[32];
        rma_cursor again = at;
        rma_gather(base, at, element, unit);
        rma_apply(op, type, element, operand, 1);
        rma_scatter(base, again, element, unit);
        operand += operand_step;
        bytes -= unit;
    }
}

} // namespace smartint
