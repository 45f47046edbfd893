// SPDX-License-Identifier: BSD-3-Clause
// Description: puts and gets of many pieces, of all sizes and distances, to and from a rank that waits in MPI and one
// that computes; what lies between the pieces stays as it was. Pairs of ranks, the odd one is the target.
#include "check.h"

enum { SPAN = 1 << 20 };

static MPI_Win win;
static unsigned char *memory; // SPAN bytes of the window, and a word behind them: nonzero, go on
static unsigned char *mine;
static int target, origin;
static uint64_t number;

static volatile int64_t *go(void) { return (volatile int64_t *) (memory + SPAN); }

// `count` pieces of `length` bytes, `stride` apart, by one call; here they are `here` apart.
static void one(size_t length, size_t stride, size_t here, int count, int get, int computes) {
    const uint64_t before = key_of(300, my_rank / 2, ++number, 0), after = key_of(301, my_rank / 2, number, 0);
    MPI_Datatype there_type, here_type;
    MPI(MPI_Type_vector(count, (int) length, (int) stride, MPI_BYTE, &there_type));
    MPI(MPI_Type_vector(count, (int) length, (int) here, MPI_BYTE, &here_type));
    MPI(MPI_Type_commit(&there_type));
    MPI(MPI_Type_commit(&here_type));
    fill(memory, SPAN, before);
    *go() = 0;
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (!origin) {
        while (computes && 0 == *go()) {}
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
    } else {
        const int64_t word = 1;
        fill(mine, SPAN, after);
        MPI(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win));
        if (get) {
            MPI(MPI_Get(mine, 1, here_type, target, 0, 1, there_type, win));
        } else {
            MPI(MPI_Put(mine, 1, here_type, target, 0, 1, there_type, win));
        }
        MPI(MPI_Win_flush(target, win));
        MPI(MPI_Put(&word, 1, MPI_INT64_T, target, SPAN, 1, MPI_INT64_T, win));
        MPI(MPI_Win_unlock(target, win));
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    // what was written, piece by piece, and what was not
    unsigned char *written = get ? mine : memory;
    const size_t apart = get ? here : stride, other = get ? stride : here;
    const uint64_t kept = get ? after : before, came = get ? before : after;
    if (origin == get) {
        unsigned char *expected = malloc(SPAN), *source = malloc(SPAN);
        fill(expected, SPAN, kept);
        fill(source, SPAN, came);
        for (int i = 0; i < count; ++i) {
            memcpy(expected + (size_t) i * apart, source + (size_t) i * other, length);
        }
        for (size_t i = 0; i < SPAN; ++i) {
            CHECK(written[i] == expected[i],
                  "byte %zu of a %s of %d x %zu bytes, %zu apart there and %zu here, is %d, "
                  "expected %d",
                  i, get ? "get" : "put", count, length, stride, here, written[i], expected[i]);
        }
        free(expected);
        free(source);
    }
    MPI(MPI_Type_free(&there_type));
    MPI(MPI_Type_free(&here_type));
}

static void all(const char *whose) {
    static const size_t lengths[] = {1, 24, 64, 1000, 4096, 20000};
    static const size_t gaps[] = {0, 3, 1024, 1025};
    test_note = whose;
    for (size_t l = 0; l < sizeof(lengths) / sizeof(*lengths); ++l) {
        for (size_t g = 0; g < sizeof(gaps) / sizeof(*gaps); ++g) {
            const size_t stride = lengths[l] + gaps[g], here = lengths[l] + (0 == (l + g) % 2 ? 0 : 3);
            const size_t most = SPAN / (stride > here ? stride : here);
            const int some = (int) (most < 40 ? most : 40), many = (int) (most < 3000 ? most : 3000);
            for (int get = 0; get < 2; ++get) {
                const int computes = 0 == (l + g + (size_t) get) % 2;
                one(lengths[l], stride, here, many, get, computes);
                one(lengths[l], stride, here, some, get, !computes);
            }
        }
    }
}

int main(int argc, char **argv) {
    begin(&argc, &argv, 2);
    CHECK(0 == n_ranks % 2, "it takes pairs of ranks");
    const size_t bytes = SPAN + sizeof(int64_t);
    origin = 0 == my_rank % 2;
    target = my_peer;
    mine = malloc(SPAN);
    memory = malloc(bytes);
    MPI(MPI_Win_create(memory, (MPI_Aint) bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    all("memory of the program's");
    MPI(MPI_Win_free(&win));
    free(memory);
    MPI(MPI_Win_allocate((MPI_Aint) bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    all("memory of the window's");
    MPI(MPI_Win_free(&win));
    free(mine);
    return finish();
}
