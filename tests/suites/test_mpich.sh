#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# Programs of MPICH's own test suite, built for Open MPI: one-sided, and with `-l` messages, collectives,
# communicators and threads too, in several ways of running smartint. Each says "No Errors" where all is right.
# One that fails is run over Open MPI's own components as well: what fails there too is skipped, and named.
# Without `-l` one in eight of the one-sided programs is run.
#
# The source is fetched once, by apt from the mirrors this machine uses, and kept in $PROGRAMS.
# Environment: SMARTINT_MPICH_SOURCE   the unpacked source, instead
. "$(dirname "${BASH_SOURCE[0]}")/lib_suites.sh"

BUILD=$PROGRAMS/mpich-tests
LIMIT_EACH=300     # seconds; most take less than one
EVERY=8
RAN=0
LACKING=           # programs that were not built
# Minutes of accumulating, whatever the component
TOO_LONG=" rma/large_acc_flush_local "

if [ "$LONG" = yes ]; then
    EVERY=1
    directories="rma pt2pt coll comm threads/pt2pt threads/rma threads/coll threads/comm"
    made="rma pt2pt coll comm threads"
    ways="helper none network armed"
else
    directories=rma
    made=rma
    ways=helper
fi

get_source() {
    local cache=$PROGRAMS/mpich archive
    SOURCE=${SMARTINT_MPICH_SOURCE:-$cache/source}
    [ -e "$SOURCE/test/mpi/configure" ] && return 0
    [ -z "${SMARTINT_MPICH_SOURCE:-}" ] || return 1
    (fetch_source mpich "$cache") >"$LOGS/mpich-source.log" 2>&1 || return 1
    archive=$(find "$cache" -name 'mpich_*.orig.tar.*' ! -name '*.asc' | head -n 1)
    mkdir -p "$SOURCE" && tar -xf "$archive" -C "$SOURCE" --strip-components 1 --wildcards '*/test/mpi' &&
        [ -e "$SOURCE/test/mpi/configure" ]
}

# The names of MPI-1 that MPI-3 took away are used in places, and Open MPI's mpi.h refuses them.
make_programs() {
    local include flags d
    mkdir -p "$BUILD" && cd "$BUILD" || return 1
    include=$(mpicc.openmpi --showme:incdirs | tr ' ' '\n' | grep -v '/openmpi/openmpi' | head -n 1)
    cat >old_names.h <<'EOF'
#include <mpi.h>
#undef MPI_Type_hvector
#undef MPI_Type_hindexed
#define MPI_Type_hvector MPI_Type_create_hvector
#define MPI_Type_hindexed MPI_Type_create_hindexed
EOF
    flags="-O1 -w -I$include -include $BUILD/old_names.h"
    [ -e config.status ] || "$SOURCE/test/mpi/configure" CC=gcc MPICC="${SMARTINT_MPICC:-mpicc.openmpi}" --disable-cxx \
        --disable-fortran --enable-strictmpi --enable-threads=multiple --disable-dependency-tracking || return 1
    make -C dtpools CFLAGS="$flags" && make -C util CFLAGS="$flags" || return 1
    for d in $made; do # those of a newer MPI do not compile
        # shellcheck disable=SC2046
        make -k -j2 -C "$d" CFLAGS="$flags" $([ "$LONG" = yes ] || chosen "$d" | awk '{ print $1 }' | sort -u)
    done
    return 0
}

# chosen DIRECTORY: of its list of tests those lines that are run
chosen() {
    local line n=0
    while read -r -a line <&9; do
        case ${line[0]-} in '' | '#'* | '!'*) continue ;; esac
        [[ ${line[1]-} =~ ^[0-9]+$ ]] || continue
        [ $((n++ % EVERY)) -ne 0 ] || echo "${line[*]}"
    done 9<"$BUILD/$1/testlist"
}

says_no_errors() { [ "$RC" -eq 0 ] && grep -qiE '^ *no errors' "$LOG"; }

# one DIRECTORY PROGRAM RANKS WORDS...: a line of a list of tests
one() {
    local directory=$1 program=$2 np=$3 name word environment="" arguments=()
    shift 3
    name=$directory/$program
    if [ ! -x "$BUILD/$name" ]; then
        LACKING="$LACKING $name"
        return
    fi
    case $TOO_LONG in *" $name "*) return ;; esac
    for word in "$@"; do
        case $word in
        arg=*) arguments+=("${word#arg=}") ;;
        env=*) environment="$environment -x ${word#env=}" ;;
        esac
    done
    name=mpich-${name//\//-}${arguments[*]:+-${arguments[*]//[^a-zA-Z0-9]/_}}-np$np
    name=${name// /}-$w
    WATCHED=("${program:0:15}")
    RAN=$((RAN + 1))
    # shellcheck disable=SC2086
    run_job "$name" $LIMIT_EACH -wdir "$BUILD/$directory" -np "$np" $WAY --mca osc smartint $environment \
        "./$program" "${arguments[@]}"
    if ! says_no_errors; then
        # shellcheck disable=SC2086
        beside_stock "$name" $LIMIT_EACH says_no_errors -wdir "$BUILD/$directory" -np "$np" --mca pml ob1 $environment \
            "./$program" "${arguments[@]}" || return
    fi
    verdict
}

run_list() {
    local line
    while read -r -a line <&9; do
        one "$1" "${line[@]}"
    done 9< <(chosen "$1")
}

if ! get_source; then
    skip suites/mpich "the mirrors of this machine do not give the source of mpich"
    fault_done
fi
if ! (make_programs) >"$LOGS/mpich-make.log" 2>&1; then
    fail suites/mpich "its tests cannot be built" "$LOGS/mpich-make.log"
    fault_done
fi
for w in $ways; do
    way "$w"
    for d in $directories; do
        run_list "$d"
    done
done
# Where next to nothing works over stock components, or is built, there is nothing to compare with.
lacking=$(wc -w <<<"$LACKING")
[ -z "$LACKING" ] || lib_say "not built:$LACKING"
if [ "$RAN" -gt 0 ] && [ $((4 * (SKIPPED + lacking))) -le "$RAN" ]; then
    pass suites/mpich-compared
else
    fail suites/mpich-compared "$SKIPPED of $RAN programs fail over Open MPI's own components too, $lacking were not built"
fi
fault_done
