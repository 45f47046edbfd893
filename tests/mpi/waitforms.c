// SPDX-License-Identifier: BSD-3-Clause
// Description: every form of completion (Wait, Waitall, Waitany, Waitsome, Test, Testall, Testany,
// Testsome, Request_get_status) over the same mix of eager and rendezvous requests, null requests among
// them; and requests freed while active, after which messages still arrive and all goes on.
#include "check.h"

enum { N = 24, MAX_SIZE = 1 << 20, FORMS = 9 };

static unsigned char *out[N], *in[N];
static char note[100];
static const char *const form_name[FORMS] = {"Wait",    "Waitall", "Waitany",  "Waitsome",          "Test",
                                             "Testall", "Testany", "Testsome", "Request_get_status"};

static size_t size_of(int i) {
    static const size_t sizes[] = {0, 1, 500, 4096, 4100, 65536, 66000, 300000, MAX_SIZE};
    return sizes[i % 9];
}

static void one_done(int i, const MPI_Status *status, int from, int form, int *done) {
    CHECK(i >= 0 && i < N && !done[i], "%s gave index %d again", form_name[form], i);
    CHECK_STATUS(status, from, i, size_of(i));
    VERIFY(in[i], size_of(i), key_of(190, from, form, i), form_name[form]);
    done[i] = 1;
}

static void complete_by(int form) {
    int to = (my_rank + 1) % n_ranks, from = (my_rank + n_ranks - 1) % n_ranks;
    MPI_Request r[N + 2], s[N];
    MPI_Status status[N + 2];
    int done[N + 2] = {0}, index[N + 2], left = N, flag, count;

    snprintf(note, sizeof(note), "completing by %s", form_name[form]);
    for (int i = 0; i < N; ++i) {
        fill(out[i], size_of(i), key_of(190, my_rank, form, i));
        memset(in[i], BLANK_VALUE, size_of(i));
        if (i % 2) {
            MPI(MPI_Irecv(in[i], MAX_SIZE, MPI_BYTE, from, i, MPI_COMM_WORLD, &r[i]));
        }
    }
    for (int i = N - 1; i >= 0; --i) {
        if (i % 3) {
            MPI(MPI_Isend(out[i], (int) size_of(i), MPI_BYTE, to, i, MPI_COMM_WORLD, &s[i]));
        } else {
            MPI(MPI_Issend(out[i], (int) size_of(i), MPI_BYTE, to, i, MPI_COMM_WORLD, &s[i]));
        }
    }
    for (int i = 0; i < N; i += 2) {
        MPI(MPI_Irecv(in[i], MAX_SIZE, MPI_BYTE, from, i, MPI_COMM_WORLD, &r[i]));
    }
    r[N] = r[N + 1] = MPI_REQUEST_NULL;

    switch (form) {
    case 0:
        for (int i = N - 1; i >= 0; --i) {
            MPI(MPI_Wait(&r[i], &status[0]));
            one_done(i, &status[0], from, form, done);
        }
        break;
    case 1:
    case 5:
        flag = 0;
        if (1 == form) {
            MPI(MPI_Waitall(N + 2, r, status));
        }
        while (5 == form && !flag) {
            MPI(MPI_Testall(N + 2, r, &flag, status));
        }
        for (int i = 0; i < N; ++i) {
            one_done(i, &status[i], from, form, done);
        }
        break;
    case 2:
    case 6:
        while (left > 0) {
            flag = 1;
            if (2 == form) {
                MPI(MPI_Waitany(N + 2, r, &index[0], &status[0]));
            } else {
                MPI(MPI_Testany(N + 2, r, &index[0], &flag, &status[0]));
            }
            if (flag) {
                one_done(index[0], &status[0], from, form, done);
                --left;
            }
        }
        MPI(MPI_Waitany(N + 2, r, &index[0], &status[0]));
        CHECK(MPI_UNDEFINED == index[0], "Waitany over nothing gave index %d", index[0]);
        MPI(MPI_Testany(N + 2, r, &index[0], &flag, &status[0]));
        CHECK(flag && MPI_UNDEFINED == index[0], "Testany over nothing gave %d, index %d", flag, index[0]);
        break;
    case 3:
    case 7:
        while (left > 0) {
            if (3 == form) {
                MPI(MPI_Waitsome(N + 2, r, &count, index, status));
                CHECK(count > 0, "Waitsome gave count %d", count);
            } else {
                MPI(MPI_Testsome(N + 2, r, &count, index, status));
            }
            for (int i = 0; i < count; ++i) {
                one_done(index[i], &status[i], from, form, done);
                --left;
            }
        }
        MPI(MPI_Waitsome(N + 2, r, &count, index, status));
        CHECK(MPI_UNDEFINED == count, "Waitsome over nothing gave count %d", count);
        break;
    case 4:
        while (left > 0) {
            for (int i = 0; i < N; ++i) {
                if (!done[i]) {
                    MPI(MPI_Test(&r[i], &flag, &status[0]));
                    if (flag) {
                        one_done(i, &status[0], from, form, done);
                        --left;
                    }
                }
            }
        }
        break;
    default:
        for (int i = 0; i < N; ++i) {
            for (flag = 0; !flag;) {
                MPI(MPI_Request_get_status(r[i], &flag, &status[0]));
            }
            CHECK(MPI_REQUEST_NULL != r[i], "Request_get_status freed the request");
            one_done(i, &status[0], from, form, done);
            MPI(MPI_Wait(&r[i], &status[0]));
            CHECK_STATUS(&status[0], from, i, size_of(i));
        }
        break;
    }
    for (int i = 0; i < N; ++i) {
        CHECK(MPI_REQUEST_NULL == r[i], "request %d is not null after %s", i, form_name[form]);
    }
    MPI(MPI_Waitall(N, s, MPI_STATUSES_IGNORE));
}

