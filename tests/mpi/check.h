// SPDX-License-Identifier: BSD-3-Clause
// Description: patterns, checks and random numbers shared by the MPI tests.
//
// A pattern is a stream of bytes named by a 64-bit key; byte i depends on i in a way that a shifted,
// torn or swapped block cannot hide: each block of 256 bytes runs through all byte values, from a
// start that is hashed from the key and the block's number.
#ifndef SMARTINT_TESTS_MPI_CHECK_H
#define SMARTINT_TESTS_MPI_CHECK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include <mpi.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define UNUSED __attribute__((unused))

static int my_rank UNUSED = -1;
static int n_ranks UNUSED = 0;
static int my_side UNUSED = -1; // in the pair (r, r ^ 1): 0, 1, or -1 for an odd one out
static int my_peer UNUSED = -1;
static const char *test_note UNUSED = ""; // set by a test: what it is doing, repeated on failure

// ---- failure -------------------------------------------------------------------------------

__attribute__((format(printf, 3, 4), noreturn, unused)) static void fail_at(const char *file, int line, const char *fmt,
                                                                            ...) {
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    const char *base = strrchr(file, '/');
    fprintf(stderr, "FAILED rank %d %s:%d: %s%s%s\n", my_rank, NULL == base ? file : base + 1, line, text,
            *test_note ? ", while " : "", test_note);
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
    _exit(1);
}

#define FAIL(...) fail_at(__FILE__, __LINE__, __VA_ARGS__)

#define CHECK(cond, ...)                                                                                               \
    do {                                                                                                               \
        if (!(cond)) {                                                                                                 \
            FAIL(__VA_ARGS__);                                                                                         \
        }                                                                                                              \
    } while (0)

