#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# A machine that refuses: no room for shared memory, no descriptors, no access to other processes. One message
# where something is lost, and right data.
. "$(dirname "${BASH_SOURCE[0]}")/lib_fault.sh"

S=(-np 2 --mca pml smartint)
HOST=$(hostname)

script_cleanup() {
    local mounted
    for mounted in full session; do ! mountpoint -q "$WORK/$mounted" 2>/dev/null || umount "$WORK/$mounted"; done
}

# ---- shared memory

program spin
NO_SEGMENT='smartint could not make the shared segment'
mkdir "$WORK/full"
if mount -t tmpfs -o size=64k tmpfs "$WORK/full" 2>/dev/null; then
    run_job directory-full 30 "${S[@]}" --mca smartint_directory "$WORK/full" "$PROGRAM" 1 2
    expect_ok
    expect_message "$NO_SEGMENT" "Host: +$HOST" "Directory: +$WORK/full" 'Reason: +No space' 'Remedy: .*space'
    [ -z "$(ls "$WORK/full")" ] || complain "left in the directory: $(ls "$WORK/full")"
    verdict
    run_job directory-full-network 30 "${S[@]}" --mca smartint_directory "$WORK/full" --mca smartint_network always \
        "$PROGRAM" 1 2
    expect_ok
    expect_message "$NO_SEGMENT" "Directory: +$WORK/full"
    verdict
    umount "$WORK/full"
else
    skip fault/directory-full "this user cannot mount a small file system"
fi
run_job directory-missing 30 "${S[@]}" --mca smartint_directory "$WORK/nowhere" "$PROGRAM" 1 2
expect_ok
expect_message "$NO_SEGMENT" "Directory: +$WORK/nowhere" 'Reason: +No such file'
verdict
# The directory and the session directory, where the board would go instead, are full.
mkdir "$WORK/session"
if mount -t tmpfs -o size=64k tmpfs "$WORK/full" 2>/dev/null && mount -t tmpfs -o size=512k tmpfs "$WORK/session"; then
    BOTH=(--mca smartint_directory "$WORK/full" --mca orte_tmpdir_base "$WORK/session" -x PMIX_MCA_gds=hash
        --mca smartint_ring_bytes 4194304)
    program sizes
    for way in auto always; do
        run_job "both-directories-full-$way" 60 "${S[@]}" "${BOTH[@]}" --mca smartint_network $way "$PROGRAM" 262144
        expect_ok # over the network
        expect_message "$NO_SEGMENT" "Host: +$HOST" "Directory: +$WORK/full" 'Reason: +No space' 'Remedy: .*space'
        left=$(find "$WORK/full" "$WORK/session" -name '*smartint*')
        [ -z "$left" ] || complain "left: $left"
        verdict
    done
    program spin
else
    skip "$LABEL/both-directories-full" "this user cannot mount a small file system"
fi
for mounted in full session; do ! mountpoint -q "$WORK/$mounted" || umount "$WORK/$mounted"; done
mkdir "$WORK/elsewhere"
run_job directory-elsewhere 30 "${S[@]}" --mca smartint_directory "$WORK/elsewhere" "$PROGRAM" 1 2
expect_ok
expect_silence
[ -z "$(ls "$WORK/elsewhere")" ] || complain "left in the directory: $(ls "$WORK/elsewhere")"
verdict

# ---- descriptors. With so few, Open MPI may not even load its components: then the job has to end.

limited() { printf '%s\n' "ulimit $1; shift; exec \"\$@\"" >"$WORK/limited.sh"; }
program spin
for n in 14 16 18 20 24 32; do
    limited "-n $n"
    again_if_mpirun_fails one_job "descriptors-$n" 30 "${S[@]}" bash "$WORK/limited.sh" - "$PROGRAM" 0.5 2
    # right data with at most two messages of smartint's, of helper and thread, or an end that somebody explains
    ours=$(messages | grep -ci smartint)
    [ "$ours" -le 2 ] || complain "$ours messages of smartint's"
    ! grep -q '^FAILED' "$LOG" || complain "$(grep -m 1 '^FAILED' "$LOG")"
    if [ "$RC" -eq 0 ] || [ "$n" -ge 32 ]; then
        expect_ok
    elif [ "$ours" -eq 0 ]; then
        grep -q 'Too many open files' "$LOG" || complain "exit code $RC, and nobody says why"
    fi
    verdict
done

# ---- no access to other processes: neither copies between them nor their wake descriptors

if command -v setpriv >/dev/null && gcc -shared -fPIC -o "$WORK/closed.so" -x c - <<'CODE' 2>/dev/null
#include <sys/prctl.h>
__attribute__((constructor)) static void close_up(void) { prctl(PR_SET_DUMPABLE, 0); }
CODE
then
    closed=(env LD_PRELOAD="$WORK/closed.so")
    # a privileged user may access everything else
    [ "$(id -u)" -ne 0 ] || closed=(setpriv --bounding-set=-sys_ptrace --inh-caps=-sys_ptrace "${closed[@]}")
    STATS=(--mca smartint_stats_file "$WORK/stats.%r")
    program spin
    run_job no-ptrace 30 "${S[@]}" "${STATS[@]}" "${closed[@]}" "$PROGRAM" 1 2
    expect_ok
    expect_message 'The kernel refused a direct copy' "Host: +$HOST" 'Call: +process_vm_' 'Reason: ' 'Remedy: .*ptrace'
    grep -qE '^fallbacks [1-9]' "$WORK/stats.0" "$WORK/stats.1" || complain "no copy was refused: the test is none"
    verdict
    program sizes
    MESSAGES=no run_job no-ptrace-sizes 40 "${S[@]}" "${closed[@]}" "$PROGRAM" 4194304
    expect_ok
    verdict
    program overlap_state
    run_job no-ptrace-wake 30 "${S[@]}" "${STATS[@]}" "${closed[@]}" "$PROGRAM" 1048576 30 recv 5
    expect_ok
    expect_message 'smartint may not wake another process' "Host: +$HOST" 'Call: +pidfd_getfd' 'Reason: ' 'Remedy: ' 'kernel.yama.ptrace_scope'
    expect_counter 0 wakes_sent == 0
    verdict
    program datatypes
    MESSAGES=no run_job no-ptrace-datatypes 60 -np 3 --mca pml smartint "${closed[@]}" "$PROGRAM" 262144
    expect_ok
    verdict
