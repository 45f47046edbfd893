#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# The harness of the MPI tests finds what a job leaves behind, and lines that nobody knows: a job that only says that it is
# right passes, and one that does more does not. mpirun is a script here. And what does not compile, or has no time left, does
# not pass either.

work=$(mktemp -d "${TMPDIR:-/tmp}/smh.XXXXXX") || exit 1
trap 'rm -rf "$work" "/dev/shm/smartint-left-$$"' EXIT
trap 'exit 130' INT TERM HUP
failed=0
unset SMARTINT_DEADLINE # it is a matter of this run

mkdir "$work/build" && touch "$work/build/sizes" "$work/build/abort" && cp "$(command -v sleep)" "$work/smartintd" &&
    cp "$(command -v sleep)" "$work/sizes" || exit 1
cat >"$work/mpirun" <<EOF
#!/bin/sh
case \$LEAVES in
shared-memory) : >/dev/shm/smartint-left-$$ ;;
helper) setsid "$work/smartintd" 60 >/dev/null 2>&1 & ;;
rank) setsid "$work/sizes" 60 >/dev/null 2>&1 & ;;
session-files) mkdir -p "\$TMPDIR/ompi.x/y" && : >"\$TMPDIR/ompi.x/y/z" ;;
line) echo "a line that nobody knows" ;;
line-of-errors) echo "a line that nobody knows" >&2 ;;
death*) echo "# begun" ;;
esac
case \$LEAVES in
death-with-wrong-data) echo "FAILED rank 1 abort.c:1: byte 7 is 00" ;;
death-with-crash) echo "[n:12] [ 3] /x/mca_pml_smartint.so(+0x1)[0x2]" ;;
esac
case \$LEAVES in death*) exit 1 ;; esac
test "\$LEAVES" = no-word || echo ok
EOF
chmod +x "$work/mpirun"

# [program=NAME] expect RESULT REASON LEAVES
program='sizes[.]np2'
expect()
{
    LEAVES=$3 SMARTINT_BUILD=$work/build SMARTINT_MPIRUN=$work/mpirun SMARTINT_RESULTS=$work/results SMARTINT_SETTLE=1 \
        SMARTINT_TEST_ID=$$.$3 bash "$top_srcdir/tests/mpi/run_mpi.sh" -o "$work/logs" -x "^$program\$" -- none \
        >"$work/said" 2>&1
    if grep -qx "$1 mpi/[a-z0-9._-]*" "$work/results" && test "$(wc -l <"$work/results")" -eq 1 && grep -q "^$2" "$work/said"; then
        echo "PASS: a job that leaves $3: $1"
    else
        echo "FAIL: a job that leaves $3:"
        sed 's/^/      /' "$work/said"
        failed=1
    fi
    rm -f "$work/results" "/dev/shm/smartint-left-$$"
}
expect PASS 'ok mpi/sizes' nothing
expect FAIL 'FAIL mpi/sizes.np2: left behind: shared memory /dev/shm/smartint-left-' shared-memory
expect FAIL 'FAIL mpi/sizes.np2: left behind: process [0-9]* smartintd' helper
expect FAIL 'FAIL mpi/sizes.np2: left behind: process [0-9]* sizes' rank
expect FAIL 'FAIL mpi/sizes.np2: left behind: session files ' session-files
expect FAIL 'FAIL mpi/sizes.np2: unexpected output: a line that nobody knows' line
expect FAIL 'FAIL mpi/sizes.np2: unexpected output: a line that nobody knows' line-of-errors
expect FAIL 'FAIL mpi/sizes.np2: rank 0 did not print ok' no-word
SMARTINT_DEADLINE=1000
export SMARTINT_DEADLINE
expect SKIP 'skip mpi/1-in-time' time-over
unset SMARTINT_DEADLINE
program='abort[.]200_kill[.]np2'
expect PASS 'ok mpi/abort' death
expect FAIL 'FAIL mpi/abort.*: not only a rank.s death: FAILED rank 1' death-with-wrong-data
expect FAIL 'FAIL mpi/abort.*: not only a rank.s death: .*mca_pml_smartint.so' death-with-crash

# What run-tests makes of make check: of what does not compile there is no result.
cat >"$work/check" <<EOF
top=$top_srcdir long=no jobs=1 SMARTINT_LOGS=$work SMARTINT_RESULTS=$work/results unrecorded=
say() { :; }
record() { echo "\$1 \$2" >>"\$SMARTINT_RESULTS"; }
count() { grep -c "^\$1 " "\$SMARTINT_RESULTS" || :; }
lines() { wc -l <"\$SMARTINT_RESULTS"; }
interruptible() { "\$@"; }
make() { case "\$*" in *"\$FAILS"*) return 1 ;; esac; }
. "$top_srcdir/contrib/run-tests-check"
: >"\$SMARTINT_RESULTS"
run_check "" "$work/tree"
EOF
mkdir -p "$work/tree/tests/unit" "$work/tree/tests/race"
: >"$work/tree/Makefile"
make_check() { # make_check RESULTS WHAT-FAILS
    FAILS=$2 bash "$work/check" >"$work/said" 2>&1
    if test "$(paste -sd' ' "$work/results")" = "$1"; then
        echo "PASS: make check where $2 fails"
    else
        echo "FAIL: make check where $2 fails: $(paste -sd' ' "$work/results"), expected $1"
        failed=1
    fi
}
make_check 'FAIL make-check FAIL unit' tests/unit
make_check 'FAIL make-check FAIL unit' tests/harness
make_check 'FAIL unit' nothing
echo "SMARTINT_GTEST_TRUE='#'" >"$work/tree/config.log"
make_check 'SKIP unit' nothing
exit $failed
