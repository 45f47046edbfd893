# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors

# SMARTINT_SANITIZERS
# --enable-asan, --enable-ubsan, --enable-tsan. asan and ubsan go together, tsan goes alone.
# Sets SMARTINT_SANITIZE_FLAGS (compiling and linking) and smartint_sanitizers (for the summary).
AC_DEFUN([SMARTINT_SANITIZERS], [
    AC_ARG_ENABLE([asan],
                  [AS_HELP_STRING([--enable-asan], [build with the address sanitizer @<:@no@:>@])],
                  [], [enable_asan=no])
    AC_ARG_ENABLE([ubsan],
                  [AS_HELP_STRING([--enable-ubsan],
                                  [build with the undefined behaviour sanitizer @<:@no@:>@])],
                  [], [enable_ubsan=no])
    AC_ARG_ENABLE([tsan],
                  [AS_HELP_STRING([--enable-tsan], [build with the thread sanitizer @<:@no@:>@])],
                  [], [enable_tsan=no])

    AS_IF([test "$enable_tsan" = yes && test "$enable_asan" = yes],
          [AC_MSG_ERROR([--enable-tsan and --enable-asan exclude each other: configure two build directories])])

    SMARTINT_SANITIZE_FLAGS=
    smartint_sanitizers=
    AS_IF([test "$enable_asan" = yes],
          [_SMARTINT_SANITIZER([asan], [-fsanitize=address])])
    AS_IF([test "$enable_ubsan" = yes],
          [_SMARTINT_SANITIZER([ubsan], [-fsanitize=undefined -fno-sanitize-recover=undefined])])
    AS_IF([test "$enable_tsan" = yes],
          [_SMARTINT_SANITIZER([tsan], [-fsanitize=thread])])
    AS_IF([test -n "$SMARTINT_SANITIZE_FLAGS"],
          [SMARTINT_SANITIZE_FLAGS="$SMARTINT_SANITIZE_FLAGS -fno-omit-frame-pointer -g"],
          [smartint_sanitizers=none])
    AC_SUBST([SMARTINT_SANITIZE_FLAGS])

    # A sanitized shared object leaves the run-time library's symbols to the program (clang).
    SMARTINT_NO_UNDEFINED="-Wl,-z,defs"
    AS_IF([test "$smartint_sanitizers" != none], [SMARTINT_NO_UNDEFINED=])
    AC_SUBST([SMARTINT_NO_UNDEFINED])
])

# _SMARTINT_SANITIZER(NAME, FLAGS)
AC_DEFUN([_SMARTINT_SANITIZER], [
    AC_LANG_PUSH([C++])
    AC_MSG_CHECKING([whether $CXX links with $2])
    smartint_save_CXXFLAGS="$CXXFLAGS"
    CXXFLAGS="$CXXFLAGS $2"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])],
                   [AC_MSG_RESULT([yes])],
                   [AC_MSG_RESULT([no])
                    AC_MSG_ERROR([--enable-$1: $CXX does not link with $2: install the compiler's sanitizer library or leave --enable-$1 out])])
    CXXFLAGS="$smartint_save_CXXFLAGS"
    AC_LANG_POP([C++])
    SMARTINT_SANITIZE_FLAGS="$SMARTINT_SANITIZE_FLAGS $2"
    smartint_sanitizers="$smartint_sanitizers $1"
])
