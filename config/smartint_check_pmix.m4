# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 the smartint authors

# SMARTINT_CHECK_PMIX
# PMIx: a job's files are registered with it for removal when the job ends. Optional: without it
# files are only removed by the ranks and the helper themselves.
# Sets PMIX_CPPFLAGS, PMIX_LIBS, smartint_have_pmix; config.h: SMARTINT_HAVE_PMIX.
AC_DEFUN([SMARTINT_CHECK_PMIX], [
    AC_ARG_WITH([pmix], [AS_HELP_STRING([--with-pmix=PREFIX], [where PMIx is installed, or no @<:@pkg-config@:>@])])
    smartint_have_pmix=no
    PMIX_CPPFLAGS=
    PMIX_LIBS=
    AS_CASE([$with_pmix],
        [no], [],
        [''|yes], [PKG_CHECK_MODULES([PMIXPC], [pmix >= 3.0],
                        [smartint_have_pmix=maybe
                         PMIX_CPPFLAGS="$PMIXPC_CFLAGS"
                         PMIX_LIBS="$PMIXPC_LIBS"], [:])],
        [
            AS_IF([test ! -r "$with_pmix/include/pmix.h"],
                  [AC_MSG_ERROR([--with-pmix=$with_pmix: there is no $with_pmix/include/pmix.h: name the prefix below which the development headers are, or leave the option out])])
            smartint_have_pmix=maybe
            PMIX_CPPFLAGS="-I$with_pmix/include"
            PMIX_LIBS="-L$with_pmix/lib -Wl,-rpath,$with_pmix/lib -lpmix"
        ])
    AS_IF([test $smartint_have_pmix = maybe], [
        smartint_save_CPPFLAGS="$CPPFLAGS"
        smartint_save_LIBS="$LIBS"
        CPPFLAGS="$CPPFLAGS $PMIX_CPPFLAGS"
        LIBS="$PMIX_LIBS $LIBS"
        AC_MSG_CHECKING([whether PMIx can remove files at a job's end])
        AC_LINK_IFELSE([AC_LANG_PROGRAM([[
#include <pmix.h>
static const char *key = PMIX_REGISTER_CLEANUP;
]], [[
    return key == 0 || PMIx_Job_control((void *)0, 0, (void *)0, 0, (void *)0, (void *)0) ? 0 : 1;
]])], [smartint_have_pmix=yes], [smartint_have_pmix=no])
        AC_MSG_RESULT([$smartint_have_pmix])
        CPPFLAGS="$smartint_save_CPPFLAGS"
        LIBS="$smartint_save_LIBS"
    ])
    AS_IF([test $smartint_have_pmix = yes],
          [AC_DEFINE([SMARTINT_HAVE_PMIX], [1], [Whether PMIx 3 or later is there])],
          [PMIX_CPPFLAGS=
           PMIX_LIBS=
           AS_CASE([$with_pmix], [''|no], [],
                   [AC_MSG_ERROR([--with-pmix=$with_pmix: no usable PMIx 3 or later there: install it (Debian: libpmix-dev) or leave the option out])])])
    AC_SUBST([PMIX_CPPFLAGS])
    AC_SUBST([PMIX_LIBS])
])
