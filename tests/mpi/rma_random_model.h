// SPDX-License-Identifier: BSD-3-Clause
// What rma_random.c plans: types and where their elements lie, random operations, and what each does to the
// sequential model of all windows.
#ifndef SMARTINT_TEST_RMA_RANDOM_MODEL_H
#define SMARTINT_TEST_RMA_RANDOM_MODEL_H

#include "check.h"

enum { MOST_ELEMENTS = 600, MOST_OPS = 101, HOT_CELLS = 16, PAIR_TYPES = 2 };

typedef enum { PUT, GET, ACC, GET_ACC, FOP, CAS, KINDS } Kind;
typedef enum { FENCE, PSCW, LOCK, LOCK_ALL, EPOCHS } Epoch;

typedef struct {
    MPI_Datatype type;
    int size; // packed
    int extent;
    int is_float;
} Base;

// A datatype and where its elements lie, in bytes from the buffer's start.
typedef struct {
    MPI_Datatype type;
    int count;
    int span; // bytes from the first to behind the last
    int n;
    int at[MOST_ELEMENTS];
} Layout;

typedef struct {
    Kind kind;
    int origin, target, base, op, requests;
    int disp; // bytes in the target's window
    Layout there, here, result;
    unsigned char *data, *before; // packed: what goes, what a fetch must bring
    unsigned char *mine, *got;    // the origin's buffers
} Op;

static Base bases[8];
static int n_bases;
static const MPI_Op *operators;
static unsigned char *window, *model;
static size_t bytes = 65536;
static Rng rng;

static void make_bases(void) {
    const MPI_Datatype types[] = {MPI_BYTE,  MPI_INT,   MPI_INT64_T,    MPI_DOUBLE,
                                  MPI_SHORT, MPI_FLOAT, MPI_DOUBLE_INT, MPI_SHORT_INT};
    n_bases = (int) (sizeof(types) / sizeof(*types));
    for (int i = 0; i < n_bases; ++i) {
        MPI_Aint lb, extent;
        MPI_Type_size(types[i], &bases[i].size);
        MPI_Type_get_extent(types[i], &lb, &extent);
        bases[i].type = types[i];
        bases[i].extent = (int) extent;
        bases[i].is_float = MPI_DOUBLE == types[i] || MPI_FLOAT == types[i];
    }
}

// n elements of a base type, laid out in one of several ways.
static void make_layout(Layout *l, int base, int n, int plain) {
    const int extent = bases[base].extent;
    int *lengths = malloc(sizeof(int) * (size_t) n), *starts = malloc(sizeof(int) * (size_t) n);
    int shape = plain ? 0 : (int) rng_below(&rng, 5);
    int k = 0, position = 0;

    l->n = n;
    l->count = 1;
    if (0 == shape) { // contiguous
        for (int i = 0; i < n; ++i) {
            l->at[i] = i * extent;
        }
        l->type = bases[base].type;
        l->count = n;
        l->span = n * extent;
        free(lengths);
        free(starts);
        return;
    }
    int block = 1 + (int) rng_below(&rng, 8);
    int gap = (int) rng_below(&rng, 4);
    while (n % block) {
        --block;
    }
    if (1 == shape) { // vector
        for (int i = 0; i < n; ++i) {
            l->at[i] = (i / block * (block + gap) + i % block) * extent;
        }
        MPI_Type_vector(n / block, block, block + gap, bases[base].type, &l->type);
        l->span = l->at[n - 1] + extent;
    } else if (2 == shape) { // many of a block with a gap behind it
        MPI_Datatype one;
        for (int i = 0; i < n; ++i) {
            l->at[i] = (i / block * (block + gap) + i % block) * extent;
        }
        MPI_Type_contiguous(block, bases[base].type, &one);
        MPI_Type_create_resized(one, 0, (MPI_Aint) (block + gap) * extent, &l->type);
        MPI_Type_free(&one);
        l->count = n / block;
        l->span = n / block * (block + gap) * extent;
    } else { // blocks of random lengths, in order or backwards
        for (int left = n; left > 0; ++k) {
            lengths[k] = 1 + (int) rng_below(&rng, left < 9 ? left : 9);
            left -= lengths[k];
            starts[k] = position + (int) rng_below(&rng, 3);
            position = starts[k] + lengths[k];
        }
        if (4 == shape) {
            for (int i = 0; i < k; ++i) {
                starts[i] = position - starts[i] - lengths[i];
            }
        }
        for (int i = 0, e = 0; i < k; ++i) {
            for (int j = 0; j < lengths[i]; ++j) {
                l->at[e++] = (starts[i] + j) * extent;
            }
        }
        MPI_Type_indexed(k, lengths, starts, bases[base].type, &l->type);
        l->span = position * extent;
    }
    MPI_Type_commit(&l->type);
    free(lengths);
    free(starts);
}

