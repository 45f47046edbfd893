#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# That the helper matters between nodes, by counters: one rank on each of two nodes, so that nobody but the helper
# can match its requests. With it they are matched and the rank is woken; once it is killed before the transfers, or
# stopped, never.
. "$(dirname "${BASH_SOURCE[0]}")/lib_cluster.sh"

S=(-np 2 --mca pml smartint --mca smartint_stats_file "$WORK/stats.%r")
cluster_up 2 1gbit
sum() { awk -v name="$1" '$1 == name { n += $2 } END { print n + 0 }' "$WORK"/stats.[01]; }

relay() {      # relay NAME SIGNAL WHEN: the signal hits both helpers before the transfers or after them
    local victims
    rm -f "$WORK"/stats.*
    begin_phases "relay-$1" 120 0.6 "${S[@]}"
    reached ready
    until_true 30 two_helpers || complain "not a helper on each node"
    victims=$(helper_pids)
    # shellcheck disable=SC2086
    {
        [ "$3" != before ] || kill "-$2" $victims
        [ "$3" != before ] || [ "$2" != KILL ] || until_true 30 no_helper || complain "a helper survived"
        proceed begin
        reached moved
        [ "$3" != after ] || kill "-$2" $victims
        proceed go
        end_job
        [ "$2" != STOP ] || kill -CONT $victims
    }
    expect_ok
    [ "$(sum rts_sent)" -gt 0 ] || complain "no rendezvous was sent: the test is none"
    [ "$(sum notices_relayed)" -gt 0 ] || complain "no notice was handed to a helper"
    if [ "$3" = before ]; then
        [ "$(sum requests_matched)" -eq 0 ] || complain "$(sum requests_matched) requests matched, and no helper ran"
    else
        [ "$(sum requests_matched)" -gt 0 ] || complain "no request was matched, and helpers ran"
        [ "$(sum wakes_match)" -gt 0 ] || complain "no wake by a match, and helpers ran"
    fi
    cat "$WORK"/stats.[01] >>"$LOG"
    verdict
}
relay killed-after KILL after
relay killed-before KILL before
relay stopped-after STOP after
relay stopped-before STOP before

cluster_down relay
cluster_done
