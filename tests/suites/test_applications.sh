#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# Applications on one node (lib_applications.sh). What they find must be what they find over Open MPI's own pml with as many
# ranks.
. "$(dirname "${BASH_SOURCE[0]}")/lib_suites.sh"
. "$(dirname "${BASH_SOURCE[0]}")/lib_applications.sh"

ways="helper network"
numbers=4
if [ "$LONG" = yes ]; then
    ways=$WAYS
    numbers="2 4"
fi

# as_stock APPLICATION NP LABEL: as the last ob1 way; messages are smartint's unless the way is ob1's
as_stock() {
    application "$1" "$1-$3-np$2" "$2"
    expect_application "$1" "$2"
    case $WAY in *"pml ob1"*) ;; *) expect_carried "$2" ;; esac
}

for np in $numbers; do
    for a in $APPLICATIONS; do
        way ob1
        if ! application "$a" "$a-ob1-np$np" "$np"; then
            skip "suites/$a" "there is no $PROGRAM"
            continue
        fi
        keep_application "$a" "$np"
        verdict
        for w in $ways; do
            way "$w"
            as_stock "$a" "$np" "$w"
            verdict
        done
    done
    # Its windows: beside ob1, and with messages in each way.
    for w in ob1 $ways; do
        way "$w"
        [ -s "$BASES/nwchem.$np" ] && [ "$w" != btl ] || continue
        WAY="$WAY --mca osc smartint"
        as_stock nwchem "$np" "osc-$w"
        expect_counter 0 rma_operations + "$(counter 0 rma_operations) > 0"
        verdict
    done
done
fault_done
