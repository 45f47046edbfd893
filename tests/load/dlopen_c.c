// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// dlopen_c FILE...: opens each component as Open MPI does (libmpi first, RTLD_GLOBAL), from plain C, and
// checks what Open MPI will look at: the component's symbol, its versions and its names. Prints a
// PASS or FAIL line per check; the exit status tells whether one failed.

#include <opal_config.h>

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <opal/mca/btl/btl.h>
#include <opal/mca/mca.h>
#include <ompi/mca/pml/pml.h>

static int failures = 0;

static int check(const char *component, const char *what, int holds) {
    printf("%s: %s: %s\n", holds ? "PASS" : "FAIL", component, what);
    failures += !holds;
    return holds;
}

static void *open_libmpi(void) {
    static const char *const names[] = {OMPI_LIBDIR "/libmpi.so", "libmpi.so.40", "libmpi.so"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
        void *handle = dlopen(names[i], RTLD_NOW | RTLD_GLOBAL);
        if (NULL != handle) {
            return handle;
        }
    }
    return NULL;
}

static void check_names(const char *name, const mca_base_component_t *component, const char *framework) {
    check(name, "was built for this MCA version",
          MCA_BASE_VERSION_MAJOR == component->mca_major_version &&
              MCA_BASE_VERSION_MINOR == component->mca_minor_version);
    check(name, "names its framework", 0 == strcmp(component->mca_type_name, framework));
    check(name, "is called smartint", 0 == strcmp(component->mca_component_name, "smartint"));
}

// Which framework a file belongs to is in its name: mca_<framework>_smartint.so.
static void check_file(const char *path) {
    const char *base = strrchr(path, '/');
    base = NULL == base ? path : base + 1;
    char framework[32] = "";
    char symbol[96];
    if (!check(base, "has a component's file name", 1 == sscanf(base, "mca_%31[a-z]_smartint.so", framework))) {
        return;
    }

    // Everything must resolve now: Open MPI opens lazily and would crash at the first call instead.
    void *handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!check(base, "opens with every symbol resolved", NULL != handle)) {
        printf("      %s\n", dlerror());
        return;
    }

    snprintf(symbol, sizeof(symbol), "mca_%s_smartint_component", framework);
    const mca_base_component_t *component = (const mca_base_component_t *) dlsym(handle, symbol);
    if (check(base, "exports its component", NULL != component)) {
        check_names(base, component, framework);
        if (0 == strcmp(framework, "btl")) {
            const mca_base_component_t want = {MCA_BTL_DEFAULT_VERSION("smartint")};
            check(base, "has the BTL interface's version",
                  want.mca_type_major_version == component->mca_type_major_version &&
                      want.mca_type_minor_version == component->mca_type_minor_version &&
                      want.mca_type_release_version == component->mca_type_release_version);
        } else if (0 == strcmp(framework, "pml")) {
            const mca_base_component_t want = {MCA_PML_BASE_VERSION_2_0_0};
            check(base, "has the PML interface's version",
                  want.mca_type_major_version == component->mca_type_major_version &&
                      want.mca_type_minor_version == component->mca_type_minor_version &&
                      want.mca_type_release_version == component->mca_type_release_version);
        }
    }
    check(base, "closes", 0 == dlclose(handle));

    // Open MPI may open again what it closed.
    handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    check(base, "opens a second time", NULL != handle && NULL != dlsym(handle, symbol));
    if (NULL != handle) {
        dlclose(handle);
    }
}

int main(int argc, char **argv) {
    if (NULL == open_libmpi()) {
        printf("FAIL: libmpi does not open: %s\n", dlerror());
        return 1;
    }
    for (int i = 1; i < argc; ++i) {
        check_file(argv[i]);
    }
    return 0 == failures ? 0 : 1;
}
