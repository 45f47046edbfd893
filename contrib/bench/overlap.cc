// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// overlap: a rank posts a large receive or send, computes, and waits. Plain MPI-3.1, for any MPI
// library:
//
//     mpicxx -O2 -std=c++20 -o overlap overlap.cc && mpirun -np 2 ./overlap --help
//
// run-overlap and run-lab compare systems with it.

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1

#include "bench_batches.h"
#include "bench_hide.h"

namespace bench {
namespace {

constexpr int tag_data = 11;
constexpr int tag_ack = 12;

struct options : program_options, hide_options {
    std::vector<std::string> modes{"receiver"};
    std::vector<std::size_t> sizes{64 << 10, 256 << 10, 1 << 20, 4 << 20};
    std::string first; // sender, receiver: who posts `ahead` before the other
    double ahead = 50; // us
    bool swap = false;
    bool overlap = true, latency = true, bandwidth = true;
    double figure_time = 0.4; // s for latency and for bandwidth
    std::size_t bw_size = 1 << 20;
    int window = 16;
};

options parse(int argc, char **argv) {
    options o;
    arguments a("overlap - how much of a large message's transfer hides behind computation\n\n"
                "  mpirun -np 2 ./overlap [options]     with more ranks, rank i sends to rank i + np/2\n\n"
                "Measured for every size, from a common start outside MPI:\n"
                "  T_lat    receive posted to receive done, both sides in MPI all the time\n"
                "  T_total  the same with a computation of T_syn between post and wait; where the sender\n"
                "           computes, until both sides are done (the receiver's share of it is in the CSV\n"
                "           as t_arrival)\n"
                "  overlap  (T_syn - (T_total - T_ref)) / T_ref: 1 = all hidden, 0 = none, below 0 = "
                "worse\n"
                "           than in turn\n"
                "  slowed   how much longer the computation took than alone\n"
                "T_ref is this run's own T_lat unless one is given. Received data is always checked.\n");
    a.add('m', "mode", "LIST",
          "who computes: receiver (default), sender, both; exchange: both ways at once, both "
          "compute; none: T_lat only",
          [&o](const char *text) {
              o.modes.clear();
              for (const auto part : split(text)) {
                  if ("receiver" != part && "sender" != part && "both" != part && "exchange" != part &&
                      "none" != part) {
                      bad_value("mode", part);
                  }
                  if ("none" != part) {
                      o.modes.emplace_back(part);
                  }
              }
          });
    a.sizes('s', "sizes", "message sizes, default 64K,256K,1M,4M", o.sizes);
    o.hide_options::add_to(a);
    a.add(0, "first", "WHO", "sender or receiver: posts --ahead us before the other", [&o](const char *text) {
        o.first = text;
        if ("sender" != o.first && "receiver" != o.first) {
            bad_value("first", text);
        }
    });
    a.value(0, "ahead", "US", "by how much (50)", o.ahead, 0., 1e7);
    a.flag(0, "swap", "the upper half of the ranks sends", o.swap);
    a.add('o', "only", "LIST", "of overlap, latency, bandwidth (default: all three)", [&o](const char *text) {
        o.overlap = o.latency = o.bandwidth = false;
        for (const auto part : split(text)) {
            bool &chosen = "overlap" == part     ? o.overlap
                           : "latency" == part   ? o.latency
                           : "bandwidth" == part ? o.bandwidth
                                                 : (bad_value("only", part), o.overlap);
            chosen = true;
        }
    });
    a.value(0, "figure-time", "S", "time for latency and for bandwidth each (0.4)", o.figure_time, 0.01, 1e4);
    a.size(0, "bw-size", "size of the messages for bandwidth (1M)", o.bw_size);
    a.value(0, "window", "N", "how many of them are under way (16)", o.window, 1, 4096);
    o.program_options::add_to(a);
    a.parse(argc, argv);
    return o;
}

// A pair of ranks, and who of them sends.
struct pairing {
    int rank, peer;
    bool sender;

    pairing(const program &p, bool swap) {
        const int half = p.size() / 2;
        rank = p.rank();
        peer = rank < half ? rank + half : rank - half;
        sender = (rank < half) != swap;
    }
};

// One message, or one each way.
class message : public communication {
public:
    message(const pairing &who, const options &o, std::size_t bytes, bool both_ways)
        : who_(who), sends_(who.sender || both_ways), receives_(!who.sender || both_ways), out_(sends_ ? bytes : 0),
          in_(receives_ ? bytes : 0) {
        const char *first = who.sender ? "sender" : "receiver";
        delay_ = o.first.empty() || o.first == first ? 0 : o.ahead;
    }

    void prepare(std::uint64_t repetition) override {
        fill(out_.data(), out_.size(), seed_of(repetition, who_.rank, who_.peer));
        expected_ = seed_of(repetition, who_.peer, who_.rank);
    }

