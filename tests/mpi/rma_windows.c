// SPDX-License-Identifier: BSD-3-Clause
// Description: what windows are made with and show of themselves: the five attributes of every flavour, the standard's
// info keys, windows without bytes, MPI_Win_sync in and outside epochs, wrong arguments of the calls that return
// requests.
#include "mpix.h"

static MPI_Comm node; // the processes of this one's node
static int rank, size;

static void *attribute(MPI_Win win, int key) {
    void *value = NULL;
    int found = 0;
    MPI(MPI_Win_get_attr(win, key, &value, &found));
    CHECK(found, "attribute %d is not there", key);
    return value;
}

static void shows(MPI_Win win, int flavor, void *base, MPI_Aint bytes, int unit) {
    CHECK(attribute(win, MPI_WIN_BASE) == base, "flavour %d: the base is %p, not %p", flavor,
          attribute(win, MPI_WIN_BASE), base);
    CHECK(*(MPI_Aint *) attribute(win, MPI_WIN_SIZE) == bytes, "flavour %d: the size", flavor);
    CHECK(*(int *) attribute(win, MPI_WIN_DISP_UNIT) == unit, "flavour %d: the unit", flavor);
    CHECK(*(int *) attribute(win, MPI_WIN_CREATE_FLAVOR) == flavor, "flavour %d", flavor);
    CHECK(*(int *) attribute(win, MPI_WIN_MODEL) == MPI_WIN_UNIFIED, "flavour %d: the model", flavor);
}

