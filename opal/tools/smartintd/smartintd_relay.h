// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Notices to and from other nodes' helpers: one connection per pair of nodes, many notices
// in a message, nothing kept for a node that cannot be reached.
#pragma once

#include <chrono>
#include <functional>
#include <unordered_map>
#include <vector>

#include "common_smartint_board.h"
#include "common_smartint_network.h"
#include "common_smartint_segment.h"
#include "smartintd_options.h"

namespace smartint::daemon {

class relay {
public:
    using deliver = std::function<void(std::uint32_t slot, const key &k, std::uint64_t source_seq)>;

    explicit relay(segment &board) : board_(board) {}
    ~relay();

    // False: there is no network, as error() says, or none was asked for.
    bool open(const options &o, deliver d);
    int error() const { return error_; } // an errno; 0: there was none
    network &net() { return network_; }
    bool is_open() const { return network_.is_open(); }

    // Empty the board's outbound queue and send; number of notices taken or sent.
    unsigned push();
    unsigned progress();
    // In the place of a helper that ended: tell the helpers of all nodes known so far that this node's is
    // reached here, and those of others at the first connection. Once, after open.
    void announce();
    bool backlog() const { return waiting_ > 0; }
    // Changes whenever something went out, or begins to wait for a node that nothing waited for: what waits may not
    // be the same as before.
    std::uint64_t moves() const { return moves_; }
    std::uint64_t rejected() const { return rejected_; }
    std::uint64_t sent() const { return sent_; }

    // What arrives, checked field by field; public for the tests.
    void receive(const std::byte *message, std::uint32_t bytes);

    using clock = std::chrono::steady_clock;
    // Until a node that could not be reached is tried again: the first time, and at most. Its notices are dropped.
    static constexpr clock::duration shortest_patience = std::chrono::seconds(1);
    static constexpr clock::duration longest_patience = std::chrono::minutes(5);

private:
    friend class core_access; // tests
    struct node {
        void *connection = nullptr;
        bool broken = false;                       // not tried before `again`, or until another address is known
        clock::time_point again{};                 // when it is tried again
        clock::duration patience{};                // the last wait; doubled at each failure, 0 after a success
        std::uint32_t generation = 0;              // of the address that connection and broken are about
        bool announce = false;                     // our own address is to go first
        std::uint32_t batch = layout::relay_batch; // items of one message that both ends take
        std::uint64_t secret_hi = 0;               // of that node
        std::uint64_t secret_lo = 0;
        std::vector<layout::relay_message_item> items;
    };
    static void on_message(void *self, const std::byte *message, std::uint32_t bytes);
    node *find(std::uint32_t index);
    unsigned flush(std::uint32_t index, node &n);
    network::result send_moved(std::uint32_t index, node &n);
    void receive_moved(std::uint64_t word, const std::byte *data, std::size_t bytes);
    void close(node &n);
    void fail(node &n);

    segment &board_;
    network network_;
    deliver deliver_;
    std::unordered_map<std::uint32_t, node> nodes_;
    bool announces_ = false;
    int error_ = 0;
    std::size_t waiting_ = 0;
    std::uint64_t moves_ = 0;
    std::uint64_t rejected_ = 0;
    std::uint64_t sent_ = 0;
};

} // namespace smartint::daemon
