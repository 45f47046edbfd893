#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# The MPI tests on two nodes: one rank on each (np 2), and several (np 3 and 4).
. "$(dirname "${BASH_SOURCE[0]}")/../fault/lib_cluster.sh"

S=(--mca pml smartint)
cluster_up 2 none
PPN=4
set_launcher
# Stock Open MPI makes no window between these nodes, whatever the pml: rma_smoke is left out.
cluster_mpi 2 -t quick -s rma_smoke -- "${S[@]}"
# 2 ranks: 1 per node; 3 and 4: two on a node
cluster_mpi 2-copy -t quick -x 'sizes|ordering|datatypes|truncate|stress|unexpected' -- "${S[@]}" --mca smartint_rendezvous copy
cluster_mpi 2-none -t quick -x 'sizes|modes|stress' -- "${S[@]}" --mca smartint_progress none
cluster_mpi 2-poll -t quick -x 'sizes|threads|stress' -- "${S[@]}" --mca smartint_progress poll
"$NSC" rate 200mbit
cluster_mpi 2-slow -t quick -x 'modes|waitforms|stress|spin' -- "${S[@]}"
cluster_down 2
cluster_done
