// SPDX-License-Identifier: BSD-3-Clause
// Description: nonblocking collectives of every kind, on a communicator and on a graph, while the
// application computes between posting and waiting: each one alone, then all of them under way at
// once, ended by each form of waiting. Reductions with a predefined operation, a user's commutative
// one and one that is not. A user's operation must run on a thread of the application.
//
//   nbc [ELEMENTS] [multiple]     elements of the largest blocks; two threads, each with collectives
//                                 of its own
#include "check.h"

#include <pthread.h>

enum kind {
    BARRIER,
    BCAST,
    GATHER,
    GATHERV,
    SCATTER,
    SCATTERV,
    ALLGATHER,
    ALLGATHERV,
    ALLTOALL,
    ALLTOALLV,
    ALLTOALLW,
    GRAPH_ALLGATHER,
    GRAPH_ALLGATHERV,
    GRAPH_ALLTOALL,
    GRAPH_ALLTOALLV,
    GRAPH_ALLTOALLW,
    REDUCE,
    ALLREDUCE,
    REDUCE_SCATTER,
    REDUCE_SCATTER_BLOCK,
    SCAN,
    EXSCAN,
    KINDS
};
static const char *const names[KINDS] = {"Ibarrier",
                                         "Ibcast",
                                         "Igather",
                                         "Igatherv",
                                         "Iscatter",
                                         "Iscatterv",
                                         "Iallgather",
                                         "Iallgatherv",
                                         "Ialltoall",
                                         "Ialltoallv",
                                         "Ialltoallw",
                                         "Ineighbor_allgather",
                                         "Ineighbor_allgatherv",
                                         "Ineighbor_alltoall",
                                         "Ineighbor_alltoallv",
                                         "Ineighbor_alltoallw",
                                         "Ireduce",
                                         "Iallreduce",
                                         "Ireduce_scatter",
                                         "Ireduce_scatter_block",
                                         "Iscan",
                                         "Iexscan"};

enum operation { SUM, LARGEST, COMPOSE, OPERATIONS };

// What a thread works with: communicators of its own.
typedef struct {
    int thread;
    MPI_Comm comm, graph;
    int n_from, n_to, from[2], to[2]; // neighbours in the graph
    int calls;
} Team;

// One collective under way. Blocks lie n elements apart in both buffers, also where they are shorter.
typedef struct {
    Team *team;
    enum kind kind;
    enum operation operation;
    int n, root, call, in_place;
    int *out, *in;
    int *counts_out, *counts_in, *at_out, *at_in; // at_*: in bytes for ALLTOALLW
    MPI_Aint *far_out, *far_in;
    MPI_Datatype *types_out, *types_in, strided, item;
    MPI_Request request;
} Op;

static int largest_n = 150000; // more than 512 KiB, from where receives inside a node are armed
static MPI_Op operations[OPERATIONS];
static MPI_Datatype pair_type;
static __thread int of_the_application;
static volatile long user_calls;

// ---- data ----------------------------------------------------------------------------------

static int element(const Op *op, int r, int i) {
    return (int) (mix64(key_of(240, (uint64_t) r, (uint64_t) op->call, op->team->thread) + (uint64_t) i) & 0xffff);
}

// Elements from rank s to rank d, in the kinds that may have blocks of different lengths.
static int part(const Op *op, int s, int d) { return op->n - (int) ((long) op->n * ((s + 2 * d) % 3) / 8); }

static int width(const Op *op) { return COMPOSE == op->operation ? 2 : 1; }

// f then g, of x -> a x + b (mod 2^32): associative, not commutative.
static void apply(enum operation operation, unsigned *g, const unsigned *f) {
    if (SUM == operation) {
        g[0] += f[0];
    } else if (LARGEST == operation) {
        g[0] = f[0] > g[0] ? f[0] : g[0];
    } else {
        unsigned a = f[0] * g[0], b = g[0] * f[1] + g[1];
        g[0] = a;
        g[1] = b;
    }
}

static void user_operation(enum operation operation, unsigned *in, unsigned *inout, int n, int step) {
    CHECK(of_the_application, "a user's operation runs on a thread that is not the application's");
    __atomic_add_fetch(&user_calls, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < n; ++i) {
        apply(operation, inout + step * i, in + step * i);
    }
}

static void largest(void *in, void *inout, int *n, MPI_Datatype *type) {
    (void) type;
    user_operation(LARGEST, in, inout, *n, 1);
}

static void compose(void *in, void *inout, int *n, MPI_Datatype *type) {
    (void) type;
    user_operation(COMPOSE, in, inout, *n, 2);
}

