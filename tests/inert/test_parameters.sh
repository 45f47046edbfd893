#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# `ompi_info --param pml smartint --level 9` (btl and osc too) lists every parameter of the .def file with its help,
# default and level; and asking changes nothing.
. "$(dirname "${BASH_SOURCE[0]}")/../fault/lib_fault.sh"

DEF=$FAULT_DIR/../../opal/mca/common/smartint/common_smartint_params.def

# name|default|lowest|highest|level|help, strings that go over several lines joined
parameters() {
    sed '/^\/\//d' "$DEF" | tr '\n' ' ' | sed 's/SMARTINT_/\n&/g' | sed -n 's/^SMARTINT_//p' | awk '
        {
            kind = substr($0, 1, index($0, "(") - 1)
            rest = substr($0, index($0, "(") + 1)
            n = split(rest, word, /, */)
            help = rest
            sub(/^[^"]*"/, "\"", help)
            if (kind == "STRING") {
                value = word[2]
                gsub(/"/, "", value)
                sub(/^"[^"]*", *[0-9]+, */, "", help)
                low = high = ""
                level = word[3]
            } else {
                value = word[2]; low = word[3]; high = word[4]; level = word[5]
            }
            gsub(/" *"/, "", help)
            sub(/^"/, "", help)
            sub(/"\) *$/, "", help)
            printf "%s|%s|%s|%s|%s|%s\n", word[1], value, low, high, level, help
        }'
}

snapshot_before tmp
count=0
for kind in pml btl osc; do
    out=$LOGS/ompi_info-$kind.txt
    plain=$LOGS/ompi_info-$kind-plain.txt
    if ! env -u OMPI_MCA_smartint_helpers "$OMPI_INFO" --parsable --param $kind smartint --level 9 >"$out" 2>&1 ||
        ! "$OMPI_INFO" --param $kind smartint --level 9 >"$plain" 2>&1; then
        fail inert/parameters-$kind "ompi_info failed" "$out"
        continue
    fi
    problem=
    count=0
    while IFS='|' read -r name value low high level help; do
        count=$((count + 1))
        p="mca:$kind:smartint:param:${kind}_smartint_$name"
        grep -qxF -- "$p:value:$value" "$out" || problem=${problem:-"$name: the value is not '$value'"}
        grep -qx -- "$p:level:$level" "$out" || problem=${problem:-"$name: the level is not $level"}
        grep -F -- "$p:help:" "$out" | grep -qF -- "$help" || problem=${problem:-"$name: its help is not shown"}
        grep -qF "synonym_of:name:smartint_$name" "$out" || problem=${problem:-"$name: smartint_$name is not named"}
        grep -qF "\"${kind}_smartint_$name\"" "$plain" || problem=${problem:-"$name: not in the readable list"}
        if [ -n "$low" ]; then
            grep -F -- "$p:help:" "$out" | grep -qF "($low to $high)" || problem=${problem:-"$name: its range is not shown"}
        fi
    done < <(parameters)
    [ "$count" -ge 20 ] || problem=${problem:-"the .def file could not be read: $count parameters"}
    if [ -n "$problem" ]; then
        fail inert/parameters-$kind "$problem" "$out"
    else
        pass inert/parameters-$kind
    fi
    # at the level of users there are fewer
    basic=$("$OMPI_INFO" --param $kind smartint --level 1 2>/dev/null | grep -c 'parameter "')
    if [ "$basic" -ge 1 ] && [ "$basic" -lt "$count" ]; then
        pass inert/parameters-$kind-level-1
    else
        fail inert/parameters-$kind-level-1 "$basic parameters at level 1"
    fi
done

# The environment and mpirun's command line are heard.
value=$(OMPI_MCA_smartint_pace_us=777 "$OMPI_INFO" --parsable --param pml smartint --level 9 2>/dev/null |
    sed -n 's/^mca:pml:smartint:param:pml_smartint_pace_us:value://p')
if [ "$value" = 777 ]; then pass inert/parameters-environment; else fail inert/parameters-environment "pace_us is '$value'"; fi

if check_after; then
    pass inert/ompi_info-leaves-nothing
else
    fail inert/ompi_info-leaves-nothing "left behind: $LEFT_BEHIND"
fi

fault_done
