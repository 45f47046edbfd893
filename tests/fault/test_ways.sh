#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# Processes between which the usual way does not lead: there is another, without a word where nothing is lost.
. "$(dirname "${BASH_SOURCE[0]}")/lib_fault.sh"

S=(--mca pml smartint --mca smartint_stats_file "$WORK/stats.%r")

# ---- a list of BTLs without ours, as in scripts from before smartint

program sizes
for list in self,vader self,tcp ^smartint; do
    rm -f "$WORK"/stats.*
    run_job "btl-${list//[^a-z]/-}" 60 -np 3 "${S[@]}" --mca btl "$list" "$PROGRAM" 1048576
    expect_ok
    expect_silence
    expect_counter 0 rts_received '>' 0
    verdict
done
for way in always,1 always,0; do # the network is open before anybody is looked up, and the board is there all the same
    rm -f "$WORK"/stats.*
    program overlap_state
    run_job "btl-network-${way/,/-}" 60 -np 2 "${S[@]}" --mca btl self,tcp --mca smartint_network ${way%,*} \
        --mca smartint_shared_memory ${way#*,} "$PROGRAM" 1048576 200 recv 5 require
    expect_ok
    verdict
done
program rma_random
run_job btl-windows 60 -np 3 "${S[@]}" --mca osc smartint --mca btl self,vader "$PROGRAM" 3 30 create
expect_ok
expect_silence
verdict

# ---- containers of one process each. Without vader of Open MPI 4.1, which wants one /dev/shm for all.

# Each runs in namespaces of its own, after the words in $WORK/contained.sh.
contained() {
    printf '%s && exec "$@"\n' "$1" >"$WORK/contained.sh"
    shift
    unshare "$@" bash "$WORK/contained.sh" true 2>/dev/null
}
own_name='hostname "container-${OMPI_COMM_WORLD_RANK:-0}"'
own_memory='mount -t tmpfs -o size=64m tmpfs /dev/shm'
if contained "$own_name" --uts; then
    program sizes
    rm -f "$WORK"/stats.*
    run_job own-host-name 60 -np 3 "${S[@]}" --mca btl smartint,self unshare --uts bash "$WORK/contained.sh" "$PROGRAM" 4194304
    expect_ok
    expect_silence
    for rank in 0 1 2; do expect_counter $rank reads_app '>' 0; done
    verdict
else
    skip "$LABEL/own-host-name" "this user cannot make such namespaces"
fi
if contained "$own_memory" --mount; then
    for words in 'sizes 4194304' 'collectives' 'rma_random 5 30 create'; do
        read -r name arguments <<<"$words"
        program "$name"
        rm -f "$WORK"/stats.*
        # shellcheck disable=SC2086
        run_job "own-shared-memory-$name" 60 -np 3 "${S[@]}" --mca osc smartint --mca btl smartint,self \
            unshare --mount bash "$WORK/contained.sh" "$PROGRAM" $arguments
        expect_ok
        expect_silence
        for rank in 0 1 2; do expect_counter $rank reads_app == 0; done
        verdict
    done
    # windows alone bring their own ways
    run_job own-shared-memory-osc 60 -np 3 --mca pml ob1 --mca osc smartint --mca btl tcp,self \
        unshare --mount bash "$WORK/contained.sh" "$PROGRAM" 5 30 create
    expect_ok
    expect_silence
    verdict
else
    skip "$LABEL/own-shared-memory" "this user cannot make such namespaces"
fi

# ---- a shell's soft limit on descriptors that is too low for all connections, and a hard one that is not

printf '%s\n' 'ulimit -Sn 48; exec "$@"' >"$WORK/limited.sh"
program collectives
run_job few-descriptors 60 -np 12 "${S[@]}" --mca btl smartint,self --mca smartint_shared_memory 0 \
    bash "$WORK/limited.sh" "$PROGRAM"
expect_ok
expect_silence
verdict

# ---- ways that parameters ask for: by the clock, or by the size alone through the ring or never

program sizes
for words in 'timed 67108864 262144' 'never-streamed 0 0' 'always-streamed 0 1073741824'; do
    read -r name timed streamed <<<"$words"
    rm -f "$WORK"/stats.*
    run_job "by-size-$name" 60 -np 2 "${S[@]}" --mca smartint_timed_bytes "$timed" --mca smartint_stream_bytes "$streamed" \
        "$PROGRAM" 1048576
    expect_ok
    expect_silence
    for rank in 0 1; do
        case $name in
        timed) expect_counter $rank receives_timed '>' 0 ;;
        *) expect_counter $rank receives_timed == 0 ;;
        esac
        case $name in
        never-streamed) expect_counter $rank copies == 0 ;;
        always-streamed) expect_counter $rank copies '>' 0 ;;
        esac
    done
    verdict
done
# A computing target that was asked once listens to the network itself; one that is not to is woken by the helper alone.
program rma_passive
for us in 1000000000 0; do
    for try in 1 2 3; do
        rm -f "$WORK"/stats.*
        run_job "listening-$us" 120 -np 2 "${S[@]}" --mca osc smartint --mca smartint_shared_memory 0 --mca smartint_network always \
            --mca smartint_listen_us $us "$PROGRAM"
        expect_ok
        expect_silence
        [ $us -eq 0 ] && which='<' || which='>'
        softly expect_counter 0 wakes_transport $which 10      # of other causes a few
        once_more $try || break
    done
    verdict
done

# ---- memory that the kernel cannot copy, as a device's: its message goes by fragments, and the next one as ever

if preload preload_faults; then
    program sizes
    rm -f "$WORK"/stats.*
    run_job bad-memory 60 -np 2 "${S[@]}" -x LD_PRELOAD="$PRELOAD" -x SMARTINT_TEST_FAULT=bad-memory "$PROGRAM" 4194304
    expect_ok
    expect_silence
    for rank in 0 1; do
        expect_counter $rank fallbacks '>' 2
        expect_counter $rank reads_app '>' 2
    done
    verdict
else
    skip "$LABEL/bad-memory" "gcc is missing"
fi

# ---- memory that the program protects, and whose faults it handles: by whatever thread they are met

program protected
run_job protected 60 -np 2 "${S[@]}" "$PROGRAM"
expect_ok
expect_silence
verdict
for words in 'copy --mca smartint_rendezvous copy' 'network --mca smartint_shared_memory 0 --mca smartint_network always'; do
    read -r name arguments <<<"$words"
    # shellcheck disable=SC2086
    run_job "protected-$name" 60 -np 2 "${S[@]}" $arguments "$PROGRAM" require
    expect_ok
    expect_silence
    verdict
done

fault_done
