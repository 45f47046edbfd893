#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# However a job ends, mpirun returns and nothing of smartint stays: no helper, no rank, no shared memory.
. "$(dirname "${BASH_SOURCE[0]}")/lib_fault.sh"

S=(-np 2 --mca pml smartint)

# mpirun itself may be the child of `nice` or `timeout`
mpirun_pid() {
    local pid comm
    for pid in $(pids mpirun.openmpi mpirun orterun); do
        comm=$(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null)
        case $comm in *"$STEPS"*) echo "$pid" ;; esac
    done | head -n 1
}
rank_pid() {      # rank_pid RANK
    local pid
    for pid in $(pids phases); do
        tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null | grep -qx "OMPI_COMM_WORLD_RANK=$1" && echo "$pid"
    done | head -n 1
}

ended_within() {      # ended_within SECONDS: the launcher is gone, counted from now
    local from
    from=$(milliseconds)
    job_over() { ! kill -0 "$JOB" 2>/dev/null; }
    until_true "$1" job_over || complain "mpirun still ran $1 s after"
    AFTER_MS=$(($(milliseconds) - from))
}

ended_by() {
    local name=$1 when=$2 how=$3
    shift 3
    begin_phases "$name" 150 10 "$@"
    reached ready
    if [ "$when" = moving ]; then
        proceed begin
        reached moving
    fi
    eval "$how" || complain "could not do: $how"
    CRASH_ASKED_FOR=${ASKED_FOR:-}
    ended_within 60
    end_job
}
# ended_with STATUS [SIGNAL]: mpirun's own, and of which signal it tells
ended_with() {
    [ "$RC" -eq "$1" ] || complain "exit code $RC, expected $1"
    [ -z "${2:-}" ] || grep -q "exited on signal $2 " "$LOG" || complain "mpirun tells of no signal $2"
}
# ENDS: how it ends, as ended_with has it, where that is certain
end_by() {      # end_by NAME WHEN KILL-COMMAND LAUNCHER-ARGS...
    again_if_mpirun_fails ended_by "$@"
    [ "$RC" -ne 0 ] || complain "exit code 0"
    # shellcheck disable=SC2086
    [ -z "${ENDS:-}" ] || ended_with $ENDS
    [ -z "${ASKED_FOR:-}" ] || expect_crash "$ASKED_FOR"
    CRASH_ASKED_FOR=
    [ "${OF_STOCK:-look}" = look ] || SMARTINT_TMP_DIRS=$WORK/none LIB_SHM_NAMES=smartint
    verdict
    unset SMARTINT_TMP_DIRS
    LIB_SHM_NAMES='smartint|vader|psm'
    [ "${OF_STOCK:-look}" = look ] || remove_what_stock_left
}

remove_what_stock_left() {
    local path
    lib_shm
    lib_new "$LIB_SHM_BEFORE" "$LISTED"
    for path in $NEW; do
        case $path in /dev/shm/vader_segment*) lib_used_by_others "$path" || rm -f -- "$path" ;; esac
    done
}

# shellcheck disable=SC2016
for when in ready moving; do
    ENDS='137 9' end_by "rank0-killed-$when" $when 'kill -KILL "$(rank_pid 0)"' "${S[@]}"
    ENDS='137 9' end_by "rank1-killed-$when" $when 'kill -KILL "$(rank_pid 1)"' "${S[@]}"
    end_by "mpirun-terminated-$when" $when 'kill -TERM "$(mpirun_pid)"' "${S[@]}"
done
# shellcheck disable=SC2016
{
    ENDS='137 9' end_by rank0-killed-without-helper moving 'kill -KILL "$(rank_pid 0)"' "${S[@]}" --mca smartint_helpers 0
    ENDS='137 9' end_by rank0-killed-np4 moving 'kill -KILL "$(rank_pid 0)"' -np 4 --mca pml smartint
    ENDS='139 11' ASKED_FOR=Segmentation end_by rank1-segv moving 'kill -SEGV "$(rank_pid 1)"' "${S[@]}"
    end_by interrupted moving 'kill -INT "$(mpirun_pid)"' "${S[@]}"
    # mpirun has no chance to tidy up: ranks and helper notice by themselves. Files of stock are not looked at.
    OF_STOCK=ignore
    ENDS=137
    end_by mpirun-killed-ready ready 'kill -KILL "$(mpirun_pid)"' "${S[@]}"
    end_by mpirun-killed-moving moving 'kill -KILL "$(mpirun_pid)"' "${S[@]}"
    end_by mpirun-killed-without-helper moving 'kill -KILL "$(mpirun_pid)"' "${S[@]}" --mca smartint_helpers 0
    # All ranks at once, then mpirun: nobody of Open MPI is left.
    end_by all-killed moving 'kill -KILL $(mpirun_pid) $(pids phases)' "${S[@]}"
    # Only these two look at the board's name alone: who made it had one call of progress, and nobody of ours is left.
    end_by all-killed-without-helper ready 'kill -KILL $(mpirun_pid) $(pids phases)' "${S[@]}" --mca smartint_helpers 0
    end_by all-killed-btl ready 'kill -KILL $(mpirun_pid) $(pids phases)' -np 2 --mca pml ob1 --mca btl smartint,self
    OF_STOCK=look
    ENDS=
}

