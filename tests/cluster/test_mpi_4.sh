#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# The MPI tests on four nodes, one rank on each, and some with two ranks on each.
. "$(dirname "${BASH_SOURCE[0]}")/../fault/lib_cluster.sh"

S=(--mca pml smartint)
cluster_up 4 none
PPN=1
set_launcher
cluster_mpi 4 -t quick -x '^(ordering|intercomm|commloop|manyreq|collectives|stress|procnull|probe)' -- "${S[@]}"
cluster_mpi 4-rest -t '!quick' -s 'datatypes|threads|stress|rma_smoke' -- "${S[@]}"
"$NSC" rate 200mbit
cluster_mpi 4-slow -t quick -x 'stress|spin|waitforms' -- "${S[@]}"
"$NSC" rate none

# Eight ranks: two on each, so that shared memory and the network are used at once.
PPN=2
set_launcher
program stress
run_job ranks-8 60 -np 8 "${S[@]}" "$PROGRAM" 5 4
expect_ok
expect_silence
verdict
program ordering
run_job ordering-8 60 -np 8 "${S[@]}" "$PROGRAM" 60
expect_ok
expect_silence
verdict
cluster_down 4
cluster_done
