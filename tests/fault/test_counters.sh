#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# Who moved a large message on one node, by what arrived before the next MPI call and by the ranks' counters.
# Rank 0 sends to rank 1. On a busy machine a thread may come late: one try of three must show it. What is wrong besides
# fails at once.
. "$(dirname "${BASH_SOURCE[0]}")/lib_fault.sh"

program overlap_state
REPEATS=$(is_long && echo 10 || echo 5)
COMPUTE_MS=200      # a thread may have to wait for a processor meanwhile, on a machine with other work too

arrivals() { grep -c "arrived=$1" "$LOG"; }      # arrivals 0|1
sent() { grep -c "sent=$1" "$LOG"; }

expect_arrived() {      # expect_arrived OPERATOR NUMBER
    awk "BEGIN { exit !($(arrivals 1) $1 $2) }" || complain "$(arrivals 1) of $REPEATS had arrived, expected $1 $2"
}

counted() {      # counted NAME MODE SIZE CHECK-FUNCTION LAUNCHER-ARGS...
    local name=$1 mode=$2 size=$3 check=$4 try
    shift 4
    for try in 1 2 3; do
        rm -f "$WORK"/stats.*
        run_job "$name" 30 -np 2 --mca smartint_stats_file "$WORK/stats.%r" "$@" "$PROGRAM" "$size" $COMPUTE_MS "$mode" $REPEATS
        expect_ok
        expect_silence
        expect_counter 0 rts_sent == $REPEATS
        expect_counter 1 rts_received == $REPEATS
        for rank in 0 1; do
            expect_counter $rank refused_messages == 0
            expect_counter $rank requests_overflow == 0
            expect_counter $rank fallbacks == 0
        done
        softly $check
        once_more $try || break
    done
    cat "$WORK"/stats.* >>"$LOG" 2>/dev/null
    verdict
}

nearly_all=$((REPEATS - 1))

# The receiver computes: its thread matches, woken once, and the message is there.
received_by_thread() {
    expect_arrived '>=' $nearly_all
    expect_counter 1 requests_armed '>=' $REPEATS
    expect_counter 1 thread_matches '>=' $nearly_all
    expect_counter 1 wakes_match '<=' $REPEATS
    expect_counter 1 wakes_match '>=' 1
    expect_counter 1 wakes_futile == 0
    expect_counter 0 wakes_futile == 0
    expect_counter 0 wakes_match '<=' $REPEATS
}
counted receiver-computes recv 4194304 received_by_thread --mca pml smartint
counted receiver-computes-1M recv 1048576 received_by_thread --mca pml smartint
counted receiver-computes-64K recv 65536 received_by_thread --mca pml smartint --mca smartint_arm_from 0
# Below smartint_arm_from a wake costs more than it gains.
not_armed() {
    certainly expect_counter 1 requests_armed == 0
    expect_counter 0 wakes_sent == 0
    expect_counter 1 wakes_match == 0
}
counted receiver-computes-small recv 65536 not_armed --mca pml smartint --mca smartint_arm_from 65537

# Nobody but the receiver reads, with `read`.
read_by_thread() {
    received_by_thread
    expect_counter 1 reads_thread '>=' $nearly_all
    expect_counter 1 pushes_requested == 0
    expect_counter 0 writes_app == 0
}
counted receiver-computes-read recv 1048576 read_by_thread --mca pml smartint --mca smartint_rendezvous read

# The sender writes, with `write`: its application where it waits already, else its thread.
written_by_sender() {
    received_by_thread
    expect_counter 1 reads_thread == 0
    expect_counter 1 reads_app == 0
    local written=$(($(counter 0 writes_app) + $(counter 0 writes_thread)))
    [ "$written" -ge $nearly_all ] || complain "rank 0 wrote $written of $REPEATS"
}
counted receiver-computes-write recv 1048576 written_by_sender --mca pml smartint --mca smartint_rendezvous write

# Without a strategy nothing moves before the next call; the counters of the machinery stay zero.
not_moved() {
    local counter rank
    expect_arrived == 0
    for rank in 0 1; do
        for counter in thread_events thread_matches wakes_match wakes_self wakes_transport wakes_timer \
            requests_armed reads_thread writes_thread; do
            certainly expect_counter $rank $counter == 0
        done
    done
    certainly expect_counter 0 wakes_sent == 0
}
counted receiver-computes-none recv 4194304 not_moved --mca pml smartint --mca smartint_progress none

