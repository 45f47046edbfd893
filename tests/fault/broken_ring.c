// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
// Description: rank 0 writes a record into rank 1's message ring as no sender would, while rank 1 waits in a
// receive. The job has to end. The offsets are those of common_smartint_layout.h.
//   broken_ring length|mark     what is wrong with it: it is longer than the ring, or it is no record's beginning
#include "check.h"

#include <stdatomic.h>

static unsigned char *find_board(void) {
    char line[4400];
    unsigned long from = 0;
    FILE *f = fopen("/proc/self/maps", "r");
    CHECK(NULL != f, "no /proc/self/maps");
    while (0 == from && NULL != fgets(line, sizeof(line), f)) {
        if (NULL == strstr(line, "/smartint-") || 1 != sscanf(line, "%lx-", &from)) {
            from = 0;
        }
    }
    fclose(f);
    CHECK(0 != from, "no board is mapped");
    return (unsigned char *) from;
}

static uint64_t at(const unsigned char *p, size_t offset, size_t bytes) {
    uint64_t v = 0;
    memcpy(&v, p + offset, bytes);
    return v;
}

int main(int argc, char **argv) {
    begin(&argc, &argv, 2);
    const char *what = argc > 1 ? argv[1] : "length";
    static unsigned char buffer[100000];
    int other = 1 - my_rank;
    for (int i = 0; i < 20; ++i) {
        MPI(MPI_Sendrecv_replace(buffer, (int) sizeof(buffer), MPI_BYTE, other, 0, other, 0, MPI_COMM_WORLD,
                                 MPI_STATUS_IGNORE));
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (0 == my_rank) {
        unsigned char *board = find_board();
        CHECK(0x31746e6974726d73ull == at(board, 0, 8), "the board begins otherwise");
        uint64_t stride = at(board, 40, 8), slots = at(board, 48, 8), ring_bytes = at(board, 56, 4);
        unsigned char *ring = board + slots + stride + stride - ring_bytes;
        _Atomic uint64_t *tail = (_Atomic uint64_t *) (ring - 192), *head = (_Atomic uint64_t *) (ring - 128);
        while (atomic_load(tail) != atomic_load(head)) { // until rank 1 has read what is in it
        }
        uint64_t where = atomic_fetch_add(tail, 64) & (ring_bytes - 1);
        atomic_store((_Atomic uint64_t *) (ring + where),
                     0 == strcmp(what, "mark") ? 0x1122334455667788ull : ring_bytes << 32 | 0x01a5);
    }
    MPI(MPI_Recv(buffer, 1, MPI_BYTE, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    FAIL("a message came that nobody sent");
}
