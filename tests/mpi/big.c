// SPDX-License-Identifier: BSD-3-Clause
// Description: one message of more than 2 GiB by a count of a larger type, every byte checked.
// argv[1]: size in MiB (default 2049), argv[2] "v": received into a strided type. Needs 3 times the
// size as free memory.
#include "check.h"

enum { MIB = 1 << 20, ODD = 13 };

int main(int argc, char **argv) {
    begin(&argc, &argv, 2);
    size_t units = argc > 1 ? strtoul(argv[1], NULL, 0) : 2049;
    int strided = argc > 2 && 'v' == argv[2][0];
    size_t block = MIB + ODD, n = units * block;
    MPI_Datatype type;
    MPI_Status status;
    MPI_Count elements;
    MPI_Request request;
    int count;

    long pages = sysconf(_SC_AVPHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    int enough = (double) pages * page > 2.5 * (double) n, all = 0;
    MPI(MPI_Allreduce(&enough, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    if (!all) {
        if (0 == my_rank) {
            printf("# skipped: not enough free memory for %zu bytes\n", n);
        }
        return finish();
    }
    MPI(MPI_Type_contiguous((int) block, MPI_BYTE, &type));
    if (strided && 1 == my_rank) {
        MPI_Datatype whole = type;
        MPI(MPI_Type_create_resized(whole, 0, (MPI_Aint) block + 16, &type));
        MPI(MPI_Type_free(&whole));
    }
    MPI(MPI_Type_commit(&type));
    if (0 == my_rank) {
        unsigned char *buf = malloc(n);
        CHECK(NULL != buf, "no memory for %zu bytes", n);
        fill(buf, n, 120);
        MPI(MPI_Send(buf, (int) units, type, 1, 1, MPI_COMM_WORLD));
        MPI(MPI_Recv(buf, 8, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        free(buf);
    } else if (1 == my_rank) {
        size_t step = strided ? block + 16 : block;
        unsigned char *buf = calloc(units, step), tail[8] = {0};
        CHECK(NULL != buf, "no memory for %zu bytes", n);
        MPI(MPI_Irecv(buf, (int) units, type, 0, 1, MPI_COMM_WORLD, &request));
        MPI(MPI_Wait(&request, &status));
        MPI(MPI_Get_count(&status, type, &count));
        MPI(MPI_Get_elements_x(&status, type, &elements));
        CHECK(count == (int) units, "Get_count is %d, expected %zu", count, units);
        CHECK(elements == (MPI_Count) n, "Get_elements_x is %lld, expected %zu", (long long) elements, n);
        for (size_t i = 0; i < units; ++i) {
            int64_t bad = first_wrong(buf + i * step, block, 120, i * block);
            CHECK(bad < 0, "byte %zu of %zu is wrong", i * block + (size_t) bad, n);
            for (size_t k = block; k < step; ++k) {
                CHECK(0 == buf[i * step + k], "gap %zu was written", i);
            }
        }
        MPI(MPI_Send(tail, 8, MPI_BYTE, 0, 2, MPI_COMM_WORLD));
        free(buf);
    }
    MPI(MPI_Type_free(&type));
    return finish();
}
