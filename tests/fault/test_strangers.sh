#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# Another user of the machine, during a job: what docs/security.md says he cannot do, he tries. Then he connects to
# every port that helper and ranks listen on, and the job must not mind.
. "$(dirname "${BASH_SOURCE[0]}")/lib_fault.sh"

if [ "$(id -u)" -ne 0 ] || ! command -v setpriv >/dev/null || ! command -v ss >/dev/null; then
    skip "$LABEL/strangers" "needs root, setpriv and ss"
    fault_done
fi
UID_OF_STRANGER=61234      # nobody's; preload_squat.c has it too
as_stranger() { setpriv --reuid $UID_OF_STRANGER --regid $UID_OF_STRANGER --clear-groups --no-new-privs "$@"; }
OUTSIDE=$(mktemp -d /tmp/stranger.XXXXXX) || exit 2
chmod 755 "$OUTSIDE"
script_cleanup() {
    [ -z "${FLOOD:-}" ] || kill "$FLOOD" 2>/dev/null
    rm -rf -- "$OUTSIDE"
}
SHM=$OUTSIDE/shm      # as /dev/shm, and this test's alone
mkdir -m 1777 "$SHM" || exit 2
gcc -O2 -g -Wall -Wextra -o "$OUTSIDE/stranger" "$FAULT_DIR/stranger.c" || exit 2

S=(-np 2 --mca pml smartint --mca smartint_directory "$SHM")

