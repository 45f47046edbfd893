#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Run the MPI tests of the list beside this script.
#
#   run_mpi.sh [-t TAG] [-n LAUNCHER] [-o OUTDIR] [-l LABEL] [-x REGEX] [-s REGEX] [-e N:K] [-L FILE] [-b] -- MPIRUN-ARGS...
#
#   -t TAG       only entries with this tag (may be repeated: all of them are needed; !TAG: without it)
#   -n LAUNCHER  command that takes mpirun's place on several nodes (`nscluster mpirun -ppn 2`): only
#                entries tagged cluster are run. Programs and OUTDIR must be visible on all nodes.
#   -o OUTDIR    logs (default $SMARTINT_BUILD/logs)
#   -l LABEL     names the run in the results (default mpi)
#   -x REGEX     only names that match (PROGRAM.ARGS.npN)     -s REGEX  leave out names that match
#   -e N:K       of what is selected each Nth entry, from the Kth on (K from 1)
#   -L FILE      another list
#   -b           busy: every rank computes after each call that begins a message (busy.c, preloaded),
#                and its counters are collected: the interrupt threads must have matched messages, in
#                all together and in each program tagged matched
#
# Environment: SMARTINT_DEADLINE (in seconds since the epoch; what has not begun by then is skipped),
# SMARTINT_BUILD (programs, default ./build-mpi), SMARTINT_MPIRUN (replaces
# `mpirun.openmpi --allow-run-as-root --oversubscribe --bind-to none`), SMARTINT_MPICC,
# SMARTINT_TIME_SCALE (integer factor on the timeouts), and those of harness/lib.sh.
set -u

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../harness/lib.sh"

tags=()
launcher=
outdir=
label=mpi
only=.
without='^$'
each=1 from=1
list=$here/testlist
busy=no
while getopts t:n:o:l:x:s:e:L:b option; do
    case $option in
    t) tags+=("$OPTARG") ;;
    n) launcher=$OPTARG ;;
    o) outdir=$OPTARG ;;
    l) label=$OPTARG ;;
    x) only=$OPTARG ;;
    s) without=$OPTARG ;;
    e) each=${OPTARG%:*} from=${OPTARG#*:} ;;
    L) list=$OPTARG ;;
    b) busy=yes ;;
    *) sed -n '3,25s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
done
shift $((OPTIND - 1))

build=${SMARTINT_BUILD:-$PWD/build-mpi}
mkdir -p "$build" && build=$(cd "$build" && pwd) || exit 2
outdir=${outdir:-$build/logs}
mkdir -p "$outdir" && outdir=$(cd "$outdir" && pwd) || exit 2
if [ -n "$launcher" ]; then
    tags+=(cluster)
fi
launcher=${launcher:-${SMARTINT_MPIRUN:-mpirun.openmpi --allow-run-as-root --oversubscribe --bind-to none}}
mpicc=${SMARTINT_MPICC:-mpicc.openmpi}

