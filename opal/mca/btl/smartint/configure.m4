# -*- shell-script -*-
#
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors

# MCA_opal_btl_smartint_CONFIG([action-if-can-compile], [action-if-can't-compile])
# btl/smartint: the transport; it stands on common/smartint.
# UCX, hwloc and the C++20 compiler were probed before, by configure.ac.
AC_DEFUN([MCA_opal_btl_smartint_CONFIG], [
    AC_CONFIG_FILES([opal/mca/btl/smartint/Makefile])
    AS_IF([test -r "$srcdir/opal/mca/btl/smartint/btl_smartint_component.cc"],
          [$1], [$2])
])
