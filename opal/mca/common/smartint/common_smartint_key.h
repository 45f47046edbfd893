// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Keys of interrupt requests (IRD, SI 4.2.2) and of notices (ICD). One shape for everything
// that can be waited for: messages, answers to a rendezvous. A wildcard is a mask.
//   hi = kind << 56 | context << 16           lo = source << 32 | tag     (two-sided)
//   hi = kind << 56                           lo = operation id           (answers)
//   hi = kind << 56 | epoch kind << 48 | window << 16   lo = name of the peer   (one-sided)
#pragma once

#include "common_smartint_layout.h"

namespace smartint {

using layout::key;

enum class key_kind : std::uint8_t {
    none = 0,
    rts = 1, // a rendezvous waits for the receiver
    cts = 2, // the receiver answered a sender that must push
    rma = 3, // one-sided, see rma_epoch_kind
};

// What a one-sided request waits for.
enum class rma_epoch_kind : std::uint8_t {
    none = 0,
    serve = 1,    // anything only the target's processor can do; no window, no peer
    post = 2,     // the peer exposes its memory
    grant = 3,    // the peer grants its lock
    ack = 4,      // the peer has done all that was sent to it
    fence = 5,    // a step of a fence; no peer
    complete = 6, // the peer has ended its access; no peer
};

struct key_pattern {
    key value;
    key mask;
};

constexpr key make_rts_key(std::uint32_t context, std::int32_t source, std::int32_t tag) {
    return {static_cast<std::uint64_t>(key_kind::rts) << 56 | static_cast<std::uint64_t>(context) << 16,
            static_cast<std::uint64_t>(static_cast<std::uint32_t>(source)) << 32 | static_cast<std::uint32_t>(tag)};
}

constexpr key make_cts_key(std::uint64_t operation) {
    return {static_cast<std::uint64_t>(key_kind::cts) << 56, operation};
}

// One-sided messages of a process have their own sequence: this bit in the source of their notices.
inline constexpr std::uint32_t rma_source = 1U << 30;

constexpr key make_rma_key(rma_epoch_kind what, std::uint32_t window, std::uint64_t peer) {
    return {static_cast<std::uint64_t>(key_kind::rma) << 56 | static_cast<std::uint64_t>(what) << 48 |
                static_cast<std::uint64_t>(window) << 16,
            peer};
}

constexpr key_pattern rts_pattern(std::uint32_t context, std::int32_t source, std::int32_t tag, bool any_source,
                                  bool any_tag) {
    // any tag: any that is not negative, as the matching has it
    const key mask{~0ULL, (any_source ? 0 : 0xffffffffULL << 32) | (any_tag ? 0x80000000ULL : 0xffffffffULL)};
    key value = make_rts_key(context, source, any_tag ? 0 : tag);
    value.lo &= mask.lo;
    return {value, mask};
}

constexpr key_pattern exact_pattern(key k) { return {k, {~0ULL, ~0ULL}}; }

// What both match, and no more than a mask can say: the bits in which they agree.
constexpr key_pattern either(const key_pattern &a, const key_pattern &b) {
    const key mask{a.mask.hi & b.mask.hi & ~(a.value.hi ^ b.value.hi),
                   a.mask.lo & b.mask.lo & ~(a.value.lo ^ b.value.lo)};
    return {{a.value.hi & mask.hi, a.value.lo & mask.lo}, mask};
}

constexpr bool matches(const key &notice, const key_pattern &request) {
    return (notice.hi & request.mask.hi) == request.value.hi && (notice.lo & request.mask.lo) == request.value.lo;
}

} // namespace smartint
