# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors

# SMARTINT_CHECK_GTEST
# GoogleTest, for tests/unit and tests/race; without it `make check` runs the load tests only.
# Sets GTEST_CPPFLAGS, GTEST_LIBS, GTEST_MAIN_LIBS, smartint_have_gtest and the conditional
# SMARTINT_GTEST.
AC_DEFUN([SMARTINT_CHECK_GTEST], [
    AC_ARG_WITH([gtest], [AS_HELP_STRING([--with-gtest=PREFIX], [where GoogleTest is installed, or no @<:@pkg-config@:>@])])
    smartint_have_gtest=no
    GTEST_CPPFLAGS=
    GTEST_LIBS=
    AS_CASE([$with_gtest],
        [no], [],
        [''|yes], [PKG_CHECK_MODULES([GTESTPC], [gtest],
                        [GTEST_CPPFLAGS="$GTESTPC_CFLAGS"; GTEST_LIBS="$GTESTPC_LIBS"],
                        [GTEST_LIBS="-lgtest"])],
        [
            AS_IF([test ! -r "$with_gtest/include/gtest/gtest.h"],
                  [AC_MSG_ERROR([--with-gtest=$with_gtest: there is no $with_gtest/include/gtest/gtest.h: name the prefix below which the development headers are, or leave the option out])])
            GTEST_CPPFLAGS="-I$with_gtest/include"
            SMARTINT_LIBDIR([$with_gtest])
            GTEST_LIBS="-L$smartint_dir -Wl,-rpath,$smartint_dir -lgtest"
        ])
    GTEST_MAIN_LIBS="-lgtest_main"
    AS_IF([test "$with_gtest" != no], [
        AC_LANG_PUSH([C++])
        smartint_save_CXXFLAGS="$CXXFLAGS"
        smartint_save_CPPFLAGS="$CPPFLAGS"
        smartint_save_LIBS="$LIBS"
        CXXFLAGS="$CXXFLAGS $SMARTINT_CXX_STD -pthread"
        CPPFLAGS="$CPPFLAGS $GTEST_CPPFLAGS"
        LIBS="$GTEST_MAIN_LIBS $GTEST_LIBS $LIBS"
        AC_MSG_CHECKING([for GoogleTest])
        AC_LINK_IFELSE([AC_LANG_SOURCE([[
#include <gtest/gtest.h>
TEST(probe, links) { EXPECT_EQ(1, 1); }
]])], [smartint_have_gtest=yes])
        AC_MSG_RESULT([$smartint_have_gtest])
        CXXFLAGS="$smartint_save_CXXFLAGS"
        CPPFLAGS="$smartint_save_CPPFLAGS"
        LIBS="$smartint_save_LIBS"
        AC_LANG_POP([C++])
        AS_IF([test $smartint_have_gtest = no],
              [AS_CASE([$with_gtest],
                       ['']   , [AC_MSG_WARN([GoogleTest was not found: make check runs without unit and race tests; install it (Debian: libgtest-dev)])],
                       [AC_MSG_ERROR([--with-gtest=$with_gtest: no usable GoogleTest: install it (Debian: libgtest-dev) or leave the option out])])])
    ])
    AC_SUBST([GTEST_CPPFLAGS])
    AC_SUBST([GTEST_LIBS])
    AC_SUBST([GTEST_MAIN_LIBS])
    AM_CONDITIONAL([SMARTINT_GTEST], [test $smartint_have_gtest = yes])
])
