#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# A job that does not name smartint has nothing of it, though it is installed and Open MPI opens it: no thread,
# helper, shared memory, descriptor, count; exactly what it has where smartint is not installed.
. "$(dirname "${BASH_SOURCE[0]}")/../fault/lib_fault.sh"

STOCK=$($OMPI_INFO --parsable --path pkglibdir | sed 's/^path:pkglibdir://')
program inspect

if ! $OMPI_INFO --parsable --param pml smartint --level 9 2>/dev/null | grep -q '^mca:pml:smartint:version'; then
    fail inert/installed "Open MPI does not find smartint: the rest would prove nothing"
    fault_done
fi
pass inert/installed

printed() { sed -n "s/^# rank [0-9]* $1 //p" "$LOG" | sort | uniq -c | awk '{$1 = $1} 1'; }
# What descriptors are open on, without numbers of inodes and jobs.
state() { printed thread; printed 'maps ucx'; grep -E '^# rank [0-9]+ (descriptors|open) ' "$LOG" | sort; }

# What the largest rank has in memory. The libraries are loaded, as Open MPI looks into every component.
memory() { awk '/^# rank [0-9]+ memory / && $5 > most { most = $5 } END { print most + 0 }' "$LOG"; }
MOST_KB=8192

MAKES=      # window, own, or nothing
helpers_now() { pids smartintd | wc -w; }
segments_now() {      # of this user's jobs that hold one of our ranks
    local pid path
    for pid in $(pids "${WATCHED[@]}"); do
        grep -ohE '/[^ ]*/smartint-[0-9]+-[^ ]*' "/proc/$pid/maps" 2>/dev/null
    done | sort -u
    lib_shm
    lib_new "$LIB_SHM_BEFORE" "$LISTED"
    for path in $NEW; do
        case $path in *smartint*) lib_used_by_others "$path" || echo "$path" ;; esac
    done
}

HAS_HELPER=no      # yes: the job has one, which is two processes while it starts and is waited for; else none may be there at once

