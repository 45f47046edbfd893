#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# Bad values of parameters: one message with host, parameter, value and remedy, an end by itself and not by a crash.
. "$(dirname "${BASH_SOURCE[0]}")/lib_fault.sh"

program self
HOST=$(hostname)
TITLE="A parameter of smartint can't be used"

# One says it for all; two ranks take mpirun a second more to end.
RANKS=1
# With no rank left to be given time, mpirun need not wait two seconds for it.
AT_ONCE=(--mca odls_base_sigkill_timeout 0)
refused() {      # refused NAME PARAMETER VALUE REMEDY-REGEX [LAUNCHER-ARGS...]
    local name=$1 parameter=$2 value=$3 remedy=$4
    sometimes 3 || return 0
    shift 4
    run_job "$name" 60 -np $RANKS "${AT_ONCE[@]}" --mca pml smartint --mca "smartint_$parameter" "$value" "$@" "$PROGRAM"
    expect_end
    expect_message "$TITLE" "Host: +$HOST" "Parameter: +smartint_$parameter = ${value//+/\\+}" "Remedy: +.*($remedy)"
    expect_only_ours
    verdict
}

# What stock Open MPI adds when a pml stays away is about libraries that cannot be loaded: it misleads.
expect_only_ours() {
    local other
    other=$(messages | grep -viF smartint |
        grep -vE '^(Primary job +terminated|mpirun.* (detected|noticed) that)' | head -n 1)
    [ -z "$other" ] || complain "a second message: $other"
}

RANKS=2 refused progress-unknown progress fast 'none, poll, interrupt or helper'
# By another name, whichever component is read first, and also where it is one of a file.
refused_as() {     # refused_as NAME FULL-PARAMETER VALUE REMEDY-REGEX
    run_job "$1" 60 -np 1 "${AT_ONCE[@]}" --mca pml smartint --mca osc smartint --mca "$2" "$3" "$PROGRAM"
    expect_end
    expect_message "$TITLE" "Parameter: +smartint_${2#*smartint_} = $3\$" "Remedy: +.*($4)"
    expect_only_ours
    verdict
}
for framework in btl pml osc; do
    refused_as "by-its-$framework-name" ${framework}_smartint_progress fast 'none, poll, interrupt or helper'
done
# Open MPI would make a number of any word.
refused_as number-word smartint_shared_memory yes '0 to 1'
refused_as number-empty pml_smartint_helpers '' '0 to 16'
refused_as number-exponent osc_smartint_window_rdma 1e4 '0 to 1073741824'
RANKS=2 refused number-unit ring_bytes 256kB '16384'
echo "pml_smartint_helpers = many" >"$WORK/params.conf"
run_job number-of-a-file 60 -np 1 "${AT_ONCE[@]}" -x "OMPI_MCA_mca_base_param_files=$WORK/params.conf" --mca pml smartint "$PROGRAM"
expect_end
expect_message "$TITLE" 'Parameter: +smartint_helpers = many$' 'Remedy: +.*(0 to 16)'
verdict
# After all components were read, too, and not only where the first of them begins.
echo "osc_smartint_window_rdma = 1e4" >"$WORK/params.conf"
run_job number-of-a-file-for-windows 60 -np 2 -x "OMPI_MCA_mca_base_param_files=$WORK/params.conf" --mca pml ob1 --mca osc smartint \
    "$PROGRAM"
expect_end
expect_message "$TITLE" 'Parameter: +smartint_window_rdma = 1e4$' 'Remedy: +.*(0 to 1073741824)'
verdict
# What a name says on the command line stands against another name in a file, whichever component is read last.
echo "smartint_helpers = 2" >"$WORK/params.conf"
values=$(OMPI_MCA_mca_base_param_files=$WORK/params.conf OMPI_MCA_osc_smartint_helpers=0 "$OMPI_INFO" --all --parsable 2>/dev/null |
    sed -n 's/^mca:.*smartint_helpers:value://p' | sort -u)
if [ "$values" = 0 ]; then
    pass "$LABEL/a-name-against-a-file"
else
    fail "$LABEL/a-name-against-a-file" "smartint_helpers is '$values', expected 0"
