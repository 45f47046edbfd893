// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
// Description: a thread waits for a message of a communicator whose handle another thread frees meanwhile; then
// communicators are made that would have its number if it were given away. The message that was waited for is received,
// and none of theirs, by a receive and by a matched probe.
#include "check.h"

#include <pthread.h>

enum { TAG = 5, OF_DROPPED = 100, OF_NEW = 222 };

static MPI_Comm dropped;
static int probes, got;

static void *wait_for_it(void *unused) {
    MPI_Comm comm = dropped;
    if (probes) {
        MPI_Message message;
        MPI(MPI_Mprobe(0, TAG, comm, &message, MPI_STATUS_IGNORE));
        MPI(MPI_Mrecv(&got, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
    } else {
        MPI(MPI_Recv(&got, 1, MPI_INT, 0, TAG, comm, MPI_STATUS_IGNORE));
    }
    return unused;
}

int main(int argc, char **argv) {
    MPI_Comm pair, next;
    int provided;
    MPI(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
    CHECK(MPI_THREAD_MULTIPLE == provided, "MPI_THREAD_MULTIPLE is not provided");
    learn_world(3);
    MPI(MPI_Comm_split(MPI_COMM_WORLD, 0 == my_rank ? MPI_UNDEFINED : 0, -my_rank, &pair));
    for (probes = 0; probes < 2; ++probes) {
        test_note = probes ? "a matched probe" : "a receive";
        MPI(MPI_Comm_dup(MPI_COMM_WORLD, &dropped));
        pthread_t thread;
        int value = 0;
        if (1 == my_rank) {
            got = 0;
            CHECK(0 == pthread_create(&thread, NULL, wait_for_it, NULL), "no thread");
            usleep(200000); // it waits by then; if not, this run shows less
        }
        MPI(MPI_Barrier(MPI_COMM_WORLD));
        if (0 != my_rank) {
            MPI_Comm handle = dropped;
            MPI(MPI_Comm_free(&handle));
            MPI(MPI_Comm_dup(pair, &next));
            if (1 == my_rank) {
                MPI(MPI_Recv(&value, 1, MPI_INT, 0, TAG, next, MPI_STATUS_IGNORE));
                CHECK(OF_NEW == value, "%d came by the new communicator", value);
            } else {
                value = OF_NEW;
                MPI(MPI_Send(&value, 1, MPI_INT, 1, TAG, next));
            }
            MPI(MPI_Comm_free(&next));
        }
        MPI(MPI_Barrier(MPI_COMM_WORLD));
        if (0 == my_rank) {
            value = OF_DROPPED;
            MPI(MPI_Send(&value, 1, MPI_INT, 1, TAG, dropped));
            MPI(MPI_Comm_free(&dropped));
        } else if (1 == my_rank) {
            CHECK(0 == pthread_join(thread, NULL), "the thread is not joined");
            CHECK(OF_DROPPED == got, "%d came by the one whose handle was freed", got);
        }
    }
    if (MPI_COMM_NULL != pair) {
        MPI(MPI_Comm_free(&pair));
    }
    return finish();
}
