#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# Every help message that no other script provokes: it comes once, with host, value and what can be done, and
# the job goes on or ends as it says.
. "$(dirname "${BASH_SOURCE[0]}")/lib_fault.sh"

S=(-np 2 --mca pml smartint)
HOST=$(hostname)
FAULTS=
preload preload_faults && FAULTS=$PRELOAD
BRANCH=
preload preload_branch && BRANCH=$PRELOAD
with() { echo "env LD_PRELOAD=$FAULTS SMARTINT_TEST_FAULT=$1"; }

# Of smartint's messages no other than the one of this title.
expect_no_other() {
    local other
    other=$(messages | grep -i smartint | grep -vF -- "$1" | head -n 1)
    [ -z "$other" ] || complain "a second message: $other"
}

# ---- no-thread

if [ -n "$FAULTS" ]; then
    NO_THREAD='smartint could not start its interrupt thread'
    for what in thread descriptors; do
        program overlap_state
        # shellcheck disable=SC2046
        run_job "no-thread-$what" 60 "${S[@]}" --mca smartint_stats_file "$WORK/stats.%r" $(with no-$what) \
            "$PROGRAM" 1048576 10 recv 5
        expect_ok
        [ $what = thread ] && value=pthread_create || value=descriptors
        expect_message "$NO_THREAD" "Host: +$HOST" "What: +$value" 'Reason: +[^ ]' 'Remedy: '
        expect_no_other "$NO_THREAD"
        # progress in MPI calls only
        for rank in 0 1; do
            expect_counter $rank thread_events == 0
            expect_counter $rank requests_armed == 0
            expect_counter $rank rts_sent '>=' 0
        done
        expect_counter 1 rts_received == 5
        verdict
        program sizes
        # shellcheck disable=SC2046
        run_job "no-thread-$what-of-one" 60 -np 1 --mca pml smartint "$PROGRAM" 1048576 : \
            -np 1 --mca pml smartint $(with no-$what) "$PROGRAM" 1048576
        expect_ok
        expect_message "$NO_THREAD" "What: +$value"
        expect_no_other "$NO_THREAD"
        verdict
    done
else
    skip "$LABEL/no-thread" "gcc is missing"
fi

# ---- bad-segment: the job ends, also where the network is open, as the others would wait for who refused

BAD_SEGMENT='smartint refused the shared segment of this node'
program sizes
refusing() {      # refusing NAME FAULT REASON-REGEX: rank 1 of three refuses
    local way
    for way in auto always; do
        # shellcheck disable=SC2046
        run_job "$1-network-$way" 60 -np 1 --mca pml smartint --mca smartint_network $way "$PROGRAM" 262144 : \
            -np 1 $(with "$2") "$PROGRAM" 262144 : -np 1 "$PROGRAM" 262144
        expect_end
        expect_no_other "$BAD_SEGMENT"
        expect_message "$BAD_SEGMENT" "Host: +$HOST" 'Segment: +smartint-' "Reason: +$3" 'Remedy: .*'
        verdict
    done
}
if [ -n "$FAULTS" ]; then
    refusing other-version other-board 'layout version 99, expected [0-9]+'
    refusing board-not-opened no-board 'Permission denied'
else
    skip "$LABEL/bad-segment" "gcc is missing"
fi

# The board itself has another version when rank 1 comes: the helper's program changes it (its descriptor 3 is
# the board), while the leader waits for the helper's address. Both of them refuse it.
SMARTINTD=${SMARTINT_COMPONENT_DIR:-$HOME/.openmpi/components}/smartintd
cat >"$WORK/changes-version" <<CODE
#!/bin/sh
printf '\\143' | dd of=/proc/self/fd/3 bs=1 seek=8 conv=notrunc 2>/dev/null
exec "$SMARTINTD" "\$@"
CODE
chmod 755 "$WORK/changes-version"
run_job version-changed 60 "${S[@]}" --mca smartint_network always --mca smartint_helper_path "$WORK/changes-version" \
    "$PROGRAM" 262144
[ "$RC" -ne 0 ] || ENDED='' expect_ok
expect_message "$BAD_SEGMENT" "Host: +$HOST" 'Segment: +smartint-' 'Reason: +layout version 99, expected [0-9]+' 'Remedy: '
expect_message 'smartint could not start the helper process' "Program: +$WORK/changes-version" 'Remedy: '
verdict

# ---- helper-lost: the leader looks now and then from its MPI calls, so the message comes by the next transfers

