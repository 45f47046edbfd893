// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Description: a client of hypre: the Laplacian of a cube of N^3 points, solved by conjugate gradients
// with BoomerAMG in front. The solver is run with a limit of one step, two, three ... and the residual
// after each is printed bit by bit: it must be the same whatever carries the messages. The solution is
// checked against the one the right side was made from.
//
//   hypre_client [N [STEPS]]
#include "../mpi/check.h"

#include <HYPRE.h>
#include <HYPRE_krylov.h>
#include <HYPRE_parcsr_ls.h>

#include <math.h>

#define HYPRE(call)                                                                                                    \
    do {                                                                                                               \
        int hypre_rc_ = (call);                                                                                        \
        CHECK(0 == hypre_rc_, "%s: error %d", #call, hypre_rc_);                                                       \
    } while (0)

static int n = 40;

static double solution(int i) { return (double) (mix64((uint64_t) i) >> 40) * 0x1p-24; }

// The row's columns and values; returns how many.
static int row_of(int i, int *columns, double *values) {
    const int x = i % n, y = i / n % n, z = i / n / n;
    const int at[3] = {x, y, z}, step[3] = {1, n, n * n};
    int k = 0;
    columns[k] = i;
    values[k++] = 6.0;
    for (int d = 0; d < 3; ++d) {
        if (at[d] > 0) {
            columns[k] = i - step[d];
            values[k++] = -1.0;
        }
        if (at[d] < n - 1) {
            columns[k] = i + step[d];
            values[k++] = -1.0;
        }
    }
    return k;
}

int main(int argc, char **argv) {
    begin(&argc, &argv, 1);
    n = argc > 1 ? atoi(argv[1]) : n;
    const int steps = argc > 2 ? atoi(argv[2]) : 10, total = n * n * n;
    const int first = (int) ((int64_t) total * my_rank / n_ranks);
    const int last = (int) ((int64_t) total * (my_rank + 1) / n_ranks) - 1;
    HYPRE_IJMatrix ij;
    HYPRE_IJVector ij_right, ij_x;
    HYPRE_ParCSRMatrix matrix;
    HYPRE_ParVector right, x;
    HYPRE_Solver solver, front;

    HYPRE(HYPRE_Init());
    HYPRE(HYPRE_IJMatrixCreate(MPI_COMM_WORLD, first, last, first, last, &ij));
    HYPRE(HYPRE_IJMatrixSetObjectType(ij, HYPRE_PARCSR));
    HYPRE(HYPRE_IJMatrixInitialize(ij));
    HYPRE(HYPRE_IJVectorCreate(MPI_COMM_WORLD, first, last, &ij_right));
    HYPRE(HYPRE_IJVectorSetObjectType(ij_right, HYPRE_PARCSR));
    HYPRE(HYPRE_IJVectorInitialize(ij_right));
    HYPRE(HYPRE_IJVectorCreate(MPI_COMM_WORLD, first, last, &ij_x));
    HYPRE(HYPRE_IJVectorSetObjectType(ij_x, HYPRE_PARCSR));
    HYPRE(HYPRE_IJVectorInitialize(ij_x));
    for (int i = first; i <= last; ++i) {
        int columns[7], count = row_of(i, columns, (double[7]){0});
        double values[7], sum = 0;
        row_of(i, columns, values);
        for (int k = 0; k < count; ++k) {
            sum += values[k] * solution(columns[k]);
        }
        HYPRE(HYPRE_IJMatrixSetValues(ij, 1, &count, &i, columns, values));
        HYPRE(HYPRE_IJVectorSetValues(ij_right, 1, &i, &sum));
        HYPRE(HYPRE_IJVectorSetValues(ij_x, 1, &i, &(double){0}));
    }
    HYPRE(HYPRE_IJMatrixAssemble(ij));
    HYPRE(HYPRE_IJVectorAssemble(ij_right));
    HYPRE(HYPRE_IJVectorAssemble(ij_x));
    HYPRE(HYPRE_IJMatrixGetObject(ij, (void **) &matrix));
    HYPRE(HYPRE_IJVectorGetObject(ij_right, (void **) &right));
    HYPRE(HYPRE_IJVectorGetObject(ij_x, (void **) &x));

    HYPRE(HYPRE_BoomerAMGCreate(&front));
    HYPRE(HYPRE_BoomerAMGSetCoarsenType(front, 8)); // PMIS and extended interpolation: nothing random
    HYPRE(HYPRE_BoomerAMGSetInterpType(front, 6));  // but what hypre seeds by itself
    HYPRE(HYPRE_BoomerAMGSetRelaxType(front, 6));   // symmetric, as conjugate gradients want it
    HYPRE(HYPRE_BoomerAMGSetNumSweeps(front, 1));
    HYPRE(HYPRE_BoomerAMGSetTol(front, 0.0));
    HYPRE(HYPRE_BoomerAMGSetMaxIter(front, 1));
    HYPRE(HYPRE_ParCSRPCGCreate(MPI_COMM_WORLD, &solver));
    HYPRE(HYPRE_PCGSetTol(solver, 0.0));
    HYPRE(HYPRE_PCGSetTwoNorm(solver, 1));
    HYPRE(HYPRE_PCGSetPrecond(solver, (HYPRE_PtrToSolverFcn) HYPRE_BoomerAMGSolve,
                              (HYPRE_PtrToSolverFcn) HYPRE_BoomerAMGSetup, front));
    HYPRE(HYPRE_ParCSRPCGSetup(solver, matrix, right, x));
    double norm = 1;
    for (int step = 1; step <= steps; ++step) {
        HYPRE(HYPRE_ParVectorSetConstantValues(x, 0.0));
        HYPRE(HYPRE_PCGSetMaxIter(solver, step));
        HYPRE_ParCSRPCGSolve(solver, matrix, right, x);
        HYPRE_ClearAllErrors(); // that it has not converged to nothing is what we asked for
        HYPRE(HYPRE_PCGGetFinalRelativeResidualNorm(solver, &norm));
        if (0 == my_rank) {
            printf("# step %d residual %a (%.3e)\n", step, norm, norm);
        }
    }
    CHECK(isfinite(norm) && norm < 1e-5, "the residual after %d steps is %g", steps, norm);
    double worst = 0, got;
    for (int i = first; i <= last; ++i) {
        HYPRE(HYPRE_IJVectorGetValues(ij_x, 1, &i, &got));
        worst = fmax(worst, fabs(got - solution(i)));
    }
    MPI(MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
    CHECK(worst < 1e-3, "the solution is off by %g", worst);
    if (0 == my_rank) {
        printf("# error %a\n", worst);
    }
    HYPRE(HYPRE_ParCSRPCGDestroy(solver));
    HYPRE(HYPRE_BoomerAMGDestroy(front));
    HYPRE(HYPRE_IJMatrixDestroy(ij));
    HYPRE(HYPRE_IJVectorDestroy(ij_right));
    HYPRE(HYPRE_IJVectorDestroy(ij_x));
    HYPRE(HYPRE_Finalize());
    return finish();
}
