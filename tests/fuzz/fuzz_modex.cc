// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Fuzz target: what a process is told about others and by its user: network addresses (at UCX
// itself), tickets of boards, a board's file, parameters, the helper's arguments. Nothing of it may
// crash, hang, or be taken where it is not whole.
#include <dlfcn.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "common_smartint_engine.h"
#include "common_smartint_log.h"
#include "fuzz_input.h"
#include "smartintd_options.h"

namespace smartint::fuzz {
namespace {

constexpr std::uint32_t job = 7;

std::uint16_t listens = 0; // the interface's port, in network order; 0: none yet

std::uint16_t port_of(const sockaddr *a) {
    return AF_INET == a->sa_family    ? reinterpret_cast<const sockaddr_in *>(a)->sin_port
           : AF_INET6 == a->sa_family ? reinterpret_cast<const sockaddr_in6 *>(a)->sin6_port
                                      : std::uint16_t{0};
}

void on_message(void *, const std::byte *, std::uint32_t) {}

// One interface for all inputs: it listens, and is expensive.
network &the_network() {
    static network *n = [] {
        auto *made = new network;
        network_config cfg;
        cfg.device = "lo";
        if (0 != made->open(cfg, on_message, nullptr)) {
            std::fprintf(stderr, "no tcp over the loopback: %s\n", made->why().c_str());
            std::exit(77);
        }
        MUST_HOLD(0 != listens); // or connect() below is not the one that UCX calls
        return made;
    }();
    return *n;
}

void address(input &in) {
    network &n = the_network();
    std::vector<std::byte> a(n.address());
    if (in.flag()) {
        a.resize(in.below(120));
    }
    for (unsigned changes = in.below(12); changes > 0 && !a.empty(); --changes) {
        a[in.byte() % a.size()] = std::byte{in.byte()};
    }
    a.shrink_to_fit();
    const std::uint32_t most = n.max_message(a.data(), a.size());
    MUST_HOLD(most <= n.caps().max_message);
    void *c = n.connect(a.data(), a.size());
    if (nullptr != c) {
        if (in.flag()) {
            const std::uint64_t word = 1;
            n.send(c, word, &word, sizeof(word), nullptr, 0);
        }
        for (unsigned i = 0; i < 4; ++i) {
            n.progress();
        }
        n.disconnect(c);
    }
    n.progress();
    n.take_lost();
}

// A ticket as the modex brings it, and a board that fits it but for what the input changes.
void ticket(input &in) {
    segment made;
    const std::uint32_t slots = 1 + in.below(3);
    MUST_HOLD(0 == made.create(directory(), {job, slots, 16384, 1}));
    segment_ticket t = made.ticket();
    const bool changed = in.flag();
    if (changed) {
        auto *raw = reinterpret_cast<std::uint8_t *>(&t);
        for (unsigned n = in.below(8); n > 0; --n) {
            raw[in.byte() % sizeof(t)] ^= in.byte();
        }
        if (in.flag()) {
            const std::string name = in.text(sizeof(t.name));
            std::memcpy(t.name, name.data(), name.size());
        }
    }
    const bool same = 0 == std::memcmp(&t, &made.ticket(), sizeof(t));
    {
        engine e;
        params p;
        p.progress = "none";
        MUST_HOLD(0 == e.start(p, {static_cast<std::uint64_t>(job) << 32, in.below(4), false}, false));
        const int error = e.open_board(t);
        MUST_HOLD(!same || (0 == error) == (e.identity().slot < slots));
        // a board is this ticket's only with all that is in it
        MUST_HOLD(0 != error || (t.secret_hi == made.ticket().secret_hi && t.secret_lo == made.ticket().secret_lo &&
                                 t.slots == slots && t.job == job));
        MUST_HOLD((0 == error) == e.board_segment().mapped());
    }
    made.unlink();
    made.close_fd();
}

// A file of the right owner with anything in it.
void file(input &in) {
    static std::vector<std::byte> good = [] {
        segment s;
        MUST_HOLD(0 == s.create(directory(), {job, 2, 16384, 1}));
        s.unlink();
        std::vector<std::byte> bytes(s.header().total_bytes);
        std::memcpy(bytes.data(), &s.header(), bytes.size());
        s.close_fd();
        return bytes;
    }();
    std::vector<std::byte> f(good.begin(), good.begin() + sizeof(layout::segment_header));
    for (unsigned n = in.below(6); n > 0; --n) {
        const std::uint64_t v = in.number();
        const std::size_t at = in.byte() % (f.size() - 8);
        std::memcpy(f.data() + at, &v, std::size_t{1} << in.below(4));
    }
    std::size_t size = good.size();
    if (0 == in.below(3)) {
        size = in.take<std::uint32_t>() % (4U << 20U);
        f.resize(std::min(f.size(), size));
    }
    const int fd = memfd_create("fuzz", MFD_CLOEXEC);
    MUST_HOLD(fd >= 0 && 0 == ftruncate(fd, static_cast<off_t>(size)));
    MUST_HOLD(static_cast<ssize_t>(f.size()) == pwrite(fd, f.data(), f.size(), 0));
    segment s;
    const int error = s.adopt(fd);
    MUST_HOLD((0 == error) == s.mapped());
    if (0 == error) { // all of what it says is there
        for (std::uint32_t i = 0; i < s.slots(); ++i) {
            s.slot(i).control.attached.load(std::memory_order_relaxed);
            static_cast<volatile std::byte *>(s.ring(i))[s.ring_bytes() - 1];
        }
        s.helper(layout::max_helpers - 1).state.load(std::memory_order_relaxed);
        s.node(s.nodes() - 1).helper.generation.load(std::memory_order_relaxed);
        s.relay().entries[layout::relay_entries - 1].stamp.load(std::memory_order_relaxed);
    }
}

void parameters(input &in) {
    params p;
    std::string name;
    std::string value;
    std::string remedy;
#define SMARTINT_STRING(n, def, level, help)                                                                           \
    if (0 == in.below(4)) {                                                                                            \
        p.n = in.text(in.below(24));                                                                                   \
    }
#define SMARTINT_NUMBER(n, def, lowest, highest, level, help)                                                          \
    if (0 == in.below(8)) {                                                                                            \
        p.n = static_cast<std::uint32_t>(in.number());                                                                 \
    }
#include "common_smartint_params.def"
#undef SMARTINT_STRING
#undef SMARTINT_NUMBER
    if (!check_params(p, &name, &value, &remedy)) {
        MUST_HOLD(!name.empty() && !remedy.empty());
    }
}

void arguments(input &in) {
    static const char *const names[] = {
        "--index=", "--poll-us=", "--launcher=", "--cores=", "--device=", "--transport=", "--board=", ""};
    std::vector<std::string> words{"smartintd"};
    for (unsigned n = in.below(9); n > 0; --n) {
        words.push_back(names[in.below(8)] + in.text(in.below(24)));
    }
    std::vector<char *> argv;
    for (auto &w : words) {
        argv.push_back(w.data());
    }
    argv.push_back(nullptr);
    daemon::options o;
    std::string problem;
    if (daemon::parse_options(static_cast<int>(words.size()), argv.data(), &o, &problem)) {
        MUST_HOLD(o.index < layout::max_helpers && o.poll_us <= 1000000);
    }
    std::vector<unsigned> cpus;
    parse_cpu_list(o.cores, &cpus);
    MUST_HOLD(cpus.size() <= 65536);
}

} // namespace
} // namespace smartint::fuzz

