# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
# shellcheck shell=bash disable=SC2034
# Sourced by the shell tests of fault, inert and cluster: one job after another, each with a verdict.
#
#   program NAME           compile tests/mpi/NAME.c or NAME.c beside the script; sets PROGRAM
#   preload NAME           compile NAME.c beside the script as a library; sets PRELOAD
#   begin_job NAME LIMIT LAUNCHER-ARGS...   start it in the background; it may run LIMIT seconds
#   end_job                wait for it; sets RC, SECONDS_TAKEN; output in $LOG
#   run_job NAME LIMIT LAUNCHER-ARGS...     both; again if stock Open MPI lost a help message
#   again_if_mpirun_fails COMMAND...        COMMAND is begin_job, what is done to the job, and end_job: for jobs that are aborted or
#                          killed, after which stock's mpirun itself may fail
#   one_job NAME LIMIT LAUNCHER-ARGS...     such a COMMAND: begin_job and end_job
#   expect...              note what is wrong; the first complaint becomes the verdict
#   softly COMMAND...      what this one complains of a loaded machine may cause; once_more TRY: nothing else was wrong, so the job
#                          may run again, up to three times
#   verdict                look for what is left behind; pass or fail the job
#   fault_done             summary and exit status
# Limits only stop what hangs: seconds, far above what is needed, times SMARTINT_TIME_SCALE.
#
# A job's processes carry SMARTINT_TEST_ID in their environment, so that a neighbour's are never touched.

FAULT_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$FAULT_DIR/../harness/lib.sh"

SCRIPT_DIR=$(cd "$(dirname "$0")" && pwd)
PROGRAMS=${SMARTINT_BUILD:-$PWD/build-mpi}
mkdir -p "$PROGRAMS" && PROGRAMS=$(cd "$PROGRAMS" && pwd) || exit 2
LOGS=${SMARTINT_LOGS:-$PROGRAMS/logs}/$(basename "$SCRIPT_DIR")
mkdir -p "$LOGS" || exit 2
MPIRUN=${SMARTINT_MPIRUN:-mpirun.openmpi --allow-run-as-root --oversubscribe --bind-to none}
OMPI_INFO=$(command -v ompi_info.openmpi || command -v ompi_info)
LAUNCHER=$MPIRUN
LABEL=$(basename "$SCRIPT_DIR")
WORK=$(mktemp -d "$PROGRAMS/work.XXXXXX") || exit 2      # seen by every node of a cluster, as $PROGRAMS is
JOB=
WATCHED=()      # programs of the current job, by which its processes are known

fault_cleanup() {
    # timeout, which ends mpirun, and after a while kills it. Killed itself it would leave a job that nobody ends.
    [ -z "$JOB" ] || { kill -TERM "$JOB" && wait "$JOB"; } 2>/dev/null
    { exec 2>&8; } 2>/dev/null
    command -v script_cleanup >/dev/null && script_cleanup
    rm -rf -- "$WORK" ${TEST_TMP:+"$TEST_TMP"}
}
trap fault_cleanup EXIT
trap 'exit 130' INT TERM HUP

# Stricter than lib.sh: only processes that say they are ours. A neighbour's helper need not say whose it is.
lib_is_ours() { [ "$(lib_test_id "$1")" = "$SMARTINT_TEST_ID" ]; }
pids() { lib_processes "$@" | cut -d' ' -f1; }

# preload NAME: NAME.c as a library to be loaded before others, in $PRELOAD; false: there is no compiler
preload() {
    PRELOAD=$WORK/$1.so
    [ -e "$PRELOAD" ] || gcc -O2 -g -Wall -Wextra -fPIC -shared -o "$PRELOAD" "$FAULT_DIR/$1.c" -ldl
}

