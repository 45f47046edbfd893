// SPDX-License-Identifier: BSD-3-Clause
// Description: one-sided calls one by one: kinds of windows and their attributes, displacement units, empty
// windows, request forms, locks, groups of post and start, and the error class of each wrong use.
#include "check.h"

static int right, left;

static void attribute(MPI_Win win, int key, void *want_pointer, MPI_Aint want) {
    void *value;
    int found = 0;
    MPI(MPI_Win_get_attr(win, key, &value, &found));
    CHECK(found, "attribute %d is not there", key);
    if (MPI_WIN_BASE == key) {
        CHECK(value == want_pointer, "the base is %p, expected %p", value, want_pointer);
    } else if (MPI_WIN_SIZE == key) {
        CHECK(*(MPI_Aint *) value == want, "the size is %ld", (long) *(MPI_Aint *) value);
    } else {
        CHECK(*(int *) value == (int) want, "attribute %d is %d, expected %ld", key, *(int *) value, (long) want);
    }
}

// Displacement units and sizes that differ by rank, some of them empty; one-process windows.
static void kinds(void) {
    test_note = "windows whose sizes and units differ";
    const int unit = 1 + my_rank % 3;
    const MPI_Aint size = my_rank % 2 ? 4096 : 0;
    unsigned char *memory = calloc(1, 4096), value = (unsigned char) (my_rank + 1), got;
    MPI_Win win;
    MPI(MPI_Win_create(memory, size, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    attribute(win, MPI_WIN_BASE, memory, 0);
    attribute(win, MPI_WIN_SIZE, NULL, size);
    attribute(win, MPI_WIN_DISP_UNIT, NULL, unit);
    attribute(win, MPI_WIN_CREATE_FLAVOR, NULL, MPI_WIN_FLAVOR_CREATE);
    attribute(win, MPI_WIN_MODEL, NULL, MPI_WIN_UNIFIED);
    MPI(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    MPI(MPI_Win_fence(0, win));
    if (right % 2) {
        MPI(MPI_Put(&value, 1, MPI_BYTE, right, 100, 1, MPI_BYTE, win));
        EXPECT(MPI_Put(&value, 1, MPI_BYTE, right, 4096, 1, MPI_BYTE, win), MPI_ERR_RMA_RANGE);
    } else {
        EXPECT(MPI_Put(&value, 1, MPI_BYTE, right, 0, 1, MPI_BYTE, win), MPI_ERR_RMA_RANGE);
        MPI(MPI_Put(&value, 0, MPI_BYTE, right, 0, 0, MPI_BYTE, win));
    }
    MPI(MPI_Put(&value, 1, MPI_BYTE, MPI_PROC_NULL, 0, 1, MPI_BYTE, win));
    MPI(MPI_Win_fence(0, win));
    if (my_rank % 2) {
        CHECK(memory[100 * unit] == left + 1, "byte %d is %d", 100 * unit, memory[100 * unit]);
    }
    MPI(MPI_Win_free(&win));
    free(memory);

    MPI(MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_SELF, &memory, &win));
    attribute(win, MPI_WIN_CREATE_FLAVOR, NULL, MPI_WIN_FLAVOR_ALLOCATE);
    MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
    memory[3] = 0;
    MPI(MPI_Put(&value, 1, MPI_BYTE, 0, 3, 1, MPI_BYTE, win));
    MPI(MPI_Win_flush(0, win));
    MPI(MPI_Get(&got, 1, MPI_BYTE, 0, 3, 1, MPI_BYTE, win));
    MPI(MPI_Win_unlock(0, win));
    CHECK(got == value && memory[3] == value, "alone: got %d, memory has %d", got, memory[3]);
    MPI(MPI_Win_free(&win));
}

static void wrong_flushes(MPI_Win win) {
    const int nobody[] = {n_ranks, n_ranks + 100000000, -9};
    for (int i = 0; i < 3; ++i) {
        EXPECT(MPI_Win_flush(nobody[i], win), MPI_ERR_RANK);
        EXPECT(MPI_Win_flush_local(nobody[i], win), MPI_ERR_RANK);
    }
    MPI(MPI_Win_flush(MPI_PROC_NULL, win));
    MPI(MPI_Win_flush_local(MPI_PROC_NULL, win));
}

static void wrong_use(void) {
    test_note = "wrong use";
    int *memory, value = 1, pair[2] = {0}, flag;
    MPI_Datatype two;
    MPI_Win win, fixed, same;
    MPI_Group world, self, empty;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &my_rank, &self);
    MPI_Group_incl(world, 0, NULL, &empty);
    MPI(MPI_Win_allocate(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    MPI(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    EXPECT(MPI_Put(&value, 1, MPI_INT, right, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC);
    EXPECT(MPI_Get(&value, 1, MPI_INT, right, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC);
    EXPECT(MPI_Accumulate(&value, 1, MPI_INT, right, 0, 1, MPI_INT, MPI_SUM, win), MPI_ERR_RMA_SYNC);
    EXPECT(MPI_Win_unlock(right, win), MPI_ERR_RMA_SYNC);
    EXPECT(MPI_Win_unlock_all(win), MPI_ERR_RMA_SYNC);
    EXPECT(MPI_Win_flush(right, win), MPI_ERR_RMA_SYNC);
    EXPECT(MPI_Win_flush_all(win), MPI_ERR_RMA_SYNC);
    EXPECT(MPI_Win_flush_local(right, win), MPI_ERR_RMA_SYNC);
    EXPECT(MPI_Win_complete(win), MPI_ERR_RMA_SYNC);
    EXPECT(MPI_Win_wait(win), MPI_ERR_RMA_SYNC);
    EXPECT(MPI_Win_test(win, &flag), MPI_ERR_RMA_SYNC);
    const MPI_Fint number = MPI_Win_c2f(win);
    MPI(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
    for (int i = 0; i < 2; ++i) { // and the handle is what it was
        MPI_Info info;
        same = win;
        EXPECT(MPI_Win_free(&same), MPI_ERR_RMA_SYNC);
        CHECK(MPI_Win_f2c(number) == win, "a refused MPI_Win_free took the Fortran handle away");
        MPI(MPI_Win_get_info(win, &info));
        MPI(MPI_Info_free(&info));
    }
    EXPECT(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win), MPI_ERR_RMA_SYNC);
    EXPECT(MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC);
    EXPECT(MPI_Win_fence(0, win), MPI_ERR_RMA_SYNC);
    EXPECT(MPI_Win_start(self, 0, win), MPI_ERR_RMA_SYNC);
    EXPECT(MPI_Put(&value, 1, MPI_INT, right, 16, 1, MPI_INT, win), MPI_ERR_RMA_RANGE);
    EXPECT(MPI_Put(&value, 1, MPI_INT, right, 15, 2, MPI_SHORT, win), MPI_SUCCESS);
    EXPECT(MPI_Get(&value, 1, MPI_INT, right, -1, 1, MPI_INT, win), MPI_ERR_DISP);
    if (n_ranks > 1) {
        EXPECT(MPI_Put(&value, 1, MPI_INT, my_rank, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC);
    }
    EXPECT(MPI_Put(&value, 1, MPI_INT, n_ranks, 0, 1, MPI_INT, win), MPI_ERR_RANK);
    wrong_flushes(win);
    MPI(MPI_Win_unlock(right, win));
    MPI(MPI_Win_lock_all(0, win));
    wrong_flushes(win);
    MPI_Type_contiguous(2, MPI_INT, &two);
    MPI_Type_commit(&two);
    EXPECT(MPI_Compare_and_swap(pair, pair, pair, two, right, 0, win), MPI_ERR_TYPE);
    MPI_Type_free(&two);
    EXPECT(MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC);
    EXPECT(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win), MPI_ERR_RMA_SYNC);
    MPI(MPI_Win_unlock_all(win));
    MPI(MPI_Win_post(empty, 0, win));
    EXPECT(MPI_Win_post(empty, 0, win), MPI_ERR_RMA_SYNC);
    EXPECT(MPI_Win_fence(0, win), MPI_ERR_RMA_SYNC);
    MPI(MPI_Win_wait(win));
    MPI(MPI_Win_post(self, 0, win));
    MPI(MPI_Win_start(self, 0, win));
    EXPECT(MPI_Win_start(self, 0, win), MPI_ERR_RMA_SYNC);
    EXPECT(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win), MPI_ERR_RMA_SYNC);
    if (n_ranks > 1) {
        EXPECT(MPI_Put(&value, 1, MPI_INT, right, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC);
    }
    MPI(MPI_Put(&value, 1, MPI_INT, my_rank, 1, 1, MPI_INT, win));
    MPI(MPI_Win_complete(win));
    MPI(MPI_Win_wait(win));
    CHECK(1 == memory[1], "what was put to oneself is %d", memory[1]);
    EXPECT(MPI_Win_attach(win, &value, 4), MPI_ERR_RMA_FLAVOR);
    for (int used = 0; used < 2; ++used) { // an operation that is refused is none of the fence's epoch
        MPI(MPI_Win_fence(0, win));
        EXPECT(MPI_Put(&value, 1, MPI_INT, right, 16, 1, MPI_INT, win), MPI_ERR_RMA_RANGE);
        EXPECT(MPI_Accumulate(&value, 1, MPI_INT, right, 16, 1, MPI_INT, MPI_SUM, win), MPI_ERR_RMA_RANGE);
        EXPECT(MPI_Compare_and_swap(pair, pair, pair, MPI_INT, right, 16, win), MPI_ERR_RMA_RANGE);
        if (used) {
            MPI(MPI_Put(&value, 1, MPI_INT, right, 2, 1, MPI_INT, win));
            EXPECT(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win), MPI_ERR_RMA_SYNC);
            MPI(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
        } else {
            MPI(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
            MPI(MPI_Win_unlock(right, win));
        }
    }
    fixed = win;
    MPI(MPI_Win_free(&fixed));
    MPI_Group_free(&self);
    MPI_Group_free(&empty);
    MPI_Group_free(&world);
}

// Of what one call names a part is not attached: the whole is refused, and whatever waits for it ends.
static void refused_in_part(MPI_Win win, const MPI_Aint *there, int gone) {
    enum { PIECES = 3 };
    const int lengths[PIECES] = {2, 3, 1};
    int from[6] = {1, 1, 1, 1, 1, 1}, into[6];
    MPI_Request r;
    for (int first = 0; first < PIECES; ++first) {
        MPI_Aint places[PIECES];
        MPI_Datatype pieces;
        for (int i = 0; i < PIECES; ++i) { // the one that is not there stands at each place once
            places[i] = MPI_Aint_diff(there[i == first ? gone : 20 + 2 * i], there[0]);
        }
        MPI_Type_create_hindexed(PIECES, lengths, places, MPI_INT, &pieces);
        MPI_Type_commit(&pieces);
        MPI(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
        MPI(MPI_Get_accumulate(from, 6, MPI_INT, into, 6, MPI_INT, right, there[0], 1, pieces, MPI_SUM, win));
        EXPECT(MPI_Win_flush_local(right, win), MPI_ERR_RMA_RANGE);
        MPI(MPI_Get(into, 6, MPI_INT, right, there[0], 1, pieces, win));
        EXPECT(MPI_Win_flush_local(right, win), MPI_ERR_RMA_RANGE);
        MPI(MPI_Rget_accumulate(from, 6, MPI_INT, into, 6, MPI_INT, right, there[0], 1, pieces, MPI_SUM, win, &r));
        EXPECT(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_ERR_RMA_RANGE);
        MPI(MPI_Win_unlock(right, win));
        MPI_Type_free(&pieces);
    }
    MPI(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
    MPI(MPI_Get(into, 6, MPI_INT, right, there[20], 6, MPI_INT, win));
    MPI(MPI_Win_unlock(right, win));
    for (int i = 0; i < 6; ++i) {
        CHECK(0 == into[i], "int %d is %d after what was refused", i, into[i]);
    }
}

// One operation on several regions, whose pieces are at equal distances by chance: what lies between is nobody's.
static void several_regions(MPI_Win win, const MPI_Aint *there) {
    const int lengths[2] = {3, 3};
    int from[6] = {1, 2, 3, 4, 5, 6}, into[6] = {0}, none[6] = {0};
    for (int other = 30; other < 34; ++other) {
        const MPI_Aint places[2] = {0, MPI_Aint_diff(there[other], there[20])};
        MPI_Datatype pieces;
        MPI_Type_create_hindexed(2, lengths, places, MPI_INT, &pieces);
        MPI_Type_commit(&pieces);
        MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, win));
        MPI(MPI_Put(from, 6, MPI_INT, right, there[20], 1, pieces, win));
        MPI(MPI_Win_flush(right, win));
        MPI(MPI_Get(into, 6, MPI_INT, right, there[20], 1, pieces, win));
        MPI(MPI_Win_flush(right, win));
        MPI(MPI_Accumulate(none, 6, MPI_INT, right, there[20], 1, pieces, MPI_REPLACE, win));
        MPI(MPI_Win_unlock(right, win));
        CHECK(0 == memcmp(from, into, sizeof(from)), "what two regions hold came back as %d, ..., %d", into[0],
              into[5]);
        MPI_Type_free(&pieces);
    }
}

// Regions come and go; what is not attached is refused, and the window works on.
static void dynamic(void) {
    test_note = "a dynamic window";
    enum { REGIONS = 40, INTS = 64 };
    int *regions[REGIONS], value = my_rank, got = -1;
    MPI_Aint mine[REGIONS], *theirs = calloc((size_t) (n_ranks * REGIONS), sizeof(MPI_Aint));
    MPI_Win win;
    MPI(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    MPI(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    attribute(win, MPI_WIN_CREATE_FLAVOR, NULL, MPI_WIN_FLAVOR_DYNAMIC);
    for (int i = 0; i < REGIONS; ++i) {
        regions[i] = calloc(INTS, sizeof(int));
        MPI(MPI_Win_attach(win, regions[i], INTS * sizeof(int)));
        MPI_Get_address(regions[i], &mine[i]);
    }
    EXPECT(MPI_Win_attach(win, regions[3] + 1, 4), MPI_ERR_RMA_ATTACH);
    EXPECT(MPI_Win_detach(win, &value), MPI_ERR_RMA_ATTACH);
    MPI(MPI_Win_detach(win, regions[7]));
    MPI(MPI_Win_attach(win, regions[7], 0));
    MPI(MPI_Win_attach(win, regions[8], 0));
    MPI(MPI_Win_detach(win, regions[8]));
    MPI_Allgather(mine, REGIONS, MPI_AINT, theirs, REGIONS, MPI_AINT, MPI_COMM_WORLD);
    const MPI_Aint *there = theirs + right * REGIONS;
    MPI(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
    for (int i = 0; i < REGIONS; ++i) {
        if (7 != i) {
            MPI(MPI_Put(&value, 1, MPI_INT, right, MPI_Aint_add(there[i], 4 * i), 1, MPI_INT, win));
        }
    }
    MPI(MPI_Win_flush(right, win));
    MPI(MPI_Put(&value, 1, MPI_INT, right, there[7], 1, MPI_INT, win));
    EXPECT(MPI_Win_flush(right, win), MPI_ERR_RMA_RANGE);
    MPI(MPI_Get(&got, 1, MPI_INT, right, MPI_Aint_add(there[5], INTS * 4), 1, MPI_INT, win));
    EXPECT(MPI_Win_flush(right, win), MPI_ERR_RMA_RANGE);
    MPI(MPI_Accumulate(&value, 1, MPI_INT, right, there[7], 1, MPI_INT, MPI_SUM, win));
    EXPECT(MPI_Win_flush(right, win), MPI_ERR_RMA_RANGE);
    MPI(MPI_Fetch_and_op(&value, &got, MPI_INT, right, there[7], MPI_SUM, win));
    EXPECT(MPI_Win_flush(right, win), MPI_ERR_RMA_RANGE);
    MPI_Request request; // what its own request can tell it tells, and nobody else
    MPI(MPI_Rget(&got, 1, MPI_INT, right, there[7], 1, MPI_INT, win, &request));
    EXPECT(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_RMA_RANGE);
    MPI(MPI_Rget_accumulate(&value, 1, MPI_INT, &got, 1, MPI_INT, right, there[7], 1, MPI_INT, MPI_SUM, win, &request));
    EXPECT(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_RMA_RANGE);
    MPI(MPI_Rget(&got, 1, MPI_INT, right, MPI_Aint_add(there[5], 20), 1, MPI_INT, win, &request));
    MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    MPI(MPI_Win_flush(right, win));
    MPI(MPI_Get(&got, 1, MPI_INT, right, MPI_Aint_add(there[5], 20), 1, MPI_INT, win));
    MPI(MPI_Win_unlock(right, win));
    refused_in_part(win, there, 7);
    several_regions(win, there);
    CHECK(got == my_rank, "got %d after what was refused", got);
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < REGIONS; ++i) {
        CHECK(7 == i ? 0 == regions[i][i] : left == regions[i][i], "region %d has %d", i, regions[i][i]);
        MPI(MPI_Win_detach(win, regions[i]));
    }
    MPI(MPI_Win_free(&win));
    for (int i = 0; i < REGIONS; ++i) {
        free(regions[i]);
    }
    free(theirs);
}

static void requests(void) {
    test_note = "request forms";
    enum { N = 40000 };
    int *memory, *out = malloc(N * sizeof(int)), *in = malloc(N * sizeof(int)), one = 1;
    MPI_Win win;
    MPI_Request r[3];
    MPI_Status s;
    MPI(MPI_Win_allocate(N * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    for (int i = 0; i < N; ++i) {
        out[i] = my_rank * N + i;
        memory[i] = 0;
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    MPI(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
    MPI(MPI_Rput(out, N, MPI_INT, right, 0, N, MPI_INT, win, &r[0]));
    MPI(MPI_Wait(&r[0], &s));
    MPI(MPI_Win_flush(right, win));
    MPI(MPI_Rget(in, N, MPI_INT, right, 0, N, MPI_INT, win, &r[0]));
    MPI(MPI_Wait(&r[0], MPI_STATUS_IGNORE));
    CHECK(0 == memcmp(in, out, N * sizeof(int)), "what was got is not what was put");
    MPI(MPI_Raccumulate(out, N, MPI_INT, right, 0, N, MPI_INT, MPI_SUM, win, &r[0]));
    MPI(MPI_Rget_accumulate(out, N, MPI_INT, in, N, MPI_INT, right, 0, N, MPI_INT, MPI_REPLACE, win, &r[1]));
    MPI(MPI_Rput(&one, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win, &r[2]));
    MPI(MPI_Waitall(3, r, MPI_STATUSES_IGNORE));
    for (int i = 0; i < N; ++i) {
        CHECK(in[i] == 2 * out[i], "element %d fetched is %d, expected %d", i, in[i], 2 * out[i]);
    }
    for (int i = 0; i < 100; ++i) { // freed while under way
        MPI(MPI_Raccumulate(&one, 1, MPI_INT, right, 5, 1, MPI_INT, MPI_SUM, win, &r[0]));
        MPI(MPI_Request_free(&r[0]));
    }
    MPI(MPI_Win_unlock_all(win));
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(memory[5] == left * N + 5 + 100, "cell 5 is %d", memory[5]);
    MPI(MPI_Win_free(&win));
    free(out);
    free(in);
}

// Accumulates of one origin to one place keep their order; a lock around get and put makes them one.
// Pairs have a size that is no power of two: a large operation is cut between two of them, whoever does it.
static void pairs(void) {
    test_note = "many pairs";
    enum { N = 20011 };
    typedef struct {
        double value;
        int index;
    } Pair;
    Pair *memory, *mine = malloc(N * sizeof(Pair)), *old = malloc(N * sizeof(Pair));
    MPI_Win win;
    MPI(MPI_Win_allocate(N * sizeof(Pair), sizeof(Pair), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    for (int target = 0; target < n_ranks; ++target) {
        for (int i = 0; i < N; ++i) {
            mine[i] = (Pair){(i + my_rank) % n_ranks, my_rank};
            memory[i] = (Pair){-1, -1};
        }
        MPI(MPI_Win_fence(0, win));
        MPI(MPI_Accumulate(mine, N, MPI_DOUBLE_INT, target, 0, N, MPI_DOUBLE_INT, MPI_MAXLOC, win));
        MPI(MPI_Win_fence(0, win));
        if (0 == my_rank) {
            MPI(MPI_Get_accumulate(mine, N, MPI_DOUBLE_INT, old, N, MPI_DOUBLE_INT, target, 0, N, MPI_DOUBLE_INT,
                                   MPI_REPLACE, win));
        }
        MPI(MPI_Win_fence(0, win));
        for (int i = 0; i < N; ++i) {
            const int largest = ((n_ranks - 1 - i) % n_ranks + n_ranks) % n_ranks; // whose value is n_ranks - 1
            if (0 == my_rank) {
                CHECK(old[i].value == n_ranks - 1 && old[i].index == largest, "pair %d at %d was %g, %d", i, target,
                      old[i].value, old[i].index);
            }
            if (target == my_rank) {
                CHECK(memory[i].value == i % n_ranks && memory[i].index == 0, "pair %d is %g, %d", i, memory[i].value,
                      memory[i].index);
            }
        }
        MPI(MPI_Barrier(MPI_COMM_WORLD));
    }
    MPI(MPI_Win_free(&win));
    free(mine);
    free(old);
}

static void order_and_locks(void) {
    test_note = "the order of accumulates";
    enum { N = 200 };
    int64_t *memory, before[N], add = 1, zero = 0;
    MPI_Win win;
    MPI(MPI_Win_allocate(64 * sizeof(*memory), sizeof(*memory), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    memset(memory, 0, 64 * sizeof(*memory));
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    MPI(MPI_Win_lock_all(0, win));
    for (int i = 0; i < N; ++i) {
        MPI(MPI_Fetch_and_op(&add, &before[i], MPI_INT64_T, right, 1 + my_rank % 32, MPI_SUM, win));
    }
    MPI(MPI_Win_flush_all(win));
    for (int i = 0; i < N; ++i) {
        CHECK(before[i] == i, "fetch %d brought %" PRId64, i, before[i]);
    }
    MPI(MPI_Win_unlock_all(win));
    test_note = "compare and swap as a lock";
    for (int i = 0; i < N; ++i) {
        int64_t mine = my_rank + 1, found = -1, value;
        MPI(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
        while (0 != found) {
            MPI(MPI_Compare_and_swap(&mine, &zero, &found, MPI_INT64_T, 0, 40, win));
            MPI(MPI_Win_flush(0, win));
        }
        MPI(MPI_Get(&value, 1, MPI_INT64_T, 0, 41, 1, MPI_INT64_T, win));
        MPI(MPI_Win_flush(0, win));
        ++value;
        MPI(MPI_Put(&value, 1, MPI_INT64_T, 0, 41, 1, MPI_INT64_T, win));
        MPI(MPI_Win_flush(0, win));
        MPI(MPI_Accumulate(&zero, 1, MPI_INT64_T, 0, 40, 1, MPI_INT64_T, MPI_REPLACE, win));
        MPI(MPI_Win_unlock(0, win));
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(0 != my_rank || memory[41] == (int64_t) N * n_ranks, "%" PRId64 " increments", memory[41]);
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    test_note = "an exclusive lock";
    for (int i = 0; i < N; ++i) {
        int64_t value;
        MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
        MPI(MPI_Get(&value, 1, MPI_INT64_T, 0, 42, 1, MPI_INT64_T, win));
        MPI(MPI_Win_flush_local(0, win));
        ++value;
        MPI(MPI_Put(&value, 1, MPI_INT64_T, 0, 42, 1, MPI_INT64_T, win));
        MPI(MPI_Win_unlock(0, win));
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(0 != my_rank || memory[42] == (int64_t) N * n_ranks, "%" PRId64 " increments", memory[42]);
    MPI(MPI_Win_free(&win));
}

// Rank 0 exposes to all, then all to rank 0; with and without MPI_MODE_NOCHECK.
static void groups(void) {
    test_note = "post and start with other groups on each side";
    int *memory, value = my_rank + 1, zero = 0, got[64] = {0};
    MPI_Win win;
    MPI_Group world, first, others;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &zero, &first);
    MPI_Group_excl(world, 1, &zero, &others);
    MPI(MPI_Win_allocate((MPI_Aint) (64 * sizeof(int)), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    for (int round = 0; round < 20; ++round) {
        const int check = round % 2 ? MPI_MODE_NOCHECK : 0;
        memset(memory, 0, 64 * sizeof(int));
        MPI(MPI_Barrier(MPI_COMM_WORLD));
        if (0 == my_rank) {
            MPI(MPI_Win_post(others, check, win));
            MPI(MPI_Barrier(MPI_COMM_WORLD));
            MPI(MPI_Win_wait(win));
            for (int r = 1; r < n_ranks; ++r) {
                CHECK(memory[r] == r + 1, "rank %d put %d", r, memory[r]);
            }
        } else {
            MPI(MPI_Barrier(MPI_COMM_WORLD));
            MPI(MPI_Win_start(first, check, win));
            MPI(MPI_Put(&value, 1, MPI_INT, 0, my_rank, 1, MPI_INT, win));
            MPI(MPI_Win_complete(win));
        }
        if (0 == my_rank) {
            MPI(MPI_Win_start(others, 0, win));
            for (int r = 1; r < n_ranks; ++r) {
                MPI(MPI_Get(&got[r], 1, MPI_INT, r, 2, 1, MPI_INT, win));
                MPI(MPI_Put(&r, 1, MPI_INT, r, 3, 1, MPI_INT, win));
            }
            MPI(MPI_Win_complete(win));
            for (int r = 1; r < n_ranks; ++r) {
                CHECK(got[r] == 100 * r, "got %d from rank %d", got[r], r);
            }
        } else {
            memory[2] = 100 * my_rank;
            MPI(MPI_Win_post(first, 0, win));
            MPI(MPI_Win_wait(win));
        }
    }
    MPI_Group_free(&world);
    MPI_Group_free(&first);
    MPI_Group_free(&others);
    MPI(MPI_Win_free(&win));
}

// Memory that the processes of a node share, reached by loads, stores and operations alike.
static void shared(void) {
    test_note = "a shared window";
    MPI_Comm node;
    int rank, size, unit, *mine, *theirs, value;
    MPI_Aint bytes;
    MPI_Win win;
    MPI(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    MPI_Comm_rank(node, &rank);
    MPI_Comm_size(node, &size);
    MPI(MPI_Win_allocate_shared(100 * sizeof(int), sizeof(int), MPI_INFO_NULL, node, &mine, &win));
    attribute(win, MPI_WIN_CREATE_FLAVOR, NULL, MPI_WIN_FLAVOR_SHARED);
    MPI(MPI_Win_shared_query(win, (rank + 1) % size, &bytes, &unit, &theirs));
    CHECK(100 * sizeof(int) == bytes && sizeof(int) == unit, "size %ld, unit %d", (long) bytes, unit);
    if (rank + 1 < size) {
        CHECK(theirs == mine + 100, "the parts do not follow each other");
    }
    MPI(MPI_Win_fence(0, win));
    for (int i = 0; i < 100; ++i) {
        theirs[i] = rank * 1000 + i;
    }
    MPI(MPI_Win_fence(0, win));
    for (int i = 0; i < 100; ++i) {
        CHECK(mine[i] == (rank + size - 1) % size * 1000 + i, "element %d is %d", i, mine[i]);
    }
    MPI(MPI_Barrier(node)); // all have looked
    value = 7;
    MPI(MPI_Win_lock_all(0, win));
    MPI(MPI_Accumulate(&value, 1, MPI_INT, (rank + 1) % size, 3, 1, MPI_INT, MPI_SUM, win));
    MPI(MPI_Win_unlock_all(win));
    MPI(MPI_Barrier(node));
    CHECK(mine[3] == (rank + size - 1) % size * 1000 + 10, "element 3 is %d", mine[3]);
    MPI(MPI_Win_free(&win));
    MPI_Comm_free(&node);
    if (size < n_ranks) { // there is no memory that several nodes share
        MPI_Comm all;
        MPI_Comm_dup(MPI_COMM_WORLD, &all);
        MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN);
        EXPECT(MPI_Win_allocate_shared(100, 1, MPI_INFO_NULL, all, &mine, &win), MPI_ERR_RMA_SHARED);
        MPI_Comm_free(&all);
    }
}

// Calls that begin nothing, between two fences: the second one still waits for what others put.
static void fences_with_other_calls(void) {
    test_note = "other calls between fences";
    enum { N = 300000 };
    int *memory, *values = malloc(N * sizeof(int));
    MPI_Win win;
    MPI(MPI_Win_allocate(N * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    for (int round = 0; round < 4; ++round) {
        for (int i = 0; i < N; ++i) {
            values[i] = memory[i] = 100 * round + my_rank;
        }
        MPI(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
        if (0 == my_rank) {
            usleep(20000); // the others are at their fence long before
            for (int i = 0; i < n_ranks; ++i) {
                MPI(MPI_Put(values, N, MPI_INT, i, 0, N, MPI_INT, win));
            }
        } else if (round % 2) {
            MPI(MPI_Win_start(MPI_GROUP_EMPTY, 0, win));
            MPI(MPI_Win_complete(win));
        } else {
            MPI(MPI_Win_post(MPI_GROUP_EMPTY, 0, win));
            MPI(MPI_Win_wait(win));
        }
        MPI(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
        CHECK(100 * round == memory[0] && 100 * round == memory[N - 1], "round %d: %d and %d", round, memory[0],
              memory[N - 1]);
    }
    MPI(MPI_Win_free(&win));
    free(values);
}

// Many windows at once, over other communicators too, freed in another order.
static void many(void) {
    test_note = "many windows";
    enum { N = 30 };
    MPI_Win win[N];
    MPI_Comm half;
    int *memory[N], values[N], rank, size;
    MPI(MPI_Comm_split(MPI_COMM_WORLD, my_rank % 2, -my_rank, &half));
    for (int i = 0; i < N; ++i) {
        MPI(MPI_Win_allocate(64, 4, MPI_INFO_NULL, i % 2 ? half : MPI_COMM_WORLD, &memory[i], &win[i]));
        memory[i][0] = -1;
        MPI(MPI_Win_fence(0, win[i]));
    }
    for (int i = 0; i < N; ++i) {
        MPI_Comm c = i % 2 ? half : MPI_COMM_WORLD;
        MPI_Comm_rank(c, &rank);
        MPI_Comm_size(c, &size);
        values[i] = i;
        MPI(MPI_Put(&values[i], 1, MPI_INT, (rank + i) % size, 0, 1, MPI_INT, win[i]));
    }
    for (int i = N - 1; i >= 0; --i) {
        MPI(MPI_Win_fence(MPI_MODE_NOSUCCEED, win[i]));
        CHECK(memory[i][0] == i, "window %d has %d", i, memory[i][0]);
    }
    for (int i = 0; i < N; ++i) {
        MPI(MPI_Win_free(&win[(i * 7) % N]));
    }
    MPI_Comm_free(&half);
}

int main(int argc, char **argv) {
    begin(&argc, &argv, 1);
    right = (my_rank + 1) % n_ranks;
    left = (my_rank + n_ranks - 1) % n_ranks;
    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    kinds();
    wrong_use();
    dynamic();
    requests();
    pairs();
    order_and_locks();
    groups();
    shared();
    fences_with_other_calls();
    many();
    return finish();
}
