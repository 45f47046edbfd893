// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// What the interrupt thread may not do (call back into the components, unpack derived data) and leaves to the
// application.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace smartint {

struct endpoint;
struct recv_op;

struct deferred {
    enum class what : std::uint8_t { scatter, message, stranger } kind = what::message;
    recv_op *op = nullptr;
    endpoint *from = nullptr;
    std::uint8_t type = 0;
    bool last = false; // scatter: the whole message, complete afterwards
    std::uint64_t at = 0;
    std::vector<std::byte> data = {};
};

} // namespace smartint
