// SPDX-License-Identifier: BSD-3-Clause
// Description: random programs of epochs and operations against a sequential model: every rank knows the
// whole plan, plays it on its own copy of all windows, and compares its memory after each epoch.
// Arguments: seed (- for one of the clock), epochs, kind of window (create, allocate, dynamic, shared),
// bytes per rank; "busy" computes between the calls, "multiple" asks for MPI_THREAD_MULTIPLE.
#include "rma_random_model.h"

static MPI_Win win;
static MPI_Aint *addresses;    // of the dynamic window's memory at each rank
static int dynamic, busy;

static void compute(void)
{
    if (busy && 0 == rng_below(&rng, 4)) {
        const double end = now() + 0.0005;
        while (now() < end) {
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
    // Nothing is between a fence that ends an epoch and the one that begins the next, and all say so, or nobody.
    const int before = rng_below(&rng, 2) ? MPI_MODE_NOPRECEDE : 0;
    const int behind = rng_below(&rng, 2) ? MPI_MODE_NOSUCCEED : 0;
    const Rng shared = rng;    // what follows may differ between the ranks
    rng = rng_make(mix64(rng.state + (uint64_t) my_rank));
    compute();
    if (FENCE == kind) {
        MPI(MPI_Win_fence(before, win));
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
        MPI(MPI_Win_fence(behind | (rng_below(&rng, 2) ? MPI_MODE_NOSTORE : 0), win));
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
