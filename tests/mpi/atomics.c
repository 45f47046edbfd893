// SPDX-License-Identifier: BSD-3-Clause
// Description: all ranks at once change the same integers of 4 and 8 bytes by MPI_Fetch_and_op,
// MPI_Compare_and_swap and MPI_Accumulate: no change is lost, none is made twice, and no two ranks fetch
// the same value. That holds at addresses that are no multiple of the width, too. argv[1]: rounds. argv[2]: unsigned,
// then integers without a sign are compared as such (with btl vader of stock Open MPI 4.1 they are not).
#include "check.h"

// Places in each rank's window. One kind of operation each, as MPI demands.
enum { COUNTER, SWAPPED, BITS, LARGEST, VECTOR, LENGTH = 100, PLACES = VECTOR + LENGTH };

static int rounds;

static int64_t value(const void *base, int bytes, int at) {
    return 4 == bytes ? ((const int32_t *) base)[at] : ((const int64_t *) base)[at];
}

// An integer of the width under test, as an argument of a call.
typedef union {
    int32_t i32;
    int64_t i64;
} Word;

static Word word(int bytes, int64_t v) {
    Word w;
    memset(&w, 0, sizeof(w));
    if (4 == bytes) {
        w.i32 = (int32_t) v;
    } else {
        w.i64 = v;
    }
    return w;
}

// Every rank adds 1 to a counter of rank `to`: between them they fetch each value once.
static void count(MPI_Win win, MPI_Datatype type, int bytes, int to) {
    int *mine = calloc((size_t) rounds, sizeof(int)), *all = calloc((size_t) rounds * n_ranks, sizeof(int));
    char *seen = calloc((size_t) rounds * n_ranks, 1);
    for (int i = 0; i < rounds; ++i) {
        Word one = word(bytes, 1), before = word(bytes, -1);
        MPI(MPI_Fetch_and_op(&one, &before, type, to, COUNTER, MPI_SUM, win));
        MPI(MPI_Win_flush(to, win));
        mine[i] = (int) value(&before, bytes, 0);
        CHECK(0 == i || mine[i] > mine[i - 1], "fetched %d after %d", mine[i], mine[i - 1]);
    }
    MPI(MPI_Allgather(mine, rounds, MPI_INT, all, rounds, MPI_INT, MPI_COMM_WORLD));
    for (int i = 0; i < rounds * n_ranks; ++i) {
        CHECK(all[i] >= 0 && all[i] < rounds * n_ranks && !seen[all[i]],
              "%d was fetched by rank %d: again, or out of range", all[i], i / rounds);
        seen[all[i]] = 1;
    }
    free(mine);
    free(all);
    free(seen);
}

// The same by compare and swap: whoever loses tries again with what it found.
static void swap(MPI_Win win, MPI_Datatype type, int bytes, int to) {
    for (int i = 0; i < rounds; ++i) {
        for (int64_t guess = 0, found = -1;; guess = found) {
            Word old = word(bytes, guess), new = word(bytes, guess + 3), got = word(bytes, -1);
            MPI(MPI_Compare_and_swap(&new, &old, &got, type, to, SWAPPED, win));
            MPI(MPI_Win_flush(to, win));
            found = value(&got, bytes, 0);
            CHECK(found >= 0 && 0 == found % 3, "compare and swap found %" PRId64, found);
            if (found == guess) {
                break;
            }
        }
    }
}

// Several operations on all ranks' words without waiting between them.
static void accumulate(MPI_Win win, MPI_Datatype type, int bytes) {
    unsigned char *add = calloc(LENGTH, (size_t) bytes);
    for (int i = 0; i < LENGTH; ++i) {
        Word w = word(bytes, (int64_t) (my_rank + 1) * i);
        memcpy(add + i * bytes, &w, (size_t) bytes);
    }
    Word bit = word(bytes, (int64_t) 1 << (my_rank % 30)), top = word(bytes, 1000 + my_rank);
    for (int i = 0; i < rounds; ++i) {
        for (int r = 0; r < n_ranks; ++r) {
            MPI(MPI_Accumulate(add, LENGTH, type, r, VECTOR, LENGTH, type, MPI_SUM, win));
            MPI(MPI_Accumulate(&bit, 1, type, r, BITS, 1, type, MPI_BXOR, win));
            MPI(MPI_Accumulate(&top, 1, type, r, LARGEST, 1, type, MPI_MAX, win));
        }
    }
    MPI(MPI_Win_flush_all(win));
    free(add);
}

