#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# ScaLAPACK's own testers, those of its BLACS and PBLAS too, as Debian ships them, on four ranks. Each must
# pass as many checks as scalapack.list says, which is what it passes over Open MPI's own pml, and fail
# none. The problems they come with are small; the last ones here are large enough for a rendezvous.
. "$(dirname "${BASH_SOURCE[0]}")/lib_suites.sh"
. "$(dirname "${BASH_SOURCE[0]}")/lib_scalapack.sh"

scalapack_copy || fault_done
testers=$(scalapack_testers)
[ "$LONG" = yes ] || testers=${testers/BLACS\/xCbtest/} # in C what xFbtest is in Fortran
for w in $([ "$LONG" = no ] && echo helper || echo "ob1 $WAYS"); do
    for tester in $testers; do
        scalapack_job "$w" "$tester"
    done
done
if [ "$LONG" = no ]; then
    for w in network eager-none; do
        for tester in $SCALAPACK_FEW; do
            scalapack_job "$w" "$tester"
        done
    done
fi
for w in helper network $([ "$LONG" = no ] || echo write copy); do
    scalapack_large "$w"
done
lib_say "$SCALAPACK_CHECKS checks passed"
fault_done
