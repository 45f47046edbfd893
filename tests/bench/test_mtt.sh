#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# What contrib/mtt gives to the MPI Testing Tool can be read, refers to what is there, and its build commands build
# what its tests need. The tool itself is not run.
. "$(dirname "${BASH_SOURCE[0]}")/../harness/lib.sh"

mtt=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../contrib/mtt" && pwd)
work=$(mktemp -d "${SMARTINT_LOGS:-/tmp}/mtt.XXXXXX") || exit 2
trap 'rm -rf -- "$work"' EXIT

command -v python3 >/dev/null || { skip bench/mtt "there is no python3"; summary; exit 77; }

if "$mtt/check"; then pass bench/mtt-form; else fail bench/mtt-form "it is not in order"; fi

# the parser that the tool uses, with its options
if perl -MConfig::IniFiles -e 1 2>/dev/null; then
    "$mtt/check" --expanded >"$work/all.ini"
    count=$(perl -MConfig::IniFiles -e '
        my $ini = Config::IniFiles->new(-file => $ARGV[0], -nocase => 1, -allowcontinue => 1)
            or die join("\n", @Config::IniFiles::errors), "\n";
        print scalar $ini->Sections;
        die "a block is not whole" unless $ini->val("test build: smartint tests", "shell_build_command") =~ /done/;' \
        "$work/all.ini")
    status=$?
    if [ $status -eq 0 ] && [ "$count" = "$(grep -c '^\[' "$work/all.ini")" ]; then
        pass bench/mtt-parser
    else
        fail bench/mtt-parser "Config::IniFiles reads ${count:-no} sections"
    fi
else
    skip bench/mtt-parser "Config::IniFiles is not installed (libconfig-inifiles-perl)"
fi

# what is wrong is seen
broken() {   # broken NAME FILE SED-COMMAND
    local name=$1 file=$2
    rm -rf "$work/contrib" && mkdir -p "$work/contrib" && cp -r "$mtt" "$work/contrib/mtt"
    ln -sfn "$mtt/../../tests" "$work/tests" && ln -sfn "$mtt/../bench" "$work/contrib/bench"
    sed -i "$3" "$work/contrib/mtt/$file"
    if cmp -s "$work/contrib/mtt/$file" "$mtt/$file"; then
        fail "bench/mtt-sees-$name" "nothing was changed"
    elif "$work/contrib/mtt/check" 2>"$work/said"; then
        fail "bench/mtt-sees-$name" "it was not noticed"
    else
        cat "$work/said"
        pass "bench/mtt-sees-$name"
    fi
}
broken section smartint.ini 's/^mpi_get = slurm/mpi_get = slurp/'
broken module smartint.ini '0,/^module = AlreadyInstalled/s//module = AlreadyThere/'
broken parenthesis smartint-bench.ini 's/&eq(&cmd_wexitstatus(), 0))/\&eq(\&cmd_wexitstatus(), 0)/'
broken program smartint-bench.ini 's/:tests = cannon /:tests = canon /'
broken block smartint-tests.ini '/^EOT/d'
broken include smartint-tests.ini 's/^\[Test get: smartint tests\]//'

if limited 1800 "$mtt/check" --build >"$work/log" 2>&1; then
    pass bench/mtt-build
else
    tail -n 20 "$work/log"
    fail bench/mtt-build "$(grep -m 1 -E 'error|mtt:' "$work/log")"
fi
summary
