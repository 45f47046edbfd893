// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
// Description: random two-sided traffic in all of MPI's forms, every byte and every order checked,
// replayable by a seed.
//
// In each round all ranks draw the same plan from the seed, the thread's number and the round's:
// messages, which receives may take them, collective calls. Each rank works through it in an order
// and with calls of its own, computing in between, so that messages meet their receives posted or
// not, and the rank inside MPI or away. Two rounds run into each other, then all meet. A failure
// says seed and round; `--seed S --first ROUND --rounds 1` runs that one again. Any MPI 3.1 library
// can run it.
//
//   torture [--seed S] [--time SECONDS] [--rounds N] [--first ROUND] [--threads T] [--messages N]
//   [--max-size BYTES]
//           [--budget BYTES] [--busy MICROSECONDS] [--lenient] [--verbose]
//
// With TORTURE_STAY in the environment a rank that failed stays, for a debugger.
// --lenient leaves out what stock Open MPI 4.1.4 gets wrong: a persistent MPI_Bsend started again
// sends zeros.
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "torture.h"

namespace torture {

options opt;
int my_rank = -1;
int n_ranks = 0;
std::atomic<std::size_t> largest = 0;

namespace {

constexpr unsigned most_threads = 16;
constexpr unsigned rounds_per_set = 16; // communicators are made anew after so many
char notes[most_threads][160];
thread_local unsigned my_thread = 0;

double now() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Told to end, by the launcher or by hand: say where each thread is.
void told(int signal) {
    for (unsigned t = 0; t < opt.threads; ++t) {
        char line[240];
        const int n =
            std::snprintf(line, sizeof(line), "FAILED rank %d: signal %d while %s\n", my_rank, signal, notes[t]);
        [[maybe_unused]] const auto written = ::write(2, line, static_cast<std::size_t>(n));
    }
    _exit(1);
}

} // namespace

std::uint64_t mix(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31);
}

void set_note(unsigned thread, const char *format, ...) {
    my_thread = thread;
    va_list ap;
    va_start(ap, format);
    std::vsnprintf(notes[thread], sizeof(notes[thread]), format, ap);
    va_end(ap);
}

void fail(const char *format, ...) {
    char text[400];
    va_list ap;
    va_start(ap, format);
    std::vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    std::fprintf(stderr, "FAILED rank %d, %s: %s\n", my_rank, notes[my_thread], text);
    std::fflush(stderr);
    if (nullptr != std::getenv("TORTURE_STAY")) { // for a debugger
        ::pause();
    }
    MPI_Abort(MPI_COMM_WORLD, 1);
    _exit(1);
}

void mpi_check(int rc, const char *call) {
    if (MPI_SUCCESS != rc) {
        char text[MPI_MAX_ERROR_STRING] = "";
        int length = 0;
        MPI_Error_string(rc, text, &length);
        fail("%s: %s", call, text);
    }
}

void watch_signals() {
    struct sigaction a {};
    a.sa_handler = told;
    sigaction(SIGTERM, &a, nullptr);
}

// Computing without any MPI call: usually short, sometimes long enough for a whole large message.
void busy(random *r) {
    if (0 == opt.busy_us) {
        return;
    }
    const std::uint64_t most = r->one_in(40) ? 20 * opt.busy_us : opt.busy_us;
    const double end = now() + 1e-6 * static_cast<double>(r->below(most));
    volatile double x = 1.0;
    while (now() < end) {
        for (int i = 0; i < 200; ++i) {
            x = x * 1.0000001 + 1e-9;
        }
    }
}

std::uint64_t run_thread(unsigned thread, MPI_Comm base, MPI_Comm shared) {
    const double end = now() + opt.seconds;
    communicator_set sets[2];
    round_plan plan;
    std::uint64_t round = opt.first;
    std::uint64_t epoch = ~std::uint64_t{0};
    for (int go = 1; go;) {
        set_note(thread, "seed %llu round %llu thread %u, making communicators",
                 static_cast<unsigned long long>(opt.seed), static_cast<unsigned long long>(round), thread);
        if (round / rounds_per_set != epoch) {
            epoch = round / rounds_per_set;
            for (unsigned parity = 0; parity < 2; ++parity) {
                if (!sets[parity].comms.empty()) {
                    sets[parity].free();
                }
                sets[parity].make(base, shared, thread, epoch, parity);
            }
        }
        draw_plan(&plan, sets[round % 2], thread, round);
        if (opt.verbose && 0 == my_rank) {
            std::printf("# thread %u round %llu: %zu places\n", thread, static_cast<unsigned long long>(round),
                        plan.places.size());
            if (1 == opt.rounds) {
                show_plan(plan);
            }
        }
        run_round(plan, sets[round % 2], thread, round);
        ++round;
        const bool last = 0 != opt.rounds && round >= opt.first + opt.rounds;
        if (0 == round % 2 || last) { // nobody is more than one round ahead
            go = !last && (0 != opt.rounds || now() < end);
            MPI(MPI_Bcast(&go, 1, MPI_INT, 0, base));
            MPI(MPI_Barrier(base));
        }
    }
    for (communicator_set &set : sets) {
        set.free();
    }
    return round - opt.first;
}

} // namespace torture

