#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# torture on two to four emulated nodes of one and two ranks; random epochs of windows (rma_random) while helpers, or all,
# are held up. SMARTINT_STRESS_SECONDS (1) and SMARTINT_SEED (1) as in test_torture.sh.
. "$(dirname "${BASH_SOURCE[0]}")/../fault/lib_cluster.sh"
. "$(dirname "${BASH_SOURCE[0]}")/lib_stress.sh"

S=(--mca pml smartint)
seconds=${SMARTINT_STRESS_SECONDS:-1}
program rma_random
torture_program
WATCHED+=(rma_random)

torture() {      # torture NAME RANKS-PER-NODE THREADS MPIRUN-ARGS...
    local name=$1 threads=$3
    PPN=$2
    set_launcher
    shift 3
    run_job "$nodes-$name-ppn$PPN-threads$threads-$FIRST_SEED" $((120 + seconds * 3)) -np $((nodes * PPN)) "$@" "$TORTURE" \
        --seed "$FIRST_SEED" --time "$seconds" --threads "$threads" --messages $((120 / threads))
    expect_ok
    expect_silence
    ${held_up:+expect_delays}
    verdict
}

held_up() {      # held_up NAME WHO:PERCENT:MICROSECONDS RANKS-PER-NODE MPIRUN-ARGS...
    local name=$1 ranks=$3 held_up=yes
    delayed "$2:$FIRST_SEED"
    shift 3
    torture "$name" "$ranks" 1 "${S[@]}" "${DELAYED[@]}" "$@"
}

windows() {      # windows NAME WHO:PERCENT:MICROSECONDS RANKS-PER-NODE
    PPN=$3
    set_launcher
    delayed "$2:$FIRST_SEED"
    run_job "$nodes-windows-$1-held-up-ppn$PPN-$FIRST_SEED" 120 -np $((nodes * PPN)) "${S[@]}" --mca osc smartint "${DELAYED[@]}" \
        "$PROGRAM" "$FIRST_SEED" 60 create busy
    expect_ok
    expect_silence
    expect_delays
    verdict
}

for nodes in 2 3 4; do
    cluster_up $nodes none
    torture plain 1 1 "${S[@]}"
    torture plain 2 1 "${S[@]}"
    if [ $nodes -eq 2 ]; then
        torture threads 2 2 "${S[@]}"
        torture armed 2 1 "${S[@]}" --mca smartint_arm_from 0 --mca smartint_network_eager_limit 0
        torture none 1 1 "${S[@]}" --mca smartint_progress none
        torture poll 1 1 "${S[@]}" --mca smartint_progress poll
        if delays; then
            held_up helper-held-up helper:30:3000 1
            held_up thread-held-up thread:20:2000 2 --mca smartint_network_eager_limit 0
            windows helper helper:30:3000 2
            windows all all:2:1000 1
        fi
        "$NSC" rate 200mbit
        torture slow 1 1 "${S[@]}"
    fi
    cluster_down torture-$nodes
done
cluster_done
