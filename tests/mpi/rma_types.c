// SPDX-License-Identifier: BSD-3-Clause
// Description: every predefined type with every predefined operation, through MPI_Accumulate, MPI_Get_accumulate and
// MPI_Fetch_and_op, against MPI_Reduce_local; what that refuses is refused. Each process works on a part of its right
// neighbour's window that is its own.
#include "check.h"

#include <complex.h>
#include <stdbool.h>

enum { CELLS = 5, ROOM = 1024, SMALLEST = -3, VALUES = 8 };

// What a type is made of: how its values are drawn and compared.
typedef enum { INTEGER, TRUTH, FLOATING, DOUBLING, LONGEST, PAIR } Kind;

typedef struct {
    const char *name;
    MPI_Datatype type;
    Kind kind;
} Type;

#define T(name, kind)                                                                                                  \
    { #name, name, kind }

static int64_t from_above(Rng *rng) { return (int64_t) rng_below(rng, VALUES) + SMALLEST; }

// A complex one has two parts.
static void draw(Rng *rng, void *cell, size_t size, Kind kind) {
    unsigned char *p = cell;
    float f;
    double d;
    long double l;
    memset(cell, 0, size);
    switch (kind) {
    case INTEGER:
        for (size_t i = 0; i < size; ++i) {
            p[i] = (unsigned char) rng_next(rng);
        }
        break;
    case TRUTH:
        p[0] = (unsigned char) rng_below(rng, 2);
        break;
    case FLOATING:
        for (size_t at = 0; at + sizeof(f) <= size; at += sizeof(f)) {
            f = (float) from_above(rng);
            memcpy(p + at, &f, sizeof(f));
        }
        break;
    case DOUBLING:
        for (size_t at = 0; at + sizeof(d) <= size; at += sizeof(d)) {
            d = (double) from_above(rng);
            memcpy(p + at, &d, sizeof(d));
        }
        break;
    case LONGEST:
        for (size_t at = 0; at + sizeof(l) <= size; at += sizeof(l)) {
            l = (long double) from_above(rng);
            memcpy(p + at, &l, sizeof(l));
        }
        break;
    case PAIR: // drawn by its own function
        break;
    }
}

static int same(const void *a, const void *b, size_t size, Kind kind) {
    if (LONGEST != kind) {
        return 0 == memcmp(a, b, size);
    }
    for (size_t at = 0; at + sizeof(long double) <= size; at += sizeof(long double)) { // of 16 bytes 10 are its own
        long double x, y;
        memcpy(&x, (const char *) a + at, sizeof(x));
        memcpy(&y, (const char *) b + at, sizeof(y));
        if (x != y) {
            return 0;
        }
    }
    return 1;
}

// A pair's members by MPI's own knowledge of them, so that what is between them stays zero.
static void draw_pair(Rng *rng, void *cell, MPI_Datatype type) {
    struct {
        float v;
        int i;
    } f = {(float) from_above(rng), (int) rng_below(rng, 9)};
    struct {
        double v;
        int i;
    } d;
    struct {
        long v;
        int i;
    } l;
    struct {
        short v;
        int i;
    } s;
    struct {
        long double v;
        int i;
    } e;
    memset(&d, 0, sizeof(d));
    memset(&l, 0, sizeof(l));
    memset(&s, 0, sizeof(s));
    memset(&e, 0, sizeof(e));
    const int two[2] = {(int) f.v, f.i};
    const float reals[2] = {f.v, (float) f.i};
    const double doubles[2] = {f.v, f.i};
    d.v = e.v = (double) f.v;
    l.v = (long) f.v;
    s.v = (short) f.v;
    d.i = l.i = s.i = e.i = f.i;
    const struct {
        MPI_Datatype type;
        const void *value;
        size_t size;
    } known[] = {
        {MPI_FLOAT_INT, &f, sizeof(f)},
        {MPI_DOUBLE_INT, &d, sizeof(d)},
        {MPI_LONG_INT, &l, sizeof(l)},
        {MPI_SHORT_INT, &s, sizeof(s)},
        {MPI_LONG_DOUBLE_INT, &e, sizeof(e)},
        {MPI_2INT, two, sizeof(two)},
        {MPI_2INTEGER, two, sizeof(two)},
        {MPI_2REAL, reals, sizeof(reals)},
        {MPI_2DOUBLE_PRECISION, doubles, sizeof(doubles)},
    };
    for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); ++k) {
        if (known[k].type == type) {
            memcpy(cell, known[k].value, known[k].size);
        }
    }
}

static void fill_cells(Rng *rng, void *cells, const Type *t, size_t extent) {
    memset(cells, 0, CELLS * extent);
    for (int i = 0; i < CELLS; ++i) {
        void *cell = (char *) cells + (size_t) i * extent;
        if (PAIR == t->kind) {
            draw_pair(rng, cell, t->type);
        } else {
            draw(rng, cell, extent, t->kind);
        }
    }
}

