// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
// What an engine does with messages that can't be right.
#include <cstring>
#include <memory>
#include <vector>

#include "harness_exchange.h"

namespace smartint {
namespace {

using namespace test;

struct garbage : testing::Test {
    garbage() : n(with("auto")) {}
    std::uint64_t refused() { return count(n.b, stat::refused_messages); }
    template <class T> void give(std::uint8_t type, const T &t, std::size_t bytes = sizeof(T)) {
        n.b.enter();
        engine_access::dispatch(n.b, n.to_a, type, &t, static_cast<std::uint32_t>(bytes));
        n.b.leave();
    }
    // It must work as before, whatever it was told.
    void works() {
        for (const std::uint64_t bytes : {100ULL, 100000ULL, 300000ULL}) {
            exchange(n, bytes, bytes, true);
        }
    }
    node_pair n;
};

TEST_F(garbage, a_message_shorter_than_its_header_is_refused) {
    const struct {
        std::uint8_t type;
        std::size_t header;
    } types[] = {{wire::eager, sizeof(wire::match)},    {wire::eager_sync, sizeof(wire::match_sync)},
                 {wire::rts, sizeof(wire::rendezvous)}, {wire::cts, sizeof(wire::answer)},
                 {wire::data, sizeof(wire::fragment)},  {wire::credit, sizeof(wire::credit_msg)},
                 {wire::fin, sizeof(wire::finish)},     {wire::helper_at, sizeof(layout::relay_message_moved)}};
    std::uint64_t expected = 0;
    for (const auto &t : types) {
        for (std::size_t bytes = 0; bytes < t.header; ++bytes) {
            // on the heap and as long as it says, so that a byte too far is seen
            const std::vector<std::byte> m(bytes);
            n.b.enter();
            engine_access::dispatch(n.b, n.to_a, t.type, m.data(), static_cast<std::uint32_t>(bytes));
            n.b.leave();
            EXPECT_EQ(++expected, refused()) << int{t.type} << " " << bytes;
        }
    }
    works();
}

TEST_F(garbage, a_type_nobody_knows_is_refused) {
    std::uint64_t expected = 0;
    for (int type = 0; type < 256; ++type) {
        if (wire::none == type || type >= wire::count_) {
            const std::byte m[64]{};
            give(static_cast<std::uint8_t>(type), m);
            EXPECT_EQ(++expected, refused()) << type;
        }
    }
    works();
}

TEST_F(garbage, an_operation_that_is_not_there_is_refused) {
    for (const std::uint64_t id : {0ULL, 1ULL, 1ULL << 32, ~0ULL}) {
        const std::uint64_t before = refused();
        give(wire::cts, wire::answer{id, id, 4096, 10, name_of(0), wire::mode::copy_into, 0, 1, 0});
        give(wire::fin, wire::finish{id, 0, wire::outcome::ok});
        give(wire::fin, wire::finish{id, 1, wire::outcome::ok});
        give(wire::fin, wire::finish{id, 0, wire::outcome::refused});
        const struct {
            wire::fragment f;
            char data[10];
        } d{{id, 0}, {}};
        give(wire::data, d);
        EXPECT_EQ(before + 5, refused());
        give(wire::credit, wire::credit_msg{id, 100}); // may be late: not counted
        EXPECT_EQ(before + 5, refused());
    }
    works();
}

TEST_F(garbage, an_rts_with_a_longer_address_than_message_is_refused) {
    wire::rendezvous r{};
    r.name = name_of(0);
    r.length = 100000;
    for (const std::uint32_t bytes : {1U, 96U, 97U, 0xffffffffU}) {
        r.address_bytes = bytes;
        const std::uint64_t before = refused();
        give(wire::rts, r);
        EXPECT_EQ(before + 1, refused());
    }
    EXPECT_EQ(0U, engine_access::unexpected_messages(n.b));
    works();
}

TEST_F(garbage, fragments_outside_the_agreed_bytes_are_refused) {
    params p = with("copy");
    node_pair m(p);
    test_recv r;
    test_send s;
    r.aim(50000, ctx, 0, tag);
    s.aim(m.to_b, 70000, 1, ctx, 0, tag);
    m.receive(m.b, r);
    m.send(m.a, s);
    m.b.progress(); // has the RTS, has answered
    ASSERT_EQ(op_state::moving, r.state);
    struct {
        wire::fragment f;
        std::byte data[1000];
    } d{};
    d.f.receiver = r.id;
    std::uint64_t expected = 0;
    const auto give_b = [&](std::uint64_t offset, std::uint32_t bytes) {
        d.f.offset = offset;
        m.b.enter();
        engine_access::dispatch(m.b, m.to_a, wire::data, &d, 16 + bytes);
        m.b.leave();
    };
    for (const std::uint64_t offset : {50000ULL, 49001ULL, 60000ULL, 1ULL << 62, ~0ULL}) {
        give_b(offset, 1000);
        EXPECT_EQ(++expected, count(m.b, stat::refused_messages)) << offset;
    }
    give_b(10, 1000);
    EXPECT_EQ(++expected, count(m.b, stat::refused_messages)) << "out of order";
    give_b(100, 0);
    EXPECT_EQ(++expected, count(m.b, stat::refused_messages)) << "nothing in it";
    m.drive("both", [&] { return 1 == s.delivered && 1 == r.delivered; });
    EXPECT_EQ(-1, r.differs(50000, 1));
}

TEST_F(garbage, answers_and_credits_that_do_not_fit_a_send_are_refused) {
    test_send s;
    s.aim(n.to_a, 100000, 1, ctx, 0, tag);
    n.send(n.b, s); // b is the sender here
    ASSERT_EQ(op_state::rts_sent, s.state);
    std::uint64_t before = refused();
    give(wire::cts, wire::answer{s.id, 1, 4096, 100001, name_of(0), wire::mode::copy, 0, 1, 0});
    EXPECT_EQ(++before, refused()) << "more than there is";
    give(wire::cts, wire::answer{s.id, 1, 4096, 100000, name_of(77), wire::mode::copy, 0, 1, 0});
    EXPECT_EQ(++before, refused()) << "from somebody else";
    give(wire::cts, wire::answer{s.id, 1, 4096, 100000, name_of(0), wire::mode::write, 0, 1, 0});
    EXPECT_EQ(++before, refused()) << "over a network that is not there";
    give(wire::credit, wire::credit_msg{s.id, 5});
    EXPECT_EQ(++before, refused()) << "for bytes that were not sent";
    EXPECT_EQ(op_state::rts_sent, s.state);
    test_recv r;
    r.aim(100000, ctx, 0, tag);
    n.receive(n.a, r);
    n.drive("both", [&] { return 1 == s.delivered && 1 == r.delivered; });
    EXPECT_EQ(-1, r.differs(100000, 1));
}

TEST_F(garbage, an_answer_with_a_mode_nobody_knows_is_refused) {
    test_send s;
    s.aim(n.to_a, 100000, 1, ctx, 0, tag);
    n.send(n.b, s);
    const std::uint64_t before = refused();
    give(wire::cts, wire::answer{s.id, 1, 4096, 100000, name_of(0), static_cast<wire::mode>(77), 0, 1, 0});
    give(wire::cts, wire::answer{s.id, 1, 4096, 100000, name_of(0), static_cast<wire::mode>(0), 0, 1, 0});
    EXPECT_EQ(before + 2, refused());
    EXPECT_EQ(op_state::rts_sent, s.state);
    n.b.enter();
    engine_access::dispatch(n.b, n.to_a, wire::fin,
                            std::make_unique<wire::finish>(wire::finish{s.id, 1, wire::outcome::ok}).get(), 16);
    n.b.leave();
}

// Whoever reaches the network's port may guess the names of operations.
TEST_F(garbage, who_an_operation_inside_the_node_is_not_with_is_given_no_way_into_another) {
    test_recv r;
    test_send s;
    r.aim(big, ctx, 0, tag);
    s.aim(n.to_b, big, 3, ctx, 0, tag);
    n.send(n.a, s);
    endpoint third;
    const std::uint64_t before = count(n.a, stat::refused_messages);
    const auto give_a = [&](endpoint *from, std::uint8_t type, const auto &what) {
        n.a.enter();
        engine_access::dispatch(n.a, from, type, &what, sizeof(what));
        n.a.leave();
    };
    const wire::answer into{s.id, 1, 4096, big, name_of(1), wire::mode::copy_into, 0, 1, 0};
    give_a(nullptr, wire::cts, into);
    give_a(&third, wire::cts, into);
    give_a(&third, wire::fin, wire::finish{s.id, 1, wire::outcome::ok});
    give_a(&third, wire::credit, wire::credit_msg{s.id, 0});
    EXPECT_EQ(before + 4, count(n.a, stat::refused_messages));
    EXPECT_EQ(op_state::rts_sent, s.state);
    n.receive(n.b, r);
    n.drive("both", [&] { return 1 == s.delivered && 1 == r.delivered; });
    EXPECT_EQ(-1, r.differs(big, 3));
}

TEST_F(garbage, an_answer_for_no_bytes_at_all_does_not_hang_the_send) {
    test_send s;
    s.aim(n.to_a, 100000, 1, ctx, 0, tag);
    n.send(n.b, s);
    give(wire::cts, wire::answer{s.id, 1, 4096, 0, name_of(0), wire::mode::copy_into, 0, 1, 0});
    for (int i = 0; i < 100; ++i) {
        n.b.progress();
    }
    EXPECT_FALSE(op_state::moving == s.state && engine_access::copies_open(n.b)) << "a copy of nothing never ends";
}

TEST_F(garbage, an_answer_with_a_shared_entry_that_is_not_there_is_refused_and_the_send_goes_on) {
    test_send s;
    s.aim(n.to_a, 200000, 1, ctx, 0, tag);
    n.send(n.b, s);
    const std::uint64_t before = refused();
    for (const std::uint32_t shared : {0xff000001U, 0x41000001U, 0x00000001U}) {
        give(wire::cts, wire::answer{s.id, 1, 4096, 200000, name_of(0), wire::mode::copy_into, 0, 1, shared});
    }
    EXPECT_EQ(before + 3, refused());
    EXPECT_EQ(op_state::rts_sent, s.state) << "the true answer is still to come";
}

TEST_F(garbage, a_finish_from_nowhere_does_not_end_a_receive_that_is_being_read) {
    test_recv r;
    test_send s;
    r.aim(big, ctx, 0, tag);
    s.aim(n.to_b, big, 3, ctx, 0, tag);
    n.receive(n.b, r);
    n.send(n.a, s);
    wire::finish f{1ULL << 32, 0, wire::outcome::ok}; // the first id there is
    n.b.enter();
    n.b.pass(true); // as the interrupt thread: the RTS, no copy yet
    ASSERT_EQ(op_state::moving, r.state);
    f.operation = r.id;
    engine_access::dispatch(n.b, n.to_a, wire::fin, &f, sizeof(f));
    n.b.leave();
    n.drive("both", [&] { return 1 == r.delivered; });
    EXPECT_EQ(-1, r.differs(big, 3)) << "done before its bytes were there";
}

TEST_F(garbage, fragments_for_a_receive_that_reads_are_refused) {
    test_recv r;
    test_send s;
    r.aim(big, ctx, 0, tag);
    s.aim(n.to_b, big, 3, ctx, 0, tag);
    n.receive(n.b, r);
    n.send(n.a, s);
    n.b.enter();
    n.b.pass(true);
    ASSERT_EQ(op_state::moving, r.state);
    struct {
        wire::fragment f;
        std::byte data[1000];
    } d{{r.id, 0}, {}};
    engine_access::dispatch(n.b, n.to_a, wire::data, &d, sizeof(d));
    n.b.leave();
    EXPECT_EQ(1U, refused());
    n.drive("both", [&] { return 1 == r.delivered && 1 == s.delivered; });
    EXPECT_EQ(-1, r.differs(big, 3));
}

TEST_F(garbage, records_of_a_slot_that_is_not_there_are_refused) {
    ring_producer p;
    auto &board = n.a.board_segment();
    p.attach(&board.slot(1).ring, board.ring(1), board.ring_bytes());
    std::byte *at = p.reserve(100);
    std::memset(at, 0, 100);
    p.commit(at, ring_word::pack(100, 4000, wire::eager));
    n.b.progress();
    EXPECT_EQ(1U, refused());
    works();
}

TEST_F(garbage, a_damaged_ring_is_fatal_and_read_no_more) {
    fatal_calls() = 0;
    ring_producer p;
    auto &board = n.a.board_segment();
    p.attach(&board.slot(1).ring, board.ring(1), board.ring_bytes());
    std::byte *at = p.reserve(100);
    p.commit(at, ring_word::pack(0x7fffffff, 0, wire::eager));
    for (int i = 0; i < 10; ++i) {
        n.b.progress();
    }
    EXPECT_GE(fatal_calls(), 1U);
}

TEST_F(garbage, a_message_that_claims_to_come_from_this_process_itself_is_refused) {
    endpoint *self = n.b.add_self();
    wire::match_sync ms{{ctx, 0, tag}, 0, name_of(1), 77};
    wire::rendezvous rts{};
    rts.m = {ctx, 0, tag};
    rts.name = name_of(1);
    rts.length = 100;
    test_recv r[2];
    for (auto &one : r) {
        one.aim(1000, ctx, 0, tag);
        n.receive(n.b, one);
    }
    n.b.enter();
    engine_access::dispatch(n.b, self, wire::eager_sync, &ms, sizeof(ms));
    engine_access::dispatch(n.b, self, wire::rts, &rts, sizeof(rts));
    n.b.leave();
    EXPECT_EQ(2U, refused());
    EXPECT_FALSE(self->lost) << "a forged record must not cut a process off from itself";
    for (auto &one : r) {
        n.b.enter();
        n.b.cancel_receive(&one);
        n.b.leave();
    }
}

TEST_F(garbage, network_messages_without_sense_are_refused) {
    std::vector<std::byte> m(200);
    std::uint64_t expected = 0;
    n.b.enter();
    for (std::uint32_t bytes = 0; bytes < 8; ++bytes) {
        engine_access::take_message(n.b, m.data(), bytes);
        EXPECT_EQ(++expected, refused());
    }
    for (const std::uint64_t word :
         {std::uint64_t{0}, ring_word::pack(192, 0, wire::eager) ^ 1, ring_word::pack(191, 0, wire::eager),
          ring_word::pack(193, 0, wire::eager), ring_word::pack(0xffffffffU, 0, wire::eager)}) {
        std::memcpy(m.data(), &word, 8);
        engine_access::take_message(n.b, m.data(), 200);
        EXPECT_EQ(++expected, refused());
    }
    // an RTS and a synchronous message of a process never met, without an address
    wire::rendezvous r{};
    r.name = name_of(4711);
    std::uint64_t word = ring_word::pack(sizeof(r), 0, wire::rts);
    std::memcpy(m.data(), &word, 8);
    std::memcpy(m.data() + 8, &r, sizeof(r));
    engine_access::take_message(n.b, m.data(), 8 + sizeof(r));
    EXPECT_EQ(++expected, refused());
    wire::match_sync ms{};
    ms.name = name_of(4711);
    word = ring_word::pack(sizeof(ms), 0, wire::eager_sync);
    std::memcpy(m.data(), &word, 8);
    std::memcpy(m.data() + 8, &ms, sizeof(ms));
    engine_access::take_message(n.b, m.data(), 8 + sizeof(ms));
    EXPECT_EQ(++expected, refused());
    n.b.leave();
    works();
}

TEST_F(garbage, an_address_of_a_helper_is_taken_from_this_job_alone) {
    segment &board = n.b.board_segment();
    const std::byte address[] = {std::byte{1}, std::byte{2}};
    const std::int32_t index = publish_node(board, {5, address, 1, 0, 0});
    layout::relay_message_moved m{};
    m.head = relay_header(board, 0, board.header().secret_hi, board.header().secret_lo);
    m.node = 5;
    m.address_bytes = 2;
    m.generation = 4;
    std::memcpy(m.address, address, 2);
    const std::uint64_t before = refused();
    m.head.secret_lo ^= 1;
    give(wire::helper_at, m);
    m.head.secret_lo ^= 1;
    m.address_bytes = layout::node_address_bytes + 1;
    give(wire::helper_at, m);
    m.address_bytes = 2;
    give(wire::helper_at, m, sizeof(m) - 1);
    EXPECT_EQ(before + 3, refused());
    EXPECT_EQ(layout::first_address, board.node(index).helper.generation);
    give(wire::helper_at, m);
    EXPECT_EQ(before + 3, refused());
    EXPECT_LT(layout::first_address, board.node(index).helper.generation);
    works();
}

TEST_F(garbage, random_messages_never_crash_it) {
    generator g(7);
    fatal_calls() = 0;
    for (int i = 0; i < 50000; ++i) {
        const std::uint32_t bytes = g.below(160);
        std::vector<std::byte> m(bytes);
        for (auto &b : m) {
            b = std::byte(g.below(256));
        }
        // small numbers find more than random ones
        for (std::uint32_t k = 0; k + 8 <= bytes; k += 8) {
            if (g.below(2)) {
                const std::uint64_t v = g.below(4) | (g.below(2) ? 1ULL << 32 : 0);
                std::memcpy(m.data() + k, &v, 8);
            }
        }
        const auto type = static_cast<std::uint8_t>(g.below(wire::count_ + 1));
        n.b.enter();
        engine_access::dispatch(n.b, n.to_a, type, m.data(), bytes);
        n.b.leave();
        if (0 == i % 1000) {
            n.b.progress();
            active_messages().clear();
        }
    }
    EXPECT_GT(refused(), 1000U);
    EXPECT_EQ(0U, fatal_calls());
    active_messages().clear();
    for (std::uint32_t c = 0; c < 4; ++c) {
        n.b.enter();
        n.b.drop_context(c);
        n.b.leave();
    }
    works();
}

} // namespace
} // namespace smartint
