#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# What configure refuses, it refuses with one sentence that names the remedy, and it leaves no
# Makefile behind. What the tests have in common (compilers, tools) is not found out each time but
# taken from this build's config.log. One of each kind; all with SMARTINT_LONG=yes.

work=$(mktemp -d "${TMPDIR:-/tmp}/smc.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
failed=0

if test -f "$top_srcdir/config.status"; then
    echo "SKIP: the source directory is configured itself, so no other directory can be"
    exit 77
fi
if ! test -r "$top_builddir/config.log"; then
    echo "SKIP: no config.log in $top_builddir"
    exit 77
fi

# Without the words of the environment, which need not be the same here, and without what the
# tests ask about: the C++20 option.
sed -n '/^## Cache variables/,/^## Output variables/p' "$top_builddir/config.log" |
    sed -n '/^[a-z_]*_cv_[A-Za-z0-9_]*=/p' | grep -v -e '^ac_cv_env_' -e '^smartint_cv_cxx_std=' >"$work/cache"
if ! test -s "$work/cache"; then
    echo "SKIP: no cache variables in config.log"
    exit 77
fi
std=$(sed -n "s/^smartint_cv_cxx_std='\{0,1\}\([^']*\).*/\1/p" "$top_builddir/config.log" | head -n 1)

# configured NAME ARGUMENTS...: configure in a directory of its own; output in $work/NAME/log.
configured()
{
    name=$1
    shift
    mkdir "$work/$name" || exit 1
    cp "$work/cache" "$work/$name/cache"
    test "$name" = cxx || echo "smartint_cv_cxx_std=$std" >>"$work/$name/cache"
    (
        cd "$work/$name" || exit 1
        unset MAKEFLAGS MFLAGS MAKELEVEL CFLAGS CXXFLAGS CPPFLAGS LDFLAGS
        unset OMPI_CPPFLAGS OMPI_CFLAGS OMPI_LDFLAGS OMPI_LIBS OMPI_CC # mpicc listens to them
        CONFIG_SITE=/dev/null
        export CONFIG_SITE
        sh "$top_srcdir/configure" --cache-file=./cache --with-openmpi="$WRAPPER_CC" CXX="$CXX" "$@" >log 2>&1
    )
}

# refuses NAME SENTENCE ARGUMENTS...: SENTENCE is a regular expression for the whole of it.
refuses()
{
    name=$1
    sentence=$2
    shift 2
    configured "$name" "$@"
    status=$?
    log=$work/$name/log
    why=
    test $status -ne 0 || why="it ended with 0"
    test "$(grep -c '^configure: error: ' "$log")" -eq 1 || why="${why:-not one sentence}"
    grep -q "^configure: error: $sentence\$" "$log" || why="${why:-another sentence}"
    # the sentence is the end of it, but for autoconf's pointer to config.log
    tail -n 2 "$log" | grep -q '^configure: error: ' || why="${why:-more behind the sentence}"
    test -z "$(find "$work/$name" -name Makefile -print -o -name config.status -print)" ||
        why="${why:-files were made}"
    if test -z "$why"; then
        echo "PASS: $name: $(sed -n 's/^configure: error: //p' "$log" | cut -c 1-150)"
    else
        echo "FAIL: $name: $why:"
        tail -n 5 "$log" | sed 's/^/      /'
        failed=1
    fi
}

# One of a kind that there is another of.
also_refuses()
{
    test "${SMARTINT_LONG:-no}" != yes || refuses "$@"
}

# ---- wrapper compilers that are none of ours

# wrapper NAME VERSION-LINE [mpicc.openmpi]: answers --showme:version with the line, or nothing at all
wrapper()
{
    mkdir -p "$work/$1/bin" || exit 1
    {
        echo '#!/bin/sh'
        echo 'case "$1" in'
        test -z "$2" || echo "--showme:version) echo '$2'; exit 0 ;;"
        echo '*) echo "unrecognized option" >&2; exit 1 ;;'
        echo 'esac'
    } >"$work/$1/bin/${3:-mpicc}"
    chmod +x "$work/$1/bin/${3:-mpicc}"
}
wrapper five "$work/five/bin/mpicc: Open MPI 5.0.1 (Language: C)"
wrapper forty "$work/forty/bin/mpicc: Open MPI 4.10.0 (Language: C)"
wrapper other ''
wrapper both ''
wrapper both "mpicc.openmpi: Open MPI 5.0.2 (Language: C)" mpicc.openmpi
wrapper plain "mpicc: Open MPI 5.0.3 (Language: C)"
wrapper plain "mpicc.openmpi: Open MPI 5.0.4 (Language: C)" mpicc.openmpi
mkdir "$work/empty" || exit 1

refuses version_5 'Open MPI 5\.0\.1 was found, but smartint supports the 4\.1 branch only.*--with-openmpi=PREFIX' \
    --with-openmpi="$work/five"
also_refuses version_4_10 'Open MPI 4\.10\.0 was found, but smartint supports the 4\.1 branch only.*' \
    --with-openmpi="$work/forty/bin/mpicc"
refuses not_open_mpi ".*/other/bin/mpicc is not Open MPI's compiler wrapper.*--with-openmpi=PREFIX" \
    --with-openmpi="$work/other"
# of two the plain name, unless it means another MPI's
refuses of_another_mpi 'Open MPI 5\.0\.2 was found, .*' --with-openmpi="$work/both"
also_refuses plain_name 'Open MPI 5\.0\.3 was found, .*' --with-openmpi="$work/plain"
also_refuses of_another_mpi_in_path 'Open MPI 5\.0\.2 was found, .*' --with-openmpi=yes PATH="$work/both/bin:$PATH"
also_refuses plain_name_in_path 'Open MPI 5\.0\.3 was found, .*' --with-openmpi=yes PATH="$work/plain/bin:$PATH"
also_refuses empty_directory '--with-openmpi=.*/empty is neither an Open MPI prefix with bin/mpicc nor an mpicc: give one of the two' \
    --with-openmpi="$work/empty"
refuses no_directory '--with-openmpi=/nonexistent is neither an Open MPI prefix with bin/mpicc nor an mpicc: .*' \
    --with-openmpi=/nonexistent
also_refuses without_open_mpi '--without-openmpi makes no sense: .*' --without-openmpi

# ---- a compiler without C++20

cat >"$work/old-cxx" <<EOF
#!/bin/sh
for option in "\$@"; do
    case "\$option" in
    -std=c++20 | -std=c++2a) echo "old-cxx: unrecognized option \$option" >&2; exit 1 ;;
    esac
