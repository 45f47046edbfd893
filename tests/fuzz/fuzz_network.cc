// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// In place of the engine's own common_smartint_network.cc: the class network without UCX. It keeps
// the transport's promises (a completion is called once, from progress(), and never after
// close()), and reads every byte it is given to send.
#include "common_smartint_network.h"

#include <cerrno>
#include <cstring>
#include <set>

#include "fuzz_input.h"
#include "fuzz_system.h"

namespace smartint {

struct network::impl {
    handler on_message = nullptr;
    void *arg = nullptr;
    unsigned connections = 0; // open ones
    std::set<char *> pinned;  // what operations hold when the engine ends goes with the network
};

namespace {

constexpr std::size_t address_bytes = 24;

// What an uninitialised or freed byte, or one too far, would be noticed at.
void read_all(const void *data, std::size_t bytes) {
    std::vector<std::byte> copy(bytes);
    if (0 != bytes) {
        std::memcpy(copy.data(), data, bytes);
    }
}

network::result answered() {
    switch (fuzz::the_system().answer()) {
    case 2:
        return network::result::again;
    case 3:
        return network::result::broken;
    default:
        return network::result::done;
    }
}

// Done at once, or queued as the answer says.
network::result begun(network_completion *c, bool *queued) {
    const network::result r = answered();
    *queued = false;
    if (network::result::done == r) {
        const unsigned how = fuzz::the_system().answer();
        *queued = how >= 2;
        if (*queued) {
            fuzz::the_system().writes.emplace_back(c, 2 == how);
        }
    }
    return r;
}

} // namespace

int network::open(const network_config &cfg, handler h, void *arg) {
    impl_ = new impl{h, arg, 0, {}};
    address_.assign(address_bytes, std::byte{7});
    caps_.write = cfg.allow_write && fuzz::the_system().can_write;
    caps_.read = cfg.allow_read && fuzz::the_system().can_read;
    caps_.registers = fuzz::the_system().registers;
    caps_.max_message = 1016; // ud's over an Ethernet
    caps_.min_read = 65;
    caps_.max_read = 8192;
    caps_.max_in_place = 2048;
    caps_.max_write = 8192;
    return 0;
}

void network::close() {
    if (is_open()) {
        MUST_HOLD(0 == impl_->connections); // UCX crashes where one is left
        fuzz::the_system().writes.clear();
        for (char *p : impl_->pinned) {
            delete p;
        }
    }
    delete impl_;
    impl_ = nullptr;
}

std::uint32_t network::max_message(const std::byte *address, std::size_t bytes) const {
    read_all(address, bytes);
    return bytes < 8 ? 0 : caps_.max_message;
}

void *network::connect(const std::byte *address, std::size_t bytes) {
    read_all(address, bytes);
    if (3 == fuzz::the_system().answer()) {
        return nullptr;
    }
    ++impl_->connections;
    return new char;
}

void network::disconnect(void *connection) {
    if (nullptr != connection) {
        --impl_->connections;
        delete static_cast<char *>(connection);
    }
}

network::result network::send(void *connection, std::uint64_t, const void *header, std::uint32_t header_bytes,
                              const void *payload, std::uint32_t payload_bytes) {
    read_all(connection, 1);
    MUST_HOLD(sizeof(std::uint64_t) + header_bytes + payload_bytes <= caps_.max_message);
    read_all(header, header_bytes);
    read_all(payload, payload_bytes);
    return answered();
}

network::result network::send_in_place(void *connection, std::uint64_t, const void *header, std::uint32_t header_bytes,
                                       const std::byte *payload, std::uint32_t payload_bytes, network_completion *c,
                                       bool *queued) {
    read_all(connection, 1);
    MUST_HOLD(header_bytes <= most_header && payload_bytes <= caps_.max_in_place);
    read_all(header, header_bytes);
    read_all(payload, payload_bytes);
    return begun(c, queued);
}

network::result network::write(void *connection, const std::byte *local, const network_memory *m, std::uint64_t bytes,
                               std::uint64_t, const network_key *k, network_completion *c, bool *queued) {
    read_all(connection, 1);
    MUST_HOLD(bytes <= caps_.max_write);
    MUST_HOLD(!caps_.registers || (nullptr != m->handle && k->valid));
    read_all(local, bytes);
    return begun(c, queued);
}

network::result network::read(void *connection, std::byte *local, const network_memory *m, std::uint64_t bytes,
                              std::uint64_t, const network_key *k, network_completion *c, bool *queued) {
    read_all(connection, 1);
    MUST_HOLD(bytes >= caps_.min_read && bytes <= caps_.max_read);
    MUST_HOLD(!caps_.registers || (nullptr != m->handle && k->valid));
    std::memset(local, 7, bytes);
    return begun(c, queued);
}

network::result network::flush(void *connection, network_completion *c, bool *queued) {
    read_all(connection, 1);
    return begun(c, queued);
}

bool network::connecting(const void *) const { return 3 == fuzz::the_system().answer(); }

bool network::unused(const void *) const { return 3 == fuzz::the_system().answer(); }

bool network::unsent(void *) const { return 3 == fuzz::the_system().answer(); }

bool network::holds_tail() const { return 3 == fuzz::the_system().answer(); }

// The handle is memory: used after unpin(), it is noticed.
bool network::pin(const void *address, std::uint64_t bytes, network_memory *out) {
    read_all(address, bytes);
    if (3 == fuzz::the_system().answer()) {
        return false;
    }
    MUST_HOLD(nullptr == out->handle);
    out->handle = *impl_->pinned.insert(new char).first;
    out->key_bytes = fuzz::key_bytes;
    std::memset(out->key, 9, fuzz::key_bytes);
    return true;
}

void network::unpin(network_memory *m) {
    if (nullptr != m->handle && is_open()) {
        MUST_HOLD(1 == impl_->pinned.erase(static_cast<char *>(m->handle)));
        delete static_cast<char *>(m->handle);
    }
    m->handle = nullptr;
    m->key_bytes = 0;
}

bool network::unpack(const std::byte *key, std::uint32_t bytes, network_key *out) {
    read_all(key, bytes);
    MUST_HOLD(!out->valid);
    out->valid = fuzz::key_bytes == bytes;
    return out->valid;
}

void network::release(network_key *k) { k->valid = false; }

unsigned network::progress() {
    auto &s = fuzz::the_system();
    unsigned n = 0;
    for (std::size_t left = s.writes.size(); left > 0; --left, ++n) {
        const auto [c, ok] = s.writes.front();
        s.writes.pop_front();
        c->done(c->arg, ok);
    }
    for (; !s.inbox.empty(); ++n) {
        const auto m = std::move(s.inbox.front());
        s.inbox.pop_front();
        impl_->on_message(impl_->arg, m.data(), static_cast<std::uint32_t>(m.size()));
    }
    return n;
}

std::vector<void *> network::take_lost() { return std::exchange(fuzz::the_system().lost, {}); }

bool network::arm() { return true; }

} // namespace smartint
