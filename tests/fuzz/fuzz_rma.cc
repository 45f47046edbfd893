// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Fuzz target: one-sided messages at a process with windows, in the middle of epochs of its own. It must not
// crash, hang, or read or write a byte outside what it exposed and what its own operations named.
#include "fuzz_engine.h"

namespace smartint::fuzz {
namespace {

constexpr std::size_t most_operations = 24;
constexpr std::uint32_t created = 3, dynamic = 4; // windows
constexpr std::uint64_t exposed = 512;            // bytes of each process
constexpr std::uint64_t base_of(std::size_t rank) { return 0x100000 * (rank + 1); }

// An operation's memory must outlive it: all of it is kept to the end.
struct bench {
    victim v;
    std::unique_ptr<std::byte[]> memory{new std::byte[exposed]{}};
    std::unique_ptr<std::byte[]> attached{new std::byte[exposed]{}};
    layout::window_words words[3]{};
    std::vector<std::unique_ptr<std::byte[]>> buffers;
    std::vector<std::unique_ptr<rma_sync>> syncs;
    rma_window *windows[2] = {};
    rma_peer *reached = nullptr; // its memory, by the network

    explicit bench(input &in) : v(in) {
        rma &r = v.e.one_sided();
        const std::uint8_t how = in.byte();
        const bool shares = 0 != (how & 1);
        std::vector<rma_member> members(v.peers.size());
        for (std::size_t i = 0; i < members.size(); ++i) {
            members[i] = {v.peers[i], base_of(i), exposed, nullptr, shares && i < 2 ? &words[i] : nullptr};
        }
        members[0].base = reinterpret_cast<std::uint64_t>(memory.get());
        v.e.enter();
        windows[0] = r.create(created, 0, members, false);
        for (rma_member &m : members) {
            m = {m.ep, 0, 0, nullptr, nullptr};
        }
        windows[1] = r.create(dynamic, 0, members, true);
        r.attach(windows[1], reinterpret_cast<std::uint64_t>(attached.get()), exposed);
        if (0 != (how & 2)) {
            reached = r.peer(windows[0], static_cast<int>(v.peers.size()) - 1);
            reach(reached);
        }
        v.e.leave();
    }
    // As after its answer: the network writes and reads the memory of this target.
    void reach(rma_peer *p) {
        const std::byte key[key_bytes]{};
        p->reached = rma_peer::reach::known;
        if (v.e.net().caps().registers) {
            MUST_HOLD(v.e.net().unpack(key, key_bytes, &p->key));
        }
    }
    ~bench() {
        for (const auto &s : syncs) {
            MUST_HOLD(s->pending <= 64);
        }
    }

