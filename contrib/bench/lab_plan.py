# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
"""What run-lab measures: experiments, and where each is worth its time."""

# Of each experiment: key, program, title, words; and:
#   settings    intra (one node), net (two nodes)
#   ranks       two ranks have a core each
#   reference   the computation's length is the best peer's T_lat, measured first
#   systems     which ones, if not all
#   headline    figures (name, mode) that are compared and whose spread decides about further rounds;
#               a size is added: the largest measured one
#   slow_words  added at less than 500 Mbit/s; None: not worth its time there
#   quick       words of the quick form; the computation's length is then each run's own T_lat, but in overlap
#   seconds     estimate of a run


class Experiment:
    def __init__(self, key, program, title, words, **more):
        self.key, self.program, self.title, self.words = key, program, title, words
        self.settings = more.get("settings", ("intra", "net"))
        self.ranks = more.get("ranks", 2)
        self.reference = more.get("reference", False)
        self.systems = more.get("systems")
        self.headline = more.get("headline", [])
        self.quick = more.get("quick", "")
        self.quick_reference = more.get("quick_reference", False)
        self.slow_words = more.get("slow_words")
        self.seconds = more.get("seconds", 4.0)
        self.intra_words = more.get("intra_words", "")
        self.onesided = more.get("onesided", False)
        self.figure = more.get("figure", "")  # the documents' figures that it repeats

    def words_for(self, setting, quick):
        words = self.words.split()
        if quick:
            words = self.quick.split() or words
        elif not setting.rate and self.intra_words:
            words += self.intra_words.split()
        elif setting.rate and setting.bytes_per_us() < 60:
            words += (self.slow_words or "").split()
        return words

    def fits(self, setting):
        """Whether it is measured in this setting."""
        if setting.key == "cluster":
            return self.key != "neighbour"  # names the cores of one machine
        if setting.rate and setting.bytes_per_us() < 60 and self.slow_words is None:
            return False
        return ("net" if setting.rate else "intra") in self.settings


RATIOS = "0.1,0.5,0.75,1,1.1,1.25,1.5"
WITHOUT_BASELINES = "ob1,ob1-thread,ucx,mpich,helper"

EPOCHS = [f"{k}_{op}" for k in ("fence", "start", "lock") for op in ("put", "get")]
PUTS = EPOCHS[::2]


def headline_of(epochs, late=False):
    """T_lat, and the whole epoch with each of those who may compute in it."""
    ways = ("_origin", "_target", "_late") if late else ("_origin", "_target")
    return [("t_lat_min", e) for e in epochs] + [("t_total_min", e + who) for e in epochs for who in ways]


def epochs_of_many(key, ranks, title, words, quick, systems, seconds, epochs, figure, **more):
    return Experiment(key, "epochs", "One-sided epochs, " + title, words, settings=("net",), ranks=ranks, reference=True,
                      seconds=seconds, systems=systems, onesided=True, figure=figure,
                      quick="--sizes 16K --operation put --only fence --reps 3 --warmup 0 " + quick,
                      headline=headline_of(epochs, "--late" in words), **more)


