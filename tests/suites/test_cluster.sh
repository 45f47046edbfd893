#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# The clients on emulated nodes, over tcp: two nodes with two ranks, and in the long run three and four. What
# they print must be, to the last bit, what as many ranks print on one node over Open MPI's own pml.
. "$(dirname "${BASH_SOURCE[0]}")/lib_suites.sh"
. "$(dirname "${BASH_SOURCE[0]}")/lib_scalapack.sh"

python=/usr/bin/python3
clients=()
client fftw_client -lfftw3_mpi -lfftw3 && clients+=(fftw_client)
client hypre_client -lHYPRE && clients+=(hypre_client)

# bases RANKS: before there is a cluster
bases() {
    local c
    for c in ${clients[@]+"${clients[@]}"}; do
        way ob1
        client_job "cluster-base-$c-np$1" $SUITE_LIMIT "$1" "$PROGRAMS/$c"
        expect_ok
        keep_base "$c.$1"
        verdict
    done
}

# on_nodes NODES RANKS WAY...
on_nodes() {
    local nodes=$1 np=$2 w c
    shift 2
    for w in "$@"; do
        way "$w"
        for c in ${clients[@]+"${clients[@]}"}; do
            client_job "cluster-$nodes-$c-$w-np$np" $SUITE_LIMIT "$np" "$PROGRAMS/$c"
            expect_ok
            expect_silence
            expect_base "$c.$np"
            [ "$w" = btl ] || expect_carried "$np"
            verdict
        done
        if $python -c 'import mpi4py' 2>/dev/null; then
            client_job "cluster-$nodes-python-nbc-$w-np$np" $SUITE_LIMIT "$np" $python "$SCRIPT_DIR/nbc_client.py"
            expect_ok
            expect_silence
            case $w in
            helper | armed) expect_thread_matches ;;
            esac
            verdict
        fi
    done
}

# cluster NODES RANKS-PER-NODE WAY...
cluster() {
    local nodes=$1 np=$(($1 * $2))
    LAUNCHER=$MPIRUN
    bases "$np"
    PPN=$2
    cluster_up "$nodes" none
    shift 2
    on_nodes "$nodes" "$np" "$@"
    if [ "$nodes" = 2 ] && [ "$np" = 4 ]; then
        SCALAPACK_LABEL=cluster-
        if scalapack_copy; then
            for tester in $([ "$LONG" = no ] && echo "$SCALAPACK_FEW" || scalapack_testers); do
                scalapack_job helper "$tester"
            done
            scalapack_large helper
        fi
    fi
    cluster_down "$nodes-$np"
}

if [ "$LONG" = no ]; then
    cluster 2 2 helper poll eager-none
else
    cluster 2 2 helper none poll armed network copy eager-none eager-most btl
    cluster 3 2 helper none poll eager-none
    cluster 4 1 helper none poll eager-none
    cluster 4 2 helper armed
fi
fault_done
