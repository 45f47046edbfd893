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
    helper_client() = default;
    ~helper_client();
    helper_client(const helper_client &) = delete;
    helper_client &operator=(const helper_client &) = delete;
    // Start helper number `index` for the board. The child is a session of its own, holds no
    // descriptor of ours but the board's, and never raises SIGCHLD here. 0 or an errno.
    // relays: there are other nodes. Else it opens no network. again: in the place of one that ended; if this one fails
    // there is another try (helper_gone), as a first one has none (helper_absent).
    int start(const segment &board, const params &p, unsigned index, const std::string &program, bool relays,
              bool again = false);
    // The network address of helper 0, waiting at most `milliseconds` for it; empty: none. Empty at once where that
    // helper has said that it can't start; `late` where the time was over. Other helpers that failed meanwhile:
    // any_failed().
    std::vector<std::byte> address(const segment &board, unsigned milliseconds, bool *late);
    // Why the helper that relays runs without its network, in words; empty: it has one, needs none, or does not run.
    static std::string network_problem(const segment &board);
    // True: one that was started has said that it can't, or ended without a word. Each is told once.
    bool any_failed(const segment &board);
    bool none_starting() const { return starting_.empty(); }

private:
    struct starter {
        unsigned index; // of the helper
        int pid;
        int pidfd; // or -1, where there is none to be had
        bool again;
    };
    bool look_for_failed(const segment &board);

    std::vector<starter> starting_; // gone as soon as the helper itself runs
    bool failed_ = false;           // seen by address(), still to be told
};

} // namespace smartint
