#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# A program of ARMCI, as Debian builds it on MPI's windows, over osc/smartint: on one node in several ways of running
# it, beside Open MPI's own pml, and on two emulated nodes.
. "$(dirname "${BASH_SOURCE[0]}")/lib_suites.sh"

if ! client armci_client -larmci-openmpi; then
    if [ -e /usr/include/armci.h ]; then
        fail suites/armci "the client does not compile" "$LOGS/armci_client.compile"
    else
        skip suites/armci "there is no libarmci-mpi-dev"
    fi
    fault_done
fi

# armci NAME RANKS ARGS...
armci() {
    local name=$1 np=$2
    shift 2
    WAY="$* --mca osc smartint"
    client_job "armci-$name-np$np" $SUITE_LIMIT "$np" "$CLIENT"
    expect_ok
    expect_silence
    verdict
}
network="--mca smartint_shared_memory 0 --mca smartint_network always"
for np in 2 4; do
    armci helper $np --mca pml smartint
    armci none $np --mca pml smartint --mca smartint_progress none
    armci asked $np --mca pml smartint --mca smartint_window_shared 0
    # shellcheck disable=SC2086
    armci network $np --mca pml smartint $network --mca smartint_window_shared 0
    armci ob1 $np --mca pml ob1
done
[ $(($(counter 0 rma_locks_direct) + $(counter 1 rma_locks_direct))) -gt 0 ] && pass suites/armci-takes-locks ||
    fail suites/armci-takes-locks "the counters of the last job know of no lock"
PPN=2
cluster_up 2 none
set_launcher
armci 2-nodes 4 --mca pml smartint
cluster_down 2
cluster_done
