// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "common_smartint_mca_mpix.h"

extern "C" {
const smartint_nonblocking_calls *smartint_nonblocking = nullptr;
}
