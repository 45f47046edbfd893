#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# Brings the source lists in the Makefile.am files up to date: between the lines "# sources: begin"
# and "# sources: end" each names the files that are in its directory. autogen.sh runs it; with
# --check it changes nothing and fails if a list is stale (make check does that).

set -eu
cd "$(dirname "$0")/.."

check=no
test "${1:-}" = --check && check=yes
stale=0
# shellcheck disable=SC3045
LC_ALL=C
export LC_ALL
lists=$(mktemp)
trap 'rm -f "$lists"' EXIT
trap 'exit 130' INT TERM HUP

# list VARIABLE FILE...: an automake variable, one file a line, sorted.
list()
{
    printf '%s =' "$1"
    shift
    for file in "$@"; do
        printf ' \\\n    %s' "$file"
    done
    printf '\n'
}

# found DIRECTORY PATTERN...: the files of a directory that match one of the patterns, sorted.
found()
{
    (
        cd "$1"
        shift
        for pattern in "$@"; do
            for file in $pattern; do
                if test -f "$file"; then echo "$file"; fi
            done
        done | sort -u
    )
}

# replace MAKEFILE: the block in MAKEFILE becomes what stands on standard input.
replace()
{
    new=$(mktemp)
    block=$(mktemp)
    cat > "$block"
    awk -v block="$block" '
        /^# sources: begin/ { print; while ((getline line < block) > 0) print line; skip = 1; next }
        /^# sources: end/   { skip = 0 }
        !skip               { print }' "$1" > "$new"
    if ! cmp -s "$new" "$1"; then
        if test $check = yes; then
            echo "update_sources.sh: $1 does not name the files that are there: run autogen.sh" >&2
            stale=1
        else
            echo "update_sources.sh: $1 brought up to date"
            cat "$new" > "$1"
        fi
    fi
    rm -f "$new" "$block"
}

without()
{
    grep -v -x -e "$1" || :
}

dir=opal/mca/common/smartint
{
    # shellcheck disable=SC2046
    list engine_sources $(found $dir 'common_smartint_*.cc' | without 'common_smartint_mca.*\.cc')
    list engine_headers $(found $dir '*.h' '*.def')
    list mca_sources $(found $dir 'common_smartint_mca*.cc')
    list help_files $(found $dir 'help-*.txt')
    list document_files $(found $dir 'docs/*.md' '*.map')
} > "$lists"
replace $dir/Makefile.am < "$lists"

dir=opal/tools/smartintd
{
    list helper_sources $(found $dir 'smartintd_*.cc')
    list helper_headers $(found $dir '*.h')
    list program_sources $(found $dir 'main.cc')
    list man_pages $(found $dir '*.8')
} > "$lists"
replace $dir/Makefile.am < "$lists"

for dir in opal/mca/btl/smartint ompi/mca/pml/smartint ompi/mca/osc/smartint; do
    {
        list component_sources $(found $dir '*.cc' '*.h' '*.def')
        list help_files $(found $dir 'help-*.txt')
        list document_files $(found $dir 'docs/*.md')
    } > "$lists"
    replace $dir/Makefile.am < "$lists"
done

dir=tests/harness
{
    list harness_sources $(found $dir '*.cc' '*.h')
    list harness_files $(found $dir '*.sh' '*.py' 'README*' '*.supp')
} > "$lists"
replace $dir/Makefile.am < "$lists"

# One program per test_*.cc (race_*.cc, litmus_*.cc), each script a test; headers and other .cc
# files are shared by all programs of the directory.
for dir in tests/unit tests/race; do
    programs=$(found $dir 'test_*.cc' 'race_*.cc' 'litmus_*.cc')
    {
        list test_programs $(for file in $programs; do echo "${file%.cc}"; done)
        list test_scripts $(found $dir '*.sh')
        list test_headers $(found $dir '*.h' '*.md' '*.pml')
        for file in $programs; do
            name=$(echo "${file%.cc}" | tr -c 'A-Za-z0-9_\n' _)
            echo "${name}_SOURCES = $file"
        done
    } > "$lists"
    replace $dir/Makefile.am < "$lists"
done
exit $stale
