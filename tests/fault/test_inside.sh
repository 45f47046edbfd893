#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# Where nothing is to overlap nothing is paid for it: ranks that sit in MPI are not interrupted, ask for nothing, and
# their threads do nothing. By the ranks' counters.
. "$(dirname "${BASH_SOURCE[0]}")/lib_fault.sh"

program inside

quiet() {      # quiet NAME RANKS MODE ROUNDS LAUNCHER-ARGS...
    local name=$1 ranks=$2 mode=$3 rounds=$4 rank counter
    shift 4
    rm -f "$WORK"/stats.*
    run_job "$name" 120 -np "$ranks" --mca pml smartint --mca smartint_stats_file "$WORK/stats.%r" "$@" \
        "$PROGRAM" "$mode" "$rounds"
    expect_ok
    expect_silence
    for ((rank = 0; rank < ranks; rank++)); do
        for counter in requests_armed wakes_sent wakes_match wakes_self wakes_transport wakes_timer wakes_busy \
            wakes_futile thread_events thread_matches reads_thread writes_thread; do
            expect_counter $rank $counter == 0
        done
        expect_counter $rank rts_sent '>=' "$rounds"      # else it would show nothing
        expect_counter $rank refused_messages == 0
    done
    cat "$WORK"/stats.* >>"$LOG" 2>/dev/null
    verdict
}

quiet blocking 2 blocking 20
quiet blocking-four-ranks 4 blocking 5
quiet blocking-read 2 blocking 10 --mca smartint_rendezvous read
quiet blocking-copy 2 blocking 5 --mca smartint_rendezvous copy
# Short of smartint_arm_from what comes while a window is being posted is not worth a wake either, not even of the own
# thread. In rings that hold a whole window: an RTS that waits for room is for the thread to send.
quiet windows 2 windows 20 --mca smartint_ring_bytes 4194304
quiet windows-four-ranks 4 windows 5 --mca smartint_ring_bytes 4194304

fault_done
