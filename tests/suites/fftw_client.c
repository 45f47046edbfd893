// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Description: a client of FFTW's MPI transforms. It transforms forth and back in one, two and three
// dimensions, complex and real, in natural and transposed order, and transposes matrices; checks
// each result against the input, and prints a hash of the bits that every rank has after every step.
// With FFTW_ESTIMATE a plan does not depend on measurements: the same ranks must print the same
// hashes whatever carries the messages.
#include "../mpi/check.h"

#include <fftw3-mpi.h>

#include <math.h>

// FNV-1a of what this rank has; rank 0 prints those of all, in order.
static void print_bits(const char *what, const void *data, size_t bytes) {
    const unsigned char *p = data;
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < bytes; ++i) {
        hash = (hash ^ p[i]) * 0x100000001b3u;
    }
    uint64_t *all = malloc(sizeof(hash) * (size_t) n_ranks);
    CHECK(NULL != all, "no memory");
    MPI(MPI_Gather(&hash, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD));
    for (int r = 0; 0 == my_rank && r < n_ranks; ++r) {
        printf("# %s rank %d %016" PRIx64 "\n", what, r, all[r]);
    }
    free(all);
}

static double value(ptrdiff_t i) { return (double) (mix64((uint64_t) i) >> 11) * 0x1p-53 - 0.5; }

static void check_close(const char *what, double got, double want, ptrdiff_t i) {
    CHECK(fabs(got - want) < 1e-12, "%s: element %td came back as %.17g, was %.17g", what, i, got, want);
}

// Forth and back; `transposed`: the intermediate result stays in the order of the second dimension.
static void complex_transform(const char *what, int rank, const ptrdiff_t *n, int transposed) {
    ptrdiff_t rows, first, t_rows, t_first, total = 1, per_row;
    for (int d = 0; d < rank; ++d) {
        total *= n[d];
    }
    per_row = total / n[0];
    ptrdiff_t size = transposed
                         ? fftw_mpi_local_size_transposed(rank, n, MPI_COMM_WORLD, &rows, &first, &t_rows, &t_first)
                         : fftw_mpi_local_size(rank, n, MPI_COMM_WORLD, &rows, &first);
    fftw_complex *a = fftw_alloc_complex((size_t) size), *b = fftw_alloc_complex((size_t) size);
    CHECK(NULL != a && NULL != b, "no memory");
    fftw_plan forth = fftw_mpi_plan_dft(rank, n, a, b, MPI_COMM_WORLD, FFTW_FORWARD,
                                        FFTW_ESTIMATE | (transposed ? FFTW_MPI_TRANSPOSED_OUT : 0));
    fftw_plan back = fftw_mpi_plan_dft(rank, n, b, a, MPI_COMM_WORLD, FFTW_BACKWARD,
                                       FFTW_ESTIMATE | (transposed ? FFTW_MPI_TRANSPOSED_IN : 0));
    CHECK(NULL != forth && NULL != back, "%s: no plan", what);
    for (ptrdiff_t i = 0; i < rows * per_row; ++i) {
        a[i][0] = value(2 * (first * per_row + i));
        a[i][1] = value(2 * (first * per_row + i) + 1);
    }
    fftw_execute(forth);
    ptrdiff_t have = transposed ? t_rows * (total / n[1]) : rows * per_row;
    print_bits(what, b, (size_t) have * sizeof(fftw_complex));
    fftw_execute(back);
    print_bits(what, a, (size_t) (rows * per_row) * sizeof(fftw_complex));
    for (ptrdiff_t i = 0; i < rows * per_row; ++i) {
        check_close(what, a[i][0] / (double) total, value(2 * (first * per_row + i)), i);
        check_close(what, a[i][1] / (double) total, value(2 * (first * per_row + i) + 1), i);
    }
    fftw_destroy_plan(forth);
    fftw_destroy_plan(back);
    fftw_free(a);
    fftw_free(b);
}

// A linear transform of its own kind: one dimension is spread over all ranks, in and out.
static void one_dimension(const char *what, ptrdiff_t n) {
    ptrdiff_t in, in_first, out, out_first;
    ptrdiff_t size =
        fftw_mpi_local_size_1d(n, MPI_COMM_WORLD, FFTW_FORWARD, FFTW_ESTIMATE, &in, &in_first, &out, &out_first);
    fftw_complex *a = fftw_alloc_complex((size_t) size);
    CHECK(NULL != a, "no memory");
    fftw_plan forth = fftw_mpi_plan_dft_1d(n, a, a, MPI_COMM_WORLD, FFTW_FORWARD, FFTW_ESTIMATE);
    fftw_plan back = fftw_mpi_plan_dft_1d(n, a, a, MPI_COMM_WORLD, FFTW_BACKWARD, FFTW_ESTIMATE);
    CHECK(NULL != forth && NULL != back, "%s: no plan", what);
    for (ptrdiff_t i = 0; i < in; ++i) {
        a[i][0] = value(in_first + i);
        a[i][1] = 0;
    }
    fftw_execute(forth);
    print_bits(what, a, (size_t) out * sizeof(fftw_complex));
    fftw_execute(back);
    for (ptrdiff_t i = 0; i < in; ++i) {
        check_close(what, a[i][0] / (double) n, value(in_first + i), i);
    }
    fftw_destroy_plan(forth);
    fftw_destroy_plan(back);
    fftw_free(a);
}

