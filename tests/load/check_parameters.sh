#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# docs/parameters.md says what common_smartint_params.def and common_smartint_stats.def say: every
# parameter with its default, range and level, every counter; and nothing that does not exist.

document=$top_srcdir/docs/parameters.md
engine=$top_srcdir/opal/mca/common/smartint
work=$(mktemp -d "${TMPDIR:-/tmp}/smp.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
failed=0

# The preprocessor reads the lists as the compiler does.
expand()
{
    # expand FILE DEFINITION...
    list=$1
    shift
    { printf '%s\n' "$@"; echo "#include \"$engine/$list\""; } >"$work/list.cc"
    # shellcheck disable=SC2086
    $CXX -E -P -x c++ "$work/list.cc" | sed -n 's/^.*@@ *\(.*[^ ]\) *@@.*$/\1/p'
}

# name|default|lowest to highest|level; a text has no range that could be compared
expand common_smartint_params.def \
    '#define SMARTINT_STRING(name, def, level, help) @@ name|def||level @@' \
    '#define SMARTINT_NUMBER(name, def, lowest, highest, level, help) @@ name|def|lowest to highest|level @@' |
    sed 's/ *| */|/g; s/"//g' | sort >"$work/params"
expand common_smartint_stats.def '#define SMARTINT_STAT(name, help) @@ name @@' | sort >"$work/stats"

# Rows of five columns that begin with one name in backquotes.
sed -n 's/^| *`\([a-z_]*\)` *| *\([^|]*[^| ]\) *| *\([^|]*[^| ]\) *| *\([0-9]*\) *|.*$/\1|\2|\3|\4/p' "$document" |
    sed 's/`//g; s/|(empty)|/||/' |
    awk -F '|' -v OFS='|' '{
        # a range of two numbers; what stands behind a comma is for the reader; "0, 1" are two numbers
        if ($3 ~ /^0, 1$/) $3 = "0 to 1"
        sub(/, .*/, "", $3)
        if ($3 !~ /^[0-9]+ to [0-9]+$/) $3 = ""
        print
    }' | sort >"$work/params.doc"
# In the last section: the first column, one or more names in backquotes.
sed -n '/^## Counters/,$ s/^| *\(`[^|]*\) *|.*$/\1/p' "$document" | tr -d '` ' | tr ',' '\n' | sort >"$work/stats.doc"

compare()
{
    # compare WHAT LIST: the sources' list and the document's are the same, and not empty
    if test ! -s "$work/$2"; then
        echo "FAIL: $1: nothing was found in the sources"
        failed=1
    elif diff "$work/$2" "$work/$2.doc" >"$work/diff"; then
        echo "PASS: $1 ($(wc -l <"$work/$2"))"
    else
        echo "FAIL: $1: < as in the sources, > as in the document:"
        grep '^[<>]' "$work/diff" | sed 's/^/      /'
        failed=1
    fi
}

compare "docs/parameters.md has every parameter as the sources have it" params
compare "docs/parameters.md has every counter of the sources" stats
exit $failed
