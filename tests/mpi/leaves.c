// SPDX-License-Identifier: BSD-3-Clause
// Description: a started process sends to the one that started it, and ends without parting (MPI_Comm_disconnect), long
// before that receives. Nothing of what it sent may be lost.
//   leaves first   its very first message
//   leaves many    many that go whole, more than the way takes at once
//   leaves after   the same, behind a large one from the other side
//   leaves freed   as first, and its request is freed: nobody waits for it
//   leaves freed-sync   the same, a synchronous one
//   leaves freed-large  the same, 1 MiB
//   leaves freed-many   as many, all requests are freed, and then the communicator
//   leaves large   one of 1 MiB, whose receiver looks at it now and then
#include "check.h"

#include <string.h>

enum { TAG = 5, LARGE = 1 << 20, MOST = 40000, MANY = 400 };

static int large, freed, synchronous, rarely, count, size;
static unsigned char *kept; // of freed requests: MPI may read it until MPI_Finalize returns

static void form(const char *name) {
    const int many = 0 == strcmp("many", name) || 0 == strcmp("freed-many", name);
    large = 0 == strcmp("after", name);
    freed = 0 == strncmp("freed", name, 5);
    synchronous = 0 == strcmp("freed-sync", name);
    rarely = 0 == strcmp("large", name);
    count = many ? MANY : large ? 16 : 1;
    size = many || large ? MOST : rarely || 0 == strcmp("freed-large", name) ? LARGE : 4;
}

static void leave(MPI_Comm parent) {
    unsigned char *buf = guarded_alloc(LARGE);
    test_note = "leaving";
    if (large) {
        MPI(MPI_Recv(buf, LARGE, MPI_BYTE, 0, TAG, parent, MPI_STATUS_IGNORE));
        VERIFY(buf, LARGE, 239, "large message");
    }
    kept = malloc((size_t) count * (size_t) size);
    for (int i = 0; i < count; ++i) {
        fill(buf, (size_t) size, key_of(238, i, 0, 0));
        if (freed) {
            MPI_Request request;
            unsigned char *mine = kept + (size_t) i * (size_t) size;
            memcpy(mine, buf, (size_t) size);
            MPI((synchronous ? MPI_Issend : MPI_Isend)(mine, size, MPI_BYTE, 0, TAG, parent, &request));
            MPI(MPI_Request_free(&request));
        } else {
            MPI(MPI_Send(buf, size, MPI_BYTE, 0, TAG, parent));
        }
    }
    if (freed && MANY == count) {
        MPI(MPI_Comm_free(&parent));
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
    if (!rarely) {
        usleep(400000);
    }
    for (int i = 0; i < count; ++i) {
        memset(buf, BLANK_VALUE, (size_t) size);
        if (rarely) {
            MPI_Request request;
            MPI(MPI_Irecv(buf, size, MPI_BYTE, 0, TAG, child, &request));
            for (int done = 0; !done;) {
                usleep(100000);
                MPI(MPI_Test(&request, &done, &status));
            }
        } else {
            MPI(MPI_Recv(buf, size, MPI_BYTE, 0, TAG, child, &status));
        }
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
