// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
// Description: large messages to a rank that receives from MPI_ANY_SOURCE and has named their sender in no call; it
// computes until they are received.
//   met DIRECTORY REPEATS SECONDS
// Rank 1 begins REPEATS sends, one after the other, and computes after each until rank 0 has said by a file in
// DIRECTORY that it is there, at most SECONDS. Prints how many were: `# received N of M`.
#include "check.h"

#include <sys/stat.h>

enum { SIZE = 1 << 20, TAG = 4 };

int main(int argc, char **argv) {
    begin(&argc, &argv, 2);
    CHECK(argc > 3, "met DIRECTORY REPEATS SECONDS");
    const int repeats = atoi(argv[2]);
    int received = 0;
    unsigned char *buf = guarded_alloc(SIZE);
    for (int i = 0; i < repeats; ++i) {
        char path[4096];
        snprintf(path, sizeof(path), "%s/%d", argv[1], i);
        if (0 == my_rank) {
            MPI_Status status;
            MPI(MPI_Recv(buf, SIZE, MPI_BYTE, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &status));
            CHECK_STATUS(&status, 1, TAG, SIZE);
            VERIFY(buf, SIZE, key_of(250, i, 0, 0), "message");
            CHECK(0 == mkdir(path, 0700), "cannot make %s", path);
        } else if (1 == my_rank) {
            MPI_Request request;
            int there = 0;
            fill(buf, SIZE, key_of(250, i, 0, 0));
            MPI(MPI_Isend(buf, SIZE, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request));
            for (double end = now() + atof(argv[3]); !there && now() < end;) {
                there = 0 == access(path, F_OK);
            }
            received += there;
            MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        }
    }
    if (1 == my_rank) {
        printf("# received %d of %d\n", received, repeats);
        fflush(stdout);
    }
    guarded_free(buf, SIZE);
    return finish();
}