program abort
for how in abort exit segv; do
    run_job "a-rank-ends-by-$how" 60 "${S[@]}" "$PROGRAM" 150 $how
    has_begun || complain "it ended before its first messages were there"
    case $how in
    abort) ended_with 4 ;;
    exit) ended_with 3 ;;
    segv) ended_with 139 11 ;;      # by the kernel's default: no handler prints a trace
    esac
    verdict
done

# In the middle of MPI_Init: the helper's program says that it is there and goes to sleep, and the leader, with the
# network open, waits for it. Its board is there, and nobody else has mapped it.
program self
cat >"$WORK/sleeper" <<CODE
#!/bin/sh
: >"$WORK/helper-began"
exec sleep 60
CODE
chmod 755 "$WORK/sleeper"
self_pid() {
    local pid
    for pid in $(pids self); do
        tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null | grep -qx "OMPI_COMM_WORLD_RANK=$1" && echo "$pid"
    done | head -n 1
}
helper_began() { [ -e "$WORK/helper-began" ]; }
both_there() { [ -n "$(self_pid 0)" ] && [ -n "$(self_pid 1)" ]; }
killed_in_init() {      # killed_in_init RANK
    WATCHED=(self)
    rm -f "$WORK/helper-began"
    begin_job "killed-in-init-$1" 120 "${S[@]}" --mca smartint_network always --mca smartint_helper_path "$WORK/sleeper" \
        "$PROGRAM"
    WATCHED=(self sleep)
    until_true 30 helper_began || complain "the helper's program did not start"
    until_true 30 both_there || complain "the ranks did not start"
    kill -KILL "$(self_pid "$1")" || complain "nobody to kill"
    ended_within 60
    end_job
    # The sleeper is no helper and ends by nobody but us.
    for pid in $(pids sleep); do kill -KILL "$pid"; done
}
for who in 0 1; do
    again_if_mpirun_fails without_shared_locks killed_in_init $who
    expect_end
    verdict
done

# ---- two jobs at once on this node

# The first one stands after its first transfers until the second one is over: they overlap.
begin_phases two-at-once 150 0.3 "${S[@]}"
reached ready
proceed begin
reached moved
program sizes
# shellcheck disable=SC2086
timeout -k 5 "$(scaled 60)" $LAUNCHER -x SMARTINT_TEST_ID "${S[@]}" "$PROGRAM" 1048576 </dev/null >"$LOG.second" 2>&1
second_rc=$?
WATCHED=(phases sizes)
kill -0 "$JOB" || complain "the first job was over before the second"
proceed go
end_job
expect_ok
expect_silence
[ $second_rc -eq 0 ] && grep -qx ok "$LOG.second" || complain "the second job failed with $second_rc, $LOG.second"
verdict

# One of two is killed: the other does not notice.
two_one_killed() {
    local second status watch
    begin_phases two-one-killed 150 1 "${S[@]}"
    WATCHED=(phases abort)
    reached ready
    proceed begin
    reached moving
    # shellcheck disable=SC2086
    timeout -k 5 "$(scaled 60)" $LAUNCHER -x SMARTINT_TEST_ID "${S[@]}" "$PROGRAMS/abort" 150 kill </dev/null >"$LOG.second" 2>&1 &
    second=$!
    watch_mpirun $second "$LOG.second" abort 2>/dev/null &
    watch=$!
    wait $second
    status=$?
    { kill $watch; wait $watch; } 2>/dev/null
    case $status in
    0) complain "the second job was to fail" ;;
    124) complain "the second job hung" ;;
    137) grep -q 'exited on signal 9 ' "$LOG.second" || complain "nobody says that a rank of the second job was killed" ;;
    esac
    kill -0 "$JOB" || complain "the first job was over before the second"
    proceed go
    end_job
    expect_ok
    ! mpirun_failed $status "$LOG.second" || MPIRUN_FAILED=yes
}
again_if_mpirun_fails two_one_killed
verdict

fault_done
