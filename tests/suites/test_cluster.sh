#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# The clients and applications on emulated nodes, over tcp: two nodes with two ranks, and in the long run three and four. What
# they print must be, to the last bit, what as many ranks print on one node over Open MPI's own pml.
. "$(dirname "${BASH_SOURCE[0]}")/lib_suites.sh"
. "$(dirname "${BASH_SOURCE[0]}")/lib_scalapack.sh"
. "$(dirname "${BASH_SOURCE[0]}")/lib_applications.sh"

python=/usr/bin/python3
clients=()
client fftw_client -lfftw3_mpi -lfftw3 && clients+=(fftw_client)
client hypre_client -lHYPRE && clients+=(hypre_client)

# NWChem has a test of its own: stock osc/rdma gives it windows without memory between nodes.
applications="hpcc lammps mumps"

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
    for c in $applications; do
        way ob1
        application "$c" "cluster-base-$c-np$1" "$1" || continue
        keep_application "$c" "$1"
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
        case $w in eager-none) [ "$LONG" = yes ] || continue ;; esac
        for c in $applications; do
            application "$c" "cluster-$nodes-$c-$w-np$np" "$np" || continue
            expect_application "$c" "$np"
            [ "$w" = btl ] || expect_carried "$np"
            verdict
        done
    done
}

# windows NODES: NWChem over the windows of smartint, a rank on each node
windows() {
    local pml
    for pml in ob1 smartint; do
        WAY="--mca pml $pml --mca osc smartint"
        application nwchem "cluster-$1-nwchem-osc-$pml-np$1" "$1" || return
        expect_application nwchem "$1"
        expect_counter 0 rma_operations + "$(counter 0 rma_operations) > 0"
        verdict
    done
}

# cluster NODES RANKS-PER-NODE WAY...
cluster() {
    local nodes=$1 np=$(($1 * $2))
    LAUNCHER=$MPIRUN
    bases "$np"
    way ob1
    if application nwchem "cluster-base-nwchem-np$nodes" "$nodes"; then
        keep_application nwchem "$nodes"
        verdict
    fi
    PPN=$2
    cluster_up "$nodes" none
    shift 2
    on_nodes "$nodes" "$np" "$@"
    windows "$nodes"
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
    cluster 2 2 helper eager-none
else
    cluster 2 2 helper none poll armed network copy eager-none eager-most btl
    cluster 3 2 helper none poll eager-none
    cluster 4 1 helper none poll eager-none
    cluster 4 2 helper armed
fi
fault_done
