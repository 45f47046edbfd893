// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
// Description: what an MPI process consists of after some messages: every rank prints its threads, mapped
// libraries and files, and descriptors, for the caller to compare. Also every counter of smartint that is not zero.
//   # rank N thread NAME
//   # rank N maps smartint FILE
//   # rank N maps ucx FILE
//   # rank N descriptors COUNT
//   # rank N open WHAT             what each is open on, numbers and what is the job's own left out
//   # rank N memory KB             resident
//   # rank N counters COUNT        how many there are
//   # rank N counter NAME VALUE    of those that are not zero
// Arguments: a file that the caller makes when it has looked too; "window": there is one meanwhile, of all, or "own",
// of the last rank alone.
#include "counters.h"

#include <dirent.h>

static void show_threads(void) {
    DIR *dir = opendir("/proc/self/task");
    CHECK(NULL != dir, "no /proc/self/task");
    for (struct dirent *e; NULL != (e = readdir(dir));) {
        char path[512], name[64] = "";
        if ('.' == e->d_name[0]) {
            continue;
        }
        snprintf(path, sizeof(path), "/proc/self/task/%s/comm", e->d_name);
        FILE *f = fopen(path, "r");
        if (NULL != f) {
            if (NULL != fgets(name, sizeof(name), f)) {
                name[strcspn(name, "\n")] = 0;
            }
            fclose(f);
        }
        printf("# rank %d thread %s\n", my_rank, name);
    }
    closedir(dir);
}

static void show_maps(void) {
    char line[4400], last[4400] = "";
    FILE *f = fopen("/proc/self/maps", "r");
    CHECK(NULL != f, "no /proc/self/maps");
    while (NULL != fgets(line, sizeof(line), f)) {
        char *path = strchr(line, '/');
        // by the file's own name: a clone's directory may be called so
        if (NULL != path && NULL != strstr(strrchr(path, '/'), "smartint") && 0 != strcmp(path, last)) {
            strcpy(last, path);
            path[strcspn(path, "\n")] = 0;
            printf("# rank %d maps smartint %s\n", my_rank, path);
        } else if (NULL != path && 0 == strncmp(strrchr(path, '/'), "/libuct.", 8) && 0 != strcmp(path, last)) {
            strcpy(last, path);
            path[strcspn(path, "\n")] = 0;
            printf("# rank %d maps ucx %s\n", my_rank, path);
        }
    }
    fclose(f);
}

static void show_descriptors(void) {
    int n = 0;
    DIR *dir = opendir("/proc/self/fd");
    CHECK(NULL != dir, "no /proc/self/fd");
    for (struct dirent *e; NULL != (e = readdir(dir)); ++n) {
        char path[512], what[4096], plain[4096];
        snprintf(path, sizeof(path), "/proc/self/fd/%s", e->d_name);
        ssize_t length = readlink(path, what, sizeof(what) - 1);
        if ('.' == e->d_name[0] || length <= 0 || atoi(e->d_name) == dirfd(dir)) {
            continue;
        }
        what[length] = 0;
        char *random = strstr(what, "ucx_shm_posix_");
        if (NULL != random) {
            random[sizeof("ucx_shm_posix_") - 1] = 0;
        }
        size_t k = 0;
        char *session = strstr(what, "/smt."); // the job's TMPDIR has a random name
        if (NULL != session) {
            memmove(session, session + strcspn(session + 1, "/") + 1,
                    strlen(session + strcspn(session + 1, "/") + 1) + 1);
        }
        for (char *p = what; 0 != *p; ++p) {
            if (*p < '0' || *p > '9') {
                plain[k++] = *p;
            } else if (0 == k || '#' != plain[k - 1]) {
                plain[k++] = '#';
            }
        }
        plain[k] = 0;
        printf("# rank %d open %s\n", my_rank, plain);
    }
    closedir(dir);
    printf("# rank %d descriptors %d\n", my_rank, n - 3); // without . and .. and the directory's own
}

static void show_memory(void) {
    char line[256];
    long kb = 0;
    FILE *f = fopen("/proc/self/status", "r");
    CHECK(NULL != f, "no /proc/self/status");
    while (NULL != fgets(line, sizeof(line), f)) {
        if (1 == sscanf(line, "VmRSS: %ld kB", &kb)) {
            printf("# rank %d memory %ld\n", my_rank, kb);
        }
    }
    fclose(f);
}

static void show_counters(void) {
    for (int i = 0; i < counters.count; ++i) {
        const unsigned long long value = read_counter(i);
        if (0 != value) {
            printf("# rank %d counter %s %llu\n", my_rank, counters.name[i], value);
        }
    }
    printf("# rank %d counters %d\n", my_rank, counters.count);
    end_counters();
}

int main(int argc, char **argv) {
    begin(&argc, &argv, 2);
    begin_counters();
    size_t n = 1 << 20;
    int to = (my_rank + 1) % n_ranks, from = (my_rank + n_ranks - 1) % n_ranks;
    unsigned char *out = guarded_alloc(n), *in = guarded_alloc(n);
    for (uint64_t k = 0; k < 20; ++k) {
        size_t bytes = n >> k;
        fill(out, bytes, key_of(240, my_rank, k, 0));
        MPI(MPI_Sendrecv(out, (int) bytes, MPI_BYTE, to, 0, in, (int) bytes, MPI_BYTE, from, 0, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE));
        VERIFY(in, bytes, key_of(240, from, k, 0), "message");
    }
    guarded_free(out, n);
    guarded_free(in, n);
    MPI_Win win = MPI_WIN_NULL;
    const int own = argc > 2 && 0 == strcmp(argv[2], "own");
    if (argc > 2 && (!own || n_ranks - 1 == my_rank)) {
        void *memory;
        MPI(MPI_Win_allocate(4096, 1, MPI_INFO_NULL, own ? MPI_COMM_SELF : MPI_COMM_WORLD, &memory, &win));
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    show_threads();
    show_maps();
    show_descriptors();
    show_memory();
    show_counters();
    fflush(stdout);
    if (argc > 1) { // until the caller has looked too
        while (0 != access(argv[1], F_OK)) {
            sleep_ms(5);
        }
    }
    if (MPI_WIN_NULL != win) {
        MPI(MPI_Win_free(&win));
    }
    return finish();
}
