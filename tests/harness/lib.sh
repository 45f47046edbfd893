# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034
# Sourced by the shell tests: results, and checks that a test left nothing behind.
#
#   snapshot_before              note what is on the machine before a test
#   check_after PROGRAM...       0 when nothing is left; else 1, and $LEFT_BEHIND says what
#   check_output FILE            0 when FILE holds no unexpected line; else 1, $UNEXPECTED has the first with text
#   until_true SECONDS COMMAND...   try it until it succeeds; SECONDS are times SMARTINT_TIME_SCALE
#   limited SECONDS COMMAND...   `timeout -k 10`, which ends with this shell
#   watch_mpirun PID LOG PROGRAM...   beside a job (PID: its `timeout`): ends an mpirun that stands still
#   mpirun_failed STATUS LOG...  mpirun itself failed at the end of the job, which shows nothing of ours
#   tidy_after_mpirun PROGRAM... remove what that one left
#   remove_vader_segments        of that, stock's shared memory
#   pass NAME [SECONDS]          print and record a result
#   fail NAME REASON [LOG]        and print how the log ends: elsewhere that is all one gets to see
#   skip NAME REASON
#   summary                      last line `N passed, N failed`; returns 1 if any failed
#   is_long                      everything is wanted, not only some of what differs in little
#
# Environment:
#   SMARTINT_LONG      yes: is_long; run-tests -l sets it
#   SMARTINT_RESULTS   file to which results are appended, `PASS|FAIL|SKIP name` a line
#   SMARTINT_SHM_DIRS  directories of shared memory to look into (default /dev/shm); a cluster adds
#                      its nodes' as /proc/PID/root/dev/shm
#   SMARTINT_TMP_DIRS  directories in which session files would be left (default: $TEST_TMP, a private
#                      TMPDIR made by snapshot_before when the caller asks for it, else /tmp)
#   SMARTINT_HARMLESS  file with more regular expressions of harmless lines
#   SMARTINT_SETTLE    seconds granted for things to vanish (default 20), times SMARTINT_TIME_SCALE
#
# Other people's jobs may run on the same machine. A process is ours when its environment holds our
# SMARTINT_TEST_ID; a process that carries another id is someone else's, and so is one of another user, whose
# environment cannot be read. A new name in shared memory that a live process of someone else has mapped, or that
# another user owns, is not ours either.

export LC_ALL=C.UTF-8      # numbers have points, for awk too

LIB_SHM_NAMES='smartint|vader|psm'
LIB_TMP_NAMES='ompi\.|openmpi-sessions|smartint|pmix|prte'
LIB_PASSED=0
LIB_FAILED=0
LIB_SKIPPED=0
LEFT_BEHIND=
UNEXPECTED=
export SMARTINT_TEST_ID=${SMARTINT_TEST_ID:-$$.$(date +%s%N)}

# Lines known to be harmless, whatever the test.
LIB_HARMLESS=(
    '^[[:space:]]*$'
    'Forwarding signal 18 to job'
    'PMIX ERROR: (ERROR|NO-PERMISSIONS) in file .*gds_ds'           # races of stock PMIx at exit
)

lib_say() { printf '%s\n' "$*"; }

lib_record() {
    [ -z "${SMARTINT_RESULTS:-}" ] || printf '%s %s\n' "$1" "$2" >>"$SMARTINT_RESULTS" || exit 2 # a full disk
}

pass() {
    LIB_PASSED=$((LIB_PASSED + 1))
    lib_say "ok $1${2:+ ($2 s)}"
    lib_record PASS "$1"
}

fail() {
    LIB_FAILED=$((LIB_FAILED + 1))
    lib_say "FAIL $1: $2${3:+, log $3}"
    [ -z "${3:-}" ] || tail -n 40 -- "$3" 2>/dev/null | sed 's/^/    | /'
    lib_record FAIL "$1"
}

skip() {
    LIB_SKIPPED=$((LIB_SKIPPED + 1))
    lib_say "skip $1: $2"
    lib_record SKIP "$1"
}

summary() {
    [ "$LIB_SKIPPED" -eq 0 ] || lib_say "$LIB_SKIPPED skipped"
    lib_say "$LIB_PASSED passed, $LIB_FAILED failed"
    [ "$LIB_FAILED" -eq 0 ]
}

