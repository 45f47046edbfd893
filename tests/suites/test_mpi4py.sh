#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# mpi4py's own test suite, from the source package of the python3-mpi4py that is installed. For every
# rank the numbers of tests run, skipped and failed, and the names of those that failed, must be what
# they are over Open MPI's own pml here. MPI is initialized with MPI_THREAD_MULTIPLE: mpi4py's default.
#
# The source is fetched once, by apt from the mirrors this machine uses, and kept in $PROGRAMS.
# Environment: SMARTINT_MPI4PY_SOURCE   the unpacked source, instead
. "$(dirname "${BASH_SOURCE[0]}")/lib_suites.sh"

PYTHON=/usr/bin/python3

# The source package of what is installed: its version, without the number of a mere rebuild.
source_version() { dpkg-query -W -f '${Version}' python3-mpi4py 2>/dev/null | sed 's/+b[0-9]*$//'; }

get_source() {
    local version cache archive
    SOURCE=${SMARTINT_MPI4PY_SOURCE:-}
    [ -z "$SOURCE" ] || return 0
    version=$(source_version)
    cache=$PROGRAMS/mpi4py-$version
    SOURCE=$cache/source
    [ -e "$SOURCE/test/runtests.py" ] && return 0
    (fetch_source "mpi4py=$version" "$cache") >"$LOGS/mpi4py-source.log" 2>&1 || return 1
    archive=$(find "$cache" -name 'mpi4py_*.orig.tar.*' ! -name '*.asc' | head -n 1)
    mkdir -p "$SOURCE" && tar -xf "$archive" -C "$SOURCE" --strip-components 1 && [ -e "$SOURCE/test/runtests.py" ]
}

# summary_of RANK: `run skipped failures errors` and the names of what did not pass, from unittest's own words
summary_of() {
    cat "$OUT"/*/rank."$1"/std* 2>/dev/null | awk '
        /^Ran [0-9]+ tests? in / { run = $2 }
        /^(OK|FAILED)( \(|$)/ {
            verdict = $1
            for (i = 2; i <= NF; ++i)
                if (match($i, /[a-z]+=[0-9]+/)) {
                    split(substr($i, RSTART, RLENGTH), pair, "=")
                    number[pair[1]] = pair[2]
                }
        }
        /^(FAIL|ERROR): / { names = names " " $2 $3 }
        END {
            if (verdict != "")
                print run, "run,", number["skipped"] + 0, "skipped,", number["failures"] + number["errors"] + 0, \
                    "failed" names
        }'
}

# suite NAME BASE NP ARGS...: the way WAY; notes the result of every rank as $BASES/BASE if WAY is ob1's
suite() {
    local name=$1 base=$2 np=$3 limit=900 rank digits line summary=$WORK/summary
    shift 3
    [ "$base" != processes ] || limit=240
    if [ "$WAY" != "--mca pml ob1" ] && [ ! -s "$BASES/$base" ]; then
        skip "$LABEL/$name" "there is nothing to compare it with"
        return
    fi
    OUT=$WORK/out
    rm -rf "$OUT" "$summary"
    WATCHED=(python3)
    digits=$(printf '%d' $((np - 1)))
    # shellcheck disable=SC2086
    (cd "$SOURCE" && true) && run_job "$name" $limit --output-filename "$OUT" -wdir "$SOURCE" -np "$np" $WAY \
        -x PYTHONDONTWRITEBYTECODE=1 $PYTHON test/runtests.py -v --no-builddir "$@"
    for ((rank = 0; rank < np; rank++)); do
        line=$(summary_of "$(printf "%0${#digits}d" "$rank")")
        echo "rank $rank: ${line:-did not come to the end}" >>"$summary"
        [ -n "$line" ] || complain "rank $rank did not come to the end"
    done
    if [ "$WAY" = "--mca pml ob1" ] && [ -n "$REASON" ]; then
        skip "$LABEL/$name" "$REASON over Open MPI's own pml"
        tidy_after_mpirun "${WATCHED[@]}"
        check_after "${WATCHED[@]}" || lib_say "   Open MPI's own left behind: $LEFT_BEHIND"
        return
    elif [ "$WAY" = "--mca pml ob1" ]; then
        cp "$summary" "$BASES/$base"
    elif ! cmp -s "$summary" "$BASES/$base"; then
        line=$(diff "$summary" "$BASES/$base" | grep '^[<>]' | cut -c 1-200 | tr '\n' ' ')
        complain "not as over Open MPI's own pml: $line"
    fi
    [ "$RC" -eq 0 ] || grep -qE '[1-9][0-9]* failed' "$summary" || complain "exit code $RC"
    lib_say "   $(sort "$summary" | sed -n '1p' | cut -c 1-120)"
    cp "$summary" "$LOGS/${name}.summary"
    verdict
}

if ! $PYTHON -c 'import mpi4py' 2>/dev/null; then
    skip suites/mpi4py "there is no python3-mpi4py"
    fault_done
fi
if ! get_source; then
    skip suites/mpi4py "the mirrors of this machine do not give the source of mpi4py $(source_version)"
    fault_done
fi

# Files are no matter of a pml. Spawned jobs are apart.
without=(-e spawn -e dynproc -e test_io)
ways=helper
numbers="2 4"
if [ "$LONG" = yes ]; then
    ways=$WAYS
    numbers="1 2 3 4"
fi
for np in $numbers; do
    for w in ob1 $ways; do
        way "$w"
        suite "mpi4py-$w-np$np" "$np" "$np" "${without[@]}"
    done
done
for w in ob1 helper both $([ "$LONG" = no ] || echo network); do
    way "$w"
    suite "mpi4py-processes-$w-np2" processes 2 -i spawn -i dynproc
done
fault_done