static void all_of(MPI_Datatype type, int bytes) {
    void *base;
    MPI_Win win;
    static char note[64];
    test_note = note;
    // Memory of our own: nobody else can reach it without the transport, even on one node.
    base = guarded_alloc((size_t) PLACES * (size_t) bytes);
    memset(base, 0, (size_t) PLACES * (size_t) bytes);
    MPI(MPI_Win_create(base, (MPI_Aint) PLACES * bytes, bytes, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    MPI(MPI_Win_lock_all(0, win));
    for (int to = 0; to < n_ranks; ++to) {
        snprintf(note, sizeof(note), "counting %d bytes at rank %d", bytes, to);
        count(win, type, bytes, to);
        snprintf(note, sizeof(note), "swapping %d bytes at rank %d", bytes, to);
        // Stock osc/rdma 4.1.4 crashes in a compare and swap on one's own window, whatever the btl.
        if (to != my_rank) {
            swap(win, type, bytes, to);
        }
    }
    snprintf(note, sizeof(note), "accumulating %d bytes", bytes);
    accumulate(win, type, bytes);
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    MPI(MPI_Win_unlock_all(win));

    int64_t n = (int64_t) rounds * n_ranks, bits = 0, ranks = 0;
    for (int r = 0; r < n_ranks; ++r) {
        bits ^= rounds % 2 ? (int64_t) 1 << (r % 30) : 0;
        ranks += r + 1;
    }
    MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, my_rank, 0, win));
    CHECK(value(base, bytes, COUNTER) == n, "counted to %" PRId64 ", expected %" PRId64, value(base, bytes, COUNTER),
          n);
    CHECK(value(base, bytes, SWAPPED) == 3 * (n - rounds), "swapped up to %" PRId64 ", expected %" PRId64,
          value(base, bytes, SWAPPED), 3 * (n - rounds));
    CHECK(value(base, bytes, BITS) == bits, "bits are %" PRIx64 ", expected %" PRIx64, value(base, bytes, BITS), bits);
    CHECK(value(base, bytes, LARGEST) == 1000 + n_ranks - 1, "the largest is %" PRId64, value(base, bytes, LARGEST));
    for (int i = 0; i < LENGTH; ++i) {
        CHECK(value(base, bytes, VECTOR + i) == rounds * ranks * i, "sum %d is %" PRId64 ", expected %" PRId64, i,
              value(base, bytes, VECTOR + i), rounds * ranks * i);
    }
    MPI(MPI_Win_unlock(my_rank, win));
    MPI(MPI_Win_free(&win));
    guarded_free(base, (size_t) PLACES * (size_t) bytes);
}

