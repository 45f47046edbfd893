#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# The MPI tests on two nodes: one rank on each (np 2), two (np 4), four (np 8).
. "$(dirname "${BASH_SOURCE[0]}")/../fault/lib_cluster.sh"

S=(--mca pml smartint)
SUBNET=${NSC_NET:-10.77.0}.0/24
cluster_up 2 none
PPN=4
set_launcher
# Stock Open MPI makes no window between these nodes, whatever the pml: rma_smoke is left out.
# shellcheck disable=SC2046
cluster_mpi 2 $(quick) -s '^(rma_smoke|atomics)' $(some 3:1) -- "${S[@]}"
cluster_mpi 2-copy -t quick -x '^(sizes|datatypes|unexpected|stress.*np4$)' -- "${S[@]}" --mca smartint_rendezvous copy
cluster_mpi 2-none -t quick -x '^(sizes|modes|stress.*np4$)' -- "${S[@]}" --mca smartint_progress none
cluster_mpi 2-poll -t quick -x '^(sizes|threads|stress.*np4$)' -- "${S[@]}" --mca smartint_progress poll
cluster_mpi 2-interrupt -t quick -x '^(sizes|threads|wildcards|stress.*np[48]$)' -- "${S[@]}" --mca smartint_progress interrupt
# shellcheck disable=SC2046
cluster_mpi 2-osc -t osc $(some 2:1) -- "${S[@]}" --mca osc smartint
cluster_mpi 2-osc-ob1 -t osc -x '^rma_(calls|passive|nonblocking|random[.]2_40_create_busy)[.]np2$|^rma_(first|fences)|^rma_random[.]7_40' -- --mca pml ob1 --mca osc smartint
cluster_mpi 2-streams -t streams -- "${S[@]}"
cluster_mpi 2-outside -t outside -- "${S[@]}" --mca smartint_network_eager_limit 1048576 --mca smartint_device "$SUBNET"
cluster_mpi 2-outside-interrupt -t outside -- "${S[@]}" --mca smartint_network_eager_limit 1048576 --mca smartint_progress interrupt
# Open MPI's own pml over btl/smartint: the lenient forms, which cluster_mpi would leave out.
SMARTINT_BUILD=$PROGRAMS bash "$FAULT_DIR/../mpi/run_mpi.sh" -l cluster-2-ob1 -o "$LOGS/2-ob1" -n "$LAUNCHER" \
    -t quick -t '!strict' -s '^(rma_smoke|atomics|datatypes|cancel|persistent|modes|self|commloop|intercomm|stress.*np[348]$)' $(some 3:2) -- -x SMARTINT_TEST_ID --mca pml ob1 --mca btl smartint,self || MPI_FAILED=1
"$NSC" rate 200mbit
cluster_mpi 2-slow -t quick -x '^(modes|waitforms.np2$|spin|stress.*np[48]$)' -- "${S[@]}"
cluster_down 2
cluster_done