program() {
    local src=$SCRIPT_DIR/$1.c
    [ -e "$src" ] || src=$FAULT_DIR/$1.c
    [ -e "$src" ] || src=$FAULT_DIR/../mpi/$1.c
    PROGRAM=$PROGRAMS/$1
    WATCHED=("$1")
    local newest
    newest=$(ls -t "$src" "$FAULT_DIR"/../mpi/*.h | head -n 1)
    if [ "$PROGRAM" -nt "$newest" ]; then
        return 0
    fi
    (
        flock 9
        ${SMARTINT_MPICC:-mpicc.openmpi} -std=c11 -O2 -g -Wall -Wextra -pthread -I"$FAULT_DIR/../mpi" \
            -o "$PROGRAM.$$" "$src" && mv "$PROGRAM.$$" "$PROGRAM"
    ) 9>"$PROGRAMS/.lock" || { fail "$LABEL/$1" "does not compile"; exit 1; }
}

SOFTLY=
complain() {
    if [ -n "$SOFTLY" ]; then
        LATE=${LATE:-$*}
    else
        REASON=${REASON:-$*}
    fi
}
softly() { SOFTLY=yes "$@"; }
certainly() { SOFTLY='' "$@"; }      # of what is done softly, that which no load can cause
once_more() {
    [ -z "$REASON" ] && [ -n "$LATE" ] && [ "$1" -lt 3 ] || return 1
    check_after "${WATCHED[@]}" || { complain "left behind: $LEFT_BEHIND"; return 1; }
}

# Stock Open MPI 4.1.4 hangs in PMIx_server_finalize of its mpirun if a rank dies in MPI_Init while it holds a lock that
# PMIx (gds ds21) shares with it: with pml ob1 in one of some thirty jobs both of whose ranks are killed there. Without
# that shared memory nobody can take the lock along.
without_shared_locks() { PMIX_MCA_gds=hash "$@"; }

begin_job() {
    NAME=$LABEL/$1
    LIMIT=$(scaled "$2")
    shift 2
    LOG=$LOGS/${NAME//\//.}.log
    REASON= LATE= CRASH=
    lib_now
    STARTED=$NOW_MS
    snapshot_before tmp || exit 2
    # shellcheck disable=SC2086
    timeout -k 5 "$LIMIT" $LAUNCHER -x SMARTINT_TEST_ID "$@" </dev/null >"$LOG" 2>&1 &
    JOB=$!
    # a helper that held the job's output would keep mpirun waiting: that is no failure of mpirun's
    watch_mpirun "$JOB" "$LOG" smartintd "${WATCHED[@]}" 2>/dev/null &
    WATCH=$!
    exec 8>&2 2>"$LOG.shell"      # bash tells of jobs that were killed
}

end_job() {
    wait "$JOB"
    RC=$?
    { kill "$WATCH"; wait "$WATCH"; }
    exec 2>&8 8>&-
    JOB=
    lib_now
    TAKEN_MS=$((NOW_MS - STARTED))
    MPIRUN_FAILED=
    ! mpirun_failed "$RC" "$LOG" || MPIRUN_FAILED=yes
    [ "$RC" -ne 124 ] && [ "$RC" -ne 137 ] || [ "$TAKEN_MS" -lt $((LIMIT * 1000)) ] ||
        complain "hung: ended by force after $LIMIT s"
    # a crash of ours stands, whatever mpirun did then
    if [ -z "$MPIRUN_FAILED" ] || grep -qE "\] \[ *[0-9]+\] .*(smartint[^/]*\.so|/${PROGRAMS##*/}/)" "$LOG"; then
        expect_no_crash
    fi
}

# Stock Open MPI 4.1 on PMIx 4 loses help messages on their way to mpirun and says ORTE_ERROR_LOG ... show_help.c: one rank's
# in one run of four, of two ranks' at once one in two runs of three. That is no verdict on us: once more.
# Sometimes its mpirun even fails of it (lib.sh).
MOST_TRIES=60      # of two tellers nine tries were needed once
RETRIES=0       # of the whole script
VERDICTS=0      # and how many jobs it had
RETRIED=0       # of the current job
# MESSAGES=no run_job ...: the test looks at data only, and a job that ended well will do without its messages.
lost_in_stock() {
    [ -n "$MPIRUN_FAILED" ] || { { [ -z "${MESSAGES:-}" ] || [ "$RC" -ne 0 ]; } &&
        grep -qE 'ORTE_ERROR_LOG.*show_help\.c|PMIx_server_finalize' "$LOG"; }
}

