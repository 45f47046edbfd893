// SPDX-License-Identifier: BSD-3-Clause
// Description: a job that has parted from one it started, with which a request had ended with an error, ends well while
// others are still connected: Open MPI's end waits for those, and counts them before it makes room for them.
#include "check.h"

#include <signal.h>

enum { N = 4, TAG = 11, BYTES = 100000 };

static void child(MPI_Comm parent, int which) {
    unsigned char *buf = guarded_alloc(BYTES);
    int over, pid;
    fill(buf, BYTES, key_of(240, which, 0, 0));
    MPI(MPI_Send(buf, BYTES, MPI_BYTE, 0, TAG, parent));
    guarded_free(buf, BYTES);
    if (0 == which) {
        test_note = "parting";
        MPI(MPI_Recv(&pid, 1, MPI_INT, 0, TAG, parent, MPI_STATUS_IGNORE));
        MPI(MPI_Comm_disconnect(&parent));
        const double end = now() + 20;
        while (0 == kill(pid, 0) && now() < end) { // alive, and with nothing to say to it
            usleep(10000);
        }
        CHECK(0 != kill(pid, 0), "process %d, which has parted from this one, waits for it", pid);
    } else {
        MPI(MPI_Recv(&over, 1, MPI_INT, 0, TAG, parent, MPI_STATUS_IGNORE));
    }
}

int main(int argc, char **argv) {
    MPI_Comm parent, children[N];
    begin(&argc, &argv, 1);
    MPI(MPI_Comm_get_parent(&parent));
    if (MPI_COMM_NULL != parent) {
        child(parent, atoi(argv[1]));
        MPI_Finalize();
        return 0;
    }
    unsigned char *buf = guarded_alloc(BYTES);
    for (int i = 0; i < N; ++i) {
        char which[2] = {(char) ('0' + i), 0};
        char *arguments[] = {which, NULL};
        MPI_Request request;
        test_note = "starting processes";
        MPI(MPI_Comm_spawn(argv[0], arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &children[i], MPI_ERRCODES_IGNORE));
        test_note = "receiving";
        MPI(MPI_Irecv(buf, 0 == i ? 10 : BYTES, MPI_BYTE, 0, TAG, children[i], &request));
        if (0 == i) {
            int class;
            MPI(MPI_Comm_set_errhandler(children[i], MPI_ERRORS_RETURN));
            MPI(MPI_Error_class(MPI_Wait(&request, MPI_STATUS_IGNORE), &class));
            CHECK(MPI_ERR_TRUNCATE == class, "error class %d", class);
        } else {
            MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
            VERIFY(buf, BYTES, key_of(240, i, 0, 0), "message of a child");
        }
    }
    guarded_free(buf, BYTES);
    test_note = "parting";
    const int pid = (int) getpid();
    MPI(MPI_Send(&pid, 1, MPI_INT, 0, TAG, children[0]));
    MPI(MPI_Comm_disconnect(&children[0]));
    for (int i = 1, over = 1; i < N; ++i) { // which stay connected, and end
        MPI(MPI_Send(&over, 1, MPI_INT, 0, TAG, children[i]));
    }
    return finish();
}
