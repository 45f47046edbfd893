// SPDX-License-Identifier: BSD-3-Clause
// Description: random programs of epochs and operations against a sequential model: every rank knows the
// whole plan, plays it on its own copy of all windows, and compares its memory after each epoch.
// Arguments: seed (- for one of the clock), epochs, kind of window (create, allocate, dynamic, shared),
// bytes per rank; "busy" computes between the calls, "multiple" asks for MPI_THREAD_MULTIPLE.
#include "check.h"

enum { MOST_ELEMENTS = 600, MOST_OPS = 400, HOT_CELLS = 16, PAIR_TYPES = 2 };

typedef enum { PUT, GET, ACC, GET_ACC, FOP, CAS, KINDS } Kind;
typedef enum { FENCE, PSCW, LOCK, LOCK_ALL, EPOCHS } Epoch;

typedef struct {
    MPI_Datatype type;
    int size;    // packed
    int extent;
    int is_float;
} Base;

// A datatype and where its elements lie, in bytes from the buffer's start.
typedef struct {
    MPI_Datatype type;
    int count;
    int span;    // bytes from the first to behind the last
    int n;
    int at[MOST_ELEMENTS];
} Layout;

typedef struct {
    Kind kind;
    int origin, target, base, op, requests;
    int disp;    // bytes in the target's window
    Layout there, here, result;
    unsigned char *data, *before;    // packed: what goes, what a fetch must bring
    unsigned char *mine, *got;       // the origin's buffers
} Op;

static Base bases[8];
static int n_bases;
static const MPI_Op *operators;
static unsigned char *window, *model;
static size_t bytes = 65536;
static MPI_Win win;
static MPI_Aint *addresses;    // of the dynamic window's memory at each rank
static int dynamic, busy;
static Rng rng;

static void compute(void)
{
    if (busy && 0 == rng_below(&rng, 4)) {
        const double end = now() + 0.0005;
        while (now() < end) {
        }
    }
}

