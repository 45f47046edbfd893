// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
// Description: two ranks with a network between them, of which the second one breaks its connections.
//   lost_peer begun     a send and a receive that had begun at either of them fail with an error
//   lost_peer new       what that rank begins then fails with an error
//   lost_peer fatal     as begun, and an error ends the job
// Nothing of it waits for ever. The other rank only ends, where it is not said to do more.
#include "check.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

enum { SIZE = 8 << 20, /* more than sockets take in beside what a sender may be ahead */ ROUNDS = 50 };
static unsigned char out[SIZE], in[SIZE];

// The run-time's own connections go over the loopback.
static int shut_network(void) {
    int n = 0;
    for (int fd = 3; fd < 1024; ++fd) {
        struct sockaddr_storage a;
        socklen_t length = sizeof(a);
        if (0 == getpeername(fd, (struct sockaddr *) &a, &length) && AF_INET == a.ss_family &&
            127 != ntohl(((struct sockaddr_in *) &a)->sin_addr.s_addr) >> 24 && 0 == shutdown(fd, SHUT_RDWR)) {
            ++n;
        }
    }
    return n;
}

static int has_failed(int rc) { return MPI_SUCCESS != rc; }

static void begun(int other) {
    MPI_Request request[2];
    fill(out, SIZE, key_of(251, my_rank, 0, 0));
    MPI(MPI_Irecv(in, SIZE, MPI_BYTE, other, 1, MPI_COMM_WORLD, &request[0]));
    MPI(MPI_Isend(out, SIZE, MPI_BYTE, other, 2, MPI_COMM_WORLD, &request[1]));
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (1 == my_rank) {
        CHECK(shut_network() > 0, "no connection to break");
    }
    test_note = "waiting for what had begun";
    for (int i = 0; i < 2; ++i) {
        int rc = MPI_Wait(&request[i], MPI_STATUS_IGNORE);
        CHECK(has_failed(rc), "%s that had begun did not fail", i ? "a send" : "a receive");
    }
}

static void new (int other) {
    MPI_Comm unused; // for messages of its own
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &unused));
    MPI(MPI_Comm_set_errhandler(unused, MPI_ERRORS_RETURN));
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (1 != my_rank) {
        return;
    }
    CHECK(shut_network() > 0, "no connection to break");
    int rc = MPI_SUCCESS;
    for (int i = 0; i < ROUNDS && !has_failed(rc); ++i) {
        rc = MPI_Send(out, 1000, MPI_BYTE, other, 2, MPI_COMM_WORLD);
    }
    CHECK(has_failed(rc), "no send failed");
    CHECK(has_failed(MPI_Send(out, SIZE, MPI_BYTE, other, 2, MPI_COMM_WORLD)), "a large send did not fail");
    CHECK(has_failed(MPI_Recv(in, 1, MPI_BYTE, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)), "a receive did not fail");
    int flag;
    MPI_Message message;
    CHECK(has_failed(MPI_Probe(other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)), "a probe did not fail");
    CHECK(has_failed(MPI_Mprobe(other, 1, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE)), "MPI_Mprobe did not fail");
    CHECK(has_failed(MPI_Iprobe(other, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE)), "MPI_Iprobe did not fail");
    CHECK(has_failed(MPI_Improbe(other, 1, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE)),
          "MPI_Improbe did not fail");
    CHECK(has_failed(MPI_Probe(other, 1, unused, MPI_STATUS_IGNORE)),
          "a probe on a communicator not used before did not fail");
    MPI(MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE)); // anybody is not lost
    CHECK(!flag, "a message of nobody");
}

int main(int argc, char **argv) {
    begin(&argc, &argv, 2);
    int other = 1 - my_rank;
    for (int i = 0; i < 4; ++i) {
        uint64_t n = i % 2 ? SIZE : 1000;
        fill(out, n, key_of(250, my_rank, i, 0));
        MPI(MPI_Sendrecv(out, (int) n, MPI_BYTE, other, 0, in, (int) n, MPI_BYTE, other, 0, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE));
        VERIFY(in, n, key_of(250, other, i, 0), "message while all is well");
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    const char *what = argc > 1 ? argv[1] : "begun";
    if (0 != strcmp(what, "fatal")) {
        MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    }
    (0 == strcmp(what, "new") ? new : begun)(other);
    printf("# rank %d was told\n", my_rank);
    fflush(stdout);
    MPI(MPI_Finalize()); // no barrier before it: the ranks cannot reach each other
    if (0 == my_rank) {
        puts("ok");
    }
    return 0;
}
