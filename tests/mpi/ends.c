// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
// Description: a process starts two others, and nobody parts from anybody (MPI_Comm_disconnect). The others end before
// it does, though each has several communicators with it, and it ends later without a word about a lost connection.
//   ends plain    one communicator with each
//   ends merged   two
#include "check.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

enum { TAG = 5, CHILDREN = 2 };

static const double patience = 30; // seconds

int main(int argc, char **argv) {
    MPI_Comm parent, child[CHILDREN], all;
    begin(&argc, &argv, 1);
    CHECK(argc > 1, "ends plain | merged");
    const int merged = 0 == strcmp("merged", argv[1]);
    MPI(MPI_Comm_get_parent(&parent));
    if (MPI_COMM_NULL != parent) {
        int pid = (int) getpid();
        MPI(MPI_Recv(NULL, 0, MPI_BYTE, 0, TAG, parent, MPI_STATUS_IGNORE));
        MPI(MPI_Send(&pid, 1, MPI_INT, 0, TAG, parent));
        if (merged) {
            MPI(MPI_Intercomm_merge(parent, 1, &all));
        }
        return finish();
    }
    for (int i = 0; i < CHILDREN; ++i) {
        char *arguments[] = {argv[1], NULL};
        MPI(MPI_Comm_spawn(argv[0], arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &child[i], MPI_ERRCODES_IGNORE));
    }
    for (int i = 0; i < CHILDREN; ++i) {
        int pid;
        MPI(MPI_Send(NULL, 0, MPI_BYTE, 0, TAG, child[i])); // else UCX complains of the end at the first connection
        MPI(MPI_Recv(&pid, 1, MPI_INT, 0, TAG, child[i], MPI_STATUS_IGNORE));
        if (merged) {
            MPI(MPI_Intercomm_merge(child[i], 0, &all));
        }
        const double end = now() + patience;
        while (0 == kill(pid, 0) && now() < end) {
            usleep(10000);
        }
        CHECK(0 != kill(pid, 0) && ESRCH == errno, "process %d has not ended", pid);
    }
    return finish();
}
