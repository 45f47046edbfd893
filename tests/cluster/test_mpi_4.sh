#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# The MPI tests on four nodes: four ranks are one on each, eight are two.
. "$(dirname "${BASH_SOURCE[0]}")/../fault/lib_cluster.sh"

S=(--mca pml smartint)
cluster_up 4 none
PPN=2
set_launcher
CORE='sizes|ordering|wildcards|unexpected|modes|persistent|probe|cancel|datatypes|truncate|intercomm|commloop|manyreq|collectives|stress|procnull'
# shellcheck disable=SC2046
cluster_mpi 4 $(quick) -x "^($CORE).*np[48]$" $(some 2:2) -- "${S[@]}"
"$NSC" rate 200mbit
cluster_mpi 4-slow -t quick -x '^(stress|spin|waitforms).*np[48]$' -- "${S[@]}"
cluster_down 4
cluster_done
