#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# Every source file that is there is built: the lists in the Makefile.am files are not stale.

cd "$top_srcdir" || exit 1
if sh config/update_sources.sh --check; then
    echo "PASS: the Makefile.am files name every source file"
else
    echo "FAIL: the Makefile.am files name every source file"
    exit 1
fi
