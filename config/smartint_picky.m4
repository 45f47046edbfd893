# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors

# _SMARTINT_TRY_FLAG(VARIABLE, FLAG)
# Adds FLAG to VARIABLE where the C++ compiler takes it without a word.
AC_DEFUN([_SMARTINT_TRY_FLAG], [
    AS_VAR_PUSHDEF([smartint_cv], [smartint_cv_cxx_flag_$2])
    AC_LANG_PUSH([C++])
    AC_CACHE_CHECK([whether $CXX takes $2], [smartint_cv], [
        smartint_save_CXXFLAGS="$CXXFLAGS"
        CXXFLAGS="$CXXFLAGS -Werror $2"
        AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])],
                       [AS_VAR_SET([smartint_cv], [yes])], [AS_VAR_SET([smartint_cv], [no])])
        CXXFLAGS="$smartint_save_CXXFLAGS"
    ])
    AC_LANG_POP([C++])
    AS_VAR_IF([smartint_cv], [yes], [$1="$$1 $2"])
    AS_VAR_POPDEF([smartint_cv])
])

# SMARTINT_PICKY
# The warnings, and the code generation options that shared objects under an Open MPI need.
#   SMARTINT_WARN_CXXFLAGS, SMARTINT_WARN_CFLAGS   warnings, and -Werror by --enable-werror
#   SMARTINT_CODE_CXXFLAGS  hidden by default: Open MPI opens components RTLD_GLOBAL; no STB_GNU_UNIQUE
#                           symbol: one of them would keep the object from being unloaded
#   SMARTINT_ENGINE_CXXFLAGS     what the engine takes beyond that
#   SMARTINT_COMPONENT_CXXFLAGS  what components take beyond that
AC_DEFUN([SMARTINT_PICKY], [
    AC_ARG_ENABLE([werror],
                  [AS_HELP_STRING([--enable-werror], [warnings are errors @<:@no@:>@])],
                  [], [enable_werror=no])
    AC_ARG_ENABLE([debug],
                  [AS_HELP_STRING([--enable-debug], [assertions on, no optimization @<:@no@:>@])],
                  [], [enable_debug=no])

    SMARTINT_WARN_CXXFLAGS=
    m4_foreach_w([smartint_flag],
                 [-Wall -Wextra -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-qual
                  -Wno-missing-field-initializers],
                 [_SMARTINT_TRY_FLAG([SMARTINT_WARN_CXXFLAGS], smartint_flag)])
    SMARTINT_WARN_CFLAGS="-Wall -Wextra"
    AS_IF([test "$enable_werror" = yes], [
        SMARTINT_WARN_CXXFLAGS="$SMARTINT_WARN_CXXFLAGS -Werror"
        SMARTINT_WARN_CFLAGS="$SMARTINT_WARN_CFLAGS -Werror"
    ])

    SMARTINT_CODE_CXXFLAGS=
    _SMARTINT_TRY_FLAG([SMARTINT_CODE_CXXFLAGS], [-fvisibility=hidden])
    _SMARTINT_TRY_FLAG([SMARTINT_CODE_CXXFLAGS], [-fvisibility-inlines-hidden])
    _SMARTINT_TRY_FLAG([SMARTINT_CODE_CXXFLAGS], [-fno-gnu-unique])

    # The engine is one library for all components: its functions are visible (a linker map says which
    # names leave the library), yet calls among them are bound inside it.
    SMARTINT_ENGINE_CXXFLAGS=
    _SMARTINT_TRY_FLAG([SMARTINT_ENGINE_CXXFLAGS], [-fvisibility=default])
    _SMARTINT_TRY_FLAG([SMARTINT_ENGINE_CXXFLAGS], [-fno-semantic-interposition])

    SMARTINT_COMPONENT_CXXFLAGS=
    AS_IF([test "$enable_ubsan" != yes],
          [_SMARTINT_TRY_FLAG([SMARTINT_COMPONENT_CXXFLAGS], [-fno-rtti])])

    AC_SUBST([SMARTINT_WARN_CXXFLAGS])
    AC_SUBST([SMARTINT_WARN_CFLAGS])
    AC_SUBST([SMARTINT_CODE_CXXFLAGS])
    AC_SUBST([SMARTINT_ENGINE_CXXFLAGS])
    AC_SUBST([SMARTINT_COMPONENT_CXXFLAGS])
])
