# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
# shellcheck shell=bash
# Sourced by the tests that run in virtual machines, on the host.
#
#   vm_begin                           prepares guests; ends the script with 77 where they can't be had
#   vm_programs NAME...                compiles NAME.c of this directory or of tests/mpi, as $SMARTINT_BUILD/NAME
#   vm_module                          builds smartint.ko for the guest, as $SMARTINT_BUILD_DIR/kmod/smartint.ko
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

vm_programs() {
    local name source
    for name in "$@"; do
        source=$VM_HERE/$name.c
        [ -e "$source" ] || source=$VM_HERE/../mpi/$name.c
        case $source in
        */mpi/*) set -- "${SMARTINT_MPICC:-mpicc.openmpi}" ;;
        *) set -- gcc ;;
        esac
        "$1" -std=c11 -O2 -g -Wall -Wextra -pthread -I"$VM_HERE/../mpi" -I"$SMARTINT_TOP/kmod/include/uapi" \
            -o "$SMARTINT_BUILD/$name" "$source" || { fail "vm/$name" "does not compile"; exit 1; }
    done
}

vm_module() {
    local version log=$VM_LOGS/vm-module-build.log check=
    version=$(cat "$VM_DIR/version")
    rm -rf "$SMARTINT_BUILD_DIR/kmod"
    cp -r "$SMARTINT_TOP/kmod" "$SMARTINT_BUILD_DIR/kmod" || exit 1
    command -v sparse >/dev/null && check=C=2
    if make -C "$SMARTINT_BUILD_DIR/kmod" KDIR="$VM_DIR/kernel/usr/src/linux-headers-$version" W=1 $check >"$log" 2>&1 &&
        [ -e "$SMARTINT_BUILD_DIR/kmod/smartint.ko" ]; then
        pass vm/module-is-built
    else
        fail vm/module-is-built "see the log" "$log"
        exit 1
    fi
    if grep -qiE 'warning:|error:' "$log"; then
        fail vm/module-without-warnings "$(grep -m 1 -iE 'warning:|error:' "$log")" "$log"
    else
        pass "vm/module-without-warnings${check:+-sparse}"
    fi
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