# All hints lost: the same, but armed in vain, and nobody is woken.
hints_lost() {
    expect_arrived == 0
    expect_counter 1 wakes_match == 0
    expect_counter 1 thread_matches == 0
}
counted receiver-computes-hints-lost recv 4194304 hints_lost --mca pml smartint --mca smartint_fault_drop_notices 100

# The spinning thread needs no hint.
moved_by_poll() {
    expect_arrived '>=' $nearly_all
    expect_counter 1 thread_events '>=' 1
    expect_counter 1 wakes_match == 0
}
counted receiver-computes-poll recv 4194304 moved_by_poll --mca pml smartint --mca smartint_progress poll

# Only the sender computes: it waits for nobody, and is not disturbed.
sender_free() {
    expect_arrived '>=' $nearly_all
    [ "$(sent 1)" -ge $nearly_all ] || complain "$(sent 1) of $REPEATS were sent when the computation ended"
    expect_counter 0 wakes_match '<=' $REPEATS
    expect_counter 0 wakes_futile == 0
    expect_counter 1 wakes_futile == 0
}
counted sender-computes send 4194304 sender_free --mca pml smartint

# Both compute: the receiver's thread does it alone.
both_free() {
    expect_arrived '>=' $nearly_all
    [ "$(sent 1)" -ge $nearly_all ] || complain "$(sent 1) of $REPEATS were sent when the computation ended"
    expect_counter 1 thread_matches '>=' $nearly_all
    expect_counter 1 wakes_match '<=' $REPEATS
    expect_counter 0 wakes_futile == 0
    expect_counter 1 wakes_futile == 0
}
counted both-compute both 4194304 both_free --mca pml smartint --mca smartint_idle_cores yes
counted both-compute-1M both 1048576 both_free --mca pml smartint --mca smartint_idle_cores yes

# The same with no core for a thread: nobody is disturbed, and the receiver, who waits first, begins.
left_alone() {
    local counter rank
    expect_arrived == 0
    for rank in 0 1; do
        for counter in wakes_match wakes_self thread_matches reads_thread writes_thread; do
            expect_counter $rank $counter == 0
        done
    done
    expect_counter 0 notices_kept == $REPEATS
}
counted both-compute-crowded left 4194304 left_alone --mca pml smartint --mca smartint_idle_cores no --mca smartint_postpone_us 60000000
# A sender that comes to wait has the receiver woken, and writes.
woken_later() {
    expect_arrived == $REPEATS
    expect_counter 0 notices_kept == $REPEATS
    expect_counter 1 thread_matches '>=' 1
    expect_counter 1 reads_thread == 0
}
counted sender-waits-later later 4194304 woken_later --mca pml smartint --mca smartint_idle_cores no --mca smartint_postpone_us 60000000
# For a time: then the receiver's thread does it, however long both compute.
left_for_a_time() {
    both_free
    expect_counter 0 notices_kept == $REPEATS
    expect_counter 0 wakes_timer '>=' $nearly_all
}
counted both-compute-long both 4194304 left_for_a_time --mca pml smartint --mca smartint_idle_cores no
# As many ranks as units is seen. Where the cores of threads are named there is room.
units=$(python3 -c 'import os; print(*sorted(os.sched_getaffinity(0))[:2], sep=",")')
if [[ $units == *,* ]]; then
    counted both-compute-full left 1048576 left_alone --mca pml smartint --mca smartint_postpone_us 60000000 taskset -c "$units"
    counted both-compute-cores both 4194304 both_free --mca pml smartint --mca smartint_cores "$units" taskset -c "$units"
fi

# Under a load of many messages, under 1 % of the wakes find nothing to do; two in each job are forgiven, of threads that
# lost their core on the way.
program spin
for try in 1 2 3; do
    rm -f "$WORK"/stats.*
    run_job futile-share 40 -np 4 --mca pml smartint --mca smartint_idle_cores yes --mca smartint_stats_file "$WORK/stats.%r" "$PROGRAM" 3 3
    expect_ok
    for rank in 0 1 2 3; do
        softly expect_counter $rank wakes_match '<=' "$(($(counter $rank rts_received) + $(counter $rank rts_sent)))"
    done
    futile=$(cat "$WORK"/stats.? | awk '/^wakes_futile / {f += $2} /^wakes_match / {w += $2}
        END {if (100 * f > w + 200) print f " of " w}')
    [ -z "$futile" ] || softly complain "futile wakes: $futile"
    once_more $try || break
done
cat "$WORK"/stats.? >>"$LOG"
verdict

fault_done
