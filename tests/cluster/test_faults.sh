#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# Helpers, ranks and launchers that die or stop on two nodes: right data or one clear end, no hang, nothing left.
. "$(dirname "${BASH_SOURCE[0]}")/../fault/lib_cluster.sh"

S=(-np 4 --mca pml smartint)
cluster_up 2 200mbit
PPN=2
set_launcher

hit() {      # hit SIGNAL PIDS...
    local signal=$1
    shift
    [ $# -gt 0 ] || { complain "nobody to hit"; return; }
    kill "-$signal" "$@"
}

phase_job() {      # phase_job NAME WHEN SIGNAL NODES LAUNCHER-ARGS...
    local name=$1 when=$2 signal=$3 nodes=$4 node victims=
    shift 4
    begin_phases "$name" 60 1 "$@"
    reached ready
    until_true 30 two_helpers || complain "not a helper on each node"
    for node in $nodes; do victims="$victims $(helpers_on "$node")"; done
    # shellcheck disable=SC2086
    {
        [ "$when" != before ] || hit "$signal" $victims
        proceed begin
        reached moving
        [ "$when" != during ] || hit "$signal" $victims
        reached moved
        [ "$when" != after ] || hit "$signal" $victims
        proceed go
        end_job
        [ "$signal" != STOP ] || kill -CONT $victims
    }
    expect_ok
    verdict
}
phase_job helper-killed-before before KILL "n0" "${S[@]}"
phase_job helper-killed-during-sender during KILL "n0" "${S[@]}"
phase_job helper-killed-during-both during KILL "n0 n1" "${S[@]}"
phase_job helper-killed-after after KILL "n1" "${S[@]}"
phase_job helper-stopped-during during STOP "n1" "${S[@]}"
phase_job helper-stopped-before before STOP "n0 n1" "${S[@]}"

program spin
for how in "drop 100" "drop 50" "garbage 100"; do
    set -- $how
    run_job "notices-$1-$2" 60 "${S[@]}" --mca "smartint_fault_$1_notices" "$2" "$PROGRAM" 1 2
    expect_ok
    expect_silence
    verdict
done

run_job helper-missing 60 "${S[@]}" --mca smartint_helper_path /nonexistent "$PROGRAM" 1 2
expect_ok
# one of each node; Open MPI shows the first and counts the other
expect_message 'smartint could not start the helper process' 'Host: +n[01]' 'Program: +/nonexistent' 'Remedy: '
verdict

# One that is ready after five seconds, as on a slow or busy machine: nobody says that it is missing, and it relays.
SMARTINTD=${SMARTINT_COMPONENT_DIR:-$HOME/.openmpi/components}/smartintd
printf '#!/bin/sh\nsleep 5\nexec "%s" "$@"\n' "$SMARTINTD" >"$WORK/late" && chmod 755 "$WORK/late"
rm -f "$WORK"/stats.*
run_job helper-late 60 "${S[@]}" --mca smartint_helper_path "$WORK/late" --mca smartint_stats_file "$WORK/stats.%r" \
    "$PROGRAM" 1 2
expect_ok
expect_silence
relayed=$(cat "$WORK"/stats.? | awk '$1 == "notices_relayed" { n += $2 } END { print n + 0 }')
[ "$relayed" -gt 0 ] || complain "no notice was handed to a helper"
verdict

run_job transport-none 60 "${S[@]}" --mca smartint_transport none "$PROGRAM" 1 2
expect_end
expect_message 'pml/smartint has no way to a process' 'Host: +n' 'Remedy: '
verdict

# ---- windows: locks, gets and what combines need the target, which comes by itself then, at its next call

program rma_random
W=("${S[@]}" --mca osc smartint)
run_job windows-helper-missing 60 "${W[@]}" --mca smartint_helper_path /nonexistent "$PROGRAM" 31 60 create busy
expect_ok
expect_message 'smartint could not start the helper process' 'Host: +n[01]' 'Remedy: '
verdict
for how in "create" "allocate nonblocking"; do
    read -r flavor more <<<"$how"
    begin_job "windows-helpers-killed-$flavor" 120 "${W[@]}" "$PROGRAM" 32 1500 "$flavor" busy $more
    until_true 60 has_begun || complain "no epoch was begun"
    until_true 20 two_helpers || complain "not a helper on each node"
    hit KILL $(helper_pids)
    end_job
    expect_ok
    if [ -z "$REASON" ] && lost_in_stock; then
        skip "$NAME-message" "stock Open MPI lost it"
    else
        expect_message 'The smartint helper process of this node has ended before the job' 'Host: +n[01]'
    fi
    verdict
done

# ---- ends

ranks_on() { local pid; for pid in $(pids phases); do [ "$(node_of "$pid")" = "$1" ] && echo "$pid"; done; }
ended_by() {
    begin_phases "$1" 60 20 "${S[@]}"
    reached ready
    proceed begin
    reached moving
    eval "$2" || complain "could not do: $2"
    local from
    from=$(milliseconds)
    job_over() { ! kill -0 "$JOB" 2>/dev/null; }
    until_true 40 job_over || complain "mpirun still ran 40 s after"
    end_job
}
end_by() {      # end_by NAME COMMAND
    again_if_mpirun_fails ended_by "$@"
    [ "$RC" -ne 0 ] || complain "exit code 0"
    local shm=$LIB_SHM_NAMES tmp=$LIB_TMP_NAMES
    [ -z "${OF_US_ONLY:-}" ] || LIB_SHM_NAMES=smartint LIB_TMP_NAMES=smartint
    verdict
    LIB_SHM_NAMES=$shm LIB_TMP_NAMES=$tmp
}
# shellcheck disable=SC2016
{
    end_by rank-killed 'kill -KILL $(ranks_on n1 | head -n 1)'
    end_by all-of-a-node-killed 'kill -KILL $(ranks_on n0)'
    end_by mpirun-terminated 'kill -TERM "$JOB"'
    # with its daemon stock Open MPI loses whoever would tidy up for it
    OF_US_ONLY=yes end_by daemon-killed 'kill -KILL $(daemons_on n1)'
}

cluster_down faults
cluster_done
