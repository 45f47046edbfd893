#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# Opens every component that was built, from plain C.

if test -z "$COMPONENTS"; then
    echo "SKIP: no component is built"
    exit 77
fi
# LeakSanitizer would count what libmpi keeps.
ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS:-}"
export ASAN_OPTIONS
# shellcheck disable=SC2086
exec ./dlopen_c $COMPONENTS
