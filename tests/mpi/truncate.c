// SPDX-License-Identifier: BSD-3-Clause
// Description: a message longer than its receive gives MPI_ERR_TRUNCATE, eager or rendezvous, expected
// or not, contiguous or strided, and writes nothing past the receive's space; sender, later messages
// and other requests are not disturbed. In all pairs (r, r ^ 1) at once.
// argv[1] "lenient": leave out what stock ob1 4.1.4 gets wrong:
// it writes a rendezvous message past the end of a contiguous receive (vader with CMA, tcp), calls
// an Mrecv into a type of no bytes a success, and looks for the error handler of a communicator that is gone.
#include "check.h"

enum { TAG = 8, GO = 9, MAX_SIZE = 4 << 20 };

static char note[160];
static MPI_Comm comm;
static int lenient;

enum { EXPECTED, UNEXPECTED, MATCHED_PROBE, N_WAYS };

static const char *const way_name[N_WAYS] = {"expected", "unexpected", "by Mrecv"};

static void truncated(size_t sent, size_t room, int strided, int way) {
    uint64_t key = pair_key(110, sent, room, 2 * way + strided);
    MPI_Status status;
    MPI_Request request;

    snprintf(note, sizeof(note), "%s receive of %zu bytes into %zu (%s)", way_name[way], sent, room,
             strided ? "strided" : "contiguous");
    if (0 == my_side) {
        unsigned char *buf = guarded_alloc(sent);
        fill(buf, sent, key);
        if (EXPECTED == way) {
            MPI(MPI_Recv(NULL, 0, MPI_BYTE, my_peer, GO, comm, MPI_STATUS_IGNORE));
        }
        MPI(MPI_Isend(buf, (int) sent, MPI_BYTE, my_peer, TAG, comm, &request));
        if (UNEXPECTED == way) {
            MPI(MPI_Send(NULL, 0, MPI_BYTE, my_peer, GO, comm));
        }
        MPI(MPI_Wait(&request, MPI_STATUS_IGNORE)); // the sender sees no error
        guarded_free(buf, sent);
    } else if (1 == my_side) {
        enum { BLOCK = 8, STRIDE = 24 };
        int count = (int) room;
        size_t span = room;
        MPI_Datatype type = MPI_BYTE;
        if (strided) { // room is a multiple of BLOCK
            MPI(MPI_Type_vector((int) (room / BLOCK), BLOCK, STRIDE, MPI_BYTE, &type));
            MPI(MPI_Type_commit(&type));
            count = room > 0;
            span = room / BLOCK * STRIDE;
        }
        size_t slack = lenient ? sent : 0; // room for stock ob1 to spoil
        unsigned char *buf = guarded_alloc(span + slack);
        int rc = MPI_SUCCESS;
        if (EXPECTED == way) {
            MPI(MPI_Irecv(buf, count, type, my_peer, TAG, comm, &request));
            MPI(MPI_Send(NULL, 0, MPI_BYTE, my_peer, GO, comm));
            rc = MPI_Wait(&request, &status);
        } else if (UNEXPECTED == way) {
            MPI(MPI_Recv(NULL, 0, MPI_BYTE, my_peer, GO, comm, MPI_STATUS_IGNORE));
            rc = MPI_Recv(buf, count, type, my_peer, TAG, comm, &status);
        } else {
            MPI_Message message;
            MPI(MPI_Mprobe(my_peer, TAG, comm, &message, &status));
            CHECK_STATUS(&status, my_peer, TAG, sent);
            rc = MPI_Mrecv(buf, count, type, &message, &status);
        }
        CHECK(MPI_ERR_TRUNCATE == error_class(rc), "error class %d, expected MPI_ERR_TRUNCATE (%d)", error_class(rc),
              MPI_ERR_TRUNCATE);
        guarded_check(buf, span + slack);
        // One block alone is a contiguous type: the leniency above is due there too.
        for (size_t i = 0; strided && !(lenient && BLOCK == room) && i < span; ++i) {
            CHECK(i % STRIDE < BLOCK || BLANK_VALUE == buf[i], "gap byte %zu was written", i);
        }
        // What is written is the beginning of the message or nothing at all, byte by byte.
        for (size_t i = 0, k = 0; i < span; ++i) {
            if (!strided || i % STRIDE < BLOCK) {
                CHECK(buf[i] == pattern_byte(key, k) || BLANK_VALUE == buf[i],
                      "byte %zu is %02x: neither the message's nor untouched", i, buf[i]);
                ++k;
            }
        }
        guarded_free(buf, span + slack);
        if (strided) {
            MPI(MPI_Type_free(&type));
        }
    }
}