HELPER_LOST='The smartint helper process of this node has ended before the job'
for signal in KILL ABRT; do
    for when in before during; do
        begin_phases "helper-lost-$signal-$when" 90 1 "${S[@]}" --mca smartint_stats_file "$WORK/stats.%r"
        reached ready
        until_true 20 helper_up || complain "there is not one helper"
        victim=$(helper_pids)
        if [ $when = before ]; then
            kill "-$signal" "$victim"
            until_true 20 no_helper || complain "the helper survived"
        fi
        proceed begin
        reached moving
        [ $when = before ] || kill "-$signal" "$victim"
        until_true 20 no_helper || complain "the helper survived"
        reached moved
        proceed go
        end_job
        expect_ok
        if [ -z "$REASON" ] && lost_in_stock; then
            skip "$NAME-message" "stock Open MPI lost it"
        else
            expect_message "$HELPER_LOST" "Host: +$HOST" "Process: +$victim" 'Reason: +[^ ]' 'goes on with right results'
            expect_no_other "$HELPER_LOST"
        fi
        verdict
    done
done

# ---- broken-ring: the job ends, with the reason

program broken_ring
for what in length mark; do
    run_job "broken-ring-$what" 60 "${S[@]}" "$PROGRAM" $what
    expect_end
    expect_message 'A message ring of smartint is damaged' "Host: +$HOST" 'Value: +[^ ]' 'Reason: +[^ ]'
    verdict
done

# ---- no-transport: where UCX is not installed there are no nodes but this one

if [ -n "$FAULTS" ]; then
    program sizes
    # shellcheck disable=SC2046
    run_job no-ucx 60 -np 2 --mca pml smartint $(with no-ucx) "$PROGRAM" 65536
    expect_ok
    expect_silence
    verdict
    # shellcheck disable=SC2046
    run_job no-ucx-no-network 60 -np 2 --mca pml smartint --mca smartint_network always $(with no-ucx) "$PROGRAM" 65536
    expect_end
    expect_message 'smartint found no way between the nodes' "Host: +$HOST" "Reason: +UCX can't be loaded .*/nowhere/libuct.so.0" \
        'install it on this host'
    expect_no_other 'smartint found no way between the nodes'
    verdict
else
    skip "$LABEL/no-ucx" "gcc is missing"
fi

# ---- fatal: the job ends where nothing can be kept of a message that nobody awaits

if [ -n "$FAULTS" ]; then
    FATAL='smartint has to end the job'
    program unexpected
    # shellcheck disable=SC2046
    run_job fatal 60 -np 1 --mca pml smartint "$PROGRAM" 20 : -np 1 $(with no-memory) "$PROGRAM" 20
    expect_end
    expect_message "$FATAL" "Host: +$HOST" 'Reason: +no memory for an unexpected message'
    expect_no_other "$FATAL"
    verdict
else
    skip "$LABEL/fatal" "gcc is missing"
fi

# ---- lost-peer: what had begun fails, and what begins afterwards. Each rank says which one it lost, before an error ends
# the job too.

program lost_peer
LOST_PEER='smartint lost the connection to another process'
for when in new begun fatal; do
    run_job "lost-peer-$when" 60 "${S[@]}" --mca smartint_shared_memory 0 --mca smartint_network always \
        "$PROGRAM" $when
    said=$(grep -cF -- "$LOST_PEER" "$LOG")
    lost=$(grep -oE "Peer: +process [01], on ${HOST%%.*}" "$LOG" | sort -u | wc -l)
    { [ "$said" -ge 1 ] && [ "$said" -eq "$lost" ]; } || complain "'$LOST_PEER' came $said times, of $lost peers"
    for text in "Host: +$HOST" 'Reason: +[^ ]' 'Remedy: '; do
        grep -qE -- "$text" "$LOG" || complain "no '$text' in the message"
    done
    expect_no_other "$LOST_PEER"
    if [ $when = fatal ]; then
        expect_end
    else
        expect_ok
        [ "$(grep -c '^# rank . was told' "$LOG")" -eq 2 ] || complain "not both ranks ended by themselves"
    fi
    verdict
done

# ---- wrong-branch: the component stays out, so the job ends where it is named and goes on where it is not

program sizes
if [ -n "$BRANCH" ]; then
    WRONG_BRANCH='smartint was built for another Open MPI'
    for pml in smartint ob1; do
        run_job "wrong-branch-$pml" 60 -np 2 --mca pml $pml env LD_PRELOAD="$BRANCH" "$PROGRAM" 262144
        if [ $pml = smartint ]; then
            expect_end
            expect_message "$WRONG_BRANCH" "Host: +$HOST" 'Open MPI running: +4\.0\.9test' 'smartint built for: +[0-9.]+$' 'Remedy: '
            expect_no_other "$WRONG_BRANCH"
        else
            expect_ok
            expect_silence
        fi
        verdict
    done
else
    skip "$LABEL/wrong-branch" "gcc is missing"
fi

fault_done