// UCX's own sockets. A changed address may have any port, and behind it may be a stranger's server or, where
// the kernel takes that very port for the side that connects, this socket itself: either answers what isn't
// UCX's, and UCX then ends the process. So only the interface is reached; any other port is closed.
extern "C" int listen(int fd, int backlog) noexcept {
    sockaddr_storage own{};
    socklen_t bytes = sizeof(own);
    if (0 == getsockname(fd, reinterpret_cast<sockaddr *>(&own), &bytes)) {
        smartint::fuzz::listens = smartint::fuzz::port_of(reinterpret_cast<sockaddr *>(&own));
    }
    static const auto real = reinterpret_cast<int (*)(int, int)>(dlsym(RTLD_NEXT, "listen"));
    return real(fd, backlog);
}

extern "C" int connect(int fd, const sockaddr *peer, socklen_t bytes) {
    if ((AF_INET == peer->sa_family || AF_INET6 == peer->sa_family) &&
        smartint::fuzz::port_of(peer) != smartint::fuzz::listens) {
        errno = ECONNREFUSED;
        return -1;
    }
    static const auto real = reinterpret_cast<int (*)(int, const sockaddr *, socklen_t)>(dlsym(RTLD_NEXT, "connect"));
    return real(fd, peer, bytes);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t bytes) {
    using namespace smartint;
    using namespace smartint::fuzz;
    set_reporter([](const report &) {});
    input in(data, bytes);
    while (!in.empty()) {
        switch (in.below(8)) {
        case 0:
        case 1:
            address(in);
            break;
        case 2:
            ticket(in);
            break;
        case 3:
            file(in);
            break;
        case 4:
        case 5:
            parameters(in);
            break;
        default:
            arguments(in);
            break;
        }
    }
    return 0;
}
