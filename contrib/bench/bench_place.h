// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Where and how urgently a rank runs: its core and its priority.

#ifndef SMARTINT_BENCH_PLACE_H
#define SMARTINT_BENCH_PLACE_H

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sched.h>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <vector>

namespace bench {

// The binding must be there before MPI_Init, where libraries look at it; the launcher tells the
// rank.
inline void pin_to_core(const std::vector<int> &cores) {
    for (const char *variable : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}) {
        if (const char *value = std::getenv(variable)) {
            const int core = cores[static_cast<std::size_t>(std::atoi(value)) % cores.size()];
            cpu_set_t set;
            CPU_ZERO(&set);
            CPU_SET(core, &set);
            if (0 != sched_setaffinity(0, sizeof(set), &set)) {
                std::fprintf(stderr, "%s: cannot run on core %d\n", program_invocation_short_name, core);
            }
            return;
        }
    }
}

// Raised priority for as long as the object lives, where the system permits. Made before MPI_Init,
// so that threads and processes of the MPI library inherit it. Linux weighs sessions against each
// other first (autogroups) and the processes inside a session by their nice value, so both are set.
class priority {
public:
    explicit priority(int nice) : nice_(nice) {
        raised_ = 0 == setpriority(PRIO_PROCESS, 0, nice);
        if (raised_) {
            set_autogroup("self", nice);
        }
    }
    ~priority() { drop(); }
    priority(const priority &) = delete;
    priority &operator=(const priority &) = delete;

    bool raised() const { return raised_; }

    // After MPI_Init: what the library started in a session of its own did not inherit the
    // session's weight, and would wait for our computation to leave the core. Such processes are
    // known by the job's environment.
    void include_job() {
        const char *job = std::getenv("PMIX_NAMESPACE");
        if (!raised_ || nullptr == job) {
            return;
        }
        const std::string mark = std::string("PMIX_NAMESPACE=") + job;
        std::error_code error;
        for (std::filesystem::directory_iterator at("/proc", error), end; !error && at != end; at.increment(error)) {
            const std::string pid = at->path().filename();
            if (std::string::npos == pid.find_first_not_of("0123456789") && carries(pid, mark)) {
                included_.push_back(pid);
                set_autogroup(pid, nice_);
            }
        }
    }

    // Before MPI_Finalize: a rank that spins there at high priority keeps the daemon it waits for
    // off the core.
    void drop() {
        if (!raised_) {
            return;
        }
        raised_ = false;
        setpriority(PRIO_PROCESS, 0, 0);
        set_autogroup("self", 0);
        for (const std::string &pid : included_) {
            set_autogroup(pid, 0);
        }
    }

private:
    static void set_autogroup(const std::string &pid, int nice) {
        std::ofstream("/proc/" + pid + "/autogroup") << nice;
    }

    static bool carries(const std::string &pid, const std::string &mark) {
        std::ifstream file("/proc/" + pid + "/environ", std::ios::binary);
        const std::string all{std::istreambuf_iterator<char>(file), {}};
        // entries end with a zero byte
        return std::string::npos != ('\0' + all + '\0').find('\0' + mark + '\0');
    }

    int nice_;
    bool raised_ = false;
    std::vector<std::string> included_;
};

} // namespace bench

#endif
