#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# Components that find themselves in an Open MPI of another branch stay out: a job that does not
# name them runs, one that does ends with an error, each with one message that has both versions.
# The other branch is this Open MPI with another version string in front of its own. Needs no
# installation: the built components are put where Open MPI looks in a HOME of the test's own.
#
# WRAPPER_CC, MPIRUN, INFO: Open MPI's programs. (Not OMPI_MPICC: by that name mpicc takes its compiler.)

test -n "${BASH_VERSION:-}" || exec bash "$0" # what watches mpirun is written for it
. "$top_srcdir/tests/harness/lib.sh"

for tool in "$WRAPPER_CC" "$MPIRUN" "$INFO"; do
    if ! test -x "$tool"; then
        echo "SKIP: no ${tool:-wrapper compiler, mpirun or ompi_info}"
        exit 77
    fi
done
if test -z "$COMPONENTS" || test -z "$ENGINE_LIBRARY"; then
    echo "SKIP: no component is built"
    exit 77
fi
if test -n "${SANITIZED# }"; then
    echo "SKIP: a sanitizer's library wants to be loaded first"
    exit 77
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/smb.XXXXXX") || exit 1
job=
trap '[ -z "$job" ] || kill "$job"; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
failed=0

report()
{
    # report WHAT STATUS: prints the log if it fails
    if test "$2" -eq 0; then
        echo "PASS: $1"
    else
        echo "FAIL: $1:"
        sed 's/^/      /' "$work/log" | head -n 60
        failed=1
    fi
}

components=$work/.openmpi/components
mkdir -p "$components" "$work/tmp" || exit 1
# shellcheck disable=SC2086
cp -L $COMPONENTS $ENGINE_LIBRARY* "$top_srcdir"/opal/mca/common/smartint/help-*.txt \
    "$top_srcdir"/ompi/mca/pml/smartint/help-*.txt "$components" || exit 1
HOME=$work
TMPDIR=$work/tmp
LD_LIBRARY_PATH=$components:$LD_LIBRARY_PATH
export HOME TMPDIR LD_LIBRARY_PATH

cat >"$work/one.c" <<'EOF'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int rank, value;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    value = 0 == rank ? 42 : 0;
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (0 == rank && 42 == value) {
        puts("job ran");
    }
    MPI_Finalize();
    return 42 != value;
}
EOF
"$WRAPPER_CC" -o "$work/one" "$work/one.c" || exit 1
for version in 5.0.1 4.10.0 4.1.99; do
    echo "const char opal_version_string[] = \"$version\";" >"$work/$version.c"
    "$WRAPPER_CC" -shared -fPIC -o "$work/$version.so" "$work/$version.c" || exit 1
done

# ---- what ompi_info lists

lists()
{
    # lists VERSION: 0 if the components are there; empty: Open MPI's own version
    LD_PRELOAD=${1:+$work/$1.so} "$INFO" --parsable >"$work/log" 2>&1 || return 2
    grep -q '^mca:[a-z]*:smartint:' "$work/log"
}

lists ''
report "without another version the components are listed" $?
lists 4.1.99
report "another release of the branch takes them" $?
for version in 5.0.1 4.10.0; do
    lists $version
    test $? -eq 1
    report "Open MPI $version does not list them, and ompi_info ends well" $?
done

# ---- jobs

# Stock Open MPI loses a help message now and then, and says so, or its mpirun fails: then once more.
run()
{
    root=
    test "$(id -u)" -ne 0 || root=--allow-run-as-root
    failures=0
    for try in $(seq 40); do
        snapshot_before
        # shellcheck disable=SC2086
        timeout -k 5 60 "$MPIRUN" $root --oversubscribe --bind-to none -n 2 \
            -x "LD_PRELOAD=$work/5.0.1.so" "$@" "$work/one" >"$work/log" 2>&1 &
        job=$!
        watch_mpirun $job "$work/log" one 2>/dev/null &
        watch=$!
        wait $job
        status=$?
        job=
        { kill $watch; wait $watch; } 2>/dev/null
        if mpirun_failed $status "$work/log"; then
            tidy_after_mpirun one
            failures=$((failures + 1))
            test $failures -lt $MPIRUN_TRIES || break
            echo "# attempt $try: mpirun itself failed"
        elif grep -q 'ORTE_ERROR_LOG.*show_help\.c' "$work/log"; then
            echo "# attempt $try: Open MPI lost a message"
        else
            break
        fi
    done
    return $status
}

# One message with both versions, and nobody died of a signal.
told_once()
{
    test "$(grep -c 'smartint was built for another Open MPI' "$work/log")" -eq 1 &&
        grep -q 'Open MPI running: *5\.0\.1$' "$work/log" &&
        grep -q 'smartint built for: *4\.1$' "$work/log" &&
        ! grep -q -i 'signal\|segmentation\|Sorry!' "$work/log"
}

run
test $? -eq 0 && grep -q '^job ran$' "$work/log"
report "a job that does not name smartint runs" $?
! grep -q smartint "$work/log"
report "a job that does not name smartint is told nothing" $?
run --mca pml smartint
status=$?
test $status -ne 0 && test $status -ne 124 && test $status -lt 128 && ! grep -q '^job ran$' "$work/log"
report "a job that names it ends with an error" $?
told_once
report "a job that names it is told once" $?
exit $failed