EXPERIMENTS = [
    Experiment(
        "latency", "overlap", "Latency: nobody computes",
        "--only latency,overlap,bandwidth --latency-only --sizes 1K,4K,16K,64K,256K,1M,4M --time 0.25 --figure-time 0.15 "
        "--reps 40 --bw-size 256K", slow_words="--sizes 1K,64K,256K",
        quick="--only latency,overlap --latency-only --sizes 1K,1M --reps 5 --figure-time 0.02",
        headline=[("latency_1_byte_min", "none"), ("t_lat_min", "none")], seconds=2.5, figure="SI 4.6"),
    Experiment(
        "overlap", "overlap", "Overlap against the length of the computation",
        f"--only overlap --mode receiver,sender,both,exchange --ratio {RATIOS} --sizes 256K,1M --time 1 --reps 12",
        slow_words="--sizes 256K", quick_reference=True,
        quick="--only overlap --mode receiver,sender,both,exchange --ratio 0.5,1 --sizes 64K,1M --reps 5 --warmup 1",
        reference=True, seconds=5, figure="SI 4.7, CS 8",
        headline=[("t_total_min", f"{m}@1") for m in ("receiver", "sender", "both", "exchange")]),
    Experiment(
        "progression", "overlap", "Progression: when the data is there, whatever the computation",
        "--only overlap --mode receiver --ratio 1.5,2,2.5,3 --watch --sizes 256K,1M --time 0.8 --reps 12",
        slow_words="--sizes 256K",
        quick="--only overlap --mode receiver --ratio 1.5,3 --watch --sizes 1M --reps 5 --warmup 1",
        reference=True, seconds=2.5, figure="SI 4.9, 4.10", headline=[("t_there_min", "receiver@3")]),
    Experiment(
        "sender-first", "overlap", "The sender comes first",
        "--only overlap --mode receiver --first sender --sizes 1M --time 1 --reps 20",
        quick="--only overlap --mode receiver --first sender --sizes 1M --reps 5 --warmup 1",
        reference=True, seconds=1.5, systems=WITHOUT_BASELINES, figure="LF 2", headline=[("t_total_min", "receiver")]),
    Experiment(
        "receiver-first", "overlap", "The receiver comes first",
        "--only overlap --mode receiver --first receiver --sizes 1M --time 1 --reps 20",
        quick="--only overlap --mode receiver --first receiver --sizes 1M --reps 5 --warmup 1",
        reference=True, seconds=1.5, systems=WITHOUT_BASELINES, figure="SI 4.5", headline=[("t_total_min", "receiver")]),
    Experiment(
        "availability", "availability", "Availability of sender and receiver (post-work-wait)",
        "--sizes 4K,16K,64K,256K,1M --reps 7 --growth 1.4", slow_words="--sizes 16K,64K,256K", quick="--sizes 4K,256K --reps 5 --growth 2",
        seconds=3, figure="CS 1-6, LF 5, 6", headline=[("availability", "receiver"), ("availability", "sender")]),
    Experiment(
        "window", "window", "Windows of 64 messages: bandwidth, a derived datatype among them, a late receiver",
        "--sizes 16K,64K --time 0.6 --reps 6", intra_words="--sizes 16K,64K,256K",
        quick="--sizes 4K --window 16 --datatype-at 0,8 --reps 5 --warmup 1", reference=True, seconds=5,
        systems=WITHOUT_BASELINES, figure="CH 2, 3, 5, 6, 8",
        headline=[("t_lat_min", "plain"), ("t_total_min", "plain"), ("t_total_min", "datatype_at_0"),
                  ("t_total_min", "datatype_at_63"), ("t_sender_min", "late")]),
    Experiment(
        "scalability", "overlap", "Ranks that one helper serves (8 ranks on each node; computing is sleeping)",
        "--only overlap --mode receiver --sizes 256K --ratio 1,4 --asleep --time 1.5 --reps 8",
        quick="--only overlap --mode receiver --sizes 256K --ratio 1 --asleep --reps 3 --warmup 1",
        settings=("net",), ranks=16, reference=True, seconds=4, systems="ob1,ob1-thread,none,poll,interrupt,helper", figure="SI 4.8",
        headline=[("t_total_min", "receiver@1")]),
    Experiment(
        "memory", "messages", "Memory of a rank", "--only memory", quick="--only memory", seconds=1.5, figure="SI 4.5.2",
        headline=[("memory_rss", "after_messages"), ("memory_pss", "after_messages")]),
    Experiment(
        "neighbour", "neighbour", "A rank that only computes beside two that exchange messages",
        "--size 1M --rounds 8 --pin 0,0,1", quick="--size 1M --rounds 2 --phase 20", settings=("intra",), ranks=3,
        seconds=2.5, headline=[("neighbour_slowed", "none")]),
    Experiment(
        "collectives", "collectives", "Nonblocking collectives, two ranks",
        "--sizes 256K --time 0.2 --reps 8 --warmup 1", intra_words="--sizes 1M",
        quick="--sizes 16K --reps 5 --warmup 0", reference=True, seconds=4, systems=WITHOUT_BASELINES,
        figure="SI 4.12, 4.13, CH 9, 10",
        headline=[("t_total_min", c) for c in ("ibcast", "iscatterv", "igatherv", "iallgather", "ialltoall", "ireduce",
                                               "iallreduce", "iscan")]),
    Experiment(
        "collectives-4", "collectives", "Nonblocking collectives, four ranks (two on each node; computing is sleeping)",
        "--sizes 256K --only ibcast,iscatter,iscatterv,igather,igatherv,iallgather,ialltoall,iallreduce --asleep "
        "--time 0.4 --reps 6 --warmup 1",
        quick="--sizes 16K --reps 5 --warmup 0", settings=("net",), ranks=4, reference=True, seconds=5,
        systems="ob1,ob1-thread,ucx,none,helper", figure="SI 4.12, 4.13",
        headline=[("t_total_min", c) for c in ("ibcast", "iscatterv", "igatherv", "ialltoall")]),
    Experiment(
        "wire", "wire", "TCP without any library, and computation beside it: the kernel's own work",
        "--sizes 64K,256K,1M --time 0.4 --reps 12", slow_words="--sizes 64K,256K", quick="--sizes 16K --reps 5 --warmup 1",
        settings=("net",), seconds=2, systems="ob1", headline=[("t_total_min", "wire_target"), ("t_total_min", "wire_origin")]),
    Experiment(
        "epochs", "epochs", "One-sided epochs: fence, start and complete, exclusive lock; origin or target computes, or the "
        "origin computes and what it waits for comes late",
        "--sizes 16K,64K,256K,1M --late --time 0.4 --reps 12", slow_words="--sizes 16K,64K,256K",
        quick="--sizes 16K --late --reps 5 --warmup 1", reference=True, seconds=14, systems=WITHOUT_BASELINES, onesided=True,
        figure="SI 5.6 to 5.13", headline=headline_of(EPOCHS, late=True)),
    epochs_of_many("epochs-large", 2, "4 and 16 MiB", "--sizes 4M,16M --time 0.4 --reps 5 --warmup 1", "", "ob1,ucx,helper", 40,
                   EPOCHS, "SI 5.6 to 5.13"),
    # without ob1: osc/pt2pt stands still where each origin holds the locks of two targets and gets from both
    epochs_of_many("epochs-to-many", 4, "each of two origins to two targets (two on each node; computing is sleeping)",
                   "--sizes 64K --many --late --asleep --time 0.4 --reps 6 --warmup 1", "--many --late --asleep",
                   "ucx,none,helper", 20, EPOCHS, "SI 5.10, 5.11", slow_words="--sizes 16K"),
    epochs_of_many("epochs-8-to-many", 8, "each of four origins to four targets (four on each node; computing is sleeping)",
                   "--sizes 64K --operation put --many --late --asleep --time 0.6 --reps 6 --warmup 1", "--many --asleep",
                   "ucx,helper", 25, PUTS, "SI 5.10, 5.11", slow_words="--sizes 16K"),
    epochs_of_many("epochs-8", 8, "eight ranks (four on each node; computing is sleeping)",
                   "--sizes 64K --operation put --asleep --time 0.6 --reps 6 --warmup 1", "--asleep",
                   "ob1,ob1-thread,ucx,none,helper", 6, PUTS, "SI 5.8, 5.9", slow_words=""),
    epochs_of_many("epochs-16", 16, "sixteen ranks (eight on each node; computing is sleeping)",
                   "--sizes 64K --operation put --asleep --time 0.6 --reps 5 --warmup 1", "--asleep", "ob1,ucx,helper", 8, PUTS,
                   "SI 5.8, 5.9", slow_words=""),
    Experiment(
        "passive", "passive", "One-sided operations while the target waits in MPI, and while it computes",
        "--time 0.5 --reps 30", slow_words="--sizes 64K", quick="--reps 3 --sizes 16K", seconds=6, systems=WITHOUT_BASELINES,
        onesided=True,
        headline=[(f"passive_{how}_med", op) for op in ("fetch_and_op", "accumulate", "get", "lock_put_unlock")
                  for how in ("idle", "computing", "always")]
        + [(f"rma_bandwidth{apart}_max", op) for op in ("put", "get") for apart in ("", "_strided")]),
    Experiment(
        "passive-small", "passive", "64 small puts or gets in a row, and a flush",
        "--only bandwidth --sizes 8,64,512,2K,4K,16K --window 64 --time 0.3 --reps 60",
        quick="--only bandwidth --sizes 8,1K --window 16 --reps 3", seconds=6, systems=WITHOUT_BASELINES, onesided=True,
        headline=[("rma_bandwidth_max", op) for op in ("put", "get")]),
    Experiment(
        "slack", "slack", "A local put of 8 MiB before one of 256 KiB to another node, four ranks (two on each node)",
        "--sizes 256K --time 2 --reps 10 --warmup 1", quick="--sizes 16K --reps 3 --warmup 0", settings=("net",), ranks=4, seconds=6,
        systems="ob1,ucx,none,helper", onesided=True, figure="SI 2.4.3",
        headline=[("t_lat_min", f"slack_{what}") for what in ("remote", "local", "both")]),
    Experiment(
        "lu", "lu", "LU decomposition over windows", "--size 1024 --time 1.5 --reps 12", intra_words="--size 768",
        quick="--size 128 --block 32 --reps 2 --verify", seconds=3, onesided=True, figure="SI 5.14",
        headline=[("t_total_min", "lu@hidden"), ("t_total_min", "lu@in_turn")]),
    Experiment(
        "skew", "skew", "MPI_Gather and MPI_Reduce whose root is late", "--sizes 64K,256K --ratio 0,2,8 --reps 7",
        quick="--sizes 16K --ratio 0,2 --reps 3", seconds=2, systems=WITHOUT_BASELINES, figure="CH 11",
        headline=[("others", "gather@8"), ("others", "reduce@8")]),
    Experiment(
        "stencil", "stencil", "7-point stencil in three dimensions", "--size 128 --steps 4 --time 1.5 --reps 12",
        quick="--size 24 --steps 3 --reps 2 --verify", seconds=2, figure="CH 12",
        headline=[("t_total_min", "stencil@hidden")]),
    Experiment(
        "fft", "fft", "3-D Fourier transform in pencils", "--size 96 --pieces 4 --time 1.5 --reps 12",
        quick="--size 16 --reps 2 --verify", seconds=2, figure="CH 13",
        headline=[("t_total_min", "fft@hidden")]),
    Experiment(
        "cannon", "cannon", "Cannon's matrix multiplication, four ranks (two on each core)",
        "--size 512 --time 1.5 --reps 12", quick="--size 64 --reps 2 --verify", ranks=4, seconds=2.5,
        systems="ob1,ob1-thread,ucx,none,poll,interrupt,helper", figure="LF 9 to 12", headline=[("t_total_min", "cannon@hidden")]),
    Experiment(
        "cannon-openmp", "cannon", "Cannon's matrix multiplication, MPI and OpenMP, four ranks of two threads",
        "--size 512 --threads 2 --time 1.5 --reps 12", quick="--size 64 --threads 2 --reps 2 --verify", ranks=4, seconds=2.5,
        systems="ob1,ob1-thread,ucx,none,poll,interrupt,helper", figure="LF 9, 10", settings=("net",),
        headline=[("t_total_min", "cannon@hidden")]),
    Experiment(
        "adi", "adi", "Line solves with the messages of NAS SP, four ranks (two on each core)",
        "--size 64 --steps 2 --time 1.5 --reps 12", quick="--size 16 --steps 1 --reps 2 --verify", ranks=4, seconds=2.5,
        systems="ob1,ob1-thread,ucx,none,poll,interrupt,helper", figure="SI 4.14, LF 4", headline=[("t_total_min", "adi@hidden")]),
]

KERNELS = ("stencil", "fft", "cannon", "adi", "lu")

# What is compiled differently.
FLAGS = {"cannon": ("-O3", "-fopenmp"), "stencil": ("-O3",), "adi": ("-O3",), "fft": ("-O3",), "lu": ("-O3",)}
LIBRARIES = {"fft": ("-lfftw3",)}
