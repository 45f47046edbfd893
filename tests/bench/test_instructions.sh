#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# Instructions per message can be counted, with smartint and with ob1. How many decides nothing.
. "$(dirname "${BASH_SOURCE[0]}")/../harness/lib.sh"

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
for needed in python3 valgrind callgrind_annotate; do
    command -v $needed >/dev/null || { skip bench/instructions "there is no $needed"; summary; exit 77; }
done
table=$(timeout -k 10 400 "$top/contrib/bench/instructions" --systems ob1,helper --sizes 1 --messages 40 2>&1)
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
summary
