// SPDX-License-Identifier: BSD-3-Clause
// A program of ARMCI, which Debian builds on MPI's windows (libarmci-mpi-dev): blocks and lists of pieces put, got and
// accumulated, tickets, mutexes. What everybody finds in the end is computed beforehand.
#include "../mpi/check.h"

#include <armci.h>

enum { ROWS = 96, BLOCK = 24, LARGE = 1 << 19, ROUNDS = 60, PIECES = 16 };

static double **matrix; // of each process, ROWS x ROWS
static int right, left;

static double *at(int process, int row, int column) { return matrix[process] + row * ROWS + column; }

static void clear_all(void) {
    ARMCI_Barrier();
    ARMCI_Access_begin(matrix[my_rank]);
    memset(matrix[my_rank], 0, ROWS * ROWS * sizeof(double));
    ARMCI_Access_end(matrix[my_rank]);
    ARMCI_Barrier();
}

// A block into the right neighbour, and the same one back, both with gaps on both sides.
static void blocks(int nonblocking) {
    double mine[BLOCK][BLOCK + 3], back[BLOCK][BLOCK + 5];
    int stride_mine = sizeof(mine[0]), stride_back = sizeof(back[0]), stride = ROWS * sizeof(double);
    int count[2] = {BLOCK * sizeof(double), BLOCK};
    armci_hdl_t handle;

    clear_all();
    memset(back, 0, sizeof(back));
    for (int i = 0; i < BLOCK; ++i) {
        for (int j = 0; j < BLOCK; ++j) {
            mine[i][j] = my_rank * 1e6 + i * 1e3 + j;
        }
    }
    if (nonblocking) {
        ARMCI_INIT_HANDLE(&handle);
        ARMCI_NbPutS(mine, &stride_mine, at(right, 7, 5), &stride, count, 1, right, &handle);
        ARMCI_Wait(&handle);
    } else {
        ARMCI_PutS(mine, &stride_mine, at(right, 7, 5), &stride, count, 1, right);
    }
    ARMCI_Fence(right);
    ARMCI_GetS(at(right, 7, 5), &stride, back, &stride_back, count, 1, right);
    for (int i = 0; i < BLOCK; ++i) {
        for (int j = 0; j < BLOCK; ++j) {
            CHECK(mine[i][j] == back[i][j], "element %d, %d came back as %g", i, j, back[i][j]);
        }
    }
    ARMCI_Barrier();
    ARMCI_Access_begin(matrix[my_rank]);
    for (int i = 0; i < ROWS; ++i) {
        for (int j = 0; j < ROWS; ++j) {
            const int inside = i >= 7 && i < 7 + BLOCK && j >= 5 && j < 5 + BLOCK;
            const double want = inside ? left * 1e6 + (i - 7) * 1e3 + (j - 5) : 0;
            CHECK(*at(my_rank, i, j) == want, "element %d, %d is %g, expected %g", i, j, *at(my_rank, i, j), want);
        }
    }
    ARMCI_Access_end(matrix[my_rank]);
}

// All add to the same block of every process, in different orders.
static void accumulate(void) {
    double ones[BLOCK][BLOCK], scale = my_rank + 1;
    int stride_ones = sizeof(ones[0]), stride = ROWS * sizeof(double);
    int count[2] = {BLOCK * sizeof(double), BLOCK};

    clear_all();
    for (int i = 0; i < BLOCK * BLOCK; ++i) {
        ((double *) ones)[i] = 1;
    }
    for (int k = 0; k < n_ranks; ++k) {
        const int to = (my_rank + k) % n_ranks;
        ARMCI_AccS(ARMCI_ACC_DBL, &scale, ones, &stride_ones, at(to, 30, 40), &stride, count, 1, to);
    }
    ARMCI_AllFence();
    ARMCI_Barrier();
    ARMCI_Access_begin(matrix[my_rank]);
    for (int i = 0; i < BLOCK; ++i) {
        for (int j = 0; j < BLOCK; ++j) {
            CHECK(*at(my_rank, 30 + i, 40 + j) == n_ranks * (n_ranks + 1) / 2., "a sum is %g",
                  *at(my_rank, 30 + i, 40 + j));
        }
    }
    ARMCI_Access_end(matrix[my_rank]);
}

