#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# The sources are in the house form (.clang-format). Each release of clang-format has a form of its own: ours is that of
# Debian 12's, and where another is installed nothing can be said.

command -v clang-format >/dev/null || { echo "SKIP: no clang-format"; exit 77; }
case $(clang-format --version) in
*'version 14.'*) ;;
*) echo "SKIP: $(clang-format --version), and the sources are formatted with 14"; exit 77 ;;
esac
cd "$top_srcdir" || exit 1
if [ "$(printf 'int  f( );\n' | clang-format --style=file --assume-filename=opal/x.h)" != 'int f();' ]; then
    echo "FAIL: clang-format reads .clang-format"
    exit 1
fi
if find opal ompi tests contrib -name '*.h' -o -name '*.cc' -o -name '*.c' |
    xargs clang-format --dry-run -Werror --style=file; then
    echo "PASS: the sources are in the house form"
else
    echo "FAIL: the sources are in the house form; 'make format' brings them there"
    exit 1
fi
