#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# Programs that use FFTW, hypre and mpi4py on one node, in some ways of running smartint; long: in every one. Transforms and
# residuals must be the same to the last bit as over Open MPI's own pml with as many ranks.
. "$(dirname "${BASH_SOURCE[0]}")/lib_suites.sh"

# bits NAME RANKS...: the client in CLIENT
bits() {
    local name=$1 np w
    shift
    for np in "$@"; do
        way ob1
        client_job "$name-ob1-np$np" $SUITE_LIMIT "$np" "$CLIENT"
        expect_ok
        expect_silence
        keep_base "$name.$np"
        verdict
        for w in $WAYS; do
            way "$w"
            client_job "$name-$w-np$np" $SUITE_LIMIT "$np" "$CLIENT"
            expect_ok
            expect_silence
            expect_base "$name.$np"
            [ "$w" = btl ] || expect_carried "$np"
            verdict
        done
    done
}

ranks=4
[ "$LONG" = no ] || ranks="2 3 4 7"
# shellcheck disable=SC2086
if client fftw_client -lfftw3_mpi -lfftw3; then
    bits fftw $ranks
elif [ -e /usr/include/fftw3-mpi.h ]; then
    fail suites/fftw "the client does not compile" "$LOGS/fftw_client.compile"
else
    skip suites/fftw "there is no libfftw3-mpi-dev"
fi
# shellcheck disable=SC2086
if client hypre_client -lHYPRE; then
    bits hypre $ranks
elif [ -e /usr/include/hypre/HYPRE.h ]; then
    fail suites/hypre "the client does not compile" "$LOGS/hypre_client.compile"
else
    skip suites/hypre "there is no libhypre-dev"
fi

# Counters show that interrupt threads matched messages of collectives: where they are armed from the first
# byte, and as it is by default, where the largest blocks are above smartint_arm_from.
python=/usr/bin/python3
if $python -c 'import mpi4py' 2>/dev/null; then
    ways="helper interrupt armed none"
    [ "$LONG" = no ] || ways="ob1 $WAYS"
    for w in $ways; do
        for np in $ranks; do
            way "$w"
            client_job "python-nbc-$w-np$np" $SUITE_LIMIT "$np" $python "$SCRIPT_DIR/nbc_client.py"
            expect_ok
            expect_silence
            case $w in
            ob1 | btl | none) ;;
            *) expect_carried "$np" ;;
            esac
            # With read or auto the receiver is the one who is woken; where everything is eager nobody is.
            case $w in helper | interrupt | armed | network) expect_thread_matches ;; esac
            verdict
        done
    done
else
    skip suites/python-nbc "there is no python3-mpi4py"
fi
fault_done