compile() {   # compile PROGRAM [OUTPUT FLAGS...]: 0 when it is there and newer than its sources
    local src=$here/$1.c out=$build/${2:-$1} flags=("${@:3}") newest of
    newest=$src
    for of in "$here"/*.h; do [ "$newest" -nt "$of" ] || newest=$of; done
    [ "$out" -nt "$newest" ] && return 0
    (
        flock 9    # two runs may share the directory
        [ "$out" -nt "$newest" ] && exit 0
        $mpicc -std=c11 -O2 -g -Wall -Wextra -pthread -I"$here" ${flags[@]+"${flags[@]}"} -o "$out.$$" "$src" &&
            mv "$out.$$" "$out"
    ) 9>"$build/.lock" >"$outdir/$1.compile" 2>&1
}

name_of() {   # name_of PROGRAM NP ARGS: NAME_OF. For each line of the list, so no shell is started for it.
    local args=${3//[ ,]/_}
    [ "$args" != - ] || args=
    NAME_OF=$1${args:+.$args}.np$2
}

wanted() {   # wanted NAME TAGS
    local tag
    [[ $1 =~ $only ]] && ! [[ $1 =~ $without ]] || return 1
    for tag in ${tags[@]+"${tags[@]}"}; do
        case $tag in
        !*) [[ ",$2," != *",${tag#!},"* ]] || return 1 ;;
        *) [[ ",$2," == *",$tag,"* ]] || return 1 ;;
        esac
    done
}

matches() { cat "$1".* 2>/dev/null | awk '$1 == "thread_matches" { n += $2 } END { print n + 0 }'; }

memory_mb() { awk '/^MemAvailable/ {print int($2 / 1024)}' /proc/meminfo; }

run() {   # run PROGRAM NP ARGS TIMEOUT TAGS MPIRUN-ARGS...
    local program=$1 np=$2 args=$3 limit=$4 tags_here=$5 name log start seconds rc reason stats n watch try found
    shift 5
    [ "$args" = - ] && args=
    args=${args//,/ }
    name_of "$program" "$np" "$args"
    name=$label/$NAME_OF
    log=$outdir/${name//\//.}.log
    stats=$outdir/${name//\//.}.stats
    if ! compile "$program"; then
        fail "$name" "does not compile" "$outdir/$program.compile"
        return
    fi
    if [[ ",$tags_here," == *",big,"* ]] && [ "$(memory_mb)" -lt 12000 ]; then
        skip "$name" "needs 12 GB of free memory"
        return
    fi
    limit=$((limit * ${SMARTINT_TIME_SCALE:-1}))
    if [ $busy = yes ]; then
        rm -f "$stats".*
        set -- -x "LD_PRELOAD=$build/libbusy.so" --mca smartint_stats_file "$stats.%r" "$@"
    fi
    reason=
    for ((try = 1; ; try++)); do
        snapshot_before tmp || exit 2
        lib_now
        start=$NOW_MS
        # shellcheck disable=SC2086
        timeout -k 5 "$limit" $launcher -np "$np" "$@" "$build/$program" $args \
            </dev/null >"$log" 2>"$log.err" &
        job=$!
        watch=
        if [[ ",$tags_here," == *",dies,"* ]]; then
            watch_mpirun $job "$log" smartintd "$program" </dev/null 2>/dev/null &
            watch=$!
        fi
        { wait $job; } 2>/dev/null
        rc=$?
        job=
        [ -z "$watch" ] || { kill $watch; wait $watch; } 2>/dev/null
        lib_now
        in_seconds seconds $((NOW_MS - start))
        [ -n "$watch" ] && mpirun_failed $rc "$log" "$log.err" || break
        tidy_after_mpirun "$program"
        if [ $try -eq $MPIRUN_TRIES ]; then
            reason="mpirun itself failed each of $try times"
            break
        elif ! check_after "$program"; then
            reason="left behind: $LEFT_BEHIND"
            break
        fi
        echo "# $name once more, as stock Open MPI's mpirun failed"
    done
    if [ -n "$reason" ]; then
        :
    elif [ "${seconds%.*}" -ge "$limit" ] && [[ $rc = 124 || $rc = 137 ]]; then
        reason="timed out after $limit s"
    elif [[ ",$tags_here," == *",dies,"* ]]; then      # a rank kills itself: mpirun must say so
        [ $rc -ne 0 ] || reason="a rank was killed but mpirun returned 0"
        grep -qx '# begun' "$log" || reason="no rank says that it had begun"
        ! grep -q 'refused a direct copy' "$log.err" || reason="a rank's death is told as a copy that the kernel refused"
        found=$(grep -hm 1 -E '^FAILED|\] \[ *[0-9]+\] .*smartint[^/]*\.so' "$log" "$log.err" | head -n 1)
        [ -z "$found" ] || reason="not only a rank's death: $found"
    elif [ $rc -ne 0 ]; then
        reason=$(grep -h '^FAILED' "$log.err" "$log" | head -n 1)
        reason="exit code $rc${reason:+, $reason}"
    elif ! grep -qx ok "$log"; then
        reason="rank 0 did not print ok"
    elif ! check_output "$log" || ! check_output "$log.err"; then
        reason="unexpected output: $UNEXPECTED"
    fi
    if [ $busy = yes ]; then
        n=$(matches "$stats")
        all_matches=$((all_matches + n))
        echo "# $n thread_matches" >>"$log"
        if [ -z "$reason" ] && [[ ",$tags_here," == *",matched,"* ]] && [ "$n" -eq 0 ]; then
            reason="no message was matched by an interrupt thread"
        fi
    fi
    # stock's mpirun, that was to remove them, may have ended before
    [[ ",$tags_here," != *",dies,"* ]] || remove_vader_segments
    if ! check_after "$program"; then
        reason="${reason:+$reason; }left behind: $LEFT_BEHIND"
    fi
    [ ! -s "$log.err" ] || cat "$log.err" >>"$log"
    rm -f "$log.err"
    if [ -n "$reason" ]; then
        fail "$name" "$reason" "$log"
    else
        pass "$name" "$seconds"
    fi
}

job=      # timeout, which ends mpirun
trap '[ -z "$job" ] || { kill -TERM "$job" && wait "$job"; } 2>/dev/null; [ -z "${TEST_TMP:-}" ] || rm -rf -- "$TEST_TMP"' EXIT
trap 'exit 130' INT TERM

# The time that run-tests has for it is over: what is left is skipped.
too_late() { [ -n "${SMARTINT_DEADLINE:-}" ] && [ "$EPOCHSECONDS" -ge "$SMARTINT_DEADLINE" ]; }

selected=0
ran=0
left_out=0
all_matches=0
if [ $busy = yes ] && ! compile busy libbusy.so -shared -fPIC; then
    fail "$label/busy" "does not compile" "$outdir/busy.compile"
    summary
    exit
fi
while read -r program np args limit tags_here; do
    case $program in '' | \#*) continue ;; esac
    tags_here=${tags_here// /,}
    name_of "$program" "$np" "$args"
    wanted "$NAME_OF" "$tags_here" || continue
    selected=$((selected + 1))
    [ $((selected % each)) -eq $((from % each)) ] || continue
    ran=$((ran + 1))
    if too_late; then
        left_out=$((left_out + 1))
        continue
    fi
    run "$program" "$np" "$args" "$limit" "$tags_here" "$@"
done <"$list"
[ $left_out -eq 0 ] || skip "$label/$left_out-in-time" "the time is over"
if [ $ran -eq 0 ]; then
    fail "$label/none" "no entry of $list fits"
elif [ $busy = yes ] && [ $ran -eq $left_out ]; then
    :
elif [ $busy = yes ] && [ $all_matches -eq 0 ]; then
    fail "$label/thread-matches" "no message at all was matched by an interrupt thread"
elif [ $busy = yes ]; then
    pass "$label/thread-matches"
fi
summary
