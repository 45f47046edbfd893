# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors

# _SMARTINT_TRY_MPICC
# Takes $smartint_try as OMPI_MPICC if it is there: the first that is Open MPI's, for a system that has several MPIs
# lets the plain name mean any of them. Where none is Open MPI's the first, so that what follows can say so.
AC_DEFUN([_SMARTINT_TRY_MPICC], [
    AS_IF([test $smartint_mpicc_found = no && test -n "$smartint_try" && test -x "$smartint_try"], [
        test -n "$OMPI_MPICC" || OMPI_MPICC="$smartint_try"
        AS_CASE([`"$smartint_try" --showme:version 2>/dev/null`],
                [*"Open MPI "*], [OMPI_MPICC="$smartint_try"; smartint_mpicc_found=yes])
    ])
])

# SMARTINT_CHECK_OMPI
# Finds the Open MPI that the components are built for, and refuses one they cannot be built for.
#   OMPI_CPPFLAGS   its development headers, as system headers
#   OMPI_CXXFLAGS   an option its inline functions need
#   OMPI_LIBS       libmpi and what it stands on; OPAL_LIBS: libopen-pal
#   OMPI_MPICC, OMPI_MPIRUN, OMPI_INFO, OMPI_LIBDIR
#   config.h        SMARTINT_OMPI_MAJOR, _MINOR, _RELEASE, _VERSION
AC_DEFUN([SMARTINT_CHECK_OMPI], [
    AC_ARG_WITH([openmpi],
                [AS_HELP_STRING([--with-openmpi=WHERE],
                                [Open MPI's prefix, or its mpicc @<:@mpicc in PATH, mpicc.openmpi where that is another MPI's@:>@])])

    OMPI_MPICC=
    smartint_mpicc_found=no
    AS_CASE([$with_openmpi],
        [no], [AC_MSG_ERROR([--without-openmpi makes no sense: the components are Open MPI's; leave it out or name an Open MPI with --with-openmpi=PREFIX])],
        [''|yes], [
            AC_MSG_CHECKING([for Open MPI's mpicc in PATH])
            for smartint_name in mpicc mpicc.openmpi; do
                smartint_try=`command -v $smartint_name 2>/dev/null`
                _SMARTINT_TRY_MPICC
            done
            AC_MSG_RESULT([${OMPI_MPICC:-no}])
            AS_IF([test -z "$OMPI_MPICC"],
                  [AC_MSG_ERROR([no mpicc and no mpicc.openmpi in PATH: install Open MPI's development package (Debian: libopenmpi-dev) or name it with --with-openmpi=PREFIX])])
        ],
        [
            AC_MSG_CHECKING([for mpicc in $with_openmpi])
            AS_IF([test -d "$with_openmpi"], [
                for smartint_name in mpicc mpicc.openmpi; do
                    smartint_try="$with_openmpi/bin/$smartint_name"
                    _SMARTINT_TRY_MPICC
                done
            ], [
                AS_CASE([$with_openmpi],
                        [*/*], [smartint_try="$with_openmpi"],
                        [smartint_try=`command -v "$with_openmpi" 2>/dev/null`])
                _SMARTINT_TRY_MPICC
            ])
            AC_MSG_RESULT([${OMPI_MPICC:-no}])
            AS_IF([test -z "$OMPI_MPICC"],
                  [AC_MSG_ERROR([--with-openmpi=$with_openmpi is neither an Open MPI prefix with bin/mpicc nor an mpicc: give one of the two])])
        ])

    # Whose wrapper is it, and which version?
    AC_MSG_CHECKING([which MPI $OMPI_MPICC belongs to])
    smartint_showme=`"$OMPI_MPICC" --showme:version 2>/dev/null | head -n 1`
    AS_CASE([$smartint_showme],
            [*"Open MPI "*], [],
            [AC_MSG_RESULT([not Open MPI])
             AC_MSG_ERROR([$OMPI_MPICC is not Open MPI's compiler wrapper (it does not answer --showme:version): name Open MPI's with --with-openmpi=PREFIX])])
    [smartint_showme=`echo "$smartint_showme" | sed 's/.*Open MPI v*\([0-9][0-9.]*\).*/\1/'`]
    AC_MSG_RESULT([Open MPI $smartint_showme])

    SMARTINT_OMPI_BRANCH=`echo "$smartint_showme" | cut -d. -f1,2`
    AS_CASE([$SMARTINT_OMPI_BRANCH],
            [4.1], [],
            [AC_MSG_ERROR([Open MPI $smartint_showme was found, but smartint supports the 4.1 branch only (its component interfaces change between branches): name an Open MPI 4.1 with --with-openmpi=PREFIX])])

    # The development headers: Open MPI installs them only when it was configured to.
    AC_MSG_CHECKING([for Open MPI's development headers])
    smartint_incdirs=`"$OMPI_MPICC" --showme:incdirs 2>/dev/null`
    smartint_mpi_dir=
    smartint_devel_dir=
    for smartint_dir in $smartint_incdirs; do
        AS_IF([test -z "$smartint_mpi_dir" && test -r "$smartint_dir/mpi.h"],
              [smartint_mpi_dir="$smartint_dir"])
        for smartint_try in "$smartint_dir" "$smartint_dir/openmpi"; do
            AS_IF([test -z "$smartint_devel_dir" && test -r "$smartint_try/opal_config.h" &&
                   test -r "$smartint_try/opal/mca/btl/btl.h" &&
                   test -r "$smartint_try/ompi/mca/pml/pml.h"],
                  [smartint_devel_dir="$smartint_try"])
        done
    done
    AS_IF([test -z "$smartint_mpi_dir"],
          [AC_MSG_RESULT([no mpi.h])
           AC_MSG_ERROR([$OMPI_MPICC names no directory with mpi.h: install Open MPI's development package (Debian: libopenmpi-dev)])])
    AS_IF([test -z "$smartint_devel_dir"],
          [AC_MSG_RESULT([no])
           AC_MSG_ERROR([Open MPI $smartint_showme at $smartint_mpi_dir has no development headers (opal/mca/btl/btl.h): install one that was configured with --with-devel-headers (Debian's libopenmpi-dev was)])])
    AC_MSG_RESULT([$smartint_devel_dir])
    OMPI_CPPFLAGS="-isystem $smartint_mpi_dir -isystem $smartint_devel_dir"
    # An Open MPI that was built with its own libevent and hwloc has their headers in directories of their own.
    for smartint_dir in $smartint_incdirs; do
        AS_CASE([$smartint_dir], ["$smartint_mpi_dir"|"$smartint_devel_dir"], [],
                [OMPI_CPPFLAGS="$OMPI_CPPFLAGS -isystem $smartint_dir"])
    done

    # Do wrapper and headers belong together?
    smartint_save_CPPFLAGS="$CPPFLAGS"
    CPPFLAGS="$CPPFLAGS $OMPI_CPPFLAGS"
    AC_COMPUTE_INT([SMARTINT_OMPI_MAJOR], [OMPI_MAJOR_VERSION], [@%:@include <opal_config.h>], [SMARTINT_OMPI_MAJOR=-1])
    AC_COMPUTE_INT([SMARTINT_OMPI_MINOR], [OMPI_MINOR_VERSION], [@%:@include <opal_config.h>], [SMARTINT_OMPI_MINOR=-1])
    AC_COMPUTE_INT([SMARTINT_OMPI_RELEASE], [OMPI_RELEASE_VERSION], [@%:@include <opal_config.h>], [SMARTINT_OMPI_RELEASE=-1])
    AS_IF([test "$SMARTINT_OMPI_MAJOR.$SMARTINT_OMPI_MINOR" != "$SMARTINT_OMPI_BRANCH"],
          [AC_MSG_ERROR([$OMPI_MPICC says Open MPI $smartint_showme but $smartint_devel_dir/opal_config.h says $SMARTINT_OMPI_MAJOR.$SMARTINT_OMPI_MINOR: two installations are mixed; name one of them with --with-openmpi=PREFIX])])

    # They are C; are they C++, too?
    AC_LANG_PUSH([C++])
    smartint_save_CXXFLAGS="$CXXFLAGS"
    CXXFLAGS="$CXXFLAGS $SMARTINT_CXX_STD"
    AC_MSG_CHECKING([whether $CXX compiles Open MPI's component headers])
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
extern "C" {
#include <opal_config.h>
#include <opal/sys/atomic.h>
#include <opal/mca/mca.h>
#include <opal/mca/btl/btl.h>
}
]], [[
    return sizeof(mca_btl_base_module_t) == 0;
]])], [AC_MSG_RESULT([yes])], [
        AC_MSG_RESULT([no])
        AC_MSG_ERROR([$CXX does not compile opal/mca/btl/btl.h of Open MPI $smartint_showme as C++20 (config.log has the compiler's words): install the headers it misses, or use another compiler])
    ])
    CXXFLAGS="$smartint_save_CXXFLAGS"
    AC_LANG_POP([C++])

    # Libraries and programs.
    OMPI_LIBDIR=
    smartint_ldflags=
    for smartint_dir in `"$OMPI_MPICC" --showme:libdirs 2>/dev/null`; do
        test -n "$OMPI_LIBDIR" || OMPI_LIBDIR="$smartint_dir"
        smartint_ldflags="$smartint_ldflags -L$smartint_dir"
    done
    OMPI_LIBS="$smartint_ldflags -lmpi -lopen-rte -lopen-pal"
    OPAL_LIBS="$smartint_ldflags -lopen-pal"
    AC_MSG_CHECKING([whether a program links with Open MPI])
    smartint_save_LIBS="$LIBS"
    LIBS="$OMPI_LIBS $LIBS"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[
void opal_progress(void);
int MPI_Finalize(void);
]], [[
    opal_progress();
    return MPI_Finalize();
]])], [AC_MSG_RESULT([yes])], [
        AC_MSG_RESULT([no])
        AC_MSG_ERROR([no program links with $OMPI_LIBS: install Open MPI's libraries beside its headers (config.log has the linker's words)])
    ])

    # Free lists swap two words at once where Open MPI was configured to; the compiler may need an option.
    AC_LANG_PUSH([C++])
    AC_MSG_CHECKING([for the option that Open MPI's free lists need])
    OMPI_CXXFLAGS=unknown
    smartint_save_CXXFLAGS="$CXXFLAGS"
    for smartint_flag in '' -mcx16; do
        CXXFLAGS="$smartint_save_CXXFLAGS $SMARTINT_CXX_STD $smartint_flag"
        AC_LINK_IFELSE([AC_LANG_PROGRAM([[
extern "C" {
#include <opal_config.h>
#include <opal/class/opal_lifo.h>
}
]], [[
    opal_lifo_t lifo;
    opal_list_item_t item;
    return opal_lifo_pop_atomic(&lifo) == opal_lifo_push_atomic(&lifo, &item);
]])], [OMPI_CXXFLAGS="$smartint_flag"])
        test "$OMPI_CXXFLAGS" = unknown || break
    done
    CXXFLAGS="$smartint_save_CXXFLAGS"
    AC_LANG_POP([C++])
    AS_IF([test "$OMPI_CXXFLAGS" = unknown],
          [AC_MSG_RESULT([not found])
           AC_MSG_ERROR([no C++ program with Open MPI's free lists links with $CXX: its 128-bit compare and swap needs another compiler (config.log has the linker's words)])])
    AC_MSG_RESULT([${OMPI_CXXFLAGS:-none}])
    LIBS="$smartint_save_LIBS"
    CPPFLAGS="$smartint_save_CPPFLAGS"

    smartint_bindir=`AS_DIRNAME(["$OMPI_MPICC"])`
    AS_CASE([$OMPI_MPICC],
            [*.openmpi], [smartint_suffix=".openmpi"], [smartint_suffix=])
    # The launcher beside the compiler, and of the same name: where mpirun means another MPI's although mpicc does not
    # (they can be chosen apart), the one that bears Open MPI's name.
    OMPI_MPIRUN="$smartint_bindir/mpirun$smartint_suffix"
    AC_MSG_CHECKING([for Open MPI's mpirun])
    AS_CASE([`"$OMPI_MPIRUN" --version 2>/dev/null`],
            [*"Open MPI"*], [],
            [test ! -x "$smartint_bindir/mpirun.openmpi" || OMPI_MPIRUN="$smartint_bindir/mpirun.openmpi"])
    AC_MSG_RESULT([$OMPI_MPIRUN])
    OMPI_INFO="$smartint_bindir/ompi_info"
    AS_IF([test ! -x "$OMPI_MPIRUN"],
          [AC_MSG_WARN([$smartint_bindir has no mpirun: the MPI tests will not run; install it (Debian: openmpi-bin)])])

    SMARTINT_OMPI_VERSION="$SMARTINT_OMPI_MAJOR.$SMARTINT_OMPI_MINOR.$SMARTINT_OMPI_RELEASE"
    AC_DEFINE_UNQUOTED([SMARTINT_OMPI_MAJOR], [$SMARTINT_OMPI_MAJOR],
                       [Major version of the Open MPI the components were built for])
    AC_DEFINE_UNQUOTED([SMARTINT_OMPI_MINOR], [$SMARTINT_OMPI_MINOR],
                       [Minor version of the Open MPI the components were built for])
    AC_DEFINE_UNQUOTED([SMARTINT_OMPI_RELEASE], [$SMARTINT_OMPI_RELEASE],
                       [Release of the Open MPI the components were built for])
    AC_DEFINE_UNQUOTED([SMARTINT_OMPI_VERSION], ["$SMARTINT_OMPI_VERSION"],
                       [Full version of the Open MPI the components were built for])
    AC_SUBST([OMPI_CPPFLAGS])
    AC_SUBST([OMPI_CXXFLAGS])
    AC_SUBST([OMPI_LIBS])
    AC_SUBST([OPAL_LIBS])
    AC_SUBST([OMPI_LIBDIR])
    AC_SUBST([OMPI_MPICC])
    AC_SUBST([OMPI_MPIRUN])
    AC_SUBST([OMPI_INFO])
    AC_SUBST([SMARTINT_OMPI_VERSION])
])
