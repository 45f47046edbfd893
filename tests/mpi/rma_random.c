// SPDX-License-Identifier: BSD-3-Clause
// Description: random programs of epochs and operations against a sequential model: every rank knows the
// whole plan, plays it on its own copy of all windows, and compares its memory after each epoch.
// Arguments: seed (- for one of the clock), epochs, kind of window (create, allocate, dynamic, shared),
// bytes per rank; "busy" computes between the calls, "multiple" asks for MPI_THREAD_MULTIPLE, "nonblocking" begins and
// ends epochs by requests, with several of them in flight.
#include "mpix.h"
#include "rma_random_model.h"

enum { MOST_IN_FLIGHT = 5 };

static MPI_Win win;
static MPI_Aint *addresses; // of the dynamic window's memory at each rank
static int dynamic, busy, nonblocking;

// What all ranks know of an epoch.
typedef struct {
    Epoch kind;
    int number, n, hot;
    int before, behind; // what its fences say
    Op ops[MOST_OPS];
    int64_t *adds; // of everybody to everybody's hot cells
    int *reaches;  // [origin * n_ranks + target]: has operations
} Plan;

static Plan plans[MOST_IN_FLIGHT];
static int in_flight;
static MPI_Request requests[MOST_IN_FLIGHT * (MOST_OPS + 4 * 64)];
static int n_requests;
static char note[80];

static MPI_Request *next_request(void) {
    CHECK((size_t) n_requests < sizeof(requests) / sizeof(*requests), "too many requests");
    return &requests[n_requests++];
}

// A call of an epoch, blocking or by a request.
#define CALL(begins, blocks, ...) MPI(nonblocking ? mpix.begins(__VA_ARGS__, next_request()) : blocks(__VA_ARGS__))

static void compute(void) {
    if (busy && 0 == rng_below(&rng, 4)) {
        const double end = now() + 0.0005;
        while (now() < end) {}
    }
}

static MPI_Aint displacement(const Op *op) {
    return dynamic ? MPI_Aint_add(addresses[op->target], op->disp) : op->disp;
}