static void check_cells(const void *got, const void *expected, const Type *t, size_t extent, const char *call,
                        const char *op) {
    const Kind kind = MPI_LONG_DOUBLE_INT == t->type ? LONGEST : t->kind;
    for (int i = 0; i < CELLS; ++i) {
        const char *a = (const char *) got + (size_t) i * extent, *b = (const char *) expected + (size_t) i * extent;
        const size_t value = MPI_LONG_DOUBLE_INT == t->type ? sizeof(long double) : extent;
        CHECK(same(a, b, value, kind), "%s with %s of %s: cell %d", call, op, t->name, i);
        CHECK(MPI_LONG_DOUBLE_INT != t->type || 0 == memcmp(a + value, b + value, sizeof(int)),
              "%s with %s of %s: index %d", call, op, t->name, i);
    }
}

// Open MPI 4.1's MPI_Reduce_local takes MPI_UNSIGNED_LONG for signed and MPI_OFFSET for unsigned: the larger of 5 and
// 2^63 is 5, and that of 5 and -1 is -1.
static MPI_Datatype reference(MPI_Datatype type) {
    if (MPI_UNSIGNED_LONG == type) {
        return 8 == sizeof(long) ? MPI_UINT64_T : MPI_UINT32_T;
    }
    if (MPI_OFFSET == type) {
        return 8 == sizeof(MPI_Offset) ? MPI_INT64_T : MPI_INT32_T;
    }
    return type;
}