static void attributes(void) {
    test_note = "attributes";
    char here[100], *memory = NULL;
    MPI_Win win;
    MPI(MPI_Win_create(here, sizeof(here), 10, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    shows(win, MPI_WIN_FLAVOR_CREATE, here, sizeof(here), 10);
    MPI(MPI_Win_free(&win));
    MPI(MPI_Win_allocate(96, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    shows(win, MPI_WIN_FLAVOR_ALLOCATE, memory, 96, 8);
    MPI(MPI_Win_free(&win));
    MPI(MPI_Win_allocate_shared(96, 4, MPI_INFO_NULL, node, &memory, &win));
    shows(win, MPI_WIN_FLAVOR_SHARED, memory, 96, 4);
    MPI(MPI_Win_free(&win));
    MPI(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    shows(win, MPI_WIN_FLAVOR_DYNAMIC, MPI_BOTTOM, 0, 1);
    MPI(MPI_Win_free(&win));
}

// Operations of no bytes, to every process of a window of none.
static void nothing_moves(MPI_Win win) {
    char byte = 5;
    MPI_Request r[3];
    MPI(MPI_Win_lock_all(0, win));
    for (int to = 0; to < size; ++to) {
        MPI(MPI_Put(&byte, 0, MPI_BYTE, to, 0, 0, MPI_BYTE, win));
        MPI(MPI_Get(&byte, 0, MPI_BYTE, to, 0, 0, MPI_BYTE, win));
        MPI(MPI_Accumulate(&byte, 0, MPI_BYTE, to, 0, 0, MPI_BYTE, MPI_REPLACE, win));
        MPI(MPI_Get_accumulate(&byte, 0, MPI_BYTE, &byte, 0, MPI_BYTE, to, 0, 0, MPI_BYTE, MPI_NO_OP, win));
        MPI(MPI_Rput(&byte, 0, MPI_BYTE, to, 0, 0, MPI_BYTE, win, &r[0]));
        MPI(MPI_Rget(&byte, 0, MPI_BYTE, to, 0, 0, MPI_BYTE, win, &r[1]));
        MPI(MPI_Raccumulate(&byte, 0, MPI_BYTE, to, 0, 0, MPI_BYTE, MPI_REPLACE, win, &r[2]));
        MPI(MPI_Waitall(3, r, MPI_STATUSES_IGNORE));
    }
    MPI(MPI_Win_unlock_all(win));
    CHECK(5 == byte, "the byte is %d", byte);
}

// Windows that have no bytes, at all or at some processes.
static void empty(void) {
    test_note = "empty windows";
    char *memory = NULL;
    MPI_Aint bytes = -1;
    int unit = -1;
    MPI_Win win;
    MPI(MPI_Win_allocate(0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    MPI(MPI_Win_fence(0, win));
    MPI(MPI_Win_fence(0, win));
    MPI(MPI_Win_free(&win));
    MPI(MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    nothing_moves(win);
    MPI(MPI_Win_free(&win));
    MPI(MPI_Win_allocate_shared(size - 1 == rank ? 40 : 0, 1, MPI_INFO_NULL, node, &memory, &win));
    MPI(MPI_Win_shared_query(win, MPI_PROC_NULL, &bytes, &unit, &memory)); // the first that has some
    CHECK(40 == bytes && 1 == unit, "%ld bytes, unit %d", (long) bytes, unit);
    MPI(MPI_Win_lock_all(0, win));
    if (0 == rank) {
        memory[39] = 77;
    }
    MPI(MPI_Win_sync(win));
    MPI(MPI_Barrier(node));
    MPI(MPI_Win_sync(win));
    CHECK(77 == memory[39], "the last byte is %d", memory[39]);
    MPI(MPI_Win_unlock_all(win));
    if (size > 1) { // osc/sm says so of memory that is not there
        char *none = memory;
        MPI(MPI_Win_shared_query(win, 0, &bytes, &unit, &none));
        CHECK(0 == bytes && NULL == none, "%ld bytes at %p", (long) bytes, (void *) none);
    }
    MPI(MPI_Win_free(&win));
}

static int hint_is(MPI_Win win, const char *key, const char *value) {
    MPI_Info told;
    char now[MPI_MAX_INFO_VAL + 1] = "";
    int found = 0;
    MPI(MPI_Win_get_info(win, &told));
    MPI(MPI_Info_get(told, key, MPI_MAX_INFO_VAL, now, &found));
    MPI(MPI_Info_free(&told));
    return found && 0 == strcmp(now, value);
}

// A window with this key does what any does.
static void with_info(const char *key, const char *value) {
    test_note = key;
    const int right = (my_rank + 1) % n_ranks, left = (my_rank + n_ranks - 1) % n_ranks,
              locks = 0 != strcmp(key, "no_locks");
    int *memory, mine[2] = {my_rank, 5};
    MPI_Info info, told;
    MPI_Win win;
    MPI(MPI_Info_create(&info));
    MPI(MPI_Info_set(info, key, value));
    MPI(MPI_Win_allocate(4 * sizeof(int), sizeof(int), info, MPI_COMM_WORLD, &memory, &win));
    memset(memory, 0, 4 * sizeof(int));
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    MPI(MPI_Win_set_info(win, info));
    MPI(MPI_Info_free(&info));
    MPI(MPI_Win_fence(0, win));
    MPI(MPI_Put(&mine[0], 1, MPI_INT, right, 0, 1, MPI_INT, win));
    MPI(MPI_Accumulate(&mine[1], 1, MPI_INT, right, 1, 1, MPI_INT, MPI_SUM, win));
    MPI(MPI_Accumulate(&mine[1], 1, MPI_INT, right, 1, 1, MPI_INT, MPI_SUM, win));
    MPI(MPI_Win_fence(0, win));
    CHECK(memory[0] == left && 10 == memory[1], "%s=%s: %d and %d", key, value, memory[0], memory[1]);
    CHECK(0 == strcmp(key, "something_else") || hint_is(win, key, value), "%s=%s is not told", key, value);
    MPI(MPI_Info_create(&told));
    MPI(MPI_Info_set(told, key, value));
    MPI(MPI_Win_set_info(win, told));
    CHECK(0 == strcmp(key, "something_else") || hint_is(win, key, value), "%s=%s is not told later", key, value);
    MPI(MPI_Info_set(told, key, "nonsense"));
    MPI(MPI_Win_set_info(win, told));
    CHECK(!hint_is(win, key, "nonsense"), "%s=nonsense is told", key);
    if (!locks && 0 == strcmp(value, "true")) {
        MPI(MPI_Info_set(told, key, "false"));
        MPI(MPI_Win_set_info(win, told));
        CHECK(!hint_is(win, key, "false"), "locks that are refused are told of");
    }
    MPI(MPI_Info_free(&told));
    MPI(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    MPI(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    const int expected = locks || 0 == strcmp(value, "false") ? MPI_SUCCESS : MPI_ERR_RMA_SYNC;
    MPI_Request r = MPI_REQUEST_NULL;
    EXPECT(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win), expected);
    if (MPI_SUCCESS == expected) {
        MPI(MPI_Win_unlock(right, win));
    } else {
        EXPECT(MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC);
        EXPECT(mpix.ilock(MPI_LOCK_SHARED, right, 0, win, &r), MPI_ERR_RMA_SYNC);
        EXPECT(mpix.ilock_all(0, win, &r), MPI_ERR_RMA_SYNC);
        CHECK(MPI_REQUEST_NULL == r, "a refused call made a request");
    }
    MPI(MPI_Win_free(&win));
}

static void info_keys(void) {
    static const char *const defaults[][2] = {{"no_locks", "false"},
                                              {"same_size", "false"},
                                              {"same_disp_unit", "false"},
                                              {"accumulate_ops", "same_op_no_op"},
                                              {"accumulate_ordering", "rar,raw,war,waw"}};
    int *memory;
    MPI_Win win;
    test_note = "default hints";
    MPI(MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    for (size_t k = 0; k < sizeof(defaults) / sizeof(defaults[0]); ++k) {
        CHECK(hint_is(win, defaults[k][0], defaults[k][1]), "%s is not %s", defaults[k][0], defaults[k][1]);
    }
    MPI(MPI_Win_free(&win));
    static const char *const keys[][2] = {
        {"no_locks", "true"},
        {"no_locks", "false"},
        {"same_size", "true"},
        {"same_disp_unit", "true"},
        {"accumulate_ops", "same_op"},
        {"accumulate_ops", "same_op_no_op"},
        {"accumulate_ordering", "none"},
        {"accumulate_ordering", "rar,raw,war,waw"},
        {"something_else", "entirely"},
    };
    for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); ++k) {
        with_info(keys[k][0], keys[k][1]);
    }
}

// Between fences osc/sm allows it, and outside all epochs: programs that share memory do that.
static void sync_anywhere(void) {
    test_note = "MPI_Win_sync";
    int *mine, *theirs, unit;
    MPI_Aint bytes;
    MPI_Win win;
    MPI(MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, node, &mine, &win));
    MPI(MPI_Win_shared_query(win, (rank + 1) % size, &bytes, &unit, &theirs));
    for (int round = 1; round < 50; ++round) {
        if (2 == round % 3) {
            MPI(MPI_Win_fence(0, win));
        } else if (0 == round % 3) {
            MPI(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
        }
        *(volatile int *) theirs = 1000 * round + rank;
        MPI(MPI_Win_sync(win));
        MPI(MPI_Barrier(node));
        MPI(MPI_Win_sync(win));
        const int got = *(volatile int *) mine;
        CHECK(1000 * round + (rank + size - 1) % size == got, "round %d: %d", round, got);
        MPI(MPI_Barrier(node));
        if (2 == round % 3) {
            MPI(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
        } else if (0 == round % 3) {
            MPI(MPI_Win_unlock_all(win));
        }
    }
    MPI(MPI_Win_free(&win));
}

// They are not Open MPI's, so nobody before them looks at what they are given.
static void wrong_arguments(void) {
    test_note = "wrong arguments";
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Group group;
    int *memory;
    MPI_Win win;
    MPI(MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    MPI(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    MPI(MPI_Win_get_group(win, &group));
    EXPECT(mpix.ifence(MPI_MODE_NOCHECK, win, &r), MPI_ERR_ASSERT);
    EXPECT(mpix.ipost(group, MPI_MODE_NOSUCCEED, win, &r), MPI_ERR_ASSERT);
    EXPECT(mpix.istart(group, MPI_MODE_NOPUT, win, &r), MPI_ERR_ASSERT);
    EXPECT(mpix.ilock(MPI_LOCK_SHARED, 0, MPI_MODE_NOSTORE, win, &r), MPI_ERR_ASSERT);
    EXPECT(mpix.ilock_all(MPI_MODE_NOPRECEDE, win, &r), MPI_ERR_ASSERT);
    EXPECT(mpix.ilock(MPI_LOCK_SHARED + MPI_LOCK_EXCLUSIVE + 1, 0, 0, win, &r), MPI_ERR_LOCKTYPE);
    EXPECT(mpix.ipost(MPI_GROUP_NULL, 0, win, &r), MPI_ERR_GROUP);
    EXPECT(mpix.istart(MPI_GROUP_NULL, 0, win, &r), MPI_ERR_GROUP);
    EXPECT(mpix.iflush(0, win, &r), MPI_ERR_RMA_SYNC);
    CHECK(MPI_REQUEST_NULL == r, "a refused call made a request");
    EXPECT(mpix.ilock(MPI_LOCK_SHARED, 0, MPI_MODE_NOCHECK, win, &r), MPI_SUCCESS); // nothing of that stays
    MPI(MPI_Wait(&r, MPI_STATUS_IGNORE));
    MPI(MPI_Win_unlock(0, win));
    MPI(MPI_Group_free(&group));
    MPI(MPI_Win_free(&win));
}

int main(int argc, char **argv) {
    begin(&argc, &argv, 1);
    load_mpix();
    MPI(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    MPI_Comm_rank(node, &rank);
    MPI_Comm_size(node, &size);
    attributes();
    empty();
    info_keys();
    sync_anywhere();
    wrong_arguments();
    MPI(MPI_Comm_free(&node));
    return finish();
}