fi
run_job number-with-a-unit 60 -np 2 --mca pml smartint --mca pml_smartint_ring_bytes 128k "$PROGRAM"
expect_ok
expect_silence
verdict

refused progress-empty progress '' 'none, poll, interrupt or helper'
refused rendezvous-unknown rendezvous push 'auto, read, write or copy'
refused network-unknown network sometimes 'auto or always'
refused cores-malformed cores 0,,1 'list'
refused cores-reversed cores 3-1 'list'
refused cores-text cores all 'list'
refused cores-absent cores 900 'processing units 0 to'
refused cores-huge cores 99999999999999999999 'list|processing units'
refused helper-cores-malformed helper_cores 1- 'list'
refused helper-cores-absent helper_cores 901,902 'processing units 0 to'
refused helpers-too-many helpers 17 '0 to 16'
refused ring-small ring_bytes 1 '16384'
refused ring-odd ring_bytes 100000 'power of two'
refused eager-limit-large eager_limit 99999999 '16777216'
refused network-eager-limit-large network_eager_limit 1048577 '1048576'
refused copy-bytes-small copy_bytes 100 '4096'
refused write-bytes-small write_bytes 0 '4096'
refused window-bytes-small window_bytes 1 '65536'
refused pace-small pace_us 1 '20'
refused shared-memory-2 shared_memory 2 '0 to 1'
refused fault-drop-101 fault_drop_notices 101 '0 to 100'
refused device-empty device '' 'names of devices and subnets'
refused device-malformed device 10.0.0.0/33 'names of devices and subnets'
refused directory-empty directory '' 'directory'

# ---- transports and devices that UCX does not have

no_transport() {      # no_transport NAME TRANSPORT DEVICE
    run_job "$1" 60 -np 1 "${AT_ONCE[@]}" --mca pml smartint --mca smartint_network always --mca smartint_transport "$2" \
        --mca smartint_device "$3" "$PROGRAM"
    expect_end
    expect_message 'smartint found no way between the nodes' "Host: +$HOST" "Transport/device: +$2/$3" 'Reason: +.*tcp' \
        'smartint_transport' 'smartint_device'
    expect_only_ours
    verdict
}
refused transport-unknown transport rocket 'tcp, rc, ud or none'
no_transport device-unknown tcp nosuch0
no_transport device-of-no-subnet tcp 240.0.0.0/4
# Beside another pml it begins with the first window, which is refused then; that is the window's error, not the job's end.
program rma_first
run_job device-unknown-window 60 -np 1 --mca pml ob1 --mca osc smartint --mca smartint_network always \
    --mca smartint_device nosuch0 "$PROGRAM" refused
expect_ok
expect_message 'smartint found no way between the nodes' "Host: +$HOST" 'Transport/device: +tcp/nosuch0' 'Reason: +.*tcp' \
    'smartint_transport' 'smartint_device'
verdict
# Who makes what they share has been killed half-way, or a stranger's file is there: the file is empty, or holds anything.
for what in empty anything; do
    run_job "met-$what" 60 -np 2 --mca pml ob1 --mca osc smartint "$PROGRAM" "$what"
    expect_ok
    expect_silence
    verdict
done
program self
if ucx_info -d 2>/dev/null | grep -q 'Transport: ud_verbs'; then
    skip "$LABEL/transport-ud" "UCX has ud here"
else
    no_transport transport-ud ud any
fi
refused transport-mm transport posix 'tcp, rc, ud or none'

# ---- under ob1 the BTL stays away, and the job goes on over what else the user named, or ends

refused_btl() {      # refused_btl NAME PARAMETER VALUE REMEDY-REGEX
    local btl
    for btl in smartint,self smartint,vader,self; do
        run_job "$1-btl${btl//[^v]/}" 60 -np 2 --mca pml ob1 --mca btl "$btl" --mca "smartint_$2" "$3" "$PROGRAM" 65536
        if [ $btl = smartint,self ]; then expect_end; else expect_ok; fi
        expect_message "$TITLE" "Host: +$HOST" "Parameter: +smartint_$2 = ${3//+/\\+}" "Remedy: +.*($4)"
        verdict
    done
}
program sizes
refused_btl progress-unknown progress fast 'none, poll, interrupt or helper'
refused_btl ring-odd ring_bytes 100000 'power of two'
refused_btl eager-limit-large eager_limit 99999999 '16777216'
program self