# look LAUNCHER-ARGS...: run the program, look from outside while it stands still
look() {
    local ranks
    rm -f "$WORK/go"
    begin_job "$@" "$PROGRAM" "$WORK/go" $MAKES
    all_there() { [ "$(grep -c '^# rank [0-9]* counters' "$LOG")" -ge "$NP" ] || ! kill -0 "$JOB" 2>/dev/null; }
    until_true 60 all_there || complain "the ranks did not come so far"
    [ $HAS_HELPER = no ] || until_true 10 helper_up || complain "there is not one helper"
    HELPERS=$(helpers_now)
    SEGMENTS=$(segments_now)
    THREADS=$(for ranks in $(pids "${WATCHED[@]}"); do cat "/proc/$ranks/task"/*/comm 2>/dev/null; done)
    : >"$WORK/go"
    end_job
    expect_ok
}

threads_are() {
    local n
    n=$(printf '%s\n' "$THREADS" | grep -cx smartint)
    [ "$n" -eq "$1" ] || complain "$n threads are named smartint, not $1"
}

nothing_of_it() {
    local what
    [ "$HELPERS" -eq 0 ] || complain "$HELPERS helpers run"
    [ -z "$SEGMENTS" ] || complain "shared memory: $SEGMENTS"
    what=$(printf '%s\n' "$THREADS" | grep -i smartint | head -n 1)
    [ -z "$what" ] || complain "a thread is named $what"
    what=$(printed counter | head -n 1)
    [ -z "$what" ] || complain "a counter is not zero: $what"
    what=$(printed 'maps smartint' | grep -v '\.so$' | head -n 1)
    [ -z "$what" ] || complain "mapped: $what"
}

UCX=(--mca pml ucx --mca pml_ucx_tls any --mca pml_ucx_devices any)
NP=2
inert() {      # inert NAME LAUNCHER-ARGS...: as it is, and as it would be without smartint
    local name=$1 with with_kb
    shift
    look "$name" 30 -np $NP "$@"
    expect_silence
    nothing_of_it
    with=$(state)
    with_kb=$(memory)
    if [ -z "$REASON" ]; then
        verdict
        look "$name-beside-stock" 30 -np $NP --mca mca_base_component_path "$STOCK" "$@"
        expect_silence
        [ "$with" = "$(state)" ] || complain "threads and descriptors differ from those without smartint:" \
            "$(diff <(echo "$with") <(state) | grep '^[<>]' | head -n 3 | tr '\n' ';')"
        lib_say "   $with_kb kB in memory, without smartint $(memory) kB"
        [ "$with_kb" -gt 0 ] && [ "$with_kb" -le $(($(memory) + MOST_KB)) ] ||
            complain "$with_kb kB in memory, without smartint $(memory) kB"
        [ -z "$(printed 'maps smartint')" ] || complain "the comparison has smartint in it"
    fi
    verdict
}
inert plain
UCX_ANYWAY=$(printed 'maps ucx')      # some component of Open MPI's own has it
inert ob1 --mca pml ob1
inert ob1-vader --mca pml ob1 --mca btl vader,self
inert ob1-tcp --mca pml ob1 --mca btl tcp,self
inert excluded --mca pml ^smartint
inert excluded-btl --mca btl ^smartint
inert ob1-parameters-set --mca pml ob1 --mca smartint_progress helper --mca smartint_helpers 2 --mca smartint_network always
inert ob1-bad-parameters --mca pml ob1 --mca smartint_progress nonsense
inert osc-stock --mca osc pt2pt,rdma,sm
if $OMPI_INFO --parsable --param pml ucx --level 1 2>/dev/null | grep -q '^mca:pml:ucx'; then
    inert ucx "${UCX[@]}"
else
    skip inert/ucx "Open MPI has no pml ucx here"
fi
NP=4
inert ob1-np4 --mca pml ob1
NP=2

# In the list, but not its first, which is the one Open MPI takes: nothing of it at all.
look not-chosen 30 -np 2 --mca pml ob1,smartint
nothing_of_it
verdict

# The BTL below ob1 has no thread and, as nobody sleeps, needs no helper.
look btl-alone 30 -np 2 --mca pml ob1 --mca btl smartint,self
expect_silence
threads_are 0
[ "$HELPERS" -eq 0 ] || complain "$HELPERS helpers run, for nobody"
verdict

# Windows alone, beside another pml: all of it begins with the first window, and with those who have one.
look osc-without-window 30 -np 2 --mca pml ob1 --mca osc smartint
expect_silence
nothing_of_it
verdict
MAKES=window
HAS_HELPER=yes
look osc-with-window 30 -np 2 --mca pml ob1 --mca osc smartint
expect_silence
threads_are 2
[ "$HELPERS" -eq 1 ] || complain "$HELPERS helpers run"
[ -n "$SEGMENTS" ] || complain "no shared memory is seen"
verdict
MAKES=own
NP=3
look osc-with-window-of-one 30 -np 3 --mca pml ob1 --mca osc smartint
expect_silence
threads_are 1
[ "$HELPERS" -eq 1 ] || complain "$HELPERS helpers run"
[ -n "$SEGMENTS" ] || complain "no shared memory is seen"
[ -z "$(grep -E '^# rank [01] counter ' "$LOG")" ] || complain "a count of one without a window is not zero"
verdict
MAKES=
NP=2

# And the counterpart, so that all this would be seen: named, it has thread, helper and counts.
look named 30 -np 2 --mca pml smartint
expect_silence
[ "$HELPERS" -eq 1 ] || complain "$HELPERS helpers run"
threads_are 2
[ -n "$(printed counter)" ] || complain "no count is seen"
[ -n "$SEGMENTS" ] || complain "no shared memory is seen"
[ -n "$UCX_ANYWAY" ] || [ -z "$(printed 'maps ucx')" ] || complain "UCX is loaded, and there is no network: $(printed 'maps ucx')"
verdict
look named-with-a-network 30 -np 2 --mca pml smartint --mca smartint_network always
expect_silence
[ -n "$(printed 'maps ucx')" ] || complain "UCX is not seen"
verdict

fault_done
