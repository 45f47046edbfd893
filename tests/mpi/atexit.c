// SPDX-License-Identifier: BSD-3-Clause
// Description: a program that goes on with MPI while it exits, as one whose global objects do in their destructors,
// behind everything that libraries have registered since; and a tool that has come and gone before MPI_Init.
//
//   atexit [windows]      windows: strided puts too
#include "check.h"

enum { PIECES = 2000, PIECE = 8, TAG = 7, LARGE = 1 << 20 };

static int windows;

// Messages of many forms to the peer, and from it.
static void exchange(int turn) {
    MPI_Datatype type;
    MPI_Win win;
    unsigned char *in = calloc(1, LARGE), *out = malloc(LARGE), *base;
    CHECK(NULL != in && NULL != out, "no memory");
    MPI(MPI_Type_vector(PIECES, PIECE, 2 * PIECE, MPI_BYTE, &type));
    MPI(MPI_Type_commit(&type));
    fill(out, LARGE, key_of(1, my_rank, turn, 0));
    MPI(MPI_Sendrecv(out, LARGE, MPI_BYTE, my_rank ^ 1, TAG, in, LARGE, MPI_BYTE, my_rank ^ 1, TAG, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE));
    VERIFY(in, LARGE, key_of(1, my_rank ^ 1, turn, 0), "a large message");
    memset(in, BLANK_VALUE, LARGE);
    MPI(MPI_Sendrecv(out, 1, type, my_rank ^ 1, TAG, in, 1, type, my_rank ^ 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < PIECES * 2 * PIECE; ++i) {
        unsigned char wanted = i / PIECE % 2 ? BLANK_VALUE : pattern_byte(key_of(1, my_rank ^ 1, turn, 0), (size_t) i);
        CHECK(wanted == in[i] || i >= (2 * PIECES - 1) * PIECE, "byte %d of a message in pieces", i);
    }
    if (windows) {
        MPI(MPI_Win_allocate(LARGE, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
        memset(base, BLANK_VALUE, LARGE);
        MPI(MPI_Win_fence(0, win));
        MPI(MPI_Put(out, 1, type, my_rank ^ 1, 0, 1, type, win));
        MPI(MPI_Win_fence(0, win));
        for (int i = 0; i < (2 * PIECES - 1) * PIECE; ++i) {
            unsigned char wanted =
                i / PIECE % 2 ? BLANK_VALUE : pattern_byte(key_of(1, my_rank ^ 1, turn, 0), (size_t) i);
            CHECK(wanted == base[i], "byte %d of a put in pieces", i);
        }
        MPI(MPI_Win_free(&win));
    }
    MPI(MPI_Type_free(&type));
    free(in);
    free(out);
}

static void at_exit(void) {
    test_note = "the program exits";
    exchange(2);
    exchange(3);
    finish();
}

int main(int argc, char **argv) {
    int provided;
    atexit(at_exit); // before all others, so the last to be called
    // as a tool that only looks
    CHECK(MPI_SUCCESS == MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), "no MPI_T");
    CHECK(MPI_SUCCESS == MPI_T_finalize(), "MPI_T does not end");
    begin(&argc, &argv, 2);
    windows = argc > 1 && 0 == strcmp(argv[1], "windows");
    exchange(1);
    return 0;
}