else
    skip fault/no-ptrace "setpriv or gcc is missing"
fi

# As the kernel answers where yama or a container forbids ptrace: no copies and no taking of descriptors, but files may
# be opened. Windows that are shared by definition work there too.
refusing() { # refusing NAME CALLS: $WORK/NAME.so, which has the kernel refuse them
    gcc -shared -fPIC -o "$WORK/$1.so" "-DCALLS=$2" -x c - <<'CODE' 2>/dev/null
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#define REFUSE(call)                                                                                                     \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
__attribute__((constructor)) static void restrict_calls(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        CALLS,
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}
CODE
}
unit=$(python3 -c 'import os; print(min(os.sched_getaffinity(0)))') # where there is one for each rank, all may go by message
if refusing yama 'REFUSE(SYS_process_vm_readv),REFUSE(SYS_process_vm_writev),REFUSE(438)' && refusing pidfd 'REFUSE(434),REFUSE(438)'; then
    program rma_calls
    for np in 2 4; do
        rm -f "$WORK"/stats.*
        MESSAGES=no run_job "yama-windows-np$np" 60 -np $np --mca pml smartint --mca osc smartint --mca smartint_stats_file "$WORK/stats.%r" \
            taskset -c "$unit" env LD_PRELOAD="$WORK/yama.so" "$PROGRAM"
        expect_ok
        grep -qE '^fallbacks [1-9]' "$WORK"/stats.* || complain "no copy was refused: the test is none"
        verdict
    done
    # An older container's profile knows no pidfd at all: the helper cannot watch ranks by it, and stays all the same.
    program overlap_state
    rm -f "$WORK"/stats.*
    run_job no-pidfd 60 -np 2 --mca pml smartint --mca smartint_stats_file "$WORK/stats.%r" env LD_PRELOAD="$WORK/pidfd.so" \
        "$PROGRAM" 1048576 30 recv 5
    expect_ok
    expect_message 'smartint may not wake another process'
    grep -q 'has ended' "$LOG" && complain "the helper did not stay"
    expect_counter 0 wakes_sent == 0
    verdict
else
    skip fault/yama "gcc is missing"
fi

# in_common NAMESPACES PROGRAM ARGUMENTS...: memory that ranks share is a file there that has a name for a moment
in_common() {
    local name=$1-namespaces-$2
    program "$2"
    MESSAGES=no run_job "$name${5:+-$5}" 60 "${S[@]}" --mca osc smartint --mca btl smartint,self "${ALONE[@]}" "$PROGRAM" "${@:3}"
    expect_ok
    verdict
}

# ---- PID namespaces: each rank in one of its own, as in a container. A rank's number is another process there, itself
# even; with the same addresses everywhere a copy from that one would go well. Not beside btl/vader of Open MPI 4.1: it
# takes a segment made by a process of its own number for its own, and unmaps at the end what lies there (failure.md).
if setarch -R unshare -f -p --mount-proc true 2>/dev/null; then
    ALONE=(taskset -c "$unit" setarch -R unshare -f -p --mount-proc --kill-child)
    for words in 'sizes 262144' 'rma_random 2 30 create'; do
        read -r name arguments <<<"$words"
        program "$name"
        rm -f "$WORK"/stats.*
        # shellcheck disable=SC2086
        run_job "pid-namespaces-$name" 60 "${S[@]}" --mca osc smartint --mca btl smartint,self \
            --mca smartint_stats_file "$WORK/stats.%r" "${ALONE[@]}" "$PROGRAM" $arguments
        expect_ok
        expect_message 'The kernel refused a direct copy' 'PID namespaces' 'Remedy: .*'
        for rank in 0 1; do
            expect_counter $rank reads_app == 0
            expect_counter $rank wakes_sent == 0
        done
        verdict
    done
    in_common pid rma_shared 20
    in_common pid rma_random 5 30 shared
else
    skip "$LABEL/pid-namespaces" "this user cannot make them"
fi
if unshare -U -r true 2>/dev/null; then
    ALONE=(unshare -U -r)
    in_common user rma_shared 20
    in_common user rma_random 2 30 create
else
    skip "$LABEL/user-namespaces" "this user cannot make them"
fi

# ---- threads: the limit on processes does not hold for root
if [ "$(id -u)" -ne 0 ]; then
    limited "-u 1"
    program spin
    run_job threads-refused 30 "${S[@]}" bash "$WORK/limited.sh" - "$PROGRAM" 0.5 2
    # Open MPI's own thread is mostly the first that there is no room for
    right_or_explained 'progress_thread|Resource temporarily unavailable'
    verdict
fi

fault_done
