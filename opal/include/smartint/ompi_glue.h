// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Comes before any other header of Open MPI, in the components' own headers and in common_smartint_mca.h, which
// their other files include. Mends the one place where the headers of 4.1 are not C++: a macro that passes void* where
// void** is declared.
#pragma once

#include "smartint_config.h"

extern "C" {
#include "opal_config.h"
#include "opal/threads/thread_usage.h"
}

#if defined(OPAL_THREAD_COMPARE_EXCHANGE_STRONG_PTR)
#undef OPAL_THREAD_COMPARE_EXCHANGE_STRONG_PTR
#define OPAL_THREAD_COMPARE_EXCHANGE_STRONG_PTR(x, y, z)                                                               \
    opal_thread_compare_exchange_strong_ptr((volatile intptr_t *) (x), (void **) (y), (void *) (z))
#endif
