// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Memory in a file that has a name for the moment in which others open it: the board; and windows where the kernel lets
// nobody take a descriptor of another process (containers, each with namespaces of its own, that have the directory in
// common).
//
// Where all of a node is killed in that moment (a batch system's control group, a container), Open MPI's daemon too,
// nobody is left to remove it. So whoever makes such a file holds a lock on it, which goes with its last descriptor or
// mapping, and the next board of this user in that directory removes those that nobody holds.
#pragma once

#include <cstdint>

namespace smartint {

// All bytes of the file are memory from now on. 0, or an errno.
int reserve_memory(int fd, std::uint64_t bytes);
// The file has that length: its memory is made when it is touched, but where the system promises no more than it has.
// 0, or an errno.
int set_length(int fd, std::uint64_t bytes);

// So that it is not taken for one that was left behind, while fd, a copy or a mapping of it is there. False: it just
// was.
bool hold_name(int fd);
// Of this user, and held by nobody. Not where the file system has no locks.
void remove_left_behind(const char *directory);

// All of its bytes are memory from now on: a full file system is an error here, and no SIGBUS later. *name tells others
// which it is. On file systems that make files without a name (tmpfs and other local ones). A descriptor, which is to
// be open, or mapped, as long as the name is needed, or -errno.
int create_named_file(const char *directory, std::uint64_t bytes, std::uint64_t *name);
// What somebody else made: this user's, and of that length. A descriptor, or -errno.
int open_named_file(const char *directory, std::uint64_t name, std::uint64_t bytes);
// Once all have it; harmless twice.
void remove_named_file(const char *directory, std::uint64_t name);

} // namespace smartint