# EACH_TRY=COMMAND run_job ...: before each run of it. ENDED: what a run that does not count, as a message was lost, was
# ended by: for those that expect_ok.
ENDED=
run_job() {
    local try mpirun_failures=0
    RETRIED=0
    ENDED=
    for ((try = 1; try <= MOST_TRIES; try++)); do
        RETRIED=$((try - 1))
        ${EACH_TRY:-}
        begin_job "$@"
        end_job
        lost_in_stock || break
        ! grep -q '^FAILED' "$LOG" || complain "$(grep -m 1 '^FAILED' "$LOG")"
        [ "$RC" -eq 0 ] || ENDED=${ENDED:-$(grep -m 1 -E 'MPI_ABORT was invoked|MPI_ERR_|smartint has to end' "$LOG")}
        if [ -n "$MPIRUN_FAILED" ]; then
            tidy_after_mpirun "${WATCHED[@]}"
            mpirun_failures=$((mpirun_failures + 1))
            [ $mpirun_failures -lt $MPIRUN_TRIES ] || complain "mpirun itself failed $mpirun_failures times"
        else
            remove_vader_segments # what lost a message may have lost the order to tidy up too
        fi
        [ -z "$REASON" ] && [ "$try" -lt $MOST_TRIES ] || break
        check_after "${WATCHED[@]}" || { complain "left behind: $LEFT_BEHIND"; break; }
    done
}

one_job() { begin_job "$@"; end_job; }

# What COMMAND complained of stands, whatever mpirun did: a crash of ours, what it could not do.
again_if_mpirun_fails() {
    local try
    for ((try = 1; try <= MPIRUN_TRIES; try++)); do
        RETRIED=$((try - 1))
        "$@"
        { [ -n "$MPIRUN_FAILED" ] && [ -z "$REASON" ]; } || return 0
        tidy_after_mpirun "${WATCHED[@]}"
        if [ "$try" -eq $MPIRUN_TRIES ]; then
            complain "mpirun itself failed each of $try times"
        elif ! check_after "${WATCHED[@]}"; then
            complain "left behind: $LEFT_BEHIND"
            return 0
        fi
    done
}

# sometimes N: true each Nth time, from the first on; in the long form always. For what differs in little.
CALLED=0
sometimes() {
    CALLED=$((CALLED + 1))
    is_long || [ $((CALLED % $1)) -eq 1 ]
}

# ---- expectations ----------------------------------------------------------------------------------

# Two threads that meet an error at once both end the job, and Open MPI 4.1 crashes of it (in fclose below show_help, or in
# ompi_mpi_abort): between the signal and its handler of fatal errors there is nothing but Open MPI and the C library.
# Its trace may lack its end, as mpirun ends the process, and stand between another's: of each process apart.
crashed_in_stock_abort() {
    awk 'match($0, /^\[[^]]*:[0-9]+\] /) { who = substr($0, 1, RLENGTH) }
        /\*\*\* Process received signal/ { frames[who] = 0; state[who] = "open" }
        state[who] == "open" && /\] \[ *[0-9]+\] +\// {
            if (/ompi_mpi_errors_are_fatal/) state[who] = "stock"
            else if (!/\/(libmpi|libopen-rte|libopen-pal|libc)\.so/ || ++frames[who] > 12) state[who] = "other"
        }
        state[who] != "" && /PMIx_server_finalize/ { state[who] = "stock" } # mpirun
        END { for (who in state) { if (state[who] == "stock") seen = 1; else if (state[who] != "") bad = 1 }; exit !(seen && !bad) }' "$LOG"
}

