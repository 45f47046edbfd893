// SPDX-License-Identifier: BSD-3-Clause
// Description: a program that protects its pages against writing and handles the faults itself, as checkpointing and
// garbage collectors do, receives a large message into such pages while it computes. The kernel copies nothing there,
// so the message comes in fragments, and whoever stores them meets the faults: here another thread than the program's.
#include "check.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TAG = 3, BYTES = 4 << 20, REPEATS = 4, SECONDS = 20 };

static unsigned char *memory;
static long page;
static pid_t program;
static volatile int faults, others; // of any thread, of other threads than the program's

static void on_fault(int signal, siginfo_t *info, void *context) {
    unsigned char *at = info->si_addr;
    (void) context;
    if (at < memory || at >= memory + BYTES) {
        static const char text[] = "FAILED a fault elsewhere\n";
        (void) !write(2, text, sizeof(text) - 1);
        _exit(128 + signal);
    }
    mprotect((void *) ((uintptr_t) at / (uintptr_t) page * (uintptr_t) page), (size_t) page, PROT_READ | PROT_WRITE);
    faults = faults + 1;
    others = others + (program != (pid_t) syscall(SYS_gettid));
}

static void receive(int k, int require) {
    const uint64_t key = key_of(301, k, 0, 0);
    const unsigned char want = pattern_byte(key, BYTES - 1);
    volatile unsigned char *last = memory + BYTES - 1;
    MPI_Request request;
    memset(memory, BLANK_VALUE, BYTES);
    *last = (unsigned char) ~want;
    faults = others = 0;
    CHECK(0 == mprotect(memory, BYTES, PROT_READ), "mprotect: %m");
    MPI(MPI_Irecv(memory, BYTES, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request));
    MPI(MPI_Send(NULL, 0, MPI_BYTE, 0, TAG, MPI_COMM_WORLD));
    for (const double end = now() + SECONDS; require && *last != want && now() < end;) {}
    CHECK(!require || *last == want, "nothing had arrived after %d s of computation", SECONDS);
    MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(faults >= BYTES / page && (!require || others > 0), "%d faults, %d of another thread", faults, others);
    VERIFY(memory, BYTES, key, "message into protected memory");
}

int main(int argc, char **argv) {
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    begin(&argc, &argv, 2);
    page = sysconf(_SC_PAGESIZE);
    program = (pid_t) syscall(SYS_gettid);
    memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(MAP_FAILED != memory, "mmap: %m");
    CHECK(0 == sigaction(SIGSEGV, &action, NULL), "sigaction: %m");
    for (int k = 0; k < REPEATS; ++k) {
        if (0 == my_rank) {
            fill(memory, BYTES, key_of(301, k, 0, 0));
            MPI(MPI_Recv(NULL, 0, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            MPI(MPI_Send(memory, BYTES, MPI_BYTE, 1, TAG, MPI_COMM_WORLD));
        } else if (1 == my_rank) {
            receive(k, argc > 1);
        }
        MPI(MPI_Barrier(MPI_COMM_WORLD));
    }
    return finish();
}
