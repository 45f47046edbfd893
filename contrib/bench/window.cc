// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// window: many messages under way at once. Their bandwidth; how much of them hides behind the
// receiver's computation; the same with one of them in a derived datatype (CH Figures 2 and 6); and
// with a receiver that comes late, so that they are unexpected (CH Figure 8). Plain MPI-3.1, for
// any MPI library:
//
//     mpicxx -O2 -std=c++20 -o window window.cc && mpirun -np 2 ./window --help

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1

#include "bench_hide.h"

namespace bench {
namespace {

struct options : program_options, hide_options {
    std::vector<std::size_t> sizes{16 << 10, 64 << 10, 256 << 10};
    int window = 64;
    std::vector<int> datatype_at{0, 31, 63};
    bool plain = true, datatype = true, late = true;
};

options parse(int argc, char **argv) {
    options o;
    arguments a("window - many messages under way at once, hidden behind the receiver's computation\n\n"
                "  mpirun -np 2 ./window [options]      with more ranks, rank i sends to rank i + np/2\n\n"
                "  plain     contiguous messages; their bandwidth is that of T_lat, nobody computing\n"
                "  datatype  one of them, at each of some places, is received into a derived datatype\n"
                "  late      the receiver computes before it posts its receives: until it comes, the\n"
                "            sender waits (t_sender in the figures)\n"
                "Received data is always checked.\n");
    a.sizes('s', "sizes", "message sizes, default 16K,64K,256K", o.sizes);
    a.value('w', "window", "N", "messages under way (64)", o.window, 1, 1024);
    a.list(0, "datatype-at", "places of the derived datatype (0,31,63)", o.datatype_at, 0, 1023);
    a.add('o', "only", "LIST", "of plain, datatype, late (default: all three)", [&o](const char *text) {
        o.plain = o.datatype = o.late = false;
        for (const auto part : split(text)) {
            bool &chosen = "plain" == part      ? o.plain
                           : "datatype" == part ? o.datatype
                           : "late" == part     ? o.late
                                                : (bad_value("only", part), o.plain);
            chosen = true;
        }
    });
    o.hide_options::add_to(a);
    o.program_options::add_to(a);
    a.parse(argc, argv);
    return o;
}

class window : public communication {
public:
    // `datatype_at` below 0: all messages are contiguous.
    window(const program &p, std::size_t bytes, int count, int datatype_at)
        : bytes_(bytes), count_(count), datatype_at_(datatype_at), rank_(p.rank()) {
        const int half = p.size() / 2;
        sends_ = rank_ < half;
        peer_ = sends_ ? rank_ + half : rank_ - half;
        // twice the room: a strided message takes every other block of 64 bytes
        data_.resize(static_cast<std::size_t>(count) * stride());
        spare_.resize(bytes);
        MPI_Type_vector(static_cast<int>(bytes / block), block, 2 * block, MPI_BYTE, &strided_);
        MPI_Type_commit(&strided_);
    }
    ~window() override { MPI_Type_free(&strided_); }

    void prepare(std::uint64_t repetition) override {
        repetition_ = repetition;
        for (int i = 0; sends_ && i < count_; ++i) {
            fill(at(i), bytes_, seed(i));
        }
    }

    void post(std::vector<MPI_Request> &requests) override {
        for (int i = 0; i < count_; ++i) {
            requests.push_back(MPI_REQUEST_NULL);
            if (sends_) {
                MPI_Isend(at(i), static_cast<int>(bytes_), MPI_BYTE, peer_, tag, MPI_COMM_WORLD, &requests.back());
            } else if (i == datatype_at_) {
                MPI_Irecv(at(i), 1, strided_, peer_, tag, MPI_COMM_WORLD, &requests.back());
            } else {
                MPI_Irecv(at(i), static_cast<int>(bytes_), MPI_BYTE, peer_, tag, MPI_COMM_WORLD, &requests.back());
            }
        }
    }

    std::uint64_t wrong() override {
        std::uint64_t bad = 0;
        for (int i = 0; !sends_ && i < count_; ++i) {
            if (i == datatype_at_) {
                for (std::size_t b = 0; b < bytes_ / block; ++b) {
                    std::memcpy(&spare_[b * block], at(i) + 2 * b * block, block);
                }
            }
            bad += filled(i == datatype_at_ ? spare_.data() : at(i), bytes_, seed(i)) ? 0 : 1;
        }
        return bad;
    }

    bool there() override {
        // the strided one has its words elsewhere
        for (int i = 0; i < count_; ++i) {
            if (i != datatype_at_ && !arrived(at(i), bytes_, seed(i))) {
                return false;
            }
        }
        return true;
    }

    bool receives() const override { return !sends_; }

private:
    static constexpr std::size_t block = 64;
    static constexpr int tag = 11;

    std::size_t stride() const { return 2 * bytes_ + 64; }
    char *at(int i) { return data_.data() + static_cast<std::size_t>(i) * stride(); }
    std::uint64_t seed(int i) const {
        return seed_of(repetition_ * 1024 + static_cast<std::uint64_t>(i), std::min(rank_, peer_),
                       std::max(rank_, peer_));
    }

    std::size_t bytes_;
    int count_, datatype_at_, rank_, peer_;
    bool sends_;
    std::uint64_t repetition_ = 0;
    std::vector<char> data_, spare_;
    MPI_Datatype strided_;
};

int main_program(int argc, char **argv) {
    const options o = parse(argc, argv);
    program p(argc, argv, o);
    if (p.size() < 2 || 0 != p.size() % 2) {
        p.refuse("an even number of ranks");
    }
    hiding h(p, o);
    h.title("window");
    for (const std::size_t bytes : o.sizes) {
        const auto measure = [&](const std::string &name, int datatype_at, bool late) {
            window w(p, bytes, o.window, datatype_at);
            h.measure(w, name, bytes, {{late ? "late" : name, w.receives(), !late, late}});
        };
        if (0 != bytes % 64) {
            p.refuse("sizes that are multiples of 64");
        }
        if (o.plain) {
            measure("plain", -1, false);
        }
        for (const int i : o.datatype_at) {
            if (o.datatype && i < o.window) {
                measure("datatype_at_" + std::to_string(i), i, false);
            }
        }
        if (o.late) {
            measure("plain", -1, true);
        }
    }
    h.close();
    return p.end(h.wrong());
}

} // namespace
} // namespace bench

int main(int argc, char **argv) { return bench::main_program(argc, argv); }
