#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# smartint over verbs (Soft-RoCE), in one virtual machine and between two.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/lib_vm.sh"
transports=${SMARTINT_VERBS:-$(is_long && echo rc ud || echo rc)}

vm_begin
vm_programs phases sizes modes threads waitforms stress rma_calls rma_random rma_strided
vm_busy
for part in 'harness check' 'unit test_rma_network'; do # nothing to do after the unit tests
    # shellcheck disable=SC2086
    set -- $part
    make -s -C "$SMARTINT_BUILD_DIR/tests/$1" "$2" >"$VM_LOGS/vm-verbs-make.log" 2>&1 ||
        { fail vm-verbs/build "$2 is not built" "$VM_LOGS/vm-verbs-make.log"; exit 1; }
done
# shellcheck disable=SC2086
{
    vm_run vm-verbs 1500 bash "$SMARTINT_TOP/tests/vm/guest-verbs" $transports
    # ud is slow between two emulated processors: it is tried there where it is asked for
    vm_run vm-two 1500 -2 bash "$SMARTINT_TOP/tests/vm/guest-two" ${SMARTINT_VERBS:-rc}
}
summary
