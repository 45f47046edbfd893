#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# Dependencies point one way: engine <- btl <- pml and osc, and the helper knows the engine only.
#   - the engine (but for its *_mca files) and the helper include no header of Open MPI or MPI
#   - they need no symbol of it either
#   - no component includes another component's header, ours or Open MPI's

failed=0
cd "$top_srcdir" || exit 1

# report WHAT OFFENDERS
report()
{
    if test -z "$2"; then
        echo "PASS: $1"
    else
        echo "FAIL: $1:"
        echo "$2" | sed 's/^/      /' | head -n 20
        failed=1
    fi
}

# includes DIRECTORY...: every #include line, as file:line:text.
includes()
{
    find "$@" \( -name '*.h' -o -name '*.cc' -o -name '*.def' \) -exec \
        grep -n -H '^[[:space:]]*#[[:space:]]*include' {} + 2>/dev/null || :
}

ours='[<"]\(opal\|ompi\)/[a-z/]*smartint[a-z/]*/\(docs/\)\{0,1\}\(common_smartint\|smartintd\|btl_smartint\|pml_smartint\|osc_smartint\)'
open_mpi='[<"]\(mpi\.h\|mpi-ext\.h\|opal\|ompi\|orte\|oshmem\|openmpi/\|smartint/ompi_glue\|ompi_glue\)'

engine=opal/mca/common/smartint
helper=opal/tools/smartintd
btl=opal/mca/btl/smartint
pml=ompi/mca/pml/smartint
osc=ompi/mca/osc/smartint

report "the engine includes nothing of Open MPI" "$(
    includes $engine | grep -v "^$engine/common_smartint_mca" | grep "$open_mpi" | grep -v "$ours")"
report "the helper includes nothing of Open MPI" "$(
    includes $helper | grep "$open_mpi" | grep -v "$ours")"
report "the engine includes no header of helper or component" "$(
    includes $engine | grep '\(smartintd\|btl_smartint\|pml_smartint\|osc_smartint\)[a-z_]*\.\(h\|def\)')"
report "the helper includes no component's header" "$(
    includes $helper | grep '\(btl_smartint\|pml_smartint\|osc_smartint\)[a-z_]*\.\(h\|def\)')"
report "the btl includes no other component's header" "$(
    includes $btl | grep '\(smartintd_\|pml_smartint\|osc_smartint\)[a-z_]*\.\(h\|def\)')"
report "the pml includes no other component's header" "$(
    includes $pml | grep '\(smartintd_\|btl_smartint\|osc_smartint\)[a-z_]*\.\(h\|def\)')"
report "the osc includes no other component's header" "$(
    includes $osc | grep '\(smartintd_\|btl_smartint\|pml_smartint\)[a-z_]*\.\(h\|def\)')"
report "no component includes a private header of Open MPI's components" "$(
    includes $engine $btl $pml $osc | grep '[<"]\(opal\|ompi\|orte\)/mca/[a-z]*/[a-z0-9_]*/' |
        grep -v -e '/base/' -e '/smartint/' -e 'opal/mca/event/' -e 'opal/mca/hwloc/' -e 'opal/mca/pmix/')"

# The same, asked of what was compiled.
forbidden='^\(ompi_\|opal_\|orte_\|oshmem_\|mca_\|MPI_\|PMPI_\)'
for archive in "$top_builddir/$engine/.libs/libsmartint_engine.a" \
               "$top_builddir/$helper/.libs/libsmartintd.a"; do
    test -f "$archive" || continue
    report "$(basename "$archive") needs no symbol of Open MPI" "$(
        $NM -u "$archive" 2>/dev/null | awk '$1 == "U" { print $2 }' | grep "$forbidden")"
done
exit $failed
