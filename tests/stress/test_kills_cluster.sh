#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# As test_kills.sh, on two emulated nodes: helpers relay there. SMARTINT_KILL_ROUNDS of them (3, 6 with SMARTINT_LONG=yes).
. "$(dirname "${BASH_SOURCE[0]}")/../fault/lib_cluster.sh"
. "$(dirname "${BASH_SOURCE[0]}")/lib_stress.sh"

S='--mca pml smartint'
KILLS=cluster-kills
torture_program
cluster_up 2 none
PPN=2
set_launcher
kill_rounds "${SMARTINT_KILL_ROUNDS:-$(is_long && echo 6 || echo 3)}" 2 "$S" "$S --mca smartint_arm_from 0" "$S --mca smartint_network_eager_limit 0"
cluster_down kills
cluster_done
