#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# The harness of the MPI tests finds what a job leaves behind, and lines that nobody knows: a job that only says that it is
# right passes, and one that does more does not. mpirun is a script here.

work=$(mktemp -d "${TMPDIR:-/tmp}/smh.XXXXXX") || exit 1
trap 'rm -rf "$work" "/dev/shm/smartint-left-$$"' EXIT
trap 'exit 130' INT TERM HUP
failed=0

mkdir "$work/build" && touch "$work/build/sizes" && cp "$(command -v sleep)" "$work/smartintd" &&
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
esac
test "\$LEAVES" = no-word || echo ok
EOF
chmod +x "$work/mpirun"

# expect RESULT REASON LEAVES
expect()
{
    LEAVES=$3 SMARTINT_BUILD=$work/build SMARTINT_MPIRUN=$work/mpirun SMARTINT_RESULTS=$work/results SMARTINT_SETTLE=1 \
        SMARTINT_TEST_ID=$$.$3 bash "$top_srcdir/tests/mpi/run_mpi.sh" -o "$work/logs" -x '^sizes[.]np2$' -- none \
        >"$work/said" 2>&1
    if test "$(cat "$work/results")" = "$1 mpi/sizes.np2" && grep -q "^$2" "$work/said"; then
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
exit $failed
