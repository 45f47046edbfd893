// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
// Description: a library to be loaded before others (LD_PRELOAD): this Open MPI says that it is of another branch.
const char opal_version_string[] = "4.0.9test";
