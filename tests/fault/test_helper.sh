#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# What becomes of a job on one node whose helper is killed, stopped, missing, dead at once, or of which there
# are none or many; and whether the helper ends with the job. The data is right in all of them.
. "$(dirname "${BASH_SOURCE[0]}")/lib_fault.sh"

S=(-np 2 --mca pml smartint)

HELPERS=1

hit_helpers() {      # hit_helpers SIGNAL
    local all
    all=$(helper_pids)
    [ -n "$all" ] || { complain "there was no helper to hit"; return; }
    # shellcheck disable=SC2086
    kill "-$1" $all
    [ "$1" != KILL ] || until_true 20 no_helper || complain "the helper survived"
}

# What batch systems send to all processes of a job is for its ranks.
signalled() {
    local signal
    for signal in HUP INT TERM USR1 USR2 ALRM VTALRM PROF XCPU; do
        hit_helpers $signal
        sleep 0.1
        helpers_up "$HELPERS" || complain "signal $signal ended the helper"
    done
}

phase_job() {      # phase_job NAME WHEN SIGNAL LAUNCHER-ARGS...: signal the helpers before, during or after transfers
    local name=$1 when=$2 signal=$3
    shift 3
    begin_phases "$name" 30 0.6 "$@"
    reached ready
    until_true 20 helpers_up "$HELPERS" || complain "there are not $HELPERS helpers"
    [ "$when" != before ] || hit_helpers "$signal"
    proceed begin
    reached moving
    [ "$when" != during ] || if [ "$signal" = all ]; then signalled; else hit_helpers "$signal"; fi
    reached moved
    [ "$when" != after ] || hit_helpers "$signal"
    proceed go
    end_job
    expect_ok
    # A stopped process cannot end. Once it goes on it has to.
    [ "$signal" != STOP ] || hit_helpers CONT
    verdict
}

for when in before during after; do
    phase_job "killed-$when" $when KILL "${S[@]}"
done
phase_job killed-during-np4 during KILL -np 4 --mca pml smartint
HELPERS=2 phase_job killed-during-2-helpers during KILL "${S[@]}" --mca smartint_helpers 2
phase_job killed-during-network during KILL "${S[@]}" --mca smartint_shared_memory 0 --mca smartint_network always
phase_job stopped-before before STOP "${S[@]}"
phase_job stopped-during during STOP "${S[@]}"
phase_job signalled during all "${S[@]}"

# ---- notices lost and forged

program spin
for how in "drop 100" "drop 50" "garbage 100" "garbage 30"; do
    set -- $how
    for np in 2 4; do
        rm -f "$WORK"/stats.*
        run_job "notices-$1-$2-np$np" 30 -np $np --mca pml smartint --mca smartint_stats_file "$WORK/stats.%r" \
            --mca "smartint_fault_$1_notices" "$2" "$PROGRAM" 1 2
        expect_ok
        expect_silence
        hinted=0 posted=0
        for ((rank = 0; rank < np; rank++)); do
            hinted=$((hinted + $(counter $rank rts_sent) + $(counter $rank rts_received)))
            posted=$((posted + $(counter $rank notices_posted)))
            # what is lost matches and wakes nobody (wakes_match may count a ring of its own, two of which met)
            if [ "$how" = "drop 100" ]; then
                for name in notices_posted requests_matched wakes_sent; do expect_counter $rank $name == 0; done
            fi
        done
        case $how in
        drop*) [ "$posted" -lt $hinted ] || complain "$posted notices of $hinted messages: none was lost" ;;
        # every one is accompanied by another
        "garbage 100") [ $((posted % 2)) -eq 0 ] && [ "$posted" -gt 0 ] || complain "$posted notices: not each twice" ;;
        esac
        [ "$how" != "garbage 100" ] || [ "$posted" -gt "$(cat "$WORK"/stats.? | awk '/^rts_sent / {n += $2} END {print n + 0}')" ] ||
            complain "no more notices than messages: no garbage"
        verdict
    done
done
run_job notices-drop-100-network 30 "${S[@]}" --mca smartint_shared_memory 0 --mca smartint_network always \
    --mca smartint_fault_drop_notices 100 "$PROGRAM" 1 2
expect_ok
expect_silence
verdict

# ---- no helper, no such helper, a bad one, many

program self
TITLE='smartint could not start the helper process'
absent() {      # absent NAME PATH REASON-REGEX
    run_job "$1" 30 "${S[@]}" --mca smartint_helper_path "$2" "$PROGRAM"
    expect_ok
    expect_message "$TITLE" "Host: +$(hostname)" "Program: +$2" "Reason: +$3" 'Remedy: '
    verdict
}
absent helper-missing /nonexistent/smartintd 'No such file'
: >"$WORK/not-executable"
chmod 644 "$WORK/not-executable"
absent helper-not-executable "$WORK/not-executable" 'Permission denied'
absent helper-a-directory / '.*(denied|directory)'
printf 'not a program\n' >"$WORK/no-program"
chmod 755 "$WORK/no-program"
absent helper-no-program "$WORK/no-program" '.*format'

