#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# Makes configure from a clone: brings the source lists in the Makefile.am files up to date, then
# runs autoreconf. One at a time: a second one started meanwhile waits.

set -eu
cd "$(dirname "$0")"

for tool in autoconf automake libtoolize m4; do
    if ! command -v "$tool" >/dev/null 2>&1; then
        echo "autogen.sh: $tool is missing: install autoconf, automake, libtool and pkg-config" >&2
        exit 1
    fi
done

if command -v flock >/dev/null 2>&1 && [ "${SMARTINT_AUTOGEN_LOCKED:-no}" = no ]; then
    export SMARTINT_AUTOGEN_LOCKED=yes
    exec flock .autogen.lock sh ./autogen.sh "$@"
fi

sh config/update_sources.sh
autoreconf --install --warnings=all "$@"
echo "autogen.sh: done; next: mkdir -p build && cd build && ../configure && make"
