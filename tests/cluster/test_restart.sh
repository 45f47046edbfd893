#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# Helpers that are killed on two nodes, one after the other and both at once: with smartint_helper_restart others
# take their place, and messages reach ranks that compute as before; without it they wait for the receiver, so the
# test would notice.
. "$(dirname "${BASH_SOURCE[0]}")/../fault/lib_cluster.sh"

cluster_up 2 none
PPN=1
set_launcher

gcc -O2 -g -Wall -Wextra -o "$WORK/board_knows" "$SCRIPT_DIR/board_knows.c" ||
    { fail "$LABEL/board_knows" "does not compile"; cluster_done; }
no_helper_on() { [ -z "$(helpers_on "$1")" ]; }
another_on() { helper_up_on "$1" && [ "$(helpers_on "$1")" != "$2" ]; }      # another_on NODE PID
# knows NODE OTHER-NODE: where the helper of the other node is, which has to know it before it can relay there
knows() { "$WORK/board_knows" "$(board_on "$1")" "$(board_on "$2")" 2>/dev/null; }
is_there() { "$WORK/board_knows" "$(board_on "$1")" 2>/dev/null; }      # is_there NODE: its helper, ready
board_on() {      # what its helper has mapped: the name is gone
    local pid
    pid=$(helpers_on "$1")
    echo "/proc/$pid/map_files/$(sed -n 's/ .*\/smartint-.*//p' "/proc/$pid/maps" | head -n 1)"
}

HELPER=()

# restart_job NAME RESTARTS REPEATS SECONDS NODES [BEFORE]: kill the helper of each of the nodes, each time when what
# became of the one before is settled; n0+n1: of both at once. BEFORE: messages of ranks that wait, before those that
# must arrive. FAILS: the directory that has the next helper fail.
restart_job() {
    local name=$1 restarts=$2 repeats=$3 seconds=$4 nodes=$5 before=${6:-0} node together
    local -A old
    program restarted
    STEPS=$WORK/steps.$RANDOM$RANDOM
    mkdir "$STEPS" || exit 2
    rm -f "$WORK"/stats.*
    begin_job "$name" 90 -np 2 --mca pml smartint --mca smartint_helper_restart "$restarts" "${HELPER[@]}" \
        --mca smartint_stats_file "$WORK/stats.%r" "$PROGRAM" "$STEPS" "$repeats" "$seconds" "$before"
    reached ready
    for node in n0 n1; do
        until_true 10 helper_up_on $node || complain "not one helper on $node"
    done
    for together in $nodes; do
        for node in ${together//+/ }; do
            until_true 10 helper_up_on "$node" || complain "not one helper on $node"
            old[$node]=$(helpers_on "$node")
        done
        [ -z "${FAILS:-}" ] || mkdir "$FAILS"
        # shellcheck disable=SC2086
        for node in ${together//+/ }; do kill -KILL ${old[$node]} || complain "nobody to kill on $node"; done
        for node in ${together//+/ }; do
            if [ "$restarts" -gt 0 ]; then
                until_true 20 another_on "$node" "${old[$node]}" ||
                    complain "no helper in the place of ${old[$node]} on $node"
            else
                until_true 20 no_helper_on "$node" || complain "the helper of $node survived"
            fi
        done
        case $restarts$together in
        0*) ;;
        *+*)      # neither can tell the other: their ranks do, later
            for node in n0 n1; do until_true 30 is_there $node || complain "the helper of $node does not say that it is there"; done
            ;;
        *)
            until_true 30 knows n0 n1 || complain "n0 does not know the helper of n1"
            until_true 30 knows n1 n0 || complain "n1 does not know the helper of n0"
            ;;
        esac
    done
    proceed again
    end_job
    expect_ok
}

restart_job killed-n0 1 3 10 n0
grep -q '# arrived 6 of 6' "$LOG" || complain "$(grep '# arrived' "$LOG"): a helper did not relay"
expect_counter 0 helper_restarts == 1
expect_counter 1 helper_restarts == 0
verdict

restart_job killed-both-twice 2 3 10 "n0 n1 n0 n1"
grep -q '# arrived 6 of 6' "$LOG" || complain "$(grep '# arrived' "$LOG"): a helper did not relay"
for rank in 0 1; do expect_counter $rank helper_restarts == 2; done
verdict

# What kept one from starting may pass: another try, a second later.
printf '%s\n' '#!/bin/sh' "rmdir '$WORK/fails' 2>/dev/null && exit 1" "exec '$SMARTINT_COMPONENT_DIR/smartintd' \"\$@\"" >"$WORK/helper"
chmod +x "$WORK/helper"
HELPER=(--mca smartint_helper_path "$WORK/helper")
FAILS=$WORK/fails restart_job not-started-at-once 3 3 10 n0
HELPER=()
grep -q '# arrived 6 of 6' "$LOG" || complain "$(grep '# arrived' "$LOG"): a helper did not relay"
[ ! -d "$WORK/fails" ] || complain "no start failed: the test is none"
expect_counter 0 helper_restarts == 2
expect_counter 1 helper_restarts == 0
verdict

# Neither can tell the other: their ranks' first messages do.
restart_job killed-both-at-once 2 3 10 "n0+n1 n0+n1" 2
grep -q '# arrived 6 of 6' "$LOG" || complain "$(grep '# arrived' "$LOG"): the helpers did not find each other"
for rank in 0 1; do expect_counter $rank helper_restarts == 2; done
verdict

restart_job killed-for-good 0 1 2 "n0 n1"
grep -q '# arrived 0 of 2' "$LOG" || complain "$(grep '# arrived' "$LOG"): who relayed?"
for rank in 0 1; do expect_counter $rank helper_restarts == 0; done
verdict

cluster_down restart
cluster_done