static void make_bases(void)
{
    const MPI_Datatype types[] = {MPI_BYTE, MPI_INT, MPI_INT64_T, MPI_DOUBLE, MPI_SHORT,
                                  MPI_FLOAT, MPI_DOUBLE_INT, MPI_SHORT_INT};
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
static void make_layout(Layout *l, int base, int n, int plain)
{
    const int extent = bases[base].extent;
    int *lengths = malloc(sizeof(int) * (size_t) n), *starts = malloc(sizeof(int) * (size_t) n);
    int shape = plain ? 0 : (int) rng_below(&rng, 5);
    int k = 0, position = 0;

    l->n = n;
    l->count = 1;
    if (0 == shape) {    // contiguous
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
    if (1 == shape) {    // vector
        for (int i = 0; i < n; ++i) {
            l->at[i] = (i / block * (block + gap) + i % block) * extent;
        }
        MPI_Type_vector(n / block, block, block + gap, bases[base].type, &l->type);
        l->span = l->at[n - 1] + extent;
    } else if (2 == shape) {    // many of a block with a gap behind it
        MPI_Datatype one;
        for (int i = 0; i < n; ++i) {
            l->at[i] = (i / block * (block + gap) + i % block) * extent;
        }
        MPI_Type_contiguous(block, bases[base].type, &one);
        MPI_Type_create_resized(one, 0, (MPI_Aint) (block + gap) * extent, &l->type);
        MPI_Type_free(&one);
        l->count = n / block;
        l->span = n / block * (block + gap) * extent;
    } else {    // blocks of random lengths, in order or backwards
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

static void free_layout(Layout *l)
{
    for (int i = 0; i < n_bases; ++i) {
        if (l->type == bases[i].type) {
            return;
        }
    }
    MPI_Type_free(&l->type);
}

// The fields of a pair: value and index lie at these places in memory, packed without the gap.
static void copy_element(unsigned char *to, const unsigned char *from, int base, int pack)
{
    const int size = bases[base].size, extent = bases[base].extent;
    if (size == extent || MPI_DOUBLE_INT == bases[base].type) {
        memcpy(to, from, (size_t) size);
    } else {    // short and int
        memcpy(to, from, 2);
        memcpy(to + (pack ? 2 : 4), from + (pack ? 4 : 2), 4);
    }
}

#define COMBINE(T)                                                                                 \
    do {                                                                                           \
        T a, b;                                                                                    \
        memcpy(&a, target, sizeof(T));                                                             \
        memcpy(&b, operand, sizeof(T));                                                            \
        a = MPI_SUM == op ? (T) (a + b) : MPI_MAX == op ? (a > b ? a : b) : (a < b ? a : b);       \
        memcpy(target, &a, sizeof(T));                                                             \
    } while (0)

// target = target op operand, packed
static void combine(unsigned char *target, const unsigned char *operand, int base, MPI_Op op)
{
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

static MPI_Op choose_operator(int base, int fetches)
{
    const MPI_Datatype t = bases[base].type;
    const MPI_Op any[] = {MPI_REPLACE, MPI_NO_OP};
    const MPI_Op numbers[] = {MPI_SUM, MPI_MAX, MPI_MIN, MPI_REPLACE, MPI_NO_OP};
    const MPI_Op bits[] = {MPI_BXOR, MPI_BOR, MPI_REPLACE, MPI_NO_OP, MPI_BXOR};
    const int drop = fetches ? 0 : 1;    // MPI_NO_OP is for fetches
    if (MPI_BYTE == t) {
        return bits[rng_below(&rng, 3)];
    }
    if (MPI_DOUBLE_INT == t || MPI_SHORT_INT == t) {
        return rng_below(&rng, 2) ? MPI_MAXLOC : any[rng_below(&rng, 2 - (uint64_t) drop)];
    }
    return numbers[rng_below(&rng, 5 - (uint64_t) drop)];
}

// Values that every operator treats exactly: small whole numbers.
static void fill_packed(unsigned char *p, int base, int n)
{
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
static int plan(Op *op, int o, int t, size_t *used)
{
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

static void play_on_model(Op *op)
{
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
        case CAS:    // every second one is equal
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

static MPI_Aint displacement(const Op *op)
{
    return dynamic ? MPI_Aint_add(addresses[op->target], op->disp) : op->disp;
}

static void issue(Op *op, MPI_Request *requests, int *pending, int with_requests)
{
    const Base *b = &bases[op->base];
    Layout *h = &op->here, *r = &op->result, *t = &op->there;
    const MPI_Aint d = displacement(op);
    MPI_Op o = operators[op->op];
    const int request = with_requests && op->requests;
    op->mine = guarded_alloc((size_t) h->span);
    op->got = guarded_alloc((size_t) r->span);
    for (int i = 0; i < h->n; ++i) {
        copy_element(op->mine + h->at[i], op->data + (size_t) (i * b->size), op->base, 0);
    }
    switch (op->kind) {
    case PUT:
        if (request) {
            MPI(MPI_Rput(op->mine, h->count, h->type, op->target, d, t->count, t->type, win, &requests[(*pending)++]));
        } else {
            MPI(MPI_Put(op->mine, h->count, h->type, op->target, d, t->count, t->type, win));
        }
        break;
    case GET:
        if (request) {
            MPI(MPI_Rget(op->got, r->count, r->type, op->target, d, t->count, t->type, win, &requests[(*pending)++]));
        } else {
            MPI(MPI_Get(op->got, r->count, r->type, op->target, d, t->count, t->type, win));
        }
        break;
    case ACC:
        if (request) {
            MPI(MPI_Raccumulate(op->mine, h->count, h->type, op->target, d, t->count, t->type, o, win, &requests[(*pending)++]));
        } else {
            MPI(MPI_Accumulate(op->mine, h->count, h->type, op->target, d, t->count, t->type, o, win));
        }
        break;
    case GET_ACC:
        if (request) {
            MPI(MPI_Rget_accumulate(op->mine, h->count, h->type, op->got, r->count, r->type, op->target, d,
                                    t->count, t->type, o, win, &requests[(*pending)++]));
        } else {
            MPI(MPI_Get_accumulate(op->mine, h->count, h->type, op->got, r->count, r->type, op->target, d,
                                   t->count, t->type, o, win));
        }
        break;
    case FOP:
        MPI(MPI_Fetch_and_op(op->mine, op->got, b->type, op->target, d, o, win));
        break;
    default:
        MPI(MPI_Compare_and_swap(op->mine, op->data + b->size, op->got, b->type, op->target, d, win));
    }
    compute();
}

static void check(Op *op)
{
    const Base *b = &bases[op->base];
    if (PUT != op->kind && ACC != op->kind) {
        for (int i = 0; i < op->result.n; ++i) {
            unsigned char packed[16];
            copy_element(packed, op->got + op->result.at[i], op->base, 1);
            CHECK(0 == memcmp(packed, op->before + (size_t) (i * b->size), (size_t) b->size),
                  "element %d of %d that operation %d fetched from %d (base %d, operator %d)", i, op->result.n,
                  op->kind, op->target, op->base, op->op);
        }
    }
    guarded_free(op->mine, (size_t) op->here.span);
    guarded_free(op->got, (size_t) op->result.span);
}

static void compare_memory(const Op *ops, int n)
{
    const unsigned char *want = model + (size_t) my_rank * bytes;
    for (size_t i = 0; i < bytes; ++i) {
        if (window[i] == want[i]) {
            continue;
        }
        for (const Op *o = ops; o < ops + n; ++o) {
            if (o->origin >= 0 && o->target == my_rank && i >= (size_t) o->disp &&
                i < (size_t) (o->disp + o->there.span)) {
                FAIL("byte %zu of the window is %02x, expected %02x: byte %zu of %d (%d elements of base %d) "
                     "of operation %d with operator %d from rank %d",
                     i, window[i], want[i], i - (size_t) o->disp, o->there.span, o->there.n, o->base, o->kind,
                     o->op, o->origin);
            }
        }
        FAIL("byte %zu of the window, which nobody wrote now, is %02x, expected %02x", i, window[i], want[i]);
    }
}

// Everybody adds to the same cells of everybody: only the sums can be known.
static void hot_cells(const int64_t *adds)
{
    for (int t = 0; t < n_ranks; ++t) {
        const int64_t *row = adds + (size_t) (my_rank * n_ranks + t) * HOT_CELLS;
        const MPI_Aint base = dynamic ? addresses[t] : 0;
        MPI(MPI_Accumulate(row, HOT_CELLS, MPI_INT64_T, t, base, HOT_CELLS, MPI_INT64_T, MPI_SUM, win));
    }
}

static void run_epoch(int number, Op *ops)
{
    const Epoch kind = (Epoch) rng_below(&rng, EPOCHS);
    size_t used[64];
    int n = 0, pending = 0;
    static MPI_Request requests[MOST_OPS];
    int64_t *adds = malloc(sizeof(int64_t) * (size_t) (n_ranks * n_ranks * HOT_CELLS));
    int *reaches = calloc((size_t) (n_ranks * n_ranks), sizeof(int));
    char note[80];

    snprintf(note, sizeof(note), "epoch %d of kind %d", number, kind);
    test_note = note;
    for (int t = 0; t < n_ranks; ++t) {
        used[t] = HOT_CELLS * sizeof(int64_t);
    }
    const int wanted = 1 + (int) rng_size(&rng, MOST_OPS / 4);
    while (n < wanted) {
        const int o = (int) rng_below(&rng, (uint64_t) n_ranks), t = (int) rng_below(&rng, (uint64_t) n_ranks);
        Op *op = &ops[n++];
        if (!plan(op, o, t, &used[t])) {
            op->origin = -1;    // no room left there
            continue;
        }
        reaches[o * n_ranks + t] = 1;
    }
    const int hot = 0 == rng_below(&rng, 2);
    for (int i = 0; i < n_ranks * n_ranks * HOT_CELLS; ++i) {
        adds[i] = (int64_t) rng_below(&rng, 1000);
    }
    for (int i = 0; i < n; ++i) {
        if (ops[i].origin >= 0) {
            play_on_model(&ops[i]);
        }
    }
    for (int o = 0; hot && o < n_ranks; ++o) {
        for (int t = 0; t < n_ranks; ++t) {
            reaches[o * n_ranks + t] = 1;
            for (int c = 0; c < HOT_CELLS; ++c) {
                int64_t *cell = (int64_t *) (model + (size_t) t * bytes) + c;
                *cell += adds[(o * n_ranks + t) * HOT_CELLS + c];
            }
        }
    }
    MPI_Group world, to, from;
    int targets[64], origins[64], nt = 0, no = 0;
    MPI_Win_get_group(win, &world);
    for (int r = 0; r < n_ranks; ++r) {
        if (reaches[my_rank * n_ranks + r]) {
            targets[nt++] = r;
        }
        if (reaches[r * n_ranks + my_rank]) {
            origins[no++] = r;
        }
    }
    const Rng shared = rng;    // what follows may differ between the ranks
    rng = rng_make(mix64(rng.state + (uint64_t) my_rank));
    compute();
    if (FENCE == kind) {
        MPI(MPI_Win_fence(rng_below(&rng, 1) ? MPI_MODE_NOPRECEDE : 0, win));
    } else if (PSCW == kind) {
        MPI_Group_incl(world, nt, targets, &to);
        MPI_Group_incl(world, no, origins, &from);
        MPI(MPI_Win_post(from, 0, win));
        compute();
        MPI(MPI_Win_start(to, 0, win));
    } else if (LOCK_ALL == kind) {
        MPI(MPI_Win_lock_all(0, win));
    }
    if (LOCK == kind) {
        rng_shuffle(&rng, targets, nt);
        for (int k = 0; k < nt; ++k) {
            pending = 0;
            MPI(MPI_Win_lock(rng_below(&rng, 2) ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, targets[k], 0, win));
            for (int i = 0; i < n; ++i) {
                if (my_rank == ops[i].origin && targets[k] == ops[i].target) {
                    issue(&ops[i], requests, &pending, 1);
                }
            }
            if (hot) {
                const int64_t *row = adds + (size_t) (my_rank * n_ranks + targets[k]) * HOT_CELLS;
                MPI(MPI_Accumulate(row, HOT_CELLS, MPI_INT64_T, targets[k], dynamic ? addresses[targets[k]] : 0,
                                   HOT_CELLS, MPI_INT64_T, MPI_SUM, win));
            }
            if (rng_below(&rng, 2)) {
                MPI(MPI_Win_flush(targets[k], win));
            }
            MPI(MPI_Waitall(pending, requests, MPI_STATUSES_IGNORE));
            MPI(MPI_Win_unlock(targets[k], win));
        }
    } else {
        for (int i = 0; i < n; ++i) {
            if (my_rank == ops[i].origin) {
                issue(&ops[i], requests, &pending, LOCK_ALL == kind);
            }
        }
        if (hot) {
            hot_cells(adds);
        }
    }
    if (FENCE == kind) {
        MPI(MPI_Win_fence(0, win));
    } else if (PSCW == kind) {
        MPI(MPI_Win_complete(win));
        compute();
        if (rng_below(&rng, 2)) {
            MPI(MPI_Win_wait(win));
        } else {
            for (int flag = 0; !flag;) {
                MPI(MPI_Win_test(win, &flag));
            }
        }
        MPI_Group_free(&to);
        MPI_Group_free(&from);
    } else if (LOCK_ALL == kind) {
        MPI(MPI_Win_flush_local_all(win));
        if (rng_below(&rng, 2)) {
            MPI(MPI_Win_flush_all(win));
        }
        MPI(MPI_Waitall(pending, requests, MPI_STATUSES_IGNORE));
        MPI(MPI_Win_unlock_all(win));
    }
    rng = shared;
    MPI_Group_free(&world);
    if (LOCK == kind || LOCK_ALL == kind) {
        MPI(MPI_Barrier(MPI_COMM_WORLD));
    }
    compare_memory(ops, n);
    MPI(MPI_Barrier(MPI_COMM_WORLD));    // nobody begins the next before all have looked
    for (int i = 0; i < n; ++i) {
        if (my_rank == ops[i].origin) {
            check(&ops[i]);
        }
        free_layout(&ops[i].there);
        free_layout(&ops[i].here);
        free_layout(&ops[i].result);
        free(ops[i].data);
        free(ops[i].before);
    }
    free(adds);
    free(reaches);
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 && strcmp(argv[1], "-") ? strtoull(argv[1], NULL, 0) : (uint64_t) time(NULL);
    const int epochs = argc > 2 ? atoi(argv[2]) : 30;
    const char *flavor = argc > 3 ? argv[3] : "create";
    const MPI_Op ops_known[] = {MPI_REPLACE, MPI_NO_OP, MPI_SUM, MPI_MAX, MPI_MIN, MPI_BXOR, MPI_BOR, MPI_MAXLOC};
    int multiple = 0, provided;

    for (int i = 4; i < argc; ++i) {
        busy = busy || 0 == strcmp(argv[i], "busy");
        multiple = multiple || 0 == strcmp(argv[i], "multiple");
        bytes = atoi(argv[i]) > 0 ? (size_t) atoi(argv[i]) : bytes;
    }
    MPI_Init_thread(&argc, &argv, multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    learn_world(1);
    CHECK(n_ranks <= 64, "too many ranks");
    MPI_Bcast(&seed, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    rng = rng_make(seed);
    operators = ops_known;
    make_bases();
    dynamic = 0 == strcmp(flavor, "dynamic");
    addresses = calloc((size_t) n_ranks, sizeof(MPI_Aint));
    if (0 == strcmp(flavor, "allocate")) {
        MPI(MPI_Win_allocate((MPI_Aint) bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window, &win));
    } else if (0 == strcmp(flavor, "shared")) {
        MPI(MPI_Win_allocate_shared((MPI_Aint) bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window, &win));
    } else {
        window = aligned_alloc(64, (bytes + 63) / 64 * 64);
        if (dynamic) {
            MPI_Aint mine;
            MPI(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
            MPI(MPI_Win_attach(win, window, (MPI_Aint) bytes));
            MPI_Get_address(window, &mine);
            MPI_Allgather(&mine, 1, MPI_AINT, addresses, 1, MPI_AINT, MPI_COMM_WORLD);
        } else {
            MPI(MPI_Win_create(window, (MPI_Aint) bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        }
    }
    memset(window, 0, bytes);
    model = calloc((size_t) n_ranks, bytes);
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    Op *ops = malloc(sizeof(Op) * MOST_OPS);
    for (int e = 0; e < epochs; ++e) {
        run_epoch(e, ops);
    }
    if (0 == my_rank) {
        fprintf(stdout, "# seed %" PRIu64 "\n", seed);
    }
    if (dynamic) {
        MPI(MPI_Win_detach(win, window));
    }
    MPI(MPI_Win_free(&win));
    free(ops);
    return finish();
}
