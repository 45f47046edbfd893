# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
# shellcheck shell=bash disable=SC2034
# Sourced by the scripts here, after lib_fault.sh or lib_cluster.sh: torture and the library of delays, random numbers,
# and rounds in which helpers and ranks are killed or stopped at random moments.
#
#   torture_program                  compile it; sets TORTURE
#   delays                           compile preload_delays.c; false: there is no compiler
#   delayed WHO:PERCENT:MICROSECONDS:SEED   sets DELAYED: what mpirun is given to have the next job held up
#   expect_delays                    somebody was
#   seed_random N; draw LIMIT        sets DRAWN to a number below LIMIT, the same for the same seed
#   kill_rounds COUNT CONFIGURATION...   COUNT rounds; a configuration is mpirun's arguments in one word
# Environment: SMARTINT_SEED, first seed (1)

STRESS_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
FIRST_SEED=${SMARTINT_SEED:-1}

torture_program() {
    local file object out objects=() failed=
    TORTURE=$PROGRAMS/torture
    WATCHED=(torture)
    out=$PROGRAMS/torture.objects
    (
        flock 9
        mkdir -p "$out"
        for file in "$STRESS_DIR"/torture*.cc; do
            object=$out/$(basename "$file" .cc).o
            objects+=("$object")
            [ "$object" -nt "$file" ] && [ "$object" -nt "$STRESS_DIR/torture.h" ] &&
                [ "$object" -nt "$STRESS_DIR/torture_part.h" ] && continue
            rm -f "$TORTURE"
            # the compiler behind mpicc is one for C: g++ takes its place, without MPI's C++ library
            OMPI_CC=g++ ${SMARTINT_MPICC:-mpicc.openmpi} -std=c++20 -O2 -g -Wall -Wextra -pthread -c -o "$object" "$file" ||
                exit 1
        done
        [ -e "$TORTURE" ] ||
            OMPI_CC=g++ ${SMARTINT_MPICC:-mpicc.openmpi} -std=c++20 -g -pthread -o "$TORTURE" "${objects[@]}"
    ) 9>"$PROGRAMS/.lock.torture" || { fail "$LABEL/torture" "does not compile"; fault_done; }
}

delays() {
    DELAYS=$PROGRAMS/delays.so
    [ "$DELAYS" -nt "$STRESS_DIR/preload_delays.c" ] ||
        gcc -O2 -g -Wall -Wextra -fPIC -shared -o "$DELAYS" "$STRESS_DIR/preload_delays.c" -ldl
}

delayed() {
    rm -f "$WORK/delays"
    DELAYED=(-x "LD_PRELOAD=$DELAYS" -x "SMARTINT_TEST_DELAY=$1" -x "SMARTINT_TEST_DELAYS_MADE=$WORK/delays")
}

expect_delays() {
    local made
    made=$(od -An -tu8 "$WORK/delays" 2>/dev/null | tr -d ' ')
    [ "${made:-0}" -gt 0 ] || complain "nobody was held up"
}

seed_random() { RANDOM_STATE=$1; }
draw() {
    local x
    RANDOM_STATE=$((RANDOM_STATE + 0x1e3779b97f4a7c15))
    x=$(((RANDOM_STATE ^ (RANDOM_STATE >> 30 & 0x3ffffffff)) * 0x3f58476d1ce4e5b9))
    x=$(((x ^ (x >> 27 & 0x1fffffffff)) * 0x14d049bb133111eb))
    DRAWN=$(((x >> 31 & 0x3fffffff) % $1))
}

# ---- kills ---------------------------------------------------------------------------------------------

job_over() { ! kill -0 "$JOB" 2>/dev/null; }

# victims WHO [RANK...]: sets VICTIMS to their pids; waits until there are some, or the job is over
victims() {
    local who=$1 pid rank
    shift
    until VICTIMS=$(
        if [ "$who" = helper ]; then
            helper_pids
        else
            for pid in $(pids torture); do
                rank=$({ tr '\0' '\n' <"/proc/$pid/environ"; } 2>/dev/null | sed -n 's/^OMPI_COMM_WORLD_RANK=//p')
                case " $* " in *" $rank "*) echo "$pid" ;; esac
            done
        fi | xargs
    ) && [ -n "$VICTIMS" ]; do
        job_over && return 1
        sleep 0.02
    done
}

at() {      # at MILLISECONDS: of the job's time
    local left=$((STARTED + $1 - $(milliseconds)))
    [ $left -le 0 ] || sleep "$(awk "BEGIN { print $left / 1000 }")"
}