static void free_layout(Layout *l) {
    for (int i = 0; i < n_bases; ++i) {
        if (l->type == bases[i].type) {
            return;
        }
    }
    MPI_Type_free(&l->type);
}

// The fields of a pair: value and index lie at these places in memory, packed without the gap.
static void copy_element(unsigned char *to, const unsigned char *from, int base, int pack) {
    const int size = bases[base].size, extent = bases[base].extent;
    if (size == extent || MPI_DOUBLE_INT == bases[base].type) {
        memcpy(to, from, (size_t) size);
    } else { // short and int
        memcpy(to, from, 2);
        memcpy(to + (pack ? 2 : 4), from + (pack ? 4 : 2), 4);
    }
}

#define COMBINE(T)                                                                                                     \
    do {                                                                                                               \
        T a, b;                                                                                                        \
        memcpy(&a, target, sizeof(T));                                                                                 \
        memcpy(&b, operand, sizeof(T));                                                                                \
        a = MPI_SUM == op ? (T) (a + b) : MPI_MAX == op ? (a > b ? a : b) : (a < b ? a : b);                           \
        memcpy(target, &a, sizeof(T));                                                                                 \
    } while (0)

// target = target op operand, packed
static void combine(unsigned char *target, const unsigned char *operand, int base, MPI_Op op) {
    const MPI_Datatype t = bases[base].type;
    if (MPI_REPLACE == op) {
        memcpy(target, operand, (size_t) bases[base].size);
    } else if (MPI_NO_OP == op) {
    } else if (MPI_BXOR == op || MPI_BOR == op) {
        for (int i = 0; i < bases[base].size; ++i) {
            target[i] = MPI_BXOR == op ? target[i] ^ operand[i] : target[i] | operand[i];
        }
    } else if (MPI_MAXLOC == op) {
        double x = 0, y = 0;
        int i, j, value = bases[base].size - 4;
        if (8 == value) {
            memcpy(&x, target, 8);
            memcpy(&y, operand, 8);
        } else {
            short v, w;
            memcpy(&v, target, 2);
            memcpy(&w, operand, 2);
            x = v;
            y = w;
        }
        memcpy(&i, target + value, 4);
        memcpy(&j, operand + value, 4);
        if (y > x || (y == x && j < i)) {
            memcpy(target, operand, (size_t) bases[base].size);
        }
    } else if (MPI_INT == t) {
        COMBINE(int32_t);
    } else if (MPI_INT64_T == t) {
        COMBINE(int64_t);
    } else if (MPI_SHORT == t) {
        COMBINE(int16_t);
    } else if (MPI_DOUBLE == t) {
        COMBINE(double);
    } else if (MPI_FLOAT == t) {
        COMBINE(float);
    }
}

static MPI_Op choose_operator(int base, int fetches) {
    const MPI_Datatype t = bases[base].type;
    const MPI_Op any[] = {MPI_REPLACE, MPI_NO_OP};
    const MPI_Op numbers[] = {MPI_SUM, MPI_MAX, MPI_MIN, MPI_REPLACE, MPI_NO_OP};
    const MPI_Op bits[] = {MPI_BXOR, MPI_BOR, MPI_REPLACE, MPI_NO_OP, MPI_BXOR};
    const int drop = fetches ? 0 : 1; // MPI_NO_OP is for fetches
    if (MPI_BYTE == t) {
        return bits[rng_below(&rng, 3)];
    }
    if (MPI_DOUBLE_INT == t || MPI_SHORT_INT == t) {
        return rng_below(&rng, 2) ? MPI_MAXLOC : any[rng_below(&rng, 2 - (uint64_t) drop)];
    }
    return numbers[rng_below(&rng, 5 - (uint64_t) drop)];
}

