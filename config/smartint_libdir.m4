# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors

# SMARTINT_LIBDIR(PREFIX)
# Sets smartint_dir: where what is installed below PREFIX has its libraries.
AC_DEFUN([SMARTINT_LIBDIR], [
            smartint_dir="$1/lib"
            test -d "$smartint_dir" || smartint_dir="$1/lib64"
])
