// SPDX-License-Identifier: BSD-3-Clause
// Description: sends to and receives from MPI_PROC_NULL in every form return at once, with an empty
// status and without touching the buffer; a line of ranks shifts data with MPI_PROC_NULL at its ends.
#include "check.h"

enum { SIZE = 200000, TAG = 2 };

static unsigned char *buf;

static void untouched(const MPI_Status *status) {
    CHECK_STATUS(status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    VERIFY_VALUE(buf, SIZE, BLANK_VALUE, "buffer of a receive from MPI_PROC_NULL");
}

int main(int argc, char **argv) {
    begin(&argc, &argv, 1);
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Status status;
    MPI_Request request[6];
    MPI_Status all[6];
    char attached[1000];
    void *back;
    int size, flag;
    buf = guarded_alloc(SIZE);

    test_note = "blocking calls";
    MPI(MPI_Send(buf, SIZE, MPI_BYTE, MPI_PROC_NULL, TAG, comm));
    MPI(MPI_Ssend(buf, SIZE, MPI_BYTE, MPI_PROC_NULL, TAG, comm));
    MPI(MPI_Rsend(buf, SIZE, MPI_BYTE, MPI_PROC_NULL, TAG, comm));
    MPI(MPI_Buffer_attach(attached, sizeof(attached)));
    MPI(MPI_Bsend(buf, SIZE, MPI_BYTE, MPI_PROC_NULL, TAG, comm)); // takes no room
    MPI(MPI_Buffer_detach(&back, &size));
    MPI(MPI_Recv(buf, SIZE, MPI_BYTE, MPI_PROC_NULL, TAG, comm, &status));
    untouched(&status);
    MPI(MPI_Recv(buf, SIZE, MPI_BYTE, MPI_PROC_NULL, MPI_ANY_TAG, comm, &status));
    untouched(&status);
    MPI(MPI_Sendrecv(buf, SIZE, MPI_BYTE, MPI_PROC_NULL, TAG, buf, SIZE, MPI_BYTE, MPI_PROC_NULL, TAG, comm, &status));
    untouched(&status);
    MPI(MPI_Sendrecv_replace(buf, SIZE, MPI_BYTE, MPI_PROC_NULL, TAG, MPI_PROC_NULL, TAG, comm, &status));
    untouched(&status);
    MPI(MPI_Probe(MPI_PROC_NULL, TAG, comm, &status));
    untouched(&status);
    MPI(MPI_Iprobe(MPI_PROC_NULL, TAG, comm, &flag, &status));
    CHECK(flag, "iprobe of MPI_PROC_NULL gave false");
    untouched(&status);

    test_note = "nonblocking calls";
    MPI(MPI_Isend(buf, SIZE, MPI_BYTE, MPI_PROC_NULL, TAG, comm, &request[0]));
    MPI(MPI_Issend(buf, SIZE, MPI_BYTE, MPI_PROC_NULL, TAG, comm, &request[1]));
    MPI(MPI_Irsend(buf, SIZE, MPI_BYTE, MPI_PROC_NULL, TAG, comm, &request[2]));
    MPI(MPI_Ibsend(buf, SIZE, MPI_BYTE, MPI_PROC_NULL, TAG, comm, &request[3]));
    MPI(MPI_Irecv(buf, SIZE, MPI_BYTE, MPI_PROC_NULL, TAG, comm, &request[4]));
    MPI(MPI_Irecv(buf, SIZE, MPI_BYTE, MPI_PROC_NULL, MPI_ANY_TAG, comm, &request[5]));
    MPI(MPI_Testall(6, request, &flag, all));
    CHECK(flag, "requests to MPI_PROC_NULL are not complete at once");
    untouched(&all[4]);
    untouched(&all[5]);

    test_note = "shifting along a line";
    int left = my_rank > 0 ? my_rank - 1 : MPI_PROC_NULL;
    int right = my_rank + 1 < n_ranks ? my_rank + 1 : MPI_PROC_NULL;
    unsigned char *out = guarded_alloc(SIZE);
    fill(out, SIZE, key_of(90, my_rank, 0, 0));
    MPI(MPI_Sendrecv(out, SIZE, MPI_BYTE, right, TAG, buf, SIZE, MPI_BYTE, left, TAG, comm, &status));
    if (MPI_PROC_NULL == left) {
        untouched(&status);
    } else {
        CHECK_STATUS(&status, left, TAG, SIZE);
        VERIFY(buf, SIZE, key_of(90, left, 0, 0), "shifted data");
    }
    guarded_free(out, SIZE);
    guarded_free(buf, SIZE);
    return finish();
}
