// SPDX-License-Identifier: BSD-3-Clause
// Description: put, get and accumulate of more than 2 GiB in one call, every byte checked; what is got goes into a
// strided type. argv[1]: size in MiB (default 2049). Needs 3 times the size as free memory (run_mpi.sh sees to that).
#include "check.h"

enum { MIB = 1 << 20, ODD = 24, GAP = 16 };

int main(int argc, char **argv) {
    begin(&argc, &argv, 2);
    const size_t units = argc > 1 ? strtoul(argv[1], NULL, 0) : 2049, block = MIB + ODD, n = units * block;
    unsigned char *memory = NULL, *buf = NULL;
    MPI_Datatype bytes, strided, numbers;
    MPI_Win win;

    MPI(MPI_Type_contiguous((int) block, MPI_BYTE, &bytes));
    MPI(MPI_Type_create_resized(bytes, 0, (MPI_Aint) block + GAP, &strided));
    MPI(MPI_Type_contiguous((int) block / 8, MPI_INT64_T, &numbers));
    MPI(MPI_Type_commit(&bytes));
    MPI(MPI_Type_commit(&strided));
    MPI(MPI_Type_commit(&numbers));
    MPI(MPI_Win_allocate(1 == my_rank ? (MPI_Aint) n : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    if (0 == my_rank) {
        buf = malloc(n);
        CHECK(NULL != buf, "no memory for %zu bytes", n);
        fill(buf, n, 130);
        MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win));
        MPI(MPI_Put(buf, (int) units, bytes, 1, 0, (int) units, bytes, win));
        MPI(MPI_Win_unlock(1, win));
        free(buf);
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (1 == my_rank) {
        const int64_t bad = first_wrong(memory, n, 130, 0);
        CHECK(bad < 0, "put: byte %" PRId64 " of %zu is wrong", bad, n);
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (0 == my_rank) {
        const size_t step = block + GAP;
        buf = calloc(units, step);
        CHECK(NULL != buf, "no memory for %zu bytes", n);
        MPI(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win));
        MPI(MPI_Get(buf, (int) units, strided, 1, 0, (int) units, bytes, win));
        MPI(MPI_Win_unlock(1, win));
        for (size_t i = 0; i < units; ++i) {
            const int64_t bad = first_wrong(buf + i * step, block, 130, i * block);
            CHECK(bad < 0, "get: byte %zu of %zu is wrong", i * block + (size_t) bad, n);
            for (size_t k = block; k < step; ++k) {
                CHECK(0 == buf[i * step + k], "gap %zu was written", i);
            }
        }
        free(buf);
        buf = malloc(n);
        CHECK(NULL != buf, "no memory for %zu bytes", n);
        fill(buf, n, 130);
        MPI(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win));
        MPI(MPI_Accumulate(buf, (int) units, numbers, 1, 0, (int) units, numbers, MPI_BXOR, win));
        MPI(MPI_Win_unlock(1, win));
        free(buf);
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (1 == my_rank) { // with itself: nothing is left
        VERIFY_VALUE(memory, n, 0, "accumulate");
    }
    MPI(MPI_Win_free(&win));
    MPI(MPI_Type_free(&bytes));
    MPI(MPI_Type_free(&strided));
    MPI(MPI_Type_free(&numbers));
    return finish();
}