# What looks like a crash is in $CRASH, and a complaint unless the test asked for one.
CRASH_ASKED_FOR=
expect_no_crash() {
    local line
    CRASH=
    line=$(grep -m 1 -E 'Signal: (Segmentation|Aborted|Bus|Floating)|terminate called|\*\*\* (stack|buffer) ' "$LOG")
    if [ -n "$line" ] && ! crashed_in_stock_abort; then
        CRASH=$line
        [ -n "$CRASH_ASKED_FOR" ] || complain "crash: $line"
    fi
}

# The program ran to its end and checked its data; and where mpirun failed then, no rank did.
expect_ok() {
    local line
    if [ "$RC" -ne 0 ] && { [ -z "$MPIRUN_FAILED" ] || grep -qE 'on signal|[Ee]xit code|non-zero|^FAILED|MPI_ABORT' "$LOG"; }; then
        line=$(grep -m 1 -E '^FAILED|MPI_ERR' "$LOG")
        complain "exit code $RC${line:+, $line}"
    elif ! grep -qx ok "$LOG"; then
        complain "the program did not print ok"
    elif [ -n "$ENDED" ]; then
        complain "run again, as stock lost a message, it ended well, but not before: $ENDED"
    fi
}

expect_end() {      # it failed, and by itself: end_job complains of what had to be ended
    [ "$RC" -ne 0 ] || complain "exit code 0, expected an error"
}

# right_or_explained REGEX: right data with at most a message of ours for helper and thread, or an end with one, or with a
# line of others that fits. That another process was lost is one, of each that was.
right_or_explained() {
    local ours
    ours=$(messages | awk 'tolower($0) ~ /smartint/ && !(/lost the connection/ && lost++) { n++ } END { print n + 0 }')
    ! grep -q '^FAILED' "$LOG" || complain "$(grep -m 1 '^FAILED' "$LOG")"
    [ "$ours" -le 2 ] || complain "$ours messages of smartint's: $(messages | tr '\n' ';')"
    if [ "$RC" -eq 0 ] || { [ -n "$MPIRUN_FAILED" ] && grep -qx ok "$LOG"; }; then
        ENDED='' expect_ok
    elif [ "$ours" -eq 0 ]; then
        grep -qE -- "$1" "$LOG" || complain "exit code $RC, and nobody says why"
    fi
}

expect_crash() {      # expect_crash SIGNAL-NAME: what the test asked for, and no other
    case $CRASH in *"Signal: $1"*) ;; *) complain "no sign of the signal: ${CRASH:-no crash}" ;; esac
}

# messages: titles of the help messages shown, one a line
messages() { awk '/^--------------------+$/ { if (begun) { begun = 0 } else { begun = 1; getline; print } }' "$LOG"; }

# expect_message TITLE TEXT...: one message of that title, not more, with all of the texts in the log
expect_message() {
    local count text
    count=$(grep -cF -- "$1" "$LOG")
    [ "$count" -eq 1 ] || complain "the message '$1' came $count times"
    shift
    for text in "$@"; do
        grep -qE -- "$text" "$LOG" || complain "no '$text' in the message"
    done
}

expect_silence() {      # nothing but what the program prints
    local log=$LOG
    if [ -n "$MPIRUN_FAILED" ]; then # whose trace is no news
        log=$WORK/without-a-trace
        grep -vE '^\[[^]]*:[0-9]+\] ' "$LOG" >"$log"
    fi
    check_output "$log" || complain "unexpected output: $UNEXPECTED"
}

