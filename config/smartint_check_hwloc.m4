# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors

# SMARTINT_CHECK_HWLOC
# hwloc 2: the helper finds its place by it, and Open MPI's headers may ask for its own. Sets HWLOC_CFLAGS, HWLOC_LIBS.
AC_DEFUN([SMARTINT_CHECK_HWLOC], [
    AC_ARG_WITH([hwloc], [AS_HELP_STRING([--with-hwloc=PREFIX], [where hwloc is installed @<:@pkg-config@:>@])])
    AS_CASE([$with_hwloc],
        [no], [AC_MSG_ERROR([--without-hwloc is not possible: the helper finds its core by it; install hwloc (Debian: libhwloc-dev)])],
        [''|yes], [PKG_CHECK_MODULES([HWLOC], [hwloc >= 2.0], [],
                        [HWLOC_CFLAGS=; HWLOC_LIBS="-lhwloc"])],
        [
            AS_IF([test ! -r "$with_hwloc/include/hwloc.h"],
                  [AC_MSG_ERROR([--with-hwloc=$with_hwloc: there is no $with_hwloc/include/hwloc.h: name the prefix below which the development headers are, or leave the option out])])
            HWLOC_CFLAGS="-I$with_hwloc/include"
            SMARTINT_LIBDIR([$with_hwloc])
            HWLOC_LIBS="-L$smartint_dir -Wl,-rpath,$smartint_dir -lhwloc"
        ])
    smartint_save_CPPFLAGS="$CPPFLAGS"
    smartint_save_LIBS="$LIBS"
    CPPFLAGS="$CPPFLAGS $HWLOC_CFLAGS"
    LIBS="$HWLOC_LIBS $LIBS"
    AC_MSG_CHECKING([for hwloc 2 or later])
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[
#include <hwloc.h>
#if HWLOC_API_VERSION < 0x00020000
#error "too old"
#endif
]], [[
    hwloc_topology_t topology;
    return hwloc_topology_init(&topology);
]])], [AC_MSG_RESULT([yes])], [
        AC_MSG_RESULT([no])
        AC_MSG_ERROR([hwloc 2.0 or later with its headers was not found: install it (Debian: libhwloc-dev) or name it with --with-hwloc=PREFIX])
    ])
    CPPFLAGS="$smartint_save_CPPFLAGS"
    LIBS="$smartint_save_LIBS"
    AC_SUBST([HWLOC_CFLAGS])
    AC_SUBST([HWLOC_LIBS])
])
