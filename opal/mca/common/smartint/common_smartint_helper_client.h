// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// A rank's side of the helper: the local leader starts it, all read its line on the board.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common_smartint_params.h"
#include "common_smartint_segment.h"

namespace smartint {

// What the helper is told on its command line besides the board's descriptor (always 3).
inline constexpr int helper_board_fd = 3;

class helper_client {
public:
    // Start helper number `index` for the board. The child is a session of its own, holds no
    // descriptor of ours but the board's, and never raises SIGCHLD here. 0 or an errno.
    // moved_node: 0, or for one that takes the place of a helper that ended the identity of this
    // node: it tells the other nodes where it can be reached now.
    int start(const segment &board, const params &p, unsigned index, const std::string &program,
              std::uint64_t moved_node = 0);
    // The helper's network address, waiting at most `milliseconds` for it; empty: none. Empty at
    // once where the helper has said that it can't start; `late` where the time was over.
    std::vector<std::byte> address(const segment &board, unsigned milliseconds, bool *late);
    // Collect the intermediate children; safe to repeat. True: one said that it can't start.
    bool reap();

private:
    std::vector<int> children_; // the first of the two forks: gone as soon as it has forked
};

} // namespace smartint
