// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Fuzz target: messages at the helper from other nodes' helpers, and its own way out: a queue and a
// table of nodes that the ranks write. Without the secret nothing is delivered; what waits for a
// node that does not take it is bounded.
#include <fcntl.h>

#include <vector>

#include "common_smartint_nodes.h"
#include "common_smartint_segment.h"
#include "fuzz_input.h"
#include "fuzz_system.h"
#include "smartintd_relay.h"

#include "common_smartint_ring.h"

namespace smartint::fuzz {
namespace {

constexpr std::uint32_t slots = 3;
constexpr std::uint32_t job = 7;

struct relayed {
    explicit relayed(input &in) {
        the_system().answers.resize(in.below(8));
        in.take_into(the_system().answers.data(), the_system().answers.size());
        MUST_HOLD(0 == board.create(directory(), {job, slots, 16384, 1}));
        board.unlink();
        MUST_HOLD(out.open({}, [this](std::uint32_t slot, const key &, std::uint64_t) {
            MUST_HOLD(slot < slots);
            ++delivered;
        }));
    }
    ~relayed() { board.close_fd(); }

    // A changed one may be taken for that: nothing is delivered of it.
    static bool becomes_moved(const std::vector<std::byte> &m) {
        return m.size() == 8 + sizeof(layout::relay_message_moved) && std::byte{2} == m[1];
    }

    void message(input &in) {
        layout::relay_message_header h{};
        const auto count = static_cast<std::uint16_t>(in.flag() ? in.below(40) : in.number());
        const bool knows = in.below(4) > 0;
        const auto &own = board.header();
        h = {static_cast<std::uint32_t>(layout::magic), layout::version, count, job, 0, own.secret_hi, own.secret_lo};
        if (!knows) { // all but some bit of it
            const unsigned bit = in.below(128);
            (bit < 64 ? h.secret_hi : h.secret_lo) ^= 1ULL << (bit % 64);
        }
        const std::size_t items = 0 == in.below(8) ? in.below(40) : count % 64;
        std::vector<std::byte> m(8 + sizeof(h) + items * sizeof(layout::relay_message_item));
        const std::uint64_t word = ring_word::pack(static_cast<std::uint32_t>(m.size() - 8), 0, 1);
        std::memcpy(m.data(), &word, 8);
        std::memcpy(m.data() + 8, &h, sizeof(h));
        for (std::size_t i = 0; i < items; ++i) {
            const layout::relay_message_item item{in.below(slots + 2), 0, in.number(), in.number(), in.number()};
            std::memcpy(m.data() + 8 + sizeof(h) + i * sizeof(item), &item, sizeof(item));
        }
        if (0 == in.below(4)) {
            // not in the secret: it might become the right one
            const std::size_t at = in.byte() % m.size();
            if (at < 8 + offsetof(layout::relay_message_header, secret_hi) || at >= 8 + sizeof(h)) {
                m[at] ^= std::byte{in.byte()};
            }
        }
        if (0 == in.below(8)) {
            m.resize(in.take<std::uint16_t>() % (m.size() + 1));
        }
        m.shrink_to_fit();
        const std::uint64_t before = delivered;
        const std::uint64_t rejected = out.rejected();
        if (in.flag()) {
            out.receive(m.data(), static_cast<std::uint32_t>(m.size()));
        } else {
            the_system().inbox.push_back(m);
            out.progress();
        }
        MUST_HOLD(knows || (before == delivered && rejected < out.rejected()));
        MUST_HOLD(delivered - before <= layout::relay_batch);
        MUST_HOLD(before < delivered || rejected < out.rejected() || becomes_moved(m));
    }

    // What a helper says that took another's place.
    void moved(input &in) {
        layout::relay_message_moved m = compose_moved(board, in.below(layout::max_nodes), {});
        m.head.secret_hi = board.header().secret_hi;
        m.head.secret_lo = board.header().secret_lo;
        m.node = in.below(4);
        m.address_bytes =
            in.flag() ? in.below(layout::node_address_bytes + 2) : static_cast<std::uint32_t>(in.number());
        in.take_into(m.address, in.below(sizeof(m.address)));
        m.generation = in.flag() ? 2 * in.below(8) : static_cast<std::uint32_t>(in.number());
        const bool whole = 0 != m.node && 0 != m.generation && 0 == m.generation % 2 && 0 != m.address_bytes &&
                           m.address_bytes <= sizeof(m.address);
        const bool knows = in.below(4) > 0;
        m.head.secret_lo ^= knows ? 0 : 1ULL << in.below(64);
        std::vector<std::byte> all(8 + sizeof(m));
        const std::uint64_t word = ring_word::pack(sizeof(m), 0, 2);
        std::memcpy(all.data(), &word, 8);
        std::memcpy(all.data() + 8, &m, sizeof(m));
        const std::uint64_t rejected = out.rejected();
        const bool cut = 0 == in.below(8);
        if (cut) {
            all.resize(in.below(static_cast<std::uint32_t>(all.size())));
            all.shrink_to_fit();
        }
        out.receive(all.data(), static_cast<std::uint32_t>(all.size()));
        MUST_HOLD((whole && knows && !cut) == (rejected == out.rejected()));
    }

    void queue(input &in) {
        for (unsigned n = in.byte(); n > 0; --n) {
            if (!relay_post(board.relay(), static_cast<std::uint32_t>(in.number()) % 1030,
                            static_cast<std::uint32_t>(in.number()), {1, 2}, 3, n)) {
                return;
            }
        }
    }

    void node(input &in) {
        layout::node_entry &n = board.node(in.number() % layout::max_nodes);
        n.node = in.below(4);
        n.helper.bytes = in.flag() ? 24 : static_cast<std::uint32_t>(in.number());
        n.secret_hi = in.number();
        n.helper.generation.store(in.below(8), std::memory_order_relaxed);
    }

    void poke(input &in) {
        auto *base = reinterpret_cast<std::byte *>(&board.relay());
        const std::size_t at = in.take<std::uint16_t>() % (sizeof(layout::relay_queue) / 8) * 8;
        const std::uint64_t value = in.number();
        std::memcpy(base + at, &value, sizeof(value));
    }

    segment board;
    daemon::relay out{board};
    std::uint64_t delivered = 0;
};

} // namespace
} // namespace smartint::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t bytes) {
    using namespace smartint::fuzz;
    reset_system();
    {
        input in(data, bytes);
        relayed r(in);
        while (!in.empty()) {
            switch (in.below(7)) {
            case 0:
            case 1:
                r.message(in);
                break;
            case 2:
                r.queue(in);
                break;
            case 3:
                r.node(in);
                break;
            case 4:
                r.poke(in);
                break;
            case 5:
                r.moved(in);
                break;
            default:
                r.out.push();
                break;
            }
        }
    }
    return 0;
}