// Active sends and receives freed; a later message of the same sender tells when they are done.
static void freed(size_t n, int synchronous) {
    enum { COUNT = 6 };
    int to = (my_rank + 1) % n_ranks, from = (my_rank + n_ranks - 1) % n_ranks;
    MPI_Request request;
    snprintf(note, sizeof(note), "freeing active requests of %zu bytes", n);
    for (int i = 0; i < COUNT; ++i) {
        fill(out[i], n, key_of(191, my_rank, n, i));
        memset(in[i], BLANK_VALUE, n);
        if (i % 2) {
            MPI(MPI_Irecv(in[i], (int) n, MPI_BYTE, from, i, MPI_COMM_WORLD, &request));
            MPI(MPI_Request_free(&request));
        }
        if (synchronous) {
            MPI(MPI_Issend(out[i], (int) n, MPI_BYTE, to, i, MPI_COMM_WORLD, &request));
        } else {
            MPI(MPI_Isend(out[i], (int) n, MPI_BYTE, to, i, MPI_COMM_WORLD, &request));
        }
        MPI(MPI_Request_free(&request));
        CHECK(MPI_REQUEST_NULL == request, "Request_free left the handle");
    }
    for (int i = 0; i < COUNT; i += 2) {
        MPI(MPI_Recv(in[i], (int) n, MPI_BYTE, from, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        VERIFY(in[i], n, key_of(191, from, n, i), "message whose send was freed");
    }
    // A freed receive is seen to be complete only by its data: wait for the last byte, calling MPI.
    for (int i = 1; i < COUNT; i += 2) {
        uint64_t key = key_of(191, from, n, i);
        int flag;
        for (double end = now() + 20; n > 0 && first_wrong(in[i], n, key, 0) >= 0;) {
            CHECK(now() < end, "a freed receive of %zu bytes has no data after 20 s", n);
            MPI(MPI_Iprobe(from, 999, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
        }
    }
    // The send buffers may be used again when the receiver says it has all of it.
    MPI(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv) {
    static const size_t sizes[] = {1, 4096, 70000, MAX_SIZE};
    begin(&argc, &argv, 2);
    test_note = note;
    for (int i = 0; i < N; ++i) {
        out[i] = guarded_alloc(MAX_SIZE);
        in[i] = guarded_alloc(MAX_SIZE);
    }
    for (int turn = 0; turn < 2; ++turn) {
        for (int form = 0; form < FORMS; ++form) {
            complete_by(form);
        }
        for (int i = 0; i < 4; ++i) {
            freed(sizes[i], 0);
            freed(sizes[i], 1);
        }
    }
    for (int i = 0; i < N; ++i) {
        guarded_free(out[i], MAX_SIZE);
        guarded_free(in[i], MAX_SIZE);
    }
    return finish();
}
