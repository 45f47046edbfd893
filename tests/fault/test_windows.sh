#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# Windows while helpers and ranks are killed or stopped and hints are lost or made up: what was put, got and
# accumulated is right, or the job ends; nothing stays behind.
. "$(dirname "${BASH_SOURCE[0]}")/lib_fault.sh"

S=(-np 4 --mca pml smartint --mca osc smartint)
program rma_random

hit_later() {      # hit_later SECONDS SIGNAL NAME: the first process of that name, once there are epochs and a helper
    until_true 60 has_begun || { complain "no epoch was begun"; return; }
    until_true 20 helper_up || { complain "there was not one helper"; return; }
    sleep "$1"
    VICTIM=$(pids "$3" | head -n 1)
    kill "-$2" "$VICTIM" 2>/dev/null || complain "$3 had ended before it was hit"
}

# ---- hints: a word about who is to be woken, never about what is right. Locks and accumulates go by message.

for how in "drop 100" "drop 50" "garbage 100"; do
    set -- $how
    for kind in "create -" "allocate multiple" "dynamic -" "create nonblocking"; do
        read -r flavor more <<<"$kind"
        sometimes 3 || continue
        run_job "windows-notices-$1-$2-$flavor${more#-}" 60 "${S[@]}" --mca smartint_window_shared 0 \
            --mca "smartint_fault_$1_notices" "$2" "$PROGRAM" 21 40 "$flavor" busy ${more#-}
        expect_ok
        expect_silence
        verdict
    done
done

# ---- helpers

for signal in KILL STOP; do
    begin_job "windows-helper-$signal" 180 "${S[@]}" "$PROGRAM" 22 700 create busy
    hit_later 0.2 $signal smartintd
    end_job
    [ $signal = KILL ] || kill -CONT "$VICTIM" 2>/dev/null
    expect_ok
    verdict
done
begin_job windows-helper-killed-network 180 "${S[@]}" --mca smartint_shared_memory 0 --mca smartint_network always \
    "$PROGRAM" 23 300 create busy
hit_later 0.1 KILL smartintd
end_job
expect_ok
verdict

# ---- locks: between nodes an origin goes on behind one that is not granted, as far as its target would keep; members
# of a node, who could reach the memory itself, do not.

program rma_ahead
for way in "network --mca smartint_shared_memory 0 --mca smartint_network always --mca smartint_window_shared 0" "node"; do
    read -r where more <<<"$way"
    run_job "windows-ahead-$where" 90 -np 3 --mca smartint_stats_file "$WORK/stats.%r" "${S[@]:2}" $more "$PROGRAM"
    expect_ok
    if [ "$where" = network ]; then
        expect_counter 2 rma_ahead '>=' 120
    else
        expect_counter 2 rma_ahead == 0
    fi
    expect_counter 0 refused_messages == 0
    verdict
done

# Many small pieces go by message where the target waits in MPI, and in the program's own memory only.
if [ "$(nproc)" -ge 2 ]; then # each rank has a processor
    program rma_strided
    run_job windows-pieces 120 -np 2 --mca smartint_stats_file "$WORK/stats.%r" "${S[@]:2}" "$PROGRAM"
    expect_ok
    expect_counter 0 rma_direct '>=' 96
    expect_counter 1 rma_served '>=' 24
    verdict
else
    skip fault/windows-pieces "two ranks have one processor here"
fi
program rma_random

# ---- ranks: whoever waits for a lock, a fence or an answer of the dead one does not wait for ever

rank_killed() {      # rank_killed NAME LAUNCHER-ARGS...
    begin_job "$1" 90 "${@:2}"
    hit_later 0.8 KILL rma_random
    end_job
}
for flavor in create allocate; do
    again_if_mpirun_fails rank_killed "windows-rank-killed-$flavor" "${S[@]}" "$PROGRAM" 24 100000 "$flavor" busy
    expect_end
    verdict
done
again_if_mpirun_fails rank_killed windows-rank-killed-network "${S[@]}" --mca smartint_shared_memory 0 --mca smartint_network always \
    "$PROGRAM" 25 100000 create busy
expect_end
verdict

# A rank that stands still for a while, perhaps with a lock, holds others up and nothing else.
begin_job windows-rank-stopped 180 "${S[@]}" "$PROGRAM" 26 700 allocate busy
hit_later 0.2 STOP rma_random
sleep 1.5
kill -CONT "$VICTIM"
end_job
expect_ok
verdict
fault_done