    std::byte *buffer(std::uint64_t bytes) {
        buffers.emplace_back(new std::byte[std::max<std::uint64_t>(1, bytes)]{});
        return buffers.back().get();
    }
    rma_sync *sync() {
        syncs.push_back(std::make_unique<rma_sync>());
        return syncs.back().get();
    }
};

rma_layout some_layout(input &in, std::uint64_t unit) {
    rma_layout l;
    const std::uint64_t pieces = 1 + in.below(3);
    for (std::uint64_t i = 0; i < pieces; ++i) {
        l.append(static_cast<std::int64_t>(i * 64), unit * in.below(3));
    }
    if (in.flag()) {
        l.repeat(1 + in.below(2), 192);
    }
    return l;
}

// What the component has checked stands: places in the window, operators on types.
void operation(bench &b, rma_peer *p, input &in) {
    if (b.buffers.size() >= 3 * most_operations) {
        return;
    }
    using what = rma_item::what;
    static constexpr what kinds[] = {what::put, what::get, what::accumulate, what::fetch};
    rma_item *i = rma::make(kinds[in.below(4)]);
    i->type = in.flag() ? rma_type::i64 : rma_type::pair_f64;
    i->op = rma_type::i64 == i->type ? rma_operator::sum : rma_operator::maxloc;
    const bool combines = what::accumulate == i->kind || what::fetch == i->kind;
    // One piece is what the network may write or read by itself.
    i->target_layout =
        !combines && in.flag() ? rma_layout(8 * in.below(65)) : some_layout(in, combines ? rma_type_bytes(i->type) : 8);
    const std::uint64_t bytes = i->target_layout.bytes();
    const bool own = p->ep == b.v.peers[0];
    i->target = own && p->window->dynamic ? reinterpret_cast<std::uint64_t>(b.attached.get()) : p->base;
    if (what::get != i->kind) {
        i->origin = b.buffer(bytes);
        i->origin_layout = rma_layout(bytes);
    }
    if (what::get == i->kind || what::fetch == i->kind) {
        i->result = b.buffer(bytes);
        i->result_layout = rma_layout(bytes);
    }
    if (in.flag()) {
        i->sync = b.sync();
    }
    b.v.e.one_sided().submit(p, i);
}

void call(bench &b, input &in) {
    if (b.syncs.size() >= 4 * most_operations) {
        return;
    }
    rma &r = b.v.e.one_sided();
    rma_window *w = b.windows[in.below(2)];
    rma_peer *p = r.peer(w, static_cast<int>(in.below(static_cast<unsigned>(b.v.peers.size()))));
    if (nullptr != b.reached && in.flag()) {
        w = b.windows[0];
        p = b.reached;
    }
    switch (in.below(12)) {
    case 0:
        r.lock(p, in.flag(), in.flag() ? b.sync() : nullptr, in.below(3));
        break;
    case 1:
        r.unlock(p, b.sync());
        break;
    case 2:
        r.flush(p, b.sync());
        break;
    case 3:
        r.flush_local(p, b.sync());
        break;
    case 4:
        if (w->fences.size() < 8) {
            r.fence(w, in.flag() ? b.sync() : nullptr);
        }
        break;
    case 5:
        if (w->exposures.size() < 8) {
            r.post(w, {p->rank}, in.flag(), in.flag());
            if (in.flag()) {
                r.wait(w, b.sync());
            }
        }
        break;
    case 6:
        r.await_post(p, nullptr);
        break;
    case 7:
        r.complete(p, b.sync());
        break;
    case 8:
        if (rma_hold::none == p->held && r.try_take(p, in.flag(), in.below(3))) {
            r.try_drop(p);
        }
        break;
    default:
        operation(b, p, in);
    }
}

// Mostly of this job, to a window that is there, at places in it; the rest as it comes.
void message(bench &b, input &in) {
    wire::rma_head h{};
    h.name = 0 == in.below(16) ? in.number() : name_of(in.flag() ? 0 : 5);
    h.window = 0 == in.below(16) ? static_cast<std::uint32_t>(in.number()) : created + in.below(2);
    h.sequence = in.byte();
    h.kind = static_cast<wire::rma_kind>(in.below(static_cast<unsigned>(wire::rma_kind::count_) + 1));
    h.op = in.flag() ? static_cast<std::uint8_t>(rma_operator::sum) : in.byte();
    h.type = in.flag() ? static_cast<std::uint8_t>(rma_type::i64) : in.byte();
    h.flags = in.flag() ? 0 : in.byte();
    h.id = in.flag() ? 1 + in.below(8) : in.number();
    h.at = in.flag() ? 8 * in.below(8) : in.number();
    h.more = in.flag() ? 0 : in.number();
    std::vector<rma_run> runs(in.below(4));
    std::uint64_t data = 0;
    const auto base = reinterpret_cast<std::int64_t>(created == h.window ? b.memory.get() : b.attached.get());
    for (rma_run &run : runs) {
        run.offset = 0 == in.below(8) ? static_cast<std::int64_t>(in.number()) : base + 8 * in.below(70);
        run.length = 0 == in.below(8) ? in.number() : 8 * (1 + in.below(4));
        run.stride = 0 == in.below(8) ? static_cast<std::int64_t>(in.number()) : 8 * in.below(16);
        run.count = 0 == in.below(8) ? in.number() : 1 + in.below(3);
        data += run.bytes();
    }
    h.runs = 0 == in.below(16) ? static_cast<std::uint32_t>(in.number()) : static_cast<std::uint32_t>(runs.size());
    data = in.flag() && data < 4096 ? data : in.below(64);
    if (wire::rma_kind::key == h.kind && in.flag()) { // as it should be
        runs.clear();
        h.flags = 0;
        h.runs = 0;
        h.at = base_of(b.v.peers.size() - 1);
        h.more = exposed;
        data = b.v.e.net().caps().registers ? key_bytes : 0;
    }
    std::vector<std::byte> m(sizeof(h) + runs.size() * sizeof(rma_run) + data);
    std::memcpy(m.data(), &h, sizeof(h));
    if (!runs.empty()) {
        std::memcpy(m.data() + sizeof(h), runs.data(), runs.size() * sizeof(rma_run));
    }
    if (0 == in.below(4)) { // as a part of a bundle, or several
        wire::rma_head whole = h;
        whole.kind = in.flag() ? wire::rma_kind::bundle : wire::rma_kind::answers;
        whole.runs = 0;
        std::vector<std::byte> all(sizeof(whole));
        std::memcpy(all.data(), &whole, sizeof(whole));
        for (unsigned n = in.below(3); n > 0; --n) {
            const bool brief = in.flag(); // what it says is in the part itself
            wire::rma_part part{};
            part.bytes = static_cast<std::uint32_t>(m.size());
            if (brief) {
                part = {8 * in.below(5), h.kind, h.op, h.type, h.flags, in.flag() ? h.id : in.number()};
                if (in.flag()) {
                    part.at = static_cast<std::uint64_t>(base) + 8 * in.below(70);
                }
            }
            if (0 == in.below(8)) {
                part.bytes = static_cast<std::uint32_t>(in.number());
            }
            const std::size_t behind = brief ? 8 * in.below(8) : m.size();
            const std::size_t before = all.size();
            const std::size_t rest = behind % wire::rma_part_step;
            all.resize(before + sizeof(part) + behind + (0 == rest ? 0 : wire::rma_part_step - rest));
            std::memcpy(all.data() + before, &part, sizeof(part));
            if (!brief) {
                std::memcpy(all.data() + before + sizeof(part), m.data(), m.size());
            } else if (behind >= sizeof(std::uint64_t)) {
                std::memcpy(all.data() + before + sizeof(part), &h.id, sizeof(h.id));
            }
        }
        m = std::move(all);
    }
    if (0 == in.below(16)) {
        m.resize(in.below(static_cast<unsigned>(m.size()) + 1));
    }
    m.shrink_to_fit(); // its end is where the sanitizer looks
    b.v.e.enter();
    engine_access::dispatch(b.v.e, b.v.peers[0 == in.below(3) ? b.v.peers.size() - 1 : 1], wire::rma, m.data(),
                            static_cast<std::uint32_t>(m.size()), in.flag());
    b.v.e.leave();
}

// The same in its short form.
void short_message(bench &b, input &in) {
    wire::rma_short_head h{};
    h.window = 0 == in.below(16) ? static_cast<std::uint32_t>(in.number()) : created + in.below(2);
    h.sequence = in.byte();
    const unsigned kind = in.below(6);
    h.kind = kind < 4   ? static_cast<wire::rma_kind>(static_cast<unsigned>(wire::rma_kind::put) + kind)
             : kind < 5 ? wire::rma_kind::data
                        : static_cast<wire::rma_kind>(in.byte());
    h.op = in.flag() ? static_cast<std::uint8_t>(rma_operator::sum) : in.byte();
    h.type = in.flag() ? static_cast<std::uint8_t>(rma_type::i64) : in.byte();
    h.flags = in.flag() ? 0 : in.byte();
    h.bytes = 0 == in.below(8) ? static_cast<std::uint32_t>(in.number()) : 8 * in.below(8);
    const auto base = reinterpret_cast<std::uint64_t>(created == h.window ? b.memory.get() : b.attached.get());
    h.at = wire::rma_kind::data == h.kind ? 8 * in.below(4) : 0 == in.below(8) ? in.number() : base + 8 * in.below(70);
    h.id = in.flag() ? 1 + in.below(8) : in.number();
    std::vector<std::byte> m(sizeof(h) + (in.flag() ? std::min(h.bytes, 4096U) : in.below(64)));
    std::memcpy(m.data(), &h, sizeof(h));
    if (0 == in.below(16)) {
        m.resize(in.below(static_cast<unsigned>(m.size()) + 1));
    }
    m.shrink_to_fit();
    b.v.e.enter();
    engine_access::dispatch(b.v.e, b.v.peers[0 == in.below(3) ? b.v.peers.size() - 1 : 1], wire::rma_short, m.data(),
                            static_cast<std::uint32_t>(m.size()), in.flag());
    b.v.e.leave();
}

} // namespace
} // namespace smartint::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t bytes) {
    using namespace smartint::fuzz;
    reset_system();
    input in(data, bytes);
    bench b(in);
    while (!in.empty()) {
        switch (in.below(5)) {
        case 0:
            b.v.e.enter();
            call(b, in);
            b.v.e.leave();
            break;
        case 1:
            b.v.step(in);
            break;
        case 2:
            ++b.v.messages;
            short_message(b, in);
            break;
        default:
            ++b.v.messages;
            message(b, in);
        }
    }
    return 0;
}
