# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
# shellcheck shell=bash disable=SC2034
# Sourced by tests/suites/test_*.sh: programs that others wrote, or that use libraries others wrote, as
# clients. What they say must be what they say over Open MPI's own pml, whatever way the messages go.
#
#   fetch_source PACKAGE DIRECTORY [RELEASE]   the sources of a Debian package, of another release of Debian
#   way NAME                         sets WAY to mpirun's arguments for one way to run smartint
#   client NAME LIBRARIES...         compile NAME.c beside the script; sets CLIENT; false: its library is missing
#   client_job NAME LIMIT NP PROGRAM ARGS...   run it the way WAY; its counters in $WORK/stats.RANK
#   keep_base NAME, expect_base NAME note the `# ` lines of the last job; they must be the same in this one
#   beside_stock NAME LIMIT RIGHT ARGS...   a job that was not right once more, over Open MPI's own components
#   expect_carried RANKS             smartint carried the messages of the job's ranks
#   expect_thread_matches RANKS      interrupt threads matched messages in it
# Environment: SMARTINT_LONG=yes     the whole matrix

. "$(dirname "${BASH_SOURCE[0]}")/../fault/lib_cluster.sh"

LONG=${SMARTINT_LONG:-no}
SUITE_LIMIT=600      # seconds, for jobs that take one to ten
BASES=$WORK/bases
mkdir -p "$BASES" || exit 2

# All ways inside a node, or of each kind one.
WAYS="helper none poll interrupt armed network both shared read write copy eager-none eager-most
    network-eager-none network-eager-most btl"
[ "$LONG" = yes ] || WAYS="helper none network write eager-none btl"

way() {
    local network="--mca smartint_shared_memory 0 --mca smartint_network always"
    case $1 in
    ob1) WAY="--mca pml ob1" ;;
    helper) WAY= ;;
    none | poll) WAY="--mca smartint_progress $1" ;;
    interrupt) WAY="$network --mca smartint_progress interrupt" ;; # it listens to the network alone
    armed) WAY="--mca smartint_arm_from 0" ;;
    network) WAY=$network ;;
    both) WAY="--mca smartint_network always" ;;
    shared) WAY="--mca smartint_transport none" ;;
    read | write | copy) WAY="--mca smartint_rendezvous $1" ;;
    eager-none) WAY="--mca smartint_eager_limit 0 --mca smartint_network_eager_limit 0" ;;
    eager-most) WAY="--mca smartint_eager_limit 16777216 --mca smartint_ring_bytes 67108864
        --mca smartint_network_eager_limit 1048576" ;;
    network-eager-none) WAY="$network --mca smartint_network_eager_limit 0" ;;
    network-eager-most) WAY="$network --mca smartint_network_eager_limit 1048576" ;;
    btl) WAY="--mca pml ob1 --mca btl smartint,self" ;;
    *) echo "no way $1" >&2; exit 2 ;;
    esac
    case $1 in ob1 | btl) ;; *) WAY="--mca pml smartint $WAY" ;; esac
}

# The source of a package (`NAME` or `NAME=VERSION`) into a directory, by apt with a list of its own: nothing of the
# machine's is touched. The mirrors need not have what belongs to the packages of this release any more.
fetch_source() {
    local options lists=$WORK/apt-lists list=$WORK/sources.list
    mkdir -p "$lists/partial" "$2" || return 1
    apt-get indextargets --format 'deb-src $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 2>/dev/null |
        grep -E '/debian/? [a-z]+ ' | sort -u >"$list"
    [ -z "${3:-}" ] || { sed -i -E "s|^(deb-src [^ ]+) [^ ]+ |\\1 $3 |" "$list" && sort -u -o "$list" "$list"; }
    [ -s "$list" ] || return 1
    options=(-q -o "Dir::Etc::sourcelist=$list" -o Dir::Etc::sourceparts=/dev/null
        -o "Dir::State::lists=$lists" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o APT::Sandbox::User=)
    apt-get "${options[@]}" update && cd "$2" && apt-get "${options[@]}" source --download-only --tar-only "$1"
}

client() {
    local src=$SCRIPT_DIR/$1.c out=$PROGRAMS/$1
    CLIENT=$out
    if [ "$out" -nt "$src" ] && [ "$out" -nt "$SCRIPT_DIR/../mpi/check.h" ]; then
        return 0
    fi
    ${SMARTINT_MPICC:-mpicc.openmpi} -std=c11 -O2 -g -Wall -Wextra -pthread -I/usr/include/hypre -o "$out.$$" "$src" \
        "${@:2}" -lm >"$LOGS/$1.compile" 2>&1 && mv "$out.$$" "$out"
}

client_job() {
    local name=$1 limit=$2 np=$3
    shift 3
    rm -f "$WORK"/stats.*
    WATCHED=("${1##*/}")
    # shellcheck disable=SC2086
    run_job "$name" "$limit" -np "$np" $WAY --mca smartint_stats_file "$WORK/stats.%r" "$@"
}

keep_base() { grep -a '^# ' "$LOG" >"$BASES/$1"; }

expect_base() {
    local difference
    if [ ! -s "$BASES/$1" ]; then
        complain "there is nothing of Open MPI's own pml to compare with"
        return
    fi
    difference=$(diff <(grep -a '^# ' "$LOG") "$BASES/$1" | grep '^[<>]' | head -n 2 | tr '\n' ' ')
    [ -z "$difference" ] || complain "not what Open MPI's own pml gives: $difference"
}

# The last job was not right: RIGHT is the command that says so. False: over Open MPI's own components neither, so that it
# is skipped, and counted in SKIPPED; else what is found is said of the first one. What the first one left of ours is a
# failure in any case; what the other one left is nobody's here.
SKIPPED=0
beside_stock() {
    local name=$1 limit=$2 right=$3 reason log=$LOG
    shift 3
    complain "exit code $RC, or not a word of success"
    reason=$REASON
    remove_vader_segments
    check_after "${WATCHED[@]}"
    case $reason in "left behind: "*) LEFT_BEHIND=${reason#left behind: } ;; esac
    case $LEFT_BEHIND in process* | *\;process* | *smartint*) fail "$LABEL/$name-leaves" "left behind: $LEFT_BEHIND" "$log" ;; esac
    run_job "$name-stock" "$limit" "$@"
    if ! $right; then
        SKIPPED=$((SKIPPED + 1))
        skip "$LABEL/$name" "it fails over Open MPI's own components too"
        tidy_after_mpirun "${WATCHED[@]}"
        check_after "${WATCHED[@]}" || lib_say "   Open MPI's own left behind: $LEFT_BEHIND"
        return 1
    fi
    NAME=$LABEL/$name REASON=$reason LOG=$log
}

expect_carried() {
    local rank
    for ((rank = 0; rank < $1; rank++)); do
        expect_counter "$rank" eager_sent + "$(counter "$rank" rts_sent) > 0"
    done
}

expect_thread_matches() {
    local n
    n=$(cat "$WORK"/stats.* 2>/dev/null | awk '$1 == "thread_matches" { n += $2 } END { print n + 0 }')
    [ "$n" -gt 0 ] || complain "no message was matched by an interrupt thread"
    lib_say "   $n thread_matches"
}