is_long() { [ "${SMARTINT_LONG:-no}" = yes ]; }

# ---- time ----------------------------------------------------------------------------------------

lib_now() {   # NOW_MS
    NOW_MS=${EPOCHREALTIME/[.,]/}
    NOW_MS=$((NOW_MS / 1000))
}
milliseconds() { lib_now; echo "$NOW_MS"; }

in_seconds() { printf -v "$1" '%d.%d' $(($2 / 1000)) $(($2 % 1000 / 100)); }     # in_seconds VARIABLE MILLISECONDS

scaled() { echo $(($1 * ${SMARTINT_TIME_SCALE:-1})); }

# until_true SECONDS COMMAND...
until_true() {
    local end
    lib_now
    end=$((NOW_MS + $1 * ${SMARTINT_TIME_SCALE:-1} * 1000))
    shift
    until "$@"; do
        lib_now
        [ $NOW_MS -lt $end ] || return 1
        sleep 0.03
    done
}

# `timeout` makes a process group of its own, which whoever ends ours does not reach: in front of us its command would go on.
limited() {
    local traps='' pid='' status
    [ "$BASHPID" != $$ ] || traps=$(trap -p INT TERM HUP)      # a subshell would be told of those it has not
    trap '[ -z "$pid" ] || { kill -TERM "$pid"; wait "$pid"; } 2>/dev/null; exit 130' INT TERM HUP
    timeout -k 10 "$@" <&0 &
    pid=$!
    wait "$pid"
    status=$?
    trap - INT TERM HUP
    eval "$traps"
    return $status
}

# ---- what is there -------------------------------------------------------------------------------

# Some thousand jobs look around by these, before and after: hardly a process is started here, and no shell for an answer.
# Where processes are expensive, in some virtual machines, that was as long as the jobs themselves.

lib_list() {   # lib_list REGEX DIR...: LISTED, paths directly in DIRs whose name matches, one a line
    local regex=$1 dir path
    shift
    LISTED=
    for dir in "$@"; do
        for path in "$dir"/* "$dir"/.[!.]*; do
            [[ ${path##*/} =~ $regex ]] && { [ -e "$path" ] || [ -L "$path" ]; } && LISTED+=${LISTED:+$'\n'}$path
        done
    done
    return 0
}

lib_shm() {   # LISTED
    # shellcheck disable=SC2086
    lib_list "$LIB_SHM_NAMES" ${SMARTINT_SHM_DIRS:-/dev/shm}
}

lib_tmp() {   # LISTED
    # shellcheck disable=SC2086
    lib_list "$LIB_TMP_NAMES" ${SMARTINT_TMP_DIRS:-${TEST_TMP:-/tmp}}
}

lib_test_id() {   # lib_test_id PID: the SMARTINT_TEST_ID in its environment
    { tr '\0' '\n' <"/proc/$1/environ"; } 2>/dev/null | sed -n 's/^SMARTINT_TEST_ID=//p' | head -n 1
}

# /proc/PID itself may belong to root though the process is ours: one that may not be dumped
lib_our_user() { [ "$(awk '/^Uid:/ { print $2 }' "/proc/$1/status" 2>/dev/null)" = "$UID" ]; }

# A process that does not say whose it is may be the helper of a job of ours.
lib_is_ours() {   # lib_is_ours PID
    local id
    id=$(lib_test_id "$1")
    [ "$id" = "$SMARTINT_TEST_ID" ] || { [ -z "$id" ] && lib_our_user "$1"; }
}

