# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
"""What the documents claim, what is seen here, and why; and the limits of what is seen."""
from bench_run import Setting


class Claim:
    def __init__(self, source, claim, here, why):
        self.source, self.claim, self.here, self.why = source, claim, here, why


def where(setting):
    return "cluster" if setting == "cluster" else "one node" if setting == "intra" else \
        Setting(setting).title.split(", ")[1]


def each(experiment, say):
    """One sentence per setting in which the experiment was run; say() returns None where a figure is missing. None of an
    experiment that was not asked for."""
    def here(r):
        said = []
        for setting in r.settings(experiment):
            words = say(r, setting)
            if words:
                said.append(f"{where(setting)}: {words}")
        return "; ".join(said) or ("not measured" if r.settings(experiment) else None)
    return here


def largest(r, experiment, setting, system, figure, mode):
    sizes = r.sizes(experiment, setting, figure, mode)
    return r.get(experiment, setting, system, figure, mode, sizes[-1]) if sizes else None


def smartint_and_best(experiment, figure, mode, form="{:.2f}", best=max):
    def say(r, setting):
        ours = largest(r, experiment, setting, "helper", figure, mode)
        peers = {p: largest(r, experiment, setting, p, figure, mode) for p in ("ob1", "ob1-thread", "ucx", "mpich")}
        peers = {p: v.middle for p, v in peers.items() if v}
        if not ours or not peers:
            return None
        name = best(peers, key=peers.get)
        return f"{form.format(ours.middle)}, best peer ({name}) {form.format(peers[name])}"
    return each(experiment, say)


def beside_none(experiment, figure, mode, scale=1.0, unit=""):
    def say(r, setting):
        ours = largest(r, experiment, setting, "helper", figure, mode)
        none = largest(r, experiment, setting, "ob1", figure, mode)
        if not ours or not none:
            return None
        return f"{(ours.middle - none.middle) * scale:+.3g} {unit}"
    return each(experiment, say)


def gain(experiment, mode):
    """Time of the hidden form with smartint, beside that with ob1."""
    def say(r, setting):
        ours = largest(r, experiment, setting, "helper", "t_total_min", mode)
        ob1 = largest(r, experiment, setting, "ob1", "t_total_min", mode)
        if not ours or not ob1:
            return None
        return f"{100 * (1 - ours.middle / ob1.middle):+.0f} % of ob1's time saved"
    return each(experiment, say)


def flat(r, setting):
    """Progression with three times the computation beside that with 1.5 times."""
    a = largest(r, "progression", setting, "helper", "t_there_min", "receiver@1.5")
    b = largest(r, "progression", setting, "helper", "t_there_min", "receiver@3")
    c = largest(r, "progression", setting, "ob1", "t_there_min", "receiver@1.5")
    d = largest(r, "progression", setting, "ob1", "t_there_min", "receiver@3")
    if not (a and b and c and d):
        return None
    return f"{b.middle / a.middle:.2f} times (ob1 {d.middle / c.middle:.2f})"


def whole(r, setting):
    """The best and the worst of the epochs over the ideal."""
    found = []
    for who, words in (("target", "target computes"), ("origin", "origin computes"), ("late", "and its target is late")):
        ratios = []
        for kind in ("fence", "start", "lock"):
            for op in ("put", "get"):
                mode = f"{kind}_{op}_{who}"
                total = largest(r, "epochs", setting, "helper", "t_total_min", mode)
                t_syn = largest(r, "epochs", setting, "helper", "t_syn", mode)
                if total and t_syn:
                    ratios.append(total.middle / t_syn.middle)
        if ratios:
            total = largest(r, "wire", setting, "ob1", "t_total_min", f"wire_{who}")
            t_syn = largest(r, "wire", setting, "ob1", "t_syn", f"wire_{who}")
            alone = f" (TCP alone {total.middle / t_syn.middle:.2f})" if total and t_syn else ""
            found.append(f"{words} {min(ratios):.2f} to {max(ratios):.2f}{alone}")
    return ", ".join(found) or None


