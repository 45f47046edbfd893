// SPDX-License-Identifier: BSD-3-Clause
// Description: a buffered send with no room for it, or with no buffer attached, is MPI_ERR_BUFFER.
// argv[1] "continue": and the communicator goes on working, the buffer can be used and detached
// (stock ob1 4.1.4 loses the sequence number of the refused message: the next one never arrives).
#include "check.h"

enum { TAG = 1, ROOM = 10000 + MPI_BSEND_OVERHEAD, LARGE = 200000, SMALL = 5000 };

int main(int argc, char **argv) {
    begin(&argc, &argv, 2);
    int go_on = argc > 1 && 0 == strcmp(argv[1], "continue");
    unsigned char *buf = guarded_alloc(LARGE);
    char *attached = malloc(ROOM);
    MPI_Comm comm;

    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MPI(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    if (0 == my_rank) {
        test_note = "no buffer attached";
        int rc = MPI_Bsend(buf, LARGE, MPI_BYTE, 1, TAG, comm);
        int class = error_class(rc); // pml ucx says MPI_ERR_OTHER
        CHECK(MPI_ERR_BUFFER == class || (!go_on && MPI_SUCCESS != class), "error class %d, expected %d", class,
              MPI_ERR_BUFFER);
        test_note = "no room in the buffer";
        MPI(MPI_Buffer_attach(attached, ROOM));
        rc = MPI_Bsend(buf, LARGE, MPI_BYTE, 1, TAG, comm);
        CHECK(MPI_ERR_BUFFER == error_class(rc), "error class %d, expected %d", error_class(rc), MPI_ERR_BUFFER);
        VERIFY_VALUE(buf, LARGE, BLANK_VALUE, "send buffer");
    }
    if (go_on) {
        test_note = "going on after the errors";
        if (0 == my_rank) {
            void *back;
            int size;
            fill(buf, SMALL, 5);
            MPI(MPI_Bsend(buf, SMALL, MPI_BYTE, 1, TAG, comm));
            MPI(MPI_Buffer_detach(&back, &size));
            CHECK(back == attached && ROOM == size, "detach gave another buffer back");
        } else if (1 == my_rank) {
            MPI_Status status;
            MPI(MPI_Recv(buf, LARGE, MPI_BYTE, 0, TAG, comm, &status));
            CHECK_STATUS(&status, 0, TAG, SMALL);
            VERIFY(buf, SMALL, 5, "message after the errors");
        }
        MPI(MPI_Comm_free(&comm));
    }
    guarded_free(buf, LARGE);
    return finish();
}
