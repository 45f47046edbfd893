#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# Fuzzing of everything that comes from outside a process (libFuzzer, with the address and undefined behaviour
# sanitizers). A target passes if it ran for its time without a finding, beginning with the seeds in seeds/.
#
#   test_fuzz.sh [TARGET...]     wire, rma, board, relay, modex; all, three at a time, without a name
#
# Environment: SMARTINT_FUZZ_SECONDS  of each target, 20; 60 with SMARTINT_LONG=yes
#              SMARTINT_FUZZ_KEEP     directory where the corpus is kept and taken up again
#              SMARTINT_BUILD_DIR     a configured build, for smartint_config.h and the libraries' places
#              CLANGXX                clang++ or clang++-14
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../harness/lib.sh"

top=$(cd "$here/../.." && pwd)
build=${SMARTINT_BUILD_DIR:-$top/build-tests}
seconds=${SMARTINT_FUZZ_SECONDS:-$(is_long && echo 60 || echo 20)}
compiler=${CLANGXX:-$(command -v clang++-14 || command -v clang++)}
out=$build/fuzz
logs=${SMARTINT_LOGS:-$out/logs}
kept=${SMARTINT_FUZZ_KEEP:-}
targets=${*:-wire rma board relay modex}
engine=$top/opal/mca/common/smartint
daemon=$top/opal/tools/smartintd

[ -r "$build/smartint_config.h" ] || { echo "no configured build in $build" >&2; exit 2; }
mkdir -p "$out" "$logs" || exit 2
if [ -z "$compiler" ] ||
    ! echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char *, unsigned long) { return 0; }' |
        "$compiler" -x c++ -fsanitize=fuzzer,address,undefined -o "$out/probe" - >"$logs/fuzz-probe.log" 2>&1; then
    skip fuzz/all "there is no clang with libFuzzer (packages clang-14, libclang-rt-14-dev)"
    summary
    exit 77
fi

# What configure found.
from_make() { sed -n "s/^$1 = //p" "$build/Makefile" "$build/tests/unit/Makefile" | head -n 1; }

# -O1: the sanitizers' reports name lines, and it is fast enough.
{
    cat <<END
CXX = $compiler
SANITIZE = -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
CXXFLAGS = -std=c++20 -O1 -g1 -pthread \$(SANITIZE)
CPPFLAGS = -DHAVE_CONFIG_H -I$build -I$top -I$top/opal/include -I$engine -I$daemon -I$here \\
    $(from_make UCT_CPPFLAGS) $(from_make HWLOC_CFLAGS)
LIBS = $(from_make UCT_LIBS) $(from_make HWLOC_LIBS) -lpthread
WRAP = -Wl,--wrap=process_vm_readv,--wrap=process_vm_writev,--wrap=syscall
vpath %.cc $engine $daemon $here
%.o: %.cc
	\$(CXX) \$(CPPFLAGS) \$(CXXFLAGS) -fsanitize=fuzzer-no-link -MMD -c -o \$@ \$<
END
    echo -n "PARTS ="
    for file in "$engine"/common_smartint_*.cc "$daemon"/smartintd_*.cc; do
        case $file in *_mca*.cc | */common_smartint_network*.cc) continue ;; esac
        file=${file##*/}
        echo -n " ${file%.cc}.o"
    done
    echo
    echo "BELOW = fuzz_network.o fuzz_kernel.o"
    for target in wire rma board relay; do
        more=fuzz_engine.o
        [ $target != relay ] || more=
        echo "fuzz_$target: fuzz_$target.o $more \$(PARTS) \$(BELOW)"
        printf '\t$(CXX) $(CXXFLAGS) -fsanitize=fuzzer $(WRAP) -o $@ $^ $(LIBS)\n'
    done
    echo "fuzz_modex: fuzz_modex.o \$(PARTS) common_smartint_network.o common_smartint_network_connect.o common_smartint_network_move.o"
    printf '\t$(CXX) $(CXXFLAGS) -fsanitize=fuzzer -o $@ $^ $(LIBS)\n'
    echo "-include *.d"
} >"$out/Makefile"
# shellcheck disable=SC2046
if ! make -C "$out" -j2 $(printf 'fuzz_%s ' $targets) >"$logs/fuzz-build.log" 2>&1; then
    grep -m 5 -e 'error:' -e 'undefined reference' "$logs/fuzz-build.log"
    fail fuzz/build "does not compile" "$logs/fuzz-build.log"
    summary
    exit
