// SPDX-License-Identifier: BSD-3-Clause
// Description: persistent requests of every mode started many times, one by one and with Startall,
// with changing data; with MPI_PROC_NULL; waited for and freed while inactive. argv[1]: restarts;
// argv[2] "nobsend": leave buffered sends out of the restarts (stock ob1 4.1.4 sends zeros for a
// restarted bsend_init of some KB).
#include "check.h"

enum { MODES = 4, TAG = 20, GO = 50, MAX_SIZE = 300000 };

static const size_t sizes[] = {0, 8, 4096, 66000, MAX_SIZE};
enum { N_SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static int no_bsend;

static void make_send(int mode, void *buf, size_t n, int to, int tag, MPI_Request *request) {
    switch (mode) {
    case 0:
        MPI(MPI_Send_init(buf, (int) n, MPI_BYTE, to, tag, MPI_COMM_WORLD, request));
        break;
    case 1:
        MPI(MPI_Ssend_init(buf, (int) n, MPI_BYTE, to, tag, MPI_COMM_WORLD, request));
        break;
    case 2:
        if (no_bsend) {
            MPI(MPI_Send_init(buf, (int) n, MPI_BYTE, to, tag, MPI_COMM_WORLD, request));
            break;
        }
        MPI(MPI_Bsend_init(buf, (int) n, MPI_BYTE, to, tag, MPI_COMM_WORLD, request));
        break;
    default:
        MPI(MPI_Rsend_init(buf, (int) n, MPI_BYTE, to, tag, MPI_COMM_WORLD, request));
        break;
    }
}

static const char *const mode_name[MODES] = {"send_init", "ssend_init", "bsend_init", "rsend_init"};

static void ring(size_t n, int restarts) {
    int to = (my_rank + 1) % n_ranks, from = (my_rank + n_ranks - 1) % n_ranks;
    unsigned char *out[MODES], *in[MODES];
    MPI_Request request[2 * MODES]; // receives first
    MPI_Status status[2 * MODES];
    char what[64];

    for (int m = 0; m < MODES; ++m) {
        out[m] = guarded_alloc(n);
        in[m] = guarded_alloc(n);
        MPI(MPI_Recv_init(in[m], (int) n, MPI_BYTE, m == 1 ? MPI_ANY_SOURCE : from, TAG + m, MPI_COMM_WORLD,
                          &request[m]));
        make_send(m, out[m], n, to, TAG + m, &request[MODES + m]);
    }
    for (int k = 0; k < restarts; ++k) {
        for (int m = 0; m < MODES; ++m) {
            fill(out[m], n, key_of(50 + m, my_rank, n, k));
            memset(in[m], BLANK_VALUE, n);
        }
        if (k % 2) {
            MPI(MPI_Startall(MODES, request));
        } else {
            for (int m = MODES - 1; m >= 0; --m) {
                MPI(MPI_Start(&request[m]));
            }
        }
        // The ready send needs the neighbour's receive: tell it ours is posted.
        MPI(MPI_Sendrecv(NULL, 0, MPI_BYTE, from, GO, NULL, 0, MPI_BYTE, to, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        if (k % 3) {
            MPI(MPI_Startall(MODES, request + MODES));
        } else {
            for (int m = 0; m < MODES; ++m) {
                MPI(MPI_Start(&request[MODES + m]));
            }
        }
        MPI(MPI_Waitall(2 * MODES, request, status));
        for (int m = 0; m < MODES; ++m) {
            CHECK(MPI_REQUEST_NULL != request[m], "a persistent request was lost by Waitall");
            CHECK_STATUS(&status[m], from, TAG + m, n);
            snprintf(what, sizeof(what), "start %d of %s", k, mode_name[m]);
            VERIFY(in[m], n, key_of(50 + m, from, n, k), what);
        }
    }
    for (int i = 0; i < 2 * MODES; ++i) {
        int flag = 0;
        MPI(MPI_Test(&request[i], &flag, &status[0])); // inactive: true, empty status
        CHECK(flag, "test of an inactive request gave false");
        CHECK_STATUS(&status[0], MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
        MPI(MPI_Wait(&request[i], &status[0]));
        MPI(MPI_Request_free(&request[i]));
        CHECK(MPI_REQUEST_NULL == request[i], "free left the handle");
    }
    for (int m = 0; m < MODES; ++m) {
        guarded_free(out[m], n);
        guarded_free(in[m], n);
    }
}

static void proc_null(void) {
    unsigned char buf[100], copy[100];
    MPI_Request request[MODES + 1];
    MPI_Status status[MODES + 1];
    fill(buf, sizeof(buf), 1);
    memcpy(copy, buf, sizeof(buf));
    MPI(MPI_Recv_init(buf, 100, MPI_BYTE, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &request[MODES]));
    for (int m = 0; m < MODES; ++m) {
        make_send(m, buf, 100, MPI_PROC_NULL, 3, &request[m]);
    }
    for (int k = 0; k < 20; ++k) {
        MPI(MPI_Startall(MODES + 1, request));
        MPI(MPI_Waitall(MODES + 1, request, status));
        CHECK_STATUS(&status[MODES], MPI_PROC_NULL, MPI_ANY_TAG, 0);
    }
    CHECK(0 == memcmp(buf, copy, sizeof(buf)), "a receive from MPI_PROC_NULL wrote to its buffer");
    for (int m = 0; m <= MODES; ++m) {
        MPI(MPI_Request_free(&request[m]));
    }
}

// Requests made, never started, freed; and many made at once.
static void never_started(void) {
    enum { N = 500 };
    static MPI_Request request[2 * N];
    static unsigned char buf[16];
    for (int i = 0; i < N; ++i) {
        MPI(MPI_Recv_init(buf, 16, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request[i]));
        make_send(i % MODES, buf, 16, i % n_ranks, 9, &request[N + i]);
    }
    for (int i = 0; i < 2 * N; ++i) {
        MPI(MPI_Request_free(&request[i]));
    }
}

// A request that is started again has no error of the start before: when another one fails Open MPI frees all that have
// one, whether they are under way or not.
static void after_an_error(void) {
    int a = 0, b = 0, index, flag = 0, two[2] = {1, 2};
    MPI_Comm comm;
    MPI_Request r[2];
    MPI_Status status[2];
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MPI(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    for (int again = 0; again < 2 && my_rank < 2; ++again) { // once with those that are persistent
        if (0 == my_rank) {
            MPI(MPI_Send(two, 2, MPI_INT, 1, 1, comm));
            MPI(MPI_Recv(NULL, 0, MPI_BYTE, 1, 3, comm, MPI_STATUS_IGNORE));
            MPI(MPI_Send(two, 2, MPI_INT, 1, 2, comm));
            MPI(MPI_Recv(NULL, 0, MPI_BYTE, 1, 3, comm, MPI_STATUS_IGNORE));
            MPI(MPI_Send(two, 1, MPI_INT, 1, 1, comm));
            continue;
        }
        if (again) {
            MPI(MPI_Recv_init(&a, 1, MPI_INT, 0, 1, comm, &r[0]));
            MPI(MPI_Start(&r[0]));
            while (!flag) { // an error, of which some versions say nothing here
                MPI_Testany(1, r, &index, &flag, status);
            }
            MPI(MPI_Start(&r[0]));
        } else {
            MPI(MPI_Irecv(&a, 1, MPI_INT, 0, 1, comm, &r[0]));
            CHECK(MPI_SUCCESS != MPI_Waitall(1, r, status), "no error");
            MPI(MPI_Irecv(&a, 1, MPI_INT, 0, 1, comm, &r[0]));
        }
        a = 0;
        MPI(MPI_Irecv(&b, 1, MPI_INT, 0, 2, comm, &r[1]));
        MPI(MPI_Send(NULL, 0, MPI_BYTE, 0, 3, comm));
        CHECK(MPI_SUCCESS != MPI_Waitall(2, r, status), "no error of the second");
        CHECK(MPI_REQUEST_NULL != r[0], "a receive under way was freed as another one failed");
        MPI(MPI_Send(NULL, 0, MPI_BYTE, 0, 3, comm));
        MPI(MPI_Wait(&r[0], MPI_STATUS_IGNORE));
        CHECK(1 == a, "what was received is %d", a);
        if (again) {
            MPI(MPI_Request_free(&r[0]));
        }
    }
    MPI(MPI_Comm_free(&comm));
}

int main(int argc, char **argv) {
    begin(&argc, &argv, 2);
    int restarts = argc > 1 ? atoi(argv[1]) : 60, size;
    no_bsend = argc > 2 && 0 == strcmp(argv[2], "nobsend");
    size_t room = 4 * (MAX_SIZE + MPI_BSEND_OVERHEAD);
    char *attached = malloc(room);
    void *back;
    char note[64];
    test_note = note;

    MPI(MPI_Buffer_attach(attached, (int) room));
    for (int i = 0; i < N_SIZES; ++i) {
        snprintf(note, sizeof(note), "ring of %zu bytes", sizes[i]);
        ring(sizes[i], restarts);
    }
    no_bsend = 0;
    snprintf(note, sizeof(note), "MPI_PROC_NULL");
    proc_null();
    snprintf(note, sizeof(note), "requests never started");
    never_started();
    if (argc < 3) { // not asked of stock's
        snprintf(note, sizeof(note), "what follows an error");
        after_an_error();
    }
    MPI(MPI_Buffer_detach(&back, &size));
    free(attached);
    return finish();
}
