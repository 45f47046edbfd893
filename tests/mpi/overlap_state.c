// SPDX-License-Identifier: BSD-3-Clause
// Description: did a large message move while a rank computed? A side posts, computes for a time without
// any MPI call, and looks at memory before it calls MPI again.
//
//   overlap_state SIZE COMPUTE_MS recv|send|both|left|later [REPEAT [require [pieces|from|into]]]     (rank 0 sends to
//   rank 1)
//
// left: both compute, the sender until the receiver's computation has ended. later: both compute, the receiver
// until the message is there, so that a sender which comes to wait must get it there.
// Prints per repeat `arrived=0/1` (the receiver: last byte there when its computation ended; with
// `send`: the message was complete before the sender said that its computation had ended) and, for a
// sender that computes, `sent=0/1` (its request was complete at the first test). Then `name value` of every counter.
// Data is checked; arrival is only reported, unless REPEAT is followed by `require`: then each repeat
// but the first must have arrived, and whoever computes goes on until it has, at most 10 s. The message is in pieces of
// 64 bytes, 128 apart, at both sides (pieces), at the sender (from) or at the receiver (into).
//
// Rank 0 tells rank 1 what it does, and rank 1 what it has, in a file beside the program that both have
// mapped: no clock decides, and nobody calls MPI to learn it.
#include "counters.h"

#include <fcntl.h>
#include <sys/mman.h>

enum { PATIENCE_MS = 10000 };

static struct {
    volatile int over;  // repeats of which rank 0's computation has ended
    volatile int there; // repeats of which rank 1 has the message
} * words;

// Busy for a time on the clock, with no call into MPI and no system call but the clock's vdso.
static void compute(int ms) {
    volatile double x = 1.0;
    for (double end = now() + ms * 1e-3; now() < end;) {
        for (int i = 0; i < 2000; ++i) {
            x = x * 1.0000001 + 1e-9;
        }
    }
}

