// SPDX-License-Identifier: BSD-3-Clause
// Description: what calls leave behind: the status's MPI_ERROR where one operation completes, a request after a
// start that failed, a matched message after its communicator's handle is gone.
#include "check.h"

enum { TAG = 3, N = 100, LARGE = 100000, MARK = 4711 };

static unsigned char *buf;

#define CHECK_MARK(status, what)                                                                                       \
    do {                                                                                                               \
        CHECK(MARK == (status).MPI_ERROR, "%s wrote %d into MPI_ERROR", what, (status).MPI_ERROR);                     \
        CHECK_STATUS(&(status), my_peer, TAG, N);                                                                      \
    } while (0)

// "The error field is never modified" by calls that complete one operation.
static void error_field(void) {
    test_note = "MPI_ERROR of a status";
    if (0 == my_side) {
        for (int i = 0; i < 3; ++i) {
            MPI(MPI_Send(buf, N, MPI_BYTE, my_peer, TAG, MPI_COMM_WORLD));
        }
    } else if (1 == my_side) {
        MPI_Status status;
        MPI_Message message;
        status.MPI_ERROR = MARK;
        MPI(MPI_Probe(my_peer, TAG, MPI_COMM_WORLD, &status));
        CHECK_MARK(status, "MPI_Probe");
        MPI(MPI_Recv(buf, LARGE, MPI_BYTE, my_peer, TAG, MPI_COMM_WORLD, &status));
        CHECK_MARK(status, "MPI_Recv");
        MPI(MPI_Mprobe(my_peer, TAG, MPI_COMM_WORLD, &message, &status));
        CHECK_MARK(status, "MPI_Mprobe");
        MPI(MPI_Mrecv(buf, LARGE, MPI_BYTE, &message, &status));
        CHECK_MARK(status, "MPI_Mrecv");
        for (int found = 0; !found;) {
            MPI(MPI_Iprobe(my_peer, TAG, MPI_COMM_WORLD, &found, &status));
        }
        CHECK_MARK(status, "MPI_Iprobe");
        MPI(MPI_Recv(buf, LARGE, MPI_BYTE, my_peer, TAG, MPI_COMM_WORLD, &status));
        CHECK_MARK(status, "MPI_Recv");
    }
}

// The message outlives the handle by which it was found.
static void freed_communicator(size_t n, int immediate) {
    test_note = "a message whose communicator was freed";
    MPI_Comm comm, other[8];
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    if (0 == my_side) {
        MPI_Request request;
        fill(buf, n, n);
        MPI(MPI_Isend(buf, (int) n, MPI_BYTE, my_peer, TAG, comm, &request));
        MPI(MPI_Comm_free(&comm));
        MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else if (1 == my_side) {
        MPI_Message message;
        MPI_Status status;
        MPI(MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &message, &status));
        MPI(MPI_Comm_free(&comm));
        for (int i = 0; i < 8; ++i) { // something else in its memory
            MPI(MPI_Comm_dup(MPI_COMM_SELF, &other[i]));
        }
        memset(buf, 0, n);
        if (immediate) {
            MPI_Request request;
            MPI(MPI_Imrecv(buf, (int) n, MPI_BYTE, &message, &request));
            MPI(MPI_Wait(&request, &status));
        } else {
            MPI(MPI_Mrecv(buf, (int) n, MPI_BYTE, &message, &status));
        }
        CHECK_STATUS(&status, my_peer, TAG, n);
        VERIFY(buf, n, n, "message");
        for (int i = 0; i < 8; ++i) {
            MPI(MPI_Comm_free(&other[i]));
        }
    } else {
        MPI(MPI_Comm_free(&comm));
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
}

// From the other side, filled by `key`.
static void receive_it(MPI_Comm comm, int bytes, uint64_t key, const char *what) {
    MPI_Status status;
    memset(buf, 0, (size_t) bytes);
    MPI(MPI_Recv(buf, bytes, MPI_BYTE, my_peer, TAG, comm, &status));
    CHECK_STATUS(&status, my_peer, TAG, (size_t) bytes);
    VERIFY(buf, (size_t) bytes, key, what);
}

static int handled;

static void count_error(MPI_Comm *unused, int *code, ...) {
    (void) unused;
    handled += MPI_ERR_BUFFER == error_class(*code);
}

// One of several that are started cannot be: the handler hears of it, and the others are.
static void start_all(void) {
    test_note = "several persistent sends, one without room";
    MPI_Comm comm;
    MPI_Errhandler handler;
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MPI(MPI_Comm_create_errhandler(count_error, &handler));
    MPI(MPI_Comm_set_errhandler(comm, handler));
    if (0 == my_side) {
        MPI_Request requests[2];
        fill(buf, N, 9);
        MPI(MPI_Bsend_init(buf, LARGE, MPI_BYTE, my_peer, TAG, comm, &requests[0]));
        MPI(MPI_Send_init(buf, N, MPI_BYTE, my_peer, TAG, comm, &requests[1]));
        MPI_Startall(2, requests); // what it returns Open MPI has not settled
        CHECK(1 == handled, "the handler was called %d times", handled);
        MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        MPI(MPI_Request_free(&requests[0]));
        MPI(MPI_Request_free(&requests[1]));
    } else if (1 == my_side) {
        receive_it(comm, N, 9, "message of the one that could start");
    }
    MPI(MPI_Errhandler_free(&handler));
    MPI(MPI_Comm_free(&comm));
}

// Refused for want of room, started again when there is some.
static void start_again(void) {
    test_note = "a persistent buffered send without room";
    MPI_Comm comm;
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MPI(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    if (0 == my_side) {
        static char small[N], enough[LARGE + MPI_BSEND_OVERHEAD];
        MPI_Request request;
        void *back;
        int size, rc;
        fill(buf, LARGE, 8);
        MPI(MPI_Bsend_init(buf, LARGE, MPI_BYTE, my_peer, TAG, comm, &request));
        MPI(MPI_Buffer_attach(small, sizeof(small)));
        rc = MPI_Start(&request);
        CHECK(MPI_ERR_BUFFER == error_class(rc), "error class %d, expected %d", error_class(rc), MPI_ERR_BUFFER);
        MPI(MPI_Wait(&request, MPI_STATUS_IGNORE)); // it is inactive
        MPI(MPI_Buffer_detach(&back, &size));
        MPI(MPI_Buffer_attach(enough, sizeof(enough)));
        MPI(MPI_Start(&request));
        MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        MPI(MPI_Request_free(&request));
        MPI(MPI_Buffer_detach(&back, &size));
    } else if (1 == my_side) {
        receive_it(comm, LARGE, 8, "message of the second start");
    }
    MPI(MPI_Comm_free(&comm));
}

int main(int argc, char **argv) {
    begin(&argc, &argv, 2);
    buf = guarded_alloc(LARGE);
    error_field();
    for (int immediate = 0; immediate < 2; ++immediate) {
        freed_communicator(N, immediate);
        freed_communicator(LARGE, immediate);
    }
    start_again();
    start_all();
    guarded_free(buf, LARGE);
    return finish();
}
