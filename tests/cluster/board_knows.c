// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
// Description: run beside a job between nodes: does one node's board have the address of another node's helper?
//   board_knows BOARD OTHER-BOARD     0: it has that of the helper on OTHER-BOARD
//   board_knows BOARD                 0: its own helper says that it is there, and where
// Boards are given as /proc/PID-OF-A-HELPER/map_files/ADDRESSES.
// The offsets are those of common_smartint_layout.h.
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ADDRESS_BYTES = 96, IN_HELPER_LINE = 64, NODE_BYTES = 128, SLEEPING = 2, POLLING = 3 };

// NULL: it is none, or none any more.
static const volatile unsigned char *board(const char *path) {
    struct stat s;
    int fd = open(path, O_RDONLY);
    if (fd < 0 || 0 != fstat(fd, &s) || s.st_size < 4096) {
        return NULL;
    }
    void *p = mmap(NULL, (size_t) s.st_size, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    return MAP_FAILED == p || 0x31746e6974726d73ull != *(uint64_t *) p ? NULL : p;
}

static uint64_t word(const volatile unsigned char *p, size_t offset) {
    return *(const volatile uint64_t *) (p + offset);
}
static uint32_t half(const volatile unsigned char *p, size_t offset) {
    return *(const volatile uint32_t *) (p + offset);
}

// Of an address that is whole, neither unwritten nor being written. 0: it is not, or was not for long enough.
static size_t address(const volatile unsigned char *cell, unsigned char *out) {
    const uint32_t generation = half(cell, 0), bytes = half(cell, 4);
    if (0 == generation || generation % 2 || bytes > ADDRESS_BYTES) {
        return 0;
    }
    for (size_t i = 0; i < bytes; ++i) {
        out[i] = cell[8 + i];
    }
    return half(cell, 0) == generation ? bytes : 0;
}

int main(int argc, char **argv) {
    unsigned char wanted[ADDRESS_BYTES], known[ADDRESS_BYTES];
    const volatile unsigned char *here = argc > 1 ? board(argv[1]) : NULL, *there = argc > 2 ? board(argv[2]) : here;
    if (NULL == here || NULL == there) {
        fprintf(stderr, "board_knows: no board\n");
        return 2;
    }
    const volatile unsigned char *helper = there + word(there, 80);
    const uint32_t state = half(helper, 0);
    const size_t bytes = address(helper + IN_HELPER_LINE, wanted);
    if (2 == argc) {
        return bytes > 0 && (SLEEPING == state || POLLING == state) ? 0 : 1;
    }
    for (uint32_t i = 0; bytes > 0 && i < half(here, 112); ++i) {
        const volatile unsigned char *node = here + word(here, 64) + (size_t) i * NODE_BYTES;
        if (address(node, known) == bytes && 0 == memcmp(known, wanted, bytes)) {
            return 0;
        }
    }
    return 1;
}