// Item i of the reduction over the ranks [from, to).
static void reduced(const Op *op, int from, int to, int i, unsigned *result) {
    const int w = width(op);
    for (int r = from; r < to; ++r) {
        unsigned mine[2] = {(unsigned) element(op, r, w * i), (unsigned) element(op, r, w * i + 1)};
        if (r > from) {
            apply(op->operation, mine, result);
        }
        memcpy(result, mine, sizeof(mine));
    }
}

// Neighbours: from the one before and the one two after, to the one after and the one two before,
// each once. Fills `list` for rank r, returns how many.
static int neighbours(int r, int near, int far, int *list) {
    list[0] = (r + near + n_ranks) % n_ranks;
    list[1] = (r + far + 2 * n_ranks) % n_ranks;
    return list[0] == list[1] ? 1 : 2;
}

// ---- begin ---------------------------------------------------------------------------------

static int has_graph(const Op *op) { return op->kind >= GRAPH_ALLGATHER && op->kind <= GRAPH_ALLTOALLW; }
static int is_reduction(enum kind kind) { return kind >= REDUCE; }

static void *zeros(size_t size) {
    void *p = calloc((size_t) n_ranks + 2, size);
    CHECK(NULL != p, "no memory");
    return p;
}

static size_t n_buffer(const Op *op) { return (size_t) op->n * (size_t) (n_ranks > 2 ? n_ranks : 2) * 2; }

static void describe_blocks(Op *op) {
    Team *t = op->team;
    int w = ALLTOALLW == op->kind ? (int) sizeof(int) : 1;

    op->counts_out = zeros(sizeof(int)), op->counts_in = zeros(sizeof(int));
    op->at_out = zeros(sizeof(int)), op->at_in = zeros(sizeof(int));
    op->far_out = zeros(sizeof(MPI_Aint)), op->far_in = zeros(sizeof(MPI_Aint));
    op->types_out = zeros(sizeof(MPI_Datatype)), op->types_in = zeros(sizeof(MPI_Datatype));
    // what arrives goes to every other int: a derived type, unpacked by the application's thread
    MPI(MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &op->strided));
    MPI(MPI_Type_commit(&op->strided));
    for (int i = 0; i < n_ranks + 2; ++i) {
        op->at_out[i] = op->n * i * w;
        op->at_in[i] = op->n * i * w * (ALLTOALLW == op->kind ? 2 : 1);
        op->far_out[i] = (MPI_Aint) op->n * i * (MPI_Aint) sizeof(int);
        op->far_in[i] = 2 * op->far_out[i];
        op->types_out[i] = MPI_INT;
        op->types_in[i] = op->strided;
    }
    if (has_graph(op)) {
        const int same = GRAPH_ALLGATHERV == op->kind; // of one length for all who get it
        for (int i = 0; i < t->n_to; ++i) {
            op->counts_out[i] = part(op, my_rank, same ? my_rank : t->to[i]);
        }
        for (int i = 0; i < t->n_from; ++i) {
            op->counts_in[i] = part(op, t->from[i], same ? t->from[i] : my_rank);
        }
        return;
    }
    for (int r = 0; r < n_ranks; ++r) {
        const int same = GATHERV == op->kind || ALLGATHERV == op->kind;
        op->counts_out[r] = part(op, SCATTERV == op->kind ? op->root : my_rank, r);
        op->counts_in[r] = part(op, r, same ? r : my_rank);
        if (REDUCE_SCATTER == op->kind) {
            op->counts_in[r] = part(op, r, r) / width(op);
        }
    }
}