# ---- one rank's value only: it is the one that speaks, and the job ends

for rank in 0 1; do
    bad=(-x OMPI_MCA_smartint_progress=fast)
    good=(-x OMPI_MCA_smartint_progress=helper)
    [ $rank -eq 0 ] && first=("${bad[@]}") second=("${good[@]}") || first=("${good[@]}") second=("${bad[@]}")
    run_job "bad-on-rank-$rank" 60 -np 1 --mca pml smartint "${first[@]}" "$PROGRAM" : -np 1 "${second[@]}" "$PROGRAM"
    expect_end
    expect_message "$TITLE" "Host: +$HOST" 'Parameter: +smartint_progress = fast' 'Remedy: +.*none, poll, interrupt or helper'
    expect_only_ours
    verdict
done

# ---- what the help message says goes on, goes on

run_job stats-file-nowhere 60 -np 2 --mca pml smartint --mca smartint_stats_file "$WORK/no/such/%r" "$PROGRAM"
expect_ok
expect_message "$TITLE" "Host: +$HOST" "Parameter: +smartint_stats_file = $WORK/no/such/" 'Remedy: '
verdict

# The largest and smallest that are allowed
program sizes
run_job limits-low 40 -np 2 --mca pml smartint --mca smartint_ring_bytes 16384 --mca smartint_eager_limit 0 \
    --mca smartint_copy_bytes 4096 --mca smartint_write_bytes 4096 --mca smartint_window_bytes 65536 \
    --mca smartint_pace_us 20 --mca smartint_helper_poll_us 0 "$PROGRAM" 1048576
expect_ok
expect_silence
verdict
run_job limits-high 40 -np 2 --mca pml smartint --mca smartint_ring_bytes 67108864 --mca smartint_eager_limit 16777216 \
    --mca smartint_copy_bytes 67108864 --mca smartint_write_bytes 67108864 --mca smartint_window_bytes 268435456 \
    --mca smartint_pace_us 100000 --mca smartint_helper_poll_us 1000000 "$PROGRAM" 1048576
expect_ok
expect_silence
verdict
run_job limits-network-low 40 -np 2 --mca pml smartint --mca smartint_shared_memory 0 --mca smartint_network always \
    --mca smartint_network_eager_limit 0 --mca smartint_write_bytes 4096 --mca smartint_window_bytes 65536 \
    --mca smartint_copy_bytes 4096 "$PROGRAM" 1048576
expect_ok
expect_silence
verdict
run_job limits-network-high 40 -np 2 --mca pml smartint --mca smartint_shared_memory 0 --mca smartint_network always \
    --mca smartint_network_eager_limit 1048576 --mca smartint_write_bytes 67108864 \
    --mca smartint_window_bytes 268435456 "$PROGRAM" 1048576
expect_ok
expect_silence
verdict

# ---- no way that the parameters leave

program spin
run_job no-way 60 -np 2 --mca pml smartint --mca smartint_shared_memory 0 --mca smartint_transport none "$PROGRAM" 1
expect_end
expect_message 'pml/smartint has no way to a process' "Host: +$HOST" 'Process: ' 'Remedy: ' 'smartint_transport other'
verdict

# ---- ranks of one job that choose different PMLs, either way

program self
differing() {      # differing NAME PML-OF-0 PML-OF-1
    run_job "$1" 60 -np 1 -x "OMPI_MCA_pml=$2" "$PROGRAM" : -np 1 -x "OMPI_MCA_pml=$3" "$PROGRAM"
    expect_end
    # Open MPI's own check, which names the host and both
    local count
    count=$(grep -cE "selected pml $3, but peer .* on $HOST selected pml $2\$" "$LOG")
    [ "$count" -eq 1 ] || complain "the message 'selected pml $3, but peer ... selected pml $2' came $count times"
    verdict
}
differing pml-smartint-ob1 smartint ob1
differing pml-ob1-smartint ob1 smartint

fault_done
