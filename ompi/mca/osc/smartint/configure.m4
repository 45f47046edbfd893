# -*- shell-script -*-
#
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors

# MCA_ompi_osc_smartint_CONFIG([action-if-can-compile], [action-if-can't-compile])
# osc/smartint: one-sided communication; it stands on common/smartint.
# UCX, hwloc and the C++20 compiler were probed before, by configure.ac.
AC_DEFUN([MCA_ompi_osc_smartint_CONFIG], [
    AC_CONFIG_FILES([ompi/mca/osc/smartint/Makefile])
    AS_IF([test -r "$srcdir/ompi/mca/osc/smartint/osc_smartint_component.cc"],
          [$1], [$2])
])