done
exec $CXX "\$@"
EOF
chmod +x "$work/old-cxx"
refuses cxx '.*/old-cxx does not compile C++20 .*CXX=g++-12' CXX="$work/old-cxx"

# ---- UCX, and the place for the components

also_refuses without_ucx '--without-ucx is not possible: .*libucx-dev)' --without-ucx
refuses no_ucx '--with-ucx=/nonexistent: there is no /nonexistent/include/uct/api/uct\.h: .*' --with-ucx=/nonexistent
also_refuses relative_component_dir '--with-component-dir=some/where: give an absolute path' --with-component-dir=some/where

# ---- and what it does not refuse, or the rest would prove nothing

# One built with its own libevent and hwloc has a directory more for the headers of each.
mkdir -p "$work/more/bin" "$work/more/headers" || exit 1
cat >"$work/more/bin/mpicc" <<EOF
#!/bin/sh
case "\$1" in
--showme:incdirs) echo "\$("$WRAPPER_CC" --showme:incdirs) $work/more/headers" ;;
*) exec "$WRAPPER_CC" "\$@" ;;
esac
EOF
chmod +x "$work/more/bin/mpicc"
if configured accepted --with-component-dir="$work/components" --with-openmpi="$work/more/bin/mpicc" &&
    grep -q "^OMPI_CPPFLAGS = .*-isystem $work/more/headers" "$work/accepted/Makefile"; then
    echo "PASS: accepted: the same without any of it, and all directories of headers are used"
else
    echo "FAIL: accepted: the same without any of it, and all directories of headers:"
    tail -n 5 "$work/accepted/log" | sed 's/^/      /'
    failed=1
fi
exit $failed
