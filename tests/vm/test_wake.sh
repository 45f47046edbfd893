#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# smartint_wake, in a virtual machine with the module, with one of another version and with none.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/lib_vm.sh"

vm_begin
vm_module
vm_module_of_version 2 kmod-newer
vm_programs overlap_state waitforms
vm_run vm/wake 1500 bash "$SMARTINT_TOP/tests/vm/guest-wake"
summary
