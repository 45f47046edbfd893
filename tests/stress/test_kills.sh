#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# Helpers and ranks of jobs on one node are killed, stopped and continued at random moments, MPI_Init included. Without
# a helper, or after a pause, the job goes on with right data. Without a rank it ends, soon and with an error. Nothing
# stays behind. SMARTINT_KILL_ROUNDS of them (8, 14 with SMARTINT_LONG=yes), from SMARTINT_SEED (1) on.
. "$(dirname "${BASH_SOURCE[0]}")/../fault/lib_fault.sh"
. "$(dirname "${BASH_SOURCE[0]}")/lib_stress.sh"

S='--mca pml smartint'
torture_program
kill_rounds "${SMARTINT_KILL_ROUNDS:-$(is_long && echo 14 || echo 8)}" 2 \
    "$S" "$S --mca smartint_arm_from 0" "$S --mca smartint_network always" "$S --mca smartint_helpers 3" \
    "$S --mca smartint_shared_memory 0 --mca smartint_network always" \
    "$S --mca smartint_shared_memory 0 --mca smartint_network always --mca smartint_progress interrupt" "$S --mca smartint_rendezvous write"
fault_done