// Real to complex in place, rows padded as FFTW wants it.
static void real_transform(const char *what, ptrdiff_t n0, ptrdiff_t n1, ptrdiff_t n2) {
    ptrdiff_t rows, first, half = n2 / 2 + 1;
    ptrdiff_t size = fftw_mpi_local_size_3d(n0, n1, half, MPI_COMM_WORLD, &rows, &first);
    fftw_complex *c = fftw_alloc_complex((size_t) size);
    double *r = (double *) c;
    CHECK(NULL != c, "no memory");
    fftw_plan forth = fftw_mpi_plan_dft_r2c_3d(n0, n1, n2, r, c, MPI_COMM_WORLD, FFTW_ESTIMATE);
    fftw_plan back = fftw_mpi_plan_dft_c2r_3d(n0, n1, n2, c, r, MPI_COMM_WORLD, FFTW_ESTIMATE);
    CHECK(NULL != forth && NULL != back, "%s: no plan", what);
    memset(c, 0, (size_t) size * sizeof(*c));
    for (ptrdiff_t i = 0; i < rows * n1; ++i) {
        for (ptrdiff_t k = 0; k < n2; ++k) {
            r[i * 2 * half + k] = value((first * n1 + i) * n2 + k);
        }
    }
    fftw_execute(forth);
    print_bits(what, c, (size_t) (rows * n1 * half) * sizeof(*c));
    fftw_execute(back);
    for (ptrdiff_t i = 0; i < rows * n1; ++i) {
        for (ptrdiff_t k = 0; k < n2; ++k) {
            check_close(what, r[i * 2 * half + k] / (double) (n0 * n1 * n2), value((first * n1 + i) * n2 + k), i);
        }
    }
    fftw_destroy_plan(forth);
    fftw_destroy_plan(back);
    fftw_free(c);
}

// A matrix of tuples, transposed: nothing is computed, so every bit is known.
static void transpose(const char *what, ptrdiff_t n0, ptrdiff_t n1, ptrdiff_t tuple) {
    const ptrdiff_t n[2] = {n0, n1};
    ptrdiff_t rows, first, t_rows, t_first;
    ptrdiff_t size = fftw_mpi_local_size_many_transposed(2, n, tuple, FFTW_MPI_DEFAULT_BLOCK, FFTW_MPI_DEFAULT_BLOCK,
                                                         MPI_COMM_WORLD, &rows, &first, &t_rows, &t_first);
    double *a = fftw_alloc_real((size_t) size), *b = fftw_alloc_real((size_t) size);
    CHECK(NULL != a && NULL != b, "no memory");
    fftw_plan plan = fftw_mpi_plan_many_transpose(n0, n1, tuple, FFTW_MPI_DEFAULT_BLOCK, FFTW_MPI_DEFAULT_BLOCK, a, b,
                                                  MPI_COMM_WORLD, FFTW_ESTIMATE);
    CHECK(NULL != plan, "%s: no plan", what);
    for (ptrdiff_t i = 0; i < rows * n1 * tuple; ++i) {
        a[i] = value(first * n1 * tuple + i);
    }
    fftw_execute(plan);
    for (ptrdiff_t j = 0; j < t_rows; ++j) {
        for (ptrdiff_t i = 0; i < n0; ++i) {
            for (ptrdiff_t k = 0; k < tuple; ++k) {
                double got = b[(j * n0 + i) * tuple + k], want = value((i * n1 + t_first + j) * tuple + k);
                CHECK(0 == memcmp(&got, &want, sizeof(got)), "%s: (%td, %td, %td) is %.17g, expected %.17g", what, i,
                      t_first + j, k, got, want);
            }
        }
    }
    print_bits(what, b, (size_t) (t_rows * n0 * tuple) * sizeof(double));
    fftw_destroy_plan(plan);
    fftw_free(a);
    fftw_free(b);
}

int main(int argc, char **argv) {
    begin(&argc, &argv, 1);
    fftw_mpi_init();
    complex_transform("complex-2d", 2, (const ptrdiff_t[]){96, 80}, 0);
    complex_transform("complex-2d-large", 2, (const ptrdiff_t[]){1024, 512}, 0);
    complex_transform("complex-2d-transposed", 2, (const ptrdiff_t[]){512, 1000}, 1);
    complex_transform("complex-3d", 3, (const ptrdiff_t[]){64, 96, 100}, 0);
    complex_transform("complex-3d-transposed", 3, (const ptrdiff_t[]){128, 64, 60}, 1);
    complex_transform("complex-3d-uneven", 3, (const ptrdiff_t[]){37, 29, 50}, 1);
    one_dimension("complex-1d", 1 << 18);
    real_transform("real-3d", 64, 60, 90);
    transpose("transpose-small", 30, 50, 1);
    transpose("transpose", 1000, 800, 1);
    transpose("transpose-tuples", 257, 301, 12);
    fftw_mpi_cleanup();
    return finish();
}
