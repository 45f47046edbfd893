#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# The microbenchmarks of the engine and the helper build and run, and what each does comes out right (it
# says so itself where not). What they measure decides nothing.
. "$(dirname "${BASH_SOURCE[0]}")/../harness/lib.sh"

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
table=$(limited 400 "$top/contrib/bench/micro" "${SMARTINT_BUILD_DIR:-$top/build-tests}" \
    --benchmark_min_time=0.002 --benchmark_format=csv)
status=$?
echo "$table"
if [ $status -eq 77 ]; then
    skip bench/micro "Google Benchmark (libbenchmark-dev) is not installed"
    summary
    exit 77
fi
[ $status -eq 0 ] || fail bench/micro "exit status $status"
for name in scan anything_armed whole_loop arm_and_disarm post_unmatched post_matched gate_enter_leave \
    gate_claim_release wake ring_put_get match_posted match_unexpected match_nothing; do
    # a line each: name, how often it ran (nothing where it failed), times
    lines=$(grep "^\"$name/" <<<"$table")
    if [ -z "$lines" ]; then
        fail "bench/micro-$name" "it did not run"
    elif grep -vqE '^"[^"]*",[1-9][0-9]*,[0-9]' <<<"$lines"; then
        fail "bench/micro-$name" "$(grep -m 1 -vE '^"[^"]*",[1-9][0-9]*,[0-9]' <<<"$lines")"
    else
        pass "bench/micro-$name"
    fi
done
summary