// The same where no integer is aligned: a window of bytes, each integer between others that nobody changes.
static void misaligned(MPI_Datatype type, int bytes) {
    enum { COUNTED = 4, GUESSED = 20, SUMMED = 36, END = 48 }; // + 2 for those of 4 bytes
    const int off = 4 == bytes ? 2 : 0;
    unsigned char *base = guarded_alloc(END);
    MPI_Win win;
    int64_t n = 0, all = (int64_t) rounds * n_ranks;
    test_note = 4 == bytes ? "4 bytes, misaligned" : "8 bytes, misaligned";
    memset(base, 0x5a, END);
    memset(base + COUNTED + off, 0, (size_t) bytes);
    memset(base + GUESSED + off, 0, (size_t) bytes);
    memset(base + SUMMED + off, 0, (size_t) bytes);
    MPI(MPI_Win_create(base, END, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    MPI(MPI_Win_lock_all(0, win));
    int64_t last = -1;
    for (int i = 0; i < rounds; ++i) {
        Word one = word(bytes, 1), before[3];
        memset(before, 0x77, sizeof(before));
        MPI(MPI_Fetch_and_op(&one, &before[1], type, 0, COUNTED + off, MPI_SUM, win));
        MPI(MPI_Win_flush(0, win));
        n = value(&before[1], bytes, 0);
        CHECK(n > last && n < all, "fetched %" PRId64 " after %" PRId64, n, last);
        CHECK(0x7777777777777777 == before[0].i64 && 0x7777777777777777 == before[2].i64, "wrote beside the result");
        last = n;
        MPI(MPI_Accumulate(&one, 1, type, 0, SUMMED + off, 1, type, MPI_SUM, win));
        MPI(MPI_Win_flush(0, win));
    }
    for (int i = 0; 0 != my_rank && i < rounds; ++i) {
        for (int64_t guess = 0, found = -1;; guess = found) {
            Word old = word(bytes, guess), new = word(bytes, guess + 3), got = word(bytes, -1);
            MPI(MPI_Compare_and_swap(&new, &old, &got, type, 0, GUESSED + off, win));
            MPI(MPI_Win_flush(0, win));
            found = value(&got, bytes, 0);
            CHECK(found >= 0 && 0 == found % 3, "compare and swap found %" PRId64, found);
            if (found == guess) {
                break;
            }
        }
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    MPI(MPI_Win_unlock_all(win));
    MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, my_rank, 0, win));
    const int places[] = {COUNTED + off, GUESSED + off, SUMMED + off};
    const int64_t expected[] = {0 == my_rank ? all : 0, 0 == my_rank ? 3 * (all - rounds) : 0, 0 == my_rank ? all : 0};
    for (int k = 0; k < 3; ++k) {
        Word there = word(bytes, 0);
        memcpy(&there, base + places[k], (size_t) bytes);
        CHECK(value(&there, bytes, 0) == expected[k], "%" PRId64 " at %d, expected %" PRId64, value(&there, bytes, 0),
              places[k], expected[k]);
        memset(base + places[k], 0x5a, (size_t) bytes);
    }
    for (int i = 0; i < END; ++i) {
        CHECK(0x5a == base[i], "byte %d was changed", i);
    }
    MPI(MPI_Win_unlock(my_rank, win));
    MPI(MPI_Win_free(&win));
    guarded_free(base, END);
}

// The largest and smallest of integers whose upper bit is no sign.
static void without_sign(MPI_Datatype type, int bytes) {
    enum { TOP, LOW, FETCHED_TOP, FETCHED_LOW, ALL };
    const int64_t upper = 4 == bytes ? 0x80000001 : INT64_MIN + 1;
    void *base = guarded_alloc((size_t) ALL * (size_t) bytes);
    MPI_Win win;
    test_note = 4 == bytes ? "4 bytes without a sign" : "8 bytes without a sign";
    for (int k = 0; k < ALL; ++k) {
        Word w = word(bytes, k % 2 ? upper : 1);
        memcpy((char *) base + k * bytes, &w, (size_t) bytes);
    }
    MPI(MPI_Win_create(base, (MPI_Aint) ALL * bytes, bytes, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    const int to = (my_rank + 1) % n_ranks;
    Word high = word(bytes, upper), one = word(bytes, 1), got = word(bytes, 0);
    MPI(MPI_Win_lock_all(0, win));
    MPI(MPI_Accumulate(&high, 1, type, to, TOP, 1, type, MPI_MAX, win));
    MPI(MPI_Accumulate(&one, 1, type, to, LOW, 1, type, MPI_MIN, win));
    MPI(MPI_Fetch_and_op(&high, &got, type, to, FETCHED_TOP, MPI_MAX, win));
    MPI(MPI_Win_flush(to, win));
    CHECK(1 == value(&got, bytes, 0), "fetched %" PRIx64, value(&got, bytes, 0));
    MPI(MPI_Fetch_and_op(&one, &got, type, to, FETCHED_LOW, MPI_MIN, win));
    MPI(MPI_Win_flush_all(win));
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    MPI(MPI_Win_unlock_all(win));
    MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, my_rank, 0, win));
    for (int k = 0; k < ALL; ++k) {
        const int64_t v = value(base, bytes, k);
        CHECK(v == value(k % 2 ? &one : &high, bytes, 0), "%" PRIx64 " is the %s", v, k % 2 ? "smallest" : "largest");
    }
    MPI(MPI_Win_unlock(my_rank, win));
    MPI(MPI_Win_free(&win));
    guarded_free(base, (size_t) ALL * (size_t) bytes);
}

int main(int argc, char **argv) {
    begin(&argc, &argv, 2);
    rounds = argc > 1 ? atoi(argv[1]) : 51;
    CHECK(rounds > 0, "usage: atomics [ROUNDS [unsigned]]");
    all_of(MPI_INT32_T, 4);
    all_of(MPI_INT64_T, 8);
    misaligned(MPI_INT32_T, 4);
    misaligned(MPI_INT64_T, 8);
    if (argc > 2 && 0 == strcmp(argv[2], "unsigned")) {
        without_sign(MPI_UINT32_T, 4);
        without_sign(MPI_UINT64_T, 8);
    }
    return finish();
}
