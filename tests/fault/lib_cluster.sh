# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
# shellcheck shell=bash disable=SC2034
# Sourced by tests/cluster/test_*.sh: lib_fault.sh on a cluster of this script's own.
#
#   cluster_up NODES RATE [KEY=VALUE...]   skips the script's rest where that is not possible: a result, and 77
#   cluster_mpi LABEL RUN_MPI-OPTIONS... -- MPIRUN-ARGS...   the MPI tests tagged cluster; PPN ranks per node
#   quick                                  option of cluster_mpi: its quick tests; all in the long form
#   some N:K                               option of cluster_mpi: each Nth of its tests, from the Kth on; all in the long form
#   cluster_down                           and see that nothing of it is left
# run_job and begin_job launch in the cluster then, PPN ranks per node, dealt out by node.

. "$(dirname "${BASH_SOURCE[0]}")/lib_fault.sh"

NSC=$FAULT_DIR/../cluster/nscluster
export NSC_RUN=/run/nscluster-test.$$
PPN=1
IS_UP=no

# Stock's launcher and its child race for the same setpgid.
export SMARTINT_HARMLESS=$WORK/harmless
echo 'plm:rsh: Warning: setpgid' >"$SMARTINT_HARMLESS"

script_cleanup() { [ $IS_UP = no ] || "$NSC" down >/dev/null 2>&1; }

cluster_nodes() { local i n; n=$(cat "$NSC_RUN/nodes"); for ((i = 0; i < n; i++)); do echo "n$i"; done; }

# A process of the node's, as this side numbers it.
process_in() {
    local want pid
    want=$(cat "$NSC_RUN/$1/pidns")
    [ -n "$want" ] || return 0      # an ended process has an empty link
    for pid in /proc/[0-9]*; do
        [ "$(readlink "$pid/ns/pid" 2>/dev/null)" = "$want" ] && { echo "${pid#/proc/}"; return; }
    done
}

cluster_up() {
    local share pid node out
    share=$PROGRAMS:$LOGS:$(cd "$FAULT_DIR/../.." && pwd)${SMARTINT_COMPONENT_DIR:+:$SMARTINT_COMPONENT_DIR}
    out=$("$NSC" up "$@" "share=$share:${SMARTINT_SHARE:-}" 2>&1)
    case $? in
    0) IS_UP=yes ;;
    77)
        # by name: of a script that has results already the status alone tells nothing
        skip "$LABEL/$(basename "$0" .sh)" "no emulated nodes here: ${out#nscluster: }"
        summary || exit
        exit 77
        ;;
    *)
        fail "$LABEL/up" "$out"
        fault_done
        ;;
    esac
    SMARTINT_SHM_DIRS=/dev/shm
    SMARTINT_TMP_DIRS=$NSC_RUN/tmp      # mpirun's
    for node in $(cluster_nodes); do
        pid=$(process_in "$node")
        if [ -z "$pid" ]; then
            fail "$LABEL/up" "nothing runs in $node"
            fault_done
        fi
        SMARTINT_SHM_DIRS="$SMARTINT_SHM_DIRS /proc/$pid/root/dev/shm"
        SMARTINT_TMP_DIRS="$SMARTINT_TMP_DIRS /proc/$pid/root/tmp"
    done
    export SMARTINT_SHM_DIRS SMARTINT_TMP_DIRS
    set_launcher
}

set_launcher() { LAUNCHER="$NSC mpirun --ppn $PPN --map-by node"; }

some() { is_long || echo "-e $1"; }
quick() { is_long && echo "-t !osc -t !outside -t !streams -t !six" || echo "-t quick"; }

# Results and counts of run_mpi.sh are its own, so its failures become one of ours only in the exit status.
MPI_FAILED=0
cluster_mpi() {
    local label=$1 options=()
    shift
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    SMARTINT_BUILD=$PROGRAMS bash "$FAULT_DIR/../mpi/run_mpi.sh" -l "cluster-$label" -o "$LOGS/$label" -n "$LAUNCHER" \
        -t '!ob1only' "${options[@]}" -- -x SMARTINT_TEST_ID "$@" || MPI_FAILED=1
}

nodes_are_empty() { IN_NODES=$("$NSC" ps 2>&1) && [ -z "$IN_NODES" ]; }
cluster_down() {
    local first left=
    first=$(process_in head)
    # what ends with the last job may take a moment
    until_true 20 nodes_are_empty || left=${IN_NODES:-nobody can tell}
    "$NSC" down || complain "down failed"
    IS_UP=no
    unset SMARTINT_TMP_DIRS
    if [ -n "$left" ]; then
        fail "$LABEL/nothing-left-${1:-}" "a process still ran in the nodes: $(echo "$left" | head -n 1)"
    elif [ -e "$NSC_RUN" ] || [ -d "/proc/${first:-none}" ] || [ -n "$(pids smartintd)" ]; then
        fail "$LABEL/nothing-left-${1:-}" "after down there is something of the cluster"
    else
        pass "$LABEL/nothing-left-${1:-}"
    fi
}

cluster_done() {
    few_retries
    summary && [ $MPI_FAILED -eq 0 ]
    exit
}

node_of() {      # the node a process is on, by its pid namespace
    local node space
    space=$(readlink "/proc/$1/ns/pid") || return 0
    for node in $(cluster_nodes); do
        [ "$space" != "$(cat "$NSC_RUN/$node/pidns")" ] || echo "$node"
    done
}
daemons_on() {      # Open MPI's: their environment is a fresh one and tells nothing, so they are known by their node
    local pid
    for pid in $(pgrep -x orted); do [ "$(node_of "$pid")" != "$1" ] || echo "$pid"; done
}
# Ranks are children of the daemons, which have left whatever mpirun started them by.
rank_parents() {
    [ $IS_UP = yes ] || { echo "$1"; return; }
    local node; for node in $(cluster_nodes); do daemons_on "$node"; done
}
helper_up_on() {      # helper_up_on NODE: one, as helpers_up
    local all
    all=$(helpers_on "$1")
    # shellcheck disable=SC2086
    [ "$(wc -w <<<"$all")" -eq 1 ] && all_up $all
}
two_helpers() { helper_up_on n0 && helper_up_on n1; }
helpers_on() { local pid; for pid in $(helper_pids); do [ "$(node_of "$pid")" != "$1" ] || echo "$pid"; done; }
