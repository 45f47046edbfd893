// SPDX-License-Identifier: BSD-3-Clause
// The calls of epochs that return requests, from the library beside the components: nothing is linked.
#ifndef SMARTINT_TEST_MPIX_H
#define SMARTINT_TEST_MPIX_H

#include "check.h"

#include <dlfcn.h>

static struct {
    int (*ifence)(int, MPI_Win, MPI_Request *);
    int (*istart)(MPI_Group, int, MPI_Win, MPI_Request *);
    int (*icomplete)(MPI_Win, MPI_Request *);
    int (*ipost)(MPI_Group, int, MPI_Win, MPI_Request *);
    int (*iwait)(MPI_Win, MPI_Request *);
    int (*ilock)(int, int, int, MPI_Win, MPI_Request *);
    int (*iunlock)(int, MPI_Win, MPI_Request *);
    int (*ilock_all)(int, MPI_Win, MPI_Request *);
    int (*iunlock_all)(MPI_Win, MPI_Request *);
    int (*iflush)(int, MPI_Win, MPI_Request *);
} mpix;

static inline void *mpix_symbol(void *library, const char *name) {
    void *p = dlsym(library, name);
    CHECK(NULL != p, "libmpix_smartint has no %s", name);
    return p;
}

static inline void load_mpix(void) {
    char path[4096];
    Dl_info info;
    void *engine = dlsym(RTLD_DEFAULT, "smartint_nonblocking");
    CHECK(NULL != engine && 0 != dladdr(engine, &info), "the engine's library is not there");
    snprintf(path, sizeof(path), "%s", info.dli_fname);
    strcpy(strrchr(path, '/') + 1, "libmpix_smartint.so");
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    CHECK(NULL != library, "%s", dlerror());
#define TAKE(call) *(void **) &mpix.call = mpix_symbol(library, "MPIX_Win_" #call)
    TAKE(ifence);
    TAKE(istart);
    TAKE(icomplete);
    TAKE(ipost);
    TAKE(iwait);
    TAKE(ilock);
    TAKE(iunlock);
    TAKE(ilock_all);
    TAKE(iunlock_all);
    TAKE(iflush);
}

#endif
