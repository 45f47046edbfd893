#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# torture on one node, in all strategies, ways and limits, with one and several threads, with lost and forged hints, and
# with system calls held up. SMARTINT_STRESS_SECONDS of each (1), from SMARTINT_SEED (1) on; SMARTINT_STRESS_TIMES over
# (1), each time with another seed. SMARTINT_STRESS_ONLY: a regular expression of configurations. Each second of them; all with
# SMARTINT_LONG=yes.
. "$(dirname "${BASH_SOURCE[0]}")/../fault/lib_fault.sh"
. "$(dirname "${BASH_SOURCE[0]}")/lib_stress.sh"

seconds=${SMARTINT_STRESS_SECONDS:-1}
only=${SMARTINT_STRESS_ONLY:-.}
number=0
is_long && each=1 || each=2
torture_program

# torture NAME RANKS THREADS MPIRUN-ARGS...
torture() {
    local name=$1 np=$2 threads=$3
    shift 3
    [[ $name =~ $only ]] && [ $((number++ % each)) -eq 0 ] || return 0
    # mostly the rounds themselves need the time: one begun is finished
    run_job "$name-np$np-threads$threads-$seed" $((120 + seconds * 3)) -np "$np" "$@" "$TORTURE" --seed "$seed" --time "$seconds" \
        --threads "$threads" --messages $((120 / threads)) ${lenient:-}
    expect_ok
    expect_silence
    ${held_up:+expect_delays}
    verdict
}

# large NAME FIRST-ROUND ROUNDS MPIRUN-ARGS...: rounds of seed 1 that are known to have a message of more than 32 MiB
large() {
    local name=$1 first=$2 rounds=$3 bytes
    shift 3
    [[ large-$name =~ $only ]] && [ $((number++ % each)) -eq 0 ] || return 0
    run_job "large-$name-np2-$first" 180 -np 2 "$@" "$TORTURE" --seed 1 --first "$first" --rounds "$rounds"
    expect_ok
    expect_silence
    bytes=$(sed -n 's/.*the largest message has \([0-9]*\) bytes/\1/p' "$LOG")
    [ "${bytes:-0}" -gt 33554432 ] || complain "the largest message has ${bytes:-no} bytes"
    verdict
}

# held_up NAME WHO PERCENT MICROSECONDS RANKS THREADS MPIRUN-ARGS...
held_up() {
    local name=$1 np=$5 threads=$6 held_up=yes
    delayed "$2:$3:$4:$seed"
    shift 6
    torture "$name" "$np" "$threads" "${DELAYED[@]}" "$@"
}

S=(--mca pml smartint)
NET=("${S[@]}" --mca smartint_shared_memory 0 --mca smartint_network always)
ARM=("${S[@]}" --mca smartint_arm_from 0)

for ((i = 0; i < ${SMARTINT_STRESS_TIMES:-1}; i++)); do
    seed=$((FIRST_SEED + i))
    torture helper 2 1 "${S[@]}"
    torture helper 3 1 "${S[@]}"
    torture helper 4 2 "${S[@]}"
    torture helper 8 1 "${S[@]}"
    torture none 3 1 "${S[@]}" --mca smartint_progress none
    torture none 2 3 "${S[@]}" --mca smartint_progress none
    torture poll 2 1 "${S[@]}" --mca smartint_progress poll
    torture poll 2 2 "${S[@]}" --mca smartint_progress poll
    torture armed 3 1 "${ARM[@]}"
    torture armed 2 3 "${ARM[@]}"
    torture network 2 1 "${NET[@]}"
    torture network 4 1 "${NET[@]}"
    torture network 2 3 "${NET[@]}"
    torture rendezvous-read 3 1 "${ARM[@]}" --mca smartint_rendezvous read
    torture rendezvous-write 3 1 "${ARM[@]}" --mca smartint_rendezvous write
    torture rendezvous-copy 3 1 "${ARM[@]}" --mca smartint_rendezvous copy
    torture eager-none 3 1 "${ARM[@]}" --mca smartint_eager_limit 0
    torture eager-large 3 1 "${S[@]}" --mca smartint_eager_limit 16777216
    torture network-eager-none 2 1 "${NET[@]}" --mca smartint_network_eager_limit 0
    torture network-eager-large 2 1 "${NET[@]}" --mca smartint_network_eager_limit 1048576
    torture ring-reused 3 1 "${S[@]}" --mca smartint_ring_reuse yes
    torture ring-in-turn 3 1 "${S[@]}" --mca smartint_ring_reuse no
    torture small-ring 4 1 "${ARM[@]}" --mca smartint_ring_bytes 16384
    torture small-pieces 2 1 "${ARM[@]}" --mca smartint_copy_bytes 4096
    torture notices-dropped 2 1 "${ARM[@]}" --mca smartint_fault_drop_notices 50
    torture notices-forged 2 1 "${ARM[@]}" --mca smartint_fault_garbage_notices 50
    torture no-helper 2 1 "${ARM[@]}" --mca smartint_helpers 0
    if delays; then
        held_up held-up-thread thread 30 2000 2 1 "${ARM[@]}"
        held_up held-up-thread thread 30 2000 2 2 "${ARM[@]}"
        held_up held-up-thread-network thread 20 2000 2 1 "${NET[@]}"
        held_up held-up-application application 1 1000 2 1 "${ARM[@]}"
        held_up held-up-all all 2 1000 2 1 "${ARM[@]}" --mca smartint_copy_bytes 16384
    fi
    large ring 38 2 "${S[@]}"
    large armed 83 1 "${ARM[@]}"
    large network 41 1 "${NET[@]}"
    large copy 63 1 "${ARM[@]}" --mca smartint_rendezvous copy
    torture interrupt 3 1 "${NET[@]}" --mca smartint_progress interrupt
    torture interrupt 2 2 "${NET[@]}" --mca smartint_progress interrupt
    # what is demanded here is not of our making: other libraries pass as well
    lenient=--lenient
    torture ob1 3 1 --mca pml ob1
    torture ob1-on-our-transport 3 1 --mca pml ob1 --mca btl smartint,self
    lenient=
done
fault_done
