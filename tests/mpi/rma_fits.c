// SPDX-License-Identifier: BSD-3-Clause
// Description: one-sided operations that send less than the buffer at their other end takes, and more, or to where
// there is nothing.
#include "check.h"

static int right, left;

// What is sent must fit into the buffer, not fill it (MPI-3.1, 11.3): a put's into the target's, a get's into the
// origin's.
static void fits(int dynamic) {
    enum { CELLS = 64 };
    test_note = dynamic ? "less than the buffer, in a dynamic window" : "less than the buffer";
    int *memory = malloc(CELLS * sizeof(int)), got[CELLS];
    const int ones[3] = {100 + my_rank, 200 + my_rank, 300 + my_rank};
    MPI_Aint at, there;
    MPI_Datatype every_other;
    MPI_Win win;
    for (int i = 0; i < CELLS; ++i) {
        memory[i] = i;
        got[i] = -1;
    }
    if (dynamic) {
        MPI(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        MPI(MPI_Win_attach(win, memory, CELLS * sizeof(int)));
        MPI(MPI_Get_address(memory, &at));
        MPI(MPI_Sendrecv(&at, 1, MPI_AINT, left, 0, &there, 1, MPI_AINT, right, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    } else {
        MPI(MPI_Win_create(memory, CELLS * sizeof(int), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        there = 0;
    }
    MPI(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    MPI(MPI_Type_vector(8, 1, 2, MPI_INT, &every_other));
    MPI(MPI_Type_commit(&every_other));
    MPI(MPI_Win_fence(0, win));
    MPI(MPI_Put(ones, 3, MPI_INT, right, there, 1, every_other, win));                // cells 0, 2, 4
    MPI(MPI_Put(ones, 1, MPI_INT, right, there + 20 * sizeof(int), 4, MPI_INT, win)); // 20
    MPI(MPI_Put(ones, 0, MPI_INT, right, there + 24 * sizeof(int), 4, MPI_INT, win)); // none
    MPI(MPI_Accumulate(ones, 2, MPI_INT, right, there + 30 * sizeof(int), 1, every_other, MPI_SUM, win)); // 30, 32
    EXPECT(MPI_Put(ones, 3, MPI_INT, right, there, 2, MPI_INT, win), MPI_ERR_TRUNCATE);
    EXPECT(MPI_Put(ones, 1, MPI_INT, right, there + (CELLS - 1) * sizeof(int), 2, MPI_INT, win),
           dynamic ? MPI_SUCCESS : MPI_ERR_RMA_RANGE); // what is attached the target alone knows
    EXPECT(MPI_Get(got, 1, MPI_INT, right, there, 2, MPI_INT, win), MPI_ERR_TRUNCATE);
    MPI(MPI_Win_fence(0, win));
    MPI(MPI_Get(got, 2, every_other, right, there + 40 * sizeof(int), 3, MPI_INT, win));   // got 0, 2, 4
    MPI(MPI_Get(got + 20, 40, MPI_INT, right, there + 50 * sizeof(int), 2, MPI_INT, win)); // got 20, 21
    MPI(MPI_Win_fence(0, win));
    for (int i = 0; i < CELLS; ++i) {
        const int put = 0 == i || 20 == i ? 100 + left : 2 == i ? 200 + left : 4 == i ? 300 + left : i;
        const int sum = 30 == i ? i + 100 + left : 32 == i ? i + 200 + left : put;
        const int last = dynamic && CELLS - 1 == i ? 100 + left : sum;
        const int want = i < 5 && 0 == i % 2 ? 40 + i / 2 : 20 == i || 21 == i ? 30 + i : -1;
        CHECK(memory[i] == last, "cell %d is %d, expected %d", i, memory[i], last);
        CHECK(got[i] == want, "got %d at %d, expected %d", got[i], i, want);
    }
    if (dynamic) {
        MPI(MPI_Win_detach(win, memory));
    }
    MPI(MPI_Win_free(&win));
    MPI(MPI_Type_free(&every_other));
    free(memory);
}

static int told, told_class;

static void tell(MPI_Win *win, int *code, ...) {
    (void) win;
    ++told;
    MPI_Error_class(*code, &told_class);
}

// MPI_Win_complete waits for no answer. What the target has refused then is told by the window's last call, if by none
// before.
static void untold(void) {
    test_note = "an error that nobody has told before MPI_Win_free";
    int cell = 5, value = 6;
    MPI_Aint at = 0, there;
    MPI_Group everybody, to, from;
    MPI_Errhandler handler;
    MPI_Win win;
    MPI(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    MPI(MPI_Win_create_errhandler(tell, &handler));
    MPI(MPI_Win_set_errhandler(win, handler));
    MPI(MPI_Get_address(&cell, &at)); // not attached
    MPI(MPI_Sendrecv(&at, 1, MPI_AINT, left, 0, &there, 1, MPI_AINT, right, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    MPI(MPI_Win_get_group(win, &everybody));
    MPI(MPI_Group_incl(everybody, 1, &right, &to));
    MPI(MPI_Group_incl(everybody, 1, &left, &from));
    MPI(MPI_Win_post(from, 0, win));
    MPI(MPI_Win_start(to, 0, win));
    MPI(MPI_Put(&value, 1, MPI_INT, right, there, 1, MPI_INT, win));
    MPI_Win_complete(win); // may know of it
    MPI_Win_wait(win);
    // behind what the target has said
    MPI(MPI_Sendrecv(NULL, 0, MPI_BYTE, left, 0, NULL, 0, MPI_BYTE, right, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    MPI(MPI_Win_free(&win));
    CHECK(5 == cell, "the cell is %d: it was written to, and not attached", cell);
    CHECK(1 == told && MPI_ERR_RMA_RANGE == told_class, "the handler was called %d times, with class %d", told,
          told_class);
    MPI(MPI_Errhandler_free(&handler));
    MPI(MPI_Group_free(&everybody));
    MPI(MPI_Group_free(&to));
    MPI(MPI_Group_free(&from));
}

int main(int argc, char **argv) {
    begin(&argc, &argv, 1);
    right = (my_rank + 1) % n_ranks;
    left = (my_rank + n_ranks - 1) % n_ranks;
    fits(0);
    fits(1);
    untold();
    return finish();
}
