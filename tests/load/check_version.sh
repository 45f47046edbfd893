#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# What names smartint's version by hand names the one in the file VERSION: the manual page, README and the kernel
# module, which is built without configure.

cd "$top_srcdir" || exit 1
version=$(cat VERSION)
failed=0

# names FILE BEFORE BEHIND: between BEFORE and BEHIND (basic regular expressions) FILE has the version and nothing else.
names()
{
    found=$(sed -n "s|.*$2\([0-9][0-9.]*\)$3.*|\1|p" "$1")
    if test "$(echo "$found" | sort -u)" = "$version"; then
        echo "PASS: $1 has version $version"
    else
        echo "FAIL: $1: not version $version of the file VERSION but '$found'"
        failed=1
    fi
}

names opal/tools/smartintd/smartintd.8 '\.TH SMARTINTD 8 "[0-9]*" "smartint ' '"'
names README.md 'README\.md LICENSE VERSION .*; ' ''
names kmod/dkms.conf 'PACKAGE_VERSION="' '"'
names kmod/smartint_dev.c 'MODULE_VERSION("' '")'
names kmod/README.md '/usr/src/smartint-' ' '
names kmod/README.md 'dkms install smartint/' ''
exit $failed
