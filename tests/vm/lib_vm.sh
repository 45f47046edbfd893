# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
# shellcheck shell=bash
# Sourced by the tests that run in virtual machines, on the host.
#
#   vm_begin                           prepares guests; ends the script with 77 where they can't be had
#   vm_programs NAME...                compiles NAME.c of this directory, tests/fault or tests/mpi, as $SMARTINT_BUILD/NAME
#   vm_busy                            and the library that run_mpi.sh -b wants
#   vm_module                          builds smartint.ko for the guest, as $SMARTINT_BUILD_DIR/kmod/smartint.ko
#   vm_module_of_version N DIRECTORY   one that says it has another version
#   vm_run LABEL SECONDS [OPTIONS] SCRIPT ARGS...    in the guest; what is wrong with the guest itself fails LABEL/guest
#
# Scripts in the guest (guest-*) record their results themselves, with harness/lib.sh, in the host's file.
# A limit in seconds only ends what hangs; it is far above what is needed without KVM.

VM_HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$VM_HERE/../harness/lib.sh"
export SMARTINT_TOP=${SMARTINT_TOP:-$(cd "$VM_HERE/../.." && pwd)}
: "${SMARTINT_BUILD_DIR:?a build directory}"
export SMARTINT_BUILD_DIR
export SMARTINT_BUILD=${SMARTINT_BUILD:-$SMARTINT_BUILD_DIR/mpi-programs}
export SMARTINT_COMPONENT_DIR=${SMARTINT_COMPONENT_DIR:-$(sed -n 's/^componentdir = //p' "$SMARTINT_BUILD_DIR/Makefile")}
export VM_DIR=${VM_DIR:-$SMARTINT_BUILD_DIR/vm}
VM_LOGS=${SMARTINT_LOGS:-$SMARTINT_BUILD/logs}
mkdir -p "$SMARTINT_BUILD" "$VM_LOGS" || exit 2

vm_begin() {
    "$VM_HERE/vm" prepare
    case $? in
    0) ;;
    77) exit 77 ;;
    *) fail vm/prepare "the guest can't be made"; exit 1 ;;
    esac
}

vm_compile() { # vm_compile OUTPUT COMPILER ARGUMENTS... SOURCE, if it is older
    local output=$SMARTINT_BUILD/$1 newest
    newest=$(ls -t "${*: -1}" "$VM_HERE"/*.h "$VM_HERE"/../mpi/*.h "$SMARTINT_TOP"/kmod/include/uapi/smartint/*.h | head -n 1)
    shift
    [ "$output" -nt "$newest" ] && return 0
    "$1" -std=c11 -O2 -g -Wall -Wextra -pthread -I"$VM_HERE/../mpi" -I"$SMARTINT_TOP/kmod/include/uapi" \
        -o "$output" "${@:2}" || { fail "vm/$(basename "$output")" "does not compile"; exit 1; }
}

vm_programs() {
    local name
    for name in "$@"; do
        if [ -e "$VM_HERE/$name.c" ]; then
            vm_compile "$name" gcc "$VM_HERE/$name.c"
        elif [ -e "$VM_HERE/../fault/$name.c" ]; then
            vm_compile "$name" "${SMARTINT_MPICC:-mpicc.openmpi}" "$VM_HERE/../fault/$name.c"
        else
            vm_compile "$name" "${SMARTINT_MPICC:-mpicc.openmpi}" "$VM_HERE/../mpi/$name.c"
        fi
    done
}
# What run_mpi.sh -b loads: there is no compiler in the guest.
vm_busy() { vm_compile libbusy.so "${SMARTINT_MPICC:-mpicc.openmpi}" -shared -fPIC "$VM_HERE/../mpi/busy.c"; }

# vm_make_module DIRECTORY LOG: what is in $SMARTINT_BUILD_DIR/DIRECTORY
vm_make_module() {
    local version check=
    version=$(cat "$VM_DIR/version")
    command -v sparse >/dev/null && check=C=2
    make -C "$SMARTINT_BUILD_DIR/$1" KDIR="$VM_DIR/kernel/usr/src/linux-headers-$version" W=1 $check >"$2" 2>&1 &&
        [ -e "$SMARTINT_BUILD_DIR/$1/smartint.ko" ]
}

# Once for all scripts of a run: the first one records what came of it.
vm_module() {
    local directory=$SMARTINT_BUILD_DIR/kmod log=$VM_LOGS/vm-module-build.log
    if [ -e "$log" ] && [ -z "$(find "$SMARTINT_TOP/kmod" -type f -newer "$directory/smartint.ko" 2>&1)" ]; then
        return
    fi
    rm -rf "$directory"
    cp -r "$SMARTINT_TOP/kmod" "$directory" || exit 1
    if ! vm_make_module kmod "$log"; then
        fail vm/module-is-built "see the log" "$log"
        exit 1
    fi
    pass vm/module-is-built
    if grep -qiE 'warning:|error:' "$log"; then
        fail vm/module-without-warnings "$(grep -m 1 -iE 'warning:|error:' "$log")" "$log"
    else
        pass vm/module-without-warnings
    fi
}

vm_module_of_version() {
    rm -rf "${SMARTINT_BUILD_DIR:?}/$2"
    cp -r "$SMARTINT_TOP/kmod" "$SMARTINT_BUILD_DIR/$2" &&
        sed -i "s/#define SMARTINT_UAPI_VERSION .*/#define SMARTINT_UAPI_VERSION $1/" \
            "$SMARTINT_BUILD_DIR/$2/include/uapi/smartint/smartint.h" &&
        vm_make_module "$2" "$VM_LOGS/vm-$2.log" || { fail "vm/$2" "it is not built"; exit 1; }
}

vm_run() {
    local label=$1 limit=$2 status before
    shift 2
    before=$(grep -c . "${SMARTINT_RESULTS:-/dev/null}")
    "$VM_HERE/vm" run -t "$((limit * ${SMARTINT_TIME_SCALE:-1}))" "$@" 2>"$VM_LOGS/vm-${label//\//-}.console"
    status=$?
    case $status in
    0) ;;
    99)
        tail -n 15 "$VM_LOGS/vm-${label//\//-}.console"
        fail "$label/guest" "it ended before the test did" "$VM_LOGS/vm-${label//\//-}.console"
        ;;
    *)  # a script that failed and recorded nothing
        if [ "$before" = "$(grep -c . "${SMARTINT_RESULTS:-/dev/null}")" ]; then
            fail "$label/script" "exit code $status"
        else
            LIB_FAILED=$((LIB_FAILED + 1))
        fi
        ;;
    esac
}
