#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# Each header compiles alone: it includes what it uses. Those of the engine (but for its glue to Open MPI,
# *_mca*.h) and of the helper compile without Open MPI's directories. One that a source file of its name begins with has been
# compiled alone there.

cd "$top_srcdir" || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# compile HEADER FLAGS...: one header as a translation unit of its own.
cat > "$work/one.sh" <<'EOF'
header=$1
shift
source=${header%.h}.cc
if test "$(grep -m 1 '^#include' "$source" 2>/dev/null)" = "#include \"${header##*/}\""; then
    echo "PASS: $header is what $source begins with"
    exit
fi
log="$WORK/$(echo "$header" | tr / _).log"
if echo "#include \"$top_srcdir/$header\"" |
    $CXX $HEADER_FLAGS "$@" -x c++ -fsyntax-only - > "$log" 2>&1; then
    echo "PASS: $header compiles alone"
else
    echo "FAIL: $header does not compile alone:"
    sed 's/^/      /' "$log" | head -n 12
fi
EOF
WORK=$work
export WORK

each()
{
    # each DIRECTORY PATTERN FLAGS...: its headers whose names match (or, after a !, do not)
    directory=$1
    pattern=$2
    shift 2
    test -d "$directory" || return 0
    not=
    case $pattern in '!'*) not='!' ;; esac
    # shellcheck disable=SC2086
    find "$directory" -name '*.h' $not -name "${pattern#!}" | sort |
        xargs -r -P "$(nproc)" -I '{}' sh "$work/one.sh" '{}' "$@" >> "$work/result"
}

: > "$work/result"
each opal/mca/common/smartint '!*_mca*'
each opal/tools/smartintd '*'
# shellcheck disable=SC2086
{
    each opal/mca/common/smartint '*_mca*' $OMPI_CPPFLAGS
    each opal/include '*' $OMPI_CPPFLAGS
    each opal/mca/btl/smartint '*' $OMPI_CPPFLAGS
    each ompi/mca/pml/smartint '*' $OMPI_CPPFLAGS
    each ompi/mca/osc/smartint '*' $OMPI_CPPFLAGS
    each tests/harness '*' $GTEST_CPPFLAGS
}
cat "$work/result"
! grep -q '^FAIL' "$work/result"
