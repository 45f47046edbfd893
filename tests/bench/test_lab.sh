#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# The benchmark lab in its quick form: every program builds and runs with ob1 and smartint, on one node and on emulated
# ones, and some with MPICH where it is installed; its data is right; the report is there. Then: it can be interrupted and
# goes on; a wrong result is noticed. What is measured decides nothing.
. "$(dirname "${BASH_SOURCE[0]}")/../harness/lib.sh"

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
out=$(mktemp -d "${SMARTINT_LOGS:-/tmp}/lab.XXXXXX") || exit 2
lab=
trap '[ -z "$lab" ] || kill "$lab" 2>/dev/null; rm -rf -- "$out" ${TEST_TMP:+"$TEST_TMP"}' EXIT
trap 'exit 130' INT TERM HUP

command -v python3 >/dev/null || { skip bench/lab "there is no python3"; summary; exit 77; }

journal=$out/results/journal.jsonl
ours=(--systems ob1,helper --out "$out/results")
runs() { cat "$journal" 2>/dev/null | wc -l; }

# interrupted after some runs: nothing is left, and the same command goes on
interrupt() {
    snapshot_before tmp || exit 2
    # without the lock that ended ranks would take along (tests/fault/lib_fault.sh)
    PMIX_MCA_gds=hash "$top/contrib/bench/run-lab" --quick "${ours[@]}" >"$out/log" 2>&1 &
    lab=$!
    for _ in $(seq 6000); do
        [ "$(runs)" -lt 6 ] && kill -0 $lab 2>/dev/null || break
        sleep 0.2
    done
    kill -TERM $lab 2>/dev/null
    wait $lab
    interrupted=$?
    lab=
    check_after mpirun.openmpi mpirun orterun
}
# Stock's mpirun may crash of the signal in MPI_Init of its ranks, and leaves its own files then: not each time.
for try in 1 2 3; do
    ! interrupt || break
    echo "# attempt $try: left behind: $LEFT_BEHIND"
    remove_vader_segments
    [ $try -eq 3 ] || rm -rf "$out/results"
done
if [ -z "$LEFT_BEHIND" ]; then pass bench/lab-leaves-nothing; else fail bench/lab-leaves-nothing "$LEFT_BEHIND"; fi
kept=$(runs)
head -n "$kept" "$journal" >"$out/before" 2>/dev/null
limited 1200 "$top/contrib/bench/run-lab" --quick "${ours[@]}" >>"$out/log" 2>&1
status=$?
if [ $interrupted -eq 143 ] && [ "$kept" -ge 1 ] && [ "$(runs)" -gt "$kept" ] &&
    head -n "$kept" "$journal" | cmp -s - "$out/before"; then
    pass bench/lab-goes-on
else
    fail bench/lab-goes-on "interrupted with status $interrupted after $kept runs, $(runs) in the end"
fi
[ $status -eq 0 ] || { cat "$out/log"; fail bench/lab-run "exit status $status: $(grep -m 1 -i failed "$out/log")"; }

if command -v mpicc.mpich >/dev/null; then
    limited 600 "$top/contrib/bench/run-lab" --quick --systems mpich --settings intra --only latency,collectives,epochs \
        --out "$out/mpich" >"$out/log-mpich" 2>&1 || { cat "$out/log-mpich"; fail bench/lab-run-mpich "exit status $?"; }
else
    skip bench/lab-run-mpich "MPICH is not installed"
fi

# NAME of all runs: experiment, setting, system; passed if the run ended well and said that all was right
while IFS=$'\t' read -r name ok file; do
    if [ "$ok" != True ]; then
        fail "bench/lab-$name" "it failed" "${file%.csv}.log"
        cat "${file%.csv}.log" 2>/dev/null
    elif ! grep -q '^wrong_messages,all,,,1,0$' "$file"; then
        fail "bench/lab-$name" "wrong data, or nothing checked"
    else
        pass "bench/lab-$name"
    fi
done < <(python3 - "$out"/{results,mpich}/journal.jsonl <<'EOF'
import json, os, sys
for path in filter(os.path.exists, sys.argv[1:]):
    for line in open(path):
        e = json.loads(line)
        file = os.path.join(os.path.dirname(path), e["file"])
        print("-".join((e["setting"], e["experiment"], e["system"])), e["ok"], file, sep="\t")
EOF
)

