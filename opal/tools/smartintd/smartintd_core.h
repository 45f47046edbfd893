// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// The helper: relays notices, matches what comes from elsewhere, wakes ranks, and sleeps
// whenever nobody needs it. A library with a small main(), so that tests run it in-process.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <vector>

#include "common_smartint_segment.h"
#include "common_smartint_wake.h"
#include "smartintd_options.h"
#include "smartintd_place.h"
#include "smartintd_relay.h"

namespace smartint::daemon {

// How long to sleep while the network is full: shortly at first, then longer and longer, up to where a node that stands
// still costs next to nothing. The transport's descriptor tells of what happens sooner; this is for what it misses.
class patience {
public:
    // For the next sleep. moves: relay::moves(); another number than last time: it begins again.
    int next_ms(std::uint64_t moves) {
        if (moves != moves_) {
            moves_ = moves;
            ms_ = shortest_ms;
        }
        return ms_;
    }
    void slept_in_vain() { ms_ = std::min(2 * ms_, longest_ms); } // nothing came, and the time was over

private:
    static constexpr int shortest_ms = 1;
    static constexpr int longest_ms = 32;
    int ms_ = shortest_ms;
    std::uint64_t moves_ = 0;
};

class core {
public:
    explicit core(options o) : options_(std::move(o)), relay_(board_) {}
    ~core();

    // Map the board behind fd (closed in any case), open the relay, say hello. False: why().
    bool start(int board_fd);
    // Until the last rank is gone or stop() is called.
    void run();
    void stop(); // any thread, signal handlers too
    const std::string &why() const { return why_; }
    segment &board() { return board_; }

    // One look at everything: number of events. Public for tests.
    unsigned pass();

private:
    friend class core_access; // tests
    using clock = std::chrono::steady_clock;
    bool watch(int fd, std::uint64_t tag);
    void watch_ranks();
    void rank_gone(unsigned slot);
    void look_after_unwatched();
    void find_a_unit();
    void deliver(std::uint32_t slot, const key &k, std::uint64_t source_seq);
    unsigned scan();
    bool watches() const;
    bool anything_armed() const;
    void watch_network_by_edges(bool yes);
    bool sleep(); // false: there is something to do already
    int look(int milliseconds);
    layout::helper_line &line() { return board_.helper(options_.index); }

    options options_;
    segment board_;
    relay relay_;
    waker waker_;
    patience backlog_patience_; // while the network takes nothing
    std::string why_;
    int epoll_ = -1;
    int doorbell_ = -1;
    placement place_;
    int unit_ = -1; // of our own, or -1
    bool had_unit_ = false;
    bool armed_ = false;         // it watches, and something is armed: when it last looked
    clock::time_point placed_{}; // when that was found out
    std::vector<int> pidfds_;
    std::vector<std::uint32_t> to_wake_; // matched by what just arrived
    std::vector<bool> woken_;            // this rank's `wanted` was acted upon
    unsigned alive_ = 0;
    unsigned unwatched_ = 0; // of them that have no descriptor
    unsigned seen_ = 0;      // ranks that have attached
    int attach_look_ = 0;    // ms until the next look for those who have not
    bool started_ = false;
    bool unlinked_ = false;
    bool watches_network_ = false;  // by its descriptor
    bool network_by_edges_ = false; // woken by what comes anew only
    std::atomic<bool> stop_{false};
};

} // namespace smartint::daemon
