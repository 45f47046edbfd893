# -*- shell-script -*-
#
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors

# MCA_opal_common_smartint_CONFIG([action-if-can-compile], [action-if-can't-compile])
# common/smartint: the engine's shared library, which the other components need.
# UCX, hwloc and the C++20 compiler were probed before, by configure.ac.
AC_DEFUN([MCA_opal_common_smartint_CONFIG], [
    AC_CONFIG_FILES([opal/mca/common/smartint/Makefile])
    AS_IF([test -r "$srcdir/opal/mca/common/smartint/common_smartint_mca.cc"],
          [$1], [$2])
])
