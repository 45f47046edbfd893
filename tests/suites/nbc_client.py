# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
#
# A client of mpi4py, which initializes MPI with MPI_THREAD_MULTIPLE: nonblocking collectives of every
# kind while Python computes between posting and waiting. Data is checked element by element; a
# user's operation must run on the thread that called MPI.
#
#   nbc_client.py [ELEMENTS]      of the largest blocks (default 150000: more than 512 KiB)
import sys
import threading
import time
from array import array

from mpi4py import MPI

comm = MPI.COMM_WORLD
me, size = comm.Get_rank(), comm.Get_size()
main_thread = threading.get_native_id()
INT = MPI.INT
BLANK = -1
op_calls = 0


def fail(what):
    sys.stderr.write("FAILED rank %d: %s\n" % (me, what))
    sys.stderr.flush()
    comm.Abort(1)


def compute(key):
    """Up to 2 ms without MPI, of another length on every rank. Nothing depends on how long."""
    end = time.perf_counter() + ((me * 7919 + key * 104729) % 1000) * 2e-6
    x = 1.0
    while time.perf_counter() < end:
        for _ in range(50):
            x = x * 1.0000001 + 1e-9


def vector(rank, key, n, first=0):
    """Elements [first, first + n) of what the rank contributes: different everywhere, small enough to add."""
    start = (rank * 40503 + key * 9973) % 1000003
    return array("i", range(start + first, start + first + n))


def blank(n):
    return array("i", [BLANK]) * n


def same(got, want, what):
    if got != want:
        i = next(k for k in range(len(want)) if got[k] != want[k])
        fail("%s: element %d of %d is %d, expected %d" % (what, i, len(want), got[i], want[i]))


def length(source, n):
    """Elements in blocks of a v-kind that come from the source."""
    return n - n * (source % 3) // 8


def take_second(inbuf, inout, datatype):
    """(a, b) -> b where b is not zero: associative, not commutative; the last rank's value stays."""
    global op_calls
    op_calls += 1
    if threading.get_native_id() != main_thread:
        fail("a user's operation runs on a thread that did not call MPI")
    a, b = memoryview(inbuf).cast("i"), memoryview(inout).cast("i")
    for i in range(len(b)):
        if b[i] == 0:
            b[i] = a[i]


user_op = MPI.Op.Create(take_second, commute=False)


def begin_kind(kind, n, key):
    """Returns the request, and a function that checks what came."""
    root = key % size
    mine, counts = vector(me, key, n), [length(r, n) for r in range(size)]
    at = [n * r for r in range(size)]
    whole = vector(me, key, n * size)
    everything = blank(n * size)

    def gathered(lengths, first=0):
        want = blank(n * size)
        for r in range(size):
            want[n * r:n * r + lengths[r]] = vector(r, key, lengths[r], first)
        return want

    def check(got, want, *buffers):
        # what is sent has to live as long as the request; not every version of mpi4py sees to it
        return lambda: (buffers, mine, whole, same(got, want, "%s of %d, call %d" % (kind, n, key)))

    nothing = lambda: (mine, whole)
    same_length = [n] * size
    my_part = [mine, counts[me], INT]
    v_in = [everything, counts, at, INT]
    if kind == "Ibarrier":
        return comm.Ibarrier(), nothing
    if kind == "Ibcast":
        data = vector(root, key, n) if me == root else blank(n)
        return comm.Ibcast([data, INT], root), check(data, vector(root, key, n))
    if kind == "Igather":
        return (comm.Igather([mine, INT], [everything, INT] if me == root else None, root),
                check(everything, gathered(same_length)) if me == root else nothing)
    if kind == "Igatherv":
        return (comm.Igatherv(my_part, v_in if me == root else None, root),
                check(everything, gathered(counts)) if me == root else nothing)
    if kind == "Iscatter":
        got = blank(n)
        return (comm.Iscatter([whole, INT] if me == root else None, [got, INT], root),
                check(got, vector(root, key, n, n * me)))
    if kind == "Iscatterv":
        got = blank(counts[me])
        return (comm.Iscatterv([whole, counts, at, INT] if me == root else None, [got, INT], root),
                check(got, vector(root, key, counts[me], n * me)))
    if kind == "Iallgather":
        return comm.Iallgather([mine, INT], [everything, INT]), check(everything, gathered(same_length))
    if kind == "Iallgatherv":
        return comm.Iallgatherv(my_part, v_in), check(everything, gathered(counts))
    if kind == "Ialltoall":
        return comm.Ialltoall([whole, INT], [everything, INT]), check(everything, gathered(same_length, n * me))
    if kind in ("Ialltoallv", "Ialltoallw"):
        # the sender decides the length, so all it sends are equally long
        out, mid = [counts[me]] * size, check(everything, gathered(counts, n * me))
        if kind == "Ialltoallv":
            return comm.Ialltoallv([whole, out, at, INT], v_in), mid
        bytes_at = [4 * a for a in at]
        return (comm.Ialltoallw([whole, out, bytes_at, [INT] * size], [everything, counts, bytes_at, [INT] * size]),
                mid)
    summed = lambda count, first, ranks: array(
        "i", map(sum, zip(*(vector(r, key, count, first) for r in ranks)))) if len(ranks) else blank(count)
    got = blank(n)
    if kind == "Ireduce":
        return (comm.Ireduce([mine, INT], [got, INT] if me == root else None, MPI.SUM, root),
                check(got, summed(n, 0, range(size))) if me == root else nothing)
    if kind == "Iallreduce":
        return comm.Iallreduce([mine, INT], [got, INT], MPI.SUM), check(got, summed(n, 0, range(size)))
    if kind == "Iallreduce with a user's operation":
        return comm.Iallreduce([mine, INT], [got, INT], user_op), check(got, later(key, n, range(size)))
    if kind == "Ireduce with a user's operation":
        return (comm.Ireduce([mine, INT], [got, INT] if me == root else None, user_op, root),
                check(got, later(key, n, range(size))) if me == root else nothing)
    if kind == "Iscan with a user's operation":
        return comm.Iscan([mine, INT], [got, INT], user_op), check(got, later(key, n, range(me + 1)))
    if kind == "Ireduce_scatter":
        part = blank(counts[me])
        return (comm.Ireduce_scatter([whole, sum(counts), INT], [part, INT], counts, MPI.SUM),
                check(part, summed(counts[me], sum(counts[:me]), range(size))))
    if kind == "Ireduce_scatter_block":
        return (comm.Ireduce_scatter_block([whole, INT], [got, INT], MPI.SUM),
                check(got, summed(n, n * me, range(size))))
    if kind == "Iscan":
        return comm.Iscan([mine, INT], [got, INT], MPI.SUM), check(got, summed(n, 0, range(me + 1)))
    if kind == "Iexscan":
        return comm.Iexscan([mine, INT], [got, INT], MPI.SUM), check(got, summed(n, 0, range(me)))
    return begin_neighbours(kind, n, key, check)


