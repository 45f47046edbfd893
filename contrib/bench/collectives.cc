// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// collectives: every nonblocking collective of MPI-3.1, posted, computed behind, and waited for (SI
// Figures 4.11 to 4.13, CH Figures 9 and 10). Plain MPI-3.1, for any MPI library:
//
//     mpicxx -O2 -std=c++20 -o collectives collectives.cc && mpirun -np 4 ./collectives --help

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1

#include "bench_hide.h"
#include "collectives_list.h"

namespace bench {
namespace {

struct options : program_options, hide_options {
    std::vector<std::string> names = collective_names();
    std::vector<std::size_t> sizes{64 << 10, 256 << 10, 1 << 20};
};

options parse(int argc, char **argv) {
    options o;
    std::string known;
    for (const std::string &name : collective_names()) {
        known += (known.empty() ? "" : ", ") + name;
    }
    arguments a("collectives - nonblocking collectives, hidden behind computation of all ranks\n\n"
                "  mpirun -np 4 ./collectives [options]\n\n"
                "Every rank's data is checked after every collective.\n");
    a.add('o', "only", "LIST", "of " + known + " (default: all)", [&o](const char *text) {
        o.names.clear();
        for (const auto part : split(text)) {
            const auto all = collective_names();
            if (all.end() == std::find(all.begin(), all.end(), part)) {
                bad_value("only", part);
            }
            o.names.emplace_back(part);
        }
    });
    a.sizes('s', "sizes", "bytes of one rank's block, default 64K,256K,1M", o.sizes);
    o.hide_options::add_to(a);
    o.program_options::add_to(a);
    a.parse(argc, argv);
    return o;
}

int main_program(int argc, char **argv) {
    const options o = parse(argc, argv);
    program p(argc, argv, o);
    if (p.size() < 2 || p.size() > 1024) {
        p.refuse("2 to 1024 ranks");
    }
    hiding h(p, o);
    h.title("collective");
    for (const std::string &name : o.names) {
        for (const std::size_t bytes : o.sizes) {
            // a barrier has no size
            if ("ibarrier" == name && bytes != o.sizes.front()) {
                continue;
            }
            const auto c = make_collective(name, p.rank(), p.size(), bytes);
            h.measure(*c, name, bytes, {{name, true, false}});
        }
    }
    h.close();
    return p.end(h.wrong());
}

} // namespace
} // namespace bench

int main(int argc, char **argv) { return bench::main_program(argc, argv); }