# What he can do, he did: every line is a complaint.
attempts() {      # attempts MODE WHAT...
    local said
    [ $# -gt 1 ] || { complain "nothing to look at for '$1'"; return; }
    said=$(as_stranger "$OUTSIDE/stranger" "$@" 2>&1)
    local rc=$?
    [ $rc -eq 0 ] && [ -z "$said" ] || complain "a stranger (exit code $rc): $(printf '%s' "$said" | head -n 1)"
}

# The tests see what works: to the job's own user nearly all of it is open.
can_see() {
    local said
    said=$("$OUTSIDE/stranger" look "$@" 2>&1 | grep -c '^worked: pidfd_getfd')
    [ "$said" -eq $# ] || complain "not even the job's own user gets a descriptor: the test is none"
}

# ---- while the board has a name: rank 1 comes late, so rank 0 waits in MPI_Init

program sizes
cat >"$WORK/late.sh" <<'CODE'
if [ "$OMPI_COMM_WORLD_RANK" = 1 ]; then
    while [ ! -e "$1" ]; do sleep 0.02; done
fi
shift
exec "$@"
CODE
board_name() { BOARD=$(find "$SHM" -name "smartint-$(id -u)-*"); [ -n "$BOARD" ]; }
begin_job board-has-a-name 60 "${S[@]}" bash "$WORK/late.sh" "$WORK/go" "$PROGRAM" 262144
until_true 30 board_name || complain "no board was made"
if [ -n "${BOARD:-}" ]; then
    mode=$(stat -c '%a %u' "$BOARD") # the kind of file stat says in the user's language
    { [ "$mode" = "600 0" ] && [ -f "$BOARD" ] && [ ! -h "$BOARD" ]; } || complain "the board is '$mode', or no plain file"
    attempts file "$BOARD"
    [ -e "$BOARD" ] || complain "the board's name is gone"
fi
: >"$WORK/go"
end_job
expect_ok
expect_silence
verdict

# ---- in the middle of the job

ports_of() {      # as address:port
    local pid
    for pid in "$@"; do ss -Htlnp | awk -v pid="pid=$pid," 'index($0, pid) { print $4 }'; done | sort -u
}

begin_phases running 90 0.6 "${S[@]}"
reached ready
until_true 30 helper_up || complain "no helper"
# Open MPI's own are for any address, the transport's for one.
# shellcheck disable=SC2046
PORTS=$(ports_of $(pids phases) $(helper_pids) | grep -vE '^(0\.0\.0\.0|\[::\]|\*):')
[ -z "$PORTS" ] || complain "a job inside one node listens on $PORTS"
# shellcheck disable=SC2046
{
    can_see $(pids phases) $(helper_pids)
    attempts look $(pids phases) $(helper_pids)
}
proceed begin
reached moved
# shellcheck disable=SC2046
attempts look $(pids phases) $(helper_pids)
proceed go
end_job
expect_ok
expect_silence
verdict

# ---- somebody was there first. The board goes into the job's session directory.

if preload preload_squat; then
    program sizes
    echo untouched >"$OUTSIDE/victim"
    for how in file "$OUTSIDE/victim" "$OUTSIDE/not-there"; do
        run_job "squatted-${how##*/}" 60 "${S[@]}" -x LD_PRELOAD="$PRELOAD" -x SMARTINT_TEST_SQUAT="$how" \
            -x SMARTINT_TEST_SQUAT_IN="$SHM/" \
            "$PROGRAM" 262144
        taken=$(find "$SHM" -uid $UID_OF_STRANGER -name "smartint-$(id -u)-*")
        [ -n "$taken" ] || complain "no name was taken"
        for name in $taken; do   # one, or one of each run if the job had to be run again
            [ -h "$name" ] || [ ! -s "$name" ] || complain "the stranger's file was used: $name"
        done
        find "$SHM" -uid $UID_OF_STRANGER -delete
        expect_ok
        expect_message 'smartint could not make the shared segment' "Directory: +$SHM" 'Reason: +File exists'
        [ "$(cat "$OUTSIDE/victim")" = untouched ] || complain "the link was followed"
        [ ! -e "$OUTSIDE/not-there" ] || complain "the link was followed, and a file made"
        verdict
    done
else
    skip "$LABEL/squatted" "there is no compiler"
fi

# ---- ports

memory_kb() { awk '/^VmRSS/ { print $2 }' "/proc/$1/status"; }
descriptors() { find "/proc/$1/fd" -mindepth 1 2>/dev/null | wc -l; }

begin_phases ports 120 0.6 "${S[@]}" --mca smartint_network always
reached ready
until_true 30 helper_up || complain "no helper"
HELPER=$(helper_pids | head -n 1)
RANKS=$(pids phases)
PORTS=$(ports_of "$HELPER")
[ -n "$PORTS" ] || complain "the helper listens nowhere"
# Of the ranks' ports the transport's alone: on the same address. Open MPI's own are another matter.
# shellcheck disable=SC2086
PORTS="$PORTS $(ports_of $RANKS | grep -F "${PORTS%%:*}:")"
before=$(memory_kb "$HELPER")
open_before=$(descriptors "$HELPER")
mkfifo "$WORK/hold"
# shellcheck disable=SC2086
as_stranger "$OUTSIDE/stranger" flood $PORTS <"$WORK/hold" >"$WORK/flood.txt" 2>&1 &
FLOOD=$!
exec 7>"$WORK/hold"
until_true 60 grep -q holding "$WORK/flood.txt" || complain "the stranger could not connect: $(head -n 1 "$WORK/flood.txt")"
proceed begin
reached moved
kill -0 "$HELPER" 2>/dev/null || complain "the helper is gone"
during=$(memory_kb "$HELPER")
lib_say "   helper: $before kB and $open_before descriptors before, $during kB and $(descriptors "$HELPER") with" \
    "$(cat "$WORK/flood.txt")"
[ "${during:-0}" -le $((before + 65536)) ] || complain "the helper grew from $before kB to $during kB"
exec 7>&-
wait "$FLOOD"
FLOOD=
fewer() { [ "$(descriptors "$HELPER")" -le $((open_before + 20)) ]; }
until_true 30 fewer || complain "the helper keeps $(descriptors "$HELPER") descriptors of closed connections"
proceed go
end_job
expect_ok
verdict

fault_done