# One that ends at once. It costs no noticeable time, and somebody who counts on it is told.
program spin
run_job helper-dies-at-once 60 "${S[@]}" --mca smartint_helper_path /bin/false "$PROGRAM" 1 2
expect_ok
verdict
run_job helper-dies-at-once-network 30 "${S[@]}" --mca smartint_helper_path /bin/false \
    --mca smartint_network always "$PROGRAM" 1 2
expect_ok
expect_message "$TITLE" 'Program: +/bin/false' 'Reason: ' 'Remedy: '
verdict

# One that runs, and whose network cannot be opened: it is not said that it did not start.
printf '#!/bin/sh\nexec %s "$@" --device=nosuch0\n' \
    "${SMARTINT_COMPONENT_DIR:-$HOME/.openmpi/components}/smartintd" >"$WORK/deaf" && chmod 755 "$WORK/deaf"
run_job helper-without-network 30 "${S[@]}" --mca smartint_helper_path "$WORK/deaf" --mca smartint_network always "$PROGRAM" 1 2
expect_ok
expect_message 'smartint helper process of this node runs, but has no network' 'Transport/device: +tcp/any' \
    'Reason: +no device of that transport' 'Remedy: '
verdict

# One that hangs. One that is only late is tried between nodes (tests/cluster/test_faults.sh).
printf '#!/bin/sh\nsleep 23\n' >"$WORK/hangs" && chmod 755 "$WORK/hangs"
run_job helper-hangs 60 "${S[@]}" --mca smartint_helper_path "$WORK/hangs" --mca smartint_network always "$PROGRAM" 1 2
expect_ok
expect_message "$TITLE" "Program: +$WORK/hangs" 'Reason: +it was not ready after 20 s' 'Remedy: '
verdict

rm -f "$WORK"/stats.*
run_job helpers-0 30 "${S[@]}" --mca smartint_helpers 0 --mca smartint_stats_file "$WORK/stats.%r" "$PROGRAM" 1 2
expect_ok
expect_silence
# Inside a node the second comer matches and wakes, without a helper.
for rank in 0 1; do
    expect_counter $rank notices_posted '>=' 1
    expect_counter $rank requests_armed '>=' 1
    expect_counter $rank notices_relayed == 0
done
verdict

begin_phases helpers-0-none-runs 30 0.3 "${S[@]}" --mca smartint_helpers 0
reached ready
proceed begin
reached moving
no_helper || complain "a helper runs"
proceed go
end_job
expect_ok
expect_silence
verdict

goes_on_well() {      # to its end, and nothing is said
    proceed begin
    proceed go
    end_job
    expect_ok
    expect_silence
    verdict
}

# Where it may run, and how long its turns are and those of the interrupt threads, as the kernel has it. One that does not
# tell of turns is not asked, nor where we run by another policy than the usual one.
units=$(python3 -c 'import os; print(*sorted(os.sched_getaffinity(0)))')
turn() { awk '$1 == "se.slice" { slice = $3 } $1 == "policy" { policy = $3 } END { if (policy == 0) print slice }' "$1/sched" 2>/dev/null; }
interrupt_threads() {
    local pid task
    for pid in $(pids phases); do
        for task in "/proc/$pid/task"/*; do [ "$(cat "$task/comm" 2>/dev/null)" != smartint ] || echo "$task"; done
    done
}
bound_to() { # bound_to PID UNIT; sets ALLOWED
    ALLOWED=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' "/proc/$1/status")
    [ "$ALLOWED" = "$2" ]
}
turns_are() {      # turns_are NANOSECONDS THREADS HELPER: of all of them; sets TURNS
    local threads task
    threads=$(interrupt_threads)
    TURNS=$(for task in $threads "/proc/$3"; do turn "$task"; done | xargs)
    [ "$(wc -w <<<"$threads")" -eq "$2" ] && [ "$(tr ' ' '\n' <<<"$TURNS" | sort -u)" = "$1" ]
}
for unit in $(printf '%s\n' "${units%% *}" "${units##* }" | sort -u); do
    begin_phases "helper-cores-$unit" 60 0.3 "${S[@]}" --mca smartint_helper_cores "$unit" --mca smartint_turn_us 3000
    reached ready
    until_true 20 helper_up || complain "there is not one helper"
    helper=$(helper_pids)
    # it is there before it has bound itself
    until_true 20 bound_to "$helper" "$unit" || complain "the helper may run on '$ALLOWED', expected $unit"
    [ -z "$(turn /proc/self)" ] || until_true 10 turns_are 3000000 2 "$helper" ||
        complain "the turns of threads and helper take $TURNS ns, expected 3000000"
    goes_on_well
done

begin_phases helpers-16 30 0.3 "${S[@]}" --mca smartint_helpers 16
reached ready
until_true 20 helpers_up 16 || complain "$(helper_pids | wc -w) helpers run"
goes_on_well

fault_done
