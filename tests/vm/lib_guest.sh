# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
# shellcheck shell=bash
# Sourced by scripts that run in a guest.
#
#   kernel_is_fine NAME       what the kernel said since this was sourced: nothing that tells of a fault
#   cases LABEL PROGRAM...    records the lines `PASS CASE` and `FAIL CASE` that it prints; its exit status has to fit

. "$SMARTINT_TOP/tests/harness/lib.sh"
[ -n "${VM_GUEST:-}" ] || { echo "this script is for guests: tests/vm/vm run"; exit 2; }

dmesg -C # what it said when it started has words like these in it

kernel_is_fine() {
    local line
    line=$(dmesg | grep -vE '(mpirun|orterun)[^ ]*:? (segfault|general protection)' | grep -m 1 -E 'BUG|WARNING|Oops|general protection|Call Trace|rcu.*stall|hung task|refcount_t|list_(add|del) corruption|use-after-free|segfault|leaked')
    if [ -n "$line" ]; then
        dmesg | tail -n 60
        fail "$1" "the kernel says: $line"
    else
        pass "$1"
    fi
}

cases() {
    local label=$1 word name rest any= failed= status=
    shift
    while read -r word name rest; do
        case $word in
        PASS) any=yes && pass "$label/$name" ;;
        FAIL) any=yes failed=yes && fail "$label/$name" "${rest:-see above}" ;;
        *)
            echo "$word $name $rest"
            [ "$word $name" != "# exit" ] || status=$rest      # the last such line is ours
            ;;
        esac
    done < <("$@" 2>&1; echo "# exit $?")
    if [ -z "$any" ]; then
        fail "$label" "it told of no case, exit status $status"
    elif [ "$status" != 0 ] && [ -z "$failed" ]; then
        fail "$label" "exit status $status, and no case failed"
    fi
}
