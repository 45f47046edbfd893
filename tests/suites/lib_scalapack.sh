# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
# shellcheck shell=bash disable=SC2034
# Sourced after lib_suites.sh by the scripts that run ScaLAPACK's testers.
#
#   scalapack_copy               a copy of the testers with their input; false, and a skip, where there are none
#   scalapack_testers            names of all, as scalapack.list has them
#   scalapack_job WAY TESTER     one of them on four ranks
#   scalapack_large WAY          LU of matrices whose blocks are sent by rendezvous
# A name is a path: PBLAS/dpb3tst.

SCALAPACK=/usr/lib/x86_64-linux-gnu/scalapack/openmpi-tests
SCALAPACK_FEW="xdlu xcinv xzqr xdbrd xsnep xzevc PBLAS/dpb2tst PBLAS/zpb3tst"
SCALAPACK_CHECKS=0
SCALAPACK_COPY=$PROGRAMS/scalapack      # every node of a cluster sees it, and it may be written to

scalapack_copy() {
    if [ ! -x $SCALAPACK/xdlu ]; then
        skip suites/scalapack "there is no scalapack-mpi-test"
        return 1
    fi
    rm -rf "$SCALAPACK_COPY"
    mkdir -p "$SCALAPACK_COPY/large" && cp -rL $SCALAPACK/. "$SCALAPACK_COPY" || exit 2
    # The form is ScaLAPACK's: title, machine, output file and device, then counts and values.
    cat >"$SCALAPACK_COPY/large/LU.dat" <<EOF
'LU of matrices with large blocks'
'any machine'
'LU.out' file
6 device
2 sizes
500 620 M
500 620 N
1 block sizes
128 NB
1 right sides
64 NRHS
1 block sizes of right sides
64 NBRHS
3 grids
1 2 4 P
4 2 1 Q
1.0 threshold
F condition and refinement
EOF
}

scalapack_testers() { awk '/^[A-Za-z]/ { print $1 }' "$SCRIPT_DIR/scalapack.list"; }

# Lines with a verdict, without summaries, headings and what the verdicts mean. Whether a sum is
# repeatable BLACS finds out or not ("skipped"), from run to run.
checks_passed() { grep -vE 'tests completed|REPEATABLE SUM' "$LOG" | grep -ciw passed; }
checks_failed() { grep -iw failed "$LOG" | grep -vcE '(^| )0 (FAILED|tests completed)|PASSED +FAILED|test failed|setpgid'; }

# scalapack_run NAME WAY DIRECTORY PROGRAM
scalapack_run() {
    way "$2"
    cd "$3" || exit 2
    client_job "$1" $SUITE_LIMIT 4 "$4"
    cd - >/dev/null || exit 2
}

scalapack_job() {
    local w=$1 tester=$2 passed aborts
    read -r passed aborts < <(awk -v name="$tester" '$1 == name { print $2, $3 }' "$SCRIPT_DIR/scalapack.list")
    scalapack_run "scalapack-${SCALAPACK_LABEL:-}$w-${tester##*/}" "$w" "$SCALAPACK_COPY/$(dirname "$tester")" \
        "./${tester##*/}"
    if [ "$aborts" = aborts ]; then
        grep -q 'MPI_ABORT was invoked' "$LOG" || complain "it did not come to its end, which is BLACS_ABORT"
        [ "$RC" -ne 0 ] || complain "exit code 0 after BLACS_ABORT"
    else
        [ "$RC" -eq 0 ] || complain "exit code $RC"
    fi
    [ "$(checks_passed)" = "$passed" ] || complain "$(checks_passed) lines say passed, expected $passed"
    [ "$(checks_failed)" = 0 ] || complain "$(checks_failed) lines say that a check failed"
    SCALAPACK_CHECKS=$((SCALAPACK_CHECKS + $(checks_passed)))
    verdict
}

scalapack_large() {
    local program
    for program in xdlu xzlu; do
        scalapack_run "scalapack-${SCALAPACK_LABEL:-}large-$1-$program" "$1" "$SCALAPACK_COPY/large" "../$program"
        [ "$RC" -eq 0 ] || complain "exit code $RC"
        [ "$(grep -cE '(^| )0 tests completed and failed' "$LOG")" = 1 ] || complain "checks failed, or there is no summary"
        [ "$(awk '/tests completed and passed/ { print $1 }' "$LOG")" = 6 ] || complain "not six checks passed"
        expect_counter 0 rts_sent '>' 0
        verdict
    done
}
