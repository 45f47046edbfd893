// SPDX-License-Identifier: BSD-3-Clause
// Description: two started jobs of one's own that find each other by a port (MPI_Comm_accept, MPI_Comm_connect):
// neither is the other's parent. Messages of all sizes both ways, from everyone to everyone, twice over
// a new connection. argv[1]: processes per job; the started ones get "accept" or "connect" as well.
#include "across.h"

enum { PORT = 6, TIMES = 2, MAX_SIZE = 1 << 20 };

static const size_t sizes[] = {0, 8, 4096, 65536, 70001, MAX_SIZE};
enum { N_SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static void child(MPI_Comm parent, int accepts) {
    char port[MPI_MAX_PORT_NAME] = "";
    int rank;
    MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    if (0 == rank && accepts) {
        MPI(MPI_Open_port(MPI_INFO_NULL, port));
        MPI(MPI_Send(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, PORT, parent));
    } else if (0 == rank) {
        MPI(MPI_Recv(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, PORT, parent, MPI_STATUS_IGNORE));
    }
    for (int i = 0; i < TIMES; ++i) {
        MPI_Comm other;
        test_note = accepts ? "accepting" : "connecting";
        if (accepts) {
            MPI(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other));
        } else {
            MPI(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other));
        }
        test_note = "exchanging";
        for (int s = 0; s < N_SIZES; ++s) {
            exchange_across(other, 240, accepts, sizes[s]);
        }
        test_note = "parting";
        MPI(MPI_Comm_disconnect(&other));
    }
    if (0 == rank && accepts) {
        MPI(MPI_Close_port(port));
    }
    MPI(MPI_Comm_disconnect(&parent));
}

int main(int argc, char **argv) {
    MPI_Comm parent, accepting, connecting;
    begin(&argc, &argv, 1);
    MPI(MPI_Comm_get_parent(&parent));
    if (MPI_COMM_NULL != parent) {
        child(parent, argc > 1 && 0 == strcmp(argv[1], "accept"));
        MPI_Finalize();
        return 0;
    }
    const int n = argc > 1 ? atoi(argv[1]) : 2;
    char accept_word[] = "accept", connect_word[] = "connect", port[MPI_MAX_PORT_NAME];
    char *accept_args[] = {accept_word, NULL}, *connect_args[] = {connect_word, NULL};
    int rank;
    MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    test_note = "starting processes";
    MPI(MPI_Comm_spawn(argv[0], accept_args, n, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &accepting, MPI_ERRCODES_IGNORE));
    MPI(MPI_Comm_spawn(argv[0], connect_args, n, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &connecting, MPI_ERRCODES_IGNORE));
    if (0 == rank) {
        test_note = "handing on the port";
        MPI(MPI_Recv(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, PORT, accepting, MPI_STATUS_IGNORE));
        MPI(MPI_Send(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, PORT, connecting));
    }
    test_note = "parting from the started jobs";
    MPI(MPI_Comm_disconnect(&accepting));
    MPI(MPI_Comm_disconnect(&connecting));
    return finish();
}
