#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# Open MPI opens components RTLD_GLOBAL, so every name they export is seen by all others: a component
# exports its component structure and nothing else, the engine's library only what is named smartint.
# No object has a symbol that would keep it from being unloaded (STB_GNU_UNIQUE).

failed=0

report()
{
    # report NAME WHAT OFFENDERS
    if test -z "$3"; then
        echo "PASS: $1: $2"
    else
        echo "FAIL: $1: $2:"
        echo "$3" | sed 's/^/      /' | head -n 20
        failed=1
    fi
}

if test -z "$COMPONENTS$ENGINE_LIBRARY"; then
    echo "SKIP: nothing is built"
    exit 77
fi

for object in $COMPONENTS; do
    name=$(basename "$object" .so)
    # Sanitizers add names of their own, all with two underscores in front.
    exported=$($NM -D --defined-only "$object" | awk '{ print $NF }' | grep -v '^__\(asan\|odr_asan\|ubsan\|tsan\)' || :)
    report "$name" "exports ${name}_component" "$(
        echo "$exported" | grep -q -x "${name}_component" || echo "missing")"
    report "$name" "exports nothing else" "$(
        echo "$exported" | grep -v -x -e "${name}_component" -e "${name}_component_ptr" -e '')"
done

for object in $ENGINE_LIBRARY; do
    name=$(basename "$object" .so)
    report "$name" "exports names of smartint only" "$(
        $NM -D -C --defined-only "$object" | sed 's/^[0-9a-f]* *[A-Za-z] //' |
            grep -v -e '^smartint_' -e '^smartint::' -e '^\(vtable\|VTT\|typeinfo\|typeinfo name\|guard variable\) for smartint::' \
                -e '^\(non-\)\{0,1\}virtual thunk to smartint::' -e '^TLS \(init\|wrapper\) function for smartint::' -e '^SMARTINT_' \
                -e '^__\(asan\|odr_asan\|ubsan\|tsan\)' -e '^$')"
done

for object in $COMPONENTS $ENGINE_LIBRARY; do
    report "$(basename "$object" .so)" "has no symbol that forbids unloading" "$(
        $NM -D --defined-only "$object" | awk '$2 == "u" { print $NF }')"
done

# Two copies of an inline variable or of a function's static one would be two states. Constants may be
# where they like, and so may tables of virtual functions.
variables()
{
    $NM "$1" 2>/dev/null | awk '$2 ~ /^[bBdDuVv]$/ && $3 ~ /^_Z/ { print $3 }' |
        grep smartint | grep -v -e '^_ZT[VTIS]' -e _GLOBAL__N_ -e '^_ZZL\{0,1\}N*[0-9]*_GLOBAL' -e '^_ZL' -e '^_ZZL' | sort -u
}
for engine in $ENGINE_LIBRARY; do
    variables "$engine" > engine_variables.$$
    for object in $COMPONENTS; do
        report "$(basename "$object" .so)" "has no copy of a variable of the engine" "$(
            variables "$object" | comm -12 - engine_variables.$$)"
    done
    rm -f engine_variables.$$
done

# Where two objects export the same name, the first to be opened wins for both.
report "all objects" "export different names" "$(
    for object in $COMPONENTS $ENGINE_LIBRARY; do
        $NM -D --defined-only "$object" | awk '{ print $NF }' | grep -v '^__' | sort -u
    done | sort | uniq -d)"

exit $failed
