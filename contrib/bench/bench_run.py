# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
"""What the comparing scripts share: systems, settings, emulated nodes, one run at a time."""
import csv
import os
import re
import shutil
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.realpath(__file__))
CLUSTER = os.path.join(HERE, "..", "..", "tests", "cluster", "nscluster")
RUN_PREFIX = "/run/nscluster-bench."
CPUS = sorted(os.sched_getaffinity(0))  # a container or taskset may leave us some only, and not the first ones
CORES = len(CPUS)
# puts a rank on the core at its place in the list
PINNED = 'i=${OMPI_COMM_WORLD_LOCAL_RANK:-$MPI_LOCALRANKID}; cores=$0; exec taskset -c $(echo $cores | cut -d, -f$((i + 1))) "$@"'


class System:
    def __init__(self, key, title, mca, mpi="openmpi", peer=True):
        self.key, self.title, self.mpi, self.peer = key, title, mpi, peer
        self.mca = [word for pair in mca for word in ("--mca", *pair)]

    def smartint(self):
        return "smartint" in self.mca

    def windows(self, setting):
        """What it takes for one-sided communication beside `mca`."""
        if self.mpi != "openmpi":
            return []
        if self.smartint():
            return ["--mca", "osc", "smartint"]
        if self.key == "ucx":
            return ["--mca", "osc", "ucx"]
        # stock Open MPI 4.1 makes no window between nodes without RDMA, unless pt2pt is named
        return ["--mca", "osc", "pt2pt"] if setting.rate else []


SYSTEMS = [
    System("ob1", "ob1", [("pml", "ob1")]),
    System("ob1-thread", "ob1, progress thread", [("pml", "ob1"), ("btl_tcp_progress_thread", "1")]),
    # ucx leaves plain Ethernet to others unless it is told otherwise
    System("ucx", "ucx", [("pml", "ucx"), ("pml_ucx_tls", "any"), ("pml_ucx_devices", "any")]),
    System("mpich", "MPICH", [], mpi="mpich"),
    System("none", "smartint none", [("pml", "smartint"), ("smartint_progress", "none")], peer=False),
    System("poll", "smartint poll", [("pml", "smartint"), ("smartint_progress", "poll")], peer=False),
    System("interrupt", "smartint interrupt",
           [("pml", "smartint"), ("smartint_progress", "interrupt")], peer=False),
    System("helper", "smartint helper", [("pml", "smartint"), ("smartint_progress", "helper")], peer=False),
]


def permitted(places):
    """A list of cores, given as places among those that we may use."""
    return ",".join(str(CPUS[int(p) % CORES]) for p in places.split(","))


class Setting:
    """Where the ranks run: inside this machine, or on two emulated nodes with links of a rate."""

    def __init__(self, key):
        self.key = key
        self.rate = None if key == "intra" else key
        self.title = "one node, two cores"
        if self.rate == "none":
            self.title = "two nodes, no limit"
        elif self.rate:
            number, unit = re.fullmatch(r"(\d+)(.*)", key).groups()
            self.title = f"two nodes, {number} {unit.capitalize().replace('bit', 'bit/s')}"

    def bytes_per_us(self):
        """For estimates of time only."""
        if not self.rate:
            return 5000.0
        if self.rate == "none":
            return 1000.0
        number, unit = re.fullmatch(r"(\d+)(.*)", self.rate).groups()
        return int(number) * {"kbit": 1e3, "mbit": 1e6, "gbit": 1e9}[unit] / 8e6 * 0.95


def say(text=""):
    Progress.clear()
    print(text, flush=True)


class Progress:
    """One line that says what runs and how long all of it will still take."""

    width = 0

    def __init__(self, planned):
        self.left = list(planned)  # estimated seconds, in order
        self.total = len(planned)
        self.estimated = self.taken = 0.0
        self.begin = time.monotonic()

    @classmethod
    def clear(cls):
        if cls.width:
            print("\r" + " " * cls.width + "\r", end="", flush=True)
            cls.width = 0

    def step(self, what):
        # half the weight to what the runs so far have shown, from the start on
        factor = (self.taken + 5) / (self.estimated + 5)
        left = sum(self.left) * factor
        done = self.total - len(self.left) + 1
        line = f"[{done:3}/{self.total}] {what:<58} about {int(left) // 60}:{int(left) % 60:02} left"
        Progress.clear()
        if sys.stdout.isatty():
            Progress.width = len(line)
            print(line, end="", flush=True)
        else:
            print(line, flush=True)
        self.started = time.monotonic()

    def done(self):
        self.estimated += self.left.pop(0)
        self.taken += time.monotonic() - self.started


