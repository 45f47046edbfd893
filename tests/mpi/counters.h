// SPDX-License-Identifier: BSD-3-Clause
// Description: smartint's own counters, as MPI_T shows them, from where a program begins to look. Stock Open MPI has
// none.
#ifndef SMARTINT_TESTS_MPI_COUNTERS_H
#define SMARTINT_TESTS_MPI_COUNTERS_H

#include "check.h"

enum { MAX_COUNTERS = 256 };

static struct {
    int count;
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle[MAX_COUNTERS];
    char name[MAX_COUNTERS][128]; // with the "smartint_" in front
} counters;

// After MPI_Init: a counter's handle counts from when it was made.
static void begin_counters(void) {
    int provided, n = 0;
    MPI(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    MPI(MPI_T_pvar_get_num(&n));
    MPI(MPI_T_pvar_session_create(&counters.session));
    for (int i = 0; i < n && counters.count < MAX_COUNTERS; ++i) {
        char *name = counters.name[counters.count], text[4];
        int length = sizeof(counters.name[0]), verbosity, class, bind, readonly, continuous, atomic, count = 0;
        int text_length = sizeof(text);
        MPI_Datatype type;
        MPI_T_enum values;
        if (MPI_SUCCESS == MPI_T_pvar_get_info(i, name, &length, &verbosity, &class, &type, &values, text, &text_length,
                                               &bind, &readonly, &continuous, &atomic) &&
            NULL != strstr(name, "smartint_") && MPI_T_BIND_NO_OBJECT == bind &&
            MPI_SUCCESS ==
                MPI_T_pvar_handle_alloc(counters.session, i, NULL, &counters.handle[counters.count], &count)) {
            CHECK(1 == count && continuous && MPI_UNSIGNED_LONG_LONG == type, "%s is not one number that always counts",
                  name);
            ++counters.count;
        }
    }
}

static unsigned long long read_counter(int i) {
    unsigned long long value = 0;
    MPI(MPI_T_pvar_read(counters.session, counters.handle[i], &value));
    return value;
}

// By its name behind "smartint_".
static UNUSED unsigned long long counter_named(const char *name) {
    for (int i = 0; i < counters.count; ++i) {
        if (0 == strcmp(strstr(counters.name[i], "smartint_") + strlen("smartint_"), name)) {
            return read_counter(i);
        }
    }
    FAIL("there is no counter smartint_%s", name);
}

static UNUSED void end_counters(void) {
    for (int i = 0; i < counters.count; ++i) {
        MPI_T_pvar_handle_free(counters.session, &counters.handle[i]);
    }
    MPI_T_pvar_session_free(&counters.session);
    MPI_T_finalize();
}

#endif
