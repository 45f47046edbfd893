// SPDX-License-Identifier: BSD-3-Clause
// Description: the job starts more processes of itself (MPI_Comm_spawn), exchanges messages of all sizes
// with them over the intercommunicator and over the merged one, and parts from them. Twice.
// argv[1]: how many processes to start.
#include "across.h"

enum { MAX_SIZE = 4 << 20, TIMES = 2 };

static const size_t sizes[] = {0, 1, 1000, 8192, 65536, 70001, 1 << 20, MAX_SIZE};
enum { N_SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static void together(MPI_Comm comm, int side) {
    MPI_Comm all;
    int rank, size, sum = 0, one = 1, remote, local;
    MPI(MPI_Comm_size(comm, &local));
    MPI(MPI_Comm_remote_size(comm, &remote));
    for (int i = 0; i < N_SIZES; ++i) {
        static char note[64];
        test_note = note;
        snprintf(note, sizeof(note), "exchanging %zu bytes, %s", sizes[i], side ? "started" : "starting");
        exchange_across(comm, 230, side, sizes[i]);
    }
    test_note = "merging";
    MPI(MPI_Intercomm_merge(comm, side, &all));
    MPI(MPI_Comm_rank(all, &rank));
    MPI(MPI_Comm_size(all, &size));
    CHECK(size == local + remote, "merged to %d ranks of %d and %d", size, local, remote);
    MPI(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all));
    CHECK(sum == size, "allreduce gave %d, expected %d", sum, size);
    unsigned char *buf = guarded_alloc(MAX_SIZE);
    if (0 == rank) {
        fill(buf, MAX_SIZE, 233);
    }
    MPI(MPI_Bcast(buf, MAX_SIZE, MPI_BYTE, 0, all));
    VERIFY(buf, MAX_SIZE, 233, "broadcast over both groups");
    guarded_free(buf, MAX_SIZE);
    MPI(MPI_Comm_free(&all));
    test_note = "parting";
    MPI(MPI_Comm_disconnect(&comm));
}

int main(int argc, char **argv) {
    MPI_Comm parent, children;
    begin(&argc, &argv, 1);
    int n = argc > 1 ? atoi(argv[1]) : 2;
    MPI(MPI_Comm_get_parent(&parent));
    if (MPI_COMM_NULL != parent) {
        together(parent, 1);
        MPI_Finalize();
        return 0;
    }
    for (int i = 0; i < TIMES; ++i) {
        test_note = "starting processes";
        MPI(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, n, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                           MPI_ERRCODES_IGNORE));
        together(children, 0);
    }
    return finish();
}
