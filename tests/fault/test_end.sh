#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# However a job ends, mpirun returns soon and nothing of smartint stays: no helper, no rank, no shared memory.
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

end_by() {      # end_by NAME WHEN KILL-COMMAND LAUNCHER-ARGS...
    local name=$1 when=$2 how=$3
    shift 3
    begin_phases "$name" 30 10 "$@"
    reached ready
    if [ "$when" = moving ]; then
        proceed begin
        reached moving
    fi
    eval "$how" || complain "could not do: $how"
    ended_within "${WITHIN:-5}"
    end_job
    [ "$RC" -ne 0 ] || complain "exit code 0"
    [ -z "${ASKED_FOR:-}" ] || case $REASON in $ASKED_FOR) REASON= ;; esac
    [ "${OF_STOCK:-look}" = look ] || SMARTINT_TMP_DIRS=$WORK/none LIB_SHM_NAMES=smartint
    verdict
    unset SMARTINT_TMP_DIRS
    LIB_SHM_NAMES='smartint|vader|psm'
    [ "${OF_STOCK:-look}" = look ] || remove_what_stock_left
}

remove_what_stock_left() {
    local path
    for path in $(comm -13 <(printf '%s\n' "$LIB_SHM_BEFORE") <(lib_shm)); do
        case $path in /dev/shm/vader_segment*) lib_used_by_others "$path" || rm -f -- "$path" ;; esac
    done
}

# shellcheck disable=SC2016
for when in ready moving; do
    end_by "rank0-killed-$when" $when 'kill -KILL "$(rank_pid 0)"' "${S[@]}"
    end_by "rank1-killed-$when" $when 'kill -KILL "$(rank_pid 1)"' "${S[@]}"
    end_by "mpirun-terminated-$when" $when 'kill -TERM "$(mpirun_pid)"' "${S[@]}"
done
# shellcheck disable=SC2016
{
    end_by rank0-killed-without-helper moving 'kill -KILL "$(rank_pid 0)"' "${S[@]}" --mca smartint_helpers 0
    end_by rank0-killed-np4 moving 'kill -KILL "$(rank_pid 0)"' -np 4 --mca pml smartint
    ASKED_FOR='crash: *' end_by rank1-segv moving 'kill -SEGV "$(rank_pid 1)"' "${S[@]}"
    end_by interrupted moving 'kill -INT "$(mpirun_pid)"' "${S[@]}"
    # mpirun has no chance to tidy up: ranks and helper notice by themselves. Files of stock are not looked at.
    OF_STOCK=ignore WITHIN=3
    end_by mpirun-killed-ready ready 'kill -KILL "$(mpirun_pid)"' "${S[@]}"
    end_by mpirun-killed-moving moving 'kill -KILL "$(mpirun_pid)"' "${S[@]}"
    end_by mpirun-killed-without-helper moving 'kill -KILL "$(mpirun_pid)"' "${S[@]}" --mca smartint_helpers 0
    # All ranks at once, then mpirun: nobody of Open MPI is left.
    end_by all-killed moving 'kill -KILL $(mpirun_pid) $(pids phases)' "${S[@]}"
    OF_STOCK=look WITHIN=5
}

program abort
for how in abort exit segv; do
    run_job "a-rank-ends-by-$how" 20 "${S[@]}" "$PROGRAM" 150 $how
    expect_end 5
    case $REASON in crash:*) REASON= ;; esac      # asked for
    verdict
done

# In the middle of MPI_Init, when not everybody has attached: the ranks are killed at growing times.
program self
for ms in 20 60 100 140; do
    begin_job "killed-in-init-$ms" 20 "${S[@]}" "$PROGRAM"
    until_true 5 there_is self || complain "the ranks did not start"
    sleep "0.$(printf %03d $ms)"
    victims=$(pids self)
    # shellcheck disable=SC2086
    [ -z "$victims" ] || kill -KILL $victims 2>/dev/null
    ended_within 5
    end_job
    verdict
done

# ---- two jobs at once on this node

program spin
begin_job two-at-once 40 "${S[@]}" "$PROGRAM" 2 2
first=$JOB first_log=$LOG
# shellcheck disable=SC2086
timeout -k 5 40 $LAUNCHER -x SMARTINT_TEST_ID "${S[@]}" "$PROGRAM" 1 2 </dev/null >"$LOG.second" 2>&1
second_rc=$?
JOB=$first LOG=$first_log
end_job
expect_ok
expect_silence
[ $second_rc -eq 0 ] && grep -qx ok "$LOG.second" || complain "the second job failed with $second_rc, $LOG.second"
verdict

# One of two is killed: the other does not notice.
begin_phases two-one-killed 40 1 "${S[@]}"
reached ready
proceed begin
reached moving
# shellcheck disable=SC2086
timeout -k 5 20 $LAUNCHER -x SMARTINT_TEST_ID "${S[@]}" "$PROGRAMS/abort" 150 kill </dev/null >"$LOG.second" 2>&1 &&
    complain "the second job was to fail"
proceed go
end_job
expect_ok
verdict

fault_done