static void begin_op(Op *op, Team *t, enum kind kind, enum operation operation, int n) {
    memset(op, 0, sizeof(*op));
    op->team = t, op->kind = kind, op->operation = operation, op->n = n;
    op->call = t->calls++;
    op->root = op->call % n_ranks;
    op->in_place = op->call % 2 && (ALLREDUCE == kind || ALLGATHER == kind || ALLTOALL == kind || SCAN == kind);
    op->item = COMPOSE == operation ? pair_type : MPI_INT;
    op->out = guarded_alloc(n_buffer(op) * sizeof(int));
    op->in = guarded_alloc(n_buffer(op) * sizeof(int));
    describe_blocks(op);
    for (size_t i = 0; i < n_buffer(op) / 2; ++i) {
        op->out[i] = element(op, my_rank, (int) i);
    }
    if (op->in_place) {
        size_t count = ALLTOALL == kind ? (size_t) n * (size_t) n_ranks : (size_t) n;
        memcpy(op->in + (ALLGATHER == kind ? n * my_rank : 0), op->out, count * sizeof(int));
    }
    const void *out = op->in_place ? MPI_IN_PLACE : op->out;
    const int root = op->root, items = n / width(op);
    int *in = op->in;
    int mine = part(op, my_rank, my_rank); // v-kinds where all get the same, or only the root
    MPI_Op f = operations[operation];
    MPI_Comm c = t->comm, g = t->graph;
    MPI_Request *r = &op->request;
    switch (kind) {
    case BARRIER:
        MPI(MPI_Ibarrier(c, r));
        break;
    case BCAST:
        MPI(MPI_Ibcast(my_rank == root ? op->out : in, n, MPI_INT, root, c, r));
        break;
    case GATHER:
        MPI(MPI_Igather(out, n, MPI_INT, in, n, MPI_INT, root, c, r));
        break;
    case GATHERV:
        MPI(MPI_Igatherv(out, mine, MPI_INT, in, op->counts_in, op->at_in, MPI_INT, root, c, r));
        break;
    case SCATTER:
        MPI(MPI_Iscatter(out, n, MPI_INT, in, n, MPI_INT, root, c, r));
        break;
    case SCATTERV:
        MPI(MPI_Iscatterv(out, op->counts_out, op->at_out, MPI_INT, in, part(op, root, my_rank), MPI_INT, root, c, r));
        break;
    case ALLGATHER:
        MPI(MPI_Iallgather(out, n, MPI_INT, in, n, MPI_INT, c, r));
        break;
    case ALLGATHERV:
        MPI(MPI_Iallgatherv(out, mine, MPI_INT, in, op->counts_in, op->at_in, MPI_INT, c, r));
        break;
    case ALLTOALL:
        MPI(MPI_Ialltoall(out, n, MPI_INT, in, n, MPI_INT, c, r));
        break;
    case ALLTOALLV:
        MPI(MPI_Ialltoallv(out, op->counts_out, op->at_out, MPI_INT, in, op->counts_in, op->at_in, MPI_INT, c, r));
        break;
    case ALLTOALLW:
        MPI(MPI_Ialltoallw(out, op->counts_out, op->at_out, op->types_out, in, op->counts_in, op->at_in, op->types_in,
                           c, r));
        break;
    case GRAPH_ALLGATHER:
        MPI(MPI_Ineighbor_allgather(out, n, MPI_INT, in, n, MPI_INT, g, r));
        break;
    case GRAPH_ALLGATHERV:
        MPI(MPI_Ineighbor_allgatherv(out, mine, MPI_INT, in, op->counts_in, op->at_in, MPI_INT, g, r));
        break;
    case GRAPH_ALLTOALL:
        MPI(MPI_Ineighbor_alltoall(out, n, MPI_INT, in, n, MPI_INT, g, r));
        break;
    case GRAPH_ALLTOALLV:
        MPI(MPI_Ineighbor_alltoallv(out, op->counts_out, op->at_out, MPI_INT, in, op->counts_in, op->at_in, MPI_INT, g,
                                    r));
        break;
    case GRAPH_ALLTOALLW:
        MPI(MPI_Ineighbor_alltoallw(out, op->counts_out, op->far_out, op->types_out, in, op->counts_in, op->far_in,
                                    op->types_in, g, r));
        break;
    case REDUCE:
        MPI(MPI_Ireduce(out, in, items, op->item, f, root, c, r));
        break;
    case ALLREDUCE:
        MPI(MPI_Iallreduce(out, in, items, op->item, f, c, r));
        break;
    case REDUCE_SCATTER:
        MPI(MPI_Ireduce_scatter(out, in, op->counts_in, op->item, f, c, r));
        break;
    case REDUCE_SCATTER_BLOCK:
        MPI(MPI_Ireduce_scatter_block(out, in, items, op->item, f, c, r));
        break;
    case SCAN:
        MPI(MPI_Iscan(out, in, items, op->item, f, c, r));
        break;
    case EXSCAN:
        MPI(MPI_Iexscan(out, in, items, op->item, f, c, r));
        break;
    case KINDS:
        break;
    }
}

// ---- end -----------------------------------------------------------------------------------

static void check_op_failed(const Op *op, size_t i, int value, int want) {
    FAIL("%s (call %d of thread %d, %d elements, operation %d, root %d%s): element %zu is %d, expected %d",
         names[op->kind], op->call, op->team->thread, op->n, op->operation, op->root, op->in_place ? ", in place" : "",
         i, value, want);
}

