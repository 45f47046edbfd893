// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Memory in a file that has a name for the moment in which others open it: where the kernel lets nobody take a
// descriptor of another process (containers, each with namespaces of its own, that have the directory in common).
#pragma once

#include <cstdint>

namespace smartint {

// All bytes of the file are memory from now on. 0, or an errno.
int reserve_memory(int fd, std::uint64_t bytes);
// The file has that length: its memory is made when it is touched, but where the system promises no more than it has.
// 0, or an errno.
int set_length(int fd, std::uint64_t bytes);

// All of its bytes are memory from now on: a full file system is an error here, and no SIGBUS later. *name tells others
// which it is. On file systems that make files without a name (tmpfs and other local ones). A descriptor, or -errno.
int create_named_file(const char *directory, std::uint64_t bytes, std::uint64_t *name);
// What somebody else made: this user's, and of that length. A descriptor, or -errno.
int open_named_file(const char *directory, std::uint64_t name, std::uint64_t bytes);
// Once all have it; harmless twice.
void remove_named_file(const char *directory, std::uint64_t name);

} // namespace smartint