class Runner:
    """Builds benchmarks and runs them, `program` where no other is named; `options` has out, mpirun, mpicxx and prio."""

    def __init__(self, options, program):
        self.options, self.program = options, program
        self.out = os.path.abspath(options.out)
        self.raw = os.path.join(self.out, "runs")
        self.programs = {}
        self.child = None
        self.gentle = False
        self.cluster_env = {**os.environ, "NSC_RUN": f"{RUN_PREFIX}{os.getpid()}", "NSC_MPIRUN": options.mpirun}
        self.cluster_up = False
        self.number = 0
        self.failures = []
        self.stats = False  # smartint's counters in a file per rank beside each run
        self.last = None    # where the last run's figures are

    # -- preparation

    def build(self, mpi, program=None, flags=("-O2",), libraries=()):
        program = program or self.program
        compiler = self.options.mpicxx if mpi == "openmpi" else "mpicxx.mpich"
        target = os.path.join(self.out, "bin", f"{program}.{mpi}")
        os.makedirs(os.path.dirname(target), exist_ok=True)
        source = os.path.join(HERE, f"{program}.cc")
        newest = max(os.path.getmtime(os.path.join(HERE, f)) for f in os.listdir(HERE) if f.endswith((".cc", ".h")))
        if not os.path.exists(target) or os.path.getmtime(target) < newest:
            command = [compiler, *flags, "-std=c++20", "-o", target, source, *libraries]
            built = subprocess.run(command, capture_output=True, text=True)
            if built.returncode:
                sys.exit(f"{compiler} could not build {source}:\n{built.stderr[-2000:]}")
        self.programs[program, mpi] = target

    # -- the emulated cluster

    def cluster(self, *words):
        return subprocess.run([CLUSTER, *words], env=self.cluster_env, capture_output=True, text=True, timeout=60)

    def enter(self, setting):
        """Returns None, or a sentence why the setting cannot be had here."""
        if not setting.rate:
            return None
        answer = self.cluster("up", "2", setting.rate, f"share={self.out}")
        self.cluster_up = answer.returncode == 0
        return None if self.cluster_up else answer.stderr.strip()

    def leave(self):
        if self.cluster_up:
            self.cluster_up = False
            self.cluster("down")

    # -- runs

    def launch(self, setting, system, ranks, limit, more=()):
        timeout = ["timeout", "-k", "5", str(int(limit))]
        # One signal for mpirun: at a second one it leaves its ranks' segments in /dev/shm.
        self.gentle = not setting.rate
        if self.gentle:
            timeout.insert(1, "--foreground")
        if setting.rate:
            verb = "mpirun" if system.mpi == "openmpi" else "mpich"
            words = [*timeout, CLUSTER, verb]
            if ranks > 2:
                words += ["--ppn", str(ranks // 2)]
            return [*words, *system.mca, *more]
        # launchers count cores from the machine's first one, whichever of them are ours
        narrowed = CORES < (os.cpu_count() or 1)
        pinned = ["sh", "-c", PINNED, ",".join(str(c) for c in CPUS)] if narrowed and ranks <= CORES else []
        if system.mpi == "mpich":
            return [*timeout, "mpiexec.hydra", "-bind-to", "none" if narrowed else "core", "-np", str(ranks), *pinned]
        words = [*timeout, self.options.mpirun, "-np", str(ranks), *system.mca, *more]
        if os.geteuid() == 0:
            words.append("--allow-run-as-root")
        if pinned:
            return [*words, "--bind-to", "none", *pinned]
        if ranks <= CORES:
            return [*words, "--map-by", "core", "--bind-to", "core"]
        return [*words, "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]

    def run(self, setting, system, words, estimate, ranks=2, program=None, more=()):
        """Runs the benchmark once, with `more` for mpirun; returns its figures, or None if it failed (and notes why).

        A peer, or its mpirun, that crashes or stands still is no reason to be without its figures: it has three tries.
        """
        self.number += 1
        tries = 3 if system.peer else 1
        for i in range(tries):
            figures, failure = self.run_once(setting, system, words, estimate, ranks, program, more)
            if not failure:
                return figures
            last = i + 1 == tries
            say(f"  {'failed' if last else 'once more, as it failed'}: {failure}")
            if setting.rate:
                self.cluster("sweep")
        self.failures.append(failure)
        return None

    def run_once(self, setting, system, words, estimate, ranks, program, more):
        """Its figures and None, or None and what went wrong."""
        path = os.path.join(self.raw, f"{self.number:03}-{setting.key}-{system.key}.csv")
        self.last = path
        if os.path.exists(path):
            os.remove(path)
        limit = max(120, 30 + 5 * estimate)  # it ends hangs only; ranks that share processors with others take long
        stats = ["--mca", "smartint_stats_file", f"{path[:-4]}.stats.%r"] if self.stats and system.smartint() else []
        command = [*self.launch(setting, system, ranks, limit, [*stats, *more]), self.programs[program or self.program, system.mpi], *words, "--csv", path]
        if self.options.prio:
            command.append("--prio")
        self.child = subprocess.Popen(command, env=self.cluster_env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True)
        output, stands = self.wait(path if system.mpi == "mpich" else None)
        status, self.child = self.child.returncode, None
        if stands:
            say(f"  {setting.title}: {system.title}: did not return from MPI_Finalize, ended")
            if setting.rate:
                self.cluster("sweep")
        elif status:
            reason = f"no end within {int(limit)} s" if status in (124, 137) else f"exit status {status}"
            with open(path[:-3] + "log", "w") as log:
                log.write(" ".join(command) + "\n" + output)
            return None, f"{setting.title}: {system.title}: {reason}, see {path[:-3]}log"
        with open(path) as file:
            return list(csv.DictReader(file)), None

    def wait(self, path):
        """Its output, and whether it was ended because it stood still after its last figure had come to `path`.

        MPICH 4.0 now and then does not return from MPI_Finalize: all was measured and found right before.
        """
        complete = stands = False
        while True:
            try:
                return self.child.communicate(timeout=5)[0], stands
            except subprocess.TimeoutExpired:
                if complete:
                    os.killpg(self.child.pid, signal.SIGKILL if stands else signal.SIGTERM)
                    stands = True
                complete = path is not None and self.complete(path)

    @staticmethod
    def complete(path):
        """Whether the last figure is there, which is written right before MPI_Finalize: that no data was wrong."""
        if not os.path.exists(path):
            return False
        with open(path) as file:
            return any(f["figure"] == "wrong_messages" and float(f["value"]) == 0 for f in csv.DictReader(file))

    def stop(self):
        if self.child and self.child.poll() is None:
            if self.gentle:
                self.child.terminate()
            else:
                os.killpg(self.child.pid, signal.SIGTERM)
            try:
                self.child.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(self.child.pid, signal.SIGKILL)
        self.leave()


MARKER = ".smartint-runs"


def make_directory(path):
    """With a mark that it is ours to remove, unless it is there already and somebody's."""
    os.makedirs(path, exist_ok=True)
    if not os.listdir(path):
        with open(os.path.join(path, MARKER), "w"):
            pass


def check_ours(*paths):
    """Ends the program rather than have it remove directories that it did not make: --out may name any place."""
    for path in paths:
        if os.path.isdir(path) and os.listdir(path) and not os.path.exists(os.path.join(path, MARKER)):
            sys.exit(f"{os.path.basename(sys.argv[0])}: {path} is not of an earlier run (it has no file {MARKER}): "
                     "remove it yourself, or name another place with --out.")


def remove_stale_clusters():
    """Clusters of earlier runs of ours that were killed outright."""
    directory, prefix = os.path.split(RUN_PREFIX)
    for name in os.listdir(directory):
        if name.startswith(prefix) and not os.path.exists(f"/proc/{name[len(prefix):]}"):
            subprocess.run([CLUSTER, "down"], env={**os.environ, "NSC_RUN": os.path.join(directory, name)})


def available(options, program):
    """Which of the systems can run here; says what is left out, and why."""
    systems = options.systems
    info = shutil.which("ompi_info.openmpi") or shutil.which("ompi_info")
    listed = subprocess.run([info, "--parsable"], capture_output=True, text=True).stdout if info else ""

    def drop(condition, reason):
        nonlocal systems
        if any(condition(s) for s in systems):
            say(reason)
            systems = [s for s in systems if not condition(s)]

    if "mca:pml:smartint:" not in listed:
        drop(lambda s: not s.peer, "smartint is not installed for this Open MPI (ompi_info lists no pml smartint): "
                                   "only its peers are measured.")
    if "mca:pml:ucx:" not in listed:
        drop(lambda s: s.key == "ucx", "This Open MPI has no pml ucx: left out.")
    if not shutil.which("mpicxx.mpich") or not shutil.which("mpiexec.hydra"):
        drop(lambda s: s.mpi == "mpich", "MPICH is not installed: left out.")
    if not any(s.peer for s in systems):
        sys.exit(f"{program}: at least one peer (ob1, ob1-thread, ucx, mpich) is needed, as its latency is the measure.")
    return systems