// Block `slot` of what I have: count elements, from index `first` of rank s's buffer.
static void check_block(const Op *op, int slot, int count, int s, int first, int step) {
    const int *in = op->in + (size_t) slot * (size_t) op->n * (size_t) step;
    int blank;
    memset(&blank, BLANK_VALUE, sizeof(blank));
    for (int i = 0; i < op->n * step; ++i) {
        int want = 0 == i % step && i / step < count ? element(op, s, first + i / step) : blank;
        if (in[i] != want) {
            check_op_failed(op, (size_t) (in + i - op->in), in[i], want);
        }
    }
}

static void check_reduction(const Op *op, int items, int first, int from, int to) {
    const int w = width(op);
    unsigned want[2];
    for (int i = 0; i < items; ++i) {
        reduced(op, from, to, first + i, want);
        for (int k = 0; k < w; ++k) {
            if (op->in[w * i + k] != (int) want[k]) {
                check_op_failed(op, (size_t) (w * i + k), op->in[w * i + k], (int) want[k]);
            }
        }
    }
}

static void check_graph(const Op *op) {
    const Team *t = op->team;
    for (int j = 0; j < t->n_from; ++j) {
        int s = t->from[j], to[2], slot = 0;
        neighbours(s, 1, -2, to);
        if (to[0] != my_rank) {
            slot = 1;
        }
        int one = GRAPH_ALLGATHER == op->kind || GRAPH_ALLGATHERV == op->kind;
        int whole = GRAPH_ALLGATHER == op->kind || GRAPH_ALLTOALL == op->kind;
        check_block(op, j, whole ? op->n : op->counts_in[j], s, one ? 0 : slot * op->n,
                    GRAPH_ALLTOALLW == op->kind ? 2 : 1);
    }
}

static void check_op(const Op *op) {
    const int n = op->n, me = my_rank, items = n / width(op), is_root = me == op->root;
    int first = 0;
    switch (op->kind) {
    case BCAST:
        if (!is_root) {
            check_block(op, 0, n, op->root, 0, 1);
        }
        break;
    case SCATTER:
        check_block(op, 0, n, op->root, n * me, 1);
        break;
    case SCATTERV:
        check_block(op, 0, part(op, op->root, me), op->root, n * me, 1);
        break;
    case GATHER:
    case GATHERV:
    case ALLGATHER:
    case ALLGATHERV:
    case ALLTOALL:
    case ALLTOALLV:
    case ALLTOALLW:
        for (int s = 0; s < n_ranks; ++s) {
            int all = GATHER == op->kind || ALLGATHER == op->kind || ALLTOALL == op->kind;
            if (op->kind > GATHERV || is_root) {
                check_block(op, s, all ? n : op->counts_in[s], s, op->kind >= ALLTOALL ? n * me : 0,
                            ALLTOALLW == op->kind ? 2 : 1);
            }
        }
        break;
    case REDUCE:
        check_reduction(op, is_root ? items : 0, 0, 0, n_ranks);
        break;
    case ALLREDUCE:
        check_reduction(op, items, 0, 0, n_ranks);
        break;
    case REDUCE_SCATTER:
        for (int r = 0; r < me; ++r) {
            first += op->counts_in[r];
        }
        check_reduction(op, op->counts_in[me], first, 0, n_ranks);
        break;
    case REDUCE_SCATTER_BLOCK:
        check_reduction(op, items, items * me, 0, n_ranks);
        break;
    case SCAN:
        check_reduction(op, items, 0, 0, me + 1);
        break;
    case EXSCAN:
        check_reduction(op, me > 0 ? items : 0, 0, 0, me);
        break;
    default:
        if (has_graph(op)) {
            check_graph(op);
        }
    }
}

static void end_op(Op *op) {
    check_op(op);
    guarded_free(op->out, n_buffer(op) * sizeof(int));
    guarded_free(op->in, n_buffer(op) * sizeof(int));
    free(op->counts_out), free(op->counts_in), free(op->at_out), free(op->at_in);
    free(op->far_out), free(op->far_in), free(op->types_out), free(op->types_in);
    MPI(MPI_Type_free(&op->strided));
}

// ---- tests ---------------------------------------------------------------------------------

// Up to 2 ms without MPI, of another length on every rank. Nothing depends on how long it is.
static void compute(const Team *t, int call) {
    double end = now() + 2e-6 * (double) (key_of(241, (uint64_t) my_rank, (uint64_t) call, t->thread) % 1000);
    volatile double x = 1.0;
    while (now() < end) {
        for (int i = 0; i < 500; ++i) {
            x = x * 1.0000001 + 1e-9;
        }
    }
}