// Map the words. Nothing is left of the file afterwards, whatever happens.
static void share_words(const char *program) {
    char path[4096];
    int fd = -1;
    snprintf(path, sizeof(path), "%s.%ld", program, (long) getpid());
    if (0 == my_rank) {
        fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
        CHECK(fd >= 0 && 0 == ftruncate(fd, sizeof(*words)), "%s cannot be made", path);
    }
    MPI(MPI_Bcast(path, sizeof(path), MPI_CHAR, 0, MPI_COMM_WORLD));
    if (0 != my_rank) {
        fd = open(path, O_RDWR);
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (0 == my_rank) {
        unlink(path);
    }
    CHECK(fd >= 0, "%s is not seen by all ranks", path);
    words = mmap(NULL, sizeof(*words), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(MAP_FAILED != words, "%s cannot be mapped", path);
    close(fd);
}

enum { PIECE = 64 };

// A message's bytes as they lie in memory, and back.
static void spread(unsigned char *to, const unsigned char *from, size_t n, size_t step) {
    for (size_t i = 0; i < n; i += PIECE) {
        memcpy(to + i / PIECE * step, from + i, PIECE);
    }
}
static void collect(unsigned char *to, const unsigned char *from, size_t n, size_t step) {
    for (size_t i = 0; i < n; i += PIECE) {
        memcpy(to + i, from + i / PIECE * step, PIECE);
    }
}

static void show_counters(void) {
    for (int i = 0; i < counters.count; ++i) {
        printf("# rank %d %s %llu\n", my_rank, strstr(counters.name[i], "smartint_"), read_counter(i));
    }
    end_counters();
}

int main(int argc, char **argv) {
    begin(&argc, &argv, 2);
    begin_counters();
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 0) : (size_t) 4 << 20;
    int ms = argc > 2 ? atoi(argv[2]) : 50;
    const char *mode = argc > 3 ? argv[3] : "recv";
    int repeat = argc > 4 ? atoi(argv[4]) : 3;
    int require = argc > 5 && 0 == strcmp(argv[5], "require");
    int r_computes = 0 != strcmp(mode, "send"), s_computes = 0 != strcmp(mode, "recv");
    int s_outlasts = require || 0 == strcmp(mode, "left"), r_outlasts = require || 0 == strcmp(mode, "later");
    const char *pieces = argc > 6 ? argv[6] : "none";
    int mine = 0 == strcmp(pieces, "pieces") || 0 == strcmp(pieces, 0 == my_rank ? "from" : "into");
    CHECK(n > 0 && (r_computes || s_computes) && (argc <= 6 || 0 == n % PIECE),
          "usage: overlap_state SIZE MS recv|send|both|left|later [REPEAT [require [pieces|from|into]]]");
    size_t step = mine ? 2 * PIECE : PIECE, room = n / PIECE * step + n % PIECE;
    int count = mine ? 1 : (int) n;
    MPI_Datatype type = MPI_BYTE;
    if (mine) {
        MPI(MPI_Type_vector((int) (n / PIECE), PIECE, (int) step, MPI_BYTE, &type));
        MPI(MPI_Type_commit(&type));
    }
    unsigned char *buf = guarded_alloc(room);
    unsigned char *packed = mine ? guarded_alloc(n) : buf;
    MPI_Request request;
    MPI_Status status;
    share_words(argv[0]);

    for (int k = 0; k < repeat; ++k) {
        uint64_t key = key_of(180, k, n, 0);
        volatile unsigned char *last = mine ? buf + (n / PIECE - 1) * step + PIECE - 1 : buf + n - 1;
        if (0 == my_rank) {
            fill(packed, n, key);
            if (mine) {
                spread(buf, packed, n, step);
            }
        } else if (1 == my_rank) {
            memset(buf, BLANK_VALUE, room);
            *last = (unsigned char) ~pattern_byte(key, n - 1);
        }
        MPI(MPI_Barrier(MPI_COMM_WORLD));
        // The receive is there before the send begins: a message found waiting would be read by the
        // very call that posts the receive, which is no overlap.
        if (0 == my_rank) {
            MPI(MPI_Recv(NULL, 0, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            MPI(MPI_Isend(buf, count, type, 1, 1, MPI_COMM_WORLD, &request));
            if (s_computes) {
                int flag;
                compute(ms);
                for (int t = 0; s_outlasts && words->there <= k && t < PATIENCE_MS; ++t) {
                    compute(1);
                }
                words->over = k + 1;
                MPI(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
                printf("# rank 0 repeat %d sent=%d\n", k, flag);
            }
            MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        } else if (1 == my_rank) {
            MPI(MPI_Irecv(buf, count, type, 0, 1, MPI_COMM_WORLD, &request));
            MPI(MPI_Send(NULL, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD));
            if (r_computes) {
                compute(ms);
                for (int t = 0; r_outlasts && *last != pattern_byte(key, n - 1) && t < PATIENCE_MS; ++t) {
                    compute(1);
                }
                int arrived = *last == pattern_byte(key, n - 1);
                printf("# rank 1 repeat %d arrived=%d\n", k, arrived);
                CHECK(!require || 0 == k || arrived, "nothing had arrived after the computation");
            } else {
                MPI(MPI_Wait(&request, &status));
                // The sender computes: did the message come in while it did?
                int arrived = words->over <= k;
                printf("# rank 1 repeat %d arrived=%d\n", k, arrived);
                CHECK(!require || 0 == k || arrived, "the message came only after the computation");
            }
            words->there = k + 1;
            MPI(MPI_Wait(&request, r_computes ? &status : MPI_STATUS_IGNORE));
            CHECK_STATUS(&status, 0, 1, n);
            if (mine) {
                collect(packed, buf, n, step);
                for (size_t i = PIECE; i + PIECE <= room; i += step) {
                    CHECK(BLANK_VALUE == buf[i] && BLANK_VALUE == buf[i + PIECE - 1], "written between the pieces");
                }
            }
            VERIFY(packed, n, key, "overlapped message");
        }
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    show_counters();
    fflush(stdout);
    guarded_free(buf, room);
    if (mine) {
        guarded_free(packed, n);
        MPI(MPI_Type_free(&type));
    }
    return finish();
}
