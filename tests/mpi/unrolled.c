// SPDX-License-Identifier: BSD-3-Clause
// Description: types of one line that stand for millions of pieces of no equal distance arrive whole, and moving them
// takes no memory for each piece.
#include "check.h"

struct particle {
    int32_t id;
    char pad[4];
    double place[3];
    char kind;
};

enum { MANY = 2000000, TAG = 7, PARTS = 5, MOST_KB = 24576 };

static long peak_kb(void) {
    long kb = -1;
    char line[128];
    FILE *f = fopen("/proc/self/status", "r");
    CHECK(NULL != f, "no /proc/self/status");
    while (NULL != fgets(line, sizeof(line), f)) {
        if (1 == sscanf(line, "VmHWM: %ld", &kb)) {
            break;
        }
    }
    fclose(f);
    return kb;
}

static MPI_Datatype particle_type(void) {
    const int lengths[] = {1, 25}; // id; place and kind
    const MPI_Aint at[] = {offsetof(struct particle, id), offsetof(struct particle, place)};
    const MPI_Datatype types[] = {MPI_INT32_T, MPI_BYTE};
    MPI_Datatype members, type;
    MPI(MPI_Type_create_struct(2, lengths, at, types, &members));
    MPI(MPI_Type_create_resized(members, 0, sizeof(struct particle), &type));
    MPI(MPI_Type_free(&members));
    return type;
}

static void set(struct particle *p, int i) {
    p->id = i * 7;
    p->place[0] = i;
    p->place[1] = -i;
    p->place[2] = i / 3.;
    p->kind = (char) (i % 101);
}

// count elements, one behind the other, in so many messages at once. Each element has every step-th of `of` particles,
// from its first on.
static void move(MPI_Datatype type, int count, int parts, int of, int step, const char *what) {
    struct particle *p = malloc(MANY * sizeof(*p));
    test_note = what;
    CHECK(NULL != p, "no memory");
    memset(p, BLANK_VALUE, MANY * sizeof(*p));
    for (int i = 0; 0 == my_rank && i < MANY; ++i) {
        set(p + i, i);
    }
    const long before = peak_kb();
    for (int turn = 0; turn < 2; ++turn) {
        MPI_Request request[PARTS];
        MPI_Status status[PARTS];
        for (int k = 0; k < parts; ++k) {
            struct particle *at = p + (size_t) of * (size_t) (count / parts * k);
            if (0 == my_rank) {
                MPI(MPI_Isend(at, count / parts, type, 1, TAG, MPI_COMM_WORLD, &request[k]));
            } else {
                MPI(MPI_Irecv(at, count / parts, type, 0, TAG, MPI_COMM_WORLD, &request[k]));
            }
        }
        MPI(MPI_Waitall(parts, request, status));
        for (int k = 0, got = 0; 1 == my_rank && k < parts; ++k) {
            MPI(MPI_Get_count(&status[k], type, &got));
            CHECK(count / parts == got, "%d elements of %d", got, count / parts);
        }
    }
    const long grown = peak_kb() - before;
    CHECK(grown < MOST_KB, "the process grew by %ld KiB", grown);
    for (int i = 0; 1 == my_rank && i < MANY; ++i) {
        struct particle expected;
        memset(&expected, BLANK_VALUE, sizeof(expected));
        if (i / of < count && 0 == i % of % step) {
            set(&expected, i);
        }
        CHECK(0 == memcmp(p + i, &expected, sizeof(expected)), "particle %d is not as it was sent", i);
    }
    free(p);
}

int main(int argc, char **argv) {
    enum { ROW = 99000, ROWS = 2 * PARTS, SPAN = 2 * ROW - 1 }; // a vector ends with its last block
    MPI_Datatype particle = MPI_DATATYPE_NULL, type;
    begin(&argc, &argv, 2);
    particle = particle_type();
    MPI(MPI_Type_vector(ROW, 1, 2, particle, &type));
    MPI(MPI_Type_commit(&type));
    move(type, ROWS, PARTS, SPAN, 2,
         "moving rows of every second particle, where the next does not go on as the one before");
    MPI(MPI_Type_free(&type));
    MPI(MPI_Type_contiguous(MANY, particle, &type));
    MPI(MPI_Type_commit(&type));
    move(type, 1, 1, MANY, 1, "moving one element of two million particles");
    MPI(MPI_Type_free(&type));
    MPI(MPI_Type_free(&particle));
    return finish();
}