static void one_by_one(Team *t, int n) {
    for (int kind = 0; kind < KINDS; ++kind) {
        for (int f = 0; f < (is_reduction(kind) ? OPERATIONS : 1); ++f) {
            Op op;
            begin_op(&op, t, kind, f, n);
            compute(t, op.call);
            MPI(MPI_Wait(&op.request, MPI_STATUS_IGNORE));
            end_op(&op);
        }
    }
}

static void wait_all(MPI_Request *requests, int n, int how) {
    int left = n, done = 0, index, some[KINDS];
    while (left > 0) {
        switch (how) {
        case 0:
            MPI(MPI_Waitall(n, requests, MPI_STATUSES_IGNORE));
            left = 0;
            break;
        case 1:
            MPI(MPI_Waitany(n, requests, &index, MPI_STATUS_IGNORE));
            --left;
            break;
        case 2:
            MPI(MPI_Testall(n, requests, &done, MPI_STATUSES_IGNORE));
            left = done ? 0 : n;
            break;
        default:
            MPI(MPI_Waitsome(n, requests, &done, some, MPI_STATUSES_IGNORE));
            left -= done;
            break;
        }
    }
    for (int i = 0; i < n; ++i) {
        CHECK(MPI_REQUEST_NULL == requests[i], "request %d is not done after waiting in way %d", i, how);
    }
}

static void all_at_once(Team *t, int n, int how) {
    Op ops[KINDS];
    MPI_Request requests[KINDS];
    for (int kind = 0; kind < KINDS; ++kind) {
        begin_op(&ops[kind], t, kind, is_reduction(kind) ? (enum operation)((kind + how) % OPERATIONS) : SUM, n);
        requests[kind] = ops[kind].request;
        compute(t, ops[kind].call);
    }
    wait_all(requests, KINDS, how);
    for (int kind = 0; kind < KINDS; ++kind) {
        end_op(&ops[kind]);
    }
}

static void *work(void *argument) {
    Team *t = argument;
    of_the_application = 1;
    const int sizes[] = {10, 3000, 30000, largest_n};
    for (int s = 0; s < 4; ++s) {
        one_by_one(t, sizes[s]);
    }
    for (int how = 0; how < 4; ++how) {
        all_at_once(t, 100, how);
        all_at_once(t, 20000, how);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int multiple = argc > 1 && 0 == strcmp(argv[argc - 1], "multiple"), provided;
    if (argc > 1 + multiple) {
        largest_n = atoi(argv[1]);
    }
    MPI_Init_thread(&argc, &argv, multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    learn_world(1);
    CHECK(!multiple || MPI_THREAD_MULTIPLE == provided, "no MPI_THREAD_MULTIPLE");
    operations[SUM] = MPI_SUM;
    MPI(MPI_Op_create(largest, 1, &operations[LARGEST]));
    MPI(MPI_Op_create(compose, 0, &operations[COMPOSE]));
    MPI(MPI_Type_contiguous(2, MPI_INT, &pair_type));
    MPI(MPI_Type_commit(&pair_type));
    const int weights[2] = {1, 1}; // the compiler takes MPI_UNWEIGHTED for an array of none
    Team teams[2];
    for (int i = 0; i < 1 + multiple; ++i) {
        Team *t = &teams[i];
        memset(t, 0, sizeof(*t));
        t->thread = i;
        t->n_from = neighbours(my_rank, -1, 2, t->from);
        t->n_to = neighbours(my_rank, 1, -2, t->to);
        MPI(MPI_Comm_dup(MPI_COMM_WORLD, &t->comm));
        MPI(MPI_Dist_graph_create_adjacent(t->comm, t->n_from, t->from, weights, t->n_to, t->to, weights, MPI_INFO_NULL,
                                           0, &t->graph));
    }
    pthread_t second;
    CHECK(!multiple || 0 == pthread_create(&second, NULL, work, &teams[1]), "no thread");
    work(&teams[0]);
    CHECK(!multiple || 0 == pthread_join(second, NULL), "cannot join");
    CHECK(1 == n_ranks || user_calls > 0, "no user's operation was called");
    for (int i = 0; i < 1 + multiple; ++i) {
        MPI(MPI_Comm_free(&teams[i].graph));
        MPI(MPI_Comm_free(&teams[i].comm));
    }
    MPI(MPI_Op_free(&operations[LARGEST]));
    MPI(MPI_Op_free(&operations[COMPOSE]));
    MPI(MPI_Type_free(&pair_type));
    return finish();
}
