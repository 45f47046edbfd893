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
# neighbours on one node: rank r is beside r ^ 1
LAUNCHER="$NSC mpirun --ppn $PPN --map-by slot"
cluster_mpi 3-slot -t six -t '!osc' -x '^(wildcards|truncate|stress)' -- "${S[@]}"
cluster_down 3
cluster_done
