// SPDX-License-Identifier: BSD-3-Clause
// Description: a started process sends to the one that started it, and ends without parting (MPI_Comm_disconnect), long
// before that receives. Nothing of what it sent may be lost.
//   leaves first   its very first message
//   leaves many    many that go whole, more than the way takes at once
//   leaves after   the same, behind a large one from the other side
#include "check.h"

#include <string.h>

enum { TAG = 5, LARGE = 1 << 20, MOST = 40000, MANY = 400 };

static int large, count, size;

static void form(const char *name) {
    large = 0 == strcmp("after", name);
    count = 0 == strcmp("first", name) ? 1 : large ? 16 : MANY;
    size = 0 == strcmp("first", name) ? 4 : MOST;
}

static void leave(MPI_Comm parent) {
    unsigned char *buf = guarded_alloc(LARGE);
    test_note = "leaving";
    if (large) {
        MPI(MPI_Recv(buf, LARGE, MPI_BYTE, 0, TAG, parent, MPI_STATUS_IGNORE));
        VERIFY(buf, LARGE, 239, "large message");
    }
    for (int i = 0; i < count; ++i) {
        fill(buf, (size_t) size, key_of(238, i, 0, 0));
        MPI(MPI_Send(buf, size, MPI_BYTE, 0, TAG, parent));
    }
    guarded_free(buf, LARGE);
}

static void stay(MPI_Comm child) {
    unsigned char *buf = guarded_alloc(LARGE);
    MPI_Status status;
    if (large) {
        fill(buf, LARGE, 239);
        MPI(MPI_Send(buf, LARGE, MPI_BYTE, 0, TAG, child));
    }
    test_note = "receiving from one that left";
    sleep(1);
    for (int i = 0; i < count; ++i) {
        memset(buf, BLANK_VALUE, (size_t) size);
        MPI(MPI_Recv(buf, size, MPI_BYTE, 0, TAG, child, &status));
        CHECK_STATUS(&status, 0, TAG, (size_t) size);
        VERIFY(buf, (size_t) size, key_of(238, i, 0, 0), "message of one that left");
    }
    guarded_free(buf, LARGE);
}

int main(int argc, char **argv) {
    MPI_Comm parent, child;
    begin(&argc, &argv, 1);
    CHECK(argc > 1, "which form?");
    form(argv[1]);
    MPI(MPI_Comm_get_parent(&parent));
    if (MPI_COMM_NULL != parent) {
        leave(parent);
        MPI_Finalize();
        return 0;
    }
    test_note = "starting a process";
    MPI(MPI_Comm_spawn(argv[0], argv + 1, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &child, MPI_ERRCODES_IGNORE));
    stay(child);
    return finish();
}
