// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// smartintd: started by the first smartint rank of a node, never by hand. Descriptor 3 is
// the node's board; ends with the last rank.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "common_smartint_helper_client.h"
#include "common_smartint_schedule.h"
#include "common_smartint_wake.h"
#include "smartint_config.h"
#include "smartintd_core.h"

namespace {

// It holds some for each rank of the node and each other node: more than the 1024 that are usual may be needed.
void take_all_descriptors() {
    rlimit r{};
    if (0 == getrlimit(RLIMIT_NOFILE, &r) && r.rlim_cur < r.rlim_max) {
        r.rlim_cur = r.rlim_max;
        setrlimit(RLIMIT_NOFILE, &r);
    }
}

// What is meant for a job's programs, as a checkpoint's request or a warning before the time is over, batch systems may
// send to all of its processes. Ranks handle it, and the helper ends with them anyway.
void ignore_signals_of_the_job() {
    for (const int s : {SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGXCPU}) {
        signal(s, SIG_IGN);
    }
}

} // namespace

int main(int argc, char **argv) {
    if (2 == argc && 0 == std::strcmp(argv[1], "--version")) {
        std::puts("smartintd " PACKAGE_VERSION);
        return 0;
    }
    smartint::daemon::options o;
    std::string problem;
    if (!smartint::daemon::parse_options(argc, argv, &o, &problem)) {
        std::fprintf(stderr,
                     "smartintd: %s: unknown or out of range\n"
                     "smartintd is started by smartint itself (see smartint_helpers in "
                     "ompi_info --param pml smartint --level 9)\n",
                     problem.c_str());
        return 2;
    }
    // Second fork: the rank collects its child, which tells by its status whether we started,
    // and we belong to init.
    int said[2];
    if (0 != pipe2(said, O_CLOEXEC)) {
        return 1;
    }
    const pid_t child = fork();
    if (0 != child) {
        char ok = 0;
        close(said[1]);
        _exit(child > 0 && 1 == read(said[0], &ok, 1) ? 0 : 1);
    }
    close(said[0]);
    prctl(PR_SET_NAME, "smartintd");
    take_all_descriptors();
    ignore_signals_of_the_job();
    signal(SIGPIPE, SIG_IGN);
    smartint::permit_access(); // ranks ring it
    smartint::ask_for_short_turns(o.turn_us);
    smartint::daemon::core helper(o);
    if (!helper.start(smartint::helper_board_fd)) {
        std::fprintf(stderr, "smartintd: %s\n", helper.why().c_str());
        return 1;
    }
    // To the process that the rank's child became. If that was killed, ranks that wait for us see it on the board.
    if (1 != write(said[1], "+", 1)) {
        return 1;
    }
    close(said[1]);
    helper.run();
    return 0;
}
