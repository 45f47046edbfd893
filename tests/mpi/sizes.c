// SPDX-License-Identifier: BSD-3-Clause
// Description: every size 0, 1, 2 and all powers of two with their neighbours up to 8 MB, blocking
// and nonblocking, in both directions between each neighbouring pair of ranks. argv[1]: largest size.
#include "check.h"

enum { TAG = 7 };

static void blocking(unsigned char *buf, int from, int to, size_t n) {
    uint64_t key = key_of(1, from, to, n);
    if (my_rank == from) {
        fill(buf, n, key);
        MPI(MPI_Send(buf, (int) n, MPI_BYTE, to, TAG, MPI_COMM_WORLD));
    } else if (my_rank == to) {
        MPI_Status status;
        memset(buf, BLANK_VALUE, n + 1);
        MPI(MPI_Recv(buf, (int) n, MPI_BYTE, from, TAG, MPI_COMM_WORLD, &status));
        CHECK_STATUS(&status, from, TAG, n);
        VERIFY(buf, n, key, "blocking");
        VERIFY_VALUE(buf + n, 1, BLANK_VALUE, "byte after a blocking message");
    }
}

static void nonblocking(unsigned char *out, unsigned char *in, size_t n) {
    int next = (my_rank + 1) % n_ranks, prev = (my_rank + n_ranks - 1) % n_ranks;
    MPI_Request request[4];
    MPI_Status status[4];
    // out: [0, n) to next, [n, 2n) to prev; in likewise.
    fill(out, n, key_of(2, my_rank, next, n));
    fill(out + n, n, key_of(3, my_rank, prev, n));
    memset(in, BLANK_VALUE, 2 * n + 1);
    MPI(MPI_Irecv(in, (int) n, MPI_BYTE, prev, TAG, MPI_COMM_WORLD, &request[0]));
    MPI(MPI_Irecv(in + n, (int) n, MPI_BYTE, next, TAG + 1, MPI_COMM_WORLD, &request[1]));
    MPI(MPI_Isend(out, (int) n, MPI_BYTE, next, TAG, MPI_COMM_WORLD, &request[2]));
    MPI(MPI_Isend(out + n, (int) n, MPI_BYTE, prev, TAG + 1, MPI_COMM_WORLD, &request[3]));
    MPI(MPI_Waitall(4, request, status));
    CHECK_STATUS(&status[0], prev, TAG, n);
    CHECK_STATUS(&status[1], next, TAG + 1, n);
    VERIFY(in, n, key_of(2, prev, my_rank, n), "nonblocking from the left");
    VERIFY(in + n, n, key_of(3, next, my_rank, n), "nonblocking from the right");
    VERIFY_VALUE(in + 2 * n, 1, BLANK_VALUE, "byte after nonblocking messages");
    VERIFY(out, n, key_of(2, my_rank, next, n), "send buffer");
}

int main(int argc, char **argv) {
    begin(&argc, &argv, 2);
    size_t max = argc > 1 ? strtoul(argv[1], NULL, 0) : (size_t) 8 << 20;
    unsigned char *out = guarded_alloc(2 * max + 3), *in = guarded_alloc(2 * max + 3);
    char note[64];
    test_note = note;

    for (size_t power = 0; power <= max; power = power ? 2 * power : 1) {
        for (int d = -1; d <= 1; ++d) {
            size_t n = power + (size_t) d;
            if ((0 == power && d < 0) || (power <= 2 && power > 0 && d < 1) || n > max + 1) {
                continue; // 0 and 1 come from power 0, 2 from power 1
            }
            snprintf(note, sizeof(note), "sending %zu bytes", n);
            for (int a = 0; a + 1 < n_ranks; ++a) {
                blocking(in, a, a + 1, n);
                blocking(in, a + 1, a, n);
            }
            nonblocking(out, in, n);
        }
    }
    guarded_free(out, 2 * max + 3);
    guarded_free(in, 2 * max + 3);
    return finish();
}
