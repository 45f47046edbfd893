#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# Ranks of one job with different values of a parameter: right data, or one message and an error, and no hang.
. "$(dirname "${BASH_SOURCE[0]}")/lib_fault.sh"

program sizes

one_way() {      # one_way NAME "COMMON-ARGS" "PARAMETER=VALUE..."  "PARAMETER=VALUE...": rank 0's, rank 1's
    local name=$1 common=$2 first=() second=() set
    for set in $3; do first+=(-x "OMPI_MCA_smartint_$set"); done
    for set in $4; do second+=(-x "OMPI_MCA_smartint_$set"); done
    # shellcheck disable=SC2086
    run_job "differing-$name" 30 -np 1 --mca pml "${PML:-smartint}" $common "${first[@]}" "$PROGRAM" 1048576 : \
        -np 1 "${second[@]}" "$PROGRAM" 1048576
    if [ "$RC" -eq 0 ]; then
        expect_ok
        expect_silence
    else
        [ "$(messages | grep -ci smartint)" -eq 1 ] || complain "it ended with $(messages | grep -ci smartint) messages of smartint's"
        ! grep -q '^FAILED' "$LOG" || complain "$(grep -m 1 '^FAILED' "$LOG")"
    fi
    verdict
}
differing() {      # differing NAME COMMON A B: either way round
    one_way "$1" "$2" "$3" "$4"
    one_way "$1-reversed" "$2" "$4" "$3"
}

NETWORK='--mca smartint_shared_memory 0 --mca smartint_network always'
differing progress-helper-none '' progress=helper progress=none
differing progress-helper-poll '' progress=helper progress=poll
differing progress-poll-none '' progress=poll progress=none
differing progress-network "$NETWORK" progress=helper progress=none
differing eager-limit '' eager_limit=0 eager_limit=65536
differing fragment-bytes "$NETWORK" fragment_bytes=0 fragment_bytes=1048576
differing eager-limit-network "$NETWORK" network_eager_limit=0 network_eager_limit=1048576
differing ring-bytes '' ring_bytes=16384 ring_bytes=4194304
differing ring-bytes-eager-limit '' 'ring_bytes=16384 eager_limit=65536' 'ring_bytes=4194304 eager_limit=1048576'
differing network '' network=auto network=always
differing shared-memory '' shared_memory=0 shared_memory=1
differing shared-memory-network '--mca smartint_network always' shared_memory=0 shared_memory=1
differing rendezvous-read-write '' rendezvous=read rendezvous=write
differing rendezvous-read-copy '' rendezvous=read rendezvous=copy
differing rendezvous-write-copy '' rendezvous=write rendezvous=copy
differing rendezvous-auto-copy '' rendezvous=auto rendezvous=copy
differing window-bytes "$NETWORK --mca smartint_network_eager_limit 0" window_bytes=65536 window_bytes=268435456
differing window-bytes-copy '--mca smartint_rendezvous copy' window_bytes=65536 window_bytes=16777216
differing transport "$NETWORK" transport=tcp transport=none
# ob1 over btl/smartint: what fits into one rank's ring has to fit into the other's
PML=ob1 differing ob1-ring-bytes '--mca btl smartint,self --mca smartint_rendezvous copy' ring_bytes=16384 ring_bytes=4194304

# ---- two of Open MPI's daemons on one host: what it says of a node's ranks is true of one of them. vader's segments
# collide there.

printf '#!/bin/bash\nshift\nexec bash -c "$*"\n' >"$WORK/start"
chmod +x "$WORK/start"
export SMARTINT_HARMLESS=$WORK/harmless
echo 'plm:rsh: Warning: setpgid' >"$SMARTINT_HARMLESS"
for name in modes ordering; do
    program $name
    run_job "two-daemons-$name" 60 -np 4 --map-by node --mca plm_rsh_agent "$WORK/start" --mca ras_base_multiplier 2 \
        --mca pml smartint --mca btl ^vader "$PROGRAM"
    expect_ok
    verdict
done

fault_done