verdict() {
    local seconds
    if [ -n "${MPIRUN_FAILED:-}" ]; then
        lib_say "   stock Open MPI's mpirun failed at the end of $NAME"
        tidy_after_mpirun "${WATCHED[@]}"
    fi
    # what lost a message may have lost the order to tidy up too
    [ "${RC:-0}" -eq 0 ] || ! grep -q 'ORTE_ERROR_LOG.*show_help' "$LOG" || remove_vader_segments
    check_after "${WATCHED[@]}" || complain "left behind: $LEFT_BEHIND"
    REASON=${REASON:-${LATE:-}}
    if [ -n "$REASON" ]; then
        fail "$NAME" "$REASON" "$LOG"
    else
        in_seconds seconds "$TAKEN_MS"
        pass "$NAME" "$seconds"
    fi
    if [ "$RETRIED" -gt 0 ]; then
        lib_say "   run $((RETRIED + 1)) times, as stock Open MPI lost a message or its mpirun failed"
        RETRIES=$((RETRIES + RETRIED))
    fi
    RETRIED=0
    ENDED=
    VERDICTS=$((VERDICTS + 1))
}

# Stock loses messages and fails in some of the jobs: scripts whose jobs have all one to tell run a half of them again. If that
# many more are, something else is the matter.
few_retries() {
    [ "$RETRIES" -gt 0 ] || return 0
    lib_say "$RETRIES jobs run again, as stock Open MPI lost a message of theirs or its mpirun failed"
    [ "$RETRIES" -le $((10 + VERDICTS)) ] ||
        fail "$LABEL/$(basename "$0" .sh)-run-again" "$RETRIES times, of $VERDICTS jobs"
}

fault_done() {
    few_retries
    summary
    exit
}

# ---- counters -------------------------------------------------------------------------------------

# Files of --mca smartint_stats_file $WORK/stats.%r
counter() { awk -v name="$2" '$1 == name { print $2 }' "$WORK/stats.$1" 2>/dev/null; }      # counter RANK NAME

# expect_counter RANK NAME OPERATOR VALUE: with awk's operators
expect_counter() {
    local value
    value=$(counter "$1" "$2")
    [ -n "$value" ] || { complain "rank $1 has no counter $2"; return; }
    awk "BEGIN { exit !($value $3 $4) }" || complain "rank $1: $2 is $value, expected $3 $4"
}

# ---- phases (phases.c): the job stops where a test wants to do something to it ---------------------

begin_phases() {      # begin_phases NAME LIMIT SECONDS LAUNCHER-ARGS...
    local name=$1 limit=$2 seconds=$3
    shift 3
    program phases
    STEPS=$WORK/steps.$RANDOM$RANDOM
    mkdir "$STEPS" || exit 2
    begin_job "$name" "$limit" "$@" "$PROGRAM" "$STEPS" "$seconds" "${PHASES_PAUSE:-3}"
}

reached() {      # reached STEP: wait for it; ends the job if it does not come
    if ! until_true "${REACH_SECONDS:-60}" reached_or_over "$1" || [ ! -e "$STEPS/$1" ]; then
        complain "the job did not come to '$1'"
    fi
}
reached_or_over() { [ -e "$STEPS/$1" ] || ! kill -0 "$JOB" 2>/dev/null; }
proceed() { : >"$STEPS/$1"; }

# rma_random's windows are made, abort's first messages were there: MPI_Init is over in all ranks.
has_begun() { grep -qx '# begun' "$LOG"; }

# The helper's last name comes with its second process: the first one is gone soon.
helper_pids() { pids smartintd; }
no_helper() { [ -z "$(helper_pids)" ]; }
# Up: it waits in epoll, and the first process, which opens none, waits no longer for it to have opened everything. That
# one alone, before it forks, is no helper yet, and the two of them are one that is still busy.
all_up() {      # all_up PIDS...
    local pid
    for pid in "$@"; do find "/proc/$pid/fd" -lname '*eventpoll*' 2>/dev/null | grep -q . || return 1; done
}
helpers_up() {      # helpers_up NUMBER: as many, not more
    local all
    all=$(helper_pids)
    # shellcheck disable=SC2086
    [ "$(wc -w <<<"$all")" -eq "$1" ] && all_up $all
}
helper_up() { helpers_up 1; }