fi

# seeds TARGET DIRECTORY: one input a line, in hexadecimal
seeds() {
    local n=0 line
    while read -r line; do
        n=$((n + 1))
        perl -e 'print pack("H*", $ARGV[0])' "$line" >"$2/seed-$n"
    done <"$here/seeds/$1.hex"
}

# What a target must have seen of the code, in libFuzzer's edges: three quarters of what its seeds alone lead through.
declare -A floors=([wire]=1700 [rma]=2000 [board]=1800 [relay]=320 [modex]=950)
# And so many inputs, a sixth of what the slowest has on two busy cores.
fewest=$((1000 * seconds / 60 / ${SMARTINT_TIME_SCALE:-1}))

# In a network of its own: addresses from the input must not be connected to.
apart=(unshare -rn sh -c 'ip link set lo up 2>/dev/null; exec "$@"' sh)

# Nothing a message names may make it take much memory: hence the limits, in MB.
run() {
    local target=$1 log=$logs/fuzz-$1.log rc executions reason seen
    local corpus=${kept:+$kept/$target}
    corpus=${corpus:-$out/corpus-$target}
    [ -n "$kept" ] || rm -rf "$corpus"
    mkdir -p "$corpus"
    [ ! -r "$here/seeds/$target.hex" ] || seeds "$target" "$corpus"
    local launch=()
    [ "$target" != modex ] || launch=("${apart[@]}")
    UBSAN_OPTIONS=print_stacktrace=1 ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=0 \
        limited $((seconds * 2 + 120)) "${launch[@]}" "$out/fuzz_$target" -max_total_time="$seconds" -max_len=600 \
        -timeout=30 -rss_limit_mb=700 -malloc_limit_mb=16 -print_final_stats=1 -verbosity=1 \
        -artifact_prefix="$logs/fuzz-$target-" "$corpus" >"$log" 2>&1 </dev/null
    rc=$?
    executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    seen=$(sed -n 's/.* cov: \([0-9]*\).*/\1/p' "$log" | tail -n 1)
    if [ $rc -ne 0 ]; then
        reason=$(grep -m 1 -E 'does not hold|runtime error|ERROR: ' "$log")
        fail "fuzz/$target" "exit code $rc, ${reason:-no reason given}" "$log"
    elif [ "${executions:-0}" -lt "$fewest" ]; then
        fail "fuzz/$target" "only ${executions:-0} inputs were tried" "$log"
    elif [ -n "$seen" ] && [ "$seen" -lt "${floors[$target]}" ]; then
        fail "fuzz/$target" "only $seen edges were seen" "$log"
    else
        pass "fuzz/$target"
        lib_say "   $executions inputs, cov: $seen"
    fi
}

if ! unshare -rn true 2>/dev/null; then
    skip fuzz/modex "no network namespace of its own"
    targets=${targets/modex/}
fi
SMARTINT_FUZZ_DIRECTORY=$(mktemp -d /dev/shm/smartint-fuzz.XXXXXX) || exit 2
export SMARTINT_FUZZ_DIRECTORY
children=()
ended_early() { { kill -TERM "${children[@]}" && wait; } 2>/dev/null; exit 130; }
trap 'rm -rf -- "$SMARTINT_FUZZ_DIRECTORY"' EXIT
trap ended_early INT TERM HUP
# Results of those in the background are written there.
for target in $targets; do
    while [ "$(jobs -pr | wc -l)" -ge 3 ]; do
        wait -n
    done
    (
        LIB_PASSED=0 LIB_FAILED=0
        run "$target"
        [ $LIB_FAILED -eq 0 ]
    ) &
    children+=($!)
done
for child in "${children[@]}"; do
    if wait "$child"; then LIB_PASSED=$((LIB_PASSED + 1)); else LIB_FAILED=$((LIB_FAILED + 1)); fi
done
summary
