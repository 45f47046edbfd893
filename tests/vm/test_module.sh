#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# The kernel module, built for Debian's kernel and tried in a virtual machine.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/lib_vm.sh"

vm_begin
vm_module
vm_programs module_cases module_races
vm_run vm-module 400 bash "$SMARTINT_TOP/tests/vm/guest-module"
summary