def later(key, n, ranks):
    """What take_second leaves."""
    want = vector(ranks[0], key, n)
    for r in ranks[1:]:
        b = vector(r, key, n)
        want = array("i", (y if y else x for x, y in zip(want, b)))
    return want


before, after = (me - 1) % size, (me + 1) % size
ring = comm.Create_dist_graph_adjacent([before], [after])


def begin_neighbours(kind, n, key, check):
    got, out = blank(n), vector(me, key, n)
    count = length(before, n)
    want = vector(before, key, n)
    part = want[:count] + blank(n - count)
    if kind == "Ineighbor_allgather":
        return ring.Ineighbor_allgather([out, INT], [got, INT]), check(got, want, out)
    if kind == "Ineighbor_alltoall":
        return ring.Ineighbor_alltoall([out, INT], [got, INT]), check(got, want, out)
    mine, theirs = [out, [length(me, n)], [0], INT], [got, [count], [0], INT]
    if kind == "Ineighbor_allgatherv":
        return ring.Ineighbor_allgatherv([out, length(me, n), INT], theirs), check(got, part, out)
    if kind == "Ineighbor_alltoallv":
        return ring.Ineighbor_alltoallv(mine, theirs), check(got, part, out)
    return (ring.Ineighbor_alltoallw([out, [length(me, n)], [0], [INT]], [got, [count], [0], [INT]]),
            check(got, part, out))


KINDS = """Ibarrier Ibcast Igather Igatherv Iscatter Iscatterv Iallgather Iallgatherv Ialltoall Ialltoallv
    Ialltoallw Ireduce Iallreduce Ireduce_scatter Ireduce_scatter_block Iscan Iexscan Ineighbor_allgather
    Ineighbor_allgatherv Ineighbor_alltoall Ineighbor_alltoallv Ineighbor_alltoallw""".split()
USER_KINDS = ["Iallreduce with a user's operation", "Ireduce with a user's operation", "Iscan with a user's operation"]


def main():
    if MPI.Query_thread() != MPI.THREAD_MULTIPLE:
        fail("mpi4py got thread level %d, not MPI_THREAD_MULTIPLE" % MPI.Query_thread())
    largest = int(sys.argv[1]) if len(sys.argv) > 1 else 150000
    key = 0
    for n in (8, 3000, 40000, largest):
        for kind in KINDS + USER_KINDS:
            if kind in USER_KINDS and n > 40000:
                continue    # Python's loops would take seconds
            key += 1
            request, check = begin_kind(kind, n, key)
            compute(key)
            request.Wait()
            check()
    for n in (8, 3000, 20000):    # all of them under way
        pending = []
        for kind in KINDS + USER_KINDS:
            key += 1
            pending.append(begin_kind(kind, n, key))
            compute(key)
        MPI.Request.Waitall([request for request, _ in pending])
        for _, check in pending:
            check()
    if size > 1 and op_calls == 0:
        fail("no user's operation was called")
    ring.Free()
    user_op.Free()
    comm.Barrier()
    if me == 0:
        print("ok", flush=True)


main()