def passive(r, setting):
    """8 bytes accumulated at a target that computes, over one that waits; the best peer's beside it."""
    ours = [r.get("passive", setting, "helper", f"passive_{how}_med", "accumulate", 8) for how in ("computing", "idle")]
    ob1 = r.get("passive", setting, "ob1", "passive_computing_med", "accumulate", 8)
    if not all(ours):
        return None
    return f"accumulate {ours[0].middle:.3g} us beside {ours[1].middle:.3g} (ob1 {ob1.middle:.4g})" if ob1 else None


def shorter(experiment, figure, mode, against="ob1"):
    def say(r, setting):
        ours = largest(r, experiment, setting, "helper", figure, mode)
        other = largest(r, experiment, setting, against, figure, mode)
        if not ours or not other:
            return None
        return f"{100 * (1 - ours.middle / other.middle):+.0f} % shorter than {against}"
    return each(experiment, say)


CLAIMS = [
    Claim("SI 4.6", "latency overhead of the mechanism in the order of nanoseconds, within noise",
          each("latency", lambda r, s: (lambda a, b: a and b and f"1 byte {a.middle:.2f} us, without thread and helper "
                                        f"{b.middle:.2f} us")(r.get("latency", s, "helper", "latency_1_byte_min", "none", 1),
                                                              r.get("latency", s, "none", "latency_1_byte_min", "none", 1))),
          "within the spread; a rank that is in MPI is left alone"),
    Claim("SI 4.7", "overlap near 100 % above 64 KB at the receiver",
          smartint_and_best("overlap", "overlap_min", "receiver@1"),
          "between nodes the wire's own work is done by the kernel on the computing rank's only core, and on one node of two cores "
          "the copy needs a core that both ranks use: the ceiling here, not the mechanism"),
    Claim("SI 4.8", "one helper serves 9 to 16 ranks",
          smartint_and_best("scalability", "overlap_min", "receiver@4"),
          "eight ranks on a node of one core, asleep instead of computing: what is left is the helper's and the threads' own work"),
    Claim("SI 4.9", "progression time constant in the computation's length (three times as long: 1.0)",
          each("progression", flat), "a look of the thread takes all that has come since the last one"),
    Claim("SI 4.5.2", "+300 KB per process (VmRSS)", beside_none("memory", "memory_rss", "after_messages", unit="KiB beside ob1"),
          "UCX's libraries, which smartint loads between nodes, are most of it where there is more"),
    Claim("SI 4.12", "MPI_Ialltoall overlaps", smartint_and_best("collectives", "overlap_min", "ialltoall"),
          "two ranks: one message each way"),
    Claim("SI 4.13", "MPI_Igather hardly improves (a tree's next step waits for an MPI call)",
          smartint_and_best("collectives-4", "overlap_min", "igather"),
          "the same here with trees: Open MPI starts the next round in an MPI call; its linear gather overlaps"),
    Claim("SI 4.14", "NAS SP up to 19 % faster", gain("adi", "adi@hidden"),
          "two ranks share each core here, so another rank computes while one waits and little is left to hide"),
    Claim("LF 3", "no loss on a bandwidth test", smartint_and_best("latency", "bandwidth_max", "none", "{:.0f} MB/s"),
          "as claimed: ranks that wait in MPI are not woken"),
    Claim("LF 5", "availability of the receiver near 100 % at 1 MB", smartint_and_best("availability", "availability", "receiver"),
          "see SI 4.7"),
    Claim("LF 6", "availability of the sender near 100 %", smartint_and_best("availability", "availability", "sender"),
          "see SI 4.7"),
    Claim("LF 9", "less time in MPI_Wait, up to 20 % on the kernel (MPI and OpenMP)", gain("cannon-openmp", "cannon@hidden"),
          "see SI 4.14"),
    Claim("CH 5", "bandwidth of windows as without offload, overlap as with it",
          smartint_and_best("window", "overlap_min", "plain"), "64 KiB and less is sent whole between nodes"),
    Claim("CH 6", "one derived type among 64 messages costs nothing elsewhere, wherever it stands",
          each("window", lambda r, s: (lambda a, b: a and b and f"overlap {a.middle:.2f} with it first, {b.middle:.2f} with it last")(
              largest(r, "window", s, "helper", "overlap_min", "datatype_at_0"),
              largest(r, "window", s, "helper", "overlap_min", "datatype_at_63"))),
          "receives are armed each for itself; one into a derived type is not armed and holds nobody up"),
    Claim("CH 8", "late receiver: up to 38 % less (the sender is released)", shorter("window", "t_sender_min", "late"),
          "no unexpected message is prefetched here: the sender of a rendezvous waits for the receiver"),
    Claim("CH 9, 10", "MPI_Iscatterv 41 %, MPI_Ialltoall 33 % less time",
          shorter("collectives", "t_total_min", "iscatterv"), "here without and with overlap at T_syn = T_lat, two ranks: 50 % is all there is"),
    Claim("CH 11", "late root: MPI_Reduce 55 %, MPI_Gather 17 %", shorter("skew", "others", "gather@8"),
          "see CH 8"),
    Claim("CH 12", "3-D stencil: overlap doubled, 22 % less time", gain("stencil", "stencil@hidden"), "one face of 128 KiB each way per step"),
    Claim("CH 13", "3-D FFT: 7 % less total time", gain("fft", "fft@hidden"), "two ranks; pieces of MPI_Ialltoall"),
    Claim("SI 5.6-5.13", "epoch duration is the longer of computation and communication (1.00)",
          each("epochs", lambda r, s: whole(r, s)),
          "inside a node a put is a copy by the origin, which computes or copies; between nodes the kernel's work for TCP is done by "
          "the computing core, with no library at all (experiment wire)"),
    Claim("SI 5.14", "LU decomposition over windows 3 to 5 % faster", gain("lu", "lu@hidden"),
          "two ranks and a slow wire: panels of 512 KiB take a large part of each step, and nearly all of it hides"),
    Claim("passive", "an origin does not wait for a target that computes",
          each("passive", lambda r, s: passive(r, s)), "the target's thread, or inside a node the origin itself"),
    Claim("CS 3-6", "availability grows with the message's size, and for the sender too once completions wake the thread",
          smartint_and_best("availability", "availability", "sender"), "see SI 4.7"),
]