int main(int argc, char **argv) {
    begin(&argc, &argv, 1);
    const Type types[] = {
        T(MPI_SIGNED_CHAR, INTEGER),
        T(MPI_UNSIGNED_CHAR, INTEGER),
        T(MPI_SHORT, INTEGER),
        T(MPI_UNSIGNED_SHORT, INTEGER),
        T(MPI_INT, INTEGER),
        T(MPI_UNSIGNED, INTEGER),
        T(MPI_LONG, INTEGER),
        T(MPI_UNSIGNED_LONG, INTEGER),
        T(MPI_LONG_LONG, INTEGER),
        T(MPI_UNSIGNED_LONG_LONG, INTEGER),
        T(MPI_INT8_T, INTEGER),
        T(MPI_UINT8_T, INTEGER),
        T(MPI_INT16_T, INTEGER),
        T(MPI_UINT16_T, INTEGER),
        T(MPI_INT32_T, INTEGER),
        T(MPI_UINT32_T, INTEGER),
        T(MPI_INT64_T, INTEGER),
        T(MPI_UINT64_T, INTEGER),
        T(MPI_AINT, INTEGER),
        T(MPI_OFFSET, INTEGER),
        T(MPI_COUNT, INTEGER),
        T(MPI_CHAR, INTEGER),
        T(MPI_WCHAR, INTEGER),
        T(MPI_BYTE, INTEGER),
        T(MPI_C_BOOL, TRUTH),
        T(MPI_FLOAT, FLOATING),
        T(MPI_DOUBLE, DOUBLING),
        T(MPI_LONG_DOUBLE, LONGEST),
        T(MPI_C_FLOAT_COMPLEX, FLOATING),
        T(MPI_C_DOUBLE_COMPLEX, DOUBLING),
        T(MPI_C_LONG_DOUBLE_COMPLEX, LONGEST),
        T(MPI_INTEGER, INTEGER),
        T(MPI_INTEGER1, INTEGER),
        T(MPI_INTEGER2, INTEGER),
        T(MPI_INTEGER4, INTEGER),
        T(MPI_INTEGER8, INTEGER),
        T(MPI_LOGICAL, TRUTH),
        T(MPI_CHARACTER, INTEGER),
        T(MPI_REAL, FLOATING),
        T(MPI_REAL4, FLOATING),
        T(MPI_REAL8, DOUBLING),
        T(MPI_DOUBLE_PRECISION, DOUBLING),
        T(MPI_COMPLEX, FLOATING),
        T(MPI_COMPLEX8, FLOATING),
        T(MPI_COMPLEX16, DOUBLING),
        T(MPI_REAL16, LONGEST),
        T(MPI_COMPLEX32, LONGEST),
        T(MPI_DOUBLE_COMPLEX, DOUBLING),
        T(MPI_FLOAT_INT, PAIR),
        T(MPI_DOUBLE_INT, PAIR),
        T(MPI_LONG_INT, PAIR),
        T(MPI_SHORT_INT, PAIR),
        T(MPI_LONG_DOUBLE_INT, PAIR),
        T(MPI_2INT, PAIR),
        T(MPI_2INTEGER, PAIR),
        T(MPI_2REAL, PAIR),
        T(MPI_2DOUBLE_PRECISION, PAIR),
    };
    const struct {
        const char *name;
        MPI_Op op;
    } ops[] = {
        {"MPI_SUM", MPI_SUM},         {"MPI_PROD", MPI_PROD},   {"MPI_MAX", MPI_MAX},       {"MPI_MIN", MPI_MIN},
        {"MPI_LAND", MPI_LAND},       {"MPI_LOR", MPI_LOR},     {"MPI_LXOR", MPI_LXOR},     {"MPI_BAND", MPI_BAND},
        {"MPI_BOR", MPI_BOR},         {"MPI_BXOR", MPI_BXOR},   {"MPI_MINLOC", MPI_MINLOC}, {"MPI_MAXLOC", MPI_MAXLOC},
        {"MPI_REPLACE", MPI_REPLACE}, {"MPI_NO_OP", MPI_NO_OP},
    };
    enum { TYPES = sizeof(types) / sizeof(types[0]), OPS = sizeof(ops) / sizeof(ops[0]) };
    char *memory, before[ROOM], operand[ROOM], expected[ROOM], fetched[ROOM], after[ROOM];
    const int target = (my_rank + 1) % n_ranks;
    Rng rng = rng_make(77 + (uint64_t) my_rank);
    int defined = 0;
    MPI_Win win;

    MPI(MPI_Win_allocate(ROOM, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    MPI(MPI_Win_lock_all(0, win));
    for (int k = 0; k < TYPES * OPS; ++k) {
        const Type *t = &types[k / OPS];
        const MPI_Op op = ops[k % OPS].op;
        const char *name = ops[k % OPS].name;
        MPI_Aint low, extent;
        MPI(MPI_Type_get_extent(t->type, &low, &extent));
        CHECK(extent > 0 && CELLS * extent <= ROOM, "%s takes %ld bytes", t->name, (long) extent);
        const size_t bytes = CELLS * (size_t) extent;
        fill_cells(&rng, before, t, (size_t) extent);
        fill_cells(&rng, operand, t, (size_t) extent);
        memcpy(expected, MPI_REPLACE == op ? operand : before, bytes);
        if (MPI_REPLACE != op && MPI_NO_OP != op) {
            MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
            const int known = MPI_Reduce_local(operand, expected, CELLS, reference(t->type), op);
            MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
            if (MPI_SUCCESS != known) {
                MPI(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
                CHECK(MPI_SUCCESS != MPI_Accumulate(operand, CELLS, t->type, target, 0, CELLS, t->type, op, win),
                      "%s of %s, which MPI_Reduce_local refuses", name, t->name);
                MPI(MPI_Win_set_errhandler(win, MPI_ERRORS_ARE_FATAL));
                continue;
            }
        }
        ++defined;
        MPI(MPI_Put(before, (int) bytes, MPI_BYTE, target, 0, (int) bytes, MPI_BYTE, win));
        MPI(MPI_Win_flush(target, win));
        if (MPI_NO_OP != op) {
            MPI(MPI_Accumulate(operand, CELLS, t->type, target, 0, CELLS, t->type, op, win));
            MPI(MPI_Win_flush(target, win));
            MPI(MPI_Get(after, (int) bytes, MPI_BYTE, target, 0, (int) bytes, MPI_BYTE, win));
            MPI(MPI_Win_flush(target, win));
            check_cells(after, expected, t, (size_t) extent, "MPI_Accumulate", name);
            MPI(MPI_Put(before, (int) bytes, MPI_BYTE, target, 0, (int) bytes, MPI_BYTE, win));
            MPI(MPI_Win_flush(target, win));
        }
        memset(fetched, 0, bytes);
        MPI(MPI_Get_accumulate(operand, CELLS, t->type, fetched, CELLS, t->type, target, 0, CELLS, t->type, op, win));
        MPI(MPI_Win_flush(target, win));
        check_cells(fetched, before, t, (size_t) extent, "what MPI_Get_accumulate fetched", name);
        MPI(MPI_Get(after, (int) bytes, MPI_BYTE, target, 0, (int) bytes, MPI_BYTE, win));
        MPI(MPI_Win_flush(target, win));
        check_cells(after, expected, t, (size_t) extent, "MPI_Get_accumulate", name);
        memset(fetched, 0, bytes);
        MPI(MPI_Put(before, (int) bytes, MPI_BYTE, target, 0, (int) bytes, MPI_BYTE, win));
        MPI(MPI_Win_flush(target, win));
        for (int i = 0; i < CELLS; ++i) {
            MPI(MPI_Fetch_and_op(operand + i * extent, fetched + i * extent, t->type, target, i * extent, op, win));
        }
        MPI(MPI_Win_flush(target, win));
        check_cells(fetched, before, t, (size_t) extent, "what MPI_Fetch_and_op fetched", name);
        MPI(MPI_Get(after, (int) bytes, MPI_BYTE, target, 0, (int) bytes, MPI_BYTE, win));
        MPI(MPI_Win_flush(target, win));
        check_cells(after, expected, t, (size_t) extent, "MPI_Fetch_and_op", name);
    }
    MPI(MPI_Win_unlock_all(win));
    MPI(MPI_Win_free(&win));
    CHECK(defined > 300, "%d of %d are defined", defined, TYPES * OPS);
    return finish();
}
