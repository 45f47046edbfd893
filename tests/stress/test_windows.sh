#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# Random epochs and operations, memory compared with a model after each (rma_random), while system calls are held up. Seeds
# from SMARTINT_SEED (1) on; SMARTINT_STRESS_TIMES over (1), each time with other seeds.
. "$(dirname "${BASH_SOURCE[0]}")/../fault/lib_fault.sh"
. "$(dirname "${BASH_SOURCE[0]}")/lib_stress.sh"

delays || { skip stress/windows "there is no compiler"; fault_done; }
program rma_random

S=(--mca pml smartint --mca osc smartint)
ASKED=("${S[@]}" --mca smartint_window_shared 0)
NET=("${ASKED[@]}" --mca smartint_shared_memory 0 --mca smartint_network always)
seed=$FIRST_SEED

# held_up NAME WHO:PERCENT:MICROSECONDS RANKS FLAVOR MPIRUN-ARGS...
held_up() {
    local name=$1 np=$3 flavor=$4
    delayed "$2:$seed"
    shift 4
    run_job "windows-$name-np$np-$flavor-$seed" 120 -np "$np" "${DELAYED[@]}" "$@" "$PROGRAM" "$seed" 100 "$flavor" busy
    expect_ok
    expect_silence
    expect_delays
    verdict
    seed=$((seed + 1))
}

for ((i = 0; i < ${SMARTINT_STRESS_TIMES:-1}; i++)); do
    held_up thread thread:30:2000 3 create "${ASKED[@]}"
    held_up thread-network thread:20:2000 3 allocate "${NET[@]}"
    held_up helper helper:30:3000 3 create "${ASKED[@]}"
    held_up helper-network helper:30:3000 2 dynamic "${NET[@]}"
    held_up application application:1:1000 3 dynamic "${ASKED[@]}"
    held_up application-network application:2:1000 3 create "${NET[@]}"
    held_up all all:2:1000 4 allocate "${ASKED[@]}"
    held_up all-network all:2:1000 4 create "${NET[@]}"
    held_up all-shared all:2:1000 4 shared "${S[@]}"
done
fault_done