namespace {

void usage() {
    std::fprintf(stderr, "usage: torture [--seed S] [--time SECONDS] [--rounds N] [--first ROUND] [--threads T]\n"
                         "       [--messages N] [--max-size BYTES] [--budget BYTES] [--busy MICROSECONDS] "
                         "[--lenient]\n"
                         "       [--verbose]\n");
    std::exit(2);
}

void read_options(int argc, char **argv) {
    using torture::opt;
    opt.seed = static_cast<std::uint64_t>(time(nullptr));
    for (int i = 1; i < argc; ++i) {
        const std::string name = argv[i];
        if ("--verbose" == name) {
            opt.verbose = true;
            continue;
        }
        if ("--lenient" == name) {
            opt.lenient = true;
            continue;
        }
        if (++i == argc) {
            usage();
        }
        const std::uint64_t number = std::strtoull(argv[i], nullptr, 0);
        if ("--seed" == name) {
            opt.seed = number;
        } else if ("--time" == name) {
            opt.seconds = std::atof(argv[i]);
        } else if ("--rounds" == name) {
            opt.rounds = number;
        } else if ("--first" == name) {
            opt.first = number;
        } else if ("--threads" == name && number >= 1 && number <= 16) {
            opt.threads = static_cast<unsigned>(number);
        } else if ("--messages" == name && number >= 1) {
            opt.messages = static_cast<unsigned>(number);
        } else if ("--max-size" == name && number <= 0x7fffffff) {
            opt.max_size = number;
        } else if ("--budget" == name) {
            opt.budget = number;
        } else if ("--busy" == name) {
            opt.busy_us = static_cast<unsigned>(number);
        } else {
            usage();
        }
    }
}

} // namespace

int main(int argc, char **argv) {
    using namespace torture;
    read_options(argc, argv);
    int provided = 0;
    const int wanted = opt.threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
    MPI(MPI_Init_thread(&argc, &argv, wanted, &provided));
    MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    watch_signals();
    set_note(0, "beginning");
    if (provided < wanted) {
        fail("thread level %d, wanted %d", provided, wanted);
    }
    MPI(MPI_Bcast(&opt.seed, 1, MPI_UINT64_T, 0,
                  MPI_COMM_WORLD)); // it may have come from the clock
    if (0 == my_rank) {
        std::printf("# seed %llu\n", static_cast<unsigned long long>(opt.seed));
        std::fflush(stdout);
    }
    // What two rounds of all threads may send by MPI_Bsend, and as much again.
    const std::size_t room = std::size_t{8} << 20 << (opt.threads > 1 ? 2 : 0);
    auto buffered = std::make_unique<std::byte[]>(room);
    MPI(MPI_Buffer_attach(buffered.get(), static_cast<int>(room)));
    MPI_Comm shared = MPI_COMM_NULL;
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &shared));
    std::vector<MPI_Comm> bases(opt.threads, MPI_COMM_NULL);
    for (MPI_Comm &base : bases) {
        MPI(MPI_Comm_dup(MPI_COMM_WORLD, &base));
    }
    std::vector<std::uint64_t> done(opt.threads);
    std::vector<std::thread> others;
    for (unsigned t = 1; t < opt.threads; ++t) {
        others.emplace_back([&, t] { done[t] = run_thread(t, bases[t], shared); });
    }
    done[0] = run_thread(0, bases[0], shared);
    for (std::thread &t : others) {
        t.join();
    }
    set_note(0, "ending");
    void *back = nullptr;
    int size = 0;
    MPI(MPI_Buffer_detach(&back, &size));
    for (MPI_Comm &base : bases) {
        MPI(MPI_Comm_free(&base));
    }
    MPI(MPI_Comm_free(&shared));
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (0 == my_rank) {
        std::uint64_t rounds = 0;
        for (const std::uint64_t n : done) {
            rounds += n;
        }
        std::printf("# %llu rounds, the largest message has %zu bytes\nok\n", static_cast<unsigned long long>(rounds),
                    largest.load());
        std::fflush(stdout);
    }
    MPI_Finalize();
    return 0;
}
