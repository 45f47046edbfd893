#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# The benchmarks of plain messages run and their data is right: with each system that is there, on one node and on
# emulated ones where those are possible. What they measure decides nothing. About a minute.
. "$(dirname "${BASH_SOURCE[0]}")/../harness/lib.sh"

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
out=$(mktemp -d "${SMARTINT_LOGS:-/tmp}/messages.XXXXXX") || exit 2
trap 'rm -rf -- "$out"' EXIT
trap 'exit 130' INT TERM HUP

command -v python3 >/dev/null || { skip bench/messages "there is no python3"; summary; exit 77; }

log=$out/log
if ! limited 600 "$top/contrib/bench/run-messages" --quick --out "$out/results" >"$log" 2>&1; then
    fail bench/messages "$(grep -m 1 -E 'ailed|rror' "$log" || tail -n 1 "$log")"
    cat "$log"
    summary
    exit
fi
settings="$(ls "$out/results" | sed -n 's/^messages-\(.*\)\.svg$/\1/p')"
[ -n "$settings" ] || fail bench/messages "no setting was measured"
for setting in $settings; do
    for system in ob1 helper; do
        # every part of the benchmark, its data checked
        reason=
        for figure in latency rate bandwidth match_posted match_unexpected; do
            grep -q "^$setting,$system,$figure," "$out/results/messages.csv" || reason="no figure of $figure"
        done
        grep -lq '^wrong_messages,all,,,1,0$' "$out"/results/runs/*-"$setting-$system.csv" || reason="data was not checked"
        if [ "$system" = helper ]; then
            grep -q '^eager_sent [1-9]' "$out"/results/runs/*-"$setting-$system".stats.0 || reason="no counters"
        fi
        if [ -z "$reason" ]; then
            pass "bench/messages-$setting-$system"
        else
            fail "bench/messages-$setting-$system" "$reason"
        fi
    done
done
summary
