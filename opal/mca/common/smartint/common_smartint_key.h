// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Keys of interrupt requests (IRD, SI 4.2.2) and of notices (ICD). One shape for everything
// that can be waited for: messages, answers to a rendezvous. A wildcard is a mask.
//   hi = kind << 56 | context << 16           lo = source << 32 | tag     (two-sided)
//   hi = kind << 56                           lo = operation id           (answers)
#pragma once

#include "common_smartint_layout.h"

namespace smartint {

using layout::key;

enum class key_kind : std::uint8_t {
    none = 0,
    rts = 1, // a rendezvous waits for the receiver
    cts = 2, // the receiver answered a sender that must push
};

struct key_pattern {
    key value;
    key mask;
};

constexpr key make_rts_key(std::uint32_t context, std::int32_t source, std::int32_t tag) {
    return {static_cast<std::uint64_t>(key_kind::rts) << 56 |
                static_cast<std::uint64_t>(context) << 16,
            static_cast<std::uint64_t>(static_cast<std::uint32_t>(source)) << 32 |
                static_cast<std::uint32_t>(tag)};
}

constexpr key make_cts_key(std::uint64_t operation) {
    return {static_cast<std::uint64_t>(key_kind::cts) << 56, operation};
}

constexpr key_pattern rts_pattern(std::uint32_t context, std::int32_t source, std::int32_t tag,
                                  bool any_source, bool any_tag) {
    // any tag: any that is not negative, as the matching has it
    const key mask{~0ULL, (any_source ? 0 : 0xffffffffULL << 32)
                              | (any_tag ? 0x80000000ULL : 0xffffffffULL)};
    key value = make_rts_key(context, source, any_tag ? 0 : tag);
    value.lo &= mask.lo;
    return {value, mask};
}

constexpr key_pattern exact_pattern(key k) { return {k, {~0ULL, ~0ULL}}; }

constexpr bool matches(const key &notice, const key_pattern &request) {
    return (notice.hi & request.mask.hi) == request.value.hi &&
           (notice.lo & request.mask.lo) == request.value.lo;
}

} // namespace smartint