// Call MPI and fail on any return value but MPI_SUCCESS (matters under MPI_ERRORS_RETURN).
#define MPI(call)                                                                                                      \
    do {                                                                                                               \
        int mpi_rc_ = (call);                                                                                          \
        if (MPI_SUCCESS != mpi_rc_) {                                                                                  \
            char mpi_text_[MPI_MAX_ERROR_STRING];                                                                      \
            int mpi_len_ = 0;                                                                                          \
            MPI_Error_string(mpi_rc_, mpi_text_, &mpi_len_);                                                           \
            FAIL("%s: %s", #call, mpi_text_);                                                                          \
        }                                                                                                              \
    } while (0)

static inline UNUSED int error_class(int rc) {
    int class = rc;
    MPI_Error_class(rc, &class);
    return class;
}

// Call MPI and fail on another error class than this.
#define EXPECT(call, class)                                                                                            \
    do {                                                                                                               \
        const int rc_ = (call);                                                                                        \
        CHECK((class) == error_class(rc_), "%s: error class %d, expected %d", #call, error_class(rc_), class);         \
    } while (0)

// ---- random numbers and keys ---------------------------------------------------------------

static inline UNUSED uint64_t mix64(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

typedef struct {
    uint64_t state;
} Rng;

static inline UNUSED Rng rng_make(uint64_t seed) { return (Rng){mix64(seed)}; }

static inline UNUSED uint64_t rng_next(Rng *rng) {
    rng->state += 0x9e3779b97f4a7c15u;
    return mix64(rng->state);
}

static inline UNUSED uint64_t rng_below(Rng *rng, uint64_t limit) { return rng_next(rng) % limit; }

// A size from 0 to max, small and large ones alike: the number of bits is chosen first.
static inline UNUSED size_t rng_size(Rng *rng, size_t max) {
    int bits = 0;
    while (((size_t) 1 << bits) < max) {
        ++bits;
    }
    size_t size = rng_next(rng) & (((uint64_t) 1 << rng_below(rng, bits + 1)) - 1);
    return size > max ? max : size;
}

static inline UNUSED void rng_shuffle(Rng *rng, int *list, int n) {
    for (int i = n - 1; i > 0; --i) {
        int j = (int) rng_below(rng, i + 1);
        int t = list[i];
        list[i] = list[j];
        list[j] = t;
    }
}

// The pattern's key for one message.
static inline UNUSED uint64_t key_of(uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
    return mix64(mix64(mix64(mix64(a) + b) + c) + d);
}

// The same key on both sides of a pair, another one in every pair.
static inline UNUSED uint64_t pair_key(uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
    return mix64(key_of(a, b, c, d) + (uint64_t) my_rank / 2);
}

// ---- patterns ------------------------------------------------------------------------------

enum { PATTERN_BLOCK = 256 };

static inline UNUSED const unsigned char *pattern_ramp(void) {
    static unsigned char ramp[2 * PATTERN_BLOCK] = {1};
    if (1 == ramp[0]) { // several threads may do this at once: all write the same values
        for (int i = 2 * PATTERN_BLOCK - 1; i >= 0; --i) {
            ramp[i] = (unsigned char) (i * 167);
        }
    }
    return ramp;
}

static inline UNUSED const unsigned char *pattern_block(uint64_t key, uint64_t block) {
    return pattern_ramp() + (mix64(key ^ (block * 0xd1342543de82ef95u)) >> 56);
}

static inline UNUSED unsigned char pattern_byte(uint64_t key, uint64_t index) {
    return pattern_block(key, index / PATTERN_BLOCK)[index % PATTERN_BLOCK];
}

// Fill n bytes with the bytes [offset, offset + n) of the pattern.
static inline UNUSED void fill_from(void *buf, size_t n, uint64_t key, uint64_t offset) {
    unsigned char *p = buf;
    while (n > 0) {
        size_t skip = offset % PATTERN_BLOCK;
        size_t len = PATTERN_BLOCK - skip;
        if (len > n) {
            len = n;
        }
        memcpy(p, pattern_block(key, offset / PATTERN_BLOCK) + skip, len);
        p += len;
        offset += len;
        n -= len;
    }
}

static inline UNUSED void fill(void *buf, size_t n, uint64_t key) { fill_from(buf, n, key, 0); }

// Index of the first byte that differs from the pattern, or -1.
static inline UNUSED int64_t first_wrong(const void *buf, size_t n, uint64_t key, uint64_t offset) {
    const unsigned char *p = buf;
    size_t done = 0;
    while (done < n) {
        size_t skip = (offset + done) % PATTERN_BLOCK;
        size_t len = PATTERN_BLOCK - skip;
        if (len > n - done) {
            len = n - done;
        }
        const unsigned char *want = pattern_block(key, (offset + done) / PATTERN_BLOCK) + skip;
        if (0 != memcmp(p + done, want, len)) {
            for (size_t i = 0; i < len; ++i) {
                if (p[done + i] != want[i]) {
                    return (int64_t) (done + i);
                }
            }
        }
        done += len;
    }
    return -1;
}

static UNUSED void verify_at(const char *file, int line, const void *buf, size_t n, uint64_t key, const char *what) {
    int64_t bad = first_wrong(buf, n, key, 0);
    if (bad >= 0) {
        fail_at(file, line, "%s: byte %" PRId64 " of %zu is %02x, expected %02x", what, bad, n,
                ((const unsigned char *) buf)[bad], pattern_byte(key, (uint64_t) bad));
    }
}

static UNUSED void verify_value_at(const char *file, int line, const void *buf, size_t n, unsigned char value,
                                   const char *what) {
    const unsigned char *p = buf;
    if (0 == n || (p[0] == value && 0 == memcmp(p, p + 1, n - 1))) {
        return;
    }
    for (size_t i = 0; i < n; ++i) {
        if (p[i] != value) {
            fail_at(file, line, "%s: byte %zu of %zu is %02x, expected it untouched (%02x)", what, i, n, p[i], value);
        }
    }
}

#define VERIFY(buf, n, key, what) verify_at(__FILE__, __LINE__, buf, n, key, what)
#define VERIFY_VALUE(buf, n, value, what) verify_value_at(__FILE__, __LINE__, buf, n, value, what)

// ---- buffers with guards -------------------------------------------------------------------

enum { GUARD_BYTES = 256, GUARD_VALUE = 0xa5, BLANK_VALUE = 0x5c };

// A buffer of n bytes, blank, with guard bytes on both sides.
static UNUSED void *guarded_alloc(size_t n) {
    unsigned char *p = malloc(n + 2 * GUARD_BYTES);
    CHECK(NULL != p, "no memory for %zu bytes", n);
    memset(p, GUARD_VALUE, GUARD_BYTES);
    memset(p + GUARD_BYTES, BLANK_VALUE, n);
    memset(p + GUARD_BYTES + n, GUARD_VALUE, GUARD_BYTES);
    return p + GUARD_BYTES;
}

static UNUSED void guarded_check(const void *buf, size_t n) {
    const unsigned char *p = buf;
    VERIFY_VALUE(p - GUARD_BYTES, GUARD_BYTES, GUARD_VALUE, "guard before the buffer");
    VERIFY_VALUE(p + n, GUARD_BYTES, GUARD_VALUE, "guard after the buffer");
}

static UNUSED void guarded_free(void *buf, size_t n) {
    guarded_check(buf, n);
    free((unsigned char *) buf - GUARD_BYTES);
}

// ---- status --------------------------------------------------------------------------------

static UNUSED void check_status_at(const char *file, int line, const MPI_Status *status, int source, int tag,
                                   size_t bytes) {
    int count = -1;
    MPI_Get_count(status, MPI_BYTE, &count);
    if (status->MPI_SOURCE != source || status->MPI_TAG != tag || count != (int) bytes) {
        fail_at(file, line, "status says source %d tag %d bytes %d, expected %d %d %zu", status->MPI_SOURCE,
                status->MPI_TAG, count, source, tag, bytes);
    }
}

#define CHECK_STATUS(status, source, tag, bytes) check_status_at(__FILE__, __LINE__, status, source, tag, bytes)

// ---- begin and end -------------------------------------------------------------------------

static UNUSED void sleep_ms(int ms) {
    struct timespec t = {ms / 1000, (long) (ms % 1000) * 1000000};
    nanosleep(&t, NULL);
}

static UNUSED double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

static UNUSED void learn_world(int min_ranks) {
    MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    my_peer = (my_rank ^ 1) < n_ranks ? my_rank ^ 1 : MPI_PROC_NULL;
    my_side = MPI_PROC_NULL == my_peer ? -1 : my_rank & 1;
    CHECK(n_ranks >= min_ranks, "needs at least %d ranks, has %d", min_ranks, n_ranks);
}

static UNUSED void begin(int *argc, char ***argv, int min_ranks) {
    MPI_Init(argc, argv);
    learn_world(min_ranks);
}

static UNUSED int finish(void) {
    test_note = "finishing";
    MPI_Barrier(MPI_COMM_WORLD);
    if (0 == my_rank) {
        printf("ok\n");
        fflush(stdout);
    }
    MPI_Finalize();
    return 0;
}

#endif
