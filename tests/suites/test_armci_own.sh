#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# ARMCI-MPI's own tests: ARMCI over MPI's windows (AR-3), its library built here with them. Each ends with an error where
# its data is wrong. One that fails is run over Open MPI's own components as well: what fails there too is skipped, and
# named. With `-l` the slow ones and the benchmarks too, in several ways of running smartint.
#
# The source is fetched once, by apt from the mirrors this machine uses, and kept in $PROGRAMS.
# Environment: SMARTINT_ARMCI_SOURCE   the unpacked source, instead
. "$(dirname "${BASH_SOURCE[0]}")/lib_suites.sh"

LIMIT_EACH=300
RAN=0
# The first is to be ended by its last call, the next wants arguments, the third has MPI_Iprobe write an int over a byte; the last
# computes for a time that follows from what it measured, minutes where cores are shared.
WITHOUT=" tests/test_assert tests/contrib/cg/cg tests/mpi/ping-pong-mpi tests/contrib/non-blocking/overlap "
# Half a minute and more, for what others test too
SLOW=" tests/contrib/armci-test tests/contrib/armci-perf tests/contrib/lu/lu tests/mpi/test_mpi_dim "

get_source() {
    local cache=$PROGRAMS/armci-mpi archive release
    SOURCE=${SMARTINT_ARMCI_SOURCE:-$cache/source}
    [ -e "$SOURCE/configure.ac" ] && return 0
    [ -z "${SMARTINT_ARMCI_SOURCE:-}" ] || return 1
    for release in "" trixie trixie sid; do
        (fetch_source armci-mpi "$cache" $release) >>"$LOGS/armci-source.log" 2>&1 && break
    done
    archive=$(find "$cache" -name 'armci-mpi_*.orig.tar.*' ! -name '*.asc' | head -n 1)
    [ -n "$archive" ] && mkdir -p "$SOURCE" && tar -xf "$archive" -C "$SOURCE" --strip-components 1 &&
        [ -e "$SOURCE/configure.ac" ]
}

make_programs() {
    cd "$SOURCE" || return 1
    [ -e .made ] && return 0
    { [ -x configure ] || ./autogen.sh; } &&
        ./configure --disable-shared CC="${SMARTINT_MPICC:-mpicc.openmpi}" MPICC="${SMARTINT_MPICC:-mpicc.openmpi}" \
            CFLAGS='-O1 -w' &&
        make -j2 && make -k -j2 checkprogs && touch .made
}

right() { [ "$RC" -eq 0 ] && ! grep -q FAIL "$LOG"; }

# one PROGRAM RANKS
one() {
    local program=$1 np=$2 name
    case $WITHOUT in *" $program "*) return ;; esac
    [ "$LONG" = yes ] || case $SLOW in *" $program "*) return ;; esac
    name=${program#tests/}
    name=armci-${name//\//-}-np$np-$w
    WATCHED=("$(basename "$program" | cut -c 1-15)")
    RAN=$((RAN + 1))
    # shellcheck disable=SC2086
    run_job "$name" $LIMIT_EACH -wdir "$WORK" -np "$np" $WAY --mca osc smartint $MORE "$SOURCE/$program"
    if ! right; then
        beside_stock "$name" $LIMIT_EACH right -wdir "$WORK" -np "$np" --mca pml ob1 "$SOURCE/$program" || return
    fi
    verdict
}

if ! get_source; then
    skip suites/armci-own "the mirrors of this machine do not give the source of armci-mpi"
    fault_done
fi
if ! (make_programs) >"$LOGS/armci-make.log" 2>&1; then
    fail suites/armci-own "its library or tests cannot be built" "$LOGS/armci-make.log"
    fault_done
fi
if [ "$LONG" = yes ]; then
    ways="helper none armed asked network"
    numbers="2 4"
    from="tests benchmarks"
else
    ways=helper
    numbers=4
    from=tests
fi
for w in $ways; do
    MORE=
    if [ "$w" = asked ]; then
        way helper
        MORE="--mca smartint_window_shared 0"
    else
        way "$w"
    fi
    for np in $numbers; do
        while read -r program <&9; do
            one "$program" "$np"
        done 9< <(cd "$SOURCE" && find $from -type f -perm -u+x ! -name '*.*' ! -path '*/.libs/*' | sort)
    done
done
# Where next to nothing works over stock components there is nothing to compare with.
if [ "$RAN" -gt 20 ] && [ $((4 * SKIPPED)) -le "$RAN" ]; then
    pass suites/armci-own-compared
else
    fail suites/armci-own-compared "$RAN programs ran, $SKIPPED of them fail over Open MPI's own components too"
fi
fault_done