# hit SIGNAL: at VICTIMS; 0 if one of them got it
HITS=
hit() {
    local pid one=1
    for pid in $VICTIMS; do
        kill "-$1" "$pid" 2>/dev/null && one=0
    done
    [ $one -ne 0 ] || HITS="$HITS $1@$(($(milliseconds) - STARTED))"
    return $one
}

KILLS=kills # how the tests are called

# One job, of which somebody is hit. All of it comes from the seed but the moment itself, which the machine's load moves.
kill_round() {      # kill_round SEED SECONDS CONFIGURATION...
    local seed=$1 seconds=$2 np who how when threads times rank dead arguments drawn
    shift 2
    seed_random "$seed"
    draw $#
    shift "$DRAWN"
    arguments=$1
    draw 3; np=$((DRAWN + 2))
    draw 3; threads=$((DRAWN == 0 ? 2 : 1))
    draw 8
    case $DRAWN in
    0 | 1) who=helper how=KILL ;;
    2) who=helper how=STOP ;;
    3 | 4) who=rank how=STOP ;;
    5) who=all how=STOP ;;
    *) who=rank how=KILL ;;
    esac
    draw $((seconds * 1000)); when=$((DRAWN + 50))      # it lives longer than its ranks work
    draw "$np"; rank=$DRAWN
    draw 4; times=$((DRAWN + 1))
    [ $who != all ] || rank=$(seq 0 $((np - 1)) | xargs)
    lib_say "# seed $seed: np $np, $threads threads, $arguments; $how of $who $rank at $when ms"
    drawn=$RANDOM_STATE
    judged_job_with_kills
    if [ -z "$HITS$REASON" ]; then
        lib_say "#   over before: again, at half the time"
        when=$((when / 2))
        if check_after "${WATCHED[@]}"; then judged_job_with_kills; else complain "left behind: $LEFT_BEHIND"; fi
        [ -n "$HITS" ] || complain "nobody was hit, nor at half the time"
    fi
    verdict
}

judged_job_with_kills() {
    local found lost
    again_if_mpirun_fails job_with_kills
    if [ $dead = yes ]; then
        # what a rank prints that mpirun ends is no finding
        found=$(grep '^FAILED' "$LOG" | grep -v ': signal [0-9]* while' | head -n 1)
        [ -z "$found" ] || complain "$found"
        # killed in its last moment, after MPI_Finalize, a rank is not missed
        [ "$RC" -ne 0 ] || grep -qx ok "$LOG" || complain "exit code 0, and the job did not end well"
    else
        expect_ok
        lost=$(grep -c 'smartint helper process of this node has ended' "$LOG")
        [ "$lost" -eq 0 ] || { [ "$how" = KILL ] && [ "$lost" -le 1 ]; } || complain "the helper was said to be lost $lost times"
    fi
}

# The job of a round, in the variables of kill_round; what is drawn here is the same each time.
job_with_kills() {
    local left=$times stopped= pause
    RANDOM_STATE=$drawn
    dead=no
    HITS=
    # shellcheck disable=SC2086
    begin_job "$KILLS-$seed-$who-$how" 150 -np "$np" $arguments "$TORTURE" --seed "$seed" --time "$seconds" --threads "$threads" \
        --messages 60
    at $when
    # shellcheck disable=SC2086
    case $who$how in
    helperKILL) victims helper && hit KILL ;;
    rankKILL) victims rank $rank && hit KILL && dead=yes ;;
    helperSTOP)
        # it stays so to the end; a stopped process cannot end, so it has to go on then
        victims helper && hit STOP && stopped=$VICTIMS
        ;;
    *STOP)
        while [ $left -gt 0 ] && victims rank $rank; do
            hit STOP
            draw 900; pause=$((DRAWN + 5))
            sleep "$(awk "BEGIN { print $pause / 1000 }")"
            hit CONT
            draw 300
            sleep "$(awk "BEGIN { print $DRAWN / 1000 }")"
            left=$((left - 1))
        done
        ;;
    esac
    if [ $dead = yes ]; then
        until_true 60 job_over || complain "mpirun still ran 60 s after"
    fi
    end_job
    [ -z "$stopped" ] || { VICTIMS=$stopped; hit CONT; }
    lib_say "#   $HITS"
}

kill_rounds() {      # kill_rounds COUNT SECONDS CONFIGURATION...
    local count=$1 i
    shift
    for ((i = 0; i < count; i++)); do
        without_shared_locks kill_round $((FIRST_SEED + i)) "$@"
    done
}
