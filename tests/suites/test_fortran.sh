#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# A program in Fortran with the module and the library of epochs that return requests, as they were installed.
. "$(dirname "${BASH_SOURCE[0]}")/lib_suites.sh"

installed=${SMARTINT_COMPONENT_DIR:?where the components are}
compiler=${SMARTINT_MPIFORT:-mpifort.openmpi}
if ! command -v "$compiler" >/dev/null; then
    skip suites/fortran "there is no $compiler"
    fault_done
fi
PROGRAM=$PROGRAMS/epochs_f08
WATCHED=(epochs_f08)
if ! (cd "$WORK" && "$compiler" -O2 -g -Wall -Wextra -o "$PROGRAM" "$installed/include/mpix_smartint_f08.f90" \
    "$SCRIPT_DIR/epochs_f08.f90" -L"$installed" -lmpix_smartint -Wl,-rpath,"$installed") >"$LOGS/epochs_f08.compile" 2>&1; then
    fail suites/fortran "it does not compile" "$LOGS/epochs_f08.compile"
    fault_done
fi
for np in 2 4; do
    for progress in helper none; do
        run_job "fortran-epochs-$progress-np$np" 60 -np $np --mca pml smartint --mca osc smartint \
            --mca smartint_progress $progress "$PROGRAM"
        expect_ok
        expect_silence
        verdict
    done
done
fault_done
