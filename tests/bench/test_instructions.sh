#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# Instructions per message can be counted, with smartint and with ob1. How many decides nothing, but that a job with ob1
# takes as many as where smartint is not installed.
. "$(dirname "${BASH_SOURCE[0]}")/../harness/lib.sh"

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
for needed in python3 valgrind callgrind_annotate; do
    command -v $needed >/dev/null || { skip bench/instructions "there is no $needed"; summary; exit 77; }
done
table=$(limited 400 "$top/contrib/bench/instructions" --systems ob1,helper --sizes 1 --messages 40 2>&1)
status=$?
echo "$table"
for system in ob1 'smartint helper'; do
    # two counts above zero
    if [ $status -eq 0 ] && grep -qE "^$system +[1-9][0-9.]* +[1-9][0-9.]*$" <<<"$table"; then
        pass "bench/instructions-${system// /-}"
    else
        fail "bench/instructions-${system// /-}" "nothing was counted"
    fi
done

# counts_of_ob1 TABLE: of a send, and of a receive
counts_of_ob1() { awk '$1 == "ob1" && NF == 3 { print $2, $3 }' <<<"$1"; }
stock=$("$(command -v ompi_info.openmpi || command -v ompi_info)" --parsable --path pkglibdir | sed 's/^path:pkglibdir://')
# a receive's count moves with how often its library looks for events: of many, and again where one of both was kept waiting
many=(limited 400 "$top/contrib/bench/instructions" --systems ob1 --sizes 1 --messages 400)
as_many() {
    awk -v with="$(counts_of_ob1 "$table")" -v without="$(counts_of_ob1 "$without")" 'BEGIN {
        split(with, a); split(without, b)
        exit !(a[1] > 0 && b[1] > 0 && a[1] < 1.01 * b[1] && a[2] < 1.05 * b[2]) }'
}
for _ in 1 2 3; do
    table=$("${many[@]}" 2>&1)
    without=$(OMPI_MCA_mca_base_component_path=$stock "${many[@]}" 2>&1)
    echo "with smartint installed: $(counts_of_ob1 "$table"), without: $(counts_of_ob1 "$without")"
    ! as_many || break
done
if as_many; then
    pass bench/instructions-inert
else
    fail bench/instructions-inert "ob1: $(counts_of_ob1 "$table") with smartint installed, $(counts_of_ob1 "$without") without"
fi
summary