// Values that every operator treats exactly: small whole numbers.
static void fill_packed(unsigned char *p, int base, int n) {
    const MPI_Datatype t = bases[base].type;
    for (int i = 0; i < n; ++i, p += bases[base].size) {
        const int v = (int) rng_below(&rng, 200) - 100;
        const int index = (int) rng_below(&rng, 50);
        if (MPI_BYTE == t) {
            *p = (unsigned char) rng_next(&rng);
        } else if (MPI_INT == t) {
            memcpy(p, &v, 4);
        } else if (MPI_SHORT == t) {
            memcpy(p, &(int16_t){(int16_t) v}, 2);
        } else if (MPI_INT64_T == t) {
            memcpy(p, &(int64_t){v}, 8);
        } else if (MPI_FLOAT == t) {
            memcpy(p, &(float){(float) v}, 4);
        } else if (MPI_DOUBLE == t) {
            memcpy(p, &(double){v}, 8);
        } else if (MPI_DOUBLE_INT == t) {
            memcpy(p, &(double){v}, 8);
            memcpy(p + 8, &index, 4);
        } else {
            memcpy(p, &(int16_t){(int16_t) v}, 2);
            memcpy(p + 2, &index, 4);
        }
    }
}

// One operation from o to t on memory that no other one of the epoch touches.
static int plan(Op *op, int o, int t, size_t *used) {
    memset(op, 0, sizeof(*op));
    op->kind = (Kind) rng_below(&rng, KINDS);
    op->origin = o;
    op->target = t;
    op->base = (int) rng_below(&rng, (uint64_t) n_bases);
    op->requests = 0 == rng_below(&rng, 3);
    int n = 1 + (int) rng_size(&rng, MOST_ELEMENTS - 1);
    if (CAS == op->kind || FOP == op->kind) {
        n = 1;
    }
    if (CAS == op->kind) {
        op->base = 1 + (int) rng_below(&rng, 2);
    }
    const MPI_Op which = choose_operator(op->base, GET_ACC == op->kind || FOP == op->kind);
    op->op = 0;
    while (operators[op->op] != which) {
        ++op->op;
    }
    const int plain = 1 == n;
    make_layout(&op->there, op->base, n, plain);
    make_layout(&op->here, op->base, n, plain);
    make_layout(&op->result, op->base, n, plain);
    const size_t size = (size_t) (n * bases[op->base].size);
    size_t at = *used + rng_below(&rng, 64);
    at = (at + 15) / 16 * 16;
    op->data = malloc(2 * size);
    op->before = malloc(size);
    fill_packed(op->data, op->base, n);
    fill_packed(op->data + size, op->base, n);
    if (at + (size_t) op->there.span + 16 > bytes) {
        return 0;
    }
    op->disp = (int) at;
    *used = at + (size_t) op->there.span;
    return 1;
}

static void play_on_model(Op *op) {
    const Base *b = &bases[op->base];
    unsigned char *memory = model + (size_t) op->target * bytes + op->disp;
    unsigned char now_there[16], wanted[16];
    for (int i = 0; i < op->there.n; ++i) {
        unsigned char *place = memory + op->there.at[i];
        const unsigned char *operand = op->data + (size_t) (i * b->size);
        copy_element(now_there, place, op->base, 1);
        memcpy(op->before + (size_t) (i * b->size), now_there, (size_t) b->size);
        switch (op->kind) {
        case GET:
            break;
        case PUT:
            copy_element(place, operand, op->base, 0);
            break;
        case CAS: // every second one is equal
            memcpy(wanted, op->op % 2 ? now_there : op->data + b->size, (size_t) b->size);
            memcpy(op->data + b->size, wanted, (size_t) b->size);
            if (0 == memcmp(now_there, wanted, (size_t) b->size)) {
                copy_element(place, operand, op->base, 0);
            }
            break;
        default:
            combine(now_there, operand, op->base, operators[op->op]);
            copy_element(place, now_there, op->base, 0);
        }
    }
}

#endif