# lib_find_processes NAME...: FOUND, `pid name` of live processes of these names (comm, 15 characters) that are not
# zombies and not someone else's, one a line.
lib_find_processes() {
    local name names=() file pid comm rest
    FOUND=
    for name in "$@"; do names+=(-e "${name:0:15}"); done
    [ $# -gt 0 ] || return 0
    for file in $(grep -lxF "${names[@]}" /proc/[0-9]*/comm); do
        pid=${file//[!0-9]/}
        read -r rest <"/proc/$pid/stat" || continue
        comm=${rest#*\(}
        comm=${comm%\)*}
        case ${rest##*\) } in Z* | X*) continue ;; esac
        ! lib_is_ours "$pid" || FOUND+=${FOUND:+$'\n'}"$pid $comm"
    done 2>/dev/null
}

lib_processes() { lib_find_processes "$@"; printf '%s' "$FOUND${FOUND:+$'\n'}"; }

lib_used_by_others() {   # is the file mapped or open by a live process that is not ours?
    local maps pid
    for maps in $(grep -lsF -- "/${1##*/}" /proc/[0-9]*/maps 2>/dev/null); do
        pid=${maps#/proc/}
        pid=${pid%/maps}
        [ "$(lib_test_id "$pid")" = "$SMARTINT_TEST_ID" ] || return 0
    done
    return 1
}

# Note what exists. With the argument `tmp`, also make a private TMPDIR for the test's session files
# and export it; check_after removes it when it is empty of them.
snapshot_before() {
    if [ "${1:-}" = tmp ]; then
        TEST_TMP=$(mktemp -d /tmp/smt.XXXXXX) || return 1
        export TMPDIR=$TEST_TMP
    fi
    lib_shm
    LIB_SHM_BEFORE=$LISTED
    lib_tmp
    LIB_TMP_BEFORE=$LISTED
    lib_find_processes smartintd
    LIB_PROCESSES_BEFORE=$FOUND
    LEFT_BEHIND=
}

lib_new() {   # lib_new BEFORE AFTER: NEW, lines only in AFTER
    local line rest=$2
    NEW=
    while [ -n "$rest" ]; do
        line=${rest%%$'\n'*}
        rest=${rest:${#line}}
        rest=${rest#$'\n'}
        [[ $'\n'$1$'\n' == *$'\n'"$line"$'\n'* ]] || NEW+=${NEW:+$'\n'}$line
    done
}

# LEFT_BEHIND: what there is now and was not before the snapshot, between semicolons.
lib_left() {
    local path
    LEFT_BEHIND=
    lib_find_processes smartintd "$@"
    lib_new "$LIB_PROCESSES_BEFORE" "$FOUND"
    [ -z "$NEW" ] || LEFT_BEHIND="process ${NEW//$'\n'/;process }"
    lib_shm
    lib_new "$LIB_SHM_BEFORE" "$LISTED"
    for path in $NEW; do
        [ -O "$path" ] && ! lib_used_by_others "$path" && LEFT_BEHIND+="${LEFT_BEHIND:+;}shared memory $path"
    done
    lib_tmp
    lib_new "$LIB_TMP_BEFORE" "$LISTED"
    for path in $NEW; do
        [ -O "$path" ] || continue
        # An empty session directory above the job's own is stock Open MPI's habit.
        [ -n "$(find "$path" -not -type d -print -quit 2>/dev/null)" ] && LEFT_BEHIND+="${LEFT_BEHIND:+;}session files $path"
    done
    return 0
}

check_after() {
    local end pid
    lib_now
    end=$((NOW_MS + ${SMARTINT_SETTLE:-20} * ${SMARTINT_TIME_SCALE:-1} * 1000))
    while :; do
        lib_left "$@"
        [ -n "$LEFT_BEHIND" ] || break
        lib_now
        [ $NOW_MS -lt $end ] || break
        sleep 0.05
    done
    if [ -n "$LEFT_BEHIND" ]; then      # end what is certainly ours, so that the next test starts clean
        for pid in $(lib_processes smartintd "$@" | cut -d' ' -f1); do
            [ "$(lib_test_id "$pid")" = "$SMARTINT_TEST_ID" ] && kill -KILL "$pid" 2>/dev/null
        done
    fi
    if [ -n "${TEST_TMP:-}" ]; then
        rm -rf -- "$TEST_TMP"
        TEST_TMP=
        unset TMPDIR
        lib_tmp
        LIB_TMP_BEFORE=$LISTED      # who asks again asks of /tmp
    fi
    [ -z "$LEFT_BEHIND" ]
}

# ---- mpirun --------------------------------------------------------------------------------------

# mpirun of Open MPI 4.1, on PMIx 4, sometimes stands still for ever in PMIx_server_finalize after an abort, on a lock in
# memory that is freed, or crashes there. No code of ours is in it. Where all that it started has been over for some
# seconds it is ended here, and the job runs once more. What is not over is waited for: a hang of ours stays one.
STANDS_STILL="mpirun stands still, and all that it started is over"
LIB_HARMLESS+=("^$STANDS_STILL\$")
MPIRUN_TRIES=8      # of a job whose mpirun fails

mpirun_below() {      # mpirun_below PID: there may be scripts between
    local pid
    for pid in $(pgrep -P "$1"); do
        case $(cat "/proc/$pid/comm" 2>/dev/null) in
        mpirun* | orterun*) echo "$pid" ;;
        *) mpirun_below "$pid" || continue ;;
        esac
        return
    done
    return 1
}

rank_parents() { echo "$1"; }      # rank_parents PID-OF-MPIRUN: on several nodes they are others

watch_mpirun() {
    local job=$1 log=$2 mpirun parents states seen=no over=0 look=0.5 began=$SECONDS
    shift 2
    while sleep "$look" && kill -0 "$job"; do
        mpirun=$(mpirun_below "$job") || continue
        parents=$(rank_parents "$mpirun" | paste -sd,)
        states=$([ -z "$parents" ] || ps -o state= --ppid "$parents" | tr -d '[:space:]')
        # a short job's ranks may be gone before anybody looks
        if [ $seen = no ] && { [ -n "$states" ] || [ -n "$(lib_processes "$@")" ] || [ $((SECONDS - began)) -ge "$(scaled 30)" ]; }; then
            seen=yes look=1
        fi
        if [ $seen = yes ] && [ -z "${states//Z/}" ] && [ -z "$(lib_processes "$@")" ]; then
            over=$((over + 1))
        else
            over=0
        fi
        if [ "$over" -ge "$(scaled 8)" ]; then
            printf '\n%s\n' "$STANDS_STILL" >>"$log"
            # shellcheck disable=SC2086
            kill -KILL "$mpirun" ${parents//,/ }
            return
        fi
    done
}

# Ranks have no PMIx server; and mpirun says of a rank's end by a signal which one it was. A trace without that, and without
# anything of ours or of a test, is its own.
mpirun_failed() {
    local status=$1 signal=$(($1 - 128)) programs=${SMARTINT_BUILD:-build-mpi}
    programs=${programs##*/}
    shift
    grep -qxF "$STANDS_STILL" "$@" || grep -qF PMIx_server_finalize "$@" && return
    case $status in
    134 | 135 | 139) ! grep -qE "on signal $signal |\] \[ *[0-9]+\] .*(smartint[^/]*\.so|/$programs/)" "$@" ;;
    *) false ;;
    esac
}

# What it would have removed.
tidy_after_mpirun() {
    lib_all_over() { [ -z "$(lib_processes "$@")" ]; }
    until_true 10 lib_all_over "$@"
    [ -z "${TEST_TMP:-}" ] || rm -rf -- "$TEST_TMP"/*
    remove_vader_segments
}

# Stock's own, of jobs that end early.
remove_vader_segments() {
    local path
    lib_shm
    lib_new "$LIB_SHM_BEFORE" "$LISTED"
    for path in $NEW; do
        case $path in */vader_segment.*) lib_used_by_others "$path" || rm -f -- "$path" ;; esac
    done
}

# ---- output --------------------------------------------------------------------------------------

# Every line is unexpected but: harmless ones, `ok`, and what tests print on purpose (`# ...` and
# `name value` lines of counters).
check_output() {
    local pattern filters=() line lines odd=no
    UNEXPECTED=
    mapfile -t lines <"$1"
    for line in ${lines[@]+"${lines[@]}"}; do
        case $line in '' | ok | '#'*) ;; *) odd=yes ;; esac
    done
    [ $odd = yes ] || return 0
    for pattern in "${LIB_HARMLESS[@]}" '^ok$' '^#' '^smartint_[A-Za-z0-9_]+ ' '^\[?[0-9]+\]? ?smartint_'; do
        filters+=(-e "$pattern")
    done
    if [ -n "${SMARTINT_HARMLESS:-}" ]; then
        filters+=(-f "$SMARTINT_HARMLESS")
    fi
    UNEXPECTED=$(grep -Ev "${filters[@]}" -- "$1" | awk '/[[:alnum:]]/ { found = $0; exit } { found = $0 } END { print found }')
    [ -z "$UNEXPECTED" ]
}
