#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# The edges of memory order that docs/ordering.md lists are those that the sources name, and the other way round: each
# label of its table stands in a comment of the sources, and each that a comment pairs with another is in the table, once.

cd "$top_srcdir" || exit 1
page=opal/mca/common/smartint/docs/ordering.md
fail=0
complain() { echo "$*"; fail=1; }

comments=$(grep -rhoE --include='*.h' --include='*.cc' '//.*' opal ompi)
listed=$(sed -nE 's/^\| ([A-Z][0-9]+) \|.*/\1/p' "$page")
[ "$(echo "$listed" | wc -l)" -gt 40 ] || complain "$page: there is no table of edges"
named=$(echo "$comments" | grep -oE '\b[A-Z][0-9]+\b')
paired=$(echo "$comments" | grep -oE '\b[A-Z][0-9]+, pairs with [A-Z][0-9]+\b' | grep -oE '[A-Z][0-9]+' | sort -u)
[ -n "$paired" ] || complain "the sources pair no edges"

for label in $(echo "$listed" | sort | uniq -d); do
    complain "$page: $label is listed twice"
done
for label in $listed; do
    echo "$named" | grep -qx "$label" || complain "$page: $label is not in the sources"
done
for label in $paired; do
    echo "$listed" | grep -qx "$label" || complain "a comment in the sources names $label, which $page does not list"
done
exit $fail