// The communicator's handle is freed between Mprobe and Mrecv, or before an Irecv or Imrecv is waited for: its error
// handler counts until then.
static void of_a_freed_communicator(size_t n, int way) {
    MPI_Comm freed;
    unsigned char *buf = guarded_alloc(n);
    snprintf(note, sizeof(note), "%zu bytes, %s, after the communicator was freed", n, way_name[way]);
    MPI(MPI_Comm_dup(comm, &freed));
    MPI(MPI_Comm_set_errhandler(freed, MPI_ERRORS_RETURN));
    if (0 == my_side) {
        fill(buf, n, pair_key(113, n, 0, 0));
        MPI(MPI_Send(buf, (int) n, MPI_BYTE, my_peer, TAG, freed));
        MPI(MPI_Comm_free(&freed));
    } else if (1 == my_side) {
        MPI_Message message;
        MPI_Request request;
        int rc = MPI_SUCCESS;
        if (EXPECTED == way) {
            MPI(MPI_Irecv(buf, (int) n / 2, MPI_BYTE, my_peer, TAG, freed, &request));
        } else {
            MPI(MPI_Mprobe(my_peer, TAG, freed, &message, MPI_STATUS_IGNORE));
        }
        if (UNEXPECTED == way) {
            MPI(MPI_Imrecv(buf, (int) n / 2, MPI_BYTE, &message, &request));
        }
        MPI(MPI_Comm_free(&freed));
        if (MATCHED_PROBE == way) {
            rc = MPI_Mrecv(buf, (int) n / 2, MPI_BYTE, &message, MPI_STATUS_IGNORE);
        } else {
            rc = MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        CHECK(MPI_ERR_TRUNCATE == error_class(rc), "error class %d, expected MPI_ERR_TRUNCATE", error_class(rc));
    } else {
        MPI(MPI_Comm_free(&freed));
    }
    guarded_free(buf, n);
}

// After the error: same size, fitting now.
static void still_works(size_t n) {
    unsigned char *buf = guarded_alloc(n);
    if (0 == my_side) {
        fill(buf, n, pair_key(112, n, 0, 0));
        MPI(MPI_Send(buf, (int) n, MPI_BYTE, my_peer, TAG, comm));
    } else if (1 == my_side) {
        MPI_Status status;
        MPI(MPI_Recv(buf, (int) n, MPI_BYTE, my_peer, TAG, comm, &status));
        CHECK_STATUS(&status, my_peer, TAG, n);
        VERIFY(buf, n, pair_key(112, n, 0, 0), "message after the truncated one");
    }
    guarded_free(buf, n);
}

// Waitall over many receives, a few of which truncate: MPI_ERR_IN_STATUS, and each status tells.
static void among_many(size_t n) {
    enum { N = 12 };
    unsigned char *buf[N];
    MPI_Request request[N];
    MPI_Status status[N];
    snprintf(note, sizeof(note), "Waitall over receives of %zu bytes of which some truncate", n);
    for (int i = 0; i < N; ++i) {
        buf[i] = guarded_alloc(n);
    }
    if (0 == my_side) {
        MPI(MPI_Recv(NULL, 0, MPI_BYTE, my_peer, GO, comm, MPI_STATUS_IGNORE));
        for (int i = 0; i < N; ++i) {
            fill(buf[i], n, pair_key(111, n, i, 0));
            MPI(MPI_Isend(buf[i], (int) n, MPI_BYTE, my_peer, TAG + i, comm, &request[i]));
        }
        MPI(MPI_Waitall(N, request, MPI_STATUSES_IGNORE));
    } else if (1 == my_side) {
        for (int i = 0; i < N; ++i) {
            int room = (int) (i % 4 == 3 ? n / 2 : n);
            MPI(MPI_Irecv(buf[i], room, MPI_BYTE, my_peer, TAG + i, comm, &request[i]));
        }
        MPI(MPI_Send(NULL, 0, MPI_BYTE, my_peer, GO, comm));
        // A Waitall that returns an error may leave requests pending: wait for them until none is.
        int done = 0, bad = 0, seen[N] = {0};
        for (int turn = 0; done < N && turn < 2 * N; ++turn) {
            int rc = MPI_Waitall(N, request, status);
            CHECK(MPI_SUCCESS == rc || MPI_ERR_IN_STATUS == error_class(rc), "Waitall: class %d", error_class(rc));
            for (int i = 0; i < N; ++i) {
                int error = MPI_SUCCESS == rc ? MPI_SUCCESS : error_class(status[i].MPI_ERROR);
                if (seen[i] || MPI_ERR_PENDING == error) {
                    continue;
                }
                seen[i] = 1;
                ++done;
                if (i % 4 == 3) {
                    CHECK(MPI_ERR_TRUNCATE == error, "receive %d: class %d, expected truncation", i, error);
                    ++bad;
                    if (!lenient) {
                        VERIFY_VALUE(buf[i] + n / 2, n - n / 2, BLANK_VALUE, "past a truncated receive");
                    }
                } else {
                    CHECK(MPI_SUCCESS == error, "receive %d: class %d, expected success", i, error);
                    VERIFY(buf[i], n, pair_key(111, n, i, 0), "receive beside truncated ones");
                }
            }
        }
        CHECK(done == N && bad == N / 4, "%d done, %d truncated, expected %d, %d", done, bad, N, N / 4);
    }
    for (int i = 0; i < N; ++i) {
        guarded_free(buf[i], n);
    }
}

int main(int argc, char **argv) {
    static const struct {
        size_t sent, room;
    } cases[] = {{1, 0},           {16, 8},        {1000, 992},      {4096, 4088},
                 {5000, 0},        {5000, 8},      {70000, 64},      {70000, 69992},
                 {300000, 0},      {300000, 4096}, {1 << 20, 65536}, {MAX_SIZE, MAX_SIZE - 8},
                 {MAX_SIZE, 1024}, {MAX_SIZE, 8}};
    begin(&argc, &argv, 2);
    lenient = argc > 1 && 0 == strcmp(argv[1], "lenient");
    test_note = note;
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MPI(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        for (int way = 0; way < N_WAYS; ++way) {
            for (int strided = 0; strided < 2; ++strided) {
                if (lenient && MATCHED_PROBE == way && strided && 0 == cases[i].room) {
                    continue;
                }
                truncated(cases[i].sent, cases[i].room, strided, way);
                still_works(cases[i].sent);
            }
        }
    }
    among_many(100);
    among_many(200000);
    for (int big = 0; !lenient && big < 2; ++big) {
        for (int way = 0; way < N_WAYS; ++way) {
            of_a_freed_communicator(big ? 200000 : 100, way);
        }
    }
    MPI(MPI_Comm_free(&comm));
    return finish();
}
