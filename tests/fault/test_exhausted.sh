#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# What runs out or is refused in the middle of a job or of its start: descriptors, room in shared memory, locked
# memory, descriptors of the kernel's for sleeping, new processes. One message where something is lost, right data or
# an end that is explained; no hang.
. "$(dirname "${BASH_SOURCE[0]}")/lib_fault.sh"

S=(-np 2 --mca pml smartint)
NO_THREAD='smartint could not start its interrupt thread'
NO_HELPER='smartint could not start the helper process'

script_cleanup() { ! mountpoint -q "$WORK/small" 2>/dev/null || umount -l "$WORK/small"; }

# As many descriptors as a process has open, and two more.
no_more_descriptors() {
    local pid highest
    for pid in "$@"; do
        highest=$(find "/proc/$pid/fd" -mindepth 1 -printf '%f\n' | sort -n | tail -n 1)
        prlimit --pid "$pid" --nofile=$((highest + 3)) || complain "the limit of $pid cannot be set"
    done
}

NO_DESCRIPTORS='Too many open files|files? descriptor|maximal number of files'

# ---- descriptors are used up while the job runs: of the ranks, of the helper, and where connections are to be made

if command -v prlimit >/dev/null; then
    for who in ranks helper all; do
        for way in auto always; do
            arguments=("${S[@]}" --mca smartint_network $way)
            [ $way = auto ] || arguments+=(--mca smartint_shared_memory 0)
            begin_phases "descriptors-of-$who-$way" 90 0.5 "${arguments[@]}"
            reached ready
            until_true 30 helper_up || complain "no helper"
            # shellcheck disable=SC2046
            case $who in
            ranks) no_more_descriptors $(pids phases) ;;
            helper) no_more_descriptors $(helper_pids) ;;
            all) no_more_descriptors $(pids phases) $(helper_pids) ;;
            esac
            proceed begin
            REACH_SECONDS=60 reached_or_over moved || until_true 60 reached_or_over moved
            proceed go
            # UCX 1.13 that can take no descriptor for a connection says so, and then now and then meets an
            # assertion of its own, in tcp_ep.c.
            CRASH_ASKED_FOR=$([ $way = auto ] || echo yes) end_job
            [ -z "$CRASH" ] || grep -q 'tcp_ep\.c:[0-9]* *Assertion' "$LOG" || complain "crash: $CRASH"
            right_or_explained "$NO_DESCRIPTORS"
            [ $who != helper ] || expect_ok
            [ $way != auto ] || expect_ok
            verdict
        done
    done
else
    skip "$LABEL/descriptors" "there is no prlimit"
fi

# ---- the board's file system is filled up while the job runs: its room was reserved

mkdir "$WORK/small"
if mount -t tmpfs -o size=2m tmpfs "$WORK/small" 2>/dev/null; then
    begin_phases directory-filled-up 90 0.5 "${S[@]}" --mca smartint_directory "$WORK/small"
    reached ready
    dd if=/dev/zero of="$WORK/small/filler" bs=64k 2>/dev/null
    [ "$(df --output=avail "$WORK/small" | tail -n 1)" -eq 0 ] || complain "there is room left: the test is none"
    proceed begin
    reached moved
    proceed go
    end_job
    expect_ok
    expect_silence
    not_in_use() { umount "$WORK/small" 2>/dev/null; }
    until_true 20 not_in_use || complain "the board's file system is still in use"
    verdict
else
    skip "$LABEL/directory-filled-up" "this user cannot mount a small file system"
fi

# ---- no memory may be locked

program sizes
printf '%s\n' 'ulimit -l 0; exec "$@"' >"$WORK/unlocked.sh"
for way in auto always; do
    run_job "memlock-0-$way" 60 "${S[@]}" --mca smartint_network $way --mca smartint_shared_memory \
        $([ $way = auto ] && echo 1 || echo 0) bash "$WORK/unlocked.sh" "$PROGRAM" 1048576
    expect_ok
    expect_silence
    verdict
done

# ---- refused by the kernel at the start

if preload preload_faults; then
    refused() {      # refused FAULT TITLE
        run_job "$1" 60 "${S[@]}" --mca smartint_network always -x LD_PRELOAD="$PRELOAD" -x SMARTINT_TEST_FAULT="$1" \
            "$PROGRAM" 262144
        expect_ok
        expect_message "$2" "Host: +$(hostname)"
        [ "$(messages | grep -ci smartint)" -eq 1 ] || complain "not one message: $(messages | tr '\n' ';')"
        verdict
    }
    refused no-eventfd "$NO_THREAD"
    refused eventfd-later "$NO_THREAD" # nobody could wake a thread that came later
    refused no-epoll "$NO_THREAD"
    refused helper-no-epoll "$NO_HELPER"
    refused no-clone "$NO_HELPER"
else
    skip "$LABEL/refused" "there is no compiler"
fi

fault_done
