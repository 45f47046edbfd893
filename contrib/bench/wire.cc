// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// wire: what a transfer over TCP costs a computing process when no library has a part in it. The origin hands all of
// the data to the kernel, whose buffers hold it, and computes; or the target computes while the kernel's
// buffers take it in. What the computation lasts longer is the kernel's own work on that core, which whoever
// sends over this network pays, and no library can be better. MPI only starts it:
//
//     mpicxx -O2 -std=c++20 -o wire wire.cc && mpirun -np 2 ./wire --help

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1

#include "bench_hide.h"

#include <arpa/inet.h>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

namespace bench {
namespace {

struct options : program_options, hide_options {
    std::vector<std::size_t> sizes{64 << 10, 256 << 10, 1 << 20};
};

options parse(int argc, char **argv) {
    options o;
    arguments a("wire - TCP by itself, and computation beside it\n\n"
                "  mpirun -np 2 ./wire [options]\n\n"
                "The first half of the ranks send to the second half, each over a connection of its own.\n"
                "Data is checked.\n");
    a.sizes('s', "sizes", "bytes, default 64K,256K,1M", o.sizes);
    o.hide_options::add_to(a);
    o.program_options::add_to(a);
    a.parse(argc, argv);
    return o;
}

[[noreturn]] void broken(const char *what) {
    std::fprintf(stderr, "wire: %s: %s\n", what, std::strerror(errno));
    MPI_Abort(MPI_COMM_WORLD, 1);
    std::abort();
}

// Where others reach this process: the first interface that is up and not the loopback, or else that.
in_addr_t own_address() {
    in_addr_t found = htonl(INADDR_LOOPBACK);
    ifaddrs *list = nullptr;
    if (0 != getifaddrs(&list)) {
        broken("getifaddrs");
    }
    for (const ifaddrs *i = list; nullptr != i; i = i->ifa_next) {
        if (nullptr != i->ifa_addr && AF_INET == i->ifa_addr->sa_family && 0 != (i->ifa_flags & IFF_UP) &&
            0 == (i->ifa_flags & IFF_LOOPBACK)) {
            found = reinterpret_cast<const sockaddr_in *>(i->ifa_addr)->sin_addr.s_addr;
            break;
        }
    }
    freeifaddrs(list);
    return found;
}

// The kernel is to hold a whole transfer: as root whatever the limit, else up to it.
void widen(int fd, std::size_t bytes) {
    const int wanted = static_cast<int>(2 * bytes + (1 << 16));
    for (const auto &[force, plain] : {std::pair{SO_SNDBUFFORCE, SO_SNDBUF}, std::pair{SO_RCVBUFFORCE, SO_RCVBUF}}) {
        if (0 != setsockopt(fd, SOL_SOCKET, force, &wanted, sizeof(wanted))) {
            setsockopt(fd, SOL_SOCKET, plain, &wanted, sizeof(wanted));
        }
    }
}

int connect_pair(bool origin, int other, std::size_t bytes) {
    sockaddr_in a{};
    socklen_t length = sizeof(a);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0) {
        broken("socket");
    }
    widen(fd, bytes); // before there is a connection: its window scale follows
    if (origin) {
        MPI_Recv(&a, sizeof(a), MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (0 != connect(fd, reinterpret_cast<sockaddr *>(&a), sizeof(a))) {
            broken("connect");
        }
    } else {
        a.sin_family = AF_INET;
        a.sin_addr.s_addr = own_address();
        if (0 != bind(fd, reinterpret_cast<sockaddr *>(&a), sizeof(a)) || 0 != listen(fd, 1) ||
            0 != getsockname(fd, reinterpret_cast<sockaddr *>(&a), &length)) {
            broken("listen");
        }
        MPI_Send(&a, sizeof(a), MPI_BYTE, other, 0, MPI_COMM_WORLD);
        const int accepted = accept(fd, nullptr, nullptr);
        if (accepted < 0) {
            broken("accept");
        }
        close(fd);
        fd = accepted;
    }
    const int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    return fd;
}

class transfer : public communication {
public:
    transfer(const program &p, std::size_t bytes) : rank_(p.rank()), buffer_(bytes) {
        const int half = p.size() / 2;
        origin_ = rank_ < half;
        other_ = origin_ ? rank_ + half : rank_ - half;
        fd_ = connect_pair(origin_, other_, bytes);
    }
    ~transfer() override { close(fd_); }

    void prepare(std::uint64_t repetition) override {
        seed_ = seed_of(repetition, std::min(rank_, other_), std::max(rank_, other_));
        if (origin_) {
            fill(buffer_.data(), buffer_.size(), seed_);
        }
        moved_ = 0;
    }
    void post(std::vector<MPI_Request> &) override {
        if (origin_) {
            go_on();
        }
    }
    void finish(std::vector<MPI_Request> &) override {
        while (moved_ < buffer_.size()) { // as a library waits
            go_on();
        }
        char done = 1;
        ssize_t n = origin_ ? recv(fd_, &done, 1, 0) : send(fd_, &done, 1, 0);
        if (1 != n) {
            broken("the answer");
        }
    }
    std::uint64_t wrong() override { return !origin_ && !filled(buffer_.data(), buffer_.size(), seed_) ? 1 : 0; }
    bool receives() const override { return !origin_; }
    bool latency_of_all() const override { return true; }
    bool origin() const { return origin_; }

private:
    // Without waiting: as much as the kernel takes or has.
    void go_on() {
        while (moved_ < buffer_.size()) {
            char *at = buffer_.data() + moved_;
            const std::size_t left = buffer_.size() - moved_;
            const ssize_t n =
                origin_ ? send(fd_, at, left, MSG_DONTWAIT | MSG_NOSIGNAL) : recv(fd_, at, left, MSG_DONTWAIT);
            if (n <= 0) {
                if (0 == n || (EAGAIN != errno && EINTR != errno)) {
                    broken("the transfer");
                }
                return;
            }
            moved_ += static_cast<std::size_t>(n);
        }
    }

    int rank_, other_ = 0, fd_ = -1;
    bool origin_ = false;
    std::vector<char> buffer_;
    std::size_t moved_ = 0;
    std::uint64_t seed_ = 0;
};

int main_program(int argc, char **argv) {
    const options o = parse(argc, argv);
    program p(argc, argv, o);
    if (p.size() < 2 || 0 != p.size() % 2) {
        p.refuse("an even number of ranks");
    }
    hiding h(p, o);
    h.title("TCP");
    for (const std::size_t bytes : o.sizes) {
        transfer t(p, bytes);
        h.measure(t, "wire", bytes, {{"wire_origin", t.origin(), false}, {"wire_target", !t.origin(), false}});
    }
    h.close();
    return p.end(h.wrong());
}

} // namespace
} // namespace bench

int main(int argc, char **argv) { return bench::main_program(argc, argv); }
