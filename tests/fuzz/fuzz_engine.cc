// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "fuzz_engine.h"

namespace smartint::fuzz {
namespace {

constexpr std::size_t most_operations = 12;
constexpr std::uint32_t context = 1;

void scatter(recv_op *op, std::uint64_t at, const void *data, std::uint64_t bytes) {
    MUST_HOLD(at <= op->capacity && bytes <= op->capacity - at);
    std::memcpy(static_cast<fuzz_recv *>(op)->data.get() + at, data, bytes);
}

// A basic element has 8 bytes: none is split but at the end.
std::uint64_t gather(send_op *op, std::uint64_t at, void *data, std::uint64_t bytes) {
    MUST_HOLD(at <= op->length);
    bytes = std::min(bytes, op->length - at);
    if (at + bytes < op->length) {
        bytes &= ~7ULL;
    }
    std::memcpy(data, static_cast<fuzz_send *>(op)->data.get() + at, bytes);
    return bytes;
}

void receive_done(recv_op *op) {
    auto *r = static_cast<fuzz_recv *>(op);
    MUST_HOLD(r->begun && op_state::done == r->state);
    MUST_HOLD(1 == ++r->delivered);
    MUST_HOLD(r->received <= r->capacity);
}
void send_done(send_op *op) {
    auto *s = static_cast<fuzz_send *>(op);
    MUST_HOLD(s->begun && op_state::done == s->state);
    MUST_HOLD(1 == ++s->delivered);
}
void active_message(endpoint *, std::uint32_t, const std::byte *data, std::uint32_t bytes) {
    std::vector<std::byte> seen(data, data + bytes);
}
void fatal(const char *) {}
void quiet(const report &) {}

std::uint64_t some_length(input &in) {
    static constexpr std::uint32_t lengths[] = {0, 1, 8, 100, 256, 257, 1000, 5000, 70000, 140000};
    return lengths[in.below(sizeof(lengths) / sizeof(lengths[0]))] + in.below(3);
}

std::int32_t some_tag(input &in) { return static_cast<std::int32_t>(in.below(3)) - (0 == in.below(16) ? 20 : 0); }

} // namespace

victim::victim(input &in) {
    set_reporter(quiet);
    params p;
    p.directory = directory();
    p.ring_bytes = 16384;
    p.eager_limit = 256;
    p.network_eager_limit = 256;
    p.arm_from = 0;
    p.copy_bytes = 4096;
    p.write_bytes = 4096;
    p.window_bytes = 65536;
    p.window_rdma = 16;
    const std::uint8_t how = in.byte();
    p.progress = 0 != (how & 1) ? "helper" : "none";
    static const char *const ways[] = {"auto", "read", "write", "copy"};
    p.rendezvous = ways[how >> 1 & 3];
    const bool with_network = 0 != (how & 8);
    the_system().can_write = 0 != (how & 16);
    the_system().can_read = 0 != (how & 32);
    the_system().registers = 0 != (how & 64);
    the_system().answers.resize(how >> 5);
    in.take_into(the_system().answers.data(), the_system().answers.size());
    e.hooks().receive_done = receive_done;
    e.hooks().send_done = send_done;
    e.hooks().active_message = active_message;
    e.hooks().fatal = fatal;
    MUST_HOLD(0 == e.start(p, {name_of(own_slot), own_slot, false}, with_network));
    MUST_HOLD(0 == e.create_board(slots));
    e.board_segment().unlink();
    for (std::uint32_t i = 0; i < slots; ++i) {
        auto &c = e.board_segment().slot(i).control;
        if (own_slot != i) {
            c.pid.store(1000 + i, std::memory_order_relaxed);
            c.vpid = i;
            c.attached.store(1, std::memory_order_relaxed);
        }
    }
    if ("helper" == p.progress) {
        engine_access::pretend_thread(e);
    }
    peers.push_back(e.add_self());
    peers.push_back(e.add_shared(name_of(0), 0));
    if (with_network) {
        std::byte address[24]{};
        peers.push_back(e.add_network(name_of(5), address, sizeof(address), nullptr, 0));
    }
}

victim::~victim() {
    e.finish_operations();
    the_system().answers.clear(); // a network that never takes anything would be waited for, as MPI_Finalize waits
    e.stop();
    reset_system();
}

void victim::check() const {
    // Nothing is kept that was not sent, and nothing for ever that a message can only name.
    MUST_HOLD(engine_access::unexpected_messages(e) <= messages + sends.size());
    MUST_HOLD(engine_access::peers(e) <= 4 + messages);
    MUST_HOLD(engine_access::deferred(e) <= messages + receives.size());
    MUST_HOLD(engine_access::posted(e) <= receives.size());
    MUST_HOLD(engine_access::pending(e) <= 2 * messages + sends.size() + 2 * receives.size() + steps_);
    for (const auto &r : receives) {
        MUST_HOLD(r->delivered <= 1);
    }
}

// A name of an operation: of one of ours, or none.
std::uint64_t victim::some_id(input &in) const {
    const std::uint8_t which = in.byte();
    if (which < 100 && !receives.empty()) {
        return receives[which % receives.size()]->id;
    }
    if (which < 200 && !sends.empty()) {
        return sends[which % sends.size()]->id;
    }
    return in.number();
}

void victim::post_receive(input &in) {
    if (receives.size() >= most_operations) {
        return;
    }
    auto r = std::make_unique<fuzz_recv>();
    const std::uint8_t how = in.byte();
    r->capacity = some_length(in);
    r->data.reset(new std::byte[std::max<std::uint64_t>(1, r->capacity)]);
    r->context = context + (how >> 7);
    r->source = 0 != (how & 1) ? any_source : static_cast<std::int32_t>(how >> 1 & 3);
    r->tag = 0 != (how & 8) ? any_tag : some_tag(in);
    if (0 != (how & 16)) {
        r->recv_op::scatter = scatter;
    } else {
        r->buffer = r->data.get();
    }
    r->blocking = 0 != (how & 32);
    r->peer = 0 != (how & 64) ? peers.back() : nullptr;
    r->begun = true;
    receives.push_back(std::move(r));
    e.enter();
    e.receive(receives.back().get());
    e.leave();
}

void victim::post_send(input &in) {
    if (sends.size() >= most_operations) {
        return;
    }
    auto s = std::make_unique<fuzz_send>();
    const std::uint8_t how = in.byte();
    s->length = some_length(in);
    s->data.reset(new std::byte[std::max<std::uint64_t>(1, s->length)]{});
    s->context = context;
    s->tag = some_tag(in);
    s->peer = peers[(how & 3) % peers.size()];
    s->source = 1;
    if (0 != (how & 4)) {
        s->send_op::gather = gather;
    } else {
        s->buffer = s->data.get();
    }
    s->blocking = 0 != (how & 8);
    s->synchronous = 0 != (how & 16);
    s->begun = true;
    sends.push_back(std::move(s));
    e.enter();
    e.send(sends.back().get());
    e.leave();
}

void victim::cancel(input &in) {
    if (receives.empty()) {
        return;
    }
    fuzz_recv *r = receives[in.below(static_cast<unsigned>(receives.size()))].get();
    if (op_state::posted == r->state) {
        e.enter();
        e.cancel_receive(r);
        e.leave();
    }
}

void victim::probe(input &in) {
    const auto source = in.flag() ? any_source : static_cast<std::int32_t>(in.below(3));
    const auto tag = in.flag() ? any_tag : some_tag(in);
    e.enter();
    unexpected *u = e.peek_unexpected(context, source, tag);
    if (nullptr != u && in.flag() && receives.size() < most_operations) {
        auto r = std::make_unique<fuzz_recv>();
        r->capacity = some_length(in);
        r->data.reset(new std::byte[std::max<std::uint64_t>(1, r->capacity)]);
        r->buffer = r->data.get();
        r->context = context;
        r->begun = true;
        receives.push_back(std::move(r));
        e.take_unexpected(u);
        e.receive_matched(receives.back().get(), u);
    }
    e.leave();
}

void victim::step(input &in) {
    ++steps_; // each may queue a message of its own
    switch (in.below(16)) {
    case 0:
    case 1:
        post_receive(in);
        break;
    case 2:
    case 3:
        post_send(in);
        break;
    case 4:
        cancel(in);
        break;
    case 5:
        probe(in);
        break;
    case 6:
        e.enter();
        e.drop_context(context + in.below(2));
        e.leave();
        break;
    case 7: { // the interrupt thread's turn
        e.enter();
        e.thread_begins();
        e.pass(true);
        const auto view = e.look();
        if (view.matched && in.flag()) {
            e.give_up_matches();
        }
        e.thread_ends();
        e.leave();
        if (view.copies) {
            e.work_on_copies();
        }
        break;
    }
    case 8: // the application waits
        e.begin_wait();
        e.progress();
        e.end_wait();
        break;
    case 9: { // a short one on the fast path
        const std::uint8_t data[300]{};
        const wire::match m{context, 1, some_tag(in)};
        e.enter();
        e.try_eager(peers[1], m, data, in.byte());
        e.leave();
        break;
    }
    case 10: { // the peer reads what it got
        auto &s = e.board_segment().slot(0);
        ring_consumer c;
        std::uint64_t word = 0;
        const std::byte *payload = nullptr;
        c.attach(&s.ring, e.board_segment().ring(0), e.board_segment().ring_bytes());
        for (unsigned n = 0; n < 64 && ring_consumer::result::record == c.peek(word, payload); ++n) {
            c.release();
        }
        break;
    }
    case 11:
        // ranks of this node are not lost: a ring does not break
        if (0 == in.below(8) && route::network == peers.back()->way) {
            e.enter();
            engine_access::lose(e, peers.back());
            e.leave();
        }
        break;
    case 12: { // the BTL's messages
        const std::uint64_t header[6]{};
        const std::uint8_t data[64]{};
        e.enter();
        if (engine::am_result::full == e.active_message(peers.back(), {wire::atomic_answer, header, 16, data, 64})) {
            e.queue_message(peers.back(), {wire::atomic_answer, header, 16, nullptr, 0}, nullptr, nullptr);
        }
        e.leave();
        break;
    }
    default:
        e.progress();
        break;
    }
}

// The header is random, but what must be right for the engine to look further often is.
std::vector<std::byte> victim::message(input &in, std::uint8_t type) {
    std::vector<std::byte> m;
    const auto add = [&](const auto &h) {
        const auto *p = reinterpret_cast<const std::byte *>(&h);
        m.insert(m.end(), p, p + sizeof(h));
    };
    const auto match = [&] { return wire::match{context, static_cast<std::int32_t>(in.below(3)), some_tag(in)}; };
    const auto name = [&] { return name_of(in.below(8)); };
    switch (type) {
    case wire::eager:
        add(match());
        break;
    case wire::eager_sync:
        add(wire::match_sync{match(), 0, name(), some_id(in)});
        break;
    case wire::rts: {
        wire::rendezvous r{};
        r.m = match();
        r.flags = in.byte();
        r.name = name();
        r.sender = some_id(in);
        r.length = in.flag() ? some_length(in) : in.number();
        r.address = in.number();
        r.sequence = in.byte();
        r.address_bytes = in.flag() ? in.below(100) : static_cast<std::uint32_t>(in.number());
        add(r);
        break;
    }
    case wire::cts: {
        wire::answer a{};
        a.sender = some_id(in);
        a.receiver = some_id(in);
        a.address = in.number();
        a.length = in.flag() ? some_length(in) : in.number();
        a.name = name();
        a.how = static_cast<wire::mode>(in.below(5));
        a.sequence = in.byte();
        a.shared = in.flag() ? 0 : in.below(80) << 24 | in.below(4);
        add(a);
        break;
    }
    case wire::data: {
        const std::uint64_t id = some_id(in);
        std::uint64_t offset = in.number();
        for (const auto &r : receives) {
            if (0 != id && r->id == id && in.flag()) {
                offset = r->arrived;
            }
        }
        add(wire::fragment{id, offset});
        break;
    }
    case wire::credit: {
        const std::uint64_t id = some_id(in);
        std::uint64_t bytes = in.number();
        for (const auto &s : sends) {
            if (0 != id && s->id == id && in.flag()) {
                bytes = s->moved;
            }
        }
        add(wire::credit_msg{id, bytes});
        break;
    }
    case wire::fin:
        add(wire::finish{some_id(in), in.below(2), static_cast<wire::outcome>(in.below(3))});
        break;
    case wire::helper_at: {
        const auto &own = e.board_segment().header();
        layout::relay_message_moved moved{};
        moved.head = relay_header(e.board_segment(), 0, own.secret_hi, own.secret_lo ^ in.below(2));
        moved.node = in.below(4);
        moved.generation = in.below(8);
        moved.address_bytes =
            in.flag() ? in.below(layout::node_address_bytes + 2) : static_cast<std::uint32_t>(in.number());
        add(moved);
        break;
    }
    default:
        break;
    }
    const unsigned more = 0 == in.below(4) ? in.byte() * 8U : in.below(40);
    const std::size_t had = m.size();
    m.resize(had + more);
    in.take_into(m.data() + had, std::min<std::size_t>(more, 16));
    if (0 == in.below(16)) {
        m.resize(in.below(static_cast<unsigned>(m.size()) + 1)); // cut off
    }
    if (0 == in.below(16) && !m.empty()) {
        m[in.byte() % m.size()] ^= std::byte{in.byte()};
    }
    m.shrink_to_fit();
    return m;
}

void victim::into_ring(input &in) {
    const std::uint8_t type = in.byte();
    const std::vector<std::byte> m = message(in, type % wire::count_);
    auto &s = e.board_segment();
    ring_producer p;
    p.attach(&s.slot(own_slot).ring, s.ring(own_slot), s.ring_bytes());
    if (m.size() > s.ring_bytes() / 4) {
        return;
    }
    std::byte *at = p.reserve(static_cast<std::uint32_t>(m.size()));
    if (nullptr == at) {
        return;
    }
    if (!m.empty()) {
        std::memcpy(at, m.data(), m.size());
    }
    const std::uint32_t bytes =
        0 == in.below(32) ? static_cast<std::uint32_t>(in.number()) : static_cast<std::uint32_t>(m.size());
    const std::uint16_t source = 0 == in.below(8) ? in.byte() : 2 * in.below(2);
    p.commit(at, ring_word::pack(bytes, source, type));
}

void victim::deliver(input &in) {
    ++messages;
    const unsigned way = in.below(8);
    if (way < 2) {
        into_ring(in);
        return;
    }
    const auto type = static_cast<std::uint8_t>(in.below(wire::count_ + 1));
    std::vector<std::byte> m = message(in, type);
    if (way < 5 || !e.net().is_open()) {
        e.enter();
        engine_access::dispatch(e, peers[1], type, m.data(), static_cast<std::uint32_t>(m.size()), 5 <= way);
        e.leave();
        return;
    }
    std::uint64_t word = ring_word::pack(static_cast<std::uint32_t>(m.size()), 0, type);
    if (0 == in.below(16)) {
        word ^= in.number();
    }
    const auto *w = reinterpret_cast<const std::byte *>(&word);
    m.insert(m.begin(), w, w + sizeof(word));
    m.shrink_to_fit();
    the_system().inbox.push_back(std::move(m));
}

} // namespace smartint::fuzz
