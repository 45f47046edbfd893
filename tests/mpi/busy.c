// SPDX-License-Identifier: BSD-3-Clause
// Description: a library to preload: after each call that begins a message it computes for 0 to 1 ms
// without any MPI call, so that messages meet their receives while the application is away.
// The times come from a seed: the same in every run. Programs that begin thousands of messages
// compute after few of the later ones, or they would never end.
#define _GNU_SOURCE 1
#include <mpi.h>

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

enum { ALWAYS = 500, LATER = 16, LONGEST_NS = 1000000 };

static uint64_t mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t) t.tv_sec * 1000000000 + t.tv_nsec;
}

// Busy, not asleep: no system call but the clock's vdso.
static void compute(void) {
    static __thread uint64_t calls;
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    uint64_t n = calls++;
    if (n >= ALWAYS && 0 != n % LATER) {
        return;
    }
    uint64_t key = mix((uint64_t) (NULL == rank ? 0 : atoi(rank)) + 1);
    int64_t end = now_ns() + (int64_t) (mix(key ^ n) % LONGEST_NS);
    volatile double x = 1.0;
    while (now_ns() < end) {
        for (int i = 0; i < 500; ++i) {
            x = x * 1.0000001 + 1e-9;
        }
    }
}

#define AND_COMPUTE(call)                                                                                              \
    int rc = call;                                                                                                     \
    compute();                                                                                                         \
    return rc

int MPI_Isend(const void *buf, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request) {
    AND_COMPUTE(PMPI_Isend(buf, count, type, to, tag, comm, request));
}

int MPI_Issend(const void *buf, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request) {
    AND_COMPUTE(PMPI_Issend(buf, count, type, to, tag, comm, request));
}

int MPI_Irecv(void *buf, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request) {
    AND_COMPUTE(PMPI_Irecv(buf, count, type, from, tag, comm, request));
}

int MPI_Start(MPI_Request *request) { AND_COMPUTE(PMPI_Start(request)); }

int MPI_Startall(int count, MPI_Request *requests) { AND_COMPUTE(PMPI_Startall(count, requests)); }
