# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
# shellcheck shell=bash disable=SC2034
# Sourced by tests/suites/test_*.sh: applications as Debian packages them. HPC Challenge (its own checks of LINPACK,
# transposes, random updates and transforms), NWChem (energies; a client of windows, by Global Arrays and ARMCI-MPI), LAMMPS
# (molecular dynamics, to the last digit that it prints), MUMPS (a sparse solver).
#
#   application NAME LABEL NP    run one of $APPLICATIONS the way WAY, as test LABEL; false: it is not installed
#   keep_application NAME NP, expect_application NAME NP   its result: as a later one must be

APPLICATIONS="hpcc lammps mumps nwchem"
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

# For each: what it reads in the directory $RUN, what runs it there, and what of its words stands for its result, as lines
# `# ...`.

hpcc_input() {
    cat >"$RUN/hpccinf.txt" <<-END
	two lines of words that it
	does not read
	HPL.out      output file
	8            device
	1            sizes
	600          N
	1            block sizes
	80           NB
	0            row-major
	1            grids
	$(($1 / 2))            P
	2            Q
	16.0         threshold
	1            panel factorizations
	2            PFACT
	1            stopping criteria
	4            NBMIN
	1            panels
	2            NDIV
	1            recursive factorizations
	1            RFACT
	1            broadcasts
	1            BCAST
	1            lookaheads
	1            DEPTH
	2            SWAP
	64           swapping threshold
	0            L1
	0            U
	1            equilibration
	8            alignment
	a line that it does not read
	0            more sizes of transposes
	1200         N
	0            more block sizes
	40           NB
	END
}
hpcc_command() { PROGRAM=/usr/bin/hpcc COMMAND=(/usr/bin/hpcc); }
hpcc_result() { # not how many figures there are, nor the lines of processor time: those depend on the clock
    awk '/^ *CPU / { next } /FAILED/ { bad++ } /PASSED/ { good++ } /^Found/ { found++; wrong += $2 } /^Success=/ { success = $0 }
        END { print "#", success, good, "passed", bad + 0, "failed", found, "tables with", wrong, "errors" }' "$RUN/hpccoutf.txt"
}

nwchem_input() {
    cat >"$RUN/input" <<-END
	start dimer
	geometry units angstrom
	 O  0.000  0.000  0.000
	 H  0.757  0.586  0.000
	 H -0.757  0.586  0.000
	 O  0.000 -2.900  0.000
	 H  0.757 -3.486  0.000
	 H -0.757 -3.486  0.000
	end
	basis
	 * library 6-31g*
	end
	task scf gradient
	dft
	 xc b3lyp
	end
	task dft energy
	task mp2 energy
	END
}
nwchem_command() { PROGRAM=/usr/bin/nwchem.openmpi COMMAND=(/usr/bin/nwchem.openmpi input); }
nwchem_result() { # sums come in another order each time
    awk '/Total (SCF|DFT|MP2) energy/ { printf "# %s %.7f\n", $2, $NF }' "$LOG"
}

lammps_input() {
    cat >"$RUN/input" <<-END
	units lj
	atom_style atomic
	lattice fcc 0.8442
	region box block 0 12 0 12 0 12
	create_box 1 box
	create_atoms 1 box
	mass 1 1.0
	velocity all create 3.0 87287 loop geom
	pair_style lj/cut 2.5
	pair_coeff 1 1 1.0 1.0 2.5
	neighbor 0.3 bin
	neigh_modify every 20 delay 0 check no
	fix 1 all nve
	thermo 20
	run 200
	END
}
lammps_command() { PROGRAM=/usr/bin/lmp COMMAND=(/usr/bin/lmp -in input); }
lammps_result() { awk '/^Loop time/ { on = 0 } on { print "#", $0 } /^Step/ { on = 1 }' "$LOG"; }

mumps_input() { cp /usr/lib/mumps/input_simpletest_real "$RUN/input"; }
mumps_command() { PROGRAM=/usr/lib/mumps/dsimpletest COMMAND=(bash -c 'exec /usr/lib/mumps/dsimpletest <input'); }
mumps_result() { awk '/Solution is/ { for (i = 3; i <= NF; ++i) printf "# %.10f\n", $i }' "$LOG"; }

application() {
    local name=$1 label=$2 np=$3
    "${name}_command"
    [ -x "$PROGRAM" ] || return 1
    RUN=$WORK/$name
    rm -rf "$RUN" "$WORK"/stats.* && mkdir "$RUN" || exit 2
    "${name}_input" "$np"
    WATCHED=("${PROGRAM##*/}")
    # shellcheck disable=SC2086
    run_job "$label" $SUITE_LIMIT -wdir "$RUN" -np "$np" $WAY --mca smartint_stats_file "$WORK/stats.%r" "${COMMAND[@]}"
    "${name}_result" >>"$LOG"
    [ "$RC" -eq 0 ] || complain "exit code $RC"
}

keep_application() {
    keep_base "$1.$2"
    [ -s "$BASES/$1.$2" ] || complain "it tells no result"
}

expect_application() { expect_base "$1.$2"; }
