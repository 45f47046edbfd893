#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# The MPI tests of six ranks on three nodes: two on each, so that neither nodes nor ranks are a power of two.
. "$(dirname "${BASH_SOURCE[0]}")/../fault/lib_cluster.sh"

S=(--mca pml smartint)
cluster_up 3 none
PPN=2
set_launcher
cluster_mpi 3 -t six -t '!osc' -- "${S[@]}"
cluster_mpi 3-osc -t six -t osc -- "${S[@]}" --mca osc smartint
cluster_mpi 3-osc-ob1 -t six -t begins -- --mca pml ob1 --mca osc smartint
# neighbours on one node: rank r is beside r ^ 1
LAUNCHER="$NSC mpirun --ppn $PPN --map-by slot"
cluster_mpi 3-slot -t six -t '!osc' -x '^(wildcards|truncate|stress)' -- "${S[@]}"

# Large copies inside the nodes are left until the network has its work: all of them, as each epoch here has both.
program rma_slack
run_job 3-slack 120 -np 6 "${S[@]}" --mca osc smartint --mca smartint_stats_file "$WORK/stats.%r" "$PROGRAM"
expect_ok
for rank in 0 1 2 3 4 5; do
    expect_counter $rank rma_slack == 60
    expect_counter $rank refused_messages == 0
done
verdict
cluster_down 3
cluster_done
