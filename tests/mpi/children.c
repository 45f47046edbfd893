// SPDX-License-Identifier: BSD-3-Clause
// Description: a program with children of its own hears of those alone: nothing that MPI starts beside it sends it
// SIGCHLD or is found by wait().
#include "check.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

static volatile sig_atomic_t signals;

static void note(int number) {
    (void) number;
    ++signals;
}

static void nap(int ms) {
    struct timespec left = {ms / 1000, ms % 1000 * 1000000L};
    while (0 != nanosleep(&left, &left)) {}
}

int main(int argc, char **argv) {
    struct sigaction action = {.sa_handler = note, .sa_flags = SA_RESTART};
    sigaction(SIGCHLD, &action, NULL);
    begin(&argc, &argv, 2);
    for (int i = 0; i < 20; ++i) {
        nap(10);
        MPI(MPI_Barrier(MPI_COMM_WORLD));
    }
    CHECK(0 == signals, "%d children of somebody's have ended", (int) signals);
    CHECK(-1 == waitpid(-1, NULL, WNOHANG) && ECHILD == errno, "there is a child");
    test_note = "with a child";
    const pid_t child = fork();
    if (0 == child) {
        _exit(7);
    }
    int status = 0;
    pid_t ended;
    do {
        ended = waitpid(-1, &status, 0);
    } while (ended < 0 && EINTR == errno);
    CHECK(child == ended && WIFEXITED(status) && 7 == WEXITSTATUS(status), "wait found %d, expected %d", (int) ended,
          (int) child);
    CHECK(1 == signals, "%d signals for one child", (int) signals);
    return finish();
}
