# -*- shell-script -*-
#
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors

# MCA_ompi_pml_smartint_CONFIG([action-if-can-compile], [action-if-can't-compile])
# pml/smartint: two-sided communication; it stands on common/smartint and travels over the BML.
# UCX, hwloc and the C++20 compiler were probed before, by configure.ac.
AC_DEFUN([MCA_ompi_pml_smartint_CONFIG], [
    AC_CONFIG_FILES([ompi/mca/pml/smartint/Makefile])
    AS_IF([test -r "$srcdir/ompi/mca/pml/smartint/pml_smartint_component.cc"],
          [$1], [$2])
])
