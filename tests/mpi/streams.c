// SPDX-License-Identifier: BSD-3-Clause
// Description: many whole messages, more than any buffer on the way holds, come in while their receiver computes and
// calls no MPI until the last one is there. Between ranks that meet by the network: inside a node nobody is woken for
// whole messages. Argument: bytes of a message.
#include "check.h"

enum { WINDOW = 24 << 20, ROUNDS = 4, PATIENCE_S = 20 };

static void receive(unsigned char *buffer, size_t bytes, int count, int round, MPI_Request *requests) {
    memset(buffer, 0, bytes * (size_t) count);
    for (int i = 0; i < count; ++i) {
        MPI(MPI_Irecv(buffer + (size_t) i * bytes, (int) bytes, MPI_BYTE, my_peer, round, MPI_COMM_WORLD,
                      &requests[i]));
    }
    MPI(MPI_Send(NULL, 0, MPI_BYTE, my_peer, 100, MPI_COMM_WORLD));
    const volatile unsigned char *last = buffer + bytes * (size_t) count - 1;
    const double end = now() + PATIENCE_S;
    while (0 == *last) {
        CHECK(now() < end, "the last of %d messages of %zu bytes did not come while this rank computed", count, bytes);
    }
    MPI(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
}

int main(int argc, char **argv) {
    begin(&argc, &argv, 2);
    const size_t bytes = argc > 1 ? (size_t) atol(argv[1]) : 65536;
    const int count = (int) (WINDOW / bytes);
    unsigned char *buffer = malloc(bytes * (size_t) count);
    MPI_Request *requests = malloc((size_t) count * sizeof(*requests));
    for (int round = 0; round < ROUNDS && 0 <= my_side; ++round) {
        const int sends = my_side == round % 2;
        test_note = sends ? "sending" : "computing";
        if (sends) {
            for (int i = 0; i < count; ++i) {
                fill(buffer + (size_t) i * bytes, bytes, key_of(400 + round, my_rank, (uint64_t) i, 0));
                buffer[(size_t) (i + 1) * bytes - 1] = 1;
            }
            MPI(MPI_Recv(NULL, 0, MPI_BYTE, my_peer, 100, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            for (int i = 0; i < count; ++i) {
                MPI(MPI_Isend(buffer + (size_t) i * bytes, (int) bytes, MPI_BYTE, my_peer, round, MPI_COMM_WORLD,
                              &requests[i]));
            }
            MPI(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
            continue;
        }
        receive(buffer, bytes, count, round, requests);
        for (int i = 0; i < count; ++i) {
            VERIFY(buffer + (size_t) i * bytes, bytes - 1, key_of(400 + round, my_peer, (uint64_t) i, 0), "message");
        }
    }
    // what was expected and is not any more
    test_note = "cancelling";
    for (int i = 0; i < count; ++i) {
        MPI(MPI_Irecv(buffer + (size_t) i * bytes, (int) bytes, MPI_BYTE, my_peer, 200, MPI_COMM_WORLD, &requests[i]));
    }
    for (int i = 0; i < count; ++i) {
        int cancelled = 0;
        MPI_Status status;
        MPI(MPI_Cancel(&requests[i]));
        MPI(MPI_Wait(&requests[i], &status));
        MPI(MPI_Test_cancelled(&status, &cancelled));
        CHECK(cancelled || MPI_PROC_NULL == my_peer, "a receive that nobody met was not cancelled");
    }
    free(requests);
    free(buffer);
    return finish();
}
