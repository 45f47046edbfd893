// SPDX-License-Identifier: BSD-3-Clause
// Description: rank 1 kills itself in the middle of transfers; mpirun must end the job and nothing may
// stay behind. argv[1]: milliseconds before it does (default 200), from the end of its first round on, of
// which it tells: `# begun`. argv[2]: `kill` (SIGKILL, default), `segv`, `exit` (without MPI_Finalize) or
// `abort` (MPI_Abort).
#include "check.h"

#include <signal.h>

enum { N = 8, SIZE = 2 << 20 };

int main(int argc, char **argv) {
    begin(&argc, &argv, 2);
    double end = 0;
    const char *how = argc > 2 ? argv[2] : "kill";
    unsigned char *out = guarded_alloc(SIZE), *in = guarded_alloc((size_t) N * SIZE);
    int to = (my_rank + 1) % n_ranks, from = (my_rank + n_ranks - 1) % n_ranks;
    MPI_Request request[2 * N];

    fill(out, SIZE, 210 + my_rank);
    for (;;) { // only the death of rank 1 ends this
        for (int i = 0; i < N; ++i) {
            MPI(MPI_Irecv(in + (size_t) i * SIZE, SIZE, MPI_BYTE, from, i, MPI_COMM_WORLD, &request[i]));
        }
        for (int i = 0; i < N; ++i) {
            MPI(MPI_Isend(out, SIZE, MPI_BYTE, to, i, MPI_COMM_WORLD, &request[N + i]));
        }
        if (1 == my_rank && 0 != end && now() >= end) {
            if (0 == strcmp(how, "segv")) {
                signal(SIGSEGV, SIG_DFL);
                raise(SIGSEGV);
            } else if (0 == strcmp(how, "exit")) {
                _exit(3);
            } else if (0 == strcmp(how, "abort")) {
                MPI_Abort(MPI_COMM_WORLD, 4);
            }
            raise(SIGKILL);
        }
        MPI(MPI_Waitall(2 * N, request, MPI_STATUSES_IGNORE));
        for (int i = 0; i < N; ++i) {
            VERIFY(in + (size_t) i * SIZE, SIZE, 210 + from, "message before the death");
        }
        if (1 == my_rank && 0 == end) {
            printf("# begun\n");
            fflush(stdout);
            end = now() + (argc > 1 ? atoi(argv[1]) : 200) * 1e-3;
        }
    }
}
