# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors

# SMARTINT_CHECK_UCT
# UCX's lower layer, 1.13 and later. --with-ucx=PREFIX names one outside the system's directories.
# Sets UCT_CPPFLAGS and smartint_uct_version; nothing is linked with it: it is loaded when it is needed, under one of the
# names that SMARTINT_UCT_LIBRARY and SMARTINT_UCT_OTHER_LIBRARY are.
AC_DEFUN([SMARTINT_CHECK_UCT], [
    AC_ARG_WITH([ucx], [AS_HELP_STRING([--with-ucx=PREFIX], [where UCX is installed @<:@pkg-config@:>@])])
    UCT_CPPFLAGS=
    UCT_LIBS=
    smartint_dir=
    AS_CASE([$with_ucx],
        [no], [AC_MSG_ERROR([--without-ucx is not possible: messages between nodes travel over UCT; install UCX (Debian: libucx-dev)])],
        [''|yes], [PKG_CHECK_MODULES([UCT], [ucx-uct >= 1.13],
                        [UCT_CPPFLAGS="$UCT_CFLAGS"; UCT_LIBS="-luct -lucs"
                         smartint_dir=`$PKG_CONFIG --libs-only-L ucx-uct 2>/dev/null`
                         UCT_LIBS="$smartint_dir $UCT_LIBS"
                         smartint_dir=`$PKG_CONFIG --variable=libdir ucx-uct 2>/dev/null`],
                        [UCT_LIBS="-luct -lucs"])
                    smartint_uct=libuct.so.0
                    smartint_other_uct="${smartint_dir:+$smartint_dir/}libuct.so.0"],
        [
            AS_IF([test ! -r "$with_ucx/include/uct/api/uct.h"],
                  [AC_MSG_ERROR([--with-ucx=$with_ucx: there is no $with_ucx/include/uct/api/uct.h: name the prefix below which the development headers are, or leave the option out])])
            UCT_CPPFLAGS="-I$with_ucx/include"
            SMARTINT_LIBDIR([$with_ucx])
            UCT_LIBS="-L$smartint_dir -luct -lucs"
            smartint_uct=$smartint_dir/libuct.so.0
            smartint_other_uct=libuct.so.0
        ])

    smartint_save_CPPFLAGS="$CPPFLAGS"
    smartint_save_LIBS="$LIBS"
    CPPFLAGS="$CPPFLAGS $UCT_CPPFLAGS"
    LIBS="$UCT_LIBS $LIBS"
    AC_CHECK_HEADER([uct/api/uct.h], [],
                    [AC_MSG_ERROR([uct/api/uct.h was not found: install UCX 1.13 or later with its development headers (Debian: libucx-dev) or name it with --with-ucx=PREFIX])])
    AC_COMPUTE_INT([smartint_uct_major], [UCT_VERNO_MAJOR], [@%:@include <uct/api/uct.h>
@%:@include <uct/api/version.h>], [smartint_uct_major=0])
    AC_COMPUTE_INT([smartint_uct_minor], [UCT_VERNO_MINOR], [@%:@include <uct/api/uct.h>
@%:@include <uct/api/version.h>], [smartint_uct_minor=0])
    smartint_uct_version="$smartint_uct_major.$smartint_uct_minor"
    AS_IF([test "$smartint_uct_major" -lt 1 ||
           { test "$smartint_uct_major" -eq 1 && test "$smartint_uct_minor" -lt 13; }],
          [AC_MSG_ERROR([UCX $smartint_uct_version was found, but smartint needs 1.13 or later: install a newer one or name it with --with-ucx=PREFIX])])
    AC_MSG_CHECKING([whether a program links with UCT])
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <uct/api/uct.h>]],
                                    [[return uct_query_components((void *)0, (void *)0) + uct_iface_event_arm((void *)0, 0);]])],
                   [AC_MSG_RESULT([yes])],
                   [AC_MSG_RESULT([no])
                    AC_MSG_ERROR([no program links with $UCT_LIBS: install UCX's libraries beside its headers, or name them with --with-ucx=PREFIX (config.log has the linker's words)])])
    CPPFLAGS="$smartint_save_CPPFLAGS"
    LIBS="$smartint_save_LIBS"
    AC_DEFINE_UNQUOTED([SMARTINT_UCX_VERSION], ["$smartint_uct_version"],
                       [Version of the UCX headers the engine was built with])
    AC_DEFINE_UNQUOTED([SMARTINT_UCT_LIBRARY], ["$smartint_uct"], [What is loaded of UCX])
    AC_DEFINE_UNQUOTED([SMARTINT_UCT_OTHER_LIBRARY], ["$smartint_other_uct"], [And where that is not found])
    AC_SUBST([UCT_CPPFLAGS])
])