# every experiment of the plan that is one of smartint's was run with it; the report holds each and can be parsed
missing=$(cd "$top/contrib/bench" && PYTHONDONTWRITEBYTECODE=1 python3 - "$out/results" <<'EOF'
import html.parser, json, sys
sys.path.insert(0, ".")
import lab_plan
entries = [json.loads(line) for line in open(sys.argv[1] + "/journal.jsonl")]
settings = {e["setting"] for e in entries}
ran = {e["experiment"] for e in entries if e["system"] == "helper"}
text = open(sys.argv[1] + "/lab.html").read()
for e in lab_plan.EXPERIMENTS:
    if len(settings) == 1 and "intra" not in e.settings:
        continue
    if "helper" in (e.systems or "helper") and e.key not in ran:
        print(f"{e.key} was not run with smartint;")
    if f'id="{e.key}"' not in text:
        print(f"{e.key} is not in the report;")

class Strict(html.parser.HTMLParser):
    open_tags = []
    def handle_starttag(self, tag, attributes):
        if tag not in ("meta", "br"):
            self.open_tags.append(tag)
        for name, value in attributes:
            if name in ("src", "href") and not value.startswith("#"):
                print(f"the report needs {value};")
    def handle_startendtag(self, tag, attributes):
        pass
    def handle_endtag(self, tag):
        while self.open_tags and self.open_tags[-1] != tag and self.open_tags[-1] == "p":
            self.open_tags.pop()
        if not self.open_tags or self.open_tags.pop() != tag:
            print(f"</{tag}> at {self.getpos()} closes nothing;")
Strict().feed(text)
if text.count("<svg") < 20:
    print("the report has hardly a picture;")
EOF
)
if [ -z "$missing" ]; then pass bench/lab-report; else fail bench/lab-report "$missing"; fi

# wrong results are noticed: in each kernel and kind of message one line is changed
number=0
checks=()
notices() {   # notices NAME FILE FROM TO RANKS WORDS...: a program to be made and run
    number=$((number + 1))
    checks+=("$number")
    printf '%s\n' "$@" >"$out/check.$number"
}
make_changed() {   # make_changed NUMBER: in a directory of its own; what is wrong is said there
    local words of=$out/changed.$1
    readarray -t words <"$out/check.$1"
    cp -r "$top/contrib/bench" "$of"
    python3 - "$of/${words[1]}" "${words[2]}" "${words[3]}" >"$of/errors" 2>&1 <<'EOF' || return
import sys
path, old, new = sys.argv[1:]
text = open(path).read()
if old not in text:
    sys.exit("there is no line to change")
open(path, "w").write(text.replace(old, new, 1))
EOF
    OMPI_CC=g++ "${SMARTINT_MPICC:-mpicc.openmpi}" -O0 -std=c++20 -o "$of/program" "$of/${words[0]}.cc" -lfftw3 >"$of/errors" 2>&1
}
is_noticed() {   # is_noticed NUMBER
    local words of=$out/changed.$1 name
    readarray -t words <"$out/check.$1"
    name=bench/lab-notices-${words[0]}-$1
    if [ ! -x "$of/program" ]; then
        fail "$name" "it does not build: $(head -n 1 "$of/errors")"
        return
    fi
    # shellcheck disable=SC2086
    limited 60 ${SMARTINT_MPIRUN:-mpirun.openmpi --allow-run-as-root --oversubscribe --bind-to none} --mca pml ob1 \
        -np "${words[4]}" "$of/program" "${words[@]:5}" --loops-per-us 300 >"$of/said" 2>&1
    if grep -q 'were wrong' "$of/said"; then
        pass "$name"
    else
        fail "$name" "it was not noticed: $(tail -n 1 "$of/said")"
    fi
}
notices cannon cannon.cc 'b_block_.swap(next_b_);' ';' 4 --size 64 --reps 1 --verify
notices stencil stencil.cc 'in_[side][i];' 'in_[side ^ 1][i];' 8 --size 12 --reps 1 --verify
notices fft fft.cc 'from += part_;' '' 4 --size 16 --reps 1 --verify
notices adi adi.cc 'sent_.swap(end_out_);' '' 4 --size 16 --reps 1 --verify
notices collectives collectives_list.h 'offsets[i] = static_cast<int>(i * bytes);' 'offsets[i] = 0;' 3 --only igatherv --sizes 1K --reps 3
notices epochs epochs.cc 'MPI_Put(here, count, MPI_BYTE, target, 0, count, MPI_BYTE, x.window);' ';' 4 --many --sizes 1K --reps 3
notices passive passive.cc '++accumulated_;' ';' 2 --sizes 1K --reps 3
notices passive passive.cc 'move(get, x, o_.window);' ';' 2 --only bandwidth --sizes 1K --reps 3
notices overlap overlap.cc 'sends_ ? bytes : 0' 'sends_ ? bytes - 8 : 0' 2 --only overlap --sizes 1K --reps 3
export -f make_changed
export out top
printf '%s\n' "${checks[@]}" | xargs -P 2 -I{} bash -c 'make_changed {}'
for n in "${checks[@]}"; do is_noticed "$n"; done
summary