METHOD = """
<p>Every program is plain MPI-3.1 and the same source for all systems. A computation is a fixed amount of work in registers,
calibrated once against the thread's CPU time before MPI_Init and the same for all runs; its length is the best peer's latency, so
that a slow system gains nothing by being slow. Repetitions begin at a moment of a common clock, outside MPI and with nothing in
flight. Data of every message and results of kernels are checked outside what is timed. Systems take turns run by run, another one
first in each round; a figure is the least of a run's repetitions (disturbances only add), and of the rounds the median with its
range. Rounds end when the middle half of the headline figures lies within a bound, or by number or time. A run is dropped if others
used more than a bound of cores meanwhile, or the host took 5 % of the machine; the two least disturbed runs of a system stay whatever
they were. Priority is raised (nice -15, and the session's) for the ranks alone.</p>
<p><b>Two cores.</b> This machine has two virtual ones, whose distance in caches changes as the host moves them. One node means two ranks
with a core each: helper, threads and kernel have no core of their own, and when both ranks compute, whoever copies takes the time from
one of them; there "all hidden" is not possible. Two nodes are namespaces with one core each and a link that the kernel limits: protocol
and wire cost that core 8 % (200 Mbit/s) to 25 % (1 Gbit/s; experiment wire measures it), so that .9 is about the ceiling at 1 Gbit/s. With four ranks two share a
core, and one computes while the other waits, whatever the library does. MPICH's asynchronous progress spins in a thread per rank and
is left out, as are MPICH's runs of more ranks than cores. There is no RDMA hardware: nothing here says how it would do there.</p>
"""