// Every third piece of a row, by a list of addresses.
static void pieces(void) {
    double mine[PIECES], back[PIECES];
    void *from[PIECES], *there[PIECES], *to[PIECES];
    armci_giov_t list = {from, there, sizeof(double), PIECES}, answer = {there, to, sizeof(double), PIECES};

    clear_all();
    for (int i = 0; i < PIECES; ++i) {
        mine[i] = my_rank + i * 0.5;
        from[i] = &mine[i];
        to[i] = &back[i];
        there[i] = at(right, 3 * i, 2 * i);
    }
    ARMCI_PutV(&list, 1, right);
    ARMCI_Fence(right);
    ARMCI_GetV(&answer, 1, right);
    for (int i = 0; i < PIECES; ++i) {
        CHECK(mine[i] == back[i], "piece %d came back as %g", i, back[i]);
    }
}

static void large(void) {
    double **big = malloc((size_t) n_ranks * sizeof(*big)), *mine = malloc(LARGE * sizeof(*mine)),
           *back = malloc(LARGE * sizeof(*back));
    ARMCI_Malloc((void **) big, LARGE * sizeof(double));
    for (int i = 0; i < LARGE; ++i) {
        mine[i] = i + my_rank * 0.25;
    }
    ARMCI_Put(mine, big[right], LARGE * sizeof(double), right);
    ARMCI_Fence(right);
    ARMCI_Barrier();
    ARMCI_Get(big[left], back, LARGE * sizeof(double), left);
    const int writer = (left + n_ranks - 1) % n_ranks;
    for (int i = 0; i < LARGE; ++i) {
        CHECK(back[i] == i + writer * 0.25, "element %d is %g", i, back[i]);
    }
    ARMCI_Barrier();
    ARMCI_Free(big[my_rank]);
    free(big);
    free(mine);
    free(back);
}

// Tickets from process 0, and a counter of each process that is read and stored under its mutex.
static void counters(void) {
    long **words = malloc((size_t) n_ranks * sizeof(*words));
    long sum = 0, all = 0;
    ARMCI_Malloc((void **) words, 4 * sizeof(long));
    ARMCI_Access_begin(words[my_rank]);
    memset(words[my_rank], 0, 4 * sizeof(long));
    ARMCI_Access_end(words[my_rank]);
    ARMCI_Create_mutexes(1);
    ARMCI_Barrier();
    for (int i = 0; i < ROUNDS; ++i) {
        const int on = (my_rank + i) % n_ranks;
        long ticket = -1, value = -1;
        ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &ticket, words[0], 1, 0);
        CHECK(ticket >= 0 && ticket < (long) ROUNDS * n_ranks, "ticket %ld", ticket);
        sum += ticket;
        ARMCI_Lock(0, on);
        ARMCI_Get(words[on] + 1, &value, sizeof(value), on);
        ++value;
        ARMCI_Put(&value, words[on] + 1, sizeof(value), on);
        ARMCI_Fence(on);
        ARMCI_Unlock(0, on);
    }
    ARMCI_Barrier();
    MPI(MPI_Allreduce(&sum, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    const long tickets = (long) ROUNDS * n_ranks;
    CHECK(all == tickets * (tickets - 1) / 2, "the tickets' sum is %ld", all);
    ARMCI_Access_begin(words[my_rank]);
    const long mine = words[my_rank][1];
    ARMCI_Access_end(words[my_rank]);
    MPI(MPI_Allreduce(&mine, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    CHECK(all == tickets, "%ld of %ld additions under mutexes are there", all, tickets);
    ARMCI_Destroy_mutexes();
    ARMCI_Free(words[my_rank]);
    free(words);
}

int main(int argc, char **argv) {
    begin(&argc, &argv, 1);
    ARMCI_Init();
    right = (my_rank + 1) % n_ranks;
    left = (my_rank + n_ranks - 1) % n_ranks;
    matrix = malloc((size_t) n_ranks * sizeof(*matrix));
    ARMCI_Malloc((void **) matrix, ROWS * ROWS * sizeof(double));
    for (int round = 0; round < 3; ++round) {
        blocks(0);
        blocks(1);
        accumulate();
        pieces();
        large();
        counters();
    }
    ARMCI_Barrier();
    ARMCI_Free(matrix[my_rank]);
    ARMCI_Finalize();
    free(matrix);
    return finish();
}
