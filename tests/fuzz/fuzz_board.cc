// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Fuzz target: a board every shared byte of which somebody else may have written. A rank and the
// node's helper use it while it changes between their steps. Whatever stands there, they must not
// crash, hang, or touch memory beside it; what they do to others is the kernel's to allow.
#include "fuzz_engine.h"
#include "smartintd_core.h"

namespace smartint::daemon {

class core_access {
public:
    static void prepare(core &c) { c.unlinked_ = true; } // nor later
    static void scan(core &c) { c.scan(); }
    static void watch_ranks(core &c) { c.watch_ranks(); }
    static bool anything_armed(const core &c) { return c.anything_armed(); }
    static void rank_gone(core &c, unsigned slot) { c.rank_gone(slot); }
    static relay &the_relay(core &c) { return c.relay_; }
};

} // namespace smartint::daemon

namespace smartint::fuzz {
namespace {

using daemon::core_access;

// Write a number somewhere: places that mean something come more often than their size tells.
void poke(input &in, segment &s) {
    auto *base = reinterpret_cast<std::byte *>(&s.header());
    const std::size_t relay_at = static_cast<std::size_t>(reinterpret_cast<std::byte *>(&s.relay()) - base);
    const std::size_t nodes_at = static_cast<std::size_t>(reinterpret_cast<std::byte *>(s.nodes()) - base);
    const auto slot_at = [&] {
        return static_cast<std::size_t>(reinterpret_cast<std::byte *>(&s.slot(in.below(slots))) - base);
    };
    std::size_t at = 0;
    switch (in.below(12)) {
    case 0:
        at = in.below(sizeof(layout::segment_header));
        break;
    case 1:
        at = sizeof(layout::segment_header) + in.below(2) * sizeof(layout::helper_line) +
             in.below(sizeof(layout::helper_line));
        break;
    case 2:
    case 3:
        at = slot_at() + in.below(56) * 8; // control
        break;
    case 4:
        at = slot_at() + offsetof(layout::slot, requests) + in.below(4) * 64 + in.below(6) * 8;
        break;
    case 5:
        at = slot_at() + offsetof(layout::slot, notices) + in.below(64) * 32 + in.below(4) * 8;
        break;
    case 6:
        at = slot_at() + offsetof(layout::slot, seen) + in.below(64) * 8;
        break;
    case 7:
        at = slot_at() + offsetof(layout::slot, copies) + in.below(4) * 16 + in.below(2) * 8;
        break;
    case 8:
        at = slot_at() + offsetof(layout::slot, ring) + in.below(2) * 64;
        break;
    case 9:
        at = slot_at() + sizeof(layout::slot) + in.take<std::uint16_t>() % 16384;
        break;
    case 10:
        at = nodes_at + in.below(16) * sizeof(layout::node_entry) + in.below(128);
        break;
    default:
        at = relay_at + in.take<std::uint16_t>() % sizeof(layout::relay_queue);
        break;
    }
    const std::uint64_t value = in.number();
    const std::size_t size = std::size_t{1} << in.below(4);
    const std::size_t whole = relay_at + sizeof(layout::relay_queue);
    if (at + size <= whole) {
        std::memcpy(base + at, &value, size);
    }
}

remote_node some_node(input &in, const std::byte *address) {
    return {in.number(), address, in.below(layout::node_address_bytes + 1), in.number(), in.number()};
}

void rank_step(input &in, victim &v) {
    engine &e = v.e;
    switch (in.below(8)) {
    case 0: {
        const key k{in.number(), in.number()};
        e.enter();
        engine_access::post_notice(e, v.peers[in.below(static_cast<unsigned>(v.peers.size()))], k, in.byte(),
                                   in.byte());
        e.leave();
        break;
    }
    case 1: {
        const std::byte address[layout::node_address_bytes]{};
        const remote_node node = some_node(in, address);
        e.add_network(name_of(10 + in.below(20)), address, sizeof(address), &node, in.byte());
        break;
    }
    default:
        v.step(in);
        break;
    }
}

void helper_step(input &in, daemon::core &c) {
    switch (in.below(6)) {
    case 0:
        core_access::scan(c);
        break;
    case 1:
        core_access::watch_ranks(c);
        break;
    case 2:
        core_access::anything_armed(c);
        break;
    case 3:
        core_access::rank_gone(c, in.byte());
        break;
    case 4: { // from another node, and it knows the secret
        if (!core_access::the_relay(c).is_open()) {
            break; // only the first helper has one
        }
        struct {
            std::uint64_t word;
            layout::relay_message_header h;
            layout::relay_message_item item;
        } m{};
        m.word = ring_word::pack(64, 0, 1);
        m.h = {static_cast<std::uint32_t>(layout::magic),
               layout::version,
               1,
               c.board().header().job,
               0,
               c.board().header().secret_hi,
               c.board().header().secret_lo};
        m.item = {in.below(slots + 1), 0, in.number(), in.number(), in.number()};
        core_access::the_relay(c).receive(reinterpret_cast<const std::byte *>(&m), sizeof(m));
        break;
    }
    default:
        c.pass();
        break;
    }
}

} // namespace
} // namespace smartint::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t bytes) {
    using namespace smartint;
    using namespace smartint::fuzz;
    reset_system();
    input in(data, bytes);
    victim v(in);
    daemon::options o;
    o.index = in.below(2);
    daemon::core helper(o);
    // A rank is still to come: else it would look for a processing unit, which takes long.
    auto &last = v.e.board_segment().slot(slots - 1).control.attached;
    last.store(0, std::memory_order_relaxed);
    MUST_HOLD(helper.start(fcntl(v.e.board_segment().fd(), F_DUPFD_CLOEXEC, 10)));
    daemon::core_access::prepare(helper);
    last.store(1, std::memory_order_relaxed);
    while (!in.empty()) {
        switch (in.below(5)) {
        case 0:
        case 1:
            poke(in, v.e.board_segment());
            break;
        case 2:
            rank_step(in, v);
            break;
        case 3:
            helper_step(in, helper);
            break;
        default:
            v.deliver(in);
            break;
        }
    }
    return 0;
}