    void post(std::vector<MPI_Request> &requests) override {
        if (receives_) {
            requests.push_back(MPI_REQUEST_NULL);
            MPI_Irecv(in_.data(), static_cast<int>(in_.size()), MPI_BYTE, who_.peer, tag_data, MPI_COMM_WORLD,
                      &requests.back());
        }
        if (sends_) {
            requests.push_back(MPI_REQUEST_NULL);
            MPI_Isend(out_.data(), static_cast<int>(out_.size()), MPI_BYTE, who_.peer, tag_data, MPI_COMM_WORLD,
                      &requests.back());
        }
    }

    std::uint64_t wrong() override { return filled(in_.data(), in_.size(), expected_) ? 0 : 1; }
    bool there() override { return arrived(in_.data(), in_.size(), expected_); }
    bool receives() const override { return receives_; }
    double delay() const override { return delay_; }

private:
    pairing who_;
    bool sends_, receives_;
    std::vector<char> out_, in_;
    std::uint64_t expected_ = 0;
    double delay_ = 0;
};

void overlap(const options &o, const pairing &who, hiding &h) {
    h.title("computes");
    std::vector<hidden_by> one_way;
    bool exchange = false;
    for (const std::string &m : o.modes) {
        exchange |= "exchange" == m;
        if ("exchange" != m) {
            one_way.push_back({m, "both" == m || (who.sender ? "sender" : "receiver") == m, "receiver" == m});
        }
    }
    for (const std::size_t bytes : o.sizes) {
        if (!one_way.empty() || !exchange) {
            message m(who, o, bytes, false);
            h.measure(m, "none", bytes, one_way);
        }
        if (exchange) {
            message m(who, o, bytes, true);
            h.measure(m, "exchange", bytes, {{"exchange", true, false}});
        }
    }
}

// ---- 1-byte latency and large bandwidth
// -----------------------------------------------------------

double ping_pong(const pairing &who, int rounds) {
    char byte = 1;
    const double begin = now_us();
    for (int i = 0; i < rounds; ++i) {
        if (who.sender) {
            MPI_Send(&byte, 1, MPI_CHAR, who.peer, tag_data, MPI_COMM_WORLD);
        }
        MPI_Recv(&byte, 1, MPI_CHAR, who.peer, tag_data, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (!who.sender) {
            MPI_Send(&byte, 1, MPI_CHAR, who.peer, tag_data, MPI_COMM_WORLD);
        }
    }
    return (now_us() - begin) / (2. * rounds);
}

void latency(program &p, const options &o, const pairing &who) {
    const auto v = batches(o.figure_time, 5000, [&who] { return ping_pong(who, 100); });
    p.out().put_both("latency_1_byte", "none", 1, "us", v);
    p.say("1-byte latency %.3f us (median %.3f)\n", smallest(v), median(v));
}

// MB/s of one window.
double window(const options &o, const pairing &who, std::vector<char> &data) {
    std::vector<MPI_Request> requests(static_cast<std::size_t>(o.window));
    char ack = 0;
    const int count = static_cast<int>(o.bw_size);
    const double begin = now_us();
    for (std::size_t i = 0; i < requests.size(); ++i) {
        // receives must not overlap; of sends, which may, all take the first buffer
        if (who.sender) {
            MPI_Isend(data.data(), count, MPI_BYTE, who.peer, tag_data, MPI_COMM_WORLD, &requests[i]);
        } else {
            MPI_Irecv(data.data() + i * (o.bw_size + 64), count, MPI_BYTE, who.peer, tag_data, MPI_COMM_WORLD,
                      &requests[i]);
        }
    }
    MPI_Waitall(o.window, requests.data(), MPI_STATUSES_IGNORE);
    if (who.sender) {
        MPI_Recv(&ack, 1, MPI_CHAR, who.peer, tag_ack, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Send(&ack, 1, MPI_CHAR, who.peer, tag_ack, MPI_COMM_WORLD);
    }
    return static_cast<double>(o.bw_size) * o.window / (now_us() - begin);
}

void bandwidth(program &p, const options &o, const pairing &who) {
    std::vector<char> data((o.bw_size + 64) * static_cast<std::size_t>(o.window));
    const auto v = batches(o.figure_time, 5000, [&] { return window(o, who, data); });
    const double most = *std::max_element(v.begin(), v.end());
    p.out().put("bandwidth_max", "none", o.bw_size, "MB/s", most);
    p.out().put("bandwidth_med", "none", o.bw_size, "MB/s", median(v));
    p.say("bandwidth %.0f MB/s (median %.0f), %d messages of %zu bytes\n", most, median(v), o.window, o.bw_size);
}

int main_program(int argc, char **argv) {
    const options o = parse(argc, argv);
    program p(argc, argv, o);
    if (p.size() < 2 || 0 != p.size() % 2) {
        p.refuse("an even number of ranks");
    }
    const pairing who(p, o.swap);
    hiding h(p, o);
    if (o.latency) {
        latency(p, o, who);
    }
    if (o.overlap) {
        overlap(o, who, h);
    }
    if (o.bandwidth) {
        bandwidth(p, o, who);
    }
    h.close();
    return p.end(h.wrong());
}

} // namespace
} // namespace bench

int main(int argc, char **argv) { return bench::main_program(argc, argv); }