static void issue(Op *op, int with_requests) {
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
            MPI(MPI_Rput(op->mine, h->count, h->type, op->target, d, t->count, t->type, win, next_request()));
        } else {
            MPI(MPI_Put(op->mine, h->count, h->type, op->target, d, t->count, t->type, win));
        }
        break;
    case GET:
        if (request) {
            MPI(MPI_Rget(op->got, r->count, r->type, op->target, d, t->count, t->type, win, next_request()));
        } else {
            MPI(MPI_Get(op->got, r->count, r->type, op->target, d, t->count, t->type, win));
        }
        break;
    case ACC:
        if (request) {
            MPI(MPI_Raccumulate(op->mine, h->count, h->type, op->target, d, t->count, t->type, o, win, next_request()));
        } else {
            MPI(MPI_Accumulate(op->mine, h->count, h->type, op->target, d, t->count, t->type, o, win));
        }
        break;
    case GET_ACC:
        if (request) {
            MPI(MPI_Rget_accumulate(op->mine, h->count, h->type, op->got, r->count, r->type, op->target, d, t->count,
                                    t->type, o, win, next_request()));
        } else {
            MPI(MPI_Get_accumulate(op->mine, h->count, h->type, op->got, r->count, r->type, op->target, d, t->count,
                                   t->type, o, win));
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

static void check(Op *op) {
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

static void compare_memory(void) {
    const unsigned char *want = model + (size_t) my_rank * bytes;
    for (size_t i = 0; i < bytes; ++i) {
        if (window[i] == want[i]) {
            continue;
        }
        for (const Plan *e = plans + in_flight; e-- > plans;) {
            for (const Op *o = e->ops; o < e->ops + e->n; ++o) {
                if (o->origin >= 0 && o->target == my_rank && i >= (size_t) o->disp &&
                    i < (size_t) (o->disp + o->there.span)) {
                    FAIL("byte %zu of the window is %02x, expected %02x: byte %zu of %d (%d elements of base %d) "
                         "of operation %d with operator %d from rank %d in epoch %d of kind %d",
                         i, window[i], want[i], i - (size_t) o->disp, o->there.span, o->there.n, o->base, o->kind,
                         o->op, o->origin, e->number, e->kind);
                }
            }
        }
        FAIL("byte %zu of the window, which nobody wrote now, is %02x, expected %02x", i, window[i], want[i]);
    }
}

static void plan_epoch(Plan *e, Epoch kind, int number) {
    size_t used[64];
    e->kind = kind;
    e->number = number;
    e->n = 0;
    e->adds = malloc(sizeof(int64_t) * (size_t) (n_ranks * n_ranks * HOT_CELLS));
    e->reaches = calloc((size_t) (n_ranks * n_ranks), sizeof(int));
    for (int t = 0; t < n_ranks; ++t) {
        used[t] = HOT_CELLS * sizeof(int64_t);
    }
    const int wanted = 1 + (int) rng_size(&rng, MOST_OPS - 1);
    while (e->n < wanted) {
        const int o = (int) rng_below(&rng, (uint64_t) n_ranks), t = (int) rng_below(&rng, (uint64_t) n_ranks);
        Op *op = &e->ops[e->n++];
        if (!plan(op, o, t, &used[t])) {
            op->origin = -1; // no room left there
            continue;
        }
        e->reaches[o * n_ranks + t] = 1;
        play_on_model(op);
    }
    e->hot = 0 == rng_below(&rng, 2);
    for (int i = 0; i < n_ranks * n_ranks * HOT_CELLS; ++i) {
        e->adds[i] = (int64_t) rng_below(&rng, 1000);
    }
    for (int o = 0; e->hot && o < n_ranks; ++o) {
        for (int t = 0; t < n_ranks; ++t) {
            e->reaches[o * n_ranks + t] = 1;
            for (int c = 0; c < HOT_CELLS; ++c) {
                int64_t *cell = (int64_t *) (model + (size_t) t * bytes) + c;
                *cell += e->adds[(o * n_ranks + t) * HOT_CELLS + c];
            }
        }
    }
    // Nothing is between a fence that ends an epoch and the one that begins the next, and all say so, or nobody.
    e->before = rng_below(&rng, 2) ? MPI_MODE_NOPRECEDE : 0;
    e->behind = rng_below(&rng, 2) ? MPI_MODE_NOSUCCEED : 0;
}

// Everybody adds to the same cells of everybody: only the sums can be known.
static void add_hot(const Plan *e, int target) {
    if (e->hot) {
        MPI(MPI_Accumulate(e->adds + (size_t) (my_rank * n_ranks + target) * HOT_CELLS, HOT_CELLS, MPI_INT64_T, target,
                           dynamic ? addresses[target] : 0, HOT_CELLS, MPI_INT64_T, MPI_SUM, win));
    }
}

// This rank's operations, or those for one target.
static void issue_all(Plan *e, int target) {
    for (int i = 0; i < e->n; ++i) {
        if (my_rank == e->ops[i].origin && (target < 0 || target == e->ops[i].target)) {
            issue(&e->ops[i], LOCK == e->kind || LOCK_ALL == e->kind);
        }
    }
    for (int t = 0; t < n_ranks; ++t) {
        if (target < 0 || t == target) {
            add_hot(e, t);
        }
    }
}

static void wait_requests(void) {
    MPI(MPI_Waitall(n_requests, requests, MPI_STATUSES_IGNORE));
    n_requests = 0;
}

static void fence_epoch(Plan *e) {
    CALL(ifence, MPI_Win_fence, e->before, win);
    issue_all(e, -1);
    CALL(ifence, MPI_Win_fence, e->behind | (rng_below(&rng, 2) ? MPI_MODE_NOSTORE : 0), win);
}

static void pscw_epoch(Plan *e) {
    MPI_Group world, to, from;
    int targets[64], origins[64], nt = 0, no = 0;
    MPI_Win_get_group(win, &world);
    for (int r = 0; r < n_ranks; ++r) {
        if (e->reaches[my_rank * n_ranks + r]) {
            targets[nt++] = r;
        }
        if (e->reaches[r * n_ranks + my_rank]) {
            origins[no++] = r;
        }
    }
    MPI_Group_incl(world, nt, targets, &to);
    MPI_Group_incl(world, no, origins, &from);
    CALL(ipost, MPI_Win_post, from, 0, win);
    compute();
    CALL(istart, MPI_Win_start, to, 0, win);
    issue_all(e, -1);
    CALL(icomplete, MPI_Win_complete, win);
    compute();
    if (nonblocking || rng_below(&rng, 2)) {
        CALL(iwait, MPI_Win_wait, win);
    } else {
        for (int flag = 0; !flag;) {
            MPI(MPI_Win_test(win, &flag));
        }
    }
    MPI_Group_free(&to);
    MPI_Group_free(&from);
    MPI_Group_free(&world);
}

static void lock_epoch(Plan *e) {
    int targets[64], nt = 0;
    for (int r = 0; r < n_ranks; ++r) {
        if (e->reaches[my_rank * n_ranks + r]) {
            targets[nt++] = r;
        }
    }
    rng_shuffle(&rng, targets, nt);
    for (int k = 0; k < nt; ++k) {
        CALL(ilock, MPI_Win_lock, rng_below(&rng, 2) ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, targets[k], 0, win);
        issue_all(e, targets[k]);
        if (rng_below(&rng, 2)) {
            CALL(iflush, MPI_Win_flush, targets[k], win);
        }
        if (!nonblocking) {
            wait_requests();
        }
        CALL(iunlock, MPI_Win_unlock, targets[k], win);
    }
}

static void lock_all_epoch(Plan *e) {
    CALL(ilock_all, MPI_Win_lock_all, 0, win);
    issue_all(e, -1);
    if (!nonblocking) {
        MPI(MPI_Win_flush_local_all(win));
        if (rng_below(&rng, 2)) {
            MPI(MPI_Win_flush_all(win));
        }
        wait_requests();
    }
    CALL(iunlock_all, MPI_Win_unlock_all, win);
}

static int is_locks(Epoch kind) { return LOCK == kind || LOCK_ALL == kind; }

// The epochs in flight end, and what they did is looked at.
static void land(void) {
    if (0 == in_flight) {
        return;
    }
    wait_requests();
    if (is_locks(plans[in_flight - 1].kind)) {
        MPI(MPI_Barrier(MPI_COMM_WORLD));
    }
    compare_memory();
    MPI(MPI_Barrier(MPI_COMM_WORLD)); // nobody begins the next before all have looked
    for (Plan *e = plans; e < plans + in_flight; ++e) {
        for (int i = 0; i < e->n; ++i) {
            if (my_rank == e->ops[i].origin) {
                check(&e->ops[i]);
            }
            free_layout(&e->ops[i].there);
            free_layout(&e->ops[i].here);
            free_layout(&e->ops[i].result);
            free(e->ops[i].data);
            free(e->ops[i].before);
        }
        free(e->adds);
        free(e->reaches);
    }
    in_flight = 0;
}

// Epochs in flight follow each other as blocking ones do. Only locks of different origins come in any order beside what
// is not everybody's: there a fence is between, or all has landed.
static void run_epoch(int number) {
    const Epoch kind = (Epoch) rng_below(&rng, EPOCHS);
    if (in_flight > 0 && FENCE != kind && FENCE != plans[in_flight - 1].kind &&
        (is_locks(kind) || is_locks(plans[in_flight - 1].kind))) {
        land();
    }
    Plan *e = &plans[in_flight++];
    plan_epoch(e, kind, number);
    const int lands = !nonblocking || MOST_IN_FLIGHT == in_flight || 0 == rng_below(&rng, 4);
    const Rng shared = rng; // what follows may differ between the ranks
    rng = rng_make(mix64(rng.state + (uint64_t) my_rank));
    snprintf(note, sizeof(note), "epoch %d of kind %d", number, kind);
    test_note = note;
    compute();
    if (FENCE == kind) {
        fence_epoch(e);
    } else if (PSCW == kind) {
        pscw_epoch(e);
    } else if (LOCK == kind) {
        lock_epoch(e);
    } else {
        lock_all_epoch(e);
    }
    if (nonblocking && rng_below(&rng, 2)) {
        int flag;
        MPI(MPI_Testall(n_requests, requests, &flag, MPI_STATUSES_IGNORE));
    }
    rng = shared;
    if (lands) {
        land();
    }
}

int main(int argc, char **argv) {
    uint64_t seed = argc > 1 && strcmp(argv[1], "-") ? strtoull(argv[1], NULL, 0) : (uint64_t) time(NULL);
    const int epochs = argc > 2 ? atoi(argv[2]) : 30;
    const char *flavor = argc > 3 ? argv[3] : "create";
    const MPI_Op ops_known[] = {MPI_REPLACE, MPI_NO_OP, MPI_SUM, MPI_MAX, MPI_MIN, MPI_BXOR, MPI_BOR, MPI_MAXLOC};
    int multiple = 0, provided;

    for (int i = 4; i < argc; ++i) {
        busy = busy || 0 == strcmp(argv[i], "busy");
        nonblocking = nonblocking || 0 == strcmp(argv[i], "nonblocking");
        multiple = multiple || 0 == strcmp(argv[i], "multiple");
        bytes = atoi(argv[i]) > 0 ? (size_t) atoi(argv[i]) : bytes;
    }
    MPI_Init_thread(&argc, &argv, multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    learn_world(1);
    CHECK(n_ranks <= 64, "too many ranks");
    if (nonblocking) {
        load_mpix();
    }
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
    if (0 == my_rank) {
        puts("# begun");
        fflush(stdout);
    }
    for (int e = 0; e < epochs; ++e) {
        run_epoch(e);
    }
    land();
    if (0 == my_rank) {
        fprintf(stdout, "# seed %" PRIu64 "\n", seed);
    }
    if (dynamic) {
        MPI(MPI_Win_detach(win, window));
    }
    MPI(MPI_Win_free(&win));
    return finish();
}
