// SPDX-License-Identifier: BSD-3-Clause
// Description: did a large message move while a rank computed? A side posts, computes for a time without
// any MPI call, and looks at memory before it calls MPI again.
//
//   overlap_state SIZE COMPUTE_MS recv|send|both [REPEAT]     (rank 0 sends to rank 1)
//
// Prints per repeat `arrived=0/1` (the receiver: last byte there when its computation ended; with
// `send`, when the sender's has ended) and, for a sender that computes, `sent=0/1` (its request was
// complete at the first test). Then `name value` of every MPI_T pvar whose name begins with smartint_.
// Data is checked; arrival is only reported, unless REPEAT is followed by `require`: then each repeat
// but the first must have arrived.
#include "check.h"

// Busy for a time on the clock, with no call into MPI and no system call but the clock's vdso.
static void compute(int ms)
{
    volatile double x = 1.0;
    for (double end = now() + ms * 1e-3; now() < end;) {
        for (int i = 0; i < 2000; ++i) {
            x = x * 1.0000001 + 1e-9;
        }
    }
}

// Any value that can be read as an integer or a double; others are named without one.
static void print_pvars(void)
{
    int provided, n = 0;
    MPI_T_pvar_session session;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_pvar_get_num(&n);
    MPI_T_pvar_session_create(&session);
    for (int i = 0; i < n; ++i) {
        char name[256], text[1024];
        int name_len = sizeof(name), text_len = sizeof(text), verbosity, class, bind, readonly, continuous,
            atomic, count = 0;
        MPI_Datatype type;
        MPI_T_enum values;
        MPI_T_pvar_handle handle;
        MPI_Comm world = MPI_COMM_WORLD;
        if (MPI_SUCCESS != MPI_T_pvar_get_info(i, name, &name_len, &verbosity, &class, &type, &values,
                                               text, &text_len, &bind, &readonly, &continuous, &atomic)) {
            continue;
        }
        // Open MPI may put the framework and component in front of the variable's own name.
        const char *own = strstr(name, "smartint_");
        if (NULL == own || (own != name && '_' != own[-1])) {
            continue;
        }
        void *object = MPI_T_BIND_MPI_COMM == bind ? (void *) &world : NULL;
        if (MPI_SUCCESS != MPI_T_pvar_handle_alloc(session, i, object, &handle, &count)) {
            continue;
        }
        if (!continuous) {
            MPI_T_pvar_start(session, handle);
        }
        union {
            int i;
            unsigned u;
            unsigned long ul;
            unsigned long long ull;
            MPI_Count c;
            double d;
        } value[64];
        memset(value, 0, sizeof(value));
        if (count >= 1 && count <= 64 && MPI_SUCCESS == MPI_T_pvar_read(session, handle, value)) {
            char out[64] = "?";
            if (MPI_INT == type) {
                snprintf(out, sizeof(out), "%d", value[0].i);
            } else if (MPI_UNSIGNED == type) {
                snprintf(out, sizeof(out), "%u", value[0].u);
            } else if (MPI_UNSIGNED_LONG == type) {
                snprintf(out, sizeof(out), "%lu", value[0].ul);
            } else if (MPI_UNSIGNED_LONG_LONG == type) {
                snprintf(out, sizeof(out), "%llu", value[0].ull);
            } else if (MPI_COUNT == type) {
                snprintf(out, sizeof(out), "%lld", (long long) value[0].c);
            } else if (MPI_DOUBLE == type) {
                snprintf(out, sizeof(out), "%.9g", value[0].d);
            }
            printf("# rank %d %s %s\n", my_rank, own, out);
        }
        MPI_T_pvar_handle_free(session, &handle);
    }
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
}

int main(int argc, char **argv)
{
    begin(&argc, &argv, 2);
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 0) : (size_t) 4 << 20;
    int ms = argc > 2 ? atoi(argv[2]) : 50;
    const char *mode = argc > 3 ? argv[3] : "recv";
    int repeat = argc > 4 ? atoi(argv[4]) : 3;
    int require = argc > 5 && 0 == strcmp(argv[5], "require");
    int r_computes = 0 != strcmp(mode, "send"), s_computes = 0 != strcmp(mode, "recv");
    CHECK(n > 0 && (r_computes || s_computes), "usage: overlap_state SIZE MS recv|send|both [REPEAT]");
    unsigned char *buf = guarded_alloc(n);
    MPI_Request request;
    MPI_Status status;

    for (int k = 0; k < repeat; ++k) {
        uint64_t key = key_of(180, k, n, 0);
        volatile unsigned char *last = buf + n - 1;
        if (0 == my_rank) {
            fill(buf, n, key);
        } else if (1 == my_rank) {
            memset(buf, BLANK_VALUE, n);
            *last = (unsigned char) ~pattern_byte(key, n - 1);
        }
        MPI(MPI_Barrier(MPI_COMM_WORLD));
        // The receive is there before the send begins: a message found waiting would be read by the
        // very call that posts the receive, which is no overlap.
        if (0 == my_rank) {
            MPI(MPI_Recv(NULL, 0, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            MPI(MPI_Isend(buf, (int) n, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request));
            if (s_computes) {
                int flag;
                compute(ms);
                MPI(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
                printf("# rank 0 repeat %d sent=%d\n", k, flag);
                CHECK(!require || 0 == k || flag, "the send was not complete after the computation");
            }
            MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        } else if (1 == my_rank) {
            MPI(MPI_Irecv(buf, (int) n, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &request));
            MPI(MPI_Send(NULL, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD));
            if (r_computes) {
                compute(ms);
                int arrived = *last == pattern_byte(key, n - 1);
                printf("# rank 1 repeat %d arrived=%d\n", k, arrived);
                CHECK(!require || 0 == k || arrived, "nothing had arrived after the computation");
            } else {
                double t = now();
                MPI(MPI_Wait(&request, &status));
                // The sender computes: did the message come in while it did?
                printf("# rank 1 repeat %d arrived=%d\n", k, now() - t < ms * 0.9e-3);
            }
            MPI(MPI_Wait(&request, r_computes ? &status : MPI_STATUS_IGNORE));
            CHECK_STATUS(&status, 0, 1, n);
            VERIFY(buf, n, key, "overlapped message");
        }
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    print_pvars();
    fflush(stdout);
    guarded_free(buf, n);
    return finish();
}
