#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# The test programs of OpenCoarrays, as Debian builds them: coarrays of Fortran are windows of MPI, read, written, locked and
# counted in by the other images. Each must end as it does over Open MPI's own components on one node, and say as often that
# it passed: over the windows of smartint beside its pml and, on two emulated nodes, beside ob1. One in three of them; long: all,
# in more ways.
. "$(dirname "${BASH_SOURCE[0]}")/lib_suites.sh"

# Not those whose result is another one each time, over Open MPI's own windows too: burgers_pde reads what nobody has said is
# there yet, and in increment_my_neighbor more than three images add to one place without an atomic.
LEFT_OUT=" coarray_burgers_pde increment_my_neighbor "
IMAGES=4
LIMIT_EACH=200 # seconds; they take up to two
EACH=3         # which of them: each third
[ "$LONG" = no ] || EACH=1

coarray_tests() {
    local t number=0
    for t in "$DIRECTORY"/*; do
        [ -f "$t" ] && [ -x "$t" ] && [ $((number++ % EACH)) -eq 0 ] || continue
        case $LEFT_OUT in *" ${t##*/} "*) ;; *) echo "${t##*/}" ;; esac
    done
}

# result: of the last job. Whoever kills an image says so by the status; others may end by any error.
result() { echo "# status $RC, passed $(grep -aci 'test passed' "$LOG")" >>"$LOG"; }

# What stands still there, or crashes, is left out; more than one in ten of them would be no comparison.
bases() {
    local t programs=0 without=0 well=0
    way ob1
    for t in $(coarray_tests); do
        programs=$((programs + 1))
        client_job "coarrays-ob1-$t" $LIMIT_EACH $IMAGES "$DIRECTORY/$t"
        if [ -n "$REASON" ] || [ "$RC" -eq 124 ]; then
            skip "$LABEL/coarrays-ob1-$t" "over Open MPI's own components ${REASON:-it does not end}"
            tidy_after_mpirun "${WATCHED[@]}"
            check_after "${WATCHED[@]}" || lib_say "   Open MPI's own left behind: $LEFT_BEHIND"
            LEFT_OUT="$LEFT_OUT$t "
            without=$((without + 1))
            continue
        fi
        result
        keep_base "$t"
        ! grep -q 'status 0, passed [1-9]' "$BASES/$t" || well=$((well + 1))
        verdict
    done
    lib_say "# $well of $programs programs pass over Open MPI's own components, $without crash or do not end"
    if [ $well -gt $((programs / 2)) ] && [ $((10 * without)) -le $programs ]; then
        pass "$LABEL/coarrays-compared"
    else
        fail "$LABEL/coarrays-compared" "only $well of $programs programs pass over Open MPI's own components"
    fi
}

# coarrays LABEL ARGS...: each program, with these arguments of mpirun
coarrays() {
    local label=$1 t
    shift
    WAY="$* --mca osc smartint"
    for t in $(coarray_tests); do
        client_job "coarrays-$label-$t" $LIMIT_EACH $IMAGES "$DIRECTORY/$t"
        result
        # What wants another number of images, or crashed there at its end, is not compared; those that end an image tell it by
        # the status, whichever of the processes is seen to end first.
        case $t$(cat "$BASES/$t") in
        image_fail*' status 0,'*) expect_base "$t" ;;
        image_fail*) [ "$RC" -ne 0 ] || complain "exit code 0, and an image failed" ;;
        *'status 0, passed '[1-9]*) expect_base "$t" ;;
        esac
        verdict
    done
}

DIRECTORY=$(echo /usr/lib/*/open-coarrays/openmpi/bin/OpenCoarrays-*-tests)
if [ ! -d "$DIRECTORY" ]; then
    skip suites/coarrays "there is no libcoarrays-openmpi-dev"
    fault_done
fi
bases
for w in helper $([ "$LONG" = no ] || echo network none poll armed both read write copy eager-none network-eager-none); do
    way "$w"
    coarrays "$w" "$WAY"
done
[ "$LONG" = no ] || coarrays ob1 --mca pml ob1
LAUNCHER=$MPIRUN
PPN=2
# Operation by operation over sockets, thousands of them.
[ "$LONG" = yes ] || LEFT_OUT="$LEFT_OUT get_array send_array "
# Not there: one that gets an element at a time, ten thousands of them, and takes a minute where four images share two cores and
# nobody gives way, as each node believes that it has two; and two that use what they get from one image for another before it
# is here. All three are so over Open MPI's pt2pt, too.
LEFT_OUT="$LEFT_OUT alloc_comp_multidim_shape sendget_convert_char_array sendget_convert_nums "
cluster_up 2 none
coarrays cluster-2 --mca pml ob1
[ "$LONG" = no ] || coarrays cluster-2-helper --mca pml smartint
cluster_down coarrays
fault_done
